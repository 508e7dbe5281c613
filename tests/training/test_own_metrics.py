"""Metrics of the user's own while LightGBM and XGBoost train: logged, and stopped on in their direction."""

from __future__ import annotations

import copy
import pickle

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from trainings import datasets, held_out, matrix

import gainsay as gs
from gainsay.data import simulate
from gainsay.lightgbm import early_stopping as stop_lightgbm
from gainsay.lightgbm import eval_metric, feval
from gainsay.xgboost import EvaluateRanking, custom_metric, full_precision
from gainsay.xgboost import early_stopping as stop_xgboost

LGB = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 5}
XGB = {"objective": "rank:ndcg", "disable_default_eval_metric": True, "nthread": 1, "max_depth": 3}
ROUNDS = 40


def shortfall(labels, scores):
    """By how much the first document falls short of the best one."""
    return float(labels.max() - labels[scores.argmax()])


SHORTFALL = gs.metric("shortfall", shortfall, higher_is_better=False)


class Lost(gs.NDCG):
    """1 - NDCG: what is lost against the ideal order."""

    names = {"lost": {}, "lost_exp": {"gain": "exponential"}}
    higher_is_better = False

    def score(self, rows, facts, cutoffs):
        return 1 - super().score(rows, facts, cutoffs)


def pages(ranks):
    return 0.5 ** ((ranks - 1) // 4)


LOSSES = [SHORTFALL, Lost(gain="exponential", k=3)]
OWN = [*LOSSES, gs.NDCG(gain=(0, 1, 3, 7, 15), discount=pages, k=8)]
NAMES = ["shortfall", "lost_exp@3", "ndcg(gain=0/1/3/7/15,discount=pages)@8"]


@pytest.fixture(scope="module")
def parts():
    return simulate(120, seed=3, mean_length=25).split_queries(0.6, 0.4, seed=3)


@pytest.fixture(scope="module")
def lightgbm_curves(parts):
    """Those of a training that nothing stops."""
    return train_lightgbm(parts, OWN)[1]


@pytest.fixture(scope="module")
def xgboost_curves(parts):
    return train_xgboost(parts, OWN)[1]


def train_lightgbm(parts, metrics, *callbacks, rounds=ROUNDS):
    train, valid = datasets(parts)
    curves = {}
    callbacks = [lgb.record_evaluation(curves), *callbacks]
    booster = lgb.train(LGB, train, rounds, valid_sets=[valid], feval=feval(metrics), callbacks=callbacks)
    return booster, curves["valid_0"]


def train_xgboost(parts, metrics, *callbacks, rounds=ROUNDS):
    train, valid = map(matrix, parts)
    curves = {}
    callbacks = [EvaluateRanking({"valid": valid}, metrics), *callbacks]
    booster = xgb.train(XGB, train, rounds, evals_result=curves, callbacks=callbacks, verbose_eval=False)
    return booster, curves["valid"]


def lowest(curve, patience):
    """The first round (from 0) at whose value training stops, and how many rounds it takes."""
    best = 0
    for at, value in enumerate(curve):
        if value < curve[best]:
            best = at
        if at - best >= patience:
            return best, at + 1
    return best, len(curve)


class TestLightGBM:
    def test_history_is_that_of_the_model_so_far(self, parts):
        booster, history = train_lightgbm(parts, OWN, rounds=4)
        assert list(history) == NAMES
        for n in range(1, 5):
            scores = booster.predict(parts[1].features, num_iteration=n)
            expected = gs.evaluate(OWN, parts[1].judgments(), scores).mean
            assert {name: curve[n - 1] for name, curve in history.items()} == pytest.approx(expected, rel=1e-12)

    @pytest.mark.parametrize("metric", LOSSES, ids=str)
    @pytest.mark.parametrize("by_name", [False, True], ids=["object", "name"])
    def test_a_loss_stops_at_its_minimum(self, parts, lightgbm_curves, metric, by_name):
        whole = lightgbm_curves
        best, rounds = lowest(whole[str(metric)], 6)
        assert rounds < ROUNDS
        assert best != np.argmax(whole[str(metric)][:rounds])
        stop = stop_lightgbm(str(metric) if by_name else metric, 6, verbose=False)
        booster, history = train_lightgbm(parts, OWN, stop)
        assert booster.best_iteration == best + 1
        assert booster.best_score["valid_0"][str(metric)] == min(history[str(metric)])
        assert history[str(metric)] == whole[str(metric)][:rounds]

    def test_min_delta_is_what_it_must_fall_by(self, parts, lightgbm_curves):
        curve = lightgbm_curves["shortfall"]
        delta, best = 0.05, 0
        for at, value in enumerate(curve):
            if value < curve[best] - delta:
                best = at
        booster, _ = train_lightgbm(
            parts, [SHORTFALL], stop_lightgbm(SHORTFALL, ROUNDS, min_delta=delta, verbose=False)
        )
        assert booster.best_iteration == best + 1 != np.argmin(curve) + 1

    def test_cross_validation(self, parts):
        train, _ = datasets(parts)
        stop = stop_lightgbm(SHORTFALL, 12, verbose=False)
        found = lgb.cv(LGB, train, 12, nfold=3, feval=feval(OWN), callbacks=[stop],
                       stratified=False)  # fmt: skip
        whole = lgb.cv(LGB, train, 12, nfold=3, feval=feval(OWN), stratified=False)
        curve = whole["valid shortfall-mean"]
        assert len(found["valid shortfall-mean"]) == np.argmin(curve) + 1

    def test_estimators(self, parts):
        train, valid = parts
        ranker = lgb.LGBMRanker(n_estimators=ROUNDS, **{**LGB, "objective": "lambdarank"}).fit(
            train.features, train.labels, group=train.group, **held_out(valid),
            eval_group=[valid.group], eval_metric=eval_metric(OWN),
            callbacks=[stop_lightgbm("lost_exp@3", 6, verbose=False)],
        )  # fmt: skip
        curve = ranker.evals_result_["valid_0"]["lost_exp@3"]
        assert (ranker.best_iteration_ - 1, len(curve)) == lowest(curve, 6)

    def test_lightgbms_own_early_stopping_is_told_the_direction(self, parts):
        own = lgb.early_stopping(6, verbose=False)
        booster, history = train_lightgbm(parts, [SHORTFALL], own)
        assert (booster.best_iteration - 1, len(history["shortfall"])) == lowest(history["shortfall"], 6)

    def test_a_name_that_lightgbm_logs_too(self, parts):
        train, valid = datasets(parts)
        own = feval(gs.metric("auc", lambda labels, scores: 1.0))
        with pytest.raises(ValueError, match=r"LightGBM itself logs a metric named 'auc': both would be mixed up"):
            lgb.train({**LGB, "metric": "ndcg,auc"}, train, 1, valid_sets=[valid], feval=own)

    def test_an_error_says_round_data_set_and_query(self, parts):
        metric = gs.metric("never", lambda labels, scores: float("nan"))
        with pytest.raises(ValueError, match=r"in boosting round 1 on .*metric 'never' returned nan for query 0"):
            train_lightgbm(parts, [metric])

    def test_the_cause_of_an_error_stays(self, parts):
        metric = gs.metric("broken", lambda labels, scores: 1 / 0)
        with pytest.raises(ValueError, match=r"in boosting round 1 on .*ZeroDivisionError") as caught:
            train_lightgbm(parts, [metric])
        assert isinstance(caught.value.__cause__, ZeroDivisionError)


class TestXGBoost:
    def test_history_is_that_of_the_model_so_far(self, parts):
        booster, history = train_xgboost(parts, OWN, rounds=4)
        assert list(history) == NAMES
        for n in range(1, 5):
            scores = booster.predict(xgb.DMatrix(parts[1].features), iteration_range=(0, n))
            expected = gs.evaluate(OWN, parts[1].judgments(), scores).mean
            assert {name: curve[n - 1] for name, curve in history.items()} == pytest.approx(expected, rel=1e-6)

    @pytest.mark.parametrize("metric", LOSSES, ids=str)
    @pytest.mark.parametrize("by_name", [False, True], ids=["object", "name"])
    def test_a_loss_stops_at_its_minimum(self, parts, xgboost_curves, metric, by_name):
        whole = xgboost_curves
        best, rounds = lowest(whole[str(metric)], 6)
        assert rounds < ROUNDS
        assert best != np.argmax(whole[str(metric)][:rounds])
        stop = stop_xgboost(str(metric) if by_name else metric, 6, save_best=True, verbose=False)
        booster, history = train_xgboost(parts, OWN, stop)
        assert (booster.best_iteration, booster.num_boosted_rounds()) == (best, best + 1)
        assert booster.best_score == min(history[str(metric)])
        assert history[str(metric)] == whole[str(metric)][:rounds]

    def test_custom_metric(self, parts, xgboost_curves):
        train, valid = map(matrix, parts)
        log, curves = custom_metric(OWN), {}
        booster = xgb.train(
            XGB, train, ROUNDS, evals=[(valid, "valid")], custom_metric=log, evals_result=curves, verbose_eval=False,
            callbacks=[full_precision(log), stop_xgboost(SHORTFALL, 6, verbose=False)],
        )  # fmt: skip
        best, rounds = lowest(xgboost_curves["shortfall"], 6)
        assert booster.best_iteration == best
        assert curves["valid"]["shortfall"] == xgboost_curves["shortfall"][:rounds]

    @pytest.mark.parametrize("maximize", [None, False])
    def test_direction_of_a_loss(self, maximize):
        assert stop_xgboost(SHORTFALL, 3, maximize=maximize).maximize is False

    def test_the_other_direction_is_refused(self):
        with pytest.raises(
            ValueError, match="maximize=True would stop at the worst lost_exp@3, of which a lower value is"
        ):
            stop_xgboost("lost_exp@3", 3, maximize=True)

    def test_callbacks_with_a_lambda_can_be_copied_but_not_pickled(self, parts):
        metric = gs.metric("of_lambda", lambda labels, scores: float(scores.max()), higher_is_better=False)
        callback = EvaluateRanking({"valid": matrix(parts[1])}, [metric])
        assert copy.deepcopy(callback).panel.metrics == (metric,)
        assert copy.deepcopy(custom_metric([metric])).panel.metrics == (metric,)
        for adapter in (callback, custom_metric([metric]), feval([metric])):
            with pytest.raises(TypeError, match=r"of_lambda cannot be pickled.*Define it with def"):
                pickle.dumps(adapter)
        pickle.loads(pickle.dumps(stop_xgboost(metric, 3)))

    @pytest.mark.parametrize("make", [custom_metric, feval, eval_metric])
    def test_adapters_pickle_with_functions_of_a_module(self, make):
        assert pickle.loads(pickle.dumps(make(OWN))).panel.metrics == tuple(OWN)
