"""Ranked rows: the labels of a block of queries by rank, and the runs of documents with equal scores.

This is all that a metric ever sees of the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .order import rank_rows
from .runs import TieRuns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._common.typing import Bools, Codes, Floats, Integers
    from .layout import Block, Ties


@dataclass(frozen=True, eq=False, slots=True)
class RankedRows:
    """Queries as rows, ranks as columns."""

    queries: Integers
    """Which query of the data set each row is."""
    codes: Codes
    """The code of the label of the document at each rank (rank 1 is column 0), shape (rows, width);
    `blank_code(levels)` where no document was retrieved."""
    sizes: Integers
    """Documents of each query, whether retrieved or not."""
    runs: TieRuns | None = None
    """The runs of documents with equal scores over whose orders a metric is to average; None where every document has
    its rank."""

    @property
    def width(self) -> int:
        """Number of ranks."""
        return int(self.codes.shape[1])

    def parted(self, depth: int) -> tuple[RankedRows | None, RankedRows | None]:
        """Return the first ranks of the rows in which no run reaches them, and the other rows with their runs."""
        if self.runs is None:
            return RankedRows(self.queries, self.codes[:, :depth].copy(), self.sizes), None
        runs = self.runs.reaching(depth)
        there = np.zeros(len(self.codes), dtype=bool)
        there[runs.row] = True
        tied, settled = np.flatnonzero(there), np.flatnonzero(~there)
        if len(tied) > len(settled):
            return None, self  # choosing costs more than it saves
        first = RankedRows(self.queries[settled], self.codes[settled, :depth], self.sizes[settled])
        if not len(tied):
            return first, None
        starts = np.searchsorted(tied, runs.row) * self.width + runs.before
        runs = TieRuns(starts, runs.lengths, self.width)
        return first, RankedRows(self.queries[tied], self.codes[tied], self.sizes[tied], runs)

    def look_up(self, table: Floats, depth: int) -> Floats:
        """Return the expected value of `table[code]` at each of the first `depth` ranks, shape (rows, depth)."""
        values: Floats = np.take(table, self.codes[:, :depth])
        if self.runs is not None:
            runs = self.runs.reaching(depth)
            runs.average(values, np.take(table, self.codes.ravel()[runs.positions]))
        return values

    def at_least(self, code: int, levels: int) -> Bools:
        """Return at which ranks a document with label code >= `code` stands, shape (rows, width)."""
        blank = blank_code(levels)
        kind = self.codes.dtype.type
        # one comparison for code <= x < blank: unsigned subtraction wraps the codes below round to the top
        found: Bools = (self.codes - kind(code)) < kind(blank - code)
        return found


def discounted_sums(rows: RankedRows, table: Floats, discount: Floats, cutoffs: Sequence[int]) -> Floats:
    """Return the sums of `table[code] * discount[rank]` over the first k ranks, shape (rows, cutoffs).

    For rows without runs; the same sums as those of `sums_at`, added up rank by rank for all rows.
    """
    sums = np.empty((len(rows.codes), len(cutoffs)))
    running = np.zeros(len(rows.codes))
    depth = min(rows.width, max(cutoffs))
    for rank in range(depth):
        running += np.take(table * discount[rank], rows.codes[:, rank])
        for column, k in enumerate(cutoffs):
            if min(k, depth) == rank + 1:
                sums[:, column] = running
    return sums


def blank_code(levels: int) -> int:
    """Return the code that stands where no document was retrieved: all ones, just above the codes of `levels`."""
    return (1 << levels.bit_length()) - 1


def table_of(values: Floats) -> Floats:
    """Return a table indexed by code with one value per level, and 0 for the blank code."""
    table = np.zeros(blank_code(len(values)) + 1)
    table[: len(values)] = values
    return table


def rank_block(
    block: Block,
    scores: np.ndarray[Any, Any],
    ties: Ties,
    levels: int,
    depth: int | None = None,
    *,
    all_retrieved: bool,
) -> list[RankedRows]:
    """Rank the queries of a block; where ties leave some of their orders open, these come by themselves, with runs.

    Scores, float32 or float64, are those of all documents, of a query together: not NaN, -inf for a document that was
    not retrieved; `all_retrieved` promises that there is none. `levels` is the number of distinct labels. `depth` ranks
    are wanted, all by default; queries with runs always have all, for a run may reach far down.
    """
    payload = block.payload(levels, ties)
    average = ties == "average"
    found = rank_rows(block.gather(scores), payload, depth, all_retrieved=all_retrieved, find_ties=average)
    codes = found.codes
    if ties == "best":
        blank = blank_code(levels)
        codes = np.where(codes == blank, codes, codes.dtype.type(levels - 1) - codes)
    if not len(found.runs):
        return [RankedRows(block.queries, codes, block.sizes)]
    tied = RankedRows(block.queries[found.tied], found.tied_codes, block.sizes[found.tied], found.runs)
    if len(found.tied) == len(codes):
        return [tied]
    settled = np.ones(len(codes), dtype=bool)
    settled[found.tied] = False
    return [RankedRows(block.queries[settled], codes[settled], block.sizes[settled]), tied]


def ideal_rows(block: Block, levels: int, by: Integers | None = None) -> RankedRows:
    """Return the block's queries with their documents in ideal order: descending code, or descending `by[code]`."""
    codes = block.codes if by is None else np.append(by, -1)[block.codes]
    wide = codes.astype(np.int32)  # NumPy sorts 32 bits with SIMD instructions, the 8 bits of codes without
    ideal: Codes = -np.sort(-wide, axis=1)
    if by is not None:
        back = np.empty(levels + 1, dtype=np.int64)
        back[np.append(by, -1)] = np.append(np.arange(levels), -1)
        ideal = back[ideal]
    blank = blank_code(levels)
    return RankedRows(block.queries, np.where(ideal < 0, blank, ideal).astype(np.min_scalar_type(blank)), block.sizes)


def first_ranks(parts: list[RankedRows], depth: int, levels: int) -> RankedRows:
    """Return the first `depth` ranks, or as many as there are, of rows without ties; blank where a row is shorter."""
    depth = min(depth, max(part.width for part in parts))
    rows = sum(len(part.codes) for part in parts)
    codes = np.full((rows, depth), blank_code(levels), dtype=parts[0].codes.dtype)
    start = 0
    for part in parts:
        codes[start : start + len(part.codes), : min(depth, part.width)] = part.codes[:, :depth]
        start += len(part.codes)
    queries = np.concatenate([part.queries for part in parts])
    return RankedRows(queries, codes, np.concatenate([part.sizes for part in parts]))


def sums_at(values: Floats, cutoffs: Sequence[int | None]) -> Floats:
    """Return the sums of the first k values of each row for each cutoff k (None: all), shape (rows, cutoffs).

    A row's sums do not change, to the last bit, when zeros are appended to all rows: what a query scores must not
    depend on which other queries stand beside it.
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
    running = np.empty((width, rows)).T  # many short rows: rank by rank is several times faster
    running[:, :1] = values[:, :1]
    for rank in range(1, width):
        np.add(running[:, rank - 1], values[:, rank], out=running[:, rank])
    return running


def row_sums(values: Floats) -> Floats:
    """Return the sum of each row; zeros appended to all rows change none of them, to the last bit.

    Rows are added in chunks of 128, so that zeros behind a row only append chunks of zeros. NumPy adds up to 128
    numbers in eight interleaved partial sums; in multiples of eight these stay the same.
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
