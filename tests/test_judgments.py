"""Judgments: the forms of labels, queries and weights, and that they own their values."""

import pickle
import re
from decimal import Decimal

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from hypothesis import given

import gainwise as gw

LABELS = [3, 0, 1, 2, 0]
MAP = ["map", "ndcg_exp"]


class TestQueries:
    @pytest.mark.parametrize(
        "group",
        [(3, 2), np.array([3, 2], dtype=np.int32), np.array([3.0, 2.0]), pd.Series([3, 2], index=[7, 8])],
        ids=["tuple", "int32", "whole floats", "Series"],
    )
    def test_group(self, group):
        judgments = gw.Judgments(LABELS, group=group)
        assert judgments.sizes.tolist() == [3, 2]
        assert judgments.query_ids.tolist() == [0, 1]

    @pytest.mark.parametrize("group", [[0, 3, 2], [3, 0, 0, 2], [3, 2, 0]])
    def test_queries_without_documents(self, group):
        per_query = gw.evaluate("mrr", gw.Judgments(LABELS, group=group), [5, 4, 3, 2, 1]).per_query[:, 0]
        assert per_query.tolist() == [1.0 if size else 0.0 for size in group]

    def test_scattered_rows_keep_their_order_within_the_query(self):
        judgments = gw.Judgments([0, 1, 1, 0], qid=["a", "b", "a", "b"])
        assert gw.evaluate("mrr(ties=order)", judgments, [1, 1, 1, 1]).per_query[:, 0].tolist() == [1 / 2, 1]

    @pytest.mark.skipif(
        len(pd.factorize(np.array(["a", "a\0"], dtype=object))[1]) == 1, reason="this pandas ends texts at NUL"
    )
    def test_ids_of_polars_that_end_with_nul(self):
        assert gw.Judgments([0, 1], qid=polars.Series(["a", "a\0"])).query_ids.tolist() == ["a", "a\0"]

    @given(
        st.lists(st.tuples(st.integers(0, 4), st.integers(-3, 3)), min_size=1, max_size=40), st.sampled_from([int, str])
    )
    def test_any_order_of_rows(self, rows, kind):
        labels, qid = [label for label, _ in rows], [kind(query) for _, query in rows]
        judgments = gw.Judgments(labels, qid=qid)
        first_seen = list(dict.fromkeys(qid))
        assert judgments.query_ids.tolist() == first_seen
        assert judgments.sizes.tolist() == [qid.count(query) for query in first_seen]
        assert judgments.by_query(np.array(labels)).tolist() == [
            label for query in first_seen for label, own in zip(labels, qid, strict=True) if own == query
        ]
        assert judgments.labels.tolist() == labels
        assert [judgments.query_of_row(row) for row in range(len(rows))] == qid


class TestLabels:
    @pytest.mark.parametrize(
        "make",
        [
            np.float32,
            np.int8,
            np.uint16,
            pd.Series,
            lambda labels: pd.array(labels, dtype="Int64"),
            lambda labels: pd.Series(labels, dtype="Float64"),
            lambda labels: [Decimal(label) for label in labels],
            lambda labels: np.ma.masked_equal(labels, 99),
        ],
    )
    def test_numbers_of_all_kinds(self, make):
        assert gw.Judgments(make(LABELS), group=[5]).labels.tolist() == LABELS

    @pytest.mark.parametrize(("policy", "expected"), [("allow", [-1.5, 0, 2]), ("zero", [0, 0, 2])])
    def test_negative_labels(self, policy, expected):
        labels = np.array([-1.5, 0, 2])
        assert gw.Judgments(labels, group=[3], negative_labels=policy).labels.tolist() == expected
        assert labels.tolist() == [-1.5, 0, 2]


TENTH = np.float32(0.1)


