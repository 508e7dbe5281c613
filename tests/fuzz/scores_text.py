"""Fuzz `gainwise.data.read_scores` with text: CSV, TSV and columns separated by blanks."""

from __future__ import annotations

import gzip
from pathlib import Path

from gainwise.data import read_scores

from .oracle import attempt

SEEDS = (
    b"first,second\n0.5,1.5\n0.25,2\n",
    b'\xef\xbb\xbf"id", second\r\n"a, b",1\r\n"c\nd",-inf\r\n\r\n',
    b"second\tother\n1e400\t2\n",
    b"1\n2\n-3e-7",
    gzip.compress(b"1\n2\n", mtime=0),
)
TOKENS = (b'"', b'""', b",", b"\t", b"second", b"nan", b"-inf", b"1_0", b"\r", b"\xc2\xa0", b"\xd9\xa1", b"\x1f\x8b")


def check(content: bytes, folder: Path) -> None:
    """Read with every suffix, with and without a column."""
    for suffix in (".csv", ".tsv", ".txt"):
        path = folder / f"scores{suffix}"
        path.write_bytes(content)
        for column in (None, "second"):
            attempt(lambda: read_scores(path, column=column), path, lines=True)  # noqa: B023
