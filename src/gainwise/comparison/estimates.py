"""Means of per-query values, their standard errors, and the variance between repeats.

Queries, or clusters of queries, are a random sample. Models are fixed, or configurations with a sample of repeats.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._common.arrays import compute_means
from .._common.text import agree, pluralize
from .._common.typing import Bools, Floats, Integers
from .._kernel.differences import count_larger
from .panel import FEW_REPEATS, Panel, sum_by_cluster

ROUNDING = 1e-12
"""Differences below this share of the largest value of a metric are rounding and count as 0."""

SIMILAR = 0.02
"""Rows are similar if the sum of their squared differences is below this share of the larger sum of squares."""

MIN_QUERIES = 30
"""Fewer queries, or clusters, decide nothing. With fewer differing ones, other bounds replace the normal limit."""

MIN_FREEDOM = 50
"""Under weights or clusters, fewer degrees of freedom decide nothing."""

NO_FREEDOM = 0.001
"""Degrees of freedom of a single unit, which decides nothing. SciPy 1.11 crashes for much smaller numbers."""

MODAL_SHARE = 0.9
"""More than this share of the units has the same difference if it is modal."""

MIN_CODED = 50
"""Number of models from which on values are compared by their ranks, which are smaller numbers."""

MAX_ROOT = 400
"""Number of means, of all metrics together, up to which draws use a symmetric root of the covariance."""

Counts: TypeAlias = NDArray[np.int32]
"""Numbers of queries of all pairs of models, in half the memory of `Integers`."""


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
    skewness : ndarray, shape (metrics, M, M)
        Skewness of that mean difference, Σ e³ / error³ with the contribution e of each query or cluster. With equal
        weights it is the skewness of the differences over √n, the leading term of the error of the normal limit.
        Repeats are assumed to be symmetric.
    mean_error : ndarray, shape (metrics, M)
        Standard error of each mean.
    root : ndarray, shape (rows, metrics * M)
        Matrix A with A'A the covariance of all means over queries, metrics side by side. See `compute_root`.
    wins : ndarray of int, shape (metrics, M, M)
        ``wins[m, k, j]``: number of queries with a higher value of j than of k.
    modal : ndarray, shape (metrics, M, M)
        Difference that more than 90 % of the queries or clusters have, or 0.
    below : ndarray of int, shape (metrics, M, M)
        Number of queries or clusters with a smaller difference than `modal`. The transpose has those with a larger one.
    duplicate_of : ndarray of int, shape (metrics, M)
        First model with the same value on every query, often the model itself.
    tolerance : ndarray, shape (metrics,)
        Smaller differences are rounding.
    widths : ndarray, shape (metrics,)
        Largest possible difference of two models on a query. Infinite if a metric has no range.
    queries : int
        Number of queries of positive weight.
    units : int
        Number of independent units: queries, or clusters.
    freedom : float
        Degrees of freedom of the standard errors over units, see `find_freedom`.
    largest : float
        Largest share of a unit in the weight, times their number. 1 for equal weights.
    majority : int
        Least number of units with more than half of the weight.
    repeats : RepeatError or None
        Error of the repeats of configurations. None if all models are fixed.
    """

    mean: Floats
    difference: Floats
    error: Floats
    skewness: Floats
    mean_error: Floats
    root: Floats
    wins: Counts
    modal: Floats
    below: Counts
    duplicate_of: Integers
    tolerance: Floats
    widths: Floats
    queries: int
    units: int
    freedom: float
    largest: float
    majority: int
    repeats: RepeatError | None = None

    BY_ROW: ClassVar = (
        "mean", "difference", "error", "skewness", "mean_error", "wins", "modal", "below", "duplicate_of", "tolerance",
        "widths",
    )  # fmt: skip
    """Attributes with one row per metric."""

    @property
    def tied(self) -> Bools:
        """Whether each model has the best mean, shape (metrics, M)."""
        return np.asarray(self.mean >= self.mean.max(axis=1, keepdims=True) - self.tolerance[:, None])

    @property
    def support(self) -> Counts:
        """Number of queries or clusters with another difference than the modal one, shape (metrics, M, M)."""
        return np.asarray(self.below + self.below.transpose(0, 2, 1))

    @property
    def decides(self) -> bool:
        """Whether there are enough units, and enough degrees of freedom under weights or clusters, to decide."""
        is_plain = self.units == self.queries and self.largest == 1
        return self.units >= MIN_QUERIES and (is_plain or self.freedom >= MIN_FREEDOM)

    @property
    def can_reject(self) -> Bools:
        """Whether a difference may rule out a model in a test of several models, shape (metrics, M, M)."""
        has_repeats = self.repeats is None or self.repeats.are_enough
        return np.asarray((self.support >= MIN_QUERIES) & np.isfinite(self.error) & (self.decides and has_repeats))

    @property
    def shortage(self) -> str:
        """Sentence about why nothing can be decided, or an empty text."""
        if self.decides:
            return ""
        unit = "query" if self.units == self.queries else "cluster"
        if self.units < MIN_QUERIES:
            return f"The sample has {pluralize(self.units, unit)}, and a decision requires {MIN_QUERIES}."
        reason = f"The sample has {pluralize(self.units, unit)}"
        if round(self.freedom) < self.units - 1:
            carry = agree(self.majority, "carry")
            reason = f"{pluralize(self.majority, unit).capitalize()} {carry} more than half of the weight"
        freedom = pluralize(round(self.freedom), "degree")
        return f"{reason}, which leaves {freedom} of freedom. A decision requires {MIN_FREEDOM}."

    def select(self, row: int) -> Estimate:
        """Return the part of one metric."""
        rows, models = slice(row, row + 1), self.mean.shape[1]
        root = self.root[:, row * models : (row + 1) * models]
        repeats = None if self.repeats is None else self.repeats.select(row)
        return replace(self, root=root, repeats=repeats, **{name: getattr(self, name)[rows] for name in self.BY_ROW})


