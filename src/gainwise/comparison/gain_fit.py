"""Fit of the gain base to preferences of people between rankings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import brentq, minimize, minimize_scalar
from scipy.special import expit, log_expit, softmax

from .._common.arrays import numbers
from .._common.text import TextResult, format_confidence, format_exact, format_p_value, pluralize, printable
from .._common.typing import Floats, Frame, Ids, Integers, Numbers
from .._common.validation import validate_real
from ..judgments import Judgments
from ..metrics.dcg import DCG, at_bases, discounts
from ..metrics.names import MetricLike
from .data import read_by_query, read_clusters, sum_by_cluster, validate_alpha
from .rankings import GradeCounts, name_path, read_template, settle_discounts

SideBySide: TypeAlias = Mapping[str, Any] | Frame
"""Columns `a` and `b`, rankings as lists of labels, `preferred`, and perhaps `labels`."""
Scored: TypeAlias = tuple[Judgments, Numbers, Numbers, Ids]
"""Judgments, two rankings as scores, and the preferred one for each query."""

OUTCOMES = {"a": 1.0, "b": 0.0, "tie": 0.5}
SIDES = {"a": 1.0, "b": -1.0, 1: 1.0, -1: -1.0, 0: 0.0}
ROUNDING = 1e-12
"""Differences below this share of the largest possible value are rounding and count as 0."""

MIN_PREFERENCES = 30
"""With fewer preferences or clusters, the level of the interval is not reliable."""

MAX_CONDITION = 1e6
"""The effects of slope, base and side cannot be separated beyond this condition number."""

MAX_TESTED_GRADES = 20
"""With more grades above 0, there is no test of fit."""


@dataclass(frozen=True, eq=False, repr=False)
class GainFit(TextResult):
    """Base of the gain (b^l − 1)/(b − 1) that fits preferences best. `fit_gain` creates it.

    Attributes
    ----------
    metric : str
        The metric as a function of b.
    base : float
        Most likely base.
    lower, upper : float
        Profile likelihood interval of the base. `lower` is 0 if the lowest base fits, `upper` is infinite if the
        highest base fits.
    slope : float
        Strength of the relation: P(a preferred) = 1/(1 + exp(−slope · difference − side_effect · side)).
    side_effect : float
        Log odds of the ranking that was shown first, if both have the same value.
    preferences, ties : int
        Number of preferences, and of ties among them. A tie counts half for either side.
    clusters : int or None
        Number of clusters. None if preferences are independent.
    silent : int
        Number of preferences between rankings with equal values at every base. They contain no information.
    grades : tuple of float
        Labels in the data.
    alpha : float
        Level of the interval and of the test of fit.
    fit_p_value : float or None
        P-value of the hypothesis that the gain has this form for some base. None for two grades above 0 or fewer, and
        for more than 20.
    table : dict of label to float, or None
        Most likely gain of each grade if gains only have to increase with the grade, 1 for the top grade. None
        without a test of fit.
    """

    metric: str
    base: float
    lower: float
    upper: float
    slope: float
    preferences: int
    ties: int
    silent: int
    grades: tuple[float, ...]
    alpha: float
    _profile: pd.DataFrame
    side_effect: float = 0.0
    clusters: int | None = None
    fit_p_value: float | None = None
    table: dict[float, float] | None = None

    @property
    def has_base(self) -> bool:
        """Whether the test of fit does not reject the form (b^l − 1)/(b − 1)."""
        return self.fit_p_value is None or self.fit_p_value > self.alpha

    @property
    def verdict(self) -> Literal["linear", "exponential", "cannot tell", "neither"]:
        """Which of the two usual gains fit: linear (base 1), exponential (base 2), both or neither."""
        linear, exponential = (self.has_base and self.lower <= base <= self.upper for base in (1.0, 2.0))
        if linear and exponential:
            return "cannot tell"
        return "linear" if linear else "exponential" if exponential else "neither"

    def frame(self) -> pd.DataFrame:
        """Return the profile likelihood: `base`, its most likely `slope`, `log_likelihood`, `inside` the interval."""
        return self._profile.copy()

    @property
    def text(self) -> str:
        """One paragraph with the numbers."""
        size, units = pluralize(self.preferences, "preference"), self.clusters or self.preferences
        if self.clusters is not None:
            size += f" in {pluralize(self.clusters, 'cluster')}"
        if self.ties:
            size += f", {pluralize(self.ties, 'tie')} counted half for either side"
        if self.silent:
            size += f", {self.silent} without information"
        if self.fit_p_value is not None and not self.has_base:
            answer = f"no gain base fits ({format_p_value(self.fit_p_value)})."
        else:
            interval = {
                (True, True): f"{self.lower:.2f} to {self.upper:.2f}",
                (True, False): f"{self.lower:.2f} or more",
                (False, True): f"{self.upper:.2f} or less",
                (False, False): "but every base fits",
            }[self.lower > 0, math.isfinite(self.upper)]
            answer = f"gain base {self.base:.2f}, {interval} with {format_confidence(self.alpha)} confidence. "
            answer += {
                "cannot tell": "Linear (1) and exponential (2) both fit, so more preferences are needed.",
                "linear": "Linear (1) fits, exponential (2) does not.",
                "exponential": "Exponential (2) fits, linear (1) does not.",
                "neither": "Neither linear (1) nor exponential (2) fits.",
            }[self.verdict]
        grades, gains = self.grades[:9], ", ".join(f"{gain:.3g}" for gain in self.gains(self.grades[:9]))
        few = " With so few, the confidence is approximate." if units < MIN_PREFERENCES else ""
        return f"From {size}: {answer} Grades {', '.join(map(format_exact, grades))} have the gains {gains}.{few}"

    def gains(self, labels: Sequence[float]) -> list[float]:
        """Return the gains of labels, for example for `label_gain` of LightGBM.

        They are those of the most likely base, or of `table` if no base fits.

        Examples
        --------
        >>> rankings = {"a": [[2, 0], [1, 1], [2, 1]] * 20, "b": [[1, 1], [2, 0], [1, 2]] * 20}
        >>> rankings |= {"labels": [[2, 1, 1, 0]] * 60, "preferred": ["b", "a", "a", "a", "b", "a"] * 10}
        >>> fit_gain(rankings).gains([0, 1])
        [0.0, 1.0]
        """
        values = read_grades("labels", labels)
        if self.has_base:
            return list(compute_gains(values, self.base).tolist())
        table = self.table or {}
        for label in values.tolist():
            if label not in table:
                raise ValueError(
                    f"labels must be grades of the preferences, because no base fits, got {label:g} (grades: "
                    f"{', '.join(map(format_exact, table))})."
                )
        return [table[label] for label in values.tolist()]

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes and `text` as plain values for JSON. An infinite bound becomes None."""
        return self._export((*(name for name in vars(self) if not name.startswith("_")), "verdict", "text"))


