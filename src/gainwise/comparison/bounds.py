"""Bounds of the differences of models, of which every statement about models makes use.

The bound of a difference is that of a t distribution, corrected for skewness. If nearly all queries have the same
difference, the normal limit is not reliable, and the sample may contain none of the rare large losses. The bound is
then that of the share of the other queries, which may differ by the whole range of the metric.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from .._common import cached_property
from .._common.lazy import special
from .._common.typing import Bools, Floats, Integers
from .estimates import MIN_QUERIES, Counts, Estimate
from .panel import FEW_REPEATS

RARE_SHARE = 0.1
"""Share of the level for the bounds of pairs that differ on few queries, if there are others in the family."""


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


def bound_share(count: Counts | Integers | int, size: int, level: float) -> Floats:
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
        below[:, range(shape[1]), range(shape[1])] = (
            MIN_QUERIES  # The difference of a model to itself is not rare, but 0.
        )
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
