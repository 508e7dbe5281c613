"""RankingData from arrays and DataFrames: queries are selected, split and joined, with their features."""

import dataclasses
import datetime
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import gainwise as gw
from gainwise.data import RankingData, from_frame

X = np.arange(10.0).reshape(5, 2)
Y = [1, 0, 2, 0, 3]
QID = ["b", "a", "b", "c", "a"]
NAN = np.nan


def make(qid=(0, 0, 1, 2, 2, 2), /, **changes):
    rows = len(qid)
    fields = {
        "features": np.arange(rows * 2.0).reshape(rows, 2),
        "labels": np.arange(rows) % 3,
        "qid": list(qid),
        "query_ids": [f"q{code}" for code in range(max(qid) + 1)],
        "document_ids": [f"d{row}" for row in range(rows)],
    }
    return RankingData(**fields | changes)


def rows_of(data):
    """Return all values of each document, with its query id."""
    names = data.document_ids or [None] * len(data.labels)
    columns = (data.features.tolist(), data.labels, data.query_ids[data.qid], names)
    return [(tuple(values), label, str(query), name) for values, label, query, name in zip(*columns, strict=True)]


def assert_same(data, judgments):
    """Assert that labels, queries, their order and weights equal those of Judgments."""
    converted = data.judgments()
    assert converted.labels.tolist() == judgments.labels.tolist()
    assert converted.sizes.tolist() == judgments.sizes.tolist()
    assert data.query_ids.tolist() == [str(name) for name in judgments.query_ids.tolist()]
    assert [data.query_ids[code] for code in data.qid] == [str(judgments.query_of_row(row)) for row in range(len(Y))]
    assert (converted.weights is None) == (judgments.weights is None)
    if judgments.weights is not None:
        assert converted.weights.tolist() == judgments.weights.tolist()


def test_types_of_arrays():
    data = make()
    assert (data.labels.dtype, data.qid.dtype, data.query_ids.dtype.kind) == (np.float64, np.int64, "U")
    assert data.document_ids == ("d0", "d1", "d2", "d3", "d4", "d5")
    assert data.group.tolist() == [2, 1, 3]
    assert make(features=np.ones((6, 2), dtype=np.int8)).features.dtype == np.float64
    features = np.zeros((6, 2), dtype=np.float32)
    assert make(features=features).features is features
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.labels = np.zeros(6)


