"""Average precision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from ..ranking import formulas
from ..ranking.rows import row_sums, sums_at
from .base import choice, depth_of
from .relevance import BinaryMetric, RelevanceFacts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._common.typing import Bools, Floats, Integers
    from ..judgments import Judgments
    from ..ranking.formulas import Formula
    from ..ranking.rows import RankedRows
    from ..ranking.runs import TieRuns

Denominator = Literal["min_R_k", "R", "hits"]


@dataclass(frozen=True, eq=False, slots=True)
class HarmonicNumbers:
    """H(n) = 1/1 + 1/2 + … + 1/n, each as the sum of two floats: differences keep all their digits."""

    high: Floats
    low: Floats

    @classmethod
    def up_to(cls, n: int) -> HarmonicNumbers:
        """Return H(0) to H(n)."""
        number = np.arange(1, n + 1, dtype=np.float64)
        reciprocal = 1.0 / number
        front = reciprocal.astype(np.float32).astype(np.float64)  # few digits, so that products with n are exact
        cut = ((1.0 - front * number) - (reciprocal - front) * number) / number
        high = np.add.accumulate(np.append(0.0, reciprocal))
        grown = high[1:] - high[:-1]
        lost = (high[:-1] - (high[1:] - grown)) + (reciprocal - grown)  # to rounding, exactly (Knuth's two-sum)
        return cls(high, np.add.accumulate(np.append(0.0, lost + cut)))

    def between(self, s: Integers, e: Integers) -> Floats:
        """Return 1/(s + 1) + … + 1/e."""
        found: Floats = (self.high[e] - self.high[s]) + (self.low[e] - self.low[s])
        return found


@dataclass(frozen=True, eq=False)
class PrecisionFacts(RelevanceFacts):
    """Also the harmonic numbers, up to the longest query."""

    harmonic: HarmonicNumbers


@dataclass(frozen=True, eq=False, slots=True)
class TiedPrecisions:
    """Expected precisions at relevant documents within runs of ties.

    Place i of a run of t documents, r of them relevant, with s documents before the run and R_s of them relevant, has
    (r/t) (R_s + 1 + (i - 1) b) / (s + i), where b = (r - 1)/(t - 1). Over the first m places that is
    (r/t) (b m + (R_s + 1 - b (s + 1)) (H(s + m) - H(s))).
    """

    runs: TieRuns
    share: Floats
    slope: Floats
    start: Floats
    harmonic: HarmonicNumbers

    @classmethod
    def of(cls, relevant: Bools, hits: Integers, runs: TieRuns, harmonic: HarmonicNumbers) -> TiedPrecisions:
        """Return those of the runs that hold both kinds of documents; `hits` counts relevant ones up to each rank."""
        hits, relevant = hits.ravel(), relevant.ravel()
        earlier = hits[runs.starts] - relevant[runs.starts]
        r = hits[runs.starts + runs.lengths - 1] - earlier
        mixed = np.flatnonzero((r > 0) & (r < runs.lengths))  # elsewhere every order gives the same
        runs, r, earlier = runs.chosen(mixed), r[mixed], earlier[mixed]
        slope = (r - 1) / (runs.lengths - 1)
        start = earlier + 1 - slope * (runs.before + 1)
        return cls(runs, r / runs.lengths, slope, start, harmonic)

    def sums(self, rows: int, ranks: Integers | None = None) -> Floats:
        """Return the sum over the first ranks of each of the rows; over all ranks by default."""
        before, places = self.runs.before, self.runs.lengths
        if ranks is not None:
            places = np.clip(ranks[self.runs.row] - before, 0, places)
        sums = self.share * (self.slope * places + self.start * self.harmonic.between(before, before + places))
        by_row: Floats = np.bincount(self.runs.row, weights=sums, minlength=rows).astype(np.float64)
        return by_row


@dataclass(frozen=True, kw_only=True)
class AP(BinaryMetric):
    """Average precision; its mean over queries is MAP: AP@k = sum over relevant ranks r <= k of precision@r / D.

    Parameters
    ----------
    denominator : {"min_R_k", "R", "hits"}
        D: the relevant documents that fit into k ranks (LightGBM, XGBoost, CatBoost), all relevant documents
        (trec_eval, ranx), or the relevant documents among the first k (torchmetrics).
    min_label : float
        The lowest label of a relevant document.
    k, ties, empty, scores, weights
        See `Metric`. With ties averaged, the rank s + i inside a run of t documents, r of them relevant, with R_s
        relevant documents before the run, contributes (r/t) (R_s + 1 + (i - 1)(r - 1)/(t - 1)) / (s + i).

    References
    ----------
    McSherry & Najork 2008, Computing information retrieval performance measures efficiently in the presence of tied
    scores, ECIR.

    Examples
    --------
    Relevant documents at ranks 2 and 4: (1/2 + 2/4) / 2.

    >>> import gainsay as gs
    >>> gs.evaluate(["map"], gs.Judgments([0, 1, 0, 1], group=[4]), [4, 3, 2, 1]).mean
    {'map': 0.5}
    """

    denominator: Denominator = "min_R_k"

    names: ClassVar[Mapping[str, Mapping[str, Any]]] = {"map": {}}

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("denominator", self.denominator, get_args(Denominator))

    def bind(self, judgments: Judgments, cutoffs: Sequence[int | None]) -> PrecisionFacts:
        """Count the relevant documents of each query, and add up 1/r as far as ranks go."""
        facts = super().bind(judgments, cutoffs)
        return PrecisionFacts(**vars(facts), harmonic=HarmonicNumbers.up_to(facts.widest))

    def score(self, rows: RankedRows, facts: PrecisionFacts, cutoffs: Sequence[int | None]) -> Floats:
        """Return AP at each cutoff."""
        relevant = facts.at_ranks(rows)
        ranks = np.arange(1, depth_of(cutoffs, rows.width) + 1)
        among = relevant if rows.runs is not None else relevant[:, : len(ranks)]  # a run may go on behind the cutoff
        hits = _counted(among)
        certain, tied = relevant, None
        if rows.runs is not None:
            tied = TiedPrecisions.of(relevant, hits, rows.runs.reaching(len(ranks)), facts.harmonic)
            certain = relevant & ~tied.runs.members(len(relevant))
        terms = (hits[:, : len(ranks)] * certain[:, : len(ranks)]) * (1.0 / ranks)
        if self.denominator == "hits":
            return np.stack([_per_hit(relevant, hits, rows, terms, tied, k) for k in cutoffs], axis=1)
        sums = sums_at(terms, cutoffs)
        if tied is not None:
            for column, k in enumerate(cutoffs):
                sums[:, column] += tied.sums(len(terms), None if k is None else np.full(len(terms), k))
        return sums / self._divisors(facts.relevant[rows.queries], cutoffs)

    def formula(self, facts: PrecisionFacts, cutoffs: Sequence[int | None]) -> Formula | None:
        """Return the sum of precisions, divided by D; nothing where D depends on the scores."""
        if self.denominator == "hits":
            return None
        divisors = self._divisors(facts.relevant, cutoffs)
        return formulas.precisions(facts.code, facts.harmonic.high, facts.harmonic.low, divisors)

    def _divisors(self, relevant: Integers, cutoffs: Sequence[int | None]) -> Floats:
        """Return D for queries of so many relevant documents, at each cutoff."""
        divisors = np.maximum(relevant, 1)[:, None].astype(np.float64)
        if self.denominator == "R":
            return divisors
        return np.minimum(divisors, [np.inf if k is None else k for k in cutoffs])


def _counted(relevant: Bools) -> Integers:
    """Return how many documents up to each rank are relevant, for each row."""
    counts = np.add.accumulate(relevant.ravel(), dtype=np.int32).reshape(relevant.shape)  # far quicker than by row
    before = np.append(np.int32(0), counts[:-1, -1])
    counts -= before[:, None]
    return counts


def _per_hit(
    relevant: Bools, hits: Integers, rows: RankedRows, terms: Floats, tied: TiedPrecisions | None, k: int | None
) -> Floats:
    """Return the expectation of (sum of precisions) / (hits among the first k ranks).

    Only a run of ties that the cutoff divides makes the number of hits uncertain.
    """
    number = np.arange(len(hits))
    last = (rows.sizes if k is None else np.minimum(rows.sizes, k)) - 1
    values: Floats = _sums_up_to(terms, tied, last + 1) / np.maximum(hits[number, last], 1)
    if rows.runs is None:
        return values
    run, divided = rows.runs.over(number, last)
    run, row = run[divided], number[divided]
    if len(run):
        before = last + 1
        before[row] = rows.runs.before[run]
        certain = _sums_up_to(terms, tied, before)[row]
        values[row] = _per_uncertain_hit(relevant, hits, certain, rows.runs, run, row, last[row])
    return values


def _sums_up_to(terms: Floats, tied: TiedPrecisions | None, ranks: Integers) -> Floats:
    """Return the (expected) sum of precisions at relevant documents over the first ranks of each row."""
    sums = row_sums(np.where(np.arange(terms.shape[1]) < ranks[:, None], terms, 0.0))
    return sums if tied is None else sums + tied.sums(len(terms), ranks)


def _per_uncertain_hit(
    relevant: Bools, hits: Integers, certain: Floats, runs: TieRuns, run: Integers, row: Integers, last: Integers
) -> Floats:
    """Return the same for rows whose rank `last` lies in a run of ties; `certain` are their sums before it.

    The run has s documents before it with R_s relevant, t documents, r relevant, and m of its places count. The number
    h of relevant documents on these places is hypergeometric, and given h they are spread evenly over the m places.
    """
    s, t = runs.before[run], runs.lengths[run]
    r = runs.totals(relevant.ravel()[runs.positions])[run]
    m = last - s + 1
    earlier = hits[row, s] - relevant[row, s]
    ranks = np.arange(1, int(last.max()) + 2)
    inside = (ranks > s[:, None]) & (ranks <= last[:, None] + 1)
    reciprocal = row_sums(inside / ranks)
    weighted = row_sums(inside * (ranks - s[:, None] - 1) / ranks)
    h = np.arange(int(np.minimum(m, r).max(initial=0)) + 1)
    per_place = h / m[:, None]
    sums = per_place * (
        ((earlier + 1) * reciprocal)[:, None] + np.maximum(h - 1, 0) / np.maximum(m - 1, 1)[:, None] * weighted[:, None]
    )
    return row_sums(_hypergeometric(t, r, m, h) * (certain[:, None] + sums) / np.maximum(earlier[:, None] + h, 1))


def _hypergeometric(t: Integers, r: Floats, m: Integers, h: Integers) -> Floats:
    """Return the probability of h relevant documents on m of t places, r documents being relevant, for every row."""
    from scipy.special import betaln

    t, m, r = t[:, None], m[:, None], r[:, None]
    possible = (h <= np.minimum(r, m)) & (h >= m - (t - r))
    with np.errstate(invalid="ignore", divide="ignore"):
        logs = -betaln(1 + h, 1 + r - h) - betaln(1 + m - h, 1 + t - r - m + h)
    logs = np.where(possible, logs, -np.inf)
    shares: Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares /= row_sums(shares)[:, None]
    return shares
