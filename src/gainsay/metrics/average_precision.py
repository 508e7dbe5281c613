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

    from .._common.typing import Bools, Floats, Integers
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
        among = relevant if rows.runs is not None else relevant[:, : len(ranks)]  # a run may go on behind the cutoff
        hits = np.add.accumulate(among, axis=1, dtype=np.int32)
        terms = (hits[:, : len(ranks)] * relevant[:, : len(ranks)]) * (1.0 / ranks)
        if rows.runs is not None:
            _expect(terms, relevant, hits, rows.runs.reaching(len(ranks)))
        if self.denominator == "hits":
            return np.stack([_per_hit(relevant, hits, rows, terms, k) for k in cutoffs], axis=1)
        return sums_at(terms, cutoffs) / self._divisor(rows, facts, cutoffs)

    def _divisor(self, rows: RankedRows, facts: RelevanceFacts, cutoffs: Sequence[int | None]) -> Floats:
        relevant = np.maximum(facts.relevant[rows.queries], 1)[:, None].astype(np.float64)
        if self.denominator == "R":
            return relevant
        return np.minimum(relevant, [np.inf if k is None else k for k in cutoffs])


def _expect(terms: Floats, relevant: Bools, hits: Integers, runs: TieRuns) -> None:
    """Replace the terms of tied documents by their expectations; `hits` counts relevant documents up to each rank."""
    hits, relevant = hits.ravel(), relevant.ravel()
    earlier = hits[runs.starts] - relevant[runs.starts]
    r = hits[runs.starts + runs.lengths - 1] - earlier
    mixed = (r > 0) & (r < runs.lengths)  # elsewhere every order gives the same
    runs, r, earlier = runs.chosen(mixed), r[mixed], earlier[mixed]
    if not len(runs):
        return
    share = r / runs.lengths
    at_first, per_place = share * (earlier + 1), share * (r - 1) / (runs.lengths - 1)
    expected: Floats = runs.spread(per_place) * runs.places
    expected += runs.spread(at_first)
    expected /= runs.spread(runs.before + 1) + runs.places
    runs.put(terms, expected)


def _per_hit(relevant: Bools, hits: Integers, rows: RankedRows, terms: Floats, k: int | None) -> Floats:
    """Return the expectation of (sum of precisions) / (hits among the first k ranks).

    Only a run of ties that the cutoff divides makes the number of hits uncertain.
    """
    number = np.arange(len(hits))
    last = (rows.sizes if k is None else np.minimum(rows.sizes, k)) - 1
    within = np.arange(terms.shape[1]) <= last[:, None]
    values: Floats = row_sums(terms * within) / np.maximum(hits[number, last], 1)
    if rows.runs is None:
        return values
    run, divided = rows.runs.over(number, last)
    run, row = run[divided], number[divided]
    if len(run):
        values[row] = _per_uncertain_hit(relevant, hits, terms, rows.runs, run, row, last[row])
    return values


def _per_uncertain_hit(
    relevant: Bools, hits: Integers, terms: Floats, runs: TieRuns, run: Integers, row: Integers, last: Integers
) -> Floats:
    """Return the same for rows whose rank `last` lies in a run of ties.

    The run has s documents before it with R_s relevant, t documents, r relevant, and m of its places count. The number
    h of relevant documents on these places is hypergeometric, and given h they are spread evenly over the m places.
    """
    s, t = runs.before[run], runs.lengths[run]
    r = runs.totals(relevant.ravel()[runs.positions])[run]
    m = last - s + 1
    earlier = hits[row, s] - relevant[row, s]
    ranks = np.arange(1, terms.shape[1] + 1)
    inside = (ranks > s[:, None]) & (ranks <= last[:, None] + 1)
    sure = row_sums(terms[row] * (ranks <= s[:, None]))
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
