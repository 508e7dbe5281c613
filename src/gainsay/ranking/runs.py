"""Runs of documents with equal scores, whose order a metric averages over."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .._typing import Bools, Floats, Integers


class TieRuns:
    """The runs of equal scores in each row; a document without an equal is a run of one, and so is all padding.

    Methods and attributes give one value per rank, shape (rows, width): at rank s + i of a run of t documents that
    has s documents before it, `before` is s and `length` is t. `starts` and `lengths` list the runs themselves, by
    position in the flattened rows.
    """

    def __init__(self, equal: Bools) -> None:
        rows, width = len(equal), equal.shape[1] + 1
        first = np.ones((rows, width), dtype=bool)
        np.logical_not(equal, out=first[:, 1:])
        self._shape = rows, width
        self.starts = np.flatnonzero(first)
        self.lengths = np.diff(self.starts, append=first.size)

    def _spread(self, per_run: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the value of its run at each rank."""
        return np.repeat(per_run, self.lengths).reshape(self._shape)

    @cached_property
    def before(self) -> Integers:
        """Documents ranked before the run."""
        return self._spread(self.starts % self._shape[1])

    @cached_property
    def length(self) -> Integers:
        """Documents in the run."""
        return self._spread(self.lengths)

    @cached_property
    def place(self) -> Integers:
        """Place within the run, 1 for its first rank."""
        places: Integers = np.arange(1, self._shape[1] + 1) - self.before
        return places

    def at_start(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the value that stands at the first rank of the run."""
        return self._spread(values.ravel()[self.starts])

    def total(self, values: Floats) -> Floats:
        """Sum over the run."""
        return self._spread(np.add.reduceat(values.ravel(), self.starts))

    def mean(self, values: Floats) -> Floats:
        """Mean over the run: what is expected at each of its ranks when all orders are equally likely."""
        sums = np.add.reduceat(values.ravel(), self.starts)
        return self._spread(sums / self.lengths)
