"""How often is the verdict right? Simulated populations with known truth, and what `Verdict` makes of samples of them.

    python calibration/calibration.py --output calibration/CALIBRATION.md

Each population holds the per-query NDCG@10 of eight models under both definitions. The models look for grades 0 to 4
with different tastes: the first for anything fair, the last for what is excellent, the others in between. They share
much of their noise, and rank nearly a third of the queries exactly alike. A scenario then gives every query a weight
such that the true means differ by exactly what the scenario says (exponential tilting), and queries are drawn with
these weights. So the truth is known, while values keep the ties, skews and correlations of ranking metrics.

Beside the verdict stand two naive rules that call metrics in disagreement: two t-tests between the two winners, and a
large probability that the winners differ. Both miss that a third model may be best under both metrics.

Recipes of several runs and queries in clusters have populations of their own: see `calibration_cells.py`.

Two processes, one BLAS thread each; two hours for the default settings. The rates of every cell are kept in a JSON file
beside the page, and an interrupted calibration goes on from there.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from calibration_cells import CLUSTERS, ClusterCell, RecipeCell, Store, found, put_section, recipe_cells, seeds_of
from numpy.typing import NDArray
from scipy.optimize import root
from scipy.special import logsumexp
from scipy.stats import ttest_rel

from gainsay import Comparison

Array = NDArray[np.float64]

MODELS = 8
ALPHA = 0.05
DRAWS = 1_000
START, END = "# Calibration of the verdict", "<!-- end of the verdict -->"
NAMES = tuple(f"model {number}" for number in range(1, MODELS + 1))


@dataclass(frozen=True)
class Scenario:
    """True means of all models under both metrics, up to a constant; what `genuine` should come to.

    `limits` holds the target rate for each number of queries: at most that where a common best model exists, about
    that or more where none does.
    """

    name: str
    linear: tuple[float, ...]
    exponential: tuple[float, ...]
    limits: dict[int, float] = field(default_factory=dict)

    @property
    def truth(self) -> Array:
        """True means, shape (2, models)."""
        return np.array([self.linear, self.exponential])

    @property
    def regret(self) -> Array:
        """Worst-metric regret of every model."""
        worst: Array = (self.truth.max(axis=1, keepdims=True) - self.truth).max(axis=0)
        return worst

    @property
    def has_common_best(self) -> bool:
        """Whether some model is best under both metrics, alone or not."""
        return bool(self.regret.min() == 0)

    @property
    def has_clear_best(self) -> bool:
        """Whether one model beats every other under both metrics, so that `agree` is true."""
        lead = np.sort(self.truth, axis=1)[:, -1] - np.sort(self.truth, axis=1)[:, -2]
        return self.has_common_best and bool((lead > 0).all())


def means(other: float, **leads: float) -> tuple[float, ...]:
    """Give one mean per model: `other`, except where m1, m2, … say otherwise."""
    return tuple(leads.get(f"m{number}", other) for number in range(1, MODELS + 1))


RAMP = tuple(np.linspace(0, 0.012, MODELS).tolist())
NULL = {1000: ALPHA, 3000: ALPHA}
SCENARIOS = (
    Scenario("all equal", means(0), means(0), NULL),
    Scenario("same best, ahead by .012", means(0, m1=0.012), means(0, m1=0.012), NULL),
    Scenario("two tie at the top", means(0, m1=0.012, m2=0.012), means(0, m1=0.012, m2=0.012), NULL),
    Scenario("linear's best ahead by .012, all tied on exponential", means(0, m1=0.012), means(0), NULL),
    Scenario(
        "a third ties both winners",
        means(-0.02, m1=0.012, m4=0.012, m8=0),
        means(-0.02, m8=0.012, m4=0.012, m1=0),
        NULL,
    ),
    Scenario(
        "a third ties both winners, crowded",
        means(0, m1=0.012, m2=0.012, m3=0.012, m4=0.012),
        means(0, m4=0.012, m6=0.012, m7=0.012, m8=0.012),
        NULL,
    ),
    Scenario(
        "different bests, ±.012",
        means(-0.02, m1=0.012, m8=0),
        means(-0.02, m8=0.012, m1=0),
        {1000: 0.75, 3000: 0.99},
    ),
    Scenario("different bests, ±.006", means(-0.02, m1=0.006, m8=0), means(-0.02, m8=0.006, m1=0), {3000: 0.74}),
    Scenario("ladder of 8, ±.012", RAMP[::-1], RAMP, {3000: 0.81}),
    Scenario(
        "compromise .0015 behind both",
        means(-0.02, m1=0.012, m4=0.0105, m8=0),
        means(-0.02, m8=0.012, m4=0.0105, m1=0),
    ),
)  # fmt: skip


def simulate(queries: int, seed: int, cutoff: int = 10) -> Array:
    """Make a population, shape (queries, 2, models): NDCG@10 with linear gains, then with exponential ones."""
    rng = np.random.default_rng(seed)
    documents, grades = 24, np.arange(5)
    appeal = {"fair": np.array([0.0, 1.2, 2.1, 2.3, 2.5]), "excellent": np.array([0.0, 0.5, 1.1, 2.6, 4.0])}
    labels = rng.choice(grades, size=(queries, documents), p=[0.52, 0.30, 0.13, 0.03, 0.02])
    absent = np.arange(documents) >= rng.integers(8, documents, size=(queries, 1), endpoint=True)
    labels[absent] = 0
    relevant = labels.any(axis=1)
    labels, absent = labels[relevant], absent[relevant]
    shared = rng.normal(scale=1.3, size=labels.shape)
    alike = rng.random(len(labels)) < 0.30
    values = np.empty((len(labels), 2, MODELS))
    for model in range(MODELS):
        taste = model / (MODELS - 1)
        own = rng.normal(scale=0.7, size=labels.shape)
        own[alike] = 0.0
        taste_here = np.where(alike, 0.5, taste)[:, None]
        score = (1 - taste_here) * appeal["fair"][labels] + taste_here * appeal["excellent"][labels] + shared + own
        score[absent] = -np.inf
        top = np.argpartition(-score, cutoff, axis=1)[:, :cutoff]
        top = np.take_along_axis(top, np.argsort(-np.take_along_axis(score, top, axis=1), axis=1), axis=1)
        for row, gain in enumerate((grades.astype(float), 2.0**grades - 1)):
            values[:, row, model] = _dcg(gain[np.take_along_axis(labels, top, axis=1)])
            values[:, row, model] /= _dcg(gain[-np.sort(-labels, axis=1)[:, :cutoff]])
    return values


def _dcg(gains: Array) -> Array:
    total: Array = gains @ (1 / np.log2(np.arange(2, gains.shape[1] + 2)))
    return total


def tilted(h: Array, tol: float) -> Array:
    """Return the probabilities proportional to exp(θ'h), nearest to equal ones, under which the mean of `h` is 0."""

    def probabilities(theta: Array) -> Array:
        exponent = h @ theta
        return np.exp(exponent - logsumexp(exponent))

    def hessian(theta: Any) -> Any:
        p = probabilities(theta)
        centred = h - p @ h
        return (centred * p[:, None]).T @ centred

    def gradient(theta: Any) -> Any:
        return probabilities(theta) @ h

    return probabilities(root(gradient, np.zeros(h.shape[1]), jac=hessian, tol=tol).x)


def tilt(values: Array, truth: Array) -> Array:
    """Give every query a probability such that the models' means differ as `truth` says.

    The probabilities nearest to equal ones, in relative entropy, are proportional to exp(θ'h) with h a query's
    differences less the true ones, and θ minimises log Σ exp(θ'h): smooth and convex, so it is where the gradient is 0.
    """
    h = (values[:, :, 1:] - values[:, :, :1] - (truth[:, 1:] - truth[:, :1])).reshape(len(values), -1)
    p = tilted(h, tol=1e-13)
    if np.abs(p @ h).max() > 1e-9:
        raise ArithmeticError("tilting did not converge: this population cannot have the truth asked for")
    return p


@dataclass(frozen=True)
class Row:
    """One scenario at one number of queries: rates over all repetitions, mean true regrets of three ways to choose.

    `t_tests` and `winners_differ` are the rates at which the two naive rules say that the metrics disagree.
    """

    scenario: Scenario
    queries: int
    repetitions: int
    genuine: float
    agree: float
    t_tests: float
    winners_differ: float
    price_covered: float
    safe_covered: float
    linear_regret: float
    exponential_regret: float
    safe_regret: float

    @property
    def error(self) -> float:
        """Standard error of the rate of `genuine`."""
        return float(np.sqrt(self.genuine * (1 - self.genuine) / self.repetitions))

    @property
    def target(self) -> float | None:
        """What the rate should be."""
        return self.scenario.limits.get(self.queries)

    @property
    def kept(self) -> bool | None:
        """Whether the target is kept; None where there is none."""
        if self.target is None:
            return None
        if self.scenario.has_common_best:
            return self.genuine <= self.target + 2 * self.error
        return self.genuine >= self.target - 0.05 - 2 * self.error


def each_winner_beats_the_other(sample: Array, winners: Sequence[int]) -> bool:
    """Compare the two winners as is often done: by one paired t-test under each metric, one-sided at level `ALPHA`.

    That shows at most a sign conflict of these two models. `sample` has shape (queries, 2, models).
    """
    first, second = winners
    if first == second:
        return False
    ahead, behind = sample[:, [0, 1], [first, second]], sample[:, [0, 1], [second, first]]
    return bool((ttest_rel(ahead, behind, alternative="greater").pvalue <= ALPHA).all())


def winners_differ(comparison: Comparison) -> float:
    """Return the share of bootstrap draws without a model that is best under both metrics."""
    joint = comparison.sample.joint(comparison.metrics)
    drawn = joint.bootstrap.values + joint.estimated.mean[:, :, None]
    best = drawn >= drawn.max(axis=1, keepdims=True)
    return float(np.mean(~best.all(axis=0).any(axis=0)))


def outcomes(values: Array, chance: Array, truth: Array, queries: int, seeds: Sequence[int]) -> Array:
    """Draw a sample for each seed and judge it: the fields of `Row` from `genuine` on."""
    edges = np.cumsum(chance)
    worst = (truth.max(axis=1, keepdims=True) - truth).max(axis=0)
    regret = dict(zip(NAMES, worst, strict=True))
    lines = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        sample = values[np.searchsorted(edges / edges[-1], rng.random(queries))]
        tables = {"linear": sample[:, 0], "exponential": sample[:, 1]}
        comparison = Comparison(tables, NAMES, alpha=ALPHA, draws=DRAWS, seed=seed)
        verdict = comparison.verdict
        lines.append((
            verdict.kind == "genuine",
            verdict.kind == "agree",
            each_winner_beats_the_other(sample, [NAMES.index(winner) for winner in verdict.winners.values()]),
            winners_differ(comparison) >= 1 - ALPHA,
            verdict.price_lower <= worst.min() + 1e-9,
            verdict.safe_regret_upper >= regret[verdict.safe_choice] - 1e-9,
            regret[verdict.winners["linear"]],
            regret[verdict.winners["exponential"]],
            regret[verdict.safe_choice],
        ))  # fmt: skip
    return np.array(lines, dtype=float)


@dataclass(frozen=True)
class FixedCell:
    """Fixed models under one scenario, judged on so many independent queries."""

    scenario: str
    queries: int

    @property
    def key(self) -> str:
        """A name that no other cell has."""
        return f"fixed | {self.scenario} | {self.queries}"


Cell = FixedCell | ClusterCell | RecipeCell
RATES = tuple(Row.__dataclass_fields__)[3:]
_population: Array


def _start(population: int, seed: int) -> None:
    global _population
    _population = simulate(population, seed)


def _judge(cell: Cell, seeds: Sequence[int]) -> dict[str, float]:
    if isinstance(cell, RecipeCell):
        return cell.judge(seeds)
    truth = next(scenario.truth for scenario in SCENARIOS if scenario.name == cell.scenario)
    chance = tilt(_population, truth)
    if isinstance(cell, ClusterCell):
        return cell.judge(seeds, _population, chance, truth)
    lines = outcomes(_population, chance, truth, cell.queries, seeds)
    return dict(zip(RATES, lines.mean(axis=0).tolist(), strict=True))


def judge_all(
    cells: Sequence[Cell], store: Store, repetitions: int, population: int = 60_000, workers: int = 2
) -> None:
    """Judge the cells that the store does not have, and put them there.

    Results depend on the store's seed and the number of repetitions, not on the number of workers.
    """
    tasks = {}
    for cell in cells:
        if not store.has(cell.key, repetitions):
            tasks[cell] = seeds_of(cell.key, store.seed, repetitions)
    for cell, rates in _map(tasks, population, store.seed, workers):
        store.put(cell.key, repetitions, rates)


def _map(
    tasks: dict[Cell, list[int]], population: int, seed: int, workers: int
) -> Iterator[tuple[Cell, dict[str, float]]]:
    if workers == 1:
        _start(population, seed)
        yield from ((cell, _judge(cell, seeds)) for cell, seeds in tasks.items())
        return
    # Fresh processes read this before they load BLAS; two threads each would only get in each other's way.
    os.environ["OMP_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=_start, initargs=(population, seed)) as pool:
        waiting = {pool.submit(_judge, cell, seeds): cell for cell, seeds in tasks.items()}
        for done in as_completed(waiting):
            yield waiting[done], done.result()


def fixed_cells(queries: Sequence[int]) -> list[FixedCell]:
    """Return all scenarios of fixed models."""
    return [FixedCell(scenario.name, n) for scenario in SCENARIOS for n in queries]


def rows_of(store: Store, queries: Sequence[int]) -> list[Row]:
    """Return the scenarios of fixed models that are done."""
    by_name = {scenario.name: scenario for scenario in SCENARIOS}
    return [Row(by_name[cell.scenario], cell.queries, **rates) for cell, rates in found(store, fixed_cells(queries))]


def table(rows: Sequence[Row]) -> str:
    """Write the rows as a Markdown table."""
    head = (
        "scenario", "a common best exists", "queries", "samples", "rate of `genuine`", "s.e.", "target", "kept",
        "rate of `agree`", "naive: two t-tests", "naive: P(winners differ) ≥ .95", "price bound covers",
        "safe bound covers", "regret: linear winner", "exponential winner", "safe choice",
    )  # fmt: skip
    lines = [head, ("---",) * len(head)]
    for row in rows:
        sign = "≤" if row.scenario.has_common_best else "≈"
        lines.append((
            row.scenario.name,
            "yes" if row.scenario.has_common_best else "no",
            f"{row.queries}",
            f"{row.repetitions}",
            f"{row.genuine:.3f}",
            f"{row.error:.3f}",
            "–" if row.target is None else f"{sign} {row.target:.2f}",
            {None: "–", True: "yes", False: "**no**"}[row.kept],
            f"{row.agree:.3f}",
            f"{row.t_tests:.3f}",
            f"{row.winners_differ:.3f}",
            f"{row.price_covered:.3f}",
            f"{row.safe_covered:.3f}",
            f"{row.linear_regret:.4f}",
            f"{row.exponential_regret:.4f}",
            f"{row.safe_regret:.4f}",
        ))  # fmt: skip
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cluster_table(store: Store) -> str:
    """Write the cells of clusters as a Markdown table."""
    lines = [
        "| scenario | copies | samples | rate of `genuine` | `agree` | `genuine` untold of clusters | `agree` untold | "
        "price covers | safe covers | upper regrets cover | lower regrets cover, the worst | p ≤ .05 of a pair |",
        f"|{' --- |' * 12}",
    ]
    for cell, rates in found(store, CLUSTERS):
        shown = [_rate(rates, name) for name in ("genuine", "agree", "untold genuine", "untold agree")]
        covers = [f"{rates[name]:.3f}" for name in ("price", "safe", "upper", "lower", "pair")]
        lines.append(f"| {cell.scenario} | {cell.copies:.0%} | {rates['repetitions']} | {' | '.join(shown + covers)} |")
    return "\n".join(lines)


def recipe_table(store: Store) -> str:
    """Write the cells of recipes as a Markdown table."""
    lines = [
        "| scenario | recipes | queries | runs | what varies | samples | rate of `genuine` | `agree` | "
        "`genuine` of one run each | `agree` of one run | `genuine` of averaged runs | `agree` of averaged runs | "
        "price covers | safe covers | upper regrets cover | lower regrets cover, the worst | p ≤ .05 of a pair |",
        f"|{' --- |' * 17}",
    ]
    names = ("genuine", "agree", "one genuine", "one agree", "averaged genuine", "averaged agree")
    cells = sorted(recipe_cells(), key=lambda it: (it.kind, it.scenario, it.parts, it.models, it.queries, it.runs))
    for cell, rates in found(store, cells):
        size = [cell.models, cell.queries, cell.runs or "3, 5, 10", ", ".join(filter(None, [cell.parts, cell.kind]))]
        shown = [_rate(rates, name) for name in names]
        covers = [f"{rates[name]:.3f}" for name in ("price", "safe", "upper", "lower", "pair")]
        columns = [cell.scenario, *size, rates["repetitions"], *shown, *covers]
        lines.append(f"| {' | '.join(map(str, columns))} |")
    return "\n".join(lines)


def _rate(rates: dict[str, float], name: str) -> str:
    """Write a rate with its standard error."""
    rate, n = rates[name], rates["repetitions"]
    return f"{rate:.3f} ± {np.sqrt(rate * (1 - rate) / n):.3f}"


OTHERS = (("one", "of one run each"), ("averaged", "of averaged runs"), ("untold", "untold of clusters"))
BOUNDS = (
    ("price", "price"),
    ("safe", "safe choice"),
    ("upper", "upper bounds of all regrets"),
    ("lower", "lower bound of a regret"),
)


def recipe_summary(store: Store) -> list[str]:
    """Write the worst of each column."""
    cells = list(found(store, [*recipe_cells(), *CLUSTERS]))
    nulls = [it for it in cells if not it[0].scenario.startswith("different bests")]
    no_best = [it for it in cells if not it[0].scenario.startswith("same best")]
    lines = []
    for name, among, what in (("genuine", nulls, "false `genuine`"), ("agree", no_best, "false `agree`")):
        cell, rates = max(among, key=lambda it: it[1][name])
        lines.append(f"- Highest rate of {what} of recipes and clusters: {_rate(rates, name)} (`{cell.key}`).")
        for other, how in OTHERS:
            own = [it for it in among if f"{other} {name}" in it[1]]
            if own:
                cell, rates = max(own, key=lambda it: it[1][f"{other} {name}"])
                lines.append(f"  The verdict on fixed models {how}: {_rate(rates, f'{other} {name}')} (`{cell.key}`).")
    for name, what in BOUNDS:
        cell, rates = min(cells, key=lambda it: it[1][name])
        lines.append(f"- Lowest coverage of the {what}: {rates[name]:.3f} of {rates['repetitions']} (`{cell.key}`).")
    return lines


def report(rows: Sequence[Row], store: Store) -> str:
    """Write the whole page: what was done, the tables, the worst of each column."""
    nulls = [row for row in rows if row.scenario.has_common_best]
    worst = max(nulls, key=lambda row: row.genuine)
    unclear = max(rows, key=lambda row: 0.0 if row.scenario.has_clear_best else row.agree)
    summary = [
        f"- Highest rate of false `genuine`: {worst.genuine:.3f} (s.e. {worst.error:.3f}), "
        f"{worst.scenario.name}, {worst.queries} queries.",
        f"- Highest rate of false `agree`: {0.0 if unclear.scenario.has_clear_best else unclear.agree:.3f}.",
        f"- Highest rate at which the naive rules find a disagreement where a common best model exists: "
        f"{max(row.t_tests for row in nulls):.3f} by two t-tests, "
        f"{max(row.winners_differ for row in nulls):.3f} by P(winners differ).",
        f"- Lowest coverage of the price's lower bound: {min(row.price_covered for row in rows):.3f}; "
        f"of the safe choice's upper bound: {min(row.safe_covered for row in rows):.3f}.",
    ]
    return "\n".join([
        START,
        "",
        f"Written by `calibration/calibration.py`: {MODELS} models, α = {ALPHA}, "
        f"{DRAWS} draws a verdict (a tenth of the default), seed {store.seed}.",
        "The rate of `genuine` is an error rate where a common best model exists (target: at most α, plus two standard "
        "errors of the simulation) and power where none does (target: at most .05 below, same allowance).",
        "The *naive* columns are the rates at which two other rules say that the metrics disagree: two paired t-tests "
        f"between the two winners, each ahead under its own metric (one-sided, level {ALPHA}), and a probability of "
        f"{1 - ALPHA} or more that no model is best under both.",
        "A bound *covers* where the true price is not below its lower bound, or the true worst-metric regret of the "
        "safe choice not above its upper bound (both should reach .95). The last three columns are the mean true "
        "worst-metric regret of choosing by the linear definition, by the exponential one, and by the verdict.",
        "",
        table(rows),
        "",
        *summary,
        "",
        *further(store),
        END,
    ])  # fmt: skip


def further(store: Store) -> list[str]:
    """Write what was found of clusters and recipes; nothing where no cell is done."""
    page = []
    if any(found(store, CLUSTERS)):
        page += [
            "## Queries in clusters",
            "",
            "The same population in clusters of 3 to 7 queries, 3,000 queries in all; of each cluster every query but "
            "the first copies that one with the chance named. The verdict is told of the clusters; beside it the one "
            "that is not. Rates with their standard errors. Last: how often the paired test of the last two models on "
            "the exponential definition gives p ≤ .05, an error where they tie there.",
            "",
            cluster_table(store),
            "",
        ]
    if any(found(store, recipe_cells())):
        page += [
            "## Recipes of several runs",
            "",
            "Each recipe is trained so many times; its truth is its mean over queries and runs. Effects of queries and "
            "of queries and runs have heavy tails (t, 5 degrees of freedom), those of runs are normal, or skewed as an "
            "exponential: now and then a run goes badly (skewed runs), or of every second recipe goes well (opposite "
            "skews). The sizes are those of another seed (standard deviations .025 of queries, .0015 of runs, .075 of "
            "both) or of another sample of the training queries (.010, .0035, .095). Opposite skews are the one "
            "population here in which the level is missed, with few runs of two recipes; what corrections would do "
            "there stands below. Beside the verdict on recipes stand those that take models for fixed, on the first "
            "run of each and on the mean of its runs: what a single training claims, and what averaging claims.",
            "",
            recipe_table(store),
            "",
        ]
    return [*page, *recipe_summary(store), ""] if page else []


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="How often is the verdict right, in populations of known truth?")
    parser.add_argument("--repetitions", type=int, default=2000, help="samples per scenario and number of queries")
    parser.add_argument("--queries", type=int, nargs="+", default=[1000, 3000], help="queries per sample")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="also write the page to this file")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--only", choices=["fixed", "clusters", "recipes"], help="leave all else as it was found")
    options = parser.parse_args(arguments)
    started = time.perf_counter()
    store = Store(options.output and options.output.with_suffix(".json"), options.seed)
    cells = {"fixed": fixed_cells(options.queries), "clusters": CLUSTERS, "recipes": recipe_cells()}
    for kind, some in cells.items():
        if options.only in (None, kind):
            judge_all(some, store, options.repetitions, workers=options.workers)
    rows = rows_of(store, options.queries)
    page = report(rows, store)
    print(page)
    print(f"{time.perf_counter() - started:.0f} s")
    if options.output:
        put_section(options.output, page, START, END)
    return 1 if any(row.kept is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
