"""What is specific to LightGBM: bindings, cross-validation, folds, and other stops. See tests/adapters for the rest."""

import gc
import weakref

import lightgbm as lgb
import numpy as np
import pytest
from sklearn.model_selection import GroupKFold
from tests.adapters.drivers import LGB, LightGBMTrain, curve_values, lgb_dataset, make_part
from tests.custom_metrics import GAP

import gainwise as gw
from gainwise.lightgbm import Curves, early_stopping, feval
from gainwise.training.curves import _end_all

PANEL = ["ndcg_linear@10", "ndcg_exp@10", "mrr"]
TRAIN, VALID = make_part(1, 50), make_part(6)
SETS = {"valid": VALID}
DRIVER = LightGBMTrain()
DIVERGING = {"objective": "regression_l1", "learning_rate": 1e100}


def train(metrics=PANEL, rounds=12, sets=SETS, **options):
    return DRIVER.train(TRAIN, sets, metrics, rounds, **options)


def first_best(curve):
    return int(np.argmax(curve)) + 1


class TestBinding:
    def test_new_labels_on_the_same_dataset_are_read(self):
        log, data = feval(["mrr"]), lgb_dataset(VALID).construct()
        scores = np.arange(len(VALID.labels), dtype=float)
        assert log(scores, data)[0][1] > 0
        data.set_label(np.zeros(len(scores)))
        assert log(scores, data) == [("mrr", 0.0, True)]

    def test_scores_and_datasets_are_not_kept(self):
        log, data = feval(PANEL), lgb_dataset(VALID).construct()
        scores = np.random.default_rng(0).normal(size=len(VALID.labels))
        before, reference = scores.copy(), weakref.ref(scores)
        log(scores, data)
        assert np.array_equal(scores, before)
        del scores
        gc.collect()
        assert reference() is None
        assert len(log._datasets._entries) == 1
        del data
        gc.collect()
        assert len(log._datasets._entries) == 0

    def test_weights_of_documents_next_to_an_empty_query(self):
        """Weights have the same meaning as in `evaluate`."""
        labels, weight = np.array([1, 0, 1, 0]), [1, 2, 3, 9]
        data = lgb.Dataset(np.arange(8.0).reshape(4, 2), labels, group=[3, 0, 1], weight=weight, params={"verbose": -1})
        judgments = gw.Judgments(labels, group=[3, 0, 1], weight=weight)
        assert judgments.weights.tolist() == [2, 5.5, 9]
        scores = np.array([0.5, 2, 1, 3])
        ((_, value, _),) = feval("mrr")(scores, data.construct())
        assert value == gw.evaluate("mrr", judgments, scores).mean["mrr"]

    def test_every_counts_each_entry_of_one_dataset_separately(self):
        data, valid, curves = lgb_dataset(TRAIN), lgb_dataset(VALID), {}
        valid.set_reference(data)
        options = {"valid_sets": [valid, valid], "valid_names": ["a", "b"], "feval": feval("mrr", every=3)}
        for _ in range(2):  # a second training starts counting again
            lgb.train(LGB, data, 10, callbacks=[lgb.record_evaluation(curves)], **options)
            assert [len(history["mrr"]) for history in curves.values()] == [4, 4]

    def test_parameters_of_none_are_none_to_lightgbm(self):
        run = train(rounds=1, params={"metric": None, "eval_at": None})
        assert list(run.curves["valid"])[-3:] == PANEL


def test_values_do_not_depend_on_the_gain_table_of_another_booster():
    """The built-in metric fails here, because its gain table belongs to the process."""
    params = {"metric": "ndcg", "eval_at": [10]}
    alone = train(rounds=6, params=params)
    others = []

    def disturb(env):
        others.append(lgb.Booster({**LGB, "metric": "ndcg", "label_gain": [0, 1, 2, 3, 4]}, lgb_dataset(TRAIN)))

    run = train(rounds=6, params=params, callbacks=[disturb])
    for number in range(1, 7):
        values = gw.evaluate(PANEL, VALID.judgments, run.model.predict(VALID.features, num_iteration=number)).mean
        assert {name: run.curve("valid", name)[number - 1] for name in PANEL} == pytest.approx(values, rel=1e-12)
    assert run.curve("valid", "ndcg@10") != alone.curve("valid", "ndcg@10")


