"""Is there a model that no rival beats? Moment inequalities, tested in two steps (Romano, Shaikh & Wolf 2014).

That model k is best, under one metric or under several at once, says that no rival's mean is larger under any of them:
``mean[m, j] - mean[m, k] <= margin`` for every metric m and rival j. Each k is tested by itself at level α. The
hypothesis that *some* model is best is the union of these, so it is rejected where every k is, at the same level:
no correction for the number of models is due. Tested at one margin after another, the same inequalities bound regrets
and the price of disagreement from below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._common.typing import Bools, Floats, Integers
from .estimates import Estimate
from .resampling import Noise, critical_value

__all__ = ["FEWEST", "BestTest", "price_lower", "regret_lower", "two_step_test"]


FEWEST = 30
"""On fewer differing queries than this the normal limit says little: such a pair eliminates nobody."""


@dataclass(frozen=True)
class BestTest:
    """Outcome of testing every model for being best.

    Attributes
    ----------
    statistic : ndarray, shape (M,)
        The largest studentised lead of a rival, ``-inf`` where no pair may speak.
    critical : ndarray, shape (M,)
        The two-step critical value, 0 or more.
    kept : ndarray of bool, shape (M,)
        Which models may be best, the confidence set: those whose statistic does not exceed the critical value.
    p_values : ndarray, shape (M,)
        At most α exactly where `statistic` exceeds `critical`; never 0.
    reach : ndarray, shape (M,)
        Where a model is rejected, so it is for all margins from the one tested up to this one: the largest
        ``difference - critical · error`` of its rivals. Elsewhere at most the margin tested.
    inequalities : Inequalities
        What was tested, for further margins.
    """

    statistic: Floats
    critical: Floats
    kept: Bools
    p_values: Floats
    reach: Floats
    inequalities: Inequalities

    @property
    def p_value(self) -> float:
        """Of the hypothesis that some model is best."""
        return float(self.p_values.max())

    @property
    def lower(self) -> float:
        """Where every model is rejected, so they all are for margins up to this one: the smallest `reach`."""
        return float(self.reach.min())


def two_step_test(estimated: Estimate, noise: Noise, alpha: float, rows: Sequence[int] | None = None) -> BestTest:
    r"""Test for every model that it is best under all metrics, or those in `rows`.

    Step one bounds from above how far each inequality may be from binding, with c₁ the 1 − β quantile of the largest
    studentised error, β = α/10 (or 1/(B + 1), where B draws cannot show that); an inequality with
    λ = min(0, t + c₁) < 0 is slack and counts for less in step two, whose critical value is
    c = max(0, q_{1−α+β}(max(t* + λ))). The p-value is (1 + #{max(t* + λ) >= T})/(B + 1) + β, at most 1, and 1 where
    T <= 0.

    Where the standard error is 0 (a constant difference) t is +inf or −inf by the sign of the difference. A pair that
    differs on fewer than `FEWEST` queries gets −inf: it may not eliminate.

    References
    ----------
    Romano, Shaikh & Wolf (2014), "A practical two-step method for testing moment inequalities", Econometrica 82(5).
    """
    return Inequalities(estimated, noise, alpha, rows).tested(0.0)


class Inequalities:
    """What the test of some metrics stands on, whatever the margin."""

    def __init__(self, estimated: Estimate, noise: Noise, alpha: float, rows: Sequence[int] | None) -> None:
        self._rows = list(range(len(estimated.mean)) if rows is None else rows)
        self._noise, self._draws = noise, noise.values.shape[2]
        self._difference, self._error = estimated.difference[self._rows], estimated.error[self._rows]
        self._tolerance = estimated.tolerance[self._rows]
        self._speaks = estimated.support[self._rows] >= FEWEST
        self._alpha, self._beta = alpha, max(alpha / 10, 1 / (self._draws + 1))
        self._first = critical_value(noise.peaks[self._rows].max(axis=0), 1 - self._beta)
        self.enough = ENOUGH * float(np.abs(self._difference).max())

    def tested(self, margin: float | Floats, models: Sequence[int] | Integers | None = None) -> BestTest:
        """Test the models, or some of them, for being best up to a margin, one for all or one for each.

        A margin is by how much a rival may lead without harm, in the metrics' unit; who is not tested is a rival only.
        """
        tested = range(self._difference.shape[1]) if models is None else models
        difference, error, speaks = self._difference[:, tested], self._error[:, tested], self._speaks[:, tested]
        lead = difference - np.reshape(margin, (-1, 1))
        t = np.where(lead > self._tolerance[:, None, None], np.inf, -np.inf)
        t = np.where(speaks, np.divide(lead, error, out=t, where=error > 0), -np.inf)
        statistic = t.max(axis=(0, 2))
        slack = np.minimum(0.0, t + self._first[tested, None])
        largest = self._noise.shifted_peaks(self._rows, tested, error, slack)
        critical = np.maximum(0.0, critical_value(largest, 1 - self._alpha + self._beta))
        exceeded = (largest >= statistic[:, None]).sum(axis=1)
        p_values = np.minimum(1.0, (1 + exceeded) / (self._draws + 1) + self._beta)
        reach = difference - critical[:, None] * np.where(t > -np.inf, error, 0.0)
        reach = np.where(t > -np.inf, reach, -np.inf).max(axis=(0, 2))
        kept = statistic <= critical
        return BestTest(statistic, critical, kept, np.where(statistic > 0, p_values, 1.0), reach, self)


STEPS, ENOUGH = 25, 1e-6
"""A lower bound is found in so many steps at most, and no further where one gains less than this of the widest lead."""


def regret_lower(tested: BestTest) -> Floats:
    """Bound the regret of every model under one metric from below, each by itself, shape (M,).

    The regret of a model is below a margin where no rival leads by more than that. The margins at which the test says
    otherwise are a confidence statement, so the bound is above 0 exactly where `tested`, the test of this metric at
    margin 0, rules the model out. It is found in steps, as that of `price_lower` is.
    """
    reached, rising = np.where(tested.kept, 0.0, tested.reach), np.flatnonzero(~tested.kept)
    for _ in range(STEPS):
        if not len(rising):
            break
        further = tested.inequalities.tested(reached[rising], rising).reach
        gained = further > reached[rising] + tested.inequalities.enough
        reached[rising] = np.maximum(reached[rising], further)
        rising = rising[gained]
    return reached


def price_lower(tested: BestTest, margin: float) -> float:
    """Bound the price of disagreement from below: the smallest margin at which some model may be best.

    The price is min over k of model k's worst-metric regret. A margin below it leaves no model best up to that margin,
    so the margins at which every model is rejected are a confidence statement about the price, at the test's own level:
    the bound is positive exactly where the test at margin 0 rejects.

    A margin is found to be rejected in steps, from `margin` on, at which `tested` is the test. As the margin grows,
    more slack can only lower the critical values; so those made at one margin serve for all larger ones, up to where
    the statistic falls below them. There the next step begins. Stopping early would leave a valid bound, only a lower
    one.
    """
    if tested.kept.any():
        return 0.0
    reached = margin
    for _ in range(STEPS):
        if tested.lower <= reached + tested.inequalities.enough:
            break
        reached = tested.lower
        tested = tested.inequalities.tested(reached)
    return max(reached, tested.lower)
