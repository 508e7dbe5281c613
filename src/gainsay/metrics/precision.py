"""Precision, recall and hit: metrics that only count the relevant documents among the first k."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from ..ranking import formulas
from ..ranking.rows import sums_at
from .base import choice, depth_of
from .relevance import BinaryMetric, RelevanceFacts, first_relevant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._common.typing import Floats, Integers
    from ..ranking.formulas import Formula
    from ..ranking.rows import RankedRows


def _hits(rows: RankedRows, facts: RelevanceFacts, cutoffs: Sequence[int | None]) -> Floats:
    """Return the (expected) number of relevant documents among the first k."""
    return sums_at(facts.expected(rows, depth_of(cutoffs, rows.width)), cutoffs)


def _sum_of_hits(facts: RelevanceFacts, divisors: Floats) -> Formula:
    return formulas.gains(facts.marks, np.ones(facts.widest), divisors)


@dataclass(frozen=True, kw_only=True)
class Precision(BinaryMetric):
    """Precision: relevant documents among the first k, divided by k.

    Parameters
    ----------
    denominator : {"k", "min_k_n"}
        Divide by k, or by the number of judged documents where these are fewer (XGBoost, CatBoost). Without a cutoff
        k is the number of judged documents.
    min_label : float
        The lowest label of a relevant document.
    k, ties, empty, scores, weights
        See `Metric`. With ties averaged, each document of a run counts with the run's share of relevant documents.

    Examples
    --------
    >>> import gainsay as gs
    >>> gs.evaluate(["precision@4"], gs.Judgments([0, 1, 1], group=[3]), [3, 2, 1]).mean
    {'precision@4': 0.5}
    """

    denominator: Literal["k", "min_k_n"] = "k"

    names: ClassVar[Mapping[str, Mapping[str, Any]]] = {"precision": {}}

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("denominator", self.denominator, ("k", "min_k_n"))

    def score(self, rows: RankedRows, facts: RelevanceFacts, cutoffs: Sequence[int | None]) -> Floats:
        """Return precision at each cutoff."""
        return _hits(rows, facts, cutoffs) / self._divisors(facts.judged[rows.queries], cutoffs)

    def formula(self, facts: RelevanceFacts, cutoffs: Sequence[int | None]) -> Formula:
        """Return hits, divided as the denominator says."""
        return _sum_of_hits(facts, self._divisors(facts.judged, cutoffs))

    def _divisors(self, judged: Integers, cutoffs: Sequence[int | None]) -> Floats:
        """Return what hits are divided by for queries of so many judged documents, at each cutoff."""
        sizes = judged[:, None].astype(np.float64)
        capped = self.denominator == "min_k_n"
        divisors = [sizes if k is None else np.minimum(sizes, k) if capped else k for k in cutoffs]
        return np.hstack([np.broadcast_to(divisor, sizes.shape) for divisor in divisors])


@dataclass(frozen=True, kw_only=True)
class Recall(BinaryMetric):
    """Recall: relevant documents among the first k, divided by all relevant documents of the query.

    Parameters
    ----------
    min_label : float
        The lowest label of a relevant document.
    k, ties, empty, scores, weights
        See `Metric`. With ties averaged, each document of a run counts with the run's share of relevant documents.

    Examples
    --------
    >>> import gainsay as gs
    >>> gs.evaluate(["recall@2"], gs.Judgments([0, 1, 1], group=[3]), [3, 2, 1]).mean
    {'recall@2': 0.5}
    """

    names: ClassVar[Mapping[str, Mapping[str, Any]]] = {"recall": {}}

    def score(self, rows: RankedRows, facts: RelevanceFacts, cutoffs: Sequence[int | None]) -> Floats:
        """Return recall at each cutoff."""
        return _hits(rows, facts, cutoffs) / np.maximum(facts.relevant[rows.queries], 1)[:, None]

    def formula(self, facts: RelevanceFacts, cutoffs: Sequence[int | None]) -> Formula:
        """Return hits, divided by all relevant documents."""
        return _sum_of_hits(facts, np.maximum(facts.relevant, 1)[:, None])


@dataclass(frozen=True, kw_only=True)
class Hit(BinaryMetric):
    """Hit (success): 1 if a relevant document stands among the first k, else 0.

    Parameters
    ----------
    min_label : float
        The lowest label of a relevant document.
    k, ties, empty, scores, weights
        See `Metric`. With ties averaged, the probability of a hit; the number of relevant documents on the places of a
        run that the cutoff leaves is hypergeometric.

    Examples
    --------
    Four documents of one score, one of them relevant: it is among the first two in half of all orders.

    >>> import gainsay as gs
    >>> gs.evaluate(["hit@2"], gs.Judgments([0, 1, 0, 0], group=[4]), [1, 1, 1, 1]).mean
    {'hit@2': 0.5}
    """

    names: ClassVar[Mapping[str, Mapping[str, Any]]] = {"hit": {}}

    def score(self, rows: RankedRows, facts: RelevanceFacts, cutoffs: Sequence[int | None]) -> Floats:
        """Return the (expected) hit at each cutoff."""
        return first_relevant(rows, facts, cutoffs)

    def formula(self, facts: RelevanceFacts, cutoffs: Sequence[int | None]) -> Formula | None:
        """Return the sum of the chances of the ranks; without a cutoff that is 1, up to rounding, so nothing."""
        return None if None in cutoffs else formulas.first_relevant(facts.code, np.ones(facts.widest))
