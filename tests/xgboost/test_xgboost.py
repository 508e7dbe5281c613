"""Training with XGBoost: what is logged, where it stops, and what is said about bad input."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import gainsay as gs
from gainsay.data import simulate
from gainsay.xgboost import EvaluateRanking, custom_metric, early_stopping, full_precision

PANEL = ["ndcg_linear@10", "ndcg_exp@10", "ndcg_jk@5", "map@10", "mrr", "ndcg_power(gain_base=1.5)@10"]
PARAMS = {"objective": "rank:ndcg", "disable_default_eval_metric": True, "nthread": 1, "max_depth": 3}


@pytest.fixture(scope="module")
def parts():
    return simulate(120, seed=3, mean_length=25).split_queries(0.6, 0.4, seed=3)


def matrix(data, kind=xgb.DMatrix, weight=None, **options):
    made = kind(data.features, label=data.labels, qid=data.qid, **options)
    if weight is not None:
        made.set_weight(weight)
    return made


@pytest.fixture(scope="module")
def dtrain(parts):
    return matrix(parts[0])


@pytest.fixture(scope="module")
def dvalid(parts):
    return matrix(parts[1])


@pytest.fixture
def evaluate(dvalid):
    return EvaluateRanking({"valid": dvalid}, PANEL)


def train(dtrain, rounds, callbacks=(), params=PARAMS, **options):
    curves = {}
    booster = xgb.train(
        params, dtrain, rounds, evals_result=curves, callbacks=list(callbacks), verbose_eval=False, **options
    )
    return booster, curves


def expected(booster, data, n, judgments=None):
    scores = booster.predict(xgb.DMatrix(data.features), iteration_range=(0, n))
    return gs.evaluate(PANEL, judgments or data.judgments(), scores).mean


def value_at(history, n):
    return {name: history[name][n - 1] for name in PANEL}


class TestValues:
    def test_custom_metric_logs_six_digits(self, parts, dtrain, dvalid):
        booster, curves = train(dtrain, 4, evals=[(dvalid, "valid")], custom_metric=custom_metric(PANEL))
        for n in range(1, 5):
            assert value_at(curves["valid"], n) == pytest.approx(expected(booster, parts[1], n), abs=5.1e-7)

    def test_what_the_callback_logs_is_what_evaluate_says_to_the_last_bit(self, parts, dtrain, dvalid):
        log = EvaluateRanking({"valid": dvalid}, PANEL)
        booster, curves = train(dtrain, 20, callbacks=[log])
        for n in range(1, 21):
            assert value_at(curves["valid"], n) == expected(booster, parts[1], n)

    @pytest.mark.parametrize("form", ["DMatrix", "QuantileDMatrix", "arrays"])
    def test_callback_logs_full_precision(self, parts, dtrain, form):
        data = {
            "DMatrix": lambda: matrix(parts[1]),
            "QuantileDMatrix": lambda: matrix(parts[1], xgb.QuantileDMatrix, ref=dtrain),
            "arrays": lambda: (parts[1].features, parts[1].labels, parts[1].qid),
        }[form]()
        booster, curves = train(dtrain, 4, [EvaluateRanking({"valid": data}, PANEL)])
        for n in range(1, 5):
            assert value_at(curves["valid"], n) == pytest.approx(expected(booster, parts[1], n), rel=1e-12)

    def test_query_weights_count(self, parts, dtrain):
        weight = np.random.default_rng(0).uniform(0.5, 2, len(parts[1].group)).astype(np.float32)
        judgments = gs.Judgments(parts[1].labels, group=parts[1].group, weight=weight)
        weighted = matrix(parts[1], weight=weight)
        arrays = (parts[1].features, parts[1].labels, parts[1].qid, weight)
        booster, curves = train(
            dtrain, 2, [EvaluateRanking({"matrix": weighted, "arrays": arrays}, PANEL)], evals=[(weighted, "six")],
            custom_metric=custom_metric(PANEL),
        )  # fmt: skip
        values = expected(booster, parts[1], 2, judgments)
        assert value_at(curves["matrix"], 2) == pytest.approx(values, rel=1e-12)
        assert value_at(curves["arrays"], 2) == pytest.approx(values, rel=1e-12)
        assert value_at(curves["six"], 2) == pytest.approx(values, abs=5.1e-7)

    @pytest.mark.skipif(xgb.__version__ < "3", reason="the built-in ndcg of XGBoost 2 does not know ndcg_exp_gain")
    @pytest.mark.parametrize(("exponential", "name"), [(True, "ndcg_exp"), (False, "ndcg_linear")])
    def test_equals_the_builtin_metrics_under_their_convention(self, dtrain, dvalid, exponential, name):
        params = {**PARAMS, "eval_metric": ["ndcg@5"], "ndcg_exp_gain": exponential}
        callback = EvaluateRanking({"valid": dvalid}, [f"{name}@5"], convention="xgboost")
        _, curves = train(dtrain, 5, [callback], params=params, evals=[(dvalid, "valid")])
        (mine,) = (curve for key, curve in curves["valid"].items() if key.startswith(name))
        np.testing.assert_allclose(mine, curves["valid"]["ndcg@5"], rtol=0, atol=1e-15)

    def test_new_labels_on_the_same_matrix_are_seen(self, parts, dtrain):
        dvalid, ours = matrix(parts[1]), custom_metric(["mrr"])
        train(dtrain, 1, evals=[(dvalid, "valid")], custom_metric=ours)
        dvalid.set_label(np.zeros(len(parts[1].labels)))
        _, curves = train(dtrain, 1, evals=[(dvalid, "valid")], custom_metric=ours)
        assert curves["valid"]["mrr"] == [0.0]

    def test_cv_keeps_queries_whole(self, dtrain):
        result = xgb.cv(PARAMS, dtrain, 3, nfold=3, custom_metric=custom_metric(PANEL), seed=1)
        assert {f"test-{name}-mean" for name in PANEL} <= set(result.columns)
        assert result.to_numpy().max() <= 1

    def test_scores_of_a_gpu_are_brought_home(self, parts, dvalid):
        class OnDevice:
            __cuda_array_interface__ = None

            def get(self):
                return np.arange(len(parts[1].labels), dtype=np.float32)

        ours = custom_metric(["mrr"])
        assert ours(OnDevice(), dvalid) == ours(OnDevice().get(), dvalid)


class TestEarlyStopping:
    @pytest.mark.parametrize("metric", PANEL)
    def test_train_stops_at_the_first_maximum_of_the_named_metric(self, dtrain, dvalid, metric):
        evaluate = EvaluateRanking({"train": dtrain, "valid": dvalid}, PANEL)
        booster, curves = train(dtrain, 60, [evaluate, early_stopping(metric, rounds=6, dataset="valid")])
        curve = curves["valid"][metric]
        assert booster.best_iteration == int(np.argmax(curve))
        assert booster.best_score == max(curve)
        assert len(curve) == booster.best_iteration + 1 + 6

    def test_ranker(self, parts):
        first, second = parts
        ranker = xgb.XGBRanker(
            n_estimators=40, n_jobs=1, max_depth=3,
            callbacks=[
                EvaluateRanking({"valid": (second.features, second.labels, second.qid)}, PANEL),
                early_stopping("ndcg_linear@10", rounds=5),
            ],
        ).fit(first.features, first.labels, qid=first.qid)  # fmt: skip
        curve = ranker.evals_result()["valid"]["ndcg_linear@10"]
        assert ranker.best_iteration == int(np.argmax(curve))
        best = gs.evaluate(PANEL, second.judgments(), ranker.predict(second.features)).mean
        assert best["ndcg_linear@10"] == pytest.approx(max(curve), rel=1e-12)

    @pytest.mark.parametrize("first", [True, False])
    def test_callbacks_may_come_in_any_order(self, dtrain, dvalid, first):
        callbacks = [EvaluateRanking({"valid": dvalid}, PANEL), early_stopping("mrr", rounds=4)]
        booster, curves = train(dtrain, 40, callbacks if first else callbacks[::-1])
        curve = curves["valid"]["mrr"]
        assert booster.best_iteration == int(np.argmax(curve))
        assert len(curve) == booster.best_iteration + 1 + 4

    @pytest.mark.parametrize("first", [True, False])
    def test_on_the_full_precision_of_a_custom_metric(self, dtrain, dvalid, first):
        log = custom_metric(PANEL)
        callbacks = [full_precision(log), early_stopping("ndcg_exp@10", rounds=4)]
        booster, curves = train(
            dtrain, 30, callbacks if first else callbacks[::-1], evals=[(dvalid, "valid")], custom_metric=log
        )
        assert booster.best_score == max(curves["valid"]["ndcg_exp@10"])
        assert booster.best_score != round(booster.best_score, 6)

    def test_small_gains_do_not_count_with_min_delta(self, dtrain, evaluate):
        booster, curves = train(dtrain, 40, [evaluate, early_stopping("mrr", rounds=5, min_delta=0.5)])
        assert booster.best_iteration == 0
        assert len(curves["valid"]["mrr"]) == 6

    def test_one_callback_serves_several_trainings(self, dtrain, dvalid):
        callbacks = [EvaluateRanking({"valid": dvalid}, PANEL), early_stopping("map@10", rounds=3)]
        for depth in (2, 4):
            booster, curves = train(dtrain, 20, callbacks, params={**PARAMS, "max_depth": depth})
            assert booster.best_iteration == int(np.argmax(curves["valid"]["map@10"]))

    def test_cv(self, dtrain):
        stop = early_stopping("ndcg_exp@10", rounds=3, dataset="test")
        result = xgb.cv(PARAMS, dtrain, 30, nfold=3, custom_metric=custom_metric(PANEL), callbacks=[stop], seed=1)
        curve = result["test-ndcg_exp@10-mean"]
        assert len(curve) == int(np.argmax(curve)) + 1

    def test_lower_is_better_for_errors(self, dtrain, dvalid):
        params = {"objective": "reg:squarederror", "nthread": 1, "eval_metric": "rmse", "eta": 1.0}
        booster, curves = train(
            dtrain, 30, [early_stopping("rmse", rounds=3)], params=params, evals=[(dvalid, "valid")]
        )
        assert booster.best_iteration == int(np.argmin(curves["valid"]["rmse"]))

    def test_says_what_it_did(self, dtrain, evaluate, capfd):
        booster, _ = train(dtrain, 20, [evaluate, early_stopping("mrr", rounds=2)])
        assert f"Best iteration is {booster.best_iteration}" in capfd.readouterr().out


IN_ORDER = tuple(map(int, xgb.__version__.split(".")[:2])) >= (3, 2)
"""Before that XGBoost calls callbacks in any order, so that a stopping of its own may look before they have logged."""


def logged_first(dvalid, metrics, digits=16):
    """Callbacks and options that log metrics on valid before any stopping looks for them."""
    if IN_ORDER:
        return [EvaluateRanking({"valid": dvalid}, metrics)], {}
    log = custom_metric(metrics)
    return [full_precision(log)] if digits > 6 else [], {"evals": [(dvalid, "valid")], "custom_metric": log}


class TestSecondStopping:
    """The booster has one pair of attributes, which every stopping of XGBoost's own overwrites."""

    @pytest.mark.parametrize("first", [True, False])
    @pytest.mark.parametrize("theirs_cuts", [True, False])
    @pytest.mark.parametrize("metric", ["mrr", "ndcg_exp@10"])
    def test_save_best_cuts_by_its_own_record(self, parts, dtrain, dvalid, first, theirs_cuts, metric):
        ours = early_stopping(metric, rounds=8, save_best=True, verbose=False)
        theirs = xgb.callback.EarlyStopping(
            rounds=9, metric_name="map@10", data_name="valid", maximize=True, save_best=theirs_cuts
        )
        logs, options = logged_first(dvalid, PANEL)
        both = [ours, theirs] if first else [theirs, ours]
        booster, curves = train(dtrain, 30, [*logs, *both], **options)
        own = gs.evaluate(metric, parts[1].judgments(), booster.predict(dvalid)).mean[metric]
        assert booster.best_score == max(curves["valid"][metric]) == pytest.approx(own, rel=1e-12)
        assert booster.num_boosted_rounds() == booster.best_iteration + 1 == np.argmax(curves["valid"][metric]) + 1

    @pytest.mark.parametrize("first", [True, False])
    @pytest.mark.parametrize("form", ["callback", "early_stopping_rounds"])
    @pytest.mark.parametrize(("ours_waits", "theirs_waits"), [(2, 30), (30, 2)])
    def test_attributes_are_those_of_the_one_that_stopped(
        self, dtrain, dvalid, capfd, first, form, ours_waits, theirs_waits
    ):
        logs, options = logged_first(dvalid, ["mrr", "map@10"], digits=6)
        callbacks = [early_stopping("mrr", ours_waits)]
        if form == "callback":
            theirs = xgb.callback.EarlyStopping(rounds=theirs_waits, metric_name="map@10", maximize=True)
            callbacks.insert(first, theirs)
        else:
            options |= {"early_stopping_rounds": theirs_waits, "maximize": True}
        booster, curves = train(dtrain, 60, [*logs, *callbacks], **options)
        named = "mrr" if ours_waits < theirs_waits else "map@10"
        curve = curves["valid"][named]
        assert len(curve) < 60
        assert (booster.best_iteration, booster.best_score) == (int(np.argmax(curve)), max(curve))
        said = capfd.readouterr().out
        assert f"iteration is {int(np.argmax(curves['valid']['mrr']))} (counted from 0) with mrr" in said
        assert ("are those of another stopping" in said) is (named == "map@10")

    def test_a_last_round_in_which_it_was_not_asked_counts(self, dtrain, dvalid):
        class Ends(xgb.callback.TrainingCallback):
            def after_iteration(self, model, epoch, evals_log):
                curve = evals_log["valid"]["mrr"]
                return epoch > 0 and curve[-1] > max(curve[:-1])

        logs, options = logged_first(dvalid, PANEL)
        stop = early_stopping("mrr", rounds=50, save_best=True, verbose=False)
        booster, curves = train(dtrain, 40, [*logs, Ends(), stop], **options)
        assert len(curves["valid"]["mrr"]) == booster.num_boosted_rounds() == booster.best_iteration + 1 > 1
        assert booster.best_score == max(curves["valid"]["mrr"])

    @pytest.mark.parametrize("first", [True, False])
    def test_a_callback_that_hands_on_a_copy_is_no_stopping(self, dtrain, dvalid, first):
        class Copies(xgb.callback.TrainingCallback):
            def after_training(self, model):
                return model.copy()

        evaluate = EvaluateRanking({"valid": dvalid}, PANEL)
        callbacks = [Copies(), early_stopping("mrr", rounds=90, verbose=False)][:: 1 if first else -1]
        booster, curves = train(dtrain, 9, [evaluate, *callbacks])
        assert booster.best_iteration == int(np.argmax(curves["valid"]["mrr"]))
        assert booster.num_boosted_rounds() == 9

    def test_two_of_ours_are_refused(self, dtrain, evaluate):
        both = [early_stopping("mrr", rounds=4), early_stopping("map@10", rounds=4)]
        named = "'mrr' and on 'map@10'" if IN_ORDER else "'(mrr|map@10)' and on '(mrr|map@10)'"
        with pytest.raises(ValueError, match=f"two early_stopping callbacks in one training, on {named}"):
            train(dtrain, 5, [evaluate, *both])
        train(dtrain, 5, [evaluate, both[0]])  # it is not taken to be in that training still

    @pytest.mark.parametrize("form", ["EvaluateRanking", "full_precision"])
    def test_one_serves_several_threads(self, parts, form):
        etas = [0.05, 0.3, 0.9]

        def callbacks():
            stop = early_stopping("mrr", rounds=4, verbose=False)
            if form == "EvaluateRanking":
                return [EvaluateRanking({"valid": matrix(parts[1])}, PANEL), stop], None
            log = custom_metric(PANEL)
            return [full_precision(log), stop], log

        def run(eta, shared):
            callbacks, log = shared
            booster, curves = train(
                matrix(parts[0]), 25, callbacks, params={**PARAMS, "eta": eta}, custom_metric=log,
                evals=[(matrix(parts[1]), "valid")] if log else [],
            )  # fmt: skip
            return booster.best_iteration, booster.best_score, curves

        shared = callbacks()
        with ThreadPoolExecutor(3) as pool:
            found = list(pool.map(lambda eta: run(eta, shared), etas))
        assert found == [run(eta, callbacks()) for eta in etas]


