"""Errors of the differences of two models by metric, and the probability that a test shows a claim.

The errors of two metrics are normal with a known correlation, so that tail probabilities are exact, also at the small
levels of early looks. For more metrics, they are bounded by sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np

from .._common.lazy import scipy, special
from .._common.typing import Floats, Integers
from .._common.validation import validate_choice
from .bounds import DifferenceBounds, add_skewness, find_pair_freedom
from .estimates import MIN_QUERIES, Estimate

Requirement: TypeAlias = Literal["gain", "no_loss"]

MAX_QUERIES = 1e9
"""Decisions and plans that require more queries are out of reach."""

MIN_LEVEL, MAX_CRITICAL = 1e-12, 1e6
"""Looks with a smaller level are too early to decide anything. They have this critical value."""

BINORMAL_LIMIT = 38.0
"""Normal quantiles beyond this limit have probability 0."""


def validate_requirement(require: Requirement, margin: float) -> None:
    """Raise `ValueError` unless the requirement is known and has the margin that it needs."""
    validate_choice("require", require, get_args(Requirement))
    if require == "no_loss" and margin == 0:
        raise ValueError("margin must be above 0 for require='no_loss', got 0. Pass the largest acceptable loss.")


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

    z = scipy.optimize.brentq(compute_excess, 0.0, BINORMAL_LIMIT, xtol=1e-10)
    return np.asarray(-special.stdtrit(freedom, float(special.ndtr(-z))))


def find_support_factor(bounds: DifferenceBounds, confidence: float, power: float) -> float:
    """Return how many times the queries are required so that 30 differ under every metric with this power.

    The share of differing queries is at the lower quantile of its Jeffreys interval.
    """
    support = bounds.below + bounds.above
    share = float(special.betaincinv(support + 0.5, bounds.units - support + 0.5, 1 - confidence).min())
    rest = float(np.ceil(special.nbdtrik(power, MIN_QUERIES, share) - 1e-9)) if share > 0 else np.inf
    return (MIN_QUERIES + rest) / bounds.units


def compute_ship_probability(
    errors: PairErrors,
    difference: Floats,
    level: float,
    margins: Floats | float,
    gains: int,
    spread: Floats | None = None,
) -> float:
    """Return the probability to ship a candidate with these true differences, if the errors are normal.

    One of the first `gains` metrics must improve, none if it is 0. `spread` is the true standard deviation of the
    differences, by default the standard error. The probability is exact for two metrics. The other metrics, the guards,
    reduce it by the probabilities that they reject the candidate, which is a lower bound.
    """
    scale = np.maximum(errors.error if spread is None else spread, 1e-300)
    lowest = (errors.find_criticals(level) * errors.error - difference - margins) / scale
    highest = lowest.copy()
    if gains and np.all(margins > 0):
        part = errors.take(slice(gains))
        gain = (part.find_joint_criticals(level) * part.error - difference[:gains]) / scale[:gains]
        highest[:gains] = np.maximum(lowest[:gains], gain)
    if gains > 2:  # At least one of them gains if the likeliest one does.
        first = int(highest[:gains].argmin())
        return float(special.ndtr(-highest[first]) - special.ndtr(np.delete(lowest, first)).sum())
    exact = min(gains or 2, len(lowest))
    failing = float(special.ndtr(lowest[exact:]).sum())
    if exact == 1:
        return float(special.ndtr(-highest[0])) - failing
    # All normal errors exceed `lowest`, and some exceeds `highest`: they are not all between the two.
    (a, b), (c, d), correlation = lowest[:2], highest[:2], errors.correlation
    proven = compute_binormal(-a, -b, correlation)
    if (highest[:2] > lowest[:2]).any():
        inside = (
            compute_binormal(c, d, correlation)
            - compute_binormal(a, d, correlation)
            - compute_binormal(c, b, correlation)
            + compute_binormal(a, b, correlation)
        )
        proven = proven - np.maximum(inside, 0.0)
    return float(proven) - failing


def compute_support_chance(queries: Floats | float, share: Floats | float) -> Floats:
    """Return the probability that at least 30 of these queries differ, for a share of differing queries."""
    rest = np.maximum(np.asarray(queries, dtype=float) - MIN_QUERIES + 1, 1e-9)
    return np.asarray(special.betainc(MIN_QUERIES, rest, share), dtype=np.float64)


def find_least(is_sufficient: Callable[[float], bool], low: float, high: float) -> float | None:
    """Return the least sufficient number between two limits, at most 0.1 % more, or None if there is none."""
    if low >= high or not is_sufficient(high):
        return None
    if is_sufficient(low):
        return low
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if is_sufficient(middle) else (middle, high)
    return high
