"""Fuzz `gainwise.data.read_run` and `write_run`. A written run has the same content when it is read."""

from __future__ import annotations

import gzip
from pathlib import Path

from gainwise.data import read_run, write_run

from .oracle import assert_equal, attempt

SEEDS = (
    b"301 Q0 FR94-1 1 2.5 STANDARD\n301 Q0 FR94-2 2 1.5 STANDARD\n302 Q0 FR94-1 1 -inf STANDARD\n",
    b"\xef\xbb\xbf1\tQ0\tNA\t0\t1e308\ttag and more\r\n\r\n1 Q0 caf\xc3\xa9 0 .5 t",
    gzip.compress(b"1 Q0 d 1 0.5 t\n", mtime=0),
)
TOKENS = (b" Q0 ", b"nan", b"inf", b"-1e999", b"\xc2\xa0", b"\xe2\x80\xa8", b"\x1f\x8b", b"\r\n", b"NA", b"None")


def check(content: bytes, folder: Path) -> None:
    """Read, write and read again: return the same documents and scores."""
    path = folder / "run.txt"
    path.write_bytes(content)
    run = attempt(lambda: read_run(path), path, lines=True)
    if isinstance(run, str):
        return
    write_run(run, path)
    written = read_run(path)
    keys = ["query", "document"]
    assert_equal(
        run.sort_values(keys).to_dict("list"),
        written.sort_values(keys).to_dict("list"),
        "a run and its written copy",
    )
