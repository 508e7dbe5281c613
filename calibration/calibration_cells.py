"""Recipes of several runs, queries in clusters: populations of known truth, and how often the verdict is right on them.

A cell is one scenario at one size. `calibration.py` judges them, keeps the rates of each as soon as it is done, and
writes the page. Values of recipes are made of effects whose true mean is 0,

    x[query, metric, recipe, run] = truth + query effect + run effect + effect of query and run,

so that the truth of a recipe is exact. The sizes of the effects were measured with LightGBM: what another seed changes,
and what another sample of the training queries does.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainsay.comparison.data import Panel, build_panel, read_tables
from gainsay.comparison.inference import Sample
from gainsay.comparison.pairs import compute_pair_p_values
from gainsay.comparison.verdict import Verdict

Array = NDArray[np.float64]

ALPHA = 0.05
DRAWS = 1_000
METRICS = ("linear", "exponential")
PARTS = {
    "seeds": {"query": 0.025, "run": 0.0015, "query_run": 0.075},
    "resampled queries": {"query": 0.010, "run": 0.0035, "query_run": 0.095},
}
CORRELATION = 0.9
LEAD = 0.06
"""Far more than any sample could miss: what is to be ruled out is ruled out, and what remains is a tie."""


def truths(models: int) -> dict[str, Array]:
    """Return the true means of recipes under both metrics, shape (2, models), by the name of the scenario."""

    def means(other: float, *leads: dict[int, float]) -> Array:
        return np.array([[lead.get(k, other) for k in range(models)] for lead in leads])

    found = {
        "linear's best ahead, exponential tied": means(0, {0: LEAD}, {}),
        "two tie at the top": means(-LEAD, {0: 0, 1: 0}, {0: 0, 1: 0}),
        "different bests ±.01": means(-LEAD, {0: 0.01, 1: 0}, {0: 0, 1: 0.01}),
        "different bests ±.03": means(-LEAD, {0: 0.03, 1: 0}, {0: 0, 1: 0.03}),
        "same best, ahead by .01": means(-LEAD, {0: 0.01, 1: 0}, {0: 0.01, 1: 0}),
        "all equal": means(0, {}, {}),
    }
    if models > 2:
        found["a third ties both winners"] = means(0, {0: LEAD, 2: LEAD}, {1: LEAD, 2: LEAD})
    return found


@dataclass(frozen=True)
class RecipeCell:
    """One population of recipes, and samples of one size of it.

    `kind` is "" for the plain population, "skewed runs" (now and then a run of any recipe goes badly: effects have a
    long tail below), "opposite skews" (of every second recipe the tail is above), "unequal runs" (3, 5, 10, 3, …) or "a
    fixed baseline" (the first recipe has one run).
    """

    scenario: str
    models: int
    queries: int
    runs: int
    parts: str
    kind: str = ""

    @property
    def key(self) -> str:
        """A name that no other cell has."""
        return " | ".join(["recipes", *map(str, asdict(self).values())])

    @property
    def truth(self) -> Array:
        """True means, shape (2, models)."""
        return truths(self.models)[self.scenario]

    @property
    def counts(self) -> list[int]:
        """Runs of each recipe; 0 for a fixed model."""
        counts = [(3, 5, 10)[k % 3] if self.kind == "unequal runs" else self.runs for k in range(self.models)]
        return [0, *counts[1:]] if self.kind == "a fixed baseline" else counts

    def sample(self, rng: np.random.Generator) -> list[Array]:
        """Return the values of each recipe, shape (2, queries, runs)."""
        sizes = PARTS[self.parts]
        found = []
        for k, count in enumerate(self.counts):
            runs = max(1, count)
            values = self.truth[:, k, None, None] + _tailed(rng, (self.queries, 1), sizes["query"] / np.sqrt(2))
            values = values + _tailed(rng, (self.queries, runs), sizes["query_run"])
            if count:
                skewed = self.kind in ("skewed runs", "opposite skews")
                turned = self.kind == "skewed runs" or k % 2 == 1
                values += _run_effects(rng, runs, sizes["run"], skewed=skewed, turned=turned)
            found.append(values)
        return found

    def judge(self, seeds: Sequence[int]) -> dict[str, float]:
        """Judge a sample for each seed: rates, and coverage of the bounds."""
        lines, lower = [], np.zeros((2, self.models))
        for seed in seeds:
            values = self.sample(np.random.default_rng(seed))
            given = [
                [one[row] if one.shape[2] > 1 else one[row, :, 0] for one in values] for row in (0, 1)
            ]  # fmt: skip
            verdict, p_values = judged(*given, seed=seed)
            one_run, _ = judged(*(np.stack([one[row, :, 0] for one in values], axis=1) for row in (0, 1)), seed=seed)
            means = (np.stack([one[row].mean(axis=1) for one in values], axis=1) for row in (0, 1))
            averaged, _ = judged(*means, seed=seed)
            covered, within = coverage(verdict, self.truth)
            lower += within
            lines.append([
                *kinds(verdict), *kinds(one_run), *kinds(averaged), *covered, p_values[1, -2, -1] <= ALPHA
            ])  # fmt: skip
        names = ("genuine", "agree", "one genuine", "one agree", "averaged genuine", "averaged agree", "price", "safe",
                 "upper", "pair")  # fmt: skip
        rates = dict(zip(names, np.mean(lines, axis=0).tolist(), strict=True))
        return rates | {"lower": float(lower.min() / len(seeds))}


def _tailed(rng: np.random.Generator, shape: tuple[int, ...], size: float) -> Array:
    """Draw effects of a standard deviation with heavier tails than normal (t, 5 degrees), correlated over metrics."""
    shared, own = rng.standard_t(5, shape), rng.standard_t(5, (2, *shape))
    mixed: Array = size * np.sqrt(3 / 5) * (np.sqrt(CORRELATION) * shared + np.sqrt(1 - CORRELATION) * own)
    return mixed


def _run_effects(rng: np.random.Generator, runs: int, size: float, *, skewed: bool, turned: bool) -> Array:
    """Draw effects of runs, shape (2, 1, runs): normal, or skewed as an exponential, its tail above or below."""
    if skewed:
        shared, own = rng.exponential(size=runs) - 1, rng.exponential(size=(2, runs)) - 1
    else:
        shared, own = rng.standard_normal(runs), rng.standard_normal((2, runs))
    effects: Array = size * (np.sqrt(CORRELATION) * shared + np.sqrt(1 - CORRELATION) * own)
    return (-effects if turned else effects)[:, None]


@dataclass(frozen=True)
class ClusterCell:
    """Queries that come in clusters of 3 to 7, of which a share copies the first of its cluster."""

    scenario: str
    queries: int
    copies: float

    @property
    def key(self) -> str:
        """A name that no other cell has."""
        return " | ".join(["clusters", *map(str, asdict(self).values())])

    def judge(self, seeds: Sequence[int], values: Array, chance: Array, truth: Array) -> dict[str, float]:
        """Judge a sample for each seed, told of the clusters and not."""
        edges, lines, lower = np.cumsum(chance), [], np.zeros(truth.shape)
        for seed in seeds:
            rng = np.random.default_rng(seed)
            rows = values[np.searchsorted(edges / edges[-1], rng.random(self.queries))]
            rows, clusters = clustered(rng, rows, self.copies)
            told, p_values = judged(rows[:, 0], rows[:, 1], seed=seed, clusters=clusters)
            untold, _ = judged(rows[:, 0], rows[:, 1], seed=seed)
            covered, within = coverage(told, truth)
            lower += within
            lines.append([*kinds(told), *kinds(untold), *covered, p_values[1, -2, -1] <= ALPHA])
        names = ("genuine", "agree", "untold genuine", "untold agree", "price", "safe", "upper", "pair")
        rates = dict(zip(names, np.mean(lines, axis=0).tolist(), strict=True))
        return rates | {"lower": float(lower.min() / len(seeds))}


def clustered(rng: np.random.Generator, rows: Array, copies: float) -> tuple[Array, NDArray[np.int64]]:
    """Put rows into clusters of 3 to 7; each but the first of a cluster becomes a copy of that one with this chance.

    The rows are independent of each other and of the sizes of the clusters, so their truth stays what it is.
    """
    sizes = rng.integers(3, 8, size=len(rows))
    clusters = np.repeat(np.arange(len(sizes)), sizes)[: len(rows)]
    first = np.searchsorted(clusters, clusters)
    copied = rng.random(len(rows)) < copies
    return rows[np.where(copied, first, np.arange(len(rows)))], clusters


def read_panel(values: Mapping[str, Any], models: Sequence[str] | None = None, clusters: Any = None) -> Panel:
    """Return values by metric as a comparison reads them."""
    first = next(iter(values.values()))
    models = models or [f"model {k + 1}" for k in range(len(first) if isinstance(first, list) else first.shape[1])]
    return build_panel(*read_tables(values, models), models, clusters=clusters)


def judged(first: Any, second: Any, *, seed: int, clusters: Any = None) -> tuple[Verdict, Array]:
    """Return the verdict, and the p-values of all pairs."""
    values = {METRICS[0]: first, METRICS[1]: second}
    sample = Sample(read_panel(values, clusters=clusters), ALPHA, DRAWS, seed)
    return Verdict.from_sample(sample, METRICS, 0.0), compute_pair_p_values(sample.joint(METRICS).estimated).two_sided


def kinds(verdict: Verdict) -> tuple[bool, bool]:
    """Whether a verdict is `genuine`, and whether it is `agree`."""
    return verdict.kind == "genuine", verdict.kind == "agree"


def coverage(verdict: Verdict, truth: Array) -> tuple[tuple[bool, bool, bool], NDArray[np.bool_]]:
    """Whether the bounds hold of the price, the safe choice's regret and all regrets; and of each its lower bound."""
    regret = truth.max(axis=1, keepdims=True) - truth
    worst = regret.max(axis=0)
    upper, lower = (
        np.array([[by_metric[metric][model] for model in verdict.models] for metric in METRICS])
        for by_metric in (verdict.regrets_upper, verdict.regrets_lower)
    )
    slack = 1e-9
    safe = verdict.models.index(verdict.safe_choice)
    whole = (
        bool(verdict.price_lower <= worst.min() + slack),
        bool(verdict.safe_regret_upper >= worst[safe] - slack),
        bool((upper >= regret - slack).all()),
    )
    return whole, lower <= regret + slack


