"""scikit-learn's ndcg_score and dcg_score against ours under `convention="sklearn"`.

It takes one matrix for queries of one length, averages over ties exactly, and knows one gain: the label that it is
given, so exponential gains go in as labels.
"""

from __future__ import annotations

import numpy as np
import pytest

import gainsay as gs

ranking = pytest.importorskip("sklearn.metrics")

CUTOFFS = (1, 2, 3, 5, 9, 20, None)


def rectangular(seed, queries=30, documents=9):
    """Labels and scores of queries of equal length, full of ties; each fifth query is empty."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 5, (queries, documents)).astype(np.float64)
    labels[::5] = 0
    return labels, rng.integers(0, 4, (queries, documents)) / 7


def ours(name, k, labels, scores, **options):
    metrics = gs.parse_metrics(name if k is None else f"{name}@{k}", convention="sklearn")
    judgments = gs.Judgments(labels.ravel(), group=[labels.shape[1]] * len(labels), **options)
    return gs.evaluate(metrics, judgments, scores.ravel())


@pytest.mark.parametrize("k", CUTOFFS)
@pytest.mark.parametrize(
    ("gain", "worth"),
    [
        ("linear", lambda labels: labels),
        ("exp", lambda labels: 2**labels - 1),
        ("power(gain_base=1.5)", lambda labels: 2 * (1.5**labels - 1)),
        ("power(gain_base=1.000000000001)", lambda labels: labels),
    ],
    ids=["linear", "exp", "power", "near linear"],
)
@pytest.mark.parametrize("name", ["ndcg", "dcg"])
def test_each_query(name, gain, worth, k):
    labels, scores = rectangular(1)
    theirs = ranking.ndcg_score if name == "ndcg" else ranking.dcg_score
    expected = [theirs(worth(labels[i : i + 1]), scores[i : i + 1], k=k) for i in range(len(labels))]
    found = ours(f"{name}_{gain}", k, labels, scores).per_query[:, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-11 if "000000001" in gain else 1e-12)


@pytest.mark.parametrize("k", CUTOFFS)
def test_mean_under_its_own_name_of_the_metric(k):
    labels, scores = rectangular(2)
    (found,) = ours("ndcg", k, labels, scores).mean.values()
    assert found == pytest.approx(ranking.ndcg_score(labels, scores, k=k), rel=1e-12, abs=0)


def test_weighted_mean_with_empty_queries():
    labels, scores = rectangular(3)
    weight = np.random.default_rng(3).uniform(0, 2, len(labels))
    (found,) = ours("ndcg", 5, labels, scores, weight=weight).mean.values()
    assert found == pytest.approx(ranking.ndcg_score(labels, scores, k=5, sample_weight=weight), rel=1e-12, abs=0)


def test_ranking_without_ties_is_the_same_when_ties_are_ignored():
    rng = np.random.default_rng(4)
    labels, scores = rng.integers(0, 5, (20, 50)).astype(float), rng.normal(size=(20, 50))
    (found,) = ours("ndcg", 10, labels, scores).mean.values()
    assert found == pytest.approx(ranking.ndcg_score(labels, scores, k=10, ignore_ties=True), rel=1e-12, abs=0)


def test_the_library_refuses_a_query_with_one_document():
    with pytest.raises(ValueError, match="more than 1 document"):
        ranking.ndcg_score([[1.0]], [[0.5]])


def test_ours_takes_a_query_with_one_document():
    (found,) = ours("ndcg", None, np.array([[1.0]]), np.array([[0.5]])).mean.values()
    assert found == 1.0


@pytest.mark.parametrize("k", [1, 3, None])
def test_long_runs_of_ties(k):
    rng = np.random.default_rng(5)
    labels, scores = rng.integers(0, 5, (3, 1000)).astype(float), rng.integers(0, 2, (3, 1000)).astype(float)
    (found,) = ours("ndcg", k, labels, scores).mean.values()
    assert found == pytest.approx(ranking.ndcg_score(labels, scores, k=k), rel=1e-12, abs=0)
