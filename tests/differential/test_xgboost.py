"""XGBoost's built-in ndcg with both gains, map and pre against `convention="xgboost"`, on random queries.

A Booster without trees evaluates the base margin of its matrix. `eval_set` prints built-in metrics with 17 decimals.
"""

import re

import numpy as np
import pytest
from hypothesis import given
from tests.differential.random_queries import FINITE, NOT_0, WHOLE, examples, queries

import gainwise as gw

xgb = pytest.importorskip("xgboost")

CUTOFFS = (1, 2, 3, 5, 10, 31, 100, 5000)
LINEAR = pytest.mark.skipif(xgb.__version__ < "3", reason="the built-in ndcg of XGBoost 2 does not know ndcg_exp_gain")
GAINS = [(True, "ndcg_exp"), pytest.param(False, "ndcg_linear", marks=LINEAR)]


def printed(labels, sizes, scores, weights, names, **options):
    matrix = xgb.DMatrix(np.zeros((len(labels), 1)), labels, nthread=1)
    matrix.set_group(sizes)
    with np.errstate(over="ignore", under="ignore"):
        matrix.set_base_margin(np.asarray(scores).astype(np.float32))
    if weights is not None:
        matrix.set_weight(weights)
    params = {"objective": "rank:ndcg", "eval_metric": names, "nthread": 1, **options}
    text = xgb.Booster(params, [matrix]).eval_set([(matrix, "data")])
    return [float(value) for _, value in re.findall(r"\tdata-([^:]+):(\S+)", text)]


def compare(data, theirs, ours, **options):
    found = list(data.evaluate(ours, convention="xgboost").mean.values())
    expected = printed(data.labels, data.sizes, data.scores, data.weights, theirs, **options)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-16)


def at_cutoffs(name, form="{name}@{k}"):
    return [form.format(name=name, k=k) for k in CUTOFFS]


def both_ways(theirs, ours):
    """Return a metric at all cutoffs. Queries without relevant documents count as 1, or as 0 with the suffix `-`."""
    return (
        at_cutoffs(theirs) + at_cutoffs(theirs, "{name}@{k}-"),
        at_cutoffs(ours) + at_cutoffs(ours, "{name}(empty=0)@{k}"),
    )


scores = [kind for kind in FINITE if kind != "denormal"]


@pytest.mark.parametrize(("exponential", "name"), GAINS)
@examples(15)
@given(data=queries(labels=WHOLE, scores=scores, weighted=[False]))
def test_ndcg(exponential, name, data):
    compare(data, *both_ways("ndcg", name), ndcg_exp_gain=exponential)


@pytest.mark.parametrize(("exponential", "name"), GAINS)
@examples(10)
@given(data=queries(labels=WHOLE, scores=scores, weighted=[True], no_empty=[True], lengths=NOT_0))
def test_weighted_ndcg_where_every_query_has_a_relevant_document(exponential, name, data):
    compare(data, *both_ways("ndcg", name), ndcg_exp_gain=exponential)


@examples(15)
@given(data=queries(labels=["binary"], scores=scores))
def test_map(data):
    compare(data, *both_ways("map", "map"))


@examples(15)
@given(data=queries(labels=["binary"], scores=scores, lengths=NOT_0))
def test_pre(data):
    compare(data, at_cutoffs("pre"), at_cutoffs("precision"))


@pytest.mark.parametrize("name", ["ndcg", "map", "pre"])
def test_without_a_cutoff_the_library_cuts_at_32(name):
    labels = np.zeros(40)
    labels[[0, 35]] = 1
    scores = -np.arange(40.0)
    plain, at_32, at_40 = printed(labels, [40], scores, None, [name, f"{name}@32", f"{name}@40"])
    assert plain == at_32 != at_40
    (metric,) = gw.parse_metrics({"pre": "precision"}.get(name, name), convention="xgboost")
    ours = gw.evaluate(metric, gw.Judgments(labels, group=[40]), scores).mean[str(metric)]
    assert ours == pytest.approx(plain, rel=1e-12, abs=0)


def test_the_library_adds_one_instead_of_the_weight_of_an_empty_query():
    """One query ranked 0 1, and one without relevant documents, which counts as 1. A mean above 1 fails."""
    labels, sizes, scores, weight, worst = (
        [0.0, 1.0, 0.0, 0.0],
        [2, 2],
        [2.0, 1.0, 2.0, 1.0],
        [0.25, 2.0],
        1 / np.log2(3),
    )
    theirs = printed(labels, sizes, scores, weight, ["ndcg@2"])
    assert theirs == pytest.approx([(0.25 * worst + 1) / (0.25 + 2)], rel=1e-12, abs=0)
    judgments = gw.Judgments(labels, group=sizes, weight=weight)
    ours = gw.evaluate(gw.parse_metrics("ndcg@2", convention="xgboost"), judgments, scores).mean
    assert list(ours.values()) == pytest.approx([(0.25 * worst + 2 * 1) / (0.25 + 2)], rel=1e-15, abs=0)
    with pytest.raises(xgb.core.XGBoostError, match="Invalid output score"):
        printed(labels, sizes, scores, [0.1, 0.2], ["ndcg@2"])
