"""Average precision, and its extension to graded labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from .._common.validation import validate_choice
from .._common.words import format_exact
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


@dataclass(frozen=True, eq=False, slots=True)
class TiedPrecisions:
    """Expected precisions at relevant documents within tie groups.

    Let a group have t documents, r of them relevant, with s documents before it, R_s of them relevant. Its place i has
    (r/t) (R_s + 1 + (i - 1) b) / (s + i) with b = (r - 1)/(t - 1). The sum over the first m places is
    (r/t) (b m + (R_s + 1 - b (s + 1)) (H(s + m) - H(s))).
    """

    groups: TieGroups
    share: Floats
    slope: Floats
    start: Floats
    harmonic: HarmonicNumbers

    @classmethod
    def of(cls, relevant: Bools, hits: Integers, groups: TieGroups, harmonic: HarmonicNumbers) -> TiedPrecisions:
        """Return those of groups with relevant and other documents. `hits` counts relevant ones up to each rank."""
        hits, relevant = hits.ravel(), relevant.ravel()
        earlier = hits[groups.starts] - relevant[groups.starts]
        r = hits[groups.starts + groups.lengths - 1] - earlier
        mixed = np.flatnonzero((r > 0) & (r < groups.lengths))  # In other groups, every order has the same value.
        groups, r, earlier = groups.select(mixed), r[mixed], earlier[mixed]
        slope = (r - 1) / (groups.lengths - 1)
        start = earlier + 1 - slope * (groups.before + 1)
        return cls(groups, r / groups.lengths, slope, start, harmonic)

    def sums(self, rows: int, ranks: Integers | None = None) -> Floats:
        """Return the sum over the first ranks of each row, by default over all ranks."""
        before, places = self.groups.before, self.groups.lengths
        if ranks is not None:
            places = np.clip(ranks[self.groups.row] - before, 0, places)
        sums = self.share * (self.slope * places + self.start * self.harmonic.between(before, before + places))
        by_row: Floats = np.bincount(self.groups.row, weights=sums, minlength=rows).astype(np.float64)
        return by_row


@dataclass(frozen=True, kw_only=True)
class AP(BinaryMetric):
    """Average precision; its mean over queries is MAP: AP@k = sum over relevant ranks r <= k of precision@r / D.

    Parameters
    ----------
    denominator : {"min_R_k", "R", "hits"}
        D: the relevant documents that fit into k ranks (LightGBM, XGBoost, CatBoost), all relevant documents
        (trec_eval, ranx), or the relevant documents among the first k (torchmetrics).
    min_label : float, default 1
        The lowest label of a relevant document.
    k, ties, empty, scores, weights
        See `Metric`. With averaged ties, let a tie group have t documents, r of them relevant, with s documents before
        it, R_s of them relevant. Its rank s + i contributes (r/t) (R_s + 1 + (i - 1)(r - 1)/(t - 1)) / (s + i).

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
        validate_choice("denominator", self.denominator, get_args(Denominator))

    def score(self, rows: RankedRows, statistics: RelevanceStatistics, cutoffs: Sequence[int | None]) -> Floats:
        """Return AP at each cutoff."""
        relevant = statistics.at_ranks(rows)
        ranks = np.arange(1, max_depth(cutoffs, rows.width) + 1)
        within = relevant if rows.tie_groups is not None else relevant[:, : len(ranks)]  # Groups may exceed the cutoff.
        hits = np.add.accumulate(within, axis=1, dtype=np.int32)
        certain, tied = relevant, None
        if rows.tie_groups is not None:
            harmonic = HarmonicNumbers.up_to(statistics.widest)
            tied = TiedPrecisions.of(relevant, hits, rows.tie_groups.reaching(len(ranks)), harmonic)
            certain = relevant & ~tied.groups.members(len(relevant))
        terms = (hits[:, : len(ranks)] * certain[:, : len(ranks)]) * (1.0 / ranks)
        if self.denominator == "hits":
            return np.stack([_per_hit(relevant, hits, rows, terms, tied, k) for k in cutoffs], axis=1)
        sums = sums_at(terms, cutoffs)
        if tied is not None:
            for column, k in enumerate(cutoffs):
                sums[:, column] += tied.sums(len(terms), None if k is None else np.full(len(terms), k))
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


def _per_hit(
    relevant: Bools, hits: Integers, rows: RankedRows, terms: Floats, tied: TiedPrecisions | None, k: int | None
) -> Floats:
    """Return the expectation of (sum of precisions) / (hits among the first k ranks).

    The number of hits is uncertain only if the cutoff splits a tie group.
    """
    number = np.arange(len(hits))
    last = (rows.sizes if k is None else np.minimum(rows.sizes, k)) - 1
    values: Floats = _sums_up_to(terms, tied, last + 1) / np.maximum(hits[number, last], 1)
    if rows.tie_groups is None:
        return values
    group, is_split = rows.tie_groups.find(number, last)
    group, row = group[is_split], number[is_split]
    if len(group):
        before = last + 1
        before[row] = rows.tie_groups.before[group]
        certain = _sums_up_to(terms, tied, before)[row]
        values[row] = _per_uncertain_hit(relevant, hits, certain, rows.tie_groups, group, row, last[row])
    return values


def _sums_up_to(terms: Floats, tied: TiedPrecisions | None, ranks: Integers) -> Floats:
    """Return the (expected) sum of precisions at relevant documents over the first ranks of each row."""
    sums = row_sums(np.where(np.arange(terms.shape[1]) < ranks[:, None], terms, 0.0))
    return sums if tied is None else sums + tied.sums(len(terms), ranks)