def fit_gain(
    preferences: SideBySide | Scored,
    *,
    metric: MetricLike = "ndcg_linear@10",
    bases: tuple[float, float] = (0.25, 4.0),
    side: Ids | None = None,
    clusters: Ids | None = None,
    alpha: float = 0.05,
) -> GainFit:
    r"""Fit the gain to preferences of people between rankings.

    Each preference compares two rankings, a and b. The page "Which gain fits my users" describes how to collect them.

    Parameters
    ----------
    preferences : table or tuple
        A DataFrame or mapping with the columns `a` and `b` (labels in ranked order), `preferred` (``"a"``, ``"b"`` or
        ``"tie"``), and `labels` (labels of all judged documents, optional if a and b contain the same labels). Or a
        tuple (judgments, scores_a, scores_b, preferred) with one preference per query.
    metric : str or Metric, default "ndcg_linear@10"
        Metric of the NDCG and DCG family to use with each gain.
    bases : tuple of two float, default (0.25, 4.0)
        Lowest and highest base. Base 1 is linear gain, base 2 exponential gain.
    side : sequence, shape (preferences,), optional
        The ranking that was shown on the left or first: ``"a"`` (or 1), ``"b"`` (−1), or 0 if neither was. By default,
        it was always a.
    clusters : sequence, shape (preferences,), optional
        Cluster of each preference, for example the judged pair or the person. Preferences of a cluster are treated as
        dependent.
    alpha : float, default 0.05
        Level of the interval and of the test of fit.

    Returns
    -------
    GainFit

    Raises
    ------
    ValueError
        If preferences are empty, all for one side, or perfectly predicted, if they contradict the labels, or if gain
        and side cannot be separated.

    Notes
    -----
    With d_b the difference of the NDCG of a and b under the gain (b^l − 1)/(b − 1), P(a preferred) =
    1/(1 + exp(−s · d_b − c · side)). Base b, slope s ≥ 0 and side effect c are estimated by maximum likelihood, and the
    interval of b by the profile likelihood. With clusters, the likelihood ratio is scaled by a sandwich variance. The
    test of fit compares this gain with a free table of gains. If it rejects, use the table instead of the base.
    The page "Statistical methods" has the details.

    References
    ----------
    Burges et al. 2005, Learning to rank using gradient descent, ICML (the logistic model of preferences).
    Rao & Scott 1984, On chi-squared tests for multiway contingency tables, Annals of Statistics 12 (clusters).

    Examples
    --------
    Rankings of ten documents, by people to whom each grade adds 1.5 times the gain that the grade below adds:

    >>> import numpy as np
    >>> import gainwise as gw
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.choice(5, size=(2, 4000, 10), p=[0.4, 0.3, 0.15, 0.1, 0.05])
    >>> labels[1] = rng.permuted(labels[0], axis=1)
    >>> a, b = (gw.evaluate("ndcg_power(gain_base=1.5)@10", gw.Judgments(one.ravel(), group=[10] * 4000),
    ...                     np.tile(np.arange(10, 0, -1), 4000)).per_query[:, 0] for one in labels)
    >>> preferred = np.where(rng.random(4000) < 1 / (1 + np.exp(-20 * (a - b))), "a", "b")
    >>> fit = gw.fit_gain({"a": labels[0], "b": labels[1], "preferred": preferred})
    >>> fit.lower < 1.5 < fit.upper, fit.verdict
    (True, 'neither')
    """
    level, (low, high) = validate_alpha(alpha), _validate_range(bases)
    template = read_template(metric)
    data = read_preferences(preferences, template, side, clusters)
    if np.ptp(data.outcome) == 0:
        side_of_all = {1.0: "a", 0.0: "b", 0.5: "neither side"}[float(data.outcome[0])]
        raise ValueError(
            f"preferences must be for both sides, but all {pluralize(len(data.outcome), 'preference')} are for "
            f"{side_of_all}. If one ranking is always preferred, exchange a and b in about half of the preferences."
        )
    grid = np.geomspace(low, high, 25)
    differences = np.stack([data.compute_at_base(base) for base in grid])
    _validate_variation(differences)
    lines = _fit_lines(data, grid.tolist())
    _validate_slopes(lines, len(data.outcome))
    best = _refine(data, lines)
    lower, upper = _find_interval(data, lines, best, level)
    fit_p_value, table = _test_fit(data, best)
    profile = pd.DataFrame(lines)[["base", "slope", "log_likelihood"]]
    return GainFit(
        name_path(template),
        best.base,
        lower,
        upper,
        best.slope,
        preferences=len(data.outcome),
        ties=int((data.outcome == 0.5).sum()),
        silent=int((differences == 0).all(axis=0).sum()),
        grades=(0.0, *data.levels.tolist()),
        alpha=level,
        _profile=profile.assign(inside=profile["base"].between(lower, upper)),
        side_effect=best.side_effect,
        clusters=None if data.clusters is None else int(data.clusters.max()) + 1,
        fit_p_value=fit_p_value,
        table=table,
    )


