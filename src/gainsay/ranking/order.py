"""Exact, stable descending order of every row of a block, by sorting values instead of positions.

NumPy sorts 64-bit integers by value with SIMD instructions, many times faster than it argsorts. So each score becomes
an integer whose order is the scores' order; its lowest bits make room for what is wanted at each rank: the code of the
label, and the document's place in its row. The rows are sorted by value. The cut bits may have held a difference
between two scores, so wherever the bits that are left agree, the places tell whose full keys to compare.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .runs import TieRuns

if TYPE_CHECKING:
    from .._common.typing import Codes, Integers

Keys = npt.NDArray[np.uint64]

_SIGN = np.int64(-(2**63))
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


LARGEST_PAYLOAD = 51
"""Bits that a payload may have: with one more, the key of a document that was not retrieved would run into padding."""


@dataclass(frozen=True, eq=False, slots=True)
class Payload:
    """What travels with each document's key: the code of its label, and its place in the row.

    Documents of equal score come in the order of their payload: by code, or with `by_place` by place.
    """

    cells: npt.NDArray[np.signedinteger[Any]]
    code_bits: int
    place_bits: int
    by_place: bool

    @classmethod
    def of(cls, codes: Codes, code_bits: int, *, by_place: bool = False) -> Payload:
        """Return the payload of codes, shape (rows, width), each below 2**code_bits - 1, or -1 for padding."""
        width = codes.shape[1]
        place_bits = width.bit_length()
        bits = code_bits + place_bits
        if bits > LARGEST_PAYLOAD:
            raise ValueError(f"too many documents and labels to rank: {width} documents, codes of {code_bits} bits")
        places: Integers = np.arange(width, dtype=np.int64)
        wide: Integers = codes.astype(np.int64)
        cells = places << code_bits | wide if by_place else wide << place_bits | places
        kind = np.int32 if bits < 32 else np.int64
        return cls(np.where(codes < 0, -1, cells).astype(kind), code_bits, place_bits, by_place)

    @property
    def low(self) -> np.uint64:
        """All bits of the payload set."""
        return np.uint64((1 << (self.code_bits + self.place_bits)) - 1)

    def codes(self, packed: Keys) -> Codes:
        """Return the codes in packed keys; all ones for padding."""
        blank = (1 << self.code_bits) - 1
        kind = np.min_scalar_type(blank)
        shifted = packed if self.by_place else packed >> np.uint64(self.place_bits)
        codes: Codes = shifted.astype(kind)
        codes &= kind.type(blank)
        return codes

    def places(self, packed: Keys) -> Integers:
        """Return the places in packed keys."""
        shifted = packed >> np.uint64(self.code_bits) if self.by_place else packed
        places: Integers = (shifted & np.uint64((1 << self.place_bits) - 1)).view(np.int64)
        return places


def rank_rows(keys: Keys, payload: Payload) -> tuple[Codes, TieRuns]:
    """Sort each row by key, then payload.

    Parameters
    ----------
    keys : ndarray of uint64, shape (rows, width)
        From `descending_keys`; arbitrary in padding.
    payload : Payload
        What to bring into ranked order.

    Returns
    -------
    codes : ndarray of unsigned int, shape (rows, width)
        Codes in ranked order, all ones for padding.
    runs : TieRuns
        The runs of documents that have equal scores but not all the same code.
    """
    packed = keys & ~payload.low
    np.bitwise_or(packed, payload.cells, out=packed, dtype=np.uint64, casting="unsafe")  # -1 becomes all ones
    packed.sort(axis=1)
    flat = packed.ravel()
    runs = _candidates(flat, payload, keys.shape[1])
    if len(runs):
        runs = _verified(flat, keys.ravel(), payload, runs)
    return payload.codes(packed), runs


def _candidates(packed: Keys, payload: Payload, width: int) -> TieRuns:
    """Return the runs whose keys agree but for the payload, in which the order makes a difference."""
    step = packed[1:] ^ packed[:-1]
    # agree: 1 .. low, since no two places are the same; from 0 between two cells of padding, 1 is taken round the clock
    step -= np.uint64(1)
    agree = step < payload.low
    agree[width - 1 :: width] = False  # the last cell of a row and the first of the next
    runs = _runs(np.flatnonzero(agree), width)
    return runs if payload.by_place else _of_different_codes(packed, payload, runs)


def _runs(ties: Integers, width: int) -> TieRuns:
    """Return the runs of documents, given the ascending positions of those that tie with the next one."""
    if not len(ties):
        return TieRuns(ties, ties, width)
    first = np.flatnonzero(np.concatenate(([True], ties[1:] != ties[:-1] + 1)))
    return TieRuns(ties[first], np.diff(first, append=len(ties)) + 1, width)


def _of_different_codes(packed: Keys, payload: Payload, runs: TieRuns) -> TieRuns:
    """Return the runs, ordered by code, that have more than one."""
    differ = (packed[runs.starts] ^ packed[runs.starts + runs.lengths - 1]) >> np.uint64(payload.place_bits) != 0
    return runs if differ.all() else runs.chosen(differ)


def _verified(packed: Keys, keys: Keys, payload: Payload, runs: TieRuns) -> TieRuns:
    """Return the runs of truly equal keys; put in order, in `packed`, the documents whose difference was cut off."""
    found = packed[runs.positions]
    full = keys[runs.spread(runs.starts - runs.before) + payload.places(found)]
    differ = full[1:] != full[:-1]
    differ[runs.offsets[1:] - 1] = False
    if not differ.any():
        return runs
    differ = full != runs.spread(full[runs.offsets])
    hidden = np.logical_or.reduceat(differ, runs.offsets)
    among = runs.spread(hidden)
    mixed = runs.chosen(hidden)
    found, full, number = found[among], full[among], mixed.spread(np.arange(len(mixed)))
    order = np.lexsort((found, full, number))
    packed[mixed.positions] = found[order]
    full = full[order]
    equal = (full[1:] == full[:-1]) & (number[1:] == number[:-1])
    parts = _runs(mixed.positions[:-1][equal], runs.width)
    if not payload.by_place:
        parts = _of_different_codes(packed, payload, parts)
    return runs.chosen(~hidden).merged(parts)