def recipe_cells() -> list[RecipeCell]:
    """Return all scenarios at 8 recipes and 1,000 queries, and the corners of two of them; what matters most first."""
    null, power = "linear's best ahead, exponential tied", "different bests ±.01"
    cells = [
        RecipeCell(scenario, 8, 1000, runs, parts)
        for parts in ("resampled queries", "seeds")
        for scenario in truths(8)
        for runs in (3, 5, 10)
    ]
    cells += [
        RecipeCell(scenario, 8, 1000, runs, "resampled queries", kind)
        for kind in ("skewed runs", "unequal runs", "a fixed baseline")
        for scenario in (null, "a third ties both winners", "two tie at the top")
        for runs in ((0,) if kind == "unequal runs" else (3, 5, 10))
    ]
    cells += [
        RecipeCell(null, models, 5000, runs, "resampled queries", kind)
        for kind in ("skewed runs", "opposite skews")
        for models in (2, 3)
        for runs in (3, 5, 10)
    ]
    cells += [
        RecipeCell(scenario, models, queries, runs, parts)
        for parts in ("resampled queries", "seeds")
        for queries in (5000, 200, 1000)
        for scenario in (null, power)
        for models in (2, 3, 8)
        for runs in (3, 5, 10)
    ]
    return list(dict.fromkeys(cells))


