"""Measure error rates of intervals, segments, clusters and repeats, in populations with known means.

    python research/calibration/claims_inference.py --samples 4000

The result is `research/calibration/claims/inference.json`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from claims import Study, at_most, run_studies
from differences import DRAWS, METRICS, Array, Generator

from gainwise import Comparison

ALPHA = 0.05
BASELINE = "model 1"
Values = dict[str, Any]
Result = dict[str, bool | None]


def draw_values(rng: Generator, queries: int, models: int, truth: Any = 0.0) -> Values:
    """Return values like NDCG: easy and hard queries, 30 % of them without any difference, and correlated metrics."""
    base = rng.beta(2, 2, (queries, 1))
    differ = rng.random((queries, 1)) < 0.7
    shared = rng.standard_normal((queries, models)) * rng.gamma(4, 0.25, (queries, 1))
    own = rng.standard_normal((2, queries, models))
    means = np.broadcast_to(np.asarray(truth, dtype=float), (2, models))
    values = base + differ * 0.1 * (0.9 * shared + 0.44 * own) + means[:, None]
    return dict(zip(METRICS, values, strict=True))


def draw_clusters(rng: Generator, clusters: int) -> Any:
    """Return the cluster of each query, with sizes from 3 to 15."""
    return np.repeat(np.arange(clusters), rng.integers(3, 16, clusters))


def add_cluster_effects(rng: Generator, values: Values, clusters: Any) -> Values:
    """Add effects that all queries of a cluster share."""
    shape = (clusters.max() + 1, next(iter(values.values())).shape[1])
    effects = rng.normal(0, 0.05, shape)[clusters]
    return {name: table + effects + rng.normal(0, 0.02, shape)[clusters] for name, table in values.items()}


def compare_models(values: Values, **options: Any) -> Comparison:
    """Return a comparison of models with these values. The order of their names is that of the columns."""
    models = len(first) if isinstance(first := values[METRICS[0]], list) else first.shape[1]
    names = [f"model {number}" for number in range(1, models + 1)]
    return Comparison(values, names, **({"draws": DRAWS} | options))


def misses_pairs(models: int) -> Callable[[Generator], Result]:
    """Return a trial: does any simultaneous interval of a pair miss the true difference, 0, on 50 queries?"""

    def trial(rng: Generator) -> Result:
        pairs = compare_models(draw_values(rng, 50, models)).pairs
        misses = [(pairs[f"lower {metric}"] > 0) | (pairs[f"upper {metric}"] < 0) for metric in METRICS]
        return {"some miss": bool(np.any(misses))}

    return trial


def misses_means(share: float, queries: int) -> Callable[[Generator], Result]:
    """Return a trial: does an interval of a mean miss? Model 1 has 0 on a small share of queries, and 1 on others."""
    truth = [1 - share, 0.5, 0.5]

    def trial(rng: Generator) -> Result:
        values = rng.beta(3, 3, (queries, 3))
        values[:, 0] = rng.random(queries) >= share
        comparison = compare_models(dict.fromkeys(METRICS, values), ranges=dict.fromkeys(METRICS, (0, 1)))
        means = comparison.standings.groupby("model")[["lower", "upper"]].first()
        return {"some miss": bool(((means["lower"] > truth) | (means["upper"] < truth)).any())}

    return trial


def judge_segments(segments: int, models: int, truth: Any = 0.0) -> Callable[[Generator], Result]:
    """Return a trial: does a model falsely lead, or is a verdict falsely `genuine`, in any segment of 40 queries?"""

    def trial(rng: Generator) -> Result:
        values = draw_values(rng, 40 * segments, models, truth)
        labels = [f"segment {number}" for number in np.repeat(np.arange(segments), 40)]
        parts = compare_models(values, segments=labels).segments.parts
        means = np.broadcast_to(np.asarray(truth, dtype=float), (2, models))
        is_better = means[:, None, :] > means[:, :, None]
        return {
            "any false lead": any(bool((part.is_better & ~is_better).any()) for part in parts),
            "any false `genuine`": any(part.verdict is not None and part.verdict.kind == "genuine" for part in parts),
        }

    return trial


def build_tied_truth() -> Array:
    """Return the true means of eight models. One model is best under both metrics, tied with others."""
    truth = np.full((2, 8), -0.2)
    truth[0, :4] = truth[1, [0, 4, 5, 6]] = 0.0
    return truth


def check_baseline(comparison: Comparison) -> Result:
    """Return whether an interval against the baseline misses the true difference, 0."""
    rows = comparison.against(BASELINE, 0.0).candidates
    return {"miss": any(row.lower[name] > 0 or row.upper[name] < 0 for row in rows for name in METRICS)}


def misses_clusters(number: int) -> Callable[[Generator], Result]:
    """Return a trial: do intervals against a baseline miss the true difference, with uneven clusters?"""

    def trial(rng: Generator) -> Result:
        clusters = draw_clusters(rng, number)
        values = add_cluster_effects(rng, draw_values(rng, len(clusters), 2), clusters)
        return check_baseline(compare_models(values, clusters=clusters))

    return trial


class Effects(NamedTuple):
    """Standard deviations of a recipe's values between queries, between repeats, and of a single query of a repeat."""

    query: float
    repeat: float
    query_repeat: float


