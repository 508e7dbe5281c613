"""Average precision, and its extension to graded labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from .._common.validation import validate_choice
from ..ranking import compiled
from ..ranking.rows import ideal_rows, row_sums, sums_at, table_of
from .base import LabelStatistics, Metric, max_depth
from .binary import BinaryMetric, RelevanceStatistics

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .._common.typing import Bools, Floats, Integers
    from ..judgments import Judgments
    from ..ranking.compiled import Formula
    from ..ranking.rows import RankedRows, TieGroups

Denominator = Literal["min_R_k", "R", "hits"]


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
        if self.denominator == "hits" and self.ties == "average":
            raise ValueError(
                "ties must be 'order', 'worst' or 'best' for denominator='hits', which gainwise does not average over "
                "ties, got 'average'. Pass for example ties='order'."
            )

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
        return compiled.precisions(statistics.code, harmonic.high, harmonic.low, divisors)

    def _divisors(self, relevant: Integers, cutoffs: Sequence[int | None]) -> Floats:
        """Return D for queries with these numbers of relevant documents, at each cutoff."""
        divisors = np.maximum(relevant, 1)[:, None].astype(np.float64)
        if self.denominator == "R":
            return divisors
        return np.minimum(divisors, [np.inf if k is None else k for k in cutoffs])


@dataclass(frozen=True, eq=False)
class GradedStatistics(LabelStatistics):
    """The probability of relevance by label code, and its sum over the first ranks of the ideal order."""

    likely: Floats
    ideal: Floats


@dataclass(frozen=True, kw_only=True)
class GAP(Metric):
    """Graded average precision: GAP@k = sum over ranks r <= k of 1/r * sum over i <= r of G(min(l_i, l_r)) / D.

    A user considers documents relevant from a random grade on. All grades are equally likely, so G(l) is the whole part
    of the label (0 for negative labels). GAP is the expected sum of precisions at relevant ranks over the expected
    number of relevant documents. D is the sum in the ideal order: the sum of G over its first k documents. With
    labels 0 and 1, GAP is AP.

    Parameters
    ----------
    k, ties, empty, scores, weights, column, name
        See `Metric`. With averaged ties, the sums of each grade are the expectations of `AP`. The cost grows with the
        number of grades.

    References
    ----------
    Robertson, Kanoulas & Yilmaz 2010, Extending average precision to graded relevance judgments, SIGIR.

    Examples
    --------
    Grades 1, 0, 2: ranks 1 and 3 have the sums 1 and 1 + 2, and D is 1 + 2.

    >>> import gainwise as gw
    >>> gw.evaluate(["gap"], gw.Judgments([1, 0, 2], group=[3]), [3, 2, 1]).mean == {"gap": (1 / 1 + 3 / 3) / 3}
    True
    """

    names: ClassVar[Mapping[str, Mapping[str, Any]]] = {"gap": {}}

    def bind(self, judgments: Judgments, cutoffs: Sequence[int | None]) -> GradedStatistics:
        """Compute the probability of relevance of each label, and its sums in the ideal order."""
        grades = np.maximum(np.floor(judgments.levels), 0.0)
        likely, ideal = table_of(grades), np.zeros((judgments.queries, len(cutoffs)))
        for block in judgments.layout.blocks:
            best = ideal_rows(block, len(grades))
            ideal[best.queries] = sums_at(np.take(likely, best.codes), cutoffs)
        return GradedStatistics(empty=ideal[:, :1] <= 0, likely=likely, ideal=ideal)

    def score(self, rows: RankedRows, statistics: GradedStatistics, cutoffs: Sequence[int | None]) -> Floats:
        """Return GAP at each cutoff."""
        depth = max_depth(cutoffs, rows.width)
        likely = np.take(statistics.likely, rows.codes if rows.tie_groups is not None else rows.codes[:, :depth])
        shared = np.zeros((len(likely), depth))  # By rank, the sum of G(min(l_i, l_r)).
        groups = None if rows.tie_groups is None else rows.tie_groups.reaching(depth)
        first, more = np.zeros((2, 0 if groups is None else len(groups)))
        for lowest, share in _thresholds(likely):
            relevant = likely >= lowest
            hits = np.add.accumulate(relevant, axis=1, dtype=np.float64)
            shared += share * (hits * relevant)[:, :depth]
            if groups is not None:  # Of r relevant documents among t, i (r - 1)/(t - 1) are before a relevant place i.
                r, weight = groups.totals(relevant.ravel()[groups.positions]), share[groups.starts // rows.width, 0]
                first += weight * r * (hits.ravel()[groups.starts] - relevant.ravel()[groups.starts] + 1)
                more += weight * r * (r - 1)
        if groups is not None:
            per_place = more / (groups.lengths * (groups.lengths - 1))
            row, rank = np.divmod(groups.positions, rows.width)
            inside = rank < depth
            expected = groups.spread(first / groups.lengths) + groups.spread(per_place) * groups.places
            shared[row[inside], rank[inside]] = expected[inside]
        shared /= np.arange(1, depth + 1)
        return sums_at(shared, cutoffs) / np.where(statistics.empty, 1.0, statistics.ideal)[rows.queries]


def _thresholds(likely: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Yield a threshold of each row and its probability, both of shape (rows, 1), in ascending order.

    A row has one threshold for each distinct value above 0, followed by infinite thresholds.
    """
    ordered = np.sort(likely, axis=1)
    steps = np.diff(ordered, axis=1, prepend=0.0)
    row, column = np.nonzero(steps)
    number = np.cumsum(steps > 0, axis=1)
    shape = (int(number.max(initial=0)), len(likely), 1)
    lowest, share = np.full(shape, np.inf), np.zeros(shape)
    at = number[row, column] - 1
    lowest[at, row, 0], share[at, row, 0] = ordered[row, column], steps[row, column]
    yield from zip(lowest, share, strict=True)
