"""Tables on the command line: no cell, column or id is read as another, or left out without a word."""

import json
import re
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from tests.cli.shell import gainsay

ROWS = {"1": (0.1, 0.9), "01": (0.3, 0.8), "NA": (0.5, 0.6)}
TABLE = "label,query,A,B\n" + "".join(f"1,{query},{a},{b}\n0,{query} ,0.4,0.7\n" for query, (a, b) in ROWS.items())


@pytest.fixture
def table(tmp_path):
    def write(text):
        (tmp_path / "table.csv").write_text(text)
        return tmp_path / "table.csv"

    return write


def test_ids_of_queries_are_those_that_are_written(table, tmp_path):
    """By number 01 and 1 would be one query, and by pandas NA none; blanks around an id are not part of it."""
    values = tmp_path / "values.json"
    found = gainsay("compare", "--table", table(TABLE), "-m", "mrr", "--per-query", values)
    assert found.exit_code == 0, found.stderr
    by_query = {(row["query"], row["model"]): row["mrr"] for row in json.loads(values.read_text())}
    expected = {"A": {"1": 0.5, "01": 0.5, "NA": 1.0}, "B": {"1": 1.0, "01": 1.0, "NA": 0.5}}
    assert by_query == {(query, model): expected[model][query] for model in "AB" for query in ROWS}


def test_a_row_without_its_query_is_refused(table):
    found = gainsay("compare", "--table", table(TABLE + "1,,0.1,0.2\n"))
    assert found.exit_code == 1
    assert "qid is missing for 1 of 7 documents, the first at row 6" in found.stderr


@pytest.mark.parametrize("twice", ["label", "query", "A"])
def test_two_columns_of_one_name_are_refused(table, twice):
    header, _, rest = TABLE.partition("\n")
    path = table(f"{header.replace('B', twice)}\n{rest}")
    for found in (gainsay("compare", "--table", path), gainsay("explain", path, "--score", "A")):
        assert found.exit_code == 1
        assert f"table.csv: two columns are named {twice!r}: rename one of them" in found.stderr


def test_a_column_asked_for_twice_is_refused(table):
    found = gainsay("compare", "--table", table(TABLE), "--score", "A", "--score", "B", "--score", "A")
    assert found.exit_code == 1
    assert "--score names 'A' twice" in found.stderr


def test_a_column_left_out_for_one_cell_is_named(table):
    lines = [f"{line},{place},{place}" for place, line in enumerate(TABLE.splitlines())]
    lines[0], lines[2] = "label,query,A,B,C,title", "0,1,0.4,0.7,n/d,title"
    titled = [line.rpartition(",")[0] + f",title {place}" if place else line for place, line in enumerate(lines)]
    found = gainsay("compare", "--table", table("\n".join(titled) + "\n"), "--json")
    assert found.exit_code == 0, found.stderr
    assert json.loads(found.stdout)["models"] == ["A", "B"]
    assert "column 'C' is left out: it holds 'n/d' in row 1 (from 0), and numbers elsewhere" in found.stderr
    assert "title" not in found.stderr


@pytest.mark.parametrize("cells", [("x", ""), ("", "x")])
def test_a_query_with_a_segment_in_one_row_and_none_in_another_is_refused(tmp_path, cells):
    (tmp_path / "data.txt").write_text("1 qid:7 1:1\n0 qid:7 1:2\n1 qid:8 1:1\n0 qid:8 1:3\n")
    (tmp_path / "A.txt").write_text("0.1\n0.2\n0.5\n0.4\n")
    (tmp_path / "kinds.csv").write_text("query,kind\n" + "".join(f"7,{cell}\n" for cell in cells) + "8,y\n")
    data, scores, kinds = (tmp_path / name for name in ("data.txt", "A.txt", "kinds.csv"))
    found = gainsay("compare", "--data", data, scores, "--segments", kinds)
    assert found.exit_code == 1
    assert "query '7' has two labels in column 'kind'" in found.stderr


@pytest.mark.parametrize("kind", [Decimal, str])
def test_a_column_left_out_for_how_its_numbers_are_stored_is_named(tmp_path, kind):
    frame = pd.DataFrame({"query": [1, 1, 2, 2], "label": [0, 1, 1, 0], "A": [0.5, 0.2, 0.1, 0.7]})
    frame["B"] = [kind(text) for text in ("0.5", "0.9", "0.3", "0.1")]
    frame.to_parquet(tmp_path / "all.parquet")
    found = gainsay("compare", "--table", tmp_path / "all.parquet", "--json")
    assert json.loads(found.stdout)["models"] == ["A"]
    assert f"column 'B' is left out: its numbers are stored as values of type {kind.__name__}" in found.stderr


@pytest.mark.parametrize("option", ["--segments", "--clusters"])
def test_a_missing_label_of_a_nullable_column_is_named(tmp_path, option):
    np.save(tmp_path / "labels.npy", [0, 1, 1, 0])
    np.save(tmp_path / "sizes.npy", [2, 2])
    np.save(tmp_path / "a.npy", [0.5, 0.2, 0.1, 0.7])
    kinds = pd.DataFrame({"query": ["0", "1"], "kind": pd.array([1, None], dtype="Int64")})
    kinds.to_parquet(tmp_path / "kinds.parquet")
    judged = ("--labels", tmp_path / "labels.npy", "--group", tmp_path / "sizes.npy", tmp_path / "a.npy")
    found = gainsay("compare", *judged, option, tmp_path / "kinds.parquet")
    assert found.exit_code == 1
    assert re.search("has no label for query '?1'?:", found.stderr)
