"""Exact, stable descending order of every row of a block, by sorting values instead of positions.

NumPy sorts 64-bit integers by value with SIMD instructions, many times faster than it argsorts. So each score becomes
an integer whose order is the scores' order; its lowest bits make room for what is wanted at each rank: the code of the
label, and where the input settles ties the document's place. The rows are sorted by value. The cut bits may have held a
difference between two scores, so rows in which the bits that are left agree are looked at again, in full.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .runs import TieRuns

if TYPE_CHECKING:
    from .._common.typing import Bools, Codes, Floats, Integers

Keys = npt.NDArray[np.uint64]

_SIGN = np.int64(-(2**63))
BLANK = np.uint64(2**64 - 1)
"""The key of what is not ranked: behind all documents."""

NOT_RETRIEVED = np.array([np.inf]).view(np.uint64)[0] | np.uint64(2**63)
"""The key of a document whose score is -inf: behind every retrieved document, before blanks."""

LARGEST_PAYLOAD = 51
"""Bits that a payload may have: with one more, the key of a document that was not retrieved would run into blanks."""

MOST = 0.75
"""Share of the rows of a block from which on all of them are looked at again: choosing some costs copies."""

NARROW = 256
"""Documents of a row from which on its first ranks are parted from the rest before they are sorted."""


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
    """What takes the lowest bits of each document's key: the code of its label, with `by_place` above it its place.

    Documents of equal score come in the order of their payload: by code, or by place. `blanks` are the cells without a
    document, by their position in the flattened rows; their payload is -1.
    """

    cells: npt.NDArray[np.signedinteger[Any]]
    blanks: Integers
    code_bits: int
    bits: int

    @classmethod
    def of(cls, codes: Codes, code_bits: int, *, by_place: bool = False) -> Payload:
        """Return the payload of codes, shape (rows, width), each below 2**code_bits - 1, or -1 for a blank."""
        width = codes.shape[1]
        bits = code_bits + (width.bit_length() if by_place else 0)
        if bits > LARGEST_PAYLOAD:
            raise ValueError(f"too many documents and labels to rank: {width} documents, codes of {code_bits} bits")
        kind = np.min_scalar_type(-(1 << bits))
        cells = codes.astype(kind, copy=False)
        if by_place:
            cells = np.where(codes < 0, kind.type(-1), np.arange(width, dtype=kind) << kind.type(code_bits) | cells)
        return cls(cells, np.flatnonzero(codes < 0), code_bits, 8 * cells.itemsize if cells.itemsize <= 2 else bits)

    @property
    def low(self) -> np.uint64:
        """All bits of the payload set."""
        return np.uint64((1 << self.bits) - 1)

    def put(self, keys: Keys) -> None:
        """Write the payload into the lowest bits of keys, which come from `descending_keys`; blanks become `BLANK`."""
        if self.cells.itemsize <= 2:
            lowest_bits(keys, self.cells.dtype)[...] = self.cells  # one pass instead of two
        else:
            keys &= ~self.low
            np.bitwise_or(keys, self.cells, out=keys, dtype=np.uint64, casting="unsafe")
        keys.ravel()[self.blanks] = BLANK

    def codes(self, packed: Keys) -> Codes:
        """Return the codes in packed keys, contiguous; all ones for blanks."""
        blank = (1 << self.code_bits) - 1
        kind = np.min_scalar_type(blank)
        codes: Codes = lowest_bits(packed, kind) & kind.type(blank)
        return codes


def lowest_bits(keys: Keys, kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return a view of the lowest bits of keys, as many as a number of this kind has."""
    step = keys.itemsize // kind.itemsize
    return keys.view(kind)[..., (0 if sys.byteorder == "little" else step - 1) :: step]


@dataclass(frozen=True, eq=False, slots=True)
class Ranking:
    """Codes in ranked order, all ones for blanks, and what ties leave open.

    Attributes
    ----------
    codes : ndarray of unsigned int, shape (rows, depth)
        Codes at the first ranks.
    tied : ndarray of int64, shape (tied rows,)
        Rows with documents, some of them among the first ranks, that have equal scores but not all the same code; and
        perhaps others.
    tied_codes : ndarray of unsigned int, shape (tied rows, width)
        The codes of these rows at all ranks.
    runs : TieRuns
        The runs of such documents in `tied_codes`.
    """

    codes: Codes
    tied: Integers
    tied_codes: Codes
    runs: TieRuns


