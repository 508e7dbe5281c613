"""Metrics grouped so that documents are ranked once, and metrics that differ in their cutoff share their sums."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._common.cached import cached_property
from ..ranking.rows import RankedRows, first_ranks, rank_block

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .._common.typing import Bools, Floats
    from ..judgments import Judgments, Unjudged
    from ..metrics.base import Metric, Scores
    from ..ranking.layout import Block, Ties


S = TypeVar("S")
T = TypeVar("T")

DOCUMENTS_PER_THREAD = 150_000
"""One more thread pays for itself from about this many documents on."""

SHALLOW = 50
"""Metrics that look at no more ranks than these are read off many queries at once, when all blocks have been ranked."""

QUERIES_TOGETHER = 16_384
"""How many queries at once: fewer would cost more calls; of more the ten first ranks leave a second-level cache."""


@dataclass(frozen=True, eq=False)
class Family:
    """Metrics that differ in their cutoff only, and where among their group's values theirs stand."""

    metric: Metric
    facts: Any
    cutoffs: Sequence[int | None]
    place: slice

    @cached_property
    def has_empty(self) -> bool:
        """Whether any query is without relevant documents."""
        return bool(self.facts.empty.any())

    @cached_property
    def depth(self) -> int | None:
        """How many ranks the cutoffs look at; None for all."""
        return None if None in self.cutoffs else max(k for k in self.cutoffs if k is not None)

    @property
    def is_shallow(self) -> bool:
        """Whether the family looks at the first few ranks only."""
        return self.depth is not None and self.depth <= SHALLOW

    def write(self, rows: RankedRows, found: Floats) -> None:
        """Write the values of the rows' queries to `found`, shape (queries, values of the group)."""
        values = self.metric.score(rows, self.facts, self.cutoffs)
        if self.has_empty:
            values = np.where(self.facts.empty[rows.queries], value_if_empty(self.metric), values)
        found[rows.queries, self.place] = values


@dataclass(frozen=True, eq=False)
class Group:
    """Metrics for which documents are ranked alike, and the columns of the result that their values go to.

    `kept` says which of all documents, by query, `judgments` holds; None where it holds all.
    """

    judgments: Judgments
    kept: Bools | None
    ties: Ties
    scores: Scores
    families: list[Family] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)

    def evaluate(self, scores: np.ndarray[Any, Any], lowest: float, threads: int) -> Floats:
        """Return the value of each query under each metric of the group, shape (queries, values).

        `scores` are one per document, documents of a query together, none of them NaN, and `lowest` is the lowest.
        """
        judgments = self.judgments
        if self.kept is not None:
            scores = scores[self.kept]
        if self.scores == "float32":
            with np.errstate(over="ignore"):
                scores, lowest = scores.astype(np.float32), float(np.float32(lowest))
        found = np.empty((judgments.queries, len(self.columns)))
        for family in self.families:
            found[:, family.place] = value_if_empty(family.metric)  # stays where a query has no documents
        rank = partial(self._evaluate_block, judgments, scores, lowest != -np.inf, found)
        blocks = judgments.layout.blocks
        threads = min(threads, len(blocks), judgments.documents // DOCUMENTS_PER_THREAD)
        untied = [rows for rows in _shared_out(rank, blocks, threads) if rows is not None]
        share = -(-sum(len(rows.queries) for rows in untied) // max(threads, 1))
        batches = list(_batches(untied, min(share, QUERIES_TOGETHER)))
        _shared_out(partial(self._evaluate_batch, len(judgments.levels), found), batches, min(threads, len(batches)))
        return found

    @cached_property
    def _shallow_depth(self) -> int:
        return max((family.depth or 0 for family in self.families if family.is_shallow), default=0)

    def _evaluate_block(
        self, judgments: Judgments, scores: np.ndarray[Any, Any], all_retrieved: bool, found: Floats, block: Block
    ) -> RankedRows | None:
        """Rank the queries of a block and evaluate them; return the first ranks where shallow families are to follow.

        Ties need the labels of whole runs, which may reach far down, so a block that has some is done with at once.
        """
        levels = len(judgments.levels)
        rows = rank_block(block, scores, self.ties, levels, all_retrieved=all_retrieved)
        for family in self.families:
            if rows.runs is not None or not family.is_shallow:
                family.write(rows, found)
        if rows.runs is not None or not self._shallow_depth:
            return None
        return RankedRows(rows.queries, rows.codes[:, : self._shallow_depth].copy(), rows.sizes)

    def _evaluate_batch(self, levels: int, found: Floats, batch: list[RankedRows]) -> None:
        """Evaluate the shallow families on the first ranks of several blocks."""
        together = first_ranks(batch, self._shallow_depth, levels)
        for family in self.families:
            if family.is_shallow:
                family.write(together, found)


def _batches(parts: list[RankedRows], limit: int) -> Iterator[list[RankedRows]]:
    """Divide ranked blocks into batches of about `limit` queries, in order."""
    batch: list[RankedRows] = []
    queries = 0
    for part in parts:
        if batch and queries + len(part.queries) > limit:
            yield batch
            batch, queries = [], 0
        batch.append(part)
        queries += len(part.queries)
    if batch:
        yield batch


def _shared_out(work: Callable[[S], T], blocks: Sequence[S], threads: int) -> list[T]:
    """Return the results of the work on all blocks, done by some threads, of which this one is the first."""
    if threads <= 1:
        return [work(block) for block in blocks]

    waiting = iter(blocks)
    turn = Lock()

    def share() -> list[T]:
        done: list[T] = []
        while True:
            with turn:
                block = next(waiting, None)
            if block is None:
                return done
            done.append(work(block))

    from concurrent.futures import ThreadPoolExecutor  # 6 ms to load: not for those who never need it

    with ThreadPoolExecutor(threads - 1) as pool:
        others = [pool.submit(share) for _ in range(threads - 1)]
        return [*share(), *(found for other in others for found in other.result())]


def groups_of(metrics: Sequence[Metric], judgments: Judgments, unjudged: Unjudged = "irrelevant") -> list[Group]:
    """Bind metrics to judgments, grouped by how documents are ranked, then by what differs in the cutoff only."""
    condensed, judged = judgments.condensed if unjudged == "drop" else (judgments, None)
    members: dict[Metric, list[int]] = {}
    for column, metric in enumerate(metrics):
        members.setdefault(metric.without_cutoff(), []).append(column)
    groups: dict[tuple[int, Ties, Scores], Group] = {}
    for metric, columns in members.items():
        cutoffs = [metrics[column].k for column in columns]
        subject, kept = metrics[columns[0]].subject(judgments), None  # an error then says its cutoff
        if subject is judgments:
            subject, kept = condensed, judged
        new = Group(subject, kept, metric.ties, metric.scores)
        group = groups.setdefault((id(subject), metric.ties, metric.scores), new)
        place = slice(len(group.columns), len(group.columns) + len(columns))
        group.families.append(Family(metric, metric.bind(subject, cutoffs), cutoffs, place))
        group.columns.extend(columns)
    return list(groups.values())


def value_if_empty(metric: Metric) -> float:
    """Return the value of a query without relevant documents."""
    return float("nan") if metric.empty == "skip" else metric.empty
