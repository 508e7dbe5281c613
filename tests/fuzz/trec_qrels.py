"""Fuzz `gainwise.data.read_qrels`."""

from __future__ import annotations

import gzip
import math
from pathlib import Path

from gainwise.data import read_qrels

from .oracle import ViolationError, attempt

SEEDS = (
    b"301 0 FR94-1 1\n301 0 FR94-2 0\n302 0 FR94-1 -2\n",
    b"\xef\xbb\xbf1\t0\tNA\t1e3\r\n\n1 0 caf\xc3\xa9 .5",
    gzip.compress(b"1 0 d 1\n", mtime=0),
)
TOKENS = (b" 0 ", b"nan", b"inf", b"1e999", b"\xc2\xa0", b"\x1f\x8b", b"\r\n", b"NA", b"1_0")


def check(content: bytes, folder: Path) -> None:
    """Read qrels: grades are finite, and a document occurs once per query."""
    path = folder / "qrels.txt"
    path.write_bytes(content)
    table = attempt(lambda: read_qrels(path), path, lines=True)
    if isinstance(table, str):
        return
    if not all(map(math.isfinite, table["label"])) or table.duplicated(["query", "document"]).any():
        raise ViolationError(f"returned {table!r}")
