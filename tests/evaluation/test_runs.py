"""Evaluation of runs with qrels: documents, queries and values as in trec_eval, from files and tables."""

import gzip
import random
from functools import partial
from unittest import mock

import numpy as np
import pandas as pd
import pytest
import pytrec_eval
from tests.bad_inputs import BadInput, bad_inputs

import gainwise as gw
from gainwise.data import trec
from gainwise.evaluation import trec_runs

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


def test_texts_and_titles_are_those_of_the_table():
    table = as_frame({"q1": {"a": 1, "b": 0}}, "label").assign(query_text="shoes", title=["red shoes", None])
    judgments = gw.evaluate_run("mrr", {"q1": {"a": 1.0, "new": 2.0}}, table).judgments
    assert judgments.texts == {"q1": "shoes"}
    assert sorted(judgments.titles) == ["", "", "red shoes"]


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


# Files and tables: ids are matched by integer codes, read at once and line by line.

# UTF-16 and most locales sort these ids differently than code points.
IDS = [*(f"d{at}" for at in range(12)), "D", "z", "é", "ÿ", "\uffee", "\U0001f600", "NA", "nan"]
SCORES = [0.0, -0.0, 1.5, 1.5 + 1e-9, 2.0, 1e300, 2e300, float("inf")]


def random_listings(seed):
    rng = random.Random(seed)

    def some(values):
        queries = rng.sample([f"q{at}" for at in range(6)], rng.randint(3, 6))
        return {
            query: {name: rng.choice(values) for name in rng.sample(IDS, rng.randint(1, len(IDS)))} for query in queries
        }

    return some([-1, 0, 0, 1, 2, 3]), some(SCORES)


def as_file(path, listing):
    run = isinstance(next(iter(next(iter(listing.values())).values())), float)
    lines = [
        f"{query} Q0 {document} 0 {number!r} tag\n" if run else f"{query} 0 {document} {number}\n"
        for query, documents in listing.items()
        for document, number in documents.items()
    ]
    text = "".join(lines).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def as_frame(listing, column):
    rows = [(query, document, number) for query, found in listing.items() for document, number in found.items()]
    return pd.DataFrame(rows, columns=["query", "document", column])


@pytest.fixture(params=["at once", "line by line"])
def reader(request, monkeypatch):
    """Run a test with the fast reader and with the reader of lines."""
    if request.param == "line by line":
        monkeypatch.setattr(trec, "read_fields", mock.Mock(return_value=None))


def by_hand(qrels, run, scores=float):
    """Reciprocal rank and precision at 3 of documents by score and then by id, both descending, in plain Python."""
    found = {}
    for query in qrels:
        if query in run:
            ranked = sorted(run[query], key=lambda name: (scores(run[query][name]), name), reverse=True)
            relevant = [qrels[query].get(name, 0) > 0 for name in ranked]
            first = next((1 / rank for rank, one in enumerate(relevant, 1) if one), 0.0)
            found[query] = [first, sum(relevant[:3]) / 3]
    return found


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("seed", range(4))
def test_ties_are_broken_by_id(seed, tmp_path):
    qrels, run = random_listings(seed)
    forms = [
        (as_file(tmp_path / "run", run), as_file(tmp_path / "qrels.gz", qrels)),
        (as_file(tmp_path / "run.gz", run), as_frame(qrels, "label")),
        (as_frame(run, "score").sample(frac=1, random_state=seed), as_file(tmp_path / "qrels", qrels)),
        (run, qrels),
    ]
    for form in forms:
        for scores, option in ((float, ""), (np.float32, ",scores=float32")):
            with np.errstate(over="ignore"):
                expected = by_hand(qrels, run, scores)
                frame = gw.evaluate_run([f"mrr(ties=order{option})", f"precision(ties=order{option})@3"], *form).frame()
            assert frame.index.tolist() == list(expected)
            np.testing.assert_allclose(frame.to_numpy(), list(expected.values()), rtol=1e-15)


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("seed", range(2))
def test_results_are_the_same_from_files_and_tables(seed, tmp_path):
    qrels, run = random_listings(seed)
    _, other = random_listings(seed + 100)
    runs = {"one": run, "other": other}
    files = {name: as_file(tmp_path / name, listing) for name, listing in runs.items()}
    judged = as_file(tmp_path / "qrels", qrels)
    for options in ({}, {"missing": "zero", "unjudged": "drop"}):
        one, two = (
            gw.evaluate_run(["map", "err(max_label=3,ties=best)", "judged@4"], *listing, **options)
            for listing in ((run, qrels), (files["one"], judged))
        )
        assert one.per_query.tobytes() == two.per_query.tobytes()
        assert one.coverage == two.coverage
        assert one.judgments.query_ids.tolist() == two.judgments.query_ids.tolist()
    one, two = (gw.compare_runs(*listing, ["map", "ndcg_linear@5"]) for listing in ((runs, qrels), (files, judged)))
    for name, values in one.values.items():
        assert values.tobytes() == two.values[name].tobytes()
    assert (one.notes, one.leaderboard.to_dict()) == (two.notes, two.leaderboard.to_dict())


QRELS_TEXT = "q1 0 a 1\nq1 0 b 0\n"
RUN_TEXT = "q1 Q0 a 1 2.0 t\nq1 Q0 b 2 1.0 t\n"


def listings(words, place, run=RUN_TEXT, qrels=QRELS_TEXT, **options):
    """Use a run and qrels, both of them files."""

    def call(folder, use):
        (folder / "run").write_text(run)
        (folder / "qrels").write_text(qrels)
        return use(folder / "run", folder / "qrels", **options)

    return BadInput(f"{place} {words}", call, place, ValueError, words)


@pytest.mark.usefixtures("reader")
@bad_inputs(
    [
        listings("line 1", "run, line 3: document 'a' of query 'q1'", RUN_TEXT + "q1 Q0 a 3 0 t\n"),
        listings("line 3", "run, line 4: document 'a' of query 'q9'", RUN_TEXT + "q9 Q0 a 3 0 t\nq9 Q0 a 3 1 t\n"),
        listings("line 2", "qrels, line 3: document 'b' of", RUN_TEXT + "q1 Q0 a 3 0 t\n", QRELS_TEXT + "q1 0 b 1\n"),
        listings("-inf", "document 'c' of query 'q1'", RUN_TEXT + "q1 Q0 c 3 -inf t\n"),
        listings("'nan'", "run, line 3: ", RUN_TEXT + "q1 Q0 c 3 nan t\n"),
        listings("'inf'", "qrels, line 3: ", qrels=QRELS_TEXT + "q1 0 c inf\n"),
        listings("empty", "qrels: ", qrels="\n"),
    ]
)
def test_bad_files(case, tmp_path):
    case.check(tmp_path, partial(gw.evaluate_run, "mrr"))
    case.check(tmp_path, lambda run, qrels, **options: gw.compare_runs({"one": run}, qrels, **options))


def test_plain_files_become_no_tables(tmp_path, monkeypatch):
    """Otherwise the tests above would not cover the fast path."""
    (tmp_path / "run").write_text(RUN_TEXT)
    (tmp_path / "qrels").write_text(QRELS_TEXT)
    monkeypatch.setattr(trec_runs, "_read", None)
    monkeypatch.setattr(trec, "_parse_lines", None)
    assert gw.evaluate_run("mrr", tmp_path / "run", tmp_path / "qrels").mean == {"mrr": 1.0}
