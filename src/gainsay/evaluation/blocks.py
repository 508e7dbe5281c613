"""Evaluating in NumPy, block by block: what any metric can do, and what the compiled core's values are held against."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._common.cached import cached_property
from ..ranking.compiled import Ask
from ..ranking.rows import RankedRows, first_ranks, rank_block
from .pace import Pace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from .._common.typing import Floats, Integers
    from ..metrics.base import Metric
    from ..ranking.layout import Block, Layout, Ties

T = TypeVar("T")

SHALLOW = 50
"""Metrics that look at no more ranks than these are read off many queries at once, when all blocks have been ranked."""

DOCUMENTS_PER_THREAD = 150_000
"""One more thread pays for itself from about this many documents on."""

QUERIES_TOGETHER = 16_384
"""How many queries at once: fewer would cost more calls; of more the ten first ranks leave a second-level cache."""


@dataclass(frozen=True, eq=False)
class Family:
    """Metrics that differ in their cutoff only, and where among their group's values theirs stand."""

    metric: Metric
    facts: Any
    cutoffs: Sequence[int | None]
    place: slice

    @property
    def _value_if_empty(self) -> float:
        return float("nan") if self.metric.empty == "skip" else self.metric.empty

    @cached_property
    def _empty(self) -> tuple[Integers, Integers]:
        """Where among the values of the family queries are without relevant documents."""
        queries, column = np.nonzero(np.broadcast_to(self.facts.empty, (len(self.facts.empty), len(self.cutoffs))))
        return queries, column

    @property
    def depth(self) -> int | None:
        """How many ranks the cutoffs look at; None for all."""
        return None if None in self.cutoffs else max(k for k in self.cutoffs if k is not None)

    @property
    def is_shallow(self) -> bool:
        """Whether the family looks at the first few ranks only."""
        return self.depth is not None and self.depth <= SHALLOW

    def values(self, rows: RankedRows) -> Floats:
        """Return the values of the rows' queries, shape (rows, cutoffs)."""
        values = self.metric.score(rows, self.facts, self.cutoffs)
        if np.shape(values) != (len(rows.queries), len(self.cutoffs)):  # or NumPy might stretch them
            raise ValueError(
                f"{type(self.metric).__name__}.score returned shape {np.shape(values)} for {len(rows.queries)} rows "
                f"and {len(self.cutoffs)} cutoffs: it must return one value for each row at each cutoff"
            )
        return values

    def settle(self, found: Floats) -> None:
        """Write the values of queries without relevant documents, those without documents among them."""
        queries, column = self._empty
        found[queries, self.place.start + column] = self._value_if_empty

    @cached_property
    def ask(self) -> Ask | None:
        """What the compiled core is asked for; None where the metric is no formula that it knows."""
        formula = self.metric.formula(self.facts, self.cutoffs)
        if formula is None:
            return None
        return Ask(formula, self.cutoffs, self.place, self.facts.empty, self._value_if_empty)


class Blocks:
    """Families of metrics for which documents are ranked alike."""

    def __init__(self, families: Sequence[Family], ties: Ties) -> None:
        self.families = families
        self._ties = ties
        self._pace = Pace()
        self._shallow = [family for family in families if family.is_shallow]
        self._deep = [family for family in families if not family.is_shallow]
        self._shallow_depth = max((family.depth or 0 for family in self._shallow), default=0)
        depths = [family.depth for family in families if family.depth is not None]
        self._depth = max(depths, default=0) if len(depths) == len(families) else None

    def evaluate(
        self, layout: Layout, scores: np.ndarray[Any, Any], all_retrieved: bool, found: Floats, threads: int
    ) -> None:
        """Write the values of all queries to `found`, shape (queries, values of the families and of others)."""
        threads = min(threads, len(layout.blocks), len(scores) // DOCUMENTS_PER_THREAD)
        work = partial(self._evaluate, layout.levels, scores, all_retrieved, found)
        self._pace.timed(threads, partial(_shared_out, work, layout.blocks))
        for family in self.families:
            family.settle(found)

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
            for rows in rank_block(block, scores, self._ties, levels, self._depth, all_retrieved=all_retrieved):
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
