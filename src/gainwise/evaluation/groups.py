"""Metrics bound to judgments, in groups that share one ranking of the documents.

Metrics that differ only in their cutoff share their sums. The compiled core evaluates the metrics that it supports, and
NumPy all others. Without a compiler, NumPy evaluates all metrics and returns the same bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common import cached_property
from .._common.arrays import to_float32
from ..metrics.base import FunctionMetric
from ..metrics.names import BUILT_IN
from ..ranking import compiled
from ..ranking.compiled import FormulaRequest
from ..ranking.rows import RankedRows, rank_block

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._common.typing import Bools, Floats
    from ..judgments import Judgments, Unjudged
    from ..metrics.base import Metric, Scores
    from ..ranking.rows import Block, Layout, Ties

DOCUMENTS_PER_THREAD = 150_000
"""NumPy is faster with another thread from about this many documents on."""

COMPILED_PER_THREAD = 50_000
"""The compiled core is faster with another thread from about this many documents on."""

MAX_BOUND = 4
"""Number of lists of metrics that judgments keep bound."""

_BUILT_IN = frozenset(BUILT_IN.values())


class AlignedScores:
    """Scores that match judgments, float32 or float64: `by_row` in the order of the labels, `values` by query.

    NaN is detected later. The compiled core does so at no cost, and a separate pass would take a tenth of its time.
    """

    def __init__(self, judgments: Judgments, scores: Any) -> None:
        self.judgments = judgments
        self.by_row = judgments.one_score_per_document(scores)
        self.values = np.require(judgments.by_query(self.by_row), requirements=["C", "A"])

    def validate(self) -> None:
        """Raise if a score is NaN, with the number of these, the first row and its query."""
        if math.isnan(self.values.min()):
            missing = np.isnan(self.by_row)
            row = int(np.argmax(missing))
            raise ValueError(
                f"scores must not be NaN, got {int(missing.sum())} NaN among {len(missing)}, the first at row {row} "
                f"(query {self.judgments.query_of_row(row)!s}). Check whether the model diverged, and use -inf for "
                "documents that were not retrieved."
            )


@dataclass(frozen=True, eq=False)
class Family:
    """Metrics that differ only in their cutoff, and the columns of their values.

    `empty` marks queries without relevant documents, and those without any document, whose values are never computed.
    """

    metric: Metric
    statistics: Any
    empty: Bools
    cutoffs: Sequence[int | None]
    columns: list[int]

    @property
    def _value_if_empty(self) -> float:
        return float("nan") if self.metric.empty == "skip" else self.metric.empty

    def compute_values(self, rows: RankedRows) -> Floats:
        """Return the values of the rows' queries, shape (rows, cutoffs)."""
        values = self.metric.score(rows, self.statistics, self.cutoffs)
        if np.shape(values) != (len(rows.queries), len(self.cutoffs)):  # NumPy might broadcast them.
            raise ValueError(
                f"{type(self.metric).__name__}.score must return one value for each row at each cutoff, but returned "
                f"shape {np.shape(values)} for {len(rows.queries)} rows and {len(self.cutoffs)} cutoffs"
            )
        return values

    def fill_empty(self, values: Floats) -> None:
        """Set the values of queries without relevant documents."""
        values[:, self.columns] = np.where(self.empty, self._value_if_empty, values[:, self.columns])

    @cached_property
    def request(self) -> FormulaRequest | None:
        """The request to the compiled core. None if it does not support the metric."""
        formula = self.metric.formula(self.statistics, self.cutoffs)
        if formula is None:
            return None
        return FormulaRequest(formula, self.cutoffs, self.columns, self.empty, self._value_if_empty)


def evaluate_in_numpy(
    families: Sequence[Family],
    layout: Layout,
    scores: np.ndarray[Any, Any],
    ties: Ties,
    values: Floats,
    threads: int,
) -> None:
    """Write the values of all queries to the columns of the families in `values`, block by block."""
    cutoffs = [k for family in families for k in family.cutoffs]
    depth = None if None in cutoffs else max(k for k in cutoffs if k is not None)

    def evaluate_block(block: Block) -> None:
        for rows in rank_block(block, scores, ties, layout.levels, depth):
            for family in families:
                values[rows.queries[:, None], family.columns] = family.compute_values(rows)

    threads = min(threads, len(layout.blocks), len(scores) // DOCUMENTS_PER_THREAD)
    if threads <= 1:
        for block in layout.blocks:
            evaluate_block(block)
    else:
        from concurrent.futures import ThreadPoolExecutor  # The import takes 6 ms.

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(evaluate_block, layout.blocks))  # Raises the errors of the threads.
    for family in families:
        family.fill_empty(values)


def _subject(metric: Metric, judgments: Judgments, unjudged: Unjudged) -> tuple[Judgments, Bools | None]:
    """Return the judgments that a metric uses, and the mask of their documents by query, None for all."""
    by_column = judgments.column(metric.column)
    subject = metric.subject(by_column)
    if subject is not by_column or unjudged != "drop" or (judgments.columns and by_column.judged is None):
        return subject, None
    return by_column.condensed


