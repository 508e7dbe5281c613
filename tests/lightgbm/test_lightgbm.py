"""Training with LightGBM: what is logged, where it stops, and what is said about bad input."""

from __future__ import annotations

import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor

import lightgbm as lgb
import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold
from trainings import held_out

import gainsay as gs
from gainsay.data import simulate
from gainsay.lightgbm import early_stopping, eval_metric, feval

PANEL = ["ndcg_linear@10", "ndcg_exp@10", "ndcg_jk@5", "map@10", "mrr", "ndcg_power(gain_base=1.5)@10"]
PARAMS = {
    "objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 5,
    "num_leaves": 7,
}  # fmt: skip
FAR_TOO_LONG = {"learning_rate": 30.0, "num_leaves": 31}
"""Steps after which a good model is a bad one."""


@pytest.fixture(scope="module")
def parts():
    return simulate(120, seed=3, mean_length=25).split_queries(0.6, 0.4, seed=3)


def dataset(data, reference=None, **options):
    return lgb.Dataset(data.features, data.labels, group=data.group, reference=reference, **options)


@pytest.fixture
def train_set(parts):
    return dataset(parts[0])


@pytest.fixture
def valid_set(parts, train_set):
    return dataset(parts[1], train_set)


def train(train_set, valid_set, rounds=12, log=None, params=PARAMS, callbacks=(), **options):
    curves = {}
    options.setdefault("valid_sets", [valid_set])
    callbacks = [lgb.record_evaluation(curves), *callbacks]
    log = feval(PANEL) if log is None else log
    return lgb.train(params, train_set, rounds, feval=log, callbacks=callbacks, **options), curves


def first_maximum(curve):
    return int(np.argmax(curve)) + 1


class TestValues:
    def test_each_round_is_that_of_the_model_so_far(self, parts, train_set, valid_set):
        booster, curves = train(train_set, valid_set, rounds=5)
        for n in range(1, 6):
            scores = booster.predict(parts[1].features, num_iteration=n)
            expected = gs.evaluate(PANEL, parts[1].judgments(), scores).mean
            assert {name: curve[n - 1] for name, curve in curves["valid_0"].items()} == pytest.approx(
                expected, rel=1e-12
            )

    def test_equals_the_builtin_metric_under_its_convention(self, train_set, valid_set):
        params = {**PARAMS, "metric": "ndcg,map", "eval_at": [1, 5, 10]}
        ours = feval([f"{name}@{k}" for name in ("ndcg_exp", "map") for k in (1, 5, 10)], convention="lightgbm")
        _, curves = train(train_set, valid_set, 8, ours, params, valid_sets=[train_set, valid_set])
        for history in curves.values():
            for k in (1, 5, 10):
                for theirs, name in ((f"ndcg@{k}", "ndcg_exp"), (f"map@{k}", "map")):
                    (mine,) = (
                        curve for key, curve in history.items() if key.startswith(f"{name}(") and key.endswith(f"@{k}")
                    )
                    np.testing.assert_allclose(mine, history[theirs], rtol=1e-12)

    def test_document_weights_become_query_weights(self, parts):
        rng = np.random.default_rng(0)
        weight = np.repeat(rng.uniform(0.5, 2, len(parts[1].group)), parts[1].group)
        train_set = dataset(parts[0])
        valid_set = dataset(parts[1], train_set, weight=weight)
        booster, curves = train(train_set, valid_set, rounds=3)
        judgments = gs.Judgments(parts[1].labels, group=parts[1].group, weight=weight.astype(np.float32))
        expected = gs.evaluate(PANEL, judgments, booster.predict(parts[1].features)).mean
        assert {name: curve[-1] for name, curve in curves["valid_0"].items()} == pytest.approx(expected, rel=1e-12)

    def test_both_gains_hold_while_another_booster_has_another_gain_table(self, parts, train_set, valid_set):
        """The built-in metric does not survive this: its gain table belongs to the process."""
        params = {**PARAMS, "metric": "ndcg", "eval_at": [10]}
        _, alone = train(dataset(parts[0]), dataset(parts[1], train_set), 6, params=params)
        others = []

        def disturb(env):
            other = dataset(parts[0])
            others.append(lgb.Booster({**PARAMS, "metric": "ndcg", "label_gain": [0, 1, 2, 3, 4]}, other))

        booster, curves = train(train_set, valid_set, 6, params=params, callbacks=[disturb])
        for n in range(1, 7):
            scores = booster.predict(parts[1].features, num_iteration=n)
            expected = gs.evaluate(PANEL, parts[1].judgments(), scores).mean
            ours = {name: curves["valid_0"][name][n - 1] for name in PANEL}
            assert ours == pytest.approx(expected, rel=1e-12)
        assert curves["valid_0"]["ndcg@10"] != alone["valid_0"]["ndcg@10"]  # the trap is still there

    def test_new_labels_on_the_same_dataset_are_seen(self, parts):
        ours = feval(["mrr"])
        scores = np.arange(len(parts[1].labels), dtype=float)
        data = dataset(parts[1]).construct()
        assert ours(scores, data)[0][1] > 0
        data.set_label(np.zeros(len(scores)))
        assert ours(scores, data) == [("mrr", 0.0, True)]

    def test_predictions_are_not_kept_or_changed(self, parts):
        ours = feval(PANEL)
        data = dataset(parts[1]).construct()
        scores = np.random.default_rng(0).normal(size=len(parts[1].labels))
        before, alive = scores.copy(), weakref.ref(scores)
        ours(scores, data)
        assert np.array_equal(scores, before)
        del scores
        gc.collect()
        assert alive() is None

    def test_a_binding_goes_with_its_dataset(self, parts):
        ours = feval(["mrr"])
        data = dataset(parts[1]).construct()
        ours(np.arange(len(parts[1].labels), dtype=float), data)
        assert len(ours._bound._entries) == 1
        del data
        gc.collect()
        assert len(ours._bound._entries) == 0

    def test_can_be_pickled(self, parts):
        ours = feval(PANEL, every=2)
        copy = pickle.loads(pickle.dumps(ours))
        assert copy.panel.metrics == ours.panel.metrics
        assert copy.every == 2


