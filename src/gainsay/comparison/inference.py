"""Is there a model that no rival beats? Moment inequalities, tested in two steps (Romano, Shaikh & Wolf 2014).

That model k is best, under one metric or under several at once, says that no rival's mean is larger under any of them:
``mean[m, j] - mean[m, k] <= margin`` for every metric m and rival j. Each k is tested by itself at level α. The
hypothesis that *some* model is best is the union of these, so it is rejected where every k is, at the same level:
no correction for the number of models is due. Tested at one margin after another, the same inequalities bound regrets
and the price of disagreement from below.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from .._common.typing import Bools, Floats, Integers
from .estimates import Estimate
from .resampling import BootstrapDraws, critical_value, half_width

MIN_QUERIES = 30
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
    rejected_margin : ndarray, shape (M,)
        Where a model is rejected, so it is for all margins from the one tested up to this one: the largest
        ``difference - critical · error`` of its rivals. Elsewhere at most the margin tested.
    inequalities : Inequalities
        What was tested, for further margins.
    """

    statistic: Floats
    critical: Floats
    not_rejected: Bools
    p_values: Floats
    rejected_margin: Floats
    inequalities: Inequalities

    @property
    def p_value(self) -> float:
        """Of the hypothesis that some model is best."""
        return float(self.p_values.max())

    @property
    def lower(self) -> float:
        """Where every model is rejected, so they all are for margins up to this one: the smallest `rejected_margin`."""
        return float(self.rejected_margin.min())


def two_step_test(
    estimated: Estimate, bootstrap: BootstrapDraws, alpha: float, rows: Sequence[int] | None = None
) -> BestTest:
    r"""Test for every model that it is best under all metrics, or those in `rows`.

    Step one bounds from above how far each inequality may be from binding, with c₁ the 1 − β quantile of the largest
    studentised error, β = α/10 (or 1/(B + 1), where B draws cannot show that); an inequality with
    λ = min(0, t + c₁) < 0 is slack and counts for less in step two, whose critical value is
    c = max(0, q_{1−α+β}(max(t* + λ))). The p-value is (1 + #{max(t* + λ) >= T})/(B + 1) + β, at most 1, and 1 where
    T <= 0.

    Where the standard error is 0 (a constant difference) t is +inf or −inf by the sign of the difference. A pair that
    differs on fewer than `MIN_QUERIES` queries gets −inf: it may not eliminate.

    References
    ----------
    Romano, Shaikh & Wolf (2014), "A practical two-step method for testing moment inequalities", Econometrica 82(5).
    """
    return Inequalities(estimated, bootstrap, alpha, rows).test(0.0)


class Inequalities:
    """What the test of some metrics stands on, whatever the margin."""

    def __init__(
        self, estimated: Estimate, bootstrap: BootstrapDraws, alpha: float, rows: Sequence[int] | None
    ) -> None:
        self._rows = list(range(len(estimated.mean)) if rows is None else rows)
        self._bootstrap, self._draws = bootstrap, bootstrap.values.shape[2]
        self._difference, self._error = estimated.difference[self._rows], estimated.error[self._rows]
        self._tolerance = estimated.tolerance[self._rows]
        self._has_support = estimated.support[self._rows] >= MIN_QUERIES
        self._alpha, self._beta = alpha, max(alpha / 10, 1 / (self._draws + 1))
        self._first = critical_value(bootstrap.max_t[self._rows].max(axis=0), 1 - self._beta)
        self.enough = ENOUGH * float(np.abs(self._difference).max())

    def test(self, margin: float | Floats, models: Sequence[int] | Integers | None = None) -> BestTest:
        """Test the models, or some of them, for being best up to a margin, one for all or one for each.

        A margin is by how much a rival may lead without harm, in the metrics' unit; who is not tested is a rival only.
        """
        tested = range(self._difference.shape[1]) if models is None else models
        difference, error, has_support = (
            self._difference[:, tested],
            self._error[:, tested],
            self._has_support[:, tested],
        )
        lead = difference - np.reshape(margin, (-1, 1))
        t = np.where(lead > self._tolerance[:, None, None], np.inf, -np.inf)
        t = np.where(has_support, np.divide(lead, error, out=t, where=error > 0), -np.inf)
        statistic = t.max(axis=(0, 2))
        slack = np.minimum(0.0, t + self._first[tested, None])
        largest = self._bootstrap.compute_shifted_max_t(self._rows, tested, error, slack)
        critical = np.maximum(0.0, critical_value(largest, 1 - self._alpha + self._beta))
        exceeded = (largest >= statistic[:, None]).sum(axis=1)
        p_values = np.minimum(1.0, (1 + exceeded) / (self._draws + 1) + self._beta)
        reach = difference - critical[:, None] * np.where(t > -np.inf, error, 0.0)
        reach = np.where(t > -np.inf, reach, -np.inf).max(axis=(0, 2))
        not_rejected = statistic <= critical
        return BestTest(statistic, critical, not_rejected, np.where(statistic > 0, p_values, 1.0), reach, self)


