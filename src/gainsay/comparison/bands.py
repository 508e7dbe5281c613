"""One band for all regrets of a family at once: how far each model is behind the best under each metric.

The regret of a model is its distance to the best mean, whichever model has it. A band that holds for all metrics of a
family together serves questions that go along the family: from where to where a model may be best, and under which of
its metrics two models change places.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .inequalities import FEWEST, BoolArray
from .inputs import FloatArray
from .resampling import Estimate, Noise, critical_value

__all__ = ["RegretBand", "regret_band"]


@dataclass(frozen=True)
class RegretBand:
    """A simultaneous band of regrets.

    Attributes
    ----------
    lower, upper : ndarray, shape (metrics, M)
        With probability 1 − α or more, all regrets under all metrics lie between them. `lower` is above 0 exactly where
        the band rules out that the model is best; `upper` is infinite below `FEWEST` queries.
    critical : float
        In standard errors of a difference, how far the band reaches on either side.
    """

    lower: FloatArray
    upper: FloatArray
    critical: float

    @property
    def may_be_best(self) -> BoolArray:
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

    A pair that differs on fewer than `FEWEST` queries rules out nobody.

    Parameters
    ----------
    estimated : Estimate
        Means and errors.
    noise : Noise
        Draws made from `estimated`.
    alpha : float
        Level.

    Returns
    -------
    RegretBand
    """
    beta = max(alpha / 10, 1 / (noise.draws + 1))
    peaks = noise.peaks.max(axis=(0, 1))
    first = _lower(estimated, float(critical_value(peaks, 1 - beta)))
    critical = float(critical_value(_largest(estimated, noise, first, float(peaks.max(initial=0.0))), 1 - alpha + beta))
    lower = _lower(estimated, critical)
    lower[lower <= estimated.tolerance[:, None]] = 0.0
    if estimated.queries < FEWEST:
        return RegretBand(lower, np.full_like(lower, np.inf), critical)
    finite = np.isfinite(estimated.error)
    reach = np.where(finite, estimated.difference + np.where(finite, estimated.error, 0.0) * critical, np.inf)
    rival = np.broadcast_to((first == 0)[:, None, :], reach.shape)
    upper = np.maximum(0.0, reach.max(axis=2, initial=0.0, where=rival))
    return RegretBand(lower, np.maximum(upper, np.maximum(0.0, estimated.difference.max(axis=2))), critical)


def _lower(estimated: Estimate, critical: float) -> FloatArray:
    """Return max over j of d − q e, or 0, by those pairs that may speak."""
    speaks = (estimated.support >= FEWEST) & np.isfinite(estimated.error)
    reach = np.where(speaks, estimated.difference - critical * np.where(speaks, estimated.error, 0.0), 0.0)
    lower: FloatArray = np.maximum(0.0, reach.max(axis=2))
    return lower


def _largest(estimated: Estimate, noise: Noise, behind: FloatArray, ceiling: float) -> FloatArray:
    """Return in every draw the largest error by which the band could fail; `behind` bounds regrets from below."""
    largest, lead = np.zeros(noise.draws), np.empty(noise.draws)
    metrics, models = behind.shape
    error = estimated.error
    for row in range(metrics):
        for k in range(models - 1):
            for j in range(k + 1, models):
                size = error[row, k, j]
                if not 0 < size < np.inf:
                    continue
                slack = behind[row, [k, j]] / size
                if slack.min() > ceiling:
                    continue
                noise.lead(row, k, j, out=lead)  # of j over k; that of k over j is its negative
                if slack.min() == 0:
                    np.maximum(largest, np.abs(lead, out=lead), out=largest)
                    continue
                np.maximum(largest, lead - slack[1], out=largest)
                np.maximum(largest, -lead - slack[0], out=largest)
    return largest