class TestContinued:
    """What a training goes on from sets what its first round must beat."""

    METRIC = "ndcg_exp@10"

    @pytest.fixture
    def start(self, dtrain):
        return train(dtrain, 12)[0]

    def logged(self, form, dvalid):
        """Callbacks and options that log the panel; how exact the values are."""
        if form == "EvaluateRanking":
            return [EvaluateRanking({"valid": dvalid}, PANEL)], {}, {"rel": 1e-12}
        log = custom_metric(PANEL)
        options = {"custom_metric": log, "evals": [(dvalid, "other"), (dvalid, "valid")]}
        exact = form == "full_precision"
        return [full_precision(log)] if exact else [], options, {"rel": 1e-12} if exact else {"abs": 5.1e-7}

    @pytest.mark.parametrize("form", ["EvaluateRanking", "custom_metric", "full_precision"])
    @pytest.mark.parametrize("save_best", [True, False])
    def test_a_worse_model_is_not_the_best_one(self, parts, dtrain, dvalid, start, form, save_best, capfd):
        callbacks, options, exact = self.logged(form, dvalid)
        stop = early_stopping(self.METRIC, 3, "valid", save_best=save_best)
        spoiled = {**PARAMS, "eta": 30.0}
        booster, curves = train(dtrain, 10, [*callbacks, stop], params=spoiled, xgb_model=start, **options)
        before = expected(start, parts[1], 12)[self.METRIC]
        assert len(curves["valid"][self.METRIC]) == 3
        assert max(curves["valid"][self.METRIC]) < before
        assert booster.best_iteration == 11
        assert booster.best_score == pytest.approx(before, **exact)
        if save_best:
            np.testing.assert_array_equal(booster.predict(dvalid), start.predict(dvalid))
        assert "No round is better than the model continued: its best iteration is 11" in capfd.readouterr().out

    @pytest.mark.parametrize("form", ["EvaluateRanking", "custom_metric", "full_precision"])
    def test_a_better_one_counts_all_rounds(self, dtrain, dvalid, form):
        start, _ = train(dtrain, 3)
        callbacks, options, _ = self.logged(form, dvalid)
        booster, curves = train(dtrain, 6, [*callbacks, early_stopping("mrr", 50, "valid")], xgb_model=start, **options)
        assert booster.best_iteration == 3 + int(np.argmax(curves["valid"]["mrr"])) > 3

    def test_small_gains_over_it_do_not_count_with_min_delta(self, dtrain, dvalid):
        start, _ = train(dtrain, 3)
        callbacks = [EvaluateRanking({"valid": dvalid}, PANEL), early_stopping("mrr", 50, min_delta=0.9)]
        assert train(dtrain, 6, callbacks, xgb_model=start)[0].best_iteration == 2

    @pytest.mark.parametrize("min_delta", [0.0, 0.9])
    @pytest.mark.parametrize("cut", [0, 4])
    def test_it_may_be_best_where_it_was_stopped(self, parts, dtrain, dvalid, start, cut, min_delta):
        """A model that is not cut predicts with all rounds in `xgboost.train`, as an estimator up to its best one."""
        start = start.copy()
        start.set_attr(best_iteration=str(cut), best_score="1")
        at_its_best, whole = (expected(start, parts[1], n)[self.METRIC] for n in (cut + 1, 12))
        stop = early_stopping(self.METRIC, 4, min_delta=min_delta, save_best=True)
        callbacks = [EvaluateRanking({"valid": dvalid}, PANEL), stop]
        booster, curves = train(dtrain, 10, callbacks, params={**PARAMS, "eta": 30.0}, xgb_model=start)
        assert len(curves["valid"]["mrr"]) == 4
        assert booster.best_score == pytest.approx(max(at_its_best, whole), rel=1e-12)
        assert booster.num_boosted_rounds() == (cut + 1 if at_its_best > whole else 12)

    def test_of_an_estimator(self, parts, start):
        first, second = parts
        evaluate = EvaluateRanking({"valid": (second.features, second.labels, second.qid)}, PANEL)
        ranker = xgb.XGBRanker(
            n_estimators=5, n_jobs=1, learning_rate=30.0, max_depth=3,
            callbacks=[evaluate, early_stopping("mrr", rounds=2, verbose=False)],
        ).fit(first.features, first.labels, qid=first.qid, xgb_model=start)  # fmt: skip
        assert ranker.best_iteration == 11
        np.testing.assert_array_equal(ranker.predict(second.features), start.predict(xgb.DMatrix(second.features)))

    def test_a_metric_that_is_not_ours_warns(self, dtrain, dvalid, start):
        params = {**PARAMS, "eval_metric": "ndcg@5", "eta": 30.0}
        with pytest.warns(UserWarning, match="'ndcg@5' does not know the value of the model that is continued"):
            train(
                dtrain, 3, [early_stopping("ndcg@5", 3, verbose=False)], params=params, xgb_model=start,
                evals=[(dvalid, "valid")],
            )  # fmt: skip


