"""Every metric against its definition in plain Python, in the compiled core and in NumPy.

Expectations over ties are the mean over all orders of the tied documents, computed one by one.
"""

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest

import gainwise as gw
from gainwise.ranking import compiled

pytestmark = pytest.mark.slow

CUTOFFS = (1, 2, 3, 4, 5, 6, 7, 8, None)
INF = np.inf

QUERIES = {
    "all tied": ([0, 2, 1, 0, 4, 3], [1, 1, 1, 1, 1, 1]),
    "all tied, one relevant": ([0, 0, 0, 1, 0, 0, 0], [1, 1, 1, 1, 1, 1, 1]),
    "all tied, all relevant": ([1, 1, 1, 1, 1], [0, 0, 0, 0, 0]),
    "two runs": ([0, 1, 3, 2, 0, 0, 1], [2, 2, 2, 1, 1, 1, 1]),
    "run at the end": ([0, 1, 0, 4, 0, 2], [9, 8, 7, 1, 1, 1]),
    "run at the beginning": ([4, 0, 1, 3, 0, 0], [5, 5, 5, 4, 3, 2]),
    "three pairs": ([1, 0, 2, 0, 4, 0], [3, 3, 2, 2, 1, 1]),
    "no ties": ([0, 3, 1, 0, 2], [5, 4, 3, 2, 1]),
    "ties in scattered rows": ([3, 0, 0, 1, 2, 0, 4], [1, 2, 1, 2, 1, 2, 1]),
    "tied and not retrieved": ([2, 0, 1, 4, 0, 3], [-INF, 1, 1, -INF, 1, -INF]),
    "nothing retrieved": ([2, 0, 1], [-INF, -INF, -INF]),
    "tied at +inf": ([0, 4, 1, 2, 0], [INF, INF, INF, 0, 0]),
    "both infinities": ([1, 0, 3, 2, 0, 4], [INF, INF, 0, 0, -INF, -INF]),
    "no relevant document": ([0, 0, 0, 0], [1, 1, 0, 0]),
    "one document": ([3], [0.5]),
    "one irrelevant document": ([0], [0.5]),
    "two documents": ([0, 2], [0, 0]),
    "zeros of both signs": ([1, 0, 2, 0], [0.0, -0.0, -0.0, 0.0]),
    "differences in the last bit": ([1, 0, 2, 3, 0], [1 / 3, np.nextafter(1 / 3, 1), 1 / 3, 1e300, 5e-324]),
}


def evaluate(metrics, judgments, scores):
    """Evaluate with the compiled core and with NumPy, which must return the same bits."""
    result = gw.evaluate(metrics, judgments, scores)
    with mock.patch.object(compiled, "core", return_value=None):
        in_numpy = gw.evaluate(metrics, judgments, scores)
    np.testing.assert_array_equal(result.per_query, in_numpy.per_query)
    assert result.mean == pytest.approx(in_numpy.mean, rel=0, abs=0, nan_ok=True)
    return result


def assert_defined(definitions, queries, cutoffs):
    """Compare all metrics at these cutoffs, with all policies for ties, with their definitions."""
    labels = np.concatenate([labels for labels, _ in queries])
    scores = np.concatenate([scores for _, scores in queries]).astype(np.float64)
    judgments = gw.Judgments(labels, group=[len(own) for own, _ in queries])
    average = [list(definitions.rankings_with_multiplicity(*query)) for query in queries]
    settled = {ties: [[(rank(*query), 1)] for query in queries] for ties, rank in definitions.RANKINGS.items()}
    for name, definition in definitions.METRICS.items():
        averaged = {"average": average} if gw.parse_metrics(name)[0].has_mean_over_ties else {}
        for ties, rankings in {**averaged, **settled}.items():
            metrics = [replace(metric, k=k, ties=ties) for metric in gw.parse_metrics(name) for k in cutoffs]
            expected = [
                [definitions.mean_over_orders(definition, labels, own, k) for k in cutoffs]
                for (labels, _), own in zip(queries, rankings, strict=True)
            ]
            found = evaluate(metrics, judgments, scores).per_query
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-16, err_msg=f"{name}, ties={ties}")


@pytest.mark.parametrize("case", QUERIES)
def test_ties_and_cutoffs(case, definitions):
    assert_defined(definitions, [QUERIES[case]], CUTOFFS)


@pytest.mark.parametrize("seed", [20, 21])
def test_ties_and_cutoffs_of_random_queries(seed, definitions, grouped):
    data = grouped(seed, queries=30, longest=6, distinct_scores=3, not_retrieved=True)
    assert_defined(
        definitions, [(labels.tolist(), scores.tolist()) for labels, scores in data.queries()], (1, 3, 5, None)
    )


@pytest.mark.parametrize("weights", ["query", "ignore"])
@pytest.mark.parametrize("empty", [0, 1, "skip"])
def test_empty_queries_and_weights(definitions, weights, empty):
    """A query is empty if no order of its documents gives it a positive value."""
    queries = [([0, 3, 1, 0], [4, 3, 2, 1]), ([0, 0], [2, 1]), ([1, 0, 0], [3, 2, 1]), ([4], [1]), ([0, 2], [2, 1])]
    weight = np.array([1.5, 0.5, 2, 0.25, 3])
    labels = np.concatenate([labels for labels, _ in queries])
    scores = np.concatenate([scores for _, scores in queries])
    judgments = gw.Judgments(labels, group=[len(own) for own, _ in queries], weight=weight)
    for name, definition in definitions.METRICS.items():
        (metric,) = (replace(each, empty=empty, weights=weights, k=2) for each in gw.parse_metrics(name))
        result = evaluate([metric], judgments, scores)
        expected = np.array([definition(own, own, 2) for own, _ in queries])
        is_empty = [definition(sorted(own, reverse=True), own, None) == 0 for own, _ in queries]
        expected[is_empty] = np.nan if empty == "skip" else empty
        np.testing.assert_allclose(result.per_query[:, 0], expected, rtol=1e-12, err_msg=name)
        counted = ~np.isnan(expected)
        mean = np.average(expected[counted], weights=weight[counted] if weights == "query" else None)
        assert list(result.mean.values()) == pytest.approx([mean], rel=1e-12), name
