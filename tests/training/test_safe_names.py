"""Metrics logged under safe names: the same values, and early stopping that knows them by either name."""

from __future__ import annotations

import pickle

import lightgbm as lgb
import pytest
import xgboost as xgb
from trainings import datasets, held_out, matrix

from gainsay import lightgbm as gs_lightgbm
from gainsay import xgboost as gs_xgboost
from gainsay.data import simulate

TRAIN, VALID = simulate(60, seed=4, mean_length=20).split_queries(0.5, 0.5, seed=4)
METRICS = ["ndcg_exp(ties=worst)@5", "mrr", "rbp(p=0.5)"]
SAFE = ["ndcg_exp__ties_is_worst_at_5", "mrr", "rbp__p_is_0_dot_5"]
EITHER = [METRICS[0], SAFE[0]]


def lightgbm_curves(names, stop=None, rounds=6, **options):
    train, valid = datasets((TRAIN, VALID), free_raw_data=False)
    curves = {}
    callbacks = [lgb.record_evaluation(curves)]
    if stop is not None:
        callbacks.append(gs_lightgbm.early_stopping(stop, rounds=2, verbose=False))
    params = {"objective": "lambdarank", "metric": "None", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 5}
    log = gs_lightgbm.feval(METRICS, names=names)
    model = lgb.train(params, train, rounds, valid_sets=[valid], feval=log, callbacks=callbacks, **options)
    return model, curves["valid_0"]


def xgboost_curves(log_as, names, stop=None, rounds=6, **options):
    dtrain, dvalid = matrix(TRAIN), matrix(VALID)
    curves, callbacks = {}, []
    if log_as == "callback":
        callbacks = [gs_xgboost.EvaluateRanking({"valid": dvalid}, METRICS, names=names)]
    else:
        options |= {"custom_metric": gs_xgboost.custom_metric(METRICS, names=names), "evals": [(dvalid, "valid")]}
        callbacks = [gs_xgboost.full_precision(options["custom_metric"])]
    if stop is not None:
        callbacks.append(gs_xgboost.early_stopping(stop, rounds=2, dataset="valid", verbose=False))
    params = {"objective": "rank:ndcg", "disable_default_eval_metric": True, "nthread": 1}
    model = xgb.train(params, dtrain, rounds, callbacks=callbacks, evals_result=curves, verbose_eval=False, **options)
    return model, curves["valid"]


class TestLightGBM:
    def test_the_same_values_under_other_names(self):
        plain, safe = lightgbm_curves("plain")[1], lightgbm_curves("safe")[1]
        assert (list(plain), list(safe)) == (METRICS, SAFE)
        assert list(plain.values()) == list(safe.values())

    def test_the_estimator_too(self):
        ranker = lgb.LGBMRanker(n_estimators=2, metric="None", verbose=-1, n_jobs=1)
        log = pickle.loads(pickle.dumps(gs_lightgbm.eval_metric(METRICS, names="safe")))
        ranker.fit(
            TRAIN.features, TRAIN.labels, group=TRAIN.group, **held_out(VALID), eval_group=[VALID.group],
            eval_metric=log,
        )  # fmt: skip
        assert list(ranker.evals_result_["valid_0"]) == SAFE

    @pytest.mark.parametrize("stop", EITHER)
    @pytest.mark.parametrize("names", ["plain", "safe"])
    def test_early_stopping_knows_both(self, names, stop):
        model, curves = lightgbm_curves(names, stop, rounds=40)
        curve = curves[(SAFE if names == "safe" else METRICS)[0]]
        assert model.best_iteration == curve.index(max(curve)) + 1 == len(curve) - 2

    def test_a_model_that_is_continued_is_known_by_its_safe_names(self):
        first, _ = lightgbm_curves("plain", rounds=30)
        expected, _ = lightgbm_curves("plain", METRICS[0], init_model=first)
        found, _ = lightgbm_curves("safe", METRICS[0], init_model=first)  # a warning would say that it is not known
        assert found.best_iteration == expected.best_iteration

    def test_a_metric_that_is_not_logged(self):
        with pytest.raises(ValueError, match=r"no metric 'map@5' is logged on 'valid_0' \(there are: ndcg_exp__ties"):
            lightgbm_curves("safe", "map_at_5")


class TestXGBoost:
    @pytest.mark.parametrize("log_as", ["callback", "metric"])
    def test_the_same_values_under_other_names(self, log_as):
        plain, safe = xgboost_curves(log_as, "plain")[1], xgboost_curves(log_as, "safe")[1]
        assert (list(plain), list(safe)) == (METRICS, SAFE)
        assert list(plain.values()) == list(safe.values())

    @pytest.mark.parametrize("stop", EITHER)
    @pytest.mark.parametrize("names", ["plain", "safe"])
    @pytest.mark.parametrize("log_as", ["callback", "metric"])
    def test_early_stopping_knows_both(self, log_as, names, stop):
        model, curves = xgboost_curves(log_as, names, stop, rounds=40)
        curve = curves[(SAFE if names == "safe" else METRICS)[0]]
        assert model.best_iteration == curve.index(max(curve)) == len(curve) - 3

    @pytest.mark.parametrize("log_as", ["callback", "metric"])
    def test_a_model_that_is_continued_is_known_by_its_safe_names(self, log_as):
        first, _ = xgboost_curves(log_as, "plain", rounds=30)
        expected, _ = xgboost_curves(log_as, "plain", METRICS[0], xgb_model=first)
        found, _ = xgboost_curves(log_as, "safe", METRICS[0], xgb_model=first)
        assert found.best_iteration == expected.best_iteration


@pytest.mark.parametrize("make", [gs_lightgbm.feval, gs_lightgbm.eval_metric, gs_xgboost.custom_metric])
def test_another_way_to_name_them(make):
    with pytest.raises(ValueError, match=r"names must be 'plain' or 'safe', got 'save'; did you mean 'safe'\?"):
        make(METRICS, names="save")
