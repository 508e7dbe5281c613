"""Is there a model that no rival beats? Moment inequalities, tested in two steps (Romano, Shaikh & Wolf 2014).

That model k is best, under one metric or under several at once, says that no rival's mean is larger under any of them:
``mean[m, j] - mean[m, k] <= margin`` for every metric m and rival j. Each k is tested by itself at level α. The
hypothesis that *some* model is best is the union of these, so it is rejected where every k is, at the same level:
no correction for the number of models is due.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .inputs import FloatArray
from .resampling import Estimate, IntArray, Noise, critical_value

__all__ = ["FEWEST", "BestTest", "two_step_test"]

BoolArray: TypeAlias = NDArray[np.bool_]

FEWEST = 30
"""On fewer differing queries than this the normal limit says little: such a pair eliminates nobody."""


@dataclass(frozen=True)
class BestTest:
    """Outcome of testing every model for being best.

    Attributes
    ----------
    statistic : ndarray, shape (M,)
        The largest studentised lead of a rival, ``-inf`` where no pair may speak.
    critical : ndarray, shape (M,)
        The two-step critical value, 0 or more.
    p_values : ndarray, shape (M,)
        At most α exactly where `statistic` exceeds `critical`; never 0.
    reach : ndarray, shape (M,)
        Where a model is rejected, so it is for all margins from the one tested up to this one: the largest
        ``difference - critical · error`` of its rivals. Elsewhere at most the margin tested.
    """

    statistic: FloatArray
    critical: FloatArray
    p_values: FloatArray
    reach: FloatArray

    @property
    def kept(self) -> BoolArray:
        """Which models may be best: the confidence set."""
        return self.statistic <= self.critical

    @property
    def p_value(self) -> float:
        """Of the hypothesis that some model is best."""
        return float(self.p_values.max())

    @property
    def lower(self) -> float:
        """Where every model is rejected, so they all are for margins up to this one: the smallest `reach`."""
        return float(self.reach.min())


def two_step_test(
    estimated: Estimate,
    noise: Noise,
    alpha: float,
    margin: float | FloatArray = 0.0,
    rows: Sequence[int] | None = None,
    models: Sequence[int] | IntArray | None = None,
) -> BestTest:
    r"""Test for every model that it is best under all the metrics in `rows`, up to `margin`.

    Step one bounds from above how far each inequality may be from binding, with c₁ the 1 − β quantile of the largest
    studentised error, β = α/10 (or 1/(B + 1), where B draws cannot show that); an inequality with
    λ = min(0, t + c₁) < 0 is slack and counts for less in step two, whose critical value is
    c = max(0, q_{1−α+β}(max(t* + λ))). The p-value is (1 + #{max(t* + λ) >= T})/(B + 1) + β, at most 1, and 1 where
    T <= 0.

    Where the standard error is 0 (a constant difference) t is +inf or −inf by the sign of the difference. A pair that
    differs on fewer than `FEWEST` queries gets −inf: it may not eliminate.

    Parameters
    ----------
    estimated : Estimate
        Means and errors.
    noise : Noise
        Draws made from `estimated`.
    alpha : float
        Level.
    margin : float or ndarray, one of each tested model
        By how much a rival may lead without harm, in the metrics' unit.
    rows : sequence of int, optional
        Which metrics; all by default.
    models : sequence of int, optional
        Which models to test, all others being rivals only; all by default.

    Returns
    -------
    BestTest

    References
    ----------
    Romano, Shaikh & Wolf (2014), "A practical two-step method for testing moment inequalities", Econometrica 82(5).
    """
    chosen = list(range(len(estimated.mean)) if rows is None else rows)
    tested = list(range(estimated.mean.shape[1]) if models is None else models)
    cells = np.ix_(chosen, tested)
    beta = max(alpha / 10, 1 / (noise.draws + 1))
    difference, error = estimated.difference[cells], estimated.error[cells]
    t = _studentise(difference - np.reshape(margin, (-1, 1)), error, estimated.tolerance[chosen])
    t[estimated.support[cells] < FEWEST] = -np.inf
    peaks = noise.peaks[chosen].max(axis=0)[tested]
    statistic = t.max(axis=(0, 2))
    slack = np.minimum(0.0, t + critical_value(peaks, 1 - beta)[:, None])
    largest = np.empty_like(peaks)
    for place, k in enumerate(tested):
        largest[place] = _shifted_peaks(noise, chosen, k, error[:, place], slack[:, place], peaks[place])
    critical = np.maximum(0.0, critical_value(largest, 1 - alpha + beta))
    exceeded = (largest >= statistic[:, None]).sum(axis=1)
    p_values = np.where(statistic > 0, np.minimum(1.0, (1 + exceeded) / (noise.draws + 1) + beta), 1.0)
    reach = difference - critical[:, None] * np.where(t > -np.inf, error, 0.0)
    return BestTest(statistic, critical, p_values, np.where(t > -np.inf, reach, -np.inf).max(axis=(0, 2)))


def _studentise(lead: FloatArray, error: FloatArray, tolerance: FloatArray) -> FloatArray:
    sure = np.where(lead > tolerance[:, None, None], np.inf, -np.inf)
    return np.divide(lead, error, out=sure, where=error > 0)


def _shifted_peaks(
    noise: Noise, rows: Sequence[int], k: int, error: FloatArray, slack: FloatArray, peaks: FloatArray
) -> FloatArray:
    """Take in every draw the largest of t* + λ over the rivals of k, or 0 where all are negative."""
    # No t* of k exceeds `ceiling`, so an inequality with more slack than that cannot reach above 0.
    ceiling = peaks.max(initial=0.0)
    active = (error > 0) & (error < np.inf) & (slack + ceiling > 0)
    largest, lead = np.zeros_like(peaks), np.empty_like(peaks)
    for m, j in np.argwhere(active):
        noise.lead(rows[m], k, j, out=lead)
        lead += slack[m, j]
        np.maximum(largest, lead, out=largest)
    return largest
