"""Measure error rates of intervals, segments, clusters, repeats and selection, in populations with known means.

    python research/calibration/claims_inference.py --samples 4000 --output research/calibration/claims/inference.json

The function of each claim takes a random generator and returns whether one sample contradicts the claim. The file
contains the rate of each claim with its Monte Carlo error as `after`. The script does not change `before`, the rate of
an earlier version.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from populations import read_panel

from gainwise.comparison.baseline import compare_with_baseline
from gainwise.comparison.estimates import estimate
from gainwise.comparison.inference import Sample, compute_regret_band, critical_value, draw_errors, two_step_test

ALPHA, DRAWS, NAMES = 0.05, 1000, ("x", "y")
Generator = np.random.Generator


def draw_values(rng: Generator, queries: int, models: int, truth: Any = 0.0, metrics: int = 2) -> dict[str, Any]:
    """Return values like NDCG: easy and hard queries, 30 % of them without any difference, and correlated metrics."""
    base = rng.beta(2, 2, (queries, 1))
    differ = rng.random((queries, 1)) < 0.7
    shared = rng.standard_normal((queries, models)) * rng.gamma(4, 0.25, (queries, 1))
    own = rng.standard_normal((metrics, queries, models))
    means = np.broadcast_to(np.asarray(truth, dtype=float), (metrics, models))
    values = base + differ * 0.1 * (0.9 * shared + 0.44 * own) + means[:, None]
    return {f"m{row}" if metrics > 2 else NAMES[row]: values[row] for row in range(metrics)}


def draw_clusters(rng: Generator, clusters: int) -> Any:
    """Return the cluster of each query, with sizes from 3 to 15."""
    return np.repeat(np.arange(clusters), rng.integers(3, 16, clusters))


def add_cluster_effects(rng: Generator, values: dict[str, Any], clusters: Any) -> dict[str, Any]:
    """Add effects that all queries of a cluster share."""
    shape = (clusters.max() + 1, next(iter(values.values())).shape[1])
    effects = rng.normal(0, 0.05, shape)[clusters]
    return {name: table + effects + rng.normal(0, 0.02, shape)[clusters] for name, table in values.items()}


def misses_pairs(models: int) -> Callable[[Generator], bool]:
    """Return a trial: does any simultaneous interval of a pair miss the true difference, 0, on 50 queries?"""

    def misses(rng: Generator) -> bool:
        estimated = estimate(read_panel(draw_values(rng, 50, models)))
        half = draw_errors(estimated, DRAWS, int(rng.integers(1 << 30))).compute_half_widths(ALPHA)
        return bool((np.abs(estimated.difference) > half).any())

    return misses


def leads_in_segment(rng: Generator) -> bool:
    """Return whether a model falsely leads in one segment of 40 queries, at the level for 50 segments."""
    level = ALPHA / 50
    estimated = estimate(read_panel(draw_values(rng, 40, 3)))
    draws = draw_errors(estimated, 10_000, int(rng.integers(1 << 30)))
    critical = float(critical_value(draws.max_t.max(axis=(0, 1)), 1 - level))
    error = np.where(estimated.support >= 30, estimated.error, np.inf)
    return bool((estimated.difference > critical * error).any()) if np.isfinite(error).any() else False


def is_genuine_in_segment(segments: int, queries: int) -> Callable[[Generator], bool]:
    """Return a trial: is a segment falsely genuine, although one model is best under both metrics, tied with others?"""
    truth = np.full((2, 8), -0.2)
    truth[0, :4] = truth[1, [0, 4, 5, 6]] = 0.0

    def genuine(rng: Generator) -> bool:
        estimated = estimate(read_panel(draw_values(rng, queries, 8, truth)))
        draws = draw_errors(estimated, 4000, int(rng.integers(1 << 30)))
        return not two_step_test(estimated, draws, ALPHA / segments).not_rejected.any()

    return genuine


def misses_band(*, clustered: bool) -> Callable[[Generator], bool]:
    """Return a trial: does the band of regrets under five gains miss a true regret, with 60 clusters or 50 queries?"""
    truth = np.linspace(1, 0, 5)[:, None] * [0.0, -0.01, -0.02, -0.02] + np.linspace(0, 1, 5)[:, None] * [
        -0.02, 0.0, 0.0, -0.02,
    ]  # fmt: skip

    def misses(rng: Generator) -> bool:
        clusters = draw_clusters(rng, 60) if clustered else None
        values = draw_values(rng, 50 if clusters is None else len(clusters), 4, truth, 5)
        values = values if clusters is None else add_cluster_effects(rng, values, clusters)
        estimated = estimate(read_panel(values, clusters=clusters))
        band = compute_regret_band(estimated, draw_errors(estimated, DRAWS, int(rng.integers(1 << 30))), ALPHA)
        regret = truth.max(axis=1, keepdims=True) - truth
        return bool(((band.lower > regret + 1e-12) | (band.upper < regret - 1e-12)).any())

    return misses


def misses_baseline(panel: Any, rng: Generator) -> bool:
    """Return whether a simultaneous bound against the first model misses the true difference, 0."""
    sample = Sample(panel, ALPHA, DRAWS, int(rng.integers(1 << 30)))
    comparison = compare_with_baseline(sample, NAMES, panel.models[0], 0.0, plan=False)
    return any(row.lower[name] > 0 or row.upper[name] < 0 for row in comparison.candidates for name in NAMES)


def misses_clusters(number: int) -> Callable[[Generator], bool]:
    """Return a trial: do bounds against a baseline miss the true difference, with uneven clusters?"""

    def misses(rng: Generator) -> bool:
        clusters = draw_clusters(rng, number)
        values = add_cluster_effects(rng, draw_values(rng, len(clusters), 2), clusters)
        return misses_baseline(read_panel(values, clusters=clusters), rng)

    return misses


class Effects(NamedTuple):
    """Standard deviations of a recipe's values between queries, between repeats, and of a single query of a repeat."""

    query: float
    repeat: float
    query_repeat: float


