"""Evaluation of runs with qrels: documents, queries and values as in trec_eval."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import pytrec_eval

import gainwise as gw

QRELS = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"x": 1}, "q3": {"y": 1}}
RUN = {"q1": {"a": 1.0, "b": 3.0}, "q2": {"x": 1.0, "z": 2.0}, "q9": {"a": 1.0}}
TREC_EVAL = {
    "ndcg": "ndcg_linear", "ndcg_cut_5": "ndcg_linear@5", "map": "map", "map_cut_10": "map@10", "recip_rank": "mrr",
    "P_5": "precision@5", "recall_10": "recall@10", "success_1": "hit@1",
}  # fmt: skip
"""Metrics by the names that trec_eval prints."""
METRICS = gw.parse_metrics(list(TREC_EVAL.values()), convention="trec_eval")


def random_run(seed, queries=40, documents=60):
    rng = np.random.default_rng(seed)
    qrels, run = {}, {}
    for q in range(queries):
        ids = [f"d{i}" for i in rng.permutation(200)[:documents]]
        judged, retrieved = ids[: rng.integers(1, documents)], ids[rng.integers(0, documents - 1) :]
        qrels[f"q{q}"] = {d: int(rng.integers(-1, 4)) for d in judged}
        run[f"q{q}"] = {d: float(rng.integers(0, 15)) for d in retrieved}  # exact in float32
    return run, qrels


def assert_trec_eval(result, run, qrels, **options):
    """Assert that the values of every query are those of trec_eval."""
    theirs = pytrec_eval.RelevanceEvaluator(qrels, set(TREC_EVAL), **options).evaluate(run)
    expected = pd.DataFrame(theirs).T[list(TREC_EVAL)].astype(float)
    np.testing.assert_allclose(result.frame().loc[expected.index].to_numpy(), expected.to_numpy(), rtol=1e-12, atol=0)


class TestByHand:
    def test_documents_that_only_the_run_or_the_qrels_have(self):
        result = gw.evaluate_run(["recall", "cg", "map(denominator=R)", "mrr"], RUN, QRELS).frame()
        assert result.loc["q1"].tolist() == [1 / 2, 2.0, (1 / 2) / 2, 1 / 2]
        assert result.loc["q2", "mrr"] == 1 / 2
        assert result.index.tolist() == ["q1", "q2"]

    def test_queries_without_results_count_zero_on_request(self):
        result = gw.evaluate_run("mrr", RUN, QRELS, missing="zero")
        assert result.frame()["mrr"].to_dict() == {"q1": 1 / 2, "q2": 1 / 2, "q3": 0.0}
        assert result.mean["mrr"] == (1 / 2 + 1 / 2 + 0) / 3
        assert gw.evaluate_run("mrr", {"q1": {}}, QRELS, missing="zero").mean == {"mrr": 0.0}

    def test_precision_without_a_cutoff_divides_by_judged_documents(self):
        """The value does not depend on the unjudged documents of this or another run."""
        qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 3.0, "new": 2.0, "newer": 1.0}}
        assert gw.evaluate_run("precision", run, qrels).mean == {"precision": 1 / 2}
        other = {"q": {f"x{at}": 1.0 for at in range(5)}}
        leaderboard = gw.compare_runs({"one": run, "other": other}, qrels, ["precision", "mrr"]).leaderboard
        assert leaderboard.loc["one", "precision"] == 1 / 2


@pytest.mark.parametrize("seed", range(2))
def test_trec_eval_on_every_query(seed):
    run, qrels = random_run(seed)
    assert_trec_eval(gw.evaluate_run(METRICS, run, qrels), run, qrels)


class TestCoverage:
    def test_documents_and_queries_that_do_not_match(self):
        result = gw.evaluate_run("mrr", RUN, QRELS)
        assert result.coverage.not_retrieved == ("q3",)
        assert result.coverage.not_judged == ("q9",)
        assert (result.coverage.retrieved, result.coverage.unjudged) == (4, 1)
        for note, parts in zip(result.coverage.sentences, (("1 of 4",), ("1 ('q3')",), ("1 ('q9')",)), strict=True):
            assert all(part in note for part in parts)
            assert note in repr(result)
        assert "&#x27;q9&#x27;" in result._repr_html_()

    def test_options(self):
        coverage = gw.evaluate_run("mrr", RUN, QRELS, missing="zero", unjudged="drop").coverage
        assert (coverage.handling, coverage.missing) == ("drop", "zero")
        plain = gw.evaluate_run("mrr", RUN, QRELS).coverage
        assert [note == other for note, other in zip(coverage.sentences, plain.sentences, strict=True)] == [
            False, False, True,
        ]  # fmt: skip


class TestCondensedLists:
    def test_by_hand(self):
        """Sakai 2007: relevant documents at ranks 1 and 5 of the list are at 1 and 3 of its judged documents."""
        qrels = {"q": {"a": 2, "b": 0, "c": 1, "d": 1}}
        run = {"q": {"a": 5.0, "new": 4.0, "newer": 3.0, "b": 2.0, "c": 1.0}}
        metrics = ["map", "precision@3", "mrr", "dcg_linear"]
        dropped = gw.evaluate_run(metrics, run, qrels, unjudged="drop").mean
        expected = {"map": (1 + 2 / 3) / 3, "precision@3": 2 / 3, "mrr": 1, "dcg_linear": 2 + 1 / 2}
        assert dropped == pytest.approx(expected, rel=1e-15)
        assert gw.evaluate_run("map", run, qrels).mean["map"] == pytest.approx((1 + 2 / 5) / 3, rel=1e-15)

    @pytest.mark.parametrize("seed", range(2))
    def test_trec_eval_with_judged_documents_only(self, seed):
        """trec_eval -J, and trec_eval on a run without its unjudged documents."""
        run, qrels = random_run(seed)
        qrels = {query: {name: max(0, label) for name, label in labels.items()} for query, labels in qrels.items()}
        result = gw.evaluate_run(METRICS, run, qrels, unjudged="drop")
        without = {query: {d: s for d, s in docs.items() if d in qrels[query]} for query, docs in run.items()}
        assert any(len(docs) < len(run[query]) for query, docs in without.items())
        assert_trec_eval(result, run, qrels, judged_docs_only_flag=True)
        assert_trec_eval(result, without, qrels)

    @pytest.mark.parametrize("unjudged", ["irrelevant", "drop"])
    def test_judged_is_the_share_of_the_whole_run(self, unjudged):
        assert gw.evaluate_run("judged@2", RUN, QRELS, unjudged=unjudged).frame().loc["q2"].item() == 1 / 2

    def test_negative_grades_are_judgments(self):
        """trec_eval -J reads them as unjudged."""
        run, qrels = {"q": {"spam": 2.0, "a": 1.0}}, {"q": {"spam": -2, "a": 1}}
        assert gw.evaluate_run(["mrr", "judged"], run, qrels, unjudged="drop").mean == {"mrr": 1 / 2, "judged": 1}
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}, judged_docs_only_flag=True)
        assert evaluator.evaluate(run)["q"]["recip_rank"] == 1

    def test_dropped_documents_are_not_in_the_ideal_order(self):
        """An unjudged document of label 0 precedes negative labels in the ideal order, a dropped one does not."""
        qrels, run = {"q": {"a": 2, "b": -1}}, {"q": {"a": 3.0, "new": 2.0, "b": 1.0}}
        dropped = gw.evaluate_run("ndcg_linear", run, qrels, unjudged="drop", negative_labels="allow")
        assert dropped.mean == {"ndcg_linear": 1.0}
