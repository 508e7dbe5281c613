"""The share of judged documents among the first k."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..ranking.rows import blank_code, sums_at, table_of
from .base import Empty, LabelStatistics, Metric, max_depth

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .._common.typing import Floats
    from ..judgments import Judgments
    from ..ranking.rows import RankedRows


@dataclass(frozen=True, eq=False)
class JudgedStatistics(LabelStatistics):
    """1 for the code of judged documents and 0 for unjudged ones, and the code of ranks without a document."""

    table: Floats
    blank: int


@dataclass(frozen=True, kw_only=True)
class Judged(Metric):
    """Share of the first k retrieved documents that were judged: judged@k = judged among them / min(k, retrieved).

    1 - judged@k is the share of unjudged documents, which metrics treat as irrelevant.
    A list shorter than k is divided by its length, as in ir_measures. The metric requires a TREC run, or judgments with
    `judged=`, because otherwise all documents are judged.

    Parameters
    ----------
    empty : 0.0, 1.0 or "skip"
        Value of a query without retrieved documents. Defaults to 1, because no unjudged document was retrieved.
    k, ties, scores, weights
        See `Metric`. With averaged ties, each document of a tie group counts as the share of judged documents. "worst"
        ranks the unjudged ones first, "best" the judged ones.

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
        """Return whether documents are judged, as labels, or raise if all are."""
        marks = judgments.whether_judged
        if marks is None:
            raise ValueError(_all_judged(self))
        return marks

    def bind(self, judgments: Judgments, cutoffs: Sequence[int | None]) -> JudgedStatistics:
        """Use the labels, which are 1 and 0, as values."""
        levels = judgments.levels
        empty = np.zeros((judgments.queries, 1), dtype=bool)  # Only scores determine the retrieved documents.
        return JudgedStatistics(empty=empty, table=table_of(levels), blank=blank_code(len(levels)))

    def score(self, rows: RankedRows, statistics: JudgedStatistics, cutoffs: Sequence[int | None]) -> Floats:
        """Return the (expected) share at each cutoff."""
        depth = max_depth(cutoffs, rows.width)
        judged = sums_at(rows.look_up(statistics.table, depth), cutoffs)
        retrieved = sums_at((rows.codes[:, :depth] != statistics.blank).astype(np.float64), cutoffs)
        share: Floats = np.full(judged.shape, np.nan if self.empty == "skip" else self.empty)
        np.divide(judged, retrieved, out=share, where=retrieved > 0)
        return share


def validate_without_judged(metrics: Iterable[Metric]) -> None:
    """Raise if a metric is `Judged`, for datasets without unjudged documents."""
    for metric in metrics:
        if isinstance(metric, Judged):
            raise ValueError(_all_judged(metric))


def _all_judged(metric: Metric) -> str:
    return (
        f"{metric} requires unjudged documents, but all documents are judged. Use evaluate_run, compare_runs or "
        "Judgments(labels, judged=)."
    )
