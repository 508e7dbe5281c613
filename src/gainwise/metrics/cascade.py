"""Metrics of a user who reads down the list and may stop: rank-biased precision and expected reciprocal rank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from .._common.text import format_exact
from .._common.validation import validate_choice, validate_real
from ..ranking import compiled
from ..ranking.rows import row_sums, sums_at, table_of
from .base import LabelStatistics, Metric, max_depth
from .binary import BinaryMetric, RelevanceStatistics, split_by_magnitude
from .dcg import MAX_GAIN, exponential

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._common.typing import Floats, Integers
    from ..judgments import Judgments
    from ..ranking.compiled import Formula
    from ..ranking.rows import RankedRows, TieGroups

MAX_PLACES = 4_000
"""Largest number of tied places for ERR. The cost is quadratic: seconds per query at this size."""


DOCUMENTS_PER_PLACE = 8
"""With more documents per place in a tie group, equal documents are processed merged."""


@dataclass(frozen=True, eq=False)
class WorthStatistics(RelevanceStatistics):
    """The worth of a document by label code, and the number of each query that divides it."""

    table: Floats
    divisors: Floats


@dataclass(frozen=True, kw_only=True)
class RBP(BinaryMetric):
    """Rank-biased precision: (1 - p) * sum over ranks r of gain(r) * p^(r-1).

    Parameters
    ----------
    p : float
        Persistence: the probability that the user continues with the next rank, 0 < p < 1.
    gain : {"binary", "graded"}
        1 for a relevant document, or the label divided by the highest label of the query (trec_eval).
    min_label : float, default 1
        The lowest label of a relevant document.
    k, ties, empty, scores, weights, column, name
        See `Metric`. With averaged ties, each document of a tie group has the mean gain of the group.

    References
    ----------
    Moffat & Zobel 2008, Rank-biased precision for measurement of retrieval effectiveness, ACM TOIS 27(1).

    Examples
    --------
    >>> import gainwise as gw
    >>> gw.evaluate(["rbp(p=0.5)"], gw.Judgments([1, 0, 1], group=[3]), [3, 2, 1]).mean
    {'rbp(p=0.5)': 0.625}
    """

    p: float = 0.8
    gain: Literal["binary", "graded"] = "binary"

    names: ClassVar[Mapping[str, Mapping[str, Any]]] = {"rbp": {}}

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(p=validate_real("p", self.p, 0.0, 1.0))
        if self.p in (0, 1):
            raise ValueError(f"p must be between 0 and 1, both excluded, got {format_exact(self.p)}.")
        validate_choice("gain", self.gain, ("binary", "graded"))

    def bind(self, judgments: Judgments, cutoffs: Sequence[int | None]) -> WorthStatistics:
        """Count relevant documents and, for graded gain, find the highest label of each query."""
        statistics = super().bind(judgments, cutoffs)
        if self.gain == "binary":
            return WorthStatistics(**vars(statistics), table=statistics.marks, divisors=np.ones(judgments.queries))
        levels = judgments.levels
        highest = np.zeros(judgments.queries)
        for block in judgments.layout.blocks:
            highest[block.queries] = levels[block.codes.max(axis=1)]
        scale = 2.0**64 if highest.max() > MAX_GAIN else 1.0  # Sums of tied labels must not overflow.
        table, divisors = table_of(np.maximum(levels, 0.0) / scale), np.where(highest > 0, highest / scale, 1.0)
        return WorthStatistics(**vars(statistics) | {"empty": (highest <= 0)[:, None]}, table=table, divisors=divisors)

    def score(self, rows: RankedRows, statistics: WorthStatistics, cutoffs: Sequence[int | None]) -> Floats:
        """Return RBP at each cutoff."""
        depth = max_depth(cutoffs, rows.width)
        worth = rows.look_up(statistics.table, depth) * self._discount(statistics)[:depth]
        return sums_at(worth, cutoffs) / statistics.divisors[rows.queries, None]

    def formula(self, statistics: WorthStatistics, cutoffs: Sequence[int | None]) -> Formula:
        """Return the sum of marks or scaled labels times discount."""
        return compiled.sum_of_gains(statistics.table, self._discount(statistics), statistics.divisors[:, None])

    def _discount(self, statistics: RelevanceStatistics) -> Floats:
        return (1.0 - self.p) * np.power(self.p, np.arange(statistics.widest, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class StopStatistics(LabelStatistics):
    """Probability that the user stops at a document, by label code."""

    stop: Floats


@dataclass(frozen=True, kw_only=True)
class ERR(Metric):
    """Expected reciprocal rank: sum over ranks r <= k of 1/r * stop(r) * product over i < r of (1 - stop(i)).

    Parameters
    ----------
    max_label : float
        The highest grade of the scale: the user stops at a document of label l with probability
        (2^l - 1) / 2^max_label. It is required, because the data may lack the highest grade.
    k, ties, empty, scores, weights, column, name
        See `Metric`. With averaged ties, the value is the exact expectation over all orders of each tie group. Its cost
        grows with the length of the group times the cutoff.

    References
    ----------
    Chapelle, Metzler, Zhang & Grinspan 2009, Expected reciprocal rank for graded relevance, CIKM.

    Examples
    --------
    Labels 1 and 0 of a two-grade scale: the user stops at the first document with probability 1/2.

    >>> import gainwise as gw
    >>> gw.evaluate([gw.ERR(max_label=1, k=10)], gw.Judgments([1, 0], group=[2]), [2, 1]).mean
    {'err(max_label=1)@10': 0.5}
    """

    max_label: float

    names: ClassVar[Mapping[str, Mapping[str, Any]]] = {"err": {}}

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(max_label=validate_real("max_label", self.max_label, 0.0, 1023.0))

    def value_range(self, judgments: Judgments) -> tuple[float, float]:
        """Return 0 and 1."""
        return 0.0, 1.0

    def bind(self, judgments: Judgments, cutoffs: Sequence[int | None]) -> StopStatistics:
        """Convert labels into stop probabilities, or raise if a label is outside the scale."""
        levels = judgments.levels
        if levels[0] < 0 or levels[-1] > self.max_label:
            outside = levels[0] if levels[0] < 0 else levels[-1]
            raise ValueError(
                f"{self} supports labels from 0 to {format_exact(self.max_label)}, got {format_exact(outside)}. Pass "
                "the highest grade of the scale as max_label."
            )
        stop = table_of(exponential(levels) / np.exp2(self.max_label))
        empty = np.ones((judgments.queries, 1), dtype=bool)
        for block in judgments.layout.blocks:
            empty[block.queries, 0] = stop[block.codes.max(axis=1)] <= 0
        return StopStatistics(empty=empty, stop=stop)

    def score(self, rows: RankedRows, statistics: StopStatistics, cutoffs: Sequence[int | None]) -> Floats:
        """Return ERR at each cutoff."""
        depth = max_depth(cutoffs, rows.width)
        stop = statistics.stop[rows.codes]
        reaches = np.ones_like(stop)
        np.multiply.accumulate(1.0 - stop[:, :-1], axis=1, out=reaches[:, 1:])
        stops = reaches * stop
        if rows.tie_groups is not None:
            self._average(stops, reaches, stop, rows.tie_groups.reaching(depth), depth)
        return sums_at(stops[:, :depth] / np.arange(1, depth + 1), cutoffs)

    def _average(self, stops: Floats, reaches: Floats, stop: Floats, groups: TieGroups, depth: int) -> None:
        """Replace the probabilities to stop at each rank of a tie group by their means."""
        places = min(int(groups.lengths.max(initial=1)), depth)
        if places > MAX_PLACES:
            raise ValueError(
                f"{self}: {places} documents of one query have the same score, so averaging ERR over all their orders "
                "takes too long. Pass a cutoff (k=10), or ties='order', 'worst' or 'best'."
            )
        flat, column = stop.ravel(), np.arange(depth)
        for part in map(groups.select, split_by_magnitude(groups.lengths)):
            longest = int(part.lengths.max())
            places = min(longest, depth)
            mean_stops = average_one_by_one if longest <= DOCUMENTS_PER_PLACE * places else average_merged
            means = mean_stops(flat[part.positions], part.number, places) * reaches.ravel()[part.starts, None]
            place = column[:places]
            within = place < np.minimum(part.lengths, depth - part.before)[:, None]
            np.put(stops, (part.starts[:, None] + place)[within], means[within])


def average_one_by_one(stop: Floats, group: Integers, places: int) -> Floats:
    """Return the mean probability of each tie group to reach and stop at each of its places, shape (groups, places).

    Let on(j) be the probability to pass j documents of the group in random order (the mean over all subsets of j
    documents of the product of their 1 - stop), and off(j) = on(j - 1) - on(j) the result. If a document at which the
    user stops with probability q is added as number m of the group,

        on_m(j) = (1 - j/m) on(j) + j/m (1 - q) on(j - 1)
        off_m(j) = (1 - j/m) off(j) + (j - 1)/m (1 - q) off(j - 1) + 1/m q on(j - 1).

    These are sums of positive numbers, so no digits are lost. `stop` are the probabilities to stop at each document, in
    which equal ones of a group are contiguous. `group` is the group of each document, from 0 and ascending.
    """
    lengths = np.bincount(group)
    longest_first = np.argsort(-lengths, kind="stable")
    starts, lengths = (np.cumsum(lengths) - lengths)[longest_first], lengths[longest_first]
    on, off = np.zeros((2, len(starts), places + 1))
    on[:, 0] = 1.0
    place = np.arange(1, places + 1)
    for taken in range(1, int(lengths[0]) + 1):
        rows = slice(0, int(np.searchsorted(-lengths, -taken, side="right")))
        q = stop[starts[rows] + taken - 1, None]
        share = np.minimum(place / taken, 1.0)
        reached = on[rows, :-1]
        off[rows, 1:] = (
            (1.0 - share) * off[rows, 1:] + (place - 1) / taken * (1.0 - q) * off[rows, :-1] + q / taken * reached
        )
        on[rows, 1:] = (1.0 - share) * on[rows, 1:] + share * (1.0 - q) * reached
    means = np.empty((len(starts), places))
    means[longest_first] = off[:, 1:]
    return means


def average_merged(stop: Floats, group: Integers, places: int) -> Floats:
    """Return the same as `average_one_by_one`, faster for tie groups with many more documents than places.

    Documents with the same stop probability q form a subgroup. The user passes j of them with probability
    on(j) = (1 - q)^j and stops at the j-th with off(j) = q (1 - q)^(j - 1). Two subgroups of a and b documents are
    merged. The second one has k of the first j places with the hypergeometric probability P(k), so

        on(j) = sum over k of P(k) on_a(j - k) on_b(k)
        off(j) = sum over k of P(k) ((j - k)/j off_a(j - k) on_b(k) + k/j on_a(j - k) off_b(k))

    This is repeated until each tie group has one subgroup. All are sums of positive numbers.
    """
    first = np.flatnonzero(np.append(True, (group[1:] != group[:-1]) | (stop[1:] != stop[:-1])))
    q, group, size = stop[first, None], group[first], np.diff(first, append=len(group))
    place = np.arange(min(places, int(size.max())) + 1)
    exists = place <= size[:, None]
    on = np.where(exists, (1.0 - q) ** place, 0.0)
    off = np.where(exists & (place > 0), q * (1.0 - q) ** np.maximum(place - 1, 0), 0.0)
    both = np.stack([on, off])
    while (same := group[1:] == group[:-1]).any():
        start = np.flatnonzero(np.append(True, ~same))
        number = np.arange(len(group)) - np.repeat(start, np.diff(start, append=len(group)))
        left = np.flatnonzero((number % 2 == 0) & np.append(same, False))
        smaller = left + (size[left + 1] < size[left])
        larger = 2 * left + 1 - smaller
        merged = _merge(size[larger], size[smaller], both[:, larger], both[:, smaller], places)
        size[left] += size[left + 1]
        remains = np.ones(len(group), dtype=bool)
        remains[left + 1] = False
        both = _pad(both, 0, max(both.shape[2], merged.shape[2]))
        both[:, left, : merged.shape[2]] = merged
        group, size, both = group[remains], size[remains], both[:, remains]
    return both[1, :, 1:]


def _pad(values: Floats, before: int, columns: int) -> Floats:
    """Return the first columns of rows with zeros before and after them."""
    padded = np.zeros((*values.shape[:-1], before + columns))
    values = values[..., :columns]
    padded[..., before : before + values.shape[-1]] = values
    return padded


def _merge(a: Integers, b: Integers, larger: Floats, smaller: Floats, places: int) -> Floats:
    """Return on and off of merged pairs of subgroups with a and b <= a documents, shape (2, pairs, places + 1)."""
    places = min(places, int((a + b).max()))
    ways = -(-(min(places, int(b.max())) + 1) // 8) * 8  # Sums over multiples of eight are fast.
    on_a, off_a = _pad(larger, ways - 1, places + 1)
    on_b, off_b = _pad(smaller, 0, ways)
    on, off = merged = np.zeros((2, len(a), places + 1))
    on[:, 0] = 1.0
    a, b = a[:, None].astype(np.float64), b[:, None].astype(np.float64)
    k = np.arange(ways)
    chance = np.zeros((len(a), ways))  # Of k places of the smaller group among the first j.
    chance[:, 0] = 1.0
    for j in range(1, places + 1):
        left = np.maximum(a + b - (j - 1), 1.0)
        grown = chance * (np.maximum(a + k - (j - 1), 0.0) / left)
        grown[:, 1:] += chance[:, :-1] * (np.maximum(b - k[:-1], 0.0) / left)
        chance = grown
        rest = slice(j, j + ways)  # j - k, after the zeros.
        on_rest, off_rest = on_a[:, rest][:, ::-1], off_a[:, rest][:, ::-1]
        passed = chance * on_b
        on[:, j] = row_sums(passed * on_rest)
        off[:, j] = row_sums(passed * off_rest * ((j - k) / j) + chance * off_b * on_rest * (k / j))
    return merged