def _validate_range(bases: object) -> tuple[float, float]:
    if not isinstance(bases, Sequence) or isinstance(bases, str) or len(bases) != 2:
        raise TypeError(f"bases must be the lowest and the highest base, such as (0.25, 4), got {bases!r}.")
    low, high = (validate_real(f"bases[{place}]", base, 0.0) for place, base in enumerate(bases))
    if not 0 < low < high < math.inf:
        raise ValueError(f"bases must be two finite numbers above 0, the lower one first, got {bases!r}.")
    return low, high


def _validate_variation(differences: Floats) -> None:
    """Raise if all differences of a and b are 0, or proportional at all bases."""
    if not differences.any():
        raise ValueError("a and b have equal values at every base in all preferences. Pass rankings that differ.")
    spread = np.ptp(differences / np.abs(differences).max(axis=1, keepdims=True).clip(1e-300), axis=0)
    if spread.max() <= 1e-12:
        raise ValueError(
            "The differences of a and b are proportional at all bases, for example because only one grade above 0 "
            "occurs. Pass preferences between different rankings with several grades."
        )


class _Line(NamedTuple):
    """Logistic regression of preferences on the differences at a base."""

    base: float
    slope: float
    side_effect: float
    log_likelihood: float
    is_separated: bool


def _validate_slopes(lines: Sequence[_Line], number: int) -> None:
    """Raise if preferences are separated at some base, or contradict the labels at all."""
    separated = [line for line in lines if line.is_separated]
    if separated:
        place = "every base" if len(separated) == len(lines) else f"base {separated[0].base:.2f}"
        raise ValueError(
            f"The slope cannot be estimated, because at {place} each of the {pluralize(number, 'preference')} is for "
            "the ranking of higher value or the same side. Pass more preferences, including rankings that are almost "
            "equal."
        )
    if not any(line.slope for line in lines):
        raise ValueError(
            "preferences contradict the labels: at every base, rankings of lower value are preferred more often. Check "
            "that a and b are in the right order."
        )


