"""RankingData takes arrays as Judgments takes them: ids of any type, sizes, weights of any kind, indexes of pandas."""

from __future__ import annotations

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

import gainsay as gs
from gainsay.data import from_frame

X = np.arange(10.0).reshape(5, 2)
Y = [1, 0, 2, 0, 3]
QID = ["b", "a", "b", "c", "a"]


def same(data, judgments, ids=None):
    """Whether labels, queries, their order and their weights are those of Judgments."""
    found = data.judgments()
    assert found.labels.tolist() == judgments.labels.tolist()
    assert found.sizes.tolist() == judgments.sizes.tolist()
    expected = judgments.query_ids.tolist() if ids is None else ids
    assert data.query_ids.tolist() == [str(name) for name in expected]
    assert [data.query_ids[code] for code in data.qid] == [str(judgments.query_of_row(row)) for row in range(len(Y))]
    assert (found.weights is None) == (judgments.weights is None)
    if judgments.weights is not None:
        assert found.weights.tolist() == judgments.weights.tolist()


class TestQueries:
    @pytest.mark.parametrize(
        "qid",
        [
            QID,
            np.array(QID),
            pd.Series(QID, dtype="category"),
            pl.Series(QID),
            pa.array(QID),
            [7, 3, 7, 2**60, 3],
            np.array([7, 3, 7, 1, 3], dtype=np.uint8),
            [0.5, 0.25, 0.5, 1.5, 0.25],
            [1, "a", 1, 0.5, "a"],
        ],
        ids=["list", "array", "category", "polars", "arrow", "whole", "narrow", "fractions", "mixed"],
    )
    def test_ids_of_any_type(self, qid):
        same(gs.RankingData(X, Y, qid=qid), gs.Judgments(Y, qid=qid))

    @given(st.lists(st.integers(-3, 3), min_size=1, max_size=30))
    def test_codes_in_order_of_first_appearance(self, qid):
        data = gs.RankingData(np.zeros((len(qid), 1)), np.zeros(len(qid)), qid=qid)
        order = list(dict.fromkeys(qid))
        assert data.query_ids.tolist() == [str(name) for name in order]
        assert data.qid.tolist() == [order.index(name) for name in qid]

    def test_sizes(self):
        data = gs.RankingData(X, Y, group=[2, 3])
        same(data, gs.Judgments(Y, group=[2, 3]))
        assert (data.group.tolist(), data.query_ids.tolist()) == ([2, 3], ["0", "1"])

    def test_sizes_with_ids(self):
        data = gs.RankingData(X, Y, group=[2, 3], query_ids=["a", "a"], weight=[1, 0])
        assert (data.qid.tolist(), data.query_ids.tolist(), data.weight.tolist()) == (
            [0, 0, 1, 1, 1],
            ["a", "a"],
            [1, 0],
        )

    def test_bytes_and_dates(self):
        assert gs.RankingData(X, Y, qid=[b"b", b"a", b"b", b"c", b"a"]).query_ids.tolist() == ["b", "a", "c"]
        days = [datetime.date(2024, 1, day) for day in (2, 1, 2, 3, 1)]
        assert gs.RankingData(X, Y, qid=days).query_ids.tolist() == ["2024-01-02", "2024-01-01", "2024-01-03"]

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"qid": [1, "1", 1, 2, 2]}, "qid has 1 and '1', which are one id as text; rename one of them"),
            ({"qid": [*QID[:4], None]}, "qid is missing for 1 of 5 documents, the first at row 4"),
            ({"group": [2, 0, 3]}, "group must be at least 1; entry 1 is 0: leave out queries without documents"),
            ({"group": [2, 2]}, "group sums to 4 documents over 2 queries but there are 5 labels"),
            ({"group": [2, 3], "qid": QID}, "exactly one of group= .* and qid=.*, got both"),
            ({}, "exactly one of group= .* and qid=.*, got neither"),
            ({"group": [2, 3], "query_ids": ["a"]}, r"query_ids must hold one id per query \(2\), got 1"),
        ],
    )
    def test_bad_ones(self, changes, message):
        with pytest.raises(ValueError, match=message):
            gs.RankingData(X, Y, **changes)


class TestLabels:
    @pytest.mark.parametrize(
        ("labels", "error"), [([1, 0, 2, 2**53 + 1, 0], ValueError), (["1"] * 5, TypeError), ([[1]] * 5, ValueError)]
    )
    def test_errors_of_judgments(self, labels, error):
        with pytest.raises(error) as expected:
            gs.Judgments(labels, qid=QID)
        with pytest.raises(error) as found:
            gs.RankingData(X, labels, qid=QID)
        assert str(found.value) == str(expected.value)

    def test_negative_ones_wait_for_the_metric(self):
        data = gs.RankingData(X, [1, -1, 0, 0, 2], qid=QID)
        with pytest.raises(ValueError, match="labels must not be negative"):
            data.judgments()
        assert data.judgments(negative_labels="zero").labels.tolist() == [1, 0, 0, 0, 2]


