"""Values by row and single rankings have the same names of queries, models and documents."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

import gainwise as gw
from gainwise.data import RankingData, simulate

METRICS = ["ndcg_linear@3", "ndcg_exp@3", "map"]
RNG = np.random.default_rng(4)
LABELS = RNG.integers(0, 4, 120)
QUERIES = np.array([f"q{place % 20}" for place in range(120)])  # The rows of a query are not adjacent.
SCORES = {"B": RNG.integers(0, 6, 120).astype(float), "A": LABELS + RNG.normal(size=120)}


@pytest.fixture(scope="module")
def comparison():
    return gw.compare(SCORES, gw.Judgments(LABELS, qid=QUERIES), METRICS)


class TestFrame:
    def test_is_what_evaluate_gives_of_each_model(self, comparison):
        judgments = gw.Judgments(LABELS, qid=QUERIES)
        for model, scores in SCORES.items():
            expected = gw.evaluate(METRICS, judgments, scores).frame()
            pd.testing.assert_frame_equal(comparison.frame().xs(model, level="model"), expected)

    def test_means_of_the_leaderboard_are_those_of_the_frame_weighted_by_its_column(self):
        weight = {f"q{place}": place + 1.0 for place in range(20)}
        found = gw.compare(SCORES, gw.Judgments(LABELS, qid=QUERIES, weight=weight), METRICS)
        frame = found.frame()
        assert list(frame) == [*METRICS, "weight"]
        assert frame["weight"].loc["q7", "A"] == 8.0
        for model in SCORES:
            rows = frame.xs(model, level="model")
            mean = np.average(rows["map"], weights=rows["weight"])
            assert found.leaderboard.loc[model, "map"] == pytest.approx(mean, rel=1e-12)

    def test_a_query_that_a_metric_skips_is_missing_under_it_and_one_that_all_skip_is_left_out(self):
        judgments = gw.Judgments([1, 0, 0, 0, 2, 1], qid=["a", "a", "b", "b", "c", "c"])
        scores = {"A": [1, 2, 1, 2, 1, 2], "B": [2, 1, 2, 1, 2, 1]}
        some = gw.compare(scores, judgments, ["map(empty=skip)", "mrr"]).frame()
        assert np.isnan(some.loc["b", "map(empty=skip)"]).all()
        every = gw.compare(scores, judgments, ["map(empty=skip)", "mrr(empty=skip)"]).frame()
        assert every.index.get_level_values("query").unique().tolist() == ["a", "c"]


class TestRanking:
    @pytest.mark.parametrize("ties", ["average", "order", "worst", "best"])
    def test_what_documents_add_is_the_value_of_the_query(self, ties):
        metrics = [f"{name}(ties={ties})@3" for name in ("ndcg_linear", "ndcg_exp", "dcg_jk", "cg")]
        metrics += [f"ndcg_exp(ties={ties})"]
        found = gw.compare(SCORES, gw.Judgments(LABELS, qid=QUERIES), metrics)
        frame = found.frame()
        for query, model in frame.index[::3]:
            table = found.ranking(query, model)
            for metric in found.metrics:
                assert table[f"adds {metric}"].sum() == pytest.approx(frame.loc[(query, model), metric], abs=1e-12)

    def test_documents_are_rows_of_the_input_in_order_of_score(self, comparison):
        table = comparison.ranking("q3", "A")
        rows = table["document"].to_numpy()
        assert set(rows) == set(np.flatnonzero(QUERIES == "q3"))
        assert table["rank"].tolist() == list(range(1, 7))
        assert table["score"].tolist() == sorted(SCORES["A"][rows], reverse=True)
        assert table["label"].tolist() == LABELS[rows].tolist()
        assert table["gain ndcg_exp@3"].tolist() == (2.0 ** LABELS[rows] - 1).tolist()

    def test_equal_scores_are_marked_and_stand_in_the_order_of_the_input(self):
        found = gw.compare({"A": [1, 2, 1, 0]}, gw.Judgments([0, 1, 2, 3], group=[4]), "ndcg_linear@10")
        table = found.ranking(0, "A")
        assert table["document"].tolist() == [1, 0, 2, 3]
        assert table["tied"].tolist() == [False, True, True, False]

    def test_of_runs_documents_have_their_ids_and_those_not_retrieved_no_rank(self):
        qrels = {"7": {"x": 2, "y": 1}, "8": {"z": 1}}
        runs = {"one": {"7": {"n": 3.0, "x": 2.0}}, "two": {"7": {"y": 1.0}, "8": {"z": 1.0}}}
        found = pickle.loads(pickle.dumps(gw.compare_runs(runs, qrels, ["ndcg_linear@2", "mrr"])))
        table = found.ranking("7", "one")
        assert table["document"].tolist() == ["n", "x", "y"]
        assert table["rank"].tolist()[:2] == [1, 2]
        assert table["rank"].isna().tolist() == [False, False, True]
        assert table["judged"].tolist() == [False, True, True]
        assert found.frame().loc[("7", "one"), "mrr"] == 0.5
        dropped = gw.compare_runs(runs, qrels, ["ndcg_linear@2", "mrr"], unjudged="drop")
        assert dropped.ranking("7", "one")["document"].tolist() == ["x", "y"]

    def test_unjudged_rows_that_are_dropped_keep_the_numbers_of_the_others(self):
        judgments = gw.Judgments([0, 1, 2, 1], qid=["b", "a", "b", "b"], judged=[False, True, True, True])
        found = gw.compare({"A": [4, 3, 2, 3]}, judgments, "ndcg_linear@2", unjudged="drop")
        assert found.ranking("b", "A")["document"].tolist() == [3, 2]


DATA = simulate(40, seed=1, mean_length=12, features=2)
NOISE = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "query": DATA.query_ids[DATA.qid],
        "label": DATA.labels,
        "document": [f"d{row}" for row in range(len(DATA.labels))],
        "a": NOISE.random(len(DATA.labels)),
        "b": DATA.labels + NOISE.normal(size=len(DATA.labels)),
    }
)


def test_rankings_show_the_ids_of_tables_and_datasets():
    data = RankingData(DATA.features, DATA.labels, qid=FRAME["query"], document_ids=FRAME["document"])
    sources = [
        gw.compare_table(FRAME, ["a", "b"], document="document"),
        gw.compare(FRAME[["a", "b"]], data.judgments()),
    ]
    for place, query in enumerate(DATA.query_ids):
        rows = FRAME[DATA.qid == place]
        expected = rows.sort_values("b", ascending=False, kind="stable")["document"].tolist()
        for comparison in sources:
            name = comparison.frame().index.get_level_values("query").unique()[place]
            assert str(name) == str(query)
            assert comparison.ranking(name, "b")["document"].tolist() == expected


def test_the_order_of_documents_within_queries_changes_nothing():
    mixed = FRAME.sample(frac=1, random_state=3).set_index("query").loc[DATA.query_ids].reset_index()
    assert mixed["document"].tolist() != FRAME["document"].tolist()
    documents = [
        json.loads(gw.compare_table(frame, ["a", "b"], document="document").to_json(queries=40))
        for frame in (FRAME, mixed)
    ]
    assert documents[0] == documents[1]