class TestEarlyStopping:
    @pytest.mark.parametrize("metric", PANEL)
    def test_train_stops_at_the_first_maximum_of_the_named_metric(self, train_set, valid_set, metric):
        booster, curves = train(
            train_set, valid_set, 60, valid_sets=[train_set, valid_set], callbacks=[early_stopping(metric, rounds=6)]
        )
        curve = curves["valid_1"][metric]
        assert booster.best_iteration == first_maximum(curve)
        assert booster.best_score["valid_1"][metric] == max(curve)
        assert len(curve) == booster.best_iteration + 6
        assert set(booster.best_score["valid_1"]) == set(PANEL)

    def test_running_to_the_end_sets_the_best_round_too(self, train_set, valid_set):
        booster, curves = train(train_set, valid_set, 10, callbacks=[early_stopping("mrr", rounds=50)])
        assert len(curves["valid_0"]["mrr"]) == 10
        assert booster.best_iteration == first_maximum(curves["valid_0"]["mrr"])

    def test_the_data_set_can_be_named(self, train_set, valid_set):
        booster, curves = train(
            train_set,
            valid_set,
            20,
            valid_sets=[valid_set, train_set],
            valid_names=["held_out", "seen"],
            callbacks=[early_stopping("map@10", rounds=3, dataset="seen")],
        )
        assert booster.best_iteration == first_maximum(curves["seen"]["map@10"])

    def test_small_gains_do_not_count_with_min_delta(self, train_set, valid_set):
        booster, curves = train(train_set, valid_set, 40, callbacks=[early_stopping("mrr", rounds=5, min_delta=0.5)])
        assert booster.best_iteration == 1
        assert len(curves["valid_0"]["mrr"]) == 6

    def test_a_builtin_metric_can_be_named(self, train_set, valid_set):
        params = {**PARAMS, "metric": "ndcg", "eval_at": [3, 5]}
        booster, curves = train(train_set, valid_set, 30, params=params, callbacks=[early_stopping("ndcg@5", rounds=4)])
        assert booster.best_iteration == first_maximum(curves["valid_0"]["ndcg@5"])

    def test_lower_is_better_where_the_library_says_so(self, train_set, valid_set):
        params = {**PARAMS, "objective": "regression", "metric": "l2"}
        booster, curves = train(train_set, valid_set, 30, params=params, callbacks=[early_stopping("l2", rounds=3)])
        assert booster.best_iteration == int(np.argmin(curves["valid_0"]["l2"])) + 1

    def test_one_callback_serves_several_trainings(self, parts):
        stop = early_stopping("mrr", rounds=3)
        found = []
        for rate in (0.1, 0.5):
            train_set = dataset(parts[0])
            booster, curves = train(
                train_set, dataset(parts[1], train_set), 20, params={**PARAMS, "learning_rate": rate}, callbacks=[stop]
            )
            found.append((booster.best_iteration, first_maximum(curves["valid_0"]["mrr"])))
        assert all(best == expected for best, expected in found)

    def test_continued_training_counts_all_rounds(self, parts, train_set, valid_set):
        start = lgb.train(PARAMS, dataset(parts[0], free_raw_data=False), 3)
        train_set = dataset(parts[0], free_raw_data=False)
        booster, curves = train(
            train_set, dataset(parts[1], train_set, free_raw_data=False), 10, init_model=start,
            callbacks=[early_stopping("mrr", rounds=20)],
        )  # fmt: skip
        assert booster.best_iteration == 3 + first_maximum(curves["valid_0"]["mrr"])

    def test_one_callback_serves_several_threads(self, parts):
        rates = [0.05, 0.3, 0.9]
        together = early_stopping("mrr", rounds=4, verbose=False)

        def run(rate, stop):
            train_set = dataset(parts[0])
            params = {**PARAMS, "learning_rate": rate}
            booster, curves = train(train_set, dataset(parts[1], train_set), 25, params=params, callbacks=[stop])
            return booster.best_iteration, booster.best_score, curves

        with ThreadPoolExecutor(3) as pool:
            found = list(pool.map(lambda rate: run(rate, together), rates))
        assert found == [run(rate, early_stopping("mrr", rounds=4, verbose=False)) for rate in rates]

    @pytest.mark.parametrize("first", [True, False])
    @pytest.mark.parametrize("metric", PANEL)
    def test_comes_before_that_of_lightgbm_in_one_round(self, train_set, valid_set, first, metric):
        """Both end a training that runs to its end, and LightGBM calls those of one `order` in no particular one."""
        both = [lgb.early_stopping(90, verbose=False), early_stopping(metric, 90, verbose=False)]
        booster, curves = train(train_set, valid_set, 15, callbacks=both[:: 1 if first else -1])
        assert booster.best_iteration == first_maximum(curves["valid_0"][metric])

    def test_can_be_pickled_after_training(self, train_set, valid_set):
        stop = early_stopping("mrr", rounds=3, dataset="valid_0", min_delta=0.25, verbose=False)
        train(train_set, valid_set, 3, callbacks=[stop])
        again = pickle.loads(pickle.dumps(stop))
        for name in ("metric", "rounds", "dataset", "min_delta", "verbose", "order", "before_iteration"):
            assert getattr(again, name) == getattr(stop, name)

    def test_cv(self, parts):
        folds = list(GroupKFold(3).split(parts[0].features, groups=parts[0].qid))
        stop = early_stopping("ndcg_exp@10", rounds=4)
        result = lgb.cv(
            PARAMS, dataset(parts[0]), 30, folds=folds, feval=feval(PANEL), callbacks=[stop], return_cvbooster=True
        )
        curve = result["valid ndcg_exp@10-mean"]
        assert result["cvbooster"].best_iteration == len(curve) == first_maximum(curve)

    def test_ranker(self, parts):
        first, second = parts
        ranker = lgb.LGBMRanker(n_estimators=40, metric="None", verbose=-1, min_child_samples=5, n_jobs=1)
        ranker.fit(
            first.features, first.labels, group=first.group, **held_out(second),
            eval_group=[second.group], eval_metric=eval_metric(PANEL),
            callbacks=[early_stopping("ndcg_linear@10", rounds=5)],
        )  # fmt: skip
        curve = ranker.evals_result_["valid_0"]["ndcg_linear@10"]
        assert ranker.best_iteration_ == first_maximum(curve)
        assert ranker.best_score_["valid_0"]["ndcg_linear@10"] == max(curve)
        expected = gs.evaluate(PANEL, second.judgments(), ranker.predict(second.features)).mean
        assert dict(ranker.best_score_["valid_0"]) == pytest.approx(expected, rel=1e-12)

    def test_dart_is_left_alone(self, train_set, valid_set):
        params = {**PARAMS, "boosting": "dart"}
        with pytest.warns(UserWarning, match="not available with dart"):
            _, curves = train(train_set, valid_set, 8, params=params, callbacks=[early_stopping("mrr", rounds=1)])
        assert len(curves["valid_0"]["mrr"]) == 8

    def test_says_what_it_did(self, train_set, valid_set, capsys):
        params = {**PARAMS, "verbose": 0}
        booster, _ = train(train_set, valid_set, 30, params=params, callbacks=[early_stopping("mrr", rounds=2)])
        said = capsys.readouterr().out
        assert "Training until mrr does not improve for 2 rounds" in said
        assert f"best iteration is {booster.best_iteration} with mrr = " in said

    def test_can_be_silent(self, train_set, valid_set, capsys):
        train(train_set, valid_set, 5, callbacks=[early_stopping("mrr", rounds=2, verbose=False)])
        assert "iteration" not in capsys.readouterr().out