def _leave_out_unjudged(metric: Metric, judgments: Judgments, values: Floats, columns: list[int]) -> None:
    """Set the values of queries without any judged document to NaN."""
    judgments = judgments.column(metric.column)
    if judgments.unjudged_queries is not None and metric.subject(judgments) is judgments:
        values[np.flatnonzero(judgments.unjudged_queries)[:, None], columns] = np.nan


@dataclass(frozen=True, eq=False)
class Group:
    """Metrics that rank documents in the same way, and the columns of their values in the result.

    `like` is one of them. A group does not refer to judgments, since these refer to groups.
    """

    like: Metric
    unjudged: Unjudged
    families: list[Family] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)

    def evaluate(self, judgments: Judgments, scores: AlignedScores, threads: int, values: Floats) -> None:
        """Write the value of each query under each metric of the group to its column of `values`."""
        subject, mask = _subject(self.like, judgments, self.unjudged)
        layout, ranked = subject.layout, scores.values
        if mask is not None:
            scores.validate()
            ranked = ranked[mask]
        if self.like.scores == "float32":
            ranked = to_float32(ranked)
        in_numpy = self.families
        if compiled.can_rank(layout):
            in_numpy = [family for family in self.families if family.request is None]
            requests = [family.request for family in self.families if family.request is not None]
            useful = max(1, min(threads, len(ranked) // COMPILED_PER_THREAD))
            if requests and not compiled.evaluate_formulas(layout, ranked, self.like.ties, requests, values, useful):
                scores.validate()
        if in_numpy:
            scores.validate()
            evaluate_in_numpy(in_numpy, layout, ranked, self.like.ties, values, threads)
        for family in self.families:
            if type(family.metric) not in _BUILT_IN:
                _validate_finite(family, values[:, family.columns], subject)
        _leave_out_unjudged(self.like, judgments, values, self.columns)


@dataclass(frozen=True, eq=False)
class FunctionGroup:
    """Metrics that are functions of the labels and scores of a query, and the columns of their values."""

    metrics: Sequence[FunctionMetric]
    columns: list[int]
    unjudged: Unjudged

    def evaluate(self, judgments: Judgments, scores: AlignedScores, threads: int, values: Floats) -> None:
        """Write the value of each query under each metric. Parameters are those of `Group.evaluate`."""
        scores.validate()
        for metric, column in zip(self.metrics, self.columns, strict=True):
            subject, mask = _subject(metric, judgments, self.unjudged)
            ranked = scores.values if mask is None else scores.values[mask]
            further = [subject.by_query(subject.get_column(name)) for name in metric.columns]
            arguments = [subject.by_query(subject.labels), ranked.astype(np.float64), *further]
            values[:, column] = metric.values(arguments, subject.sizes, subject.query_ids)
            _leave_out_unjudged(metric, judgments, values, [column])


def bind_metrics(metrics: tuple[Metric, ...], judgments: Judgments, unjudged: Unjudged) -> list[Group | FunctionGroup]:
    """Return metrics bound to judgments, reused if they are among the last lists bound to these.

    The judgments keep the groups. They replace the whole tuple, so threads at most bind the same list twice.
    """
    key = (metrics, unjudged)
    groups = next((groups for bound, groups in judgments.bound if bound == key), None)
    if groups is None:
        groups = build_groups(metrics, judgments, unjudged)
    others = [pair for pair in judgments.bound if pair[0] != key]
    judgments.bound = ((key, groups), *others[: MAX_BOUND - 1])
    return groups


def build_groups(metrics: Sequence[Metric], judgments: Judgments, unjudged: Unjudged) -> list[Group | FunctionGroup]:
    """Bind metrics to judgments, grouped by how documents are ranked, then in families of cutoffs."""
    functions = {column: metric for column, metric in enumerate(metrics) if isinstance(metric, FunctionMetric)}
    members: dict[Metric, list[int]] = {}
    for column, metric in enumerate(metrics):
        if column not in functions:
            members.setdefault(metric.without_cutoff(), []).append(column)
    groups: dict[tuple[int, Ties, Scores], Group] = {}
    for metric, columns in members.items():
        cutoffs = [metrics[column].k for column in columns]
        named = metrics[columns[0]]  # Errors then show its cutoff.
        subject, _ = _subject(named, judgments, unjudged)
        group = groups.setdefault((id(subject), metric.ties, metric.scores), Group(named, unjudged))
        statistics = metric.bind(subject, cutoffs)
        empty = statistics.empty | (subject.sizes == 0)[:, None]
        group.families.append(Family(metric, statistics, empty, cutoffs, columns))
        group.columns.extend(columns)
    if not functions:
        return list(groups.values())
    return [*groups.values(), FunctionGroup(list(functions.values()), list(functions), unjudged)]


def _validate_finite(family: Family, values: Floats, judgments: Judgments) -> None:
    """Raise if a custom metric has no finite value for a query that is not skipped."""
    may_skip = family.metric.empty == "skip"
    bad = ~np.isfinite(values) & ~(np.isnan(values) & (may_skip & family.statistics.empty))
    bad &= (judgments.sizes > 0)[:, None]
    if bad.any():
        query, column = np.argwhere(bad)[0]
        name = replace(family.metric, k=family.cutoffs[column])
        raise ValueError(
            f"{type(family.metric).__name__}.score must return finite numbers, but {name} is {values[query, column]} "
            f"for query {judgments.query_ids[query]!s} ({judgments.sizes[query]} documents)"
        )
