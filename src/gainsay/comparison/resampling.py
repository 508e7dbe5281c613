"""Gaussian multiplier bootstrap of the errors of means.

Errors are drawn from their normal limit. Queries are not resampled, so the cost does not depend on queries times draws.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .._common.cached import cached_property
from .._common.typing import Floats, Integers
from .data import Panel
from .estimates import Estimate, draw_repeat_errors, estimate

MAX_BLOCK = 65_536
"""So many t-statistics are computed at a time, which fit into the cache of a processor."""

MAX_CHUNK = 2048
"""So many draws of all means are computed at a time."""

MAX_MODELS = 100
"""Number of models up to which all requested draws are used."""


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
    """Bootstrap draws of the errors of all means, and the largest t-statistic over each model in every draw.

    The standard error of fixed models is the same in every draw. The standard error of recipes is estimated from few
    repeats, so every draw has the error that so few repeats would show in it (a studentized parametric bootstrap). The
    standard error over few queries is estimated as well, so normal deviates are mapped to those of Student's
    distribution, see `map_to_t`. Both make the critical values as wide as necessary.

    Attributes
    ----------
    values : ndarray, shape (metrics, M, draws)
        Draws from the normal limit of the errors of the means. Duplicate models have equal draws.
    max_t : ndarray, shape (metrics, M, draws)
        Largest `compute_t` of any other model over model k in every draw, and 0 if that is negative.
    estimated : Estimate
        The estimate of these errors.
    factor : ndarray, shape (metrics, M, draws), or None
        Ratio of estimated to true variance of repeats in every draw. None if all models are fixed.
    """

    values: Floats
    max_t: Floats
    estimated: Estimate
    factor: Floats | None = None

    @property
    def draws(self) -> int:
        """Number of draws."""
        return int(self.values.shape[2])

    def select(self, row: int) -> BootstrapDraws:
        """Return the draws of one metric."""
        rows = slice(row, row + 1)
        factor = None if self.factor is None else self.factor[rows]
        return BootstrapDraws(self.values[rows], self.max_t[rows], self.estimated.select(row), factor)

    def compute_errors(self, row: int, k: int, others: Any, part: slice | Integers = slice(None)) -> Floats:
        """Return the standard errors of the differences of other models to model k in every draw, shape (…, draws).

        If all models are fixed, the last axis has length 1.
        """
        repeats = self.estimated.repeats
        if repeats is None:
            return np.asarray(self.estimated.error[row, k, others])[..., None]
        assert self.factor is not None
        variance = repeats.variance[row][:, None] * self.factor[row][:, part]
        squares = np.asarray(repeats.query_error[row, k, others])[..., None] ** 2 + variance[others] + variance[k]
        return np.asarray(np.sqrt(squares, out=squares))

    def compute_t(self, row: int, k: int, others: Any, part: slice | Integers = slice(None)) -> Floats:
        """Return the t-statistics of the errors of the differences of other models to model k, shape (…, draws).

        `others` is the index of a model, or selects several. `part` selects draws. A t-statistic is 0 if the two models
        never differ or their variance is unknown.
        """
        error = np.asarray(self.estimated.error[row, k, others])
        usable = (error > 0) & (error < np.inf)
        draws = self.values[row][:, part]
        t: Floats = draws[others] - draws[k]
        t *= np.divide(1.0, error, out=np.zeros_like(error), where=usable)[..., None]
        t = map_to_t(t, self.estimated.freedom)
        if self.factor is not None:  # Standard errors are those that so few repeats would show in each draw.
            shown, error = self.compute_errors(row, k, others, part), error[..., None]
            t *= np.divide(error, shown, out=np.zeros_like(shown), where=(shown > 0) & (error < np.inf))
        return t

    @cached_property
    def _by_draw(self) -> Floats:
        """The values in the shape (metrics, draws, M), which makes the selection of draws fast."""
        return np.ascontiguousarray(self.values.transpose(0, 2, 1))

    def compute_shifted_max_t(self, rows: Sequence[int], k: int, shift: Floats, part: Integers) -> Floats:
        """Return the largest `compute_t` + shift of any other model over model k in some draws, or 0 if all are less.

        `rows` are the metrics, `shift` contains shifts of 0 or less, shape (rows, M), and `part` the indices of draws.
        """
        largest = np.zeros(len(part))
        for row, shifts in zip(rows, shift, strict=True):
            error = self.estimated.error[row, k]
            used = (error > 0) & (error < np.inf) & (shifts + self.max_t[row, k].max(initial=0.0) > 0)
            binding, slack = np.flatnonzero(used & (shifts == 0)), np.flatnonzero(used & (shifts < 0))
            if self.factor is not None:
                t = self.compute_t(row, k, used, part) + shifts[used, None]
                np.maximum(largest, t.max(axis=0, initial=0.0), out=largest)
                continue
            # The map is monotonic, so the maximum over models without a shift comes first.
            draws = self._by_draw[row][part]
            unshifted = (draws.take(binding, axis=1) - draws[:, [k]]) * (1.0 / error[binding])
            np.maximum(largest, map_to_t(unshifted.max(axis=1, initial=0.0), self.estimated.freedom), out=largest)
            t = map_to_t((draws.take(slack, axis=1) - draws[:, [k]]) / error[slack], self.estimated.freedom)
            t += shifts[slack]
            np.maximum(largest, t.max(axis=1, initial=0.0), out=largest)
        return largest

    def find_shifted_quantile(
        self, rows: Sequence[int], models: Sequence[int] | Integers, shift: Floats, level: float
    ) -> float:
        """Return the `critical_value` of the largest `compute_t` + shift over any of these models.

        `shift`, shape (rows, models, M), contains shifts of 0 or less. So without shifts, the values are at least as
        large, and only draws with large values have to be computed.
        """
        # Selecting the rows first would copy the draws of all models.
        selected = np.ix_(np.asarray(rows), np.asarray(models))
        bound, error = self.max_t[selected].max(axis=(0, 1)), self.estimated.error[selected]
        if not shift[(error > 0) & (error < np.inf)].any():
            return float(critical_value(bound, level))
        order, values = np.argsort(-bound, kind="stable"), np.empty(0)
        number = self.draws - find_quantile_place(level, self.draws)  # the rank of the quantile from above
        while len(values) < self.draws:
            if len(values) >= number:
                quantile = float(np.partition(values, -number)[-number])
                if bound[order[len(values)]] <= quantile:
                    return quantile
            part = order[len(values) : len(values) + number + number // 2 + 1]
            shifted = [
                self.compute_shifted_max_t(rows, int(k), shift[:, place], part) for place, k in enumerate(models)
            ]
            values = np.concatenate([values, np.max(shifted, axis=0)])
        return float(np.partition(values, -number)[-number])

    def compute_half_widths(self, alpha: float) -> Floats:
        """Return the half-widths of simultaneous intervals of all differences, shape (metrics, M, M).

        The largest t-statistic over all ordered pairs is the largest absolute one over all pairs.
        """
        return compute_half_widths(self.estimated.error, float(critical_value(self.max_t.max(axis=(0, 1)), 1 - alpha)))

    def compute_mean_half_widths(self, row: int, alpha: float) -> Floats:
        """Return the half-widths of simultaneous intervals of all means under one metric, shape (M,)."""
        return compute_half_widths(
            self.estimated.mean_error[row], float(critical_value(self.compute_deviations(row), 1 - alpha))
        )

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


def draw_errors(estimated: Estimate, draws: int, seed: int, *, shared: bool = False) -> BootstrapDraws:
    """Draw the errors of the means from their normal limit: the Gaussian multiplier bootstrap.

    `shared` is that of `draw_repeat_errors`.
    """
    metrics, models = estimated.mean.shape
    generator = np.random.default_rng(seed)
    values = np.empty((metrics * models, draws))
    for start in range(0, draws, MAX_CHUNK):
        stop = min(start + MAX_CHUNK, draws)
        values[:, start:stop] = (generator.standard_normal((stop - start, len(estimated.root))) @ estimated.root).T
    values = values.reshape(metrics, models, draws)
    factor = None
    if estimated.repeats is not None:
        factor = draw_repeat_errors(estimated, values, generator, shared=shared)
    for m in range(metrics):  # A matrix product may round equal columns differently.
        copies = np.flatnonzero(estimated.duplicate_of[m] != np.arange(models))
        values[m, copies] = values[m, estimated.duplicate_of[m, copies]]
    bootstrap = BootstrapDraws(values, np.zeros_like(values), estimated, factor)
    _compute_max_t(bootstrap)
    return bootstrap


def _compute_max_t(bootstrap: BootstrapDraws) -> None:
    """Fill `max_t`. Every pair is computed once for both of its directions."""
    (metrics, models, total), fixed = bootstrap.values.shape, bootstrap.factor is None
    step = max(1, MAX_BLOCK // max(models, 1))
    error = bootstrap.estimated.error
    inverse = np.divide(1.0, error, out=np.zeros_like(error), where=(error > 0) & (error < np.inf))
    for m in range(metrics):
        for part in (slice(start, min(start + step, total)) for start in range(0, total, step)):
            draws = np.ascontiguousarray(bootstrap.values[m, :, part])
            highest, lowest, buffer = np.zeros_like(draws), np.zeros_like(draws), np.empty_like(draws)
            for k in range(models - 1):
                others = slice(k + 1, None)
                if fixed:
                    t = np.subtract(draws[others], draws[k], out=buffer[others])
                    t *= inverse[m, k, others, None]
                else:
                    t = bootstrap.compute_t(m, k, others, part)
                np.maximum(highest[k], t.max(axis=0), out=highest[k])
                np.minimum(lowest[others], t, out=lowest[others])
            largest = np.maximum(highest, -lowest)
            bootstrap.max_t[m, :, part] = map_to_t(largest, bootstrap.estimated.freedom) if fixed else largest


def compute_half_widths(error: Floats, critical: float) -> Floats:
    """Return the half-widths of intervals, infinite for infinite errors."""
    finite = np.isfinite(error)
    return np.where(finite, np.where(finite, error, 0.0) * critical, np.inf)


def critical_value(draws: Floats, level: float) -> Floats:
    """Return the quantile of `draws`, shape (…, B), that a statistic exceeds exactly if its p-value is ≤ 1 − level.

    This is the order statistic ``ceil(level · (B + 1))`` of B draws, which belongs to the p-value
    ``(1 + #{draws >= statistic}) / (B + 1)``.

    >>> float(critical_value(np.arange(1.0, 100.0), 0.95))
    95.0
    """
    place = find_quantile_place(level, draws.shape[-1])
    return np.asarray(np.partition(draws, place)[..., place])


def find_quantile_place(level: float, count: int) -> int:
    """Return the index of the `critical_value` of sorted draws."""
    return min(max(math.ceil(level * (count + 1) - 1e-9), 1), count) - 1


class JointEstimate(NamedTuple):
    """Estimate of several metrics on their common queries, and bootstrap draws of its errors."""

    panel: Panel
    estimated: Estimate
    bootstrap: BootstrapDraws


class Sample:
    """Per-query values with the settings of all tests and intervals, and estimates that are computed once.

    `ranges` contains the range of each metric, by default infinite.
    """

    def __init__(
        self,
        panel: Panel,
        alpha: float,
        draws: int,
        seed: int,
        ranges: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        self.panel = panel
        self.alpha, self.draws, self.seed = alpha, draws, seed
        self.ranges = {metric: (ranges or {}).get(metric, (-np.inf, np.inf)) for metric in panel.metrics}
        self._estimates: dict[tuple[str, ...], JointEstimate] = {}

    def joint(self, metrics: Sequence[str]) -> JointEstimate:
        """Return the joint estimate of several metrics, computed on first use."""
        names = tuple(metrics)
        if names not in self._estimates:
            panel = self.panel.select(names)
            estimated = estimate(panel)
            self._estimates[names] = JointEstimate(panel, estimated, draw_errors(estimated, self.draws, self.seed))
        return self._estimates[names]

    def single(self, metric: str) -> JointEstimate:
        """Return the estimate of one metric, a part of a joint estimate if its queries are the same."""
        if (metric,) not in self._estimates:
            for names, joint in self._estimates.items():
                if metric in names and self.panel.counts(names).same:
                    bootstrap, panel = joint.bootstrap.select(names.index(metric)), joint.panel.select([metric])
                    self._estimates[metric,] = JointEstimate(panel, bootstrap.estimated, bootstrap)
                    break
        return self.joint([metric])
