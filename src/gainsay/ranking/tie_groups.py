"""Groups of documents with equal scores. Metrics average over their orders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.cached import cached_property

if TYPE_CHECKING:
    from .._common.typing import Bools, Floats, Integers


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

    def within(self, depth: int) -> TieGroups:
        """Return the groups as they are in rows of the first `depth` ranks, which all of them must reach."""
        if depth == self.width:
            return self
        return TieGroups(self.row * depth + self.before, np.minimum(self.lengths, depth - self.before), depth)

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
        inside = self.within(out.shape[1])
        out.ravel()[inside.positions] = inside.spread(self.totals(values) / self.lengths)
