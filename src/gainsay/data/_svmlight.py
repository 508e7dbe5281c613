"""Rows of `label [qid:query] index:value …  # comment`, the format of SVMlight and LETOR.

Two parsers read the same lines. `_parse_chunk` works on whole arrays of tokens and gives up (returns None) on anything
that is not plainly right. `_parse_lines` reads one line at a time: it decides what is valid and says what is wrong. A
chunk goes to it only when the first one gave up, so a well-formed file never pays for the messages.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._numbers import INDEX_DIGITS, PADDING, Bytes, Positions, padded, parse_indices, parse_numbers, to_number
from ._rows import Floats, Layout, Rows, Table, TableBuilder
from ._text import Chunk, StrPath, at_line, numbered_lines, shown

_NONE = np.zeros(0, dtype=np.int64)
_DOCUMENT = re.compile(rb"\bdocid\s*=\s*(\S+)")


def read_files(
    files: Sequence[tuple[StrPath, Iterable[Chunk]]], layout: Layout, max_bytes: int, shared_ids: str = "refuse"
) -> Table:
    """Read all rows of several files, each with its chunks, into one table."""
    builder = TableBuilder(layout, max_bytes, shared_ids)
    for path, chunks in files:
        builder.begin(path)
        for chunk in chunks:
            builder.add(_parse_chunk(chunk, layout, builder) or _parse_lines(path, chunk, layout, builder))
        builder.end()
    return builder.build()


# ---------------------------------------------------------------------------------------------- whole arrays of tokens


class _Tokens(NamedTuple):
    starts: Positions
    ends: Positions
    first: Positions  # for every row, the number of its first token
    counts: NDArray[np.int64]  # for every row, how many tokens it has
    lines: NDArray[np.int64]  # for every row, the number of its line in the chunk, from 0


def _parse_chunk(chunk: Chunk, layout: Layout, builder: TableBuilder) -> Rows | None:
    """Parse a chunk; None where a line is malformed or merely unusual."""
    text, comments = _without_comments(chunk.text)
    buffer = padded(text)
    tokens = _tokenize(buffer)
    rows, lead = tokens.first.size, 2 if layout.queries else 1
    if rows == 0 or tokens.counts.min() < lead:
        return None
    labels = parse_numbers(buffer, tokens.starts[tokens.first], tokens.ends[tokens.first])
    queries = _parse_queries(buffer, tokens, chunk.first_line) if layout.queries else ([], _NONE, _NONE)
    if labels is None or queries is None or not np.isfinite(labels).all():
        return None
    row = np.repeat(np.arange(rows), tokens.counts - lead)
    pairs = _parse_pairs(buffer, tokens, row, layout)
    if pairs is None:
        return None
    column, value = pairs
    features = np.zeros((rows, builder.reserve(rows, int(column.max(initial=-1)) + 1)), dtype=layout.dtype)
    features[row, column] = value
    return Rows(labels, features, *queries, _document_ids(comments, tokens.lines.tolist()))


def _without_comments(text: bytes) -> tuple[bytes, list[bytes]]:
    """Split the comments off; one comment per line, empty where there is none."""
    if b"#" not in text:
        return text, []
    parts = [line.partition(b"#") for line in text[:-1].split(b"\n")]
    return b"\n".join(part[0] for part in parts) + b"\n", [part[2] for part in parts]


def _document_ids(comments: list[bytes], lines: Iterable[int]) -> list[str] | None:
    """Return the id in the comment of each of the lines; None where a line has none."""
    if not comments:
        return None
    found = [_DOCUMENT.search(comments[line]) for line in lines]
    ids = [match[1].decode() for match in found if match]
    return ids if len(ids) == len(found) else None


def _tokenize(buffer: Bytes) -> _Tokens:
    """Return the tokens of all lines that have any."""
    # All control characters but tab and line ends were refused before, so whatever is at most a blank separates.
    blank = buffer <= ord(" ")
    edges = np.flatnonzero(blank[1:] != blank[:-1]) + 1
    starts, ends = edges[0::2], edges[1::2]
    before_line_end = np.searchsorted(starts, np.flatnonzero(buffer == ord("\n")))
    counts = np.diff(before_line_end, prepend=0)
    lines = np.flatnonzero(counts)
    return _Tokens(starts, ends, (before_line_end - counts)[lines], counts[lines], lines)


def _parse_queries(
    buffer: Bytes, tokens: _Tokens, first_line: int
) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]] | None:
    """Return the ids behind `qid:` as runs of equal ones, with the lines where they begin.

    None where a second token is something else.
    """
    starts, ends = tokens.starts[tokens.first + 1], tokens.ends[tokens.first + 1]
    for place, character in enumerate(b"qid:"):
        if (buffer[starts + place] != character).any():
            return None
    starts, length = starts + 4, ends - starts - 4
    width = int(length.max())
    if length.min() < 1 or width > PADDING:
        return None
    places = np.arange(width)
    characters = np.where(places < length[:, None], buffer[starts[:, None] + places], np.uint8(0))
    if (characters == ord(":")).any():
        return None
    changes = np.flatnonzero((characters[1:] != characters[:-1]).any(axis=1)) + 1
    runs = np.concatenate(([0], changes))
    ids = [characters[run, : length[run]].tobytes().decode() for run in runs]
    return ids, np.diff(runs, append=starts.size), tokens.lines[runs] + first_line


def _parse_pairs(
    buffer: Bytes, tokens: _Tokens, row: NDArray[np.int64], layout: Layout
) -> tuple[NDArray[np.int64], Floats] | None:
    """Return column and value of all `index:value`; None where a token, or the order of a row's indices, is wrong."""
    is_pair, is_colon = np.ones(tokens.starts.size, dtype=np.bool_), buffer == ord(":")
    is_pair[tokens.first] = False
    if layout.queries:
        is_pair[tokens.first + 1] = False
        is_colon[tokens.starts[tokens.first + 1] + 3] = False
    starts, ends, colons = tokens.starts[is_pair], tokens.ends[is_pair], np.flatnonzero(is_colon)
    # As many colons as pairs, and each between the ends of its pair: so every pair has one, and nothing else has.
    if colons.size != starts.size or not ((starts < colons) & (colons + 1 < ends)).all():
        return None
    column = parse_indices(buffer, starts, colons)
    value = parse_numbers(buffer, colons + 1, ends)
    if column is None or value is None:
        return None
    column -= layout.first_index
    ascending = (column[1:] > column[:-1]) | (row[1:] != row[:-1])
    if not ascending.all() or column.min(initial=0) < 0:
        return None
    if layout.features is not None and column.max(initial=0) >= layout.features:
        return None
    with np.errstate(over="ignore"):  # a value too large for dtype turns infinite here and is refused like inf itself
        cast: Floats = value.astype(layout.dtype)
    return None if np.isinf(cast).any() else (column, cast)


