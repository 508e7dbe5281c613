"""RankingData: what it validates, and how queries are taken, split and joined."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gainsay as gs
from gainsay.data import RankingData


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
    """Everything that belongs to each document, with its query's id."""
    names = data.document_ids or [None] * len(data.labels)
    columns = (data.features.tolist(), data.labels, data.query_ids[data.qid], names)
    return [(tuple(values), label, str(query), name) for values, label, query, name in zip(*columns, strict=True)]


def test_arrays_have_their_types():
    data = make()
    assert (data.labels.dtype, data.qid.dtype, data.query_ids.dtype.kind) == (np.float64, np.int64, "U")
    assert data.document_ids == ("d0", "d1", "d2", "d3", "d4", "d5")


def test_integer_features_become_float():
    assert make(features=np.ones((6, 2), dtype=np.int8)).features.dtype == np.float64


def test_float32_features_are_not_copied():
    features = np.zeros((6, 2), dtype=np.float32)
    assert make(features=features).features is features


def test_it_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        make().labels = np.zeros(6)


def test_group():
    assert make().group.tolist() == [2, 1, 3]


def test_group_of_scattered_rows_says_where_and_what_to_do():
    with pytest.raises(ValueError, match=r"rows of query 'q0' are not contiguous: .* row 2; call \.contiguous\(\)"):
        _ = make((0, 1, 0, 1)).group


codes_in_order = st.lists(st.integers(0, 4), min_size=1, max_size=30).map(
    lambda codes: [list(dict.fromkeys(codes)).index(code) for code in codes]
)


@given(codes_in_order)
def test_contiguous_keeps_rows_and_their_order_within_queries(qid):
    data = make(qid)
    together = data.contiguous()
    assert together.group.sum() == len(qid)
    assert rows_of(together) == sorted(rows_of(data), key=lambda row: (row[2], int(row[3][1:])))
    assert together.contiguous() is together


@given(codes_in_order, st.data())
def test_take_queries_gives_whole_queries_in_the_order_given(qid, draw):
    data = make(qid, weight=np.arange(len(qid)))
    codes = draw.draw(st.lists(st.integers(0, max(qid)), min_size=1, max_size=8))
    taken = data.take_queries(codes)
    expected = [row for code in codes for row in rows_of(data) if row[2] == f"q{code}"]
    assert rows_of(taken) == expected
    assert taken.query_ids.tolist() == [f"q{code}" for code in codes]


def test_weights_follow_their_queries_or_documents():
    assert make(weight=[1, 2, 3]).take_queries([2, 0]).weight.tolist() == [3, 1]
    assert make(weight=[1, 2, 3, 4, 5, 6]).take_queries([2, 0]).weight.tolist() == [4, 5, 6, 1, 2]
    assert make((0, 1, 0), weight=[1, 2, 3]).contiguous().weight.tolist() == [1, 3, 2]


@pytest.mark.parametrize(
    ("codes", "error", "message"),
    [
        ([3], ValueError, "codes must lie between 0 and 2, got 3"),
        ([0, -1], ValueError, "codes must lie between 0 and 2, got -1"),
        ([], ValueError, "at least one query code"),
        (1, ValueError, "codes must be a 1-D array"),
        ([0.0], TypeError, "codes must be integers"),
        ([True, False, True], TypeError, "codes must be integers"),
    ],
)
def test_take_queries_refuses(codes, error, message):
    with pytest.raises(error, match=message):
        make().take_queries(codes)


def test_split_gives_every_query_to_one_part():
    data = make(np.repeat(np.arange(20), 3))
    parts = data.split_queries(0.5, 0.3, 0.2, seed=4)
    assert [len(part.query_ids) for part in parts] == [10, 6, 4]
    assert sorted(row for part in parts for row in rows_of(part)) == sorted(rows_of(data))


