"""Fuzz `gainwise.data.read_scores` and the tables of the command line with Parquet files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pandas as pd

from gainwise.data import read_scores
from gainwise.data.tables import read_table

from .oracle import attempt


def _parquet(compression: Any = "snappy", **columns: Any) -> bytes:
    buffer = io.BytesIO()
    pd.DataFrame(columns).to_parquet(buffer, engine="pyarrow", compression=compression, index=False)
    return buffer.getvalue()


SEEDS = (
    _parquet(a=[0.5, 1.5]),
    _parquet(None, a=[1, 2], b=[0.5, None]),
    _parquet("zstd", query=["x", "x"], label=[0, 1], a=[0.5, 0.25]),
    b"PAR1PAR1",
)
TOKENS = (b"PAR1", b"ARROW:schema", b"pandas", b"\xff\xff\xff\x7f", b"\xff\xff\xff\xff\x0f", b"schema")


def check(content: bytes, folder: Path) -> None:
    """Read one column and all columns."""
    path = folder / "scores.parquet"
    path.write_bytes(content)
    for column in (None, "a"):
        attempt(lambda: read_scores(path, column=column), path, lines=False)  # noqa: B023
    attempt(lambda: read_table(path), path, lines=False)
