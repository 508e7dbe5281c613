"""What is specific to XGBoost: data of `EvaluateRanking`, cut models, second stops, estimators and cross-validation."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from tests.adapters.drivers import (
    XGB,
    XGBoostCustomMetric,
    XGBoostTrain,
    curve_values,
    make_part,
    xgb_arrays,
    xgb_matrix,
)

import gainwise as gw
from gainwise.xgboost import Curves, EvaluateRanking, custom_metric, early_stopping, full_precision

PANEL = ["ndcg_linear@10", "ndcg_exp@10", "map@10", "mrr"]
TRAIN, VALID, WEIGHTED = make_part(1, 50), make_part(6), make_part(7, weighted=True)
SETS = {"valid": VALID}
DRIVER, CUSTOM = XGBoostTrain(), XGBoostCustomMetric()
IN_ORDER = tuple(map(int, xgb.__version__.split(".")[:2])) >= (3, 2)
"""Older versions call callbacks in any order, so that a stop of XGBoost's own may look before others have logged."""
RNG = np.random.default_rng(0)


def train(metrics=PANEL, rounds=12, sets=SETS, driver=DRIVER, **options):
    return driver.train(TRAIN, sets, metrics, rounds, **options)


def fit(callbacks, rounds=3, params=XGB, **options):
    """Train with these callbacks. Return the booster and the history."""
    curves, options = {}, {"evals_result": {}, "verbose_eval": False, **options}
    booster = xgb.train(params, xgb_matrix(TRAIN), rounds, callbacks=callbacks, **{**options, "evals_result": curves})
    return booster, curves


def evaluated(model, part, **options):
    return gw.evaluate(PANEL, part.judgments, model.predict(part.features, **options)).mean


class TestData:
    @pytest.mark.parametrize("part", [VALID, WEIGHTED], ids=["unweighted", "weighted"])
    def test_all_forms_have_the_same_values(self, part):
        forms = {
            "matrix": xgb_matrix(part),
            "quantiles": xgb_matrix(part, xgb.QuantileDMatrix, ref=xgb_matrix(TRAIN)),
            "arrays": xgb_arrays(part),
        }
        booster, curves = fit([EvaluateRanking(forms, PANEL)], 4)
        scores = booster.predict(xgb.DMatrix(part.features))
        expected = gw.evaluate(PANEL, part.judgments, scores).mean
        for history in curves.values():
            assert {name: history[name][3] for name in PANEL} == pytest.approx(expected, rel=1e-12)

    @pytest.mark.parametrize("order", [slice(None), RNG.permutation(len(VALID.labels))], ids=["as the labels", "any"])
    def test_rows_are_matched_by_their_index(self, order):
        rows = pd.Index([f"row {row}" for row in range(len(VALID.labels))])
        features, labels = pd.DataFrame(VALID.features, rows), pd.Series(VALID.labels, rows)
        log = EvaluateRanking({"rows": (features.iloc[order], labels, pd.Series(VALID.qid, rows).iloc[::-1])}, PANEL)
        booster, curves = fit([log])
        expected = gw.evaluate(PANEL, VALID.judgments, booster.predict(xgb.DMatrix(VALID.features))).mean
        assert {name: curve[-1] for name, curve in curves["rows"].items()} == pytest.approx(expected, abs=1e-14)

    def test_labels_set_anew_are_read_when_training_starts(self):
        matrix, log = xgb_matrix(VALID), custom_metric(["mrr"])
        callback = EvaluateRanking({"callback": matrix}, ["mrr"])
        for labels in (VALID.labels[::-1], np.zeros(len(VALID.labels))):
            matrix.set_label(labels)
            booster, curves = fit([callback, full_precision(log)], 2, evals=[(matrix, "metric")], custom_metric=log)
            judgments = gw.Judgments(labels, group=VALID.group)
            expected = gw.evaluate("mrr", judgments, booster.predict(matrix)).mean["mrr"]
            assert curves["callback"]["mrr"][1] == curves["metric"]["mrr"][1] == expected

    def test_scores_of_a_gpu_are_copied(self):
        class OnDevice:
            __cuda_array_interface__ = None

            def get(self):
                return np.arange(len(VALID.labels), dtype=np.float32)

        log, matrix = custom_metric(["mrr"]), xgb_matrix(VALID)
        assert log(OnDevice(), matrix) == log(OnDevice().get(), matrix)

    def test_missing_values_are_those_of_the_ranker(self):
        holes = [np.where(RNG.random(part.features.shape) < 0.3, -999, part.features) for part in (TRAIN, VALID)]
        log = EvaluateRanking({"valid": (holes[1], VALID.labels, VALID.qid)}, PANEL, missing=-999)
        for callback in (log, pickle.loads(pickle.dumps(log))):
            ranker = xgb.XGBRanker(n_estimators=4, missing=-999, n_jobs=1, callbacks=[callback])
            ranker.fit(holes[0], TRAIN.labels, qid=TRAIN.qid, verbose=False)
            expected = gw.evaluate(PANEL, VALID.judgments, ranker.predict(holes[1])).mean
            values = {name: curve[3] for name, curve in ranker.evals_result()["valid"].items()}
            assert values == pytest.approx(expected, rel=1e-12)


