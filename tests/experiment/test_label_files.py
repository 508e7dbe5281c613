"""Files of clusters and segments: the first column are the ids, and no column or label is read as another."""

from __future__ import annotations

import pytest

from gainsay.experiment.labels import cluster_file, segment_file
from gainsay.experiment.runs import Runs


def written(folder, text):
    path = folder / "labels.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_labels_are_those_that_are_written_without_blanks_around_them(tmp_path):
    """A blank behind a comma makes no cluster of its own; 01, 1 and NA are three labels."""
    path = written(tmp_path, "\ufeffquery,session\n1, 01\n 2 ,01\n3,1\n01,NA\n")
    assert cluster_file(path) == {"1": "01", "2": "01", "3": "1", "01": "NA"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("query,kind\n1,10,x\n2,20,y\n", "Expected 2 fields in line 2, saw 3"),
        ("query,kind,kind\n1,x,u\n2,y,u\n", "two columns are named 'kind'"),
        ("query,kind\n1,x\n 1,y\n", "query '1' has a label twice, again in line 3"),
        ("query\n1\n", "found one column"),
    ],
)
def test_what_would_be_read_as_something_else(tmp_path, text, said):
    with pytest.raises(ValueError, match=said):
        segment_file(written(tmp_path, text))


def test_a_key_of_runs_that_is_given_twice():
    with pytest.raises(ValueError, match="runs names 'finalists' twice, got 'finalists=3,finalists=5'"):
        Runs.from_text("finalists=3,finalists=5")
