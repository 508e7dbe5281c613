"""Means of per-query values, and how sure they are.

Queries are the random sample, or clusters of them; models are fixed, or recipes of which repeats are a sample too.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from .._common.typing import Floats, Integers
from .data import Panel
from .labels import sum_by_cluster

if TYPE_CHECKING:
    from .._common.typing import Floats, Integers
    from .data import Panel


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
        Standard error of that difference, over queries and repeats. Exactly 0 where the two never differ or differ by a
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
    duplicate_of : ndarray of int, shape (metrics, M)
        The first model with the same value on every query, often the model itself.
    tolerance : ndarray, shape (metrics,)
        Below this a difference is rounding.
    queries : int
        How many queries of positive weight there are.
    units : int
        How many of what is independent: queries, or the clusters that they come in.
    effective : float
        The effective number of these, (Σw)²/Σw²: `units` itself where all weigh the same.
    repeats : RepeatError or None
        What the repeats of recipes add to the errors; None where all models are fixed.
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
    """What is held metric by metric."""

    def select(self, row: int) -> Estimate:
        """Return what is said of one metric."""
        one, models = slice(row, row + 1), self.mean.shape[1]
        root = self.root[:, row * models : (row + 1) * models]
        repeats = None if self.repeats is None else self.repeats.select(row)
        return replace(self, root=root, repeats=repeats, **{name: getattr(self, name)[one] for name in self.BY_ROW})


def estimate(panel: Panel, *, joint: bool = True) -> Estimate:
    r"""Estimate means, and the covariance matrix of the means, from per-query values.

    With weights w the mean is μ = Σ wᵢxᵢ / Σ wᵢ, a ratio of sums, and its covariance (linearised)
    S = n/(n − 1) · Σ wᵢ²(xᵢ − μ)(xᵢ − μ)ᵀ / (Σ wᵢ)². With equal weights that is the sample covariance over n. Only
    ratios of weights matter. Of queries in G clusters the influences wᵢ(xᵢ − μ) are summed within each cluster first,
    and G stands in place of n (Liang & Zeger 1986). Repeats of recipes add a variance of their own: see
    `estimate_repeat_error`.

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
    duplicate_of = np.argmax(discordant == 0, axis=2)
    rows = np.arange(metrics)[:, None]
    mean = values.mean(axis=2) if weights is None else np.einsum("mjq,q->mj", values, weights)
    # Equal columns may get unequal last digits from a vectorised sum: take the mean of one of them for all.
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
    """Return what each query weighs, or each cluster; None where all queries weigh the same and are independent."""
    queries = panel.values.shape[2]
    if units == queries:  # clusters of one query each are none
        return panel.weights
    weights = np.full(queries, 1 / queries) if panel.weights is None else panel.weights
    assert panel.clusters is not None
    shares: Floats = sum_by_cluster(weights[None], panel.clusters)[0]
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
        centred = sum_by_cluster(centred.T, panel.clusters).T * np.sqrt(units / (units - 1.0))
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


@dataclass(frozen=True)
class RepeatError:
    """What repeats add to the errors of means.

    Attributes
    ----------
    counts : ndarray of int, shape (M,)
        Repeats of each model, 0 of a fixed one.
    variance : ndarray, shape (metrics, M)
        Of the mean of each model over its repeats: that of the repeats' means over R; 0 for a fixed model.
    root : ndarray, shape (M, metrics, metrics)
        For each model a matrix A with A'A the covariance of its mean over repeats under all metrics.
    query_error : ndarray, shape (metrics, M, M)
        Standard errors of differences as they would be were the repeats' mean a fixed model.
    query_mean_error : ndarray, shape (metrics, M)
        The same of means.
    error, mean_error : ndarray
        Standard errors of differences and means with both parts.
    """

    counts: Integers
    variance: Floats
    root: Floats
    query_error: Floats
    query_mean_error: Floats
    error: Floats
    mean_error: Floats

    BY_ROW: ClassVar = ("variance", "query_error", "query_mean_error", "error", "mean_error")
    """What is held metric by metric."""

    def select(self, row: int) -> RepeatError:
        """Return what is said of one metric."""
        one = slice(row, row + 1)
        return replace(self, root=self.root[:, :, one], **{name: getattr(self, name)[one] for name in self.BY_ROW})