class TestEarlyStopping:
    @pytest.mark.parametrize("metric", ["map@10", "rmse", "interval-regression-accuracy"])
    def test_directions_of_built_in_metrics(self, metric):
        assert early_stopping(metric, 3).maximize is (metric != "rmse")
        assert early_stopping("mine", 3, maximize=False).maximize is False
        if metric == "rmse":
            params = {"objective": "reg:squarederror", "nthread": 1, "eval_metric": "rmse", "eta": 1.0}
            evals = [(xgb_matrix(VALID), "valid")]
            booster, curves = fit([early_stopping("rmse", 3)], 20, params, evals=evals)
            assert booster.best_iteration == int(np.argmin(curves["valid"]["rmse"]))

    def test_prints_the_best_round(self, capfd):
        stop = {"metric": "ndcg_exp@10", "rounds": 2, "verbose": True}
        run = train(rounds=20, stop=stop)
        assert f"iteration is {run.best - 1} " in capfd.readouterr().out
        train(rounds=5, stop={**stop, "save_best": True}, start=DRIVER.train(TRAIN, {}, None, 8).model, eta=30.0)
        assert "iteration is 7 " in capfd.readouterr().out


def logged_first(metrics, digits=16):
    """Return callbacks and options that log metrics of the validation set before any early stopping."""
    matrix = xgb_matrix(VALID)
    if IN_ORDER:
        return [EvaluateRanking({"valid": matrix}, metrics)], {}
    log = custom_metric(metrics)
    return [full_precision(log)] if digits > 6 else [], {"evals": [(matrix, "valid")], "custom_metric": log}


class EndsAtSecondBest(xgb.callback.TrainingCallback):
    """Ends the training in the first round that improves on round 1."""

    def after_iteration(self, model, epoch, evals_log):
        curve = evals_log["valid"]["mrr"]
        return epoch > 0 and curve[-1] > max(curve[:-1])