class TestQueries:
    @pytest.mark.parametrize(
        "holder", [list, np.array, pl.Series, pa.array, lambda ids: pd.Series(ids, dtype="category")]
    )
    @pytest.mark.parametrize("qid", [QID, [7, 3, 7, 2**60, 3], [0.5, 0.25, 0.5, 1.5, 0.25]])
    def test_ids_in_any_container(self, holder, qid):
        assert_same(RankingData(X, Y, qid=holder(qid)), gw.Judgments(Y, qid=qid))

    def test_bytes_and_dates(self):
        days = [datetime.date(2024, 1, day) for day in (2, 1, 2, 3, 1)]
        assert RankingData(X, Y, qid=[b"b", b"a", b"b", b"c", b"a"]).query_ids.tolist() == ["b", "a", "c"]
        assert RankingData(X, Y, qid=days).query_ids.tolist() == ["2024-01-02", "2024-01-01", "2024-01-03"]
        for unit in ("s", "ns"):
            names = RankingData(X, Y, qid=np.array(days, dtype=f"M8[{unit}]")).query_ids.tolist()
            assert names == [f"2024-01-0{day} 00:00:00" for day in (2, 1, 3)]

    @given(st.lists(st.integers(-3, 3), min_size=1, max_size=30))
    def test_codes_in_order_of_first_appearance(self, qid):
        data = RankingData(np.zeros((len(qid), 1)), np.zeros(len(qid)), qid=qid)
        order = list(dict.fromkeys(qid))
        assert data.query_ids.tolist() == [str(name) for name in order]
        assert data.qid.tolist() == [order.index(name) for name in qid]

    def test_sizes(self):
        data = RankingData(X, Y, group=[2, 3])
        assert_same(data, gw.Judgments(Y, group=[2, 3]))
        assert (data.group.tolist(), data.query_ids.tolist()) == ([2, 3], ["0", "1"])
        data = RankingData(X, Y, group=[2, 3], query_ids=["a", "a"], weight=[1, 0])
        assert (data.qid.tolist(), data.query_ids.tolist()) == ([0, 0, 1, 1, 1], ["a", "a"])
        assert data.weight.tolist() == [1, 0]

    @pytest.mark.parametrize(
        ("queries", "ids"),
        [
            ({"qid": list("bacbca")}, ["b", "a", "c"]),
            ({"group": [2, 2, 2]}, [0, 1, 2]),
            ({"qid": [0, 0, 1, 1, 2, 2]}, [0, 1, 2]),
        ],
    )
    def test_ids_of_judgments(self, queries, ids):
        assert RankingData(np.zeros((6, 1)), [1, 0, 2, 1, 0, 1], **queries).judgments().query_ids.tolist() == ids

    def test_queries_of_one_id_stay_separate_in_judgments(self):
        data = RankingData(np.zeros((6, 1)), [1, 0, 2, 1, 0, 1], qid=list("bbaacc")).take_queries([0, 0, 2])
        judgments = data.judgments()
        assert (judgments.query_ids.tolist(), judgments.sizes.tolist()) == ([0, 1, 2], [2, 2, 2])

    def test_segments_are_matched_by_id(self):
        """Ids are not positions of queries, even if they are numbers."""
        data = RankingData(np.zeros((6, 1)), [1, 0, 2, 1, 0, 1], qid=[3, 3, 1, 1, 2, 2])
        comparison = gw.compare({"a": np.arange(6.0)}, data.judgments(), segments={"3": "x", "1": "y", "2": "z"})
        assert comparison._segment_labels["segment"].tolist() == ["x", "y", "z"]
        assert comparison.frame().index.unique("query").tolist() == ["3", "1", "2"]


class TestLabelsAndWeights:
    @pytest.mark.parametrize(
        "weight",
        [[3, 1, 2], [1, 2, 3, 4, 5], {"a": 1, "b": 3, "c": 2, "other": 9}, pd.Series([1, 3, 2], index=[*"abc"])],
        ids=["query", "document", "mapping", "by id"],
    )
    def test_weights_are_those_of_judgments(self, weight):
        data = RankingData(X, Y, qid=QID, weight=weight)
        assert_same(data, gw.Judgments(Y, qid=QID, weight=weight))
        if len(data.weight) == len(Y):
            assert data.weight.tolist() == [1, 2, 3, 4, 5]

    def test_weights_stay_with_their_queries_or_documents(self):
        assert make(weight=[1, 2, 3]).take_queries([2, 0]).weight.tolist() == [3, 1]
        assert make(weight=[1, 2, 3, 4, 5, 6]).take_queries([2, 0]).weight.tolist() == [4, 5, 6, 1, 2]
        assert make((0, 1, 0), weight=[1, 2, 3]).contiguous().weight.tolist() == [1, 3, 2]


codes_in_order = st.lists(st.integers(0, 4), min_size=1, max_size=30).map(
    lambda codes: [list(dict.fromkeys(codes)).index(code) for code in codes]
)


class TestPartsOfData:
    @given(codes_in_order)
    def test_contiguous_keeps_the_order_within_queries(self, qid):
        data = make(qid)
        together = data.contiguous()
        assert together.group.sum() == len(qid)
        assert rows_of(together) == sorted(rows_of(data), key=lambda row: (row[2], int(row[3][1:])))
        assert together.contiguous() is together

    @given(codes_in_order, st.data())
    def test_take_queries(self, qid, draw):
        data = make(qid, weight=np.arange(len(qid)))
        codes = draw.draw(st.lists(st.integers(0, max(qid)), min_size=1, max_size=8))
        taken = data.take_queries(codes)
        assert rows_of(taken) == [row for code in codes for row in rows_of(data) if row[2] == f"q{code}"]
        assert taken.query_ids.tolist() == [f"q{code}" for code in codes]

    def test_split_and_concatenate(self):
        data = make(np.repeat(np.arange(20), 3))
        parts = data.split_queries(0.5, 0.3, 0.2, seed=4)
        assert [len(part.query_ids) for part in parts] == [10, 6, 4]
        assert sorted(row for part in parts for row in rows_of(part)) == sorted(rows_of(data))
        assert sorted(rows_of(RankingData.concatenate(parts))) == sorted(rows_of(data))
        first, again, other = (data.split_queries(0.5, 0.5, seed=seed)[0].query_ids.tolist() for seed in (1, 1, 2))
        assert first == again != other

    def test_concatenate_weights(self):
        per_query, per_document = make(weight=[1, 2, 3]), make(weight=[1, 2, 3, 4, 5, 6])
        assert RankingData.concatenate([per_query, per_query]).weight.tolist() == [1, 2, 3, 1, 2, 3]
        both = RankingData.concatenate([per_query, per_document])
        assert both.weight.tolist() == [1, 1, 2, 3, 3, 3, 1, 2, 3, 4, 5, 6]