class TestEvery:
    def test_only_every_nth_round_is_evaluated(self, dtrain, dvalid):
        _, sparse = train(dtrain, 10, [EvaluateRanking({"valid": dvalid}, PANEL, every=3)])
        _, curves = train(dtrain, 10, [EvaluateRanking({"valid": dvalid}, PANEL)])
        for name in PANEL:
            assert sparse["valid"][name] == curves["valid"][name][::3]

    def test_early_stopping_counts_boosting_rounds(self, dtrain, dvalid):
        evaluate = EvaluateRanking({"valid": dvalid}, PANEL, every=3)
        booster, curves = train(dtrain, 80, [evaluate, early_stopping("mrr", rounds=4)])
        assert booster.best_iteration == 3 * int(np.argmax(curves["valid"]["mrr"]))
        assert booster.num_boosted_rounds() == booster.best_iteration + 1 + 4

    def test_early_stopping_waits_for_a_second_evaluation(self, dtrain, dvalid):
        evaluate = EvaluateRanking({"valid": dvalid}, PANEL, every=10)
        booster, curves = train(dtrain, 60, [evaluate, early_stopping("mrr", rounds=2)])
        curve = curves["valid"]["mrr"]
        first_fall = int(np.argmax(np.diff(curve) <= 0))
        assert booster.best_iteration == 10 * first_fall
        assert len(curve) == first_fall + 2


