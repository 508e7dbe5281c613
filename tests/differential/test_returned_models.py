"""The returned model has the reported score with any callbacks.

Trainings combine random stops, omitted rounds, cut models and continued models. scikit-learn computes the score of the
returned model.
"""

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from tests.adapters.drivers import (
    LGBMRanker,
    LightGBMTrain,
    XGBoostCustomMetric,
    XGBoostFullPrecision,
    XGBoostTrain,
    XGBRanker,
    make_part,
)

from gainwise import lightgbm as ours_lgb
from gainwise import xgboost as ours_xgb

ndcg_score = pytest.importorskip("sklearn.metrics").ndcg_score

GAINS = {
    "ndcg_linear@5": (5, lambda labels: labels),
    "ndcg_exp@5": (5, lambda labels: 2.0**labels - 1),
    "ndcg_linear": (None, lambda labels: labels),
}
PANEL = list(GAINS)
BOOSTERS, TRAIN, VALID = XGBoostTrain(), make_part(5, 25), make_part(6, 25)
EXISTING = np.arange(VALID.group.max()) < VALID.group[:, None]
"""The cells of a table of queries that contain a document."""
IN_ORDER = tuple(map(int, xgb.__version__.split(".")[:2])) >= (3, 2)
"""Older versions call callbacks in any order."""
seeds = pytest.mark.parametrize("seed", range(16))


def score(metric, scores):
    """Return scikit-learn's mean over the queries. Padding has no gain and the lowest score."""
    k, gain = GAINS[metric]
    labels, padded = np.zeros(EXISTING.shape), np.full(EXISTING.shape, np.min(scores) - 1.0)
    labels[EXISTING], padded[EXISTING] = gain(VALID.labels), scores
    return float(ndcg_score(labels, padded, k=k))


def make_pick(seed):
    """Return a function that draws one of its arguments, and shuffles lists."""
    rng = np.random.default_rng(seed)
    return (lambda *options: options[rng.integers(len(options))]), rng.shuffle


def test_no_query_is_too_short_for_the_oracle():
    assert VALID.group.min() > 1


@seeds
@pytest.mark.filterwarnings("ignore:Found `early_stopping_round` in params", "ignore:LightGBM's own early stopping")
def test_lightgbm(seed, tmp_path):
    pick, shuffle = make_pick(seed)
    driver = pick(LightGBMTrain(), LGBMRanker())
    metric, every, min_delta = pick(*PANEL), pick(1, 1, 2, 3), pick(0.0, 0.0, 0.002)
    callbacks = [ours_lgb.early_stopping(metric, pick(1, 3, 6), min_delta=min_delta, verbose=False)]
    callbacks.append(curves := ours_lgb.Curves(show=False))
    params, before = {"num_leaves": pick(4, 15)}, []
    second = pick(None, None, "ours", *(["LightGBM's", "parameter"] if every == 1 else []))
    if second == "ours":
        callbacks.append(ours_lgb.early_stopping(pick(*PANEL), pick(1, 4), verbose=False))
    elif second == "LightGBM's":
        callbacks.append(lgb.early_stopping(pick(1, 4), first_metric_only=pick(True, False), verbose=False))
    elif second == "parameter":
        params["early_stopping_round"] = pick(1, 4)
    shuffle(callbacks)
    start = driver.train(TRAIN, {}, None, pick(1, 4, 9)).model if pick(True, False) else None
    if start is not None:
        before = [score(metric, start.predict(VALID.features))]
        driver.booster(start).save_model(tmp_path / "start.txt")
        start = pick(driver.booster(start), str(tmp_path / "start.txt"))
    sets = pick({"valid": VALID}, {"seen": TRAIN, "valid": VALID}, {"valid": VALID, "seen": TRAIN})
    options = {"eta": pick(0.1, 0.5, 1.5), "callbacks": callbacks, "params": params, "start": start}
    run = driver.train(TRAIN, sets, PANEL, pick(1, 5, 12), every=every, **options)
    assert f"kept round {run.best}" in str(curves)
    best, scores = run.best_score["valid"], driver.predict(run.model, VALID.features)
    assert best == pytest.approx({name: score(name, scores) for name in PANEL}, rel=1e-9)
    if second is None and not min_delta:
        assert best[metric] == pytest.approx(max(before + run.curve("valid", metric)), rel=1e-9)


@seeds
@pytest.mark.filterwarnings("ignore:XGBoost's own early stopping")
def test_xgboost(seed):
    pick, shuffle = make_pick(seed)
    driver = pick(XGBoostTrain(), XGBRanker(), XGBoostCustomMetric(), XGBoostFullPrecision())
    metric, other, min_delta = pick(*PANEL), pick(*PANEL), pick(0.0, 0.0, 0.002)
    save_best, save_other, before = pick(True, False), False, []
    stop = ours_xgb.early_stopping(metric, pick(1, 3, 6), min_delta=min_delta, save_best=save_best, verbose=False)
    curves, callbacks = ours_xgb.Curves(show=False), [stop]
    two = pick(True, False) and (IN_ORDER or isinstance(driver, XGBoostCustomMetric))
    if two:
        save_other = pick(True, False)
        options = {"metric_name": other, "data_name": "valid", "maximize": True, "save_best": save_other}
        callbacks.append(xgb.callback.EarlyStopping(rounds=pick(1, 2, 5), **options))
    callbacks.append(curves)
    shuffle(callbacks)
    options = {"every": pick(1, 1, 3)} if driver.every else {}
    start = None
    if pick(True, False):
        start = BOOSTERS.train(TRAIN, {}, None, pick(4, 9)).model
        last, best = start.num_boosted_rounds(), pick(None, 1, 3)
        if best is not None:
            start.set_attr(best_iteration=str(best - 1), best_score="0.123")
        before = [score(metric, BOOSTERS.predict(start, VALID.features, rounds)) for rounds in (best or last, last)]
    options |= {"eta": pick(0.1, 0.5, 1.0), "callbacks": callbacks, "start": start}
    run = driver.train(TRAIN, {"valid": VALID}, PANEL, pick(3, 8, 20), **options)
    named = metric if curves._selected_round.metric else other
    assert named == metric or (two and not save_best)
    assert curves._selected_round.round == run.best
    exact = {"rel": 1e-9, "abs": driver.tolerance["abs"]}
    booster = driver.booster(run.model)
    assert run.best_score == pytest.approx(score(named, BOOSTERS.predict(booster, VALID.features, run.best)), **exact)
    if save_best or save_other:
        assert booster.num_boosted_rounds() == run.best
    if named == metric and (save_best or not two) and not min_delta:
        assert run.best_score == pytest.approx(max(before + run.curve("valid", metric)), **exact)
