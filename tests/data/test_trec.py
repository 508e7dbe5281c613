"""TREC runs and qrels: trec_eval's example, tables of Quepid and spreadsheets, frames of other libraries."""

import csv
import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gainwise as gw
from gainwise.data import read_qrels, read_run, write_run

ROWS = [("star wars", "11", 3), ("star wars", "12", 0), ('6" pipe, steel', "802", 2), ("café au lait", "é9", 1)]
RUN = [("star wars", "12", 2.5), ("star wars", "11", 1.25), ('6" pipe, steel', "802", -1.0), ("café au lait", "x", 7.0)]
METRICS = ["ndcg_linear@10", "ndcg_exp@10", "map", "mrr"]


def write_table(path, header, rows, delimiter=",", encoding="utf-8"):
    with open(path, "w", newline="", encoding=encoding) as stream:
        csv.writer(stream, delimiter=delimiter).writerows([header, *rows])
    return path


def rows_of(frame, value):
    return list(zip(frame["query"], frame["document"], frame[value], strict=True))


class TestFiles:
    @pytest.mark.parametrize(
        ("name", "counts"),
        [
            ("qrels.test", {"301": {0: 1234, 1: 474}, "302": {0: 984, 1: 77}, "303": {0: 902, 1: 10}}),
            (
                "qrels.rel_level",
                {"301": {0: 1234, 1: 462, 2: 6, 4: 6}, "302": {0: 984, 3: 77}, "303": {-1: 304, 0: 600, 2: 8}},
            ),
        ],
    )
    def test_qrels_have_the_published_counts(self, shared_data, name, counts):
        frame = read_qrels(shared_data / "trec-eval" / name)
        assert {query: dict(part["label"].value_counts()) for query, part in frame.groupby("query")} == counts

    @pytest.mark.parametrize(
        ("name", "sizes"),
        [("results.test", {"301": 500, "302": 500, "303": 500}), ("results.trunc", {"301": 500, "303": 84})],
    )
    def test_runs_equal_a_plain_reader(self, shared_data, name, sizes):
        path = shared_data / "trec-eval" / name
        frame = read_run(path)
        assert frame.groupby("query").size().to_dict() == sizes
        assert (list(frame.columns), frame["score"].dtype) == (["query", "document", "score"], np.float64)
        rows = [line.split() for line in path.read_text().splitlines()]
        assert rows_of(frame, "score") == [(row[0], row[2], float(row[4])) for row in rows]

    @pytest.mark.parametrize(
        ("text", "rows"),
        [
            (
                "007 Q0 NA 1 1.5 t\n1e3 Q0 nan 1 -inf t\nNone Q0 čaj 1 3 t\n",
                [("007", "NA", 1.5), ("1e3", "nan", -np.inf), ("None", "čaj", 3)],
            ),
            ("1 Q0  a\t99 2.5 tag and more\r\n\n1 x b rank 1 t", [("1", "a", 2.5), ("1", "b", 1)]),
            (gzip.compress(b"1 Q0 a 1 2 t\n"), [("1", "a", 2)]),
        ],
        ids=["ids as written", "ignored columns", "gzip"],
    )
    def test_runs(self, write, text, rows):
        assert rows_of(read_run(write(text)), "score") == rows


class TestWriteRun:
    @pytest.mark.parametrize("name", ["run.txt", "run.txt.gz"])
    def test_reads_back_exactly(self, tmp_path, name):
        scores = np.random.default_rng(0).normal(size=50)
        documents = [f"d{i}" for i in range(50)]
        frame = pd.DataFrame({"query": ["b"] * 20 + ["a"] * 30, "document": documents, "score": scores})
        write_run(frame, tmp_path / name)
        expected = frame.iloc[np.lexsort((-scores, frame["query"] == "a"))].reset_index(drop=True)
        pd.testing.assert_frame_equal(read_run(tmp_path / name), expected)
        write_run(frame, tmp_path / f"again-{name}")
        assert (tmp_path / name).read_bytes() == (tmp_path / f"again-{name}").read_bytes()

    def test_tied_documents_keep_their_order(self, tmp_path):
        write_run({"1": {"b": 1, "a": 1, "c": 2}}, tmp_path / "run", tag="t")
        assert (tmp_path / "run").read_text() == "1 Q0 c 1 2.0 t\n1 Q0 b 2 1.0 t\n1 Q0 a 3 1.0 t\n"

    @pytest.mark.parametrize("table", [pl.DataFrame, pa.table])
    def test_tables_of_polars_and_pyarrow(self, tmp_path, table):
        columns = {"query": ["1", "1", "2"], "document": ["a", "b", "a"], "score": [0.1, 1 / 3, 2.0]}
        write_run(table(columns), tmp_path / "run.txt")
        assert set(rows_of(read_run(tmp_path / "run.txt"), "score")) == set(zip(*columns.values(), strict=True))


