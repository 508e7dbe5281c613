"""Evaluation of runs against qrels: what counts as retrieved, which queries count, and bad input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import pytrec_eval

import gainsay as gs

QRELS = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"x": 1}, "q3": {"y": 1}}
RUN = {"q1": {"a": 1.0, "b": 3.0}, "q2": {"x": 1.0, "z": 2.0}, "q9": {"a": 1.0}}
OF_TREC_EVAL = {
    "ndcg": "ndcg_linear", "ndcg_cut_5": "ndcg_linear@5", "map": "map", "map_cut_10": "map@10", "recip_rank": "mrr",
    "P_5": "precision@5", "recall_10": "recall@10", "success_1": "hit@1",
}  # fmt: skip
"""Metrics by the names that trec_eval prints."""


def test_documents_not_retrieved_count_for_recall_and_the_ideal():
    result = gs.evaluate_run(["recall", "cg", "map(denominator=R)"], RUN, QRELS).frame()
    assert result.loc["q1"].tolist() == [1 / 2, 2.0, (1 / 2) / 2]


def test_documents_not_judged_have_label_0():
    assert gs.evaluate_run("mrr", RUN, QRELS).frame().loc["q2", "mrr"] == 1 / 2


def test_queries_without_results_are_left_out_by_default():
    assert gs.evaluate_run("mrr", RUN, QRELS).frame().index.tolist() == ["q1", "q2"]


def test_queries_without_results_count_zero_when_asked():
    result = gs.evaluate_run("mrr", RUN, QRELS, missing="zero")
    assert result.frame()["mrr"].to_dict() == {"q1": 1 / 2, "q2": 1 / 2, "q3": 0.0}
    assert result.mean["mrr"] == (1 / 2 + 1 / 2 + 0) / 3


def test_ties_go_by_document_id_descending_under_trec_eval():
    qrels = {"q": {"d10": 1, "d9": 0, "é": 0, "z": 0}}
    run = {"q": dict.fromkeys(qrels["q"], 1.0)}
    assert gs.evaluate_run("mrr", run, qrels, convention="trec_eval").mean == {"mrr(ties=order)": 1 / 4}


def test_frames_and_mappings_give_the_same():
    qrels = pd.DataFrame([(q, d, r) for q, ds in QRELS.items() for d, r in ds.items()], columns=["qid", "docno", "rel"])
    run = pd.DataFrame(
        [(q, d, s) for q, ds in RUN.items() for d, s in ds.items()], columns=["query_id", "doc_id", "score"]
    )
    expected = gs.evaluate_run(["map", "ndcg_exp@2"], RUN, QRELS).frame()
    pd.testing.assert_frame_equal(gs.evaluate_run(["map", "ndcg_exp@2"], run, qrels).frame(), expected)


def test_nothing_that_was_passed_is_changed():
    run = pd.DataFrame({"query": ["q1"], "document": ["a"], "score": [1]})
    before = run.copy()
    gs.evaluate_run("mrr", run, QRELS)
    pd.testing.assert_frame_equal(run, before)


def random_run(seed, queries=40, documents=60):
    rng = np.random.default_rng(seed)
    qrels, run = {}, {}
    for q in range(queries):
        ids = [f"d{i}" for i in rng.permutation(200)[:documents]]
        judged, retrieved = ids[: rng.integers(1, documents)], ids[rng.integers(0, documents - 1) :]
        qrels[f"q{q}"] = {d: int(rng.integers(-1, 4)) for d in judged}
        run[f"q{q}"] = {d: float(rng.integers(0, 15)) for d in retrieved}  # float32 holds these exactly
    return run, qrels


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_pytrec_eval_on_every_query(seed):
    run, qrels = random_run(seed)
    theirs = pytrec_eval.RelevanceEvaluator(qrels, set(OF_TREC_EVAL)).evaluate(run)
    metrics = gs.parse_metrics(list(OF_TREC_EVAL.values()), convention="trec_eval")
    ours = gs.evaluate_run(metrics, run, qrels).frame()
    expected = pd.DataFrame(theirs).T.loc[ours.index, list(OF_TREC_EVAL)]
    np.testing.assert_allclose(ours.to_numpy(), expected.to_numpy(dtype=float), rtol=1e-12, atol=0)


@pytest.mark.parametrize(
    ("run", "qrels", "message"),
    [
        ({"q8": {"a": 1.0}}, QRELS, "no query in common: the run has 'q8', the qrels have 'q1', 'q2', 'q3'"),
        ({}, QRELS, "run is empty"),
        ({"q1": {"a": float("nan")}}, QRELS, "run has 1 NaN, the first for document 'a' of query 'q1'"),
        ({"q1": {"a": -np.inf}}, QRELS, "leave out documents that were not retrieved"),
        (pd.DataFrame({"query": ["q1"], "score": [1.0]}), QRELS, "run has no column 'document'"),
        (
            pd.DataFrame({"query": ["q1"] * 2, "document": ["a"] * 2, "score": [1.0, 2.0]}),
            QRELS,
            "run has document 'a' of query 'q1' more than once",
        ),
    ],
)
def test_bad_input_is_refused(run, qrels, message):
    with pytest.raises(ValueError, match=message):
        gs.evaluate_run("mrr", run, qrels)


def test_a_list_is_not_a_run():
    with pytest.raises(TypeError, match="run must be the path of a file, a mapping"):
        gs.evaluate_run("mrr", [1, 2], QRELS)


def test_negative_grades_are_refused_when_asked():
    with pytest.raises(ValueError, match="labels must not be negative"):
        gs.evaluate_run("mrr", {"q": {"a": 1.0}}, {"q": {"a": -1}}, negative_labels="refuse")


def test_paths_are_read(tmp_path):
    (tmp_path / "run").write_text("q1 Q0 a 1 1.0 x\nq1 Q0 b 2 3.0 x\n")
    (tmp_path / "qrels").write_text("q1 0 a 2\nq1 0 b 0\n")
    assert gs.evaluate_run("mrr", str(tmp_path / "run"), tmp_path / "qrels").mean == {"mrr": 1 / 2}


def test_a_run_that_retrieved_nothing_counts_zero_when_asked():
    assert gs.evaluate_run("mrr", {"q1": {}}, QRELS, missing="zero").mean == {"mrr": 0.0}
    with pytest.raises(ValueError, match="run is empty"):
        gs.evaluate_run("mrr", {"q1": {}}, QRELS)


def test_the_id_of_a_query_goes_before_its_text():
    """As in PyTerrier's tables."""
    run = pd.DataFrame({
        "qid": ["1", "1"], "docid": [7, 8], "docno": ["a", "b"], "rank": [0, 1], "score": [2.0, 1.0], "query": "words",
    })  # fmt: skip
    qrels = pd.DataFrame({"qid": ["1", "1"], "docno": ["a", "b"], "label": [0, 1]})
    assert gs.evaluate_run("mrr", run, qrels).mean == {"mrr": 1 / 2}


