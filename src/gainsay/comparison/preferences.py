"""Preferences of people between two rankings, read from tables of labels or from scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .._common.arrays import numbers
from .._common.shown import printable
from .._common.typing import Floats, Frame, Ids, Integers, Numbers
from ..judgments import Judgments
from ..metrics.gains import at_bases, discounts
from .gain_values import GradeCounts, settle_discounts
from .labels import read_by_query, read_clusters

if TYPE_CHECKING:
    from ..metrics.dcg import DCG

SideBySide: TypeAlias = Mapping[str, Any] | Frame
"""Columns `a` and `b`, rankings as lists of labels, `preferred`, and perhaps `labels`."""
Scored: TypeAlias = tuple[Judgments, Numbers, Numbers, Ids]
"""Judgments, two rankings as scores, and the preferred one for each query."""

OUTCOMES = {"a": 1.0, "b": 0.0, "tie": 0.5}
SIDES = {"a": 1.0, "b": -1.0, 1: 1.0, -1: -1.0, 0: 0.0}
ROUNDING = 1e-12
"""Differences below this share of the largest possible value are rounding and count as 0."""


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
        difference: Floats = (gains[:, None] * self.counts).sum(axis=0) / self._compute_divisors(gains)
        return difference

    def compute_derivatives(self, gains: Floats) -> Floats:
        """Return the derivatives of the differences by the gain of each of `levels`, shape (grades, preferences)."""
        counts = self.counts - self.compute_differences(gains) * self.ideal if self.is_ratio else self.counts
        slopes: Floats = counts / self._compute_divisors(gains)
        return slopes

    def _compute_divisors(self, gains: Floats) -> Floats | float:
        ideal: Floats = (gains[:, None] * self.ideal).sum(axis=0)
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
    rankings: dict[str, list[Floats]] = {
        name: [read_grades(f"{name}[{row}]", labels) for row, labels in enumerate(table[name])]
        for name in ("a", "b", "labels")
        if name in columns
    }
    for name, rows in rankings.items():
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
    for row, (first, second) in enumerate(zip(rankings["a"], rankings["b"], strict=True)):
        if "labels" in rankings:
            _validate_judged(f"a[{row}]", first, row, rankings["labels"][row])
            _validate_judged(f"b[{row}]", second, row, rankings["labels"][row])
        elif template.is_ratio and not np.array_equal(np.sort(first), np.sort(second)):
            raise ValueError(
                f"a[{row}] and b[{row}] contain different labels, so the ideal ranking is unknown (row {row} of "
                "preferences). Pass the labels of all judged documents of each query in the column 'labels'."
            )
    if "labels" in rankings or template.is_ratio:
        return rankings.get("labels", rankings["a"])
    return [np.concatenate(pair) for pair in zip(rankings["a"], rankings["b"], strict=True)]


def _validate_judged(name: str, ranking: Floats, row: int, judged: Floats) -> None:
    """Raise if a ranking contains more documents of a grade than were judged."""
    shown, available = Counter(ranking.tolist()), Counter(judged.tolist())
    for label in sorted(shown):
        if label > 0 and shown[label] > available[label]:
            raise ValueError(
                f"{name} contains {shown[label]} documents of label {label:g}, but labels[{row}] has "
                f"{available[label]}. Pass the labels of all judged documents in the column 'labels'."
            )
