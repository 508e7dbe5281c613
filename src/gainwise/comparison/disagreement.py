"""Largest possible disagreement of two NDCGs, from the labels alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._common.lazy import pandas as pd
from .._common.text import TextResult, agree, pluralize, round_bound
from .._common.typing import Floats, Integers, Listed
from ..evaluation.evaluator import warn_of_gains
from ..evaluation.trec_runs import align_runs
from ..judgments import Judgments
from ..metrics.base import Metric, max_depth
from ..metrics.dcg import NDCG, Discount, GainStatistics
from ..ranking.rows import RankedRows, ideal_rows
from .estimates import ROUNDING
from .ranked_models import select_sums

NEGLIGIBLE = 0.01
"""Reports state the bound if it is below this difference of NDCG."""

MAX_CELLS = 8_000_000
"""Documents are counted by query and label if the table has at most so many cells."""

MAX_REPORT_CELLS = 200_000
"""Cells up to which a report computes the bound, in about a second. Beyond, call `disagreement_bound`."""


@dataclass(frozen=True, eq=False, repr=False)
class DisagreementBound(TextResult):
    """How far two NDCGs can disagree on the same labels, whatever the models. `disagreement_bound` creates it.

    Attributes
    ----------
    metrics : tuple of two str
        The two NDCGs.
    one_ranking : dict of metric to float
        Largest mean excess of each metric over the other one, for one ranking of every query. It is reached.
    two_rankings : float
        Upper bound of the conflict of two rankings. In a conflict, each metric prefers another ranking, and its size is
        the smaller difference.
    queries : int
        Number of queries.
    possible : int
        Number of queries with a possible conflict of two rankings.
    per_query : DataFrame
        One row per query: `query`, `excess M` for each metric M, and `two_rankings`, the bound of that query alone.
    """

    metrics: tuple[str, str]
    one_ranking: dict[str, float]
    two_rankings: float
    queries: int
    possible: int
    per_query: pd.DataFrame

    @property
    def same_number(self) -> bool:
        """Whether both metrics are the same number for every ranking, as with the labels 0 and 1."""
        return max(self.one_ranking.values()) <= ROUNDING

    @property
    def is_negligible(self) -> bool:
        """Whether no two rankings can be in conflict by 0.01 or more."""
        return self.two_rankings < NEGLIGIBLE

    @property
    def conclusion(self) -> str:
        """One sentence: the most that one of two models can be behind the other under both metrics."""
        first, second = self.metrics
        if self.same_number:
            return f"On these labels, {first} and {second} are the same number for every ranking."
        most = round_bound(self.two_rankings, up=True)
        return f"On these labels, of any two models one is at most {most} behind the other by {first} and by {second}."

    @property
    def text(self) -> str:
        """The conclusion, the number of queries with a possible conflict, and the differences for one ranking."""
        first, second = self.metrics
        over = pluralize(self.queries, "query")
        if self.same_number:
            return f"{self.conclusion} There {agree(self.queries, 'are')} {over}."
        above, below = (round_bound(self.one_ranking[metric], up=True) for metric in self.metrics)
        return (
            f"{self.conclusion} The metrics can prefer different rankings on {self.possible:,} of {over}. On average, "
            f"{first} of one ranking is at most {above} above and {below} below {second}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers and `text` as plain values for JSON."""
        return self._export(
            ("metrics", "one_ranking", "two_rankings", "queries", "possible", "same_number", "is_negligible",
             "per_query", "text")
        )  # fmt: skip


