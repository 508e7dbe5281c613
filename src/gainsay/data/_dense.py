"""Rows of a label and its features in columns, separated by commas or tabs: LightGBM's other text format."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ._rows import Layout, Rows, Table, TableBuilder
from ._svmlight import parse_label, parse_value
from ._text import Chunk, StrPath, at_line, exact_floats, numbered_lines, shown

_MISSING = (b"", b"na")
# As in LightGBM, "na" of either case is missing; so is the number nan.
_MISSING_CELLS = ["", *map("".join, product("nN", "aA")), *map("".join, product("nN", "aA", "nN"))]
_OF_NUMBERS = b"0123456789+-.einfatyEINFATY\n"
_NO_QUERIES = np.zeros(0, dtype=np.int64)


def read_columns(
    path: StrPath, chunks: Iterable[Chunk], separator: bytes, layout: Layout, max_bytes: int, *, header: bool
) -> Table:
    """Read all rows of the chunks of one file; `header` says that its first line names the columns."""
    builder = TableBuilder(layout, max_bytes)
    builder.begin(path)
    width = layout.features
    for chunk in chunks:
        rest = Chunk(chunk.text.partition(b"\n")[2], 2) if header and chunk.first_line == 1 else chunk
        rows = _parse_chunk(rest, separator, layout, width) or _parse_lines(path, rest, separator, layout, width)
        if rows.labels.size:
            width = rows.features.shape[1]
            builder.reserve(rows.labels.size, width)
        builder.add(rows)
    builder.end()
    return builder.build()


def _parse_chunk(chunk: Chunk, separator: bytes, layout: Layout, width: int | None) -> Rows | None:
    """Parse a chunk; None where a line is malformed or merely unusual (blanks, empty lines)."""
    text = chunk.text.replace(b"\r\n", b"\n")
    # pandas takes `True` for 1: nothing that holds another character than numbers do gets that far.
    if not text or b"\n\n" in text or text.startswith(b"\n") or text.translate(None, _OF_NUMBERS + separator):
        return None
    # pandas fills short rows up in silence.
    buffer = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero((buffer == ord(separator)) | (buffer == ord("\n")))
    line_ends = np.flatnonzero(buffer[ends] == ord("\n"))
    fields = int(line_ends[0]) + 1
    if not (np.diff(line_ends, prepend=-1) == fields).all() or (width is not None and fields != width + 1):
        return None
    table = _parse_table(text, separator)
    if table is None:
        return None
    with np.errstate(over="ignore"):
        features = table[:, 1:].astype(layout.dtype)
    if not np.isfinite(table[:, 0]).all() or np.isinf(features).any():
        return None
    return Rows(table[:, 0].copy(), features, [], _NO_QUERIES, _NO_QUERIES, None)


def _parse_table(text: bytes, separator: bytes) -> NDArray[np.float64] | None:
    """Return the cells as numbers, bit for bit those of `float`; None where pandas takes one for something else."""
    import pandas as pd

    try:
        with np.errstate(over="ignore"):
            frame = pd.read_csv(
                io.BytesIO(text),
                sep=separator.decode(),
                header=None,
                dtype=np.float64,
                engine="c",
                quoting=csv.QUOTE_NONE,
                skip_blank_lines=False,
                keep_default_na=False,
                na_values=_MISSING_CELLS,
                **exact_floats(pd.__version__),
            )
    except ValueError:
        return None
    table: NDArray[np.float64] = frame.to_numpy()
    return table


def _parse_lines(path: StrPath, chunk: Chunk, separator: bytes, layout: Layout, width: int | None) -> Rows:
    """Parse a chunk line by line; raise ValueError for the first line that is malformed."""
    labels: list[float] = []
    table: list[list[float]] = []
    for number, line in numbered_lines(chunk) if chunk.text else ():
        if not line.strip(b" \r"):
            continue
        fields = [field.strip(b" \r") for field in line.split(separator)]
        try:
            labels.append(parse_label(fields[0], layout))
            values = [float("nan") if field.lower() in _MISSING else parse_value(field, layout) for field in fields[1:]]
        except ValueError as error:
            hint = "; pass header=True where the first line names the columns" if number == 1 else ""
            raise at_line(path, number, f"{error}{hint}") from None
        if width is not None and len(values) != width:
            cause = "features= says" if layout.features else "the lines before have"
            raise at_line(path, number, f"{len(values)} features, but {cause} {width}: {shown(line)}")
        width = len(values)
        table.append(values)
    features = np.array(table, dtype=layout.dtype).reshape(len(labels), width or 0)
    return Rows(np.array(labels, dtype=np.float64), features, [], _NO_QUERIES, _NO_QUERIES, None)
