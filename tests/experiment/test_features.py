"""Experiments train on feature names, categories and sparse features like the libraries themselves."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from scipy import sparse
from tests.experiment.helpers import ByPickle, make_shops, run

import gainwise as gw
from gainwise.data import RankingData, from_frame, simulate
from gainwise.experiment.plan import compute_fingerprint

METRICS = ["ndcg_linear@5", "ndcg_exp@5"]
ROUNDS = 5
KEEPS_CATEGORIES = tuple(map(int, xgb.__version__.split(".")[:2])) >= (3, 1)
"""From 3.1 on XGBoost keeps the categories of its training, and maps others to the same codes."""
CANDIDATES = [
    gw.Candidate("lightgbm", "lightgbm", {"min_data_per_group": 1, "cat_smooth": 1}),
    gw.Candidate("xgboost", "xgboost"),
]


FRAMES = [make_shops(60, 1, "abcd"), make_shops(30, 2, "dcb"), make_shops(30, 3, "dcba")]
CATEGORICAL = [from_frame(frame, label="grade", query="query") for frame in FRAMES]


def experiment(parts, directory=None):
    return gw.Experiment(CANDIDATES, *parts, METRICS, directory, num_boost_round=ROUNDS, draws=1000)


def sparse_parts(kind):
    """Return the same data as dense zeros, as missing values or as a sparse matrix."""
    data = simulate(60, seed=1, mean_length=20)
    values = np.where(np.random.default_rng(0).random(data.features.shape) < 0.7, 0, data.features)
    features = {
        "dense": values,
        "missing": np.where(values == 0, np.nan, values),
        "sparse": sparse.csr_array(values),
    }[kind]
    names = tuple(f"f{number}" for number in range(values.shape[1]))
    return replace(data, features=features, feature_names=names).split_queries(0.5, 0.25, 0.25, seed=1)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    parts = {"categories": CATEGORICAL, **{kind: sparse_parts(kind) for kind in ("dense", "missing", "sparse")}}
    return {kind: run(experiment(its, tmp_path_factory.mktemp(kind))) for kind, its in parts.items()}


@pytest.fixture(scope="module")
def trained(results):
    return results["categories"]


@pytest.mark.parametrize("kind", ["categories", "sparse"])
@pytest.mark.parametrize("executor", [partial(ThreadPoolExecutor, 2), ByPickle], ids=["in memory", "on disk"])
def test_any_executor(results, kind, executor):
    with executor() as pool:
        found = run(experiment(CATEGORICAL if kind == "categories" else sparse_parts(kind)), pool)
    for metric in METRICS:
        assert np.array_equal(found.comparison.values[metric], results[kind].comparison.values[metric])


class TestCategories:
    def test_both_libraries_split_by_category(self, trained):
        """The order of codes has no meaning, and the other parts have other codes for the same categories."""
        assert trained.leaderboard["ndcg_exp@5"].min() > 0.99
        models = {
            name: trained.load_model(name) for name in trained.candidates if name == "lightgbm" or KEEPS_CATEGORIES
        }
        test = CATEGORICAL[2]
        found = gw.compare(models, test.judgments(), METRICS, features=test, draws=1000)
        assert found.leaderboard["ndcg_exp@5"].min() > 0.99

    @pytest.mark.filterwarnings("ignore:Found `num_iterations` in params")
    def test_lightgbm_trains_like_on_the_frame(self, trained):
        from gainwise.experiment.trainers.lightgbm import create_parameters

        train, features = FRAMES[0], FRAMES[2][["bm25", "shop"]]
        params = create_parameters(trained.plan.candidates[0], train["grade"].max())
        data = lgb.Dataset(train[["bm25", "shop"]], train["grade"], group=train.groupby("query").size(), params=params)
        own, ours = lgb.train(params, data, ROUNDS), trained.load_model("lightgbm")
        assert ours.feature_name() == ["bm25", "shop"]
        assert ours.pandas_categorical == [["a", "b", "c", "d"]]
        rounds = ours.num_trees()
        assert np.array_equal(ours.predict(features, num_iteration=rounds), own.predict(features, num_iteration=rounds))

    def test_xgboost_trains_like_on_the_frame(self, trained):
        from gainwise.experiment.trainers.xgboost import create_parameters

        train = FRAMES[0]
        data = xgb.DMatrix(train[["bm25", "shop"]], train["grade"], qid=train["query"], enable_categorical=True)
        own = xgb.train(create_parameters(trained.plan.candidates[1]), data, ROUNDS)
        ours = trained.load_model("xgboost")
        assert (ours.feature_names, ours.feature_types) == (["bm25", "shop"], ["float", "c"])
        matrix = xgb.DMatrix(make_shops(30, 4, "abcd")[["bm25", "shop"]], enable_categorical=True)
        rounds = (0, ours.num_boosted_rounds())
        assert np.array_equal(ours.predict(matrix, iteration_range=rounds), own.predict(matrix, iteration_range=rounds))

    @pytest.mark.parametrize("features", [CATEGORICAL[2], CATEGORICAL[2].feature_frame()], ids=["data", "frame"])
    def test_model_without_stored_categories_is_rejected(self, features):
        """It would read the codes of the test data, where 0 is another shop, as codes of the training data."""
        frame = FRAMES[0]
        codes = frame.assign(shop=frame["shop"].cat.codes)[["bm25", "shop"]]
        kinds = {"feature_types": ["float", "c"], "enable_categorical": True}
        train = xgb.DMatrix(codes, frame["grade"], qid=frame["query"], **kinds)
        bare = xgb.train({"objective": "rank:ndcg"}, train, ROUNDS)
        judgments = CATEGORICAL[2].judgments()
        with pytest.raises(ValueError, match="splits by category"):
            gw.compare({"bare": bare}, judgments, METRICS, features=features)
        same = FRAMES[2].assign(shop=FRAMES[2]["shop"].cat.set_categories(list("abcd")).cat.codes)
        array = same[["bm25", "shop"]].to_numpy(np.float32)
        found = gw.compare({"bare": bare, "bm25": array[:, 0]}, judgments, METRICS, features=array, draws=1000)
        assert found.leaderboard.loc["bare", "ndcg_exp@5"] > 0.99

    @pytest.mark.parametrize(
        ("parts", "words"),
        [
            ([*CATEGORICAL[:2], replace(CATEGORICAL[2], categories=None)], ["'shop'", "categories", "numbers"]),
            (
                [from_frame(FRAMES[1], label="grade", query="query", features=["shop", "bm25"]), *CATEGORICAL[1:]],
                ["'shop', 'bm25'", "'bm25', 'shop'"],
            ),
            ([*sparse_parts("dense")[:2], sparse_parts("sparse")[2]], ["test must be dense", "got sparse"]),
        ],
    )
    def test_parts_with_different_features_are_rejected(self, parts, words):
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - the words follow
            experiment(parts)
        assert all(word in str(caught.value) for word in words)


class TestSparse:
    @pytest.mark.parametrize(("candidate", "same"), [("lightgbm", "dense"), ("xgboost", "missing")])
    def test_absent_values_are_zero_to_lightgbm_and_missing_to_xgboost(self, results, candidate, same):
        at = results["sparse"].candidates.index(candidate)
        for metric in METRICS:
            values = {kind: results[kind].comparison.values[metric] for kind in ("sparse", "dense", "missing")}
            assert np.array_equal(values["sparse"][:, at], values[same][:, at])
            assert not np.array_equal(values["dense"], values["missing"])

    @pytest.mark.parametrize(
        "convert", [lambda it: it, lambda it: it.features, lambda it: sparse.csc_array(it.features)]
    )
    def test_boosters_are_compared(self, results, convert):
        test, names = sparse_parts("sparse")[2], [f"f{number}" for number in range(30)]
        models = {name: results["sparse"].load_model(name) for name in ("lightgbm", "xgboost")}
        assert models["lightgbm"].feature_name() == models["xgboost"].feature_names == names
        found = gw.compare(models, test.judgments(), METRICS, features=convert(test), draws=1000)
        rows = {"lightgbm": test.features, "xgboost": xgb.DMatrix(test.features, feature_names=names)}
        scores = {name: model.predict(rows[name]) for name, model in models.items()}
        assert found.leaderboard.equals(gw.compare(scores, test.judgments(), METRICS, draws=1000).leaderboard)


class TestFingerprint:
    DATA = RankingData(
        np.array([[0.5, 1], [0.1, 0]]),
        [1, 0],
        group=[2],
        feature_names=["bm25", "shop"],
        categories={"shop": ["x", "y"]},
    )

    @pytest.mark.parametrize(
        "change",
        [
            {"feature_names": ("bm25", "shop2"), "categories": {"shop2": ["x", "y"]}},
            {"categories": {"shop": ["y", "x"]}},
            {"categories": None},
            {"features": np.array([[0.5, 1], [0.2, 0]])},
            {"labels": np.array([1.0, 2.0])},
            {"query_ids": np.array(["x"])},
            {"weight": np.array([1.0])},
            {"features": sparse.csr_array([[0.5, 1], [0.1, 0]]), "categories": None},
        ],
        ids=["name", "order", "numbers", "features", "labels", "queries", "weight", "sparse"],
    )
    def test_changes_with_the_input_of_models(self, change):
        assert compute_fingerprint(replace(self.DATA, **change)) != compute_fingerprint(self.DATA)
