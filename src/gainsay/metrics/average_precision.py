"""Average precision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

import numpy as np

from ..ranking.rows import row_sums, sums_at
from .base import choice, depth_of
from .relevance import BinaryMetric, RelevanceFacts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._typing import Bools, Floats, Integers
    from ..ranking.rows import RankedRows
    from ..ranking.runs import TieRuns

Denominator = Literal["min_R_k", "R", "hits"]


@dataclass(frozen=True, kw_only=True)
class AP(BinaryMetric):
    """Average precision; its mean over queries is MAP: AP@k = sum over relevant ranks r <= k of precision@r / D.

    Parameters
    ----------
    denominator : {"min_R_k", "R", "hits"}
        D: the relevant documents that fit into k ranks (LightGBM, XGBoost, CatBoost), all relevant documents
        (trec_eval, ranx), or the relevant documents among the first k (torchmetrics).
    min_label : float
        The lowest label of a relevant document.
    k, ties, empty, scores, weights
        See `Metric`. With ties averaged, the rank s + i inside a run of t documents, r of them relevant, with R_s
        relevant documents before the run, contributes (r/t) (R_s + 1 + (i - 1)(r - 1)/(t - 1)) / (s + i).

    References
    ----------
    McSherry & Najork 2008, Computing information retrieval performance measures efficiently in the presence of tied
    scores, ECIR.

    Examples
    --------
    Relevant documents at ranks 2 and 4: (1/2 + 2/4) / 2.

    >>> import gainsay as gs
    >>> gs.evaluate(["map"], gs.Judgments([0, 1, 0, 1], group=[4]), [4, 3, 2, 1]).mean
    {'map': 0.5}
    """

    denominator: Denominator = "min_R_k"

    names: ClassVar[Mapping[str, Mapping[str, Any]]] = {"map": {}}

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("denominator", self.denominator, get_args(Denominator))

    def score(self, rows: RankedRows, facts: RelevanceFacts, cutoffs: Sequence[int | None]) -> Floats:
        """Return AP at each cutoff."""
        relevant = facts.at_ranks(rows)
        ranks = np.arange(1, depth_of(cutoffs, rows.width) + 1)
        if rows.runs is not None:
            terms = _expected_precision(relevant, rows.runs)[:, : len(ranks)] / ranks
            if self.denominator == "hits":
                return np.stack([_per_hit(relevant, rows, terms, k) for k in cutoffs], axis=1)
            return sums_at(terms, cutoffs) / self._divisor(rows, facts, cutoffs)
        relevant = relevant[:, : len(ranks)]
        hits = np.add.accumulate(relevant, axis=1, dtype=np.int32)
        counts = hits[:, [depth_of([k], rows.width) - 1 for k in cutoffs]] if self.denominator == "hits" else None
        hits *= relevant
        sums = sums_at(hits * (1.0 / ranks), cutoffs)
        return sums / (self._divisor(rows, facts, cutoffs) if counts is None else np.maximum(counts, 1))

    def _divisor(self, rows: RankedRows, facts: RelevanceFacts, cutoffs: Sequence[int | None]) -> Floats:
        relevant = np.maximum(facts.relevant[rows.queries], 1)[:, None].astype(np.float64)
        if self.denominator == "R":
            return relevant
        return np.minimum(relevant, [np.inf if k is None else k for k in cutoffs])


def _expected_precision(relevant: Bools, runs: TieRuns) -> Floats:
    """Return at each rank the expectation of the number of hits so far, counted where the rank is a hit itself."""
    present = relevant.astype(np.float64)
    in_run = runs.total(present)
    running = np.add.accumulate(present, axis=1)
    earlier = runs.at_start(running - present)
    inside = (runs.place - 1) * (in_run - 1) / np.maximum(runs.length - 1, 1)
    expected: Floats = in_run / runs.length * (earlier + 1 + inside)
    return expected


def _per_hit(relevant: Bools, rows: RankedRows, terms: Floats, k: int | None) -> Floats:
    """Return the expectation of (sum of precisions) / (hits among the first k ranks).

    Only the run that the cutoff divides makes the number of hits uncertain: it has s documents before it with R_s
    relevant, t documents, r relevant, and m of its places count. The number h of relevant documents on these places is
    hypergeometric, and given h they are spread evenly over the m places.
    """
    runs = rows.runs
    assert runs is not None
    present = relevant.astype(np.float64)
    last = np.arange(len(relevant)), (rows.sizes if k is None else np.minimum(rows.sizes, k)) - 1
    s, t, m, r = runs.before[last], runs.length[last], runs.place[last], runs.total(present)[last]
    earlier = (np.add.accumulate(present, axis=1) - present)[last[0], s]
    ranks = np.arange(1, terms.shape[1] + 1)
    inside = (ranks > s[:, None]) & (ranks <= last[1][:, None] + 1)
    sure = row_sums(terms * (ranks <= s[:, None]))
    reciprocal = row_sums(inside / ranks)
    weighted = row_sums(inside * (ranks - s[:, None] - 1) / ranks)
    h = np.arange(int(np.minimum(m, r).max(initial=0)) + 1)
    per_place = h / m[:, None]
    sums = per_place * (
        ((earlier + 1) * reciprocal)[:, None] + np.maximum(h - 1, 0) / np.maximum(m - 1, 1)[:, None] * weighted[:, None]
    )
    return row_sums(_hypergeometric(t, r, m, h) * (sure[:, None] + sums) / np.maximum(earlier[:, None] + h, 1))


def _hypergeometric(t: Integers, r: Floats, m: Integers, h: Integers) -> Floats:
    """Return the probability of h relevant documents on m of t places, r documents being relevant, for every row."""
    from scipy.special import betaln

    t, m, r = t[:, None], m[:, None], r[:, None]
    possible = (h <= np.minimum(r, m)) & (h >= m - (t - r))
    with np.errstate(invalid="ignore", divide="ignore"):
        logs = -betaln(1 + h, 1 + r - h) - betaln(1 + m - h, 1 + t - r - m + h)
    logs = np.where(possible, logs, -np.inf)
    shares: Floats = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares /= row_sums(shares)[:, None]
    return shares