def _fit_lines(data: Preferences, bases: Sequence[float]) -> list[_Line]:
    """Return the most likely slope of 0 or more and side effect at each base, by Newton's method."""
    outcome, side = data.outcome, data.side
    differences = np.stack([data.compute_at_base(base) for base in bases])
    scale = np.sqrt((differences**2).mean(axis=1))
    scale[scale == 0] = 1.0
    scaled = differences / scale[:, None]
    slope, effect = np.zeros((2, len(scaled)))

    def compute_likelihood(slope: Floats, effect: Floats) -> Any:
        linear = slope[:, None] * scaled + effect[:, None] * side
        return (outcome * linear + log_expit(-linear)).sum(axis=1)

    value = compute_likelihood(slope, effect)
    for _ in range(60):
        chance = expit(slope[:, None] * scaled + effect[:, None] * side)
        rest, curvature = outcome - chance, chance * (1 - chance)
        by_slope, by_effect = (rest * scaled).sum(axis=1), rest @ side
        first, second = (curvature * scaled**2).sum(axis=1).clip(1e-300), (curvature @ side**2).clip(1e-300)
        mixed = (curvature * scaled) @ side
        determinant = first * second - mixed**2
        separable = determinant > 1e-13 * first * second
        step = np.where(separable, second * by_slope - mixed * by_effect, by_slope)
        step = np.clip(step / np.where(separable, determinant, first), -slope, 4.0)
        turn = np.clip((by_effect - mixed * step) / second, -4.0, 4.0)
        trial = compute_likelihood(slope + step, effect + turn)
        while (trial < value - 1e-9).any():
            worse = trial < value - 1e-9
            step, turn = np.where(worse, step / 2, step), np.where(worse, turn / 2, turn)
            trial = compute_likelihood(slope + step, effect + turn)
        slope, effect, value = slope + step, effect + turn, trial
        size = np.maximum(np.abs(step), np.abs(turn))
        if size.max() < 1e-8:
            break
    parameters = (slope / scale, effect, value, size > 1e-3)
    return list(map(_Line, bases, *(values.tolist() for values in parameters)))


