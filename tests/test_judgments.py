"""Judgments: what they take, what they refuse, and that they own what they hold."""

from __future__ import annotations

import pickle
import re
from decimal import Decimal

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import given

import gainsay as gs

LABELS = [3, 0, 1, 2, 0]
MRR = ("mrr", [5, 4, 3, 2, 1])


class TestGroup:
    @pytest.mark.parametrize(
        "group",
        [[3, 2], (3, 2), np.array([3, 2], dtype=np.int32), np.array([3.0, 2.0]), pd.Series([3, 2], index=[7, 8])],
        ids=["list", "tuple", "int32", "whole floats", "Series"],
    )
    def test_sizes(self, group):
        assert gs.Judgments(LABELS, group=group).sizes.tolist() == [3, 2]

    def test_queries_are_numbered(self):
        assert gs.Judgments(LABELS, group=[3, 2]).query_ids.tolist() == [0, 1]

    @pytest.mark.parametrize("group", [[0, 3, 2], [3, 0, 0, 2], [3, 2, 0]])
    def test_entries_may_be_zero(self, group):
        per_query = gs.evaluate("mrr", gs.Judgments(LABELS, group=group), MRR[1]).per_query[:, 0]
        assert per_query.tolist() == [1.0 if size else 0.0 for size in group]

    @pytest.mark.parametrize(
        ("group", "message"),
        [
            ([3, 3], "group sums to 6 documents over 2 queries but there are 5 labels"),
            ([], "group sums to 0 documents over 0 queries but there are 5 labels"),
            ([1, 1, 1, 2, 2], r"but there are 5 labels \(did you mean qid=\?\)"),
            ([6, -1], "group must not be negative; entry 1 is -1"),
            ([2.5, 2.5], "group must be whole numbers; entry 0 is 2.5"),
            ([np.nan, 5], "group must be whole numbers; entry 0 is nan"),
            ([[3, 2]], r"group must be one-dimensional, got shape \(1, 2\); pass group\.ravel\(\)"),
        ],
    )
    def test_bad_values(self, group, message):
        with pytest.raises(ValueError, match=message):
            gs.Judgments(LABELS, group=group)

    def test_not_numbers(self):
        with pytest.raises(TypeError, match="group must be numbers"):
            gs.Judgments(LABELS, group=["a", "b"])


class TestQid:
    @pytest.mark.parametrize(
        "make",
        [
            list,
            lambda qid: np.array(qid),
            lambda qid: pd.Series(qid, index=range(5, 0, -1)),
            lambda qid: pd.Series(qid, dtype="string"),
            lambda qid: pd.Series(qid, dtype="category"),
            lambda qid: np.array(qid, dtype=object),
        ],
        ids=["list", "array", "Series", "string", "category", "object"],
    )
    def test_strings(self, make):
        judgments = gs.Judgments(LABELS, qid=make(["b", "b", "a", "a", "a"]))
        assert judgments.query_ids.tolist() == ["b", "a"]
        assert judgments.sizes.tolist() == [2, 3]

    @pytest.mark.parametrize(
        "make",
        [list, np.int32, np.uint64, np.float64, lambda qid: pd.Series(qid, dtype="Int64")],
        ids=["list", "int32", "uint64", "float64", "nullable"],
    )
    def test_numbers(self, make):
        judgments = gs.Judgments(LABELS, qid=make([9, 9, 4, 4, 4]))
        assert judgments.query_ids.tolist() == [9, 4]
        assert judgments.sizes.tolist() == [2, 3]

    def test_dates(self):
        judgments = gs.Judgments([1, 0], qid=np.array(["2024-01-02", "2024-01-01"], dtype="datetime64[D]"))
        assert judgments.sizes.tolist() == [1, 1]

    def test_scattered_rows_are_numbered_by_their_first(self):
        judgments = gs.Judgments(LABELS, qid=[7, 3, 7, 9, 3])
        assert judgments.query_ids.tolist() == [7, 3, 9]
        assert judgments.sizes.tolist() == [2, 2, 1]

    def test_scattered_rows_keep_their_order_within_the_query(self):
        judgments = gs.Judgments([0, 1, 1, 0], qid=["a", "b", "a", "b"])
        found = gs.evaluate("mrr(ties=order)", judgments, [1, 1, 1, 1]).per_query[:, 0]
        assert found.tolist() == [1 / 2, 1]

    @given(
        st.lists(st.tuples(st.integers(0, 4), st.integers(-3, 3)), min_size=1, max_size=40), st.sampled_from([int, str])
    )
    def test_any_order_of_rows(self, rows, kind):
        labels, qid = [label for label, _ in rows], [kind(query) for _, query in rows]
        judgments = gs.Judgments(labels, qid=qid)
        first_seen = list(dict.fromkeys(qid))
        assert judgments.query_ids.tolist() == first_seen
        assert judgments.sizes.tolist() == [qid.count(query) for query in first_seen]
        assert judgments.by_query(np.array(labels)).tolist() == [
            label for query in first_seen for label, own in zip(labels, qid, strict=True) if own == query
        ]
        assert judgments.labels.tolist() == labels
        assert [judgments.query_of_row(row) for row in range(len(rows))] == qid

    @pytest.mark.parametrize(
        "qid",
        [
            [1, 1, np.nan, 2, np.nan],
            ["a", "a", None, "b", None],
            pd.array([1, 1, None, 2, None], dtype="Int64"),
            pd.Series(["a", "a", None, "b", None], dtype="string"),
            np.array(["2024-01-01", "2024-01-01", "NaT", "2024-01-02", "NaT"], dtype="datetime64[D]"),
        ],
        ids=["nan", "None", "nullable", "string", "NaT"],
    )
    def test_missing(self, qid):
        with pytest.raises(ValueError, match="qid is missing for 2 of 5 documents, the first at row 2"):
            gs.Judgments(LABELS, qid=qid)

    @pytest.mark.parametrize(
        ("qid", "message"),
        [
            ([3, 2], r"qid has 2 entries but there are 5 labels; give one per document \(did you mean group=\?\)"),
            ([1] * 6, "qid has 6 entries but there are 5 labels; give one per document$"),
            ([[1], [1], [1], [2], [2]], r"qid must be one-dimensional, got shape \(5, 1\)"),
            (7, "qid must be one-dimensional, got 0 dimensions"),
        ],
    )
    def test_bad_shapes(self, qid, message):
        with pytest.raises(ValueError, match=message):
            gs.Judgments(LABELS, qid=qid)


