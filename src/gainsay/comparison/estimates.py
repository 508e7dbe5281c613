"""Means of per-query values, their standard errors, and the variance between repeats.

Queries, or clusters of queries, are a random sample. Models are fixed, or recipes with a sample of repeats.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._common.sums import compute_means
from .._common.typing import Floats, Integers
from .data import Panel
from .labels import sum_by_cluster

if TYPE_CHECKING:
    from .._common.typing import Floats, Integers
    from .data import Panel


ROUNDING = 1e-12
"""Differences below this share of the largest value of a metric are rounding and count as 0."""


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
    root : ndarray, shape (metrics * M or fewer, metrics * M)
        Root of the covariance matrix of all means over queries, metrics side by side: the symmetric one, or one with
        fewer rows if some metrics determine others.
    wins : ndarray of int, shape (metrics, M, M)
        ``wins[m, k, j]``: number of queries on which j is above k.
    support : ndarray, shape (metrics, M, M)
        Number of queries or clusters on which two models differ, or their effective number (Σw)²/Σw² under weights.
    differing : ndarray of int, shape (metrics, M, M)
        Number of queries or clusters on which two models differ.
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
        "mean",
        "difference",
        "error",
        "mean_error",
        "wins",
        "support",
        "differing",
        "duplicate_of",
        "tolerance",
    )
    """Attributes with one row per metric."""

    def select(self, row: int) -> Estimate:
        """Return the part of one metric."""
        one, models = slice(row, row + 1), self.mean.shape[1]
        root = self.root[:, row * models : (row + 1) * models]
        repeats = None if self.repeats is None else self.repeats.select(row)
        return replace(self, root=root, repeats=repeats, **{name: getattr(self, name)[one] for name in self.BY_ROW})


def estimate(panel: Panel, *, joint: bool = True) -> Estimate:
    r"""Estimate means, and the covariance matrix of the means, from per-query values.

    With weights w, the mean is μ = Σ wᵢxᵢ / Σ wᵢ, a ratio of sums, with the (linearized) covariance
    S = n/(n − 1) · Σ wᵢ²(xᵢ − μ)(xᵢ − μ)ᵀ / (Σ wᵢ)². With equal weights, it is the sample covariance over n. For
    queries in G clusters, the influences wᵢ(xᵢ − μ) are summed within each cluster first, and G replaces n (Liang &
    Zeger 1986). Repeats of recipes add their variance, see `estimate_repeat_error`.

    S itself is never computed. Its square root is computed from the singular values of the centered values, so that the
    standard error of two similar models is not lost in cancellation. If `joint` is False, `root` contains the root of
    each metric separately, side by side, which is much faster for many metrics.
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
    shares, root = _unit_weights(panel, units), _covariance_root(panel, mean, units, 1 if joint else metrics)
    root = root[:, (rows * models + duplicate_of).ravel()]
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
    repeats = None
    if panel.repeats is not None:
        repeats = estimate_repeat_error(panel, error, mean_error, duplicate_of, tolerance)
        error, mean_error = repeats.error, repeats.mean_error
    return Estimate(
        mean, difference, error, mean_error, root, wins, support, differing, duplicate_of, tolerance, queries, units,
        effective, repeats,
    )  # fmt: skip


def _unit_weights(panel: Panel, units: int) -> Floats | None:
    """Return the weight of each query or cluster, or None if queries are independent and have the same weight."""
    queries = panel.values.shape[2]
    if units == queries:  # Clusters of one query each have no effect.
        return panel.weights
    weights = np.full(queries, 1 / queries) if panel.weights is None else panel.weights
    assert panel.clusters is not None
    shares: Floats = sum_by_cluster(weights[None], panel.clusters)[0]
    return shares


