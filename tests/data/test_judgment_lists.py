"""Judgments and runs as tables: CSV of Quepid and spreadsheets, frames of PyTerrier and ir_measures, and bad files."""

from __future__ import annotations

import csv
import gzip
import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import gainsay as gs
from gainsay.cli.app import app
from gainsay.data import read_qrels, read_run

ROWS = [("star wars", "11", 3), ("star wars", "12", 0), ('6" pipe, steel', "802", 2), ("café au lait", "é9", 1)]
RUN = [("star wars", "12", 2.5), ("star wars", "11", 1.25), ('6" pipe, steel', "802", -1.0), ("café au lait", "x", 7.0)]
METRICS = ["ndcg_linear@10", "ndcg_exp@10", "map", "mrr"]


def as_dict(rows):
    found = {}
    for query, document, number in rows:
        found.setdefault(query, {})[document] = number
    return found


def write(path, header, rows, delimiter=",", encoding="utf-8"):
    with open(path, "w", newline="", encoding=encoding) as stream:
        csv.writer(stream, delimiter=delimiter).writerows([header, *rows])
    return path


def rows_of(frame, value):
    return list(zip(frame["query"], frame["document"], frame[value], strict=True))


@pytest.mark.parametrize(
    ("header", "order"),
    [
        (("query", "docid", "rating"), (0, 1, 2)),
        (("Query", "Doc ID", "Rating"), (0, 1, 2)),
        (("rating", "document", "query"), (2, 1, 0)),
        (("relevance", "qid", "doc_id"), (2, 0, 1)),
        (("query-id", "corpus-id", "score"), (0, 1, 2)),
        (("QueryID", "product_id", "grade"), (0, 1, 2)),
        (("topic", "docno", "label"), (0, 1, 2)),
    ],
)
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_every_spelling_order_and_separator(tmp_path, header, order, delimiter, encoding):
    rows = [tuple(row[at] for at in order) for row in ROWS]
    frame = read_qrels(write(tmp_path / "judged.csv", header, rows, delimiter, encoding))
    assert rows_of(frame, "label") == ROWS
    assert list(frame.columns) == ["query", "document", "label"]


def test_the_detailed_export_of_quepid_has_texts_and_titles(tmp_path):
    header = ["Team Name", "Case Name", "Case ID", "Query Text", "Doc ID", "Doc Position", "Rating", "Title"]
    rows = [["Us", "Shop", 7, query, document, 1, grade, f"{document} by name"] for query, document, grade in ROWS]
    frame = read_qrels(write(tmp_path / "quepid.csv", header, rows))
    assert rows_of(frame, "label") == ROWS
    assert frame["title"].tolist() == [f"{document} by name" for _, document, _ in ROWS]
    ids = read_qrels(write(tmp_path / "ids.csv", ["query_id", *header[3:]], [[1, *row[3:]] for row in rows[:2]]))
    assert (ids["query"].tolist(), ids["query_text"].tolist()) == (["1", "1"], ["star wars", "star wars"])


def test_blanks_around_cells_and_line_breaks_in_texts_do_not_count(tmp_path):
    path = tmp_path / "judged.csv"
    path.write_bytes(b'query_id, query ,document,rating\r\n 1 ,"star\nwars", a ,2\r\n\r\n1,,b,0\r\n')
    frame = read_qrels(path)
    assert rows_of(frame, "label") == [("1", "a", 2.0), ("1", "b", 0.0)]
    assert frame["query_text"].tolist() == ["star wars", ""]


def test_rows_without_a_rating_are_no_judgments_and_it_is_said(tmp_path):
    rows = [*ROWS, ("star wars", "13", "")]
    path = write(tmp_path / "judged.csv", ("query", "docid", "rating"), rows)
    with pytest.warns(UserWarning, match=r"judged.csv: 1 rows without a rating, the first on line 6, are left out"):
        assert rows_of(read_qrels(path), "label") == ROWS


def test_runs_gzip_and_the_rank_that_does_not_count(tmp_path):
    path = write(tmp_path / "run.csv", ("query", "document", "score", "rank"), [(*row, 99) for row in RUN])
    packed = tmp_path / "run.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    for file in (path, packed):
        assert rows_of(read_run(file), "score") == RUN


def test_trec_files_by_these_names_are_read_as_ever(tmp_path):
    for name in ("qrels.tsv", "qrels.csv"):
        (tmp_path / name).write_text("q1\t0\ta\t2\nq1\t0\tb\t0\n")
        assert rows_of(read_qrels(tmp_path / name), "label") == [("q1", "a", 2.0), ("q1", "b", 0.0)]
        (tmp_path / name).write_text("q1 Q0 a 1 2.5 tag\n")
        assert rows_of(read_run(tmp_path / name), "score") == [("q1", "a", 2.5)]