@pytest.mark.parametrize(
    ("options", "given"), [({}, "neither"), ({"group": [5], "qid": [1] * 5}, "both")], ids=["neither", "both"]
)
def test_exactly_one_of_group_and_qid(options, given):
    with pytest.raises(ValueError, match=f"give exactly one of group= .* got {given}; for a single query pass group="):
        gs.Judgments(LABELS, **options)


def test_masked_query():
    with pytest.raises(ValueError, match="qid is missing for 1 of 3 documents, the first at row 2"):
        gs.Judgments([0, 1, 1], qid=np.ma.masked_equal([1, 1, 9], 9))


@pytest.mark.parametrize("frame", [{"label": [1], "query": ["a"]}, [1, 2]])
def test_what_is_no_frame(frame):
    with pytest.raises(TypeError, match="frame must be a DataFrame of pandas, polars or pyarrow, got"):
        gs.Judgments.from_frame(frame)


class TestLabels:
    @pytest.mark.parametrize(
        "make",
        [
            list,
            np.float32,
            np.int8,
            np.uint16,
            pd.Series,
            lambda labels: pd.array(labels, dtype="Int64"),
            lambda labels: pd.Series(labels, dtype="Float64"),
            lambda labels: [Decimal(label) for label in labels],
        ],
        ids=["list", "float32", "int8", "uint16", "Series", "Int64", "Float64", "Decimal"],
    )
    def test_all_kinds_of_numbers(self, make):
        assert gs.Judgments(make(LABELS), group=[5]).labels.tolist() == LABELS

    def test_booleans(self):
        assert gs.Judgments([True, False], group=[2]).labels.tolist() == [1, 0]

    @pytest.mark.parametrize(
        ("labels", "message"),
        [
            ([0, np.nan, 1, np.nan], r"labels must be finite: 2 of 4 are not, the first is nan at row 1 \(query b\)"),
            ([0, 1, np.inf, 1], r"labels must be finite: 1 of 4 are not, the first is inf at row 2 \(query a\)"),
            ([0, -1, 2, -0.5], r"labels must not be negative: 2 of 4 are not, the first is -1.0 at row 1 \(query b\)"),
            ([], "labels is empty: there is no document to judge"),
            ([[1, 2], [3, 4]], r"labels must be one-dimensional, got 2 dimensions \(shape \(2, 2\)\)"),
            ([[0], [1], [1], [0]], r"pass labels\.ravel\(\)"),
        ],
    )
    def test_bad_values(self, labels, message):
        with pytest.raises(ValueError, match=message):
            gs.Judgments(labels, qid=["a", "b", "a", "b"])

    def test_missing_entry_of_a_nullable_column(self):
        with pytest.raises(ValueError, match="labels must be finite: 1 of 2 are not, the first is nan at row 1"):
            gs.Judgments(pd.array([1, None], dtype="Int64"), group=[2])

    @pytest.mark.parametrize("labels", [["a", "b"], [1j, 2], [object(), 1], [[1], [2, 3]]])
    def test_what_is_not_a_number(self, labels):
        with pytest.raises((TypeError, ValueError), match=r"must be numbers|got entries of different lengths"):
            gs.Judgments(labels, group=[2])

    def test_masked_entries_are_missing(self):
        with pytest.raises(ValueError, match="labels must be finite: 1 of 4 are not, the first is nan at row 0"):
            gs.Judgments(np.ma.masked_equal([99, 3, 1, 2], 99), group=[4])

    def test_a_mask_that_hides_nothing(self):
        assert gs.Judgments(np.ma.masked_equal([0, 3, 1], 99), group=[3]).labels.tolist() == [0, 3, 1]

    def test_text_among_objects(self):
        with pytest.raises(TypeError, match="labels must be numbers, got the text '3' in row 1"):
            gs.Judgments(np.array([1, "3"], dtype=object), group=[2])

    @pytest.mark.parametrize("kind", [np.int64, np.uint64])
    def test_integers_beyond_those_of_64_bit_floats(self, kind):
        with pytest.raises(ValueError, match=r"must lie between -2\*\*53 and 2\*\*53 .* got 9007199254740993 in row 1"):
            gs.Judgments(np.array([1, 2**53 + 1], dtype=kind), group=[2])

    def test_error_says_what_to_do_about_negative_labels(self):
        with pytest.raises(ValueError, match=r"pass negative_labels='zero' .*or negative_labels='allow'"):
            gs.Judgments([-1, 0], group=[2])

    def test_zeros_of_both_signs_are_one_label(self):
        assert gs.Judgments([0.0, -0.0, 1.0], group=[3]).levels.tolist() == [0, 1]

    @pytest.mark.parametrize(("policy", "expected"), [("allow", [-1.5, 0, 2]), ("zero", [0, 0, 2])])
    def test_policies_for_negative_labels(self, policy, expected):
        assert gs.Judgments([-1.5, 0, 2], group=[3], negative_labels=policy).labels.tolist() == expected

    @pytest.mark.parametrize("policy", ["alow", None, 0])
    def test_unknown_policy(self, policy):
        with pytest.raises(ValueError, match="negative_labels must be 'refuse', 'allow' or 'zero', got"):
            gs.Judgments(LABELS, group=[5], negative_labels=policy)

    def test_policy_did_you_mean(self):
        with pytest.raises(ValueError, match="did you mean 'allow'"):
            gs.Judgments(LABELS, group=[5], negative_labels="alow")


