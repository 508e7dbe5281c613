"""scikit-learn's ndcg_score and dcg_score against `convention="sklearn"`, query by query, on random queries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from random_queries import FINITE, count, cutoffs, examples, queries

ranking = pytest.importorskip("sklearn.metrics")


@examples(40)
@given(data=queries(scores=FINITE, weighted=[False]), k=cutoffs)
def test_each_query(data, k):
    at = "" if k is None else f"@{k}"
    gains = {"linear": lambda labels: labels, "exp": lambda labels: 2.0**labels - 1}
    if data.label_kind == "to 1000":  # 2^l - 1 goes to the library as a label: too large for it
        del gains["exp"]
    names = [f"{name}_{gain}{at}" for gain in gains for name in ("ndcg", "dcg")]
    found = data.evaluate(names, convention="sklearn").per_query
    compared = 0
    for row, (labels, scores) in zip(found, data.arrays(), strict=True):
        if len(labels) < 2:  # the library refuses these
            continue
        expected = [
            score(gain(labels)[None], scores[None].astype(np.float64), k=k)
            for gain in gains.values()
            for score in (ranking.ndcg_score, ranking.dcg_score)
        ]
        np.testing.assert_allclose(row, expected, rtol=1e-12)
        compared += 1
    count("scikit-learn", queries=compared, values=compared * len(names))
