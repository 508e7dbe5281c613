"""Metrics of relevant and other documents, and the share of judged documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from .._common.validation import validate_choice, validate_real
from ..ranking import compiled
from ..ranking.rows import blank_code, row_sums, sums_at, table_of
from .base import Empty, LabelStatistics, Metric, max_depth

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .._common.typing import Bools, Floats, Integers
    from ..judgments import Judgments
    from ..ranking.compiled import Formula
    from ..ranking.rows import RankedRows, TieGroups


Denominator = Literal["min_R_k", "R", "hits"]


@dataclass(frozen=True, eq=False)
class RelevanceStatistics(LabelStatistics):
    """Numbers of relevant and judged documents by query, and the lowest code of a relevant label.

    `levels` is the number of distinct labels, and `widest` the number of ranks of the widest rows.
    """

    relevant: Integers
    judged: Integers
    code: int
    levels: int
    widest: int

    def at_ranks(self, rows: RankedRows) -> Bools:
        """Return the ranks with a relevant document as a mask, shape (rows, width)."""
        return rows.at_least(self.code, self.levels)

    @property
    def marks(self) -> Floats:
        """1 for the codes of relevant documents and 0 for the others."""
        return table_of((np.arange(self.levels) >= self.code).astype(np.float64))

    def expected(self, rows: RankedRows, depth: int) -> Floats:
        """Return the probability of a relevant document at each of the first ranks."""
        relevant = self.at_ranks(rows)
        expected = relevant[:, :depth].astype(np.float64)
        if rows.tie_groups is not None:
            groups = rows.tie_groups.reaching(depth)
            groups.average(expected, relevant.ravel()[groups.positions])
        return expected

    def hits(self, rows: RankedRows, cutoffs: Sequence[int | None]) -> Floats:
        """Return the (expected) number of relevant documents among the first k."""
        return sums_at(self.expected(rows, max_depth(cutoffs, rows.width)), cutoffs)

    def sum_of_hits(self, divisors: Floats) -> Formula:
        """Return the formula of the hits divided by these numbers."""
        return compiled.sum_of_gains(self.marks, np.ones(self.widest), divisors)


@dataclass(frozen=True, kw_only=True)
class BinaryMetric(Metric, abstract=True):
    """A metric that depends on whether documents are relevant, and not on their grades.

    Parameters
    ----------
    min_label : float, default 1
        The lowest label of a relevant document.
    """

    min_label: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(min_label=validate_real("min_label", self.min_label))

    def value_range(self, judgments: Judgments) -> tuple[float, float]:
        """Return 0 and 1, because all of these metrics are shares or probabilities."""
        return 0.0, 1.0

    def bind(self, judgments: Judgments, cutoffs: Sequence[int | None]) -> RelevanceStatistics:
        """Count the relevant documents of each query."""
        if self.min_label <= 0 and judgments.unjudged:
            raise ValueError(
                f"{self} counts label 0 as relevant, which {judgments.unjudged} unjudged documents have. Pass "
                "unjudged='drop', or use judged@k."
            )
        relevant = judgments.relevant(self.min_label)
        marks = judgments.whether_judged if judgments.unjudged else None
        return RelevanceStatistics(
            empty=(relevant == 0)[:, None],
            relevant=relevant,
            judged=judgments.sizes if marks is None else marks.relevant(1.0),
            code=judgments.code_at_least(self.min_label),
            levels=len(judgments.levels),
            widest=max((block.width for block in judgments.layout.blocks), default=0),
        )


@dataclass(frozen=True, kw_only=True)
class Precision(BinaryMetric):
    """Precision: relevant documents among the first k, divided by k.

    Parameters
    ----------
    denominator : {"k", "min_k_n"}, default "k"
        Divide by k, or by the number of judged documents if it is smaller (XGBoost, CatBoost). Without a cutoff, k is
        the number of judged documents.
    min_label : float, default 1
        The lowest label of a relevant document.
    k, ties, empty, scores, weights, column, name
        See `Metric`. With averaged ties, each document of a tie group counts as the share of relevant documents.

    Examples
    --------
    >>> import gainwise as gw
    >>> gw.evaluate(["precision@4"], gw.Judgments([0, 1, 1], group=[3]), [3, 2, 1]).mean
    {'precision@4': 0.5}
    """

    denominator: Literal["k", "min_k_n"] = "k"

    names: ClassVar[Mapping[str, Mapping[str, Any]]] = {"precision": {}}

    def __post_init__(self) -> None:
        super().__post_init__()
        validate_choice("denominator", self.denominator, ("k", "min_k_n"))

    def score(self, rows: RankedRows, statistics: RelevanceStatistics, cutoffs: Sequence[int | None]) -> Floats:
        """Return precision at each cutoff."""
        return statistics.hits(rows, cutoffs) / self._divisors(statistics.judged[rows.queries], cutoffs)

    def formula(self, statistics: RelevanceStatistics, cutoffs: Sequence[int | None]) -> Formula:
        """Return the hits divided by the denominator."""
        return statistics.sum_of_hits(self._divisors(statistics.judged, cutoffs))

    def _divisors(self, judged: Integers, cutoffs: Sequence[int | None]) -> Floats:
        """Return the denominators of queries with these numbers of judged documents, at each cutoff."""
        sizes = np.maximum(judged, 1)[:, None].astype(np.float64)
        capped = self.denominator == "min_k_n"
        divisors = [sizes if k is None else np.minimum(sizes, k) if capped else k for k in cutoffs]
        return np.hstack([np.broadcast_to(divisor, sizes.shape) for divisor in divisors])


@dataclass(frozen=True, kw_only=True)
class Recall(BinaryMetric):
    """Recall: relevant documents among the first k, divided by all relevant documents of the query.

    Parameters
    ----------
    min_label : float, default 1
        The lowest label of a relevant document.
    k, ties, empty, scores, weights, column, name
        See `Metric`. With averaged ties, each document of a tie group counts as the share of relevant documents.

    Examples
    --------
    >>> import gainwise as gw
    >>> gw.evaluate(["recall@2"], gw.Judgments([0, 1, 1], group=[3]), [3, 2, 1]).mean
    {'recall@2': 0.5}
    """

    names: ClassVar[Mapping[str, Mapping[str, Any]]] = {"recall": {}}

    def score(self, rows: RankedRows, statistics: RelevanceStatistics, cutoffs: Sequence[int | None]) -> Floats:
        """Return recall at each cutoff."""
        return statistics.hits(rows, cutoffs) / np.maximum(statistics.relevant[rows.queries], 1)[:, None]

    def formula(self, statistics: RelevanceStatistics, cutoffs: Sequence[int | None]) -> Formula:
        """Return the hits divided by the number of relevant documents."""
        return statistics.sum_of_hits(np.maximum(statistics.relevant, 1)[:, None])


@dataclass(frozen=True, kw_only=True)
class RPrecision(BinaryMetric):
    """R-precision: relevant documents among the first R, divided by R, the relevant documents of the query.

    Parameters
    ----------
    min_label : float, default 1
        The lowest label of a relevant document.
    k, ties, empty, scores, weights, column, name
        See `Metric`. Documents after rank k count as not retrieved. With averaged ties, each document of a tie group
        counts as the share of relevant documents.

    References
    ----------
    Buckley & Voorhees 2005, Retrieval system evaluation, in: TREC: Experiment and evaluation in information retrieval.

    Examples
    --------
    Two relevant documents, one of them among the first two.

    >>> import gainwise as gw
    >>> gw.evaluate(["rprec"], gw.Judgments([0, 1, 1, 0], group=[4]), [4, 3, 2, 1]).mean
    {'rprec': 0.5}
    """

    names: ClassVar[Mapping[str, Mapping[str, Any]]] = {"rprec": {}}

    def score(self, rows: RankedRows, statistics: RelevanceStatistics, cutoffs: Sequence[int | None]) -> Floats:
        """Return R-precision at each cutoff."""
        relevant = statistics.relevant[rows.queries][:, None]
        depth = max_depth(cutoffs, rows.width)
        hits = statistics.expected(rows, depth) * (np.arange(depth) < relevant)
        return sums_at(hits, cutoffs) / np.maximum(relevant, 1)


@dataclass(frozen=True, kw_only=True)
class Hit(BinaryMetric):
    """Hit (success): 1 if a relevant document is among the first k, else 0.

    Parameters
    ----------
    min_label : float, default 1
        The lowest label of a relevant document.
    k, ties, empty, scores, weights, column, name
        See `Metric`. With averaged ties, the value is the probability of a hit: the number of relevant documents of a
        tie group within the cutoff has a hypergeometric distribution.

    Examples
    --------
    Four documents of one score, one of them relevant: it is among the first two in half of all orders.

    >>> import gainwise as gw
    >>> gw.evaluate(["hit@2"], gw.Judgments([0, 1, 0, 0], group=[4]), [1, 1, 1, 1]).mean
    {'hit@2': 0.5}
    """

    names: ClassVar[Mapping[str, Mapping[str, Any]]] = {"hit": {}}

    def score(self, rows: RankedRows, statistics: RelevanceStatistics, cutoffs: Sequence[int | None]) -> Floats:
        """Return the (expected) hit at each cutoff."""
        return first_relevant(rows, statistics, cutoffs)

    def formula(self, statistics: RelevanceStatistics, cutoffs: Sequence[int | None]) -> Formula | None:
        """Return the sum of the chances of the ranks. Without a cutoff, rounding would make it differ from 1."""
        return None if None in cutoffs else compiled.chance_of_first(statistics.code, np.ones(statistics.widest))


@dataclass(frozen=True, kw_only=True)
class RR(BinaryMetric):
    """Reciprocal rank; its mean over queries is MRR: RR@k = 1 / rank of the first relevant document, 0 beyond k.

    Parameters
    ----------
    min_label : float, default 1
        The lowest label of a relevant document.
    k, ties, empty, scores, weights, column, name
        See `Metric`. With averaged ties, let the first tie group with a relevant document have s documents before it
        and t documents, r of them relevant. Then E[RR] = sum over i = 1 .. t-r+1 of C(t-i, r-1) / C(t, r) / (s + i).

    References
    ----------
    McSherry & Najork 2008, Computing information retrieval performance measures efficiently in the presence of tied
    scores, ECIR.

    Examples
    --------
    >>> import gainwise as gw
    >>> gw.evaluate(["mrr", "mrr@1"], gw.Judgments([0, 1, 0, 0], group=[4]), [4, 3, 2, 1]).mean
    {'mrr': 0.5, 'mrr@1': 0.0}
    """

    names: ClassVar[Mapping[str, Mapping[str, Any]]] = {"mrr": {}}

    def score(self, rows: RankedRows, statistics: RelevanceStatistics, cutoffs: Sequence[int | None]) -> Floats:
        """Return RR at each cutoff."""
        return first_relevant(rows, statistics, cutoffs, np.arange(1.0, statistics.widest + 1))

    def formula(self, statistics: RelevanceStatistics, cutoffs: Sequence[int | None]) -> Formula:
        """Return the chances of the ranks, each divided by the rank."""
        return compiled.chance_of_first(statistics.code, np.arange(1.0, statistics.widest + 1))


def first_relevant(
    rows: RankedRows, statistics: RelevanceStatistics, cutoffs: Sequence[int | None], costs: Floats | None = None
) -> Floats:
    """Return (the expectation of) 1 / costs[rank] of the first relevant document, with 0 beyond the cutoff.

    Ranks start at 0, and without costs each counts 1. Let the first tie group with a relevant document have t
    documents, r of them relevant. Its first j places contain none with probability prod over i < j of (t-r-i) / (t-i).
    """
    relevant = statistics.at_ranks(rows)
    number = np.arange(len(relevant))
    rank = relevant.argmax(axis=1)
    has_relevant = relevant[number, rank]
    value = has_relevant.astype(np.float64) if costs is None else np.where(has_relevant, 1.0 / costs[rank], 0.0)
    ends = [rows.width if k is None else min(k, rows.width) for k in cutoffs]
    values = np.empty((len(relevant), len(ends)))
    for column, end in enumerate(ends):
        np.multiply(rank < end, value, out=values[:, column])
    if rows.tie_groups is None:
        return values
    group, uncertain = rows.tie_groups.find(number, rank)
    uncertain &= has_relevant
    group, row = group[uncertain], number[uncertain]
    before, length = rows.tie_groups.before[group], rows.tie_groups.lengths[group]
    others = rank[uncertain] - before  # Documents of a group are in ascending order of labels, so these come first.
    for part in split_by_magnitude(others):
        chances = _chances(length[part, None], others[part, None])
        places = before[part, None] + np.arange(chances.shape[1])
        # If a row has fewer places than others, its further chances are 0.
        terms = chances if costs is None else chances / np.take(costs, places, mode="clip")
        for column, k in enumerate(cutoffs):
            if k is not None or costs is not None:  # Otherwise they add up to 1.
                values[row[part], column] = row_sums(np.where(places < ends[column], terms, 0.0))
    return values


def split_by_magnitude(counts: Integers) -> list[Integers]:
    """Return the positions of counts 0, 1, 2 to 3, 4 to 7, …, which make matrices with little padding."""
    magnitude = np.frexp(counts)[1]
    return [np.flatnonzero(magnitude == size) for size in np.flatnonzero(np.bincount(magnitude))]


def _chances(length: Integers, others: Integers) -> Floats:
    """Return the probability that each place of a tie group has the first relevant document. Arguments are columns."""
    left = np.maximum(length - np.arange(int(others.max()) + 1), 1)
    none_before = np.ones(left.shape)
    relevant = length - others
    np.multiply.accumulate(np.maximum(left - relevant, 0)[:, :-1] / left[:, :-1], axis=1, out=none_before[:, 1:])
    chances: Floats = none_before * (relevant / left)
    return chances


@dataclass(frozen=True, eq=False, slots=True)
class HarmonicNumbers:
    """H(n) = 1/1 + 1/2 + … + 1/n, each as the sum of two floats, so that differences keep all digits."""

    high: Floats
    low: Floats

    @classmethod
    @lru_cache(maxsize=2)
    def up_to(cls, n: int) -> HarmonicNumbers:
        """Return H(0) to H(n), which are kept for the next evaluation."""
        number = np.arange(1, n + 1, dtype=np.float64)
        reciprocal = 1.0 / number
        front = reciprocal.astype(np.float32).astype(np.float64)  # Few digits, so that products with n are exact.
        cut = ((1.0 - front * number) - (reciprocal - front) * number) / number
        high = np.add.accumulate(np.append(0.0, reciprocal))
        grown = high[1:] - high[:-1]
        lost = (high[:-1] - (high[1:] - grown)) + (reciprocal - grown)  # The exact rounding error (two-sum of Knuth).
        return cls(high, np.add.accumulate(np.append(0.0, lost + cut)))

    def between(self, s: Integers, e: Integers) -> Floats:
        """Return 1/(s + 1) + … + 1/e."""
        difference: Floats = (self.high[e] - self.high[s]) + (self.low[e] - self.low[s])
        return difference


def _sum_tied_precisions(
    relevant: Bools, hits: Integers, groups: TieGroups, harmonic: HarmonicNumbers, cutoffs: Sequence[int | None]
) -> tuple[TieGroups, Floats]:
    """Return the tie groups with relevant and other documents, and their expected sums of precisions by row and cutoff.

    Let a group have t documents, r of them relevant, with s documents before it, R_s of them relevant. Its place i has
    (r/t) (R_s + 1 + (i - 1) b) / (s + i) with b = (r - 1)/(t - 1). The sum over the first m places is
    (r/t) (b m + (R_s + 1 - b (s + 1)) (H(s + m) - H(s))). `hits` counts relevant documents up to each rank.
    """
    rows, hits, relevant = len(relevant), hits.ravel(), relevant.ravel()
    earlier = hits[groups.starts] - relevant[groups.starts]
    r = hits[groups.starts + groups.lengths - 1] - earlier
    mixed = np.flatnonzero((r > 0) & (r < groups.lengths))  # In other groups, every order has the same value.
    groups, r, earlier = groups.select(mixed), r[mixed], earlier[mixed]
    before, lengths = groups.before, groups.lengths
    share, slope = r / lengths, (r - 1) / (lengths - 1)
    start = earlier + 1 - slope * (before + 1)
    sums = np.empty((rows, len(cutoffs)))
    for column, k in enumerate(cutoffs):
        places = lengths if k is None else np.clip(k - before, 0, lengths)
        precisions = share * (slope * places + start * harmonic.between(before, before + places))
        sums[:, column] = np.bincount(groups.row, weights=precisions, minlength=rows)
    return groups, sums


@dataclass(frozen=True, kw_only=True)
class AP(BinaryMetric):
    """Average precision; its mean over queries is MAP: AP@k = sum over relevant ranks r <= k of precision@r / D.

    Parameters
    ----------
    denominator : {"min_R_k", "R", "hits"}
        D: the relevant documents that fit into k ranks (LightGBM, XGBoost, CatBoost), all relevant documents
        (trec_eval, ranx), or the relevant documents among the first k (torchmetrics), which requires another `ties`
        than "average".
    min_label : float, default 1
        The lowest label of a relevant document.
    k, ties, empty, scores, weights, column, name
        See `Metric`. With averaged ties, let a tie group have t documents, r of them relevant, with s documents before
        it, R_s of them relevant. Its rank s + i contributes (r/t) (R_s + 1 + (i - 1)(r - 1)/(t - 1)) / (s + i).

    References
    ----------
    McSherry & Najork 2008, Computing information retrieval performance measures efficiently in the presence of tied
    scores, ECIR.

    Examples
    --------
    Relevant documents at ranks 2 and 4: (1/2 + 2/4) / 2.

    >>> import gainwise as gw
    >>> gw.evaluate(["map"], gw.Judgments([0, 1, 0, 1], group=[4]), [4, 3, 2, 1]).mean
    {'map': 0.5}
    """

    denominator: Denominator = "min_R_k"

    names: ClassVar[Mapping[str, Mapping[str, Any]]] = {"map": {}}

    def __post_init__(self) -> None:
        super().__post_init__()
        validate_choice("denominator", self.denominator, get_args(Denominator))
        if self.ties == "average" and not self.has_mean_over_ties:
            raise ValueError(
                "ties must be 'order', 'worst' or 'best' for denominator='hits', which gainwise does not average over "
                "ties, got 'average'. Pass for example ties='order'."
            )

    @property
    def has_mean_over_ties(self) -> bool:
        """Whether the denominator does not depend on the order of tied documents."""
        return self.denominator != "hits"

    def score(self, rows: RankedRows, statistics: RelevanceStatistics, cutoffs: Sequence[int | None]) -> Floats:
        """Return AP at each cutoff."""
        relevant = statistics.at_ranks(rows)
        depth, groups = max_depth(cutoffs, rows.width), rows.tie_groups
        ranks = np.arange(1, depth + 1)
        within = relevant[:, :depth] if groups is None else relevant  # Groups may exceed the cutoff.
        hits = np.add.accumulate(within, axis=1, dtype=np.int32)
        certain, tied_sums = relevant, None
        if groups is not None:
            harmonic = HarmonicNumbers.up_to(statistics.widest)
            mixed, tied_sums = _sum_tied_precisions(relevant, hits, groups.reaching(depth), harmonic, cutoffs)
            certain = relevant & ~mixed.members(len(relevant))
        terms = (hits[:, :depth] * certain[:, :depth]) * (1.0 / ranks)
        if self.denominator == "hits":
            return np.stack([row_sums(terms[:, :k]) / np.maximum(hits[:, :k][:, -1], 1) for k in cutoffs], axis=1)
        sums = sums_at(terms, cutoffs)
        if tied_sums is not None:
            sums += tied_sums
        return sums / self._divisors(statistics.relevant[rows.queries], cutoffs)

    def formula(self, statistics: RelevanceStatistics, cutoffs: Sequence[int | None]) -> Formula | None:
        """Return the sum of precisions, divided by D, or None if D depends on the scores."""
        if self.denominator == "hits":
            return None
        harmonic = HarmonicNumbers.up_to(statistics.widest)
        divisors = self._divisors(statistics.relevant, cutoffs)
        return compiled.sum_of_precisions(statistics.code, harmonic.high, harmonic.low, divisors)

    def _divisors(self, relevant: Integers, cutoffs: Sequence[int | None]) -> Floats:
        """Return D for queries with these numbers of relevant documents, at each cutoff."""
        divisors = np.maximum(relevant, 1)[:, None].astype(np.float64)
        if self.denominator == "R":
            return divisors
        return np.minimum(divisors, [np.inf if k is None else k for k in cutoffs])


@dataclass(frozen=True, eq=False)
class JudgedStatistics(LabelStatistics):
    """1 for the code of judged documents and 0 for unjudged ones, and the code of ranks without a document."""

    table: Floats
    blank: int


@dataclass(frozen=True, kw_only=True)
class Judged(Metric):
    """Share of the first k retrieved documents that were judged: judged@k = judged among them / min(k, retrieved).

    1 - judged@k is the share of unjudged documents, which metrics treat as irrelevant.
    A list shorter than k is divided by its length, as in ir_measures. The metric requires a TREC run, or judgments with
    `judged=`, because otherwise all documents are judged.

    Parameters
    ----------
    empty : 0.0, 1.0 or "skip"
        Value of a query without retrieved documents. Skipped by default, because there is no share among no documents.
    k, ties, scores, weights, column, name
        See `Metric`. With averaged ties, each document of a tie group counts as the share of judged documents. "worst"
        ranks the unjudged ones first, "best" the judged ones.

    References
    ----------
    Sakai 2007, Alternatives to bpref, SIGIR (lists condensed to their judged documents).
    `Judged` in ir_measures, https://ir-measur.es.

    Examples
    --------
    >>> import gainwise as gw
    >>> run = {"q": {"a": 3.0, "new": 2.0, "b": 1.0}}
    >>> gw.evaluate_run(["judged@2", "judged@10"], run, {"q": {"a": 1, "b": 0}}).per_query.round(3)
    array([[0.5  , 0.667]])
    """

    empty: Empty = "skip"

    names: ClassVar[Mapping[str, Mapping[str, Any]]] = {"judged": {}}

    def subject(self, judgments: Judgments) -> Judgments:
        """Return whether documents are judged, as labels, or raise if all are."""
        marks = judgments.whether_judged
        if marks is None:
            raise ValueError(_all_judged(self))
        return marks

    def bind(self, judgments: Judgments, cutoffs: Sequence[int | None]) -> JudgedStatistics:
        """Use the labels, which are 1 and 0, as values."""
        levels = judgments.levels
        empty = np.zeros((judgments.queries, 1), dtype=bool)  # Only scores determine the retrieved documents.
        return JudgedStatistics(empty=empty, table=table_of(levels), blank=blank_code(len(levels)))

    def score(self, rows: RankedRows, statistics: JudgedStatistics, cutoffs: Sequence[int | None]) -> Floats:
        """Return the (expected) share at each cutoff."""
        depth = max_depth(cutoffs, rows.width)
        judged = sums_at(rows.look_up(statistics.table, depth), cutoffs)
        retrieved = sums_at((rows.codes[:, :depth] != statistics.blank).astype(np.float64), cutoffs)
        share: Floats = np.full(judged.shape, np.nan if self.empty == "skip" else self.empty)
        np.divide(judged, retrieved, out=share, where=retrieved > 0)
        return share


def validate_without_judged(metrics: Iterable[Metric]) -> None:
    """Raise if a metric is `Judged`, for datasets without unjudged documents."""
    for metric in metrics:
        if isinstance(metric, Judged):
            raise ValueError(_all_judged(metric))


def _all_judged(metric: Metric) -> str:
    return (
        f"{metric} requires unjudged documents, but all documents are judged. Use evaluate_run, compare_runs or "
        "Judgments(labels, judged=)."
    )