SEEDS = Effects(0.025, 0.0015, 0.075)
"""Measured with LightGBM: repeats differ by the seed of bagging."""
SAMPLES = Effects(0.010, 0.0035, 0.095)
"""Measured with LightGBM: repeats also differ by the sample of training queries."""


def draw_recipes(rng: Generator, counts: tuple[int, ...], effects: Effects, queries: int = 1000) -> Any:
    """Return a panel of recipes with these numbers of repeats, 0 for a fixed model.

    The effects of queries are heavy-tailed, and both metrics are correlated by .9.
    """
    mix = np.linalg.cholesky([[1, 0.9], [0.9, 1]])
    tables: dict[str, list[Any]] = {name: [] for name in NAMES}
    for number in counts:
        repeats = max(number, 1)
        by_query = effects.query * rng.standard_t(5, (queries, 1, 2)) / np.sqrt(5 / 3) @ mix.T
        values = by_query + effects.query_repeat * rng.standard_t(5, (queries, repeats, 2)) / np.sqrt(5 / 3) @ mix.T
        if number:
            values = values + effects.repeat * rng.standard_normal((1, repeats, 2)) @ mix.T
        for column, name in enumerate(NAMES):
            tables[name].append(values[:, :, column] if number else values[:, 0, column])
    return read_panel(tables)


def misses_recipes(counts: tuple[int, ...], effects: Effects) -> Callable[[Generator], bool]:
    """Return a trial: do bounds against the first model miss the true difference, with these numbers of repeats?"""
    return lambda rng: misses_baseline(draw_recipes(rng, counts, effects), rng)


def draw_repeats(rng: Generator, counts: tuple[int, ...], queries: int = 500) -> Any:
    """Return a panel of recipes with these numbers of repeats, 0 for a fixed model, with large effects of each repeat.

    The error of a mean of 3 repeats is twice that of the queries. This is a hard case for a fixed model against 3
    repeats: the draws replace the true ratio of both errors by its estimate, which has 2 degrees of freedom. Bounds at
    95 % miss in 5 % if the ratio is at most 0.5 or very large, in 8 % for a ratio of 2, and in up to 10 % in between.
    """
    base, tables = draw_values(rng, queries, len(counts)), {}
    for name in NAMES:
        columns = []
        for column, number in enumerate(counts):
            values = base[name][:, [column]]
            if number:
                values = values + rng.normal(0, 0.02, number) + rng.normal(0, 0.05, (queries, number))
            columns.append(values if number else values[:, 0])
        tables[name] = columns
    return read_panel(tables)


def misses_repeats(counts: tuple[int, ...]) -> Callable[[Generator], bool]:
    """Return a trial: do bounds against the first model miss the true difference, with these numbers of repeats?"""
    return lambda rng: misses_baseline(draw_repeats(rng, counts), rng)


def flags_repeat(models: int, number: int) -> Callable[[Generator], bool]:
    """Return a trial: is an outlying repeat found among recipes without outliers?"""

    def flags(rng: Generator) -> bool:
        from gainwise.comparison.flags import find_outlying_repeats

        return bool(find_outlying_repeats(draw_repeats(rng, (number,) * models, 60)))

    return flags


def compare_optimism(rng: Generator) -> tuple[float, float]:
    """Return the estimated and the true optimism of the best of 30 equal models on 500 queries."""
    from gainwise.comparison.inference import estimate_optimism

    values = draw_values(rng, 500, 30, 0.0)
    base = np.mean([table.mean(axis=1).mean() for table in values.values()])
    estimated = estimate(read_panel(values))
    draws = draw_errors(estimated, DRAWS, int(rng.integers(1 << 30)))
    truth = np.mean([part.max() for part in estimated.mean]) - base
    return float(np.mean(estimate_optimism(estimated, draws))), float(truth)