def _fit_line(data: Preferences, base: float) -> _Line:
    return _fit_lines(data, [base])[0]


def _refine(data: Preferences, lines: Sequence[_Line]) -> _Line:
    """Return the most likely parameters near the best base of the grid."""
    bases = [line.base for line in lines]
    place = int(np.argmax([line.log_likelihood for line in lines]))
    ends = np.log([bases[max(0, place - 1)], bases[min(len(bases) - 1, place + 1)]])
    minimum = minimize_scalar(
        lambda log_base: -_fit_line(data, float(np.exp(log_base))).log_likelihood, bounds=tuple(ends), method="bounded"
    )
    start, refined = _fit_line(data, bases[place]), _fit_line(data, float(np.exp(minimum.x)))
    return refined if refined.log_likelihood > start.log_likelihood + 1e-9 else start


def _compute_slopes(data: Preferences, best: _Line) -> Floats:
    """Return the derivatives of the log odds by slope, log b and side effect, shape (preferences, 3 or 2)."""
    step = 1e-4
    above, below = (data.compute_at_base(best.base * math.exp(change)) for change in (step, -step))
    by_base = (above - below) / step / 2
    columns = [data.compute_at_base(best.base), best.slope * by_base, *([data.side] if data.side.any() else [])]
    return np.stack(columns, axis=1)


def _compute_deviation(data: Preferences, best: _Line) -> float:
    """Return the ratio of the sandwich variance of log b to its model variance, 1 without clusters.

    Raise if slope, base and side effect cannot be separated.
    """
    slopes = _compute_slopes(data, best)
    lengths = np.linalg.norm(slopes, axis=0)
    if not lengths.all() or np.linalg.cond(slopes / lengths) > MAX_CONDITION:
        raise ValueError(
            "preferences cannot separate the effects of gain and side, because they are collinear. Pass preferences "
            "between rankings that differ in several ways, with both rankings shown first."
        )
    if data.clusters is None:
        return 1.0
    # The sandwich H⁻¹JH⁻¹ against the model variance H⁻¹.
    information, scores = _compute_information(data, best, slopes / lengths)
    model = np.linalg.pinv(information)
    return float((model @ scores @ model)[1, 1] / model[1, 1])


def _compute_information(data: Preferences, best: _Line, slopes: Floats) -> tuple[Floats, Floats]:
    """Return the information H and the variance of the scores J = C/(C − 1) Σ s_g s_g' over clusters g."""
    assert data.clusters is not None
    chance = expit(best.slope * data.compute_at_base(best.base) + best.side_effect * data.side)
    sums = sum_by_cluster(((data.outcome - chance)[:, None] * slopes).T, data.clusters)
    clusters = sums.shape[1]
    information: Floats = (slopes.T * (chance * (1 - chance))) @ slopes
    return information, sums @ sums.T * clusters / (clusters - 1)


def _find_interval(data: Preferences, lines: Sequence[_Line], best: _Line, alpha: float) -> tuple[float, float]:
    """Return the lowest and the highest base whose profile likelihood is close enough to the largest."""
    deviation = _compute_deviation(data, best)
    clusters = data.clusters
    quantile = stats.chi2.ppf(1 - alpha, 1) if clusters is None else stats.f.ppf(1 - alpha, 1, clusters.max())
    cutoff = float(deviation * quantile / 2)

    def compute_margin(log_base: float) -> float:
        return _fit_line(data, math.exp(log_base)).log_likelihood - best.log_likelihood + cutoff

    def find_edge(inside: float, outside: Floats) -> float:
        return math.exp(brentq(compute_margin, inside, float(outside), xtol=1e-6))

    bases = np.log([line.base for line in lines])
    likely = [line.log_likelihood >= best.log_likelihood - cutoff for line in lines]
    places = np.append(bases[likely], math.log(best.base))
    lowest, highest = float(places.min()), float(places.max())
    below, above = bases[bases < lowest - 1e-12], bases[bases > highest + 1e-12]
    lower = find_edge(lowest, below[-1]) if len(below) else 0.0
    return lower, find_edge(highest, above[0]) if len(above) else math.inf


