"""Means of per-query values, their standard errors, and the variance between repeats.

Queries, or clusters of queries, are a random sample. Models are fixed, or recipes with a sample of repeats.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from .._common.arrays import compute_means
from .._common.typing import Bools, Floats, Integers
from .panel import Panel, sum_by_cluster

ROUNDING = 1e-12
"""Differences below this share of the largest value of a metric are rounding and count as 0."""

SIMILAR = 0.02
"""Rows are similar if the sum of their squared differences is below this share of the larger sum of squares."""

MAX_ROOT = 400
"""Number of means, of all metrics together, up to which draws use a symmetric root of the covariance."""


@dataclass(frozen=True)
class Estimate:
    """Means of M models under several metrics, and the standard errors of their differences.

    Attributes
    ----------
    mean : ndarray, shape (metrics, M)
        Weighted mean over queries.
    difference : ndarray, shape (metrics, M, M)
        ``difference[m, k, j] = mean[m, j] - mean[m, k]``: the difference of model j to model k.
    error : ndarray, shape (metrics, M, M)
        Standard error of that difference over queries and repeats. Exactly 0 for models that never differ or differ by
        a constant, infinite for a single query or cluster.
    mean_error : ndarray, shape (metrics, M)
        Standard error of each mean.
    root : ndarray, shape (rows, metrics * M)
        Matrix A with A'A the covariance of all means over queries, metrics side by side. See `compute_root`.
    wins : ndarray of int, shape (metrics, M, M)
        ``wins[m, k, j]``: number of queries with a higher value of j than of k.
    support : ndarray, shape (metrics, M, M)
        Number of queries or clusters with different values of two models. Under weights, their effective number
        (Σw)²/Σw².
    differing : ndarray of int, shape (metrics, M, M)
        Number of queries or clusters with different values of two models.
    duplicate_of : ndarray of int, shape (metrics, M)
        First model with the same value on every query, often the model itself.
    tolerance : ndarray, shape (metrics,)
        Smaller differences are rounding.
    queries : int
        Number of queries of positive weight.
    units : int
        Number of independent units: queries, or clusters.
    effective : float
        Effective number of units, (Σw)²/Σw².
    repeats : RepeatError or None
        Error of the repeats of recipes. None if all models are fixed.
    """

    mean: Floats
    difference: Floats
    error: Floats
    mean_error: Floats
    root: Floats
    wins: Integers
    support: Floats
    differing: Integers
    duplicate_of: Integers
    tolerance: Floats
    queries: int
    units: int
    effective: float
    repeats: RepeatError | None = None

    BY_ROW: ClassVar = (
        "mean", "difference", "error", "mean_error", "wins", "support", "differing", "duplicate_of", "tolerance",
    )  # fmt: skip
    """Attributes with one row per metric."""

    @property
    def tied(self) -> Bools:
        """Whether each model has the best mean, shape (metrics, M)."""
        return np.asarray(self.mean >= self.mean.max(axis=1, keepdims=True) - self.tolerance[:, None])

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the standard errors over queries: the effective number of units − 1."""
        return max(self.effective - 1, float(np.finfo(float).tiny))

    def select(self, row: int) -> Estimate:
        """Return the part of one metric."""
        rows, models = slice(row, row + 1), self.mean.shape[1]
        root = self.root[:, row * models : (row + 1) * models]
        repeats = None if self.repeats is None else self.repeats.select(row)
        return replace(self, root=root, repeats=repeats, **{name: getattr(self, name)[rows] for name in self.BY_ROW})


