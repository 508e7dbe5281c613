"""Fit of the gain base to preferences of people between rankings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from .._common.alignment import index_of
from .._common.arrays import numbers
from .._common.checks import check_real
from .._common.shown import Spoken, plain
from .._common.typing import Floats, Frame, Ids, Numbers
from .._common.words import confidence, count, number_text
from ..evaluation.evaluator import weighted
from ..judgments import Judgments
from ..metrics.dcg import NDCG
from ..metrics.gains import at_bases, discounts, gains_of
from .data import validate_alpha
from .gain_values import (
    GradeCounts,
    at_base,
    name_path,
    read_template,
    scaled_gains,
    settle_discounts,
    validate_overflow,
)
from .labels import read_by_query

if TYPE_CHECKING:
    import pandas as pd

    from .._common.typing import Floats
    from ..metrics.dcg import DCG
    from ..metrics.names import MetricLike


STEPS = 80
"""Steps in log b in the range of bases."""

FEW_PREFERENCES = 30
"""With fewer preferences, the level of the interval is not reliable."""


@dataclass(frozen=True, eq=False, repr=False)
class GainFit(Spoken):
    """Base of the gain (b^l − 1)/(b − 1) that fits preferences best. `fit_gain` creates it.

    Attributes
    ----------
    metric : str
        The metric as a function of b.
    base : float
        Most likely base.
    lower, upper : float
        Profile likelihood interval of the base. `lower` is the lowest base of the range if that fits, too. `upper` is
        infinite if the highest base fits.
    slope : float
        Strength of the relation: P(a preferred) = 1/(1 + exp(−slope · difference)).
    preferences, ties : int
        Number of preferences, and of ties among them. A tie counts half for either side.
    silent : int
        Number of preferences between rankings with equal values at every base. They contain no information.
    grades : tuple of float
        Labels in the data.
    alpha : float
        Level of the interval.
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
    _bases: Floats = field(repr=False)
    _slopes: Floats = field(repr=False)
    _likelihood: Floats = field(repr=False)

    @property
    def verdict(self) -> Literal["linear", "exponential", "cannot tell", "neither"]:
        """Which of the two usual gains fit: linear (base 1), exponential (base 2), both or neither."""
        linear, exponential = (self.lower <= base <= self.upper for base in (1.0, 2.0))
        if linear and exponential:
            return "cannot tell"
        return "linear" if linear else "exponential" if exponential else "neither"

    def frame(self) -> pd.DataFrame:
        """Return the profile likelihood: `base`, its most likely `slope`, `log_likelihood`, `inside` the interval."""
        import pandas as pd

        inside = (self._bases >= self.lower) & (self._bases <= self.upper)
        columns = {"base": self._bases, "slope": self._slopes, "log_likelihood": self._likelihood, "inside": inside}
        return pd.DataFrame(columns)

    @property
    def text(self) -> str:
        """One paragraph with the numbers."""
        ties = f", {count(self.ties, 'tie')} counted half for either side" if self.ties else ""
        silent = f", {self.silent} without information" if self.silent else ""
        interval = f"{self.lower:.2f} or more" if math.isinf(self.upper) else f"{self.lower:.2f} to {self.upper:.2f}"
        answer = {
            "cannot tell": "linear (1) and exponential (2) both fit, so more preferences are needed.",
            "linear": "linear (1) fits, exponential (2) does not.",
            "exponential": "exponential (2) fits, linear (1) does not.",
            "neither": "neither linear (1) nor exponential (2) fits.",
        }[self.verdict]
        few = (
            f" Below {FEW_PREFERENCES} preferences, the confidence is approximate."
            if self.preferences < FEW_PREFERENCES
            else ""
        )
        shown = [number_text(label) for label in self.grades[:9]]
        worth = [f"{value:.3g}" for value in self.gains(self.grades[:9])]
        return (
            f"From {count(self.preferences, 'preference')}{ties}{silent}: gain base {self.base:.2f}, {interval} with "
            f"{confidence(self.alpha)} confidence. {answer.capitalize()} Grades {', '.join(shown)} have the gains "
            f"{', '.join(worth)}.{few}"
        )

    def gains(self, labels: Sequence[float]) -> list[float]:
        """Return the gains of labels at the most likely base, for example for `label_gain` of LightGBM.

        Examples
        --------
        >>> rankings = {"a": [[2, 0], [1, 1], [2, 1]] * 20, "b": [[1, 1], [2, 0], [1, 2]] * 20}
        >>> rankings |= {"labels": [[2, 1, 1, 0]] * 60, "preferred": ["b", "a", "a", "a", "b", "a"] * 10}
        >>> fit_gain(rankings).gains([0, 1])
        [0.0, 1.0]
        """
        read = numbers("labels", labels).astype(np.float64)
        wrong = ~(np.isfinite(read) & (read >= 0))
        if wrong.any():
            raise ValueError(f"labels must be finite and 0 or more, got {read[wrong][0]:g}.")
        metric = NDCG(gain="power", gain_base=self.base)
        found: list[float] = gains_of(metric.gain, read, metric.gain_base).tolist()
        return found

    def _repr_html_(self) -> str:
        from html import escape

        from .._common.notebook import scoped

        return scoped(
            f'<p class="a"><strong>{escape(self.verdict.capitalize())}</strong></p><p>{escape(self.text)}</p>'
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes and `text` as plain values for JSON. An infinite bound becomes None."""
        values = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        content: dict[str, Any] = plain(values | {"verdict": self.verdict, "text": self.text})
        return content


def fit_gain(
    preferences: SideBySide | Scored | Sequence[Scored],
    *,
    metric: MetricLike = "ndcg_linear@10",
    bases: tuple[float, float] = (1.0, 4.0),
    alpha: float = 0.05,
) -> GainFit:
    r"""Fit the gain to preferences of people between rankings.

    Each preference compares two rankings, a and b.

    Parameters
    ----------
    preferences : table or list
        Either a DataFrame or mapping with one entry per preference in the columns `a` and `b` (labels in ranked order),
        `preferred` (``"a"``, ``"b"`` or ``"tie"``), and `labels` (labels of all judged documents of the query), which
        is optional if a and b contain the same labels. Or a list of tuples (judgments, scores_a, scores_b, preferred),
        with one preference for each query of the judgments (a mapping and labels with an index are matched by query
        id), or a single one for all queries, such as the result of a launch.
    metric : str or Metric, default "ndcg_linear@10"
        Metric of the NDCG and DCG family to use with each gain.
    bases : tuple of two float, default (1.0, 4.0)
        Lowest and highest base.
    alpha : float, default 0.05
        Level of the interval.

    Returns
    -------
    GainFit

    Raises
    ------
    ValueError
        If preferences are empty, all for one side, or perfectly predicted by the metric, or if they contradict the
        labels or do not depend on the gain.

    Notes
    -----
    With d_b the difference of the NDCG of a and b under the gain (b^l − 1)/(b − 1), P(a preferred) =
    1/(1 + exp(−s · d_b)). Base b and slope s ≥ 0 are estimated by maximum likelihood. The interval of b contains all
    bases with a profile likelihood within χ²₁(1 − alpha)/2 of the largest.

    References
    ----------
    Kanoulas & Aslam 2009, Empirical justification of the gain and discount function for nDCG, CIKM.
    Burges et al. 2005, Learning to rank using gradient descent, ICML (the logistic model of preferences).

    Examples
    --------
    Rankings of ten documents, with preferences for which each grade adds 1.5 times the gain that the grade below adds:

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
    level, (low, high) = validate_alpha(alpha), _range(bases)
    template = read_template(metric)
    given = read_preferences(preferences, template)
    _validate_two_sided(given.outcome)
    at = np.exp(np.linspace(np.log(low), np.log(high), STEPS + 1))
    at[[0, -1]] = low, high
    differences = np.stack([given.differences(base) for base in at])
    _validate_telling(given.outcome, differences, at)
    slopes, likelihood = _profile(given.outcome, differences)
    if not slopes.any():
        raise ValueError(
            "preferences contradict the labels: at every base, rankings of lower value are preferred more often. Check "
            "that a and b are in the right order."
        )
    best, slope, top = _refined(given, at, int(likelihood.argmax()))
    lower, upper = _interval(at, likelihood, max(top, float(likelihood.max())), level)
    silent = int((np.abs(differences).max(axis=0) <= 1e-12).sum())
    ties = int((given.outcome == 0.5).sum())
    grades = tuple(given.grades.tolist())
    return GainFit(
        name_path(template), best, lower, upper, slope, len(given.outcome), ties, silent, grades, level, at, slopes,
        likelihood,
    )  # fmt: skip


def _range(bases: object) -> tuple[float, float]:
    if not isinstance(bases, Sequence) or isinstance(bases, str) or len(bases) != 2:
        raise TypeError(f"bases must be the lowest and the highest base, such as (1, 4), got {bases!r}.")
    low, high = (check_real(f"bases[{place}]", base, 1.0) for place, base in enumerate(bases))
    if not (math.isfinite(high) and low < high):
        raise ValueError(f"bases must be two finite numbers, the lower one first, got {bases!r}.")
    return low, high


def _validate_two_sided(outcome: Floats) -> None:
    if np.ptp(outcome) > 0:
        return
    side, other = {1.0: ("a", "b"), 0.0: ("b", "a")}.get(float(outcome[0]), ("neither side", ""))
    remedy = (
        f" If the preferred ranking is always {side}, exchange the rankings for about half of them, with "
        f"preferred={other!r}."
    )
    raise ValueError(
        f"preferences must be for both sides, but all {count(len(outcome), 'preference')} are for {side}."
        f"{remedy if other else ''}"
    )


def _validate_telling(outcome: Floats, differences: Floats, at: Floats) -> None:
    size = np.abs(differences).max()
    if size <= 1e-12:
        raise ValueError("a and b have equal values at every base in all preferences. Pass rankings that differ.")
    if np.ptp(differences, axis=0).max() <= 1e-12 * max(1.0, size):
        raise ValueError(
            "The differences of a and b are the same at every base, for example because only one grade above 0 occurs. "
            "Pass preferences between rankings with several grades."
        )
    agree = ((outcome - 0.5) * differences > 0) | ((outcome == 0.5) & (np.abs(differences) <= 1e-12))
    separated = agree.all(axis=1)
    if separated.any():
        where = "at every base" if separated.all() else f"at base {at[separated.argmax()]:.2f}"
        raise ValueError(
            f"The slope cannot be estimated, because {where} each of the {count(len(outcome), 'preference')} is for "
            "the ranking of higher value. Pass more preferences, including rankings that are almost equal."
        )


def _profile(outcome: Floats, differences: Floats) -> tuple[Floats, Floats]:
    """Return for each row of differences the most likely slope of 0 or more, and the log likelihood there."""
    from scipy.special import expit

    slope = np.zeros(len(differences))
    scale = np.sqrt((differences**2).mean(axis=1))
    scaled = differences / np.where(scale > 0, scale, 1.0)[:, None]
    value = _log_likelihood(outcome, scaled, slope)
    for _ in range(60):
        chance = expit(slope[:, None] * scaled)
        gradient = ((outcome - chance) * scaled).sum(axis=1)
        curvature = (chance * (1 - chance) * scaled**2).sum(axis=1)
        step = gradient / np.maximum(curvature, 1e-300)
        step = np.where((slope <= 0) & (step < 0), 0.0, np.clip(step, -slope, 4.0))
        tried = _log_likelihood(outcome, scaled, slope + step)
        while (tried < value - 1e-9).any():
            step = np.where(tried < value - 1e-9, step / 2, step)
            tried = _log_likelihood(outcome, scaled, slope + step)
        slope, value = slope + step, tried
        if np.abs(step).max() < 1e-8:
            break
    return np.where(scale > 0, slope / np.where(scale > 0, scale, 1.0), 0.0), value


def _log_likelihood(outcome: Floats, differences: Floats, slope: Floats) -> Floats:
    from scipy.special import log_expit

    linear = slope[:, None] * differences
    total: Floats = (outcome * log_expit(linear) + (1 - outcome) * log_expit(-linear)).sum(axis=1)
    return total


def _refined(given: Preferences, at: Floats, place: int) -> tuple[float, float, float]:
    """Return the most likely base near a place of the grid, the slope there, and the log likelihood."""
    from scipy.optimize import minimize_scalar

    def profile(logarithm: float) -> tuple[Floats, Floats]:
        return _profile(given.outcome, given.differences(float(np.exp(logarithm)))[None])

    ends = np.log(at[[max(0, place - 1), min(len(at) - 1, place + 1)]])
    found = minimize_scalar(lambda base: -float(profile(base)[1][0]), bounds=tuple(ends), method="bounded")
    tried = [float(at[place]), float(np.exp(found.x))]
    results = [profile(float(np.log(base))) for base in tried]
    best = int(results[1][1][0] > results[0][1][0] + 1e-9)
    return tried[best], float(results[best][0][0]), float(results[best][1][0])


def _interval(at: Floats, likelihood: Floats, top: float, alpha: float) -> tuple[float, float]:
    """Return the lowest and the highest base whose profile likelihood is near enough to the largest."""
    from scipy.stats import chi2

    margin = likelihood - top + chi2.ppf(1 - alpha, 1) / 2
    inside = np.flatnonzero(margin >= 0)
    if not len(inside):  # between two points of the grid
        inside = np.array([int(likelihood.argmax())])

    def edge(within: int, beyond: int) -> float:
        share = margin[within] / (margin[within] - margin[beyond])
        return float(at[within] + (at[beyond] - at[within]) * min(1.0, max(0.0, share)))

    first, last = int(inside[0]), int(inside[-1])
    lower = float(at[0]) if first == 0 else edge(first, first - 1)
    return lower, math.inf if last == len(at) - 1 else edge(last, last + 1)


SideBySide: TypeAlias = Mapping[str, Any] | Frame
"""Columns `a` and `b`, rankings as lists of labels, `preferred`, and perhaps `labels`."""
Scored: TypeAlias = tuple[Judgments, Numbers, Numbers, Ids]
"""Judgments, two rankings as scores, and which is preferred: for each query, or in all."""

SAID = {"a": 1.0, "b": 0.0, "tie": 0.5}
"""What a preference counts for a."""


class Preferences:
    """Preferences between two rankings, and by how much the rankings differ under the gain of any base.

    `outcome` is 1 where a was preferred, 0 where b was, one half for a tie.
    """

    def __init__(self, parts: Sequence[_Listed | _Scored]) -> None:
        self._parts = parts
        self.outcome: Floats = np.concatenate([part.outcome for part in parts])

    def differences(self, base: float) -> Floats:
        """Return the value of a less that of b for each preference; 0 where the metric has none."""
        found: Floats = np.nan_to_num(np.concatenate([part.differences(base) for part in self._parts]))
        return found

    @property
    def grades(self) -> Floats:
        """All labels that occur, ascending."""
        return np.unique(np.concatenate([[0.0], *(part.levels for part in self._parts)]))


class _Listed:
    """Rankings as lists of labels, first rank first."""

    def __init__(self, table: SideBySide, template: DCG) -> None:
        columns = list(map(str, table if isinstance(table, Mapping) else table.columns))
        for name in ("a", "b", "preferred"):
            if name not in columns:
                raise ValueError(
                    f"preferences has no column {name!r} (columns: {', '.join(columns)}); it needs a and b, labels in "
                    "ranked order, and preferred"
                )
        self.outcome = _outcomes(list(table["preferred"]), "preferred")
        count = len(self.outcome)
        lists = {name: [_labels(name, at, one) for at, one in enumerate(table[name])] for name in ("a", "b")}
        for name, rows in lists.items():
            if len(rows) != count:
                raise ValueError(f"{name} has {len(rows)} rankings, but preferred has {count} entries")
        if "labels" in columns:
            judged = [_labels("labels", at, one) for at, one in enumerate(table["labels"])]
            if len(judged) != count:
                raise ValueError(f"labels has {len(judged)} entries, but preferred has {count}")
            for name, rows in lists.items():
                for at, (shown, known) in enumerate(zip(rows, judged, strict=True)):
                    _validate_part(name, at, shown, known)
        else:
            pairs = list(zip(lists["a"], lists["b"], strict=True))
            for at, (first, second) in enumerate(pairs if template.is_ratio else ()):
                if not np.array_equal(np.sort(first), np.sort(second)):
                    raise ValueError(
                        f"row {at} of preferences shows different labels in a and b, so the ideal ranking is not "
                        "known: give the labels of all judged documents of each query as a column 'labels'"
                    )
            judged = lists["a"] if template.is_ratio else [np.concatenate(pair) for pair in pairs]
        self.levels = np.unique(np.concatenate([label[label > 0] for label in judged] or [np.zeros(0)]))
        longest = max([1, *map(len, [*lists["a"], *lists["b"], *(judged if template.is_ratio else [])])])
        depth = longest if template.k is None else min(longest, template.k)
        self._template = settle_discounts(template, depth)
        self._discount = discounts(self._template.discount, template.base, depth)
        self._first, self._second = (self._counts(lists[name]) for name in ("a", "b"))
        self._ideal = self._counts([-np.sort(-labels) for labels in judged])

    def _counts(self, rankings: Sequence[Floats]) -> Floats:
        """Return the discounted counts by grade, shape (grades, rankings)."""
        depth = len(self._discount)
        counts = np.zeros((len(self.levels), len(rankings)))
        for at, labels in enumerate(rankings):
            shown = labels[:depth]
            place = np.searchsorted(self.levels, shown[shown > 0])
            counts[:, at] = np.bincount(place, self._discount[: len(shown)][shown > 0], len(self.levels))
        return counts

    def differences(self, base: float) -> Floats:
        (alike,) = at_bases(self.levels, [base])
        if alike is None:  # too large for one table: those of each query are divided by the largest of its own
            validate_overflow(self._template, base, Judgments(self.levels, group=[len(self.levels)]))
        gains = scaled_gains(self.levels, self._ideal, base) if alike is None else alike[:, None]
        found: Floats = (gains * (self._first - self._second)).sum(axis=0)
        if self._template.is_ratio:
            ideal = (gains * self._ideal).sum(axis=0)
            found = np.divide(found, ideal, out=np.zeros_like(found), where=ideal > 0)
        return found


class _Scored:
    """Rankings as scores: one preference for each query, or one for all of them together, a launch."""

    def __init__(self, place: int, source: Sequence[Any], template: DCG) -> None:
        judgments, first, second, preferred = source
        if not isinstance(judgments, Judgments):
            raise TypeError(
                f"preferences[{place}] must be (judgments, scores_a, scores_b, preferred), and begins with a "
                f"{type(judgments).__name__}"
            )
        self._launch = isinstance(preferred, str)
        if isinstance(preferred, Mapping) or index_of(preferred) is not None:
            preferred = read_by_query(f"preferences[{place}]: preferred", preferred, judgments)
        said = [preferred] if self._launch else list(preferred)
        self.outcome = _outcomes(said, f"preferences[{place}]: preferred")
        if not self._launch and len(said) != judgments.queries:
            raise ValueError(
                f"preferences[{place}]: preferred has {len(said)} entries for {judgments.queries} queries: give one "
                "for each query, or a single one for a launch"
            )
        self._judgments = judgments
        self._grades = GradeCounts(settle_discounts(template, int(judgments.sizes.max())), judgments)
        self.levels = self._grades.levels
        self._first, self._second = self._grades.of(first), self._grades.of(second)

    def differences(self, base: float) -> Floats:
        first, second = (self._grades.values(counts, [base])[0] for counts in (self._first, self._second))
        found: Floats = first - second
        if not self._launch:
            return found
        metric = at_base(self._grades.template, base)
        sums, weights = weighted(metric, self._judgments, found)
        return np.array([sums.sum() / weights.sum() if weights.any() else 0.0])


def read_preferences(preferences: Any, template: DCG) -> Preferences:
    """Read preferences: a table of rankings side by side, or a list of scored ones; see `fit_gain`."""
    if isinstance(preferences, Mapping) or hasattr(preferences, "columns"):
        found = Preferences([_Listed(preferences, template)])
    elif isinstance(preferences, Sequence) and not isinstance(preferences, str):
        rows = [preferences] if len(preferences) == 4 and isinstance(preferences[0], Judgments) else preferences
        for place, row in enumerate(rows):
            if not isinstance(row, Sequence) or isinstance(row, str) or len(row) != 4:
                raise TypeError(f"preferences[{place}] must be (judgments, scores_a, scores_b, preferred), got {row!r}")
        if not rows:
            raise ValueError("preferences is empty: nothing says which ranking was preferred")
        found = Preferences([_Scored(place, row, template) for place, row in enumerate(rows)])
    else:
        raise TypeError(
            "preferences must be a table with columns a, b and preferred, or a list of (judgments, scores_a, scores_b, "
            f"preferred), got {type(preferences).__name__}"
        )
    if not len(found.outcome):
        raise ValueError("preferences is empty: nothing says which ranking was preferred")
    return found


def _outcomes(said: Sequence[Any], name: str) -> Floats:
    found = np.empty(len(said))
    for at, one in enumerate(said):
        value = SAID.get(one.strip().lower()) if isinstance(one, str) else None
        if value is None:
            raise ValueError(f"{name}[{at}] must be 'a', 'b' or 'tie', got {one!r}")
        found[at] = value
    return found


def _labels(name: str, at: int, labels: Any) -> Floats:
    try:
        found = numbers(name, labels).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}[{at}] must be a list of labels in ranked order, got {labels!r}: {error}") from None
    if not np.isfinite(found).all() or (found < 0).any():
        raise ValueError(f"{name}[{at}] must be a list of finite labels of 0 or more in ranked order, got {labels!r}")
    return found


def _validate_part(name: str, at: int, shown: Floats, judged: Floats) -> None:
    """Raise where a ranking shows more documents of a grade than were judged."""
    levels, counts = np.unique(shown, return_counts=True)
    for level, shown_count in zip(levels.tolist(), counts.tolist(), strict=True):
        known = int((judged == level).sum())
        if level > 0 and shown_count > known:
            raise ValueError(
                f"{name}[{at}] shows {shown_count} documents of label {level:g}, but labels[{at}] has {known}: labels "
                "must hold those of all judged documents"
            )
