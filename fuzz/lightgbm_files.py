"""Fuzz `gainsay.data.read_lightgbm`: data, group sizes and weights. A byte 0xff separates them."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

from gainsay.data import letor, read_lightgbm, svmlight

from .letor import LIMIT, plain
from .oracle import attempt, same

SEEDS = (
    b"2 1:0.5 3:1\n0 2:0.25\n1 1:3\n\xff2\n1\n",
    b"1,2,na\n0,,-1.5\n\xff2\n\xff1\n0.5\n",
    b"1\t2\tnan\n0\t1e3\t\n\xff1\n1\n\xff0.25\n1e-3\n",
    b"label,a\r\n1,2\r\n\xff1\r\n",
)
TOKENS = (b"\xff", b"\t", b" 1:", b"\r\n", *b", na nan inf 1e400 qid:1 999999999999999999 -1".split())


def check(content: bytes, folder: Path) -> None:
    """Read with and without header, by both parsers: the same data or the same message."""
    path, query, weight = folder / "rank", folder / "rank.query", folder / "rank.weight"
    data, _, beside = content.partition(b"\xff")
    sizes, parted, weights = beside.partition(b"\xff")
    path.write_bytes(data)
    query.write_bytes(sizes)
    weight.unlink(missing_ok=True)
    if parted:
        weight.write_bytes(weights)
    for header in (False, True):
        found = _read(path, query, weight, header)
        with (
            patch.object(svmlight, "_parse_chunk", return_value=None),
            patch.object(letor, "_parse_chunk", return_value=None),
        ):
            same(found, _read(path, query, weight, header), "whole arrays of tokens against one line at a time")


def _read(path: Path, query: Path, weight: Path, header: bool) -> object:
    found = attempt(lambda: read_lightgbm(path, header=header, max_bytes=LIMIT), query, weight, path, lines=not header)
    return found if isinstance(found, str) else plain(found)
