"""What LightGBM does that our adapter is built on, and the traps that it avoids: each fails when the library changes.

The weight of queries without relevant documents: see the tests of oracles.
"""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pytest

PARAMS = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 1}
SIZES = np.full(10, 6)
ROWS = int(SIZES.sum())
FEATURES = np.random.default_rng(0).normal(size=(ROWS, 3))
LABELS = np.random.default_rng(1).integers(0, 3, ROWS)
NEW_EVAL_ARGUMENTS = "eval_X" in lgb.LGBMRanker.fit.__code__.co_varnames


def dataset(reference=None, labels=LABELS, **options):
    return lgb.Dataset(FEATURES, labels, group=SIZES, reference=reference, **options)


def constant(preds, data):
    return "constant", 1.0, True


def train(rounds=3, *, feval=constant, params=PARAMS, callbacks=(), train_set=None, **options):
    """The booster and what it logged."""
    train_set = train_set or dataset()
    options.setdefault("valid_sets", [dataset(train_set)])
    curves = {}
    booster = lgb.train(
        params, train_set, rounds, feval=feval, callbacks=[lgb.record_evaluation(curves), *callbacks], **options
    )
    return booster, curves


@pytest.fixture(scope="module")
def calls():
    """Predictions and data set of each call of two functions over three rounds, and a copy of what they held then."""
    calls = []

    def look(preds, data):
        calls.append((preds, data, preds.copy()))
        return "any", 1.0, True

    train(3, feval=[look, look])
    assert len(calls) == 6
    return calls


class TestEvaluationFunction:
    def test_predictions_are_64_bit_and_flat(self, calls):
        assert {(preds.dtype, preds.shape) for preds, _, _ in calls} == {(np.dtype(np.float64), (ROWS,))}

    def test_one_buffer_serves_all_rounds_and_functions(self, calls):
        assert len({preds.__array_interface__["data"][0] for preds, _, _ in calls}) == 1
        assert not np.array_equal(calls[0][0], calls[0][2])  # the first round's predictions have been overwritten

    def test_data_set_is_the_same_object_in_all_rounds(self, calls):
        assert len({id(data) for _, data, _ in calls}) == 1

    @pytest.mark.parametrize("free_raw_data", [True, False])
    def test_labels_and_groups_are_cached_and_outlive_the_features(self, free_raw_data):
        train_set = dataset(free_raw_data=free_raw_data)
        data = dataset(train_set, free_raw_data=free_raw_data)
        train(1, train_set=train_set, valid_sets=[data])
        assert data.get_label() is data.get_label()
        assert data.get_group() is data.get_group()
        assert data.get_label().dtype == np.float32
        assert data.get_group().dtype == np.int32
        np.testing.assert_array_equal(data.get_label(), LABELS)
        np.testing.assert_array_equal(data.get_group(), SIZES)

    def test_a_name_of_a_builtin_metric_is_interleaved_with_it(self):
        params = {**PARAMS, "metric": "ndcg", "eval_at": [2]}
        _, curves = train(2, feval=lambda *_: ("ndcg@2", -5.0, True), params=params)
        assert curves["valid_0"]["ndcg@2"][1::2] == [-5.0, -5.0]
        assert len(curves["valid_0"]["ndcg@2"]) == 4


class TestEstimator:
    """`eval_metric` is called by the number of parameters in its signature."""

    @staticmethod
    def fit(metric):
        names = {"eval_X": FEATURES, "eval_y": LABELS} if NEW_EVAL_ARGUMENTS else {"eval_set": [(FEATURES, LABELS)]}
        ranker = lgb.LGBMRanker(metric="None", n_estimators=1, verbose=-1, n_jobs=1, min_child_samples=1)
        ranker.fit(FEATURES, LABELS, group=SIZES, eval_group=[SIZES], eval_metric=metric, **names)
        (history,) = ranker.evals_result_.values()
        return history

    def test_four_parameters_get_the_groups(self):
        seen = []

        def metric(y_true, y_pred, weight, group):
            seen.append((y_true, y_pred, weight, group))
            return "queries", float(len(group)), True

        assert self.fit(metric) == {"queries": [len(SIZES)]}
        ((y_true, y_pred, weight, group),) = seen
        np.testing.assert_array_equal(y_true, LABELS)
        assert y_pred.shape == (ROWS,)
        assert weight is None
        np.testing.assert_array_equal(group, SIZES)


