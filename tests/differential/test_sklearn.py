"""scikit-learn's ndcg_score and dcg_score against `convention="sklearn"`, on random queries.

The library uses labels as gains, so other gains are passed as labels.
"""

import numpy as np
import pytest
from hypothesis import given
from tests.differential.random_queries import FINITE, cutoffs, examples, queries

import gainwise as gw

ranking = pytest.importorskip("sklearn.metrics")

GAINS = {
    "linear": lambda labels: labels,
    "exp": lambda labels: 2.0**labels - 1,
    "power(gain_base=1.5)": lambda labels: 2 * (1.5**labels - 1),
}


@examples(15)
@given(data=queries(scores=FINITE, weighted=[False]), k=cutoffs)
def test_each_query(data, k):
    at = "" if k is None else f"@{k}"
    # Labels of 960 with exponential gain are too large to be labels of the library.
    gains = {name: gain for name, gain in GAINS.items() if name == "linear" or data.label_kind != "to 960"}
    names = [f"{name}_{gain}{at}" for gain in gains for name in ("ndcg", "dcg")]
    found = data.evaluate(names, convention="sklearn").per_query
    for row, (labels, scores) in zip(found, data.arrays(), strict=True):
        if len(labels) > 1:  # The library rejects queries with fewer documents.
            expected = [
                score(gain(labels)[None], scores[None].astype(np.float64), k=k)
                for gain in gains.values()
                for score in (ranking.ndcg_score, ranking.dcg_score)
            ]
            np.testing.assert_allclose(row, expected, rtol=1e-12)


def test_means_with_weights_and_empty_queries():
    rng = np.random.default_rng(3)
    labels, scores = rng.integers(0, 5, (30, 9)).astype(float), rng.integers(0, 4, (30, 9)) / 7
    labels[::5] = 0
    for weight in (None, rng.uniform(0, 2, 30)):
        judgments = gw.Judgments(labels.ravel(), group=[9] * 30, weight=weight)
        for k in (1, 5, None):
            metrics = gw.parse_metrics("ndcg" if k is None else f"ndcg@{k}", convention="sklearn")
            (found,) = gw.evaluate(metrics, judgments, scores.ravel()).mean.values()
            assert found == pytest.approx(
                ranking.ndcg_score(labels, scores, k=k, sample_weight=weight), rel=1e-12, abs=0
            )
