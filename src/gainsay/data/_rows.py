"""What the row parsers share: the layout they are given, the rows they return, and the table those add up to."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .._common.checks import check_whole
from ._text import StrPath, at_line, shown

Floats: TypeAlias = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Layout:
    """How the lines of a file are to be read."""

    queries: bool
    """Whether a `qid:` stands after the label."""
    form: str
    """What a line looks like, for messages."""
    features: int | None
    """The number of columns; None: as many as occur."""
    first_index: int
    """The index of the first column, 0 or 1."""
    dtype: np.dtype[Any]
    """The type of the feature values."""

    @classmethod
    def checked(cls, *, queries: bool, features: int | None, zero_based: bool, dtype: DTypeLike) -> Layout:
        """Return the layout for a reader's arguments, or raise where one of them is wrong."""
        width = None if features is None else check_whole("features", features)
        kind = np.dtype(dtype)
        if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise TypeError(f"dtype must be float32 or float64, got {kind}")
        form = "label qid:query index:value …" if queries else "label index:value …"
        return cls(queries=queries, form=form, features=width, first_index=0 if zero_based else 1, dtype=kind)


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one chunk: labels, dense features, and runs of equal query ids."""

    labels: NDArray[np.float64]
    features: Floats
    query_ids: list[str]
    """The query id of each run of rows; empty for files without queries."""
    query_runs: NDArray[np.int64]
    """The number of rows of each run."""
    query_lines: NDArray[np.int64]
    """The number of the line of the first row of each run."""
    document_ids: list[str] | None
    """One id per row; None where a row has none."""


class Place(NamedTuple):
    """Where something stands first."""

    path: str
    line: int


@dataclass(frozen=True, slots=True)
class Table:
    """All rows of a file, or of several."""

    labels: NDArray[np.float64]
    features: Floats
    qid: NDArray[np.int64]
    query_ids: list[str]
    query_places: list[Place]
    document_ids: tuple[str, ...] | None


class TableBuilder:
    """Collects the rows of the chunks, in file order, and joins them at the end.

    Queries are numbered in order of first appearance. `shared_ids` says what it means where an id stands in several
    files: "refuse", "join" or "separate".
    """

    _path = ""

    def __init__(self, layout: Layout, max_bytes: int, shared_ids: str = "refuse") -> None:
        self._layout = layout
        self._max_bytes = max_bytes
        self._shared_ids = shared_ids
        self._parts: list[Rows] = []
        self._rows = self._before = 0
        self._width = layout.features or 0
        self._ids: list[str] = []
        self._places: list[Place] = []
        self._known: dict[str, int] = {}
        self._codes: list[NDArray[np.int64]] = []

    def begin(self, path: StrPath) -> None:
        """Say of which file the rows to come are."""
        self._path, self._before = os.fspath(path), self._rows
        if self._shared_ids == "separate":
            self._known = {}

    def end(self) -> None:
        """Raise where the file had no rows."""
        if self._rows == self._before:
            raise ValueError(f"{self._path}: the file holds no documents")

    def reserve(self, rows: int, width: int) -> int:
        """Return the width of the next block of features, or raise where the table would grow beyond the limit.

        A single mistaken index (`1 qid:1 4000000000:1`) would otherwise ask for all memory there is.
        """
        self._rows += rows
        self._width = max(self._width, width)
        size = self._rows * self._width * self._layout.dtype.itemsize
        if size > self._max_bytes:
            raise ValueError(
                f"{self._path}: {self._rows} rows of {self._width} features need {size} bytes, more than "
                f"max_bytes={self._max_bytes}; give the number of columns as features= to find a mistaken index, "
                "or raise max_bytes"
            )
        return self._width if self._layout.features else width

    def add(self, rows: Rows) -> None:
        """Append the rows of one chunk, if there are any: a chunk of blank lines says nothing about ids."""
        if not rows.labels.size:
            return
        self._parts.append(rows)
        runs = [self._code(name, line) for name, line in zip(rows.query_ids, rows.query_lines.tolist(), strict=True)]
        self._codes.append(np.repeat(np.array(runs, dtype=np.int64), rows.query_runs))

    def _code(self, name: str, line: int) -> int:
        """Return the number of a query; raise where it stands in an earlier file and nobody said what that means."""
        code = self._known.get(name)
        if code is None:
            code = self._known[name] = len(self._ids)
            self._ids.append(name)
            self._places.append(Place(self._path, line))
        elif self._shared_ids == "refuse" and self._places[code].path != self._path:
            path, before = self._places[code]
            raise at_line(
                self._path,
                line,
                f"query {shown(name)} stands in {path}, line {before}, too: pass shared_ids='separate' where each file "
                "counts its own queries, 'join' where a query may go on in another file",
            )
        return code

    def build(self) -> Table:
        """Join everything; the parts are let go as they are copied, so that memory does not double."""
        parts, self._parts = self._parts, []
        self._check_ids()
        labels = np.concatenate([part.labels for part in parts])
        documents = [part.document_ids for part in parts if part.document_ids is not None]
        complete = len(documents) == len(parts)
        features = np.zeros((self._rows, self._width), dtype=self._layout.dtype)
        end = self._rows
        while parts:
            block = parts.pop().features
            features[end - len(block) : end, : block.shape[1]] = block
            end -= len(block)
        document_ids = tuple(name for names in documents for name in names) if complete else None
        return Table(labels, features, np.concatenate(self._codes), self._ids, self._places, document_ids)

    def _check_ids(self) -> None:
        """Raise where one overlong id would blow up the array of ids, in which all take the room of the longest."""
        longest = max(map(len, self._ids), default=0)
        size = longest * len(self._ids) * np.dtype("U1").itemsize
        if size > self._max_bytes:
            raise ValueError(
                f"{self._path}: {len(self._ids)} query ids need {size} bytes, more than "
                f"max_bytes={self._max_bytes}, since one of them has {longest} characters"
            )
