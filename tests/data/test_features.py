"""Features of ranking data: sparse ones, their names, and categories."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from gainsay.data import RankingData, simulate

X = np.array([[0, 1.5, 0], [2, 0, 0], [0, 0, np.nan], [0, 0, 3]])


def data_of(features, **options):
    return RankingData(features, [1, 0, 2, 1], qid=[0, 1, 0, 1], query_ids=["a", "b"], **options)


class TestSparse:
    @pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array, sparse.coo_array])
    def test_kept_as_csr(self, kind):
        data = data_of(kind(X))
        assert isinstance(data.features, sparse.csr_matrix)
        np.testing.assert_array_equal(data.features.toarray(), X)
        assert repr(data) == "RankingData(4 documents, 2 queries, 3 features; labels 0: 1, 1: 2, 2: 1; sparse)"

    def test_not_copied(self):
        matrix = sparse.csr_matrix(X)
        assert data_of(matrix).features is matrix

    def test_entries_given_twice_are_added_up_elsewhere(self):
        matrix = sparse.csr_matrix((np.ones(3), [1, 1, 0], [0, 2, 3, 3, 3]), shape=(4, 3))
        assert data_of(matrix).features.toarray().tolist() == [[0, 2, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0]]
        assert matrix.nnz == 3

    @pytest.mark.parametrize(("kind", "kept"), [("float32", "float32"), ("int64", "float64"), ("bool", "float64")])
    def test_types(self, kind, kept):
        assert data_of(sparse.csr_array(np.eye(4, 3).astype(kind))).features.dtype == kept

    @pytest.mark.parametrize(
        "change",
        [
            lambda data: data.contiguous(),
            lambda data: data.take_queries([1, 0, 1]),
            lambda data: data.split_queries(0.5, 0.5, seed=0)[0],
            lambda data: RankingData.concatenate([data, data]),
        ],
        ids=["contiguous", "take", "split", "concatenate"],
    )
    def test_as_dense_ones(self, change):
        found, expected = change(data_of(sparse.csr_array(X))), change(data_of(X))
        np.testing.assert_array_equal(found.features.toarray(), expected.features)
        assert found.labels.tolist() == expected.labels.tolist()

    def test_beside_dense_ones(self):
        with pytest.raises(
            ValueError, match="the features of part 1 are dense and those of part 0 sparse: make all of"
        ):
            RankingData.concatenate([data_of(sparse.csr_array(X)), data_of(X)])

    @pytest.mark.parametrize(
        ("features", "error", "message"),
        [
            (sparse.csr_array(X[:3]), ValueError, "features has 3 rows but there are 4 labels; give one row per"),
            (sparse.csr_array((0, 3)), ValueError, "features has 0 rows but there are 4 labels"),
            (sparse.csr_array(X.astype(complex)), TypeError, "features must be numbers, got an array of complex128"),
        ],
    )
    def test_bad_ones(self, features, error, message):
        with pytest.raises(error, match=message):
            data_of(features)

    def test_no_frame_of_them(self):
        with pytest.raises(ValueError, match="the features are sparse"):
            data_of(sparse.csr_array(X)).feature_frame()


class TestNames:
    def test_go_with_the_data(self):
        data = data_of(X, feature_names=["a", "b", "c"])
        for part in (data.contiguous(), data.take_queries([1]), RankingData.concatenate([data, data])):
            assert part.feature_names == ("a", "b", "c")
        assert data.feature_frame().columns.tolist() == ["a", "b", "c"]
        assert simulate(5, seed=1).feature_frame().columns.tolist() == list(range(30))

    @pytest.mark.parametrize(
        ("names", "error", "message"),
        [
            (["a", "b"], ValueError, r"feature_names must hold one name per column of features \(3\), got 2"),
            (["a", "b", "a"], ValueError, "feature_names holds 'a' twice, at 0 and 2"),
            (["a", 2, "c"], TypeError, r"feature_names\[1\] must be a string, got 2"),
            (["a", "b", "\ud83d"], ValueError, r"feature_names\[2\] cannot be written as UTF-8"),
            ("abc", TypeError, "must be a sequence of names, got the string 'abc'"),
        ],
    )
    def test_bad_ones(self, names, error, message):
        with pytest.raises(error, match=message):
            data_of(X, feature_names=names)

    @pytest.mark.parametrize(
        ("other", "said"),
        [(None, "no feature names"), (["b", "a", "c"], "the features 'b', 'a', 'c'")],
    )
    def test_that_differ(self, other, said):
        parts = [data_of(X, feature_names=["a", "b", "c"]), data_of(X, feature_names=other)]
        with pytest.raises(ValueError, match=f"part 1 has {said}, but part 0 has the features 'a', 'b', 'c': all need"):
            RankingData.concatenate(parts)


class TestCategories:
    @pytest.fixture
    def data(self):
        codes = np.array([[0.5, 1], [0.1, 0], [0.2, np.nan], [0.3, 1]])
        return data_of(codes, feature_names=["bm25", "shop"], categories={"shop": ["x", "y"]})

    def test_the_frame(self, data):
        shop = data.feature_frame()["shop"]
        assert shop.cat.categories.tolist() == ["x", "y"]
        assert shop.fillna("x").tolist() == ["y", "x", "x", "y"]
        assert "; 1 categorical" in repr(data)

    def test_united_when_joined(self, data):
        other = replace(data, categories={"shop": ["z", "y"]})
        both = RankingData.concatenate([data, other])
        assert both.categories == {"shop": ("x", "y", "z")}
        np.testing.assert_array_equal(both.features[:, 1], [1, 0, np.nan, 1, 1, 2, np.nan, 1])
        np.testing.assert_array_equal(other.features[:, 1], [1, 0, np.nan, 1])  # as it was
        frames = [part.feature_frame()["shop"].astype(object).tolist() for part in (data, other)]
        assert str(both.feature_frame()["shop"].astype(object).tolist()) == str(frames[0] + frames[1])

    def test_numbers_in_some_of_the_data(self, data):
        with pytest.raises(
            ValueError, match=r"feature 'shop' has categories in some of the data and numbers in others"
        ):
            RankingData.concatenate([data, replace(data, categories=None)])

    def test_texts_in_some_of_the_data(self, data):
        with pytest.raises(ValueError, match="the categories of feature 'shop' are strings in some of the data"):
            RankingData.concatenate([data, replace(data, categories={"shop": [1, 2]})])

    @pytest.mark.parametrize(
        ("categories", "error", "message"),
        [
            ({"shop": ["x"]}, ValueError, r"codes from 0 to 0 or NaN, got 1.0 in row 0"),
            ({"bm25": ["x", "y"]}, ValueError, r"codes from 0 to 1 or NaN, got 0.5 in row 0"),
            ({"size": ["x"]}, ValueError, "categories names 'size', which is not among feature_names"),
            ({"shop": ["x", "x"]}, ValueError, "must be distinct"),
            ({"shop": ["x", 1]}, ValueError, "all strings or all numbers"),
            ({"shop": [True, False]}, TypeError, "must be strings or numbers, got True of type bool"),
        ],
    )
    def test_bad_ones(self, data, categories, error, message):
        with pytest.raises(error, match=message):
            replace(data, categories=categories)

    def test_need_names_and_dense_features(self, data):
        for change in ({"feature_names": None}, {"features": sparse.csr_array(np.nan_to_num(data.features))}):
            with pytest.raises(ValueError, match=r"categories need feature_names, .* and dense features"):
                replace(data, **change)
