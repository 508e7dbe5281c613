"""Exact, stable descending order of every row of a block, by sorting values instead of positions.

NumPy sorts 64-bit integers by value with SIMD instructions, many times faster than it argsorts. So each score becomes
an integer whose order is the scores' order, its lowest bits make room for what is wanted at each rank (the code of the
label, and a tie-break), and the rows are sorted by value. The cut bits may have held a difference between two scores;
rows where that can matter are recognised from the sorted values and ranked again by the full keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from .._typing import Bools, Integers

Keys = npt.NDArray[np.uint64]

_SIGN = np.int64(-(2**63))
_PADDING = np.uint64(2**64 - 1)
NOT_RETRIEVED = np.array([np.inf]).view(np.uint64)[0] | np.uint64(2**63)
"""The key of a document whose score is -inf: behind every retrieved document, before padding."""


def descending_keys(scores: np.ndarray[Any, Any]) -> Keys:
    """Return unsigned integers that ascend where the scores (float64 or float32, no NaN) descend; -0.0 equals 0.0."""
    bits = np.subtract(0.0, scores, dtype=np.float64).view(np.int64)
    flip = bits >> 63  # all ones for a negative number: its bits ascend with its magnitude, so turn them all
    flip |= _SIGN
    bits ^= flip
    keys: Keys = bits.view(np.uint64)
    return keys


@dataclass(frozen=True, eq=False, slots=True)
class Order:
    """Payloads of each row in ranked order (all ones for padding), shape (rows, width).

    `starts` and `lengths` list the runs of documents that have equal scores but not all the same payload: where the
    first one stands in the flattened rows, and how many there are.
    """

    payload: Keys
    starts: Integers
    lengths: Integers


_NONE = np.empty(0, dtype=np.int64)


def rank_rows(keys: Keys, payload: npt.NDArray[np.int64], bits: int) -> Order:
    """Sort each row by key, then payload. A payload is below 2**bits - 1, or -1 for padding.

    Parameters
    ----------
    keys : ndarray of uint64, shape (rows, width)
        From `descending_keys`; arbitrary where the payload is -1.
    payload : ndarray of int64, shape (rows, width)
        What to bring into ranked order, and the order of documents with equal scores.
    bits : int
        Width of the payload.
    """
    low = np.uint64((1 << bits) - 1)
    packed = keys & ~low
    packed |= payload.view(np.uint64)
    packed.sort(axis=1)
    step = packed[:, 1:] ^ packed[:, :-1]
    # equal but for the payload (step 1 .. low; 0 wraps round): a tie, or a difference that the cut bits have hidden
    step -= np.uint64(1)
    close = step < low
    if not close.any():
        packed &= low
        return Order(packed, _NONE, _NONE)
    suspect = np.flatnonzero(close.any(axis=1))
    chosen = slice(None) if len(suspect) == len(step) else suspect  # a slice makes no copy
    equal = close[chosen] | (step[chosen] == _PADDING)  # the same payload: a step of 0, from which 1 was taken
    # nothing was cut from scores of 32 bits; for others the first documents nearly always show that something was
    cut = (keys[chosen, 0] & low).any() or np.where(payload[chosen] < 0, 0, keys[chosen] & low).any()
    if cut:
        full = _with_padding(keys[chosen], payload[chosen])
        full.sort(axis=1)
        truly = full[:, 1:] == full[:, :-1]
        hidden = np.flatnonzero((equal & ~truly).any(axis=1))
        if len(hidden):
            _rank_exactly(packed, keys, payload, suspect[hidden])
        equal = truly
    else:
        equal &= packed[chosen, 1:] != _PADDING
    packed &= low
    return Order(packed, *_runs(packed, suspect, equal))


def _with_padding(keys: Keys, payload: npt.NDArray[np.int64]) -> Keys:
    """Return keys with padding in its place, behind all documents."""
    padded: Keys = np.where(payload < 0, _PADDING, keys)
    return padded


def _rank_exactly(packed: Keys, keys: Keys, payload: npt.NDArray[np.int64], rows: Integers) -> None:
    """Replace rows of `packed` by their payloads ranked by the full keys."""
    order = np.argsort(payload[rows].view(np.uint64), axis=1, kind="stable")
    full = np.take_along_axis(_with_padding(keys[rows], payload[rows]), order, axis=1)
    order = np.take_along_axis(order, np.argsort(full, axis=1, kind="stable"), axis=1)
    packed[rows] = np.take_along_axis(payload[rows].view(np.uint64), order, axis=1)


def _runs(payload: Keys, rows: Integers, equal: Bools) -> tuple[Integers, Integers]:
    """Return starts and lengths of the runs of different payloads; `equal` says which neighbours in `rows` tie."""
    width = payload.shape[1]
    before_equal = np.zeros((len(rows), width), dtype=bool)
    before_equal[:, :-1] = equal
    flat = before_equal.ravel()
    first, last = flat.copy(), ~flat
    first[1:] &= last[:-1]
    last[1:] &= flat[:-1]
    last[0] = False
    firsts = np.flatnonzero(first)
    lengths = np.flatnonzero(last) - firsts + 1
    starts = firsts if len(rows) == len(payload) else rows[firsts // width] * width + firsts % width
    ranked = payload.ravel()
    differ = ranked[starts] != ranked[starts + lengths - 1]
    return starts[differ], lengths[differ]
