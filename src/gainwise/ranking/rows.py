"""Blocks of queries of similar length as padded rows, and their ranked rows with groups of ties.

Metrics are computed from ranked rows. Blocks fit into a CPU cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .._common import cached_property

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .._common.typing import Bools, Codes, Floats, Integers

Ties = Literal["average", "order", "worst", "best"]

BLOCK_CELLS = 131_072
"""Cells of a block: 1 MiB of 64-bit scores, about a second-level cache. Smaller blocks need more calls, between which
threads wait for the interpreter lock. Larger blocks do not fit into the cache."""

SPARE_CELLS = BLOCK_CELLS // 8
"""Largest padding of a block. A lower limit would cost more in calls than it saves in cells."""


@dataclass(frozen=True, eq=False, slots=True)
class Block:
    """Queries of similar length as the rows of a matrix. Row i is query `queries[i]`, padded on the right.

    `codes[i, j]` is the code of the label of the j-th document of that query, or -1 after its last document.
    """

    queries: Integers
    starts: Integers
    sizes: Integers
    codes: Codes

    @property
    def width(self) -> int:
        """Number of documents of the longest query."""
        return int(self.codes.shape[1])

    def gather(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return one value per cell from one value per document. Padding cells have arbitrary values."""
        return _windows(values, self.starts, self.width)


