"""Fuzz `gainwise.data.read_lightgbm`: data, group sizes and weights. A byte 0xff separates them."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

from gainwise.data import letor, read_lightgbm

from .letor import to_values
from .oracle import assert_equal, attempt

SEEDS = (
    b"2 1:0.5 3:1\n0 2:0.25\n1 1:3\n\xff2\n1\n",
    b"1 2:nan\r\n0 1:1e3\r\n\xff1\n1\n\xff0.25\n1e-3\n",
)
TOKENS = (b"\xff", b"\t", b" 1:", b"\r\n", *b", nan inf 1e400 qid:1 999999999999999999 -1".split())


def check(content: bytes, folder: Path) -> None:
    """Read by both parsers: the same data or the same message."""
    path, query, weight = folder / "rank", folder / "rank.query", folder / "rank.weight"
    data, _, rest = content.partition(b"\xff")
    sizes, has_weights, weights = rest.partition(b"\xff")
    path.write_bytes(data)
    query.write_bytes(sizes)
    weight.unlink(missing_ok=True)
    if has_weights:
        weight.write_bytes(weights)
    result = _read(path, query, weight)
    with patch.object(letor, "_parse_chunk", return_value=None):
        assert_equal(result, _read(path, query, weight), "both parsers")


def _read(path: Path, query: Path, weight: Path) -> object:
    result = attempt(lambda: read_lightgbm(path), query, weight, path, lines=True)
    return result if isinstance(result, str) else to_values(result)