class TestTables:
    """Files with a header."""

    @pytest.mark.parametrize(
        ("header", "order", "delimiter", "encoding"),
        [
            (("query", "docid", "rating"), (0, 1, 2), ",", "utf-8"),
            (("Query", "Doc ID", "Rating"), (0, 1, 2), ",", "utf-8-sig"),
            (("rating", "document", "query"), (2, 1, 0), ";", "utf-8"),
            (("relevance", "qid", "doc_id"), (2, 0, 1), ";", "utf-8-sig"),
            (("query-id", "corpus-id", "score"), (0, 1, 2), "\t", "utf-8"),
            (("QueryID", "product_id", "grade"), (0, 1, 2), "\t", "utf-8-sig"),
            (("topic", "docno", "label"), (0, 1, 2), ",", "utf-8"),
            (("query", "document", "label", "2024"), (0, 1, 2, 2), "\t", "utf-8"),
        ],
    )
    def test_names_order_and_separator_of_columns(self, tmp_path, header, order, delimiter, encoding):
        rows = [tuple(row[at] for at in order) for row in ROWS]
        frame = read_qrels(write_table(tmp_path / "judged.csv", header, rows, delimiter, encoding))
        assert rows_of(frame, "label") == ROWS
        assert list(frame.columns) == ["query", "document", "label"]

    def test_texts_and_titles_of_quepid(self, tmp_path):
        header = ["Team Name", "Case Name", "Case ID", "Query Text", "Doc ID", "Doc Position", "Rating", "Title"]
        rows = [["Us", "Shop", 7, query, name, 1, grade, f"{name} by name"] for query, name, grade in ROWS]
        frame = read_qrels(write_table(tmp_path / "quepid.csv", header, rows))
        assert rows_of(frame, "label") == ROWS
        assert frame["title"].tolist() == [f"{document} by name" for _, document, _ in ROWS]
        ids = read_qrels(
            write_table(tmp_path / "ids.csv", ["query_id", *header[3:]], [[1, *row[3:]] for row in rows[:2]])
        )
        assert (ids["query"].tolist(), ids["query_text"].tolist()) == (["1", "1"], ["star wars", "star wars"])

    def test_blanks_around_cells_and_line_breaks_in_texts(self, write):
        text = b'query_id, query ,document,rating\r\n 1 ,"star\nwars", a ,2\r\n\r\n1,,b,0\r\n'
        frame = read_qrels(write(text, "judged.csv"))
        assert rows_of(frame, "label") == [("1", "a", 2.0), ("1", "b", 0.0)]
        assert frame["query_text"].tolist() == ["star wars", ""]

    def test_rows_without_a_rating_are_left_out_with_a_warning(self, tmp_path):
        rows = [*ROWS, ("star wars", "13", ""), ("star wars", "14", "")]
        path = write_table(tmp_path / "judged.csv", ("query", "docid", "rating"), rows)
        with pytest.warns(UserWarning, match=r"judged\.csv: 2 .* line 6"):
            assert rows_of(read_qrels(path), "label") == ROWS

    @pytest.mark.parametrize("name", ["file.tsv", "file.csv"])
    def test_files_without_a_header_are_read_as_trec_files(self, write, name):
        qrels = read_qrels(write("q1\t0\ta\t2\nq1\t0\tb\t0\n", name))
        assert rows_of(qrels, "label") == [("q1", "a", 2.0), ("q1", "b", 0.0)]
        assert rows_of(read_run(write("q1 Q0 a 1 2.5 tag\n", name)), "score") == [("q1", "a", 2.5)]


