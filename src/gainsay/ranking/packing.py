"""Scores as integers in whose lowest bits something else travels."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from .._common.typing import Codes, Integers

Keys = npt.NDArray[np.uint64]

_SIGN = np.int64(-(2**63))
BLANK = np.uint64(2**64 - 1)
"""The key of what is not ranked: behind all documents."""

NOT_RETRIEVED = np.array([np.inf]).view(np.uint64)[0] | np.uint64(2**63)
"""The key of a document whose score is -inf: behind every retrieved document, before blanks."""

BYTE = 8

LARGEST_PAYLOAD = 51
"""Bits that a payload may have: with one more, the key of a document that was not retrieved would run into blanks."""


def descending_keys(scores: np.ndarray[Any, Any]) -> Keys:
    """Return unsigned integers that ascend where the scores (float64 or float32, no NaN) descend; -0.0 equals 0.0."""
    bits = np.subtract(0.0, scores, dtype=np.float64).view(np.int64)
    flip = bits >> 63  # all ones for a negative number: its bits ascend with its magnitude, so turn them all
    flip |= _SIGN
    bits ^= flip
    keys: Keys = bits.view(np.uint64)
    return keys


@dataclass(frozen=True, eq=False, slots=True)
class Payload:
    """What takes the lowest bits of each document's key: the code of its label, and its place in the row.

    Documents of equal score come in the order of their payload: by code, or with `by_place` by place. `blanks` are the
    cells without a document, by their position in the flattened rows; their payload is -1.
    """

    cells: npt.NDArray[np.signedinteger[Any]]
    blanks: Integers
    code_bits: int
    place_bits: int
    by_place: bool

    @classmethod
    def of(cls, codes: Codes, code_bits: int, *, by_place: bool = False) -> Payload:
        """Return the payload of codes, shape (rows, width), each below 2**code_bits - 1, or -1 for a blank."""
        width = codes.shape[1]
        place_bits = width.bit_length()
        if place_bits < BYTE and code_bits < BYTE:
            place_bits = BYTE  # so that the code has a byte of its own
        bits = code_bits + place_bits
        if bits > LARGEST_PAYLOAD:
            raise ValueError(f"too many documents and labels to rank: {width} documents, codes of {code_bits} bits")
        places: Integers = np.arange(width, dtype=np.int64)
        wide: Integers = codes.astype(np.int64)
        cells = places << code_bits | wide if by_place else wide << place_bits | places
        cells = np.where(codes < 0, -1, cells).astype(np.min_scalar_type(-(1 << bits)))
        return cls(cells, np.flatnonzero(codes < 0), code_bits, place_bits, by_place)

    @property
    def low(self) -> np.uint64:
        """The bits of a key that give way to the payload."""
        short = self.cells.itemsize <= 2
        return np.uint64((1 << (8 * self.cells.itemsize if short else self.code_bits + self.place_bits)) - 1)

    def put(self, keys: Keys) -> None:
        """Write the payload into the lowest bits of keys, which come from `descending_keys`; blanks become `BLANK`."""
        if self.cells.itemsize <= 2:
            _bits(keys, self.cells.dtype)[...] = self.cells  # one pass instead of two
        else:
            keys &= ~self.low
            np.bitwise_or(keys, self.cells, out=keys, dtype=np.uint64, casting="unsafe")
        keys.ravel()[self.blanks] = BLANK

    @property
    def blank(self) -> int:
        """What stands in place of the code of a blank: all ones."""
        return (1 << self.code_bits) - 1

    def codes(self, packed: Keys) -> Codes:
        """Return the codes in packed keys, contiguous; all ones for blanks."""
        kind = np.min_scalar_type(self.blank)
        if self.by_place:
            codes: Codes = _bits(packed, kind).astype(kind)
        elif self.place_bits == BYTE and kind.itemsize == 1:
            codes = _bits(packed, kind, skip=1).astype(kind)  # no shift needed
        else:
            cells = self._cells(packed)
            codes = (cells >> cells.dtype.type(self.place_bits)).astype(kind)
        codes &= kind.type(self.blank)
        return codes

    def places(self, packed: Keys) -> Integers:
        """Return the places in packed keys."""
        shifted = self._cells(packed)
        if self.by_place:
            shifted = shifted >> shifted.dtype.type(self.code_bits)
        places: Integers = shifted.astype(np.int64)
        places &= (1 << self.place_bits) - 1
        return places

    def _cells(self, packed: Keys) -> np.ndarray[Any, Any]:
        return _bits(packed, np.dtype(f"u{self.cells.itemsize}"))


def _bits(keys: Keys, kind: np.dtype[Any], skip: int = 0) -> np.ndarray[Any, Any]:
    """Return a view of the lowest bits of keys, as many as a number of this kind has; or of the next ones."""
    step = keys.itemsize // kind.itemsize
    return keys.view(kind)[..., (skip if sys.byteorder == "little" else step - 1 - skip) :: step]
