"""Text files: gzip, ends of lines, and chunks."""

import gzip
import os

import pytest

from gainwise.data import read_letor, read_qrels, read_scores

LINE = b"1 qid:1 1:0.5 2:1\n"


def test_gzip_of_several_members(write):
    assert len(read_letor(write(gzip.compress(LINE) + gzip.compress(LINE))).labels) == 2


@pytest.mark.parametrize("end", ["\r\n", "\r\r\n"])
def test_carriage_returns_before_line_feeds(write, end):
    assert read_scores(write(f"1{end}2{end}", "scores.txt")).tolist() == [1, 2]
    assert read_qrels(write(f"1 0 a 1{end}1 0 b 0{end}"))["label"].tolist() == [1, 0]
    assert read_letor(write(f"1 qid:1 1:1 # docid = A{end}0 qid:1 1:2 # docid = B{end}")).document_ids == ("A", "B")


@pytest.mark.posix
@pytest.mark.parametrize("read", [read_letor, read_qrels])
def test_a_pipe_is_no_file(read):
    """A second reader would take what the first one has left for the whole file."""
    reading, writing = os.pipe()
    os.write(writing, b"1 0 a 1 extra\n")
    os.close(writing)
    with pytest.raises(ValueError, match="is a pipe"):
        read(f"/dev/fd/{reading}")
    os.close(reading)
