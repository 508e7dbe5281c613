"""Gaussian multiplier bootstrap of the errors of means.

Errors are drawn from their normal limit. Queries are not resampled, so the cost does not depend on queries times draws.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._common.typing import Floats, Integers
from .data import Panel
from .estimates import Estimate, draw_repeat_errors, estimate


@dataclass(frozen=True)
class BootstrapDraws:
    """Bootstrap draws of the errors of all means, and the largest t-statistic over each model in every draw.

    The standard error of fixed models is the same in every draw. The standard error of recipes is estimated from few
    repeats, so every draw has the error that so few repeats would show in it (a studentized parametric bootstrap). This
    makes the critical values as wide as necessary.

    Attributes
    ----------
    values : ndarray, shape (metrics, M, draws)
        Draws from the normal limit of the errors of the means. Duplicate models have equal draws.
    max_t : ndarray, shape (metrics, M, draws)
        Largest `compute_t` of any other model over model k in every draw, and 0 if that is negative.
    estimated : Estimate
        The estimate to which the errors belong.
    factor : ndarray, shape (M, draws), or None
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
        one = slice(row, row + 1)
        return BootstrapDraws(self.values[one], self.max_t[one], self.estimated.select(row), self.factor)

    def errors(self, row: int, k: int, j: int) -> float | Floats:
        """Return the standard error of the difference of two models, one for all draws or one for each."""
        error, repeats = float(self.estimated.error[row, k, j]), self.estimated.repeats
        if repeats is None or not 0 < error < np.inf:
            return error
        return self._combine_errors(row, repeats.query_error[row, k, j], k, j)

    def _combine_errors(self, row: int, of_queries: float, *models: int) -> float | Floats:
        """Return the error of queries and of the repeats of these models that each draw would show."""
        assert self.estimated.repeats is not None
        assert self.factor is not None
        variance = self.estimated.repeats.variance[row]
        drawn = [variance[k] * self.factor[k] for k in models if variance[k] > 0]
        if not drawn:
            return float(of_queries)
        total = drawn[0] if len(drawn) == 1 else drawn[0] + drawn[1]
        total += of_queries * of_queries
        found: Floats = np.sqrt(total, out=total)
        return found

    def compute_t(self, row: int, k: int, j: int, out: Floats | None = None) -> Floats:
        """Return the t-statistic of the error of the difference of model j to model k in every draw, shape (draws,).

        It is 0 if the two never differ or their variance is unknown. It is written to `out` if given.
        """
        t: Floats = np.subtract(self.values[row, j], self.values[row, k], out=out)
        error = self.errors(row, k, j)
        if isinstance(error, float):
            t *= 1 / error if 0 < error < np.inf else 0.0
        else:
            t /= error
        return t

    def compute_shifted_max_t(
        self, rows: Sequence[int], models: Sequence[int] | Integers, error: Floats, shift: Floats
    ) -> Floats:
        """Return the largest `compute_t` + shift of any other model over each model, or 0 if all are negative.

        `rows` are the metrics. `error` and `shift`, shape (rows, models, M), are the standard errors (pairs with 0 or
        infinity do not count) and shifts of 0 or less. The result has shape (models, draws).
        """
        largest, t = np.zeros((len(models), self.draws)), np.empty(self.draws)
        for place, k in enumerate(models):
            # No t-statistic over k exceeds `ceiling`, so one that is shifted by more stays below 0.
            ceiling = max(self.max_t[row, k].max(initial=0.0) for row in rows)
            active = (error[:, place] > 0) & (error[:, place] < np.inf) & (shift[:, place] + ceiling > 0)
            for m, j in np.argwhere(active).tolist():
                self.compute_t(rows[m], int(k), j, out=t)
                t += shift[m, place, j]
                np.maximum(largest[place], t, out=largest[place])
        return largest

    def half_widths(self, alpha: float) -> Floats:
        """Return the half-widths of simultaneous intervals of all differences, shape (metrics, M, M).

        The largest t-statistic over all ordered pairs is the largest absolute one over all pairs.
        """
        return compute_half_widths(self.estimated.error, float(critical_value(self.max_t.max(axis=(0, 1)), 1 - alpha)))

    def mean_half_widths(self, row: int, alpha: float) -> Floats:
        """Return the half-widths of simultaneous intervals of all means under one metric, shape (M,)."""
        return compute_half_widths(
            self.estimated.mean_error[row], float(critical_value(self.deviations(row), 1 - alpha))
        )

    def deviations(self, row: int) -> Floats:
        """Return the largest absolute t-statistic of the error of a mean in every draw, shape (draws,)."""
        largest, repeats = np.zeros(self.draws), self.estimated.repeats
        for k, mean_error in enumerate(self.estimated.mean_error[row]):
            if 0 < mean_error < np.inf:
                error = (
                    mean_error if repeats is None else self._combine_errors(row, repeats.query_mean_error[row, k], k)
                )
                np.maximum(largest, np.abs(self.values[row, k]) * (1 / error), out=largest)
        return largest