def _test_fit(data: Preferences, best: _Line) -> tuple[float | None, dict[float, float] | None]:
    """Return the p-value of the test of fit and the most likely free table of gains."""
    levels = data.levels
    if not 2 < len(levels) <= MAX_TESTED_GRADES:
        return None, None
    gains = compute_gains(levels, best.base)
    table, likelihood = _fit_table(data, best, gains)
    entries = dict(zip([0.0, *levels.tolist()], [0.0, *table.tolist()], strict=True))
    base = _compute_slopes(data, best)
    free = np.column_stack([base[:, [0]], base[:, 2:], best.slope * data.compute_derivatives(gains)[:-1].T])
    freedom = int(np.linalg.matrix_rank(free / np.linalg.norm(free, axis=0).clip(1e-300))) - base.shape[1]
    if freedom < 1:
        return None, entries
    ratio = 2 * max(0.0, likelihood - best.log_likelihood)
    if data.clusters is None:
        return float(stats.chi2.sf(ratio, freedom)), entries
    of_free, of_base = (
        float(np.trace(np.linalg.pinv(information) @ scores))
        for information, scores in (_compute_information(data, best, slopes) for slopes in (free, base))
    )
    deviation = max((of_free - of_base) / freedom, 1e-12)
    return float(stats.f.sf(ratio / deviation / freedom, freedom, data.clusters.max())), entries


def _fit_table(data: Preferences, best: _Line, gains: Floats) -> tuple[Floats, float]:
    """Return the most likely table g₁ ≤ … ≤ g_G = 1 and its log likelihood.

    The parameters are the logarithms of the increments of the gains (which are normalized), slope and side effect.
    """
    levels = len(gains)
    table = gains / gains[-1]
    largest = np.abs(data.compute_at_base(best.base)).max()
    scale = best.slope * float(largest / np.abs(data.compute_differences(table)).max())

    def compute_loss(parameters: Floats) -> tuple[float, Floats]:
        increments, slope, effect = softmax(parameters[:levels]), scale * parameters[levels], parameters[-1]
        table = np.cumsum(increments)
        differences = data.compute_differences(table)
        linear = slope * differences + effect * data.side
        rest = data.outcome - expit(linear)
        by_gain = slope * (data.compute_derivatives(table) @ rest)
        by_increment = increments * (np.cumsum(by_gain[::-1])[::-1] - by_gain @ table)
        gradient = np.concatenate([by_increment, [scale * (rest @ differences), rest @ data.side]])
        return -float((data.outcome * linear + log_expit(-linear)).sum()), -gradient

    start = np.concatenate([np.log(np.diff(table, prepend=0.0).clip(1e-9)), [1.0, best.side_effect]])
    bounds = [(-40.0, 40.0)] * levels + [(0.0, None), (None, None)]
    result = minimize(
        compute_loss, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-13, "maxiter": 1000}
    )
    fitted: Floats = np.cumsum(softmax(result.x[:levels]))
    fitted[-1] = 1.0
    return fitted, -float(result.fun)