def estimate(panel: Panel, *, joint: bool = True) -> Estimate:
    r"""Estimate means, and the covariance matrix of the means, from per-query values.

    With weights w, the mean is μ = Σ wᵢxᵢ / Σ wᵢ, a ratio of sums, with the (linearized) covariance
    S = n/(n − 1) · Σ wᵢ²(xᵢ − μ)(xᵢ − μ)ᵀ / (Σ wᵢ)². With equal weights, it is the sample covariance over n. For
    clusters of queries, it is the jackknife covariance, see `compute_influences`. Repeats of recipes add their
    variance, see `estimate_repeat_error`.

    If `joint` is False, `root` is empty, which saves time if no draws are needed.
    """
    values = panel.values
    metrics, models, queries = values.shape
    tolerance = ROUNDING * np.abs(values).max(axis=(1, 2))
    wins = count_wins(values, tolerance)
    discordant = wins + wins.transpose(0, 2, 1)
    duplicate_of = np.argmax(discordant == 0, axis=2)
    rows = np.arange(metrics)[:, None]
    mean = compute_means(values.T, panel.raw_weights).T
    # A vectorized sum may round equal columns differently, so duplicates share one mean.
    mean = mean[rows, duplicate_of]
    units = panel.units
    shares, influences = _unit_weights(panel, units), compute_influences(panel, mean)[rows, duplicate_of]
    root = compute_root(influences) if joint else np.empty((0, metrics * models))
    root = root[:, (rows * models + duplicate_of).ravel()]
    even = shares is None or np.ptp(shares) <= ROUNDING * shares.max()
    effective = float(units) if shares is None or even else float(1 / (shares**2).sum())
    error = np.sqrt(np.stack([sum_powers(part) for part in influences]))
    error[error * np.sqrt(effective) <= tolerance[:, None, None]] = 0.0
    mean_error = np.sqrt((influences**2).sum(axis=2))
    if units < 2:
        error[:, ~np.eye(models, dtype=bool)] = np.inf
        mean_error[:] = np.inf
    difference = mean[:, None, :] - mean[:, :, None]
    difference[np.abs(difference) <= tolerance[:, None, None]] = 0.0
    support, differing = discordant.astype(np.float64), discordant
    if shares is not None:
        support, differing = _effective_support(panel, units, shares, tolerance)
        support = differing.astype(np.float64) if even else support
    repeats = None
    if panel.repeats is not None:
        repeats = estimate_repeat_error(panel, error, mean_error, duplicate_of, tolerance)
        both = repeats.variance[:, :, None] + repeats.variance[:, None, :]
        both[duplicate_of[:, :, None] == duplicate_of[:, None, :]] = 0.0
        error, mean_error = np.hypot(error, np.sqrt(both)), np.hypot(mean_error, np.sqrt(repeats.variance))
    return Estimate(
        mean, difference, error, mean_error, root, wins, support, differing, duplicate_of, tolerance, queries, units,
        effective, repeats,
    )  # fmt: skip


def _unit_weights(panel: Panel, units: int) -> Floats | None:
    """Return the weight of each query or cluster, or None if queries are independent and have the same weight."""
    if panel.clusters is None or units == panel.queries:  # Clusters of one query each have no effect.
        return panel.weights
    return np.asarray(sum_by_cluster(panel.shares[None], panel.clusters)[0])


def count_wins(values: Floats, tolerance: Floats) -> Integers:
    """Return how often model j is above k by more than the tolerance, as ``[m, k, j]``.

    `values` has the shape (metrics, models, queries).

    >>> count_wins(np.array([[[1.0, 0.5, 0.2], [1.0, 0.9, 0.1]]]), np.zeros(1))
    array([[[0, 1],
            [1, 0]]])
    """
    metrics, models, _ = values.shape
    wins = np.zeros((metrics, models, models), dtype=np.int64)
    above = np.empty(values.shape[1:], dtype=bool)
    for row, table in enumerate(values):
        for k in range(models):
            np.greater(table, table[k] + tolerance[row], out=above)
            wins[row, k] = above.view(np.uint8).sum(axis=1, dtype=np.uint32)  # faster than a sum of Booleans
    return wins


