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


def _found(metric, queries, scores_dtype=np.float64):
    labels, scores = _columns([document for query in queries for document in query])
    judgments = gs.Judgments(labels, group=[len(query) for query in queries])
    return gs.evaluate([metric], judgments, np.array(scores, dtype=scores_dtype)).per_query[:, 0]


@pytest.mark.parametrize("ties", ["order", "worst", "best"])
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(queries=data_sets, k=cutoffs)
def test_ranked_metrics(defined, definitions, ties, queries, k):
    metric, definition = defined
    expected = [definitions.value(definition, *_columns(query), k, ties) for query in queries]
    found = _found(replace(metric, ties=ties, k=k), queries)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-16)


@settings(max_examples=25)
@given(queries=short_data_sets, k=st.one_of(st.none(), st.integers(1, 6)))
def test_expectations_over_ties(defined, definitions, queries, k):
    metric, definition = defined
    expected = [definitions.expectation(definition, *_columns(query), k) for query in queries]
    np.testing.assert_allclose(_found(replace(metric, k=k), queries), expected, rtol=1e-12, atol=1e-16)
