"""Means of per-query values, how sure they are, and Gaussian multiplier draws of their error.

Queries are the random sample and models are fixed. The error of the means is drawn from its normal limit, so no
query is ever resampled and the cost does not grow with queries times draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from .inputs import FloatArray, Panel

__all__ = ["Estimate", "Noise", "count_wins", "critical_value", "draw_noise", "estimate"]

IntArray: TypeAlias = NDArray[np.int64]

ROUNDING = 1e-12
"""Differences this small, relative to a metric's largest value, are rounding: such values count as equal."""


@dataclass(frozen=True)
class Estimate:
    """Means of M models under several metrics, and the standard errors of their differences.

    Attributes
    ----------
    mean : ndarray, shape (metrics, M)
        Weighted mean over queries, in the metric's unit.
    difference : ndarray, shape (metrics, M, M)
        ``difference[m, k, j] = mean[m, j] - mean[m, k]``: what model j gains over model k.
    error : ndarray, shape (metrics, M, M)
        Standard error of that difference. Exactly 0 where the two never differ or differ by a constant, infinite
        where there is a single query.
    mean_error : ndarray, shape (metrics, M)
        Standard error of each mean.
    root : ndarray, shape (metrics * M, metrics * M)
        Symmetric square root of the covariance matrix of all means, metrics side by side.
    wins : ndarray of int, shape (metrics, M, M)
        ``wins[m, k, j]``: on how many queries j is above k.
    support : ndarray, shape (metrics, M, M)
        On how many queries the two differ; under weights the effective number of them, (Σw)²/Σw².
    twin : ndarray of int, shape (metrics, M)
        The first model with the same value on every query, often the model itself.
    tolerance : ndarray, shape (metrics,)
        Below this a difference is rounding.
    queries : int
        How many queries of positive weight there are.
    effective : float
        Their effective number (Σw)²/Σw²: `queries` itself where all weigh the same.
    """

    mean: FloatArray
    difference: FloatArray
    error: FloatArray
    mean_error: FloatArray
    root: FloatArray
    wins: IntArray
    support: FloatArray
    twin: IntArray
    tolerance: FloatArray
    queries: int
    effective: float

    def alone(self, row: int) -> Estimate:
        """Return what is said of one metric."""
        one, models = slice(row, row + 1), self.mean.shape[1]
        by_row = (self.mean[one], self.difference[one], self.error[one], self.mean_error[one])
        root = self.root[:, row * models : (row + 1) * models]
        counts = (self.wins[one], self.support[one], self.twin[one], self.tolerance[one])
        return Estimate(*by_row, root, *counts, self.queries, self.effective)


def estimate(panel: Panel) -> Estimate:
    r"""Estimate means, and the covariance matrix of the means, from per-query values.

    With weights w the mean is μ = Σ wᵢxᵢ / Σ wᵢ, a ratio of sums, and its covariance (linearised)
    S = n/(n − 1) · Σ wᵢ²(xᵢ − μ)(xᵢ − μ)ᵀ / (Σ wᵢ)². With equal weights that is the sample covariance over n. Only
    ratios of weights matter.

    S itself is never formed: its square root comes from the singular values of the centred values, so that two models
    that differ by little keep a correct standard error instead of one lost in cancellation.

    Parameters
    ----------
    panel : Panel
        Checked per-query values.

    Returns
    -------
    Estimate
    """
    values, weights = panel.values, panel.weights
    metrics, models, queries = values.shape
    tolerance = ROUNDING * np.abs(values).max(axis=(1, 2))
    wins = count_wins(values, tolerance)
    discordant = wins + wins.transpose(0, 2, 1)
    twin = np.argmax(discordant == 0, axis=2)
    rows = np.arange(metrics)[:, None]
    mean = values.mean(axis=2) if weights is None else np.einsum("mjq,q->mj", values, weights)
    # Equal columns may get unequal last digits from a vectorised sum: take the mean of one of them for all.
    mean = mean[rows, twin]
    root = _covariance_root(values, mean, weights)
    column = (np.arange(metrics)[:, None] * models + twin).ravel()
    root = root[:, column]
    effective = float(queries) if weights is None else float(1 / (weights**2).sum())
    error = _difference_errors(root, metrics, models)
    error[error * np.sqrt(effective) <= tolerance[:, None, None]] = 0.0
    mean_error = np.sqrt((root**2).sum(axis=0)).reshape(metrics, models)
    if queries < 2:
        error[:, ~np.eye(models, dtype=bool)] = np.inf
        mean_error[:] = np.inf
    difference = mean[:, None, :] - mean[:, :, None]
    difference[np.abs(difference) <= tolerance[:, None, None]] = 0.0
    support = discordant.astype(np.float64) if weights is None else _effective_support(values, weights, tolerance)
    return Estimate(
        mean, difference, error, mean_error, root, wins, support, twin, tolerance, queries, effective
    )  # fmt: skip


def count_wins(values: FloatArray, tolerance: FloatArray) -> IntArray:
    """Count for every metric and pair of models the queries on which the one is above the other.

    Parameters
    ----------
    values : ndarray, shape (metrics, models, queries)
    tolerance : ndarray, shape (metrics,)
        How much above counts as a tie.

    Returns
    -------
    ndarray of int, shape (metrics, models, models)
        Entry ``[m, k, j]`` counts the queries on which model j beats model k under metric m.

    Examples
    --------
    >>> import numpy as np
    >>> count_wins(np.array([[[1.0, 0.5, 0.2], [1.0, 0.9, 0.1]]]), np.zeros(1))
    array([[[0, 1],
            [1, 0]]])
    """
    metrics, models, _ = values.shape
    wins = np.zeros((metrics, models, models), dtype=np.int64)
    for m in range(metrics):
        for k in range(models - 1):
            above, below = values[m, k] + tolerance[m], values[m, k] - tolerance[m]
            for j in range(k + 1, models):
                wins[m, k, j] = np.count_nonzero(values[m, j] > above)
                wins[m, j, k] = np.count_nonzero(values[m, j] < below)
    return wins