class TestSecondStop:
    """Each early stopping of XGBoost overwrites the same two attributes of the booster."""

    @pytest.mark.skipif(not IN_ORDER, reason="XGBoost may stop before the first values are logged")
    @pytest.mark.parametrize("verbose", [True, False])
    @pytest.mark.parametrize("form", ["train", "callback", "ranker"])
    def test_a_warning_names_the_stop_of_xgboost(self, form, verbose):
        callbacks = [EvaluateRanking({"valid": xgb_arrays(VALID)}, "mrr"), early_stopping("mrr", 4, verbose=verbose)]
        options = {"callbacks": callbacks, "early_stopping_rounds": 3}
        if form == "callback":
            callbacks.append(xgb.callback.EarlyStopping(rounds=options.pop("early_stopping_rounds"), maximize=True))

        def train():
            if form == "ranker":
                ranker = xgb.XGBRanker(n_estimators=2, n_jobs=1, **options)
                ranker.fit(TRAIN.features, TRAIN.labels, qid=TRAIN.qid, verbose=False)
            else:
                xgb.train(XGB, xgb_matrix(TRAIN), 2, verbose_eval=False, **options)

        with pytest.warns(UserWarning, match="XGBoost's own early stopping is active next to the one on 'mrr'"):
            train()

    @pytest.mark.filterwarnings("ignore:XGBoost's own early stopping")
    @pytest.mark.parametrize("place", [0, 2])
    @pytest.mark.parametrize("form", ["callback before ours", "callback after ours", "early_stopping_rounds"])
    @pytest.mark.parametrize(
        ("ours_waits", "theirs_waits", "save_best"), [(2, 30, False), (30, 2, False), (30, 2, True)]
    )
    def test_attributes_and_curves_are_those_of_the_stop_that_decided(
        self, capfd, place, form, ours_waits, theirs_waits, save_best
    ):
        logs, options = logged_first(["mrr", "map@10"], digits=6)
        shown, callbacks = Curves(show=False), [early_stopping("mrr", ours_waits, save_best=save_best)]
        if form != "early_stopping_rounds":
            theirs = xgb.callback.EarlyStopping(rounds=theirs_waits, metric_name="map@10", maximize=True)
            callbacks.insert(form == "callback after ours", theirs)
        else:
            options |= {"early_stopping_rounds": theirs_waits, "maximize": True}
        callbacks.insert(place, shown)
        booster, curves = fit([*logs, *callbacks], 60, {**XGB, "eta": 0.6}, **options)
        named = "mrr" if save_best or ours_waits < theirs_waits else "map@10"
        curve = curves["valid"][named]
        assert len(curve) < 60
        assert (booster.best_iteration, booster.best_score) == (int(np.argmax(curve)), max(curve))
        output = capfd.readouterr().out
        assert f"iteration is {int(np.argmax(curves['valid']['mrr']))} " in output
        assert ("another stopping" in output) is (named == "map@10")
        assert f"kept round {booster.best_iteration + 1}" in str(shown)
        assert (f": {max(curve):.4f} (mrr)." in str(shown)) is (named == "mrr")

    def test_curves_name_a_last_round_that_only_early_stopping_has_checked(self):
        logs, options = logged_first(["mrr"])
        curves = Curves(show=False)
        booster, _ = fit([*logs, curves, EndsAtSecondBest(), early_stopping("mrr", 50, verbose=False)], 40, **options)
        assert f"kept round {booster.num_boosted_rounds()}" in str(curves)

    def test_a_last_round_that_it_did_not_see_counts(self):
        logs, options = logged_first(PANEL)
        stop = early_stopping("mrr", rounds=50, save_best=True, verbose=False)
        booster, curves = fit([*logs, EndsAtSecondBest(), stop], 40, **options)
        assert len(curves["valid"]["mrr"]) == booster.num_boosted_rounds() == booster.best_iteration + 1 > 1
        assert booster.best_score == max(curves["valid"]["mrr"])

    @pytest.mark.parametrize("first", [True, False])
    def test_a_callback_that_copies_the_model_is_not_a_stop(self, first):
        class Copies(xgb.callback.TrainingCallback):
            def after_training(self, model):
                return model.copy()

        log = EvaluateRanking({"valid": xgb_matrix(VALID)}, PANEL)
        callbacks = [Copies(), early_stopping("mrr", rounds=90, verbose=False)][:: 1 if first else -1]
        booster, curves = fit([log, *callbacks], 9)
        assert (booster.best_iteration, booster.num_boosted_rounds()) == (int(np.argmax(curves["valid"]["mrr"])), 9)

    @pytest.mark.parametrize("fails", [False, True])
    def test_one_object_in_a_training_that_a_callback_starts(self, fails):
        class Nested(xgb.callback.TrainingCallback):
            def after_iteration(self, model, epoch, evals_log):
                if epoch == 3 and fails:
                    with pytest.raises(ZeroDivisionError):
                        train(Fails())
                elif epoch == 3:
                    assert train() == alone
                return False

        class Fails(xgb.callback.TrainingCallback):
            def after_iteration(self, model, epoch, evals_log):
                return 1 / (epoch - 2) > 1

        def train(*others):
            log = EvaluateRanking({"valid": xgb_matrix(VALID)}, "mrr")
            return fit([log, stop, *others], 40)[0].best_iteration

        stop = early_stopping("mrr", rounds=4, verbose=False)
        alone = train()
        assert train(Nested()) == alone

    def test_a_rejected_second_stop_leaves_the_first_one_usable(self):
        stop = early_stopping("mrr", 4, verbose=False)
        log = EvaluateRanking({"valid": xgb_matrix(VALID)}, PANEL)
        with pytest.raises(ValueError, match="two early_stopping callbacks"):
            fit([log, stop, early_stopping("map@10", 4)])
        assert len(fit([log, stop])[1]["valid"]["mrr"]) == 3

    @pytest.mark.parametrize("first", [True, False])
    def test_a_model_cut_by_another_callback_keeps_its_attributes(self, first):
        """A `best_iteration` beyond the shorter model would be wrong."""

        class Cuts(xgb.callback.TrainingCallback):
            def after_training(self, model):
                return model[:1]

        constant = gw.metric("rising", lambda labels, scores: float(np.ptp(scores)))
        log = EvaluateRanking({"valid": xgb_matrix(VALID)}, constant)
        stop = early_stopping(constant, rounds=90, verbose=False)
        booster, _ = fit([log, *([Cuts(), stop] if first else [stop, Cuts()])], 9)
        assert booster.num_boosted_rounds() == 1
        if first:
            assert booster.attr("best_iteration") is None


