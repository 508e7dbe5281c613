"""What binary metrics share: a document is relevant where its label is at least `min_label`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .base import Facts, Metric, real_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._typing import Bools, Floats, Integers
    from ..judgments import Judgments
    from ..ranking.rows import RankedRows


@dataclass(frozen=True, eq=False)
class RelevanceFacts(Facts):
    """Relevant documents of each query, and the lowest label code that counts as relevant."""

    relevant: Integers
    code: int
    levels: int

    def at_ranks(self, rows: RankedRows) -> Bools:
        """Return at which ranks a relevant document stands, shape (rows, width)."""
        return rows.at_least(self.code, self.levels)

    def expected(self, rows: RankedRows, depth: int) -> Floats:
        """Return the probability that a relevant document stands at each of the first ranks."""
        relevant = self.at_ranks(rows)
        if rows.runs is None:
            return relevant[:, :depth].astype(np.float64)
        return rows.runs.mean(relevant.astype(np.float64))[:, :depth]


@dataclass(frozen=True, kw_only=True)
class BinaryMetric(Metric):
    """A metric that only asks whether a document is relevant.

    Parameters
    ----------
    min_label : float
        The lowest label of a relevant document.
    """

    min_label: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set("min_label", real_number("min_label", self.min_label, -np.inf, np.inf))

    def bind(self, judgments: Judgments, cutoffs: Sequence[int | None]) -> RelevanceFacts:
        """Count the relevant documents of each query."""
        relevant = judgments.relevant(self.min_label)
        return RelevanceFacts(
            empty=(relevant == 0)[:, None],
            relevant=relevant,
            code=judgments.code_at_least(self.min_label),
            levels=len(judgments.levels),
        )


def first_relevant(relevant: Bools, rows: RankedRows) -> Floats:
    """Return the probability that the first relevant document of a tied ranking stands at each rank.

    The first run that holds one has s documents before it, t documents, r relevant: none stands on its first i places
    with probability prod over j < i of (t - r - j) / (t - j).
    """
    runs = rows.runs
    assert runs is not None
    present = relevant.astype(np.float64)
    in_run = runs.total(present)
    left = runs.length - runs.place + 1
    # the chances, given no hit earlier in the run, of one here and of none
    hit, miss = np.minimum(in_run / left, 1.0), np.maximum(left - in_run, 0.0) / left
    before = np.ones_like(miss)
    np.multiply.accumulate(miss[:, :-1], axis=1, out=before[:, 1:])
    first: Floats = before * hit
    return first
