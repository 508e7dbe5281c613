"""Compare random trainings that log and stop with trainings of the same parameters without gainwise.

Every logged value must equal the metric of the predictions of the plain model after that round, and the training must
stop at the round that the rule of early stopping gives. `tests.fuzz.metrics` tests the metrics.
"""

from __future__ import annotations

import random
from typing import Any

import lightgbm as lgb
import numpy as np
import xgboost as xgb
from tests.adapters.drivers import LGB, XGB, Part, lgb_dataset, make_part, xgb_matrix
from tests.fuzz.trials import run_trials

import gainwise as gw
import gainwise.lightgbm
import gainwise.xgboost

NAMES = ("ndcg_linear@5", "ndcg_exp@5", "ndcg_exp", "map@3", "mrr", "precision@2", "rbp", "err(max_label=4)@4")
MAX_ROUNDS = 25


def find_stop(values: list[float], patience: int, min_delta: float) -> tuple[int, int]:
    """Return the number of trained rounds and the best round, both counted from 1."""
    best, best_round = -np.inf, 0
    for number, value in enumerate(values, start=1):
        if value > best + min_delta:
            best, best_round = value, number
        elif number - best_round >= patience:
            return number, best_round
    return len(values), best_round


def train_lightgbm(
    rng: random.Random, parts: tuple[Part, Part], names: list[str], stop: dict[str, Any]
) -> tuple[list[Any], dict[str, list[float]], int, Any]:
    """Return the plain predictions by round, logged values, the best round and the predictions of the model."""
    params = {**LGB, "num_leaves": rng.randint(2, 9), "seed": rng.randint(0, 99), "learning_rate": rng.choice([0.1, 1])}
    params |= rng.choice([{}, {"bagging_fraction": 0.5, "bagging_freq": 1}, {"boosting": "rf", "bagging_freq": 1,
                          "bagging_fraction": 0.5}, {"objective": "rank_xendcg"}])  # fmt: skip
    train = lgb_dataset(parts[0])
    trees: list[int] = []  # A round without a split adds no tree.
    plain = lgb.train(params, train, MAX_ROUNDS, callbacks=[lambda env: trees.append(env.model.current_iteration())])
    predictions = [plain.predict(parts[1].features, num_iteration=count) for count in trees]
    train, log = lgb_dataset(parts[0]), {}
    booster = lgb.train(
        params,
        train,
        MAX_ROUNDS,
        valid_sets=[lgb_dataset(parts[1], train)],
        feval=gainwise.lightgbm.feval(names),
        callbacks=[lgb.record_evaluation(log), gainwise.lightgbm.early_stopping(**stop, verbose=False)],
    )
    (curves,) = log.values()
    return predictions, curves, booster.best_iteration, booster.predict(parts[1].features)


def train_xgboost(
    rng: random.Random, parts: tuple[Part, Part], names: list[str], stop: dict[str, Any]
) -> tuple[list[Any], dict[str, list[float]], int, Any]:
    """Return the plain predictions by round, logged values, the best round and the predictions of the model."""
    params = {**XGB, "max_depth": rng.randint(1, 4), "seed": rng.randint(0, 99), "eta": rng.choice([0.1, 1])}
    params |= rng.choice([{}, {"subsample": 0.5}, {"objective": "rank:pairwise"}])
    train, valid = map(xgb_matrix, parts)
    plain = xgb.train(params, train, MAX_ROUNDS)
    predictions = [plain.predict(valid, iteration_range=(0, n), output_margin=True) for n in range(1, MAX_ROUNDS + 1)]
    judged = (parts[1].features, parts[1].labels, parts[1].qid)
    judged = judged if parts[1].weight is None else (*judged, parts[1].weight)
    log = gainwise.xgboost.EvaluateRanking({"valid": judged}, names)
    result: dict[str, Any] = {}
    booster = xgb.train(
        params,
        train,
        MAX_ROUNDS,
        evals_result=result,
        verbose_eval=False,
        callbacks=[log, gainwise.xgboost.early_stopping(**stop, verbose=False)],
    )
    best = booster.best_iteration + 1
    scores = booster.predict(valid, iteration_range=(0, best), output_margin=True)
    return predictions, result["valid"], best, scores


def check(seed: int) -> None:
    """Train once without gainwise and once with it, and compare."""
    rng = random.Random(seed)
    weighted = rng.random() < 0.5
    parts = tuple(make_part(seed * 2 + k, rng.randint(8, 30), weighted=weighted) for k in (0, 1))
    names = rng.sample(NAMES, rng.randint(1, 4))
    metric, patience, min_delta = rng.choice(names), rng.randint(1, 8), rng.choice([0.0, 0.0, 0.003])
    stop = {"metric": metric, "rounds": patience, "min_delta": min_delta}
    train = rng.choice([train_lightgbm, train_xgboost])
    predictions, logged, best_round, scores = train(rng, parts, names, stop)
    expected = [gw.evaluate(names, parts[1].judgments, scores).mean for scores in predictions]
    for name in names:
        assert logged[name] == [values[name] for values in expected[: len(logged[name])]], f"{train.__name__}: {name}"
    found = (len(logged[metric]), best_round)
    assert found == find_stop([values[metric] for values in expected], patience, min_delta), (train.__name__, found)
    np.testing.assert_array_equal(scores, predictions[best_round - 1], train.__name__)


if __name__ == "__main__":
    run_trials("trainings", check)