class TestLastRound:
    """Training ends after all callbacks have received the last round, in any order."""

    @pytest.mark.parametrize("place", [0, 1, 2])
    @pytest.mark.parametrize("waits", [1, 4])
    def test_every_callback_receives_it(self, place, waits):
        class Records(xgb.callback.TrainingCallback):  # like MLflow's autologging
            def __init__(self):
                self.values = []

            def after_iteration(self, model, epoch, evals_log):
                self.values.append(evals_log["valid"]["mrr"][-1])
                return False

        records, log = Records(), custom_metric(["mrr"])
        callbacks = [records, full_precision(log)]
        callbacks.insert(place, early_stopping("mrr", waits, verbose=False))
        booster, curves = fit(callbacks, 40, evals=[(xgb_matrix(VALID), "valid")], custom_metric=log)
        assert len(records.values) == len(curves["valid"]["mrr"]) == booster.num_boosted_rounds() < 40
        assert np.round(records.values, 6).tolist() == np.round(curves["valid"]["mrr"], 6).tolist()
        assert booster.num_boosted_rounds() == booster.best_iteration + 1 + waits

    @pytest.mark.parametrize("kind", [Curves, early_stopping])
    def test_a_training_that_another_callback_ends_in_its_first_round(self, kind):
        class Ends(xgb.callback.TrainingCallback):
            def after_iteration(self, model, epoch, evals_log):
                return True

        tool = Curves(show=False) if kind is Curves else early_stopping("mrr", 5, verbose=False)
        logs, options = logged_first(["mrr"])
        booster, history = fit([*logs, Ends(), tool], 9, **options)
        assert booster.num_boosted_rounds() == 1
        if kind is Curves:
            assert tool.rounds == 1
            assert curve_values(tool.frame()) == history
        else:
            assert booster.best_score == history["valid"]["mrr"][0]


class TestContinued:
    METRIC = "ndcg_exp@10"

    def test_custom_metrics_are_those_of_the_named_dataset(self):
        start = DRIVER.train(TRAIN, {}, None, 8).model
        stop = {"metric": self.METRIC, "rounds": 3, "dataset": "valid", "save_best": True}
        run = train(rounds=6, sets={"other": WEIGHTED, **SETS}, driver=CUSTOM, stop=stop, start=start, eta=30.0)
        expected = gw.evaluate(self.METRIC, VALID.judgments, start.predict(xgb_matrix(VALID))).mean[self.METRIC]
        assert run.best_score == float(f"{expected:f}") != expected  # the digits that XGBoost stores
        assert run.model.num_boosted_rounds() == 8

    def test_a_loop_can_train_the_same_booster_again(self):
        matrix = xgb_matrix(TRAIN)
        booster = xgb.Booster(XGB, [matrix])
        for stage in range(2):
            logs = [EvaluateRanking({"valid": xgb_matrix(VALID)}, "mrr"), early_stopping("mrr", 9, verbose=False)]
            container = xgb.callback.CallbackContainer(logs)
            booster = container.before_training(booster)
            for epoch in range(3):
                booster.update(matrix, 3 * stage + epoch)
                container.after_iteration(booster, epoch, matrix, [])
            booster = container.after_training(booster)
        assert booster.num_boosted_rounds() == 6