@pytest.mark.parametrize("column", ["query", "document"])
def test_an_id_that_is_missing(column):
    run = pd.DataFrame({"query": ["q", "q"], "document": ["a", "b"], "score": [2.0, 1.0]})
    run.loc[1, column] = None
    with pytest.raises(ValueError, match=f"run has no {column} in 1 of 2 rows, the first is row 1"):
        gs.evaluate_run("mrr", run, {"q": {"a": 1}})


def test_documents_without_scores():
    with pytest.raises(TypeError, match=r"run must map each query to \{document: score\}, got list for query 'q1'"):
        gs.evaluate_run("mrr", {"q1": ["a", "b"]}, QRELS)


class TestCoverage:
    """Nothing is left out or assumed without a word."""

    def test_what_only_one_of_the_two_has(self):
        found = gs.evaluate_run("mrr", RUN, QRELS)
        assert found.coverage.not_retrieved == ("q3",)
        assert found.coverage.not_judged == ("q9",)
        assert (found.coverage.retrieved, found.coverage.unjudged) == (4, 1)
        assert repr(found).splitlines()[-3:] == [
            "  unjudged: 1 of 4 retrieved documents, counted as irrelevant",
            "  judged queries without results: 1 ('q3'), left out",
            "  queries of the run without judgments: 1 ('q9'), left out",
        ]
        assert "queries of the run without judgments: 1 (&#x27;q9&#x27;), left out" in found._repr_html_()

    def test_what_became_of_it(self):
        found = gs.evaluate_run("mrr", RUN, QRELS, missing="zero", unjudged="drop")
        assert found.coverage.sentences[:2] == [
            "unjudged: 1 of 4 retrieved documents, dropped (condensed lists)",
            "judged queries without results: 1 ('q3'), counted, with nothing retrieved",
        ]
        assert found.coverage.to_dict() == {
            "retrieved": 4, "unjudged": 1, "handling": "drop", "not_retrieved": ["q3"], "not_judged": ["q9"],
            "missing": "zero",
        }  # fmt: skip

    def test_where_all_fits_there_is_nothing_to_say(self):
        found = gs.evaluate_run("mrr", {"q": {"a": 1.0}}, {"q": {"a": 1, "b": 0}})
        assert found.notes == []
        assert repr(found).count("\n") == 1

    def test_many_queries_are_counted_and_some_named(self):
        run = {f"x{at}": {"a": 1.0} for at in range(1200)}
        said = gs.evaluate_run("mrr", run | {"q1": {"a": 1.0}}, QRELS).notes[-1]
        expected = "queries of the run without judgments: 1,200 ('x0', 'x1', 'x2', 'x3', 'x4', 'x5', …), left out"
        assert said == expected


