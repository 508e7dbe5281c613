"""Experiments train on names, categories and sparse features as the libraries themselves do."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from tests.experiment.faulty import Elsewhere

import gainsay as gs
from gainsay.data import RankingData, from_frame, simulate
from gainsay.experiment.folds import fingerprint
from gainsay.experiment.shared import PartsOnDisk

lgb = pytest.importorskip("lightgbm")
xgb = pytest.importorskip("xgboost")
pytest.importorskip("pyarrow")

METRICS = ["ndcg_linear@5", "ndcg_exp@5"]
WORTH = {"a": 0, "b": 3, "c": 0, "d": 3, "e": 1}
ROUNDS = 5
RECODES = tuple(map(int, xgb.__version__.split(".")[:2])) >= (3, 1)
"""From then on XGBoost keeps the categories of its training, and brings others to the same codes."""
CANDIDATES = [
    gs.Candidate("lightgbm", "lightgbm", {"min_data_per_group": 1, "cat_smooth": 1}),
    gs.Candidate("xgboost", "xgboost"),
]


def shops(queries, seed, categories):
    """Return a frame in which the category alone tells the relevant documents, in no order of the alphabet."""
    rng = np.random.default_rng(seed)
    shop = rng.choice(list(categories), queries * 10)
    return pd.DataFrame(
        {
            "query": np.repeat(np.arange(queries), 10),
            "grade": [WORTH[one] for one in shop],
            "bm25": rng.normal(size=len(shop)).astype(np.float32),
            "shop": pd.Categorical(shop, categories=list(categories)),
        }
    )


EXECUTORS = [partial(ThreadPoolExecutor, 2), Elsewhere]
"""Which share the data in memory, and by way of the disk."""
FRAMES = [shops(60, 1, "abcd"), shops(30, 2, "dcb"), shops(30, 3, "dcba")]


def experiment(parts, candidates=CANDIDATES, **options):
    return gs.Experiment(candidates, *parts, METRICS, num_boost_round=ROUNDS, draws=1000, **options)


def run(parts, executor=None, **options):
    return experiment(parts, **options).run(executor, progress=False)


@pytest.fixture(scope="module")
def categorical():
    return [from_frame(frame, label="grade", query="query") for frame in FRAMES]


@pytest.fixture(scope="module")
def trained(categorical, tmp_path_factory):
    return run(categorical, directory=tmp_path_factory.mktemp("categories"))


def test_both_libraries_split_by_category(trained):
    """The order of the codes says nothing: 0, 3, 0, 3; and in valid and test the same categories have other codes."""
    assert trained.comparison.leaderboard["ndcg_exp@5"].min() > 0.99


@pytest.mark.filterwarnings("ignore:Found `num_iterations` in params")
def test_lightgbm_as_by_itself(trained):
    """LightGBM given the very DataFrame trains the same model."""
    train = FRAMES[0]
    from gainsay.experiment.lightgbm_training import parameters

    params = parameters(experiment_candidate(trained, "lightgbm"), train["grade"].max())
    data = lgb.Dataset(train[["bm25", "shop"]], train["grade"], group=train.groupby("query").size(), params=params)
    own = lgb.train(params, data, ROUNDS)
    ours = trained.load_model("lightgbm")
    assert ours.feature_name() == ["bm25", "shop"]
    assert ours.pandas_categorical == [["a", "b", "c", "d"]]
    features = FRAMES[2][["bm25", "shop"]]
    rounds = ours.num_trees()
    assert np.array_equal(ours.predict(features, num_iteration=rounds), own.predict(features, num_iteration=rounds))


def test_xgboost_as_by_itself(trained):
    train = FRAMES[0]
    from gainsay.experiment.xgboost_training import parameters

    data = xgb.DMatrix(train[["bm25", "shop"]], train["grade"], qid=train["query"], enable_categorical=True)
    own = xgb.train(parameters(experiment_candidate(trained, "xgboost")), data, ROUNDS)
    ours = trained.load_model("xgboost")
    assert (ours.feature_names, ours.feature_types) == (["bm25", "shop"], ["float", "c"])
    same = shops(30, 4, "abcd")[["bm25", "shop"]]
    matrix = xgb.DMatrix(same, enable_categorical=True)
    rounds = (0, ours.num_boosted_rounds())
    assert np.array_equal(ours.predict(matrix, iteration_range=rounds), own.predict(matrix, iteration_range=rounds))


def experiment_candidate(result, name):
    return next(candidate for candidate in result.plan.candidates if candidate.name == name)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_categories_in_any_executor(categorical, trained, executor):
    with executor() as pool:
        found = run(categorical, pool)
    for metric in METRICS:
        assert np.array_equal(found.comparison.values[metric], trained.comparison.values[metric])


def test_models_are_compared_on_ranking_data(categorical, trained):
    models = {name: trained.load_model(name) for name in trained.candidates if name == "lightgbm" or RECODES}
    found = gs.compare(models, categorical[2].judgments(), METRICS, features=categorical[2], draws=1000)
    assert found.leaderboard["ndcg_exp@5"].min() > 0.99


def by_bare_codes(frame):
    codes = frame.assign(shop=frame["shop"].cat.codes)[["bm25", "shop"]]
    kinds = {"feature_types": ["float", "c"], "enable_categorical": True}
    train = xgb.DMatrix(codes, frame["grade"], qid=frame["query"], **kinds)
    return xgb.train({"objective": "rank:ndcg"}, train, ROUNDS)


@pytest.mark.parametrize("form", ["RankingData", "DataFrame"])
def test_a_model_that_does_not_know_its_categories_is_refused(categorical, form):
    """It would read the codes of the test data, in which 0 is another shop, as those of the training."""
    model = by_bare_codes(FRAMES[0])
    test = categorical[2]
    features = test if form == "RankingData" else test.feature_frame()
    with pytest.raises(ValueError, match="model 'bare': it splits by category, but does not know which categories"):
        gs.compare({"bare": model}, test.judgments(), METRICS, features=features)


def test_it_reads_an_array_of_the_codes_of_its_training(categorical):
    test = FRAMES[2].assign(shop=FRAMES[2]["shop"].cat.set_categories(list("abcd")).cat.codes)
    codes = test[["bm25", "shop"]].to_numpy(np.float32)
    found = gs.compare(
        {"bare": by_bare_codes(FRAMES[0]), "bm25": codes[:, 0]}, categorical[2].judgments(), METRICS, features=codes,
        draws=1000,
    )  # fmt: skip
    assert found.leaderboard.loc["bare", "ndcg_exp@5"] > 0.99


@pytest.mark.skipif(RECODES, reason="XGBoost from 3.1 on knows the categories of its training")
def test_before_xgboost_3_1_no_model_knows_them(categorical, trained):
    with pytest.raises(ValueError, match="but does not know which categories its codes stand for"):
        gs.compare({"x": trained.load_model("xgboost")}, categorical[2].judgments(), METRICS, features=categorical[2])


def test_parts_are_brought_to_the_same_codes(categorical):
    parts = experiment(categorical)._parts
    assert {part.categories["shop"] for part in parts.values()} == {("a", "b", "c", "d")}
    for frame, part in zip(FRAMES, parts.values(), strict=True):
        assert part.feature_frame()["shop"].astype(str).tolist() == frame["shop"].astype(str).tolist()


def test_categories_in_some_parts_only(categorical):
    parts = [*categorical[:2], replace(categorical[2], categories=None)]
    with pytest.raises(ValueError, match="feature 'shop' has categories in some of the data and numbers in others"):
        experiment(parts)


def test_features_in_another_order(categorical):
    other = from_frame(FRAMES[1], label="grade", query="query", features=["shop", "bm25"])
    with pytest.raises(
        ValueError, match="valid has the features 'shop', 'bm25', but train has the features 'bm25', 'shop'"
    ):
        experiment([categorical[0], other, categorical[2]])


@pytest.mark.parametrize(
    ("name", "candidate", "message"),
    [
        ("a,b", 0, "the feature 'a,b' has one of .* in its name, which LightGBM refuses; rename it"),
        ("a[0]", 1, r"the feature 'a\[0\]' has one of \[, \] and < in its name, which XGBoost refuses; rename it"),
        ("sho p", 0, "the features 'sho_p' and 'sho p' are one to LightGBM"),
    ],
)
def test_names_that_a_library_refuses(name, candidate, message):
    data = simulate(10, seed=1, mean_length=5, features=3)
    data = replace(data, feature_names=("sho_p", name, "c"))
    with pytest.raises(ValueError, match=message):
        experiment([data] * 3, [CANDIDATES[candidate]])


@pytest.fixture(scope="module")
def kinds():
    data = simulate(60, seed=1, mean_length=20)
    values = np.where(np.random.default_rng(0).random(data.features.shape) < 0.7, 0, data.features)
    names = tuple(f"f{number}" for number in range(values.shape[1]))
    dense = replace(data, features=values, feature_names=names)
    missing = replace(dense, features=np.where(values == 0, np.nan, values))
    return {"dense": dense, "missing": missing, "sparse": replace(dense, features=sparse.csr_array(values))}


@pytest.fixture(scope="module")
def results(kinds, tmp_path_factory):
    return {
        kind: run(data.split_queries(0.5, 0.25, 0.25, seed=1), directory=tmp_path_factory.mktemp(kind))
        for kind, data in kinds.items()
    }


class TestSparse:
    @pytest.mark.parametrize(("candidate", "same"), [("lightgbm", "dense"), ("xgboost", "missing")])
    def test_as_the_libraries_have_it(self, results, candidate, same):
        """What a sparse matrix does not hold is 0 to LightGBM and missing to XGBoost."""
        place = results["sparse"].candidates.index(candidate)
        for metric in METRICS:
            found, expected = (results[kind].comparison.values[metric][:, place] for kind in ("sparse", same))
            assert np.array_equal(found, expected)
        assert not np.array_equal(
            results["dense"].comparison.values[metric], results["missing"].comparison.values[metric]
        )

    @pytest.mark.parametrize("executor", EXECUTORS)
    def test_in_any_executor(self, kinds, results, executor):
        with executor() as pool:
            found = run(kinds["sparse"].split_queries(0.5, 0.25, 0.25, seed=1), pool)
        for metric in METRICS:
            assert np.array_equal(found.comparison.values[metric], results["sparse"].comparison.values[metric])

    def test_in_folds(self, kinds):
        found = gs.Experiment(
            CANDIDATES, folds=gs.k_folds(kinds["sparse"], 3), metrics=METRICS, num_boost_round=2, draws=1000
        ).run(progress=False)
        assert found.comparison.query_count == 60

    def test_names_are_in_the_models(self, results):
        names = [f"f{number}" for number in range(30)]
        assert results["sparse"].load_model("lightgbm").feature_name() == names
        assert results["sparse"].load_model("xgboost").feature_names == names

    @pytest.mark.parametrize(
        "features", [lambda data: data, lambda data: data.features, lambda data: sparse.csc_array(data.features)]
    )
    def test_boosters_are_compared(self, kinds, results, features):
        test = kinds["sparse"].split_queries(0.5, 0.25, 0.25, seed=1)[2]
        models = {name: results["sparse"].load_model(name) for name in ("lightgbm", "xgboost")}
        found = gs.compare(models, test.judgments(), METRICS, features=features(test), draws=1000)
        rows = {
            "lightgbm": test.features,
            "xgboost": xgb.DMatrix(test.features, feature_names=models["xgboost"].feature_names),
        }
        scores = {name: model.predict(rows[name]) for name, model in models.items()}
        expected = gs.compare(scores, test.judgments(), METRICS, draws=1000)
        assert found.leaderboard.equals(expected.leaderboard)

    def test_dense_and_sparse_parts(self, kinds):
        train, valid, _ = kinds["dense"].split_queries(0.5, 0.25, 0.25, seed=1)
        test = kinds["sparse"].split_queries(0.5, 0.25, 0.25, seed=1)[2]
        with pytest.raises(
            ValueError, match="the features of train are dense and those of test sparse: make all of one"
        ):
            experiment([train, valid, test])


class TestFingerprint:
    @pytest.fixture
    def data(self):
        codes = np.array([[0.5, 1], [0.1, 0]])
        return RankingData(codes, [1, 0], group=[2], feature_names=["bm25", "shop"], categories={"shop": ["x", "y"]})

    @pytest.mark.parametrize(
        "change",
        [
            {"feature_names": ("bm25", "shop2"), "categories": {"shop2": ["x", "y"]}},
            {"categories": {"shop": ["y", "x"]}},
            {"categories": None},
            {"features": sparse.csr_array([[0.5, 1], [0.1, 0]]), "categories": None},
        ],
        ids=["name", "order", "numbers", "sparse"],
    )
    def test_what_models_see_counts(self, data, change):
        assert fingerprint(replace(data, **change)) != fingerprint(data)

    def test_the_width_of_indices_does_not(self, data):
        matrix = sparse.csr_matrix(data.features)
        wide = matrix.copy()
        wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
        plain = replace(data, features=matrix, categories=None)
        assert fingerprint(replace(plain, features=wide)) == fingerprint(plain)


@pytest.mark.parametrize("kind", ["categories", "sparse", "plain"])
def test_parts_on_disk_are_the_same_data(tmp_path, kind, categorical):
    data = categorical[0] if kind == "categories" else replace(simulate(9, seed=1), weight=np.arange(1.0, 10.0))
    if kind == "sparse":
        data = replace(data, features=sparse.csr_array(data.features))
    shared = PartsOnDisk(tmp_path / "data", ("train", "test"))
    shared.write({"train": data, "test": data})
    assert list(shared) == ["train", "test"]
    assert fingerprint(shared["test"]) == fingerprint(data)
    assert (shared["test"].categories, shared["test"].feature_names) == (data.categories, data.feature_names)
