"""Boosters predict at their best iteration, and comparisons show which was used."""

import json

import catboost
import lightgbm as lgb
import pytest
import xgboost as xgb
from sklearn.linear_model import LinearRegression
from tests.adapters.drivers import lgb_dataset, lgb_held_out, make_part, xgb_matrix

import gainwise as gw

METRIC = "ndcg_exp@10"
TRAIN, VALID = make_part(3, 40), make_part(4, 40)
X, MATRIX = VALID.features, xgb_matrix(VALID)
QUIET = {"objective": "lambdarank", "verbose": -1, "num_threads": 1, "seed": 1, "learning_rate": 0.6}
LOUD = {"objective": "rank:ndcg", "nthread": 1, "seed": 1, "eta": 0.6, "eval_metric": "ndcg@10"}
CATBOOST = {"verbose": 0, "thread_count": 1, "allow_writing_files": False, "random_seed": 1, "depth": 3}
XGB_STOP = {"evals": [(MATRIX, "valid")], "early_stopping_rounds": 8, "verbose_eval": False}


@pytest.fixture(scope="module")
def lightgbm():
    """A model with more rounds than its best iteration."""
    params, data = {**QUIET, "metric": "ndcg", "eval_at": [10]}, lgb_dataset(TRAIN)
    options = {"callbacks": [lgb.early_stopping(8, verbose=False)], "keep_training_booster": True}
    return lgb.train(params, data, 60, [lgb_dataset(VALID, data)], **options)


@pytest.fixture(scope="module")
def xgboost():
    return xgb.train(LOUD, xgb_matrix(TRAIN), 60, **XGB_STOP)


def compared(models, **options):
    return gw.compare(models, VALID.judgments, METRIC, **{"features": X, "draws": 200, **options})


def check(comparison, name, scores, iterations=None):
    """Compare the value and the iterations of a model. A comparison adds up values in another order."""
    expected = gw.evaluate(METRIC, VALID.judgments, scores).mean[METRIC]
    assert comparison.leaderboard.loc[name, METRIC] == pytest.approx(expected, rel=0, abs=1e-15)
    assert iterations is None or comparison.iterations[name] == iterations


def test_boosters_predict_at_their_best_iteration(lightgbm, xgboost, tmp_path):
    best, rounds = xgboost.best_iteration + 1, xgboost.num_boosted_rounds()
    assert best < rounds
    assert lightgbm.best_iteration < lightgbm.current_iteration()
    xgboost.save_model(tmp_path / "x.ubj")
    scores = xgboost.predict(MATRIX, iteration_range=(0, best))
    comparison = compared({"lgb": lightgbm, "xgb": xgboost, "saved": xgb.Booster(model_file=tmp_path / "x.ubj")})
    check(comparison, "lgb", lightgbm.predict(X), (lightgbm.best_iteration, lightgbm.current_iteration(), "best"))
    check(comparison, "xgb", scores, (best, rounds, "best"))
    check(comparison, "saved", scores, (best, rounds, "best"))
    check(compared({"xgb": xgboost}, features=MATRIX), "xgb", scores)


def test_estimators():
    one = lgb.LGBMRanker(**{**QUIET, "n_estimators": 60})
    options = {**lgb_held_out([VALID]), "eval_at": [10], "callbacks": [lgb.early_stopping(8, verbose=False)]}
    one.fit(TRAIN.features, TRAIN.labels, group=TRAIN.group, **options)
    other = xgb.XGBRanker(n_estimators=60, early_stopping_rounds=8, n_jobs=1, eval_metric="ndcg@10", eta=0.6)
    sets = {"eval_set": [(X, VALID.labels)], "eval_qid": [VALID.qid], "verbose": False}
    other.fit(TRAIN.features, TRAIN.labels, qid=TRAIN.qid, **sets)
    comparison = compared({"lgb": one, "xgb": other})
    check(comparison, "lgb", one.predict(X), (one.best_iteration_, one.booster_.current_iteration(), "best"))
    used = (other.best_iteration + 1, other.get_booster().num_boosted_rounds(), "best")
    check(comparison, "xgb", other.predict(X), used)


@pytest.mark.parametrize("before", [0, 20])
@pytest.mark.parametrize("use_best_model", [True, False])
def test_catboost_counts_all_rounds_of_a_continued_model(before, use_best_model, tmp_path):
    pools = [catboost.Pool(part.features, part.labels, group_id=part.qid) for part in (TRAIN, VALID)]
    first = catboost.CatBoostRanker(iterations=before, **CATBOOST).fit(pools[0]) if before else None
    model = catboost.CatBoostRanker(iterations=15, eval_metric="NDCG:top=10", **CATBOOST)
    model.fit(pools[0], eval_set=pools[1], init_model=first, use_best_model=use_best_model)
    best, rounds = before + model.best_iteration_ + 1, model.tree_count_
    assert rounds == (best if use_best_model else before + 15)
    model.save_model(tmp_path / "model.cbm")
    loaded = catboost.CatBoostRanker().load_model(tmp_path / "model.cbm")
    for one in (model, loaded):
        check(compared({"cat": one}), "cat", model.predict(X, ntree_end=best), (best, rounds, "best"))


def test_all_rounds_without_a_best_one():
    one = lgb.train(QUIET, lgb_dataset(TRAIN), 5)
    other = xgb.train({**LOUD, "num_parallel_tree": 2}, xgb_matrix(TRAIN), 6)
    cat = catboost.CatBoostRanker(iterations=4, **CATBOOST).fit(TRAIN.features, TRAIN.labels, group_id=TRAIN.qid)
    models = {"lgb": one, "xgb": other, "cat": cat, "scores": VALID.labels}
    comparison = compared({**models, "linear": LinearRegression().fit(X, VALID.labels)})
    assert comparison.iterations == {"lgb": (5, 5, "all"), "xgb": (6, 6, "all"), "cat": (4, 4, "all")}
    check(comparison, "xgb", other.predict(MATRIX))


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost"])
def test_a_model_of_a_library_that_is_not_a_booster_has_no_rounds(library):
    class Ranker:
        def predict(self, features):
            return features[:, 0]

    Ranker.__module__ = f"{library}.contrib"
    comparison = compared({"own": Ranker(), "scores": VALID.labels})
    check(comparison, "own", X[:, 0])
    assert comparison.iterations == {}


def test_a_linear_booster_uses_all_rounds():
    params = {"booster": "gblinear", "objective": "rank:ndcg", "nthread": 1}
    model = xgb.train(params, xgb_matrix(TRAIN), 9, **XGB_STOP)
    rounds = model.num_boosted_rounds()
    check(compared({"linear": model}), "linear", model.predict(MATRIX), (rounds, rounds, "all"))


@pytest.mark.parametrize("model", [lgb.LGBMRanker(), xgb.XGBRanker()])
def test_an_estimator_that_was_not_fitted(model):
    with pytest.raises(ValueError, match="fit"):
        compared({"m": model})


def test_reports_show_the_rounds(xgboost, tmp_path):
    best, rounds = xgboost.best_iteration + 1, xgboost.num_boosted_rounds()
    comparison = compared({"xgb": xgboost, "scores": VALID.labels + 0.0})
    expected = {"xgb": {"used": best, "held": rounds, "reason": "best"}}
    assert json.loads(comparison.to_json())["iterations"] == comparison.to_dict()["iterations"] == expected
    for report in (comparison.to_markdown(), comparison.to_html(tmp_path / "r.html").read_text()):
        assert f"{best} of {rounds}" in report
