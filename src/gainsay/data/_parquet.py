"""Parquet files whose own word on their size is checked before any of it is decoded."""

from __future__ import annotations

import importlib
import os
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ._text import MAX_BYTES, StrPath, one_line

if TYPE_CHECKING:
    import pandas as pd


def read_column(path: StrPath, choose: Callable[[list[str]], str], max_bytes: int) -> NDArray[Any]:
    """Return the values of one numeric column; `choose` takes the names of all and returns its name."""
    arrow, parquet = _modules()
    with open(path, "rb") as stream:
        file = _attempt(path, lambda: parquet.ParquetFile(stream))
        name = choose(_attempt(path, lambda: list(file.schema_arrow.names)))
        kind = _attempt(path, lambda: file.schema_arrow.field(name).type)
        if not (arrow.types.is_integer(kind) or arrow.types.is_floating(kind)):
            raise ValueError(f"{os.fspath(path)}: expected numbers, found values of type {one_line(kind)}")
        _attempt(path, lambda: check_size(file.metadata, max_bytes, one_column=True))
        values: NDArray[Any] = _attempt(path, lambda: file.read(columns=[name]).column(name).to_numpy())
        return values


def read_frame(path: StrPath, max_bytes: int = MAX_BYTES) -> pd.DataFrame:
    """Return all columns; those of text are categorical, so that one long text is not copied to every row."""
    _, parquet = _modules()
    with open(path, "rb") as stream:
        first = _attempt(path, lambda: parquet.ParquetFile(stream))
        _attempt(path, lambda: check_size(first.metadata, max_bytes))
        times = Counter(_attempt(path, lambda: list(first.schema_arrow.names)))
        twice = next((name for name, count in times.items() if count > 1), None)
        if twice is not None:  # which old versions of pyarrow do not read
            raise ValueError(f"{os.fspath(path)} has two columns {twice!r}: rename one of them")
        texts = _attempt(path, lambda: [one.path for one in first.schema if one.physical_type == "BYTE_ARRAY"])
        file = _attempt(path, lambda: parquet.ParquetFile(stream, read_dictionary=texts))
        frame: pd.DataFrame = _attempt(path, lambda: file.read().to_pandas())
        return frame


def _modules() -> tuple[Any, Any]:
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ImportError("reading .parquet needs pyarrow: pip install 'gainsay-ltr[parquet]'") from None


def _attempt(path: StrPath, read: Callable[[], Any]) -> Any:
    """Return what `read` returns; whatever it raises becomes one ValueError that names the file."""
    try:
        return read()
    except Exception as error:  # pyarrow raises errors of many kinds, OSError among them
        raise ValueError(f"{os.fspath(path)}: no parquet file, or a damaged one ({one_line(error)})") from None


def check_size(metadata: Any, max_bytes: int, *, one_column: bool = False) -> None:
    """Raise where the values of all columns, or of one of numbers, would take more than the limit.

    Nothing finer is asked than the groups of rows: what Arrow finds wrong with a column while it looks at its metadata
    ends the process.
    """
    size = 8 * metadata.num_rows * (1 if one_column else metadata.num_columns)
    if not one_column:
        size = max(size, sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups)))
    if size > max_bytes:
        raise ValueError(f"{size} bytes of values, more than max_bytes={max_bytes}; raise max_bytes if that is meant")
