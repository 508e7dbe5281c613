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
    """Payloads of each row in ranked order (all ones for padding).

    `tied` lists the rows in which documents of equal score but different payload exist; `equal[i, r]` says for row
    `tied[i]` that the documents at positions r and r + 1 have the same score.
    """

    payload: Keys
    tied: Integers
    equal: Bools


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
    suspect = np.flatnonzero(((step - np.uint64(1)) < low).any(axis=1))
    if not len(suspect):
        return Order(packed & low, suspect, np.empty((0, step.shape[1]), dtype=bool))
    full = np.where(payload[suspect] < 0, _PADDING, keys[suspect])
    ranked = np.sort(full, axis=1)
    equal = ranked[:, 1:] == ranked[:, :-1]
    step = step[suspect]
    hidden = np.flatnonzero(((step <= low) & ~equal).any(axis=1))
    if len(hidden):
        rows = suspect[hidden]
        _rank_exactly(packed, full[hidden], payload, rows)
        step[hidden] = packed[rows, 1:] ^ packed[rows, :-1]
    ties = np.flatnonzero((equal & (step != 0)).any(axis=1))
    return Order(packed & low, suspect[ties], equal[ties])


def _rank_exactly(packed: Keys, full: Keys, payload: npt.NDArray[np.int64], rows: Integers) -> None:
    """Replace rows of `packed` by their payloads ranked by the full keys."""
    chosen = payload[rows]
    by_payload = np.sort(chosen.view(np.uint64), axis=1)
    order = np.argsort(chosen.view(np.uint64), axis=1, kind="stable")
    keys = np.take_along_axis(full, order, axis=1)
    packed[rows] = np.take_along_axis(by_payload, np.argsort(keys, axis=1, kind="stable"), axis=1)