class TestBadInput:
    def test_a_name_that_does_not_occur(self, dtrain, evaluate):
        with pytest.raises(
            ValueError, match=r"no metric 'ndcg_exp@5' is logged on 'valid'; did you mean 'ndcg_exp@10'\?"
        ):
            train(dtrain, 5, [evaluate, early_stopping("ndcg_exp@5", rounds=3, dataset="valid")])

    def test_a_data_set_that_does_not_occur(self, dtrain, evaluate):
        with pytest.raises(ValueError, match=r"no data set 'vali' is evaluated; did you mean 'valid'\?"):
            train(dtrain, 5, [evaluate, early_stopping("mrr", rounds=3, dataset="vali")])

    def test_several_data_sets_need_a_name(self, dtrain, dvalid):
        evaluate = EvaluateRanking({"a": dvalid, "b": dvalid}, PANEL)
        with pytest.raises(ValueError, match="'mrr' is logged on a, b: give dataset="):
            train(dtrain, 5, [evaluate, early_stopping("mrr", rounds=3)])

    def test_no_group(self, parts, dtrain):
        data = xgb.DMatrix(parts[1].features, label=parts[1].labels)
        with pytest.raises(ValueError, match="data set 'valid': the DMatrix has no groups: give it qid="):
            EvaluateRanking({"valid": data}, PANEL)
        with pytest.raises(ValueError, match="the DMatrix has no groups"):
            train(dtrain, 1, evals=[(data, "valid")], custom_metric=custom_metric(PANEL))

    def test_wrong_lengths_name_the_data_set(self, parts):
        with pytest.raises(ValueError, match="data set 'valid': qid has 3 entries"):
            EvaluateRanking({"valid": (parts[1].features, parts[1].labels, [1, 1, 2])}, PANEL)

    def test_something_else_than_data(self, parts):
        with pytest.raises(TypeError, match=r"data set 'valid' must be a DMatrix.*got ndarray"):
            EvaluateRanking({"valid": parts[1].features}, PANEL)

    def test_no_data_set(self):
        with pytest.raises(ValueError, match="datasets is empty"):
            EvaluateRanking({}, PANEL)

    @pytest.mark.parametrize("name", ["my-valid", "my valid"])
    def test_names_that_xgboost_would_split(self, dvalid, name):
        with pytest.raises(ValueError, match="must hold no '-' and no blank"):
            EvaluateRanking({name: dvalid}, PANEL)

    def test_a_name_that_a_builtin_metric_has_too(self, dtrain, dvalid):
        params = {**PARAMS, "eval_metric": "ndcg@5"}
        ours = EvaluateRanking({"valid": dvalid}, ["map@10"])
        train(dtrain, 1, [ours], params=params, evals=[(dvalid, "valid")])
        binary = xgb.DMatrix(np.ones((4, 1)), label=[0, 1, 1, 0], qid=[0, 0, 1, 1])
        params = {**PARAMS, "objective": "rank:map", "eval_metric": "map@10"}
        with pytest.raises(ValueError, match="XGBoost itself logs a metric named 'map@10'"):
            train(binary, 2, [EvaluateRanking({"v": binary}, ["map@10"])], params=params, evals=[(binary, "v")])
        with pytest.raises(ValueError, match="XGBoost itself logs a metric named 'map@10'"):
            train(
                binary, 2, [early_stopping("map@10", rounds=2)], params=params, evals=[(binary, "v")],
                custom_metric=custom_metric(["map@10"]),
            )  # fmt: skip

    def test_nan_scores_name_round_data_set_and_query(self, dtrain, dvalid, monkeypatch):
        predict = xgb.Booster.predict

        def diverged(self, data, **options):
            scores = predict(self, data, **options)
            if self.num_boosted_rounds() == 3:
                scores[0] = np.nan
            return scores

        monkeypatch.setattr(xgb.Booster, "predict", diverged)
        with pytest.raises(ValueError, match=r"in boosting round 3 on 'valid': scores holds 1 NaN .* \(query 0\)"):
            train(dtrain, 5, [EvaluateRanking({"valid": dvalid}, PANEL)])

    def test_cv_is_refused(self, dtrain, dvalid):
        with pytest.raises(ValueError, match=r"in xgboost.cv take custom_metric"):
            xgb.cv(PARAMS, dtrain, 2, callbacks=[EvaluateRanking({"valid": dvalid}, PANEL)])

    def test_save_best_in_cv_is_refused(self, dtrain):
        with pytest.raises(ValueError, match=r"save_best has no meaning in xgboost.cv"):
            xgb.cv(
                PARAMS, dtrain, 2, custom_metric=custom_metric(PANEL),
                callbacks=[early_stopping("mrr", rounds=2, dataset="test", save_best=True)],
            )  # fmt: skip

    def test_an_unknown_metric_needs_its_direction(self):
        with pytest.raises(ValueError, match="give maximize=True or maximize=False"):
            early_stopping("my_metric", rounds=3)
        assert early_stopping("my_metric", rounds=3, maximize=False).maximize is False

    def test_bare_ndcg_is_refused_before_training(self):
        with pytest.raises(ValueError, match="ndcg_linear@10"):
            custom_metric(["ndcg@10"])