class TestEarlyStopping:
    @pytest.mark.parametrize(
        ("params", "metric", "best"),
        [
            ({"metric": "ndcg", "eval_at": [3, 5]}, "ndcg@5", np.argmax),
            ({"objective": "regression", "metric": "l2"}, "l2", np.argmin),
        ],
    )
    def test_built_in_metrics(self, params, metric, best):
        run = train(rounds=30, params=params, stop={"metric": metric, "rounds": 4})
        assert run.best == best(run.curve("valid", metric)) + 1

    @pytest.mark.parametrize("rounds", [40, 7])
    def test_lightgbms_own_gets_the_direction_of_a_loss(self, rounds):
        curves = Curves(show=False)
        run = train([GAP], rounds, callbacks=[curves, lgb.early_stopping(6, verbose=False)])
        assert run.best == np.argmin(run.curve("valid", "first_gap")) + 1
        assert len(run.curve("valid", "first_gap")) == min(run.best + 6, rounds)
        assert f"kept round {run.best}." in str(curves)
        assert curve_values(curves.frame()) == run.curves

    @pytest.mark.filterwarnings("ignore:early stopping is not available with dart")
    @pytest.mark.parametrize("boosting", ["dart", "Dart"])
    def test_dart_runs_to_its_end(self, boosting):
        run = train(rounds=8, params={"boosting": boosting}, stop={"metric": "mrr", "rounds": 1})
        assert (run.best, run.model.current_iteration()) == (0, 8)

    def test_prints_the_best_round(self, capsys):
        stop = {"metric": "mrr", "rounds": 2, "verbose": True}
        run = train(rounds=30, params={"verbose": 0}, stop=stop)
        output = capsys.readouterr().out
        assert f"best iteration is {run.best}" in output
        start = DRIVER.train(TRAIN, {}, None, 5).model
        train(rounds=3, params={"verbose": 0}, stop=stop, start=start, eta=30.0)
        assert "best iteration is 5" in capsys.readouterr().out
        train(rounds=3, params={"verbose": 0}, stop={**stop, "verbose": False})
        assert "iteration" not in capsys.readouterr().out

    @pytest.mark.parametrize("kept", [True, False])
    def test_starting_values_are_those_of_all_functions_that_log(self, kept):
        start, data = DRIVER.train(TRAIN, {}, None, 8).model, lgb_dataset(TRAIN)
        options = {"init_model": start, "keep_training_booster": kept, "valid_sets": [lgb_dataset(VALID, data)]}
        options["callbacks"] = [early_stopping("ndcg_exp", 3, verbose=False)]
        booster = lgb.train({**LGB, "learning_rate": 30.0}, data, 3, feval=[feval("mrr"), feval("ndcg_exp")], **options)
        scores = start.predict(VALID.features)
        assert booster.best_score["valid_0"] == pytest.approx(
            gw.evaluate(["mrr", "ndcg_exp"], VALID.judgments, scores).mean, rel=1e-12
        )
        np.testing.assert_array_equal(booster.predict(VALID.features), scores)


