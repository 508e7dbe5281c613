"""The model in the report, from `load_model`, in the saved file and on the command line is the same, bit by bit."""

import itertools
import shutil

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from tests.experiment.helpers import METRICS, balanced_by_hand, folder_of, predict, run

import gainwise as gw
from gainwise.experiment import Candidate, Experiment, execution
from gainwise.experiment.plan import find_balanced_round, find_best_rounds, find_stored_rounds

pytestmark = pytest.mark.slow

SUFFIX = {"lgb": "txt", "xgb": "ubj"}
LOADER = {"lgb": lgb.Booster, "xgb": xgb.Booster}
CANDIDATES = [
    Candidate("lgb", "lightgbm", {"num_leaves": 15}),
    Candidate("lgb bagged", "lightgbm", {"num_leaves": 7, "bagging_freq": 1, "bagging_fraction": 0.6}, seed=2),
    Candidate("lgb forest", "lightgbm", {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6}),
    Candidate("xgb", "xgboost", {"max_depth": 2, "eta": 0.05, "lambdarank_pair_method": "mean"}),
    Candidate("xgb sampled", "xgboost", {"max_depth": 3, "subsample": 0.6, "num_parallel_tree": 2}, seed=4),
]
ABOUT = {"candidates": CANDIDATES, "num_boost_round": 40}


@pytest.fixture(scope="module")
def torn(make_done):
    """An experiment whose two primary metrics choose different rounds."""
    result = make_done(**ABOUT).result
    differ = result.best_rounds["ndcg_linear@10"] != result.best_rounds["ndcg_exp@10"]
    assert any(differ[[name for name in differ.index if name.startswith("lgb")]])
    assert any(differ[[name for name in differ.index if name.startswith("xgb")]])
    return result


@pytest.fixture
def again(torn, make, tmp_path, monkeypatch):
    """Return a function that runs a copy of the experiment with other arguments, without training."""
    shutil.copytree(torn.directory, tmp_path / "copy")
    monkeypatch.setattr(execution, "train_candidate", None)
    return lambda **changes: run(make(tmp_path / "copy", **{**ABOUT, **changes}))


def saved(result, name, stem="model", fold=""):
    return folder_of(result.directory, name, fold) / f"{stem}.{SUFFIX[name[:3]]}"


def per_query(data, scores):
    return gw.evaluate(METRICS, data.judgments(), scores).per_query


def assert_compared(result, name, scores, data):
    """Assert that scores are those of a compared model, and that its values are theirs."""
    np.testing.assert_array_equal(scores, result.comparison.rankings.scores[name])
    values = per_query(data, scores)
    at = result.comparison.models.index(name)
    for place, metric in enumerate(METRICS):
        np.testing.assert_array_equal(values[:, place], result.comparison.values[metric][:, at])


def test_loaded_models_and_saved_files_are_the_compared_models(torn, parts):
    for name in torn.candidates:
        model = torn.load_model(name)
        assert_compared(torn, name, predict(model, parts.test), parts.test)
        (rounds,) = torn.compared.loc[name, "rounds"]
        assert rounds == balanced_by_hand(torn.curves, name)
        if name.startswith("lgb"):
            assert model.model_to_string() == saved(torn, name).read_text()
            assert (model.current_iteration(), model.best_iteration) == (rounds, rounds)
        else:
            assert bytes(model.save_raw("ubj")) == saved(torn, name).read_bytes()
            assert (model.num_boosted_rounds(), model.best_iteration) == (rounds, rounds - 1)
    ranker = xgb.XGBRanker()
    ranker.load_model(saved(torn, "xgb"))
    np.testing.assert_array_equal(ranker.predict(parts.test.features), torn.comparison.rankings.scores["xgb"])