def estimate(panel: Panel, widths: Floats | None = None, *, joint: bool = True, pairs: bool = True) -> Estimate:
    r"""Estimate means, and the covariance matrix of the means, from per-query values.

    With shares wᵢ of the weight, the mean is μ = Σ wᵢxᵢ, and its covariance S = Σ aᵢ (xᵢ − μ)(xᵢ − μ)ᵀ with a = w²/(1 −
    w), which is unbiased for equal variances (CR2, Bell & McCaffrey 2002). With equal weights, it is the sample
    covariance over n. For clusters of queries, wᵢ is the share of a cluster and xᵢ its weighted mean. Repeats of
    configurations add their variance, see `estimate_repeat_error`.

    `widths` are those of the result, by default infinite. If `joint` is False, `root` is empty, which saves time if no
    draws are needed. If `pairs` is False and all models are fixed, only the means and their errors are estimated, and
    all arrays about pairs of models except `difference` are empty.
    """
    metrics, models, queries = panel.values.shape
    tolerance = ROUNDING * np.abs(panel.values).max(axis=(1, 2))
    duplicate_of = find_duplicates(panel.values, tolerance)
    rows = np.arange(metrics)[:, None]
    # A vectorized sum may round equal columns differently, so duplicates share one mean.
    mean = compute_means(panel.values.T, panel.raw_weights).T[rows, duplicate_of]
    difference = mean[:, None, :] - mean[:, :, None]
    difference[np.abs(difference) <= tolerance[:, None, None]] = 0.0
    values, shares = read_units(panel)
    units = values.shape[2]
    influences = compute_influences(values, shares, mean)[rows, duplicate_of]
    root = compute_root(influences) if joint else np.empty((0, metrics * models))
    mean_error = np.sqrt((influences**2).sum(axis=2))
    if units < 2:
        mean_error[:] = np.inf
    repeats = None
    parts: dict[str, Any] = dict.fromkeys(("error", "skewness", "wins", "modal", "below"), np.empty((metrics, 0, 0)))
    if pairs or panel.repeats is not None:
        parts = _compare_pairs(panel.values, values, influences, tolerance)
    del influences
    if panel.repeats is not None:
        repeats = estimate_repeat_error(panel, parts["error"], mean_error, duplicate_of, tolerance)
        both = repeats.variance[:, :, None] + repeats.variance[:, None, :]
        both[duplicate_of[:, :, None] == duplicate_of[:, None, :]] = 0.0
        parts["error"] = np.hypot(parts["error"], np.sqrt(both))
        mean_error = np.hypot(mean_error, np.sqrt(repeats.variance))
    for third, error in zip(parts["skewness"], parts["error"], strict=True):
        cube = np.where(np.isfinite(error), error, 0.0) ** 3
        third[:] = np.divide(third, cube, out=np.zeros_like(third), where=cube > 0)
    return Estimate(
        mean=mean,
        difference=difference,
        mean_error=mean_error,
        root=root[:, (rows * models + duplicate_of).ravel()],
        duplicate_of=duplicate_of,
        tolerance=tolerance,
        widths=np.full(metrics, np.inf) if widths is None else widths,
        queries=queries,
        units=units,
        freedom=max(units - 1.0, NO_FREEDOM) if shares is None else find_freedom(shares),
        largest=1.0 if shares is None else float(units * shares.max()),
        majority=units // 2 + 1 if shares is None else int((np.cumsum(-np.sort(-shares)) <= 0.5).sum()) + 1,
        repeats=repeats,
        **parts,
    )