class TestEarlyStopping:
    def test_a_callback_of_ones_own_may_stop(self):
        def stop(env):
            if env.iteration == 4:
                raise lgb.callback.EarlyStopException(1, env.evaluation_result_list)

        stop.order = 30
        booster, curves = train(20, callbacks=[stop])
        assert len(curves["valid_0"]["constant"]) == 5
        assert booster.best_iteration == 2
        assert booster.best_score["valid_0"] == {"constant": 1.0}

    def test_is_off_for_dart(self):
        with pytest.warns(UserWarning, match="in dart mode"):
            _, curves = train(
                8, params={**PARAMS, "boosting": "dart"},
                callbacks=[lgb.early_stopping(1, verbose=False)],
            )  # fmt: skip
        assert len(curves["valid_0"]["constant"]) == 8


def test_the_gain_table_belongs_to_the_process():
    scores = np.random.default_rng(2).normal(size=ROWS)
    params = {**PARAMS, "metric": "ndcg", "eval_at": [5]}
    first = lgb.Booster(params, dataset(init_score=scores))
    ((_, _, before, _),) = first.eval_train()
    other = lgb.Booster({**params, "label_gain": [0, 1, 50]}, dataset(init_score=scores))
    ((_, _, after, _),) = first.eval_train()
    assert after != before
    assert after == other.eval_train()[0][2] or after > 1
    lgb.Booster(params, dataset(init_score=scores))
    assert first.eval_train()[0][2] == before


class TestLambdarankLabels:
    @pytest.mark.parametrize(
        ("label", "message"),
        [(31, "Label 31 is"), (0.5, "int type"), (-1, "negative")],
    )
    def test_that_are_refused(self, label, message):
        with pytest.raises(lgb.basic.LightGBMError, match=message):
            lgb.train(PARAMS, dataset(labels=np.full(ROWS, label)), 1)


class TestContinued:
    def test_data_sets_hold_the_scores_of_the_model_before(self):
        start, _ = train(4)
        seen = []

        def look(env):
            if env.iteration == env.begin_iteration:
                sets = [env.model.train_set, *env.model.valid_sets]
                seen.extend([env.begin_iteration, *(data.get_init_score() for data in sets)])

        train(2, callbacks=[look], init_model=start)
        assert seen[0] == 4
        np.testing.assert_array_equal(seen[1], start.predict(FEATURES))
        np.testing.assert_array_equal(seen[2], start.predict(FEATURES))

    def test_its_own_stopping_does_not_know_the_model_before(self):
        start, _ = train(4)
        booster, _ = train(5, callbacks=[lgb.early_stopping(2, verbose=False)], init_model=start)
        assert booster.best_iteration == 5

    def test_a_model_is_saved_up_to_its_best_round(self):
        def stop(env):
            raise lgb.callback.EarlyStopException(env.begin_iteration - 1, env.evaluation_result_list)

        stop.order = 30
        start, _ = train(4)
        booster, _ = train(5, callbacks=[stop], init_model=start)
        assert booster.num_trees() == booster.best_iteration == 4
        np.testing.assert_array_equal(booster.predict(FEATURES), start.predict(FEATURES))

    def test_cv_counts_from_0_and_cuts_the_models_of_folds_there(self):
        start, _ = train(4)
        found = lgb.cv(
            PARAMS, dataset(free_raw_data=False), 3, nfold=2, stratified=False, feval=constant, init_model=start,
            callbacks=[lgb.early_stopping(1, verbose=False)], return_cvbooster=True,
        )["cvbooster"]  # fmt: skip
        assert found.best_iteration == 1
        for booster in found.boosters:
            np.testing.assert_array_equal(booster.predict(FEATURES), start.predict(FEATURES, num_iteration=1))


class TestCrossValidation:
    @staticmethod
    def groups_seen(objective):
        seen = []

        def look(preds, data):
            seen.append(data.get_group())
            return "any", 1.0, True

        lgb.cv({**PARAMS, "objective": objective}, dataset(), 1, nfold=2, stratified=False, feval=look)
        return seen

    def test_groups_are_whole_for_an_objective_named_by_a_string(self):
        assert all((sizes == SIZES[0]).all() for sizes in self.groups_seen("lambdarank"))

    def test_rows_of_a_fold_can_be_read(self):
        """What shows that queries are split: which rows of which data set a fold holds."""
        seen = []

        def look(preds, data):
            seen.append((data.used_indices, data.reference.get_group()))
            return "any", 1.0, True

        rows = np.arange(ROWS)
        lgb.cv(PARAMS, dataset(), 1, folds=[(rows[::2], rows[1::2])], feval=look)
        ((used, sizes),) = seen
        np.testing.assert_array_equal(used, rows[1::2])
        np.testing.assert_array_equal(sizes, SIZES)

    def test_queries_are_split_without_a_word_for_an_objective_of_ones_own(self):
        def squares(preds, data):
            return preds - data.get_label(), np.ones(len(preds))

        assert not all((sizes == SIZES[0]).all() for sizes in self.groups_seen(squares))
