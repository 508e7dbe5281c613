"""What documents of each grade at each rank add to the mean of a metric of the DCG family."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._common.checks import check_whole
from .._common.words import number_text
from ..metrics.base import depth_of
from ..ranking.rows import blank_code

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._common.typing import Floats, Integers
    from ..metrics.dcg import DCG, GainFacts
    from ..ranking.rows import RankedRows
    from .rankings import Rankings

MOST_GRADES = 20
"""As many distinct labels are grades of their own; more are put into bins."""

GRADE_BINS = 10

BANDS = (1, 2, 4, 6, 11)
"""First rank of each band, unless the caller says otherwise."""


class Grades(NamedTuple):
    """Grades in ascending order: their names, the lowest label of each, and the grade of every label code."""

    names: tuple[Any, ...]
    lowest: Floats
    of_code: Integers


def grades_of(levels: Floats) -> Grades:
    """Return the distinct labels as grades.

    More than `MOST_GRADES` of them (labels that are amounts, say) are cut into `GRADE_BINS` ranges that hold equally
    many distinct labels each, as nearly as may be: none is empty, and a label that most documents have fills no more
    of them than any other.
    """
    count = len(levels)
    bins = np.arange(count) if count <= MOST_GRADES else np.arange(count) * GRADE_BINS // count
    first = np.flatnonzero(np.diff(bins, prepend=-1))
    of_code = np.zeros(blank_code(count) + 1, dtype=np.int64)
    of_code[:count] = bins
    names: tuple[Any, ...] = tuple(plain_labels(levels))
    if count > MOST_GRADES:
        ends = list(zip(levels[first].tolist(), levels[np.append(first[1:], count) - 1].tolist(), strict=True))
        names = tuple(f"{low:g} to {high:g}" for low, high in ends)
        if len(set(names)) < len(names):
            names = tuple(f"{number_text(low)} to {number_text(high)}" for low, high in ends)
    return Grades(names, levels[first], of_code)


def plain_labels(labels: Floats) -> list[float]:
    """Return labels as people write them: whole numbers without a point."""
    return [int(label) if label.is_integer() and abs(label) < 1e15 else label for label in labels.tolist()]


class Bands(NamedTuple):
    """Bands of ranks from the top: their names and the first rank of each."""

    names: tuple[str, ...]
    starts: Integers


def rank_bands(starts: Sequence[int] | None, cutoffs: Sequence[int | None], longest: int) -> Bands:
    """Return bands that begin at the ranks `starts`, which ascend from 1; the last ends at the deepest cutoff.

    Bands that no query reaches, of which the longest has `longest` documents, are left out.

    Examples
    --------
    >>> rank_bands(None, [10], longest=120).names
    ('1', '2-3', '4-5', '6-10')
    >>> rank_bands([1, 4], [5, None], longest=120).names
    ('1-3', '4+')
    """
    firsts = list(BANDS) if starts is None else [check_whole("bands", start) for start in starts]
    if not firsts or firsts[0] != 1 or any(a >= b for a, b in pairwise(firsts)):
        raise ValueError(
            f"bands must be the first rank of each band, ascending from 1, such as {list(BANDS)}: got {starts!r}"
        )
    deepest = None if None in cutoffs else max(k for k in cutoffs if k is not None)
    reached = longest if deepest is None else min(longest, deepest)
    firsts = [first for first in firsts if first <= reached]
    return Bands(tuple(band_names(firsts, deepest)), np.array(firsts))


def band_names(firsts: Sequence[int], deepest: int | None) -> list[str]:
    """Return how bands of whole numbers are written that begin at `firsts`; the last one ends at the deepest, or never.

    >>> band_names([0, 1, 2], 9), band_names([1, 4], None)
    (['0', '1', '2-9'], ['1-3', '4+'])
    """
    lasts = [*(first - 1 for first in firsts[1:]), deepest]
    return [
        f"{first}+" if last is None else f"{first}" if first == last else f"{first}-{last}"
        for first, last in zip(firsts, lasts, strict=True)
    ]


class Split:
    """A metric whose weighted mean over queries is split by grade and band of ranks.

    `share`, (queries,), is what the value of each query counts for in the mean; they sum to 1.
    """

    def __init__(self, metric: DCG, rankings: Rankings, grades: Grades, bands: Bands) -> None:
        self.metric = metric
        self._facts: GainFacts = metric.bind(rankings.judgments, (metric.k,))
        self._empty = self._facts.empty[:, 0]
        self._grades, self._bands = grades, bands
        weights = np.where(self._empty, 0.0, rankings.weights) if metric.empty == "skip" else rankings.weights
        if not weights.any():
            raise ValueError(f"{metric} has no mean: every query of positive weight is without relevant documents")
        weights = weights / weights.max()  # first by the largest, so that the sum of huge weights does not overflow
        self.share: Floats = weights / weights.sum()

    def blank(self) -> Floats:
        """Return cells of zeros, shape (grades, bands)."""
        return np.zeros((len(self._grades.names), len(self._bands.names)))

    def values(self, rows: RankedRows) -> Floats:
        """Return the metric's own value of each row; 0 for an empty query, which tells no two models apart."""
        found = self.metric.score(rows, self._facts, (self.metric.k,))[:, 0]
        return np.where(self._empty[rows.queries], 0.0, found)

    def cells(self, rows: RankedRows) -> Floats:
        """Return what the rows add to the mean by grade and band, shape (grades, bands).

        A document adds gain * discount of its rank / ideal. In a run of equal scores every order is equally likely, so
        that each of its documents has the mean discount of the run's ranks (none beyond the cutoff); the part of that
        mean that comes from the ranks of a band is what it adds there.
        """
        gains, bands = self._facts.gains, len(self._bands.names)
        depth = depth_of((self.metric.k,), rows.width)
        held = depth if rows.runs is None else rows.width  # a run may reach beyond the cutoff
        worth = gains.of(rows, held)
        if self.metric.is_ratio:
            worth = worth / np.where(self._empty, 1.0, self._facts.ideal[:, 0])[rows.queries, None]
        worth = worth * np.where(self._empty, 0.0, self.share)[rows.queries, None]
        grade = self._grades.of_code[rows.codes[:, :held]]
        band = np.searchsorted(self._bands.starts, np.arange(1, depth + 1), side="right") - 1
        cells = self.blank()
        if rows.runs is None:
            at, added = grade * bands + band, worth * gains.discount[:depth]
            cells += np.bincount(at.ravel(), added.ravel(), cells.size).reshape(cells.shape)
            return cells
        for column in range(band[-1] + 1):
            discount = np.zeros(rows.width)
            discount[:depth] = np.where(band == column, gains.discount[:depth], 0.0)
            expected = rows.runs.mean(np.broadcast_to(discount, worth.shape))
            cells[:, column] = np.bincount(grade.ravel(), (worth * expected).ravel(), len(cells))
        return cells


def split_model(rankings: Rankings, model: str, splits: Sequence[Split]) -> list[tuple[Floats, Floats]]:
    """Return the value of each query and the cells of the mean, (queries,) and (grades, bands), for each split."""
    queries = rankings.judgments.queries
    found = [(np.zeros(queries), split.blank()) for split in splits]
    together: dict[tuple[str, str], list[int]] = {}
    for place, split in enumerate(splits):
        together.setdefault((split.metric.ties, split.metric.scores), []).append(place)
    for places in together.values():
        for rows in rankings.ranked(model, by=splits[places[0]].metric):
            for place in places:
                values, cells = found[place]
                values[rows.queries] = splits[place].values(rows)
                cells += splits[place].cells(rows)
    return found
