"""Behavior of LightGBM that the tests of adapters do not cover. A test fails if the library changes.

The weight of queries without relevant documents: see the tests of oracles.
"""

import lightgbm as lgb
import numpy as np
import pytest

PARAMS = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 1}
SIZES = np.full(10, 6)
ROWS = int(SIZES.sum())
FEATURES = np.random.default_rng(0).normal(size=(ROWS, 3))
LABELS = np.random.default_rng(1).integers(0, 3, ROWS)


def dataset(reference=None, labels=LABELS, **options):
    return lgb.Dataset(FEATURES, labels, group=SIZES, reference=reference, **options)


def constant(preds, data):
    return "constant", 1.0, True


def train(rounds=3, *, feval=constant, params=PARAMS, callbacks=(), train_set=None, **options):
    """Return the booster and its log."""
    train_set = train_set or dataset()
    options.setdefault("valid_sets", [dataset(train_set)])
    curves = {}
    booster = lgb.train(
        params, train_set, rounds, feval=feval, callbacks=[lgb.record_evaluation(curves), *callbacks], **options
    )
    return booster, curves


def test_first_metric_only_prefers_a_builtin_metric():
    values = iter(range(0, -20, -1))
    params = {**PARAMS, "objective": "regression", "metric": "l2"}
    stop = lgb.early_stopping(3, first_metric_only=True, verbose=False)
    _, curves = train(20, feval=lambda *_: ("falls", next(values), True), params=params, callbacks=[stop])
    assert list(curves["valid_0"]) == ["l2", "falls"]
    assert len(curves["valid_0"]["falls"]) == 20


@pytest.mark.parametrize(("label", "message"), [(31, "Label 31 is"), (0.5, "int type"), (-1, "negative")])
def test_lambdarank_accepts_whole_labels_up_to_30(label, message):
    assert lgb.train(PARAMS, dataset(labels=np.full(ROWS, 30)), 1).num_trees() == 1
    with pytest.raises(lgb.basic.LightGBMError, match=message):
        lgb.train(PARAMS, dataset(labels=np.full(ROWS, label)), 1)


def test_a_continued_cv_counts_from_0_and_cuts_the_models_of_folds_there():
    start, _ = train(4)
    found = lgb.cv(
        PARAMS, dataset(free_raw_data=False), 3, nfold=2, stratified=False, feval=constant, init_model=start,
        callbacks=[lgb.early_stopping(1, verbose=False)], return_cvbooster=True,
    )["cvbooster"]  # fmt: skip
    assert found.best_iteration == 1
    for booster in found.boosters:
        np.testing.assert_array_equal(booster.predict(FEATURES), start.predict(FEATURES, num_iteration=1))
