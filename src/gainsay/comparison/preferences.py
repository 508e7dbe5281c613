"""Preferences of people between two rankings, read from tables of labels or from scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .._common.alignment import index_of
from .._common.arrays import factorize, is_missing, numbers, objects
from .._common.shown import printable
from .._common.typing import Floats, Frame, Ids, Integers, Numbers
from ..evaluation.evaluator import weighted
from ..judgments import Judgments
from ..metrics.gains import at_bases, discounts
from .gain_values import GradeCounts, scaled_gains, settle_discounts, validate_overflow
from .labels import read_by_query

if TYPE_CHECKING:
    from .._common.typing import Integers
    from ..metrics.dcg import DCG

SideBySide: TypeAlias = Mapping[str, Any] | Frame
"""Columns `a` and `b`, rankings as lists of labels, `preferred`, and perhaps `labels`."""
Scored: TypeAlias = tuple[Judgments, Numbers, Numbers, Ids]
"""Judgments, two rankings as scores, and the preferred one for each query, or one for all queries."""

OUTCOMES = {"a": 1.0, "b": 0.0, "tie": 0.5}
SIDES = {"a": 1.0, "b": -1.0, 1: 1.0, -1: -1.0, 0: 0.0}
ROUNDING = 1e-12
"""Differences below this share of the largest possible value are rounding and count as 0."""


class Preferences:
    """Preferences between two rankings, and the difference of their values under any gain.

    Attributes
    ----------
    outcome : ndarray, shape (preferences,)
        1 if a was preferred, 0 if b was, one half for a tie.
    side : ndarray, shape (preferences,)
        1 if a was shown on the left or first, −1 if b was, 0 if neither was.
    clusters : ndarray of int, shape (preferences,), or None
        Cluster of each preference, 0 to C − 1.
    levels : ndarray
        All labels above 0, ascending.
    """

    def __init__(self, parts: Sequence[_Part], side: Ids | None, clusters: Ids | None) -> None:
        self._parts = parts
        self.outcome: Floats = np.concatenate([part.outcome for part in parts])
        self.levels: Floats = np.unique(np.concatenate([part.levels for part in parts]))
        self.side = np.ones(len(self.outcome)) if side is None else _read_sides(self._align("side", side))
        self.clusters = None if clusters is None else _read_clusters(self._align("clusters", clusters))

    def _align(self, name: str, values: Any) -> list[Any]:
        """Return one value per preference. Values with query ids are matched by them."""
        if isinstance(values, str) or not hasattr(values, "__len__"):
            raise TypeError(f"{name} must have one entry per preference, got {_show(values)}.")
        if len(self._parts) == 1 and isinstance(self._parts[0], _Scored) and not self._parts[0].is_launch:
            values = _match_queries(name, values, self._parts[0].judgments)
        elif isinstance(values, Mapping):
            raise TypeError(f"{name} must be in the order of the preferences, got a mapping. Pass a list.")
        if len(values) != len(self.outcome):
            raise ValueError(f"{name} has {len(values)} entries, but there are {len(self.outcome)} preferences.")
        return list(values)

    def differences(self, base: float) -> Floats:
        """Return the value of a minus that of b for each preference under a power gain, 0 if rounding or undefined."""
        parts = []
        for part in self._parts:
            gains = part.gains_at(base)
            difference = part.differences(gains)
            parts.append(np.where(np.abs(difference) <= ROUNDING * part.largest_value(gains), 0.0, difference))
        return np.concatenate(parts)

    def differences_of(self, gains: Floats) -> Floats:
        """Return the same under a gain for each of `levels`."""
        return np.concatenate(
            [part.differences(gains[np.searchsorted(self.levels, part.levels)]) for part in self._parts]
        )

    def slopes_of(self, gains: Floats) -> Floats:
        """Return the derivatives of `differences_of` by the gain of each of `levels`, shape (levels, preferences)."""
        slopes, start = np.zeros((len(self.levels), len(self.outcome))), 0
        for part in self._parts:
            places, stop = np.searchsorted(self.levels, part.levels), start + len(part.outcome)
            slopes[places, start:stop] = part.slopes(gains[places])
            start = stop
        return slopes


class _Part:
    """Discounted counts by grade of two rankings and of the ideal one, shape (grades, queries)."""

    outcome: Floats
    levels: Floats
    template: DCG
    counts: Floats
    """Counts of a minus those of b."""
    ideal: Floats
    judgments: Judgments

    def gains_at(self, base: float) -> Floats:
        """Return the power gain of each grade, shape (grades, 1), or (grades, queries) if gains overflow."""
        (gains,) = at_bases(self.levels, [base])
        if gains is not None:
            return gains[:, None]
        validate_overflow(self.template, base, self.judgments)
        return scaled_gains(self.levels, self.ideal, base)

    def largest_value(self, gains: Floats) -> float:
        """Return the largest possible value under these gains."""
        return 1.0 if self.template.is_ratio else float((gains * self.ideal).sum(axis=0).max(initial=0.0))

    def differences(self, gains: Floats) -> Floats:
        """Return the difference of a and b under gains of shape (grades,), (grades, 1) or (grades, queries)."""
        gains = gains[:, None] if gains.ndim == 1 else gains
        difference: Floats = (gains * self.counts).sum(axis=0)
        return self._average(difference / self._divisors(gains))

    def slopes(self, gains: Floats) -> Floats:
        """Return the derivatives of the differences by the gain of each grade, shape (grades, preferences)."""
        gains, counts = gains[:, None], self.counts
        divisors = self._divisors(gains)
        if self.template.is_ratio:
            counts = counts - (gains * counts).sum(axis=0) / divisors * self.ideal
        return np.stack([self._average(row) for row in counts / divisors])

    def _divisors(self, gains: Floats) -> Floats | float:
        ideal: Floats = (gains * self.ideal).sum(axis=0)
        return np.where(ideal > 0, ideal, 1.0) if self.template.is_ratio else 1.0

    def _average(self, values: Floats) -> Floats:
        """Return one value for each preference from one value for each query."""
        return values


class _Listed(_Part):
    """Rankings as lists of labels, first rank first."""

    def __init__(self, table: SideBySide, template: DCG) -> None:
        columns = list(map(str, table if isinstance(table, Mapping) else table.columns))
        for name in ("a", "b", "preferred"):
            if name not in columns:
                raise ValueError(
                    f"preferences has no column {name!r} (columns: {', '.join(columns)}). Pass a and b (labels in "
                    "ranked order) and preferred."
                )
        self.outcome = _read_outcomes(list(table["preferred"]), "preferred")
        lists = {name: [_read_labels(name, row, labels) for row, labels in enumerate(table[name])] for name in "ab"}
        judged = self._read_judged(table, lists, template) if "labels" in columns else None
        for name, rows in lists.items():
            if len(rows) != len(self.outcome):
                raise ValueError(f"{name} has {len(rows)} rankings, but preferred has {len(self.outcome)} entries.")
        if judged is None:
            judged = _find_judged(lists["a"], lists["b"], template)
        self.levels = np.unique(np.concatenate([labels[labels > 0] for labels in judged] or [np.zeros(0)]))
        longest = max([1, *map(len, [*lists["a"], *lists["b"], *(judged if template.is_ratio else [])])])
        depth = longest if template.k is None else min(longest, template.k)
        self.template = settle_discounts(template, depth)
        self._discount = discounts(self.template.discount, template.base, depth)
        self.counts = self._count(lists["a"]) - self._count(lists["b"])
        self.ideal = self._count([-np.sort(-labels) for labels in judged])

    def _read_judged(self, table: SideBySide, lists: Mapping[str, Sequence[Floats]], template: DCG) -> list[Floats]:
        judged = [_read_labels("labels", row, labels) for row, labels in enumerate(table["labels"])]
        if len(judged) != len(self.outcome):
            raise ValueError(f"labels has {len(judged)} entries, but preferred has {len(self.outcome)}.")
        for name, rows in lists.items():
            for row, (ranking, labels) in enumerate(zip(rows, judged, strict=False)):
                _validate_judged(name, row, ranking, labels)
        return judged

    @property
    def judgments(self) -> Judgments:  # type: ignore[override]
        """One query with all grades."""
        return Judgments(self.levels, group=[len(self.levels)])

    def _count(self, rankings: Sequence[Floats]) -> Floats:
        """Return the discounted counts by grade, shape (grades, rankings)."""
        depth = len(self._discount)
        counts = np.zeros((len(self.levels), len(rankings)))
        for column, labels in enumerate(rankings):
            top = labels[:depth]
            places = np.searchsorted(self.levels, top[top > 0])
            counts[:, column] = np.bincount(places, self._discount[: len(top)][top > 0], len(self.levels))
        return counts


class _Scored(_Part):
    """Rankings as scores, with one preference for each query, or one for all of them (a launch)."""

    def __init__(self, place: int, source: Sequence[Any], template: DCG) -> None:
        judgments, first, second, preferred = source
        if not isinstance(judgments, Judgments):
            raise TypeError(
                f"preferences[{place}] must be (judgments, scores_a, scores_b, preferred), got a "
                f"{type(judgments).__name__} in place of the judgments."
            )
        title = f"preferences[{place}]: preferred"
        self.is_launch = isinstance(preferred, str)
        outcomes = [preferred] if self.is_launch else list(_match_queries(title, preferred, judgments))
        self.outcome = _read_outcomes(outcomes, title)
        if not self.is_launch and len(outcomes) != judgments.queries:
            raise ValueError(
                f"{title} has {len(outcomes)} entries for {judgments.queries} queries. Pass one for each query, or a "
                "single one for a launch."
            )
        self.judgments = judgments
        self.template = settle_discounts(template, int(judgments.sizes.max()))
        grades = GradeCounts(self.template, judgments)
        self.levels, self.ideal = grades.levels, grades.ideal
        self.counts = grades.of(first) - grades.of(second)
        self._skipped = grades.empty & (self.template.empty == "skip")

    def _average(self, values: Floats) -> Floats:
        if not self.is_launch:
            return values
        sums, weights = weighted(self.template, self.judgments, np.where(self._skipped, np.nan, values))
        return np.array([sums.sum() / weights.sum() if weights.any() else 0.0])


def read_preferences(
    preferences: Any, template: DCG, side: Ids | None = None, clusters: Ids | None = None
) -> Preferences:
    """Read preferences from a table of rankings, or from a list of scored ones. `fit_gain` describes the arguments."""
    parts: list[_Part]
    if isinstance(preferences, Mapping) or hasattr(preferences, "columns"):
        parts = [_Listed(preferences, template)]
    elif isinstance(preferences, Sequence) and not isinstance(preferences, str):
        rows = [preferences] if len(preferences) == 4 and isinstance(preferences[0], Judgments) else preferences
        for place, row in enumerate(rows):
            if not isinstance(row, Sequence) or isinstance(row, str) or len(row) != 4:
                raise TypeError(
                    f"preferences[{place}] must be (judgments, scores_a, scores_b, preferred), got {_show(row)}."
                )
        parts = [_Scored(place, row, template) for place, row in enumerate(rows)]
    else:
        raise TypeError(
            "preferences must be a table with columns a, b and preferred, or a list of (judgments, scores_a, scores_b, "
            f"preferred), got {type(preferences).__name__}."
        )
    if not any(len(part.outcome) for part in parts):
        raise ValueError("preferences is empty. Pass at least one preference.")
    return Preferences(parts, side, clusters)


def _match_queries(title: str, values: Any, judgments: Judgments) -> Any:
    """Return values in the order of the queries if they have query ids, otherwise unchanged."""
    if isinstance(values, Mapping) or index_of(values) is not None:
        return read_by_query(title, values, judgments)
    return values


def _read_outcomes(values: Sequence[Any], name: str) -> Floats:
    outcomes = np.empty(len(values))
    for row, value in enumerate(values):
        outcome = OUTCOMES.get(value.strip().lower()) if isinstance(value, str) else None
        if outcome is None:
            raise ValueError(f"{name}[{row}] must be 'a', 'b' or 'tie', got {_show(value)}.")
        outcomes[row] = outcome
    return outcomes


def _read_sides(values: Sequence[Any]) -> Floats:
    sides = np.empty(len(values))
    for row, value in enumerate(values):
        key = value.strip().lower() if isinstance(value, str) else value
        if isinstance(key, bool | np.bool_) or np.ndim(key) or is_missing(key) or key not in SIDES:
            raise ValueError(f"side[{row}] must be 'a', 'b', 1, -1 or 0 (neither), got {_show(value)}.")
        sides[row] = SIDES[key]
    return sides


def _read_clusters(values: Sequence[Any]) -> Integers:
    codes, names = factorize(objects(values))
    if (codes < 0).any():
        raise ValueError(f"clusters[{int(np.argmax(codes < 0))}] is missing. Pass a label for every preference.")
    if len(names) < 2:
        raise ValueError(f"clusters must have at least two distinct labels, got {_show(names[0])} only.")
    return codes


def _read_labels(name: str, row: int, labels: Any) -> Floats:
    try:
        values = numbers(name, labels).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name}[{row}] must be a list of labels in ranked order, got {_show(labels)}: {printable(str(error))}"
        ) from None
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(
            f"{name}[{row}] must be a list of finite labels of 0 or more in ranked order, got {_show(labels)}."
        )
    return values


def _show(value: object, most: int = 80) -> str:
    """Return a value on one line, cut after some characters."""
    text = printable(repr(value))
    return text if len(text) <= most else f"{text[:most]}…"


def _find_judged(first: Sequence[Floats], second: Sequence[Floats], template: DCG) -> list[Floats]:
    """Return the labels of all judged documents if they are not given."""
    pairs = list(zip(first, second, strict=True))
    if not template.is_ratio:
        return [np.concatenate(pair) for pair in pairs]
    for row, (one, another) in enumerate(pairs):
        if not np.array_equal(np.sort(one), np.sort(another)):
            raise ValueError(
                f"a[{row}] and b[{row}] contain different labels, so the ideal ranking is unknown (row {row} of "
                "preferences). Pass the labels of all judged documents of each query in the column 'labels'."
            )
    return list(first)


def _validate_judged(name: str, row: int, ranking: Floats, judged: Floats) -> None:
    """Raise if a ranking contains more documents of a grade than were judged."""
    levels, counts = np.unique(ranking, return_counts=True)
    for level, count in zip(levels.tolist(), counts.tolist(), strict=True):
        available = int((judged == level).sum())
        if level > 0 and count > available:
            raise ValueError(
                f"{name}[{row}] contains {count} documents of label {level:g}, but labels[{row}] has {available}. Pass "
                "the labels of all judged documents in the column 'labels'."
            )
