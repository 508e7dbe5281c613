"""Metrics of a reader who walks down the list and may stop: rank-biased precision and expected reciprocal rank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from .._common.checks import check_real
from .._common.words import number_text
from ..ranking import formulas
from ..ranking.rows import ideal_rows, row_sums, sums_at, table_of
from .base import Facts, Metric, choice, depth_of
from .gains import LARGEST_EXPONENT, exponential
from .relevance import BinaryMetric, RelevanceFacts, by_magnitude

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._common.typing import Floats, Integers
    from ..judgments import Judgments
    from ..ranking.formulas import Formula
    from ..ranking.rows import RankedRows
    from ..ranking.runs import TieRuns

MOST_PLACES = 4_000
"""Places of a run of ties over which the expectation of ERR is worked out: they cost their square, seconds a query."""


LONG = 8
"""Documents of a run to each place that is wanted from which on equal documents are taken together."""


@dataclass(frozen=True, eq=False)
class GradedFacts(RelevanceFacts):
    """The label of each code and the highest label of each query."""

    table: Floats
    highest: Floats


@dataclass(frozen=True, kw_only=True)
class RBP(BinaryMetric):
    """Rank-biased precision: (1 - p) * sum over ranks r of gain(r) * p^(r-1).

    Parameters
    ----------
    p : float
        Persistence: the probability that the reader goes on to the next rank, 0 < p < 1.
    gain : {"binary", "graded"}
        1 for a relevant document, or the label divided by the highest label of the query (trec_eval).
    min_label : float
        The lowest label of a relevant document.
    k, ties, empty, scores, weights
        See `Metric`. With ties averaged, each document of a run has the run's mean gain.

    References
    ----------
    Moffat & Zobel 2008, Rank-biased precision for measurement of retrieval effectiveness, ACM TOIS 27(1).

    Examples
    --------
    >>> import gainsay as gs
    >>> gs.evaluate(["rbp(p=0.5)"], gs.Judgments([1, 0, 1], group=[3]), [3, 2, 1]).mean
    {'rbp(p=0.5)': 0.625}
    """

    p: float = 0.8
    gain: Literal["binary", "graded"] = "binary"

    names: ClassVar[Mapping[str, Mapping[str, Any]]] = {"rbp": {}}

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(p=check_real("p", self.p, 0.0, 1.0))
        if self.p in (0, 1):
            raise ValueError(f"p must lie strictly between 0 and 1, got {number_text(self.p)}")
        choice("gain", self.gain, ("binary", "graded"))

    def bind(self, judgments: Judgments, cutoffs: Sequence[int | None]) -> RelevanceFacts:
        """Count relevant documents; for graded gain find the highest label of each query."""
        facts = super().bind(judgments, cutoffs)
        if self.gain == "binary":
            return facts
        levels = judgments.levels
        highest = np.zeros(judgments.queries)
        for block in judgments.layout.blocks:
            highest[block.queries] = levels[block.codes.max(axis=1)]
        scale = 2.0**64 if highest.max() > 2.0**LARGEST_EXPONENT else 1.0  # so that no sum over tied labels overflows
        table, divisors = table_of(np.maximum(levels, 0.0) / scale), np.where(highest > 0, highest / scale, 1.0)
        return GradedFacts(**vars(facts) | {"empty": (highest <= 0)[:, None]}, table=table, highest=divisors)

    def score(self, rows: RankedRows, facts: RelevanceFacts, cutoffs: Sequence[int | None]) -> Floats:
        """Return RBP at each cutoff."""
        depth = depth_of(cutoffs, rows.width)
        discount = self._discount(facts)[:depth]
        if not isinstance(facts, GradedFacts):
            return sums_at(facts.expected(rows, depth) * discount, cutoffs)
        return sums_at(rows.look_up(facts.table, depth) * discount, cutoffs) / facts.highest[rows.queries, None]

    def formula(self, facts: RelevanceFacts, cutoffs: Sequence[int | None]) -> Formula:
        """Return the sum of marks times discount; of labels times discount, divided by the highest one."""
        discount = self._discount(facts)
        if not isinstance(facts, GradedFacts):
            return formulas.gains(facts.marks, discount)
        return formulas.gains(facts.table, discount, facts.highest[:, None])

    def _discount(self, facts: RelevanceFacts) -> Floats:
        return (1.0 - self.p) * np.power(self.p, np.arange(facts.widest, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class StopFacts(Facts):
    """Probability that the reader stops at a document, by label code."""

    stop: Floats


@dataclass(frozen=True, kw_only=True)
class ERR(Metric):
    """Expected reciprocal rank: sum over ranks r <= k of 1/r * stop(r) * product over i < r of (1 - stop(i)).

    Parameters
    ----------
    max_label : float
        The highest grade of the scale: a document of label l stops the reader with probability
        (2^l - 1) / 2^max_label. Say it once; it is not guessed from the labels at hand.
    k, ties, empty, scores, weights
        See `Metric`. With ties averaged, the exact expectation over all orders of each run, whose cost grows with the
        length of the run times the cutoff.

    References
    ----------
    Chapelle, Metzler, Zhang & Grinspan 2009, Expected reciprocal rank for graded relevance, CIKM.

    Examples
    --------
    Labels 1 and 0 of a two-grade scale: the reader stops at the first document with probability 1/2.

    >>> import gainsay as gs
    >>> gs.evaluate([gs.ERR(max_label=1, k=10)], gs.Judgments([1, 0], group=[2]), [2, 1]).mean
    {'err(max_label=1)@10': 0.5}
    """

    max_label: float

    names: ClassVar[Mapping[str, Mapping[str, Any]]] = {"err": {}}

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(max_label=check_real("max_label", self.max_label, 0.0, 1023.0))

    def value_range(self, judgments: Judgments) -> tuple[float, float]:
        """Return 0 and 1."""
        return 0.0, 1.0

    def bind(self, judgments: Judgments, cutoffs: Sequence[int | None]) -> StopFacts:
        """Turn labels into stop probabilities; raise where a label lies outside the scale."""
        levels = judgments.levels
        if levels[0] < 0 or levels[-1] > self.max_label:
            outside = levels[0] if levels[0] < 0 else levels[-1]
            raise ValueError(
                f"{self} has grades from 0 to {number_text(self.max_label)}, but there is a label "
                f"{number_text(outside)}; give the highest grade of the scale as max_label"
            )
        stop = table_of(exponential(levels) / np.exp2(self.max_label))
        empty = np.ones((judgments.queries, 1), dtype=bool)
        for block in judgments.layout.blocks:
            best = ideal_rows(block, len(levels)).codes[:, 0]
            empty[block.queries, 0] = stop[best] <= 0
        return StopFacts(empty=empty, stop=stop)

    def score(self, rows: RankedRows, facts: StopFacts, cutoffs: Sequence[int | None]) -> Floats:
        """Return ERR at each cutoff."""
        depth = depth_of(cutoffs, rows.width)
        stop = facts.stop[rows.codes]
        reaches = np.ones_like(stop)
        np.multiply.accumulate(1.0 - stop[:, :-1], axis=1, out=reaches[:, 1:])
        stops = reaches * stop
        if rows.runs is not None:
            self._average(stops, reaches, stop, rows.runs.reaching(depth), depth)
        return sums_at(stops[:, :depth] / np.arange(1, depth + 1), cutoffs)

    def _average(self, stops: Floats, reaches: Floats, stop: Floats, runs: TieRuns, depth: int) -> None:
        """Replace, in runs of different labels, the probabilities that the reader stops at each rank by their means."""
        most = min(int(runs.lengths.max(initial=1)), depth)
        if most > MOST_PLACES:
            raise ValueError(
                f"{self}: {most} documents of one query have the same score; averaging ERR over all their orders "
                "would take too long. Give a cutoff (k=10), or ties='order', 'worst' or 'best'"
            )
        flat, column = stop.ravel(), np.arange(depth)
        for some in map(runs.chosen, by_magnitude(runs.lengths)):
            longest = int(some.lengths.max())
            most = min(longest, depth)
            mean_stops = one_by_one if longest <= LONG * most else by_groups
            means = mean_stops(flat[some.positions], some.number, most) * reaches.ravel()[some.starts, None]
            place = column[:most]
            within = place < np.minimum(some.lengths, depth - some.before)[:, None]
            np.put(stops, (some.starts[:, None] + place)[within], means[within])


def one_by_one(stop: Floats, run: Integers, most: int) -> Floats:
    """Return for each run the mean probability to reach and stop at its places 1 to `most`, shape (runs, most).

    Let on(j) be the probability to get past j documents of the run in random order (the mean over all subsets of j
    documents of the product of their 1 - stop) and off(j) = on(j - 1) - on(j), which is wanted. When the run grows to m
    documents, the last of which stops the reader with probability q,

        on_m(j) = (1 - j/m) on(j) + j/m (1 - q) on(j - 1)
        off_m(j) = (1 - j/m) off(j) + (j - 1)/m (1 - q) off(j - 1) + 1/m q on(j - 1):

    sums of positive numbers, so no digits are lost. `stop` are the probabilities to stop at each document, equal ones
    of a run side by side; `run` is the run of each, from 0, ascending.
    """
    lengths = np.bincount(run)
    longest_first = np.argsort(-lengths, kind="stable")
    starts, lengths = (np.cumsum(lengths) - lengths)[longest_first], lengths[longest_first]
    on, off = np.zeros((2, len(starts), most + 1))
    on[:, 0] = 1.0
    place = np.arange(1, most + 1)
    for taken in range(1, int(lengths[0]) + 1):
        runs = slice(0, int(np.searchsorted(-lengths, -taken, side="right")))
        q = stop[starts[runs] + taken - 1, None]
        share = np.minimum(place / taken, 1.0)
        reached = on[runs, :-1]
        off[runs, 1:] = (
            (1.0 - share) * off[runs, 1:] + (place - 1) / taken * (1.0 - q) * off[runs, :-1] + q / taken * reached
        )
        on[runs, 1:] = (1.0 - share) * on[runs, 1:] + share * (1.0 - q) * reached
    found = np.empty((len(starts), most))
    found[longest_first] = off[:, 1:]
    return found


def by_groups(stop: Floats, run: Integers, most: int) -> Floats:
    """Return the same as `one_by_one`: quicker for runs that are far longer than the places that are wanted.

    Documents of a run that stop the reader with the same probability q form a group, of which j are passed with
    probability on(j) = (1 - q)^j, and the j-th stops the reader with off(j) = q (1 - q)^(j - 1). Two groups of a and b
    documents become one: k of its first j places are of the second group with the hypergeometric probability P(k), so

        on(j) = sum over k of P(k) on_a(j - k) on_b(k)
        off(j) = sum over k of P(k) ((j - k)/j off_a(j - k) on_b(k) + k/j on_a(j - k) off_b(k)),

    until one is left for each run: sums of positive numbers again.
    """
    first = np.flatnonzero(np.append(True, (run[1:] != run[:-1]) | (stop[1:] != stop[:-1])))
    q, run, size = stop[first, None], run[first], np.diff(first, append=len(run))
    place = np.arange(min(most, int(size.max())) + 1)
    there = place <= size[:, None]
    on = np.where(there, (1.0 - q) ** place, 0.0)
    off = np.where(there & (place > 0), q * (1.0 - q) ** np.maximum(place - 1, 0), 0.0)
    while (same := run[1:] == run[:-1]).any():
        start = np.flatnonzero(np.append(True, ~same))
        number = np.arange(len(run)) - np.repeat(start, np.diff(start, append=len(run)))
        left = np.flatnonzero((number % 2 == 0) & np.append(same, False))
        smaller = left + (size[left + 1] < size[left])
        larger = 2 * left + 1 - smaller
        together = _merged(size[larger], size[smaller], on[larger], on[smaller], off[larger], off[smaller], most)
        size[left] += size[left + 1]
        kept = np.ones(len(run), dtype=bool)
        kept[left + 1] = False
        columns = max(on.shape[1], together[0].shape[1])
        on, off = (_widened(part, 0, columns) for part in (on, off))
        on[left, : together[0].shape[1]], off[left, : together[1].shape[1]] = together
        run, size, on, off = run[kept], size[kept], on[kept], off[kept]
    return off[:, 1:]


def _widened(values: Floats, before: int, columns: int) -> Floats:
    """Return the first columns of rows, zeros where there are none, behind so many further zeros."""
    wide = np.zeros((len(values), before + columns))
    values = values[:, :columns]
    wide[:, before : before + values.shape[1]] = values
    return wide


def _merged(
    a: Integers, b: Integers, on_a: Floats, on_b: Floats, off_a: Floats, off_b: Floats, most: int
) -> tuple[Floats, Floats]:
    """Return on and off of pairs of groups of a and of b documents, b <= a, taken together, up to `most` places."""
    most = min(most, int((a + b).max()))
    ways = -(-(min(most, int(b.max())) + 1) // 8) * 8  # in multiples of eight sums are quick
    on_a, off_a = (_widened(part, ways - 1, most + 1) for part in (on_a, off_a))
    on_b, off_b = (_widened(part, 0, ways) for part in (on_b, off_b))
    on, off = np.zeros((2, len(a), most + 1))
    on[:, 0] = 1.0
    a, b = a[:, None].astype(np.float64), b[:, None].astype(np.float64)
    k = np.arange(ways)
    chance = np.zeros((len(a), ways))  # that k of the first j places belong to the smaller group
    chance[:, 0] = 1.0
    for j in range(1, most + 1):
        left = np.maximum(a + b - (j - 1), 1.0)
        grown = chance * (np.maximum(a + k - (j - 1), 0.0) / left)
        grown[:, 1:] += chance[:, :-1] * (np.maximum(b - k[:-1], 0.0) / left)
        chance = grown
        rest = slice(j, j + ways)  # j - k, behind the zeros in front
        on_rest, off_rest = on_a[:, rest][:, ::-1], off_a[:, rest][:, ::-1]
        passed = chance * on_b
        on[:, j] = row_sums(passed * on_rest)
        off[:, j] = row_sums(passed * off_rest * ((j - k) / j) + chance * off_b * on_rest * (k / j))
    return on, off
