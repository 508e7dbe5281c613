"""Judged documents among the first k: how much of a ranking the labels can speak of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..ranking.rows import blank_code, sums_at, table_of
from .base import Empty, Facts, Metric, depth_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .._common.typing import Floats
    from ..judgments import Judgments
    from ..ranking.rows import RankedRows


@dataclass(frozen=True, eq=False)
class JudgedFacts(Facts):
    """What each code says: 1 for a judged document, 0 for an unjudged one; and the code of no document."""

    table: Floats
    blank: int


@dataclass(frozen=True, kw_only=True)
class Judged(Metric):
    """Share of the first k retrieved documents that were judged: judged@k = judged among them / min(k, retrieved).

    1 - judged@k is the share of unjudged documents, which metrics treat as irrelevant.
    A list shorter than k is divided by its length, as ir_measures does, for ranks that hold no document hide no
    judgment. It speaks of runs and of judgments made with `judged=`; labels alone say of every document that it was
    judged, and are refused.

    Parameters
    ----------
    empty : 0.0, 1.0 or "skip"
        Value of a query for which nothing was retrieved: 1 by default, since nothing unjudged was.
    k, ties, scores, weights
        See `Metric`. With ties averaged, each document of a run of equal scores counts with the run's share of judged
        documents; "worst" puts the unjudged ones first, "best" the judged ones.

    References
    ----------
    Sakai 2007, Alternatives to bpref, SIGIR (lists condensed to their judged documents).
    `Judged` in ir_measures, https://ir-measur.es.

    Examples
    --------
    >>> import gainsay as gs
    >>> run = {"q": {"a": 3.0, "new": 2.0, "b": 1.0}}
    >>> gs.evaluate_run(["judged@2", "judged@10"], run, {"q": {"a": 1, "b": 0}}).per_query.round(3)
    array([[0.5  , 0.667]])
    """

    empty: Empty = 1.0

    names: ClassVar[Mapping[str, Mapping[str, Any]]] = {"judged": {}}

    def subject(self, judgments: Judgments) -> Judgments:
        """Return which documents were judged, as labels; raise where that was not said."""
        marks = judgments.whether_judged
        if marks is None:
            raise ValueError(_nothing_unjudged(self))
        return marks

    def bind(self, judgments: Judgments, cutoffs: Sequence[int | None]) -> JudgedFacts:
        """Take the labels, 1 and 0, for what counts."""
        levels = judgments.levels
        nobody = np.zeros((judgments.queries, 1), dtype=bool)  # what was retrieved is known with the scores only
        return JudgedFacts(empty=nobody, table=table_of(levels), blank=blank_code(len(levels)))

    def score(self, rows: RankedRows, facts: JudgedFacts, cutoffs: Sequence[int | None]) -> Floats:
        """Return the (expected) share at each cutoff."""
        depth = depth_of(cutoffs, rows.width)
        judged = sums_at(rows.look_up(facts.table, depth), cutoffs)
        retrieved = sums_at((rows.codes[:, :depth] != facts.blank).astype(np.float64), cutoffs)
        share: Floats = np.full(judged.shape, np.nan if self.empty == "skip" else self.empty)
        np.divide(judged, retrieved, out=share, where=retrieved > 0)
        return share


def refuse_judged(metrics: Iterable[Metric]) -> None:
    """Raise where a metric asks for unjudged documents of data sets that have none."""
    for metric in metrics:
        if isinstance(metric, Judged):
            raise ValueError(_nothing_unjudged(metric))


def _nothing_unjudged(metric: Metric) -> str:
    return (
        f"{metric} has nothing to count: labels say of every document that it was judged. Take evaluate_run or "
        "compare_runs, where qrels say what was, or Judgments(labels, judged=)"
    )