@pytest.mark.parametrize(
    ("queries", "weight", "expected", "narrow_mean"),
    [
        ({"group": [3, 2]}, [1, 0.5], [1, 0.5], [1, 0.5]),
        ({"group": [3, 2]}, [1, 2, 6, 0.5, 1.5], [(1 + 2 + 6) / 3, (0.5 + 1.5) / 2], [3, 1]),
        ({"qid": list("ababa")}, [1, 2, 3, 4, 5], [(1 + 3 + 5) / 3, (2 + 4) / 2], [3, 3]),
        ({"qid": list("ababa")}, [2, 8], [2, 8], [2, 8]),
        ({"group": [3, 0, 2]}, [1, 1, 1, 2, 2], [1, 1.5, 2], [1, 1.5, 2]),
        # 2^24 + 1 is no 32-bit float: sums of 32 bits round after every addend.
        ({"group": [3, 2]}, [2.0**24, 1, 1, 3, 5], [(2**24 + 2) / 3, 4], [float(np.float32(2**24) / np.float32(3)), 4]),
        ({"group": [3, 2]}, [0.1, 0.5], [0.1, 0.5], [float((TENTH + TENTH + TENTH) / np.float32(3)), 0.5]),
        ({"group": [3, 0, 2]}, {0: 1, 1: 2, 2: 3}, [1, 2, 3], [1, 2, 3]),
    ],
)
def test_weights_of_queries_and_documents(queries, weight, expected, narrow_mean):
    judgments = gw.Judgments(LABELS, **queries, weight=weight)
    assert judgments.weights.tolist() == expected
    assert judgments.float32_weights(mean=False).tolist() == np.float32(expected).tolist()
    assert judgments.float32_weights(mean=True).tolist() == narrow_mean


@pytest.mark.parametrize(
    "queries", [{"group": np.array([3, 2])}, {"qid": np.array([1, 1, 2, 2, 2])}, {"qid": np.array([1, 2, 1, 2, 1])}]
)
def test_later_changes_of_the_arguments_have_no_effect(queries):
    passed = {
        "labels": np.array([3.0, 0, 1, 2, 0]),
        "weight": np.array([1.0, 2]),
        "judged": np.array([True] * 5),
        **queries,
    }
    kept = {name: array.copy() for name, array in passed.items()}
    judgments = gw.Judgments(**passed)
    expected = gw.evaluate(MAP, judgments, [1, 2, 3, 4, 5]).mean
    assert all(np.array_equal(passed[name], kept[name]) for name in kept)
    ids = judgments.query_ids.tolist()
    for array in passed.values():
        array[:] = 0
        array.flags.writeable = False
    judgments.labels[:] = 9
    assert gw.evaluate(MAP, judgments, [1, 2, 3, 4, 5]).mean == expected
    assert judgments.query_ids.tolist() == ids
    assert judgments.judged.all()
    for array in kept.values():
        array.flags.writeable = False
    assert gw.evaluate(MAP, gw.Judgments(**kept), [1, 2, 3, 4, 5]).mean == expected


class TestFacts:
    judgments = gw.Judgments([3, 0, 1, 2, 0], qid=["b", "a", "b", "a", "b"], weight=[1, 2])

    def test_counts(self):
        assert len(self.judgments) == self.judgments.queries == 2
        assert self.judgments.documents == 5
        assert repr(self.judgments) == "Judgments(queries=2, documents=5, labels 0 to 3, weighted)"
        assert repr(gw.Judgments([0.5, 0], group=[2])) == "Judgments(queries=1, documents=2, labels 0 to 0.5)"

    @pytest.mark.parametrize(("min_label", "expected"), [(0, [3, 2]), (0.5, [2, 1]), (3, [1, 0]), (4, [0, 0])])
    def test_relevant_by_query(self, min_label, expected):
        assert self.judgments.relevant(min_label).tolist() == expected

    def test_html(self):
        markup = self.judgments._repr_html_()
        assert "2 queries, 5 documents" in markup
        shares = re.findall(r"<td>(\d)</td><td>(\d)</td><td>([\d.]+) %", markup)
        assert shares == [("3", "1", "20.0"), ("2", "1", "20.0"), ("1", "1", "20.0"), ("0", "2", "40.0")]

    def test_pickle(self):
        for _ in ("fresh", "used"):
            copy = pickle.loads(pickle.dumps(self.judgments))
            expected = gw.evaluate(MAP, self.judgments, [1, 5, 2, 3, 4]).mean
            assert gw.evaluate(MAP, copy, [1, 5, 2, 3, 4]).mean == expected