def rank_rows(
    scores: np.ndarray[Any, Any],
    payload: Payload,
    depth: int | None = None,
    *,
    all_retrieved: bool = False,
    find_ties: bool = True,
) -> Ranking:
    """Rank each row by descending score, then ascending payload.

    Parameters
    ----------
    scores : ndarray of float64 or float32, shape (rows, width)
        No NaN; a document of score -inf becomes a blank. Arbitrary in blanks.
    payload : Payload
        What to bring into ranked order.
    depth : int, optional
        How many ranks are wanted; all by default.
    all_retrieved : bool
        Promise that no score is -inf.
    find_ties : bool
        Whether ties leave anything open; else no row counts as tied.
    """
    rows, width = scores.shape
    depth = width if depth is None else min(depth, width)
    packed = descending_keys(scores)
    payload.put(packed)
    if not all_retrieved:
        packed[packed >= NOT_RETRIEVED] = BLANK
    parted = depth < width and width > NARROW
    if parted:
        packed.partition(depth, axis=1)
        packed[:, :depth].sort(axis=1)
    else:
        packed.sort(axis=1)
    head = np.ascontiguousarray(packed[:, : depth + 1])
    codes = payload.codes(head)
    doubtful = _doubtful(head, codes, payload.low, depth)
    codes = codes[:, :depth]
    nowhere = np.zeros(0, dtype=np.int64)
    if not len(doubtful):
        return Ranking(codes, nowhere, codes[:0], TieRuns(nowhere, nowhere, width))
    if len(doubtful) > MOST * rows:
        doubtful = np.arange(rows)
    ascending, cells = scores[doubtful], payload.cells[doubtful]
    ascending[cells < 0] = -np.inf
    given = ascending.copy()
    ascending.sort(axis=1)
    equal = ascending[:, 1:] == ascending[:, :-1]
    hidden = np.flatnonzero(_hidden(ascending, equal, payload.low))
    mended = _by_full_scores(given[hidden], cells[hidden], payload.code_bits)
    codes[doubtful[hidden]] = mended[:, :depth]
    if not find_ties:
        return Ranking(codes, nowhere, codes[:0], TieRuns(nowhere, nowhere, width))
    packed = packed[doubtful]
    if parted:
        packed.sort(axis=1)
    tied_codes = payload.codes(packed)
    tied_codes[hidden] = mended
    runs = _runs(equal[:, ::-1], tied_codes, depth)
    return Ranking(codes, doubtful if len(runs) else nowhere, tied_codes, runs)


def _doubtful(head: Keys, codes: Codes, low: np.uint64, depth: int) -> Integers:
    """Return the rows in which keys agree but for the payload, so that scores may be equal or wrongly ordered.

    Where the codes agree too it makes no difference which is first, unless there is more behind the last rank.
    """
    rows, columns = head.shape
    flat, among = head.ravel(), codes.ravel()
    agree = np.zeros(rows * columns, dtype=bool)  # with the next
    np.less_equal(flat[1:] ^ flat[:-1], low, out=agree[:-1])
    differ = among[1:] != among[:-1]
    if columns > depth:
        differ[depth - 1 :: columns] = flat[depth::columns] != BLANK
    agree[:-1] &= differ
    agree[columns - 1 :: columns] = False
    return np.flatnonzero(agree.reshape(rows, columns).any(axis=1)) if agree.any() else np.zeros(0, dtype=np.int64)


def _hidden(ascending: Floats, equal: Bools, low: np.uint64) -> Bools:
    """Return in which rows two numbers differ in bits only that gave way to the payload."""
    bits = np.asarray(ascending, dtype=np.float64).view(np.uint64)
    alike = (bits[:, 1:] ^ bits[:, :-1]) <= low
    alike &= ~equal
    return alike.any(axis=1) if alike.any() else np.zeros(len(alike), dtype=bool)


def _by_full_scores(scores: Floats, cells: np.ndarray[Any, Any], code_bits: int) -> Codes:
    """Return codes by descending score, then payload, -inf being a blank: slower, and with all bits."""
    blank = (1 << code_bits) - 1
    order = np.lexsort((cells, -scores), axis=1)
    codes = np.where(scores == -np.inf, blank, cells & blank)
    return np.take_along_axis(codes, order, axis=1).astype(np.min_scalar_type(blank))


def _runs(equal: Bools, codes: Codes, depth: int) -> TieRuns:
    """Return the runs, not all of one code, that begin among the first `depth` ranks.

    `equal`, of shape (rows, width - 1), tells which documents have the score of the next one.
    """
    rows, width = codes.shape
    columns = min(depth + 1, width)
    padded = np.zeros(rows * columns + 1, dtype=bool)
    padded[1:].reshape(rows, columns)[:, :-1] = equal[:, : columns - 1]
    edges = np.flatnonzero(padded[1:] != padded[:-1])  # where runs begin and end, in turns
    first, last = edges[::2], edges[1::2]
    if columns < width:
        row = first // columns
        first, last = first + row * (width - columns), last + row * (width - columns)
        crossing = np.flatnonzero(last - row * width == depth)
        goes_on = np.zeros((len(crossing), width - depth), dtype=bool)
        goes_on[:, :-1] = equal[row[crossing], depth:]
        last[crossing] += np.argmin(goes_on, axis=1)
    flat = codes.ravel()
    differ = flat[first] != flat[last]  # a run is ordered by code; blanks have one
    return TieRuns(first[differ], (last - first + 1)[differ], width)
