"""Every metric against its definition in plain Python, on data sets that hypothesis makes up."""

from __future__ import annotations

import math
from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import gainsay as gs

few_scores = st.sampled_from([-math.inf, -1.5, -0.0, 0.0, 1 / 3, math.nextafter(1 / 3, 1), 1e300, math.inf])
many_scores = st.floats(allow_nan=False)
documents = st.lists(st.tuples(st.integers(0, 4), few_scores), min_size=1, max_size=40)
documents_rarely_tied = st.lists(st.tuples(st.integers(0, 4), many_scores), min_size=1, max_size=40)
data_sets = st.lists(st.one_of(documents, documents_rarely_tied), min_size=1, max_size=6)
short_data_sets = st.lists(
    st.lists(st.tuples(st.integers(0, 4), few_scores), min_size=1, max_size=5), min_size=1, max_size=4
)
cutoffs = st.one_of(st.none(), st.integers(1, 50))


def _columns(query):
    """The labels and the scores of a query."""
    return [label for label, _ in query], [score for _, score in query]


def _check(definitions, queries, k, ties, one):
    """All metrics, evaluated together, have the defined values; one of them has the same values alone."""
    metrics = [replace(metric, k=k, ties=ties) for metric in gs.parse_metrics(list(definitions.METRICS))]
    labels, scores = _columns([document for query in queries for document in query])
    judgments, scores = gs.Judgments(labels, group=[len(query) for query in queries]), np.array(scores)
    found = gs.evaluate(metrics, judgments, scores).per_query
    one %= len(metrics)
    np.testing.assert_array_equal(gs.evaluate([metrics[one]], judgments, scores).per_query[:, 0], found[:, one])
    for values, query in zip(found, queries, strict=True):
        expected = definitions.values(*_columns(query), k, ties)
        np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-16, err_msg=", ".join(map(str, metrics)))


@pytest.mark.parametrize("ties", ["order", "worst", "best"])
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(queries=data_sets, k=cutoffs, one=st.integers(0, 99))
def test_ranked_metrics(definitions, ties, queries, k, one):
    _check(definitions, queries, k, ties, one)


@settings(max_examples=100)
@given(queries=short_data_sets, k=st.one_of(st.none(), st.integers(1, 6)), one=st.integers(0, 99))
def test_expectations_over_ties(definitions, queries, k, one):
    _check(definitions, queries, k, "average", one)