class TestCondensedLists:
    def test_by_hand(self):
        """Sakai 2007: relevant documents at ranks 1 and 5 of the list stand at 1 and 3 of its judged documents."""
        qrels = {"q": {"a": 2, "b": 0, "c": 1, "d": 1}}
        run = {"q": {"a": 5.0, "new": 4.0, "newer": 3.0, "b": 2.0, "c": 1.0}}
        metrics = ["map", "precision@3", "mrr", "dcg_linear"]
        dropped = gs.evaluate_run(metrics, run, qrels, unjudged="drop").mean
        assert dropped == pytest.approx(
            {"map": (1 + 2 / 3) / 3, "precision@3": 2 / 3, "mrr": 1, "dcg_linear": 2 + 1 / 2}, rel=1e-15
        )
        kept = gs.evaluate_run(metrics, run, qrels).mean
        assert kept["map"] == pytest.approx((1 + 2 / 5) / 3, rel=1e-15)

    @pytest.mark.parametrize("seed", range(5))
    def test_is_trec_eval_with_judged_documents_only(self, seed):
        """trec_eval -J, and trec_eval on a run from which unjudged documents were taken out beforehand."""
        run, qrels = random_run(seed)
        qrels = {query: {name: max(0, label) for name, label in labels.items()} for query, labels in qrels.items()}
        names = set(OF_TREC_EVAL)
        metrics = gs.parse_metrics(list(OF_TREC_EVAL.values()), convention="trec_eval")
        ours = gs.evaluate_run(metrics, run, qrels, unjudged="drop").frame()
        without = {query: {d: s for d, s in docs.items() if d in qrels[query]} for query, docs in run.items()}
        option = pytrec_eval.RelevanceEvaluator(qrels, names, judged_docs_only_flag=True).evaluate(run)
        removed = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(without)
        assert any(len(docs) < len(run[query]) for query, docs in without.items())
        for theirs in (option, removed):
            expected = pd.DataFrame(theirs).T[list(OF_TREC_EVAL)].astype(float)
            np.testing.assert_allclose(ours.loc[expected.index].to_numpy(), expected.to_numpy(), rtol=1e-12, atol=0)

    def test_a_query_whose_results_nobody_judged_stays(self):
        run, qrels = {"q1": {"x": 1.0}, "q2": {"a": 1.0}}, {"q1": {"a": 1}, "q2": {"a": 1}}
        found = gs.evaluate_run(["mrr", "judged@5"], run, qrels, unjudged="drop")
        assert found.frame().to_dict("index") == {
            "q1": {"mrr": 0, "judged@5": 0},
            "q2": {"mrr": 1, "judged@5": 1},
        }

    def test_judged_is_of_the_run_as_it_was(self):
        for unjudged in ("irrelevant", "drop"):
            assert gs.evaluate_run("judged@2", RUN, QRELS, unjudged=unjudged).frame().loc["q2"].item() == 1 / 2

    def test_negative_grades_are_judgments(self):
        """trec_eval -J takes them for unjudged."""
        run, qrels = {"q": {"spam": 2.0, "a": 1.0}}, {"q": {"spam": -2, "a": 1}}
        assert gs.evaluate_run(["mrr", "judged"], run, qrels, unjudged="drop").mean == {"mrr": 1 / 2, "judged": 1}
        (theirs,) = (
            pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}, judged_docs_only_flag=True).evaluate(run).values()
        )
        assert theirs["recip_rank"] == 1

    def test_negative_labels_of_an_ideal_do_not_move(self):
        """An unjudged document of label 0 stands before them in the ideal order, a dropped one does not."""
        qrels, run = {"q": {"a": 2, "b": -1}}, {"q": {"a": 3.0, "new": 2.0, "b": 1.0}}
        dropped = gs.evaluate_run("ndcg_linear", run, qrels, unjudged="drop", negative_labels="allow")
        assert dropped.mean == {"ndcg_linear": 1.0}

    def test_the_published_run(self, shared_data):
        """trec_eval's own example, 762 of whose 1,500 documents nobody judged."""
        from gainsay.data import read_qrels, read_run

        folder = shared_data / "trec-eval"
        tables = {"run": read_run(folder / "results.test"), "qrels": read_qrels(folder / "qrels.test")}
        run, qrels = (
            {query: dict(zip(part["document"], part[value].astype(kind), strict=True)) for query, part in rows}
            for rows, value, kind in (
                (tables["run"].groupby("query"), "score", float),
                (tables["qrels"].groupby("query"), "label", int),
            )
        )
        names = {"map": "map", "ndcg": "ndcg_linear", "P_10": "precision@10", "recip_rank": "mrr"}
        expected = pytrec_eval.RelevanceEvaluator(qrels, set(names), judged_docs_only_flag=True).evaluate(run)
        metrics = gs.parse_metrics(list(names.values()), convention="trec_eval")
        found = gs.evaluate_run(metrics, folder / "results.test", folder / "qrels.test", unjudged="drop")
        assert (found.coverage.retrieved, found.coverage.unjudged) == (1500, 762)
        for query, row in zip(found.judgments.query_ids, found.per_query, strict=True):
            np.testing.assert_allclose(row, [expected[query][name] for name in names], rtol=1e-12)
        shares = gs.evaluate_run("judged", folder / "results.test", folder / "qrels.test").frame()["judged"]
        for query, share in shares.items():
            assert share == len(run[query].keys() & qrels[query].keys()) / len(run[query])

    def test_unknown_handling(self):
        with pytest.raises(ValueError, match="unjudged must be one of 'irrelevant', 'drop', got 'keep'"):
            gs.evaluate_run("mrr", RUN, QRELS, unjudged="keep")


def test_precision_without_a_cutoff_divides_by_judged_documents():
    """However many unjudged documents this run, or another that it is compared with, retrieved."""
    qrels, run = {"q": {"a": 1, "b": 0}}, {"q": {"a": 3.0, "new": 2.0, "newer": 1.0}}
    assert gs.evaluate_run("precision", run, qrels).mean == {"precision": 1 / 2}
    other = {"q": {f"x{at}": 1.0 for at in range(5)}}
    found = gs.compare_runs({"one": run, "other": other}, qrels, ["precision", "mrr"]).leaderboard
    assert found.loc["one", "precision"] == 1 / 2
