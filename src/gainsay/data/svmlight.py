"""Rows of `label [qid:query] index:value …  # comment`, the format of SVMlight and LETOR.

Two parsers read the same lines. `_parse_chunk` works on arrays of tokens and returns None for anything unusual.
`_parse_lines` then reads one line at a time. It decides what is valid and words the errors.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .._common.validation import validate_integer
from .decimals import INDEX_DIGITS, PADDING, Bytes, Integers, pad, parse_indices, parse_numbers
from .text import Chunk, StrPath, at_line, numbered_lines, shown, to_number

Floats: TypeAlias = NDArray[np.floating[Any]]
Runs: TypeAlias = tuple[list[str], Integers]
"""The query id and the number of rows of each run of rows with the same query."""

NO_RUNS: Runs = ([], np.zeros(0, dtype=np.int64))
# NumPy stores all ids in the width of the longest one.
MAX_ID_BYTES = 256
_DOCUMENT = re.compile(rb"\bdocid\s*=\s*(\S+)")


@dataclass(frozen=True, slots=True)
class Layout:
    """How to read the lines of a file."""

    queries: bool
    """Whether `qid:` follows the label."""
    form: str
    """The expected line, for error messages."""
    features: int | None
    """The number of columns, or None for as many as occur."""
    first_index: int
    """The index of the first column, 0 or 1."""
    dtype: np.dtype[Any]
    """The type of the feature values."""

    @classmethod
    def from_arguments(cls, *, queries: bool, features: int | None, zero_based: bool, dtype: DTypeLike) -> Layout:
        """Return the layout for the arguments of a reader, or raise if one of them is invalid."""
        width = None if features is None else validate_integer("features", features)
        kind = np.dtype(dtype)
        if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise TypeError(f"dtype must be float32 or float64, got {kind}")
        form = "label qid:query index:value …" if queries else "label index:value …"
        return cls(queries=queries, form=form, features=width, first_index=0 if zero_based else 1, dtype=kind)


class Rows(NamedTuple):
    """The rows of one chunk, with dense features."""

    labels: NDArray[np.float64]
    features: Floats
    queries: Runs = NO_RUNS
    document_ids: list[str] | None = None


class Table(NamedTuple):
    """All rows of one or several files."""

    labels: NDArray[np.float64]
    features: Floats
    qid: Integers
    query_ids: list[str]
    document_ids: tuple[str, ...] | None


class TableBuilder:
    """Collects rows in file order and joins them at the end.

    Queries are numbered in order of first appearance. `shared_ids` is "refuse", "join" or "separate" and defines the
    meaning of an id that occurs in several files.
    """

    def __init__(self, layout: Layout, max_bytes: int, shared_ids: str = "refuse") -> None:
        self._layout, self._max_bytes, self._shared_ids = layout, max_bytes, shared_ids
        self._path = ""
        self._rows, self._width = 0, layout.features or 0
        self._parts: list[Rows] = []
        self._qid: list[Integers] = []
        self._ids: list[str] = []
        self._paths: list[str] = []  # the file in which each query begins
        self._code_of_id: dict[str, int] = {}

    def read_file(self, path: StrPath, chunks: Iterable[Chunk]) -> None:
        """Append the rows of an SVMlight file."""
        parts = (
            _parse_chunk(chunk, self._layout, self) or _parse_lines(path, chunk, self._layout, self) for chunk in chunks
        )
        self.add_file(path, parts)

    def add_file(self, path: StrPath, parts: Iterable[Rows]) -> None:
        """Append the rows of a file, or raise if it has none."""
        self._path, rows_before = os.fspath(path), self._rows
        if self._shared_ids == "separate":
            self._code_of_id = {}
        for rows in parts:
            if not rows.labels.size:
                continue
            names, sizes = rows.queries
            self._parts.append(rows)
            self._qid.append(np.repeat(np.array([self._number(name) for name in names], dtype=np.int64), sizes))
        if self._rows == rows_before:
            raise ValueError(f"{self._path}: the file has no documents")

    def reserve(self, rows: int, width: int) -> int:
        """Return the width of the next block of features, or raise if the table would exceed the limit.

        Otherwise a single wrong index (`1 qid:1 4000000000:1`) could exhaust the memory.
        """
        self._rows += rows
        self._width = max(self._width, width)
        size = self._rows * self._width * self._layout.dtype.itemsize
        if size > self._max_bytes:
            raise ValueError(
                f"{self._path}: {self._rows} rows of {self._width} features require {size} bytes, more than "
                f"max_bytes={self._max_bytes}. Pass features= to find a wrong index, or increase max_bytes."
            )
        return self._width if self._layout.features else width

    def _number(self, name: str) -> int:
        """Return the number of a query, or raise if it occurs in an earlier file and `shared_ids` is "refuse"."""
        code = self._code_of_id.setdefault(name, len(self._ids))
        if code == len(self._ids):
            self._ids.append(name)
            self._paths.append(self._path)
        elif self._shared_ids == "refuse" and self._paths[code] != self._path:
            raise ValueError(
                f"{self._path}: query {shown(name)} also occurs in {self._paths[code]}. Pass shared_ids='separate' if "
                "each file numbers its own queries, or 'join' if a query can continue in another file."
            )
        return code

    def build(self) -> Table:
        """Join all rows. Each part is released after it is copied, so that memory does not double."""
        parts, self._parts = self._parts, []
        labels = np.concatenate([part.labels for part in parts])
        documents = None
        if all(part.document_ids is not None for part in parts):
            documents = tuple(name for part in parts for name in part.document_ids or ())
        features = np.zeros((self._rows, self._width), dtype=self._layout.dtype)
        end = self._rows
        while parts:
            block = parts.pop().features
            features[end - len(block) : end, : block.shape[1]] = block
            end -= len(block)
        return Table(labels, features, np.concatenate(self._qid), self._ids, documents)


# ---------------------------------------------------------------------------------------------------- arrays of tokens


class _Tokens(NamedTuple):
    starts: Integers
    ends: Integers
    first: Integers  # of each row, the number of its first token
    counts: Integers  # of each row, the number of its tokens
    lines: Integers  # of each row, its line in the chunk, starting with 0


def _parse_chunk(chunk: Chunk, layout: Layout, builder: TableBuilder) -> Rows | None:
    """Parse a chunk, or return None if a line is malformed or unusual."""
    text, comments = _split_comments(chunk.text)
    buffer = pad(text)
    tokens = _tokenize(buffer)
    rows, lead = tokens.first.size, 2 if layout.queries else 1
    if rows == 0 or tokens.counts.min() < lead:
        return None
    labels = parse_numbers(buffer, tokens.starts[tokens.first], tokens.ends[tokens.first])
    queries = _parse_queries(buffer, tokens) if layout.queries else NO_RUNS
    if labels is None or queries is None or not np.isfinite(labels).all():
        return None
    row = np.repeat(np.arange(rows), tokens.counts - lead)
    pairs = _parse_pairs(buffer, tokens, row, layout)
    if pairs is None:
        return None
    column, value = pairs
    features = np.zeros((rows, builder.reserve(rows, int(column.max(initial=-1)) + 1)), dtype=layout.dtype)
    features[row, column] = value
    return Rows(labels, features, queries, _find_document_ids(comments, tokens.lines.tolist()))


def _split_comments(text: bytes) -> tuple[bytes, list[bytes]]:
    """Return the text without comments, and the comment of each line."""
    if b"#" not in text:
        return text, []
    parts = [line.partition(b"#") for line in text[:-1].split(b"\n")]
    return b"\n".join(part[0] for part in parts) + b"\n", [part[2] for part in parts]


def _find_document_ids(comments: list[bytes], lines: Iterable[int]) -> list[str] | None:
    """Return the id in the comment of each of the lines, or None if a line has none."""
    if not comments:
        return None
    matches = [_DOCUMENT.search(comments[line]) for line in lines]
    ids = [match[1].decode() for match in matches if match]
    return ids if len(ids) == len(matches) else None


def _tokenize(buffer: Bytes) -> _Tokens:
    """Return the tokens of all lines that have any."""
    # `read_chunks` rejects control characters except tab and line ends, so all bytes up to a blank are separators.
    blank = buffer <= ord(" ")
    edges = np.flatnonzero(blank[1:] != blank[:-1]) + 1
    starts, ends = edges[0::2], edges[1::2]
    before_line_end = np.searchsorted(starts, np.flatnonzero(buffer == ord("\n")))
    counts = np.diff(before_line_end, prepend=0)
    lines = np.flatnonzero(counts)
    return _Tokens(starts, ends, (before_line_end - counts)[lines], counts[lines], lines)


def _parse_queries(buffer: Bytes, tokens: _Tokens) -> Runs | None:
    """Return the ids after `qid:` as runs, or None if a second token is something else."""
    starts, ends = tokens.starts[tokens.first + 1], tokens.ends[tokens.first + 1]
    for position, character in enumerate(b"qid:"):
        if (buffer[starts + position] != character).any():
            return None
    starts, length = starts + 4, ends - starts - 4
    width = int(length.max())
    if length.min() < 1 or width > PADDING:
        return None
    positions = np.arange(width)
    characters = np.where(positions < length[:, None], buffer[starts[:, None] + positions], np.uint8(0))
    if (characters == ord(":")).any():
        return None
    changes = np.flatnonzero((characters[1:] != characters[:-1]).any(axis=1)) + 1
    runs = np.concatenate(([0], changes))
    ids = [characters[run, : length[run]].tobytes().decode() for run in runs]
    return ids, np.diff(runs, append=starts.size)


def _parse_pairs(buffer: Bytes, tokens: _Tokens, row: Integers, layout: Layout) -> tuple[Integers, Floats] | None:
    """Return column and value of all `index:value`, or None if a token or the order of indices is wrong."""
    is_pair, is_colon = np.ones(tokens.starts.size, dtype=np.bool_), buffer == ord(":")
    is_pair[tokens.first] = False
    if layout.queries:
        is_pair[tokens.first + 1] = False
        is_colon[tokens.starts[tokens.first + 1] + 3] = False
    starts, ends, colons = tokens.starts[is_pair], tokens.ends[is_pair], np.flatnonzero(is_colon)
    # There are as many colons as pairs, each within its pair, so every pair has exactly one colon.
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
    with np.errstate(over="ignore"):  # A value too large for the dtype becomes infinite and is rejected below.
        cast: Floats = value.astype(layout.dtype)
    return None if np.isinf(cast).any() else (column, cast)


# ------------------------------------------------------------------------------------------------- one line at a time


def _parse_lines(path: StrPath, chunk: Chunk, layout: Layout, builder: TableBuilder) -> Rows:
    """Parse a chunk line by line, and raise ValueError for the first malformed line."""
    _, comments = _split_comments(chunk.text)
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
                ids.append(_parse_query(tokens))
            cells += [(len(lines), *pair) for pair in _iter_pairs(tokens[1 + layout.queries :], layout)]
        except ValueError as error:
            raise at_line(path, number, str(error)) from None
        lines.append(number - chunk.first_line)
    width = max((column for _, column, _ in cells), default=-1) + 1
    features = np.zeros((len(labels), builder.reserve(len(labels), width)), dtype=layout.dtype)
    for row, column, value in cells:
        features[row, column] = value
    runs = ids, np.ones(len(ids), dtype=np.int64)
    return Rows(np.array(labels, dtype=np.float64), features, runs, _find_document_ids(comments, lines))


def parse_label(token: bytes, layout: Layout) -> float:
    """Return the label, or raise ValueError with the problem."""
    try:
        label = to_number(token)
    except ValueError:
        raise ValueError(f"the label {shown(token)} is not a number. Expected '{layout.form}'.") from None
    if not math.isfinite(label):
        raise ValueError(f"the label {shown(token)} is not finite. Every document requires a label.")
    return label


def parse_value(token: bytes, layout: Layout) -> float:
    """Return a feature value (nan: missing), or raise ValueError with the problem."""
    try:
        value = to_number(token)
    except ValueError:
        raise ValueError(f"the feature value {shown(token)} is not a number") from None
    if math.isinf(value):
        raise ValueError(f"the feature value {shown(token)} is infinite. Expected a finite number or nan (missing).")
    with np.errstate(over="ignore"):
        if np.isinf(layout.dtype.type(value)):
            raise ValueError(f"the feature value {shown(token)} exceeds {layout.dtype}. Pass dtype=numpy.float64.")
    return value


def _parse_query(tokens: list[bytes]) -> str:
    """Return the id after `qid:` in the second token of a line."""
    prefix, _, name = (tokens[1] if len(tokens) > 1 else b"").partition(b":")
    if prefix != b"qid":
        got = shown(tokens[1]) if len(tokens) > 1 else "the end of the line"
        raise ValueError(f"expected 'qid:query' after the label {shown(tokens[0])}, found {got}")
    if not name or b":" in name:
        raise ValueError(f"expected 'qid:query' with a query id without colons and blanks, found {shown(tokens[1])}")
    if len(name) > MAX_ID_BYTES:
        raise ValueError(f"the query id {shown(name)} is longer than {MAX_ID_BYTES} bytes")
    return name.decode()


def _iter_pairs(tokens: list[bytes], layout: Layout) -> Iterator[tuple[int, float]]:
    """Yield column and value of every `index:value` of a line."""
    last = -1
    for token in tokens:
        index, colon, number = token.partition(b":")
        if index == b"qid":
            fix = "Move it after the label." if layout.queries else "Read the file with read_letor."
            raise ValueError(f"found {shown(token)} among the features. {fix}")
        if not colon or not index.isdigit():
            raise ValueError(f"expected 'index:value' with a whole number as index, found {shown(token)}")
        column = _parse_column(index, layout)
        if column <= last:
            raise ValueError(f"feature index {int(index)} follows {last + layout.first_index}. Indices must ascend.")
        last = column
        yield column, parse_value(number, layout)


def _parse_column(index: bytes, layout: Layout) -> int:
    """Return the column of a feature index."""
    if len(index.lstrip(b"0")) > INDEX_DIGITS:
        raise ValueError(f"feature index {shown(index)} is too large. At most {INDEX_DIGITS} digits are supported.")
    column = int(index) - layout.first_index
    if column < 0:
        raise ValueError("feature index 0, but indices start at 1. Pass zero_based=True if they start at 0.")
    if layout.features is not None and column >= layout.features:
        raise ValueError(f"feature index {int(index)} is beyond the {layout.features} columns of features=")
    return column
