"""Exact, stable descending order of every row of a block, by sorting values instead of positions.

NumPy sorts 64-bit integers by value with SIMD instructions, many times faster than it argsorts. So each score becomes
an integer whose order is the scores' order; its lowest bits make room for what is wanted at each rank: the code of the
label, and the document's place in its row. The rows are sorted by value. The cut bits may have held a difference
between two scores, so wherever the bits that are left agree, the scores themselves are compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .packing import BLANK, NOT_RETRIEVED, descending_keys
from .runs import TieRuns

if TYPE_CHECKING:
    from .._common.typing import Bools, Codes, Floats, Integers
    from .packing import Keys, Payload

FEW = 0.25
"""Share of documents that tie with the next one up to which these are looked at one by one."""

MOST = 0.75
"""Share of rows from which on all of them are looked at again: choosing some costs copies."""

NARROW = 256
"""Documents of a row from which on its first ranks are parted from the rest before they are sorted."""


@dataclass(frozen=True, eq=False, slots=True)
class Ranking:
    """Codes in ranked order, all ones for blanks, and what ties leave open."""

    codes: Codes
    """Those at the first ranks, shape (rows, depth)."""
    tied: Integers
    """The rows with documents, some of them among the first ranks, that have equal scores but not all the same code;
    and perhaps others."""
    tied_codes: Codes
    """The codes of these rows at all ranks, in ranked order as far as `runs` reach."""
    runs: TieRuns
    """The runs of such documents in `tied_codes`."""


def rank_rows(
    scores: np.ndarray[Any, Any],
    payload: Payload,
    depth: int | None = None,
    *,
    all_retrieved: bool = False,
    find_ties: bool = True,
) -> Ranking:
    """Rank each row by descending score, then ascending payload.

    Scores, float64 or float32 of shape (rows, width), are not NaN, and anything in blanks; a document of score -inf
    becomes a blank, and `all_retrieved` promises that there is none. `depth` ranks are wanted, all by default. Without
    `find_ties` ties leave nothing open, and no row counts as tied.
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