def _effective_support(panel: Panel, units: int, shares: Floats, tolerance: Floats) -> tuple[Floats, Integers]:
    """Return the effective and the plain number of queries or clusters that separate two models."""
    values, starts = panel.values, None
    metrics, models, queries = values.shape
    if panel.clusters is not None and units < queries:
        order = np.argsort(panel.clusters, kind="stable")
        values, starts = values[:, :, order], np.searchsorted(panel.clusters[order], np.arange(units))
    sums = np.stack([shares, shares**2, np.ones(units)], axis=1)
    support, count = np.zeros((metrics, models, models)), np.zeros((metrics, models, models), dtype=np.int64)
    for m in range(metrics):
        for k in range(models - 1):
            differ = np.abs(values[m, k + 1 :] - values[m, k]) > tolerance[m]
            if starts is not None:
                differ = np.logical_or.reduceat(differ, starts, axis=1)
            first, second, number = (differ @ sums).T
            support[m, k, k + 1 :] = np.divide(first**2, second, out=np.zeros_like(first), where=second > 0)
            count[m, k, k + 1 :] = np.rint(number)
    return support + support.transpose(0, 2, 1), count + count.transpose(0, 2, 1)


def compute_influences(panel: Panel, mean: Floats) -> Floats:
    """Return the contribution of each query or cluster to the errors of the means, shape (metrics, M, units).

    The covariance of the means is the matrix of their products, summed over units. For queries in clusters, the
    contribution of cluster g is u_g / (1 − w_g), with the sum u_g of its wᵢ(xᵢ − μ) and its share w_g of the weight.
    This jackknife estimate (Bell & McCaffrey 2002) is not too small if the clusters are few and uneven.
    """
    metrics, models, queries = panel.values.shape
    units = panel.units
    if units < 2:
        return np.zeros((metrics, models, units))
    influences = panel.values - mean[:, :, None]
    if panel.clusters is not None and units < queries:
        influences *= 1 / queries if panel.weights is None else panel.weights
        sums = sum_by_cluster(influences.reshape(-1, queries), panel.clusters).reshape(metrics, models, units)
        return np.asarray(sums / (1 - np.asarray(_unit_weights(panel, units))))
    if panel.weights is None:
        influences *= 1 / np.sqrt(queries * (queries - 1.0))
    else:
        influences *= panel.weights * np.sqrt(queries / (queries - 1.0))
    return influences


def compute_root(influences: Floats) -> Floats:
    """Return a matrix A with A'A the covariance of all means, metrics side by side, from `compute_influences`.

    Up to `MAX_ROOT` means, it is the symmetric root V diag(s) V' of the singular value decomposition of the influences,
    which does not depend on signs or order. For more means, it contains the influences themselves, in an order that
    does not depend on that of the queries. The covariance itself is never computed, so the difference of two similar
    models is not lost in cancellation.
    """
    rows = influences.reshape(-1, influences.shape[2]).T
    if rows.shape[1] > MAX_ROOT:
        rows = np.ascontiguousarray(rows)
        return np.asarray(rows[np.argsort(rows.sum(axis=1), kind="stable")])
    _, scale, directions = np.linalg.svd(np.linalg.qr(rows, mode="r"), full_matrices=False)
    return np.asarray((directions.T * scale) @ directions)


def sum_powers(rows: Floats, power: Literal[2, 3] = 2) -> Floats:
    """Return Σ (b − a)² or Σ (b − a)³ of every two rows a and b, shape (rows, rows).

    The sums follow from products of rows. For similar rows, they would be lost in cancellation, so these are subtracted
    first.

    >>> sum_powers(np.array([[1.0, 2.0, 4.0], [1.0, 0.0, 1.0]]))
    array([[ 0., 13.],
           [13.,  0.]])
    >>> sum_powers(np.array([[1.0, 2.0, 4.0], [1.0, 0.0, 1.0]]), 3).round(9)
    array([[  0., -35.],
           [ 35.,   0.]])
    """
    centered = rows - rows.mean(axis=0)
    products = centered @ centered.T
    own = np.diag(products)
    sums = own[:, None] + own - 2 * products
    similar = sums < SIMILAR * np.maximum(own[:, None], own)
    if power == 3:
        squares = centered * centered
        mixed, cubes = squares @ centered.T, np.einsum("kq,kq->k", squares, centered)
        sums = cubes - cubes[:, None] - 3 * (mixed.T - mixed)
    for k in range(len(rows)):
        others = k + 1 + np.flatnonzero(similar[k, k + 1 :])
        if len(others):
            differences = rows[others] - rows[k]
            sums[k, others] = np.einsum("jq,jq->j", differences if power == 2 else differences**2, differences)
            sums[others, k] = sums[k, others] if power == 2 else -sums[k, others]
    np.fill_diagonal(sums, 0.0)
    return np.asarray(sums)


