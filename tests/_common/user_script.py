"""A typical script of a user: train with both libraries, evaluate, compare, run an experiment, and save a model.

`nox -s types` checks it with strict mypy and with pyright, and `test_typing.py` runs it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import lightgbm as lgb
import pandas as pd
import xgboost as xgb

import gainwise as gw
from gainwise.data import simulate
from gainwise.lightgbm import early_stopping as stop_lightgbm
from gainwise.lightgbm import feval
from gainwise.xgboost import EvaluateRanking
from gainwise.xgboost import early_stopping as stop_xgboost

METRICS: list[str | gw.Metric] = [gw.NDCG(gain="linear", k=10), gw.NDCG(gain="exponential", k=10), "mrr"]
Curves = dict[str, dict[str, list[float]]]


def train_with_lightgbm(train: gw.RankingData, valid: gw.RankingData, curves: Curves) -> lgb.Booster:
    """Log metrics in every round, and stop on one of them."""
    train_set = lgb.Dataset(train.features, train.labels, group=train.group)
    valid_set = lgb.Dataset(valid.features, valid.labels, group=valid.group, reference=train_set)
    return lgb.train(
        {"objective": "lambdarank", "metric": "None", "num_threads": 1, "verbose": -1},
        train_set,
        num_boost_round=20,
        valid_sets=[valid_set],
        valid_names=["valid"],
        feval=feval(METRICS),
        callbacks=[lgb.record_evaluation(curves), stop_lightgbm("mrr", rounds=5, dataset="valid")],
    )


def train_with_xgboost(train: gw.RankingData, valid: gw.RankingData) -> tuple[xgb.Booster, Curves]:
    """Log metrics in every round, and stop on one of them."""
    train_matrix = xgb.DMatrix(train.features, label=train.labels, qid=train.qid)
    valid_matrix = xgb.DMatrix(valid.features, label=valid.labels, qid=valid.qid)
    curves: Curves = {}
    booster = xgb.train(
        {"objective": "rank:ndcg", "disable_default_eval_metric": True, "nthread": 1},
        train_matrix,
        num_boost_round=20,
        evals_result=curves,
        verbose_eval=False,
        callbacks=[
            EvaluateRanking({"valid": valid_matrix}, METRICS),
            stop_xgboost(METRICS[0], dataset="valid", rounds=5, save_best=True),
        ],
    )
    return booster, curves


def decide(old: lgb.Booster, new: xgb.Booster, test: gw.RankingData) -> bool:
    """Print the values of both models, and return whether to ship the new one."""
    judgments = test.judgments()
    evaluation = gw.evaluate(METRICS, judgments, old.predict(test.features))
    worst: pd.Series[float] = evaluation.frame()["mrr"].nsmallest(3)
    print(evaluation.mean["mrr"], worst)

    models = {"old": old.predict(test.features), "new": new.predict(xgb.DMatrix(test.features))}
    comparison = gw.compare(models, judgments, METRICS, margin=0.01)
    table: pd.DataFrame = comparison.leaderboard
    print(table.round(3), comparison.verdict.text, sep="\n")
    decision = comparison.against("old", require="no_loss")
    print(decision.text)
    return [candidate.decision for candidate in decision.candidates] == ["ship"]


def choose_parameters(train: gw.RankingData, valid: gw.RankingData, test: gw.RankingData, folder: Path) -> Path:
    """Run an experiment, and save the selected model."""
    parameters: dict[str, Any] = {"num_leaves": [4, 8]}
    candidates = gw.grid("lgb", "lightgbm", parameters, training_gain=["linear", "exponential"])
    candidates += gw.grid("xgb", "xgboost", {"max_depth": [2, 3]})
    experiment = gw.Experiment(candidates, train, valid, test, num_boost_round=5, directory=folder / "experiment")
    result = experiment.run(progress=False)
    print(result.selected, result.verdict.kind, result.summary(), sep="\n")
    model = result.load_model()
    print(f"{model.best_iteration} rounds")
    if isinstance(model, lgb.Booster):
        path = folder / "model.txt"
        importance = model.feature_importance("gain").tolist()
    else:
        path = folder / "model.ubj"
        importance = list(model.get_score(importance_type="gain")) if isinstance(model, xgb.Booster) else []
    print(importance)
    model.save_model(path)
    return path


def main(folder: Path) -> None:
    """Run everything on simulated data."""
    train, valid, test = simulate(120, seed=1, mean_length=15).split_queries(0.5, 0.25, 0.25, seed=1)
    curves: Curves = {}
    first = train_with_lightgbm(train, valid, curves)
    second, other_curves = train_with_xgboost(train, valid)
    print(curves["valid"]["mrr"][-1], other_curves["valid"]["mrr"][-1])
    print(decide(first, second, test))
    print(choose_parameters(train, valid, test, folder))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
