"""Metrics of a reader who walks down the list and may stop: rank-biased precision and expected reciprocal rank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from .._common.checks import check_real
from .._common.words import number_text
from ..ranking.rows import ideal_rows, sums_at, table_of
from .base import Facts, Metric, choice, depth_of
from .gains import LARGEST_EXPONENT, exponential
from .relevance import BinaryMetric, RelevanceFacts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._common.typing import Floats, Integers
    from ..judgments import Judgments
    from ..ranking.rows import RankedRows

MOST_STEPS = 20_000_000
"""Longest run of ties times cutoff for which the expectation of ERR is worked out: a few seconds a query."""


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
        self._set("p", check_real("p", self.p, 0.0, 1.0))
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
        return GradedFacts(
            empty=(highest <= 0)[:, None],
            relevant=facts.relevant,
            judged=facts.judged,
            code=facts.code,
            levels=facts.levels,
            table=table_of(np.maximum(levels, 0.0) / scale),
            highest=np.where(highest > 0, highest / scale, 1.0),
        )

    def score(self, rows: RankedRows, facts: RelevanceFacts, cutoffs: Sequence[int | None]) -> Floats:
        """Return RBP at each cutoff."""
        depth = depth_of(cutoffs, rows.width)
        if isinstance(facts, GradedFacts):
            gains = rows.look_up(facts.table, depth) / facts.highest[rows.queries, None]
        else:
            gains = facts.expected(rows, depth)
        return sums_at(gains * ((1.0 - self.p) * self.p ** np.arange(depth)), cutoffs)


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
        self._set("max_label", check_real("max_label", self.max_label, 0.0, 1023.0))

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
            self._average(stops, reaches, stop, rows, depth)
        return sums_at(stops[:, :depth] / np.arange(1, depth + 1), cutoffs)

    def _average(self, stops: Floats, reaches: Floats, stop: Floats, rows: RankedRows, depth: int) -> None:
        """Replace, in runs of different labels, the probabilities that the reader stops at each rank by their means."""
        assert rows.runs is not None
        runs = rows.runs.reaching(depth)
        longest_first = np.argsort(-runs.lengths, kind="stable")
        starts, lengths = runs.starts[longest_first], runs.lengths[longest_first]
        means = self._mean_stops(stop.ravel(), starts, lengths, depth) * reaches.ravel()[starts, None]
        place = np.arange(means.shape[1])
        within = place < lengths[:, None]
        np.put(stops, (starts[:, None] + place)[within], means[within])

    def _mean_stops(self, stop: Floats, starts: Integers, lengths: Integers, depth: int) -> Floats:
        """Return for each run (longest first) the mean probability to reach and stop at its places 1 to `depth`.

        Let on(j) be the probability to get past j documents of the run in random order (the mean over all subsets of j
        documents of the product of their 1 - stop) and off(j) = on(j - 1) - on(j), which is wanted. When the run grows
        to m documents, the last of which stops the reader with probability q,

            on_m(j) = (1 - j/m) on(j) + j/m (1 - q) on(j - 1)
            off_m(j) = (1 - j/m) off(j) + (j - 1)/m (1 - q) off(j - 1) + 1/m q on(j - 1):

        sums of positive numbers, so no digits are lost.
        """
        longest = int(lengths.max(initial=1))
        most = min(longest, depth)
        if longest * most > MOST_STEPS:
            raise ValueError(
                f"{self}: {longest} documents of one query have the same score; averaging ERR over all their orders "
                "would take too long. Give a cutoff (k=10), or ties='order', 'worst' or 'best'"
            )
        on, off = np.zeros((2, len(starts), most + 1))
        on[:, 0] = 1.0
        place = np.arange(1, most + 1)
        for taken in range(1, longest + 1):
            runs = slice(0, int(np.searchsorted(-lengths, -taken, side="right")))
            q = stop[starts[runs] + taken - 1, None]
            share = np.minimum(place / taken, 1.0)
            reached = on[runs, :-1]
            off[runs, 1:] = (
                (1.0 - share) * off[runs, 1:] + (place - 1) / taken * (1.0 - q) * off[runs, :-1] + q / taken * reached
            )
            on[runs, 1:] = (1.0 - share) * on[runs, 1:] + share * (1.0 - q) * reached
        return off[:, 1:]