SPARSE = np.array([[0, 1.5, 0], [2, 0, 0], [0, 0, NAN], [0, 0, 3]])


def data_of(features, **options):
    return RankingData(features, [1, 0, 2, 1], qid=[0, 1, 0, 1], query_ids=["a", "b"], **options)


class TestFeatures:
    @pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array, sparse.csc_array, sparse.coo_array])
    def test_sparse_ones_become_csr(self, kind):
        data = data_of(kind(SPARSE))
        assert isinstance(data.features, sparse.csr_matrix)
        np.testing.assert_array_equal(data.features.toarray(), SPARSE)
        assert repr(data) == "RankingData(4 documents, 2 queries, 3 features; labels 0: 1, 1: 2, 2: 1; sparse)"

    def test_sparse_ones_are_not_copied_and_types_are_floats(self):
        matrix = sparse.csr_matrix(SPARSE)
        assert data_of(matrix).features is matrix
        twice = sparse.csr_matrix((np.ones(3), [1, 1, 0], [0, 2, 3, 3, 3]), shape=(4, 3))
        assert data_of(twice).features.toarray().tolist() == [[0, 2, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0]]
        assert twice.nnz == 3
        for kind, kept in (("float32", "float32"), ("int64", "float64"), ("bool", "float64")):
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
    def test_sparse_ones_equal_dense_ones(self, change):
        found, expected = change(data_of(sparse.csr_array(SPARSE))), change(data_of(SPARSE))
        np.testing.assert_array_equal(found.features.toarray(), expected.features)
        assert found.labels.tolist() == expected.labels.tolist()

    @pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
    def test_masked_entries_are_missing(self, dtype):
        values = np.ma.array(np.array([[1, 2], [3, 4]], dtype=dtype), mask=[[False, True], [False, False]])
        features = RankingData(values, [1, 0], group=[2]).features
        np.testing.assert_array_equal(features, [[1, NAN], [3, 4]])
        assert features.dtype == (np.float32 if dtype is np.float32 else np.float64)
        assert values.data[0, 1] == 2

    @pytest.mark.parametrize("convert", [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas])
    def test_of_a_frame(self, convert):
        frame = pd.DataFrame({"bm25": X[:, 0], "shop": pd.Categorical(["x", "y", None, "x", "y"])})
        data = RankingData(convert(frame), Y, qid=QID)
        assert (data.feature_names, data.categories) == (("bm25", "shop"), {"shop": ("x", "y")})
        np.testing.assert_array_equal(data.features[:, 1], [0, 1, NAN, 0, 1])

    def test_concatenate_unites_categories(self):
        codes = np.array([[0.5, 1], [0.1, 0], [0.2, NAN], [0.3, 1]])
        data = data_of(codes, feature_names=["bm25", "shop"], categories={"shop": ["x", "y"]})
        other = replace(data, categories={"shop": ["z", "y"]})
        both = RankingData.concatenate([data, other])
        assert both.categories == {"shop": ("x", "y", "z")}
        np.testing.assert_array_equal(both.features[:, 1], [1, 0, NAN, 1, 1, 2, NAN, 1])
        np.testing.assert_array_equal(other.features[:, 1], [1, 0, NAN, 1])  # not changed
        assert both.feature_frame()["shop"].fillna("x").tolist() == [*"yxxy", *"yzxy"]
        assert data.feature_frame()["shop"].cat.categories.tolist() == ["x", "y"]
        assert "; 1 categorical" in repr(data)

    def test_repr_of_many_grades(self):
        assert "labels from 0 to 10.5" in repr(RankingData(np.zeros((22, 1)), np.arange(22) / 2, group=[22]))


