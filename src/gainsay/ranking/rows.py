"""Ranked rows: the labels of a block of queries by rank, and the groups of ties. Metrics are computed from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .tie_groups import TieGroups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._common.typing import Bools, Codes, Floats, Integers
    from .layout import Block, Ties


@dataclass(frozen=True, eq=False, slots=True)
class RankedRows:
    """Queries as rows, ranks as columns."""

    queries: Integers
    """The query of each row."""
    codes: Codes
    """The code of the label at each rank (rank 1 is column 0), shape (rows, width), and `blank_code(levels)` at ranks
    without a retrieved document."""
    sizes: Integers
    """Number of documents of each query, retrieved or not."""
    tie_groups: TieGroups | None = None
    """Groups of documents with equal scores. A metric averages over their orders. None if there are no such groups."""

    @property
    def width(self) -> int:
        """Number of ranks."""
        return int(self.codes.shape[1])

    def split(self, depth: int) -> tuple[RankedRows | None, RankedRows | None]:
        """Return the first ranks of rows without a group that reaches them, and the other rows with their groups."""
        if self.tie_groups is None:
            return RankedRows(self.queries, self.codes[:, :depth].copy(), self.sizes), None
        groups = self.tie_groups.reaching(depth)
        has_group = np.zeros(len(self.codes), dtype=bool)
        has_group[groups.row] = True
        tied, settled = np.flatnonzero(has_group), np.flatnonzero(~has_group)
        first = RankedRows(self.queries[settled], self.codes[settled, :depth], self.sizes[settled])
        if not len(tied):
            return first, None
        starts = np.searchsorted(tied, groups.row) * self.width + groups.before
        groups = TieGroups(starts, groups.lengths, self.width)
        rest = RankedRows(self.queries[tied], self.codes[tied], self.sizes[tied], groups)
        return first if len(settled) else None, rest

    def look_up(self, table: Floats, depth: int) -> Floats:
        """Return the expected value of `table[code]` at each of the first `depth` ranks, shape (rows, depth)."""
        values: Floats = np.take(table, self.codes[:, :depth])
        if self.tie_groups is not None:
            groups = self.tie_groups.reaching(depth)
            groups.average(values, np.take(table, self.codes.ravel()[groups.positions]))
        return values

    def at_least(self, code: int, levels: int) -> Bools:
        """Return the mask of documents with label code >= `code`, shape (rows, width)."""
        blank = blank_code(levels)
        kind = self.codes.dtype.type
        # One comparison tests code <= x < blank, because the unsigned subtraction wraps smaller codes to large numbers.
        mask: Bools = (self.codes - kind(code)) < kind(blank - code)
        return mask


def blank_code(levels: int) -> int:
    """Return the code of ranks without a retrieved document: all ones, above the codes of `levels`."""
    return (1 << levels.bit_length()) - 1


def table_of(values: Floats) -> Floats:
    """Return a table indexed by code with one value per level, and 0 for the blank code."""
    table = np.zeros(blank_code(len(values)) + 1)
    table[: len(values)] = values
    return table


def rank_block(
    block: Block, scores: np.ndarray[Any, Any], ties: Ties, levels: int, depth: int | None = None
) -> list[RankedRows]:
    """Rank the queries of a block by descending score. Queries with tie groups are returned separately.

    Scores are float32 or float64, one per document of the dataset and contiguous by query, without NaN. -inf marks a
    document that was not retrieved. `levels` is the number of distinct labels. `depth` is the number of ranks to
    return, by default all. Queries with tie groups always have all ranks.
    """
    blank, width = blank_code(levels), block.width
    keys = np.subtract(0.0, block.gather(scores), dtype=np.float64)  # Ascending, and -0.0 becomes 0.0.
    keys[block.codes < 0] = np.inf
    order = np.argsort(keys, axis=1)  # Not stable, but several times faster than a stable sort.
    order += np.arange(len(order))[:, None] * width  # Positions in the flattened rows.
    keys.sort(axis=1)
    codes = np.take(block.codes, order).astype(np.min_scalar_type(blank))
    codes[keys == np.inf] = blank
    equal = (keys[:, 1:] == keys[:, :-1]) & (keys[:, 1:] < np.inf)
    tied = np.flatnonzero(equal.any(axis=1))
    if len(tied):
        differs = ~equal[tied]
        if ties == "order":
            positions = _sort_within(differs, order[tied], order.size.bit_length())
            codes[tied] = np.where(codes[tied] == blank, blank, np.take(block.codes, positions))
        elif ties == "best":
            codes[tied] = blank - _sort_within(differs, blank - codes[tied], blank.bit_length())
        else:
            codes[tied] = _sort_within(differs, codes[tied], blank.bit_length())
    groups = _find_groups(equal, codes) if ties == "average" and len(tied) else None
    parts = RankedRows(block.queries, codes, block.sizes, groups).split(width if depth is None else depth)
    return [rows for rows in parts if rows is not None]


def _sort_within(differs: Bools, values: np.ndarray[Any, Any], bits: int) -> Integers:
    """Return the values of each row, below 2**bits, sorted among equal scores.

    `differs` marks scores that differ from the next one.
    """
    wide = differs.shape[1].bit_length() + bits > 31
    keys = np.zeros(values.shape, dtype=np.int64 if wide else np.int32)
    np.cumsum(differs, axis=1, out=keys[:, 1:])
    keys <<= bits
    np.bitwise_or(keys, values, out=keys, casting="unsafe")
    keys.sort(axis=1)
    keys &= (1 << bits) - 1
    return keys


def _find_groups(equal: Bools, codes: Codes) -> TieGroups:
    """Return the groups with different codes, which are in ascending order. `equal` marks scores equal to the next."""
    after = np.pad(equal, ((0, 0), (0, 1)))
    before = np.pad(equal, ((0, 0), (1, 0)))
    starts, ends = np.flatnonzero(after & ~before), np.flatnonzero(before & ~after)
    different = codes.ravel()[starts] != codes.ravel()[ends]
    return TieGroups(starts[different], (ends - starts + 1)[different], codes.shape[1])


def ideal_rows(block: Block, levels: int, by: Integers | None = None) -> RankedRows:
    """Return the queries of a block with their documents in ideal order: descending code, or descending `by[code]`."""
    codes = block.codes if by is None else np.append(by, -1)[block.codes]
    wide = codes.astype(np.int32)  # NumPy has SIMD instructions to sort 32-bit integers, but not for 8 bits.
    ideal: Codes = -np.sort(-wide, axis=1)
    if by is not None:
        back = np.empty(levels + 1, dtype=np.int64)
        back[np.append(by, -1)] = np.append(np.arange(levels), -1)
        ideal = back[ideal]
    blank = blank_code(levels)
    return RankedRows(block.queries, np.where(ideal < 0, blank, ideal).astype(np.min_scalar_type(blank)), block.sizes)


def sums_at(values: Floats, cutoffs: Sequence[int | None]) -> Floats:
    """Return the sums of the first k values of each row for each cutoff k (None: all), shape (rows, cutoffs).

    Appending zeros to all rows changes no bit of the sums, so the value of a query does not depend on the other
    queries of its block.
    """
    width = values.shape[1]
    sums = np.empty((len(values), len(cutoffs)))
    running = _running_sums(values[:, : max((k for k in cutoffs if k is not None), default=0)])
    for column, k in enumerate(cutoffs):
        sums[:, column] = row_sums(values) if k is None else running[:, min(k, width) - 1]
    return sums


def _running_sums(values: Floats) -> Floats:
    """Return the sums of the first 1, 2, … values of each row, added one by one."""
    rows, width = values.shape
    if rows < width * 8:
        return np.add.accumulate(values, axis=1)
    running = np.empty((width, rows)).T  # For many short rows, adding rank by rank is several times faster.
    running[:, :1] = values[:, :1]
    for rank in range(1, width):
        np.add(running[:, rank - 1], values[:, rank], out=running[:, rank])
    return running


def row_sums(values: Floats) -> Floats:
    """Return the sum of each row. Appending zeros to all rows changes no bit.

    Rows are added in chunks of 128, so that appended zeros only add chunks of zeros. NumPy adds up to 128 numbers in
    eight interleaved partial sums, which do not change with zeros up to a multiple of eight.
    """
    while values.shape[1] > 1:
        starts = range(0, values.shape[1], 128)
        sums = np.zeros((len(values), 1 if len(starts) == 1 else -(-len(starts) // 8) * 8))
        for place, start in enumerate(starts):
            np.add.reduce(_to_eights(values[:, start : start + 128]), axis=1, out=sums[:, place])
        values = sums
    return values[:, 0]


def _to_eights(values: Floats) -> Floats:
    """Return the rows with zeros appended up to a multiple of eight."""
    rows, width = values.shape
    if width % 8 == 0:
        return values
    padded = np.zeros((rows, -(-width // 8) * 8))
    padded[:, :width] = values
    return padded
