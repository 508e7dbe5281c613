"""Ids of documents as numbers, so that rows are matched and sorted without comparing text."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._common.distinct import factorize

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .._common.typing import Integers


class Encoded(NamedTuple):
    """Columns of ids in which the same id is everywhere the same number."""

    codes: list[Integers]
    limit: int
    """The numbers lie below this."""
    descending: Callable[[Integers], Integers]
    """Returns the positions of distinct numbers in descending order of their ids, by code points."""
    ids: Any
    """The id of each number: an array of NumPy or of pyarrow."""


@dataclass(frozen=True, eq=False)
class Names:
    """The ids of documents, made where they are asked for: `names[places]`."""

    codes: Integers
    ids: Any

    def __getitem__(self, places: Any) -> np.ndarray[Any, Any]:
        found = self.ids.take(self.codes[places])
        return np.asarray(found.to_pylist() if hasattr(found, "to_pylist") else found, dtype=object)


def encode(columns: Sequence[Any]) -> Encoded:
    """Return the ids of several columns, `pandas.Series` or `pyarrow.ChunkedArray` of text, as numbers."""
    try:
        return _by_arrow(columns)
    except (ImportError, UnicodeEncodeError):  # not installed; halves of surrogate pairs, of which it has none
        return _by_pandas(columns)


def _by_arrow(columns: Sequence[Any]) -> Encoded:
    arrow, compute = importlib.import_module("pyarrow"), importlib.import_module("pyarrow.compute")
    text = arrow.large_string()
    chunks: list[Any] = []
    for column in columns:
        array = column if isinstance(column, arrow.ChunkedArray) else arrow.chunked_array([arrow.array(column)])
        chunks += array.cast(text).chunks
    encoded = arrow.chunked_array(chunks, type=text).dictionary_encode().combine_chunks()
    ids = encoded.dictionary

    def descending(numbers: Integers) -> Integers:  # Arrow compares the bytes of UTF-8, which sort as code points do
        order = compute.array_sort_indices(ids.take(arrow.array(numbers)), order="descending")
        positions: Integers = order.to_numpy().astype(np.int64)
        return positions

    return Encoded(_parts(encoded.indices.to_numpy(), columns), max(len(ids), 1), descending, ids)


def _by_pandas(columns: Sequence[Any]) -> Encoded:
    codes, ids = factorize(np.concatenate([np.asarray(column, dtype=object) for column in columns]))

    def descending(numbers: Integers) -> Integers:
        return np.argsort(np.asarray(ids[numbers], dtype=object))[::-1]

    return Encoded(_parts(codes, columns), max(len(ids), 1), descending, ids)


def _parts(codes: np.ndarray[Any, Any], columns: Sequence[Any]) -> list[Integers]:
    return np.split(codes.astype(np.int64), np.cumsum([len(column) for column in columns])[:-1])
