"""Invariants and limits of values, on random queries of all kinds."""

from dataclasses import replace
from functools import cache

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from tests.differential.random_queries import cutoffs, examples, queries

import gainwise as gw
from gainwise.ranking import rows as blocks

NAMES = [
    "ndcg_linear", "ndcg_exp", "ndcg_jk", "map", "map(denominator=R)", "mrr", "precision", "rprec", "recall",
    "hit", "rbp",
]  # fmt: skip
TIES = ("average", "order", "worst", "best")
INF = np.inf


@cache
def panel(k, ties=TIES):
    return [replace(metric, k=k, ties=settled) for metric in gw.parse_metrics(NAMES) for settled in ties]


def per_query(metrics, labels, scores, sizes):
    return gw.evaluate(metrics, gw.Judgments(labels, group=sizes), scores, n_jobs=1).per_query


def transforms(scores):
    """Return strictly monotone transforms of scores. Cubes and reciprocals use ranks to stay distinct."""
    _, codes = np.unique(scores, return_inverse=True)
    ranks = codes.reshape(scores.shape)
    return [np.where(scores == -INF, -INF, values) for values in (ranks, ranks**3, -1 / (ranks + 2))]


@examples(5)
@given(data=queries(weighted=[False]), k=cutoffs, seed=st.integers(0, 99))
def test_order_of_rows_monotone_transforms_and_blocks(data, k, seed):
    expected = per_query(panel(k), data.labels, data.scores, data.sizes)
    for scores in transforms(data.scores):
        assert np.array_equal(per_query(panel(k), data.labels, scores, data.sizes), expected)
    for cells in (1, 100, 10_000_000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(blocks, "BLOCK_CELLS", cells)
            patch.setattr(blocks, "SPARE_CELLS", cells)
            assert np.array_equal(per_query(panel(k), data.labels, data.scores, data.sizes), expected), cells
    query = np.repeat(np.arange(len(data.sizes)), data.sizes)
    rows = np.lexsort((np.random.default_rng(seed).random(len(query)), query))
    found = per_query(panel(k), data.labels[rows], data.scores[rows], data.sizes)
    by_labels = [metric.ties != "order" for metric in panel(k)]
    assert np.array_equal(found[:, by_labels], expected[:, by_labels])


@examples(6)
@given(data=queries(weighted=[True], most=6), k=cutoffs, seed=st.integers(0, 99))
def test_other_queries_and_their_order(data, k, seed):
    order = np.random.default_rng(seed).permutation(len(data.sizes))
    ends = np.cumsum(data.sizes)
    rows = np.concatenate([np.arange(ends[at] - data.sizes[at], ends[at]) for at in order])
    judgments = gw.Judgments(data.labels[rows], group=np.array(data.sizes)[order], weight=data.weights[order])
    found = gw.evaluate(panel(k), judgments, data.scores[rows], n_jobs=1)
    expected = data.evaluate(panel(k))
    assert np.array_equal(found.per_query, expected.per_query[order])
    assert found.mean == pytest.approx(expected.mean, rel=1e-14, abs=0)
    for row, (labels, scores) in zip(expected.per_query, data.arrays(), strict=True):
        assert len(labels) == 0 or np.array_equal(per_query(panel(k), labels, scores, [len(labels)])[0], row)


ROUNDING = 3000 * np.finfo(np.float64).eps
"""By how much a sum over the longest query, of parts that make up 1, may come out above or below it."""


@examples(10)
@given(data=queries(weighted=[False]), k=cutoffs)
def test_bounds(data, k):
    values = {ties: data.evaluate(panel(k, ties=(ties,))).per_query for ties in TIES}
    for ties, found in values.items():
        assert (found >= 0).all()
        assert (found <= 1 + ROUNDING).all()
        assert (values["worst"] <= found + ROUNDING).all(), ties
        assert (found <= values["best"] + ROUNDING).all(), ties


@examples(6)
@given(data=queries(scores=["distinct"], weighted=[False]), k=cutoffs)
def test_ideal_order_gives_1(data, k):
    metrics = [replace(metric, k=k) for metric in gw.parse_metrics("ndcg_linear", "ndcg_exp", "ndcg_jk", "map")]
    found = per_query(metrics, data.labels, data.labels, data.sizes)
    relevant = [[labels.max(initial=0) > 0] * 3 + [labels.max(initial=0) >= 1] for labels, _ in data.arrays()]
    np.testing.assert_allclose(found, relevant, rtol=1e-14, atol=0)
