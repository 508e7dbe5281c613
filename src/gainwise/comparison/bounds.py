"""Bounds of the differences of models, of which every statement about models makes use.

The bound of a difference is that of a t distribution, corrected for skewness. If nearly all queries have the same
difference, the normal limit is not reliable, and the sample may contain none of the rare large losses. The bound is
then that of the share of the other queries, which may differ by the whole range of the metric.

Bounds by betting are valid for every sample size and distribution of bounded differences. A gambler bets against every
possible mean m with a capital of 1. If m is the true mean, the capital exceeds 1/γ at any time with probability γ at
most, so all means with a larger capital are excluded. No moment of the sample needs to be reliable, so losses that the
sample does not contain are covered, too. The price is power.

References
----------
Waudby-Smith & Ramdas (2024), "Estimating means of bounded random variables by betting", Journal of the Royal
Statistical Society B 86(1).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np

from .._common import cached_property
from .._common.lazy import scipy, special
from .._common.typing import Bools, Floats, Integers
from .._common.validation import validate_choice
from .estimates import MIN_QUERIES, Counts, Estimate
from .panel import FEW_REPEATS, Panel

BoundKind: TypeAlias = Literal["asymptotic", "betting"]

UNKNOWN_RANGE = "unknown range (value_range of the metric, or ranges= of Comparison and compare_table)"

RARE_SHARE = 0.1
"""Share of the level for the bounds of pairs that differ on few queries, if there are others in the family."""

MIN_LEVEL, MAX_CRITICAL = 1e-12, 1e6
"""Looks with a smaller level are too early to decide anything. They have this critical value."""

BINORMAL_LIMIT = 38.0
"""Normal quantiles beyond this limit have probability 0."""

MAX_STAKE = 0.9
"""Largest share of the capital that a bet may lose."""

DIGEST_BYTES = 8
"""Bytes of the hash of a query id."""


def add_skewness(critical: Floats | float, skewness: Floats | float) -> Floats:
    """Return the critical value of a one-sided bound of a mean with this skewness, if it is positive.

    It is h(c) = c + s (2c² + 1)/6, the first term of the Edgeworth expansion. Without it, the error rate exceeds its
    level. For a lower bound, pass the negative skewness.

    References
    ----------
    Johnson (1978), "Modified t tests and confidence intervals for asymmetrical populations", JASA 73(363).
    Hall (1992), "On the removal of skewness by transformation", Journal of the Royal Statistical Society B 54(1).

    >>> float(add_skewness(2.0, 0.2)), float(add_skewness(2.0, -0.2))
    (2.3, 2.0)
    """
    return np.asarray(critical + np.maximum(0.0, skewness) * (2 * np.square(critical) + 1) / 6)


def remove_skewness(t: Floats | float, skewness: Floats | float) -> Floats:
    """Return the statistic x with h(x) = t, the inverse of `add_skewness`, for positive t and skewness.

    >>> round(float(remove_skewness(2.5, 0.2)), 6)
    2.156604
    """
    slope = 2 / 3 * np.maximum(skewness, 1e-12)
    corrected = (np.sqrt(np.maximum(0.0, 1 + 2 * slope * (t - slope / 4))) - 1) / slope
    return np.asarray(np.where((np.asarray(t) > 0) & (np.asarray(skewness) > 1e-12), corrected, t))


def bound_share(count: Counts | int, size: int, level: float) -> Floats:
    """Return an upper confidence bound of a share, if `count` of `size` units have the property (Clopper & Pearson).

    >>> bound_share(np.array([0, 300]), 300, 0.025).round(6)
    array([0.012221, 1.      ])
    """
    rest = np.maximum(size - np.asarray(count), 0)
    bound = special.betaincinv(np.asarray(count) + 1.0, np.maximum(rest, 1), 1 - level)
    return np.asarray(np.where(rest > 0, bound, 1.0))


def combine_freedom(of_queries: Floats, of_repeats: Floats, freedom: float, counts: Integers) -> Floats:
    """Return the degrees of freedom of a sum of variances by the formula of Welch and Satterthwaite.

    `of_repeats` are the variances because of the repeats of both models, side by side in the first axis, with `counts`
    repeats.

    References
    ----------
    Satterthwaite (1946), "An approximate distribution of estimates of variance components", Biometrics Bulletin 2(6).

    >>> float(combine_freedom(np.array(4.0), np.array([3.0, 2.0]), 999, np.array([5, 3])).round(5))
    18.98727
    """
    parts = of_queries**2 / freedom + (of_repeats**2 / np.maximum(counts - 1, 1)).sum(axis=0)
    total = (of_queries + of_repeats.sum(axis=0)) ** 2
    known = np.full(total.shape, float(freedom))
    return np.asarray(np.divide(total, parts, out=known, where=of_repeats.any(axis=0)))


def find_pair_freedom(of_queries: Floats, of_repeats: Floats, freedom: float, counts: Integers) -> Floats:
    """Return the degrees of freedom of the error of a difference. The arguments are those of `combine_freedom`.

    With fewer than five repeats of a model, they are the smallest R − 1. An estimated share of its variance is not a
    reliable reason for more.
    """
    few = np.where((counts > 0) & (counts < FEW_REPEATS), counts - 1.0, np.inf)
    return np.asarray(np.minimum(combine_freedom(of_queries, of_repeats, freedom, counts), few.min(axis=0)))


@dataclass(frozen=True, eq=False)
class DifferenceBounds:
    """Bounds of differences of models, of any shape with the metrics in the first axis.

    Attributes
    ----------
    difference, error, skewness : ndarray
        Mean differences, their standard errors and skewness.
    freedom : ndarray
        Degrees of freedom of the standard errors.
    modal : ndarray
        Difference of more than 90 % of the units, or 0.
    below, above : ndarray of int
        Number of units (queries or clusters) with a smaller and with a larger difference than `modal`.
    widths : ndarray
        Range of the difference of a unit, infinite if it is unknown or a model has repeats.
    units : int
        Number of units.
    largest : float
        Largest share of a unit in the weight, times their number. An approximation for unequal weights.
    decides : bool
        Whether there are enough units and degrees of freedom. Otherwise, all bounds are infinite.
    has_repeats : bool
        Whether the critical values of families are valid, because each configuration has enough repeats or all models
        are fixed. Otherwise, the bounds of a family are single bounds at equal parts of the level.
    """

    difference: Floats
    error: Floats
    skewness: Floats
    freedom: Floats
    modal: Floats
    below: Counts
    above: Counts
    widths: Floats
    units: int
    largest: float
    decides: bool
    has_repeats: bool

    BY_METRIC: ClassVar = ("difference", "error", "skewness", "freedom", "modal", "below", "above", "widths")
    """Attributes with the metrics in the first axis."""

    @classmethod
    def from_estimate(cls, estimated: Estimate) -> DifferenceBounds:
        """Return the bounds of all ordered pairs, shape (metrics, M, M). ``[m, k, j]`` is model j minus model k."""
        shape, repeats = estimated.difference.shape, estimated.repeats
        freedom = np.broadcast_to(estimated.freedom, shape)
        widths = np.broadcast_to(estimated.widths[:, None, None], shape)
        if repeats is not None:
            variance = np.stack(np.broadcast_arrays(repeats.variance[:, :, None], repeats.variance[:, None, :]))
            counts = np.stack(np.broadcast_arrays(repeats.counts[:, None], repeats.counts))[:, None]
            of_queries = np.where(np.isfinite(repeats.query_error), repeats.query_error, 0.0) ** 2
            freedom = find_pair_freedom(of_queries, variance, estimated.freedom, counts)
            widths = np.where(counts.any(axis=0), np.inf, widths)  # Another repeat may differ on other queries.
        below = estimated.below.copy()
        # The difference of a model to itself is not rare, but 0.
        below[:, range(shape[1]), range(shape[1])] = MIN_QUERIES
        return cls(
            difference=estimated.difference,
            error=estimated.error,
            skewness=estimated.skewness,
            freedom=freedom,
            modal=estimated.modal,
            below=below,
            above=below.transpose(0, 2, 1),
            widths=widths,
            units=estimated.units,
            largest=estimated.largest,
            decides=estimated.decides,
            has_repeats=repeats is None or repeats.are_enough,
        )

    def select(self, k: Any, j: Any) -> DifferenceBounds:
        """Return the bounds of model j minus model k, or of several pairs of them."""
        return replace(self, **{name: getattr(self, name)[:, k, j] for name in self.BY_METRIC})

    def take(self, rows: slice) -> DifferenceBounds:
        """Return the bounds under some of the metrics."""
        return replace(self, **{name: getattr(self, name)[rows] for name in self.BY_METRIC})

    def reverse(self) -> DifferenceBounds:
        """Return the bounds of the opposite differences. The negated lower bounds are upper bounds of these."""
        return replace(
            self, difference=-self.difference, skewness=-self.skewness, modal=-self.modal, below=self.above,
            above=self.below,
        )  # fmt: skip

    @property
    def is_rare(self) -> Bools:
        """Whether the support, the number of units with another difference than the modal one, is below 30."""
        return np.asarray((self.below + self.above < MIN_QUERIES) | ~np.isfinite(self.error))

    @property
    def rare_share(self) -> float:
        """Share of the level of a family for its rare differences: all, a tenth, or 0 if there are none."""
        rare = self.is_rare
        if not rare.any():
            return 0.0
        return RARE_SHARE if (~rare & (self.error > 0)).any() else 1.0

    def bound(self, critical: Floats | float, rare_level: float) -> Floats:
        """Return lower bounds at a critical value, or for rare differences at a level.

        A rare difference is the modal one on most units, and at worst the negative range on the others.
        """
        if not self.decides:
            return np.full(self.difference.shape, -np.inf)
        rare, lower = self.is_rare, np.empty(self.difference.shape)
        for row, error in enumerate(np.where(rare, 0.0, self.error)):  # One metric at a time, to limit the memory.
            quantile = critical if np.ndim(critical) == 0 else np.asarray(critical)[row]
            lower[row] = self.difference[row] - add_skewness(quantile, -self.skewness[row]) * error
        share = np.minimum(1.0, self.largest * bound_share(self.below[rare], self.units, rare_level))
        lower[rare] = self.modal[rare] - (self.widths + self.modal)[rare] * share
        return lower

    def bound_singly(self, level: float) -> Floats:
        """Return lower bounds that are each valid at a one-sided level."""
        return self.bound(np.asarray(-special.stdtrit(self.freedom, level), dtype=np.float64), level)

    def bound_jointly(
        self,
        level: float,
        count: int,
        find_critical: Callable[[float], Floats | float],
        parts: Sequence[DifferenceBounds] = (),
    ) -> Floats:
        """Return lower bounds that are valid together with all others of a family of `count` bounds at a level.

        With `parts` of equal shape, only the bounds of these are returned, side by side.

        `find_critical` returns the critical value of the maximum over the family at a level. If some differences are
        rare, they have a tenth of the level. Both kinds of bounds are valid for all differences, so the choice between
        them needs no correction.
        """
        if not (self.decides and self.has_repeats):
            lower = [part.bound_singly(level / count) for part in parts or [self]]
        else:
            rare_share = self.rare_share
            critical = find_critical((1 - rare_share) * level) if rare_share < 1 else 0.0
            lower = [part.bound(critical, rare_share * level / count) for part in parts or [self]]
        return np.stack(lower) if parts else lower[0]

    @cached_property
    def p_values(self) -> Floats:
        """One-sided p-values of differences of 0 or less, consistent with `bound_singly`.

        The p-value of a rare difference is 1, unless the modal one is positive.
        """
        if not self.decides:
            return np.ones(self.difference.shape)
        rare = self.is_rare
        t = np.divide(self.difference, self.error, out=np.zeros_like(self.difference), where=~rare & (self.error > 0))
        p_values = np.where(rare, 1.0, special.stdtr(self.freedom, -remove_skewness(t, -self.skewness)))
        certain = rare & (self.modal > 0) & np.isfinite(self.widths)
        share = self.modal[certain] / (self.widths + self.modal)[certain] / self.largest
        below = self.below[certain]
        p_values[certain] = 1 - special.betainc(below + 1.0, np.maximum(self.units - below, 1), np.minimum(share, 1.0))
        return np.maximum(p_values, np.finfo(float).tiny)


def compute_binormal(first: Floats, second: Floats, correlation: float) -> Floats:
    """Return P(Z₁ ≤ first, Z₂ ≤ second) of two standard normal variables, by Owen's T function.

    References
    ----------
    Owen (1956), "Tables for computing bivariate normal probabilities", Annals of Mathematical Statistics 27(4).

    >>> float(compute_binormal(np.array(0.0), np.array(0.0), 0.5).round(6))
    0.333333
    """
    h, k = (np.clip(np.where(z == 0, 1e-12, z), -BINORMAL_LIMIT, BINORMAL_LIMIT) for z in (first, second))
    rho = float(np.clip(correlation, -1 + 1e-12, 1 - 1e-12))
    root = np.sqrt(1 - rho**2)
    total = (
        (special.ndtr(h) + special.ndtr(k)) / 2
        - special.owens_t(h, (k - rho * h) / (h * root))
        - special.owens_t(k, (h - rho * k) / (k * root))
    )
    return np.asarray(np.clip(total - np.where(h * k < 0, 0.5, 0.0), 0.0, np.minimum(special.ndtr(h), special.ndtr(k))))


@dataclass(frozen=True, eq=False)
class PairErrors:
    """Errors of the differences of two models by metric.

    Attributes
    ----------
    of_queries : ndarray, shape (metrics,)
        Variances over queries.
    of_repeats : ndarray, shape (2, metrics)
        Variances because of the repeats of each model, 0 for a fixed model.
    counts : ndarray of int, shape (2, 1)
        Numbers of repeats, 0 for a fixed model.
    freedom_of_queries : float
        Degrees of freedom of the variances over queries.
    third : ndarray, shape (metrics,)
        Third cumulants of the mean differences.
    covariance, repeat_covariance : ndarray, shape (metrics, metrics)
        Covariance of the errors over queries, and because of repeats.
    """

    of_queries: Floats
    of_repeats: Floats
    counts: Integers
    freedom_of_queries: float
    third: Floats
    covariance: Floats
    repeat_covariance: Floats

    @classmethod
    def from_estimate(cls, estimated: Estimate, b: int, c: int) -> PairErrors:
        """Return the errors of model c minus model b."""
        repeats, pair = estimated.repeats, [b, c]
        metrics, models = estimated.mean.shape
        roots = estimated.root.reshape(-1, metrics, models)
        spread = roots[:, :, c] - roots[:, :, b]
        error = np.where(np.isfinite(estimated.error[:, b, c]), estimated.error[:, b, c], 0.0)
        of_queries, of_repeats = error**2, np.zeros((2, metrics))
        counts, repeat_covariance = np.zeros((2, 1), dtype=int), np.zeros((metrics, metrics))
        if repeats is not None:
            of_repeats, counts = repeats.variance[:, pair].T, repeats.counts[pair, None]
            of_queries = np.maximum(0.0, of_queries - of_repeats.sum(axis=0))
            repeat_covariance = np.einsum("krm,krn->mn", repeats.root[pair], repeats.root[pair])
        third = estimated.skewness[:, b, c] * error**3
        return cls(of_queries, of_repeats, counts, estimated.freedom, third, spread.T @ spread, repeat_covariance)

    def scale(self, more: float) -> PairErrors:
        """Return the errors with this many times the queries."""
        return replace(
            self,
            of_queries=self.of_queries / more,
            freedom_of_queries=(self.freedom_of_queries + 1) * more - 1,
            third=self.third / more**2,
            covariance=self.covariance / more,
        )

    def take(self, rows: slice) -> PairErrors:
        """Return the errors under some of the metrics."""
        return replace(
            self,
            of_queries=self.of_queries[rows],
            of_repeats=self.of_repeats[:, rows],
            third=self.third[rows],
            covariance=self.covariance[rows, rows],
            repeat_covariance=self.repeat_covariance[rows, rows],
        )

    @property
    def error(self) -> Floats:
        """Standard errors, shape (metrics,)."""
        return np.asarray(np.sqrt(self.of_queries + self.of_repeats.sum(axis=0)))

    @property
    def freedom(self) -> Floats:
        """Degrees of freedom of the standard errors, shape (metrics,)."""
        return find_pair_freedom(self.of_queries, self.of_repeats, self.freedom_of_queries, self.counts)

    @property
    def correlation(self) -> float:
        """Correlation of the errors under the first two metrics, 1 for a single metric or without variance."""
        covariance = (self.covariance + self.repeat_covariance)[:2, :2]
        product = math.sqrt(covariance[0, 0] * covariance[-1, -1])
        return float(covariance[0, -1] / product) if product > 0 else 1.0

    def find_criticals(self, level: float) -> Floats:
        """Return the critical values of lower bounds that are each valid at a level, shape (metrics,)."""
        return add_skewness(np.asarray(-special.stdtrit(self.freedom, level), dtype=np.float64), -self._skewness)

    def find_joint_criticals(self, level: float) -> Floats:
        """Return the critical values of lower bounds of all metrics together."""
        return add_skewness(find_joint_criticals(self.freedom, self.correlation, level), -self._skewness)

    @property
    def _skewness(self) -> Floats:
        cube = self.error**3
        return np.divide(self.third, cube, out=np.zeros_like(cube), where=cube > 0)


def find_joint_criticals(freedom: Floats, correlation: float, level: float) -> Floats:
    """Return the one-sided critical values of the largest studentized error of several metrics (max-T).

    The quantile z of the larger of two normal variables becomes a quantile of the t distribution, t_ν⁻¹(Φ(z)). Three or
    more metrics share the level equally, which is valid for all correlations.
    """
    if level < MIN_LEVEL:
        return np.full(freedom.shape, MAX_CRITICAL)
    if len(freedom) != 2:
        return np.asarray(-special.stdtrit(freedom, level / len(freedom)))

    def compute_excess(z: float) -> float:
        return float(2 * special.ndtr(-z) - compute_binormal(np.array(-z), np.array(-z), correlation)) - level

    z = scipy.optimize.brentq(compute_excess, 0.0, BINORMAL_LIMIT)
    return np.asarray(-special.stdtrit(freedom, float(special.ndtr(-z))))


def validate_bounds(bounds: BoundKind) -> BoundKind:
    """Return the kind of bounds, or raise `ValueError` if it is unknown."""
    validate_choice("bounds", bounds, get_args(BoundKind))
    return bounds


def validate_betting(panel: Panel, metrics: Sequence[str], ranges: Mapping[str, tuple[float, float]]) -> None:
    """Raise `ValueError` unless differences under these metrics are bounded, independent and of equal weight."""
    problem = ""
    if panel.repeats is not None:
        problem = "fixed models, got repeats. Pass one repeat of each model"
    elif panel.clusters is not None:
        problem = "independent queries, got clusters. Pass one query of each cluster"
    elif panel.weights is not None:
        problem = "equal weights, got different ones. Sample queries by traffic with weight 1"
    elif unbounded := [metric for metric in metrics if not np.isfinite(np.subtract(*ranges[metric]))]:
        problem = (
            f"a range of {unbounded[0]}, got none. Pass ranges= to Comparison, or define value_range of the metric"
        )
    if problem:
        raise ValueError(f"bounds='betting' requires {problem}.")


def compute_bets(values: Floats, level: float, size: int) -> Floats:
    """Return the bet on each value between 0 and 1, from the values before it: √(2 ln(1/γ) / (N σ²)).

    `size` is the planned number N of values. The bets are tuned to it, but valid for any number.
    """
    steps = np.arange(2, len(values) + 2)
    mean = (0.5 + np.cumsum(values)) / steps
    variance = (0.25 + np.cumsum((values - mean) ** 2)) / steps
    before = np.concatenate([[0.25], variance[:-1]])
    return np.asarray(np.sqrt(2 * math.log(1 / level) / (size * before)))


def compute_log_capital(values: Floats, bets: Floats, mean: float) -> Floats:
    """Return the logarithm of the capital after each bet that the true mean is larger than this one."""
    stakes = np.minimum(bets, MAX_STAKE / max(mean, 1e-300))
    return np.cumsum(np.log1p(stakes * (values - mean)))


def bound_mean(differences: Floats, width: float, level: float, size: int) -> float:
    """Return a lower bound of the mean of differences between −width and width, in the order of betting.

    >>> round(bound_mean(np.zeros(300), 1.0, 0.025, 300), 6)
    -0.014063
    """
    values = np.clip((differences + width) / (2 * width), 0.0, 1.0)
    bets, target = compute_bets(values, level, size), math.log(1 / level)

    def compute_excess(mean: float) -> float:
        return float(compute_log_capital(values, bets, mean).max()) - target

    if compute_excess(0.0) <= 0:
        return -width
    lowest = scipy.optimize.brentq(compute_excess, 0.0, 1.0, xtol=1e-13)  # The capital falls with the mean.
    return float(width * (2 * lowest - 1))


def find_p_value(differences: Floats, width: float, level: float, size: int) -> float:
    """Return the p-value of a mean of 0 or less: the inverse of the largest capital. It suits bounds at any level."""
    values = np.clip((differences + width) / (2 * width), 0.0, 1.0)
    capital = compute_log_capital(values, compute_bets(values, level, size), 0.5)
    return float(min(1.0, math.exp(-max(float(capital.max()), 0.0))))


def compute_digests(ids: Iterable[Any]) -> list[str]:
    """Return a hash of each query id.

    >>> compute_digests([1, "q2"])[0] == compute_digests(["1"])[0]
    True
    """
    return [blake2b(str(query).encode(), digest_size=DIGEST_BYTES).hexdigest() for query in ids]


def order_queries(digests: Sequence[str], earlier: str = "") -> Integers:
    """Return the places of queries in the order of betting: queries of earlier looks first, then others by their hash.

    A fixed hash leaves no choice. A shuffle with a seed of the user would change many decisions. `earlier` contains the
    hashes of the earlier queries in their order.
    """
    length = 2 * DIGEST_BYTES
    recorded = [earlier[start : start + length] for start in range(0, len(earlier), length)]
    rank = {digest: place for place, digest in enumerate(recorded)}
    if missing := len(rank) - sum(digest in rank for digest in digests):
        raise ValueError(
            f"earlier contains {missing:,} queries that are missing in this sample. Include the queries of all earlier "
            "looks, with the same ids."
        )
    return np.array(
        sorted(range(len(digests)), key=lambda place: (rank.get(digests[place], len(rank)), digests[place]))
    )