class Layout:
    """All queries of a dataset in blocks. `sizes` are the documents per query, `codes` the codes of their labels.

    `starts` is the first document of each query, followed by the number of documents. `longest` is the number of
    documents of the longest query.
    """

    def __init__(self, sizes: Integers, codes: Codes, levels: int) -> None:
        self.queries = len(sizes)
        self.levels = levels
        self.codes = codes
        self.starts: Integers = np.append(0, np.cumsum(sizes)).astype(np.int64)
        self.longest = int(sizes.max(initial=0))
        starts = self.starts[:-1]
        order = np.argsort(sizes, kind="stable")
        order = order[np.searchsorted(sizes[order], 1) :]  # Queries without documents are not ranked.
        # The queries of a block are in the order of the data, so that memory is read in one direction.
        self.blocks = [_block(np.sort(order[a:b]), starts, sizes, codes) for a, b in _cuts(sizes[order])]

    def count(self, code: int) -> Integers:
        """Return the number of documents of each query with a label code of at least `code` (>= 0)."""
        counts = np.zeros(self.queries, dtype=np.int64)
        for block in self.blocks:
            counts[block.queries] = np.count_nonzero(block.codes >= code, axis=1)
        return counts

    def sequential_sums(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the sum of `values` over each query, added one by one in the type of `values`."""
        sums = np.zeros(self.queries, dtype=values.dtype)
        for block in self.blocks:
            cells = np.where(block.codes >= 0, block.gather(values), values.dtype.type(0))
            sums[block.queries] = np.add.accumulate(cells, axis=1)[:, -1]
        return sums


def _block(queries: Integers, all_starts: Integers, all_sizes: Integers, codes: Codes) -> Block:
    starts, sizes = all_starts[queries], all_sizes[queries]
    cells = _windows(codes, starts, _width(int(sizes.max()), len(codes)))
    cells[np.arange(cells.shape[1]) >= sizes[:, None]] = -1
    return Block(queries, starts, sizes, cells)


def _width(longest: int, documents: int) -> int:
    """Return the width of rows. For longer queries it is a multiple of eight, so that sums need no further padding."""
    return longest if longest < 32 else min(-(-longest // 8) * 8, documents)


def _cuts(sizes: Integers) -> Iterator[tuple[int, int]]:
    """Cut ascending sizes into slices [a, b) whose matrices have few cells and little padding."""
    before = np.concatenate(([0], np.cumsum(sizes)))
    start = 0
    while start < len(sizes):
        low, high = start + 1, len(sizes)
        while low < high:  # Cells and padding both grow with the slice, so bisection works.
            middle = (low + high + 1) // 2
            cells = (middle - start) * int(sizes[middle - 1])
            padding = cells - int(before[middle] - before[start])
            low, high = (middle, high) if cells <= BLOCK_CELLS and padding <= SPARE_CELLS else (low, middle - 1)
        yield start, low
        start = low


def _windows(values: np.ndarray[Any, Any], starts: Integers, width: int) -> np.ndarray[Any, Any]:
    """Return rows of `width` consecutive values from each start. After the end of `values`, the last one repeats.

    Copying whole windows is several times faster than an index array.
    """
    last = len(values) - width
    windows = as_strided(values, (last + 1, width), (values.strides[0], values.strides[0]), writeable=False)
    rows: np.ndarray[Any, Any] = windows[np.minimum(starts, last)]
    overrun = np.flatnonzero(starts > last)
    if len(overrun):
        cells = starts[overrun, None] + np.arange(width)
        rows[overrun] = values[np.minimum(cells, len(values) - 1)]
    return rows


class TieGroups:
    """Groups of two or more documents with equal scores and different labels, in ascending order of position.

    Groups with a single label are not included, because every order has the same value. `starts` are the positions of
    the first documents in the flattened rows, which have `width` ranks each.
    """

    def __init__(self, starts: Integers, lengths: Integers, width: int) -> None:
        self.starts = starts
        self.lengths = lengths
        self.width = width
        self._reaching: dict[int, TieGroups] = {}

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def row(self) -> Integers:
        """The row of each group."""
        return self.starts // self.width

    @cached_property
    def before(self) -> Integers:
        """Number of documents ranked before each group."""
        return self.starts - self.row * self.width  # Faster than the remainder of the division.

    @cached_property
    def offsets(self) -> Integers:
        """Index in `positions` of the first document of each group."""
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def positions(self) -> Integers:
        """Position in the flattened rows of every document of every group."""
        positions: Integers = self.spread(self.starts) + self.places
        return positions

    @cached_property
    def places(self) -> Integers:
        """Place of every document within its group, starting with 0."""
        places: Integers = np.arange(len(self.number)) - self.spread(self.offsets)
        return places

    @cached_property
    def number(self) -> Integers:
        """The number of the group of every document."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def reaching(self, depth: int) -> TieGroups:
        """Return the groups with at least one document among the first `depth` ranks."""
        if depth >= self.width:
            return self
        if depth not in self._reaching:
            self._reaching[depth] = self.select(np.flatnonzero(self.before < depth))
        return self._reaching[depth]

    def select(self, numbers: Integers) -> TieGroups:
        """Return the groups with these numbers."""
        return TieGroups(self.starts[numbers], self.lengths[numbers], self.width)

    def find(self, row: Integers, column: Integers) -> tuple[Integers, Bools]:
        """Return the group of each document (a row and a rank), and whether the document is in a group."""
        position = row * self.width + column
        group = np.searchsorted(self.starts, position, side="right") - 1
        return group, (group >= 0) & (position < self.starts[group] + self.lengths[group])

    def spread(self, per_group: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the value of its group for every document of every group."""
        return np.take(per_group, self.number)  # np.repeat is as fast, but does not release the interpreter lock.

    def totals(self, values: np.ndarray[Any, Any]) -> Floats:
        """Return the sums over each group of values at `positions`."""
        if not len(self):
            return np.zeros(0)
        # A sum that converts its input does not release the interpreter lock.
        return np.add.reduceat(values.astype(np.float64, copy=False), self.offsets)

    def members(self, rows: int) -> Bools:
        """Return the mask of documents that belong to a group, shape (rows, width)."""
        members = np.zeros(rows * self.width, dtype=bool)
        members[self.positions] = True
        return members.reshape(rows, self.width)

    def mean(self, values: Floats) -> Floats:
        """Return `values`, shape (rows, width), with the mean of its group at every rank of a group."""
        mean = values.copy()
        self.average(mean, values.ravel()[self.positions])
        return mean

    def average(self, out: Floats, values: np.ndarray[Any, Any]) -> None:
        """Write the mean of its group to every rank of a group in `out`. `values` belong to `positions`.

        `out` is contiguous with shape (rows, depth), and all groups must reach these ranks.
        """
        depth, inside = out.shape[1], self
        if depth < self.width:  # The groups as they are in rows of the first ranks.
            lengths = np.minimum(self.lengths, depth - self.before)
            inside = TieGroups(self.row * depth + self.before, lengths, depth)
        out.ravel()[inside.positions] = inside.spread(self.totals(values) / self.lengths)


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

    def split(self, depth: int) -> list[RankedRows]:
        """Return the first ranks of rows without a group that reaches them, and the other rows with their groups."""
        if self.tie_groups is None:
            return [RankedRows(self.queries, self.codes[:, :depth].copy(), self.sizes)]
        groups = self.tie_groups.reaching(depth)
        has_group = np.zeros(len(self.codes), dtype=bool)
        has_group[groups.row] = True
        tied, settled = np.flatnonzero(has_group), np.flatnonzero(~has_group)
        first = RankedRows(self.queries[settled], self.codes[settled, :depth], self.sizes[settled])
        starts = np.searchsorted(tied, groups.row) * self.width + groups.before
        groups = TieGroups(starts, groups.lengths, self.width)
        rest = RankedRows(self.queries[tied], self.codes[tied], self.sizes[tied], groups)
        return [rows for rows in (first, rest) if len(rows.queries)]

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
    return RankedRows(block.queries, codes, block.sizes, groups).split(width if depth is None else depth)


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
