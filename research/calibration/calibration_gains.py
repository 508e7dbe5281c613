"""Measure how often a gain path is right.

    python research/calibration/calibration_gains.py --output research/calibration/CALIBRATION.md

The population has the rankings of `populations.py`. A scenario gives each query a probability, such that the
true means differ as it states at five bases from 1 to 4 (exponential tilting). At other bases, the truth is computed
from the population. The path of each sample is compared with this truth.

The script adds a section to the page that `calibration.py` writes. It uses one process.
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
from populations import (
    ALPHA,
    DRAWS,
    MODELS,
    NAMES,
    Array,
    draw_rows,
    find_probabilities,
    print_section,
    simulate_counts,
)

import gainwise as gw
from gainwise.comparison.gain_path import (
    DEFAULT_BASES,
    GainPath,
    estimate_gains_at_nodes,
    find_crossings,
    find_nodes,
    read_gain_path,
)
from gainwise.comparison.inference import Sample
from gainwise.comparison.panel import Panel
from gainwise.metrics.dcg import power

BASES = np.array(DEFAULT_BASES)
SPAN = math.log(BASES[-1])
NODES = np.exp(SPAN / 2 * (1 - np.cos(np.pi * np.arange(5) / 4)))
START, END = "## Gain path", "<!-- end of the gain path -->"


def compute_gains(bases: Array) -> Array:
    """Return the gains of grades 1 to 4 at each base, shape (bases, grades)."""
    grades = np.arange(1.0, 5.0)
    return np.stack([grades if base == 1 else power(grades, base) for base in bases])


@dataclass(frozen=True)
class Population:
    """Discounted counts of each grade: of the models, shape (queries, models, grades), and of the ideal ranking."""

    counts: Array
    ideal: Array

    def compute_ndcg(self, queries: Array | slice = slice(None), bases: Array = BASES) -> Array:
        """Return NDCG@10, shape (bases, models, queries)."""
        gains = compute_gains(bases)
        ideal = self.ideal[queries] @ gains.T
        return np.moveaxis(self.counts[queries] @ gains.T / ideal[:, None], 2, 0).transpose(0, 2, 1)


def tilt_at_nodes(population: Population, truth: Array) -> Array:
    """Return the probabilities of the queries for which the means differ as in `truth`, shape (nodes, models)."""
    values = population.compute_ndcg(bases=NODES)
    differences = values[:, 1:] - values[:, :1] - (truth[:, 1:] - truth[:, :1])[:, :, None]
    constraints = differences.reshape(-1, values.shape[2]).T
    # The values at neighboring bases are almost collinear.
    left, scale, _ = np.linalg.svd(constraints / np.sqrt(len(constraints)), full_matrices=False)
    p = find_probabilities(left[:, scale > 1e-5 * scale[0]] * np.sqrt(len(constraints)), 1e-12)
    error = np.abs(p @ constraints).max()
    if error > 1e-4:
        raise ArithmeticError(f"Tilting did not converge. The means differ by {error:.1e}.")
    return p


def means(default: Callable[[Array], Array] | float, **own: Callable[[Array], Array] | float) -> Array:
    """Return the true means at the nodes. Functions have the argument t = log base / log 4, from 0 to 1."""
    t = np.log(NODES) / SPAN
    by_model = [own.get(f"m{number}", default) for number in range(1, MODELS + 1)]
    return np.stack([mean(t) if callable(mean) else np.full(len(t), mean) for mean in by_model], axis=1)


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
        0.0, **{f"m{number}": (lambda t, k=number: 0.006 * (k - 4.5) / 3.5 * (2 * t - 1)) for number in range(1, 9)}
    ),
}  # fmt: skip


def sample_path(population: Population, probabilities: Array, queries: int, seed: int) -> GainPath:
    """Draw queries and compute their gain path."""
    values = population.compute_ndcg(draw_rows(np.random.default_rng(seed), probabilities, queries))

    def build_panel(places: list[int]) -> Panel:
        return Panel(tuple(f"{BASES[place]:g}" for place in places), NAMES, values[places], None)

    nodes, widths = find_nodes(values[:, :, :2500]), np.ones(len(BASES))
    family = estimate_gains_at_nodes(build_panel, nodes, DRAWS, seed, widths)
    sample = Sample(family.panel, ALPHA, DRAWS, seed)
    return read_gain_path(family, gw.NDCG(gain="linear", k=10), DEFAULT_BASES, sample, (0.0, 1.0, 2.0, 3.0, 4.0))


def measure_paths(population: Population, scenario: str, queries: int, repetitions: int, seed: int) -> dict[str, float]:
    """Return the rates of right verdicts, bounds, best sets and swaps."""
    probabilities = tilt_at_nodes(population, SCENARIOS[scenario])
    truth = population.compute_ndcg() @ probabilities  # (bases, models)
    regret = truth.max(axis=1, keepdims=True) - truth
    best = regret <= 5e-5  # Between the five nodes, means that should be equal differ slightly.
    regret[best] = 0.0
    difference = truth[:, None, :] - truth[:, :, None]
    ends = {NAMES[0], NAMES[7]}
    crossings = find_crossings(
        NAMES, BASES, difference, np.full_like(difference, 1e-12), np.full(len(BASES), 1e-4), 1.0
    )
    true_bases = [row.base for row in crossings.itertuples() if {row.first, row.second} == ends]
    lines = []
    for repetition in range(repetitions):
        path = sample_path(population, probabilities, queries, seed + repetition)
        in_best_set = np.array([[name in path.best_sets[base] for name in NAMES] for base in path.bases])
        swaps = [row for row in path.swaps.itertuples() if {row.first, row.second} == ends]
        swap_covers = math.nan
        if swaps and true_bases and "change" in scenario:
            base = true_bases[-1]
            swap_covers = float(any(row.lower - 1e-9 <= base <= row.upper + 1e-9 for row in swaps))
        band_covers = ((path.lower <= regret + 5e-5) & (regret - 5e-5 <= path.upper)).all()
        kinds = (path.verdict.kind == "genuine", path.verdict.kind == "agree")
        lines.append((*kinds, band_covers, in_best_set[best].all(), swap_covers))
    genuine, agree, band, sets, swap = np.array(lines, dtype=float).T
    has_swap = ~np.isnan(swap)
    return {
        "has best": float(best.all(axis=0).any()),
        "genuine": genuine.mean(),
        "agree": agree.mean(),
        "band": band.mean(),
        "sets": sets.mean(),
        "swap": swap[has_swap].mean() if has_swap.any() else math.nan,
        "swaps": has_swap.mean(),
    }


def build_section(repetitions: int, seed: int, population_size: int) -> Iterator[str]:
    """Yield the lines of the section."""
    error = math.sqrt(ALPHA * (1 - ALPHA) / repetitions)
    yield START
    yield ""
    yield (
        "`research/calibration/calibration_gains.py` writes "
        f"this section: {repetitions} samples per row, {MODELS} models, 25 "
        f"bases from 1 to 4, α = 0.05, {DRAWS} draws, seed {seed}. A rate near .05 or .95 has a standard error of "
        f"{error:.3f}."
    )
    yield (
        "`genuine` means that no model is best at every base. It is an error if one is. The band covers if it contains "
        "*all* true regrets at *all* bases. The best sets cover if they contain the truly best models of *all* bases. "
        "The last two columns are about the swap of the first and the last model: the coverage of its base, and the "
        "share of samples with this swap."
    )
    yield ""
    yield "| truth | a model is best at every base | queries | rate of `genuine` | `agree` | band covers | best sets cover | swap covers | samples with that swap |"  # noqa: E501
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    population = Population(*simulate_counts(population_size, seed))
    for scenario in SCENARIOS:
        for queries in (1000, 3000):
            start = time.perf_counter()
            row = measure_paths(population, scenario, queries, repetitions, seed)
            swap = "–" if math.isnan(row["swap"]) else f"{row['swap']:.3f}"
            share = "–" if math.isnan(row["swap"]) else f"{row['swaps']:.2f}"
            yield (
                f"| {scenario} | {'yes' if row['has best'] else 'no'} | {queries} | {row['genuine']:.3f} | "
                f"{row['agree']:.3f} | {row['band']:.3f} | {row['sets']:.3f} | {swap} | {share} |"
            )
            print(f"{scenario}, {queries}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    yield END


def main() -> None:
    """Write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=500, help="samples per row of the gain path")
    parser.add_argument("--population", type=int, default=60_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="also write the section to this page")
    options = parser.parse_args()
    lines = build_section(options.repetitions, options.seed, options.population)
    print_section("\n".join(lines), options.output, START, END)


if __name__ == "__main__":
    main()
