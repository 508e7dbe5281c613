"""Files cut short, files that unfold without end, and files that are no text."""

from __future__ import annotations

import gzip
import os

import pytest

from gainsay.data import _text, read_letor, read_qrels
from gainsay.data._text import read_chunks

LINE = b"1 qid:1 1:0.5 2:1\n"


@pytest.mark.parametrize("kept", [5, 12, 40, -1])
def test_truncated_gzip(write, kept):
    data = gzip.compress(bytes(os.urandom(20_000)).hex().encode())
    with pytest.raises(ValueError, match=r"file\.txt: the gzip stream ends too early; the file is cut short"):
        list(read_chunks(write(data[:kept])))


def test_damaged_gzip(write):
    data = bytearray(gzip.compress(LINE * 1000))
    data[-8:-4] = b"\0\0\0\0"  # the checksum
    with pytest.raises(ValueError, match=r"file\.txt: damaged gzip stream"):
        read_letor(write(bytes(data)))


def test_damaged_deflate_data(write):
    with pytest.raises(ValueError, match="damaged gzip stream"):
        read_letor(write(gzip.compress(b"")[:10] + b"\xff" * 50))


def test_gzip_of_several_members(write):
    assert len(read_letor(write(gzip.compress(LINE) + gzip.compress(LINE))).labels) == 2


def test_a_gzip_bomb_stops_at_the_limit(write):
    path = write(gzip.compress(LINE * 500_000))
    assert path.stat().st_size < 50_000
    with pytest.raises(ValueError, match="more than max_bytes=1000000 bytes of text; raise max_bytes"):
        read_letor(path, max_bytes=1_000_000)


def test_the_limit_holds_for_plain_files(write):
    with pytest.raises(ValueError, match="more than max_bytes=40"):
        read_letor(write(LINE * 3), max_bytes=40)


def test_a_file_of_exactly_the_limit_is_read(write):
    assert len(read_letor(write(LINE * 3), max_bytes=len(LINE) * 3).labels) == 3


def test_a_line_without_end(write, monkeypatch):
    monkeypatch.setattr(_text, "_LINE_BYTES", 1000)
    with pytest.raises(ValueError, match="line 2: longer than 1000 bytes"):
        list(read_chunks(write(LINE + b"1" * 5000), size=100))


def test_a_compressed_picture_is_not_text(write):
    with pytest.raises(ValueError, match=r"line 1: control byte 0x1a"):
        read_qrels(write(b"\x89PNG\r\x1a\n\x00\x00"))


def test_invalid_utf8_names_its_line(write):
    with pytest.raises(ValueError, match="line 3: byte 0xff is not valid UTF-8"):
        read_qrels(write(b"1 0 caf\xc3\xa9 1\n\n1 0 \xff 0\n"))


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_chunks_hold_whole_lines(write, size):
    lines = [b"first", b"", b"second and longer", b"last"]
    chunks = list(read_chunks(write(b"\n".join(lines)), size=size))
    assert b"".join(chunk.text for chunk in chunks) == b"\n".join(lines) + b"\n"
    assert all(chunk.text.endswith(b"\n") for chunk in chunks)
    for chunk in chunks:
        assert chunk.text.split(b"\n")[0] == lines[chunk.first_line - 1]