class TestMissingValues:
    def test_are_those_that_the_ranker_names(self, parts):
        rng = np.random.default_rng(0)
        features = [np.where(rng.random(part.features.shape) < 0.3, -999, part.features) for part in parts]
        evaluate = EvaluateRanking({"valid": (features[1], parts[1].labels, parts[1].qid)}, PANEL, missing=-999)
        ranker = xgb.XGBRanker(n_estimators=4, missing=-999, n_jobs=1, callbacks=[evaluate])
        ranker.fit(features[0], parts[0].labels, qid=parts[0].qid, verbose=False)
        expected = gs.evaluate(PANEL, parts[1].judgments(), ranker.predict(features[1])).mean
        assert value_at(ranker.evals_result()["valid"], 4) == pytest.approx(expected, rel=1e-12, abs=0)


class TestLabelsSetAnew:
    def test_are_read_when_training_starts(self, parts, dtrain):
        dvalid = matrix(parts[1])
        evaluate = EvaluateRanking({"valid": dvalid}, PANEL)
        labels = parts[1].labels[::-1].copy()
        dvalid.set_label(labels)
        booster, curves = train(dtrain, 2, [evaluate])
        judgments = gs.Judgments(labels, qid=parts[1].qid)
        assert value_at(curves["valid"], 2) == pytest.approx(expected(booster, parts[1], 2, judgments), rel=1e-12)