def count_wins(values: Floats, tolerance: Floats) -> Integers:
    """Return the number of queries on which model j is above k by more than the tolerance, as ``[m, k, j]``.

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
    """Return the effective and the plain number of queries or clusters on which two models differ."""
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
    """Return roots of the covariances within each part of the metrics, side by side."""
    metrics, models, queries = panel.values.shape
    width = metrics * models // parts
    root = np.zeros((width, parts, width))
    if units < 2:
        return root.reshape(width, -1)
    centred = (panel.values - mean[:, :, None]).reshape(-1, queries).T
    if units < queries:
        assert panel.clusters is not None
        centred *= 1 / queries if panel.weights is None else panel.weights[:, None]
        centred = sum_by_cluster(centred.T, panel.clusters).T * np.sqrt(units / (units - 1.0))
    elif panel.weights is None:
        centred *= 1 / np.sqrt(queries * (queries - 1.0))
    else:
        centred *= (panel.weights * np.sqrt(queries / (queries - 1.0)))[:, None]
    for part in range(parts):
        # triangle' triangle = S = V diag(s²) V'. The symmetric root V diag(s) V' does not depend on signs or order.
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
    error, mean_error : ndarray
        Standard errors of differences and means over queries and repeats.
    """

    counts: Integers
    variance: Floats
    root: Floats
    query_error: Floats
    query_mean_error: Floats
    error: Floats
    mean_error: Floats

    BY_ROW: ClassVar = ("variance", "query_error", "query_mean_error", "error", "mean_error")
    """Attributes with one row per metric."""

    def select(self, row: int) -> RepeatError:
        """Return the part of one metric."""
        one = slice(row, row + 1)
        return replace(self, root=self.root[:, :, one], **{name: getattr(self, name)[one] for name in self.BY_ROW})


def compute_repeat_means(panel: Panel, model: int) -> Floats:
    """Return the weighted mean of every repeat of a model, shape (metrics, R)."""
    assert panel.repeats is not None
    repeats = panel.repeats[model]
    means: Floats = repeats.mean(axis=1) if panel.weights is None else np.einsum("mqr,q->mr", repeats, panel.weights)
    return means


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
    both = variance[:, :, None] + variance[:, None, :]
    both[duplicate_of[:, :, None] == duplicate_of[:, None, :]] = 0.0
    error, mean_error = np.hypot(query_error, np.sqrt(both)), np.hypot(query_mean_error, np.sqrt(variance))
    return RepeatError(counts, variance, root, query_error, query_mean_error, error, mean_error)


def draw_repeat_errors(repeats: RepeatError, values: Floats, generator: np.random.Generator) -> Floats:
    """Add the error of repeats to draws of the error over queries, shape (metrics, M, draws), in place.

    Return χ²(R − 1)/(R − 1) of each model, shape (M, draws): the ratio of the estimated to the true variance of so few
    repeats, 1 for a fixed model. It is the same for all metrics, as if their repeat effects were perfectly correlated.
    """
    draws = values.shape[2]
    factor = np.ones((len(repeats.counts), draws))
    for k in np.flatnonzero(repeats.counts):
        values[:, k] += repeats.root[k].T @ generator.standard_normal((len(repeats.root[k]), draws))
        freedom = repeats.counts[k] - 1
        factor[k] = generator.chisquare(freedom, draws) / freedom
    return factor


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

    def to_dict(self) -> dict[str, Any]:
        """Return the standard deviations by name."""
        return asdict(self)


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
    found = np.sqrt(np.maximum(0.0, [of_queries, of_repeats, queries * rest[:, recipes].mean(axis=1)])).T.tolist()
    return {metric: VarianceComponents(*parts) for metric, parts in zip(panel.metrics, found, strict=True)}


def compute_interactions(panel: Panel, model: int) -> Floats:
    """Return the weighted values of a recipe without the means of its queries and repeats.

    For queries in clusters, they are summed within each. Shape (metrics, R, queries or clusters).
    """
    assert panel.repeats is not None
    values = panel.repeats[model]
    weights = np.full(panel.queries, 1 / panel.queries) if panel.weights is None else panel.weights
    centred = values - values.mean(axis=2, keepdims=True)
    left: Floats = np.moveaxis(centred - np.einsum("mqr,q->mr", centred, weights)[:, None], 1, 2) * weights
    if panel.clusters is None:
        return left
    return sum_by_cluster(left.reshape(-1, panel.queries), panel.clusters).reshape(*left.shape[:2], panel.units)
