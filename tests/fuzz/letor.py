"""Fuzz `gainwise.data.read_letor`: SVMlight lines with query ids, plain and compressed."""

from __future__ import annotations

import gzip
from pathlib import Path
from unittest.mock import patch

from gainwise.data import RankingData, letor, read_letor

from .oracle import assert_equal, attempt

SEEDS = (
    b"2 qid:7 1:0.5 3:1 # docid = A\n0 qid:7 2:0.2 # docid = B\n1 qid:8 1:3 # docid = C\n",
    b"\xef\xbb\xbf0.5 qid:caf\xc3\xa9 1:-1e3 2:nan\r\n\r\n# comment\n-1 qid:b 1:+.5\t9:1.\n",
    b"1 qid:1 1:12345678901234567890 2:0.1234567890123456789 3:1e308\n1 qid:1",
    b"1 qid:1 999999999:1\n",
    b"1 qid:" + b"x" * 90 + b" 1:1\n0 qid:y 1:1\n",
    gzip.compress(b"1 qid:1 1:0.5 2:1\n0 qid:1 1:2\n", mtime=0),
)
TOKENS = (b" 1:", b"# docid = ", b"\n", b"\r\n", b"\xc2\xa0", b"\x1f\x8b", *b"qid: nan inf 1e400 0x1 _".split())


def check(content: bytes, folder: Path) -> None:
    """Read the plain and the compressed file with both parsers: return the same data, or raise the same message."""
    path = folder / "data.txt"
    path.write_bytes(content)
    result = _read(path)
    with patch.object(letor, "_parse_chunk", return_value=None):
        assert_equal(result, _read(path), "both parsers")
    if not content.startswith(b"\x1f\x8b"):
        path.write_bytes(gzip.compress(content, 1, mtime=0))
        assert_equal(result, _read(path), "plain and compressed")


def _read(path: Path) -> object:
    result = attempt(lambda: read_letor(path), path, lines=True)
    return result if isinstance(result, str) else to_values(result)


def to_values(data: RankingData) -> object:
    """Return data as values that compare by content, including NaN."""
    features = (data.features.shape, data.features.tobytes())
    weight = None if data.weight is None else data.weight.tolist()
    return features, data.labels.tobytes(), data.qid.tolist(), data.query_ids.tolist(), data.document_ids, weight