def test_rows_are_matched_by_the_index_of_the_labels():
    frame = pd.DataFrame(X, columns=["bm25", "age"], index=list("vwxyz"))
    frame = frame.assign(label=Y, query=QID, weight=[1, 2, 3, 4, 5], url=list("pqrst"))
    mixed = frame.iloc[[3, 0, 4, 1, 2]]
    roles = {"qid": mixed["query"], "weight": mixed["weight"], "document_ids": frame["url"].iloc[::-1]}
    data = RankingData(mixed[["bm25", "age"]], frame["label"], **roles)
    roles = {"label": "label", "query": "query", "weight": "weight", "document": "url"}
    expected = from_frame(frame, **roles, features=["bm25", "age"])
    for name in ("features", "labels", "qid", "query_ids", "weight"):
        np.testing.assert_array_equal(getattr(data, name), getattr(expected, name))
    assert data.document_ids == expected.document_ids == tuple("pqrst")
    assert data.feature_names == expected.feature_names == ("bm25", "age")


FRAME = pd.DataFrame(
    {"query": ["b", "a", "b", "c", "a"], "label": [0, 1, 2, 1, 3], "x": [0.4, 0.1, 0.9, 0.2, 0.6]},
    index=[40, 10, 30, 50, 20],
)


def read_frame(frame=FRAME):
    return from_frame(frame, label="label", query="query", features=["x"])


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data,
        lambda data: data.contiguous(),
        lambda data: data.take_queries([2, 0, 1]),
        lambda data: data.split_queries(0.67, 0.33, seed=1)[0],
        lambda data: RankingData.concatenate(data.split_queries(0.67, 0.33, seed=1)),
        lambda data: replace(data, feature_names=("bm25",)),
        lambda data: RankingData(FRAME[["x"]], FRAME["label"].to_numpy(), qid=FRAME["query"]).contiguous(),
    ],
    ids=["unchanged", "contiguous", "taken", "split", "concatenated", "replaced", "index of qid"],
)
def test_a_column_of_the_frame_matches_by_index(change):
    """The scores equal the labels, so each query has the best order only if every score belongs to its row."""
    data = change(read_frame())
    assert data.feature_frame().iloc[:, 0].equals(FRAME["x"].loc[data.index].rename(data.feature_names[0]))
    assert FRAME["label"].loc[data.index].tolist() == data.labels.tolist()
    scores = FRAME["label"].sort_index().loc[lambda column: column.index.isin(data.index)]
    judgments = data.judgments()
    assert gw.evaluate("ndcg_exp", judgments, scores).per_query.tolist() == [[1.0]] * judgments.queries


def test_a_new_series_for_rearranged_rows_is_ambiguous():
    """Its index counts its rows, as that of a column from before may do."""
    data = read_frame(FRAME.reset_index(drop=True)).contiguous()
    for scores in (pd.Series(data.labels), FRAME.reset_index()["label"]):
        with pytest.raises(ValueError, match=r"scores is ambiguous.* \(0, 2, …\).*scores\.to_numpy\(\)"):
            gw.evaluate("mrr", data.judgments(), scores)
    for scores in (pd.Series(data.labels).to_numpy(), FRAME.reset_index()["label"].loc[data.index]):
        assert gw.evaluate("ndcg_exp", data.judgments(), scores).mean == {"ndcg_exp": 1.0}


def test_predictions_from_ranking_data_in_another_order():
    class Model:
        def predict(self, features):
            return features["x"].to_numpy()

    models = {"model": Model(), "column": FRAME["x"]}
    judgments = gw.Judgments(FRAME["label"], qid=FRAME["query"])
    for data in (read_frame().contiguous(), read_frame(FRAME.sort_index())):
        values = gw.compare(models, judgments, features=data).frame()
        pd.testing.assert_frame_equal(values.xs("model", level="model"), values.xs("column", level="model"))