class TestContinued:
    """What a training goes on from sets what its first round must beat."""

    @pytest.fixture
    def start(self, parts):
        return lgb.train({**PARAMS, "num_leaves": 31}, dataset(parts[0]), 12)

    def spoil(self, start, parts, stop, form="Booster", params=PARAMS, **options):
        """Go on from a model with steps that are far too long."""
        train_set = dataset(parts[0])
        sets = {"valid_sets": [train_set, dataset(parts[1], train_set)], "valid_names": ["seen", "held out"]}
        params = {**params, **FAR_TOO_LONG}
        return train(train_set, None, 8, params=params, callbacks=[stop], init_model=start, **sets, **options)

    @pytest.mark.parametrize("metric", PANEL[:4])
    @pytest.mark.parametrize("kept", [True, False])
    def test_a_worse_model_is_not_returned(self, parts, start, metric, kept, capsys):
        stop = early_stopping(metric, rounds=3)
        quiet = {**PARAMS, "verbose": 0}
        booster, curves = self.spoil(start, parts, stop, params=quiet, keep_training_booster=kept)
        scores = start.predict(parts[1].features)
        before = gs.evaluate(PANEL, parts[1].judgments(), scores).mean
        assert max(curves["held out"][metric]) < before[metric]
        assert len(curves["held out"][metric]) == 3
        assert booster.best_iteration == 12
        np.testing.assert_array_equal(booster.predict(parts[1].features), scores)
        assert booster.best_score["held out"] == pytest.approx(before, rel=1e-12)
        seen = gs.evaluate(PANEL, parts[0].judgments(), start.predict(parts[0].features)).mean
        assert booster.best_score["seen"] == pytest.approx(seen, rel=1e-12)
        assert "no round is better than the model continued, best iteration is 12" in capsys.readouterr().out

    def test_from_a_file(self, parts, start, tmp_path):
        start.save_model(tmp_path / "start.txt")
        booster, _ = self.spoil(tmp_path / "start.txt", parts, early_stopping("map@10", rounds=3, verbose=False))
        assert booster.num_trees() == booster.best_iteration == 12

    def test_in_the_ranker(self, parts, start):
        first, second = parts
        ranker = lgb.LGBMRanker(n_estimators=5, learning_rate=30.0, metric="None", verbose=-1, n_jobs=1).fit(
            first.features, first.labels, group=first.group, **held_out(second),
            eval_group=[second.group], eval_metric=eval_metric(PANEL), init_model=start,
            callbacks=[early_stopping("ndcg_exp@10", rounds=2)],
        )  # fmt: skip
        scores = ranker.predict(second.features)
        np.testing.assert_array_equal(scores, start.predict(second.features))
        expected = gs.evaluate(PANEL, second.judgments(), scores).mean
        assert dict(ranker.best_score_["valid_0"]) == pytest.approx(expected, rel=1e-12)

    def test_weights_and_options_are_those_of_the_function_that_logs(self, parts, start):
        weight = np.repeat(np.random.default_rng(0).uniform(0.5, 2, len(parts[1].group)), parts[1].group)
        labels = parts[1].labels - 1
        train_set = dataset(parts[0])
        valid_set = lgb.Dataset(parts[1].features, labels, group=parts[1].group, weight=weight, reference=train_set)
        booster = lgb.train(
            {**PARAMS, **FAR_TOO_LONG}, train_set, 3, valid_sets=[valid_set], init_model=start,
            feval=[feval("mrr", negative_labels="zero"), feval("ndcg_exp", negative_labels="zero")],
            callbacks=[early_stopping("mrr", rounds=3, verbose=False)],
        )  # fmt: skip
        judgments = gs.Judgments(labels, group=parts[1].group, weight=weight.astype("f4"), negative_labels="zero")
        expected = gs.evaluate(["mrr", "ndcg_exp"], judgments, start.predict(parts[1].features)).mean
        assert booster.best_score["valid_0"] == pytest.approx(expected, rel=1e-12)

    def test_small_gains_over_it_do_not_count_with_min_delta(self, parts):
        start = lgb.train(PARAMS, dataset(parts[0]), 2)
        train_set = dataset(parts[0])
        stop = early_stopping("mrr", rounds=50, min_delta=0.9, verbose=False)
        booster, _ = train(train_set, dataset(parts[1], train_set), 9, init_model=start, callbacks=[stop])
        assert booster.best_iteration == 2

    def test_with_every(self, parts, start):
        train_set = dataset(parts[0])
        booster = lgb.train(
            {**PARAMS, **FAR_TOO_LONG}, train_set, 9, valid_sets=[dataset(parts[1], train_set)],
            init_model=start, feval=feval("map", every=4), callbacks=[early_stopping("map", rounds=2, verbose=False)],
        )  # fmt: skip
        assert booster.best_iteration == 12

    def test_a_metric_that_is_not_ours_warns(self, parts, start):
        params = {**PARAMS, "metric": "ndcg", "eval_at": [5]}
        with pytest.warns(UserWarning, match="'ndcg@5' does not know the value of the model that is continued"):
            self.spoil(start, parts, early_stopping("ndcg@5", rounds=3), params=params)

    def test_cv_warns(self, parts, start):
        """LightGBM counts from 0 there, whatever the models of the folds hold already."""
        with pytest.warns(UserWarning, match="lightgbm.cv counts the rounds of a continued model from 0"):
            lgb.cv(
                PARAMS, dataset(parts[0], free_raw_data=False), 3, folds=GroupKFold(3), init_model=start,
                feval=feval("mrr"), callbacks=[early_stopping("mrr", rounds=3, verbose=False)],
            )  # fmt: skip


