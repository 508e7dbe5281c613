"""What is specific to CatBoost: shuffled training data, its own detector, and snapshots. See tests/adapters."""

import copy
import pickle

import catboost
import numpy as np
import pytest
from tests.adapters.drivers import CATBOOST, catboost_pool, make_part

import gainwise as gw
from gainwise.catboost import eval_metric

TRAIN, VALID, OTHER = make_part(1, 50), make_part(6), make_part(7)
NAME = "ndcg_exp@10"
SHUFFLED = {"boosting_type": "Ordered", "loss_function": "QueryRMSE"}


def ranker(metric, **options):
    return catboost.CatBoostRanker(**{"iterations": 12, "eval_metric": metric, **CATBOOST, **options})


def rounds(model, part):
    """Return the values of the model after each round."""
    scores = model.staged_predict(part.features)
    return pytest.approx([gw.evaluate(NAME, part.judgments, one).mean[NAME] for one in scores], rel=1e-12)


@pytest.fixture(scope="module")
def pools():
    return catboost_pool(TRAIN), catboost_pool(VALID)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """`cv` writes a folder catboost_info even with `allow_writing_files=False`."""
    monkeypatch.chdir(tmp_path)


class TestShuffledTrainingData:
    def test_logs_zero_with_a_warning_and_exact_eval_sets(self, pools):
        model = ranker(eval_metric(NAME, *pools), **SHUFFLED)
        with pytest.warns(UserWarning, match="shuffled the training"):
            curves = model.fit(pools[0], eval_set=pools[1], use_best_model=False).evals_result_
        assert set(curves["learn"][NAME]) == {0.0}
        assert curves["validation"][NAME] == rounds(model, VALID)

    def test_kept_in_order(self, pools):
        model = ranker(eval_metric(NAME, *pools), has_time=True, **SHUFFLED)
        curves = model.fit(pools[0], eval_set=pools[1], use_best_model=False).evals_result_
        assert curves["learn"][NAME] == rounds(model, TRAIN)


class TestStopping:
    def test_the_model_is_cut_at_the_best_round(self, pools):
        model = ranker(eval_metric(NAME, *pools), iterations=60, early_stopping_rounds=7)
        model.fit(pools[0], eval_set=pools[1])
        curve = model.evals_result_["validation"][NAME]
        best = curve.index(max(curve))
        assert (model.best_iteration_, model.tree_count_, len(curve)) == (best, best + 1, best + 8)
        again = pickle.loads(pickle.dumps(model))
        assert np.array_equal(again.predict(VALID.features), model.predict(VALID.features))

    @pytest.mark.parametrize("order", [[VALID, OTHER], [OTHER, VALID]])
    def test_the_last_eval_set_decides(self, pools, order):
        sets = [catboost_pool(part) for part in order]
        model = ranker(eval_metric(NAME, pools[0], *sets), iterations=40, early_stopping_rounds=5)
        curve = model.fit(pools[0], eval_set=sets).evals_result_["validation_1"][NAME]
        assert model.best_iteration_ == curve.index(max(curve))


def test_copies_are_the_metric_itself(pools):
    metric = eval_metric(NAME, *pools)
    assert copy.deepcopy(metric) is metric
    assert type(pickle.loads(pickle.dumps(metric))).__name__ == NAME


def test_weights_are_copied_from_memory_that_changes(pools):
    """CatBoost reuses the memory of weights."""
    metric, weight = eval_metric(NAME, *pools), np.ones(len(VALID.labels))
    call = VALID.features[:, 1], VALID.labels.astype(np.float32), weight
    before = metric.evaluate([call[0]], *call[1:])
    weight[: VALID.group[:15].sum()] = 9
    after = metric.evaluate([call[0]], *call[1:])
    assert after == eval_metric(NAME, *pools).evaluate([call[0]], *call[1:]) != before


def test_a_snapshot_is_resumed(pools):
    metric = eval_metric(NAME, *pools)
    kept = {"allow_writing_files": True, "save_snapshot": True, "snapshot_file": "kept", "train_dir": "."}
    options = {"eval_set": pools[1], "use_best_model": False}
    ranker(metric, iterations=6, **kept).fit(pools[0], **options)
    resumed, whole = (ranker(metric, **more).fit(pools[0], **options).evals_result_ for more in (kept, {}))
    assert resumed["validation"] == whole["validation"]


def test_a_continued_training_counts_from_0(pools):
    metric = eval_metric(NAME, *pools)
    first = ranker(metric, iterations=8).fit(pools[0], eval_set=pools[1], use_best_model=False)
    model = ranker(metric, iterations=6).fit(pools[0], eval_set=pools[1], init_model=first)
    curve = model.evals_result_["validation"][NAME]
    assert (model.best_iteration_, len(curve)) == (curve.index(max(curve)), 6)
    best = gw.evaluate(NAME, VALID.judgments, model.predict(VALID.features)).mean[NAME]
    assert best == pytest.approx(max(curve), rel=1e-12)


def test_data_that_were_not_given(pools):
    with pytest.raises(catboost.CatBoostError, match="not those of train"):
        ranker(eval_metric("mrr", pools[0])).fit(pools[0], eval_set=pools[1])
    options = {"loss_function": "YetiRank", "iterations": 2, "eval_metric": eval_metric("mrr", pools[0])}
    options |= {"verbose": False, "allow_writing_files": False}
    with pytest.raises(catboost.CatBoostError, match="all Pools"):
        catboost.cv(pools[0], options, fold_count=2)
