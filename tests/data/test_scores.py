"""Scores from all kinds of files."""

import gzip
import sys

import numpy as np
import pandas as pd
import pytest

from gainwise.data import read_scores

SCORES = np.array([0.5, -1.25, 3e-7])


@pytest.mark.parametrize(
    ("name", "save", "column", "expected"),
    [
        ("s.npy", lambda path: np.save(path, SCORES.astype(np.float32)), None, SCORES.astype(np.float32)),
        ("s.npy", lambda path: np.save(path, SCORES[:, None]), None, SCORES),
        ("s.npz", lambda path: np.savez(path, a=SCORES, b=-SCORES), "b", -SCORES),
        ("s.parquet", lambda path: pd.DataFrame({"a": SCORES, "b": [1, 2, 3]}).to_parquet(path), "a", SCORES),
        ("s.parquet", lambda path: pd.DataFrame({"a": SCORES, "b": [1, 2, 3]}).to_parquet(path), "b", [1, 2, 3]),
        (
            "s.parquet",
            lambda path: pd.DataFrame({"b": [1, 2, 3]}, pd.Index(SCORES, name="a")).to_parquet(path),
            "a",
            SCORES,
        ),
    ],
    ids=["npy", "npy of one column", "npz", "parquet", "parquet of integers", "parquet of an index"],
)
def test_arrays(tmp_path, name, save, column, expected):
    save(tmp_path / name)
    found = read_scores(tmp_path / name, column=column)
    np.testing.assert_array_equal(found, np.array(expected, dtype=np.float64), strict=True)


@pytest.mark.parametrize("name", ["s.csv", "s.tsv", "s.txt"])
@pytest.mark.parametrize("header", ["", "score\n"])
def test_one_number_per_line(write, name, header):
    path = write(header + "\n".join(map(repr, SCORES.tolist())) + "\n\n", name)
    np.testing.assert_array_equal(read_scores(path), SCORES)


@pytest.mark.parametrize(
    ("name", "content", "column", "expected"),
    [
        ("s.csv", '"id",first, second\r\n"a, b",1,2\r\nc,3,-inf\r\n', "second", [2, -np.inf]),
        ("s.txt", "a  b\n1  2\n3\t4\n", "b", [2, 4]),
        ("s.csv.gz", gzip.compress(b"1\n2\n", mtime=0), None, [1, 2]),
    ],
)
def test_text(write, name, content, column, expected):
    assert read_scores(write(content, name), column=column).tolist() == expected


def test_parquet_without_pyarrow_names_the_extra(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        read_scores(write("", "s.parquet"))