def _effective_support(values: FloatArray, weights: FloatArray, tolerance: FloatArray) -> FloatArray:
    """Count the queries on which two models differ as (Σw)²/Σw²: a few heavy ones are worth few."""
    metrics, models, _ = values.shape
    both = np.stack([weights, weights**2], axis=1)
    support = np.zeros((metrics, models, models))
    for m in range(metrics):
        for k in range(models - 1):
            for j in range(k + 1, models):
                differ = np.abs(values[m, j] - values[m, k]) > tolerance[m]
                first, second = differ.astype(np.float64) @ both
                support[m, k, j] = support[m, j, k] = first**2 / second if second > 0 else 0.0
    return support


def _covariance_root(values: FloatArray, mean: FloatArray, weights: FloatArray | None) -> FloatArray:
    metrics, models, queries = values.shape
    width = metrics * models
    if queries < 2:
        return np.zeros((width, width))
    centred = (values - mean[:, :, None]).reshape(width, queries).T
    if weights is None:
        centred *= 1 / np.sqrt(queries * (queries - 1.0))
    else:
        centred *= (weights * np.sqrt(queries / (queries - 1.0)))[:, None]
    # triangle' triangle = S; with S = V diag(s²) V', the symmetric root V diag(s) V' owes nothing to signs or order.
    triangle = np.linalg.qr(centred, mode="r")
    _, scale, directions = np.linalg.svd(triangle, full_matrices=False)
    root: FloatArray = (directions.T * scale) @ directions
    return root


def _difference_errors(root: FloatArray, metrics: int, models: int) -> FloatArray:
    blocks = root.reshape(-1, metrics, models)
    error = np.empty((metrics, models, models))
    for k in range(models):
        error[:, k] = np.sqrt(((blocks - blocks[:, :, [k]]) ** 2).sum(axis=0))
    return error


@dataclass(frozen=True)
class Noise:
    """Draws of the error of all means, and the largest studentised lead over each model in every draw.

    Attributes
    ----------
    values : ndarray, shape (metrics, M, draws)
        Draws from the normal limit of the means' error. Twins hold the same numbers.
    peaks : ndarray, shape (metrics, M, draws)
        ``max over j of (values[m, j] - values[m, k]) / error[m, k, j]``, and 0 where that is negative.
    """

    values: FloatArray
    peaks: FloatArray

    def alone(self, row: int) -> Noise:
        """Return the draws of one metric."""
        return Noise(self.values[row : row + 1], self.peaks[row : row + 1])


def draw_noise(estimated: Estimate, draws: int, seed: int, chunk: int = 2048) -> Noise:
    """Draw the error of the means from its normal limit: the Gaussian multiplier bootstrap.

    Parameters
    ----------
    estimated : Estimate
        Its `root` gives the covariance matrix.
    draws : int
        How many draws.
    seed : int
        Seed of NumPy's PCG64 generator.
    chunk : int
        Draws made at a time. The result does not depend on it beyond rounding.

    Returns
    -------
    Noise
    """
    metrics, models = estimated.mean.shape
    generator = np.random.default_rng(seed)
    values = np.empty((metrics * models, draws))
    for start in range(0, draws, chunk):
        stop = min(start + chunk, draws)
        values[:, start:stop] = (generator.standard_normal((stop - start, metrics * models)) @ estimated.root).T
    values = values.reshape(metrics, models, draws)
    for m in range(metrics):  # a matrix product may round equal columns differently
        for k in range(models):
            if estimated.twin[m, k] != k:
                values[m, k] = values[m, estimated.twin[m, k]]
    return Noise(values, _peaks(values, estimated.error))


def _peaks(values: FloatArray, error: FloatArray) -> FloatArray:
    metrics, models, draws = values.shape
    peaks = np.zeros_like(values)
    lead = np.empty(draws)
    for m in range(metrics):
        for k in range(models - 1):
            for j in range(k + 1, models):
                if not 0 < error[m, k, j] < np.inf:
                    continue
                np.subtract(values[m, j], values[m, k], out=lead)
                lead *= 1 / error[m, k, j]
                np.maximum(peaks[m, k], lead, out=peaks[m, k])
                np.negative(lead, out=lead)
                np.maximum(peaks[m, j], lead, out=peaks[m, j])
    return peaks


def critical_value(draws: FloatArray, level: float) -> FloatArray:
    """Return the quantile of `draws` that a statistic exceeds exactly where its p-value is at most ``1 - level``.

    That is the order statistic number ``ceil(level · (B + 1))`` of B draws, which goes with the p-value
    ``(1 + #{draws >= statistic}) / (B + 1)``.

    Parameters
    ----------
    draws : ndarray, shape (…, B)
        One or more sets of draws.
    level : float
        Of the quantile.

    Returns
    -------
    ndarray, shape (…)

    Examples
    --------
    >>> import numpy as np
    >>> float(critical_value(np.arange(1.0, 100.0), 0.95))
    95.0
    """
    count = draws.shape[-1]
    place = min(max(int(np.ceil(level * (count + 1) - 1e-9)), 1), count) - 1
    found: FloatArray = np.partition(draws, place)[..., place]
    return found