CLUSTERS = [
    ClusterCell(scenario, 3000, copies)
    for scenario in (
        "linear's best ahead by .012, all tied on exponential",
        "a third ties both winners",
        "two tie at the top",
        "different bests, ±.012",
    )
    for copies in (0.0, 0.3, 1.0)
]


@dataclass
class Store:
    """Rates by cell in a JSON file: an interrupted calibration goes on where it stopped.

    A cell is taken from it where as many samples or more were judged with the same seed.
    """

    path: Path | None
    seed: int
    cells: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is not None and self.path.exists():
            kept = json.loads(self.path.read_text(encoding="utf-8"))
            if kept["seed"] == self.seed:
                self.cells = kept["cells"]

    def has(self, key: str, repetitions: int) -> bool:
        """Whether a cell needs no more samples."""
        return key in self.cells and self.cells[key]["repetitions"] >= repetitions

    def put(self, key: str, repetitions: int, rates: dict[str, float]) -> None:
        """Keep a cell, on disk as well."""
        self.cells[key] = {"repetitions": repetitions, **rates}
        if self.path is not None:
            unfinished = self.path.with_suffix(".part")
            content = {"seed": self.seed, "cells": self.cells}
            unfinished.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            os.replace(unfinished, self.path)


def seeds_of(key: str, seed: int, repetitions: int) -> list[int]:
    """Return the seeds of a cell's samples: those of fewer repetitions are the first of those of more."""
    words = np.frombuffer(key.encode(), dtype=np.uint8).tolist()
    return np.random.default_rng([seed, *words]).integers(2**63, size=repetitions).tolist()


def found(store: Store, cells: Sequence[Any]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield the cells that are done, with their rates."""
    return ((cell, store.cells[cell.key]) for cell in cells if cell.key in store.cells)


def put_section(page: Path, section: str, start: str, end: str) -> None:
    """Write a section, from the line `start` to the line `end`, in place of the one that a page has, or at its end."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    before, _, rest = text.partition(start)
    parts = (before, section, rest.partition(end)[2])
    page.write_text("\n\n".join(part.strip() for part in parts if part.strip()) + "\n", encoding="utf-8")
