"""CSV files with labels of queries: blanks around texts are removed, and each query has one line."""

from __future__ import annotations

from functools import partial

from tests.bad_inputs import BadInput, bad_inputs

from gainwise.comparison.query_labels import read_segment_file


def read(content, folder):
    (folder / "labels.csv").write_text(content, encoding="utf-8")
    return read_segment_file(folder / "labels.csv")


def test_labels_are_text_without_blanks_around_it(tmp_path):
    """A blank after a comma is not part of a label. 01, 1 and NA are three labels."""
    rows = "".join(f"q{place} , {label}\n" for place, label in enumerate(["01", "1", "NA"]))
    assert read(f"\ufeffquery,kind\n{rows}", tmp_path) == {"kind": {"q0": "01", "q1": "1", "q2": "NA"}}


INVALID = [
    ("query,cluster\n1,a\n1,b\n", "query '1'", "two lines"),
    ("query,cluster\n1,a\n2\n", "query '2'", "(line 3)"),
    ("query,a,a\n1,1,1\n", "labels.csv", "distinct names"),
    ("", "labels.csv", "not CSV"),
]


@bad_inputs([BadInput(words, partial(read, content), name, ValueError, words) for content, name, words in INVALID])
def test_bad_inputs(case, tmp_path):
    case.check(tmp_path)
