"""What the early stopping of both libraries says of a metric that never has a value."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

import gainsay as gs
import gainsay.lightgbm
import gainsay.xgboost
from gainsay.data import simulate

METRIC = gs.NDCG(gain="linear", k=10, empty="skip")
SAID = r"has seen nothing but NaN on 'held_out': it stopped no training, and set no best_iteration"


@pytest.fixture(scope="module")
def parts():
    train, valid = simulate(40, seed=3).split_queries(0.5, 0.5, seed=1)
    return train, valid, np.zeros(len(valid.labels))


@pytest.mark.parametrize("continued", [0, 2])
def test_lightgbm(parts, continued):
    train, valid, labels = parts
    params = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1}
    first = lgb.Dataset(train.features, train.labels, group=train.group, free_raw_data=False)
    before = lgb.train(params, first, continued) if continued else None
    second = lgb.Dataset(valid.features, labels, group=valid.group, reference=first, free_raw_data=False)
    with pytest.warns(UserWarning, match=SAID):
        booster = lgb.train(
            params,
            first,
            4,
            valid_sets=[second],
            valid_names=["held_out"],
            init_model=before,
            feval=gainsay.lightgbm.feval([METRIC]),
            callbacks=[gainsay.lightgbm.early_stopping(METRIC, 2, verbose=False)],
        )
    assert (booster.best_iteration, booster.current_iteration()) == (0, continued + 4)


@pytest.mark.parametrize("save_best", [False, True])
def test_xgboost(parts, save_best):
    train, valid, labels = parts
    callbacks = [
        gainsay.xgboost.EvaluateRanking({"held_out": (valid.features, labels, valid.qid)}, [METRIC]),
        gainsay.xgboost.early_stopping(METRIC, 2, save_best=save_best, verbose=False),
    ]
    params = {"objective": "rank:ndcg", "disable_default_eval_metric": True, "nthread": 1}
    with pytest.warns(UserWarning, match=SAID):
        booster = xgb.train(
            params, xgb.DMatrix(train.features, label=train.labels, qid=train.qid), 4, callbacks=callbacks
        )
    assert (booster.attributes(), booster.num_boosted_rounds()) == ({}, 4)
