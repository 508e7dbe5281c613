"""Exact, stable descending order of every row of a block, by sorting values instead of positions.

NumPy sorts 64-bit integers by value with SIMD instructions, many times faster than it argsorts. So each score becomes
an integer whose order is the scores' order; its lowest bits make room for what is wanted at each rank: the code of the
label, and the document's place in its row. The rows are sorted by value. The cut bits may have held a difference
between two scores, so wherever the bits that are left agree, the scores themselves are compared.
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

BYTE = 8

LARGEST_PAYLOAD = 51
"""Bits that a payload may have: with one more, the key of a document that was not retrieved would run into blanks."""

FEW = 0.25
"""Share of documents that tie with the next one up to which these are looked at one by one."""

MOST = 0.75
"""Share of rows from which on all of them are looked at again: choosing some costs copies."""

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
        if place_bits < BYTE and code_bits + BYTE < 2 * BYTE:
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
        The codes of these rows at all ranks, in ranked order as far as `runs` reach.
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
    equal = _agreeing(head, payload.low)
    doubtful = _doubtful(equal, head, codes, depth)
    codes = codes[:, :depth]
    nowhere = np.zeros(0, dtype=np.int64)
    open_ties = TieRuns(nowhere, nowhere, width)
    if not len(doubtful):
        return Ranking(codes, nowhere, codes, open_ties)
    cells = payload.cells
    if depth < width:
        if len(doubtful) > MOST * rows:
            doubtful = np.arange(rows)
        else:
            packed, scores, cells = packed[doubtful], scores[doubtful], cells[doubtful]
        if parted:
            packed.sort(axis=1)
        codes_of_tied = payload.codes(packed)
        equal = _agreeing(packed, payload.low)
    else:
        codes_of_tied = codes
    pairs = _pairs(equal, depth)
    hidden = _hidden(packed, scores, cells, payload, equal, pairs, depth)
    if len(hidden):
        codes_of_tied[hidden], equal[hidden] = _by_full_scores(scores[hidden], cells[hidden], payload)
        codes[doubtful[hidden]] = codes_of_tied[hidden, :depth]
        pairs = _pairs(equal, depth)
    if find_ties:
        open_ties = _runs(pairs, equal, codes_of_tied, depth)
    return Ranking(codes, doubtful if len(open_ties) else nowhere, codes_of_tied, open_ties)


def _agreeing(packed: Keys, low: np.uint64) -> Bools:
    """Return which keys agree with the next one of their row but for the payload."""
    keys = packed.ravel()
    agree: Bools = np.zeros(packed.shape, dtype=bool)
    np.less_equal(keys[1:] ^ keys[:-1], low, out=agree.reshape(-1)[:-1])
    agree[:, -1] = False
    return agree


def _doubtful(agree: Bools, head: Keys, codes: Codes, depth: int) -> Integers:
    """Return the rows in which scores may be equal or wrongly ordered, their keys agreeing but for the payload.

    Where the codes agree too it makes no difference which is first, unless there is more behind the last rank. Where
    all ranks are wanted all rows are returned, or none.
    """
    rows, columns = head.shape
    among = codes.ravel()
    doubt = np.zeros((rows, columns), dtype=bool)
    np.not_equal(among[1:], among[:-1], out=doubt.reshape(-1)[:-1])
    if columns > depth:
        doubt[:, depth - 1] = head[:, depth] != BLANK
    doubt &= agree
    if not doubt.any():
        return np.zeros(0, dtype=np.int64)
    return np.arange(rows) if columns == depth else np.flatnonzero(doubt.any(axis=1))


def _pairs(equal: Bools, depth: int) -> Integers:
    """Return the positions in the flattened rows of documents among the first `depth` that equal the next."""
    pairs = np.flatnonzero(equal[:, :depth])
    if depth < equal.shape[1]:
        pairs += pairs // depth * (equal.shape[1] - depth)
    return pairs


def _hidden(
    packed: Keys,
    scores: np.ndarray[Any, Any],
    cells: np.ndarray[Any, Any],
    payload: Payload,
    equal: Bools,
    pairs: Integers,
    depth: int,
) -> Integers:
    """Return the rows in which scores differ though their keys agree but for the payload, as `equal` says.

    Only runs that begin among the first `depth` ranks are looked at.
    """
    width = packed.shape[1]
    if len(pairs) < FEW * equal.size:
        keys, values = packed.ravel(), scores.ravel()
        pairs = pairs[keys[pairs] != BLANK]
        row = pairs // width
        start = row * width
        differ = values[start + payload.places(keys[pairs])] != values[start + payload.places(keys[pairs + 1])]
        hidden = row[differ]
        if depth < width:
            hidden = np.append(hidden, _hidden_behind(packed, scores, cells, payload, equal, depth))
        return np.unique(hidden) if len(hidden) else hidden
    ascending = scores.copy()
    ascending[cells < 0] = -np.inf
    ascending.sort(axis=1)
    truly = ascending[:, 1:] == ascending[:, :-1]
    if np.count_nonzero(truly) == np.count_nonzero(equal):
        return pairs[:0]
    return np.flatnonzero(np.count_nonzero(truly, axis=1) < np.count_nonzero(equal, axis=1))


def _hidden_behind(
    packed: Keys,
    scores: np.ndarray[Any, Any],
    cells: np.ndarray[Any, Any],
    payload: Payload,
    equal: Bools,
    depth: int,
) -> Integers:
    """Return the rows in which a run goes on behind the first `depth` ranks with other scores than it begins with.

    A run has one score if as many documents of the row have this score as the run has documents.
    """
    crossing = np.flatnonzero(equal[:, depth - 1] & (packed[:, depth] != BLANK))
    own = scores[crossing]
    score = np.take_along_axis(own, payload.places(packed[crossing, depth])[:, None], axis=1)
    has_it = (own == score) & (cells[crossing] >= 0)
    last = depth + np.argmin(equal[crossing, depth:], axis=1)
    back = np.zeros((len(crossing), depth + 1), dtype=bool)
    back[:, :-1] = equal[crossing, depth - 1 :: -1]
    first = depth - np.argmin(back, axis=1)
    lengths = last - first + 1
    if np.count_nonzero(has_it) == lengths.sum():
        return crossing[:0]
    hidden: Integers = crossing[np.count_nonzero(has_it, axis=1) < lengths]
    return hidden


def _by_full_scores(scores: Floats, cells: np.ndarray[Any, Any], payload: Payload) -> tuple[Codes, Bools]:
    """Return what rows with hidden differences hold: codes in ranked order, and which scores equal the next.

    All bits of the scores count; that is slower.
    """
    negated = np.where(cells < 0, np.inf, np.subtract(0.0, scores, dtype=np.float64))
    order = np.lexsort((cells, negated), axis=1)
    ranked = np.take_along_axis(negated, order, axis=1)
    equal = np.zeros(scores.shape, dtype=bool)
    np.equal(ranked[:, 1:], ranked[:, :-1], out=equal[:, :-1])
    codes = payload.codes(np.take_along_axis(cells, order, axis=1).astype(np.uint64))
    codes[ranked == np.inf] = payload.blank
    return codes, equal


def _runs(pairs: Integers, equal: Bools, codes: Codes, depth: int) -> TieRuns:
    """Return the runs, not all of one code, that begin among the first `depth` ranks.

    `pairs` are the documents among these that have the score of the next one, or are blank as it is; `equal`, of shape
    (rows, width), says so of all.
    """
    width = codes.shape[1]
    begins = np.ones(len(pairs), dtype=bool)
    np.not_equal(pairs[1:], pairs[:-1] + 1, out=begins[1:])
    place = np.flatnonzero(begins)
    first = pairs[place]
    last = first + np.diff(place, append=len(pairs))
    if depth < width:
        row = first // width
        crossing = np.flatnonzero(last - row * width == depth)
        last[crossing] += np.argmin(equal[row[crossing], depth:], axis=1)
    flat = codes.ravel()
    some = np.flatnonzero(flat[first] != flat[last])  # a run is ordered by code
    first = first[some]
    return TieRuns(first, last[some] - first + 1, width)
