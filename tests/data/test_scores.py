"""Scores from files of every kind."""

from __future__ import annotations

import gzip
import sys

import numpy as np
import pandas as pd
import pytest

from gainsay.data import read_scores

SCORES = np.array([0.5, -1.25, 3e-7])


def test_npy(tmp_path):
    np.save(tmp_path / "s.npy", SCORES.astype(np.float32))
    scores = read_scores(tmp_path / "s.npy")
    np.testing.assert_array_equal(scores, SCORES.astype(np.float32))
    assert scores.dtype == np.float64


def test_npy_of_one_column(tmp_path):
    np.save(tmp_path / "s.npy", SCORES[:, None])
    np.testing.assert_array_equal(read_scores(tmp_path / "s.npy"), SCORES)


def test_npz(tmp_path):
    np.savez(tmp_path / "s.npz", a=SCORES, b=-SCORES)
    np.testing.assert_array_equal(read_scores(tmp_path / "s.npz", column="b"), -SCORES)


@pytest.mark.parametrize("name", ["s.csv", "s.tsv", "s.txt"])
@pytest.mark.parametrize("header", ["", "score\n"])
def test_one_number_a_line(write, name, header):
    path = write(header + "\n".join(map(repr, SCORES.tolist())) + "\n\n", name)
    np.testing.assert_array_equal(read_scores(path), SCORES)


def test_a_named_column_of_csv(write):
    path = write('"id",first, second\r\n"a, b",1,2\r\nc,3,-inf\r\n', "s.csv")
    assert read_scores(path, column="second").tolist() == [2, -np.inf]


def test_a_quoted_cell_over_two_lines_keeps_line_numbers(write):
    with pytest.raises(ValueError, match="line 4: the score 'x' is not a number"):
        read_scores(write('text,s\n"a\nb",1\nc,x\n', "s.csv"), column="s")


def test_a_named_column_of_blank_separated_text(write):
    assert read_scores(write("a  b\n1  2\n3\t4\n", "s.txt"), column="b").tolist() == [2, 4]


def test_compressed_text(write):
    assert read_scores(write(gzip.compress(b"1\n2\n"), "s.csv.gz")).tolist() == [1, 2]


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    pd.DataFrame({"a": SCORES, "b": [1, 2, 3]}).to_parquet(tmp_path / "s.parquet")
    np.testing.assert_array_equal(read_scores(tmp_path / "s.parquet", column="a"), SCORES)
    assert read_scores(tmp_path / "s.parquet", column="b").tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="no column 'c'; there are 'a', 'b'"):
        read_scores(tmp_path / "s.parquet", column="c")


def test_parquet_of_text(tmp_path):
    pytest.importorskip("pyarrow")
    pd.DataFrame({"a": ["x", "y"]}).to_parquet(tmp_path / "s.parquet")
    with pytest.raises(ValueError, match="expected numbers, found values of type"):
        read_scores(tmp_path / "s.parquet")


def test_what_is_no_parquet(write):
    pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match=r"s\.parquet: no parquet file"):
        read_scores(write("rubbish", "s.parquet"))


def test_parquet_without_pyarrow_names_the_extra(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"gainsay\[parquet\]"):
        read_scores(write("", "s.parquet"))


@pytest.mark.parametrize(
    ("name", "content", "column", "message"),
    [
        ("s.csv", "1\nx\n", None, "line 2: the score 'x' is not a number"),
        ("s.csv", "1\n\n2\n", None, "line 2: the line is empty; expected a score"),
        ("s.csv", "1\nnan\n", None, "line 2: the score is NaN"),
        ("s.csv", "1\n2,3\n", None, "line 2: 2 columns, but the first line has 1"),
        ("s.csv", "1,2\n3,4\n", None, "line 1: 2 columns and no header; expected one score a line"),
        ("s.csv", "a,b\n3,4\n", None, r"2 columns, name one with column= \(.*:COLUMN\); there are 'a', 'b'"),
        ("s.csv", "a,b\n3,4\n", "c", "no column 'c'; there are 'a', 'b'"),
        ("s.csv", "a,a\n3,4\n", "a", "column 'a' occurs 2 times"),
        ("s.csv", "score\n", None, "holds a header, 'score', but no scores"),
        ("s.csv", "", None, "the file holds no scores"),
        ("s.txt", "a" * 200_000 + "\n1\nb\n", None, "line 3: the score 'b' is not a number"),
        ("s.csv", '"' + "a" * 200_000, None, "line 1: field larger than field limit"),
        ("s.npy", "rubbish", None, "no file of NumPy arrays, or one of Python objects"),
        ("s.npy", "", None, "no file of NumPy arrays"),
        ("s.npz", "PK\x03\x04rubbish", None, "no file of NumPy arrays"),
        ("s.pkl", "", None, r"cannot tell the format from the suffix '\.pkl'; known are \.npy"),
        ("scores", "", None, "cannot tell the format from the suffix ''"),
    ],
)
def test_malformed_files(write, name, content, column, message):
    with pytest.raises(ValueError, match=message):
        read_scores(write(content, name), column=column)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((2, 2)), r"expected one score per row, found an array of shape \(2, 2\)"),
        (np.array(["a"]), "expected numbers, found values of type"),
        (np.array([1.0, np.nan, np.nan]), r"2 scores are NaN, the first in row 1 \(from 0\)"),
        (np.zeros(0), "the file holds no scores"),
        (np.array([{}], dtype=object), "which are never loaded"),
    ],
)
def test_arrays_that_are_no_scores(tmp_path, array, message):
    np.save(tmp_path / "s.npy", array)
    with pytest.raises(ValueError, match=message):
        read_scores(tmp_path / "s.npy")


def test_a_column_of_a_single_array(tmp_path):
    np.save(tmp_path / "s.npy", SCORES)
    with pytest.raises(ValueError, match="the file is a single array; leave out column='a'"):
        read_scores(tmp_path / "s.npy", column="a")


def test_pickled_objects_in_npz_are_never_loaded(tmp_path):
    np.savez(tmp_path / "s.npz", a=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="which are never loaded"):
        read_scores(tmp_path / "s.npz")