class TestWeights:
    def test_one_per_query(self):
        assert gs.Judgments(LABELS, group=[3, 2], weight=[1, 0.5]).weights.tolist() == [1, 0.5]

    def test_one_per_document_is_averaged(self):
        judgments = gs.Judgments(LABELS, group=[3, 2], weight=[1, 2, 6, 0.5, 1.5])
        assert judgments.weights.tolist() == [(1 + 2 + 6) / 3, (0.5 + 1.5) / 2]

    def test_one_per_document_in_scattered_rows(self):
        judgments = gs.Judgments(LABELS, qid=["a", "b", "a", "b", "a"], weight=[1, 2, 3, 4, 5])
        assert judgments.weights.tolist() == [(1 + 3 + 5) / 3, (2 + 4) / 2]

    def test_query_without_documents_has_no_weight_from_documents(self):
        judgments = gs.Judgments(LABELS, group=[3, 0, 2], weight=[1, 1, 1, 2, 2])
        assert judgments.weights.tolist() == [1, 0, 2]

    def test_absent(self):
        assert gs.Judgments(LABELS, group=[5]).weights is None

    @pytest.mark.parametrize(
        ("weight", "message"),
        [
            ([1, 2, 3], r"weight has 3 entries; it must have one per query \(2\) or one per document \(5\)"),
            ([1, -2], r"weight must be finite and not negative; entry 1 is -2\.0"),
            ([np.nan, 1], "weight must be finite and not negative; entry 0 is nan"),
            ([1, np.inf], "weight must be finite and not negative; entry 1 is inf"),
            ([0, 0], "weight is 0 for every query: a weighted mean needs at least one positive weight"),
            ([[1, 2]], "weight must be one-dimensional"),
        ],
    )
    def test_bad_values(self, weight, message):
        with pytest.raises(ValueError, match=message):
            gs.Judgments(LABELS, group=[3, 2], weight=weight)

    def test_not_numbers(self):
        with pytest.raises(TypeError, match="weight must be numbers"):
            gs.Judgments(LABELS, group=[3, 2], weight=["a", "b"])

    def test_in_32_bits(self):
        judgments = gs.Judgments(LABELS, group=[3, 2], weight=[0.1, 0.2])
        assert judgments.float32_weights(mean=False).tolist() == np.float32([0.1, 0.2]).tolist()

    def test_averaged_in_32_bits_one_by_one(self):
        judgments = gs.Judgments(LABELS, group=[3, 2], weight=[2.0**24, 1, 1, 3, 5])  # 2^24 + 1 is no 32-bit float
        assert judgments.float32_weights(mean=True).tolist() == [float(np.float32(2**24) / np.float32(3)), 4]

    def test_query_weights_averaged_in_32_bits_as_if_each_document_had_them(self):
        judgments = gs.Judgments(LABELS, group=[3, 2], weight=[0.1, 0.5])
        tenth = np.float32(0.1)
        expected = float((tenth + tenth + tenth) / np.float32(3))
        assert judgments.float32_weights(mean=True).tolist() == [expected, 0.5]

    def test_averaged_in_32_bits_in_scattered_rows(self):
        judgments = gs.Judgments(LABELS, qid=["a", "b", "a", "b", "a"], weight=[1, 2, 3, 4, 5])
        assert judgments.float32_weights(mean=True).tolist() == [(1 + 3 + 5) / 3, (2 + 4) / 2]

    def test_query_weights_averaged_in_32_bits_in_scattered_rows(self):
        judgments = gs.Judgments(LABELS, qid=["a", "b", "a", "b", "a"], weight=[2, 8])
        assert judgments.float32_weights(mean=True).tolist() == [2, 8]

    @pytest.mark.parametrize("mean", [True, False])
    def test_absent_in_32_bits(self, mean):
        assert gs.Judgments(LABELS, group=[5]).float32_weights(mean=mean) is None


