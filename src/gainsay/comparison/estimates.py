"""Means of per-query values, and how sure they are.

Queries are the random sample, or clusters of them; models are fixed, or recipes of which runs are a sample too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from .._common.typing import Floats, Integers
from .clusters import cluster_sums
from .inputs import Panel
from .recipes import RunError, run_error

__all__ = ["ROUNDING", "Estimate", "count_wins", "estimate"]

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
        Standard error of that difference, over queries and runs. Exactly 0 where the two never differ or differ by a
        constant, infinite where there is a single query or cluster.
    mean_error : ndarray, shape (metrics, M)
        Standard error of each mean.
    root : ndarray, shape (metrics * M or fewer, metrics * M)
        A root of the covariance matrix of all means over queries, metrics side by side: the symmetric one, or one of
        fewer rows where the values under some metrics follow from those under others.
    wins : ndarray of int, shape (metrics, M, M)
        ``wins[m, k, j]``: on how many queries j is above k.
    support : ndarray, shape (metrics, M, M)
        On how many queries the two differ, or in how many clusters; under weights or unequal clusters the effective
        number of them, (Σw)²/Σw².
    differing : ndarray of int, shape (metrics, M, M)
        On how many queries the two differ, or in how many clusters.
    twin : ndarray of int, shape (metrics, M)
        The first model with the same value on every query, often the model itself.
    tolerance : ndarray, shape (metrics,)
        Below this a difference is rounding.
    queries : int
        How many queries of positive weight there are.
    units : int
        How many of what is independent: queries, or the clusters that they come in.
    effective : float
        The effective number of these, (Σw)²/Σw²: `units` itself where all weigh the same.
    runs : RunError or None
        What the runs of recipes add to the errors; None where all models are fixed.
    """

    mean: Floats
    difference: Floats
    error: Floats
    mean_error: Floats
    root: Floats
    wins: Integers
    support: Floats
    differing: Integers
    twin: Integers
    tolerance: Floats
    queries: int
    units: int
    effective: float
    runs: RunError | None = None

    BY_ROW: ClassVar = (
        "mean",
        "difference",
        "error",
        "mean_error",
        "wins",
        "support",
        "differing",
        "twin",
        "tolerance",
    )
    """What is held metric by metric."""

    def alone(self, row: int) -> Estimate:
        """Return what is said of one metric."""
        one, models = slice(row, row + 1), self.mean.shape[1]
        root = self.root[:, row * models : (row + 1) * models]
        runs = None if self.runs is None else self.runs.alone(row)
        return replace(self, root=root, runs=runs, **{name: getattr(self, name)[one] for name in self.BY_ROW})


def estimate(panel: Panel, *, joint: bool = True) -> Estimate:
    r"""Estimate means, and the covariance matrix of the means, from per-query values.

    With weights w the mean is μ = Σ wᵢxᵢ / Σ wᵢ, a ratio of sums, and its covariance (linearised)
    S = n/(n − 1) · Σ wᵢ²(xᵢ − μ)(xᵢ − μ)ᵀ / (Σ wᵢ)². With equal weights that is the sample covariance over n. Only
    ratios of weights matter. Of queries in G clusters the influences wᵢ(xᵢ − μ) are summed within each cluster first,
    and G stands in place of n (Liang & Zeger 1986). Runs of recipes add a variance of their own: see `run_error`.

    S itself is never formed: its square root comes from the singular values of the centred values, so that two models
    that differ by little keep a correct standard error instead of one lost in cancellation. Where only errors are
    wanted and not how metrics go together, `joint` is False: `root` then holds the root of each metric by itself, side
    by side, which takes far less work for many of them.
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
    units = panel.units
    shares, root = _unit_weights(panel, units), _covariance_root(panel, mean, units, 1 if joint else metrics)
    root = root[:, (rows * models + twin).ravel()]
    even = shares is None or np.ptp(shares) <= ROUNDING * shares.max()
    effective = float(units) if shares is None or even else float(1 / (shares**2).sum())
    error = _difference_errors(root, metrics, models)
    error[error * np.sqrt(effective) <= tolerance[:, None, None]] = 0.0
    mean_error = np.sqrt((root**2).sum(axis=0)).reshape(metrics, models)
    if units < 2:
        error[:, ~np.eye(models, dtype=bool)] = np.inf
        mean_error[:] = np.inf
    difference = mean[:, None, :] - mean[:, :, None]
    difference[np.abs(difference) <= tolerance[:, None, None]] = 0.0
    support, differing = discordant.astype(np.float64), discordant
    if shares is not None:
        support, differing = _effective_support(panel, units, shares, tolerance)
        support = differing.astype(np.float64) if even else support
    runs = None
    if panel.runs is not None:
        runs = run_error(panel, error, mean_error, twin, tolerance)
        error, mean_error = runs.error, runs.mean_error
    return Estimate(
        mean, difference, error, mean_error, root, wins, support, differing, twin, tolerance, queries, units, effective,
        runs,
    )  # fmt: skip


def _unit_weights(panel: Panel, units: int) -> Floats | None:
    """Return what each query weighs, or each cluster; None where all queries weigh the same and are independent."""
    queries = panel.values.shape[2]
    if units == queries:  # clusters of one query each are none
        return panel.weights
    weights = np.full(queries, 1 / queries) if panel.weights is None else panel.weights
    assert panel.clusters is not None
    shares: Floats = cluster_sums(weights[None], panel.clusters)[0]
    return shares


def count_wins(values: Floats, tolerance: Floats) -> Integers:
    """Count queries: entry ``[m, k, j]`` those on which model j is above k under metric m, by more than its tolerance.

    `values` has the shape (metrics, models, queries).

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


