"""What carries an index of pandas is matched by it or refused: never taken by position."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gainsay as gs

ROWS = [40, 10, 30, 20]
LABELS = pd.Series([1, 0, 0, 1], index=ROWS)
QUERIES = pd.Series(["b", "b", "a", "a"], index=ROWS)
JUDGMENTS = gs.Judgments(LABELS, qid=QUERIES)


def judged(**options):
    return gs.Judgments(LABELS, **{"qid": QUERIES, **options})


class TestWeightsByQuery:
    """`df.groupby("query")["weight"].first()` comes sorted by query, not in the order of the rows."""

    @pytest.mark.parametrize(
        "weight",
        [
            pd.Series([1.0, 3.0], index=["a", "b"]),
            {"a": 1, "b": 3},
            {"b": 3, "z": 9, "a": 1},
            pd.Series([9, 1, 3], index=["z", "a", "b"]),
            pd.DataFrame({"query": ["a", "b"], "weight": [1, 3]}).groupby("query")["weight"].first(),
        ],
        ids=["Series", "dict", "dict of more", "Series of more", "groupby"],
    )
    def test_matched_by_id(self, weight):
        assert judged(weight=weight).weights.tolist() == [3, 1]  # [1, 3] when taken by position

    def test_an_array_is_in_the_order_of_the_queries(self):
        assert judged(weight=[1, 3]).weights.tolist() == [1, 3]

    def test_the_mean_is_that_of_the_right_weights(self):
        weight = pd.Series([1.0, 3.0], index=["a", "b"])
        found = gs.evaluate("mrr", judged(weight=weight), [2, 1, 2, 1])  # query b: 1, query a: 1/2
        assert found.mean["mrr"] == (3 * 1 + 1 * 0.5) / 4

    @pytest.mark.parametrize("weight", [pd.Series([1.0, 3.0]), pd.Series([1, 3], index=["a", "c"]), {"a": 1}, {}])
    def test_a_query_without_weight(self, weight):
        with pytest.raises(
            ValueError, match=r"weight has no entry for [12] of 2 queries, the first is 'b': .* matched by"
        ):
            judged(weight=weight)

    def test_two_weights_of_a_query(self):
        with pytest.raises(ValueError, match="weight has 'a' more than once in its index"):
            judged(weight=pd.Series([1, 2, 3], index=["a", "a", "b"]))

    @pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint64, np.float64, "datetime64[ns]", object])
    def test_ids_of_all_kinds(self, kind):
        ids = np.array([7, 3]).astype(kind)
        known = pd.Index(ids)
        for weight in (dict(zip(known[::-1], [1, 3], strict=True)), pd.Series([1, 3], index=known[::-1])):
            assert gs.Judgments([0, 1, 1], qid=ids[[0, 0, 1]], weight=weight).weights.tolist() == [3, 1]

    def test_a_number_is_not_its_text(self):
        assert gs.Judgments([0, 1], qid=[1, "1"], weight={"1": 2, 1: 5}).weights.tolist() == [5, 2]
        with pytest.raises(ValueError, match="weight has no entry for 2 of 2 queries, the first is 1:"):
            gs.Judgments([0, 1], qid=[1, 2], weight={"1": 2, "2": 5})

    def test_beside_sizes_with_an_index(self):
        group = pd.Series([2, 2], index=["b", "a"])
        weight = pd.Series([1, 3], index=["a", "b"])
        assert gs.Judgments([1, 0, 0, 1], group=group, weight=weight).weights.tolist() == [3, 1]

    def test_beside_sizes_without(self):
        assert gs.Judgments([1, 0, 0, 1], group=[2, 2], weight={1: 3, 0: 1}).weights.tolist() == [1, 3]
        with pytest.raises(ValueError, match=r"\(queries given by group= are numbered from 0\)"):
            gs.Judgments([1, 0, 0, 1], group=[2, 2], weight=pd.Series([1, 3], index=["a", "b"]))


class TestRows:
    ORDER = (30, 40, 20, 10)

    def test_weights_by_document(self):
        weight = pd.Series([1.0, 2.0, 3.0, 6.0], index=ROWS)
        assert judged(weight=weight[list(self.ORDER)]).weights.tolist() == [1.5, 4.5]

    def test_queries(self):
        shuffled = gs.Judgments(LABELS, qid=QUERIES[list(self.ORDER)])
        assert (shuffled.query_ids.tolist(), shuffled.sizes.tolist()) == (["b", "a"], [2, 2])

    def test_scores(self):
        scores = pd.Series([2.0, 1.0, 2.0, 1.0], index=ROWS)
        expected = gs.evaluate("mrr", JUDGMENTS, scores).per_query
        assert expected.ravel().tolist() == [1, 0.5]
        assert np.array_equal(gs.evaluate("mrr", JUDGMENTS, scores[list(self.ORDER)]).per_query, expected)

    def test_the_index_of_the_queries_where_labels_have_none(self):
        judgments = gs.Judgments(LABELS.to_numpy(), qid=QUERIES)
        scores = pd.Series([2.0, 1.0, 2.0, 1.0], index=ROWS)[list(self.ORDER)]
        assert gs.evaluate("mrr", judgments, scores).per_query.ravel().tolist() == [1, 0.5]

    def test_models_that_are_compared(self):
        scores = pd.Series([2.0, 1.0, 2.0, 1.0], index=ROWS)
        models = {"as it is": scores, "shuffled": scores[list(self.ORDER)]}
        found = gs.compare(models, JUDGMENTS, ["mrr", "map"])
        assert np.array_equal(found.values["mrr"][:, 0], found.values["mrr"][:, 1])
        table = pd.DataFrame({"one": scores, "other": -scores}).loc[list(self.ORDER)]
        assert gs.compare(table, JUDGMENTS, ["mrr", "map"]).values["mrr"].tolist() == [[1, 0.5], [0.5, 1]]

    def test_features_that_models_predict_from(self):
        class Model:
            def predict(self, features):
                return features["bm25"].to_numpy()

        features = pd.DataFrame({"bm25": [2.0, 1.0, 2.0, 1.0]}, index=ROWS).loc[list(self.ORDER)]
        found = gs.compare({"model": Model()}, JUDGMENTS, ["mrr", "map"], features=features)
        assert found.values["mrr"].ravel().tolist() == [1, 0.5]

    @pytest.mark.parametrize(
        ("index", "message"),
        [
            ([0, 1, 2, 3], r"scores has no entry for index 40 \(row 0\) but has 0, 1, 2, …"),
            ([40, 10, 30, 21], r"scores has no entry for index 20 \(row 3\)"),
            ([40, 40, 30, 20], "that of scores has 40 more than once"),
        ],
    )
    def test_another_index_is_refused(self, index, message):
        scores = pd.Series([2.0, 1.0, 2.0, 1.0], index=index)
        with pytest.raises(ValueError, match=f"scores cannot be matched with the labels: .*{message}.*scores.to_numpy"):
            gs.evaluate("mrr", JUDGMENTS, scores)
        assert gs.evaluate("mrr", JUDGMENTS, scores.to_numpy()).per_query.ravel().tolist() == [1, 0.5]

    def test_other_queries_are_refused(self):
        with pytest.raises(ValueError, match="qid cannot be matched with the labels"):
            gs.Judgments(LABELS, qid=QUERIES.reset_index(drop=True))

    def test_the_same_index_may_hold_values_twice(self):
        frame = pd.DataFrame({"label": [1, 0, 1], "score": [3, 2, 1]}, index=["q1", "q1", "q2"])
        judgments = gs.Judgments(frame["label"], qid=frame.index)
        assert gs.evaluate("mrr", judgments, frame["score"]).mean == {"mrr": 1.0}
        with pytest.raises(ValueError, match="that of scores has 'q1' more than once"):
            gs.evaluate("mrr", judgments, frame["score"].iloc[::-1])

    def test_too_few_rows_are_counted_first(self):
        with pytest.raises(ValueError, match="scores has 3 entries but the judgments have 4 documents"):
            gs.evaluate("mrr", JUDGMENTS, pd.Series([1, 2, 3], index=ROWS[:3]))

    def test_weights_that_fit_both_ways(self):
        with pytest.raises(
            ValueError, match="fits the ids of the queries and the rows of the labels, in different orders"
        ):
            gs.Judgments(pd.Series([1, 1]), qid=[1, 0], weight=pd.Series([1.0, 3.0]))
        assert gs.Judgments(pd.Series([1, 1]), qid=[1, 0], weight=pd.Series([2, 2])).weights.tolist() == [2, 2]

    def test_polars_has_no_index(self):
        polars = pytest.importorskip("polars")
        judgments = gs.Judgments(LABELS, qid=QUERIES, weight=polars.Series([1, 3]))
        assert judgments.weights.tolist() == [1, 3]
        assert gs.evaluate("mrr", judgments, polars.Series([2, 1, 2, 1])).per_query.ravel().tolist() == [1, 0.5]

    @given(st.permutations(range(8)), st.lists(st.integers(0, 3), min_size=8, max_size=8))
    def test_any_order_gives_the_same(self, order, scores):
        frame = pd.DataFrame({"label": [0, 1, 2, 0, 1, 0, 0, 2], "query": [1, 1, 1, 1, 2, 2, 2, 2], "score": scores})
        shuffled = frame.iloc[order]
        judgments = gs.Judgments(frame["label"], qid=shuffled["query"], weight=shuffled["label"] + 1)
        plain = gs.Judgments(frame["label"].tolist(), qid=frame["query"].tolist(), weight=frame["label"] + 1)
        metrics = ["ndcg_exp", "map"]
        found = gs.evaluate(metrics, judgments, shuffled["score"])
        assert found.mean == gs.evaluate(metrics, plain, frame["score"].tolist()).mean


def test_explanations_match_too():
    scores = pd.Series([2.0, 1.0, 2.0, 1.0], index=ROWS)
    expected = gs.explain(LABELS, scores, qid=QUERIES)
    pd.testing.assert_frame_equal(gs.explain(LABELS, scores[[30, 40, 20, 10]], qid=QUERIES), expected)


class TestParts:
    """What workers of a cluster hold is matched as everything else."""

    def part(self, weight, qid=("b", "b", "a", "a")):
        from gainsay.training.bound import Panel
        from gainsay.training.parts import Part

        return Part(Panel("mrr", None, "refuse", 1), [1, 0, 0, 1][: len(qid)], qid=list(qid), weight=weight)

    def test_weights_by_query(self):
        assert self.part({"a": 1.0, "b": 3.0}).sums([2, 1, 2, 1]).tolist() == [[3.5, 4.0]]

    @pytest.mark.parametrize("weight", [{"a": 0.0, "b": 0}, pd.Series([0, 0], index=["a", "b"]), [0, 0]])
    def test_queries_without_weight_count_nothing(self, weight):
        part = self.part(weight)
        assert not part.counts
        assert part.sums([2, 1, 2, 1]).tolist() == [[0, 0]]

    def test_no_documents(self):
        assert not self.part({"a": 1.0}, qid=()).counts