def _compare_pairs(values: Floats, of_units: Floats, influences: Floats, tolerance: Floats) -> dict[str, Any]:
    """Return the arrays of `Estimate` about pairs of models over queries, with the third moment as the skewness."""
    units, models = of_units.shape[2], values.shape[1]
    error, third = np.empty((2, len(values), models, models))
    for row, part in enumerate(influences):
        error[row], third[row] = sum_powers(part)
    np.sqrt(error, out=error)
    error[error * np.sqrt(units) <= tolerance[:, None, None]] = 0.0
    if units < 2:
        error[:, ~np.eye(models, dtype=bool)] = np.inf
    wins = count_wins(values, tolerance)
    wins_by_unit = wins if of_units is values else count_wins(of_units, tolerance)
    modal, below = find_modal_differences(of_units, wins_by_unit, tolerance)
    return {"error": error, "skewness": third, "wins": wins, "modal": modal, "below": below}


def find_duplicates(values: Floats, tolerance: Floats) -> Integers:
    """Return the first model with the same value on every query, often the model itself, shape (metrics, models).

    `values` has the shape (metrics, models, queries).

    >>> find_duplicates(np.array([[[0.5, 1.0], [1.0, 0.5], [0.5, 1.0]]]), np.zeros(1))
    array([[0, 1, 0]])
    """
    metrics, models, queries = values.shape
    duplicate_of = np.tile(np.arange(models), (metrics, 1))
    for row, (table, rounding) in enumerate(zip(values, tolerance.tolist(), strict=True)):
        sums = table.sum(axis=1)  # Those of duplicates differ by no more than rounding, here with a factor of safety.
        for k in range(models):
            for j in np.flatnonzero(np.abs(sums[:k] - sums[k]) <= 2 * queries * rounding).tolist():
                if not ((table[j] > table[k] + rounding) | (table[k] > table[j] + rounding)).any():
                    duplicate_of[row, k] = j
                    break
    return duplicate_of


def read_units(panel: Panel) -> tuple[Floats, Floats | None]:
    """Return the values and shares of queries, or the weighted means and the shares of clusters.

    The shape of values is (metrics, M, units). The shares are None if all are equal.
    """
    if panel.clusters is None or panel.units == panel.queries:  # Clusters of one query each have no effect.
        return panel.values, panel.weights
    (shares,) = sum_by_cluster(panel.shares[None], panel.clusters)
    sums = sum_by_cluster((panel.values * panel.shares).reshape(-1, panel.queries), panel.clusters)
    values = (sums / shares).reshape(*panel.values.shape[:2], panel.units)
    is_even = np.ptp(shares) <= ROUNDING * shares.max()
    return values, None if is_even else shares


def find_freedom(shares: Floats) -> float:
    """Return the degrees of freedom of the variance of a weighted mean, (tr V)² / tr V² of its quadratic form.

    They are n − 1 for n equal shares. Kish's effective size (Σw)²/Σw² would be far too large: a few heavy units decide
    how variable the estimated variance is.

    References
    ----------
    Bell & McCaffrey (2002), "Bias reduction in standard errors for linear regression with multi-stage samples", Survey
    Methodology 28(2).

    >>> round(find_freedom(np.full(50, 0.02)), 9), round(find_freedom(np.array([0.5, 0.2, 0.1, 0.1, 0.1])), 6)
    (49.0, 1.557125)
    """
    if len(shares) < 2:
        return NO_FREEDOM
    factors = shares**2 / (1 - shares)
    total, squares, mixed = factors.sum(), shares @ shares, factors @ shares
    trace = total - 2 * mixed + squares * total
    second = (
        factors @ factors * (1 + 2 * squares) + 2 * mixed**2 + (total * squares) ** 2 - 4 * factors**2 @ shares
        + 2 * total * (factors @ shares**2) - 4 * total * squares * mixed
    )  # fmt: skip
    return float(trace**2 / second)