SEEDS = Effects(0.025, 0.0015, 0.075)
"""Measured with LightGBM: repeats differ by the seed of bagging."""
SAMPLES = Effects(0.010, 0.0035, 0.095)
"""Measured with LightGBM: repeats also differ by the sample of training queries."""


def draw_recipes(rng: Generator, counts: tuple[int, ...], effects: Effects, queries: int = 1000) -> Values:
    """Return values of recipes with these numbers of repeats, 0 for a fixed model.

    The effects of queries are heavy-tailed, and both metrics are correlated by .9.
    """
    mix = np.linalg.cholesky([[1, 0.9], [0.9, 1]])
    tables: Values = {name: [] for name in METRICS}
    for number in counts:
        repeats = max(number, 1)
        by_query = effects.query * rng.standard_t(5, (queries, 1, 2)) / np.sqrt(5 / 3) @ mix.T
        values = by_query + effects.query_repeat * rng.standard_t(5, (queries, repeats, 2)) / np.sqrt(5 / 3) @ mix.T
        if number:
            values = values + effects.repeat * rng.standard_normal((1, repeats, 2)) @ mix.T
        for column, name in enumerate(METRICS):
            tables[name].append(values[:, :, column] if number else values[:, 0, column])
    return tables


def draw_repeats(rng: Generator, counts: tuple[int, ...], queries: int = 500) -> Values:
    """Return values of recipes with these numbers of repeats, 0 for a fixed model, with large effects of each repeat.

    The effects under both metrics are independent. The error of a mean of 3 repeats is twice that of the queries. This
    is a hard case for a fixed model against few repeats, because their error is estimated with few degrees of freedom.
    """
    base, tables = draw_values(rng, queries, len(counts)), {}
    for name in METRICS:
        columns = []
        for column, number in enumerate(counts):
            values = base[name][:, [column]]
            if number:
                values = values + rng.normal(0, 0.02, number) + rng.normal(0, 0.05, (queries, number))
            columns.append(values if number else values[:, 0])
        tables[name] = columns
    return tables


def misses_recipes(counts: tuple[int, ...], effects: Effects | None) -> Callable[[Generator], Result]:
    """Return a trial: do intervals against the first model miss the true difference, with these numbers of repeats?"""

    def trial(rng: Generator) -> Result:
        values = draw_repeats(rng, counts) if effects is None else draw_recipes(rng, counts, effects)
        return check_baseline(compare_models(values))

    return trial


def flags_repeat(models: int, number: int) -> Callable[[Generator], Result]:
    """Return a trial: is an outlying repeat found among recipes without outliers?"""

    def trial(rng: Generator) -> Result:
        verdict = compare_models(draw_repeats(rng, (number,) * models, 60), draws=200).verdict
        return {"outlying repeat flagged": any(flag.code == "outlying repeats" for flag in verdict.flags)}

    return trial


def build_studies() -> list[Study]:
    """Return all studies."""
    some, miss, flagged = (
        {"some miss": at_most(ALPHA)},
        {"miss": at_most(ALPHA)},
        {"outlying repeat flagged": at_most(0.01)},
    )
    segments = {"any false lead": at_most(ALPHA), "any false `genuine`": at_most(ALPHA)}
    studies = [
        Study("5a", "intervals of all pairs, 8 models, 50 queries", misses_pairs(8), some),
        Study("5b", "intervals of all pairs, 20 models, 50 queries", misses_pairs(20), some, 4),
        Study(
            "5c", "intervals of means, one model with 0 on 0.5 % of 100 queries, else 1", misses_means(0.005, 100), some
        ),
        Study(
            "5d", "intervals of means, one model with 0 on 3 % of 400 queries, else 1", misses_means(0.03, 400), some
        ),
        Study("6", "50 segments of 40 queries, 3 models", judge_segments(50, 3), segments, 10),
        Study("7a", "10 segments of 40 queries, 8 models", judge_segments(10, 8, build_tied_truth()), segments, 4),
        Study("7b", "5 segments of 40 queries, 8 models", judge_segments(5, 8, build_tied_truth()), segments, 4),
        Study("9a", "intervals against a baseline, 40 uneven clusters", misses_clusters(40), miss),
        Study("9b", "intervals against a baseline, 60 uneven clusters", misses_clusters(60), miss),
    ]
    recipes = (
        ("10a", (0, 3), SEEDS), ("10b", (0, 3), SAMPLES), ("10c", (0, 3), None), ("11a", (3, 10), SAMPLES),
        ("11b", (3, 20), SAMPLES), ("11c", (3, 10), None), ("11d", (3, 20), None), ("11e", (0, 5), None),
    )  # fmt: skip
    kinds = {SEEDS: "with other seeds", SAMPLES: "with other samples", None: "with twice the error of the queries"}
    for row, counts, effects in recipes:
        first = f"{counts[0]}" if counts[0] else "fixed baseline"
        setting = f"{first} against {counts[1]} repeats {kinds[effects]}"
        targets = {"miss": at_most()} if row == "11e" else miss  # The documentation states this limit.
        studies.append(Study(row, setting, misses_recipes(counts, effects), targets))
    return [
        *studies,
        Study("12a", "2 healthy recipes of 3 repeats", flags_repeat(2, 3), flagged),
        Study("12b", "4 healthy recipes of 5 repeats", flags_repeat(4, 5), flagged),
    ]


STUDIES = build_studies()


if __name__ == "__main__":
    run_studies(__doc__, "inference", STUDIES)
