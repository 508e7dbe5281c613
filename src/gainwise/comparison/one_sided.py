"""One-sided bounds of the differences of a candidate and a baseline, and the levels of repeated tests.

The errors of both metrics are normal with a known correlation, so that tail probabilities are exact, also at the small
levels of early looks. For recipes, they are averaged over draws of the estimated variance of repeats. Tests may be
repeated at planned looks with alpha spending, or at any number of queries.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import scipy
from scipy.special import betainc, betaincinv, betaln, nbdtrik, ndtr, ndtri, owens_t, stdtrit, xlog1py, xlogy

from .._common import EARLIER_NAME
from .._common.typing import Floats
from .._common.validation import validate_choice, validate_integer, validate_ordered
from .estimates import ROUNDING
from .inference import MIN_QUERIES, JointEstimate
from .panel import Panel, sum_by_cluster

Requirement: TypeAlias = Literal["gain", "no_loss"]

MAX_QUERIES = 1e9
"""Decisions and plans that require more queries are out of reach."""

MIN_SHARE = 0.9
"""The first look must have at least this share of its planned number of queries."""

ANYTIME_QUERIES = 1000
"""Default sample size for the tuning of bounds that are valid at any time."""

VARIANCE_DRAWS = 4000
"""Draws of the estimated variance of repeats, over which tail probabilities are averaged."""

MIN_LEVEL, MAX_CRITICAL = 1e-12, 1e6
"""Looks with a smaller level are too early to decide anything. They have this critical value."""

BINORMAL_LIMIT = 38.0
"""Normal quantiles beyond this limit have probability 0."""


class ErrorLevel(NamedTuple):
    """One-sided level of a test of one candidate.

    Attributes
    ----------
    total : float
        Probability of a false decision in all looks together.
    marginal : float
        Level of this test.
    by_metric : float or None
        Level of each of several simultaneous bounds that are valid at any number of queries (Bonferroni). None for a
        single test or a planned look, whose simultaneous bounds have the level `marginal` together.
    """

    total: float
    marginal: float
    by_metric: float | None = None


def validate_requirement(require: Requirement, margin: float) -> None:
    """Raise `ValueError` unless the requirement is known and has the margin that it needs."""
    validate_choice("require", require, get_args(Requirement))
    if require == "no_loss" and margin == 0:
        raise ValueError("margin must be above 0 for require='no_loss', got 0. Pass the largest acceptable loss.")


def read_looks(
    looks: Sequence[int] | None, anytime: bool | int, earlier: Any, queries: int, settings: Mapping[str, Any]
) -> tuple[tuple[int, ...], tuple[int, ...], int | None]:
    """Return the planned looks, those before this one, and the sample size that bounds at any time are tuned to.

    Without the record of an `earlier` look, all looks that are planned before this one count as made, which is
    conservative if one was skipped. This look is the planned one that is nearest by the ratio of queries. `settings`
    must be those of the record.
    """
    tuned = None if anytime is False else ANYTIME_QUERIES if anytime is True else validate_integer("anytime", anytime)
    record = None if earlier is None else read_record(earlier)
    planned = tuple(record["looks"] if record else ())
    if looks is not None:
        validate_ordered("looks", looks)
        planned = tuple(validate_integer("looks", number) for number in np.atleast_1d(np.asarray(looks, dtype=object)))
        if not planned or any(first >= second for first, second in itertools.pairwise(planned)):
            raise ValueError(
                f"looks must be increasing numbers of queries, got {list(planned)}. Pass for example 5000, 10000."
            )
    if planned and tuned is not None:
        raise ValueError("looks and anytime must not be combined. Pass only one of them.")
    if record is not None:
        for name, value in {"looks": list(planned), **settings}.items():
            if record.get(name) != value:
                raise ValueError(
                    f"{name} must be {record.get(name)!r} as in the earlier look, got {value!r}. Repeat the settings "
                    "of the first look, or start a new experiment with new queries."
                )
        return planned, _find_earlier_looks(planned, queries, (*record["earlier"], record["queries"])), None
    if planned and queries < MIN_SHARE * planned[0]:
        raise ValueError(
            f"looks must start at {queries:,} queries or fewer, which is the size of this sample, got {planned[0]:,}. "
            "Wait for the first planned look."
        )
    place = min(range(len(planned)), key=lambda look: abs(math.log(queries / planned[look])), default=0)
    return planned, planned[:place], tuned


def _find_earlier_looks(looks: tuple[int, ...], queries: int, recorded: tuple[int, ...]) -> tuple[int, ...]:
    """Return the recorded looks before this one, or raise if this one cannot follow them."""
    if queries < max(recorded):
        raise ValueError(
            f"earlier contains a look at {max(recorded):,} queries, but this sample has {queries:,}. Include the "
            "queries of all earlier looks."
        )
    earlier = tuple(number for number in recorded if number < queries)
    if earlier and earlier[-1] >= looks[-1]:
        raise ValueError(
            f"earlier contains the last planned look, at {earlier[-1]:,} queries. Start a new experiment with new "
            "queries."
        )
    return earlier


def compute_spending(time: float, level: float) -> float:
    """Return the error probability that is spent up to a share `time` of the last look (O'Brien-Fleming type).

    α*(t) = 2 (1 − Φ(z / √t)), with z the upper level/2 quantile.

    References
    ----------
    Lan & DeMets (1983), "Discrete sequential boundaries for clinical trials", Biometrika 70(3).

    >>> round(compute_spending(0.5, 0.025), 5), compute_spending(1.0, 0.025)
    (0.00153, 0.025)
    """
    return level if time >= 1 else 2 * float(ndtr(ndtri(level / 2) / math.sqrt(time)))


def compute_boundaries(times: Sequence[float], level: float) -> Floats:
    """Return the critical values of z-statistics at increasing shares of the last look.

    The boundaries c solve P(Z₁ < c₁, …, Zₖ₋₁ < cₖ₋₁, Zₖ ≥ cₖ) = α*(tₖ) − α*(tₖ₋₁), with corr(Zᵢ, Zⱼ) = √(tᵢ/tⱼ). The
    density of the sums S = Z√t below the boundaries is carried from look to look on a grid (Armitage, McPherson & Rowe
    1969).

    >>> compute_boundaries([1 / 3, 2 / 3, 1], 0.025).round(3)
    array([3.71 , 2.511, 1.993])
    """
    boundaries = np.zeros(len(times))
    spent, grid, density = 0.0, np.zeros(1), np.ones(1)
    for look, time in enumerate(times):
        scale, step = math.sqrt(time), math.sqrt(time - (times[look - 1] if look else 0.0))
        increment = compute_spending(time, level) - spent
        spent += increment
        if look == 0:
            boundaries[0] = -ndtri(increment)
        else:
            arguments = (scale, step, grid, density, increment)
            boundaries[look] = scipy.optimize.brentq(_exceed_increment, -8.0, 50.0, arguments, xtol=1e-10)
        points = scale * np.linspace(-8, min(boundaries[look], 8.0), 1001)
        kernel = np.exp(-(((points[:, None] - grid) / step) ** 2) / 2) / (step * math.sqrt(2 * math.pi)) * density
        density = kernel[:, 0] if look == 0 else scipy.integrate.simpson(kernel, x=grid, axis=1)
        grid = points
    return boundaries


def _exceed_increment(z: float, scale: float, step: float, grid: Floats, density: Floats, increment: float) -> float:
    """Return by how much the probability to cross the boundary z first at this look exceeds the increment."""
    return float(scipy.integrate.simpson(ndtr((grid - z * scale) / step) * density, x=grid)) - increment


def compute_anytime_level(level: float, queries: int, tuned: int) -> float:
    """Return the level of a one-sided normal bound that is valid at all numbers of queries, simultaneously.

    The bound uses k(n) = √(2 (nρ² + 1)/(nρ²) · ln(1 + √(nρ² + 1)/(2γ))) standard errors, and ρ makes it narrowest near
    `tuned` queries. It is an asymptotic confidence sequence.

    References
    ----------
    Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas (2021), "Time-uniform central limit theory and asymptotic confidence
    sequences", arXiv:2103.06476.

    >>> from statistics import NormalDist
    >>> round(-NormalDist().inv_cdf(compute_anytime_level(0.025, 1000, 1000)), 2)
    3.04
    """
    shrinkage = -2 * math.log(2 * level) + math.log(1 - 2 * math.log(2 * level))
    size = queries * shrinkage / tuned
    k = math.sqrt(2 * (size + 1) / size * math.log(1 + math.sqrt(size + 1) / (2 * level)))
    return float(ndtr(-k))


@lru_cache(maxsize=256)
def find_test_level(
    level: float, queries: int, metrics: int, looks: tuple[int, ...], earlier: tuple[int, ...], anytime: int | None
) -> ErrorLevel:
    """Return the one-sided level of a single test, of a planned look, or of bounds that are valid at any time."""
    if anytime is not None:
        by_metric = compute_anytime_level(level / metrics, queries, anytime)
        return ErrorLevel(level, compute_anytime_level(level, queries, anytime), by_metric)
    if not looks:
        return ErrorLevel(level, level)
    times = [min(number / looks[-1], 1.0) for number in (*earlier, queries)]
    return ErrorLevel(level, float(ndtr(-compute_boundaries(times, level)[-1])))


def bound_share(count: int, size: int, level: ErrorLevel) -> float:
    """Return an upper confidence bound of a share, if `count` of `size` units have the property.

    It is the exact bound of Clopper & Pearson (1934). At any time, it is the largest share p with a likelihood ratio
    of a uniform mixture to p below 1/level (Robbins 1970).

    >>> round(bound_share(0, 368, ErrorLevel(0.025, 0.025)), 4), round(bound_share(3, 100, ErrorLevel(0.025, 0.025)), 4)
    (0.01, 0.0852)
    """
    if count == size:
        return 1.0
    if level.by_metric is None:
        return float(betaincinv(count + 1, size - count, 1 - level.marginal))
    limit = betaln(count + 1, size - count + 1) + math.log(level.total)

    def compute_excess(share: float) -> float:
        return float(limit - xlogy(count, share) - xlog1py(size - count, -share))

    return float(scipy.optimize.brentq(compute_excess, count / size, 1 - 1e-12))


def read_record(earlier: Any) -> dict[str, Any]:
    """Return the record of an earlier look from a dictionary or a JSON file of `gainwise gate` or a report."""
    if not isinstance(earlier, Mapping):
        try:
            earlier = json.loads(Path(earlier).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise ValueError(
                f"earlier must be a JSON file of an earlier look, got {str(earlier)!r} ({error})."
            ) from None
    if isinstance(earlier, Mapping) and EARLIER_NAME in earlier:
        name = f"{EARLIER_NAME}, the earlier name of gainwise"
        raise ValueError(f"earlier must be a decision of gainwise, got one of {name}. Repeat the earlier look.")
    record = earlier.get("against") or earlier if isinstance(earlier, Mapping) else None
    if not isinstance(record, Mapping) or not record.get("looks"):
        raise ValueError("earlier must be a decision with planned looks. Pass the JSON of such a decision.")
    candidates = record.get("candidates") or {record["candidate"]: record}
    decisions = {name: details.get("decision") for name, details in candidates.items()}
    return {
        **record, "candidates": list(candidates), "metrics": list(record["metrics"]), "decisions": decisions
    }  # fmt: skip


def find_earlier_decisions(earlier: Any, queries: int) -> dict[str, Any]:
    """Return the first decision about each candidate at recorded looks at fewer queries, if it is not undecided."""
    record = {} if earlier is None else read_record(earlier)
    last = record["decisions"] if record and record["queries"] < queries else {}
    decided = {name: decision for name, decision in last.items() if decision not in (None, "undecided")}
    return {**decided, **record.get("earlier_decisions", {})}


def compute_correlation(covariance: Floats) -> float:
    """Return the correlation of two metrics, 1 for a single one or without variance."""
    product = math.sqrt(covariance[0, 0] * covariance[-1, -1])
    return float(covariance[0, -1] / product) if product > 0 else 1.0


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
    total = (ndtr(h) + ndtr(k)) / 2 - owens_t(h, (k - rho * h) / (h * root)) - owens_t(k, (h - rho * k) / (k * root))
    return np.asarray(np.clip(total - np.where(h * k < 0, 0.5, 0.0), 0.0, np.minimum(ndtr(h), ndtr(k))))


@dataclass(frozen=True, eq=False)
class DifferenceErrors:
    """Errors of the differences of two models by metric.

    Attributes
    ----------
    error : ndarray, shape (metrics,)
        Standard errors.
    correlation : float
        Correlation of the errors under two metrics, 1 for a single metric.
    ratio : ndarray, shape (metrics, draws)
        Draws of the ratio of estimated to true standard error, which differs from 1 for recipes only.
    freedom : float
        Degrees of freedom of the variance over queries or clusters.
    skewness : ndarray, shape (metrics,)
        Skewness of the mean differences.
    """

    error: Floats
    correlation: float
    ratio: Floats
    freedom: float
    skewness: Floats

    def compute_tail(self, rows: Sequence[int], z: float) -> float:
        """Return the probability that the largest studentized error of one or two metrics is at least z."""
        first = -z * self.ratio[rows[0]]
        tail = ndtr(first)
        if len(rows) > 1:
            second = -z * self.ratio[rows[1]]
            tail = tail + ndtr(second) - compute_binormal(first, second, self.correlation)
        return float(tail.mean())

    def compute_critical(self, rows: Sequence[int], level: float) -> float:
        """Return the one-sided critical value of the largest studentized error of one or two metrics (max-T).

        For fixed models, the normal quantile z becomes a quantile of the t distribution, t_ν⁻¹(Φ(z)). The ratios of
        recipes contain the estimated variance over queries.
        """
        if level < MIN_LEVEL:
            return MAX_CRITICAL
        high = 2.0
        while self.compute_tail(rows, high) > level:
            high *= 2
        z = scipy.optimize.brentq(lambda z: self.compute_tail(rows, z) - level, 0.0, high, xtol=1e-10)
        return float(z) if self.ratio.shape[1] > 1 else -float(stdtrit(self.freedom, float(ndtr(-z))))


def draw_variance_ratios(
    of_queries: Floats,
    of_repeats: Sequence[Floats],
    freedom: float,
    freedom_of_repeats: float,
    generator: np.random.Generator,
) -> Floats:
    """Return draws of estimated over true standard errors, shape (metrics, draws). They are 1 for fixed models.

    `of_queries` and each of `of_repeats` are variances by metric. Each of them is estimated separately for each recipe
    and metric, with these degrees of freedom.
    """
    varying = [variance for variance in of_repeats if (variance > 0).any()]
    if not varying:
        return np.ones((len(of_queries), 1))
    shape = (len(of_queries), VARIANCE_DRAWS)
    total = of_queries + sum(varying)
    spread = of_queries[:, None] * generator.chisquare(freedom, shape) / freedom
    for variance in varying:
        spread += variance[:, None] * generator.chisquare(freedom_of_repeats, shape) / freedom_of_repeats
    return np.asarray(np.sqrt(np.divide(spread, total[:, None], out=np.ones_like(spread), where=total[:, None] > 0)))


class PairErrors:
    """Errors of the differences of a candidate and a baseline: variances by source, skewness and support."""

    def __init__(self, joint: JointEstimate, b: int, c: int, seed: int) -> None:
        panel, estimated = joint.panel, joint.estimated
        self.panel, self.b, self.c, self.seed = panel, b, c, seed
        self.difference, self.error = estimated.difference[:, b, c], estimated.error[:, b, c]
        self.support = estimated.support[:, b, c]
        self.has_support = (self.support >= MIN_QUERIES) & np.isfinite(self.error)
        metrics, models = estimated.mean.shape
        roots = estimated.root.reshape(-1, metrics, models)
        spread = roots[:, :, c] - roots[:, :, b]
        self.query_covariance, query_error = spread.T @ spread, self.error
        self.repeat_variances, self.repeat_covariance = list[Floats](), np.zeros((metrics, metrics))
        self.repeats = min((panel.repeat_counts[k] for k in (b, c) if panel.repeat_counts[k]), default=0)
        if estimated.repeats is not None:
            query_error = estimated.repeats.query_error[:, b, c]
            self.repeat_variances = [estimated.repeats.variance[:, k] for k in (b, c)]
            self.repeat_covariance += sum(root.T @ root for root in estimated.repeats.root[[b, c]])
        self.query_variance = np.where(np.isfinite(query_error), query_error, 0.0) ** 2
        self.freedom = max(1.0, (estimated.effective if panel.clusters is not None else estimated.units) - 1.0)
        # Repeats are assumed to be symmetric, so the third cumulant is that of the queries.
        self.third_cumulant = compute_mean_skewness(panel, b, c) * self.query_variance**1.5

    def scale(self, more_queries: float = 1.0) -> DifferenceErrors:
        """Return the errors with this many times the queries."""
        of_queries = self.query_variance / more_queries
        freedom = (self.freedom + 1) * more_queries - 1
        generator = np.random.default_rng([self.seed, 2])
        ratio = draw_variance_ratios(of_queries, self.repeat_variances, freedom, self.repeats - 1, generator)
        covariance = self.query_covariance / more_queries + self.repeat_covariance
        error = np.sqrt(of_queries + sum(self.repeat_variances, start=np.zeros_like(of_queries)))
        third = self.third_cumulant / more_queries**2
        skewness = np.divide(third, error**3, out=np.zeros_like(error), where=error > 0)
        return DifferenceErrors(error, compute_correlation(covariance), ratio, freedom, skewness)

    def bound(self, level: ErrorLevel, value_ranges: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the bounds that decide, by metric: marginal lower, simultaneous lower and simultaneous upper bounds.

        All hypotheses of a loss must be rejected, so the marginal bounds need no correction for the number of metrics
        (intersection-union test). If the models differ on fewer than 30 queries under a metric, the marginal bound is
        that of the share of queries on which the candidate is worse, and there are no others. `value_ranges` are the
        widths of the metrics, possibly infinite.
        """
        marginal_lower, lower, upper = np.array([-np.inf, -np.inf, np.inf])[:, None] + np.zeros(len(self.difference))
        rows = np.flatnonzero(self.has_support).tolist()
        errors = self.scale()
        simultaneous = find_joint_critical(errors, rows, level) if rows else 0.0
        for row, value_range in enumerate(value_ranges):
            if not self.has_support[row]:
                marginal_lower[row] = self.bound_rare_losses(row, level, value_range)
                continue
            difference, error, skewness = self.difference[row], self.error[row], errors.skewness[row]
            marginal = errors.compute_critical([row], level.marginal)
            marginal_lower[row] = difference - add_skewness(marginal, -skewness) * error
            lower[row] = difference - add_skewness(simultaneous, -skewness) * error
            upper[row] = difference + add_skewness(simultaneous, skewness) * error
        return marginal_lower, lower, upper

    def bound_rare_losses(self, row: int, level: ErrorLevel, value_range: float) -> float:
        """Return the lower bound of the difference from the share of worse queries.

        The loss is at most the range of the metric on each of these queries, weighted by the largest weight. Recipes
        have no such bound, because another repeat may differ on other queries.
        """
        worse, units, largest = self.count_worse(row)
        if self.repeats or not np.isfinite(value_range):
            return -np.inf
        return -value_range * units * largest * bound_share(worse, units, level)

    def find_size_without_losses(self, gamma: float, margin: float, value_ranges: Floats) -> int | None:
        """Return the number of queries that exclude a loss if still no query gets worse, or None if some does.

        With range B, the bound −B(1 − γ^(1/n)) exceeds −Δ if n ≥ ln γ / ln(1 − Δ/B).
        """
        counts = [self.count_worse(row) for row in range(len(self.difference))]
        if self.repeats or self.has_support.any() or any(worse for worse, _, _ in counts):
            return None
        widest = max(width * units * largest for width, (_, units, largest) in zip(value_ranges, counts, strict=True))
        if not np.isfinite(widest):
            return None
        units = np.log(gamma) / np.log1p(-margin / widest) if margin < widest else 1.0
        return int(np.ceil(units * self.panel.queries / self.panel.units))

    def find_support_factor(self, confidence: float, power: float) -> float:
        """Return how many times the queries are required so that 30 differ under every metric with this power.

        The share of differing queries is at the lower quantile of its Jeffreys interval.
        """
        size = max(float(self.support.max()), self.freedom + 1)
        share = float(betaincinv(self.support + 0.5, size - self.support + 0.5, 1 - confidence).min())
        rest = float(np.ceil(nbdtrik(power, MIN_QUERIES, share) - 1e-9)) if share > 0 else np.inf
        return (MIN_QUERIES + rest) / size

    def count_worse(self, row: int) -> tuple[int, int, float]:
        """Return the number of queries or clusters with a loss, the number of all, and the largest weight of one."""
        panel = self.panel
        values, shares = panel.values[row], panel.shares
        worse = values[self.c] - values[self.b] < -ROUNDING * np.abs(values).max()
        if panel.clusters is not None:
            worse = np.bincount(panel.clusters[worse], minlength=panel.units) > 0
            shares = sum_by_cluster(shares[None], panel.clusters)[0]
        return int(worse.sum()), panel.units, float(shares.max())


def find_joint_critical(errors: DifferenceErrors, rows: Sequence[int], level: ErrorLevel) -> float:
    """Return the critical value of simultaneous one-sided bounds of these metrics."""
    if level.by_metric is None:
        return errors.compute_critical(rows, level.marginal)
    return max(errors.compute_critical([row], level.by_metric) for row in rows)


def add_skewness(critical: float, skewness: float) -> float:
    """Return the critical value of a one-sided bound of a mean with this skewness, if it is positive.

    Without the correction, the error rate exceeds its level (the first term of the Edgeworth expansion).

    References
    ----------
    Hall (1992), "On the removal of skewness by transformation", Journal of the Royal Statistical Society B 54(1).
    """
    return critical + max(0.0, float(skewness)) * (2 * critical**2 + 1) / 6


def compute_mean_skewness(panel: Panel, k: int, j: int) -> Floats:
    """Return the skewness of the mean difference of model j to k by metric, shape (metrics,).

    It is Σ e³ / (Σ e²)^1.5 of e = w (d − mean), with the differences d and their weighted mean. With equal weights it
    is the skewness of d over √n, the leading term of the error of the normal limit (Edgeworth). For queries in
    clusters, e is summed within each. It is 0 for constant differences.
    """
    difference = panel.values[:, j] - panel.values[:, k]
    difference -= (difference @ panel.shares)[:, None]
    difference[np.abs(difference) <= ROUNDING * np.abs(panel.values).max()] = 0.0
    difference *= panel.shares
    if panel.clusters is not None and panel.units < panel.queries:
        difference = sum_by_cluster(difference, panel.clusters)
    squares = difference * difference
    spread = squares.sum(axis=1) ** 1.5
    third = np.einsum("mq,mq->m", squares, difference)
    return np.asarray(np.divide(third, spread, out=np.zeros_like(spread), where=spread > 0))


def compute_ship_probability(
    errors: DifferenceErrors,
    difference: Floats,
    level: ErrorLevel,
    margin: float,
    require: Requirement,
    spread: Floats | None = None,
) -> float:
    """Return the probability to ship a candidate with these true differences, if the errors are normal.

    `spread` is the true standard deviation of the differences, by default the standard error.
    """
    rows = range(len(difference))
    critical = np.array(
        [add_skewness(errors.compute_critical([row], level.marginal), -errors.skewness[row]) for row in rows]
    )
    scale = np.maximum(errors.error if spread is None else spread, 1e-300)[:, None]
    estimated = errors.ratio * errors.error[:, None]
    lowest = (critical[:, None] * estimated - (difference + margin)[:, None]) / scale
    highest = lowest
    if require == "gain" and margin > 0:
        joint = find_joint_critical(errors, list(rows), level)
        simultaneous = np.array([add_skewness(joint, -errors.skewness[row]) for row in rows])
        highest = np.maximum(lowest, (simultaneous[:, None] * estimated - difference[:, None]) / scale)
    if len(rows) == 1:
        return float(ndtr(-highest[0]).mean())
    # All normal errors exceed `lowest`, and some exceeds `highest`: they are not all between the two.
    (a, b), (c, d), correlation = lowest, highest, errors.correlation
    proven = compute_binormal(-a, -b, correlation)
    if highest is not lowest:
        inside = (
            compute_binormal(c, d, correlation)
            - compute_binormal(a, d, correlation)
            - compute_binormal(c, b, correlation)
            + compute_binormal(a, b, correlation)
        )
        proven -= np.maximum(inside, 0.0)
    return float(proven.mean())


def compute_support_chance(queries: Floats | float, share: Floats | float) -> Floats:
    """Return the probability that at least 30 of these queries differ, for a share of differing queries."""
    rest = np.maximum(np.asarray(queries, dtype=float) - MIN_QUERIES + 1, 1e-9)
    return np.asarray(betainc(MIN_QUERIES, rest, share), dtype=np.float64)


def bisect(is_sufficient: Callable[[float], bool], low: float, high: float, precision: float) -> float:
    """Return a sufficient number, at most `precision` times the least one. `high` is sufficient, `low` is not."""
    while high / low > precision:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if is_sufficient(middle) else (middle, high)
    return high
