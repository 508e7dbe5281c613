"""Runs of documents with equal scores, over whose orders a metric averages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.cached import cached_property

if TYPE_CHECKING:
    from .._common.typing import Bools, Floats, Integers


class TieRuns:
    """Runs of two or more documents with equal scores and different labels, in ascending order.

    Only these make a ranking uncertain: a document whose equals all have its label is worth the same in any order.
    `starts` are the positions of their first documents in the flattened rows, of `width` ranks each.
    """

    def __init__(self, starts: Integers, lengths: Integers, width: int) -> None:
        self.starts = starts
        self.lengths = lengths
        self.width = width
        self._reaching: dict[int, TieRuns] = {}
        self._within: dict[int, TieRuns] = {}

    def __len__(self) -> int:
        return len(self.starts)

    @cached_property
    def row(self) -> Integers:
        """The row of each run."""
        return self.starts // self.width

    @cached_property
    def before(self) -> Integers:
        """Documents ranked before each run."""
        return self.starts - self.row * self.width  # division is quick, its remainder is not

    @cached_property
    def offsets(self) -> Integers:
        """Place of each run's first document in `positions`."""
        return np.cumsum(self.lengths) - self.lengths

    @cached_property
    def positions(self) -> Integers:
        """Position in the flattened rows of every document of every run."""
        positions: Integers = self.spread(self.starts) + self.places
        return positions

    @cached_property
    def places(self) -> Integers:
        """Place of every document within its run, 0 for the first."""
        places: Integers = np.arange(len(self.number)) - self.spread(self.offsets)
        return places

    @cached_property
    def number(self) -> Integers:
        """The run, by its number, that every document of every run belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def reaching(self, depth: int) -> TieRuns:
        """Return the runs of which at least one document stands among the first `depth` ranks."""
        if depth >= self.width:
            return self
        if depth not in self._reaching:
            self._reaching[depth] = self.chosen(np.flatnonzero(self.before < depth))
        return self._reaching[depth]

    def chosen(self, which: Integers) -> TieRuns:
        """Return some of the runs, by number."""
        return TieRuns(self.starts[which], self.lengths[which], self.width)

    def over(self, row: Integers, column: Integers) -> tuple[Integers, Bools]:
        """Return the run that holds each given document (of a row and a rank), and whether there is one."""
        at = row * self.width + column
        run = np.searchsorted(self.starts, at, side="right") - 1
        return run, (run >= 0) & (at < self.starts[run] + self.lengths[run])

    def spread(self, per_run: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the value of its run for every document of every run."""
        return np.take(per_run, self.number)  # np.repeat is as fast, but keeps other threads waiting

    def totals(self, values: np.ndarray[Any, Any]) -> Floats:
        """Return the sums over each run of values that stand at its positions."""
        if not len(self):
            return np.zeros(0)
        # converted beforehand: a sum that converts keeps other threads waiting
        return np.add.reduceat(values.astype(np.float64, copy=False), self.offsets)

    def within(self, depth: int) -> TieRuns:
        """Return the runs, all of which reach the first `depth` ranks, as they stand in rows of that many."""
        if depth == self.width:
            return self
        if depth not in self._within:
            starts = self.row * depth + self.before
            self._within[depth] = TieRuns(starts, np.minimum(self.lengths, depth - self.before), depth)
        return self._within[depth]

    def members(self, rows: int) -> Bools:
        """Return which documents belong to a run, shape (rows, width)."""
        size = rows * self.width
        if self.lengths.sum() < size // 8:
            members = np.zeros(size, dtype=bool)
            members[self.positions] = True
        else:
            edges = np.zeros(size + 1, dtype=np.int8)
            edges[self.starts] = 1
            edges[self.starts + self.lengths] -= 1  # where the next run follows at once, the two cancel
            members = np.add.accumulate(edges[:-1], dtype=np.int8).view(bool)
        return members.reshape(rows, self.width)

    def mean(self, values: Floats) -> Floats:
        """Return `values`, of shape (rows, width), with the mean over its run at every rank of a run."""
        mean = values.copy()
        self.average(mean, values.ravel()[self.positions])
        return mean

    def average(self, out: Floats, values: np.ndarray[Any, Any]) -> None:
        """Put the mean over its run, of values that stand at the runs' positions, at every rank of a run in `out`.

        `out` is contiguous, of shape (rows, depth); all runs must reach these ranks.
        """
        inside = self.within(out.shape[1])
        out.ravel()[inside.positions] = inside.spread(self.totals(values) / self.lengths)