def disagreement_bound(
    judgments: Judgments | Listed,
    k: int | None = 10,
    gains: Sequence[Any] = ("linear", "exponential"),
    *,
    discount: Discount = "log2",
) -> DisagreementBound:
    r"""Bound the disagreement of two NDCGs from the labels alone, before there is a model.

    If each NDCG prefers another system, the wrong choice costs at most `two_rankings` under one of them. If this bound
    is below the smallest difference that is relevant to you, use either NDCG.

    Parameters
    ----------
    judgments : Judgments, or path, mapping or DataFrame of TREC qrels
        Relevance labels. A system can retrieve documents that the qrels do not contain, so qrels allow any number of
        documents with label 0. `Judgments` contain all documents to rank.
    k : int or None, default 10
        Cutoff. None uses all ranks. It may exceed the number of documents.
    gains : sequence of two gains, default ("linear", "exponential")
        Each is a gain of `NDCG` (a name, a table, a mapping of label to gain, or a function), or a number: the base b
        of the gain (b^l − 1)/(b − 1).
    discount : str, table or function, default "log2"
        Discount of both metrics. See `NDCG`.

    Returns
    -------
    DisagreementBound

    Raises
    ------
    ValueError
        If there are not two gains, `k` is not positive, or a gain does not support the labels.

    See Also
    --------
    gainwise.compare : Test whether two metrics disagree about models.
    gainwise.Comparison.gains : The best model at each gain.

    Notes
    -----
    Let d_r be the discount of rank r (0 beyond k), and λ(l) and ε(l) the gains of label l divided by the ideal DCG of
    the query. Both NDCGs are sums over documents, so the rearrangement inequality applies:

    - One ranking: the largest difference is Σ d_r h_(r) with h = ε − λ of all documents in descending order.
    - Two rankings: for every t in [0, 1] and h = tλ − (1 − t)ε, the conflict is at most the mean over queries of
      Σ d_r h_(r) − Σ d_r h_(−r), with h_(−r) in ascending order. The bound is the minimum over t, one t for all
      queries. Two rankings of one query reach somewhat less, because there are finitely many.

    A query without relevant documents has the value 0 under both metrics. Means are weighted by query weights.

    References
    ----------
    Hardy, Littlewood & Pólya 1934, Inequalities, section 10.2 (rearrangement).

    Examples
    --------
    >>> import gainwise as gw
    >>> bound = gw.disagreement_bound(gw.Judgments([3, 1, 1, 1, 0, 0], group=[6]), k=3)
    >>> round(bound.one_ranking["ndcg_linear@3"], 3), round(bound.two_rankings, 3)
    (0.254, 0.159)
    """
    if isinstance(gains, str) or not isinstance(gains, Sequence) or len(gains) != 2:
        raise ValueError(f"gains must be two gains, such as ('linear', 'exponential'), got {gains!r}.")
    metrics = []
    for gain in gains:
        is_base = isinstance(gain, int | float | np.number) and not isinstance(gain, bool)
        options: dict[str, Any] = {"gain": "power", "gain_base": float(gain)} if is_base else {"gain": gain}
        metrics.append(NDCG(**options, k=k, discount=discount))
    if not isinstance(judgments, Judgments):
        judgments = _read_qrels(judgments, k)
    warn_of_gains(metrics, judgments)
    return compute_bound(judgments, *metrics)


def find_bound(judgments: Judgments, metrics: Sequence[Metric | None]) -> DisagreementBound | None:
    """Return the bound of two compared metrics for a report.

    It is None if the metrics are not NDCGs that differ in their gain only, or if the computation would take too long.
    """
    pair = [metric for metric in select_sums(filter(None, metrics)) if isinstance(metric, NDCG)]
    if len(pair) < 2 or any(getattr(pair[0], name) != getattr(pair[1], name) for name in ("k", "discount", "base")):
        return None
    cells = judgments.queries * len(judgments.levels) if _has_few_labels(judgments) else judgments.documents
    return compute_bound(judgments, *pair) if cells <= MAX_REPORT_CELLS else None


def _has_few_labels(judgments: Judgments) -> bool:
    """Return whether documents are counted by query and label."""
    levels = len(judgments.levels)
    return levels * judgments.queries <= MAX_CELLS and levels <= max(64, judgments.layout.longest)


def _read_qrels(qrels: Listed, k: int | None) -> Judgments:
    """Return judgments with documents of label 0 that fill all ranks of every query."""
    judgments = align_runs({}, qrels).judgments
    spare = int(judgments.sizes.max()) if k is None else k
    numbers = np.arange(judgments.queries)
    return Judgments(
        np.concatenate([judgments.by_query(judgments.labels), np.zeros(spare * judgments.queries)]),
        qid=judgments.query_ids[np.concatenate([np.repeat(numbers, judgments.sizes), np.repeat(numbers, spare)])],
    )


class _Cells(NamedTuple):
    """Documents of some queries: gains divided by the ideal DCG under both metrics, and how many have these."""

    queries: Integers
    first: Floats
    second: Floats
    counts: Integers


def compute_bound(judgments: Judgments, first: NDCG, second: NDCG) -> DisagreementBound:
    """Return the bound for two NDCGs with the same discount and cutoff."""
    groups = _count_documents(judgments, first, second)
    depth = max_depth((first.k,), int(judgments.sizes.max(initial=1)))
    discount = first.bind(judgments, (first.k,)).gains.discount[:depth]
    sums = np.concatenate([[0.0], np.cumsum(discount)])
    weights = np.ones(judgments.queries) if judgments.weights is None else judgments.weights / judgments.weights.max()

    def compute_spread(t: Floats) -> Floats:
        spread = np.zeros((2, judgments.queries))
        for cells in groups:
            rise = cells.first + cells.second
            values = t[cells.queries, None] * rise - cells.second
            spread[:, cells.queries] = _sum_ends(values, rise, cells.counts, sums)
        return spread

    def compute_mean_spread(t: Floats) -> Floats:
        spread = compute_spread(np.full(judgments.queries, t[0]))
        return np.stack([np.average(part, weights=weights, keepdims=True) for part in spread])

    excess = {str(metric): np.zeros(judgments.queries) for metric in (first, second)}
    for cells in groups:
        for values, sign in zip(excess.values(), (1, -1), strict=True):
            gap = sign * (cells.first - cells.second)
            values[cells.queries], _ = _sum_ends(gap, None, cells.counts, sums)
    by_query = _minimize(compute_spread, judgments.queries)
    columns = {f"excess {name}": values for name, values in excess.items()}
    return DisagreementBound(
        metrics=(str(first), str(second)),
        one_ranking={name: float(np.average(values, weights=weights)) for name, values in excess.items()},
        two_rankings=float(_minimize(compute_mean_spread, 1)[0]),
        queries=int(np.count_nonzero(weights)),
        possible=int(np.count_nonzero((by_query > 1e-6) & (weights > 0))),
        per_query=pd.DataFrame({"query": judgments.query_ids, **columns, "two_rankings": by_query}),
    )


