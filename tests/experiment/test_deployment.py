"""The model to deploy: `load_model`, `predict` and `refit` use the selected model, and agree with the libraries."""

import pickle
import shutil
from statistics import fmean

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from scipy import sparse
from tests.bad_inputs import BadInput, bad_inputs
from tests.experiment.helpers import METRICS, make_shops, predict, run, trees

from gainwise.data import RankingData, from_frame, simulate
from gainwise.experiment import Candidate, Experiment
from gainwise.experiment.plan import compute_seed


def read_shops(*arguments):
    return from_frame(make_shops(*arguments), label="grade", query="query")


@pytest.fixture(scope="module")
def shops():
    """An experiment on a feature with categories, which the three parts list in different orders."""
    parts = (read_shops(30, 1, "abcd"), read_shops(15, 2, "dcb"), read_shops(15, 3, "dcba"))
    params = {"min_data_per_group": 1, "cat_smooth": 1}
    candidates = [Candidate("lightgbm", "lightgbm", params), Candidate("xgboost", "xgboost")]
    return run(Experiment(candidates, *parts, METRICS[:2], num_boost_round=4, draws=1000))


class TestSelected:
    def test_is_loaded_and_predicts_by_default(self, done, parts):
        result = done.result
        expected = result.comparison.rankings.scores[result.selected]
        np.testing.assert_array_equal(result.predict(parts.test.features), expected)
        np.testing.assert_array_equal(predict(result.load_model(), parts.test), expected)

    def test_repeat_is_the_best_on_the_validation_set(self, repeated, parts):
        result = repeated.result
        for name in result.candidates:
            table = result.repeat_values.loc[name][[f"valid {metric}" for metric in METRICS[:2]]]
            best = (table.max() - table).max(axis=1).idxmin()
            expected = predict(result.load_model(name, repeat=best), parts.test)
            np.testing.assert_array_equal(predict(result.load_model(name), parts.test), expected)
            np.testing.assert_array_equal(result.predict(parts.test, name), expected)


class TestPredict:
    @pytest.mark.parametrize(
        "convert",
        [lambda it: it, lambda it: it.features, lambda it: it.features.tolist(), lambda it: pd.DataFrame(it.features)],
        ids=["RankingData", "array", "list", "frame"],
    )
    def test_scores_are_those_of_the_comparison(self, done, parts, convert):
        for name in done.result.candidates:
            expected = done.result.comparison.rankings.scores[name]
            np.testing.assert_array_equal(done.result.predict(convert(parts.test), name), expected)
        assert done.result.predict(np.zeros((0, 30))).shape == (0,)

    def test_rows_keep_their_order(self, done, parts):
        rows = np.random.default_rng(0).permutation(len(parts.test.labels))
        data = RankingData(parts.test.features[rows], parts.test.labels[rows], qid=parts.test.qid[rows])
        np.testing.assert_array_equal(done.result.predict(data), done.result.predict(parts.test)[rows])

    def test_categories_are_matched_by_value(self, shops):
        frame = pd.DataFrame({"bm25": 0.0, "shop": pd.Categorical([*"abcd", None], categories=list("dacbe"))})
        for name in shops.candidates:
            scores = shops.predict(frame, name)
            assert scores[[1, 3]].min() > scores[[0, 2]].max()
            assert scores[0] == scores[2]
            with pytest.warns(UserWarning, match="does not use the column query"):
                more = shops.predict(frame[["shop", "bm25"]].assign(query=7), name)
            np.testing.assert_array_equal(more, scores)

    def test_sparse_features(self):
        data = simulate(40, seed=1, mean_length=8)
        values = sparse.csr_matrix(np.where(data.features > 0.5, data.features, 0))
        parts = RankingData(values, data.labels, group=data.group).split_queries(0.5, 0.25, 0.25, seed=1)
        result = run(Experiment([Candidate("a", "xgboost")], *parts, num_boost_round=3, draws=1000))
        scores = result.comparison.rankings.scores["a"]
        np.testing.assert_array_equal(result.predict(sparse.csc_array(parts[2].features)), scores)
        with pytest.raises(ValueError, match="must be sparse"):
            result.predict(parts[2].features.toarray())


def train_by_hand(candidate, data, rounds):
    """Return the trees of the library itself."""
    if candidate.library == "lightgbm":
        params = {**candidate.params, "objective": "lambdarank", "seed": candidate.seed, "num_threads": 1}
        params |= {"deterministic": True, "force_row_wise": True, "verbosity": -1}
        gains = list(range(32)) if candidate.training_gain == "linear" else [2**label - 1 for label in range(31)]
        weight = None if data.weight is None else data.weight[data.qid]
        train = lgb.Dataset(data.features, data.labels, group=data.group, weight=weight, params=params)
        return trees(lgb.train({**params, "label_gain": gains}, train, rounds))
    params = {**candidate.params, "objective": "rank:ndcg", "seed": candidate.seed, "nthread": 1}
    params["ndcg_exp_gain"] = candidate.training_gain == "exponential"
    matrix = xgb.QuantileDMatrix(data.features, label=data.labels, qid=data.qid, weight=data.weight)
    return trees(xgb.train(params, matrix, rounds))


