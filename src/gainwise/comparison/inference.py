"""Bootstrap draws of the errors of means, tests of which models may be best, and bounds of regrets and of the price.

The errors are drawn from their normal limit by the Gaussian multiplier bootstrap. Queries are not resampled, so the
cost does not depend on queries times draws.

A model is best, under one metric or under several, if no other model has a larger mean under any of them:
``mean[m, j] - mean[m, k] <= margin`` for every metric m and model j. These moment inequalities are tested in two steps
(Romano, Shaikh & Wolf 2014), for each model k separately at level α. The hypothesis that *some* model is best is
rejected if every model is rejected, at the same level without a correction for the number of models. The same
inequalities at larger margins give lower bounds of regrets and of the price of disagreement.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from itertools import compress, product
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from .._common import cached_property
from .._common.lazy import special
from .._common.typing import Bools, Floats, Integers
from .._kernel.differences import find_largest_differences, iter_pairs
from .bounds import BoundKind, DifferenceBounds, add_skewness, compute_digests, remove_skewness, validate_bounds
from .estimates import Estimate, draw_repeat_errors, estimate
from .panel import Panel

MODEL_BLOCK = 64
"""So many models are tested at a time, to limit the memory for their comparisons with all models."""

MAX_CHUNK = 2048
"""So many draws of all means are computed at a time."""

MAX_MODELS = 100
"""Number of models up to which all requested draws are used."""

POWER = 0.80
"""Probability with which a detectable difference is detected."""

TAIL_POWER = 4
"""Power of the random survival probabilities of draws for small levels."""

MAX_STEPS, PRECISION = 25, 1e-6
"""Steps to refine a lower bound: the limit, and the least gain of a step as a share of the largest difference."""


def limit_draws(draws: int, models: int, alpha: float) -> int:
    """Return the number of draws for so many models, so that the cost of all pairs is linear in the number of models.

    Above `MAX_MODELS` models, it is ``draws * MAX_MODELS / models``, at least ``10 / alpha``.

    >>> limit_draws(10_000, 100, 0.05), limit_draws(10_000, 1000, 0.05), limit_draws(1000, 1000, 0.05)
    (10000, 1000, 200)
    """
    least = max(100, math.ceil(10 / alpha - 1e-9))
    return draws if models <= MAX_MODELS else min(draws, max(least, draws * MAX_MODELS // models))


def map_to_t(draws: Floats, freedom: float) -> Floats:
    """Replace draws z of a normal distribution by t⁻¹(Φ(z)) of Student's distribution, in place.

    The standard errors of n queries have n − 1 degrees of freedom, so critical values of normal draws would be too
    small for few queries. The expansion in 1/freedom is accurate to 0.1 % from 29 degrees of freedom on for |z| <= 5.
    At 3,000 queries it adds 0.001 to z = 3.

    References
    ----------
    Abramowitz & Stegun (1972), "Handbook of Mathematical Functions", formula 26.7.5.

    Examples
    --------
    >>> map_to_t(np.array([-1.96, 0.0, 3.0]), 29.0).round(3)
    array([-2.045,  0.   ,  3.28 ])
    """
    terms = _find_terms(freedom)
    squares = draws * draws
    factor = squares * terms[-1] if len(terms) > 1 else np.full_like(draws, terms[0])
    for term in terms[-2:0:-1]:
        factor += term
        factor *= squares
    if len(terms) > 1:
        factor += terms[0]
    draws *= factor
    return draws


def invert_t(t: Floats, freedom: float) -> Floats:
    """Return the smallest numbers of 0 or more that `map_to_t` does not map below these, by bisection.

    >>> float(invert_t(np.array([3.28]), 29.0)[0].round(3))
    3.0
    """
    low, high = np.full(t.shape, -1.0), np.maximum(t, 0.0)
    for _ in range(64):  # The interval is then as small as the distance of two numbers.
        middle = (low + high) / 2
        is_sufficient = map_to_t(middle.copy(), freedom) >= t
        low, high = np.where(is_sufficient, low, middle), np.where(is_sufficient, middle, high)
    return np.maximum(high, 0.0)


@lru_cache
def _find_terms(freedom: float) -> tuple[float, ...]:
    """Return the factors of 1, z², z⁴, … in t⁻¹(Φ(z)) / z, without those that do not matter for |z| <= 6."""
    v = 1 / max(freedom, 1.0)
    terms = (
        1 + v / 4 + 3 * v**2 / 96 - 15 * v**3 / 384 - 945 * v**4 / 92160,
        v / 4 + 16 * v**2 / 96 + 17 * v**3 / 384 - 1920 * v**4 / 92160,
        5 * v**2 / 96 + 19 * v**3 / 384 + 1482 * v**4 / 92160,
        3 * v**3 / 384 + 776 * v**4 / 92160,
        79 * v**4 / 92160,
    )
    return tuple(term for power, term in enumerate(terms) if power == 0 or term * 6.0 ** (2 * power) > 1e-6)


@dataclass(frozen=True)
class BootstrapDraws:
    """Bootstrap draws of the errors of all means.

    The standard error of fixed models is the same in every draw. The standard error of configurations is estimated from
    few repeats, so every draw has the error that so few repeats would show in it (a studentized parametric bootstrap).
    The standard error over few queries is estimated as well, so normal deviates are mapped to those of Student's
    distribution, see `map_to_t`. Both make the critical values as wide as necessary.

    Attributes
    ----------
    values : ndarray, shape (metrics, M, draws)
        Draws from the normal limit of the errors of the means. Duplicate models have equal draws.
    estimated : Estimate
        The estimate of these errors.
    factor : ndarray, shape (metrics, M, draws), or None
        Ratio of estimated to true variance of repeats in every draw. None if all models are fixed.
    weights : ndarray, shape (draws,), or None
        Weight of each draw, with mean 1. None if all are equal.
    whole : tuple of BootstrapDraws and slice, or None
        The draws of several metrics, and the row in them, if these are a part.
    """

    values: Floats
    estimated: Estimate
    factor: Floats | None = None
    weights: Floats | None = None
    whole: tuple[BootstrapDraws, slice] | None = None

    @property
    def draws(self) -> int:
        """Number of draws."""
        return int(self.values.shape[2])

    def select(self, row: int) -> BootstrapDraws:
        """Return the draws of one metric."""
        rows = slice(row, row + 1)
        factor = None if self.factor is None else self.factor[rows]
        return BootstrapDraws(self.values[rows], self.estimated.select(row), factor, self.weights, (self, rows))

    @cached_property
    def bounds(self) -> DifferenceBounds:
        """Bounds of all ordered pairs of models."""
        return DifferenceBounds.from_estimate(self.estimated)

    @cached_property
    def max_t(self) -> Floats:
        """Largest `compute_t` of any other model over model k in every draw, or 0, shape (metrics, M, draws)."""
        if self.whole is not None:
            joint, rows = self.whole
            return joint.max_t[rows]
        largest = np.zeros(self.values.shape)
        for row, part in enumerate(largest):
            self._compute_max_t(row, part)
        return largest

    def _compute_max_t(self, row: int, largest: Floats) -> None:
        """Compute `max_t` of one metric, in place."""
        (_, models, total), error = self.values.shape, self.estimated.error[row]
        parts = [slice(start, start + MAX_CHUNK) for start in range(0, total, MAX_CHUNK)]
        if self.factor is None:
            inverse = np.divide(1.0, error, out=np.zeros_like(error), where=(error > 0) & (error < np.inf))
            for part in parts:
                t = find_largest_differences(self.values[row, :, part], inverse)
                largest[:, part] = map_to_t(t, self.estimated.freedom)
            return
        for part, (k, others) in product(parts, iter_pairs(models, MAX_CHUNK)):
            t = self.compute_t(row, k, others, part)
            np.maximum(largest[k, part], t.max(axis=0), out=largest[k, part])
            np.maximum(largest[others, part], -t, out=largest[others, part])

    def find_critical(self, level: float) -> float:
        """Return the critical value of the largest t-statistic over all ordered pairs of models and metrics (max-T).

        It is at least that of a single pair in both directions, which is known exactly.
        """
        critical = float(critical_value(self.max_t.max(axis=(0, 1)), 1 - level, self.weights))
        if self.estimated.repeats is not None or self.values.shape[1] < 2:
            return critical
        return max(critical, -float(special.stdtrit(self.estimated.freedom, level / 2)))

    def bound_pairs(self, alpha: float, *parts: tuple[Any, Any]) -> Floats:
        """Return simultaneous lower bounds of all differences, shape (metrics, M, M).

        The upper bounds are the negative ones of the opposite differences. Bounds of both sides together are valid with
        probability 1 − α. With `parts`, only the bounds of these pairs are returned, shape (parts, metrics, pairs).
        """
        metrics, models, _ = self.values.shape
        count = max(1, metrics * models * (models - 1))
        shown = [self.bounds.select(*part) for part in parts]
        return self.bounds.bound_jointly(alpha, count, self.find_critical, shown)

    def compute_t(self, row: int, k: int, others: Any, part: slice | Integers = slice(None)) -> Floats:
        """Return the t-statistics of the errors of the differences of other models to model k, shape (…, draws).

        `others` is the index of a model, or selects several. `part` selects draws. A t-statistic is 0 if the two models
        never differ or their variance is unknown.
        """
        error = np.asarray(self.estimated.error[row, k, others])
        usable = (error > 0) & (error < np.inf)
        draws = self._by_model[row][:, part]
        t: Floats = draws[others] - draws[k]
        t *= np.divide(1.0, error, out=np.zeros_like(error), where=usable)[..., None]
        t = map_to_t(t, self.estimated.freedom)
        if self.factor is not None:  # Standard errors are those that so few repeats would show in each draw.
            repeats, error = self.estimated.repeats, error[..., None]
            assert repeats is not None
            variance = repeats.variance[row][:, None] * self.factor[row][:, part]
            shown = np.asarray(repeats.query_error[row, k, others])[..., None] ** 2 + variance[others] + variance[k]
            shown = np.sqrt(shown)
            t *= np.divide(error, shown, out=np.zeros_like(shown), where=(shown > 0) & (error < np.inf))
        return t

    def compute_pair_t(self, rows: Integers, first: Integers, second: Integers) -> Floats:
        """Return the absolute t-statistics of the errors of the differences of pairs of models, shape (pairs, draws).

        If all models are fixed, those of a normal distribution, which `map_to_t` maps to others.
        """
        if self.factor is not None:
            return np.abs([self.compute_t(row, k, j) for row, k, j in zip(rows, first, second, strict=True)])
        error = self.estimated.error[rows, first, second]
        t: Floats = self._by_model[rows, second]
        t -= self._by_model[rows, first]
        t *= np.divide(1.0, error, out=np.zeros_like(error), where=(error > 0) & (error < np.inf))[:, None]
        return np.abs(t, out=t)

    @cached_property
    def _by_draw(self) -> Floats:
        """The values in the shape (metrics, draws, M) and in this order, which makes the selection of draws fast."""
        return np.ascontiguousarray(self.values.swapaxes(1, 2))

    @cached_property
    def _by_model(self) -> Floats:
        """The values in the order of their shape, which makes the selection of models fast."""
        return np.ascontiguousarray(self.values)

    def compute_shifted_max_t(
        self, rows: Sequence[int] | Integers, k: int, shift: Floats, part: Integers, floor: float = 0.0
    ) -> Floats:
        """Return the largest `compute_t` + shift of any other model over model k in some draws, at least `floor`.

        `rows` are the metrics, `shift` contains shifts of 0 or less, shape (rows, M), and `part` the indices of draws.
        """
        largest, bounds = np.full(len(part), floor), self.max_t[rows, k][:, part]
        for unshifted in (True, False):  # The maximum without shifts leaves few draws and models with a shift.
            for row, shifts, bound in zip(rows, shift, bounds, strict=True):
                left = np.flatnonzero(largest < bound)
                if not len(left):
                    continue
                used = shifts == 0 if unshifted else (shifts < 0) & (shifts > (largest - bound)[left].min())
                error = self.estimated.error[row, k]
                others = np.flatnonzero(used & (error > 0) & (error < np.inf))
                t = self._compute_largest_t(row, k, others, shifts[others], part[left])
                largest[left] = np.maximum(largest[left], t)
        return largest

    def _compute_largest_t(self, row: int, k: int, others: Integers, shifts: Floats, part: Integers) -> Floats:
        """Return the largest `compute_t` + shift of some models over model k under one metric."""
        if self.factor is not None:
            t = self.compute_t(row, k, others, part) + shifts[:, None]
            return np.asarray(t.max(axis=0, initial=0.0))
        draws, freedom = self._by_draw[row], self.estimated.freedom
        t = draws.take(part, axis=0).take(others, axis=1)
        t -= draws[part, k][:, None]
        t *= 1.0 / self.estimated.error[row, k, others]
        if not shifts.any():  # The map is monotonic, so the maximum over models comes first.
            return map_to_t(t.max(axis=1, initial=0.0), freedom)
        t = map_to_t(t, freedom)
        t += shifts
        return np.asarray(t.max(axis=1, initial=0.0))

    def find_shifted_quantile(
        self, rows: Sequence[int] | Integers, models: Sequence[int] | Integers, shift: Floats, level: float
    ) -> float:
        """Return the `critical_value` of the largest `compute_t` + shift over any of these models.

        `shift`, shape (rows, models, M), contains shifts of 0 or less. So without shifts, the values are at least as
        large, and only draws with large values have to be computed.
        """
        # Selecting the rows first would copy the draws of all models.
        selected = np.ix_(np.asarray(rows), np.asarray(models))
        bound, error = self.max_t[selected].max(axis=(0, 1)), self.estimated.error[selected]
        if not shift[(error > 0) & (error < np.inf)].any():
            return float(critical_value(bound, level, self.weights))
        rank = self._find_rank(level, None if self.weights is None else np.argsort(-bound))
        count = 3 * rank // 2 + 1
        computed, values, floor = np.empty(0, dtype=np.int64), np.empty(0), 0.0
        part = np.arange(self.draws)
        while len(part):
            part = _take_largest(part, bound, count)
            shifted = [
                self.compute_shifted_max_t(rows, int(k), shift[:, place], part, floor) for place, k in enumerate(models)
            ]
            computed, values = np.concatenate([computed, part]), np.concatenate([values, np.max(shifted, axis=0)])
            order = np.argsort(-values)
            rank = self._find_rank(level, computed[order])
            floor = float(values[order[rank - 1]]) if rank <= len(values) else 0.0
            reaching = bound > floor
            reaching[computed] = False
            part = np.flatnonzero(reaching)
        return floor

    def _find_rank(self, level: float, order: Integers | None) -> int:
        """Return the rank of the quantile from above among draws whose values decrease in this order."""
        if self.weights is None:
            return self.draws - find_quantile_place(level, self.draws)
        return int(find_weighted_rank(self.weights[order], level, self.draws))

    def sum_weights(self, mask: Bools) -> Floats:
        """Return the weight of the draws in a mask, shape (…, draws), relative to all draws."""
        if self.weights is None:
            return np.asarray((1 + mask.sum(axis=-1)) / (self.draws + 1))
        return np.asarray(mask @ self.weights / self.draws)

    def compute_mean_half_widths(self, row: int, alpha: float) -> Floats:
        """Return the half-widths of simultaneous intervals of all means under one metric, shape (M,).

        They are infinite for infinite errors.
        """
        error = self.estimated.mean_error[row]
        finite, critical = np.isfinite(error), critical_value(self.compute_deviations(row), 1 - alpha, self.weights)
        return np.where(finite, np.where(finite, error, 0.0) * critical, np.inf)

    def compute_deviations(self, row: int) -> Floats:
        """Return the largest absolute t-statistic of the error of a mean in every draw, shape (draws,)."""
        error, repeats = self.estimated.mean_error[row][:, None], self.estimated.repeats
        usable = (error > 0) & (error < np.inf)
        t = np.divide(self.values[row], error, out=np.zeros_like(self.values[row]), where=usable)
        t = map_to_t(np.abs(t, out=t), self.estimated.freedom)
        if repeats is not None:
            assert self.factor is not None
            shown = np.sqrt(
                repeats.query_mean_error[row][:, None] ** 2 + repeats.variance[row][:, None] * self.factor[row]
            )
            t *= np.divide(error, shown, out=np.zeros_like(shown), where=usable)
        return np.asarray(t.max(axis=0))


def _take_largest(part: Integers, bound: Floats, count: int) -> Integers:
    """Return the indices of the largest bounds, all if there are no more than `count`."""
    if len(part) <= count:
        return part
    return np.asarray(part[np.argpartition(-bound[part], count)[:count]])


def draw_errors(
    estimated: Estimate, draws: int, seed: int, *, shared: bool = False, tail: bool = False
) -> BootstrapDraws:
    """Draw the errors of the means from their normal limit: the Gaussian multiplier bootstrap.

    With `tail`, most draws are large ones, and their weights correct for it, so that few draws have precise
    quantiles at small levels. The length of a normal vector is independent of its direction, with a uniform survival
    probability. The fourth power of a uniform variable replaces it (importance sampling). `shared` is that of
    `draw_repeat_errors`.
    """
    metrics, models = estimated.mean.shape
    generator = np.random.default_rng(seed)
    values, weights = np.empty((metrics, draws, models)).swapaxes(1, 2), np.ones(draws) if tail else None
    for start in range(0, draws, MAX_CHUNK):
        stop = min(start + MAX_CHUNK, draws)
        normal = generator.standard_normal((stop - start, len(estimated.root)))
        if weights is not None:
            uniform = generator.random(stop - start)
            weights[start:stop] = TAIL_POWER * uniform ** (TAIL_POWER - 1)
            length = np.sqrt(special.chdtri(len(estimated.root), uniform**TAIL_POWER))
            normal *= (length / np.linalg.norm(normal, axis=1))[:, None]
        values[:, :, start:stop] = (normal @ estimated.root).T.reshape(metrics, models, -1)
    factor = None
    if estimated.repeats is not None:
        factor = draw_repeat_errors(estimated, values, generator, shared=shared)
    for m in range(metrics):  # A matrix product may round equal columns differently.
        copies = np.flatnonzero(estimated.duplicate_of[m] != np.arange(models))
        values[m, copies] = values[m, estimated.duplicate_of[m, copies]]
    return BootstrapDraws(values, estimated, factor, weights)


def critical_value(draws: Floats, level: float, weights: Floats | None = None) -> Floats:
    """Return the quantile of `draws`, shape (…, B), that a statistic exceeds exactly if its p-value is ≤ 1 − level.

    This is the order statistic ``ceil(level · (B + 1))`` of B draws, which belongs to the p-value
    ``(1 + #{draws >= statistic}) / (B + 1)``. With weights, the weight of larger draws is at most (1 − level) · B.

    >>> float(critical_value(np.arange(1.0, 100.0), 0.95))
    95.0
    """
    if weights is None:
        place = find_quantile_place(level, draws.shape[-1])
        return np.asarray(np.partition(draws, place)[..., place])
    order = np.argsort(-draws, axis=-1)
    rank = find_weighted_rank(weights[order], level, draws.shape[-1])
    last = np.take_along_axis(order, np.minimum(rank, draws.shape[-1])[..., None] - 1, axis=-1)
    return np.asarray(np.take_along_axis(draws, last, axis=-1)[..., 0])


def find_weighted_rank(weights: Floats, level: float, draws: int) -> Integers:
    """Return the rank of the `critical_value` from above. `weights` are those of decreasing draws."""
    return np.asarray((np.cumsum(weights, axis=-1) <= (1 - level) * draws).sum(axis=-1) + 1, dtype=np.int64)


def find_quantile_place(level: float, count: int) -> int:
    """Return the index of the `critical_value` of sorted draws."""
    return min(max(math.ceil(level * (count + 1) - 1e-9), 1), count) - 1


class JointEstimate(NamedTuple):
    """Estimate of several metrics on their common queries, and bootstrap draws of its errors."""

    panel: Panel
    estimated: Estimate
    bootstrap: BootstrapDraws


@dataclass(eq=False, repr=False)
class Sample:
    """Per-query values with the settings of all tests and intervals, and estimates that are computed once.

    `ranges` contains the range of each metric, by default infinite. `tail` is that of `draw_errors`. `bounds` are those
    of decisions, and `ids` those of the queries, by default their numbers.
    """

    panel: Panel
    alpha: float
    draws: int
    seed: int
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    tail: bool = False
    bounds: BoundKind = "asymptotic"
    ids: Sequence[Any] | None = None
    _estimates: dict[tuple[str, ...], JointEstimate] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        validate_bounds(self.bounds)
        self.ranges = {metric: self.ranges.get(metric, (-np.inf, np.inf)) for metric in self.panel.metrics}

    def validate_difference(self, argument: str, difference: float, metrics: Sequence[str]) -> None:
        """Raise `ValueError` if two means under one of these metrics cannot differ by as much."""
        for metric in metrics:
            low, high = self.ranges[metric]
            if abs(difference) >= high - low > 0:
                raise ValueError(
                    f"{argument} must be below {high - low:g}, got {difference}. It is in the unit of {metric}, which "
                    f"is between {low:g} and {high:g}: pass for example 0.002."
                )

    def describe(self, margin: float) -> dict[str, Any]:
        """Return the settings of results with this margin."""
        return {"alpha": self.alpha, "margin": margin, "draws": self.draws, "seed": self.seed}

    def compute_digests(self, metrics: Sequence[str]) -> list[str]:
        """Return the hashes of the ids of the queries with a value under all of these metrics."""
        ids = range(self.panel.queries) if self.ids is None else self.ids
        return compute_digests(compress(ids, self.panel.find_common_queries(metrics)))

    def joint(self, metrics: Sequence[str]) -> JointEstimate:
        """Return the joint estimate of several metrics, computed on first use."""
        names = tuple(metrics)
        if names not in self._estimates:
            self._estimates[names] = self._estimate(names, pairs=True)
        return self._estimates[names]

    def single(self, metric: str, *, pairs: bool = True) -> JointEstimate:
        """Return the estimate of one metric, a part of a joint estimate if its queries are the same.

        Without `pairs`, it may contain the means only.
        """
        if (metric,) not in self._estimates:
            for names, joint in self._estimates.items():
                if metric in names and self.panel.counts(names).same:
                    bootstrap, panel = joint.bootstrap.select(names.index(metric)), joint.panel.select([metric])
                    self._estimates[metric,] = JointEstimate(panel, bootstrap.estimated, bootstrap)
                    break
        if pairs or (metric,) in self._estimates:
            return self.joint([metric])
        return self._estimate((metric,), pairs=False)

    def _estimate(self, names: tuple[str, ...], *, pairs: bool) -> JointEstimate:
        panel = self.panel.select(names)
        widths = np.array([np.subtract(*self.ranges[metric][::-1]) for metric in names])
        estimated = estimate(panel, widths, pairs=pairs)
        return JointEstimate(panel, estimated, draw_errors(estimated, self.draws, self.seed, tail=self.tail))


class BestTest:
    r"""Test for every model that it is best under all metrics, or under those in `rows`.

    Step one bounds how far each inequality is from binding: with c₁ the 1 − β quantile of the largest studentized error
    and β = α/10 (or 1/(B + 1) if that is larger), an inequality with λ = min(0, t + c₁) < 0 is slack and counts less in
    step two. Its critical value is c = max(0, q_{1−α+β}(max(t* + λ))). The p-value of a model is
    (1 + #{max(t* + λ) >= T})/(B + 1) + β, at most 1, and 1 if T <= 0.

    Statistics are corrected for skewness, see `remove_skewness`. For a pair with a support of fewer than 30
    queries, t is −inf, so it cannot rule out a model. Blocks of models limit the memory.

    Attributes
    ----------
    not_rejected : ndarray of bool, shape (M,)
        Models that may be best (the confidence set): their largest studentized difference to another model does not
        exceed the critical value of the two-step test.
    p_value : float
        P-value of the hypothesis that some model is best, the largest one of the models. At most α exactly if every
        model is rejected. Never 0.

    References
    ----------
    Romano, Shaikh & Wolf (2014), "A practical two-step method for testing moment inequalities", Econometrica 82(5).
    """

    def __init__(
        self, estimated: Estimate, bootstrap: BootstrapDraws, alpha: float, rows: Sequence[int] | None = None
    ) -> None:
        self._rows = np.arange(len(estimated.mean)) if rows is None else np.asarray(rows)
        self._estimated, self._bootstrap, self._usable = estimated, bootstrap, estimated.can_reject
        self._beta = max(alpha / 10, 1 / (bootstrap.draws + 1))
        self._level = 1 - alpha + self._beta
        self._largest = reduce(np.maximum, (bootstrap.max_t[row] for row in self._rows))
        self._first_critical = critical_value(self._largest, 1 - self._beta, bootstrap.weights)
        self._models = np.arange(estimated.mean.shape[1])
        statistic = np.concatenate([self._standardize(*block)[0] for block in _split(0.0, self._models)])
        # Slack only decreases the critical value, so that without slack is sufficient to reject a model.
        highest = critical_value(self._largest, self._level, bootstrap.weights)
        self.not_rejected: Bools = statistic <= np.maximum(0.0, highest)
        unclear = np.flatnonzero(self.not_rejected & (statistic > 0))
        critical = np.concatenate([self._find_critical(*block) for block in _split(0.0, unclear)])
        self.not_rejected[unclear] = statistic[unclear] <= critical
        self.p_value = self._find_p_value(statistic)

    def _standardize(self, margin: float | Floats, models: Integers) -> tuple[Floats, Floats]:
        """Return the test statistics of some models, and the slack of their inequalities, shape (rows, models, M)."""
        cells, estimated = np.ix_(self._rows, models), self._estimated
        skewness, difference = estimated.skewness[cells], estimated.difference[cells] - np.reshape(margin, (-1, 1))
        t = np.full(difference.shape, -np.inf)
        np.divide(difference, estimated.error[cells], out=t, where=self._usable[cells])
        statistic = remove_skewness(t, -skewness).max(axis=(0, 2))
        return statistic, np.minimum(0.0, t + add_skewness(self._first_critical[models, None], skewness))

    def _find_critical(self, margin: float | Floats, models: Integers) -> Floats:
        """Return the critical values of some models."""
        _, slack = self._standardize(margin, models)
        quantiles = [
            self._bootstrap.find_shifted_quantile(self._rows, [k], slack[:, [place]], self._level)
            for place, k in enumerate(models.tolist())
        ]
        return np.maximum(0.0, quantiles)

    def _find_p_value(self, statistic: Floats) -> float:
        """Return the largest p-value of all models. Those of models that cannot have it are not computed."""
        if (statistic <= 0).any():
            return 1.0
        largest = 0.0
        reaches = self._largest >= statistic[:, None]
        bounds = self._bootstrap.sum_weights(reaches)
        for k in np.argsort(-bounds, kind="stable").tolist():
            if bounds[k] <= largest:
                break
            part, mask = np.flatnonzero(reaches[k]), reaches[k].copy()
            _, slack = self._standardize(0.0, np.array([k]))
            mask[part] = self._bootstrap.compute_shifted_max_t(self._rows, k, slack[:, 0], part) >= statistic[k]
            largest = max(largest, float(self._bootstrap.sum_weights(mask)))
        return float(min(1.0, largest + self._beta))

    def _find_rejected_margin(self, margin: float | Floats, models: Integers) -> Floats:
        """Return a margin up to which rejected models are also rejected, the largest ``difference - critical · error``.

        For models that are not rejected at the given margin, it is at most this margin.
        """
        parts = []
        for block in _split(margin, models):
            cells = np.ix_(self._rows, block[1])
            critical = add_skewness(self._find_critical(*block)[:, None], -self._estimated.skewness[cells])
            usable = self._usable[cells]
            lower = self._estimated.difference[cells] - critical * np.where(usable, self._estimated.error[cells], 0.0)
            parts.append(np.where(usable, lower, -np.inf).max(axis=(0, 2)))
        return np.concatenate(parts)

    def bound_regrets(self, steps: int = MAX_STEPS) -> Floats:
        """Return a lower bound of the larger regret of every model under the tested metrics, each valid separately.

        The shape is (M,). The regrets of a model are below a margin if no other model is better by more than that. The
        margins that the test rejects are a confidence statement, so the bound is positive exactly if the test rejects
        the model. The smallest bound is one of the price of disagreement, at the level of the test.

        As the margin increases, more slack only decreases the critical values. So those at one margin are valid for all
        larger ones, up to the margin at which the statistic falls below them, and the next step starts there. Fewer
        steps give valid, lower bounds.
        """
        bounds = np.where(self.not_rejected, 0.0, self._find_rejected_margin(0.0, self._models))
        rising = np.flatnonzero(~self.not_rejected)
        precision = PRECISION * max(float(np.abs(self._estimated.difference[row]).max()) for row in self._rows)
        for _ in range(steps):
            if not len(rising):
                break
            further = self._find_rejected_margin(bounds[rising], rising)
            gained = further > bounds[rising] + precision
            bounds[rising] = np.maximum(bounds[rising], further)
            rising = rising[gained]
        return bounds


def _split(margin: float | Floats, models: Integers) -> list[tuple[Floats, Integers]]:
    """Return blocks of models with their margins."""
    margins = np.broadcast_to(margin, models.shape)
    starts = range(0, max(1, len(models)), MODEL_BLOCK)
    return [(margins[start : start + MODEL_BLOCK], models[start : start + MODEL_BLOCK]) for start in starts]


def bound_regrets_from_above(differences: Floats) -> Floats:
    """Return upper bounds of the regret of every model, shape (..., M), from simultaneous bounds of all pairs.

    `differences` are the lower bounds of `BootstrapDraws.bound_pairs`. The regret of model k is the largest difference
    of another model to it. It is at most the regret of any model j plus the difference of j to k, which is smaller if k
    and a better model differ on so few queries that only their share bounds the difference. The bounds are valid for a
    model that is selected by the data, 0 or more, and infinite if nothing can be decided.

    >>> lower = np.array([[0.0, 0.01, 0.01], [-0.04, 0.0, -0.09], [-0.04, -0.09, 0.0]])  # Of the column minus the row.
    >>> bound_regrets_from_above(lower).round(6)
    array([0.04, 0.03, 0.03])
    """
    direct = np.maximum(0.0, -differences.min(axis=-2))
    return np.asarray(np.maximum(0.0, (direct[..., None] - differences).min(axis=-2)) + 0.0)  # Not -0.0.


def compute_regret_band(estimated: Estimate, bootstrap: BootstrapDraws, alpha: float) -> tuple[Floats, Floats]:
    r"""Return simultaneous lower and upper bounds of all regrets under all metrics, shape (metrics, M) each.

    All regrets are between them with probability 1 − α. The lower bound is positive exactly if the model is ruled out.
    The upper bound is infinite if nothing can be decided.

    There are two steps, as in the test. Let d be the difference of j to k, e its standard error, and q₁ the 1 − β
    quantile of the largest studentized error of all pairs and metrics, with β = α/10. Then
    ρ(j) = max(0, maxᵢ(dᵢ − q₁eᵢ)) is a lower bound of the regret of every model j. The band is max_j(d − q e) to
    max_j(d + q e). From below, it can only fail because of a model j whose difference was overestimated, which is slack
    by the regret of j, at least ρ(j). From above, it can only fail because of a model j that is best, so that ρ(j) = 0.
    So q is the 1 − α + β quantile of the largest of ± t* over pairs with ρ(j) = 0, and of t* − ρ(j)/e over the others.

    A pair with a support of fewer than 30 queries or clusters cannot rule out a model.
    """
    beta, rows = max(alpha / 10, 1 / (bootstrap.draws + 1)), range(len(estimated.mean))
    models = range(estimated.mean.shape[1])
    count = max(1, len(rows) * len(models) * (len(models) - 1))

    def bound(level: float, slack: Floats) -> tuple[Floats, Floats]:
        """Return lower bounds of all differences and, by pairs that can rule out a model, of all regrets."""
        lower = bootstrap.bounds.bound_jointly(
            level, count, lambda part: bootstrap.find_shifted_quantile(rows, models, slack, 1 - part)
        )
        return lower, np.where(estimated.can_reject, lower, 0.0).max(axis=2, initial=0.0)

    _, first = bound(beta, np.zeros_like(estimated.error))
    slack = np.divide(first[:, None, :], estimated.error, out=np.zeros_like(estimated.error), where=estimated.error > 0)
    slack[(first[:, None, :] == 0) | (first[:, :, None] == 0)] = 0.0  # Both signs of a difference count for these.
    differences, lower = bound(alpha - beta, -slack)
    lower[lower <= estimated.tolerance[:, None]] = 0.0
    may_be_best = np.broadcast_to((first == 0)[:, None, :], differences.shape)
    upper = 0.0 - differences.transpose(0, 2, 1)  # Not -0.0.
    upper = np.maximum(0.0, upper.max(axis=2, initial=0.0, where=may_be_best))
    return lower, np.maximum(upper, np.maximum(0.0, estimated.difference.max(axis=2)))


def estimate_detectable_difference(
    bootstrap: BootstrapDraws, alpha: float, not_rejected: Bools, winner: Integers
) -> float:
    """Return the smallest true difference under one metric that rules out the other model with 80 % probability.

    It is (h(c) + z √(1 + c²/2ν)) · e, the largest one of the pairs in question. c is the largest critical value of the
    models in question if all their inequalities bind, h(c) corrects it for skewness, z = 0.84 is the 80 % point of the
    normal distribution, and e the standard error with ν degrees of freedom. It is infinite if no pair may rule out a
    model.

    In question are the models that may be best under both metrics, and the winners. If there is only one, all models
    are.
    """
    estimated, in_question = bootstrap.estimated, not_rejected.copy()
    in_question[winner] = True
    if in_question.sum() < 2:
        in_question[:] = True
    cells = np.ix_(np.full(len(estimated.mean), True), in_question, in_question)
    error, skewness = estimated.error[cells], estimated.skewness[cells]
    usable = estimated.can_reject[cells] & (error > 0)
    if not usable.any():
        return math.inf
    largest = bootstrap.max_t.max(axis=0)[in_question]
    critical = float(critical_value(largest, 1 - alpha + alpha / 10, bootstrap.weights).max())
    gain = NormalDist().inv_cdf(POWER) * np.sqrt(1 + critical**2 / (2 * bootstrap.bounds.freedom[cells]))
    return float(((add_skewness(critical, -skewness) + gain) * error).max(where=usable, initial=0.0))