class TestOwnership:
    """Nothing that the caller passed is changed, and nothing that the caller changes later is felt."""

    @pytest.fixture
    def passed(self):
        return {
            "labels": np.array([3.0, 0.0, 1.0, 2.0, 0.0]),
            "group": np.array([3, 2]),
            "weight": np.array([1.0, 2.0]),
        }

    def test_arguments_are_left_as_they_are(self, passed):
        kept = {name: array.copy() for name, array in passed.items()}
        gs.evaluate("map", gs.Judgments(**passed), [1, 2, 3, 4, 5])
        assert all(np.array_equal(passed[name], kept[name]) for name in kept)

    def test_negative_labels_are_left_as_they_are(self):
        labels = np.array([-1.0, 0.0, 2.0])
        gs.Judgments(labels, group=[3], negative_labels="zero")
        assert labels.tolist() == [-1, 0, 2]

    def test_later_changes_are_not_felt(self, passed):
        judgments = gs.Judgments(**passed)
        before = gs.evaluate(["map", "ndcg_exp"], judgments, [1, 2, 3, 4, 5]).mean
        for array in passed.values():
            array[:] = 1
        assert gs.evaluate(["map", "ndcg_exp"], judgments, [1, 2, 3, 4, 5]).mean == before

    @pytest.mark.parametrize("contiguous", [True, False])
    def test_later_changes_of_qid_are_not_felt(self, contiguous):
        qid = np.array([1, 1, 2] if contiguous else [1, 2, 1])
        judgments = gs.Judgments([0, 1, 2], qid=qid)
        qid[:] = 9
        assert judgments.query_ids.tolist() == [1, 2]

    @pytest.mark.parametrize("name", ["sizes", "query_ids", "weights", "levels"])
    def test_what_judgments_hold_is_read_only(self, passed, name):
        held = getattr(gs.Judgments(**passed), name)
        with pytest.raises(ValueError, match="read-only"):
            held[0] = 7

    def test_labels_are_a_fresh_copy(self, passed):
        judgments = gs.Judgments(**passed)
        judgments.labels[:] = 9
        assert judgments.labels.tolist() == passed["labels"].tolist()

    def test_read_only_arguments(self, passed):
        for array in passed.values():
            array.flags.writeable = False
        assert gs.Judgments(**passed).queries == 2


