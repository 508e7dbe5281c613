"""How often is the path of gains right, and how often the interval of a fitted gain? Both where the truth is known.

    python calibration/calibration_gains.py --output calibration/CALIBRATION.md

*The path*: eight models rank the queries of a population as in `calibration.py`. A scenario gives every query a weight
such that the true means differ as it says at five bases from 1 to 4 (exponential tilting); between these the truth is
whatever the weighted population then has, exactly. Queries are drawn with these weights, and the path of the sample is
held against the truth of the population.

*Fitted gains*: pairs of rankings of ten documents, preferred with the logistic probability that a planted base gives.

Replaces its own section of the page and leaves the others alone. One process; give it `nice`.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from calibration import tilted
from calibration_cells import put_section
from numpy.typing import NDArray
from scipy.special import expit

import gainsay as gs
from gainsay.comparison.data import Panel
from gainsay.comparison.gain_path import (
    DEFAULT_BASES,
    GainPath,
    estimate_gains_at_nodes,
    find_crossings,
    find_nodes,
    read_gain_path,
)
from gainsay.comparison.inference import Sample
from gainsay.metrics.dcg import power

Array = NDArray[np.float64]

ALPHA, DRAWS, MODELS = 0.05, 1_000, 8
NAMES = tuple(f"model {number}" for number in range(1, MODELS + 1))
BASES = np.array(DEFAULT_BASES)
SPAN = math.log(BASES[-1])
NODES = np.exp(SPAN / 2 * (1 - np.cos(np.pi * np.arange(5) / 4)))
START, END = "<!-- The path of gains: written by calibration_gains.py -->", "<!-- end of the path of gains -->"


def gains_table() -> Array:
    """Return the gains of grades 1 to 4 at every base, shape (bases, grades)."""
    grades = np.arange(1.0, 5.0)
    return np.stack([grades if base == 1 else power(grades, base) for base in BASES])


@dataclass(frozen=True)
class Population:
    """Discounted counts by grade of what eight models show, shape (queries, models, grades), and the ideal ones."""

    counts: Array
    ideal: Array

    def values(self, queries: Array | slice = slice(None), gains: Array | None = None) -> Array:
        """Return NDCG@10, shape (bases, models, queries)."""
        table = gains_table() if gains is None else gains
        best = self.ideal[queries] @ table.T
        return np.moveaxis(self.counts[queries] @ table.T / best[:, None], 2, 0).transpose(0, 2, 1)


def simulate(queries: int, seed: int, cutoff: int = 10) -> Population:
    """Rank the queries of a population: the first model looks for anything fair, the last for what is excellent."""
    rng = np.random.default_rng(seed)
    documents = 24
    fair, excellent = np.array([0.0, 1.2, 2.1, 2.3, 2.5]), np.array([0.0, 0.5, 1.1, 2.6, 4.0])
    labels = rng.choice(5, size=(queries, documents), p=[0.52, 0.30, 0.13, 0.03, 0.02])
    absent = np.arange(documents) >= rng.integers(8, documents, size=(queries, 1), endpoint=True)
    labels[absent] = 0
    relevant = labels.any(axis=1)
    labels, absent = labels[relevant], absent[relevant]
    shared = rng.normal(scale=1.3, size=labels.shape)
    alike = rng.random(len(labels)) < 0.30
    counts = np.empty((len(labels), MODELS, 4))
    for model in range(MODELS):
        own = rng.normal(scale=0.7, size=labels.shape)
        own[alike] = 0.0
        taste = np.where(alike, 0.5, model / (MODELS - 1))[:, None]
        score = (1 - taste) * fair[labels] + taste * excellent[labels] + shared + own
        score[absent] = -np.inf
        top = np.take_along_axis(labels, np.argsort(-score, axis=1)[:, :cutoff], axis=1)
        counts[:, model] = by_grade(top)
    return Population(counts, by_grade(-np.sort(-labels, axis=1)[:, :cutoff]))


def by_grade(ranked: Array) -> Array:
    """Return the discounts of the ranks of each grade from 1 to 4, shape (…, grades)."""
    discount = 1 / np.log2(np.arange(2, ranked.shape[-1] + 2))
    return np.stack([(ranked == grade) @ discount for grade in range(1, 5)], axis=-1)


def tilt(population: Population, truth: Array) -> Array:
    """Return the probability of each query such that means differ as `truth`, shape (nodes, models), says."""
    grades = np.arange(1.0, 5.0)
    table = np.stack([grades if base == 1 else power(grades, base) for base in NODES])
    values = population.values(gains=table)
    h = (values[:, 1:] - values[:, :1] - (truth[:, 1:] - truth[:, :1])[:, :, None]).reshape(-1, values.shape[2]).T
    left, scale, _ = np.linalg.svd(h / np.sqrt(len(h)), full_matrices=False)
    turned = left[:, scale > 1e-5 * scale[0]] * np.sqrt(len(h))  # values at near bases say nearly the same
    p = tilted(turned, tol=1e-12)
    if np.abs(p @ h).max() > 1e-4:
        raise ArithmeticError(f"tilting did not converge: the means are {np.abs(p @ h).max():.1e} off")
    return p


def means(other: Callable[[Array], Array] | float, **own: Callable[[Array], Array] | float) -> Array:
    """Return the true means at the nodes; functions are of t = log b / log 4, from 0 to 1."""
    at = np.log(NODES) / SPAN
    of = [own.get(f"m{number}", other) for number in range(1, MODELS + 1)]
    return np.stack([one(at) if callable(one) else np.full(len(at), one) for one in of], axis=1)


CHANGE = math.log(1.5) / SPAN
SCENARIOS = {
    "all equal at every base": means(0.0),
    "one best at every base, ahead by .012": means(0.0, m1=0.012),
    "one ties the winners of both ends": means(
        -0.02, m1=lambda t: 0.012 - 0.015 * t, m4=0.012,
        m8=lambda t: 0.012 - 0.015 * (1 - t),
    ),
    "the winner changes at base 1.5": means(
        -0.02, m1=lambda t: 0.02 * (CHANGE - t), m8=lambda t: -0.02 * (CHANGE - t)
    ),
    "eight change places at base 2": means(
        0.0, **{f"m{number}": (lambda t, it=number: 0.006 * (it - 4.5) / 3.5 * (2 * t - 1)) for number in range(1, 9)}
    ),
}  # fmt: skip


def sampled_path(population: Population, chance: Array, queries: int, seed: int) -> GainPath:
    """Draw queries and follow the models along the bases."""
    rng = np.random.default_rng(seed)
    values = population.values(np.searchsorted(np.cumsum(chance) / chance.sum(), rng.random(queries)))

    def panel_at(places: list[int]) -> Panel:
        return Panel(tuple(f"{BASES[place]:g}" for place in places), NAMES, values[places], None)

    family = estimate_gains_at_nodes(panel_at, find_nodes(values[:, :, :2500]), DRAWS, seed)
    sample = Sample(family.panel, ALPHA, DRAWS, seed)
    return read_gain_path(family, gs.NDCG(gain="linear", k=10), DEFAULT_BASES, sample, (0.0, 1.0, 2.0, 3.0, 4.0))


def path_row(population: Population, scenario: str, queries: int, repetitions: int, seed: int) -> dict[str, float]:
    """Return how often the path of a sample is right."""
    chance = tilt(population, SCENARIOS[scenario])
    truth = population.values() @ chance  # (bases, models)
    regret = truth.max(axis=1, keepdims=True) - truth
    best = regret <= 5e-5  # five bases were set; between them what is to be equal may differ by so much
    regret[best] = 0.0
    lead = truth[:, None, :] - truth[:, :, None]
    swaps = {
        frozenset((row.first, row.second)): row.base
        for row in find_crossings(
            NAMES, BASES, lead, np.full_like(lead, 1e-12), np.full(len(BASES), 1e-4), 1.0
        ).itertuples()
    }
    unique = {pair: base for pair, base in swaps.items() if pair == frozenset((NAMES[0], NAMES[7]))}
    lines = []
    for repetition in range(repetitions):
        path = sampled_path(population, chance, queries, seed + repetition)
        inside = np.array([[name in path.best_sets[base] for name in NAMES] for base in path.bases])
        claimed = [row for row in path.swaps.itertuples() if {row.first, row.second} == {NAMES[0], NAMES[7]}]
        swap = math.nan
        if claimed and unique and "change" in scenario:
            (base,) = unique.values()
            swap = float(any(row.lower - 1e-9 <= base <= row.upper + 1e-9 for row in claimed))
        lines.append((
            path.verdict.kind == "genuine", path.verdict.kind == "agree",
            bool(((path.lower <= regret + 5e-5) & (regret - 5e-5 <= path.upper)).all()), bool(inside[best].all()), swap,
        ))  # fmt: skip
    table = np.array(lines, dtype=float)
    some = ~np.isnan(table[:, 4])
    return {
        "true": float(best.all(axis=0).any()),
        "genuine": table[:, 0].mean(), "agree": table[:, 1].mean(), "band": table[:, 2].mean(),
        "sets": table[:, 3].mean(), "swap": table[some, 4].mean() if some.any() else math.nan,
        "swaps": some.mean(),
    }  # fmt: skip


def fit_row(base: float, preferences: int, repetitions: int, seed: int, slope: float = 12.0) -> dict[str, float]:
    """Return how often the interval of a fitted base holds the planted one."""
    covered, ends, told = [], [], []
    discount, gains = 1 / np.log2(np.arange(2, 12)), power(np.arange(5.0), base) if base > 1 else np.arange(5.0)
    for repetition in range(repetitions):
        rng = np.random.default_rng([seed, int(100 * base), preferences, repetition])
        first = rng.choice(5, size=(preferences, 10), p=[0.40, 0.30, 0.15, 0.10, 0.05])
        second = rng.permuted(first, axis=1)
        ideal = gains[-np.sort(-first, axis=1)] @ discount
        gap = (gains[first] @ discount - gains[second] @ discount) / np.where(ideal > 0, ideal, 1)
        preferred = np.where(rng.random(preferences) < expit(slope * gap), "a", "b")
        fit = gs.fit_gain({"a": first, "b": second, "preferred": preferred})
        covered.append(fit.lower <= base <= fit.upper)
        ends.append((fit.base, fit.lower, min(fit.upper, 4.0)))
        told.append(fit.verdict != "cannot tell")
    middle = np.median(np.array(ends), axis=0)
    return {
        "covered": np.mean(covered),
        "base": middle[0],
        "lower": middle[1],
        "upper": middle[2],
        "told": np.mean(told),
    }


def page(repetitions: int, fits: int, seed: int, population: int) -> Iterator[str]:
    """Write the section line by line."""
    error = math.sqrt(ALPHA * (1 - ALPHA) / repetitions)
    yield START
    yield "## The path of gains"
    yield ""
    yield (
        f"Written by `calibration/calibration_gains.py`: {repetitions} samples a row, {MODELS} models, 25 bases from 1 "
        f"to 4, α = 0.05, {DRAWS} draws, seed {seed}; a rate near .05 or .95 has a standard error of {error:.3f}."
    )
    yield (
        "`genuine` says that no model is best at every base: an error where one is. The band covers where *all* true "
        "regrets at *all* bases lie in it, the best sets where the truly best models of *all* bases are in theirs; a "
        "swap is that of the first and the last model, among the samples in which they swap."
    )
    yield ""
    yield "| truth | some model is best at every base | queries | rate of `genuine` | `agree` | band covers | best sets cover | swap covers | samples with that swap |"  # noqa: E501
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    made = simulate(population, seed)
    for scenario in SCENARIOS:
        for queries in (1000, 3000):
            start = time.perf_counter()
            row = path_row(made, scenario, queries, repetitions, seed)
            swap = "–" if math.isnan(row["swap"]) else f"{row['swap']:.3f}"
            share = "–" if math.isnan(row["swap"]) else f"{row['swaps']:.2f}"
            yield (
                f"| {scenario} | {'yes' if row['true'] else 'no'} | {queries} | {row['genuine']:.3f} | "
                f"{row['agree']:.3f} | {row['band']:.3f} | {row['sets']:.3f} | {swap} | {share} |"
            )
            print(f"{scenario}, {queries}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    yield ""
    yield "## Fitted gains"
    yield ""
    yield (
        f"Preferences between two rankings of ten documents with a planted base, slope 12; {fits} fits a row, "
        "nominal level .95 (target: .93 or more). `tells` is how often linear and exponential are not both inside the "
        "interval."
    )
    yield ""
    yield "| planted base | preferences | interval covers | median estimate | median interval (up to 4) | tells |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for base in (1.0, 1.5, 2.0, 3.0):
        for preferences in (200, 2000):
            row = fit_row(base, preferences, fits, seed)
            yield (
                f"| {base:g} | {preferences} | {row['covered']:.3f} | {row['base']:.2f} | {row['lower']:.2f} to "
                f"{row['upper']:.2f} | {row['told']:.2f} |"
            )
            print(f"fit {base:g}, {preferences}", file=sys.stderr, flush=True)
    yield END


def main() -> None:
    """Read the command line and write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=500, help="Samples a row of the path.")
    parser.add_argument("--fits", type=int, default=300, help="Fitted gains a row.")
    parser.add_argument("--population", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="The page whose section is replaced; printed without it.")
    options = parser.parse_args()
    lines = []
    for line in page(options.repetitions, options.fits, options.seed, options.population):
        lines.append(line)
        if options.output is None:
            print(line, flush=True)
    if options.output is not None:
        put_section(options.output, "\n".join(lines), START, END)


if __name__ == "__main__":
    main()