class TestFolds:
    """Rows in folds make a query of what is left of each, so that every metric ranks fewer documents."""

    def cv(self, parts, ours=True, params=PARAMS, **options):
        return lgb.cv(
            params, dataset(parts[0]), 2, feval=feval(["ndcg_linear@10"]) if ours else None, **options
        )  # fmt: skip

    @staticmethod
    def rows(parts):
        return list(KFold(5, shuffle=True, random_state=0).split(parts[0].features))

    def test_that_split_queries_are_refused(self, parts):
        message = (
            r"folds split queries: \d+ of the \d+ queries of this one are not whole, the first is query 0, of which it "
            r"holds \d+ of \d+ documents. Give lightgbm.cv folds=sklearn.model_selection.GroupKFold\(5\)"
        )
        with pytest.raises(ValueError, match=message):
            self.cv(parts, folds=self.rows(parts))
        rows = list(KFold(3).split(parts[0].features))
        with pytest.raises(ValueError, match=r"folds split queries: 1 of the 2\d queries"):
            self.cv(parts, folds=rows)

    def test_of_an_objective_of_ones_own_are_refused(self, parts):
        def squares(preds, data):
            return preds - data.get_label(), np.ones(len(preds))

        params = {**PARAMS, "objective": squares}
        with pytest.raises(ValueError, match="folds split queries"):
            self.cv(parts, params=params, stratified=False)
        result = self.cv(parts, params=params, folds=GroupKFold(5), return_cvbooster=True)
        values = []
        for booster, (_, rows) in zip(
            result["cvbooster"].boosters, GroupKFold(5).split(parts[0].labels, groups=parts[0].qid), strict=True
        ):
            judgments = gs.Judgments(parts[0].labels[rows], qid=parts[0].qid[rows])
            scores = booster.predict(parts[0].features[rows])
            values.append(gs.evaluate("ndcg_linear@10", judgments, scores).mean["ndcg_linear@10"])
        assert result["valid ndcg_linear@10-mean"][-1] == pytest.approx(np.mean(values), rel=1e-12)

    def test_of_whole_queries_are_taken_in_any_form(self, parts):
        whole = list(GroupKFold(5).split(parts[0].features, groups=parts[0].qid))
        assert self.cv(parts, folds=GroupKFold(5)) == self.cv(parts, folds=whole)
        self.cv(parts)  # LightGBM's own, for a ranking objective
        self.cv(parts, folds=whole, eval_train_metric=True)

    def test_that_split_queries_flatter_the_builtin_metric(self, parts):
        """Why: the same model, the same metric."""
        params = {**PARAMS, "metric": "ndcg", "eval_at": [10], "learning_rate": 1e-9}
        split = self.cv(parts, False, params, folds=self.rows(parts))
        whole = self.cv(parts, False, params, folds=GroupKFold(5))
        assert split["valid ndcg@10-mean"][-1] > whole["valid ndcg@10-mean"][-1] + 0.1

    def test_a_subset_that_splits_queries_is_refused_in_train(self, parts):
        train_set = dataset(parts[0], free_raw_data=False).construct()
        part = train_set.subset(list(range(0, len(parts[0].labels), 2)))
        with pytest.raises(ValueError, match="folds split queries"):
            lgb.train(PARAMS, train_set, 1, valid_sets=[part], feval=feval("mrr"))
        rows = range(int(parts[0].group[:10].sum()))
        lgb.train(PARAMS, train_set, 1, valid_sets=[train_set.subset(list(rows))], feval=feval("mrr"))


