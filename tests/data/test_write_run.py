"""What `write_run` takes is what `evaluate_run` takes, and nothing of it is changed on the way to the file."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import gainsay as gs
from gainsay.data import read_run, write_run

COLUMNS = {"query": ["1", "1", "2"], "document": ["a", "b", "a"], "score": [0.1, 1 / 3, 2.0]}
QRELS = {"1": {"a": 1, "b": 0}, "2": {"a": 0, "b": 1}}


@pytest.mark.parametrize(
    ("run", "kind", "message"),
    [
        ({1: {"a": 1.0}, "1": {"b": 2.0}}, ValueError, "queries 1 and '1', which are one id as text"),
        ({b"1": {"a": 1.0}, "1": {"b": 2.0}}, ValueError, "queries b'1' and '1', which are one id as text"),
        ({"1": {1: 1.0, "1": 2.0}}, ValueError, "document '1' of query '1' more than once"),
        ({"1": {"a": 2**53, "b": 2**53 + 1}}, ValueError, "got 9007199254740993 in row 1"),
        ({"1": {"a": "1.5", "b": "2"}}, TypeError, "score must be numbers"),
        ({"1": {"a": 1j}}, TypeError, "score must be numbers"),
        ({"1": ["a", "b"]}, TypeError, "got list for query '1'"),
        ({None: {"a": 1.0}, "1": {"a": 2.0}}, ValueError, "no query in 1 of 2 rows, the first is row 0"),
        (["1"], TypeError, "run must be .*a mapping"),
    ],
)
def test_what_evaluate_run_refuses_is_not_written(tmp_path, run, kind, message):
    with pytest.raises(kind, match=message):
        gs.evaluate_run("map", run, QRELS)
    with pytest.raises(kind, match=message):
        write_run(run, tmp_path / "run.txt")
    assert not (tmp_path / "run.txt").exists()


def test_queries_of_a_table_that_are_one_id_as_text_are_refused():
    mixed = pd.DataFrame({"query": [1, "1"], "document": ["a", "b"], "score": [1.0, 2.0]})
    with pytest.raises(ValueError, match="queries 1 and '1', which are one id as text"):
        gs.evaluate_run("map", mixed, QRELS)


@pytest.mark.parametrize("table", [pl.DataFrame, pa.table])
def test_tables_of_polars_and_pyarrow_are_written(tmp_path, table):
    write_run(table(COLUMNS), tmp_path / "run.txt")
    found = read_run(tmp_path / "run.txt")
    rows = set(zip(found["query"], found["document"], found["score"], strict=True))
    assert rows == set(zip(*COLUMNS.values(), strict=True))


def test_a_tag_that_is_no_text_is_refused(tmp_path):
    with pytest.raises(ValueError, match="tag must be one word, got 5"):
        write_run({"1": {"a": 1.0}}, tmp_path / "run.txt", tag=5)
