"""What the row parsers share: the layout they are given, the rows they return, and the table those add up to."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from .._common.checks import check_whole
from ._text import StrPath

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
    document_ids: list[str] | None
    """One id per row; None where a row has none."""


@dataclass(frozen=True, slots=True)
class Table:
    """All rows of a file."""

    labels: NDArray[np.float64]
    features: Floats
    qid: NDArray[np.int64]
    query_ids: list[str]
    document_ids: tuple[str, ...] | None


class TableBuilder:
    """Collects the rows of the chunks, in file order, and joins them at the end."""

    def __init__(self, path: StrPath, layout: Layout, max_bytes: int) -> None:
        self._path = path
        self._layout = layout
        self._max_bytes = max_bytes
        self._parts: list[Rows] = []
        self._rows = 0
        self._width = layout.features or 0

    def reserve(self, rows: int, width: int) -> int:
        """Return the width of the next block of features, or raise where the table would grow beyond the limit.

        A single mistaken index (`1 qid:1 4000000000:1`) would otherwise ask for all memory there is.
        """
        self._rows += rows
        self._width = max(self._width, width)
        size = self._rows * self._width * self._layout.dtype.itemsize
        if size > self._max_bytes:
            raise ValueError(
                f"{os.fspath(self._path)}: {self._rows} rows of {self._width} features need {size} bytes, more than "
                f"max_bytes={self._max_bytes}; give the number of columns as features= to find a mistaken index, "
                "or raise max_bytes"
            )
        return self._width if self._layout.features else width

    def add(self, rows: Rows) -> None:
        """Append the rows of one chunk, if there are any: a chunk of blank lines says nothing about ids."""
        if rows.labels.size:
            self._parts.append(rows)

    def build(self) -> Table:
        """Join everything; the parts are let go as they are copied, so that memory does not double."""
        parts, self._parts = self._parts, []
        if not self._rows:
            raise ValueError(f"{os.fspath(self._path)}: the file holds no documents")
        qid, query_ids = _encode([(part.query_ids, part.query_runs) for part in parts])
        self._check_ids(query_ids)
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
        return Table(labels, features, qid, query_ids, document_ids)

    def _check_ids(self, query_ids: list[str]) -> None:
        """Raise where one overlong id would blow up the array of ids, in which all take the room of the longest."""
        longest = max(map(len, query_ids), default=0)
        size = longest * len(query_ids) * np.dtype("U1").itemsize
        if size > self._max_bytes:
            raise ValueError(
                f"{os.fspath(self._path)}: {len(query_ids)} query ids need {size} bytes, more than "
                f"max_bytes={self._max_bytes}, since one of them has {longest} characters"
            )


def _encode(runs: list[tuple[list[str], NDArray[np.int64]]]) -> tuple[NDArray[np.int64], list[str]]:
    """Return the code of every row's query, numbered in order of first appearance, and the ids."""
    codes: dict[str, int] = {}
    parts = []
    for names, lengths in runs:
        numbers = [codes.setdefault(name, len(codes)) for name in names]
        parts.append(np.repeat(np.array(numbers, dtype=np.int64), lengths))
    return np.concatenate(parts), list(codes)
