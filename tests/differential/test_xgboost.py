"""XGBoost's built-in ndcg with both gains, map and pre against `convention="xgboost"`, on random queries.

A Booster without trees evaluates the base margin of its matrix. `eval_set` prints built-in metrics with 17 decimals.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from random_queries import FINITE, NOT_0, WHOLE, count, examples, queries

xgb = pytest.importorskip("xgboost")

CUTOFFS = (1, 2, 3, 5, 10, 31, 100, 5000)
LINEAR = pytest.mark.skipif(xgb.__version__ < "3", reason="the built-in ndcg of XGBoost 2 does not know ndcg_exp_gain")
GAINS = [(True, "ndcg_exp"), pytest.param(False, "ndcg_linear", marks=LINEAR)]


def printed(data, names, **options):
    matrix = xgb.DMatrix(np.zeros((len(data.labels), 1)), data.labels, nthread=1)
    matrix.set_group(data.sizes)
    with np.errstate(over="ignore", under="ignore"):
        matrix.set_base_margin(data.scores.astype(np.float32))
    if data.weights is not None:
        matrix.set_weight(data.weights)
    params = {"objective": "rank:ndcg", "eval_metric": names, "nthread": 1, **options}
    text = xgb.Booster(params, [matrix]).eval_set([(matrix, "data")])
    return [float(value) for _, value in re.findall(r"\tdata-([^:]+):(\S+)", text)]


def compare(data, theirs, ours, **options):
    found = list(data.evaluate(ours, convention="xgboost").mean.values())
    np.testing.assert_allclose(found, printed(data, theirs, **options), rtol=1e-12, atol=1e-16)
    count("XGBoost", queries=len(data.sizes), values=len(ours))


def at_cutoffs(name, form="{name}@{k}"):
    return [form.format(name=name, k=k) for k in CUTOFFS]


def both_ways(theirs, ours):
    """A metric at all cutoffs, with queries that have no relevant document as 1 and, by the library's `-`, as 0."""
    return (
        at_cutoffs(theirs) + at_cutoffs(theirs, "{name}@{k}-"),
        at_cutoffs(ours) + at_cutoffs(ours, "{name}(empty=0)@{k}"),
    )


scores = [kind for kind in FINITE if kind != "denormal"]


@pytest.mark.parametrize(("exponential", "name"), GAINS)
@examples(40)
@given(data=queries(labels=WHOLE, scores=scores, weighted=[False]))
def test_ndcg(exponential, name, data):
    compare(data, *both_ways("ndcg", name), ndcg_exp_gain=exponential)


@pytest.mark.parametrize(("exponential", "name"), GAINS)
@examples(20)
@given(data=queries(labels=WHOLE, scores=scores, weighted=[True], no_empty=[True], lengths=NOT_0))
def test_weighted_ndcg_where_every_query_has_a_relevant_document(exponential, name, data):
    compare(data, *both_ways("ndcg", name), ndcg_exp_gain=exponential)


@examples(40)
@given(data=queries(labels=["binary"], scores=scores))
def test_map(data):
    compare(data, *both_ways("map", "map"))


@examples(40)
@given(data=queries(labels=["binary"], scores=scores, lengths=NOT_0))
def test_pre(data):
    compare(data, at_cutoffs("pre"), at_cutoffs("precision"))