class TestCopies:
    """An `XGBRanker` carries its callbacks wherever it goes."""

    @pytest.fixture
    def ranker(self, parts):
        evaluate = EvaluateRanking({"valid": (parts[1].features, parts[1].labels, parts[1].qid)}, PANEL)
        return xgb.XGBRanker(n_estimators=2, n_jobs=1, callbacks=[evaluate, early_stopping("mrr", 1, verbose=False)])

    def fit(self, ranker, parts):
        return ranker.fit(parts[0].features, parts[0].labels, qid=parts[0].qid, verbose=False)

    @pytest.mark.parametrize("made", [clone, copy.copy, copy.deepcopy])
    def test_evaluate_the_same_data(self, ranker, parts, made):
        again = made(self.fit(ranker, parts))
        assert self.fit(again, parts).evals_result() == ranker.evals_result()

    @pytest.mark.parametrize("module", ["pickle", "cloudpickle"])
    @pytest.mark.parametrize("fitted", [True, False])
    def test_in_a_pickle_predict_and_train(self, ranker, parts, module, fitted):
        dumps = pytest.importorskip(module).dumps  # joblib and Spark send callbacks with the second
        if not fitted:
            again = self.fit(pickle.loads(dumps(ranker)), parts)
        self.fit(ranker, parts)
        if fitted:
            again = pickle.loads(dumps(ranker))
        np.testing.assert_array_equal(again.predict(parts[1].features), ranker.predict(parts[1].features))
        assert self.fit(again, parts).evals_result() == ranker.evals_result()

    @pytest.mark.parametrize("weighted", [True, False])
    def test_hold_everything_that_was_given(self, parts, dtrain, weighted):
        rng = np.random.default_rng(0)
        features = np.where(rng.random(parts[1].features.shape) < 0.3, -1, parts[1].features)
        weight = [rng.uniform(1, 2, len(parts[1].group))] if weighted else []
        evaluate = EvaluateRanking(
            {"valid": (features, parts[1].labels - 1, parts[1].qid, *weight)}, PANEL, every=2, missing=-1,
            negative_labels="zero",
        )  # fmt: skip
        again = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(evaluate))))
        assert train(dtrain, 3, [again])[1] == train(dtrain, 3, [evaluate])[1]

    def test_a_matrix_is_not_in_a_pickle(self, dtrain, dvalid):
        again = pickle.loads(pickle.dumps(EvaluateRanking({"valid": dvalid}, ["mrr"])))
        message = (
            r"data set 'valid' was a matrix .* give XGBRanker a callback, EvaluateRanking\(\{'valid': \(X, y, qid\)\}, "
            r"\['mrr'\]\); with such arrays in memory, DaskXGBRanker and SparkXGBRanker take it too; "
            r"in xgboost.dask.train take custom_metric"
        )
        with pytest.raises(ValueError, match=message):
            train(dtrain, 1, [again])

    def test_in_a_search(self, parts):
        first, second = parts
        frame = pd.DataFrame(first.features, columns=[f"f{n}" for n in range(first.features.shape[1])])
        frame["qid"] = first.qid
        held_out = pd.DataFrame(second.features, columns=frame.columns[:-1])
        evaluate = EvaluateRanking({"valid": (held_out, second.labels, second.qid)}, PANEL)
        ranker = xgb.XGBRanker(
            n_estimators=12, n_jobs=1, max_depth=3, callbacks=[evaluate, early_stopping("mrr", rounds=3, verbose=False)]
        )
        search = GridSearchCV(ranker, {"learning_rate": [0.1, 0.5]}, cv=GroupKFold(3), error_score="raise")
        search.fit(frame, first.labels, groups=first.qid)
        best = search.best_estimator_
        scores = best.predict(held_out)
        assert best.best_score == pytest.approx(gs.evaluate("mrr", second.judgments(), scores).mean["mrr"], rel=1e-12)
        assert len(best.evals_result()["valid"]["mrr"]) > 1
        again = pickle.loads(pickle.dumps(search)).best_estimator_
        assert again.fit(frame, first.labels, verbose=False).evals_result() == best.evals_result()


