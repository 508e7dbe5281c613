"""Expectations over ties against the mean over all orders of the tied documents, worked out one by one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gainsay as gs

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
}


def means(definitions, definition, labels, rankings, cutoffs):
    return [definitions.mean_over_orders(definition, labels, rankings, k) for k in cutoffs]


@pytest.mark.parametrize("case", QUERIES)
def test_average_is_the_mean_over_all_orders(case, definitions):
    labels, scores = QUERIES[case]
    judgments = gs.Judgments(labels, group=[len(labels)])
    rankings = list(definitions.rankings_with_multiplicity(labels, scores))
    for name, definition in definitions.METRICS.items():
        metrics = [replace(metric, k=k) for metric in gs.parse_metrics(name) for k in CUTOFFS]
        found = gs.evaluate(metrics, judgments, scores).per_query[0]
        expected = means(definitions, definition, labels, rankings, CUTOFFS)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-16, err_msg=name)


def test_average_is_the_mean_over_all_orders_of_random_queries(definitions, grouped):
    data, cutoffs = grouped(20, queries=30, longest=6, distinct_scores=3, not_retrieved=True), (1, 3, 5, None)
    queries = [
        (labels.tolist(), list(definitions.rankings_with_multiplicity(labels.tolist(), scores.tolist())))
        for labels, scores in data.queries()
    ]
    for name, definition in definitions.METRICS.items():
        metrics = [replace(metric, k=k) for metric in gs.parse_metrics(name) for k in cutoffs]
        found = gs.evaluate(metrics, data.judgments, data.scores).per_query
        expected = [means(definitions, definition, labels, rankings, cutoffs) for labels, rankings in queries]
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-16, err_msg=name)