class TestFacts:
    judgments = gs.Judgments([3, 0, 1, 2, 0], qid=["b", "a", "b", "a", "b"], weight=[1, 2])

    def test_repr(self):
        assert repr(self.judgments) == "Judgments(queries=2, documents=5, labels 0 to 3, weighted)"

    def test_repr_without_weights(self):
        assert repr(gs.Judgments([0.5, 0], group=[2])) == "Judgments(queries=1, documents=2, labels 0 to 0.5)"

    def test_html(self):
        markup = self.judgments._repr_html_()
        assert "Judgments: 2 queries, 5 documents" in markup
        assert "queries have weights" in markup
        assert re.findall(r"label (\d)</td>.*?>(\d)</td><td class=\"v m\">([\d.]+) %", markup) == [
            ("3", "1", "20.0"),
            ("2", "1", "20.0"),
            ("1", "1", "20.0"),
            ("0", "2", "40.0"),
        ]

    def test_html_of_many_labels_and_of_holes(self):
        many = gs.Judgments(np.arange(20) / 4, group=[20])._repr_html_()
        assert "labels 0 to 4.75" in many
        assert "<table" not in many
        assert "1 document unjudged" in gs.Judgments([1, 0], group=[2], judged=[True, False])._repr_html_()

    def test_length_is_the_number_of_queries(self):
        assert len(self.judgments) == self.judgments.queries == 2

    def test_documents(self):
        assert self.judgments.documents == 5

    def test_highest_label(self):
        assert self.judgments.max_label == 3.0

    @pytest.mark.parametrize(
        ("min_label", "expected"), [(0, [3, 2]), (0.5, [2, 1]), (2, [1, 1]), (3, [1, 0]), (4, [0, 0])]
    )
    def test_relevant_by_query(self, min_label, expected):
        assert self.judgments.relevant(min_label).tolist() == expected

    @pytest.mark.parametrize("used", [False, True], ids=["fresh", "used"])
    def test_pickle(self, used):
        if used:
            gs.evaluate("map", self.judgments, [1, 2, 3, 4, 5])
        copy = pickle.loads(pickle.dumps(self.judgments))
        expected = gs.evaluate(["map", "ndcg_exp"], self.judgments, [1, 5, 2, 3, 4]).mean
        assert gs.evaluate(["map", "ndcg_exp"], copy, [1, 5, 2, 3, 4]).mean == expected


class TestFromFrame:
    FRAME = pd.DataFrame({"topic": ["b", "a", "b"], "grade": [1, 0, 2], "w": [1.0, 3.0, 2.0]})

    @pytest.mark.parametrize("kind", ["pandas", "pyarrow"])
    def test_columns_by_name(self, kind):
        frame = self.FRAME
        if kind == "pyarrow":
            frame = pytest.importorskip("pyarrow").Table.from_pandas(frame)
        found = gs.Judgments.from_frame(frame, "grade", "topic", weight="w")
        assert found.labels.tolist() == [1, 0, 2]
        assert found.sizes.tolist() == [2, 1]
        assert found.weights.tolist() == [(1 + 2) / 2, 3]

    def test_a_missing_column_is_named_with_the_nearest(self):
        with pytest.raises(
            ValueError, match=r"no column 'grades' for label=; did you mean 'grade'\? \(it has topic, grade"
        ):
            gs.Judgments.from_frame(self.FRAME, "grades", "topic")