def _per_uncertain_hit(
    relevant: Bools, hits: Integers, certain: Floats, groups: TieGroups, group: Integers, row: Integers, last: Integers
) -> Floats:
    """Return the same for rows whose rank `last` is in a tie group. `certain` are their sums before the group.

    Let the group have t documents, r of them relevant, with s documents before it, R_s of them relevant. Of its places,
    m count. The number h of relevant documents on these places is hypergeometric. Given h, they are spread evenly over
    the m places.
    """
    s, t = groups.before[group], groups.lengths[group]
    r = groups.totals(relevant.ravel()[groups.positions])[group]
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
    """Return the probability of h relevant documents on m of t places with r relevant documents, for every row."""
    from scipy.special import betaln

    t, m, r = t[:, None], m[:, None], r[:, None]
    possible = (h <= np.minimum(r, m)) & (h >= m - (t - r))
    with np.errstate(invalid="ignore", divide="ignore"):
        logs = -betaln(1 + h, 1 + r - h) - betaln(1 + m - h, 1 + t - r - m + h)
    logs = np.where(possible, logs, -np.inf)
    shares: Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares /= row_sums(shares)[:, None]
    return shares


@dataclass(frozen=True, eq=False)
class GradedStatistics(LabelStatistics):
    """The probability of relevance by label code, and its sum over the first ranks of the ideal order."""

    likely: Floats
    ideal: Floats


@dataclass(frozen=True, kw_only=True)
class GAP(Metric):
    """Graded average precision: GAP@k = sum over ranks r <= k of 1/r * sum over i <= r of G(min(l_i, l_r)) / D.

    A user considers documents relevant from a random grade on, and G(l) is the probability that this threshold is at
    most l. GAP is the expected sum of precisions at relevant ranks over the expected number of relevant documents. With
    a single threshold, for example with labels 0 and 1, it is AP.

    Parameters
    ----------
    thresholds : "equal" or sequence of float, default "equal"
        Probabilities of the thresholds 1, 2, 3, …, of which only the ratios matter. "equal" needs no highest grade,
        because it cancels. A label above the last grade counts as that grade, and a label between two grades as the
        lower. In a name: `gap(thresholds=0.2/0.8)`.
    denominator : {"min_R_k", "R"}, default "min_R_k"
        D: the same sum in the ideal order, which is the sum of G over its first k documents, or over all documents.
    k, ties, empty, scores, weights
        See `Metric`. A query is empty if no document reaches a possible threshold. With averaged ties, every threshold
        contributes its probability times its contribution to `AP`. The cost grows with the number of grades.

    References
    ----------
    Robertson, Kanoulas & Yilmaz 2010, Extending average precision to graded relevance judgments, SIGIR.

    Examples
    --------
    Grades 1, 0, 2: ranks 1 and 3 have the sums 1 and 1 + 2, and D is 1 + 2.

    >>> import gainsay as gs
    >>> gs.evaluate(["gap"], gs.Judgments([1, 0, 2], group=[3]), [3, 2, 1]).mean == {"gap": (1 / 1 + 3 / 3) / 3}
    True
    """

    thresholds: Any = "equal"
    denominator: Literal["min_R_k", "R"] = "min_R_k"

    names: ClassVar[Mapping[str, Mapping[str, Any]]] = {"gap": {}}

    def __post_init__(self) -> None:
        super().__post_init__()
        validate_choice("denominator", self.denominator, ("min_R_k", "R"))
        self._set(thresholds=_probabilities(self.thresholds))

    def option_text(self, option: str) -> str:
        """Return the text of an option in the name of the metric."""
        is_table = option == "thresholds" and self.thresholds != "equal"
        return "/".join(map(format_exact, self.thresholds)) if is_table else super().option_text(option)

    def bind(self, judgments: Judgments, cutoffs: Sequence[int | None]) -> GradedStatistics:
        """Compute the probability of relevance of each label, and its sums in the ideal order."""
        grades = np.maximum(np.floor(judgments.levels), 0.0)
        if self.thresholds != "equal":
            reached = np.append(0.0, np.cumsum(self.thresholds))
            grades = reached[np.minimum(grades, len(reached) - 1).astype(np.int64)]
        depths = [None] * len(cutoffs) if self.denominator == "R" else cutoffs
        likely, ideal = table_of(grades), np.zeros((judgments.queries, len(cutoffs)))
        for block in judgments.layout.blocks:
            best = ideal_rows(block, len(grades))
            ideal[best.queries] = sums_at(np.take(likely, best.codes), depths)
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


def _probabilities(thresholds: Any) -> Literal["equal"] | tuple[float, ...]:
    """Return the probabilities of thresholds from numbers or the text in a name, or raise `ValueError`."""
    if isinstance(thresholds, str) and thresholds == "equal":
        return "equal"
    try:
        parts = thresholds.split("/") if isinstance(thresholds, str) else np.atleast_1d(thresholds)
        probabilities = tuple(float(part) for part in parts)
    except (TypeError, ValueError):
        probabilities = ()
    if not probabilities or not np.isfinite(probabilities).all() or min(probabilities) < 0 or not any(probabilities):
        raise ValueError(
            "thresholds must be 'equal' or the probabilities of grades 1, 2, …, such as (0.2, 0.8) or '0.2/0.8', "
            f"finite, not negative and not all 0, got {thresholds!r}."
        )
    return probabilities
