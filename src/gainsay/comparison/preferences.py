"""Which of two rankings was preferred: reading what people said, one query at a time or launch by launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .._common.alignment import index_of
from .._common.arrays import numbers
from .._common.typing import Floats, Frame, Ids, Numbers
from ..evaluation.evaluator import weighted
from ..judgments import Judgments
from ..metrics.discounts import discounts
from ..metrics.gains import at_bases
from .grades import GradeCounts, at_base, check_overflow, scaled_gains, settled
from .labelling import by_query

if TYPE_CHECKING:
    from ..metrics.dcg import DCG

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

    def __init__(self, table: SideBySide, family: DCG) -> None:
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
                    _check_part(name, at, shown, known)
        else:
            pairs = list(zip(lists["a"], lists["b"], strict=True))
            for at, (first, second) in enumerate(pairs if family.is_ratio else ()):
                if not np.array_equal(np.sort(first), np.sort(second)):
                    raise ValueError(
                        f"row {at} of preferences shows different labels in a and b, so the ideal ranking is not "
                        "known: give the labels of all judged documents of each query as a column 'labels'"
                    )
            judged = lists["a"] if family.is_ratio else [np.concatenate(pair) for pair in pairs]
        self.levels = np.unique(np.concatenate([label[label > 0] for label in judged] or [np.zeros(0)]))
        longest = max([1, *map(len, [*lists["a"], *lists["b"], *(judged if family.is_ratio else [])])])
        depth = longest if family.k is None else min(longest, family.k)
        self._family = settled(family, depth)
        self._discount = discounts(self._family.discount, family.base, depth)
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
            check_overflow(self._family, base, Judgments(self.levels, group=[len(self.levels)]))
        gains = scaled_gains(self.levels, self._ideal, base) if alike is None else alike[:, None]
        found: Floats = (gains * (self._first - self._second)).sum(axis=0)
        if self._family.is_ratio:
            ideal = (gains * self._ideal).sum(axis=0)
            found = np.divide(found, ideal, out=np.zeros_like(found), where=ideal > 0)
        return found


class _Scored:
    """Rankings as scores: one preference for each query, or one for all of them together, a launch."""

    def __init__(self, place: int, source: Sequence[Any], family: DCG) -> None:
        judgments, first, second, preferred = source
        if not isinstance(judgments, Judgments):
            raise TypeError(
                f"preferences[{place}] must be (judgments, scores_a, scores_b, preferred), and begins with a "
                f"{type(judgments).__name__}"
            )
        self._launch = isinstance(preferred, str)
        if isinstance(preferred, Mapping) or index_of(preferred) is not None:
            preferred = by_query(f"preferences[{place}]: preferred", preferred, judgments)
        said = [preferred] if self._launch else list(preferred)
        self.outcome = _outcomes(said, f"preferences[{place}]: preferred")
        if not self._launch and len(said) != judgments.queries:
            raise ValueError(
                f"preferences[{place}]: preferred has {len(said)} entries for {judgments.queries} queries: give one "
                "for each query, or a single one for a launch"
            )
        self._judgments = judgments
        self._grades = GradeCounts(settled(family, int(judgments.sizes.max())), judgments)
        self.levels = self._grades.levels
        self._first, self._second = self._grades.of(first), self._grades.of(second)

    def differences(self, base: float) -> Floats:
        first, second = (self._grades.values(counts, [base])[0] for counts in (self._first, self._second))
        found: Floats = first - second
        if not self._launch:
            return found
        metric = at_base(self._grades.family, base)
        sums, weights = weighted(metric, self._judgments, found)
        return np.array([sums.sum() / weights.sum() if weights.any() else 0.0])


def read_preferences(preferences: Any, family: DCG) -> Preferences:
    """Read preferences: a table of rankings side by side, or a list of scored ones; see `fit_gain`."""
    if isinstance(preferences, Mapping) or hasattr(preferences, "columns"):
        found = Preferences([_Listed(preferences, family)])
    elif isinstance(preferences, Sequence) and not isinstance(preferences, str):
        rows = [preferences] if len(preferences) == 4 and isinstance(preferences[0], Judgments) else preferences
        for place, row in enumerate(rows):
            if not isinstance(row, Sequence) or isinstance(row, str) or len(row) != 4:
                raise TypeError(f"preferences[{place}] must be (judgments, scores_a, scores_b, preferred), got {row!r}")
        if not rows:
            raise ValueError("preferences is empty: nothing says which ranking was preferred")
        found = Preferences([_Scored(place, row, family) for place, row in enumerate(rows)])
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


def _check_part(name: str, at: int, shown: Floats, judged: Floats) -> None:
    """Raise where a ranking shows more documents of a grade than were judged."""
    levels, counts = np.unique(shown, return_counts=True)
    for level, shown_count in zip(levels.tolist(), counts.tolist(), strict=True):
        known = int((judged == level).sum())
        if level > 0 and shown_count > known:
            raise ValueError(
                f"{name}[{at}] shows {shown_count} documents of label {level:g}, but labels[{at}] has {known}: labels "
                "must hold those of all judged documents"
            )
