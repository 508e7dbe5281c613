"""Every library's booster predicts at its best iteration, or where it was told; what was used is said everywhere."""

from __future__ import annotations

import json

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from trainings import datasets, held_out, matrix
from typer.testing import CliRunner

import gainsay as gs
from gainsay.cli import app
from gainsay.data import simulate

METRIC = "ndcg_exp@10"
QUIET = {"objective": "lambdarank", "verbose": -1, "num_threads": 1, "seed": 1, "learning_rate": 0.6}
LOUD = {"objective": "rank:ndcg", "nthread": 1, "seed": 1, "eta": 0.6}


@pytest.fixture(scope="module")
def train():
    return simulate(60, seed=3, mean_length=20)


@pytest.fixture(scope="module")
def valid():
    return simulate(60, seed=4, mean_length=20)


@pytest.fixture(scope="module")
def lightgbm(train, valid):
    """Stopped early: it holds more rounds than its best iteration."""
    first, second = datasets((train, valid))
    stop = lgb.early_stopping(8, verbose=False)
    params = {**QUIET, "metric": "ndcg", "eval_at": [10]}
    return lgb.train(params, first, 60, [second], callbacks=[stop], keep_training_booster=True)


@pytest.fixture(scope="module")
def xgboost(train, valid):
    return xgb.train(
        {**LOUD, "eval_metric": "ndcg@10"},
        matrix(train),
        60,
        evals=[(matrix(valid), "valid")],
        early_stopping_rounds=8,
        verbose_eval=False,
    )


def compared(data, models, **options):
    return gs.compare(models, data.judgments(), METRIC, features=data.features, draws=400, **options)


def mean(data, scores):
    return gs.evaluate(METRIC, data.judgments(), scores).mean[METRIC]


def value(data, scores):
    """The mean of the values by query, which a comparison adds up in an order of its own."""
    return pytest.approx(mean(data, scores), rel=0, abs=1e-15)


def found(comparison, name):
    return comparison.leaderboard.loc[name, METRIC]


