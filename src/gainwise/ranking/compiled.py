"""Ranking and evaluation of all queries in the compiled core, and the three formulas that it computes.

Its values equal those of the NumPy code in this package and in the metrics, to the last bit.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from .._kernel.config import find_library, sort_addresses
from .rows import Ties

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._common.typing import Bools, Floats
    from .rows import Layout

ALL = 2**63 - 1
"""The cutoff for all ranks."""

MAX_KEY_BITS = 51
"""Bits of the core's keys for label and position. With one more, a document with score -inf could look like none."""

SUCCESS, NOT_A_NUMBER, NO_MEMORY = range(3)
"""Return values of the core."""


Kind = Literal["gains", "precisions", "first relevant"]


@dataclass(frozen=True, eq=False, slots=True)
class Formula:
    """The formula of a metric. Use the functions below to create one.

    Values are divided by `divisors`, shape (queries or 1, cutoffs or 1). Documents with at least `code` are relevant.
    """

    kind: Kind
    by_rank: Floats
    divisors: Floats | float = 1.0
    code: int = 0
    table: Floats | None = None
    high: Floats | None = None
    low: Floats | None = None


def sum_of_gains(table: Floats, discount: Floats, divisors: Floats | float = 1.0) -> Formula:
    """Return the sum of `table[code] * discount[rank]` with ranks from 0. Tied documents have the mean of their gains.

    `table` is created by `table_of`, so it has an entry for ranks without a document.
    """
    return Formula("gains", discount, divisors, table=table)


def sum_of_precisions(code: int, high: Floats, low: Floats, divisors: Floats) -> Formula:
    """Return the sum of precisions at relevant documents. `high` and `low` are `HarmonicNumbers` for all ranks."""
    return Formula("precisions", 1.0 / np.arange(1, len(high)), divisors, code, high=high, low=low)


def chance_of_first(code: int, costs: Floats) -> Formula:
    """Return the sum over ranks of the chance of the first relevant document, divided by `costs[rank]`."""
    return Formula("first relevant", costs, code=code)


class _Data(ctypes.Structure):
    """The structure `Data` of kernel.cpp."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("scores", "codes", "starts")),
        ("queries", ctypes.c_int64),
        *((name, ctypes.c_int32) for name in ("score_bytes", "code_bytes", "code_bits", "ties")),
        ("sort", ctypes.c_void_p),
        ("sort_narrow", ctypes.c_void_p),
    )


class _CFormulaRequest(ctypes.Structure):
    """The structure `Ask` of kernel.cpp."""

    _fields_ = (
        ("kind", ctypes.c_int32),
        ("code", ctypes.c_int32),
        ("cutoffs", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("ranks", "columns", "divisors")),
        ("empty", ctypes.c_double),
        *((name, ctypes.c_void_p) for name in ("table", "by_rank", "high", "low")),
    )


class FormulaRequest:
    """A formula at several cutoffs, and the columns of its values.

    `empty`, shape (queries, 1 or cutoffs), marks values that are `if_empty`.
    """

    def __init__(
        self, formula: Formula, cutoffs: Sequence[int | None], columns: Sequence[int], empty: Bools, if_empty: float
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
            np.array(columns, dtype=np.int64)[order],
            *(None if values is None else np.ascontiguousarray(values, dtype=np.float64) for values in floats),
        ]

    def to_c(self) -> _CFormulaRequest:
        """Return the structure for the core, which is valid as long as this object exists."""
        pointers = [None if values is None else values.ctypes.data for values in self._arrays]
        return _CFormulaRequest(*self._numbers, *pointers[:3], self._if_empty, *pointers[3:])


@cache
def core() -> Any:
    """Return the function of the core, or None if there is no core that works here."""
    compiled, _ = find_library()
    if compiled is None:
        return None
    function = compiled.gainwise_evaluate
    function.argtypes = (*[ctypes.c_void_p] * 2, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    function.restype = ctypes.c_int32
    return function


def evaluate_formulas(
    layout: Layout,
    scores: np.ndarray[Any, Any],
    ties: Ties,
    requests: Sequence[FormulaRequest],
    values: Floats,
    threads: int,
) -> bool:
    """Write the values of all queries to `values`, shape (queries, columns), and return whether no score is NaN.

    `scores` are contiguous float32 or float64, -inf for a document that was not retrieved. The core uses its own
    `threads`, without the interpreter lock.
    """
    data = _Data(
        *(array.ctypes.data for array in (scores, layout.codes, layout.starts)),
        layout.queries,
        scores.itemsize,
        layout.codes.itemsize,
        layout.levels.bit_length(),
        get_args(Ties).index(ties),
        *(sort_addresses() or ()),
    )
    c_requests = (_CFormulaRequest * len(requests))(*(request.to_c() for request in requests))
    status = core()(
        ctypes.byref(data), ctypes.byref(c_requests), len(requests), values.ctypes.data, values.shape[1], threads
    )
    if status == NO_MEMORY:
        raise MemoryError("Not enough memory to rank the documents of a query.")
    return bool(status == SUCCESS)


def can_rank(layout: Layout) -> bool:
    """Return whether there is a core, and the labels and positions of the longest query fit into the keys."""
    key_bits = layout.levels.bit_length() + layout.longest.bit_length()
    return core() is not None and key_bits <= MAX_KEY_BITS and layout.longest < 2**31
