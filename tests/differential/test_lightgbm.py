"""LightGBM's built-in ndcg and map against `convention="lightgbm"`, on random queries.

A Booster without trees evaluates the initial scores of its dataset.
"""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from tests.differential.random_queries import FINITE, NOT_0, WHOLE, examples, queries

import gainwise as gw

lgb = pytest.importorskip("lightgbm")

CUTOFFS = (1, 2, 3, 5, 10, 31, 100, 5000)
NAMES = [f"{name}@{k}" for name in ("ndcg", "map") for k in CUTOFFS]
QUIET = {"verbose": -1, "num_threads": 1, "feature_pre_filter": False}
PARAMS = {**QUIET, "objective": "lambdarank", "metric": ["ndcg", "map"], "eval_at": CUTOFFS}


def dataset(data, weight):
    """Return a dataset with the scores as initial scores and a constant feature."""
    return lgb.Dataset(
        np.zeros((len(data.labels), 1)), data.labels, group=list(data.sizes), weight=weight,
        init_score=data.scores.astype(np.float64), params=QUIET,
    )  # fmt: skip


def document_weights(data):
    return None if data.weights is None else np.repeat(data.weights, data.sizes)


def compare(data, values):
    found = list(data.evaluate(NAMES, convention="lightgbm").mean.values())
    expected = [values[name] for name in NAMES]
    adds_one = data.weights is not None and not all(labels.any() for labels, _ in data.arrays())
    first = len(CUTOFFS) if adds_one else 0  # a weighted ndcg with queries without relevant documents
    np.testing.assert_allclose(found[first:], expected[first:], rtol=1e-12)


random_queries = st.one_of(
    queries(labels=WHOLE, scores=FINITE, weighted=[False]),
    queries(labels=WHOLE, scores=FINITE, weighted=[True], lengths=NOT_0),
)


@examples(25)
@given(data=random_queries)
def test_booster(data):
    booster = lgb.Booster(PARAMS, dataset(data, document_weights(data)))
    compare(data, {name: value for _, name, value, _ in booster.eval_train()})


def test_the_library_adds_one_instead_of_the_weight_of_an_empty_query():
    """Weights 0.25 and 0.75: one query ranked 0 1, one without relevant documents, which counts as 1."""
    options = {"group": [2, 2], "weight": [0.25, 0.25, 0.75, 0.75], "init_score": [2.0, 1.0, 2.0, 1.0]}
    dataset = lgb.Dataset(np.zeros((4, 1)), [0.0, 1.0, 0.0, 0.0], params=QUIET, **options)
    theirs = {name: value for _, name, value, _ in lgb.Booster(PARAMS, dataset).eval_train()}
    worst = 1 / np.log2(3)
    assert theirs["ndcg@2"] == pytest.approx((0.25 * worst + 1) / (0.25 + 0.75), rel=1e-12, abs=0)
    judgments = gw.Judgments([0, 1, 0, 0], group=[2, 2], weight=options["weight"])
    ours = gw.evaluate(gw.parse_metrics("ndcg@2", convention="lightgbm"), judgments, options["init_score"]).mean
    assert list(ours.values()) == pytest.approx([0.25 * worst + 0.75 * 1], rel=1e-15, abs=0)
