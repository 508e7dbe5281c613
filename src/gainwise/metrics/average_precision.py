"""Average precision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from .._common.validation import validate_choice
from ..ranking import compiled
from ..ranking.rows import row_sums, sums_at
from .base import max_depth
from .binary import BinaryMetric, RelevanceStatistics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._common.typing import Bools, Floats, Integers
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
        return compiled.sum_of_precisions(statistics.code, harmonic.high, harmonic.low, divisors)

    def _divisors(self, relevant: Integers, cutoffs: Sequence[int | None]) -> Floats:
        """Return D for queries with these numbers of relevant documents, at each cutoff."""
        divisors = np.maximum(relevant, 1)[:, None].astype(np.float64)
        if self.denominator == "R":
            return divisors
        return np.minimum(divisors, [np.inf if k is None else k for k in cutoffs])
