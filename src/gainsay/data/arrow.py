"""Columns of text files and Parquet files, read by pyarrow.

The text reader accepts a file only if pyarrow and the readers of lines agree on it. In all other cases it returns None,
and the readers of lines read the file or word the error.
"""

from __future__ import annotations

import importlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from .text import BOM, MAX_BYTES, StrPath, describe_damage

if TYPE_CHECKING:
    import pandas as pd

Kind: TypeAlias = Literal["category", "text", "number"]

# Large blocks make calls of Arrow cheap.
BLOCK_BYTES = 16 * 2**20
# Arrow prepares a column for every cell of the first row, and no table of ids and scores has more cells.
MAX_CELLS = 64


class NotPlainError(Exception):
    """The text may mean something else to Arrow than to the readers of lines."""


def parse_columns(
    texts: Iterable[bytes], separator: str, kinds: Mapping[int, Kind], min_cells: int, max_cells: int
) -> Any:
    """Return columns of a text as a table of Arrow, or None if another reader has to look at it.

    Parameters
    ----------
    texts
        Parts of the text, each of whole lines.
    separator
        Separates the cells of a row. Quotes have no meaning.
    kinds
        The type of each column to return, by its position in a row.
    min_cells, max_cells
        Limits on the number of cells in a row.
    """
    try:
        arrow, reader = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.csv")
    except ImportError:
        return None
    types = {"category": arrow.dictionary(arrow.int32(), arrow.string()), "text": arrow.string()}
    names = {str(position): types.get(kind, arrow.float64()) for position, kind in kinds.items()}
    parsing = reader.ParseOptions(delimiter=separator, quote_char=False, double_quote=False, escape_char=False)
    converting = reader.ConvertOptions(
        column_types=names, include_columns=list(names), null_values=[], strings_can_be_null=False, check_utf8=False
    )
    tables, reading = [], None
    try:
        for text in _join_blocks(texts):
            if text.startswith(BOM):  # Arrow would remove it.
                return None
            if not text or text.isspace():
                continue
            if reading is None:
                start = len(text) - len(text.lstrip(b"\n"))
                cells = text.count(separator.encode(), start, text.index(b"\n", start)) + 1
                if not min_cells <= cells <= min(max_cells, MAX_CELLS):
                    return None
                # One thread is fast enough and leaves the other processors to trainings that run at the same time.
                reading = reader.ReadOptions(column_names=[str(column) for column in range(cells)], use_threads=False)
            tables.append(reader.read_csv(arrow.BufferReader(text), reading, parsing, converting))
        return arrow.concat_tables(tables).unify_dictionaries() if tables else None
    except (NotPlainError, ValueError, arrow.ArrowException):
        return None


def _join_blocks(texts: Iterable[bytes]) -> Iterator[bytes]:
    parts, size = [], 0
    for text in texts:
        parts.append(text)
        size += len(text)
        if size >= BLOCK_BYTES:
            yield b"".join(parts)
            parts, size = [], 0
    yield b"".join(parts)


_TABS_AND_RETURNS_TO_BLANKS = bytes.maketrans(b"\t\r", b"  ")


def collapse_blanks(text: bytes) -> bytes:
    """Return lines with one blank between cells and none around them."""
    blank = np.frombuffer(text, dtype=np.uint8) <= ord(" ")
    if blank[0] or (blank[1:] & blank[:-1]).any():
        text = text.translate(_TABS_AND_RETURNS_TO_BLANKS)
        while b"  " in text:
            text = text.replace(b"  ", b" ")
        return text.replace(b" \n", b"\n").replace(b"\n ", b"\n").removeprefix(b" ")
    return text.translate(_TABS_AND_RETURNS_TO_BLANKS) if b"\t" in text or b"\r" in text else text


def read_parquet(
    path: StrPath, select: Callable[[list[str]], str] | None = None, max_bytes: int = MAX_BYTES
) -> pd.DataFrame:
    """Return the columns of a Parquet file, or the one that `select` chooses from their names.

    Text becomes categorical, so that long texts are not copied to each row.
    """
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ImportError("Reading .parquet requires pyarrow. Run pip install 'gainsay-ltr[parquet]'.") from None
    expected = "no parquet file, or a damaged one"
    with open(path, "rb") as stream:
        with describe_damage(path, expected):
            file = parquet.ParquetFile(stream)
            metadata, names = file.metadata, file.schema_arrow.names
            # Arrow ends the process on some damaged metadata of columns, so only row groups are read here.
            groups = (metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
            size = max(8 * metadata.num_rows * len(names), sum(groups))
        duplicate = next((name for name, number in Counter(names).items() if number > 1), None)
        if duplicate is not None:  # Old versions of pyarrow do not read such files.
            raise ValueError(f"{os.fspath(path)} has two columns {duplicate!r}. Rename one of them.")
        columns = None if select is None else [select(names)]
        if columns is not None:
            size = 8 * metadata.num_rows
        if size > max_bytes:  # before Arrow decodes any value
            raise ValueError(f"{os.fspath(path)}: {size} bytes of values exceed max_bytes={max_bytes}")
        with describe_damage(path, expected):
            texts = [column.path for column in file.schema if column.physical_type == "BYTE_ARRAY"]
            table = parquet.ParquetFile(stream, read_dictionary=texts).read(columns=columns)
            # The metadata of pandas would make a selected column the index.
            frame: pd.DataFrame = table.to_pandas(ignore_metadata=columns is not None)
        return frame
