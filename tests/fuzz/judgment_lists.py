"""Fuzz `gainwise.data.read_qrels` and `read_run` with tables that have a header."""

from __future__ import annotations

import gzip
import math
import warnings
from pathlib import Path

from gainwise.data import read_qrels, read_run

from .oracle import ViolationError, attempt

SEEDS = (
    b'query,docid,rating\nstar wars,11,3\n"6"" pipe, steel",802,0\n',
    b"\xef\xbb\xbfQuery ID;Query Text;Doc ID;Rating;Title\r\n1;shoes;a;2;Boots\r\n1;shoes;b;;\r\n",
    b"query-id\tcorpus-id\tscore\n1\td1\t1\n",
    b"qid,docno,score,rank\n1,a,2.5,0\n1,b,-1e3,1\n",
    b"1\t0\td\t1\n",
    gzip.compress(b"qid,docno,label\n1,a,1\n", mtime=0),
)
TOKENS = (b'"', b'""', b",", b";", b"\t", b"\r\n", b"\r", b"nan", b"inf", b"rating", b"query", b"\xc2\xa0", b"\x1f\x8b")


def check(content: bytes, folder: Path) -> None:
    """Read tables: numbers are valid, ids are not empty, and a document occurs once per query."""
    for suffix in (".csv", ".tsv"):
        path = folder / f"list{suffix}"
        path.write_bytes(content)
        for read, column in ((read_qrels, "label"), (read_run, "score")):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                table = attempt(lambda read=read, path=path: read(path), path, lines=True)
            if isinstance(table, str):
                continue
            numbers = table[column]
            invalid = numbers.isna().any() or (column == "label" and not all(map(math.isfinite, numbers)))
            ids = table[["query", "document"]]
            if invalid or (ids == "").any(axis=None) or ids.duplicated().any():
                raise ViolationError(f"returned {table!r}")