@dataclass(frozen=True)
class RepeatError:
    """Error of means because of the repeats of recipes.

    Attributes
    ----------
    counts : ndarray of int, shape (M,)
        Number of repeats of each model, 0 for a fixed one.
    variance : ndarray, shape (metrics, M)
        Variance of the mean of each model over its repeats, 0 for a fixed one.
    root : ndarray, shape (M, metrics, metrics)
        For each model, a matrix A with A'A the covariance of its mean over repeats under all metrics.
    query_error : ndarray, shape (metrics, M, M)
        Standard errors of differences over queries only.
    query_mean_error : ndarray, shape (metrics, M)
        Standard errors of means over queries only.
    """

    counts: Integers
    variance: Floats
    root: Floats
    query_error: Floats
    query_mean_error: Floats

    BY_ROW: ClassVar = ("variance", "query_error", "query_mean_error")
    """Attributes with one row per metric."""

    def select(self, row: int) -> RepeatError:
        """Return the part of one metric."""
        rows = slice(row, row + 1)
        return replace(self, root=self.root[:, :, rows], **{name: getattr(self, name)[rows] for name in self.BY_ROW})


def compute_repeat_means(panel: Panel, model: int) -> Floats:
    """Return the weighted mean of every repeat of a model, shape (metrics, R)."""
    assert panel.repeats is not None
    repeats = panel.repeats[model]
    return np.asarray(repeats.mean(axis=1) if panel.weights is None else np.einsum("mqr,q->mr", repeats, panel.weights))


def estimate_repeat_error(
    panel: Panel, query_error: Floats, query_mean_error: Floats, duplicate_of: Integers, tolerance: Floats
) -> RepeatError:
    """Return the error of means because of repeats, if some models are recipes.

    The covariance of all means is Q + S. Q is that of the values by query averaged over repeats, as for fixed models. S
    has one block per recipe, the covariance of the means of its repeats over R. Both contain the interaction of query
    and repeat, so the sum is conservative. Two models that never differ share their repeat effect.
    """
    counts = np.array(panel.repeat_counts)
    metrics, models = query_mean_error.shape
    variance, root = np.zeros((metrics, models)), np.zeros((models, metrics, metrics))
    for k in np.flatnonzero(counts).tolist():
        means = compute_repeat_means(panel, k)
        spread = means - means.mean(axis=1, keepdims=True)
        spread[np.abs(spread).max(axis=1) <= tolerance] = 0.0
        spread /= np.sqrt(counts[k] * (counts[k] - 1.0))
        directions, scale, _ = np.linalg.svd(spread, full_matrices=False)
        root[k] = (directions * scale) @ directions.T
        variance[:, k] = (spread**2).sum(axis=1)
    variance = variance[np.arange(metrics)[:, None], duplicate_of]
    return RepeatError(counts, variance, root, query_error, query_mean_error)


def draw_repeat_errors(
    estimated: Estimate, values: Floats, generator: np.random.Generator, *, shared: bool = False
) -> Floats:
    """Add the error of repeats to draws of the error over queries, shape (metrics, M, draws), in place.

    Return χ²(R − 1)/(R − 1) of each metric and model, shape (metrics, M, draws): the ratio of the estimated to the true
    variance of so few repeats, 1 for a fixed model. R is the smallest number of repeats of a recipe. Each metric has
    its own ratio, because its repeat effects may not be correlated with those of other metrics. If `shared` is True,
    all metrics have the same one. Models with the same values share it, too.
    """
    repeats = estimated.repeats
    assert repeats is not None
    metrics, models, draws = values.shape
    factor = np.ones((metrics, models, draws))
    recipes = np.flatnonzero(repeats.counts)
    freedom = int(repeats.counts[recipes].min()) - 1
    for k in recipes:
        values[:, k] += repeats.root[k].T @ generator.standard_normal((len(repeats.root[k]), draws))
        factor[:, k] = generator.chisquare(freedom, (1 if shared else metrics, draws)) / freedom
    return np.asarray(factor[np.arange(metrics)[:, None], estimated.duplicate_of])


