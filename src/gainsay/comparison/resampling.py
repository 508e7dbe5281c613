"""Gaussian multiplier draws of the error of means.

The error is drawn from its normal limit, so no query is ever resampled and the cost does not grow with queries times
draws.
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
    """Draws of the error of all means, and the largest studentised lead over each model in every draw.

    Of fixed models the standard error is known well, and is the same in every draw. That of recipes comes from few
    repeats: every draw has the error that such few repeats would have shown in it, which makes the critical values as
    wide as they have to be (a studentised parametric bootstrap).

    Attributes
    ----------
    values : ndarray, shape (metrics, M, draws)
        Draws from the normal limit of the means' error. Duplicates hold the same numbers.
    max_t : ndarray, shape (metrics, M, draws)
        The largest `t` of any rival over model k in every draw, and 0 where that is negative.
    estimated : Estimate
        Of which these are the errors.
    factor : ndarray, shape (M, draws), or None
        By how much repeats would have shown another variance in every draw; None where all models are fixed.
    """

    values: Floats
    max_t: Floats
    estimated: Estimate
    factor: Floats | None = None

    @property
    def draws(self) -> int:
        """How many draws there are."""
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
        return self._shown(row, repeats.query_error[row, k, j], k, j)

    def _shown(self, row: int, of_queries: float, *models: int) -> float | Floats:
        """Return an error of queries together with that of these models' repeats, as every draw would have shown it."""
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
        """Return the studentised error of the lead of model j over model k in every draw, shape (draws,).

        0 where the two never differ, or nothing is known of how much they vary. Written into `out` where it is given.
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
        """Take in every draw the largest `compute_t` + shift of any rival over each model, or 0 where all are negative.

        For these metrics, and over each of these models, `error` and `shift` have that of every rival, shape (rows,
        models, M): what the lead is studentised by (0 and infinite ones never count), and 0 or less. The result has
        the shape (models, draws).
        """
        largest, t = np.zeros((len(models), self.draws)), np.empty(self.draws)
        for place, k in enumerate(models):
            # No lead over k exceeds `ceiling`, so one that is shifted further cannot reach above 0.
            ceiling = max(self.max_t[row, k].max(initial=0.0) for row in rows)
            active = (error[:, place] > 0) & (error[:, place] < np.inf) & (shift[:, place] + ceiling > 0)
            for m, j in np.argwhere(active).tolist():
                self.compute_t(rows[m], int(k), j, out=t)
                t += shift[m, place, j]
                np.maximum(largest[place], t, out=largest[place])
        return largest

    def half_widths(self, alpha: float) -> Floats:
        """Return how far intervals of all differences under all metrics reach on either side, shape (metrics, M, M).

        The largest studentised lead over all ordered pairs is the largest absolute one over all pairs.
        """
        return half_width(self.estimated.error, float(critical_value(self.max_t.max(axis=(0, 1)), 1 - alpha)))

    def mean_half_widths(self, row: int, alpha: float) -> Floats:
        """Return how far intervals of all means under one metric reach on either side, shape (M,)."""
        return half_width(self.estimated.mean_error[row], float(critical_value(self.deviations(row), 1 - alpha)))

    def deviations(self, row: int) -> Floats:
        """Return the largest absolute studentised error of the mean of any model in every draw, shape (draws,)."""
        largest, repeats = np.zeros(self.draws), self.estimated.repeats
        for k, known in enumerate(self.estimated.mean_error[row]):
            if 0 < known < np.inf:
                error = known if repeats is None else self._shown(row, repeats.query_mean_error[row, k], k)
                np.maximum(largest, np.abs(self.values[row, k]) * (1 / error), out=largest)
        return largest


def draw_errors(estimated: Estimate, draws: int, seed: int, chunk: int = 2048) -> BootstrapDraws:
    """Draw the error of the means from its normal limit: the Gaussian multiplier bootstrap.

    So many draws are made at a time as `chunk` says; the result does not depend on it beyond rounding.
    """
    metrics, models = estimated.mean.shape
    generator = np.random.default_rng(seed)
    values = np.empty((metrics * models, draws))
    for start in range(0, draws, chunk):
        stop = min(start + chunk, draws)
        values[:, start:stop] = (generator.standard_normal((stop - start, len(estimated.root))) @ estimated.root).T
    values = values.reshape(metrics, models, draws)
    factor = None if estimated.repeats is None else draw_repeat_errors(estimated.repeats, values, generator)
    for m in range(metrics):  # a matrix product may round equal columns differently
        for k in range(models):
            if estimated.duplicate_of[m, k] != k:
                values[m, k] = values[m, estimated.duplicate_of[m, k]]
    bootstrap = BootstrapDraws(values, np.zeros_like(values), estimated, factor)
    _compute_max_t(bootstrap)
    return bootstrap


def _compute_max_t(bootstrap: BootstrapDraws) -> None:
    """Write the largest studentised leads into the max_t."""
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


def half_width(error: Floats, critical: float) -> Floats:
    """Return how far intervals reach on either side, infinitely where nothing is known of an error."""
    finite = np.isfinite(error)
    half: Floats = np.where(finite, np.where(finite, error, 0.0) * critical, np.inf)
    return half


def critical_value(draws: Floats, level: float) -> Floats:
    """Return the quantile of `draws`, shape (…, B), that a statistic exceeds exactly where its p-value is ≤ 1 − level.

    That is the order statistic number ``ceil(level · (B + 1))`` of B draws, which goes with the p-value
    ``(1 + #{draws >= statistic}) / (B + 1)``.

    >>> float(critical_value(np.arange(1.0, 100.0), 0.95))
    95.0
    """
    count = draws.shape[-1]
    place = min(max(int(np.ceil(level * (count + 1) - 1e-9)), 1), count) - 1
    found: Floats = np.partition(draws, place)[..., place]
    return found


class JointEstimate(NamedTuple):
    """Metrics that are estimated together, on the queries that all of them have."""

    panel: Panel
    estimated: Estimate
    bootstrap: BootstrapDraws


class Sample:
    """Per-query values, and what everything that is said of them stands on.

    All tests and intervals are at level `alpha`; `ranges` has between which values each metric lies, infinite where
    nothing is known.
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
        """Return the estimate of several metrics together and draws of its error, made when first asked for."""
        names = tuple(metrics)
        if names not in self._estimates:
            panel = self.panel.select(names)
            estimated = estimate(panel)
            self._estimates[names] = JointEstimate(panel, estimated, draw_errors(estimated, self.draws, self.seed))
        return self._estimates[names]

    def single(self, metric: str) -> JointEstimate:
        """Return the estimate of one metric on its own queries, a part of a larger family's where that has the same."""
        if (metric,) not in self._estimates:
            for names, joint in self._estimates.items():
                if metric in names and self.panel.counts(names).same:
                    bootstrap = joint.bootstrap.select(names.index(metric))
                    self._estimates[metric,] = JointEstimate(
                        joint.panel.select([metric]), bootstrap.estimated, bootstrap
                    )
                    break
        return self.joint([metric])
