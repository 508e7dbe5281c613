"""Columns of plain text through pyarrow, where it is installed: what the readers of lines return, many times sooner.

Nothing here words an error or decides what a file may hold. A text is taken where every row of it is certain to mean
the same to both; for all else, and for whatever Arrow refuses, the answer is None, and the readers of lines have to
look.
"""

from __future__ import annotations

import csv
import importlib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ._text import BOM, StrPath, read_chunks

Kind: TypeAlias = Literal["category", "text", "number"]

# Arrow gets blocks of about this size: enough to make its calls cheap, little enough to hold beside the columns.
_BLOCK_BYTES = 32 * 2**20
# A first row of more cells is no table of ids and scores; Arrow would prepare for each of them.
MOST_CELLS = 64
_TO_BLANKS = bytes.maketrans(b"\t\r", b"  ")
_FIRST_ROW = re.compile(rb"\n*([^\n]+)")


class _NotPlain(Exception):  # noqa: N818 - no error: it says which reader has to look
    """The text may mean something else to Arrow than to the readers of lines."""


def blank_separated(path: StrPath, max_bytes: int, kinds: Mapping[int, Kind], least: int, most: int | None) -> Any:
    """Return columns of a file whose cells are separated by blanks, as `bytes.split` separates them; or None.

    `kinds` says what the columns hold, by their place in a row; the table has one column for each, rows in file order.
    A row may have from `least` to `most` cells.
    """
    texts = (_single_blanks(chunk.text) for chunk in read_chunks(path, max_bytes=max_bytes))
    return _table(texts, " ", kinds, least, min(most or MOST_CELLS, MOST_CELLS))


def numbers_of(
    path: StrPath, max_bytes: int, separator: str | None, cells: int, place: int, header: bool
) -> NDArray[np.float64] | None:
    """Return the column of numbers at `place` of a text file whose rows have so many cells, or None.

    `separator` None stands for any blanks; with `header` the first line is names, no numbers.
    """
    table = _table(_rows(path, max_bytes, separator, header), separator or " ", {place: "number"}, cells, cells)
    return None if table is None else table.column(0).to_numpy().copy()  # Arrow's memory is not to be written to


def _table(texts: Iterable[bytes], separator: str, kinds: Mapping[int, Kind], least: int, most: int) -> Any:
    """Return the columns of a text that comes in parts of whole lines; None where it is not plain."""
    try:
        arrow, reader = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.csv")
    except ImportError:
        return None
    types = {"category": arrow.dictionary(arrow.int32(), arrow.string()), "text": arrow.string()}
    names = {str(place): types.get(kind, arrow.float64()) for place, kind in kinds.items()}
    # Plain bytes between separators: no quotes, no escapes, and no text that stands for a missing value.
    parsing = reader.ParseOptions(delimiter=separator, quote_char=False, double_quote=False, escape_char=False)
    converting = reader.ConvertOptions(
        column_types=names, include_columns=list(names), null_values=[], strings_can_be_null=False, check_utf8=False
    )
    tables, reading = [], None
    try:
        for block in _blocks(texts):
            if block.startswith(BOM):  # Arrow would take it away
                return None
            reading = reading or _reading(reader, block, separator, least, most)
            tables.append(reader.read_csv(arrow.BufferReader(block), reading, parsing, converting))
        return arrow.concat_tables(tables).unify_dictionaries() if tables else None
    except (_NotPlain, ValueError, arrow.ArrowException):
        return None


def _blocks(texts: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the text in larger parts, none of them without rows."""
    parts: list[bytes] = []
    size = 0
    for text in texts:
        parts.append(text)
        size += len(text)
        if size >= _BLOCK_BYTES:
            yield b"".join(parts)
            parts, size = [], 0
    rest = b"".join(parts)
    if rest and not rest.isspace():
        yield rest


def _reading(reader: Any, block: bytes, separator: str, least: int, most: int) -> Any:
    """Return how to read rows that have as many cells as the first; Arrow refuses those that have not."""
    first = _FIRST_ROW.match(block)
    cells = first[1].count(separator.encode()) + 1 if first else 0
    if not least <= cells <= most:
        raise _NotPlain
    # One thread: parsing is quick, and what runs beside us (trainings, other processes' pools) keeps its cores.
    return reader.ReadOptions(column_names=[str(place) for place in range(cells)], use_threads=False)


def _single_blanks(text: bytes) -> bytes:
    """Return lines with one blank between cells and none around them; there may be empty lines."""
    blank = np.frombuffer(text, dtype=np.uint8) <= ord(" ")
    if blank[0] or (blank[1:] & blank[:-1]).any():
        text = text.translate(_TO_BLANKS)
        while b"  " in text:
            text = text.replace(b"  ", b" ")
        return text.replace(b" \n", b"\n").replace(b"\n ", b"\n").removeprefix(b" ")
    return text.translate(_TO_BLANKS) if b"\t" in text or b"\r" in text else text


def _rows(path: StrPath, max_bytes: int, separator: str | None, header: bool) -> Iterator[bytes]:
    """Yield the lines of a table without its header; empty ones stand at the end only."""
    ended = False
    for chunk in read_chunks(path, max_bytes=max_bytes, cells=separator is not None):
        text = _unquoted(chunk.text) if separator else _single_blanks(_ascii(chunk.text))
        ends = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == ord("\n"))
        lengths = np.diff(ends, prepend=-1) - 1
        empty = lengths == 0
        if (ended and not empty.all()) or (empty[:-1] & ~empty[1:]).any() or lengths.max() > csv.field_size_limit():
            raise _NotPlain
        ended = bool(empty[-1])
        yield text[ends[0] + 1 :] if header and chunk.first_line == 1 else text


def _ascii(text: bytes) -> bytes:
    """Return a text in which all blanks are of one byte."""
    if not text.isascii():
        raise _NotPlain
    return text


def _unquoted(text: bytes) -> bytes:
    """Return lines in which the separator does nothing but separate."""
    if b"\r" in text:
        text = text.replace(b"\r\n", b"\n")
    if b'"' in text or b"\r" in text:
        raise _NotPlain
    return text