@dataclass(frozen=True)
class VarianceComponents:
    """Variance of the difference of two recipes by source, under one metric, as standard deviations.

    Attributes
    ----------
    query : float
        Of the difference of two recipes between queries, each averaged over all repeats. More queries reduce it.
    repeat : float
        Of the mean of a recipe between repeats. Only more repeats reduce it.
    query_repeat : float
        Of the remaining variation of a recipe between repeats and queries. More of either reduce it.

    Examples
    --------
    Compare ten times the queries with twice the repeats:

    >>> parts = VarianceComponents(query=0.025, repeat=0.0015, query_repeat=0.075)
    >>> [round(parts.error_of_difference(*size), 5) for size in ((1_000, 5), (10_000, 5), (1_000, 10))]
    [0.00194, 0.00109, 0.00148]
    """

    query: float
    repeat: float
    query_repeat: float

    def error_of_difference(self, queries: int, repeats: int) -> float:
        """Return the standard error of the difference of two recipes with this number of queries and repeats of each.

        √(2 repeat²/R + (query² + 2 query_repeat²/R)/n). That of the tests is larger, because they count the last part
        twice.
        """
        by_query = self.query**2 + 2 * self.query_repeat**2 / repeats
        return float(np.sqrt(2 * self.repeat**2 / repeats + by_query / queries))


def estimate_variance_components(panel: Panel, repeats: RepeatError | None) -> dict[str, VarianceComponents]:
    """Estimate the variance components by the method of moments, averaged over all recipes and pairs of them.

    Let V be the variance of a mean over n queries (weights and clusters as in `estimate`). The interaction of query and
    repeat of a recipe is n·V of its values without the means of queries and repeats, over R − 1. The component of
    repeats is the variance of their means less V of that. The component of queries is n times the variance of the
    difference of two recipes less their interactions over R. Negative estimates become 0. Pairs of a recipe and a fixed
    model are used only if there is no pair of recipes. If all models are fixed, there are no components.
    """
    if repeats is None:
        return {}
    queries, units, recipes = panel.queries, panel.units, np.flatnonzero(repeats.counts)
    rest = np.zeros((len(panel.metrics), len(panel.models)))  # of the mean of one repeat, by query and repeat
    for k in recipes.tolist() if units > 1 else ():
        left = compute_interactions(panel, k)
        rest[:, k] = units / (units - 1) * (left**2).sum(axis=(1, 2)) / (repeats.counts[k] - 1)
    of_repeats = (repeats.counts * repeats.variance - rest)[:, recipes].mean(axis=1)
    shared = queries * rest / np.maximum(repeats.counts, 1)
    of_pairs = queries * repeats.query_error**2 - shared[:, :, None] - shared[:, None, :]
    trained = repeats.counts > 0
    first, second = np.nonzero(np.triu(trained[:, None] & trained, 1))
    if not len(first):
        first, second = np.nonzero(np.triu(trained[:, None] ^ trained, 1))
    of_queries = of_pairs[:, first, second].mean(axis=1) if len(first) else np.zeros(len(panel.metrics))
    variances = np.array([of_queries, of_repeats, queries * rest[:, recipes].mean(axis=1)])
    parts = np.sqrt(np.maximum(0.0, variances)).T.tolist()
    return {metric: VarianceComponents(*row) for metric, row in zip(panel.metrics, parts, strict=True)}


def compute_interactions(panel: Panel, model: int) -> Floats:
    """Return the weighted values of a recipe without the means of its queries and repeats.

    For queries in clusters, they are summed within each. Shape (metrics, R, queries or clusters).
    """
    assert panel.repeats is not None
    values = panel.repeats[model]
    centred = values - values.mean(axis=2, keepdims=True)
    left: Floats = np.moveaxis(centred - np.einsum("mqr,q->mr", centred, panel.shares)[:, None], 1, 2) * panel.shares
    if panel.clusters is None:
        return left
    return sum_by_cluster(left.reshape(-1, panel.queries), panel.clusters).reshape(*left.shape[:2], panel.units)