# ------------------------------------------------------------------------------------------------- one line at a time


def _parse_lines(path: StrPath, chunk: Chunk, layout: Layout, builder: TableBuilder) -> Rows:
    """Parse a chunk line by line; raise ValueError for the first line that is malformed."""
    _, comments = _without_comments(chunk.text)
    labels: list[float] = []
    ids: list[str] = []
    lines: list[int] = []
    cells: list[tuple[int, int, float]] = []
    for number, line in numbered_lines(chunk):
        tokens = line.partition(b"#")[0].split()
        if not tokens:
            continue
        try:
            labels.append(parse_label(tokens[0], layout))
            if layout.queries:
                ids.append(_query(tokens))
            cells += [(len(lines), *pair) for pair in _pairs(tokens[1 + layout.queries :], layout)]
        except ValueError as error:
            raise at_line(path, number, str(error)) from None
        lines.append(number - chunk.first_line)
    width = max((column for _, column, _ in cells), default=-1) + 1
    features = np.zeros((len(labels), builder.reserve(len(labels), width)), dtype=layout.dtype)
    for row, column, value in cells:
        features[row, column] = value
    runs = np.ones(len(ids), dtype=np.int64)
    numbers = np.array(lines if ids else [], dtype=np.int64) + chunk.first_line
    return Rows(np.array(labels, dtype=np.float64), features, ids, runs, numbers, _document_ids(comments, lines))


def parse_label(token: bytes, layout: Layout) -> float:
    """Return the label, or raise ValueError with what is wrong."""
    if b":" in token:
        raise ValueError(f"no label before {shown(token)}; expected '{layout.form}'")
    try:
        label = to_number(token)
    except ValueError:
        raise ValueError(f"the label {shown(token)} is not a number; expected '{layout.form}'") from None
    if not math.isfinite(label):
        raise ValueError(f"the label {shown(token)} is not finite; every document needs a label")
    return label


def parse_value(token: bytes, layout: Layout) -> float:
    """Return a feature value (nan: missing), or raise ValueError with what is wrong."""
    try:
        value = to_number(token)
    except ValueError:
        raise ValueError(f"the feature value {shown(token)} is not a number") from None
    if math.isinf(value):
        raise ValueError(f"the feature value {shown(token)} is infinite; expected a finite number, or nan for missing")
    with np.errstate(over="ignore"):
        if np.isinf(layout.dtype.type(value)):
            raise ValueError(f"the feature value {shown(token)} does not fit {layout.dtype}; pass dtype=numpy.float64")
    return value


def _query(tokens: list[bytes]) -> str:
    """Return the id behind `qid:` in the second token of a line."""
    if len(tokens) < 2:
        raise ValueError(f"expected 'qid:query' after the label {shown(tokens[0])}, found the end of the line")
    prefix, _, name = tokens[1].partition(b":")
    if prefix != b"qid":
        raise ValueError(f"expected 'qid:query' after the label {shown(tokens[0])}, found {shown(tokens[1])}")
    if not name or b":" in name:
        raise ValueError(f"expected 'qid:query' with a query id free of colons and blanks, found {shown(tokens[1])}")
    return name.decode()


def _pairs(tokens: list[bytes], layout: Layout) -> Iterator[tuple[int, float]]:
    """Yield column and value of every `index:value` of a line."""
    last = -1
    for token in tokens:
        index, colon, number = token.partition(b":")
        if index == b"qid":
            cure = "it must stand right after the label" if layout.queries else "read the file with read_letor"
            raise ValueError(f"found {shown(token)} among the features; {cure}")
        if not colon or not index.isdigit():
            raise ValueError(f"expected 'index:value' with a whole number as index, found {shown(token)}")
        column = _column(index, layout)
        if column == last:
            raise ValueError(f"feature index {int(index)} occurs twice, the second time in {shown(token)}")
        if column < last:
            raise ValueError(f"feature index {int(index)} follows {last + layout.first_index}; indices must ascend")
        last = column
        yield column, parse_value(number, layout)


def _column(index: bytes, layout: Layout) -> int:
    """Return the column that a feature index means."""
    if len(index.lstrip(b"0")) > INDEX_DIGITS:
        raise ValueError(f"feature index {shown(index)} is too large; at most {INDEX_DIGITS} digits are read")
    column = int(index) - layout.first_index
    if column < 0:
        raise ValueError("feature index 0, but indices count from 1; pass zero_based=True where a file counts from 0")
    if layout.features is not None and column >= layout.features:
        raise ValueError(f"feature index {int(index)} is beyond the {layout.features} columns of features=")
    return column