class TestEvery:
    def run(self, parts, callbacks=(), rounds=20):
        train_set = dataset(parts[0])
        valid_set = dataset(parts[1], train_set)
        booster, curves = train(train_set, valid_set, rounds, feval(PANEL, every=4), callbacks=callbacks)
        return booster, curves["valid_0"]

    def test_only_every_nth_round_is_evaluated(self, parts, train_set, valid_set):
        _, sparse = self.run(parts)
        _, curves = train(train_set, valid_set, 20)
        for name in PANEL:
            assert sparse[name] == curves["valid_0"][name][::4]

    def test_a_second_training_starts_counting_anew(self, parts):
        ours = feval(["mrr"], every=4)
        train_set = dataset(parts[0], free_raw_data=False)
        valid_set = dataset(parts[1], train_set, free_raw_data=False)
        for _ in range(2):
            _, curves = train(train_set, valid_set, 6, ours)
            assert len(curves["valid_0"]["mrr"]) == 2

    def test_early_stopping_counts_boosting_rounds(self, parts):
        seen = []
        callbacks = [lambda env: seen.append(env.iteration + 1), early_stopping("ndcg_jk@5", rounds=6)]
        booster, curve = self.run(parts, callbacks, rounds=80)
        assert booster.best_iteration == 4 * first_maximum(curve["ndcg_jk@5"]) - 3
        assert seen[-1] == booster.best_iteration + 6

    def test_early_stopping_waits_for_a_second_evaluation(self, train_set, valid_set):
        stop = early_stopping("mrr", rounds=2)
        booster, curves = train(train_set, valid_set, 90, feval("mrr", every=10), callbacks=[stop])
        curve = curves["valid_0"]["mrr"]
        first_fall = int(np.argmax(np.diff(curve) <= 0))
        assert booster.best_iteration == 10 * first_fall + 1
        assert len(curve) == first_fall + 2

    def test_counts_each_entry_of_one_data_set_by_itself(self, train_set, valid_set):
        _, curves = train(
            train_set, None, 10, feval("mrr", every=3), valid_sets=[valid_set, valid_set], valid_names=["a", "b"]
        )
        assert len(curves["a"]["mrr"]) == len(curves["b"]["mrr"]) == 4

    def test_early_stopping_refuses_a_name_that_never_comes(self, parts):
        with pytest.raises(ValueError, match=r"no metric 'mrr@3' is logged"):
            self.run(parts, [early_stopping("mrr@3", rounds=2)])

    def test_in_cv(self, parts):
        folds = list(GroupKFold(2).split(parts[0].features, groups=parts[0].qid))
        result = lgb.cv(
            PARAMS, dataset(parts[0]), 9, folds=folds, feval=feval(["mrr"], every=3),
            callbacks=[early_stopping("mrr", rounds=100)], return_cvbooster=True,
        )  # fmt: skip
        assert result["cvbooster"].best_iteration == 3 * first_maximum(result["valid mrr-mean"]) - 2

    def test_in_the_ranker(self, parts):
        first, second = parts
        ranker = lgb.LGBMRanker(n_estimators=9, metric="None", verbose=-1, n_jobs=1).fit(
            first.features, first.labels, group=first.group, **held_out(second),
            eval_group=[second.group], eval_metric=eval_metric(["mrr"], every=3),
            callbacks=[early_stopping("mrr", rounds=50)],
        )  # fmt: skip
        assert ranker.best_iteration_ == 3 * first_maximum(ranker.evals_result_["valid_0"]["mrr"]) - 2