def test_wherever_qrels_are_read_the_numbers_are_those_of_mappings(tmp_path):
    qrels = write(tmp_path / "qrels.csv", ("rating", "query", "docid"), [(row[2], *row[:2]) for row in ROWS])
    run = write(tmp_path / "run.tsv", ("qid", "docno", "score", "rank"), [(*row, 1) for row in RUN], "\t")
    expected = gs.evaluate_run(METRICS, as_dict(RUN), as_dict(ROWS))
    found = gs.evaluate_run(METRICS, run, qrels)
    assert found.mean == expected.mean
    assert found.frame().equals(expected.frame())
    other = as_dict([(query, document, -score) for query, document, score in RUN])
    values = [
        gs.compare_runs({"a": first, "b": other}, judged, METRICS).values
        for first, judged in ((run, qrels), (as_dict(RUN), as_dict(ROWS)))
    ]
    for name in METRICS:
        assert np.array_equal(values[0][name], values[1][name])


class TestFrames:
    PYTERRIER_QRELS = pd.DataFrame(
        {"qid": ["1", "1", "2"], "docno": ["a", "b", "a"], "label": [2, 0, 1], "iteration": "0"}
    )
    PYTERRIER_RUN = pd.DataFrame(
        {
            "qid": ["1", "1", "2"],
            "docid": [10, 11, 10],
            "docno": ["b", "a", "a"],
            "rank": [0, 1, 0],
            "score": [9.5, 3.0, 1.0],
            "query": ["star wars", "star wars", "steel pipe"],
            "title": ["B", "A", "A"],
        }
    )
    EXPECTED = gs.evaluate_run(
        METRICS, {"1": {"b": 9.5, "a": 3.0}, "2": {"a": 1.0}}, {"1": {"a": 2, "b": 0}, "2": {"a": 1}}
    )

    def test_pyterrier(self):
        found = gs.evaluate_run(METRICS, self.PYTERRIER_RUN, self.PYTERRIER_QRELS)
        assert found.mean == self.EXPECTED.mean
        assert found.judgments.texts == {"1": "star wars", "2": "steel pipe"}
        assert sorted(found.judgments.titles) == ["A", "A", "B"]

    def test_ir_measures(self):
        qrels = pd.DataFrame({"query_id": ["1", "1", "2"], "doc_id": ["a", "b", "a"], "relevance": [2, 0, 1]})
        run = pd.DataFrame({"query_id": ["1", "1", "2"], "doc_id": ["b", "a", "a"], "score": [9.5, 3.0, 1.0]})
        assert gs.evaluate_run(METRICS, run, qrels).mean == self.EXPECTED.mean

    def test_two_columns_could_be_the_label(self):
        qrels = self.PYTERRIER_QRELS.assign(rating=1)
        with pytest.raises(ValueError, match="qrels: 'label' and 'rating' could each be the label: leave out"):
            gs.evaluate_run(METRICS, self.PYTERRIER_RUN, qrels)