class TestRefit:
    def test_on_the_training_data_is_the_compared_model(self, done, make, parts, tmp_path):
        result = run(make(tmp_path / "run"))
        for name in result.candidates:
            model = result.refit(parts.train, name)
            assert trees(model) == trees(result.load_model(name)) == trees(result.load_model(name, refit=True))
            np.testing.assert_array_equal(
                result.predict(parts.test, name, refit=True), result.comparison.rankings.scores[name]
            )
        assert list(result.refits) == list(result.candidates)

    def test_after_folds_uses_the_mean_round_on_all_queries(self, folded, folds, tmp_path):
        result = Experiment.load(shutil.copytree(folded.directory, tmp_path / "run"))
        everything = RankingData.concatenate(folds)
        for candidate in result.plan.candidates:
            rounds = round(fmean(result.compared.loc[candidate.name, "rounds"]))
            model = result.refit(everything, candidate.name)
            assert trees(model) == train_by_hand(candidate, everything, rounds)
            again = Experiment.load(tmp_path / "run")
            assert trees(again.load_model(candidate.name, refit=True)) == trees(model)
            record = again.refits[candidate.name]
            assert (record.rounds, tuple(record.compared_rounds)) == (
                rounds,
                result.compared.loc[candidate.name, "rounds"],
            )
            assert (record.queries, record.documents) == (42, len(everything.labels))
            assert record.versions.keys() == {"gainwise", "numpy", candidate.library}

    def test_with_repeats_in_memory(self, make, recipes, parts):
        result = pickle.loads(pickle.dumps(run(make(candidates=recipes, repeats=3, num_boost_round=6))))
        data = RankingData.concatenate([parts.train, parts.valid])
        assert result.refits == {}
        model = result.refit(data)
        (candidate,) = [it for it in result.plan.candidates if it.name == result.selected]
        assert candidate.seed == compute_seed(candidate, 0)
        rounds = result.refits[result.selected].rounds
        assert rounds == round(fmean(result.compared.loc[result.selected, "rounds"]))
        assert trees(model) == train_by_hand(candidate, data, rounds)
        result.refit(data, rounds=2)
        assert result.refits[result.selected].rounds == 2
        np.testing.assert_array_equal(result.predict(parts.test, refit=True), predict(model, parts.test, 2))

    def test_accepts_new_categories(self, shops):
        new = read_shops(40, 5, "edcba")
        for name in shops.candidates:
            shops.refit(new, name, rounds=40)
            scores = shops.predict(new, name, refit=True)
            means = [scores[new.labels == label].mean() for label in (0, 1, 3)]
            assert means == sorted(means)
            assert shops.refits[name].features.categories == {"shop": tuple("abcde")}

    def test_damaged_file_is_noticed(self, done, parts, copy):
        result = Experiment.load(copy)
        result.refit(parts.train, rounds=1)
        (path,) = (copy / "refits").glob("*/model.*")
        path.write_bytes(path.read_bytes()[:-9])
        with pytest.raises(RuntimeError, match=r"checksum.*refit\(data\)"):
            result.load_model(refit=True)


def other_columns(parts, columns):
    return RankingData(parts.test.features[:, :columns], parts.test.labels, qid=parts.test.qid)


def frame(**columns):
    return pd.DataFrame({"bm25": [0.1, 0.2], "shop": pd.Categorical(["a", "b"]), **columns})


def labelled(features):
    return RankingData(features, [1, 0], group=[2])


DONE = [
    ("refit without data", lambda result, parts: result.refit(), "data", TypeError, "missing 1 required"),
    ("predict: None", lambda result, parts: result.predict(None), "X", TypeError, "got None"),
    ("refit: None", lambda result, parts: result.refit(None), "data", TypeError, "got NoneType"),
    ("refit: array", lambda result, parts: result.refit(parts.test.features), "data", TypeError, "got ndarray"),
    ("refit: columns", lambda result, parts: result.refit(other_columns(parts, 29)), "data", ValueError, "30 features"),
    ("refit: name", lambda result, parts: result.refit(parts.test, "nobody"), "'nobody'", KeyError, "no model"),
    ("refit: rounds", lambda result, parts: result.refit(parts.test, rounds=0), "rounds", ValueError, "got 0"),
    ("predict: columns", lambda result, parts: result.predict(other_columns(parts, 3)), "X", ValueError, "got 3"),
    ("predict: row", lambda result, parts: result.predict(parts.test.features[0]), "features", ValueError, ""),
    ("predict: name", lambda result, parts: result.predict(parts.test, "nobody"), "'nobody'", KeyError, "no model"),
    ("predict: fold", lambda result, parts: result.predict(parts.test, fold="x"), "fold", ValueError, "be None"),
    (
        "predict: fold of refit",
        lambda result, parts: result.predict(parts.test, fold="x", refit=True),
        "refit=True",
        ValueError,
        "stop_by, repeat or",
    ),
    ("predict: refit", lambda result, parts: result.predict(parts.test, refit=True), "refit(data)", ValueError, ""),
]
SHOPS = [
    (
        "refit: names",
        lambda it: it.refit(labelled(frame().rename(columns={"bm25": "x"}))),
        "features",
        "bm25 is missing",
    ),
    ("refit: numbers", lambda it: it.refit(labelled(frame(shop=[1.0, 2.0]))), "'shop'", "numbers"),
    ("predict: names", lambda it: it.predict(frame().rename(columns={"bm25": "x"})), "features", "bm25 is missing"),
    ("predict: array", lambda it: it.predict(np.zeros((2, 2))), "X", "no feature names"),
    ("predict: numbers", lambda it: it.predict(frame(shop=[1.0, 2.0])), "'shop'", "numbers"),
    ("predict: category", lambda it: it.predict(frame(shop=pd.Categorical(["a", "z"]))), "'z'", "'shop'"),
]


@bad_inputs([BadInput(name, call, *expected) for name, call, *expected in DONE])
def test_bad_inputs(case, done, parts):
    case.check(done.result, parts)


@bad_inputs([BadInput(name, call, argument, ValueError, words) for name, call, argument, words in SHOPS])
def test_bad_inputs_with_categories(case, shops):
    case.check(shops)
