"""Metrics grouped so that documents are ranked once, and metrics that differ in their cutoff share their sums."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.cached import cached_property
from ..metrics.function import FunctionMetric
from ..metrics.names import BUILT_IN
from ..ranking import compiled
from .blocks import Blocks, Family
from .pace import Pace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._common.typing import Bools, Floats
    from ..judgments import Judgments, Unjudged
    from ..metrics.base import Metric, Scores
    from ..ranking.compiled import Ask
    from ..ranking.layout import Ties

COMPILED_PER_THREAD = 50_000
"""In the compiled core one more thread pays for itself from about this many documents on."""

_OURS = frozenset(BUILT_IN.values())

KEPT = 4
"""Lists of metrics whose groups are kept for judgments."""


@dataclass(frozen=True, eq=False)
class Given:
    """Scores that fit judgments, float32 or float64.

    Whether they are numbers is asked where it matters: the compiled core notices by the way, and looking costs as much
    as a tenth of all its work.
    """

    judgments: Judgments
    by_row: np.ndarray[Any, Any]
    """As they were given."""
    values: np.ndarray[Any, Any]
    """Documents of a query together, contiguous."""

    @classmethod
    def of(cls, judgments: Judgments, scores: Any) -> Given:
        """Return scores as they were given for judgments; raise where there are more or fewer than documents."""
        by_row = judgments.one_per_document("scores", scores)
        return cls(judgments, by_row, np.require(judgments.by_query(by_row), requirements=["C", "A"]))

    @cached_property
    def lowest(self) -> float:
        """The lowest score; raises where one is NaN, saying how many are, in which row and of which query."""
        lowest = float(self.values.min())
        if math.isnan(lowest):
            bad = np.isnan(self.by_row)
            row = int(np.argmax(bad))
            raise ValueError(
                f"scores holds {int(bad.sum())} NaN among {len(bad)}, the first at row {row} "
                f"(query {self.judgments.query_of_row(row)!s}); a diverged model, or documents without a score? "
                "Give -inf to a document that was judged but not retrieved"
            )
        return lowest

    def check(self) -> None:
        """Raise where a score is NaN."""
        _ = self.lowest


def subject_of(metric: Metric, judgments: Judgments, unjudged: Unjudged) -> tuple[Judgments, Bools | None]:
    """Return what a metric reads of judgments, and which of all documents, by query, that holds; None for all."""
    subject = metric.subject(judgments)
    return judgments.condensed if subject is judgments and unjudged == "drop" else (subject, None)


@dataclass(frozen=True, eq=False)
class Group:
    """Metrics for which documents are ranked alike, and the columns of the result that their values go to.

    `like` is one of them, and says with `unjudged` what they read of judgments; no judgments are held, for these hold
    groups themselves.
    """

    like: Metric
    unjudged: Unjudged
    families: list[Family] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    pace: Pace = field(default_factory=Pace)

    def evaluate(self, judgments: Judgments, scores: Given, threads: int) -> Floats:
        """Return the value of each query under each metric of the group, shape (queries, values)."""
        judgments, kept = subject_of(self.like, judgments, self.unjudged)
        layout, values = judgments.layout, scores.values
        if kept is not None:
            scores.check()
            values = values[kept]
        if self.like.scores == "float32":
            with np.errstate(over="ignore"):
                values = values.astype(np.float32)
        found = np.empty((layout.queries, len(self.columns)))
        in_blocks = self._all
        if compiled.can_rank(layout):
            in_blocks = self._others
            work = partial(compiled.evaluate, layout, values, self.like.ties, self._asks, found)
            if self._asks and not self.pace.timed(min(threads, len(values) // COMPILED_PER_THREAD), work):
                scores.check()
        if in_blocks.families:
            with np.errstate(over="ignore"):
                all_retrieved = bool(values.dtype.type(scores.lowest) != -np.inf)
            in_blocks.evaluate(layout, values, all_retrieved, found, threads)
        for family in self.families:
            if type(family.metric) not in _OURS:
                _check_finite(family, found[:, family.place], judgments)
        return found

    @cached_property
    def _asks(self) -> list[Ask]:
        return [family.ask for family in self.families if family.ask is not None]

    @cached_property
    def _others(self) -> Blocks:
        """What the compiled core cannot do."""
        return Blocks([family for family in self.families if family.ask is None], self.like.ties)

    @cached_property
    def _all(self) -> Blocks:
        return Blocks(self.families, self.like.ties)


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

    def evaluate(self, judgments: Judgments, scores: Given, threads: int) -> Floats:
        """Return the value of each query under each metric; parameters as for `Group`."""
        scores.check()
        judgments, kept = subject_of(self.metrics[0], judgments, self.unjudged)
        values = scores.values if kept is None else scores.values[kept]
        labels = judgments.by_query(judgments.labels)
        data = labels, values.astype(np.float64), judgments.sizes, judgments.query_ids
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
        group = groups.setdefault((id(subject), metric.ties, metric.scores), Group(named, unjudged))
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
