"""Queries without documents, which LightGBM's data sets may have."""

import lightgbm as lgb
import numpy as np
import pytest

import gainsay as gs
from gainsay.lightgbm import feval

FEATURES = np.random.default_rng(0).normal(size=(4, 2))
LABELS = np.array([1, 0, 1, 0])
PARAMS = {"objective": "lambdarank", "metric": "None", "verbose": -1, "min_data_in_leaf": 1, "min_data_in_bin": 1}


def history(group, weight):
    data, found = lgb.Dataset(FEATURES, LABELS, group=group, weight=weight, params=PARAMS), {}
    booster = lgb.train(
        PARAMS, data, 2, valid_sets=[data], feval=feval("mrr"), callbacks=[lgb.record_evaluation(found)]
    )
    return found["training"]["mrr"][-1], booster.predict(FEATURES)


def test_weights_of_documents_are_not_taken_for_weights_of_queries():
    with pytest.raises(ValueError, match="these may be weights of queries or of documents"):
        history([3, 0, 1, 0], [1, 1, 1, 9])


def test_weights_of_documents_are_read_as_evaluate_reads_them():
    weight = [1, 2, 3, 9]
    value, scores = history([3, 0, 1], weight)
    judgments = gs.Judgments(LABELS, group=[3, 0, 1], weight=weight)
    assert judgments.weights.tolist() == [2, 0, 9]
    assert value == gs.evaluate("mrr", judgments, scores).mean["mrr"]