def _effective_support(panel: Panel, units: int, shares: Floats, tolerance: Floats) -> tuple[Floats, Integers]:
    """Count the queries or clusters on which two models differ, as (Σw)²/Σw² and plainly: heavy ones are worth few."""
    values, clusters = panel.values, panel.clusters if units < panel.values.shape[2] else None
    metrics, models, _ = values.shape
    both = np.stack([shares, shares**2], axis=1)
    support, count = np.zeros((metrics, models, models)), np.zeros((metrics, models, models), dtype=np.int64)
    for m in range(metrics):
        for k in range(models - 1):
            for j in range(k + 1, models):
                differ = np.abs(values[m, j] - values[m, k]) > tolerance[m]
                if clusters is not None:
                    differ = np.bincount(clusters[differ], minlength=units) > 0
                first, second = differ.astype(np.float64) @ both
                support[m, k, j] = support[m, j, k] = first**2 / second if second > 0 else 0.0
                count[m, k, j] = count[m, j, k] = np.count_nonzero(differ)
    return support, count


def _covariance_root(panel: Panel, mean: Floats, units: int, parts: int) -> Floats:
    """Return roots of the covariances within each of so many parts of the metrics, side by side."""
    metrics, models, queries = panel.values.shape
    width = metrics * models // parts
    root = np.zeros((width, parts, width))
    if units < 2:
        return root.reshape(width, -1)
    centred = (panel.values - mean[:, :, None]).reshape(-1, queries).T
    if units < queries:
        assert panel.clusters is not None
        centred *= 1 / queries if panel.weights is None else panel.weights[:, None]
        centred = cluster_sums(centred.T, panel.clusters).T * np.sqrt(units / (units - 1.0))
    elif panel.weights is None:
        centred *= 1 / np.sqrt(queries * (queries - 1.0))
    else:
        centred *= (panel.weights * np.sqrt(queries / (queries - 1.0)))[:, None]
    for part in range(parts):
        # triangle' triangle = S; with S = V diag(s²) V', the symmetric root V diag(s) V' owes nothing to signs or order
        triangle = np.linalg.qr(centred[:, part * width : (part + 1) * width], mode="r")
        _, scale, directions = np.linalg.svd(triangle, full_matrices=False)
        root[:, part] = (directions.T * scale) @ directions
    return root.reshape(width, -1)


def _difference_errors(root: Floats, metrics: int, models: int) -> Floats:
    blocks = root.reshape(-1, metrics, models)
    error = np.empty((metrics, models, models))
    for k in range(models):
        error[:, k] = np.sqrt(((blocks - blocks[:, :, [k]]) ** 2).sum(axis=0))
    return error
