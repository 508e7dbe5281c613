"""Recipes with several repeats, and queries in clusters: populations with known means, and the rates of right verdicts.

`calibration.py` judges these cells and writes the page. Values of recipes are sums of effects whose true mean is 0,

    x[query, metric, recipe, repeat] = truth + query effect + repeat effect + effect of query and repeat,

so the truth of a recipe is exact. The sizes of the effects were measured with LightGBM, for repeats with other seeds
and for repeats with other samples of the training queries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from populations import ALPHA, METRICS, SCENARIOS, Array, compare, draw_rows, tilt

from gainwise import Comparison
from gainwise.comparison.verdict import Verdict

DEVIATIONS = {
    "seeds": {"query": 0.025, "repeat": 0.0015, "query_repeat": 0.075},
    "resampled queries": {"query": 0.010, "repeat": 0.0035, "query_repeat": 0.095},
}
CORRELATION = 0.9
LARGE = 0.06
"""A difference that every sample detects. Worse models are ruled out, so only the ties remain difficult."""
KINDS = {"skewed runs": "skewed repeats", "unequal runs": "unequal repeats"}
"""Title of a kind of population, if it is not its name. Seeds depend on the names."""


def build_scenarios(models: int) -> dict[str, Array]:
    """Return the true means of recipes under both metrics, shape (2, models), by the name of the scenario."""

    def means(default: float, *by_metric: dict[int, float]) -> Array:
        return np.array([[own.get(k, default) for k in range(models)] for own in by_metric])

    scenarios = {
        "linear's best ahead, exponential tied": means(0, {0: LARGE}, {}),
        "two tie at the top": means(-LARGE, {0: 0, 1: 0}, {0: 0, 1: 0}),
        "different bests ±.01": means(-LARGE, {0: 0.01, 1: 0}, {0: 0, 1: 0.01}),
        "different bests ±.03": means(-LARGE, {0: 0.03, 1: 0}, {0: 0, 1: 0.03}),
        "same best, ahead by .01": means(-LARGE, {0: 0.01, 1: 0}, {0: 0.01, 1: 0}),
        "all equal": means(0, {}, {}),
    }
    if models > 2:
        scenarios["a third ties both winners"] = means(0, {0: LARGE, 2: LARGE}, {1: LARGE, 2: LARGE})
    return scenarios


@dataclass(frozen=True)
class RecipeCell:
    """Recipes with several repeats.

    `vary` names the difference between the repeats. `kind` is "", "skewed runs" (effects of repeats have a long lower
    tail: a repeat is rarely much worse), "opposite skews" (every second recipe has a long upper tail instead), "unequal
    runs" (3, 5, 10, 3, … repeats) or "a fixed baseline" (the first recipe has one repeat).
    """

    scenario: str
    models: int
    queries: int
    repeats: int
    vary: str
    kind: str = ""

    @property
    def key(self) -> str:
        """A unique name."""
        return " | ".join(["recipes", *map(str, asdict(self).values())])

    @property
    def truth(self) -> Array:
        """True means, shape (2, models)."""
        return build_scenarios(self.models)[self.scenario]

    @property
    def counts(self) -> list[int]:
        """Number of repeats of each recipe, 0 for a fixed model."""
        counts = [(3, 5, 10)[k % 3] if self.kind == "unequal runs" else self.repeats for k in range(self.models)]
        return [0, *counts[1:]] if self.kind == "a fixed baseline" else counts

    def sample(self, rng: np.random.Generator) -> list[Array]:
        """Return the values of each recipe, shape (2, queries, repeats)."""
        deviations = DEVIATIONS[self.vary]
        values_by_recipe = []
        for k, count in enumerate(self.counts):
            repeats = max(1, count)
            by_query = _draw_heavy_tailed(rng, (self.queries, 1), deviations["query"] / np.sqrt(2))
            values = self.truth[:, k, None, None] + by_query
            values = values + _draw_heavy_tailed(rng, (self.queries, repeats), deviations["query_repeat"])
            if count:
                skewed = self.kind in ("skewed runs", "opposite skews")
                lower_tail = self.kind == "skewed runs" or k % 2 == 1
                values += _draw_repeat_effects(rng, repeats, deviations["repeat"], skewed, lower_tail)
            values_by_recipe.append(values)
        return values_by_recipe

    def judge(self, seeds: Sequence[int], population: Array) -> dict[str, float]:
        """Return rates of verdicts and coverage of bounds. These recipes do not use the population."""
        lines, lower = [], np.zeros((2, self.models))
        for seed in seeds:
            values = self.sample(np.random.default_rng(seed))
            comparison = compare(select_repeats(values), seed)
            verdict, first_only = comparison.verdict, compare(select_first_repeats(values), seed).verdict
            covers, covers_lower = check_bounds(verdict, self.truth)
            lower += covers_lower
            lines.append([
                *check_kind(verdict), *check_kind(first_only), *covers, rejects_pair(comparison, -1)
            ])  # fmt: skip
        names = ("genuine", "agree", "one genuine", "one agree", "price", "safe", "upper", "pair")
        rates = dict(zip(names, np.mean(lines, axis=0).tolist(), strict=True))
        return rates | {"lower": float(lower.min() / len(seeds))}


def select_repeats(values: Sequence[Array]) -> list[list[Array]]:
    """Return the values of all recipes by metric. A recipe with one repeat is a fixed model."""
    return [[recipe[row] if recipe.shape[2] > 1 else recipe[row, :, 0] for recipe in values] for row in (0, 1)]


def select_first_repeats(values: Sequence[Array]) -> list[Array]:
    """Return the values of the first repeat of each recipe by metric, as fixed models."""
    return [np.stack([recipe[row, :, 0] for recipe in values], axis=1) for row in (0, 1)]


def _draw_heavy_tailed(rng: np.random.Generator, shape: tuple[int, ...], deviation: float) -> Array:
    """Draw effects from a t distribution with 5 degrees of freedom, correlated over metrics."""
    shared, own = rng.standard_t(5, shape), rng.standard_t(5, (2, *shape))
    effects: Array = deviation * np.sqrt(3 / 5) * (np.sqrt(CORRELATION) * shared + np.sqrt(1 - CORRELATION) * own)
    return effects


def _draw_repeat_effects(
    rng: np.random.Generator, repeats: int, deviation: float, skewed: bool, lower_tail: bool
) -> Array:
    """Draw normal or exponential effects of repeats, shape (2, 1, repeats)."""
    if skewed:
        shared, own = rng.exponential(size=repeats) - 1, rng.exponential(size=(2, repeats)) - 1
    else:
        shared, own = rng.standard_normal(repeats), rng.standard_normal((2, repeats))
    effects: Array = deviation * (np.sqrt(CORRELATION) * shared + np.sqrt(1 - CORRELATION) * own)
    return (-effects if lower_tail else effects)[:, None]


@dataclass(frozen=True)
class ClusterCell:
    """Queries in clusters of 3 to 7. A share of them copies the first query of its cluster."""

    scenario: str
    queries: int
    copies: float

    @property
    def key(self) -> str:
        """A unique name."""
        return " | ".join(["clusters", *map(str, asdict(self).values())])

    def judge(self, seeds: Sequence[int], population: Array) -> dict[str, float]:
        """Return rates of verdicts and coverage of bounds, with and without `clusters`."""
        truth = next(scenario.truth for scenario in SCENARIOS if scenario.name == self.scenario)
        probabilities = tilt(population, truth)
        lines, lower = [], np.zeros(truth.shape)
        for seed in seeds:
            rng = np.random.default_rng(seed)
            rows = population[draw_rows(rng, probabilities, self.queries)]
            rows, clusters = copy_within_clusters(rng, rows, self.copies)
            comparison = compare([rows[:, 0], rows[:, 1]], seed, clusters=clusters)
            verdict, without_clusters = comparison.verdict, compare([rows[:, 0], rows[:, 1]], seed).verdict
            covers, covers_lower = check_bounds(verdict, truth)
            lower += covers_lower
            lines.append([
                *check_kind(verdict), *check_kind(without_clusters), *covers, rejects_pair(comparison, -1)
            ])  # fmt: skip
        names = ("genuine", "agree", "untold genuine", "untold agree", "price", "safe", "upper", "pair")
        rates = dict(zip(names, np.mean(lines, axis=0).tolist(), strict=True))
        return rates | {"lower": float(lower.min() / len(seeds))}


def copy_within_clusters(rng: np.random.Generator, rows: Array, copies: float) -> tuple[Array, NDArray[np.int64]]:
    """Form clusters of 3 to 7 rows, and replace rows by a copy of the first row of their cluster with this probability.

    The rows are independent of each other and of the sizes of the clusters, so the true means do not change.
    """
    sizes = rng.integers(3, 8, size=len(rows))
    clusters = np.repeat(np.arange(len(sizes)), sizes)[: len(rows)]
    first = np.searchsorted(clusters, clusters)
    copied = rng.random(len(rows)) < copies
    return rows[np.where(copied, first, np.arange(len(rows)))], clusters


def rejects_pair(comparison: Comparison, place: int) -> bool:
    """Return whether the models of a pair differ under the second metric, by their unadjusted p-value."""
    return bool(comparison.pairs.iloc[place][f"p_value {METRICS[1]}"] <= ALPHA)


def check_kind(verdict: Verdict) -> tuple[bool, bool]:
    """Return whether a verdict is `genuine`, and whether it is `agree`."""
    return verdict.kind == "genuine", verdict.kind == "agree"


def check_bounds(verdict: Verdict, truth: Array) -> tuple[tuple[bool, bool, bool], NDArray[np.bool_]]:
    """Return whether the bounds cover price, safe choice and all regrets, and whether each lower bound covers."""
    regret = truth.max(axis=1, keepdims=True) - truth
    worst = regret.max(axis=0)
    upper, lower = (
        np.array([[by_metric[metric][model] for model in verdict.models] for metric in METRICS])
        for by_metric in (verdict.regrets_upper, verdict.regrets_lower)
    )
    tolerance = 1e-9
    safe = verdict.models.index(verdict.safe_choice)
    covers = (
        bool(verdict.price_lower <= worst.min() + tolerance),
        bool(verdict.safe_regret_upper >= worst[safe] - tolerance),
        bool((upper >= regret - tolerance).all()),
    )
    return covers, lower <= regret + tolerance


def build_recipe_cells() -> list[RecipeCell]:
    """Return all scenarios with 8 recipes and 1,000 queries, then other kinds and sizes of some of them."""
    null, third, power = "linear's best ahead, exponential tied", "a third ties both winners", "different bests ±.01"
    cells = [
        RecipeCell(scenario, 8, 1000, repeats, "resampled queries")
        for scenario in build_scenarios(8)
        for repeats in (3, 5, 10)
    ]
    cells += [
        RecipeCell(scenario, 8, 1000, repeats, "resampled queries", kind)
        for kind in ("skewed runs", "unequal runs", "a fixed baseline")
        for scenario in (null, third)
        for repeats in ((0,) if kind == "unequal runs" else (5, 10))
    ]
    cells += [
        RecipeCell(null, 2, 5000, repeats, "resampled queries", kind)
        for kind in ("", "skewed runs", "opposite skews")
        for repeats in (5, 10)
    ]
    cells += [RecipeCell(scenario, 8, 1000, 5, "seeds") for scenario in (null, third, power)]
    return [*cells, *(RecipeCell(scenario, 2, 200, 5, "resampled queries") for scenario in (null, power))]


CLUSTER_CELLS = [
    ClusterCell(scenario, 3000, copies)
    for scenario in (
        "linear's best ahead by .012, all tied on exponential",
        "a third ties both winners",
        "two tie at the top",
        "different bests, ±.012",
    )
    for copies in (0.0, 0.3, 1.0)
]
