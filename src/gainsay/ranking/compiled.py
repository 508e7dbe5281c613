"""Rank and evaluate all queries in the compiled core.

The results have the same bits as those of the NumPy path.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from .._kernel.library import found as found_library
from .._kernel.sorting import sort_addresses
from .formulas import Kind
from .layout import Ties
from .packing import LARGEST_PAYLOAD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._common.typing import Bools, Floats
    from .formulas import Formula
    from .layout import Layout

ALL = 2**63 - 1
"""The cutoff of metrics without cutoff."""

FINE, NOT_A_NUMBER, NO_MEMORY = range(3)
"""Results of the core."""


class _Data(ctypes.Structure):
    """As in kernel.cpp."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("scores", "codes", "starts")),
        ("queries", ctypes.c_int64),
        *((name, ctypes.c_int32) for name in ("score_bytes", "code_bytes", "code_bits", "ties")),
        ("sort", ctypes.c_void_p),
        ("sort_narrow", ctypes.c_void_p),
    )


class _Ask(ctypes.Structure):
    """As in kernel.cpp."""

    _fields_ = (
        ("kind", ctypes.c_int32),
        ("code", ctypes.c_int32),
        ("cutoffs", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("ranks", "columns", "divisors")),
        ("empty", ctypes.c_double),
        *((name, ctypes.c_void_p) for name in ("table", "by_rank", "high", "low")),
    )


class Ask:
    """A formula at some cutoffs, and the output columns of its values.

    `empty` has a row for each query, with one column or one per cutoff: True if the value is `if_empty`.
    """

    def __init__(
        self, formula: Formula, cutoffs: Sequence[int | None], place: slice, empty: Bools, if_empty: float
    ) -> None:
        ranks = np.array([ALL if k is None else k for k in cutoffs], dtype=np.int64)
        order = np.argsort(ranks, kind="stable")
        divisors = np.empty((len(empty), len(ranks)))
        divisors[...] = np.where(empty, 0.0, formula.divisors)
        floats = divisors[:, order], formula.table, formula.by_rank, formula.high, formula.low
        self._numbers = get_args(Kind).index(formula.kind), formula.code, len(ranks)
        self._if_empty = if_empty
        self._arrays = [
            ranks[order],
            place.start + order,
            *(None if values is None else np.ascontiguousarray(values, dtype=np.float64) for values in floats),
        ]

    def passed(self) -> _Ask:
        """Return the C structure. It is valid as long as this object exists."""
        pointers = [None if values is None else values.ctypes.data for values in self._arrays]
        return _Ask(*self._numbers, *pointers[:3], self._if_empty, *pointers[3:])


@cache
def core() -> Any:
    """Return the function of the core, or None if there is no core or NumPy's sort functions are not found."""
    compiled, _ = found_library()
    if compiled is None or sort_addresses() is None:
        return None
    function = compiled.gainsay_evaluate
    function.argtypes = (*[ctypes.c_void_p] * 2, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    function.restype = ctypes.c_int32
    return function


def evaluate(
    layout: Layout,
    scores: np.ndarray[Any, Any],
    ties: Ties,
    asks: Sequence[Ask],
    found: Floats,
    threads: int,
) -> bool:
    """Write the values of all queries to `found`, shape (queries, values). Return False if a score is NaN.

    `scores` are contiguous float32 or float64 values, -inf for documents that were not retrieved. The core starts its
    own threads and does not need the interpreter's lock.
    """
    data = _Data(
        *(values.ctypes.data for values in (scores, layout.codes, layout.starts)),
        layout.queries,
        scores.itemsize,
        layout.codes.itemsize,
        layout.levels.bit_length(),
        get_args(Ties).index(ties),
        *(sort_addresses() or ()),
    )
    passed = (_Ask * len(asks))(*(ask.passed() for ask in asks))
    outcome = core()(ctypes.byref(data), ctypes.byref(passed), len(asks), found.ctypes.data, found.shape[1], threads)
    if outcome == NO_MEMORY:
        raise MemoryError("not enough memory to rank the documents of a query")
    return bool(outcome == FINE)


def can_rank(layout: Layout) -> bool:
    """Whether there is a core, and the labels and positions of the longest query fit into the keys."""
    payload = layout.levels.bit_length() + layout.longest.bit_length()
    return core() is not None and payload <= LARGEST_PAYLOAD and layout.longest < 2**31