class TestUnjudgedDocuments:
    def test_their_labels_are_0_or_missing(self):
        judged = gs.Judgments([2, np.nan, 0], group=[3], judged=[True, False, False])
        assert judged.labels.tolist() == [2, 0, 0]
        assert judged.judged.tolist() == [True, False, False]
        assert judged.unjudged == 2
        assert repr(judged) == "Judgments(queries=1, documents=3, 2 of them unjudged, labels 0 to 2)"

    def test_labels_alone_say_nothing_of_it(self):
        assert gs.Judgments([1, 0], group=[2]).judged is None
        assert gs.Judgments([1, 0], group=[2]).unjudged == 0

    def test_from_a_frame(self):
        frame = pd.DataFrame({"query": ["a", "a"], "label": [1.0, None], "known": [True, False]})
        assert gs.Judgments.from_frame(frame, judged="known").judged.tolist() == [True, False]
        with pytest.raises(ValueError, match=r"no column 'know' for judged=; did you mean 'known'\?"):
            gs.Judgments.from_frame(frame, judged="know")

    @pytest.mark.parametrize(
        ("judged", "error", "message"),
        [
            ([True], ValueError, "judged has 1 entries but there are 2 labels"),
            ([1, 0], TypeError, "judged must be True or False for each document, got an array of int64"),
            ([True, None], TypeError, "judged must be True or False"),
            ([False, False], ValueError, "judged is False for every document"),
            ([True, False], ValueError, r"must be 0 or NaN: 1 of 2 are not, the first is 3.0 at row 1 \(query 0\)"),
        ],
    )
    def test_bad_input(self, judged, error, message):
        with pytest.raises(error, match=message):
            gs.Judgments([1, 3], group=[2], judged=judged)

    def test_a_missing_label_of_a_judged_document(self):
        with pytest.raises(ValueError, match=r"labels must be finite.*or pass judged= with False for them"):
            gs.Judgments([1, np.nan], group=[2])
        with pytest.raises(ValueError, match="labels must be finite: 1 of 2 are not, the first is nan at row 1"):
            gs.Judgments([np.nan, np.nan], group=[2], judged=[False, True])

    def test_nothing_passed_is_kept_or_changed(self):
        mask = np.array([True, False])
        judged = gs.Judgments([1, 0], group=[2], judged=mask)
        mask[0] = False
        assert judged.judged.tolist() == [True, False]
        assert not judged.judged.flags.writeable

    def test_condensed_judgments_hold_what_was_judged(self):
        """As if made from the judged rows alone, with every query."""
        rng = np.random.default_rng(0)
        query = np.array(list("abcde"))[rng.integers(0, 5, 200)]
        known = (rng.random(200) < 0.7) & (query != "c")
        labels = np.where(known, rng.integers(0, 4, 200), 0)
        scores, weights = rng.normal(size=200).round(1), rng.random(200)
        full = gs.Judgments(labels, qid=query, judged=known, weight=weights)
        part = gs.Judgments(labels[known], qid=query[known])
        metrics = ["ndcg_exp@5", "map", "mrr", "precision@3", "precision", "rbp", "err(max_label=3)", "hit@1", "cg"]
        found = gs.evaluate(metrics, full, scores, unjudged="drop")
        expected = gs.evaluate(metrics, part, scores[known]).frame()
        pd.testing.assert_frame_equal(found.frame().drop("c").loc[expected.index], expected, check_exact=True)
        assert (found.frame().loc["c"] == 0).all()
        assert found.mean["mrr"] == pytest.approx(np.average(found.frame()["mrr"], weights=full.weights), rel=1e-15)
        assert found.notes == [f"unjudged: {(~known).sum()} of 200 documents, dropped (condensed lists)"]

    def test_labels_alone_cannot_be_condensed(self):
        with pytest.raises(ValueError, match="unjudged='drop' needs to know which documents nobody judged"):
            gs.evaluate("mrr", gs.Judgments([1, 0], group=[2]), [1, 2], unjudged="drop")

    def test_unknown_handling(self):
        with pytest.raises(
            ValueError, match=r"unjudged must be one of 'irrelevant', 'drop', got 'dropp'; did you mean"
        ):
            gs.evaluate("mrr", gs.Judgments([1, 0], group=[2]), [1, 2], unjudged="dropp")


def test_weights_that_may_be_of_queries_or_of_documents_are_refused():
    """Three queries, three documents: by document the first query weighs 1.5 and the empty one nothing."""
    with pytest.raises(ValueError, match="as many queries as documents, of which query 1 has none: leave out"):
        gs.Judgments([1, 0, 1], group=[2, 0, 1], weight=[1, 2, 3])
    by_query = gs.Judgments([1, 0, 1], group=[2, 0, 1], weight={0: 1, 1: 2, 2: 3})
    assert by_query.weights.tolist() == [1, 2, 3]
    assert gs.Judgments([1, 0, 1], group=[1, 1, 1], weight=[1, 2, 3]).weights.tolist() == [1, 2, 3]