STEPS, ENOUGH = 25, 1e-6
"""A lower bound is found in so many steps at most, and no further where one gains less than this of the widest lead."""


def bound_regrets_from_below(tested: BestTest) -> Floats:
    """Bound the regret of every model under one metric from below, each by itself, shape (M,).

    The regret of a model is below a margin where no rival leads by more than that. The margins at which the test says
    otherwise are a confidence statement, so the bound is above 0 exactly where `tested`, the test of this metric at
    margin 0, rules the model out. It is found in steps, as that of `bound_price` is.
    """
    reached, rising = np.where(tested.not_rejected, 0.0, tested.rejected_margin), np.flatnonzero(~tested.not_rejected)
    for _ in range(STEPS):
        if not len(rising):
            break
        further = tested.inequalities.test(reached[rising], rising).rejected_margin
        gained = further > reached[rising] + tested.inequalities.enough
        reached[rising] = np.maximum(reached[rising], further)
        rising = rising[gained]
    return reached


def bound_price(tested: BestTest, margin: float) -> float:
    """Bound the price of disagreement from below: the smallest margin at which some model may be best.

    The price is min over k of model k's worst-metric regret. A margin below it leaves no model best up to that margin,
    so the margins at which every model is rejected are a confidence statement about the price, at the test's own level:
    the bound is positive exactly where the test at margin 0 rejects.

    A margin is found to be rejected in steps, from `margin` on, at which `tested` is the test. As the margin grows,
    more slack can only lower the critical values; so those made at one margin serve for all larger ones, up to where
    the statistic falls below them. There the next step begins. Stopping early would leave a valid bound, only a lower
    one.
    """
    if tested.not_rejected.any():
        return 0.0
    reached = margin
    for _ in range(STEPS):
        if tested.lower <= reached + tested.inequalities.enough:
            break
        reached = tested.lower
        tested = tested.inequalities.test(reached)
    return max(reached, tested.lower)


POWER = 0.80
"""The probability with which `estimate_detectable_difference` is detected."""


def bound_regrets_from_above(estimated: Estimate, bootstrap: BootstrapDraws, alpha: float) -> Floats:
    """Bound the regret of every model under every metric from above, all at once, shape (metrics, M).

    regret(m, k) = max over j of mean[m, j] − mean[m, k]. The bound is the largest of difference + q · error with q the
    1 − α quantile of the largest studentised error over all ordered pairs of all metrics, and so holds for whichever
    model is picked out afterwards, by whatever rule. Two models that never differ count as one model: how they would
    do on queries unlike these the sample cannot say. Not below 0; infinite below `MIN_QUERIES` queries or clusters.
    """
    if estimated.units < MIN_QUERIES:
        return np.full(estimated.mean.shape, np.inf)
    upper: Floats = np.maximum(0.0, (estimated.difference + bootstrap.half_widths(alpha)).max(axis=2))
    return upper


@dataclass(frozen=True)
class RegretBand:
    """A simultaneous band of regrets.

    Attributes
    ----------
    lower, upper : ndarray, shape (metrics, M)
        With probability 1 − α or more, all regrets under all metrics lie between them. `lower` is above 0 exactly where
        the band rules out that the model is best; `upper` is infinite below `MIN_QUERIES` queries or clusters.
    critical : float
        In standard errors of a difference, how far the band reaches on either side.
    """

    lower: Floats
    upper: Floats
    critical: float

    @property
    def may_be_best(self) -> Bools:
        """Under which metrics each model may be best: at all of them together, with probability 1 − α or more."""
        return self.lower <= 0


