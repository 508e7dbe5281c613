"""Rows of a label and its features in columns, separated by commas or tabs: LightGBM's other text format."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ._numbers import PADDING, padded, parse_numbers
from ._rows import Layout, Rows, Table, TableBuilder
from ._svmlight import parse_label, parse_value
from ._text import Chunk, StrPath, at_line, numbered_lines, shown

_MISSING = (b"", b"na")
_NO_QUERIES = np.zeros(0, dtype=np.int64)


def read_columns(
    path: StrPath, chunks: Iterable[Chunk], separator: bytes, layout: Layout, max_bytes: int, *, header: bool
) -> Table:
    """Read all rows of the chunks of one file; `header` says that its first line names the columns."""
    builder = TableBuilder(path, layout, max_bytes)
    width = layout.features
    for chunk in chunks:
        rest = Chunk(chunk.text.partition(b"\n")[2], 2) if header and chunk.first_line == 1 else chunk
        rows = _parse_chunk(rest, separator, layout, width) or _parse_lines(path, rest, separator, layout, width)
        if rows.labels.size:
            width = rows.features.shape[1]
            builder.reserve(rows.labels.size, width)
        builder.add(rows)
    return builder.build()


def _parse_chunk(chunk: Chunk, separator: bytes, layout: Layout, width: int | None) -> Rows | None:
    """Parse a chunk; None where a line is malformed or merely unusual (blanks, empty lines)."""
    text = chunk.text.replace(b"\r\n", b"\n")
    if not text or b"\n\n" in text or text.startswith(b"\n") or b" " in text or b"\r" in text:
        return None
    buffer = padded(text)
    ends = np.flatnonzero((buffer == ord(separator)) | (buffer == ord("\n")))
    line_ends = np.flatnonzero(buffer[ends] == ord("\n"))
    fields = int(line_ends[0]) + 1
    if not (np.diff(line_ends, prepend=-1) == fields).all() or (width is not None and fields != width + 1):
        return None
    starts = np.concatenate(([PADDING], ends[:-1] + 1))
    values = np.full(ends.size, np.nan)
    # As in LightGBM, "na" of either case is missing; bit 5 of a letter is its case.
    is_na = (ends - starts == 2) & (buffer[starts] | 32 == ord("n")) & (buffer[starts + 1] | 32 == ord("a"))
    filled = (ends > starts) & ~is_na
    numbers = parse_numbers(buffer, starts[filled], ends[filled])
    if numbers is None:
        return None
    values[filled] = numbers
    table = values.reshape(-1, fields)
    with np.errstate(over="ignore"):
        features = table[:, 1:].astype(layout.dtype)
    if not np.isfinite(table[:, 0]).all() or np.isinf(features).any():
        return None
    return Rows(table[:, 0].copy(), features, [], _NO_QUERIES, _NO_QUERIES, None)


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