@pytest.mark.parametrize("make", [pd.DataFrame, polars.DataFrame, pyarrow.table])
def test_from_frame(make):
    frame = make(
        {"topic": ["b", "a", "b"], "grade": [1.0, 0.0, None], "w": [1.0, 3.0, 2.0], "known": [True, True, False]}
    )
    judgments = gw.Judgments.from_frame(frame, "grade", "topic", weight="w", judged="known")
    assert judgments.labels.tolist() == [1, 0, 0]
    assert judgments.query_ids.tolist() == ["b", "a"]
    assert judgments.sizes.tolist() == [2, 1]
    assert judgments.weights.tolist() == [(1 + 2) / 2, 3]
    assert judgments.judged.tolist() == [True, True, False]


class TestUnjudgedDocuments:
    def test_their_labels_are_0_or_missing(self):
        judgments = gw.Judgments([2, np.nan, 0], group=[3], judged=[True, False, False])
        assert judgments.labels.tolist() == [2, 0, 0]
        assert judgments.judged.tolist() == [True, False, False]
        assert judgments.unjudged == 2
        objects = gw.Judgments([2, 0], group=[2], judged=np.array([True, False], dtype=object))
        assert (objects.judged.tolist(), objects.judged.dtype) == ([True, False], bool)
        assert repr(judgments) == "Judgments(queries=1, documents=3, 2 of them unjudged, labels 0 to 2)"
        assert gw.Judgments([1, 0], group=[2]).judged is None
        assert gw.Judgments([1, 0], group=[2]).unjudged == 0

    def test_condensed_judgments_have_only_judged_documents(self):
        """As if made from the judged rows alone. A query without judged documents has no value."""
        rng = np.random.default_rng(0)
        query = np.array(list("abcde"))[rng.integers(0, 5, 200)]
        known = (rng.random(200) < 0.7) & (query != "c")
        labels = np.where(known, rng.integers(0, 4, 200), 0)
        scores, weights = rng.normal(size=200).round(1), rng.random(200)
        full = gw.Judgments(labels, qid=query, judged=known, weight=weights)
        part = gw.Judgments(labels[known], qid=query[known])
        metrics = ["ndcg_exp@5", "map", "mrr", "precision@3", "precision", "rbp", "err(max_label=3)", "hit@1", "cg"]
        found = gw.evaluate(metrics, full, scores, unjudged="drop")
        expected = gw.evaluate(metrics, part, scores[known]).frame()
        pd.testing.assert_frame_equal(found.frame().drop("c").loc[expected.index], expected, check_exact=True)
        assert found.frame().loc["c"].isna().all()
        values = found.frame()["mrr"]
        assert found.mean["mrr"] == pytest.approx(
            np.average(values.dropna(), weights=full.weights[values.notna()]), rel=1e-15
        )
        (note,) = found.notes
        assert f"{(~known).sum()} of 200" in note


@pytest.mark.parametrize(
    "convert",
    [list, tuple, np.array, pd.Series, lambda ids: pd.Series(ids, index=[3, 2, 1, 0]), polars.Series, pyarrow.array],
    ids=["list", "tuple", "array", "Series", "reversed index", "polars", "pyarrow"],
)
def test_ids_of_documents_of_any_kind_are_in_the_order_of_rows(convert):
    judgments = gw.Judgments([1, 0, 2, 0], qid=[1, 2, 1, 2], document_ids=convert(["a", "b", "c", "d"]))
    assert judgments.documents_at(slice(None)).tolist() == ["a", "c", "b", "d"]
    ranking = gw.compare({"x": [1.0, 2, 3, 4], "y": [4.0, 3, 2, 1]}, judgments).ranking(1, "x")
    assert ranking["document"].tolist() == ["c", "a"]
    leaks = [found.code for found in gw.check({"first": judgments, "second": judgments}).findings]
    assert leaks[0] == "leak"
