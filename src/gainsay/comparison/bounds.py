"""Bounds that stay true after a model was picked out by the data, and what the sample is able to show."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from .inequalities import FEWEST, BestTest, BoolArray, two_step_test
from .inputs import FloatArray
from .resampling import Estimate, IntArray, Noise, critical_value

__all__ = ["POWER", "detectable_lead", "price_lower", "regret_lower", "regret_upper"]

POWER = 0.80
"""The probability with which `detectable_lead` is detected."""


def regret_upper(estimated: Estimate, noise: Noise, alpha: float) -> FloatArray:
    """Bound the regret of every model under every metric from above, all at once.

    regret(m, k) = max over j of mean[m, j] − mean[m, k]. The bound is the largest of difference + q · error with q the
    1 − α quantile of the largest studentised error over all ordered pairs of all metrics, and so holds for whichever
    model is picked out afterwards, by whatever rule. Two models that never differ count as one model: how they would
    do on queries unlike these the sample cannot say.

    Returns
    -------
    ndarray, shape (metrics, M)
        Not below 0; infinite where there are fewer than `FEWEST` queries or clusters.
    """
    if estimated.units < FEWEST:
        return np.full(estimated.mean.shape, np.inf)
    width = critical_value(noise.peaks.max(axis=(0, 1)), 1 - alpha)
    finite = np.isfinite(estimated.error)
    bound = np.where(finite, estimated.difference + np.where(finite, estimated.error, 0.0) * width, np.inf)
    upper: FloatArray = np.maximum(0.0, bound.max(axis=2))
    return upper


def regret_lower(estimated: Estimate, noise: Noise, alpha: float, row: int, tested: BestTest) -> FloatArray:
    """Bound the regret of every model under one metric from below, each by itself.

    The regret of a model is below a margin where no rival leads by more than that. The margins at which the test says
    otherwise are a confidence statement, so the bound is above 0 exactly where the test at margin 0 rules the model
    out. It is found in steps, as that of `price_lower` is.

    Parameters
    ----------
    estimated, noise, alpha
        As for the test.
    row : int
        The metric.
    tested : BestTest
        The test of this metric alone, at margin 0.

    Returns
    -------
    ndarray, shape (M,)
        0 where the test keeps the model.
    """
    reached = np.where(tested.kept, 0.0, tested.reach)
    enough, rising = 1e-6 * float(np.abs(estimated.difference[row]).max()), np.flatnonzero(~tested.kept)
    for _ in range(25):
        if not len(rising):
            break
        further = two_step_test(estimated, noise, alpha, reached[rising], [row], rising).reach
        gained = further > reached[rising] + enough
        reached[rising] = np.maximum(reached[rising], further)
        rising = rising[gained]
    return reached


def price_lower(estimated: Estimate, noise: Noise, alpha: float, tested: BestTest, margin: float = 0.0) -> float:
    """Bound the price of disagreement from below: the smallest margin at which some model may be best.

    The price is min over k of model k's worst-metric regret. A margin below it leaves no model best up to that margin,
    so the margins at which every model is rejected are a confidence statement about the price, at the test's own level:
    the bound is positive exactly where the test at margin 0 rejects.

    A margin is found to be rejected in steps. As the margin grows, more slack can only lower the critical values; so
    those made at one margin serve for all larger ones, up to where the statistic falls below them. There the next step
    begins. Stopping early would leave a valid bound, only a lower one.

    Parameters
    ----------
    estimated, noise, alpha
        As for the test.
    tested : BestTest
        The test at `margin`.
    margin : float
        Where to begin.

    Returns
    -------
    float
        0 where the test at margin 0 does not reject.
    """
    if tested.kept.any():
        return 0.0
    reached, enough = margin, 1e-6 * float(np.abs(estimated.difference).max())
    for _ in range(25):
        if tested.lower <= reached + enough:
            break
        reached = tested.lower
        tested = two_step_test(estimated, noise, alpha, margin=reached)
    return max(reached, tested.lower)


def detectable_lead(estimated: Estimate, noise: Noise, alpha: float, kept: BoolArray, winner: IntArray) -> float:
    """Return the smallest true lead under one metric that eliminates the trailing model with 80 % probability.

    (c + z) · e: c is the largest critical value of the models in question when all their inequalities bind, z = 0.84
    the 80 % point of the normal distribution, e the largest standard error of a difference between two of these
    models. All three err on the safe side, the more so the fewer rivals are near. Where one of the models is a recipe,
    its few runs show another error every time: of the pairs of these models the largest lead is taken that exceeds c
    times the error shown in 80 % of the draws.

    Parameters
    ----------
    estimated, noise, alpha
        As for the test.
    kept : ndarray of bool, shape (M,)
        Models that may be best under both metrics.
    winner : ndarray of int
        Models with the largest mean. The two together are in question, or all models where that is only one.

    Returns
    -------
    float
        Infinite where no pair of these models varies, or none differs on 30 queries.
    """
    question = kept.copy()
    question[winner] = True
    if question.sum() < 2:
        question[:] = True
    speaks = (estimated.support >= FEWEST)[:, question][:, :, question]
    error = estimated.error[:, question][:, :, question].max(where=speaks, initial=0.0)
    if error == 0:
        return math.inf
    peaks = noise.peaks.max(axis=0)[question]
    critical = float(critical_value(peaks, 1 - alpha + alpha / 10).max())
    fixed = (critical + NormalDist().inv_cdf(POWER)) * float(error)
    if noise.runs is None:
        return fixed
    varying = estimated.error > noise.runs.query_error
    chosen = np.argwhere(varying & (estimated.support >= FEWEST) & question[:, None] & question)
    leads = [_lead_shown(noise, critical, *cell) for cell in chosen.tolist()]
    return max([fixed, *leads])


def _lead_shown(noise: Noise, critical: float, row: int, k: int, j: int) -> float:
    """Return the lead of j over k that exceeds its critical value in 80 % of the draws."""
    needed = critical * noise.errors(row, k, j) - (noise.values[row, j] - noise.values[row, k])
    return float(critical_value(needed, POWER))
