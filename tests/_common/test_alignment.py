"""Values with a pandas index are matched by it, never by position."""

import pandas as pd
import polars
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gainwise as gw
from gainwise.training.logged_metrics import LoggedMetrics, Partition

ROWS = [40, 10, 30, 20]
ORDER = [30, 40, 20, 10]
LABELS = pd.Series([1, 0, 0, 1], index=ROWS)
QUERIES = pd.Series(["b", "b", "a", "a"], index=ROWS)
SCORES = pd.Series([2.0, 1.0, 2.0, 1.0], index=ROWS)
JUDGMENTS = gw.Judgments(LABELS, qid=QUERIES)
GROUPED = pd.DataFrame({"query": ["a", "b"], "weight": [1, 3]}).groupby("query")["weight"].first()


def weigh(weight, **options):
    return gw.Judgments(LABELS, **(options or {"qid": QUERIES}), weight=weight).weights.tolist()


@pytest.mark.parametrize(
    "weight",
    [
        pd.Series([1.0, 3.0], index=["a", "b"]),
        {"b": 3, "z": 9, "a": 1},
        pd.Series([9, 1, 3], index=["z", "a", "b"]),
        GROUPED,
        [3, 1],
        polars.Series([3, 1]),
        pd.Series([1.0, 0.0, 1.0, 6.0], index=ORDER),
    ],
    ids=["Series", "dict", "Series of more", "groupby", "array by position", "polars by position", "by document"],
)
def test_weights_by_query(weight):
    assert weigh(weight) == [3, 1]


def test_weights_by_query_next_to_sizes():
    assert weigh(pd.Series([1, 3], index=["a", "b"]), group=pd.Series([2, 2], index=["b", "a"])) == [3, 1]
    assert weigh({1: 3, 0: 1}, group=[2, 2]) == [1, 3]
    assert gw.Judgments([0, 1], qid=[1, "1"], weight={"1": 2, 1: 5}).weights.tolist() == [5, 2]
    assert gw.Judgments(pd.Series([1, 1]), qid=[1, 0], weight=pd.Series([2, 2])).weights.tolist() == [2, 2]
    judgments = gw.Judgments(LABELS, qid=QUERIES, weight=GROUPED)  # query b: 1, query a: 1/2
    assert gw.evaluate("mrr", judgments, [2, 1, 2, 1]).mean["mrr"] == (3 * 1 + 1 * 0.5) / 4


@pytest.mark.parametrize(
    ("judgments", "scores"),
    [
        (JUDGMENTS, SCORES),
        (JUDGMENTS, SCORES[ORDER]),
        (JUDGMENTS, SCORES.to_numpy()),
        (JUDGMENTS, polars.Series(SCORES.to_list())),
        (gw.Judgments(LABELS.to_numpy(), qid=QUERIES), SCORES[ORDER]),
        (gw.Judgments(LABELS, qid=QUERIES[ORDER]), SCORES[ORDER]),
    ],
    ids=["same", "shuffled", "NumPy", "polars", "index of the queries", "shuffled queries"],
)
def test_scores(judgments, scores):
    assert judgments.query_ids.tolist() == ["b", "a"]
    assert gw.evaluate("mrr", judgments, scores).per_query.ravel().tolist() == [1, 0.5]


def test_models_features_and_explanations():
    class Model:
        def predict(self, features):
            return features["bm25"].to_numpy()

    table = pd.DataFrame({"one": SCORES, "other": -SCORES}).loc[ORDER]
    assert gw.compare(table, JUDGMENTS, ["mrr", "map"]).values["mrr"].tolist() == [[1, 0.5], [0.5, 1]]
    models = {"same": SCORES, "shuffled": SCORES[ORDER], "model": Model()}
    features = pd.DataFrame({"bm25": SCORES}).loc[ORDER]
    found = gw.compare(models, JUDGMENTS, ["mrr", "map"], features=features).values["mrr"]
    assert found.tolist() == [[1, 1, 1], [0.5, 0.5, 0.5]]
    expected = gw.explain(LABELS, SCORES, qid=QUERIES)
    pd.testing.assert_frame_equal(gw.explain(LABELS, SCORES[ORDER], qid=QUERIES), expected)


@given(st.permutations(range(8)), st.lists(st.integers(0, 3), min_size=8, max_size=8))
def test_any_order_of_rows(order, scores):
    frame = pd.DataFrame({"label": [0, 1, 2, 0, 1, 0, 0, 2], "query": [1, 1, 1, 1, 2, 2, 2, 2], "score": scores})
    shuffled = frame.iloc[order]
    judgments = gw.Judgments(frame["label"], qid=shuffled["query"], weight=shuffled["label"] + 1)
    plain = gw.Judgments(frame["label"].tolist(), qid=frame["query"].tolist(), weight=frame["label"] + 1)
    found = gw.evaluate(["ndcg_exp", "map"], judgments, shuffled["score"])
    assert found.mean == gw.evaluate(["ndcg_exp", "map"], plain, frame["score"].tolist()).mean


@pytest.mark.parametrize(
    ("weight", "sums"),
    [
        ({"a": 1.0, "b": 3.0}, [[3.5, 4.0]]),
        ({"a": 0.0, "b": 0}, [[0, 0]]),
        (pd.Series([0, 0], index=["a", "b"]), [[0, 0]]),
        ([0, 0], [[0, 0]]),
    ],
)
def test_parts_of_workers(weight, sums):
    part = Partition(LoggedMetrics("mrr", None, "refuse", 1), [1, 0, 0, 1], qid=["b", "b", "a", "a"], weight=weight)
    assert part.counts == (sums != [[0, 0]])
    assert part.compute_sums([2, 1, 2, 1]).tolist() == sums
    assert not Partition(LoggedMetrics("mrr", None, "refuse", 1), [], qid=[], weight={"a": 1.0}).counts
