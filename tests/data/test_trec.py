"""TREC runs and qrels: the files that trec_eval is tested with, and every way a file can be wrong."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest

from gainsay.data import read_qrels, read_run, write_run


def counts(frame, column):
    return {query: dict(part[column].value_counts()) for query, part in frame.groupby("query")}


def test_binary_qrels_have_the_published_counts(shared_data):
    frame = read_qrels(shared_data / "trec-eval" / "qrels.test")
    assert counts(frame, "label") == {"301": {0: 1234, 1: 474}, "302": {0: 984, 1: 77}, "303": {0: 902, 1: 10}}


def test_graded_qrels_have_the_published_counts(shared_data):
    assert counts(read_qrels(shared_data / "trec-eval" / "qrels.rel_level"), "label") == {
        "301": {0: 1234, 1: 462, 2: 6, 4: 6},
        "302": {0: 984, 3: 77},
        "303": {-1: 304, 0: 600, 2: 8},
    }


@pytest.mark.parametrize(
    ("name", "sizes"),
    [("results.test", {"301": 500, "302": 500, "303": 500}), ("results.trunc", {"301": 500, "303": 84})],
)
def test_runs_have_the_published_counts(shared_data, name, sizes):
    frame = read_run(shared_data / "trec-eval" / name)
    assert frame.groupby("query").size().to_dict() == sizes
    assert list(frame.columns) == ["query", "document", "score"]
    assert frame["score"].dtype == np.float64


def test_a_run_equals_a_plain_reader(shared_data):
    path = shared_data / "trec-eval" / "results.test"
    rows = [line.split() for line in path.read_text().splitlines()]
    frame = read_run(path)
    assert list(frame.itertuples(index=False, name=None)) == [(r[0], r[2], float(r[4])) for r in rows]


def test_ids_stay_as_they_are_written(write):
    frame = read_run(write("007 Q0 NA 1 1.5 t\n1e3 Q0 nan 1 -inf t\nNone Q0 čaj 1 3 t\n"))
    assert frame["query"].tolist() == ["007", "1e3", "None"]
    assert frame["document"].tolist() == ["NA", "nan", "čaj"]
    assert frame["score"].tolist() == [1.5, -np.inf, 3]


def test_rank_iteration_and_words_after_the_tag_are_ignored(write):
    frame = read_run(write("1 Q0  a\t99 2.5 tag and more\r\n\n1 x b rank 1 t"))
    assert frame["document"].tolist() == ["a", "b"]


def test_a_run_may_be_gzip(write):
    assert len(read_run(write(gzip.compress(b"1 Q0 a 1 2 t\n")))) == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 Q0 b 1 2", "line 3: 5 columns, expected 'topic Q0 document rank score tag'; found '1 Q0 b 1 2'"),
        ("1 Q0 b 1 high t", "line 3: the score 'high' is not a number"),
        ("1 Q0 b 1 nan t", "line 3: the score is 'nan'; it must be a number"),
        ("1 Q0 a 1 7 t", "line 3: document 'a' of query '1' is on line 1 already"),
    ],
)
def test_malformed_runs(write, line, message):
    with pytest.raises(ValueError, match=message):
        read_run(write(f"1 Q0 a 1 2 t\n\n{line}\n"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 0 b", "line 2: 3 columns, expected 'topic iteration document grade'; found '1 0 b'"),
        ("1 Q0 b 1 2.5 t", "line 2: 6 columns, .*; a run is for read_run"),
        ("1 0 b high", "line 2: the grade 'high' is not a number"),
        ("1 0 b nan", "line 2: the grade is 'nan'; it must be finite"),
        ("1 0 b inf", "line 2: the grade is 'inf'; it must be finite"),
        ("1 0 a 1", "line 2: document 'a' of query '1' is on line 1 already"),
    ],
)
def test_malformed_qrels(write, line, message):
    with pytest.raises(ValueError, match=message):
        read_qrels(write(f"1 0 a 2\n{line}\n"))


@pytest.mark.parametrize("read", [read_run, read_qrels])
def test_empty_files(write, read):
    with pytest.raises(ValueError, match="the file is empty; expected lines 'topic"):
        read(write("\n"))


@pytest.mark.parametrize("name", ["run.txt", "run.txt.gz"])
def test_a_written_run_reads_back_exactly(tmp_path, name):
    scores = np.random.default_rng(0).normal(size=50)
    frame = pd.DataFrame({"query": ["b"] * 20 + ["a"] * 30, "document": [f"d{i}" for i in range(50)], "score": scores})
    write_run(frame, tmp_path / name)
    expected = frame.iloc[np.lexsort((-scores, frame["query"] == "a"))].reset_index(drop=True)
    pd.testing.assert_frame_equal(read_run(tmp_path / name), expected)


def test_equal_runs_give_equal_files(tmp_path):
    run = {"1": {"a": 1.0, "b": 2.0}}
    write_run(run, tmp_path / "one.gz")
    write_run(run, tmp_path / "two.gz")
    assert (tmp_path / "one.gz").read_bytes() == (tmp_path / "two.gz").read_bytes()


def test_tied_documents_keep_the_order_given(tmp_path):
    path = tmp_path / "run"
    write_run({"1": {"b": 1, "a": 1, "c": 2}}, path, tag="t")
    assert path.read_text() == "1 Q0 c 1 2.0 t\n1 Q0 b 2 1.0 t\n1 Q0 a 3 1.0 t\n"


def test_the_callers_frame_is_left_alone(tmp_path):
    frame = pd.DataFrame({"query": [1, 1], "document": [7, 8], "score": [1, 2]}, index=[5, 6])
    before = frame.copy(deep=True)
    write_run(frame, tmp_path / "run")
    pd.testing.assert_frame_equal(frame, before)
    assert read_run(tmp_path / "run")["document"].tolist() == ["8", "7"]


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ({}, "run is empty"),
        (pd.DataFrame({"query": ["1"], "document": ["a"]}), "run has no column 'score'"),
        ({"1": {"a b": 1.0}}, "document ids must be words without blanks, got 'a b'"),
        ({"": {"a": 1.0}}, "query ids must be words without blanks, got ''"),
        ({"1": {"a": float("nan")}}, "1 NaN, the first for document 'a' of query '1'"),
        (
            pd.DataFrame({"query": ["1", None], "document": ["a", "b"], "score": [1, 2]}),
            "no query in 1 of 2 rows, .* row 1",
        ),
        (
            pd.DataFrame({"query": ["1", "1"], "document": ["a", "a"], "score": [1, 2]}),
            "document 'a' of query '1' more than once",
        ),
    ],
)
def test_runs_that_cannot_be_written(tmp_path, run, message):
    with pytest.raises(ValueError, match=message):
        write_run(run, tmp_path / "run")


@pytest.mark.parametrize("tag", ["", "two words", " x"])
def test_a_tag_is_one_word(tmp_path, tag):
    with pytest.raises(ValueError, match="tag must be one word"):
        write_run({"1": {"a": 1.0}}, tmp_path / "run", tag)