class TestBadInput:
    def test_a_name_that_does_not_occur(self, train_set, valid_set):
        message = (
            r"no metric 'ndcg_exp@5' is logged on 'valid_0'; did you mean 'ndcg_exp@10'\?.*there are: ndcg_linear@10, "
        )
        with pytest.raises(ValueError, match=message):
            train(train_set, valid_set, callbacks=[early_stopping("ndcg_exp@5", rounds=3)])

    def test_a_metric_that_nobody_evaluates(self, train_set, valid_set):
        params = {**PARAMS, "metric": "ndcg"}
        with pytest.raises(ValueError, match=r"no metric 'mrr'.*pass feval=gainsay.lightgbm.feval\(\['mrr'\]\)"):
            lgb.train(params, train_set, 5, valid_sets=[valid_set], callbacks=[early_stopping("mrr", rounds=3)])

    def test_a_data_set_that_does_not_occur(self, train_set, valid_set):
        with pytest.raises(ValueError, match=r"no data set 'valid' is evaluated; did you mean 'valid_0'\?"):
            train(train_set, valid_set, callbacks=[early_stopping("mrr", rounds=3, dataset="valid")])

    def test_no_validation_data(self, train_set):
        with pytest.raises(ValueError, match="has nothing to look at"):
            lgb.train(PARAMS, train_set, 5, feval=feval(PANEL), callbacks=[early_stopping("mrr", rounds=3)])

    def test_training_data_only(self, train_set):
        with pytest.raises(ValueError, match="needs validation data: only the training data"):
            train(train_set, None, valid_sets=[train_set], callbacks=[early_stopping("mrr", rounds=3)])

    def test_no_group(self, parts):
        data = lgb.Dataset(parts[0].features, parts[0].labels)
        params = {**PARAMS, "objective": "regression"}
        with pytest.raises(ValueError, match="the data set has no groups: give it group="):
            lgb.train(params, data, 1, valid_sets=[data], feval=feval(PANEL))

    def test_no_group_in_an_estimator(self, parts):
        with pytest.raises(ValueError, match="the data set has no groups"):
            lgb.LGBMRegressor(n_estimators=1, verbose=-1, n_jobs=1).fit(
                parts[0].features, parts[0].labels, **held_out(parts[1]),
                eval_metric=eval_metric(PANEL),
            )  # fmt: skip

    def test_nan_scores_name_round_and_query(self, parts):
        ours = feval(PANEL)
        data = dataset(parts[1]).construct()
        scores = np.zeros(len(parts[1].labels))
        ours(scores, data)
        scores[parts[1].group[0] + 1] = np.nan
        with pytest.raises(
            ValueError,
            match=r"in boosting round 2 on the data set of 48 queries and 1281 documents: "
            r"scores holds 1 NaN among 1281, the first at row 26 \(query 1\)",
        ):
            ours(scores, data)

    def test_negative_labels(self, parts):
        data = lgb.Dataset(parts[0].features, parts[0].labels - 1, group=parts[0].group)
        params = {**PARAMS, "objective": "regression"}
        with pytest.raises(ValueError, match="labels must not be negative"):
            lgb.train(params, data, 1, valid_sets=[data], feval=feval(["ndcg_linear"]))
        lgb.train(params, data, 1, valid_sets=[data], feval=feval(["ndcg_linear"], negative_labels="allow"))

    @pytest.mark.parametrize("metric", ["map", ["mean_average_precision"], "ndcg,map"])
    @pytest.mark.parametrize("at", ["5,10", [5, 10], {5, 10}, np.array([5, 10])], ids=type)
    def test_a_name_that_a_builtin_metric_has_too(self, train_set, valid_set, metric, at):
        params = {**PARAMS, "metric": metric, "eval_at": at}
        with pytest.raises(ValueError, match="LightGBM itself logs a metric named 'map@10'"):
            train(train_set, valid_set, params=params)

    def test_parameters_that_are_none_are_none_to_lightgbm(self, train_set, valid_set):
        params = {**PARAMS, "metric": None, "eval_at": None}
        assert list(train(train_set, valid_set, 1, params=params)[1]["valid_0"])[-len(PANEL) :] == PANEL

    def test_two_evaluation_functions_with_one_name(self, train_set, valid_set):
        with pytest.raises(ValueError, match="named 'mrr'"):
            lgb.train(
                PARAMS, train_set, 3, valid_sets=[valid_set], feval=[feval(["mrr"]), feval(["mrr"])],
                callbacks=[early_stopping("mrr", rounds=3)],
            )  # fmt: skip

    def test_bare_ndcg_is_refused_before_training(self):
        with pytest.raises(ValueError, match="ndcg_linear@10"):
            feval(["ndcg@10"])

    @pytest.mark.parametrize("make", [lambda n: feval(["mrr"], every=n), lambda n: early_stopping("mrr", rounds=n)])
    @pytest.mark.parametrize(("n", "error"), [(0, ValueError), (-1, ValueError), (1.5, ValueError), (True, TypeError)])
    def test_rounds_that_make_no_sense(self, make, n, error):
        with pytest.raises(error, match="must be"):
            make(n)

    @pytest.mark.parametrize("delta", [-0.1, float("nan")])
    def test_min_delta_that_makes_no_sense(self, delta):
        with pytest.raises(ValueError, match="min_delta must be at least 0, got"):
            early_stopping("mrr", rounds=3, min_delta=delta)