def compute_regret_band(estimated: Estimate, bootstrap: BootstrapDraws, alpha: float) -> RegretBand:
    r"""Bound all regrets from below and above, under all metrics and for all models at once.

    Two steps, as in the test. With d the lead of j over k, e its standard error and q₁ the 1 − β quantile of the
    largest studentised error of all pairs and metrics, β = α/10, ρ(j) = max(0, maxᵢ(dᵢ − q₁eᵢ)) bounds the regret of
    every model j from below. The band is max_j(d − q e) to max_j(d + q e). It can fail from below only by a rival j
    whose lead was overestimated, which is slack by j's own regret, at least ρ(j); and from above only by a rival that
    is best, so that ρ(j) = 0. So q is the 1 − α + β quantile of the largest of ± t* over pairs whose rival has
    ρ(j) = 0, and of t* − ρ(j)/e over the others.

    A pair that differs on fewer than `MIN_QUERIES` queries or clusters rules out nobody.
    """
    beta = max(alpha / 10, 1 / (bootstrap.draws + 1))
    max_t = bootstrap.max_t.max(axis=(0, 1))
    first = _lower(estimated, float(critical_value(max_t, 1 - beta)))
    slack = np.divide(first[:, None, :], estimated.error, out=np.zeros_like(estimated.error), where=estimated.error > 0)
    slack[(first[:, None, :] == 0) | (first[:, :, None] == 0)] = 0.0  # a lead and its negative, that of the other model
    rows, models = map(range, first.shape)
    largest = bootstrap.compute_shifted_max_t(rows, models, estimated.error, -slack).max(axis=0)
    critical = float(critical_value(largest, 1 - alpha + beta))
    lower = _lower(estimated, critical)
    lower[lower <= estimated.tolerance[:, None]] = 0.0
    if estimated.units < MIN_QUERIES:
        return RegretBand(lower, np.full_like(lower, np.inf), critical)
    reach = estimated.difference + half_width(estimated.error, critical)
    rival = np.broadcast_to((first == 0)[:, None, :], reach.shape)
    upper = np.maximum(0.0, reach.max(axis=2, initial=0.0, where=rival))
    return RegretBand(lower, np.maximum(upper, np.maximum(0.0, estimated.difference.max(axis=2))), critical)


def _lower(estimated: Estimate, critical: float) -> Floats:
    """Return max over j of d − q e, or 0, by those pairs that may speak."""
    has_support = (estimated.support >= MIN_QUERIES) & np.isfinite(estimated.error)
    reach = np.where(has_support, estimated.difference - critical * np.where(has_support, estimated.error, 0.0), 0.0)
    lower: Floats = np.maximum(0.0, reach.max(axis=2))
    return lower


def estimate_detectable_difference(
    estimated: Estimate, bootstrap: BootstrapDraws, alpha: float, not_rejected: Bools, winner: Integers
) -> float:
    """Return the smallest true lead under one metric that eliminates the trailing model with 80 % probability.

    (c + z) · e: c is the largest critical value of the models in question when all their inequalities bind, z = 0.84
    the 80 % point of the normal distribution, e the largest standard error of a difference between two of these
    models. All three err on the safe side, the more so the fewer rivals are near. Where one of the models is a recipe,
    its few repeats show another error every time: of the pairs of these models the largest lead is taken that exceeds c
    times the error shown in 80 % of the draws. Infinite where no pair varies, or none differs on 30 queries.

    In question are the models that are `not_rejected`, which may be best under both metrics, and the winners under
    each; all models where that is only one.
    """
    question = not_rejected.copy()
    question[winner] = True
    if question.sum() < 2:
        question[:] = True
    has_support = (estimated.support >= MIN_QUERIES) & question[:, None] & question
    error = float(estimated.error.max(where=has_support, initial=0.0))
    if error == 0:
        return math.inf
    max_t = bootstrap.max_t.max(axis=0)[question]
    critical = float(critical_value(max_t, 1 - alpha + alpha / 10).max())
    fixed = (critical + NormalDist().inv_cdf(POWER)) * error
    if estimated.repeats is None:
        return fixed
    chosen = np.argwhere(has_support & (estimated.error > estimated.repeats.query_error))
    return max([fixed, *(_revealed_difference(bootstrap, critical, *cell) for cell in chosen.tolist())])


def _revealed_difference(bootstrap: BootstrapDraws, critical: float, row: int, k: int, j: int) -> float:
    """Return the lead of j over k that exceeds its critical value in 80 % of the draws."""
    needed = critical * bootstrap.errors(row, k, j) - (bootstrap.values[row, j] - bootstrap.values[row, k])
    return float(critical_value(needed, POWER))


def estimate_best_probabilities(estimated: Estimate, bootstrap: BootstrapDraws) -> tuple[Floats, float]:
    """Return in what share of draws each model is best, shape (metrics, M), and in what share none is under all.

    A draw with ties is shared among those tied, so that rows sum to 1.
    """
    drawn = bootstrap.values + estimated.mean[:, :, None]
    best = drawn >= drawn.max(axis=1, keepdims=True)
    shares: Floats = (best / best.sum(axis=1, keepdims=True)).mean(axis=2)
    return shares, float(np.mean(~best.all(axis=0).any(axis=0)))