def test_compare_explains_as_the_experiment_does(torn, parts):
    models = {name: torn.load_model(name) for name in torn.candidates}
    alone = gw.compare(models, parts.test.judgments(), METRICS, features=parts.test.features, seed=3, draws=1000)
    assert alone.verdict.to_dict() == torn.verdict.to_dict()
    rows = 0
    for pair in itertools.combinations(torn.candidates, 2):
        found, expected = torn.comparison.attribution(*pair), alone.attribution(*pair)
        pd.testing.assert_frame_equal(found.grades_by_ranks, expected.grades_by_ranks, rtol=0, atol=1e-12)
        queries = torn.comparison.queries(*pair, 100)
        pd.testing.assert_frame_equal(queries, alone.queries(*pair, 100), rtol=0, atol=1e-12)
        rows += len(queries)
        for metric in METRICS[:2]:
            shown = torn.leaderboard.loc[pair[0], metric] - torn.leaderboard.loc[pair[1], metric]
            assert found.difference[metric] == pytest.approx(shown, abs=1e-12)
            assert found.grades_by_ranks.loc[metric].to_numpy().sum() == pytest.approx(shown, abs=1e-12)
    assert rows > 0
    found, expected = (it.attribution(*pair, ["ndcg_exp@3"]) for it in (torn.comparison, alone))
    assert found.difference == pytest.approx(expected.difference, abs=1e-12)


class TestStopBy:
    """Another choice of the round needs no training, and changes the report, the model and the file."""

    @pytest.mark.parametrize("stop_by", ["ndcg_exp@10", gw.parse_metrics("mrr")[0]])
    def test_metric(self, torn, again, parts, stop_by):
        result = again(stop_by=stop_by)
        for name in result.candidates:
            best = int(torn.best_rounds.loc[name, str(stop_by)])
            assert result.compared.loc[name, "rounds"] == (best,)
            scores = predict(result.load_model(name), parts.test)
            assert_compared(result, name, scores, parts.test)
            file = LOADER[name[:3]](model_file=saved(result, name))
            for model in (torn.load_model(name, best), torn.load_model(name, stop_by), file):
                np.testing.assert_array_equal(predict(model, parts.test), scores)
        assert Experiment.load(result.directory).leaderboard.equals(result.leaderboard)

    def test_balanced_for_other_primary_metrics(self, torn, again, parts):
        primary = ("mrr", "ndcg_exp@10")
        result = again(primary=primary)
        assert result.verdict.metrics == primary
        scores = {}
        for name in result.candidates:
            number = balanced_by_hand(torn.curves, name, primary)
            assert result.compared.loc[name, "rounds"] == (number,)
            scores[name] = predict(torn.load_model(name, number), parts.test)
            np.testing.assert_array_equal(predict(torn.load_model(name, 40), parts.test, number), scores[name])
        alone = gw.compare(scores, parts.test.judgments(), primary, draws=1000)
        pair = result.candidates[0], result.candidates[3]
        pd.testing.assert_frame_equal(
            result.comparison.queries(*pair, 100), alone.queries(*pair, 100), rtol=0, atol=1e-12
        )

    @pytest.mark.parametrize("stop_by", ["balanced", "mrr", "mrr(min_label=1)"])
    def test_one_metric(self, make, stop_by):
        result = run(make(metrics="mrr", candidates=[Candidate("a", "lightgbm")], stop_by=stop_by))
        assert result.compared.loc["a", "rounds"] == (int(result.best_rounds.loc["a", "mrr"]),)
        assert result.selected == "a"
        assert result.load_model().current_iteration() == result.best_rounds.loc["a", "mrr"]
        assert "a" in result.summary()


def test_balanced_round_has_the_smallest_worst_distance():
    """Compared with plain Python over all rounds; of equal rounds the first."""
    rng = np.random.default_rng(4)
    for _ in range(300):
        curves = rng.integers(0, 6, (rng.integers(1, 9), rng.integers(2, 5))) / 8
        columns = rng.choice(curves.shape[1], 2, replace=False).tolist()
        worst = [max(max(curves[:, c]) - row[c] for c in columns) for row in curves]
        assert find_balanced_round(curves, columns) == 1 + worst.index(min(worst))
        assert find_balanced_round(curves, columns[:1]) == find_best_rounds(curves)[columns[0]]
        pairs = [(a, b) for a in range(curves.shape[1]) for b in range(a)]
        expected = {*find_best_rounds(curves), *(find_balanced_round(curves, pair) for pair in pairs)}
        assert find_stored_rounds(curves) == sorted(expected)
