"""R-precision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..ranking.rows import sums_at
from .base import depth_of
from .relevance import BinaryMetric, RelevanceFacts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._common.typing import Floats
    from ..ranking.rows import RankedRows


@dataclass(frozen=True, kw_only=True)
class RPrecision(BinaryMetric):
    """R-precision: relevant documents among the first R, divided by R, the relevant documents of the query.

    Parameters
    ----------
    min_label : float
        The lowest label of a relevant document.
    k, ties, empty, scores, weights
        See `Metric`. What stands behind rank k counts as not retrieved. With ties averaged, each document of a run
        counts with the run's share of relevant documents.

    References
    ----------
    Buckley & Voorhees 2005, Retrieval system evaluation, in: TREC: Experiment and evaluation in information retrieval.

    Examples
    --------
    Two relevant documents, one of them among the first two.

    >>> import gainsay as gs
    >>> gs.evaluate(["rprec"], gs.Judgments([0, 1, 1, 0], group=[4]), [4, 3, 2, 1]).mean
    {'rprec': 0.5}
    """

    names: ClassVar[Mapping[str, Mapping[str, Any]]] = {"rprec": {}}

    def score(self, rows: RankedRows, facts: RelevanceFacts, cutoffs: Sequence[int | None]) -> Floats:
        """Return R-precision at each cutoff."""
        relevant = facts.relevant[rows.queries][:, None]
        depth = depth_of(cutoffs, rows.width)
        hits = facts.expected(rows, depth) * (np.arange(depth) < relevant)
        return sums_at(hits, cutoffs) / np.maximum(relevant, 1)