@dataclass(frozen=True, eq=False)
class Preferences:
    """Preferences between two rankings, and the difference of their values under any gain.

    Attributes
    ----------
    is_ratio : bool
        Whether values are divided by those of the ideal ranking.
    outcome : ndarray, shape (preferences,)
        1 if a was preferred, 0 if b was, one half for a tie.
    levels : ndarray, shape (grades,)
        All labels above 0, ascending.
    counts, ideal : ndarray, shape (grades, preferences)
        Discounted counts by grade: those of a minus those of b, and those of the ideal ranking.
    side : ndarray, shape (preferences,)
        1 if a was shown on the left or first, −1 if b was, 0 if neither was.
    clusters : ndarray of int, shape (preferences,), or None
        Cluster of each preference, 0 to C − 1.
    """

    is_ratio: bool
    outcome: Floats
    levels: Floats
    counts: Floats
    ideal: Floats
    side: Floats
    clusters: Integers | None

    def compute_at_base(self, base: float) -> Floats:
        """Return the value of a minus that of b for each preference under a power gain, 0 if it is only rounding."""
        gains = compute_gains(self.levels, base)
        difference = self.compute_differences(gains)
        largest = 1.0 if self.is_ratio else float((gains[:, None] * self.ideal).sum(axis=0).max())
        return np.where(np.abs(difference) <= ROUNDING * largest, 0.0, difference)

    def compute_differences(self, gains: Floats) -> Floats:
        """Return the same under a gain for each of `levels`."""
        return np.asarray((gains[:, None] * self.counts).sum(axis=0) / self._compute_divisors(gains))

    def compute_derivatives(self, gains: Floats) -> Floats:
        """Return the derivatives of the differences by the gain of each of `levels`, shape (grades, preferences)."""
        counts = self.counts - self.compute_differences(gains) * self.ideal if self.is_ratio else self.counts
        return np.asarray(counts / self._compute_divisors(gains))

    def _compute_divisors(self, gains: Floats) -> Floats | float:
        ideal = (gains[:, None] * self.ideal).sum(axis=0)
        return np.where(ideal > 0, ideal, 1.0) if self.is_ratio else 1.0


def compute_gains(labels: Floats, base: float) -> Floats:
    """Return the power gains of labels, or raise if they overflow."""
    (gains,) = at_bases(labels, [base])
    if gains is None:
        raise ValueError(f"labels must be smaller, got {labels.max():g}, whose gain at base {base:g} is too large.")
    return gains


def read_preferences(
    preferences: Any, template: DCG, side: Ids | None = None, clusters: Ids | None = None
) -> Preferences:
    """Read preferences from a table of rankings, or from scored rankings. `fit_gain` describes the arguments."""
    judgments = None
    if isinstance(preferences, Mapping) or hasattr(preferences, "columns"):
        outcome, levels, counts, ideal = _read_table(preferences, template)
    elif isinstance(preferences, Sequence) and len(preferences) == 4 and isinstance(preferences[0], Judgments):
        judgments, first, second, preferred = preferences
        outcome = _read_numbers("preferred", preferred, OUTCOMES, judgments)
        grades = GradeCounts(settle_discounts(template, int(judgments.sizes.max())), judgments)
        levels, counts, ideal = grades.levels, grades.count(first) - grades.count(second), grades.ideal
    else:
        raise TypeError(
            "preferences must be a table with columns a, b and preferred, or a tuple (judgments, scores_a, scores_b, "
            f"preferred), got {type(preferences).__name__}."
        )
    sides = np.ones(len(outcome)) if side is None else _read_numbers("side", side, SIDES, judgments)
    if len(sides) != len(outcome):
        raise ValueError(f"side has {len(sides)} entries, but there are {len(outcome)} preferences.")
    codes = None if clusters is None else read_clusters(clusters, len(outcome), judgments)
    if codes is not None and not codes.any():
        raise ValueError("clusters must have at least two distinct labels, got one.")
    return Preferences(template.is_ratio, outcome, levels, counts, ideal, sides, codes)


