"""Behavior of XGBoost that the tests of adapters do not cover. A test fails if the library changes.

Built-in metrics that stop at 32, and weights of queries without relevant documents: see the tests of oracles.
"""

import numpy as np
import pytest
import xgboost as xgb

PARAMS = {"objective": "rank:ndcg", "nthread": 1, "eval_metric": "ndcg@3"}
SIZES = np.full(10, 6)
ROWS = int(SIZES.sum())
FEATURES = np.random.default_rng(0).normal(size=(ROWS, 3))
LABELS = np.random.default_rng(1).integers(0, 5, ROWS)


def matrix(labels=LABELS, weight=None):
    data = xgb.DMatrix(FEATURES, labels, nthread=1)
    data.set_group(SIZES)
    if weight is not None:
        data.set_weight(weight)
    return data


def train(rounds=1, metric=None, *, callbacks=(), name="valid", params=PARAMS):
    """Return the booster and its log."""
    curves = {}
    booster = xgb.train(
        params, matrix(), rounds, evals=[(matrix(), name)], custom_metric=metric, callbacks=list(callbacks),
        evals_result=curves, verbose_eval=False,
    )  # fmt: skip
    return booster, curves


@pytest.mark.parametrize("name", ["a:b", "a b"])
def test_metric_names_hold_no_colon_and_no_blank(name):
    with pytest.raises(ValueError, match="values to unpack"):
        train(1, lambda *_: (name, 1.0))


@pytest.mark.parametrize(
    ("name", "rises"),
    [("mrr", False), ("hit", False), ("recall", False), ("auc_of_mine", True), ("map_of_mine", True),
     ("ndcg_linear", True), ("pre_of_mine", True)],
)  # fmt: skip
def test_direction_is_guessed_from_the_beginning_of_the_name(name, rises):
    values = iter(range(10))
    stop = xgb.callback.EarlyStopping(rounds=3, metric_name=name)
    booster, _ = train(8, lambda *_: (name, float(next(values))), callbacks=[stop])
    assert booster.best_iteration == (7 if rises else 0)


def test_a_continued_training_keeps_all_rounds_and_attributes():
    start, _ = train(5)
    start.set_attr(best_iteration="1", best_score="0.5")
    booster = xgb.train(PARAMS, matrix(), 2, xgb_model=start)
    assert booster.num_boosted_rounds() == 7
    assert booster.best_iteration == 1  # An estimator would predict with it after further training.
    np.testing.assert_array_equal(
        booster.predict(matrix(), iteration_range=(0, 5)), start.predict(matrix(), iteration_range=(0, 5))
    )


def test_a_metric_given_to_the_estimator_is_called_by_query_and_weighted_by_size():
    labels = np.zeros(ROWS)
    labels[0] = 1
    qid = np.repeat([0, 1], [10, ROWS - 10])
    calls = []

    def first_label(y_true, y_score):
        calls.append(len(y_true))
        return float(y_true[0])

    ranker = xgb.XGBRanker(n_estimators=1, eval_metric=first_label, n_jobs=1)
    ranker.fit(
        FEATURES, labels, qid=qid, eval_set=[(FEATURES, labels)], eval_qid=[qid],
        sample_weight_eval_set=[np.array([3.0, 1.0])], verbose=False,
    )  # fmt: skip
    assert sorted(calls) == [10, ROWS - 10]
    assert ranker.evals_result()["validation_0"]["first_label"] == [pytest.approx(10 / ROWS, abs=1e-6)]


def test_groups_of_cv_are_whole_but_their_weights_are_gone():
    seen = []

    def look(predt, data):
        seen.append((data.get_group(), data.get_weight()))
        return "any", 1.0

    xgb.cv(PARAMS, matrix(weight=np.arange(1.0, 11.0)), 1, nfold=2, custom_metric=look)
    assert all((group == SIZES[0]).all() for group, _ in seen)
    assert all(len(weight) == 0 for _, weight in seen)
