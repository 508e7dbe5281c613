"""What binary metrics share: a document is relevant where its label is at least `min_label`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._common.checks import check_real
from ..ranking.rows import row_sums, table_of
from .base import Facts, Metric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._common.typing import Bools, Floats, Integers
    from ..judgments import Judgments
    from ..ranking.rows import RankedRows


@dataclass(frozen=True, eq=False)
class RelevanceFacts(Facts):
    """Relevant documents of each query, judged ones, and the lowest label code that counts as relevant.

    `widest` is the number of ranks of the widest rows.
    """

    relevant: Integers
    judged: Integers
    code: int
    levels: int
    widest: int

    def at_ranks(self, rows: RankedRows) -> Bools:
        """Return at which ranks a relevant document stands, shape (rows, width)."""
        return rows.at_least(self.code, self.levels)

    @property
    def marks(self) -> Floats:
        """1 for the codes of relevant documents, else 0, by code."""
        return table_of((np.arange(self.levels) >= self.code).astype(np.float64))

    def expected(self, rows: RankedRows, depth: int) -> Floats:
        """Return the probability that a relevant document stands at each of the first ranks."""
        relevant = self.at_ranks(rows)
        expected = relevant[:, :depth].astype(np.float64)
        if rows.runs is not None:
            runs = rows.runs.reaching(depth)
            runs.average(expected, relevant.ravel()[runs.positions])
        return expected


@dataclass(frozen=True, kw_only=True)
class BinaryMetric(Metric, abstract=True):
    """A metric that only asks whether a document is relevant.

    Parameters
    ----------
    min_label : float
        The lowest label of a relevant document.
    """

    min_label: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(min_label=check_real("min_label", self.min_label))

    def value_range(self, judgments: Judgments) -> tuple[float, float]:
        """Return 0 and 1: all metrics of this kind are shares or probabilities."""
        return 0.0, 1.0

    def bind(self, judgments: Judgments, cutoffs: Sequence[int | None]) -> RelevanceFacts:
        """Count the relevant documents of each query."""
        if self.min_label <= 0 and judgments.unjudged:
            raise ValueError(
                f"{self} takes label 0 for relevant, and {judgments.unjudged} documents have it because nobody judged "
                "them; pass unjudged='drop', or ask for judged@k"
            )
        relevant = judgments.relevant(self.min_label)
        marks = judgments.whether_judged if judgments.unjudged else None
        return RelevanceFacts(
            empty=(relevant == 0)[:, None],
            relevant=relevant,
            judged=judgments.sizes if marks is None else marks.relevant(1.0),
            code=judgments.code_at_least(self.min_label),
            levels=len(judgments.levels),
            widest=max((block.width for block in judgments.layout.blocks), default=0),
        )


def first_relevant(
    rows: RankedRows, facts: RelevanceFacts, cutoffs: Sequence[int | None], costs: Floats | None = None
) -> Floats:
    """Return (the expectation of) 1 / costs[rank] of the first relevant document, from rank 0, and 0 behind the cutoff.

    Without costs every rank is worth 1. The first run that holds a relevant document has t documents, r of them
    relevant: none stands on its first j places with probability prod over i < j of (t - r - i) / (t - i).
    """
    relevant = facts.at_ranks(rows)
    number = np.arange(len(relevant))
    rank = relevant.argmax(axis=1)
    found = relevant[number, rank]
    worth = found.astype(np.float64) if costs is None else np.where(found, 1.0 / costs[rank], 0.0)
    ends = [rows.width if k is None else min(k, rows.width) for k in cutoffs]
    values = np.empty((len(relevant), len(ends)))
    for column, end in enumerate(ends):
        np.multiply(rank < end, worth, out=values[:, column])
    if rows.runs is None:
        return values
    run, uncertain = rows.runs.over(number, rank)
    uncertain &= found
    run, row = run[uncertain], number[uncertain]
    before, length = rows.runs.before[run], rows.runs.lengths[run]
    others = rank[uncertain] - before  # documents of a run stand by ascending label, so the relevant ones at its end
    for some in by_magnitude(others):
        chances = _chances(length[some, None], others[some, None])
        places = before[some, None] + np.arange(chances.shape[1])
        # where a row has fewer places than others its further chances are 0
        terms = chances if costs is None else chances / np.take(costs, places, mode="clip")
        for column, k in enumerate(cutoffs):
            if k is not None or costs is not None:  # else they add up to 1
                values[row[some], column] = row_sums(np.where(places < ends[column], terms, 0.0))
    return values


def by_magnitude(counts: Integers) -> list[Integers]:
    """Return where counts stand that are 0, 1, 2 to 3, 4 to 7, …: side by side they leave little room empty."""
    magnitude = np.frexp(counts)[1]
    return [np.flatnonzero(magnitude == some) for some in np.flatnonzero(np.bincount(magnitude))]


def _chances(length: Integers, others: Integers) -> Floats:
    """Return the probability that the first relevant document stands at each place of runs, columns of one width."""
    left = np.maximum(length - np.arange(int(others.max()) + 1), 1)
    none_before = np.ones(left.shape)
    relevant = length - others
    np.multiply.accumulate(np.maximum(left - relevant, 0)[:, :-1] / left[:, :-1], axis=1, out=none_before[:, 1:])
    chances: Floats = none_before * (relevant / left)
    return chances