class TestWeights:
    @pytest.mark.parametrize(
        "weight",
        [
            [3, 1, 2],
            [1, 2, 3, 4, 5],
            {"a": 1, "b": 3, "c": 2, "other": 9},
            pd.Series([1, 3, 2], index=["a", "b", "c"]),
            pd.Series([1, 2, 3, 4, 5]),
        ],
        ids=["query", "document", "mapping", "by id", "by row"],
    )
    def test_as_judgments_takes_them(self, weight):
        data, judgments = gs.RankingData(X, Y, qid=QID, weight=weight), gs.Judgments(Y, qid=QID, weight=weight)
        same(data, judgments)
        if len(data.weight) == len(Y):
            assert data.weight.tolist() == [1, 2, 3, 4, 5]

    @pytest.mark.parametrize("weight", [[1, 2], [1, -1, 1], [0, 0, 0], {"a": 1}, ["x"] * 3])
    def test_errors_of_judgments(self, weight):
        with pytest.raises((ValueError, TypeError)) as expected:
            gs.Judgments(Y, qid=QID, weight=weight)
        with pytest.raises((ValueError, TypeError)) as found:
            gs.RankingData(X, Y, qid=QID, weight=weight)
        assert str(found.value) == str(expected.value)

    def test_replaced_by_id(self):
        data = replace(gs.RankingData(X, Y, qid=QID), weight={"a": 1, "b": 3, "c": 2})
        assert data.weight.tolist() == [3, 1, 2]


class TestIndexes:
    """What has an index of pandas is matched by that of the labels."""

    ORDER = [3, 0, 4, 1, 2]

    @pytest.fixture
    def frame(self):
        frame = pd.DataFrame(X, columns=["bm25", "age"], index=list("vwxyz"))
        return frame.assign(label=Y, query=QID, weight=[1, 2, 3, 4, 5], url=list("pqrst"))

    def test_rows_in_the_order_of_the_labels(self, frame):
        mixed = frame.iloc[self.ORDER]
        found = gs.RankingData(
            mixed[["bm25", "age"]],
            frame["label"],
            qid=mixed["query"],
            weight=mixed["weight"],
            document_ids=frame["url"].iloc[::-1],
        )
        expected = from_frame(
            frame, label="label", query="query", weight="weight", document="url", features=["bm25", "age"]
        )
        for name in ("features", "labels", "qid", "query_ids", "weight"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
        assert found.document_ids == expected.document_ids == tuple("pqrst")
        assert found.feature_names == expected.feature_names == ("bm25", "age")

    def test_that_do_not_fit(self, frame):
        with pytest.raises(ValueError, match="features cannot be matched with the labels: features has no entry for"):
            gs.RankingData(frame[["bm25"]].reset_index(), frame["label"], qid=frame["query"])


class TestFeatures:
    @pytest.mark.parametrize("convert", [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas])
    def test_of_a_frame(self, convert):
        frame = pd.DataFrame({"bm25": X[:, 0], "shop": pd.Categorical(["x", "y", None, "x", "y"])})
        data = gs.RankingData(convert(frame), Y, qid=QID)
        assert (data.feature_names, data.categories) == (("bm25", "shop"), {"shop": ("x", "y")})
        np.testing.assert_array_equal(data.features[:, 1], [0, 1, np.nan, 0, 1])

    def test_sparse(self):
        data = gs.RankingData(sparse.csc_array(X), Y, group=[2, 3], feature_names=["a", "b"])
        np.testing.assert_array_equal(data.features.toarray(), X)

    def test_names_beside_a_frame(self):
        with pytest.raises(ValueError, match="features is a DataFrame, which has names and categories of its own"):
            gs.RankingData(pd.DataFrame(X), Y, qid=QID, feature_names=["a", "b"])

    def test_text_in_a_frame(self):
        with pytest.raises(TypeError, match=r"feature column 'shop' must be numeric, .* makes a categorical feature"):
            gs.RankingData(pd.DataFrame({"shop": list("abcde")}), Y, qid=QID)


class TestDocumentIds:
    @pytest.mark.parametrize("ids", [[1, 2, 3, 4, 5], np.arange(1, 6), pd.Series(range(1, 6)), pa.array(range(1, 6))])
    def test_become_strings(self, ids):
        assert gs.RankingData(X, Y, qid=QID, document_ids=ids).document_ids == ("1", "2", "3", "4", "5")

    @pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
    def test_missing_ones(self, missing):
        with pytest.raises(ValueError, match="document_ids has no id in row 1"):
            gs.RankingData(X, Y, qid=QID, document_ids=["a", missing, "c", "d", "e"])


def test_arrays_enter_an_experiment(tmp_path):
    """Raw arrays give the artefacts that read or simulated data give."""
    parts = gs.data.simulate(60, seed=3, mean_length=8).split_queries(0.5, 0.25, 0.25, seed=1)
    arrays = [gs.RankingData(part.features, part.labels, group=part.group, weight=None) for part in parts]
    named = [gs.RankingData(part.features, part.labels, qid=part.query_ids[part.qid]) for part in parts]
    for one in (arrays, named):
        for part, expected in zip(one, parts, strict=True):
            assert part.group.tolist() == expected.group.tolist()
    candidates = [gs.Candidate("a", "lightgbm", {"num_leaves": 4}), gs.Candidate("b", "xgboost", {"max_depth": 2})]
    boards = [
        gs.Experiment(candidates, *data, "mrr", tmp_path / str(at), num_boost_round=3, draws=1000)
        .run(progress=False)
        .leaderboard
        for at, data in enumerate((parts, arrays, named))
    ]
    assert boards[0].equals(boards[1])
    assert boards[0].equals(boards[2])
