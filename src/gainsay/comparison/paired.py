"""Paired one-sided p-values for every pair of models, and Holm's correction."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._common.typing import Floats
from .estimates import Estimate

__all__ = ["PairedPValues", "conflict_p_values", "holm", "pair_p_values"]


@dataclass(frozen=True)
class PairedPValues:
    """P-values of the differences between models, shape (metrics, M, M).

    Attributes
    ----------
    one_sided : ndarray
        ``one_sided[m, k, j]`` is small where model j beats model k under metric m.
    two_sided : ndarray
        Twice the smaller of both directions, at most 1.
    """

    one_sided: Floats
    two_sided: Floats


def pair_p_values(estimated: Estimate) -> PairedPValues:
    """Paired t-test of every pair of models under every metric.

    t = difference / standard error with n − 1 degrees of freedom, where n is the number of queries or clusters, under
    weights the effective number (Σw)²/Σw². Where a model is a recipe of R runs the error has two parts with degrees of
    freedom of their own, n − 1 and R − 1, joined by Welch's and Satterthwaite's formula. A p-value by draws would carry
    Monte Carlo error and a floor of 1/(B + 1), which Holm's correction over hundreds of pairs multiplies; for a single
    pair t is exact where differences are normal and right in the limit otherwise.

    No p-value is 0: two models that differ on m queries or clusters cannot give less than 2⁻ᵐ, the least that flipping
    the signs of the differences can show. Where nothing is known (models that never differ, a single query) it is 1.

    Parameters
    ----------
    estimated : Estimate
        Means and errors.

    Returns
    -------
    PairedPValues
    """
    from scipy.special import stdtr

    difference, error = estimated.difference, estimated.error
    t = np.divide(difference, error, out=np.where(difference > 0, np.inf, -np.inf), where=error > 0)
    one_sided = np.asarray(stdtr(_freedom(estimated), -t), dtype=np.float64)
    discordant = estimated.differing
    floor = np.maximum(np.exp2(-discordant.astype(np.float64)), np.finfo(float).tiny)
    one_sided = np.maximum(one_sided, floor)
    one_sided[np.isinf(error) | (discordant == 0)] = 1.0
    two_sided = np.minimum(1.0, 2 * np.minimum(one_sided, one_sided.transpose(0, 2, 1)))
    return PairedPValues(one_sided, two_sided)


def _freedom(estimated: Estimate) -> float | Floats:
    """Return the degrees of freedom of every difference, one number where all models are fixed."""
    of_queries = max(estimated.effective - 1, np.finfo(float).tiny)
    runs = estimated.runs
    if runs is None or not runs.variance.any():
        return of_queries
    of_runs = runs.variance**2 / np.maximum(runs.counts - 1, 1)
    whole = runs.error**4
    parts = runs.query_error**4 / of_queries + of_runs[:, :, None] + of_runs[:, None, :]
    mixed = np.isfinite(whole) & (runs.error > runs.query_error)
    freedom: Floats = np.divide(whole, parts, out=np.full_like(whole, of_queries), where=mixed)
    return freedom


def conflict_p_values(first: Floats, second: Floats) -> Floats:
    """P-values of a sign conflict from the one-sided p-values under two metrics, each shape (M, M).

    To claim that X beats Y under one metric *and* Y beats X under the other, both must hold, so the larger of the two
    one-sided p-values is the claim's. Of the two ways round the smaller is taken; it is the one that the sample shows,
    where it shows a conflict. Looking at both costs nothing where the two differences are not negatively correlated,
    and two metrics of the same rankings are not (Gail & Simon 1985 have the same critical value for independent ones);
    at correlation −1 the level would double.

    Returns
    -------
    ndarray, shape (M, M)
        Symmetric.

    References
    ----------
    Gail & Simon (1985), "Testing for qualitative interactions between treatment effects and patient subsets",
    Biometrics 41.
    """
    one_way = np.maximum(first, second.T)
    conflict: Floats = np.minimum(one_way, one_way.T)
    return conflict


def holm(p_values: ArrayLike) -> Floats:
    """Adjust p-values by Holm's step-down method: the family-wise error rate is kept, whatever the dependence.

    The r-th smallest of m p-values becomes the largest of (m − s + 1) · p₍ₛ₎ over s <= r, at most 1.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return adjusted