def draw_errors(estimated: Estimate, draws: int, seed: int, chunk: int = 2048) -> BootstrapDraws:
    """Draw the errors of the means from their normal limit: the Gaussian multiplier bootstrap.

    `chunk` is the number of draws at a time. The result does not depend on it beyond rounding.
    """
    metrics, models = estimated.mean.shape
    generator = np.random.default_rng(seed)
    values = np.empty((metrics * models, draws))
    for start in range(0, draws, chunk):
        stop = min(start + chunk, draws)
        values[:, start:stop] = (generator.standard_normal((stop - start, len(estimated.root))) @ estimated.root).T
    values = values.reshape(metrics, models, draws)
    factor = None if estimated.repeats is None else draw_repeat_errors(estimated.repeats, values, generator)
    for m in range(metrics):  # A matrix product may round equal columns differently.
        for k in range(models):
            if estimated.duplicate_of[m, k] != k:
                values[m, k] = values[m, estimated.duplicate_of[m, k]]
    bootstrap = BootstrapDraws(values, np.zeros_like(values), estimated, factor)
    _compute_max_t(bootstrap)
    return bootstrap


def _compute_max_t(bootstrap: BootstrapDraws) -> None:
    """Fill `max_t`."""
    metrics, models, draws = bootstrap.values.shape
    error, t = bootstrap.estimated.error, np.empty(draws)
    for m in range(metrics):
        for k in range(models - 1):
            for j in range(k + 1, models):
                if not 0 < error[m, k, j] < np.inf:
                    continue
                bootstrap.compute_t(m, k, j, out=t)
                np.maximum(bootstrap.max_t[m, k], t, out=bootstrap.max_t[m, k])
                np.negative(t, out=t)
                np.maximum(bootstrap.max_t[m, j], t, out=bootstrap.max_t[m, j])


def compute_half_widths(error: Floats, critical: float) -> Floats:
    """Return the half-widths of intervals, infinite for infinite errors."""
    finite = np.isfinite(error)
    widths: Floats = np.where(finite, np.where(finite, error, 0.0) * critical, np.inf)
    return widths


def critical_value(draws: Floats, level: float) -> Floats:
    """Return the quantile of `draws`, shape (…, B), that a statistic exceeds exactly if its p-value is ≤ 1 − level.

    This is the order statistic ``ceil(level · (B + 1))`` of B draws, which belongs to the p-value
    ``(1 + #{draws >= statistic}) / (B + 1)``.

    >>> float(critical_value(np.arange(1.0, 100.0), 0.95))
    95.0
    """
    count = draws.shape[-1]
    place = min(max(int(np.ceil(level * (count + 1) - 1e-9)), 1), count) - 1
    quantile: Floats = np.partition(draws, place)[..., place]
    return quantile


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
                    bootstrap = joint.bootstrap.select(names.index(metric))
                    self._estimates[metric,] = JointEstimate(
                        joint.panel.select([metric]), bootstrap.estimated, bootstrap
                    )
                    break
        return self.joint([metric])