def test_split_depends_on_its_seed_only():
    data = make(np.repeat(np.arange(20), 3))
    first, again, other = (data.split_queries(0.5, 0.5, seed=seed)[0].query_ids.tolist() for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize(
    ("fractions", "message"),
    [
        ((0.5, 0.4), "that sum to 1"),
        ((1.0,), "two or more"),
        ((1.5, -0.5), "positive numbers"),
        ((0.9, 0.1), r"3 queries are too few: part 1 \(fraction 0.1\) gets none"),
    ],
)
def test_split_refuses(fractions, message):
    with pytest.raises(ValueError, match=message):
        make().split_queries(*fractions, seed=0)


def test_concatenate_keeps_queries_of_equal_ids_apart():
    data = make()
    both = RankingData.concatenate([data, data])
    assert both.query_ids.tolist() == ["q0", "q1", "q2"] * 2
    assert both.group.tolist() == [2, 1, 3] * 2
    assert rows_of(both) == rows_of(data) * 2


def test_concatenate_undoes_a_split():
    data = make(np.repeat(np.arange(10), 2))
    parts = data.split_queries(0.5, 0.5, seed=0)
    assert sorted(rows_of(RankingData.concatenate(parts))) == sorted(rows_of(data))


def test_concatenate_without_all_document_ids_has_none():
    assert RankingData.concatenate([make(), make(document_ids=None)]).document_ids is None


def test_concatenate_weights():
    per_query, per_document = make(weight=[1, 2, 3]), make(weight=[1, 2, 3, 4, 5, 6])
    assert RankingData.concatenate([per_query, per_query]).weight.tolist() == [1, 2, 3, 1, 2, 3]
    both = RankingData.concatenate([per_query, per_document])
    assert both.weight.tolist() == [1, 1, 2, 3, 3, 3, 1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([], "parts is empty"),
        ([make(), make(features=np.zeros((6, 3)))], r"the same number of features, got \[2, 3\]"),
        ([make(weight=[1, 1, 1]), make()], "part 1 has no weight but others do"),
    ],
)
def test_concatenate_refuses(parts, message):
    with pytest.raises(ValueError, match=message):
        RankingData.concatenate(parts)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"features": np.zeros(6)}, ValueError, r"features must have shape \(documents, features\), got \(6,\)"),
        ({"features": np.array([["a"] * 2] * 6)}, TypeError, "features must be numbers"),
        ({"features": np.zeros((0, 2))}, ValueError, "features has 0 rows but there are 6 labels; give one row"),
        ({"labels": [1, 2]}, ValueError, "qid has 6 entries but there are 2 labels; give one per document"),
        ({"labels": [1, 2, np.nan, 0, 0, 0]}, ValueError, "labels must be finite, got nan in row 2"),
        ({"qid": [0]}, ValueError, r"qid has 1 entries but there are 6 labels; .* \(did you mean group=\?\)"),
        ({"qid": [0.0] * 6}, TypeError, "qid must be integers where query_ids is given, got an array of float64"),
        ({"qid": [1, 0, 0, 0, 2, 2]}, ValueError, "where query_ids is given, got 1 in row 0; without"),
        ({"qid": [0, 0, 2, 1, 1, 1]}, ValueError, "got 2 in row 2"),
        ({"qid": [0, 1, -1, 2, 2, 2]}, ValueError, "got -1 in row 2"),
        ({"query_ids": ["a"]}, ValueError, r"query_ids must hold one id per query \(3\), got 1"),
        ({"query_ids": [["a"]]}, ValueError, "query_ids must be one-dimensional"),
        ({"document_ids": ["a"]}, ValueError, r"document_ids must hold one id per row \(6\), got 1"),
        ({"weight": [1, 2]}, ValueError, r"it must have one per query \(3\) or one per document \(6\)"),
        ({"weight": [1, -2, 1]}, ValueError, "weight must be finite and not negative; entry 1 is -2.0"),
    ],
)
def test_validation(changes, error, message):
    with pytest.raises(error, match=message):
        make(**changes)


def test_repr_counts():
    assert repr(make()) == ("RankingData(6 documents, 3 queries, 2 features; labels 0: 2, 1: 2, 2: 2; document ids)")
    many = make(np.zeros(40, dtype=int), labels=np.arange(40) / 4, weight=[2.0])
    assert repr(many).endswith("labels from 0 to 9.75; document ids; weighted)")


def test_judgments_hold_labels_queries_and_weights():
    judgments = make((0, 1, 0), weight=[1, 3]).judgments()
    assert (judgments.queries, judgments.documents) == (2, 3)
    assert judgments.labels.tolist() == [0, 1, 2]
    assert judgments.weights.tolist() == [1, 3]


def test_importing_loads_numpy_alone():
    code = "import sys, gainsay.data; print(sorted({'pandas', 'scipy', 'pyarrow', 'lightgbm'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class TestJudgmentsKnowQueriesById:
    """What is matched by query id, as segments are, must not be matched by the number of the query instead."""

    def test_ids_that_are_numbers_and_do_not_count_from_0(self):
        data = RankingData(np.zeros((6, 1)), [1, 0, 2, 1, 0, 1], qid=[3, 3, 1, 1, 2, 2])
        comparison = gs.compare({"a": np.arange(6.0)}, data.judgments(), segments={"3": "x", "1": "y", "2": "z"})
        assert comparison.segment_labels["segment"].tolist() == ["x", "y", "z"]
        assert comparison.frame().index.unique("query").tolist() == ["3", "1", "2"]

    def test_rows_of_queries_need_not_be_contiguous(self):
        data = RankingData(np.zeros((6, 1)), [1, 0, 2, 1, 0, 1], qid=list("bacbca"))
        assert data.judgments().query_ids.tolist() == ["b", "a", "c"]

    @pytest.mark.parametrize("queries", [{"group": [2, 2, 2]}, {"qid": [0, 0, 1, 1, 2, 2]}])
    def test_numbers_stay_where_ids_only_count(self, queries):
        data = RankingData(np.zeros((6, 1)), [1, 0, 2, 1, 0, 1], **queries)
        assert data.judgments().query_ids.tolist() == [0, 1, 2]

    def test_queries_of_one_id_stay_apart(self):
        data = RankingData(np.zeros((6, 1)), [1, 0, 2, 1, 0, 1], qid=list("bbaacc")).take_queries([0, 0, 2])
        judgments = data.judgments()
        assert judgments.query_ids.tolist() == [0, 1, 2]
        assert judgments.sizes.tolist() == [2, 2, 2]