class TestPipeline:
    """What stands in the guide: the preparation is fitted first, and the callback gets prepared data."""

    @pytest.fixture
    def frames(self, parts):
        rng = np.random.default_rng(0)
        made = []
        for part in parts:
            frame = pd.DataFrame(part.features[:, :5], columns=list("abcde"))
            shops = np.array(["north", "south", "west", "east", "far"])
            noisy = np.where(rng.random(len(frame)) < 0.7, part.labels, rng.integers(0, 5, len(frame)))
            made.append(frame.assign(shop=shops[noisy.astype(int)]))
        return made

    def test_prepared_columns(self, parts, frames):
        prepare = make_column_transformer((OneHotEncoder(sparse_output=False), ["shop"]), remainder="passthrough")
        held_out = prepare.fit(frames[0]).transform(frames[1])
        evaluate = EvaluateRanking({"valid": (held_out, parts[1].labels, parts[1].qid)}, PANEL)
        ranker = xgb.XGBRanker(n_estimators=30, n_jobs=1, callbacks=[evaluate, early_stopping("mrr", 4, verbose=False)])
        model = make_pipeline(prepare, ranker)
        model.fit(frames[0], parts[0].labels, xgbranker__qid=parts[0].qid)
        found = gs.evaluate("mrr", parts[1].judgments(), model.predict(frames[1])).mean["mrr"]
        assert model[-1].best_score == pytest.approx(found, rel=1e-12)
        copied = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(copied.predict(frames[1]), model.predict(frames[1]))

    def test_categories_as_they_are(self, parts, frames):
        shops = pd.CategoricalDtype(sorted(frames[0]["shop"].unique()))
        train_frame, held_out = (frame.astype({"shop": shops}) for frame in frames)
        evaluate = EvaluateRanking({"valid": (held_out, parts[1].labels, parts[1].qid)}, PANEL)
        ranker = xgb.XGBRanker(
            n_estimators=30, n_jobs=1, enable_categorical=True, tree_method="hist",
            callbacks=[evaluate, early_stopping("mrr", 4, verbose=False)],
        ).fit(train_frame, parts[0].labels, qid=parts[0].qid)  # fmt: skip
        found = gs.evaluate("mrr", parts[1].judgments(), ranker.predict(held_out)).mean["mrr"]
        assert ranker.best_score == pytest.approx(found, rel=1e-12)
        assert "shop" in ranker.get_booster().get_score()


