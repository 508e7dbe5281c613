"""Bounds that stay true after a model was picked out by the data, and what the sample is able to show."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from .._common.typing import Bools, Floats, Integers
from .estimates import Estimate
from .inequalities import FEWEST
from .resampling import Noise, critical_value, half_width

__all__ = ["POWER", "RegretBand", "detectable_lead", "regret_band", "regret_upper"]

POWER = 0.80
"""The probability with which `detectable_lead` is detected."""


def regret_upper(estimated: Estimate, noise: Noise, alpha: float) -> Floats:
    """Bound the regret of every model under every metric from above, all at once, shape (metrics, M).

    regret(m, k) = max over j of mean[m, j] − mean[m, k]. The bound is the largest of difference + q · error with q the
    1 − α quantile of the largest studentised error over all ordered pairs of all metrics, and so holds for whichever
    model is picked out afterwards, by whatever rule. Two models that never differ count as one model: how they would
    do on queries unlike these the sample cannot say. Not below 0; infinite below `FEWEST` queries or clusters.
    """
    if estimated.units < FEWEST:
        return np.full(estimated.mean.shape, np.inf)
    upper: Floats = np.maximum(0.0, (estimated.difference + noise.reach(alpha)).max(axis=2))
    return upper


@dataclass(frozen=True)
class RegretBand:
    """A simultaneous band of regrets.

    Attributes
    ----------
    lower, upper : ndarray, shape (metrics, M)
        With probability 1 − α or more, all regrets under all metrics lie between them. `lower` is above 0 exactly where
        the band rules out that the model is best; `upper` is infinite below `FEWEST` queries or clusters.
    critical : float
        In standard errors of a difference, how far the band reaches on either side.
    """

    lower: Floats
    upper: Floats
    critical: float

    @property
    def may_be_best(self) -> Bools:
        """Under which metrics each model may be best: at all of them together, with probability 1 − α or more."""
        return self.lower <= 0


def regret_band(estimated: Estimate, noise: Noise, alpha: float) -> RegretBand:
    r"""Bound all regrets from below and above, under all metrics and for all models at once.

    Two steps, as in the test. With d the lead of j over k, e its standard error and q₁ the 1 − β quantile of the
    largest studentised error of all pairs and metrics, β = α/10, ρ(j) = max(0, maxᵢ(dᵢ − q₁eᵢ)) bounds the regret of
    every model j from below. The band is max_j(d − q e) to max_j(d + q e). It can fail from below only by a rival j
    whose lead was overestimated, which is slack by j's own regret, at least ρ(j); and from above only by a rival that
    is best, so that ρ(j) = 0. So q is the 1 − α + β quantile of the largest of ± t* over pairs whose rival has
    ρ(j) = 0, and of t* − ρ(j)/e over the others.

    A pair that differs on fewer than `FEWEST` queries or clusters rules out nobody.
    """
    beta = max(alpha / 10, 1 / (noise.draws + 1))
    peaks = noise.peaks.max(axis=(0, 1))
    first = _lower(estimated, float(critical_value(peaks, 1 - beta)))
    slack = np.divide(first[:, None, :], estimated.error, out=np.zeros_like(estimated.error), where=estimated.error > 0)
    slack[(first[:, None, :] == 0) | (first[:, :, None] == 0)] = 0.0  # a lead and its negative, that of the other model
    rows, models = map(range, first.shape)
    largest = noise.shifted_peaks(rows, models, estimated.error, -slack).max(axis=0)
    critical = float(critical_value(largest, 1 - alpha + beta))
    lower = _lower(estimated, critical)
    lower[lower <= estimated.tolerance[:, None]] = 0.0
    if estimated.units < FEWEST:
        return RegretBand(lower, np.full_like(lower, np.inf), critical)
    reach = estimated.difference + half_width(estimated.error, critical)
    rival = np.broadcast_to((first == 0)[:, None, :], reach.shape)
    upper = np.maximum(0.0, reach.max(axis=2, initial=0.0, where=rival))
    return RegretBand(lower, np.maximum(upper, np.maximum(0.0, estimated.difference.max(axis=2))), critical)


def _lower(estimated: Estimate, critical: float) -> Floats:
    """Return max over j of d − q e, or 0, by those pairs that may speak."""
    speaks = (estimated.support >= FEWEST) & np.isfinite(estimated.error)
    reach = np.where(speaks, estimated.difference - critical * np.where(speaks, estimated.error, 0.0), 0.0)
    lower: Floats = np.maximum(0.0, reach.max(axis=2))
    return lower


def detectable_lead(estimated: Estimate, noise: Noise, alpha: float, kept: Bools, winner: Integers) -> float:
    """Return the smallest true lead under one metric that eliminates the trailing model with 80 % probability.

    (c + z) · e: c is the largest critical value of the models in question when all their inequalities bind, z = 0.84
    the 80 % point of the normal distribution, e the largest standard error of a difference between two of these
    models. All three err on the safe side, the more so the fewer rivals are near. Where one of the models is a recipe,
    its few runs show another error every time: of the pairs of these models the largest lead is taken that exceeds c
    times the error shown in 80 % of the draws. Infinite where no pair varies, or none differs on 30 queries.

    In question are the models that are `kept`, which may be best under both metrics, and the winners under each; all
    models where that is only one.
    """
    question = kept.copy()
    question[winner] = True
    if question.sum() < 2:
        question[:] = True
    speaks = (estimated.support >= FEWEST) & question[:, None] & question
    error = float(estimated.error.max(where=speaks, initial=0.0))
    if error == 0:
        return math.inf
    peaks = noise.peaks.max(axis=0)[question]
    critical = float(critical_value(peaks, 1 - alpha + alpha / 10).max())
    fixed = (critical + NormalDist().inv_cdf(POWER)) * error
    if estimated.runs is None:
        return fixed
    chosen = np.argwhere(speaks & (estimated.error > estimated.runs.query_error))
    return max([fixed, *(_lead_shown(noise, critical, *cell) for cell in chosen.tolist())])


def _lead_shown(noise: Noise, critical: float, row: int, k: int, j: int) -> float:
    """Return the lead of j over k that exceeds its critical value in 80 % of the draws."""
    needed = critical * noise.errors(row, k, j) - (noise.values[row, j] - noise.values[row, k])
    return float(critical_value(needed, POWER))