def _count_documents(judgments: Judgments, first: NDCG, second: NDCG) -> list[_Cells]:
    """Return the documents of all queries, counted by label if there are few labels."""
    levels, queries = len(judgments.levels), np.arange(judgments.queries)
    if _has_few_labels(judgments):
        rows = RankedRows(queries, np.tile(np.arange(levels), (len(queries), 1)), judgments.sizes)
        places = np.repeat(queries, judgments.sizes) * levels + judgments.layout.codes
        tables = [(rows, np.bincount(places, minlength=len(queries) * levels).reshape(-1, levels))]
    else:
        blocks = [ideal_rows(block, levels) for block in judgments.layout.blocks]
        tables = [(rows, (np.arange(rows.width) < rows.sizes[:, None]).astype(np.int64)) for rows in blocks]
    of_first, of_second = (metric.bind(judgments, (metric.k,)) for metric in (first, second))
    return [
        _Cells(rows.queries, _scale_gains(of_first, rows), _scale_gains(of_second, rows), counts)
        for rows, counts in tables
    ]


def _scale_gains(statistics: GainStatistics, rows: RankedRows) -> Floats:
    """Return gains divided by the ideal DCG, 0 if they overflow, as those of labels that a query does not have may."""
    ideal = statistics.ideal[rows.queries]
    with np.errstate(over="ignore"):
        gains = statistics.gains.of(rows, rows.width)
    return np.asarray(np.divide(gains, ideal, out=np.zeros(gains.shape), where=(ideal > 0) & np.isfinite(gains)))


def _sum_ends(values: Floats, rise: Floats | None, counts: Integers, discounts: Floats) -> tuple[Floats, Floats]:
    """Return the sum of values in descending order times the discounts of their ranks, for each row, and 0.

    With `rise`, the derivatives of the values, return that sum minus the one in ascending order, and its derivative.
    `counts` is the number of documents of each value, `discounts` the sum of the discounts of the first 0, 1, … ranks.
    """
    order = np.argsort(-values, axis=1)
    values, counts = np.take_along_axis(values, order, axis=1), np.take_along_axis(counts, order, axis=1)
    last = len(discounts) - 1
    reached = np.cumsum(counts, axis=1)
    weights = np.diff(discounts[np.minimum(reached, last)], axis=1, prepend=0.0)
    if rise is None:
        return (values * weights).sum(axis=1), np.zeros(len(values))
    left = reached[:, -1:] - reached  # documents with lower values
    weights -= discounts[np.minimum(left + counts, last)] - discounts[np.minimum(left, last)]
    return (values * weights).sum(axis=1), (np.take_along_axis(rise, order, axis=1) * weights).sum(axis=1)


def _minimize(function: Callable[[Floats], Floats], size: int) -> Floats:
    """Return the minima of convex functions over [0, 1] from above, by the intersections of tangents.

    `function` returns the values and the slopes at some points, shape (2, points).
    """
    low, high = np.zeros(size), np.ones(size)
    at_low, at_high = function(low), function(high)
    best: Floats = np.minimum(at_low[0], at_high[0])
    for step in range(16):
        bend = at_high[1] - at_low[1]
        meeting = at_low[0] - at_high[0] + at_high[1] * high - at_low[1] * low
        t = np.divide(meeting, bend, out=(low + high) / 2, where=bend > ROUNDING)
        if step % 3 == 2:  # Bisect now and then, because tangents may approach the minimum from one side only.
            t = (low + high) / 2
        t = np.clip(t, low, high)
        at_t = function(t)
        gain = best - at_t[0]
        best = np.minimum(best, at_t[0])
        left = at_t[1] < 0
        low, high = np.where(left, t, low), np.where(left, high, t)
        at_low, at_high = np.where(left, at_t, at_low), np.where(left, at_high, at_t)
        if step > 3 and (np.abs(gain) <= ROUNDING).all():
            break
    return best