class TestBest:
    def test_xgboost_predicts_at_its_best_iteration_like_lightgbm(self, valid, lightgbm, xgboost):
        best = xgboost.best_iteration + 1
        assert best < xgboost.num_boosted_rounds()
        assert lightgbm.best_iteration < lightgbm.current_iteration()
        expected = value(valid, xgboost.predict(matrix(valid), iteration_range=(0, best)))
        assert expected != mean(valid, xgboost.predict(matrix(valid)))
        comparison = compared(valid, {"lgb": lightgbm, "xgb": xgboost})
        assert found(comparison, "xgb") == expected
        assert found(comparison, "lgb") == value(valid, lightgbm.predict(valid.features))
        assert comparison.iterations == {
            "lgb": (lightgbm.best_iteration, lightgbm.current_iteration(), "best"),
            "xgb": (best, xgboost.num_boosted_rounds(), "best"),
        }

    def test_a_dmatrix_serves_as_features(self, valid, xgboost):
        one = gs.compare({"xgb": xgboost}, valid.judgments(), METRIC, features=matrix(valid))
        assert found(one, "xgb") == found(compared(valid, {"xgb": xgboost}), "xgb")

    def test_a_saved_booster_keeps_it(self, valid, xgboost, tmp_path):
        xgboost.save_model(tmp_path / "x.ubj")
        again = compared(valid, {"xgb": xgb.Booster(model_file=tmp_path / "x.ubj")})
        assert found(again, "xgb") == found(compared(valid, {"xgb": xgboost}), "xgb")

    def test_estimators_as_their_libraries_have_it(self, train, valid):
        one = lgb.LGBMRanker(**{**QUIET, "n_estimators": 60, "n_jobs": 1})
        one.fit(
            train.features,
            train.labels,
            group=train.group,
            **held_out(valid),
            eval_group=[valid.group],
            eval_at=[10],
            callbacks=[lgb.early_stopping(8, verbose=False)],
        )
        other = xgb.XGBRanker(n_estimators=60, early_stopping_rounds=8, n_jobs=1, eval_metric="ndcg@10", eta=0.6)
        other.fit(
            train.features,
            train.labels,
            qid=train.qid,
            eval_set=[(valid.features, valid.labels)],
            eval_qid=[valid.qid],
            verbose=False,
        )
        comparison = compared(valid, {"lgb": one, "xgb": other})
        assert found(comparison, "lgb") == value(valid, one.predict(valid.features))
        assert found(comparison, "xgb") == value(valid, other.predict(valid.features))
        assert comparison.iterations["lgb"] == (one.best_iteration_, one.booster_.current_iteration(), "best")
        assert comparison.iterations["xgb"][:2] == (
            other.best_iteration + 1,
            other.get_booster().num_boosted_rounds(),
        )
        comparison = compared(valid, {"lgb": one, "xgb": other}, iteration=2)
        assert found(comparison, "lgb") == value(valid, one.predict(valid.features, num_iteration=2))
        assert found(comparison, "xgb") == value(valid, other.predict(valid.features, iteration_range=(0, 2)))

    def test_catboost_too(self, train, valid):
        catboost = pytest.importorskip("catboost", reason="CatBoost's models have a best iteration of their own")
        pool = catboost.Pool(valid.features, valid.labels, group_id=valid.qid)
        model = catboost.CatBoostRanker(
            iterations=30, loss_function="YetiRank", verbose=0, thread_count=1, allow_writing_files=False, random_seed=1
        )
        model.fit(train.features, train.labels, group_id=train.qid, eval_set=pool, use_best_model=False)
        best = model.get_best_iteration() + 1
        comparison = compared(valid, {"cat": model})
        assert found(comparison, "cat") == value(valid, model.predict(valid.features, ntree_end=best))
        assert comparison.iterations["cat"] == (best, 30, "best")
        told = compared(valid, {"cat": model}, iteration=3)
        assert found(told, "cat") == value(valid, model.predict(valid.features, ntree_end=3))

    @pytest.mark.parametrize("use_best_model", [True, False])
    def test_catboost_that_continues_a_model_counts_all_of_its_rounds(self, train, valid, use_best_model, tmp_path):
        catboost = pytest.importorskip("catboost", reason="CatBoost's models have a best iteration of their own")
        options = {"verbose": 0, "thread_count": 1, "allow_writing_files": False, "random_seed": 1, "depth": 3}
        pools = [catboost.Pool(data.features, data.labels, group_id=data.qid) for data in (train, valid)]
        first = catboost.CatBoostRanker(iterations=20, **options).fit(pools[0])
        model = catboost.CatBoostRanker(iterations=15, eval_metric="NDCG:top=10", **options)
        model.fit(pools[0], eval_set=pools[1], init_model=first, use_best_model=use_best_model)
        best, held = 20 + model.best_iteration_ + 1, model.tree_count_
        assert held == (best if use_best_model else 35)
        model.save_model(tmp_path / "model.cbm")
        loaded = catboost.CatBoostRanker().load_model(tmp_path / "model.cbm")
        scores = model.predict(valid.features, ntree_end=best)
        assert found(compared(valid, {"cat": model}), "cat") == value(valid, scores)
        assert compared(valid, {"cat": model}).iterations["cat"] == (best, held, "best")
        assert compared(valid, {"cat": loaded}).iterations["cat"] == (best, held, "best")

    def test_all_rounds_where_there_is_no_best_one(self, train, valid):
        one = lgb.train(QUIET, lgb.Dataset(train.features, train.labels, group=train.group), 5)
        other = xgb.train({**LOUD, "num_parallel_tree": 2}, matrix(train), 6)
        comparison = compared(valid, {"lgb": one, "xgb": other})
        assert comparison.iterations == {"lgb": (5, 5, "all"), "xgb": (6, 6, "all")}
        assert found(comparison, "xgb") == value(valid, other.predict(matrix(valid)))

    def test_a_linear_booster_cannot_go_back(self, train, valid):
        model = xgb.train(
            {"booster": "gblinear", "objective": "rank:ndcg", "nthread": 1},
            matrix(train),
            9,
            evals=[(matrix(valid), "valid")],
            early_stopping_rounds=8,
            verbose_eval=False,
        )
        comparison = compared(valid, {"linear": model})
        held = model.num_boosted_rounds()
        assert comparison.iterations["linear"] == (held, held, "all")
        assert found(comparison, "linear") == value(valid, model.predict(matrix(valid)))
        with pytest.raises(ValueError, match=f"iteration=2 of its {held} rounds cannot be had: a linear booster keeps"):
            compared(valid, {"linear": model}, iteration=2)

    def test_scores_and_other_models_have_none(self, train, valid):
        models = {"scores": valid.labels, "linear": LinearRegression().fit(train.features, train.labels)}
        assert compared(valid, models).iterations == {}


