"""Fuzz the table of judgments and scores of the command line, as CSV and TSV."""

from __future__ import annotations

import gzip
from pathlib import Path

from gainwise.cli.inputs import InputOptions, load_table

from .oracle import attempt

SEEDS = (
    b"query,label,a,b\nq1,1,0.5,1\nq1,0,0.25,2\nq2,2,-1e3,\n",
    b'\xef\xbb\xbflabel\tquery\ta\r\n1\t"a\tb"\t2\r\n\r\n0\t1\t2\r\n',
    b"label,query\n1,2,3\n4\n",
    gzip.compress(b"query,label,a\n1,1,1\n", mtime=0),
)
TOKENS = (b",", b"\t", b"\r", *b'query label " nan inf -1 99999999999999999999 NA True 0x1'.split())


def check(content: bytes, folder: Path) -> None:
    """Read CSV and TSV. Errors name rows instead of lines, because a quoted cell may contain line breaks."""
    for suffix in (".csv", ".tsv"):
        path = folder / f"table{suffix}"
        path.write_bytes(content)
        attempt(lambda: load_table(InputOptions(table=path, scores=[]), []), path, lines=False)  # noqa: B023