class TestCrossValidation:
    FOLDS = list(GroupKFold(3).split(TRAIN.features, groups=TRAIN.qid))

    def cv(self, rounds=4, metrics=PANEL, params=(), **options):
        options.setdefault("folds", self.FOLDS)
        data = lgb_dataset(TRAIN)
        log = feval(metrics) if isinstance(metrics, list) else metrics
        return lgb.cv({**LGB, **dict(params)}, data, rounds, feval=log, return_cvbooster=True, **options)

    def expected(self, boosters, number):
        """The mean over the folds of the values of their models."""
        values = []
        for booster, (_, rows) in zip(boosters, self.FOLDS, strict=True):
            judgments = gw.Judgments(TRAIN.labels[rows], qid=TRAIN.qid[rows])
            scores = booster.predict(TRAIN.features[rows], num_iteration=number)
            values.append(list(gw.evaluate(PANEL, judgments, scores).mean.values()))
        return np.mean(values, axis=0)

    @pytest.mark.parametrize(
        "objective", ["lambdarank", lambda preds, data: (preds - data.get_label(), np.ones(len(preds)))]
    )
    def test_values_are_means_over_whole_queries(self, objective):
        found, curves = {}, Curves(show=False)
        found = self.cv(params={"objective": objective}, callbacks=[curves])
        for number in (1, 4):
            values = [found[f"valid {name}-mean"][number - 1] for name in PANEL]
            assert values == pytest.approx(self.expected(found["cvbooster"].boosters, number), rel=1e-12)
        expected = {"valid": {name: found[f"valid {name}-mean"] for name in PANEL}}
        assert curve_values(curves.frame()) == expected

    def test_folds_in_other_forms(self):
        one, other = self.cv(folds=GroupKFold(3)), self.cv()
        assert one["valid mrr-mean"] == other["valid mrr-mean"]
        assert len(self.cv(folds=None, nfold=3, eval_train_metric=True)["train mrr-mean"]) == 4  # LightGBM's own folds

    @pytest.mark.parametrize("every", [1, 3])
    def test_early_stopping(self, every):
        stop = early_stopping("ndcg_exp@10", rounds=4, verbose=False)
        found = self.cv(30, feval(PANEL, every=every), callbacks=[stop])
        curve = found["valid ndcg_exp@10-mean"]
        assert found["cvbooster"].best_iteration == every * (first_best(curve) - 1) + 1 < 30

    def test_a_subset_of_whole_queries(self):
        data = lgb_dataset(TRAIN).construct()
        part = data.subset(list(range(int(TRAIN.group[:10].sum()))))
        lgb.train(LGB, data, 1, valid_sets=[part], feval=feval("mrr"))


class TestCurves:
    def test_custom_and_built_in_metrics(self):
        def loss(scores, _):
            return "my_loss", float(np.abs(scores).mean()), False

        curves, data = Curves(["my_loss", "ndcg@3"], show=False), lgb_dataset(TRAIN)
        options = {"valid_sets": [lgb_dataset(VALID, data)], "feval": [feval(PANEL), loss], "callbacks": [curves]}
        lgb.train({**LGB, "metric": "ndcg", "eval_at": [3]}, data, 12, **options)
        frame, best = curves.frame(), curves.best.set_index("metric")["round"]
        assert best["my_loss"] == np.argmin(frame[frame["metric"] == "my_loss"]["value"]) + 1
        assert best["ndcg@3"] == np.argmax(frame[frame["metric"] == "ndcg@3"]["value"]) + 1

    @pytest.mark.filterwarnings("ignore:LightGBM's own early stopping")
    def test_the_round_of_another_stop_is_shown_without_our_metric(self):
        curves = Curves(show=False)
        callbacks = [curves, lgb.early_stopping(1, first_metric_only=True, verbose=False)]
        run = train(rounds=30, stop={"metric": "mrr", "rounds": 50}, callbacks=callbacks)
        assert f"kept round {run.best}." in str(curves)

    def test_the_end_of_the_process_shows_the_round_of_another_stop_once(self, capsys):
        curves = Curves(show="line")
        run = train(rounds=30, callbacks=[curves, lgb.early_stopping(1, first_metric_only=True, verbose=False)])
        _end_all()
        del curves
        output = capsys.readouterr().err
        assert (output.count("best at round"), output.count(f"kept round {run.best}.")) == (1, 1)

    @pytest.mark.filterwarnings("ignore:Early stopping is not available in dart mode")
    @pytest.mark.parametrize("options", [{"params": {"boosting": "dart"}}, {"every": 5}])
    def test_the_end_is_shown_if_the_stop_of_lightgbm_does_not_check_the_last_round(self, options, capsys):
        curves = Curves(show="line")
        train(rounds=8, callbacks=[curves, lgb.early_stopping(50, verbose=False)], **options)
        assert "over 8 rounds" in capsys.readouterr().err

    def test_training_data_of_any_name_are_passed_over(self):
        curves = Curves(show=False)
        train(sets={"mine": TRAIN, "held_out": VALID}, callbacks=[curves])
        assert "on held_out" in str(curves)
        assert curves.losses().equals(curves.losses("held_out"))


def test_an_error_names_the_dataset_by_its_size():
    data = lgb_dataset(TRAIN)
    with pytest.raises(ValueError, match="NaN among") as caught:
        lgb.train({**LGB, **DIVERGING}, data, 20, valid_sets=[data], feval=feval("mrr"))
    assert f"the dataset of {len(TRAIN.group)} queries and {len(TRAIN.labels)} documents" in str(caught.value)