def test_joined_rows_without_an_index_match_no_series():
    arrays = RankingData(FRAME[["x"]].to_numpy(), FRAME["label"].to_numpy(), qid=FRAME["query"].to_numpy())
    joined = RankingData.concatenate([replace(read_frame(), feature_names=None), arrays])
    assert joined.index.tolist() == [*FRAME.index, *[None] * 5]
    with pytest.raises(ValueError, match="scores does not match the labels"):
        gw.evaluate("mrr", joined.judgments(), pd.concat([FRAME["x"], FRAME["x"]]))


class TestFrames:
    @pytest.fixture
    def frame(self):
        return pd.DataFrame(
            {
                "query": [7, 3, 7],
                "grade": [2, 0, 1],
                "bm25": [0.5, 1.5, NAN],
                "clicks": [3, 0, 1],
                "url": ["x", "y", "z"],
                "weight": [1.0, 2.0, 1.0],
            },
            index=[10, 11, 12],
        )

    @pytest.fixture
    def shops(self, frame):
        return frame.drop(columns="url").assign(shop=pd.Categorical(["b", None, "a"], categories=["b", "c", "a"]))

    def read(self, frame, **options):
        return from_frame(frame, label="grade", query="query", **options)

    def test_features_are_all_other_numeric_columns(self, frame):
        data = self.read(frame, document="url", weight="weight")
        np.testing.assert_array_equal(data.features, [[0.5, 3], [1.5, 0], [NAN, 1]])
        assert (data.labels.tolist(), data.qid.tolist(), data.query_ids.tolist()) == ([2, 0, 1], [0, 1, 0], ["7", "3"])
        assert (data.document_ids, data.weight.tolist()) == (("x", "y", "z"), [1, 2, 1])
        assert data.feature_names == ("bm25", "clicks")

    def test_text_columns_are_left_out_with_a_warning(self, frame):
        with pytest.warns(UserWarning, match=r"'url' \((str|object)\)"):
            assert self.read(frame).feature_names == ("bm25", "clicks", "weight")

    def test_named_features(self, frame):
        assert self.read(frame, features=["clicks", "bm25"]).features[0].tolist() == [3, 0.5]
        assert self.read(frame.rename(columns={"bm25": 5}), features=[5]).feature_names == ("5",)

    def test_types_of_features(self, frame):
        narrow = frame.astype({"bm25": "float32"})
        assert self.read(narrow, features=["bm25"]).features.dtype == np.float32
        assert self.read(narrow, document="url").features.dtype == np.float64
        frame = frame.assign(bm25=pd.array([1, None, 3], dtype="Int64"), clicks=[True, False, True])
        np.testing.assert_array_equal(
            self.read(frame, features=["bm25", "clicks"]).features, [[1, 1], [NAN, 0], [3, 1]]
        )

    def test_the_frame_is_not_changed(self, frame):
        before = frame.copy(deep=True)
        data = self.read(frame, features=["bm25"])
        data.features[0] = 100
        data.labels[0] = 100
        pd.testing.assert_frame_equal(frame, before)

    def test_categories(self, shops):
        data = self.read(shops)
        assert data.feature_names == ("bm25", "clicks", "weight", "shop")
        assert data.categories == {"shop": ("b", "c", "a")}
        np.testing.assert_array_equal(data.features[:, 3], [0, NAN, 2])
        features = self.read(shops, features=["shop", "bm25"]).feature_frame()
        pd.testing.assert_frame_equal(features, shops[["shop", "bm25"]], check_categorical=True)

    @pytest.mark.parametrize(
        "convert", [pl.from_pandas, lambda frame: pa.Table.from_pandas(frame, preserve_index=False)]
    )
    def test_frames_of_other_libraries(self, shops, convert):
        data = self.read(convert(shops))
        assert [data.categories["shop"][int(code)] for code in data.features[[0, 2], 3]] == ["b", "a"]
        np.testing.assert_array_equal(data.features[:, 1], [3, 0, 1])
