"""Evaluating in NumPy, block by block: what any metric can do, and what the compiled core's values are held against."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._common.cached import cached_property
from ..ranking.rows import RankedRows, first_ranks, rank_block
from .pace import Pace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from .._common.typing import Floats, Integers
    from ..ranking.layout import Block, Layout, Ties
    from .families import Family

T = TypeVar("T")

DOCUMENTS_PER_THREAD = 150_000
"""One more thread pays for itself from about this many documents on."""

QUERIES_TOGETHER = 16_384
"""How many queries at once: fewer would cost more calls; of more the ten first ranks leave a second-level cache."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """Families of metrics for which documents are ranked alike."""

    families: Sequence[Family]
    ties: Ties
    pace: Pace = field(default_factory=Pace)

    def evaluate(
        self, layout: Layout, scores: np.ndarray[Any, Any], all_retrieved: bool, found: Floats, threads: int
    ) -> None:
        """Write the values of all queries to `found`, shape (queries, values of the families and of others)."""
        threads = min(threads, len(layout.blocks), len(scores) // DOCUMENTS_PER_THREAD)
        work = partial(self._evaluate, layout.levels, scores, all_retrieved, found)
        self.pace.timed(threads, partial(_shared_out, work, layout.blocks))
        for family in self.families:
            family.settle(found)

    @cached_property
    def _depth(self) -> int | None:
        """How many ranks the families look at; None for all."""
        depths = [family.depth for family in self.families]
        return None if None in depths else max(depth for depth in depths if depth is not None)

    @cached_property
    def _shallow(self) -> list[Family]:
        return [family for family in self.families if family.is_shallow]

    @cached_property
    def _deep(self) -> list[Family]:
        return [family for family in self.families if not family.is_shallow]

    @cached_property
    def _shallow_depth(self) -> int:
        return max((family.depth or 0 for family in self._shallow), default=0)

    def _evaluate(
        self,
        levels: int,
        scores: np.ndarray[Any, Any],
        all_retrieved: bool,
        found: Floats,
        blocks: Iterable[Block],
    ) -> None:
        """Rank the queries of some blocks and evaluate them; shallow families on several blocks at once.

        Ties need the labels of whole runs, which may reach far down, so queries that have some are done with at once.
        """
        waiting: list[RankedRows] = []
        for block in blocks:
            for rows in rank_block(block, scores, self.ties, levels, self._depth, all_retrieved=all_retrieved):
                self._write(self._deep, rows, found)
                first, tied = rows.parted(self._shallow_depth) if self._shallow else (None, None)
                if first is not None:
                    waiting.append(first)
                if tied is not None:
                    self._write(self._shallow, tied, found)
            if sum(len(rows.queries) for rows in waiting) > QUERIES_TOGETHER:
                self._write(self._shallow, first_ranks(waiting, self._shallow_depth, levels), found)
                waiting = []
        if waiting:
            self._write(self._shallow, first_ranks(waiting, self._shallow_depth, levels), found)

    def _write(self, families: list[Family], rows: RankedRows, found: Floats) -> None:
        """Write the values of some families for some queries to `found`, shape (queries, values of the group)."""
        if sum(len(family.cutoffs) for family in families) == found.shape[1]:
            values = np.empty((len(rows.queries), found.shape[1]))
            for family in families:
                values[:, family.place] = family.values(rows)
            _put(found, rows.queries, values)
            return
        for family in families:
            _put(found[:, family.place], rows.queries, family.values(rows))


def _put(found: Floats, queries: Integers, values: Floats) -> None:
    """Write the values of some queries, one row each."""
    first, count = int(queries[0]), len(queries)
    if queries[-1] == first + count - 1 and (np.diff(queries) == 1).all():
        found[first : first + count] = values  # all in one go
    else:
        found[queries] = values


def _shared_out(work: Callable[[Iterable[T]], None], items: Sequence[T], threads: int) -> None:
    """Have the work done by some threads, of which this one is the first; each takes the next item when it is free."""
    if threads <= 1:
        work(items)
        return

    from concurrent.futures import ThreadPoolExecutor  # 6 ms to load: not for those who never need it

    waiting = iter(items)
    turn = Lock()

    def share() -> Iterator[T]:
        while True:
            with turn:
                item = next(waiting, None)
            if item is None:
                return
            yield item

    with ThreadPoolExecutor(threads - 1) as pool:
        others = [pool.submit(work, share()) for _ in range(threads - 1)]
        work(share())
        for other in others:
            other.result()