def _read_table(table: SideBySide, template: DCG) -> tuple[Floats, Floats, Floats, Floats]:
    """Return outcomes, levels, counts and ideal counts of rankings in lists of labels, first rank first."""
    columns = list(map(str, table if isinstance(table, Mapping) else table.columns))
    for name in ("a", "b", "preferred"):
        if name not in columns:
            raise ValueError(
                f"preferences has no column {name!r} (columns: {', '.join(columns)}). Pass a and b (labels in ranked "
                "order) and preferred."
            )
    outcome = _read_numbers("preferred", table["preferred"], OUTCOMES)
    if not len(outcome):
        raise ValueError("preferences is empty. Pass at least one preference.")
    rankings: dict[str, list[Floats]] = {}
    for name in ("a", "b", "labels") if "labels" in columns else ("a", "b"):
        rankings[name] = rows = [read_grades(f"{name}[{row}]", labels) for row, labels in enumerate(table[name])]
        if len(rows) != len(outcome):
            raise ValueError(f"{name} has {len(rows)} rankings, but preferred has {len(outcome)} entries.")
    first, second, judged = rankings["a"], rankings["b"], _find_judged(rankings, template)
    levels = np.unique(np.concatenate([labels[labels > 0] for labels in judged]))
    longest = max([1, *map(len, [*first, *second, *(judged if template.is_ratio else [])])])
    depth = longest if template.k is None else min(longest, template.k)
    discount = discounts(template.discount, template.base, depth)
    ideal = _count_grades([-np.sort(-labels) for labels in judged], levels, discount)
    counts = _count_grades(first, levels, discount) - _count_grades(second, levels, discount)
    return outcome, levels, counts, ideal


def _count_grades(rankings: Sequence[Floats], levels: Floats, discount: Floats) -> Floats:
    """Return the discounted counts by grade, shape (grades, rankings)."""
    counts = np.zeros((len(levels), len(rankings)))
    for column, labels in enumerate(rankings):
        top = labels[: len(discount)]
        places = np.searchsorted(levels, top[top > 0])
        counts[:, column] = np.bincount(places, discount[: len(top)][top > 0], len(levels))
    return counts


def _read_numbers(name: str, values: Any, meanings: Mapping[Any, float], judgments: Judgments | None = None) -> Floats:
    """Return the number of each value. For scored rankings, values with query ids are matched by them."""
    is_list = hasattr(values, "__len__") and not isinstance(values, str)
    if not is_list or (judgments is None and isinstance(values, Mapping)):
        raise TypeError(f"{name} must be a list with one entry per preference, got {_show(values)}.")
    rows = list(values if judgments is None else read_by_query(name, values, judgments))
    result = np.empty(len(rows))
    for row, value in enumerate(rows):
        key = value.strip().lower() if isinstance(value, str) else value
        if not isinstance(key, str | int | float | np.number) or isinstance(key, bool) or key not in meanings:
            raise ValueError(f"{name}[{row}] must be one of {', '.join(map(repr, meanings))}, got {_show(value)}.")
        result[row] = meanings[key]
    return result


def read_grades(name: str, labels: Any) -> Floats:
    """Return labels as numbers, or raise if some are not finite or below 0."""
    values = numbers(name, labels).astype(np.float64)
    if not (np.isfinite(values) & (values >= 0)).all():
        raise ValueError(f"{name} must be a list of finite labels of 0 or more, got {_show(labels)}.")
    return values


def _show(value: object, size: int = 80) -> str:
    """Return a value on one line, cut after some characters."""
    text = printable(repr(value))
    return text if len(text) <= size else f"{text[:size]}…"


def _find_judged(rankings: Mapping[str, Sequence[Floats]], template: DCG) -> Sequence[Floats]:
    """Return the labels of all judged documents, or raise if they are unknown or do not include the rankings."""
    for row, judged in enumerate(rankings.get("labels", [])):
        for name in ("a", "b"):
            shown, available = Counter(rankings[name][row].tolist()), Counter(judged.tolist())
            for label in sorted(shown - available):
                if label > 0:
                    raise ValueError(
                        f"{name}[{row}] contains {shown[label]} documents of label {label:g}, but labels[{row}] has "
                        f"{available[label]}. Pass the labels of all judged documents in the column 'labels'."
                    )
    if "labels" in rankings:
        return rankings["labels"]
    pairs = list(zip(rankings["a"], rankings["b"], strict=True))
    if not template.is_ratio:
        return list(map(np.concatenate, pairs))
    for row, (first, second) in enumerate(pairs):
        if not np.array_equal(np.sort(first), np.sort(second)):
            raise ValueError(
                f"a[{row}] and b[{row}] contain different labels, so the ideal ranking is unknown (row {row} of "
                "preferences). Pass the labels of all judged documents of each query in the column 'labels'."
            )
    return rankings["a"]