class TestMisuse:
    def test_feval_in_the_ranker(self):
        """`LGBMRanker` calls a function of two parameters with labels and scores."""
        with pytest.raises(TypeError, match=r"feval is for lightgbm.train and lightgbm.cv; give LGBMRanker.fit"):
            feval(["mrr"])(np.array([0.0, 1.0]), np.array([0.1, 0.2]))

    def test_eval_metric_in_train(self, train_set, valid_set):
        with pytest.raises(TypeError, match=r"eval_metric is for LGBMRanker.fit; give lightgbm.train"):
            lgb.train(PARAMS, train_set, 1, valid_sets=[valid_set], feval=eval_metric(["mrr"]))

    @pytest.mark.parametrize("make", [feval, eval_metric])
    @pytest.mark.parametrize(
        ("arguments", "error", "message"),
        [
            ({"negative_labels": "ignore"}, ValueError, "negative_labels must be 'refuse', 'allow' or 'zero'"),
            ({"n_jobs": 0}, ValueError, "n_jobs must be a whole number of threads, at least 1, got 0"),
            ({"n_jobs": "2"}, TypeError, "n_jobs must be a whole number of threads, at least 1, got '2'"),
        ],
    )
    def test_options_are_checked_at_once(self, make, arguments, error, message):
        with pytest.raises(error, match=message):
            make("mrr", **arguments)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"metric": ["mrr"]}, r"metric must be one name, .*got \['mrr'\]"),
            ({"metric": None}, "metric must be one name, .*got None"),
            ({"min_delta": "a"}, "min_delta must be a number, got 'a'"),
            ({"dataset": 0}, "dataset must be the name of a data set, got 0"),
        ],
    )
    def test_arguments_of_early_stopping(self, arguments, message):
        with pytest.raises(TypeError, match=message):
            early_stopping(**{"metric": "mrr", "rounds": 3, **arguments})

    def test_numpy_integers_are_whole_numbers(self):
        assert early_stopping("mrr", np.int64(3)).rounds == 3
        assert feval("mrr", every=np.int64(2)).every == 2
