"""Exact, stable descending order of every row of a block, by sorting values instead of positions.

NumPy sorts 64-bit integers with SIMD instructions, 3 to 20 times faster than a stable `argsort`. Each score becomes an
integer with the same order. Its lowest bits are replaced by the code of the label and the place of the document in its
row. Then the rows are sorted. Two scores may differ only in the replaced bits, so scores are compared directly if the
other bits agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .packing import BLANK, NOT_RETRIEVED, descending_keys
from .tie_groups import TieGroups

if TYPE_CHECKING:
    from .._common.typing import Bools, Codes, Floats, Integers
    from .packing import Keys, Payload

FEW = 0.25
"""Up to this share of documents that tie with the next one, these are compared individually."""

MOST = 0.75
"""Above this share of rows with possible ties, all rows are processed again, because selecting rows copies them."""

NARROW = 256
"""Rows with more documents are partitioned at the depth before their first ranks are sorted."""


@dataclass(frozen=True, eq=False, slots=True)
class Ranking:
    """Codes in ranked order, all ones for blanks, and the groups of ties."""

    codes: Codes
    """Codes at the first ranks, shape (rows, depth)."""
    tied: Integers
    """The rows with a tie group that reaches the first ranks, and perhaps others."""
    tied_codes: Codes
    """The codes of these rows at all ranks, in ranked order up to the end of the groups."""
    tie_groups: TieGroups
    """The groups in `tied_codes`."""


def rank_rows(
    scores: np.ndarray[Any, Any],
    payload: Payload,
    depth: int | None = None,
    *,
    all_retrieved: bool = False,
    find_ties: bool = True,
) -> Ranking:
    """Rank each row by descending score, then ascending payload.

    Scores are float64 or float32 of shape (rows, width) without NaN, with arbitrary values in blanks. Documents with
    score -inf become blanks, and `all_retrieved` states that none exist. `depth` is the number of ranks to return,
    by default all. Without `find_ties`, no row has tie groups.
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
    open_ties = TieGroups(nowhere, nowhere, width)
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
        open_ties = _find_groups(pairs, equal, codes_of_tied, depth)
    return Ranking(codes, doubtful if len(open_ties) else nowhere, codes_of_tied, open_ties)


def _agreeing(packed: Keys, low: np.uint64) -> Bools:
    """Return the mask of keys that are equal to the next one of their row, payload excluded."""
    keys = packed.ravel()
    agree: Bools = np.zeros(packed.shape, dtype=bool)
    np.less_equal(keys[1:] ^ keys[:-1], low, out=agree.reshape(-1)[:-1])
    agree[:, -1] = False
    return agree


def _doubtful(agree: Bools, head: Keys, codes: Codes, depth: int) -> Integers:
    """Return the rows with scores that may be equal or in the wrong order, because keys agree except for the payload.

    If the codes are equal too, the order does not matter, except at the last rank. If all ranks are requested, the
    result is all rows or none.
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
    """Return the positions in the flattened rows of documents among the first `depth` that are equal to the next."""
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
    """Return the rows with scores that differ although their keys agree except for the payload (`equal`).

    Only groups that begin among the first `depth` ranks are compared.
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
    """Return the rows with a group that continues after the first `depth` ranks with other scores.

    A group has one score if its length is the number of documents of the row with this score.
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
    """Return the codes of rows in ranked order and the mask of scores that equal the next, comparing all bits.

    This is slower than sorting keys.
    """
    negated = np.where(cells < 0, np.inf, np.subtract(0.0, scores, dtype=np.float64))
    order = np.lexsort((cells, negated), axis=1)
    ranked = np.take_along_axis(negated, order, axis=1)
    equal = np.zeros(scores.shape, dtype=bool)
    np.equal(ranked[:, 1:], ranked[:, :-1], out=equal[:, :-1])
    codes = payload.codes(np.take_along_axis(cells, order, axis=1).astype(np.uint64))
    codes[ranked == np.inf] = payload.blank
    return codes, equal


def _find_groups(pairs: Integers, equal: Bools, codes: Codes, depth: int) -> TieGroups:
    """Return the groups with different codes that begin among the first `depth` ranks.

    `equal`, shape (rows, width), marks documents that have the score of the next one, or are blank as it is. `pairs`
    are the positions of those among the first ranks.
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
    some = np.flatnonzero(flat[first] != flat[last])  # Groups are ordered by code.
    first = first[some]
    return TieGroups(first, last[some] - first + 1, width)