def compute_repeat_means(panel: Panel, model: int) -> Floats:
    """Return the weighted mean over queries of every repeat of a model, shape (metrics, R)."""
    assert panel.repeats is not None
    repeats = panel.repeats[model]
    means: Floats = repeats.mean(axis=1) if panel.weights is None else np.einsum("mqr,q->mr", repeats, panel.weights)
    return means


def estimate_repeat_error(
    panel: Panel, query_error: Floats, query_mean_error: Floats, duplicate_of: Integers, tolerance: Floats
) -> RepeatError:
    """Return what repeats add to the errors of queries, where some models are recipes.

    The covariance of all means is Q + S: Q of the values by query, averaged over repeats, as if these were fixed
    models; S block by block for each recipe the covariance of its repeats' means over R. The part that differs by query
    and repeat is in both, so the sum errs on the safe side. Duplicates, two models that never differ, have one repeat
    effect.
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

    Returns χ²(R − 1)/(R − 1) of each model, shape (M, draws): the variance that so few repeats of a recipe show, over
    the true one; 1 for a fixed model. It is one for all metrics, as if the repeats' effects on them went together.
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
    """Where the variance of a lead between two recipes comes from, under one metric: standard deviations.

    Attributes
    ----------
    query : float
        Of the difference of two recipes from query to query, each taken as the mean over all its repeats: what more
        queries average out.
    repeat : float
        Of a recipe's mean over all queries from repeat to repeat: what only more repeats average out.
    query_repeat : float
        Of what is left, a recipe's value from repeat to repeat and query to query: what either averages out.

    Examples
    --------
    What is the better buy, ten times the queries or twice the repeats?

    >>> parts = VarianceComponents(query=0.025, repeat=0.0015, query_repeat=0.075)
    >>> [round(parts.error_of_difference(*size), 5) for size in ((1_000, 5), (10_000, 5), (1_000, 10))]
    [0.00194, 0.00109, 0.00148]
    """

    query: float
    repeat: float
    query_repeat: float

    def error_of_difference(self, queries: int, repeats: int) -> float:
        """Return the standard error of the lead of one recipe over another with so many queries and repeats of each.

        √(2 repeat²/R + (query² + 2 query_repeat²/R)/n). The tests count the last part twice, so theirs is a little
        larger.
        """
        by_query = self.query**2 + 2 * self.query_repeat**2 / repeats
        return float(np.sqrt(2 * self.repeat**2 / repeats + by_query / queries))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON knows it."""
        return asdict(self)


def estimate_variance_components(panel: Panel, repeats: RepeatError | None) -> dict[str, VarianceComponents]:
    """Estimate the parts of the variance by the method of moments, averaged over all recipes and pairs of them.

    With V the variance of a mean over n queries (weights and clusters as in `estimate`), the part by query and repeat
    of a recipe is n·V of what is left of its values when the means of queries and repeats are taken out, over R − 1;
    that of its repeats is the variance of their means less V of that; and that of queries is n times the variance of
    the difference of two recipes less their parts by query and repeat over R. What comes out below 0 is 0. Pairs of a
    recipe and a fixed model are taken only where there is no pair of recipes. Where all models are fixed there are no
    parts.
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
    """Return what is left of a recipe's weighted values when the means of its queries and repeats are taken out.

    Of queries in clusters it is summed within each: shape (metrics, R, queries or clusters).
    """
    assert panel.repeats is not None
    values = panel.repeats[model]
    weights = np.full(panel.queries, 1 / panel.queries) if panel.weights is None else panel.weights
    centred = values - values.mean(axis=2, keepdims=True)
    left: Floats = np.moveaxis(centred - np.einsum("mqr,q->mr", centred, weights)[:, None], 1, 2) * weights
    if panel.clusters is None:
        return left
    return sum_by_cluster(left.reshape(-1, panel.queries), panel.clusters).reshape(*left.shape[:2], panel.units)
