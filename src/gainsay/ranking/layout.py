"""Layout of documents: queries of similar length as padded rows, in blocks that fit into a CPU cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.lib.stride_tricks import as_strided

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .._common.typing import Codes, Integers

Ties = Literal["average", "order", "worst", "best"]

BLOCK_CELLS = 131_072
"""Cells of a block: 1 MiB of 64-bit scores, about a second-level cache. Smaller blocks need more calls, between which
threads wait for the interpreter lock. Larger blocks do not fit into the cache."""

SPARE_CELLS = BLOCK_CELLS // 8
"""Largest padding of a block. A lower limit would cost more in calls than it saves in cells."""


@dataclass(frozen=True, eq=False, slots=True)
class Block:
    """Queries of similar length as the rows of a matrix. Row i is query `queries[i]`, padded on the right.

    `codes[i, j]` is the code of the label of the j-th document of that query, or -1 after its last document.
    """

    queries: Integers
    starts: Integers
    sizes: Integers
    codes: Codes

    @property
    def width(self) -> int:
        """Number of documents of the longest query."""
        return int(self.codes.shape[1])

    def gather(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return one value per cell from one value per document. Padding cells have arbitrary values."""
        return _windows(values, self.starts, self.width)


class Layout:
    """All queries of a dataset in blocks. `sizes` are the documents per query, `codes` the codes of their labels.

    `starts` is the first document of each query, followed by the number of documents. `longest` is the number of
    documents of the longest query.
    """

    def __init__(self, sizes: Integers, codes: Codes, levels: int) -> None:
        self.queries = len(sizes)
        self.levels = levels
        self.codes = codes
        self.starts: Integers = np.append(0, np.cumsum(sizes)).astype(np.int64)
        self.longest = int(sizes.max(initial=0))
        starts = self.starts[:-1]
        order = np.argsort(sizes, kind="stable")
        order = order[np.searchsorted(sizes[order], 1) :]  # Queries without documents are not ranked.
        # The queries of a block are in the order of the data, so that memory is read in one direction.
        self.blocks = [_block(np.sort(order[a:b]), starts, sizes, codes) for a, b in _cuts(sizes[order])]

    def count(self, code: int) -> Integers:
        """Return the number of documents of each query with a label code of at least `code` (>= 0)."""
        counts = np.zeros(self.queries, dtype=np.int64)
        for block in self.blocks:
            counts[block.queries] = np.count_nonzero(block.codes >= code, axis=1)
        return counts

    def sequential_sums(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the sum of `values` over each query, added one by one in the type of `values`."""
        sums = np.zeros(self.queries, dtype=values.dtype)
        for block in self.blocks:
            cells = np.where(block.codes >= 0, block.gather(values), values.dtype.type(0))
            sums[block.queries] = np.add.accumulate(cells, axis=1)[:, -1]
        return sums


def _block(queries: Integers, all_starts: Integers, all_sizes: Integers, codes: Codes) -> Block:
    starts, sizes = all_starts[queries], all_sizes[queries]
    cells = _windows(codes, starts, _width(int(sizes.max()), len(codes)))
    cells[np.arange(cells.shape[1]) >= sizes[:, None]] = -1
    return Block(queries, starts, sizes, cells)


def _width(longest: int, documents: int) -> int:
    """Return the width of rows. For longer queries it is a multiple of eight, so that sums need no further padding."""
    return longest if longest < 32 else min(-(-longest // 8) * 8, documents)


def _cuts(sizes: Integers) -> Iterator[tuple[int, int]]:
    """Cut ascending sizes into slices [a, b) whose matrices have few cells and little padding."""
    before = np.concatenate(([0], np.cumsum(sizes)))
    start = 0
    while start < len(sizes):
        low, high = start + 1, len(sizes)
        while low < high:  # Cells and padding both grow with the slice, so bisection works.
            middle = (low + high + 1) // 2
            cells = (middle - start) * int(sizes[middle - 1])
            padding = cells - int(before[middle] - before[start])
            low, high = (middle, high) if cells <= BLOCK_CELLS and padding <= SPARE_CELLS else (low, middle - 1)
        yield start, low
        start = low


def _windows(values: np.ndarray[Any, Any], starts: Integers, width: int) -> np.ndarray[Any, Any]:
    """Return rows of `width` consecutive values from each start. After the end of `values`, the last one repeats.

    Copying whole windows is several times faster than an index array.
    """
    last = len(values) - width
    windows = as_strided(values, (last + 1, width), (values.strides[0], values.strides[0]), writeable=False)
    rows: np.ndarray[Any, Any] = windows[np.minimum(starts, last)]
    overrun = np.flatnonzero(starts > last)
    if len(overrun):
        cells = starts[overrun, None] + np.arange(width)
        rows[overrun] = values[np.minimum(cells, len(values) - 1)]
    return rows
