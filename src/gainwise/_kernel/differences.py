"""The largest differences of rows, in the compiled core or in NumPy with the same bits."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from .._common.typing import Floats
from .config import find_library

BLOCK = 65_536
"""So many numbers fit into the cache of a processor."""


def find_largest_differences(values: Floats, scale: Floats) -> Floats:
    """Return the largest ``(values[j] - values[k]) * scale[k, j]`` of any row j for every row k and column, or 0.

    `scale`, shape (rows, rows), is symmetric, so that every pair of rows is computed once for both of its directions.

    >>> find_largest_differences(np.array([[1.0, 5.0], [3.0, 4.0], [2.0, 0.0]]), np.ones((3, 3)))
    array([[2., 0.],
           [0., 1.],
           [1., 5.]])
    """
    values, scale, largest = np.ascontiguousarray(values), np.ascontiguousarray(scale), np.zeros(values.shape)
    if (core := _find_core()) is not None:
        core(values.ctypes.data, scale.ctypes.data, largest.ctypes.data, *values.shape)
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


@cache
def _find_core() -> Any:
    """Return the function of the core, or None if there is no core."""
    library, _ = find_library()
    if library is None:
        return None
    function = library.gainwise_find_largest_differences
    function.argtypes, function.restype = (*[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 2), None
    return function
