"""Metrics grouped so that documents are ranked once, and metrics that differ in their cutoff share their sums."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from statistics import median
from threading import Lock
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._common.cached import cached_property
from ..metrics.function import FunctionMetric
from ..metrics.names import BUILT_IN
from ..ranking.rows import RankedRows, first_ranks, rank_block

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from .._common.typing import Bools, Floats, Integers
    from ..judgments import Judgments, Unjudged
    from ..metrics.base import Metric, Scores
    from ..ranking.layout import Block, Ties


T = TypeVar("T")

DOCUMENTS_PER_THREAD = 150_000
"""One more thread pays for itself from about this many documents on."""

SHALLOW = 50
"""Metrics that look at no more ranks than these are read off many queries at once, when all blocks have been ranked."""

_OURS = frozenset(BUILT_IN.values())

TRIES = 2
"""How often each number of threads is tried before the quickest is taken."""

ANEW = 32
"""Evaluations after which a number of threads is tried anew: times change with the scores, and with what else runs."""

KEPT = 4
"""Lists of metrics whose groups are kept for judgments."""

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
    def _empty(self) -> tuple[Integers, Integers]:
        """Where among the values of the family queries are without relevant documents."""
        queries, column = np.nonzero(np.broadcast_to(self.facts.empty, (len(self.facts.empty), len(self.cutoffs))))
        return queries, column

    @cached_property
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
        found[queries, self.place.start + column] = value_if_empty(self.metric)


class Pace:
    """How long an evaluation took with so many threads, and so how many it is to take.

    A second thread may gain much, or nothing: right after LightGBM's own work its threads go on waiting busily for some
    milliseconds, and other processes want processors too. So now and then each number is tried again.
    """

    def __init__(self) -> None:
        self._seconds: dict[int, tuple[float, ...]] = {}
        self._calls = 0

    def threads(self, most: int) -> int:
        """Return how many threads to take: at first `most`, then a half of it, and so on; later what was quickest."""
        self._calls += 1
        options = [most >> halvings for halvings in range(most.bit_length())]
        untried = min(options, key=lambda n: len(self._seconds.get(n, ())))
        if len(self._seconds.get(untried, ())) < TRIES:
            return untried
        if self._calls % ANEW == 0:
            return options[self._calls // ANEW % len(options)]
        return min(options, key=lambda n: median(self._seconds[n]))

    def took(self, threads: int, seconds: float) -> None:
        """Remember how long it took; the last few times count."""
        self._seconds[threads] = (*self._seconds.get(threads, ())[-2:], seconds)


def subject_of(metric: Metric, judgments: Judgments, unjudged: Unjudged) -> tuple[Judgments, Bools | None]:
    """Return what a metric reads of judgments, and which of all documents, by query, that holds; None for all."""
    subject = metric.subject(judgments)
    return judgments.condensed if subject is judgments and unjudged == "drop" else (subject, None)


@dataclass(frozen=True, eq=False)
class Group:
    """Metrics for which documents are ranked alike, and the columns of the result that their values go to.

    `reads` is one of them, and says with `unjudged` what they read of judgments; no judgments are held, for these hold
    groups themselves.
    """

    reads: Metric
    unjudged: Unjudged
    ties: Ties
    scores: Scores
    families: list[Family] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    pace: Pace = field(default_factory=Pace)

    def evaluate(self, judgments: Judgments, scores: np.ndarray[Any, Any], lowest: float, threads: int) -> Floats:
        """Return the value of each query under each metric of the group, shape (queries, values).

        `scores` are one per document, documents of a query together, none of them NaN, and `lowest` is the lowest.
        """
        judgments, kept = subject_of(self.reads, judgments, self.unjudged)
        if kept is not None:
            scores = scores[kept]
        if self.scores == "float32":
            with np.errstate(over="ignore"):
                scores, lowest = scores.astype(np.float32), float(np.float32(lowest))
        found = np.empty((judgments.queries, len(self.columns)))
        blocks = judgments.layout.blocks
        threads = self.pace.threads(max(1, min(threads, len(blocks), judgments.documents // DOCUMENTS_PER_THREAD)))
        work = partial(self._evaluate_blocks, judgments, scores, lowest != -np.inf, found)
        start = perf_counter()
        _shared_out(work, blocks, threads)
        self.pace.took(threads, perf_counter() - start)
        for family in self.families:
            family.settle(found)
            if type(family.metric) not in _OURS:
                _check_finite(family, found[:, family.place], judgments)
        return found

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

    def _evaluate_blocks(
        self,
        judgments: Judgments,
        scores: np.ndarray[Any, Any],
        all_retrieved: bool,
        found: Floats,
        blocks: Iterable[Block],
    ) -> None:
        """Rank the queries of some blocks and evaluate them; shallow families on several blocks at once.

        Ties need the labels of whole runs, which may reach far down, so queries that have some are done with at once.
        """
        levels = len(judgments.levels)
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
        if len(families) == len(self.families):
            values = np.empty((len(rows.queries), len(self.columns)))
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


def bound_groups(
    metrics: tuple[Metric, ...], judgments: Judgments, unjudged: Unjudged = "irrelevant"
) -> list[Group | Functions]:
    """Return metrics bound to judgments, from before where they were among the last bound to these.

    Judgments do not change, so whoever evaluates on the same ones again need not bind again. What is kept goes with the
    judgments, and no more than `KEPT` lists of metrics are. Whole tuples take each other's place, so that threads at
    most bind twice.
    """
    asked = (metrics, unjudged)
    others = [pair for pair in judgments.bound if pair[0] != asked]
    found = next((groups for known, groups in judgments.bound if known == asked), None)
    groups = groups_of(metrics, judgments, unjudged) if found is None else found
    judgments.bound = ((asked, groups), *others[: KEPT - 1])
    return groups


@dataclass(frozen=True, eq=False)
class Functions:
    """Metrics that are functions of the labels and scores of a query, and the columns that their values go to."""

    metrics: Sequence[FunctionMetric]
    columns: Sequence[int]
    unjudged: Unjudged

    def evaluate(self, judgments: Judgments, scores: np.ndarray[Any, Any], lowest: float, threads: int) -> Floats:
        """Return the value of each query under each metric; parameters as for `Group`."""
        judgments, kept = subject_of(self.metrics[0], judgments, self.unjudged)
        if kept is not None:
            scores = scores[kept]
        labels = judgments.by_query(judgments.labels)
        data = labels, scores.astype(np.float64), judgments.sizes, judgments.query_ids
        return np.stack([metric.values(*data) for metric in self.metrics], axis=1)


def groups_of(
    metrics: Sequence[Metric], judgments: Judgments, unjudged: Unjudged = "irrelevant"
) -> list[Group | Functions]:
    """Bind metrics to judgments, grouped by how documents are ranked, then by what differs in the cutoff only."""
    functions = {column: metric for column, metric in enumerate(metrics) if isinstance(metric, FunctionMetric)}
    members: dict[Metric, list[int]] = {}
    for column, metric in enumerate(metrics):
        if column not in functions:
            members.setdefault(metric.without_cutoff(), []).append(column)
    groups: dict[tuple[int, Ties, Scores], Group] = {}
    for metric, columns in members.items():
        cutoffs = [metrics[column].k for column in columns]
        named = metrics[columns[0]]  # an error then says its cutoff
        subject, _ = subject_of(named, judgments, unjudged)
        new = Group(named, unjudged, metric.ties, metric.scores)
        group = groups.setdefault((id(subject), metric.ties, metric.scores), new)
        place = slice(len(group.columns), len(group.columns) + len(columns))
        group.families.append(Family(metric, metric.bind(subject, cutoffs), cutoffs, place))
        group.columns.extend(columns)
    if not functions:
        return list(groups.values())
    return [*groups.values(), Functions(list(functions.values()), list(functions), unjudged)]


def _check_finite(family: Family, values: Floats, judgments: Judgments) -> None:
    """Raise where a metric of the user's has no finite value for a query that is not skipped."""
    may_skip = family.metric.empty == "skip"
    bad = ~np.isfinite(values) & ~(np.isnan(values) & (may_skip & family.facts.empty))
    bad &= (judgments.sizes > 0)[:, None]
    if bad.any():
        query, column = np.argwhere(bad)[0]
        name = replace(family.metric, k=family.cutoffs[column])
        raise ValueError(
            f"{name} is {values[query, column]} for query {judgments.query_ids[query]!s} "
            f"({judgments.sizes[query]} documents): {type(family.metric).__name__}.score must return finite numbers"
        )


def value_if_empty(metric: Metric) -> float:
    """Return the value of a query without relevant documents."""
    return float("nan") if metric.empty == "skip" else metric.empty
