"""Comparisons of all rows with each other, in the compiled core or in NumPy with the same bits."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._common.typing import Bools, Floats, Integers
from .config import find_library

BLOCK = 65_536
"""So many numbers fit into the cache of a processor."""

ROW_BLOCK = 128
"""So many rows are compared with one at a time, for the same reason."""


def find_largest_differences(values: Floats, scale: Floats) -> Floats:
    """Return the largest ``(values[j] - values[k]) * scale[k, j]`` of any row j for every row k and column, or 0.

    `scale`, shape (rows, rows), is symmetric, so that every pair of rows is computed once for both of its directions.

    >>> find_largest_differences(np.array([[1.0, 5.0], [3.0, 4.0], [2.0, 0.0]]), np.ones((3, 3)))
    array([[2., 0.],
           [0., 1.],
           [1., 5.]])
    """
    values, scale, largest = np.ascontiguousarray(values), np.ascontiguousarray(scale), np.zeros(values.shape)
    if (core := find_library().library) is not None:
        _call(core.gainwise_find_largest_differences, values, scale, largest)
        return largest
    for k, others in iter_pairs(*values.shape):
        differences = values[others] - values[k]
        differences *= scale[k, others, None]
        np.maximum(largest[k], differences.max(axis=0), out=largest[k])
        np.maximum(largest[others], np.negative(differences, out=differences), out=largest[others])
    return largest


def iter_pairs(rows: int, columns: int) -> Iterator[tuple[int, slice]]:
    """Yield every pair of rows once, as a row and later ones, in blocks that fit into the cache of a processor.

    >>> list(iter_pairs(3, 10))
    [(0, slice(1, 6553, None)), (1, slice(2, 6553, None))]
    """
    step = max(1, BLOCK // max(1, columns))
    for start in range(0, rows, step):
        for k in range(min(start + step, rows) - 1):
            yield k, slice(max(start, k + 1), start + step)


def count_larger(values: Floats | NDArray[np.int16], margin: float = 0.0) -> NDArray[np.int32]:
    """Return in how many columns row j is larger than row k by more than `margin`, as ``[k, j]``.

    >>> count_larger(np.array([[1.0, 0.5, 0.2], [1.0, 0.9, 0.1]]))
    array([[0, 1],
           [1, 0]], dtype=int32)
    """
    rows, columns = values.shape
    counts = np.zeros((rows, rows), dtype=np.int32)
    if values.dtype == np.int16 and not margin and (core := find_library().library) is not None:
        _call(core.gainwise_count_larger, np.ascontiguousarray(values), counts)
        return counts
    larger = np.zeros((min(rows, ROW_BLOCK), -(-columns // 8) * 8), dtype=bool)
    for start in range(0, rows, ROW_BLOCK):
        part = values[start : start + ROW_BLOCK]
        for k in range(rows):
            np.greater(part, values[k] + values.dtype.type(margin), out=larger[: len(part), :columns])
            counts[k, start : start + ROW_BLOCK] = _count_true(larger[: len(part)])
    return counts


def _count_true(mask: Bools) -> Integers:
    """Return the number of True in each row, whose length is a multiple of 8. Words of 8 Booleans are added at once."""
    words, counts = mask.view(np.uint64), np.zeros(len(mask), dtype=np.int64)
    for start in range(0, words.shape[1], 255):  # A byte of the sum is at most 255.
        sums = words[:, start : start + 255].sum(axis=1)
        counts += sums.view(np.uint8).reshape(-1, 8).sum(axis=1, dtype=np.int64)
    return counts


def _call(function: Any, *arrays: NDArray[Any]) -> None:
    """Call a function of the core with the addresses of contiguous arrays, and the shape of the first one."""
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    function(*pointers, *map(ctypes.c_int64, arrays[0].shape))
