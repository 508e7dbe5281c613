"""Typical mistakes of users: one row per call, exception and words of the message."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb

import gainwise as gw
import gainwise.catboost
import gainwise.lightgbm
import gainwise.sklearn
import gainwise.xgboost
from gainwise.data import read_letor, read_scores, simulate
from gainwise.experiment import Candidate, Experiment

DATA = simulate(12, seed=1, mean_length=6, features=3)
X, Y, GROUP = DATA.features, DATA.labels, DATA.group
JUDGED = DATA.judgments()
SCORES = {"a": X[:, 0], "b": X[:, 1]}
FRAME = pd.DataFrame({"query": DATA.qid, "label": Y, **SCORES})
LGB = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1}
XGB = {"objective": "rank:ndcg", "nthread": 1}
CANDIDATE = Candidate("a", "lightgbm")
RANKER = gainwise.sklearn.GroupedLGBMRanker(n_estimators=2, verbose=-1, n_jobs=1)
STOP_LGB, STOP_XGB = gainwise.lightgbm.early_stopping("mrr", 3), gainwise.xgboost.early_stopping("mrr", 3)


def train_lgb(*callbacks, log="mrr", groups=True, **options):
    data = lgb.Dataset(X, Y, group=GROUP if groups else None)
    feval = gainwise.lightgbm.feval(log) if log else None
    params = LGB if groups else {**LGB, "objective": "regression"}
    options = {"valid_sets": [data], "valid_names": ["valid"], "feval": feval, **options}
    return lgb.train(params, data, 2, callbacks=list(callbacks), **options)


def train_xgb(*callbacks, **options):
    matrix = xgb.DMatrix(X, Y, qid=DATA.qid)
    return xgb.train(XGB, matrix, 2, evals=[(matrix, "valid")], callbacks=list(callbacks), **options)


def compare(models=SCORES, judgments=JUDGED, *arguments, **options):
    return gw.compare(models, judgments, *arguments, **options)


def evaluate_ranking(data, metrics="mrr"):
    return gainwise.xgboost.EvaluateRanking({"valid": data}, metrics)


def experiment(candidates=(CANDIDATE,), parts=(DATA, DATA, DATA), **options):
    return Experiment(list(candidates), *parts, **options)


def table(frame=FRAME, scores=("a", "b"), **options):
    return gw.compare_table(frame, list(scores), **options)


MISTAKES = {
    "metrics": [
        (lambda: gw.parse_metrics("ndcg@10"), ValueError, "ndcg_linear@10"),
        (lambda: gw.parse_metrics("ndgc_exp@10"), ValueError, "mean 'ndcg_exp@10'"),
        (lambda: gw.parse_metrics("precison@5"), ValueError, "precision"),
        (lambda: gw.parse_metrics("ndcg_exp@0"), ValueError, "got '0'"),
        (lambda: gw.parse_metrics([]), ValueError, "at least one"),
        (lambda: gw.parse_metrics(["mrr", "mrr"]), ValueError, "twice"),
        (lambda: gw.parse_metrics(10), TypeError, "got 10"),
        (lambda: gw.parse_metrics(len), TypeError, "gainwise.metric('name', function)"),
        (lambda: gw.metric("ndcg_exp@10"), TypeError, "parse_metrics"),
        (lambda: gw.metric("mrr", lambda labels, scores: 0.0), ValueError, "built-in"),
        (lambda: gw.NDCG(gain="expo"), ValueError, "exponential"),
        (lambda: gw.NDCG(gain="linear", k=-1), ValueError, "-1"),
    ],
    "judgments and scores": [
        (lambda: gw.Judgments(Y), ValueError, "got neither"),
        (lambda: gw.Judgments(Y, group=GROUP[:-1]), ValueError, "sum to"),
        (lambda: gw.Judgments(Y, group=DATA.qid), ValueError, "mean qid="),
        (lambda: gw.Judgments(Y, qid=DATA.qid[:-1]), ValueError, "74 entries"),
        (lambda: gw.Judgments(Y, group=GROUP, qid=DATA.qid), ValueError, "got both"),
        (lambda: gw.Judgments(-Y, group=GROUP), ValueError, "negative"),
        (lambda: gw.Judgments(np.where(Y > 3, np.nan, Y), group=GROUP), ValueError, "nan at row"),
        (lambda: gw.Judgments(Y, group=GROUP, weight=[1.0]), ValueError, "weight"),
        (lambda: gw.evaluate("mrr", JUDGED, X[:-1, 0]), ValueError, "74 entries"),
        (lambda: gw.evaluate("mrr", JUDGED, X[:, :2]), ValueError, "one-dimensional"),
        (lambda: gw.evaluate("mrr", X[:, 0], JUDGED), TypeError, "order"),
        (lambda: gw.evaluate(JUDGED, "mrr", X[:, 0]), TypeError, "order"),
        (lambda: gw.evaluate("mrr", Y, X[:, 0]), TypeError, "Judgments"),
        (lambda: gw.evaluate_run("mrr", {"q": {"d": 1.0}}, {"p": {"d": 1}}), ValueError, "in common"),
    ],
    "training with LightGBM": [
        (lambda: train_lgb(gainwise.lightgbm.early_stopping("mrr@5", 3)), ValueError, "'mrr@5'"),
        (lambda: train_lgb(STOP_LGB, log=None), ValueError, "feval=gainwise.lightgbm.feval"),
        (lambda: train_lgb(gainwise.lightgbm.early_stopping("mrr", 3, "valid_0")), ValueError, "'valid'"),
        (lambda: train_lgb(STOP_LGB, valid_sets=[], valid_names=[]), ValueError, "'mrr'"),
        (lambda: train_lgb(groups=False), ValueError, "group="),
        (lambda: gainwise.lightgbm.early_stopping("mrr", stopping_rounds=5), TypeError, "stopping_rounds"),
        (lambda: gainwise.lightgbm.early_stopping("mrr"), TypeError, "rounds"),
        (lambda: gainwise.lightgbm.feval("ndcg@10"), ValueError, "ndcg_linear@10"),
        (lambda: train_lgb(feval=gainwise.lightgbm.feval), TypeError, "without a call"),
        (lambda: train_lgb(STOP_XGB), TypeError, "gainwise.lightgbm"),
        (lambda: train_lgb(gainwise.xgboost.Curves()), TypeError, "gainwise.lightgbm"),
        (lambda: train_lgb(STOP_LGB, lgb.early_stopping(3)), UserWarning, "Remove lightgbm.early_stopping"),
        (lambda: train_lgb(feval=gainwise.xgboost.custom_metric("mrr")), TypeError, "gainwise.lightgbm"),
    ],
    "training with XGBoost and scikit-learn": [
        (lambda: train_xgb(STOP_LGB), TypeError, "gainwise.xgboost"),
        (lambda: train_xgb(gainwise.lightgbm.Curves()), TypeError, "gainwise.xgboost"),
        (lambda: train_xgb(custom_metric=gainwise.lightgbm.feval("mrr")), TypeError, "gainwise.xgboost"),
        (lambda: train_xgb(STOP_XGB), ValueError, "'mrr'"),
        (lambda: evaluate_ranking((X, Y)), TypeError, "(X, y, qid)"),
        (lambda: evaluate_ranking((X, Y, DATA.qid[:3])), ValueError, "qid"),
        (lambda: evaluate_ranking(X), TypeError, "got ndarray"),
        (lambda: gainwise.xgboost.EvaluateRanking("mrr", {"valid": X}), TypeError, "datasets"),
        (lambda: gainwise.sklearn.scorer("mrr")(RANKER, X, Y), ValueError, "qid"),
        (lambda: RANKER.fit(X, Y), ValueError, "qid"),
        (lambda: gainwise.catboost.eval_metric("mrr", X), TypeError, "Pool"),
    ],
    "comparison": [
        (lambda: gw.compare(JUDGED, SCORES), TypeError, "compare(models, judgments)"),
        (lambda: compare({}), ValueError, "models"),
        (lambda: compare(judgments=gw.Judgments(Y, qid=range(len(Y)))).against("a", 0.1), ValueError, "--query"),
        (lambda: compare(judgments=gw.Judgments(0 * Y, group=GROUP)).against("a", 0.1), ValueError, "--label"),
        (lambda: compare({**SCORES, "b": X[:-1, 1]}), ValueError, "'b'"),
        (lambda: compare(judgments=Y), TypeError, "Judgments"),
        (lambda: compare(baseline="c"), ValueError, "'c'"),
        (lambda: compare(alpha=95), ValueError, "alpha"),
        (lambda: compare(margin=-0.1), ValueError, "margin"),
        (lambda: compare({**SCORES, "b": train_lgb()}), ValueError, "features="),
        (lambda: compare().against("c"), ValueError, "'c'"),
        (lambda: compare().attribution("a", "A"), ValueError, "'A'"),
        (lambda: compare(segments=["x"]), ValueError, "segments"),
        (lambda: table(query="qid"), ValueError, "Name the column with query="),
        (lambda: compare().plan(1.0, claim="pair"), ValueError, "difference"),
        (lambda: table(scores=["a", "c"]), ValueError, "'c'"),
        (lambda: table(scores=["a", "label"]), ValueError, "label"),
        (lambda: table(FRAME.assign(label=None)), ValueError, "label"),
    ],
    "experiments": [
        (lambda: Candidate("a", "lightgmb"), ValueError, "mean 'lightgbm'"),
        (lambda: experiment([Candidate("a", "lightgbm", {"n_estimators": 9})]), ValueError, "num_boost_round"),
        (lambda: experiment([Candidate("a", "lightgbm", {"num_leafs": 3})]), ValueError, "mean 'num_leaves'"),
        (lambda: experiment([CANDIDATE, CANDIDATE]), ValueError, "twice"),
        (lambda: experiment([]), ValueError, "candidates"),
        (lambda: experiment(parts=(DATA, DATA)), ValueError, "test"),
        (lambda: experiment(parts=(X, Y, GROUP)), TypeError, "RankingData"),
        (lambda: experiment(stop_by="ndcg_exp@5"), ValueError, "stop_by"),
        (lambda: experiment(repeats=2), ValueError, "repeats"),
        (lambda: Experiment.load("nowhere"), FileNotFoundError, "nowhere"),
        (lambda: gw.k_folds(DATA, 2), ValueError, "got 2"),
    ],
    "files and plans": [
        (lambda: read_letor("missing.txt"), FileNotFoundError, "missing.txt"),
        (lambda: read_letor("table.csv"), ValueError, "table.csv"),
        (lambda: read_scores("table.csv"), ValueError, "column"),
        (lambda: gw.evaluate_run("mrr", "table.csv", "table.csv"), ValueError, "'document'"),
        (lambda: gw.plan(-0.1, query=1), ValueError, "difference"),
    ],
}


@pytest.mark.parametrize(
    ("call", "exception", "words"),
    [pytest.param(*row, id=f"{job} {number}") for job, rows in MISTAKES.items() for number, row in enumerate(rows)],
)
def test_typical_mistakes(tmp_path, monkeypatch, call, exception, words):
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("table.csv", index=False)
    with pytest.raises(exception) as caught:
        call()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