class TestCrossValidation:
    def cv(self, rounds, *callbacks, metrics=PANEL, params=XGB):
        """Return the table, and the means over the folds of `evaluate` for the scores of each round."""
        log, calls = custom_metric(metrics), []

        def spy(scores, matrix):
            judgments = gw.Judgments(matrix.get_label(), group=matrix.get_group())
            calls.append([*gw.evaluate(metrics, judgments, scores).mean.values()])
            return log(scores, matrix)

        options = {"nfold": 3, "as_pandas": False, "seed": 1, "shuffle": False}
        found = xgb.cv(params, xgb_matrix(TRAIN), rounds, custom_metric=spy, callbacks=list(callbacks), **options)
        return found, np.reshape(calls, (-1, 3, 2, len(metrics)))[:, :, 1].mean(axis=1).T

    def test_values_and_curves(self):
        curves = Curves(show=False)
        found, expected = self.cv(5, curves)
        values = [found[f"test-{name}-mean"] for name in PANEL]
        np.testing.assert_allclose(values, expected, atol=5.1e-7, rtol=0)
        assert curve_values(curves.frame())["test"] == dict(zip(PANEL, values, strict=True))

    def test_early_stopping(self):
        found, _ = self.cv(30, early_stopping("ndcg_exp@10", rounds=3, dataset="test"))
        curve = found["test-ndcg_exp@10-mean"]
        assert len(curve) == np.argmax(curve) + 1 < 30


class TestRankers:
    """Copies and pickles of an `XGBRanker` contain its callbacks."""

    @pytest.fixture
    def ranker(self):
        log = EvaluateRanking({"valid": xgb_arrays(VALID)}, PANEL)
        callbacks = [log, early_stopping("mrr", 1, verbose=False), Curves(show=False)]
        return xgb.XGBRanker(n_estimators=2, n_jobs=1, callbacks=callbacks)

    def fit(self, ranker):
        ranker.set_params(callbacks=[*ranker.callbacks[:2], Curves(show=False)])
        return ranker.fit(TRAIN.features, TRAIN.labels, qid=TRAIN.qid, verbose=False)

    @pytest.mark.parametrize("fitted", [True, False])
    @pytest.mark.parametrize("made", [clone, copy.copy, copy.deepcopy, "pickle", "cloudpickle"])
    def test_copies_train_and_predict_the_same(self, ranker, made, fitted):
        if isinstance(made, str):  # joblib and Spark send callbacks with cloudpickle
            module = pytest.importorskip(made)
            made = lambda ranker: pickle.loads(module.dumps(ranker))  # noqa: E731
        again = made(self.fit(ranker) if fitted else ranker)
        if fitted and made is not clone:
            np.testing.assert_array_equal(again.predict(VALID.features), ranker.predict(VALID.features))
            assert curve_values(again.callbacks[2].frame())["valid"] == ranker.evals_result()["valid"]
        expected = self.fit(ranker).evals_result()
        assert self.fit(again).evals_result() == expected

    def test_in_a_search(self):
        names = [f"f{number}" for number in range(TRAIN.features.shape[1])]
        frame, held_out = (pd.DataFrame(part.features, columns=names) for part in (TRAIN, VALID))
        log = EvaluateRanking({"valid": (held_out, VALID.labels, VALID.qid)}, PANEL)
        callbacks = [log, early_stopping("mrr", rounds=3, verbose=False)]
        ranker = xgb.XGBRanker(n_estimators=12, n_jobs=1, max_depth=3, callbacks=callbacks)
        search = GridSearchCV(ranker, {"learning_rate": [0.1, 0.5]}, cv=GroupKFold(2), error_score="raise")
        search.fit(frame.assign(qid=TRAIN.qid), TRAIN.labels, groups=TRAIN.qid)
        best = search.best_estimator_
        assert best.best_score == pytest.approx(evaluated(best, VALID._replace(features=held_out))["mrr"], rel=1e-12)
        again = pickle.loads(pickle.dumps(search)).best_estimator_
        refitted = again.fit(frame.assign(qid=TRAIN.qid), TRAIN.labels, verbose=False)
        assert refitted.evals_result() == best.evals_result()

    @pytest.mark.parametrize("prepared", [True, False], ids=["pipeline", "categories"])
    def test_with_categories(self, prepared):
        shops = pd.CategoricalDtype(list("abcde"))
        frames = [
            pd.DataFrame(part.features[:, 1:5], columns=list("wxyz")).assign(
                shop=pd.Series(np.array(list("abcde"))[part.labels.astype(int)]).astype(shops)
            )
            for part in (TRAIN, VALID)
        ]
        prepare = make_column_transformer((OneHotEncoder(sparse_output=False), ["shop"]), remainder="passthrough")
        held_out = prepare.fit(frames[0]).transform(frames[1]) if prepared else frames[1]
        log = EvaluateRanking({"valid": (held_out, VALID.labels, VALID.qid)}, PANEL)
        callbacks = [log, early_stopping("mrr", 4, verbose=False)]
        ranker = xgb.XGBRanker(n_estimators=9, n_jobs=1, enable_categorical=True, callbacks=callbacks)
        model = make_pipeline(prepare, ranker) if prepared else ranker
        model.fit(frames[0], TRAIN.labels, **{"xgbranker__qid" if prepared else "qid": TRAIN.qid})
        expected = gw.evaluate("mrr", VALID.judgments, model.predict(frames[1])).mean["mrr"]
        assert ranker.best_score == pytest.approx(expected, rel=1e-12)
        copied = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(copied.predict(frames[1]), model.predict(frames[1]))


