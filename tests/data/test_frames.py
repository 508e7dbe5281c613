"""Ranking data from DataFrames of pandas, and of others that turn into one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from gainsay.data import from_frame


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "query": [7, 3, 7],
            "grade": [2, 0, 1],
            "bm25": [0.5, 1.5, np.nan],
            "clicks": [3, 0, 1],
            "url": ["x", "y", "z"],
            "weight": [1.0, 2.0, 1.0],
        },
        index=[10, 11, 12],
    )


def test_features_are_all_other_numeric_columns(frame):
    data = from_frame(frame, label="grade", query="query", document="url", weight="weight")
    np.testing.assert_array_equal(data.features, [[0.5, 3], [1.5, 0], [np.nan, 1]])
    assert (data.labels.tolist(), data.qid.tolist(), data.query_ids.tolist()) == ([2, 0, 1], [0, 1, 0], ["7", "3"])
    assert (data.document_ids, data.weight.tolist()) == (("x", "y", "z"), [1, 2, 1])


def test_named_features_in_the_order_given(frame):
    data = from_frame(frame, label="grade", query="query", features=["clicks", "bm25"])
    assert data.features[0].tolist() == [3, 0.5]


@pytest.mark.parametrize("ids", [["b", "a", "b"], [1.5, 0.5, 1.5], pd.Categorical(["b", "a", "b"])])
def test_query_ids_of_any_type(frame, ids):
    data = from_frame(frame.assign(query=ids), label="grade", query="query", document="url")
    assert (data.qid.tolist(), data.query_ids.tolist()) == ([0, 1, 0], [str(ids[0]), str(ids[1])])


def test_narrow_columns_stay_narrow(frame):
    narrow = frame.astype({"bm25": "float32"})
    assert from_frame(narrow, label="grade", query="query", features=["bm25"]).features.dtype == np.float32
    assert from_frame(narrow, label="grade", query="query", document="url").features.dtype == np.float64


def test_nullable_and_boolean_columns(frame):
    frame = frame.assign(bm25=pd.array([1, None, 3], dtype="Int64"), clicks=[True, False, True])
    data = from_frame(frame, label="grade", query="query", features=["bm25", "clicks"])
    np.testing.assert_array_equal(data.features, [[1, 1], [np.nan, 0], [3, 1]])


def test_the_frame_is_not_changed(frame):
    before = frame.copy(deep=True)
    data = from_frame(frame, label="grade", query="query", features=["bm25"])
    data.features[0] = 100
    data.labels[0] = 100
    pd.testing.assert_frame_equal(frame, before)


def test_a_pyarrow_table(frame):
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    data = from_frame(table, label="grade", query="query", features=["clicks"])
    assert data.features.ravel().tolist() == [3, 0, 1]


def test_anything_with_to_pandas(frame):
    class Foreign:
        def to_pandas(self):
            return frame

    assert len(from_frame(Foreign(), label="grade", query="query", document="url").labels) == 3


@pytest.mark.parametrize(
    ("changes", "arguments", "error", "message"),
    [
        ({}, {"label": "grad"}, ValueError, r"no column 'grad' \(label\); the nearest name is 'grade'"),
        ({}, {"query": "qury"}, ValueError, r"no column 'qury' \(query\); the nearest name is 'query'"),
        ({}, {"document": "docid"}, ValueError, r"no column 'docid' \(document\)"),
        ({}, {"features": ["bm26"]}, ValueError, r"no column 'bm26' \(feature\); the nearest name is 'bm25'"),
        ({}, {"features": ["url"]}, TypeError, "feature column 'url' must be numeric"),
        ({}, {"features": "bm25"}, TypeError, "must be a sequence of column names, got the string 'bm25'"),
        ({}, {"features": []}, ValueError, "no feature columns"),
        ({}, {"features": ["grade"]}, ValueError, "column 'grade' is named as a feature and in another role"),
        ({}, {"label": "url"}, TypeError, "label column 'url' must be numeric"),
        (
            {"grade": [0, np.nan, 1]},
            {},
            ValueError,
            r"label column 'grade' must be finite, got nan in row 1 \(index 11",
        ),
        ({"grade": [0, 1, np.inf]}, {}, ValueError, r"got inf in row 2 \(index 12\)"),
        ({"query": ["a", None, "b"]}, {}, ValueError, "query column 'query' has no id in row 1"),
        ({"url": ["a", "b", None]}, {"document": "url"}, ValueError, "document column 'url' has no id in row 2"),
        ({"weight": [1, -1, 1]}, {"weight": "weight"}, ValueError, "weight must be finite and not negative; entry 1"),
    ],
)
def test_errors_name_column_and_row(frame, changes, arguments, error, message):
    with pytest.raises(error, match=message):
        from_frame(frame.assign(**changes), **{"label": "grade", "query": "query"} | arguments)


def test_a_name_that_occurs_twice(frame):
    with pytest.raises(ValueError, match="feature column 'bm25' occurs 2 times"):
        from_frame(pd.concat([frame, frame[["bm25"]]], axis=1), label="grade", query="query")


def test_what_is_no_frame():
    with pytest.raises(TypeError, match="frame must be a DataFrame, got dict"):
        from_frame({"grade": [1]}, label="grade", query="query")


def test_an_empty_frame(frame):
    with pytest.raises(ValueError, match="frame has no rows"):
        from_frame(frame.iloc[:0], label="grade", query="query")


class TestNamesAndCategories:
    @pytest.fixture
    def shops(self, frame):
        return frame.drop(columns="url").assign(shop=pd.Categorical(["b", None, "a"], categories=["b", "c", "a"]))

    def test_names_are_kept(self, frame):
        data = from_frame(frame, label="grade", query="query", document="url", weight="weight")
        assert data.feature_names == ("bm25", "clicks")

    def test_names_that_are_no_text(self, frame):
        assert from_frame(
            frame.rename(columns={"bm25": 5}), label="grade", query="query", features=[5]
        ).feature_names == ("5",)

    def test_categories_are_features(self, shops):
        data = from_frame(shops, label="grade", query="query")
        assert data.feature_names == ("bm25", "clicks", "weight", "shop")
        assert data.categories == {"shop": ("b", "c", "a")}
        np.testing.assert_array_equal(data.features[:, 3], [0, np.nan, 2])

    def test_the_frame_of_features(self, shops):
        features = from_frame(shops, label="grade", query="query", features=["shop", "bm25"]).feature_frame()
        pd.testing.assert_frame_equal(features, shops[["shop", "bm25"]].reset_index(drop=True), check_categorical=True)

    def test_of_polars(self, shops):
        polars = pytest.importorskip("polars")
        data = from_frame(polars.from_pandas(shops), label="grade", query="query")
        assert [data.categories["shop"][int(code)] for code in data.features[[0, 2], 3]] == ["b", "a"]

    def test_of_pyarrow(self, shops):
        pyarrow = pytest.importorskip("pyarrow")
        data = from_frame(pyarrow.Table.from_pandas(shops), label="grade", query="query")
        assert data.categories == {"shop": ("b", "c", "a")}

    def test_what_is_left_out_is_said(self, frame):
        with pytest.warns(
            UserWarning, match=r"are no features: 'url' \((str|object)\); name the features as features="
        ):
            from_frame(frame, label="grade", query="query")

    def test_categories_that_no_model_file_holds(self, frame):
        cut = frame.assign(shop=pd.cut(frame["clicks"], 2))
        with pytest.raises(
            TypeError, match="the categories of feature 'shop' must be strings or numbers, got Interval"
        ):
            from_frame(cut, label="grade", query="query", features=["shop"])

    def test_two_names_that_are_one_text(self, frame):
        both = frame.rename(columns={"bm25": 1, "clicks": "1"})
        with pytest.raises(ValueError, match="feature_names holds '1' twice, at 0 and 1"):
            from_frame(both, label="grade", query="query", features=[1, "1"])

    @pytest.mark.parametrize("ids", [[1, "1", 2], ["a", "a\0", "b"]])
    def test_query_ids_that_are_one_text(self, frame, ids):
        ids = pd.Series(ids, index=frame.index, dtype=object)
        with pytest.raises(ValueError, match=r"query column 'query' has .* which are one id as text"):
            from_frame(frame.assign(query=ids), label="grade", query="query", document="url")

    def test_lazy_frame_of_polars(self, frame):
        polars = pytest.importorskip("polars")
        with pytest.raises(TypeError, match=r"frame is a lazy frame of polars, .*: pass frame\.collect\(\)"):
            from_frame(polars.from_pandas(frame).lazy(), label="grade", query="query")

    @pytest.mark.parametrize("kind", ["int64", "Int64"])
    def test_labels_that_no_float_holds(self, frame, kind):
        huge = frame.assign(grade=pd.array([1, 2**53 + 1, 0], dtype=kind))
        with pytest.raises(ValueError, match=r"label column 'grade' must lie between -2\*\*53 and 2\*\*53"):
            from_frame(huge, label="grade", query="query", document="url")


def test_many_columns_are_not_searched_for_each():
    class Name(str):
        __slots__ = ()
        __hash__ = str.__hash__
        compared = 0

        def __eq__(self, other):
            Name.compared += 1
            return str.__eq__(self, other)

    columns = pd.Index([Name(f"f{at}") for at in range(300)] + ["grade", "query"], dtype=object)
    data = from_frame(pd.DataFrame(np.ones((2, 302)), columns=columns), label="grade", query="query")
    assert data.features.shape == (2, 300)
    assert Name.compared < 300 * 30