class TestTexts:
    QRELS = pd.DataFrame(
        {
            "qid": ["1", "1", "2"],
            "query": ["star wars", "star wars", None],
            "docno": ["a", "b", "a"],
            "title": ["A new hope", None, "A new hope"],
            "label": [2, 0, 1],
        }
    )
    RUNS = {"x": {"1": {"b": 2.0, "a": 1.0}, "2": {"a": 1.0}}, "y": {"1": {"a": 2.0, "c": 1.0}, "2": {"a": 1.0}}}

    def test_they_reach_the_comparison(self):
        comparison = gs.compare_runs(self.RUNS, self.QRELS, ["mrr", "map"])
        assert comparison.query_texts == {"1": "star wars"}
        judgments = comparison.rankings.judgments
        titles = dict(zip(zip(judgments.query_of_rows, judgments.labels, strict=True), judgments.titles, strict=True))
        assert titles == {(0, 2.0): "A new hope", (0, 0.0): "", (1, 1.0): "A new hope"}

    def test_condensed_lists_keep_them(self):
        comparison = gs.compare_runs(self.RUNS, self.QRELS, ["mrr", "map"], unjudged="drop")
        assert comparison.query_texts == {"1": "star wars"}
        assert comparison.rankings.judgments.titles.tolist() == ["A new hope", "", "A new hope"]

    def test_without_any_there_are_none(self):
        comparison = gs.compare_runs(self.RUNS, {"1": {"a": 1}, "2": {"a": 1}}, ["mrr", "map"])
        assert comparison.query_texts == {}
        assert comparison.rankings.judgments.titles is None
        assert gs.Verdict is not None

    def test_judgments_take_them(self):
        frame = pd.DataFrame(
            {"query": [7, 7, 8], "label": [1, 0, 1], "said": ["shoes", "boots", None], "name": list("abc")}
        )
        judgments = gs.Judgments.from_frame(frame, text="said", title="name")
        assert (judgments.texts, judgments.titles.tolist()) == ({7: "shoes"}, ["a", "b", "c"])
        again = gs.Judgments(
            frame["label"], qid=frame["query"], texts={7: "shoes", 9: "hats"}, titles=frame["name"][::-1]
        )
        assert (again.texts, again.titles.tolist()) == ({7: "shoes"}, ["a", "b", "c"])
        assert gs.compare({"m": [1, 2, 3], "n": [3, 2, 1]}, again, ["mrr", "map"]).query_texts == {7: "shoes"}

    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            ({"texts": ["shoes"]}, TypeError, "texts must map the ids of queries to what was asked, got list"),
            (
                {"texts": {"7": "shoes"}},
                ValueError,
                "texts has none of the queries: their ids are 7, 8, …, and it has '7'",
            ),
            ({"texts": {7: 3}}, TypeError, "texts must be strings, got 3 for query 7"),
            ({"texts": {7: "shoes \ud83d"}}, ValueError, "the text of query 7 cannot be written as UTF-8"),
            ({"titles": ["a"]}, ValueError, "titles has 1 entries but there are 3 labels; give one per document"),
        ],
    )
    def test_wrong_ones(self, options, error, message):
        with pytest.raises(error, match=message):
            gs.Judgments([1, 0, 1], qid=[7, 7, 8], **options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("query,docid,rating\n", "the file holds a header, but no row with a label"),
        ("1,a,2\n", "line 1: the header has no column 'query'"),
        (
            "query,docid\nq,a\n",
            r"line 1: the header has no column 'label' \(known too as relevance, rel, grade, rating",
        ),
        ("query,docid,rating,grade\nq,a,1,1\n", "line 1: 'grade' and 'rating' could each be the label"),
        ("query,doc id,doc_id,rating\nq,a,a,1\n", "line 1: two columns are named alike, 'doc id' and 'doc_id'"),
        ("query,docid,rating\nq,a\n", "line 2: 2 columns, but the header has 3"),
        ("query,docid,rating\nq,a,1\nq,b,good\n", "line 3: the label 'good' is not a number"),
        ("query;docid;rating\nq;a;2,5\n", "line 2: the label '2,5' is not a number"),
        ("query,docid,rating\nq,a,nan\n", "line 2: the label is 'nan'; it must be finite"),
        ("query,docid,rating\nq,a,1\n\nq,b,1\nq,a,2\n", "line 5: document 'a' of query 'q' is on line 2 already"),
        ("query,docid,rating\n,a,1\n", "line 2: the column 'query' is empty: every row needs one"),
        ('query,docid,rating\nq,"a\nb",1\n', "line 3: the column 'docid' holds a line break"),
        ('query,docid,rating\nq,"a"b,1\n', "line 2: ',' expected after '\"'; quotes within quotes are written twice"),
        ('query,docid,rating\n"q,a,1\n', "line 2: unexpected end of data"),
        ("query,docid,rating\nq,a\x00,1\n", "line 2: control byte 0x00"),
    ],
)
def test_bad_files_name_their_line(tmp_path, text, message):
    path = tmp_path / "judged.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message) as raised:
        read_qrels(path)
    assert str(path) in str(raised.value)


def test_files_of_excel_in_utf_16_and_a_run_for_qrels(tmp_path):
    path = write(tmp_path / "judged.csv", ("query", "docid", "rating"), ROWS, encoding="utf-16")
    with pytest.raises(ValueError, match=r"judged\.csv, line 1: "):
        read_qrels(path)
    run = write(tmp_path / "run.csv", ("query", "document", "score"), RUN)
    with pytest.raises(
        ValueError, match=r"line 1: the header has no column 'label'.*it has 'query', 'document', 'score'"
    ):
        read_qrels(run)
    with pytest.raises(ValueError, match="line 1: the header has no column 'score'"):
        read_run(write(tmp_path / "judged.csv", ("query", "docid", "rating"), ROWS))


def test_the_command_line_takes_them(tmp_path):
    qrels = write(tmp_path / "judged.csv", ("query", "docid", "rating"), ROWS)
    run = write(tmp_path / "run.csv", ("query", "docid", "score"), RUN)
    done = CliRunner().invoke(app, ["score", str(run), str(qrels), "-m", "mrr", "--json"])
    assert json.loads(done.stdout)["mean"] == gs.evaluate_run("mrr", as_dict(RUN), as_dict(ROWS)).mean
    done = CliRunner().invoke(app, ["compare", f"a={run}", f"b={run}", "--qrels", str(qrels), "-m", "mrr", "-m", "map"])
    assert done.exit_code == 0, done.output
    bad = CliRunner().invoke(app, ["score", str(qrels), str(qrels)])
    assert (bad.exit_code, "line 1: the header has no column 'score'" in bad.output) == (1, True)