class TestDart:
    PARAMS = {**PARAMS, "booster": "dart", "rate_drop": 0.5}
    pytestmark = pytest.mark.filterwarnings("ignore:.*booster=dart. is deprecated")

    def test_says_that_the_best_model_is_lost(self, dtrain, evaluate):
        with pytest.warns(UserWarning, match="later rounds change earlier trees"):
            train(dtrain, 3, [evaluate, early_stopping("mrr", rounds=1, verbose=False)], params=self.PARAMS)

    def test_cannot_save_the_best(self, dtrain, dvalid):
        callbacks = [EvaluateRanking({"valid": dvalid}, PANEL), early_stopping("mrr", rounds=1, save_best=True)]
        with pytest.raises(ValueError, match="save_best has no meaning under dart"):
            train(dtrain, 3, callbacks, params=self.PARAMS)


class TestLinearBooster:
    """It keeps its last state only, which a training that goes on from it changes too."""

    PARAMS = {"booster": "gblinear", "objective": "rank:ndcg", "disable_default_eval_metric": True, "nthread": 1}

    def test_says_that_the_best_model_is_lost(self, dtrain, evaluate):
        start, _ = train(dtrain, 2, params=self.PARAMS)
        stop = early_stopping("mrr", rounds=9, verbose=False)
        with pytest.warns(UserWarning, match="under gblinear later rounds change the same weights: the model as of"):
            booster, curves = train(dtrain, 3, [evaluate, stop], params=self.PARAMS, xgb_model=start)
        assert booster.best_score == max(curves["valid"]["mrr"])

    def test_cannot_save_the_best(self, dtrain, evaluate):
        with pytest.raises(ValueError, match="save_best has no meaning under gblinear: later rounds change the same"):
            train(dtrain, 3, [evaluate, early_stopping("mrr", rounds=1, save_best=True)], params=self.PARAMS)


class TestMisuse:
    def test_one_matrix_instead_of_a_mapping(self, dvalid):
        with pytest.raises(TypeError, match=r"datasets must map names to data, .* got DMatrix"):
            EvaluateRanking(dvalid, PANEL)

    def test_a_name_that_is_no_text(self, dvalid):
        with pytest.raises(TypeError, match="names of data sets must be strings, got 0"):
            EvaluateRanking({0: dvalid}, PANEL)

    def test_custom_metric_in_the_ranker(self, parts):
        ranker = xgb.XGBRanker(n_estimators=1, n_jobs=1, eval_metric=custom_metric(["mrr"]))
        with pytest.raises(TypeError, match=r"give XGBRanker a callback, EvaluateRanking\(.*\['mrr'\]"):
            ranker.fit(
                parts[0].features, parts[0].labels, qid=parts[0].qid, verbose=False,
                eval_set=[(parts[1].features, parts[1].labels)], eval_qid=[parts[1].qid],
            )  # fmt: skip

    def test_full_precision_without_a_data_set(self, dtrain):
        log = custom_metric(["mrr"])
        with pytest.raises(ValueError, match=r"no data set is evaluated; give evals="):
            train(dtrain, 1, [full_precision(log)], custom_metric=log)

    def test_full_precision_sees_a_clash_of_names(self, parts):
        binary = xgb.DMatrix(parts[0].features, label=parts[0].labels > 1, qid=parts[0].qid)
        params = {"objective": "rank:map", "eval_metric": "map@5", "nthread": 1}
        log = custom_metric(["map@5"])
        with pytest.raises(ValueError, match="XGBoost itself logs a metric named 'map@5'"):
            train(binary, 2, [full_precision(log)], params=params, custom_metric=log, evals=[(binary, "train")])

    def test_our_metrics_are_never_minimised(self):
        with pytest.raises(ValueError, match="maximize=False would stop at the worst mrr"):
            early_stopping("mrr", 3, maximize=False)
        with pytest.raises(TypeError, match="maximize must be True or False, got 'min'"):
            early_stopping("my_metric", 3, maximize="min")
        with pytest.raises(TypeError, match="save_best must be True or False, got 'no'"):
            early_stopping("mrr", 3, save_best="no")

    def test_accuracy_is_maximised(self):
        assert early_stopping("interval-regression-accuracy", 3).maximize

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"metric": ["mrr"]}, r"metric must be one name, .*got \['mrr'\]"),
            ({"min_delta": "a"}, "min_delta must be a number, got 'a'"),
            ({"dataset": 0}, "dataset must be the name of a data set, got 0"),
            ({"data_name": 0}, "data_name must be the name of a data set, got 0"),
            ({"rounds": "2"}, "rounds must be a whole number of boosting rounds, at least 1, got '2'"),
        ],
    )
    def test_arguments_of_early_stopping(self, arguments, message):
        with pytest.raises(TypeError, match=message):
            early_stopping(**{"metric": "mrr", "rounds": 3, **arguments})

    def test_numpy_integers_are_whole_numbers(self):
        assert early_stopping("mrr", np.int64(3)).rounds == 3