CLAIMS: tuple[tuple[str, str, float, int, Callable[[Generator], bool]], ...] = (
    ("5a", "intervals of all pairs, 8 models, 50 queries: some miss", 0.05, 1, misses_pairs(8)),
    ("5b", "intervals of all pairs, 20 models, 50 queries: some miss", 0.05, 1, misses_pairs(20)),
    ("6", "50 segments of 40 queries, 3 models: any false lead", 0.05, 50, leads_in_segment),
    ("7a", "10 segments of 40 queries, 8 models: any false genuine", 0.05, 10, is_genuine_in_segment(10, 40)),
    ("7b", "5 segments of 40 queries, 8 models: any false genuine", 0.05, 5, is_genuine_in_segment(5, 40)),
    ("8a", "band of regrets along gains, 60 uneven clusters: miss", 0.05, 1, misses_band(clustered=True)),
    ("8b", "band of regrets along gains, 50 queries: miss", 0.05, 1, misses_band(clustered=False)),
    ("9a", "bounds against a baseline, 40 uneven clusters: miss", 0.05, 1, misses_clusters(40)),
    ("9b", "bounds against a baseline, 60 uneven clusters: miss", 0.05, 1, misses_clusters(60)),
    ("10a", "fixed baseline against 3 repeats with other seeds: miss", 0.05, 1, misses_recipes((0, 3), SEEDS)),
    ("10b", "fixed baseline against 3 repeats with other samples: miss", 0.05, 1, misses_recipes((0, 3), SAMPLES)),
    ("10c", "fixed baseline against 3 repeats, twice the error of the queries: miss", 0.05, 1, misses_repeats((0, 3))),
    ("11a", "3 against 10 repeats with other samples: miss", 0.05, 1, misses_recipes((3, 10), SAMPLES)),
    ("11b", "3 against 20 repeats with other samples: miss", 0.05, 1, misses_recipes((3, 20), SAMPLES)),
    ("11c", "3 against 10 repeats, twice the error of the queries: miss", 0.05, 1, misses_repeats((3, 10))),
    ("11d", "3 against 20 repeats, twice the error of the queries: miss", 0.05, 1, misses_repeats((3, 20))),
    ("12a", "2 healthy recipes of 3 repeats: outlying repeat flagged", 0.01, 1, flags_repeat(2, 3)),
    ("12b", "4 healthy recipes of 5 repeats: outlying repeat flagged", 0.01, 1, flags_repeat(4, 5)),
)
"""Row, claim, maximum rate, number of segments that are simulated separately, and the trial."""


def measure_rate(contradicts: Callable[[Generator], bool], samples: int, parts: int, seed: int) -> dict[str, float]:
    """Return the rate of a claim. If it is about several segments, they are simulated separately."""
    trials = samples if parts == 1 else samples * 10
    errors = sum(contradicts(np.random.default_rng([seed, trial])) for trial in range(trials))
    rate = errors / trials
    spread = np.sqrt(max(rate, 1 / trials) * (1 - rate) / trials)
    any_part = 1 - (1 - rate) ** parts
    return {
        "rate": round(any_part, 4),
        "se": round(float(spread * parts * (1 - rate) ** (parts - 1)), 4),
        "samples": trials,
    }


def main() -> None:
    """Simulate all claims, or the selected rows, and update the file after each of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=4000)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "claims" / "inference.json")
    parser.add_argument("--rows", nargs="*")
    options = parser.parse_args()
    for place, (row, claim, target, parts, trial) in enumerate(CLAIMS):
        if options.rows is None or row in options.rows:
            update(options.output, row, claim, target, measure_rate(trial, options.samples, parts, place))
    if options.rows is None or "16" in options.rows:
        pairs = np.array([compare_optimism(np.random.default_rng([99, trial])) for trial in range(1000)])
        ratio = pairs[:, 0].mean() / pairs[:, 1].mean()
        se = float((pairs[:, 0] - ratio * pairs[:, 1]).std() / np.sqrt(len(pairs)) / pairs[:, 1].mean())
        result = {"rate": round(float(ratio), 4), "se": round(se, 4), "samples": len(pairs)}
        update(options.output, "16", "optimism of the best of 30 equal models, estimate / truth", 1.15, result)


def update(output: Path, row: str, claim: str, target: float, result: dict[str, float]) -> None:
    """Write the rate of one claim to the file."""
    entries = json.loads(output.read_text()) if output.exists() else []
    by_row = {entry["row"]: entry for entry in entries}
    by_row[row] = by_row.get(row, {"row": row}) | {"claim": claim, "target": target, "after": result}
    order = [*(row for row, *_ in CLAIMS), "16"]
    output.parent.mkdir(exist_ok=True)
    output.write_text(json.dumps(sorted(by_row.values(), key=lambda it: order.index(it["row"])), indent=1) + "\n")
    print(row, result, flush=True)


if __name__ == "__main__":
    main()