class TestFrames:
    QRELS = pd.DataFrame({"qid": ["1", "1", "2"], "docno": ["a", "b", "a"], "label": [2, 0, 1], "iteration": "0"})
    ROWS = (
        ("1", 10, "b", 0, 9.5, "star wars", "B"),
        ("1", 11, "a", 1, 3.0, "star wars", "A"),
        ("2", 10, "a", 0, 1.0, "steel pipe", "A"),
    )
    RUN = pd.DataFrame(ROWS, columns=["qid", "docid", "docno", "rank", "score", "query", "title"])
    MAPPINGS = ({"1": {"b": 9.5, "a": 3.0}, "2": {"a": 1.0}}, {"1": {"a": 2, "b": 0}, "2": {"a": 1}})
    EXPECTED = gw.evaluate_run(METRICS, *MAPPINGS)

    def test_pyterrier(self):
        result = gw.evaluate_run(METRICS, self.RUN, self.QRELS)
        assert result.mean == self.EXPECTED.mean
        assert result.judgments.texts == {"1": "star wars", "2": "steel pipe"}
        assert sorted(result.judgments.titles) == ["A", "A", "B"]

    def test_the_text_of_a_query_without_judgments_is_ignored(self):
        qrels = self.QRELS[self.QRELS["qid"] == "1"]
        assert gw.evaluate_run(METRICS, self.RUN, qrels).judgments.texts == {"1": "star wars"}


class TestTexts:
    ROWS = (
        ("1", "star wars", "a", "A new hope", 2),
        ("1", "star wars", "b", None, 0),
        ("2", None, "a", "A new hope", 1),
    )
    QRELS = pd.DataFrame(ROWS, columns=["qid", "query", "docno", "title", "label"])
    RUNS = {"x": {"1": {"b": 2.0, "a": 1.0}, "2": {"a": 1.0}}, "y": {"1": {"a": 2.0, "c": 1.0}, "2": {"a": 1.0}}}

    @pytest.mark.parametrize("unjudged", ["irrelevant", "drop"])
    def test_comparisons_have_them(self, unjudged):
        comparison = gw.compare_runs(self.RUNS, self.QRELS, ["mrr", "map"], unjudged=unjudged)
        assert comparison.rankings.judgments.texts == {"1": "star wars"}
        judgments = comparison.rankings.judgments
        titles = dict(zip(zip(judgments.query_of_rows, judgments.labels, strict=True), judgments.titles, strict=True))
        assert titles == {(0, 2.0): "A new hope", (0, 0.0): "", (1, 1.0): "A new hope"}
        if unjudged == "drop":
            assert judgments.titles.tolist() == ["A new hope", "", "A new hope"]

    @pytest.mark.parametrize("suffix", ["csv", "tsv", "frame"])
    def test_files_have_them(self, tmp_path, suffix):
        """The first text of a query counts, and texts of the qrels come before those of runs."""
        header, texts = ["query_id", "query_text", "document", "label"], ("", "star wars", "stars")
        judged = [["1", text, name, 1] for text, name in zip(texts, "abc", strict=True)] + [["2", "", "a", 1]]
        retrieved = [["1", "of a run", "a", 2.0], ["2", "steel", "a", 1.0], ["3", "not judged", "a", 1.0]]
        listings = []
        for rows, name in ((judged, "label"), (retrieved, "score")):
            path = write_table(
                tmp_path / f"{name}.{suffix}", [*header[:3], name], rows, "\t" if suffix == "tsv" else ","
            )
            frame = pd.DataFrame(rows, columns=["query", *header[1:3], name])
            listings.append(frame if suffix == "frame" else path)
        comparison = gw.compare_runs({"x": listings[1], "y": listings[1]}, listings[0], ["mrr", "map"])
        assert comparison.rankings.judgments.texts == {"1": "star wars", "2": "steel"}

    def test_judgments(self):
        frame = pd.DataFrame(
            {"query": [7, 7, 8], "label": [1, 0, 1], "text": ["shoes", "boots", None], "name": [*"abc"]}
        )
        judgments = gw.Judgments.from_frame(frame, text="text", title="name")
        assert (judgments.texts, judgments.titles.tolist()) == ({7: "shoes"}, ["a", "b", "c"])
        texts, titles = {7: "shoes", 9: "hats"}, frame["name"][::-1]
        again = gw.Judgments(frame["label"], qid=frame["query"], texts=texts, titles=titles)
        assert (again.texts, again.titles.tolist()) == ({7: "shoes"}, ["a", "b", "c"])
        comparison = gw.compare({"m": [1, 2, 3], "n": [3, 2, 1]}, again, ["mrr", "map"])
        assert comparison.rankings.judgments.texts == {7: "shoes"}