class TestTold:
    def test_one_number_for_all(self, valid, lightgbm, xgboost):
        comparison = compared(valid, {"lgb": lightgbm, "xgb": xgboost}, iteration=4)
        assert found(comparison, "lgb") == value(valid, lightgbm.predict(valid.features, num_iteration=4))
        assert found(comparison, "xgb") == value(valid, xgboost.predict(matrix(valid), iteration_range=(0, 4)))
        assert comparison.iterations["xgb"] == (4, xgboost.num_boosted_rounds(), "given")

    def test_a_number_for_some(self, valid, lightgbm, xgboost):
        held = xgboost.num_boosted_rounds()
        models = {"lgb": lightgbm, "xgb": xgboost, "scores": valid.labels}
        comparison = compared(valid, models, iteration={"xgb": held})
        assert found(comparison, "xgb") == value(valid, xgboost.predict(matrix(valid)))
        assert comparison.iterations["lgb"].reason == "best"

    @pytest.mark.parametrize(
        ("iteration", "error", "message"),
        [
            (10_000, ValueError, r"model 'lgb': iteration=10000, but it has \d+ boosting rounds: give at most so many"),
            ({"xgb": 10_000}, ValueError, r"model 'xgb': iteration=10000, but it has"),
            ({"scores": 3}, ValueError, "model 'scores': it is scores, from which no boosting round can be chosen"),
            ({"linear": 3}, ValueError, "model 'linear': it is a LinearRegression, no booster of LightGBM, XGBoost"),
            ({"piped": 3}, ValueError, "model 'piped': it is a Pipeline, no booster of"),
            ({"file": 3}, ValueError, r"model 'file': it is the scores in .*s\.npy, from which"),
            ({"xbg": 3}, ValueError, "iteration names 'xbg', which is not among the models; did you mean 'xgb'"),
            (0, ValueError, "iteration must be a whole number of boosting rounds, at least 1, got 0"),
            (
                {"lgb": 2.5},
                ValueError,
                r"iteration\['lgb'\] must be a whole number .*got 2\.5",
            ),
            (True, TypeError, "iteration must be a whole number of boosting rounds, at least 1, got True"),
        ],
    )
    def test_refused(self, train, valid, lightgbm, xgboost, iteration, error, message, tmp_path):
        np.save(tmp_path / "s.npy", valid.labels)
        linear = LinearRegression().fit(train.features, train.labels)
        models = {
            "lgb": lightgbm,
            "xgb": xgboost,
            "scores": valid.labels,
            "linear": linear,
            "piped": make_pipeline(linear),
            "file": tmp_path / "s.npy",
        }
        with pytest.raises(error, match=message):
            compared(valid, models, iteration=iteration)

    def test_an_estimator_that_was_not_fitted_says_so(self, valid):
        for model in (lgb.LGBMRanker(), xgb.XGBRanker()):
            with pytest.raises(ValueError, match=r"model 'm': .*fit"):
                compared(valid, {"m": model}, iteration=2)


