"""Fit of the gain base to preferences of people between rankings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from .._common.shown import TextResult, plain
from .._common.typing import Floats, Ids
from .._common.validation import validate_real
from .._common.words import format_confidence, format_exact, format_p_value, pluralize
from .data import validate_alpha
from .gain_values import name_path, read_template
from .labels import sum_by_cluster
from .preferences import Preferences, Scored, SideBySide, compute_gains, read_grades, read_preferences

if TYPE_CHECKING:
    import pandas as pd

    from ..metrics.names import MetricLike

STEPS = 24
"""Steps in log b in the range of bases."""

MAX_NEWTON_STEPS = 60
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
    _profile: pd.DataFrame = field(repr=False)
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
        size, units = pluralize(self.preferences, "preference"), self.preferences
        if self.clusters is not None:
            size, units = f"{size} in {pluralize(self.clusters, 'cluster')}", self.clusters
        if self.ties:
            size += f", {pluralize(self.ties, 'tie')} counted half for either side"
        if self.silent:
            size += f", {self.silent} without information"
        if not self.has_base:
            assert self.fit_p_value is not None
            answer = f"no gain base fits ({format_p_value(self.fit_p_value)})."
        else:
            lower, upper = self.lower > 0, math.isfinite(self.upper)
            interval = f"{self.lower:.2f} to {self.upper:.2f}" if lower and upper else "but every base fits"
            if lower != upper:
                interval = f"{self.lower:.2f} or more" if lower else f"{self.upper:.2f} or less"
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
            gains: list[float] = compute_gains(values, self.base).tolist()
            return gains
        assert self.table is not None
        unknown = [label for label in values.tolist() if label not in self.table]
        if unknown:
            raise ValueError(
                f"labels must be grades of the preferences, because no base fits, got {unknown[0]:g} (grades: "
                f"{', '.join(map(format_exact, self.table))})."
            )
        return [self.table[label] for label in values.tolist()]

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes and `text` as plain values for JSON. An infinite bound becomes None."""
        values = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        content: dict[str, Any] = plain(values | {"verdict": self.verdict, "text": self.text})
        return content


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
    >>> import gainsay as gs
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.choice(5, size=(2, 4000, 10), p=[0.4, 0.3, 0.15, 0.1, 0.05])
    >>> labels[1] = rng.permuted(labels[0], axis=1)
    >>> a, b = (gs.evaluate("ndcg_power(gain_base=1.5)@10", gs.Judgments(one.ravel(), group=[10] * 4000),
    ...                     np.tile(np.arange(10, 0, -1), 4000)).per_query[:, 0] for one in labels)
    >>> preferred = np.where(rng.random(4000) < 1 / (1 + np.exp(-20 * (a - b))), "a", "b")
    >>> fit = gs.fit_gain({"a": labels[0], "b": labels[1], "preferred": preferred})
    >>> fit.lower < 1.5 < fit.upper, fit.verdict
    (True, 'neither')
    """
    import pandas as pd

    level, (low, high) = validate_alpha(alpha), _validate_range(bases)
    template = read_template(metric)
    data = read_preferences(preferences, template, side, clusters)
    if np.ptp(data.outcome) == 0:
        side_of_all = {1.0: "a", 0.0: "b", 0.5: "neither side"}[float(data.outcome[0])]
        raise ValueError(
            f"preferences must be for both sides, but all {pluralize(len(data.outcome), 'preference')} are for "
            f"{side_of_all}. If one ranking is always preferred, exchange a and b in about half of the preferences."
        )
    grid = np.geomspace(low, high, STEPS + 1)
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
    from scipy.special import expit, log_expit

    outcome, side = data.outcome, data.side
    differences = np.stack([data.compute_at_base(base) for base in bases])
    scale = np.sqrt((differences**2).mean(axis=1))
    scale[scale == 0] = 1.0
    scaled = differences / scale[:, None]
    slope, effect = np.zeros((2, len(scaled)))

    def compute_likelihood(slope: Floats, effect: Floats) -> Floats:
        linear = slope[:, None] * scaled + effect[:, None] * side
        total: Floats = (outcome * linear + log_expit(-linear)).sum(axis=1)
        return total

    value = compute_likelihood(slope, effect)
    for _ in range(MAX_NEWTON_STEPS):
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
    from scipy.optimize import minimize_scalar

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
    from scipy.special import expit

    assert data.clusters is not None
    chance = expit(best.slope * data.compute_at_base(best.base) + best.side_effect * data.side)
    sums = sum_by_cluster(((data.outcome - chance)[:, None] * slopes).T, data.clusters)
    clusters = sums.shape[1]
    information: Floats = (slopes.T * (chance * (1 - chance))) @ slopes
    return information, sums @ sums.T * clusters / (clusters - 1)


def _find_interval(data: Preferences, lines: Sequence[_Line], best: _Line, alpha: float) -> tuple[float, float]:
    """Return the lowest and the highest base whose profile likelihood is close enough to the largest."""
    from scipy.optimize import brentq
    from scipy.stats import chi2, f

    deviation = _compute_deviation(data, best)
    quantile = chi2.ppf(1 - alpha, 1) if data.clusters is None else f.ppf(1 - alpha, 1, data.clusters.max())
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
    from scipy.stats import chi2, f

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
        return float(chi2.sf(ratio, freedom)), entries
    of_free, of_base = (
        float(np.trace(np.linalg.pinv(information) @ scores))
        for information, scores in (_compute_information(data, best, slopes) for slopes in (free, base))
    )
    deviation = max((of_free - of_base) / freedom, 1e-12)
    return float(f.sf(ratio / deviation / freedom, freedom, data.clusters.max())), entries


def _fit_table(data: Preferences, best: _Line, gains: Floats) -> tuple[Floats, float]:
    """Return the most likely table g₁ ≤ … ≤ g_G = 1 and its log likelihood.

    The parameters are the logarithms of the increments of the gains (which are normalized), slope and side effect.
    """
    from scipy.optimize import minimize
    from scipy.special import expit, log_expit, softmax

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