def test_a_linear_booster_warns_that_its_best_round_is_lost():
    """Only its last state is available, which a continued training also changes."""
    params = {"booster": "gblinear", "objective": "rank:ndcg", "disable_default_eval_metric": True, "nthread": 1}
    start = xgb.train(params, xgb_matrix(TRAIN), 2)
    callbacks = [EvaluateRanking({"valid": xgb_matrix(VALID)}, PANEL), early_stopping("mrr", 9, verbose=False)]
    with pytest.warns(UserWarning, match="under gblinear"):
        booster, curves = fit(callbacks, 3, params, xgb_model=start)
    assert booster.best_score == max(curves["valid"]["mrr"])


class TestCurves:
    @pytest.mark.parametrize("curves_first", [True, False])
    def test_the_last_round_counts_though_nothing_was_evaluated_in_it(self, curves_first):
        constant = gw.metric("always_a_half", lambda labels, scores: 0.5)
        curves, stop = Curves(show=False), early_stopping(constant, 5, verbose=False)
        log = EvaluateRanking({"valid": xgb_matrix(VALID)}, constant, every=3)
        booster, _ = fit([log, *([curves, stop] if curves_first else [stop, curves])], 12)
        assert curves.rounds == booster.num_boosted_rounds() == 6  # the first round is the best one
        assert curves.frame()["round"].tolist() == [1, 4]

    def test_built_in_and_unnamed_metrics(self):
        def mine(scores, _):
            return "mine", float(np.abs(scores).mean())

        curves = Curves("mine", higher_is_better=False, show=False)
        params = {"objective": "rank:ndcg", "eval_metric": ["ndcg@3", "rmse"], "nthread": 1}
        _, history = fit([curves], 12, params, evals=[(xgb_matrix(VALID), "valid")], custom_metric=mine)
        best = curves.best.set_index("metric")["round"] - 1
        assert best["ndcg@3"] == np.argmax(history["valid"]["ndcg@3"])
        assert best["rmse"] == np.argmin(history["valid"]["rmse"])
        assert best["mine"] == np.argmin(history["valid"]["mine"])
