"""Reciprocal rank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..ranking import formulas
from .relevance import BinaryMetric, RelevanceFacts, first_relevant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._common.typing import Floats
    from ..ranking.formulas import Formula
    from ..ranking.rows import RankedRows


@dataclass(frozen=True, kw_only=True)
class RR(BinaryMetric):
    """Reciprocal rank; its mean over queries is MRR: RR@k = 1 / rank of the first relevant document, 0 beyond k.

    Parameters
    ----------
    min_label : float
        The lowest label of a relevant document.
    k, ties, empty, scores, weights
        See `Metric`. With ties averaged, the first run that holds a relevant document has s documents before it, t
        documents, r of them relevant: E[RR] = sum over i = 1 .. t-r+1 of C(t-i, r-1) / C(t, r) / (s + i).

    References
    ----------
    McSherry & Najork 2008, Computing information retrieval performance measures efficiently in the presence of tied
    scores, ECIR.

    Examples
    --------
    >>> import gainsay as gs
    >>> gs.evaluate(["mrr", "mrr@1"], gs.Judgments([0, 1, 0, 0], group=[4]), [4, 3, 2, 1]).mean
    {'mrr': 0.5, 'mrr@1': 0.0}
    """

    names: ClassVar[Mapping[str, Mapping[str, Any]]] = {"mrr": {}}

    def score(self, rows: RankedRows, facts: RelevanceFacts, cutoffs: Sequence[int | None]) -> Floats:
        """Return RR at each cutoff."""
        return first_relevant(rows, facts, cutoffs, np.arange(1.0, facts.widest + 1))

    def formula(self, facts: RelevanceFacts, cutoffs: Sequence[int | None]) -> Formula:
        """Return the chances of the ranks, each divided by the rank."""
        return formulas.first_relevant(facts.code, np.arange(1.0, facts.widest + 1))
