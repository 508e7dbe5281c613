"""Files whose lines end with carriage returns alone: all but the first would be words after a tag, or a comment."""

import pytest

from gainsay.data import read_letor, read_lightgbm, read_qrels, read_run, read_scores

RUN = "1 Q0 a 1 3 x\n1 Q0 b 2 2 x\n"
LETOR = "1 qid:1 1:1 # docid = A\n0 qid:1 1:2 # docid = B\n"


@pytest.mark.parametrize(
    ("read", "name", "text"),
    [
        (read_run, "run.txt", RUN),
        (read_qrels, "qrels.txt", "1 0 a 1\n1 0 b 0\n"),
        (read_letor, "data.txt", LETOR),
        (read_scores, "scores.txt", "1\n2\n"),
    ],
)
def test_ends_of_lines(tmp_path, read, name, text):
    path = tmp_path / name
    path.write_bytes(text.encode())
    plain = read(path)
    for end in ("\r\n", "\r\r\n"):
        path.write_bytes(text.replace("\n", end).encode())
        assert len(getattr(read(path), "labels", read(path))) == len(getattr(plain, "labels", plain)) == 2
    path.write_bytes(text.replace("\n", "\r").encode())
    with pytest.raises(ValueError, match=f"{name}, line 1: a carriage return within the line: lines end with"):
        read(path)


def test_the_line_is_named(tmp_path):
    (tmp_path / "run.txt").write_bytes(RUN.encode() + b"1 Q0 c 3 1 x\r1 Q0 d 4 0 x\n")
    with pytest.raises(ValueError, match="line 3: a carriage return within the line"):
        read_run(tmp_path / "run.txt")


def test_a_file_of_sizes(tmp_path):
    (tmp_path / "data").write_text("1 1:1\n0 1:2\n")
    (tmp_path / "data.query").write_bytes(b"1\r1\r")
    with pytest.raises(ValueError, match=r"data\.query, line 1: a carriage return within the line"):
        read_lightgbm(tmp_path / "data")
