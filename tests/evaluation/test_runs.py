"""Evaluation of runs against qrels: what counts as retrieved, which queries count, and bad input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import pytrec_eval

import gainsay as gs

QRELS = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"x": 1}, "q3": {"y": 1}}
RUN = {"q1": {"a": 1.0, "b": 3.0}, "q2": {"x": 1.0, "z": 2.0}, "q9": {"a": 1.0}}


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
    names = {
        "ndcg": "ndcg_linear", "ndcg_cut_5": "ndcg_linear@5", "map": "map", "map_cut_10": "map@10", "recip_rank": "mrr",
        "P_5": "precision@5", "recall_10": "recall@10", "success_1": "hit@1",
    }  # fmt: skip
    theirs = pytrec_eval.RelevanceEvaluator(qrels, set(names)).evaluate(run)
    metrics = gs.parse_metrics(list(names.values()), convention="trec_eval")
    ours = gs.evaluate_run(metrics, run, qrels).frame()
    expected = pd.DataFrame(theirs).T.loc[ours.index, list(names)]
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
    with pytest.raises(TypeError, match="run must be the path of a TREC file, a mapping"):
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
