"""Scores as sortable integers with the label and place of the document in their lowest bits."""

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
"""The key of cells that are not ranked, after all documents."""

NOT_RETRIEVED = np.array([np.inf]).view(np.uint64)[0] | np.uint64(2**63)
"""The key of score -inf, after every retrieved document and before blanks."""

BYTE = 8

LARGEST_PAYLOAD = 51
"""Largest number of bits of a payload. With one more, documents that were not retrieved could look like blanks."""


def descending_keys(scores: np.ndarray[Any, Any]) -> Keys:
    """Return unsigned integers in the opposite order of scores (float64 or float32, no NaN). -0.0 equals 0.0."""
    bits = np.subtract(0.0, scores, dtype=np.float64).view(np.int64)
    flip = bits >> 63  # All ones for a negative number, whose bits increase with its magnitude and are inverted.
    flip |= _SIGN
    bits ^= flip
    keys: Keys = bits.view(np.uint64)
    return keys


@dataclass(frozen=True, eq=False, slots=True)
class Payload:
    """The lowest bits of the key of each document: the code of its label, and its place in the row.

    Documents with equal scores are in the order of their payload: by code, or with `by_place` by place. `blanks` are
    the positions of cells without a document in the flattened rows. Their payload is -1.
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
            place_bits = BYTE  # Then the code has its own byte.
        bits = code_bits + place_bits
        if bits > LARGEST_PAYLOAD:
            raise ValueError(f"too many documents and labels to rank: {width} documents, codes of {code_bits} bits.")
        places: Integers = np.arange(width, dtype=np.int64)
        wide: Integers = codes.astype(np.int64)
        cells = places << code_bits | wide if by_place else wide << place_bits | places
        cells = np.where(codes < 0, -1, cells).astype(np.min_scalar_type(-(1 << bits)))
        return cls(cells, np.flatnonzero(codes < 0), code_bits, place_bits, by_place)

    @property
    def low(self) -> np.uint64:
        """The bits of a key that the payload replaces."""
        short = self.cells.itemsize <= 2
        return np.uint64((1 << (8 * self.cells.itemsize if short else self.code_bits + self.place_bits)) - 1)

    def put(self, keys: Keys) -> None:
        """Write the payload into the lowest bits of keys from `descending_keys`. Blanks become `BLANK`."""
        if self.cells.itemsize <= 2:
            _bits(keys, self.cells.dtype)[...] = self.cells  # One pass instead of two.
        else:
            keys &= ~self.low
            np.bitwise_or(keys, self.cells, out=keys, dtype=np.uint64, casting="unsafe")
        keys.ravel()[self.blanks] = BLANK

    @property
    def blank(self) -> int:
        """The code of blanks: all ones."""
        return (1 << self.code_bits) - 1

    def codes(self, packed: Keys) -> Codes:
        """Return the codes in packed keys as a contiguous array, all ones for blanks."""
        kind = np.min_scalar_type(self.blank)
        if self.by_place:
            codes: Codes = _bits(packed, kind).astype(kind)
        elif self.place_bits == BYTE and kind.itemsize == 1:
            codes = _bits(packed, kind, skip=1).astype(kind)  # No shift is needed.
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
    """Return a view of the lowest bytes of keys as numbers of this type, or of the bytes after `skip` such numbers."""
    step = keys.itemsize // kind.itemsize
    return keys.view(kind)[..., (skip if sys.byteorder == "little" else step - 1 - skip) :: step]
