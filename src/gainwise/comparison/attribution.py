"""Exact split of the difference of two models by grade and rank."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np

from .._common.lazy import pandas as pd
from .._common.text import TextResult, format_exact, pluralize
from .._common.typing import Floats, Integers
from ..evaluation.evaluator import shared_weights
from ..metrics.base import Metric, max_depth
from ..metrics.dcg import DCG
from ..metrics.names import MetricLike, parse_metrics
from ..ranking.rows import RankedRows, blank_code
from .ranked_models import Rankings, read_template, select_sums, validate_pair

MAX_GRADES = 20
"""With more distinct labels, they are grouped into ranges."""

BANDS = (1, 2, 4, 6, 11)
"""First rank of each band."""


@dataclass(frozen=True, eq=False, repr=False)
class Attribution(TextResult):
    """Decomposition of the difference of two models by grade and rank.

    `Comparison.attribution` creates it. DCG is a sum over documents, so the cells sum exactly to the difference.
    Positive numbers favor the first model. For a loss, they favor the second.

    Attributes
    ----------
    models : tuple of two str
        The difference is the first minus the second.
    metrics : tuple of str
        Decomposed metrics.
    queries, left_out : int
        Queries of positive weight with a value under all `metrics`, and further queries with a value under only some.
    top_grade : int, float or str
        Highest grade.
    difference : dict
        Difference of the weighted means by metric.
    grades_by_ranks : DataFrame
        Contribution of each grade at each band of ranks. Rows are (metric, grade), columns bands of ranks. More than 20
        distinct labels are grouped into 10 ranges with equally many labels.
    lower_is_better : tuple of str
        The metrics whose lower values are better.

    Examples
    --------
    One document of grade 5, five of grade 3 and four of grade 0, ranked in two ways:

    >>> import gainwise as gw
    >>> judgments = gw.Judgments([5, 3, 3, 3, 3, 3, 0, 0, 0, 0], group=[10])
    >>> models = {
    ...     "5 0 0 0 0 3 3 3 3 3": [10, 5, 4, 3, 2, 1, 9, 8, 7, 6],
    ...     "3 3 3 3 3 0 0 0 0 5": [1, 10, 9, 8, 7, 6, 5, 4, 3, 2],
    ... }
    >>> comparison = gw.compare(models, judgments, ["ndcg_jk@10", "ndcg_exp@10"])
    >>> why = comparison.attribution("5 0 0 0 0 3 3 3 3 3", "3 3 3 3 3 0 0 0 0 5")

    `ndcg_exp` is higher for the first model, because of the grade 5 at rank 1:

    >>> why.grades_by_ranks.loc["ndcg_exp@10"].round(2)
              1   2-3   4-5  6-10
    grade
    0      0.00  0.00  0.00  0.00
    3     -0.15 -0.17 -0.12  0.24
    5      0.66  0.00  0.00 -0.19

    `ndcg_jk` is higher for the second:

    >>> round(why.difference["ndcg_jk@10"], 2)
    -0.15
    """

    models: tuple[str, str]
    metrics: tuple[str, ...]
    queries: int
    left_out: int
    top_grade: Any
    difference: dict[str, float]
    grades_by_ranks: pd.DataFrame
    lower_is_better: tuple[str, ...] = ()

    def frame(self) -> pd.DataFrame:
        """Return `grades_by_ranks` as a tidy table: metric, grade, ranks and contribution."""
        cells = self.grades_by_ranks.rename_axis(columns="ranks").T
        tidy = cells.melt(value_name="contribution", ignore_index=False).reset_index()
        return tidy[["metric", "grade", "ranks", "contribution"]]

    def to_dict(self) -> dict[str, Any]:
        """Return all results as plain values for JSON."""
        return self._export(
            ("models", "queries", "left_out", "difference", "grades_by_ranks", "top_grade", "lower_is_better"),
            grades_by_ranks=self.frame(),
        )

    @property
    def text(self) -> str:
        """The difference under each metric, one per line, with the two cells that contribute most."""
        size = pluralize(self.queries, "query")
        if self.left_out:
            size += f" ({self.left_out:,} more without a value of all these metrics are left out)"
        lines = [f"Attribution of {self.models[0]} - {self.models[1]} over {size}"]
        table = self.frame()
        for metric in self.metrics:
            cells = table[(table["metric"] == metric) & (table["contribution"] != 0)]
            largest = cells.iloc[np.argsort(-cells["contribution"].abs(), kind="stable")[:2]].to_dict("records")
            parts = [f"{row['contribution']:+.4f} from grade {row['grade']} at rank {row['ranks']}" for row in largest]
            most = f", most: {', '.join(parts)}" if parts else ", no grade contributes"
            lines.append(f"{metric}: {self.difference[metric]:+.4f}{most}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        table = self.grades_by_ranks.assign(all=self.grades_by_ranks.sum(axis=1))
        return f"<pre>{escape(repr(self))}</pre>{table.to_html(float_format='{:+.6f}'.format)}"


def compute_attribution(
    rankings: Rankings,
    models: tuple[str, str],
    metrics: MetricLike | Iterable[MetricLike] | None = None,
    *,
    compared: Sequence[Metric],
) -> Attribution:
    """Decompose the difference of two models, first minus second. `Comparison.attribution` describes the arguments."""
    validate_pair(*models, rankings.scores)
    if metrics is None:
        decomposed = select_sums(compared)
    else:
        decomposed = [read_template(metric, "metrics") for metric in parse_metrics(metrics)]
    if not decomposed:
        raise ValueError(
            f"None of the compared metrics ({', '.join(map(str, compared))}) is a sum of gains of the labels. "
            "Pass metrics=['ndcg_linear@10', 'ndcg_exp@10'], for example."
        )
    shared_weights([*compared, *decomposed], rankings.judgments)  # Raises if a metric ignores the weights.
    counted_by_any = np.logical_or.reduce([rankings.common([metric]).weights > 0 for metric in decomposed])
    rankings = rankings.common(decomposed)
    judgments = rankings.judgments
    grades = group_grades(judgments.levels)
    bands = build_bands([metric.k for metric in decomposed], longest=int(judgments.sizes.max()))
    differences, cells = _decompose(rankings, models, decomposed, grades, bands)
    names = tuple(map(str, decomposed))
    queries = int((rankings.weights > 0).sum())
    rows = pd.Index(grades.names, name="grade")
    tables = {name: pd.DataFrame(cells[name], index=rows, columns=list(bands)) for name in names}
    return Attribution(
        models=models,
        metrics=names,
        queries=queries,
        left_out=int(counted_by_any.sum()) - queries,
        top_grade=grades.names[-1],
        difference=differences,
        grades_by_ranks=pd.concat(tables, names=["metric"]),
        lower_is_better=tuple(str(metric) for metric in decomposed if not metric.higher_is_better),
    )


def _decompose(
    rankings: Rankings, models: tuple[str, str], metrics: Sequence[DCG], grades: Grades, bands: Mapping[str, int]
) -> tuple[dict[str, float], dict[str, Floats]]:
    """Return by metric the difference and the cells. For configurations, they are means over repeats."""
    parts = {str(metric): Decomposition(metric, rankings, grades, bands) for metric in metrics}
    means = []
    for model in models:
        repeats = [_decompose_repeat(rankings, own, list(parts.values())) for own in rankings.repeat_scores(model)]
        means.append([np.mean(tables, axis=0) for tables in zip(*repeats, strict=True)])
    by_query, cells = (first - second for first, second in zip(*means, strict=True))
    shares = np.stack([part.share for part in parts.values()])
    differences = (shares * by_query).sum(axis=1).tolist()
    return dict(zip(parts, differences, strict=True)), dict(zip(parts, cells, strict=True))


class Grades(NamedTuple):
    """Grades in ascending order: their names, the lowest label of each, and the grade of every label code."""

    names: tuple[Any, ...]
    lowest: Floats
    of_code: Integers


def group_grades(levels: Floats) -> Grades:
    """Return the distinct labels as grades.

    More than `MAX_GRADES` labels (such as amounts) are grouped into 10 ranges with equally many distinct labels, so
    that a frequent label does not fill several ranges.
    """
    count = len(levels)
    bins = np.arange(count) if count <= MAX_GRADES else np.arange(count) * 10 // count
    first = np.flatnonzero(np.diff(bins, prepend=-1))
    of_code = np.zeros(blank_code(count) + 1, dtype=np.int64)
    of_code[:count] = bins
    names: tuple[Any, ...] = tuple(simplify_labels(levels))
    if count > MAX_GRADES:
        ends = list(zip(levels[first].tolist(), levels[np.append(first[1:], count) - 1].tolist(), strict=True))
        names = tuple(f"{low:g} to {high:g}" for low, high in ends)
        if len(set(names)) < len(names):
            names = tuple(f"{format_exact(low)} to {format_exact(high)}" for low, high in ends)
    return Grades(names, levels[first], of_code)


def simplify_labels(labels: Floats) -> list[float]:
    """Return whole numbers as integers."""
    return [int(label) if label.is_integer() and abs(label) < 1e15 else label for label in labels.tolist()]


def build_bands(cutoffs: Sequence[int | None], longest: int) -> dict[str, int]:
    """Return the first rank of each band of ranks. The last band ends at the largest cutoff.

    Bands beyond the longest query, with `longest` documents, are left out.

    >>> build_bands([10], longest=120), build_bands([5, None], longest=3)
    ({'1': 1, '2-3': 2, '4-5': 4, '6-10': 6}, {'1': 1, '2+': 2})
    """
    deepest = None if None in cutoffs else max(k for k in cutoffs if k is not None)
    firsts = [first for first in BANDS if first <= (longest if deepest is None else min(longest, deepest))]
    lasts = [*(first - 1 for first in firsts[1:]), deepest]
    return {
        f"{first}+" if last is None else f"{first}" if first == last else f"{first}-{last}": first
        for first, last in zip(firsts, lasts, strict=True)
    }


class Decomposition:
    """Decomposition of the weighted mean of a metric by grade and band of ranks.

    `share`, (queries,), are the weights of the queries in the mean. They sum to 1.
    """

    def __init__(self, metric: DCG, rankings: Rankings, grades: Grades, bands: Mapping[str, int]) -> None:
        self.metric, self._grades, self._bands = metric, grades, bands
        self._statistics = metric.bind(rankings.judgments, (metric.k,))
        self._empty = self._statistics.empty[:, 0]
        weights = np.where(self._empty, 0.0, rankings.weights) if metric.empty == "skip" else rankings.weights
        if not weights.any():
            raise ValueError(f"{metric} has no mean, because no query of positive weight has relevant documents.")
        weights = weights / weights.max()  # The sum of huge weights could overflow.
        self.share: Floats = weights / weights.sum()
        self.shape = len(grades.names), len(bands)

    def compute_values(self, rows: RankedRows) -> Floats:
        """Return the value of each row, 0 for queries without relevant documents."""
        values = self.metric.score(rows, self._statistics, (self.metric.k,))[:, 0]
        return np.where(self._empty[rows.queries], 0.0, values)

    def compute_cells(self, rows: RankedRows) -> Floats:
        """Return the contribution of rows to the mean by grade and band, shape (grades, bands).

        A document contributes gain * discount of its rank / ideal. Every order of tied documents is equally likely, so
        each has the mean discount of their ranks (none beyond the cutoff), split by the bands of these ranks.
        """
        gains, depth = self._statistics.gains, max_depth((self.metric.k,), rows.width)
        width = depth if rows.tie_groups is None else rows.width  # Ties may continue beyond the cutoff.
        worth = gains.of(rows, width)
        if self.metric.is_ratio:
            worth = worth / np.where(self._empty, 1.0, self._statistics.ideal[:, 0])[rows.queries, None]
        worth = worth * np.where(self._empty, 0.0, self.share)[rows.queries, None]
        grade = self._grades.of_code[rows.codes[:, :width]].ravel()
        band = np.searchsorted(list(self._bands.values()), np.arange(1, depth + 1), side="right") - 1
        cells = np.zeros(self.shape)
        for column in range(band[-1] + 1):
            discount = np.zeros(width)
            discount[:depth] = np.where(band == column, gains.discount[:depth], 0.0)
            if rows.tie_groups is not None:
                discount = rows.tie_groups.mean(np.broadcast_to(discount, worth.shape))
            cells[:, column] = np.bincount(grade, (worth * discount).ravel(), len(cells))
        return cells


def _decompose_repeat(
    rankings: Rankings, scores: Floats, decompositions: Sequence[Decomposition]
) -> tuple[Floats, Floats]:
    """Return the values, (metrics, queries), and the cells of the means, (metrics, grades, bands)."""
    values = np.zeros((len(decompositions), rankings.judgments.queries))
    cells = np.zeros((len(decompositions), *decompositions[0].shape))
    orders: dict[tuple[str, str], list[int]] = {}  # Metrics with the same order of documents share a ranking.
    for place, part in enumerate(decompositions):
        orders.setdefault((part.metric.ties, part.metric.scores), []).append(place)
    for places in orders.values():
        for rows in rankings.rank(scores, by=decompositions[places[0]].metric):
            for place in places:
                values[place, rows.queries] = decompositions[place].compute_values(rows)
                cells[place] += decompositions[place].compute_cells(rows)
    return values, cells
