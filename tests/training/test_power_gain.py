"""A power gain is a metric as any other while LightGBM and XGBoost train, and to stop by."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb

import gainsay as gs
from gainsay.data import simulate
from gainsay.lightgbm import early_stopping, feval
from gainsay.xgboost import EvaluateRanking, custom_metric
from gainsay.xgboost import early_stopping as stop_xgboost

NAME = "ndcg_power(gain_base=1.5)@10"


@pytest.fixture(scope="module")
def parts():
    return simulate(60, seed=2, mean_length=12).split_queries(0.5, 0.5, seed=2)


def test_lightgbm_evaluates_and_stops_by_it(parts):
    train, valid = (lgb.Dataset(one.features, one.labels, group=one.group) for one in parts)
    history = {}
    booster = lgb.train(
        {"objective": "lambdarank", "metric": "None", "verbosity": -1, "num_threads": 1},
        train,
        8,
        valid_sets=[valid],
        feval=feval([NAME, "mrr"]),
        callbacks=[lgb.record_evaluation(history), early_stopping(NAME, rounds=3)],
    )
    values = history["valid_0"][NAME]
    assert booster.best_iteration == 1 + int(np.argmax(values))
    scores = booster.predict(parts[1].features, num_iteration=booster.best_iteration)
    assert gs.evaluate(NAME, parts[1].judgments(), scores).mean[NAME] == pytest.approx(max(values), rel=1e-12)


def test_xgboost_evaluates_and_stops_by_it(parts):
    train, valid = (xgb.DMatrix(one.features, one.labels, qid=one.qid) for one in parts)
    log = {}
    booster = xgb.train(
        {"objective": "rank:ndcg", "disable_default_eval_metric": True, "nthread": 1},
        train,
        8,
        evals=[(valid, "valid")],
        custom_metric=custom_metric(["ndcg_power(gain_base=1.25)@5"]),
        callbacks=[EvaluateRanking({"valid": valid}, [NAME]), stop_xgboost(NAME, dataset="valid", rounds=3)],
        evals_result=log,
        verbose_eval=False,
    )
    values = log["valid"][NAME]
    scores = booster.predict(valid, iteration_range=(0, 1 + int(np.argmax(values))))
    assert gs.evaluate(NAME, parts[1].judgments(), scores).mean[NAME] == pytest.approx(max(values), rel=1e-12)
    assert log["valid"]["ndcg_power(gain_base=1.25)@5"][-1] > 0