class TestSaid:
    @pytest.fixture
    def comparison(self, valid, xgboost):
        models = {"xgb": xgboost, "scores": valid.labels + 0.0}
        return gs.compare(models, valid.judgments(), ["ndcg_linear@10", METRIC], features=valid.features, draws=400)

    @pytest.fixture
    def size(self, xgboost):
        return f"{xgboost.best_iteration + 1} of {xgboost.num_boosted_rounds()} rounds"

    def test_in_json(self, comparison, xgboost):
        told = {"xgb": {"used": xgboost.best_iteration + 1, "held": xgboost.num_boosted_rounds(), "reason": "best"}}
        assert json.loads(comparison.to_json())["iterations"] == comparison.to_dict()["iterations"] == told

    def test_in_the_leaderboard_and_below_it(self, comparison, size, tmp_path):
        from gainsay.report.full import leaderboard

        table = leaderboard(comparison)
        assert table.columns[-1].label == "rounds"
        assert {row[0].text: row[-1].text for row in table.rows} == {"xgb": size, "scores": "\u2013"}
        sentence = f"xgb with {size} (its best iteration)."
        assert sentence in comparison.to_markdown()
        assert sentence in comparison.to_html(tmp_path / "r.html").read_text()


class TestCommandLine:
    @pytest.fixture
    def files(self, valid, lightgbm, xgboost, tmp_path):
        folder = tmp_path
        with (folder / "valid.txt").open("w") as file:
            for label, query, row in zip(valid.labels, valid.qid, valid.features, strict=True):
                values = " ".join(f"{at}:{x:.9g}" for at, x in enumerate(row.tolist(), start=1))
                file.write(f"{label:g} qid:{query} {values}\n")
        xgboost.save_model(folder / "xgb.json")
        lightgbm.save_model(folder / "lgb.txt", num_iteration=lightgbm.current_iteration())
        np.save(folder / "s.npy", valid.labels)
        return folder

    def run(self, files, *arguments):
        named = ["compare", "--data", files / "valid.txt", *arguments, "-m", METRIC]
        return CliRunner().invoke(app, list(map(str, named)))

    def test_best_by_default_and_said(self, files, valid, xgboost):
        best, held = xgboost.best_iteration + 1, xgboost.num_boosted_rounds()
        result = self.run(files, files / "xgb.json", "--json")
        content = json.loads(result.stdout)
        expected = mean(valid, xgboost.predict(matrix(valid), iteration_range=(0, best)))
        assert content["leaderboard"]["xgb"][METRIC] == pytest.approx(expected, abs=1e-9)
        assert content["iterations"] == {"xgb": {"used": best, "held": held, "reason": "best"}}
        assert f"xgb with {best} of {held} rounds (its best iteration)" in self.run(files, files / "xgb.json").stdout

    @pytest.mark.parametrize("given", [["3"], ["xgb=3", "lgb=3"]])
    def test_told(self, files, given):
        options = [part for text in given for part in ("--iteration", text)]
        content = json.loads(self.run(files, files / "xgb.json", files / "lgb.txt", *options, "--json").stdout)
        assert {name: (told["used"], told["reason"]) for name, told in content["iterations"].items()} == {
            "xgb": (3, "given"),
            "lgb": (3, "given"),
        }

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (["x"], "--iteration holds 'x': give a whole number of rounds, or NAME=ROUNDS"),
            (["xgb=x"], "--iteration holds 'xgb=x'"),
            (["1_0"], "--iteration holds '1_0'"),
            (["3", "xgb=3"], "--iteration 3 is for all models: give it alone"),
            (["xgb=3", "xgb=4"], "--iteration names 'xgb' twice"),
            (["3"], "s.npy, from which no boosting round can be chosen"),
            (["xgb=900"], "model 'xgb': iteration=900, but it has"),
            (["0"], "iteration must be a whole number of boosting rounds, at least 1, got 0"),
            (["no=3"], "iteration names 'no', which is not among the models"),
        ],
    )
    def test_refused_in_one_line(self, files, given, message):
        options = [part for text in given for part in ("--iteration", text)]
        result = self.run(files, files / "xgb.json", files / "s.npy", *options)
        assert result.exit_code == 1
        assert message in result.stderr
        assert result.stderr.count("\n") == 1
