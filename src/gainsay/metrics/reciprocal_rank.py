"""Reciprocal rank."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..ranking import formulas
from ..ranking.rows import row_sums
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
        first = first_relevant(facts.at_ranks(rows), rows)
        reciprocal = np.where(first.found, 1.0 / (first.rank + 1), 0.0)
        within = [first.rank < (np.inf if k is None else k) for k in cutoffs]
        values: Floats = np.where(np.stack(within, axis=1), reciprocal[:, None], 0.0)
        for some in first.chances:
            rank = some.before[:, None] + np.arange(1, some.at.shape[1] + 1)
            terms = some.at / rank
            for column, k in enumerate(cutoffs):
                values[some.rows, column] = row_sums(terms if k is None else np.where(rank <= k, terms, 0.0))
        return values

    def formula(self, facts: RelevanceFacts, cutoffs: Sequence[int | None]) -> Formula:
        """Return the chances of the ranks, each divided by the rank."""
        return formulas.first_relevant(facts.code, np.arange(1.0, facts.widest + 1))