def find_modal_differences(values: Floats, wins: Counts, tolerance: Floats) -> tuple[Floats, Counts]:
    """Return the difference that more than 90 % of the units have, or 0, and the number of units with smaller ones.

    `values` has the shape (metrics, M, units), the results (metrics, M, M). The modal difference is 0 unless a model
    wins on more than 90 % of the units.
    """
    units = values.shape[2]
    modal, below = np.zeros(wins.shape), wins.transpose(0, 2, 1).copy()
    most = MODAL_SHARE * units
    for row, k, j in _select_modal(values, wins > most, tolerance):
        differences = values[row, j] - values[row, k]
        middle = float(np.median(differences))
        smaller, larger = differences < middle - 2 * tolerance[row], differences > middle + 2 * tolerance[row]
        if units - smaller.sum() - larger.sum() > most:
            modal[row, k, j], modal[row, j, k] = middle, -middle
            below[row, k, j], below[row, j, k] = smaller.sum(), larger.sum()
    return modal, below


def _select_modal(values: Floats, mask: Bools, tolerance: Floats) -> Iterator[tuple[int, int, int]]:
    """Yield the metrics and pairs of models in a mask that may have a modal difference, without computing medians.

    Fewer than 10 % of the units deviate from a modal difference. Units are put in disjoint pairs. In every pair without
    a deviating unit, both units have the same difference.
    """
    units = values.shape[2]
    others = (1 - MODAL_SHARE) * units
    count = min(units // 2, math.ceil(2 * others))  # Deviating units are in less than half of these.
    steps = values[:, :, 1 : 2 * count : 2] - values[:, :, 0 : 2 * count : 2]
    for row, k in np.argwhere(mask.any(axis=2)).tolist():
        ahead = np.flatnonzero(mask[row, k])
        same = np.abs(steps[row, ahead] - steps[row, k]) <= 5 * tolerance[row]
        for j in ahead[same.sum(axis=1) >= count - others].tolist():
            yield row, k, j


def count_wins(values: Floats, tolerance: Floats) -> Counts:
    """Return how often model j is above k by more than the tolerance, as ``[m, k, j]``.

    `values` has the shape (metrics, models, queries).

    >>> count_wins(np.array([[[1.0, 0.5, 0.2], [1.0, 0.9, 0.1]]]), np.zeros(1))
    array([[[0, 1],
            [1, 0]]], dtype=int32)
    """
    wins, models = [], values.shape[1]
    for table, rounding in zip(values, tolerance.tolist(), strict=True):
        codes = rank_values(table, rounding) if MIN_CODED <= models <= np.iinfo(np.int16).max else None
        wins.append(count_larger(table, rounding) if codes is None else count_larger(codes))
    return np.stack(wins)


def rank_values(table: Floats, tolerance: float) -> NDArray[np.int16] | None:
    """Return the ranks of the models on each query, equal for values that differ by rounding, shape (models, queries).

    The result is None if some differences are neither rounding nor clearly above it.

    >>> rank_values(np.array([[0.5, 0.2], [0.1, 0.2]]), 1e-12)
    array([[1, 0],
           [0, 0]], dtype=int16)
    """
    order = np.argsort(table, axis=0)
    steps = np.diff(np.take_along_axis(table, order, axis=0), axis=0)
    apart = steps > 2 * tolerance
    if (steps[~apart] > tolerance / (2 * len(table))).any():
        return None
    ranks, codes = np.zeros(table.shape, dtype=np.int16), np.empty(table.shape, dtype=np.int16)
    np.cumsum(apart, axis=0, out=ranks[1:])
    np.put_along_axis(codes, order, ranks, axis=0)
    return codes


def compute_influences(values: Floats, shares: Floats | None, mean: Floats) -> Floats:
    """Return the contribution w / √(1 − w) · (x − μ) of each unit to the errors of the means.

    The shape is (metrics, M, units). The covariance of the means is the matrix of their products, summed over units.
    """
    units = values.shape[2]
    if units < 2:
        return np.zeros(values.shape)
    influences = values - mean[:, :, None]
    influences *= 1 / np.sqrt(units * (units - 1.0)) if shares is None else shares / np.sqrt(1 - shares)
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


def sum_powers(rows: Floats) -> tuple[Floats, Floats]:
    """Return Σ (b − a)² and Σ (b − a)³ of every two rows a and b, shape (rows, rows) each.

    The sums follow from products of rows. For similar rows, they would be lost in cancellation, so these are subtracted
    first.

    >>> squares, cubes = sum_powers(np.array([[1.0, 2.0, 4.0], [1.0, 0.0, 1.0]]))
    >>> squares
    array([[ 0., 13.],
           [13.,  0.]])
    >>> cubes.round(9)
    array([[  0., -35.],
           [ 35.,   0.]])
    """
    centered = rows - rows.mean(axis=0)
    products = centered @ centered.T
    own = np.diag(products).copy()
    sums = own[:, None] + own
    sums -= np.multiply(products, 2, out=products)
    similar = sums < SIMILAR * np.maximum(own[:, None], own)
    squares = centered * centered
    mixed, cubes = squares @ centered.T, np.einsum("kq,kq->k", squares, centered)
    third = cubes - cubes[:, None]
    third -= 3 * (mixed.T - mixed)
    for k in range(len(rows)):
        others = k + 1 + np.flatnonzero(similar[k, k + 1 :])
        if len(others):
            differences = rows[others] - rows[k]
            sums[k, others] = sums[others, k] = np.einsum("jq,jq->j", differences, differences)
            third[k, others] = np.einsum("jq,jq->j", differences**2, differences)
            third[others, k] = -third[k, others]
    np.fill_diagonal(sums, 0.0)
    np.fill_diagonal(third, 0.0)
    return sums, third


@dataclass(frozen=True)
class RepeatError:
    """Error of means because of the repeats of configurations.

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

    @property
    def are_enough(self) -> bool:
        """Whether every configuration has enough repeats for statements about several models."""
        return bool((self.counts[self.counts > 0] >= FEW_REPEATS).all())

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
    """Return the error of means because of repeats, if some models are configurations.

    The covariance of all means is Q + S. Q is that of the values by query averaged over repeats, as for fixed models. S
    has one block per configuration, the covariance of the means of its repeats over R. Both contain the interaction of
    query and repeat, so the sum is conservative. Two models that never differ share their repeat effect.
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
    variance of so few repeats, 1 for a fixed model. R is the smallest number of repeats of a model. Each metric has
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
    """Variance of the difference of two configurations by source, under one metric, as standard deviations.

    Attributes
    ----------
    query : float
        Of the difference of two configurations between queries, each averaged over all repeats. More queries reduce it.
    repeat : float
        Of the mean of a configuration between repeats. Only more repeats reduce it.
    query_repeat : float
        Of the remaining variation of a configuration between repeats and queries. More of either reduce it.

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
        """Return the standard error of the difference of two configurations with these numbers of queries and repeats.

        √(2 repeat²/R + (query² + 2 query_repeat²/R)/n). That of the tests is larger, because they count the last part
        twice.
        """
        by_query = self.query**2 + 2 * self.query_repeat**2 / repeats
        return float(np.sqrt(2 * self.repeat**2 / repeats + by_query / queries))


def estimate_variance_components(panel: Panel, repeats: RepeatError | None) -> dict[str, VarianceComponents]:
    """Estimate the variance components by the method of moments, averaged over all configurations and pairs of them.

    Let V be the variance of a mean over n queries (weights and clusters as in `estimate`). The interaction of query and
    repeat of a configuration is n·V of its values without the means of queries and repeats, over R − 1. The component
    of repeats is the variance of their means less V of that. The component of queries is n times the variance of the
    difference of two configurations less their interactions over R. Negative estimates become 0. Pairs of a
    configuration and a fixed model are used only if there is no pair of configurations. If all models are fixed, there
    are no components.
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
    """Return the weighted values of a configuration without the means of its queries and repeats.

    For queries in clusters, they are summed within each. Shape (metrics, R, queries or clusters).
    """
    assert panel.repeats is not None
    values = panel.repeats[model]
    centred = values - values.mean(axis=2, keepdims=True)
    left: Floats = np.moveaxis(centred - np.einsum("mqr,q->mr", centred, panel.shares)[:, None], 1, 2) * panel.shares
    if panel.clusters is None:
        return left
    return sum_by_cluster(left.reshape(-1, panel.queries), panel.clusters).reshape(*left.shape[:2], panel.units)
