"""Evaluation of scores: each query is ranked once, and all metrics are computed from the ranked rows."""

from __future__ import annotations

import math
import sys
import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from .._common import cached_property
from .._common.arrays import compute_means
from .._common.lazy import pandas as pd
from .._common.text import format_exact, format_mean, join_names, pluralize
from .._common.validation import validate_choice, validate_integer
from .._kernel.config import cpus
from ..judgments import Judgments, Unjudged
from ..metrics.binary import Judged
from ..metrics.cascade import ERR
from ..metrics.dcg import DCG
from ..metrics.names import MetricLike, parse_metrics
from .groups import AlignedScores, bind_metrics

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from .._common.typing import Floats, Predicted
    from ..metrics.base import Metric


HANDLING: dict[str, str] = {"irrelevant": "counted as irrelevant", "drop": "dropped (condensed lists)"}
"""The handling of unjudged documents, in words."""

_MAX_IDS = 6


def validate_threads(n_jobs: int | None) -> None:
    """Raise unless a number of threads is None or a whole number of at least 1."""
    if n_jobs is not None:
        validate_integer("n_jobs", n_jobs, unit="threads")


def validate_judgments(call: str, judgments: Any, **others: Any) -> None:
    """Raise unless `judgments` are Judgments. If another argument is, the message shows the correct `call`."""
    if isinstance(judgments, Judgments):
        return
    for name, value in others.items():
        if isinstance(value, Judgments):
            raise TypeError(f"Arguments are in the wrong order: {name} is a Judgments object. Call {call}.")
    raise TypeError(
        f"judgments must be gainwise.Judgments, got {type(judgments).__name__}. Create them with "
        "gainwise.Judgments(labels, group=sizes)."
    )


@dataclass(frozen=True)
class Coverage:
    """The judged documents of a run, and the queries that only the run or only the qrels have.

    Attributes
    ----------
    retrieved : int
        Number of documents that the run retrieved for judged queries.
    unjudged : int
        Number of these documents without a judgment.
    handling : {"irrelevant", "drop"}
        Whether unjudged documents have label 0 or are removed from the ranking.
    not_retrieved : tuple of str
        Judged queries that are missing in the run.
    not_judged : tuple of str
        Queries of the run without judgments, which are ignored.
    missing : {"skip", "zero"}
        Whether judged queries that are missing in the run are ignored or counted.
    """

    retrieved: int
    unjudged: int
    handling: Unjudged
    not_retrieved: tuple[str, ...] = ()
    not_judged: tuple[str, ...] = ()
    missing: str = "skip"

    @property
    def queries(self) -> list[str]:
        """The queries that only the run or only the qrels have, in words."""
        sentences = []
        if self.not_retrieved:
            handling = "left out" if self.missing == "skip" else "counted, with nothing retrieved"
            sentences.append(f"judged queries without results: {_list_ids(self.not_retrieved)}, {handling}")
        if self.not_judged:
            sentences.append(f"queries of the run without judgments: {_list_ids(self.not_judged)}, left out")
        return sentences

    @property
    def sentences(self) -> list[str]:
        """All notes on documents and queries, in words."""
        if not self.unjudged:
            return self.queries
        size = f"{self.unjudged:,} of {self.retrieved:,} retrieved documents"
        return [f"unjudged: {size}, {HANDLING[self.handling]}", *self.queries]


def _list_ids(ids: tuple[str, ...]) -> str:
    """Return the number of ids and the first of them.

    >>> _list_ids(("301", "302"))
    "2 ('301', '302')"
    """
    return f"{len(ids):,} ({', '.join(map(repr, ids[:_MAX_IDS]))}{', …' if len(ids) > _MAX_IDS else ''})"


class Evaluator:
    """Evaluate metrics repeatedly on the same judgments.

    All values that depend only on the judgments (ideal rankings, gains by label, layout) are computed once. Call the
    evaluator with the scores of each model.

    Parameters
    ----------
    metrics : str, Metric or iterable of these
        The metrics to compute, for example ``["ndcg_exp@10", "mrr"]``. See `parse_metrics`.
    judgments : Judgments
        Relevance labels.
    n_jobs : int, optional
        Maximum number of threads. Defaults to the CPUs available to the process.
    convention : str, optional
        Interpret metric names as this library does. See `parse_metrics`.
    unjudged : {"irrelevant", "drop"}, default "irrelevant"
        How to treat documents without a judgment (see `Judgments`). "irrelevant" gives them label 0, "drop" removes
        them from the rankings, which gives condensed lists (Sakai 2007). `Judged` always uses the complete rankings.

    Raises
    ------
    TypeError
        If `judgments` is not a Judgments object. Swapped arguments are detected.
    ValueError
        If a metric is unknown or does not support the labels.

    Examples
    --------
    >>> import gainwise as gw
    >>> evaluator = gw.Evaluator(["mrr", "map"], gw.Judgments([0, 1, 1, 0], group=[2, 2]))
    >>> evaluator([1, 2, 1, 2]).mean
    {'mrr': 0.75, 'map': 0.75}
    """

    def __init__(
        self,
        metrics: MetricLike | Iterable[MetricLike],
        judgments: Judgments,
        n_jobs: int | None = None,
        *,
        convention: str | None = None,
        unjudged: Unjudged = "irrelevant",
    ) -> None:
        validate_judgments("Evaluator(metrics, judgments)", judgments, metrics=metrics)
        validate_threads(n_jobs)
        validate_choice("unjudged", unjudged, get_args(Unjudged))
        self.judgments = judgments
        self.unjudged = unjudged
        self.metrics = parse_metrics(metrics, convention=convention)
        self.names = tuple(str(metric) for metric in self.metrics)
        self._threads = n_jobs if n_jobs is not None else cpus()
        self._groups = bind_metrics(self.metrics, judgments, unjudged)
        self._spare: list[Floats] = []
        warn_of_gains(self.metrics, judgments)

    def __call__(self, scores: Predicted) -> Evaluation:
        """Evaluate one score per document, in the order of the labels.

        A score of -inf marks a document that was judged but not retrieved.

        Raises
        ------
        ValueError
            If the number of scores differs from the number of labels, or a score is NaN.
        """
        aligned = AlignedScores(self.judgments, scores)
        per_query = self._evaluate(aligned, np.empty((self.judgments.queries, len(self.metrics))))
        return Evaluation(
            self.metrics, self.judgments, per_query, self.unjudged, _names=self.names, _scores=aligned.by_row
        )

    def _evaluate(self, scores: AlignedScores, per_query: Floats) -> Floats:
        for group in self._groups:
            group.evaluate(self.judgments, scores, self._threads, per_query)
        return per_query

    def mean(self, scores: Predicted) -> dict[str, float]:
        """Return the means of `evaluator(scores).mean` without the values of the queries.

        The memory for the values is kept for the next call, which is faster if there are millions of queries.

        Parameters
        ----------
        scores : array-like of float, shape (documents,)
            One score per document, in the order of the labels.

        Returns
        -------
        dict
            The mean of each metric by its name.

        Raises
        ------
        ValueError
            If the number of scores differs from the number of labels, or a score is NaN.

        Examples
        --------
        >>> import gainwise as gw
        >>> gw.Evaluator("mrr", gw.Judgments([0, 1, 1, 0], group=[2, 2])).mean([1, 2, 1, 2])
        {'mrr': 0.75}
        """
        aligned = AlignedScores(self.judgments, scores)
        try:
            per_query = self._spare.pop()  # Another thread may use the same evaluator.
        except IndexError:
            per_query = np.empty((self.judgments.queries, len(self.metrics)))
        means = _compute_means(self.metrics, self.judgments, self._evaluate(aligned, per_query), overwrite=True)
        self._spare.append(per_query)
        return dict(zip(self.names, means, strict=True))

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_spare": []}


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Values of metrics by query and their means.

    Attributes
    ----------
    metrics : tuple of Metric
        The computed metrics.
    judgments : Judgments
        The relevance labels.
    per_query : ndarray of float64, shape (queries, metrics)
        The value of each query. NaN if the metric skips queries without relevant documents.
    unjudged : {"irrelevant", "drop"}
        How documents without a judgment were treated.
    coverage : Coverage or None
        For a TREC run, its judged documents and the queries that only the run or only the qrels have.
    """

    metrics: tuple[Metric, ...]
    judgments: Judgments
    per_query: Floats = field(repr=False)
    unjudged: Unjudged = "irrelevant"
    coverage: Coverage | None = field(default=None, repr=False)
    _names: tuple[str, ...] | None = field(default=None, repr=False)
    _scores: Any = field(default=None, repr=False)

    @cached_property
    def mean(self) -> dict[str, float]:
        """The weighted mean over queries, sum(w * v) / sum(w), by metric name. NaN if all queries are skipped."""
        names = self._names or map(str, self.metrics)  # Formatting ten takes as long as evaluating 50,000 documents.
        return dict(zip(names, _compute_means(self.metrics, self.judgments, self.per_query), strict=True))

    @cached_property
    def chance(self) -> dict[str, float]:
        """The exact mean over all orders of the documents of each query, by metric name.

        Documents with the score -inf, which were not retrieved, keep it. Metrics that are functions or have no mean
        over ties are left out.
        """
        if self._scores is None:
            return {}
        named = dict(zip(self.mean, self.metrics, strict=True))
        chance = evaluate_random_order(named, self.judgments, self._scores, self.unjudged)
        return {} if chance is None else chance.mean

    @property
    def text(self) -> str:
        """The means, notes, and the values of random order."""
        values = ", ".join(f"{name} {format_mean(value)}" for name, value in self.chance.items())
        return f"{self}\n  random order: {values}" if values else str(self)

    @property
    def notes(self) -> list[str]:
        """Notes on unjudged documents and on queries that were left out."""
        if self.coverage is not None:
            return self.coverage.sentences
        if not self.judgments.unjudged:
            return []
        size = f"{self.judgments.unjudged:,} of {self.judgments.documents:,} documents"
        return [f"unjudged: {size}, {HANDLING[self.unjudged]}"]

    def frame(self) -> pd.DataFrame:
        """Return the values as a DataFrame with one row per query and one column per metric."""
        index = pd.Index(self.judgments.query_ids, name="query")
        return pd.DataFrame(self.per_query, index=index, columns=[str(metric) for metric in self.metrics])

    def __repr__(self) -> str:
        width = max(len(name) for name in self.mean)
        lines = "\n".join(f"  {name:<{width}}  {format_mean(value)}" for name, value in self.mean.items())
        notes = "".join(f"\n  {note}" for note in self.notes)
        return f"Evaluation of {pluralize(self.judgments.queries, 'query')}\n{lines}{notes}"

    def _repr_html_(self) -> str:
        from .._common.theme import table_cell

        size = f"{pluralize(self.judgments.queries, 'query')}, {pluralize(self.judgments.documents, 'document')}"
        means, chance = self.mean, self.chance
        rows = [(name, format_mean(means[name]), format_mean(chance.get(name, np.nan))) for name in means]
        return table_cell(f"Evaluation: {size}", ("metric", "mean", "random order"), rows, *self.notes)


def evaluate_random_order(
    metrics: Mapping[str, Metric], judgments: Judgments, scores: Predicted, unjudged: Unjudged = "irrelevant"
) -> Evaluation | None:
    """Return the exact mean over all orders of the retrieved documents, under the names of the metrics.

    Metrics that are functions or have no mean over ties, and `Judged` of judgments without unjudged documents, are left
    out. The result is None if none remains.
    """
    used = {
        name: metric.change(ties="average")
        for name, metric in metrics.items()
        if metric.has_mean_over_ties and not (isinstance(metric, Judged) and judgments.judged is None)
    }
    if not used:
        return None
    constant = np.where(np.isneginf(np.asarray(scores)), -np.inf, 0.0)
    evaluation = Evaluator(list(used.values()), judgments, unjudged=unjudged)(constant)
    return replace(evaluation, _names=tuple(used))


def evaluate(
    metrics: MetricLike | Iterable[MetricLike],
    judgments: Judgments,
    scores: Predicted,
    *,
    convention: str | None = None,
    n_jobs: int | None = None,
    unjudged: Unjudged = "irrelevant",
) -> Evaluation:
    """Compute ranking metrics for one set of scores.

    Each query is evaluated separately. The mean over queries uses their weights, if there are any. By default, tied
    documents count with the exact mean over all their orders, so the result does not depend on the order of the rows.

    Parameters
    ----------
    metrics : str, Metric or iterable of these
        The metrics to compute, for example ``["ndcg_exp@10", "mrr"]``. See `parse_metrics`.
    judgments : Judgments
        Relevance labels.
    scores : array-like of float, shape (documents,)
        Higher is better, and -inf marks a document that was judged but not retrieved. A pandas Series is aligned to the
        index of the labels.
    convention : str, optional
        Interpret metric names as this library does, for example ``"lightgbm"``. See `parse_metrics`.
    n_jobs : int, optional
        Maximum number of threads. Defaults to the CPUs available to the process.
    unjudged : {"irrelevant", "drop"}, default "irrelevant"
        Count documents without a judgment as label 0, or remove them from the rankings. See `Evaluator`.

    Returns
    -------
    Evaluation
        `.mean` (a dict), `.per_query` (an array), `.frame()` (a DataFrame).

    Raises
    ------
    ValueError
        If a metric is unknown, the number of scores is wrong, or a score is NaN.
    TypeError
        If `judgments` is not a Judgments object. Swapped arguments are detected.

    See Also
    --------
    gainwise.compare : Compare several models, with intervals and tests.
    gainwise.Evaluator : Evaluate many sets of scores on the same judgments.
    gainwise.evaluate_run : Evaluate a TREC run.
    gainwise.identify : Find the definition of a number that another library printed.

    Examples
    --------
    >>> import gainwise as gw
    >>> judgments = gw.Judgments([3, 3, 3, 3, 3, 0, 0, 0, 0, 5], group=[10])
    >>> result = gw.evaluate(["ndcg_jk", "ndcg_exp"], judgments, range(10, 0, -1))
    >>> {name: round(value, 2) for name, value in result.mean.items()}
    {'ndcg_jk': 0.88, 'ndcg_exp': 0.63}
    >>> round(gw.evaluate("ndcg@10", judgments, range(10, 0, -1), convention="sklearn").mean["ndcg_linear@10"], 2)
    0.86
    """
    validate_judgments("evaluate(metrics, judgments, scores)", judgments, metrics=metrics, scores=scores)
    return Evaluator(metrics, judgments, n_jobs, convention=convention, unjudged=unjudged)(scores)


def weighted(metric: Metric, judgments: Judgments, values: Floats) -> tuple[Floats, Floats]:
    """Return w * v and w of the queries that count, whose sums can be added to those of other judgments."""
    weights = _query_weights(metric, judgments)
    weights = np.ones(len(values)) if weights is None else weights
    counted = (weights > 0) & ~np.isnan(values)
    weights = weights[counted]
    with np.errstate(under="ignore"):
        return weights * values[counted], weights


def shared_weights(metrics: Sequence[Metric], judgments: Judgments) -> Floats | None:
    """Return the query weights for a comparison of these metrics, or None for equal weights.

    A `ValueError` is raised if some of them ignore the weights and others do not.
    """
    first = metrics[0]
    for metric in metrics:
        if judgments.weights is not None and (metric.weights == "ignore") != (first.weights == "ignore"):
            ignoring, weighting = (metric, first) if metric.weights == "ignore" else (first, metric)
            raise ValueError(
                f"{ignoring} ignores the weights of the queries and {weighting} does not, so they cannot be compared. "
                "Pass the same weights= (query or ignore) to both, or omit the weights."
            )
    same = len({metric.weights for metric in metrics}) == 1
    return _query_weights(first, judgments) if same else judgments.weights


def _query_weights(metric: Metric, judgments: Judgments) -> Floats | None:
    """Return the weights of queries in the precision of a metric."""
    if metric.weights == "ignore":
        return None
    if metric.weights == "query":
        return judgments.weights
    return judgments.float32_weights(mean=metric.weights == "float32_mean")


def _compute_means(
    metrics: Sequence[Metric], judgments: Judgments, values: Floats, *, overwrite: bool = False
) -> list[float]:
    """Return sum(w * v) / sum(w) of each column of values, or NaN if no query counts.

    With `overwrite`, the values may be changed, which saves memory.
    """
    means = np.full(len(metrics), np.nan)
    groups: dict[Any, list[int]] = {}
    some_skip = math.isnan(values.min(initial=np.inf))
    for column, metric in enumerate(metrics):
        # The queries that count are different for each metric that skips some.
        skips = some_skip and bool(np.isnan(values[:, column]).any())
        groups.setdefault((metric.weights, column if skips else None), []).append(column)
    for (_, skipping), columns in groups.items():
        selected = values if len(columns) == len(metrics) else values[:, columns]
        weights = _query_weights(metrics[columns[0]], judgments)
        if skipping is not None:
            counted = ~np.isnan(selected[:, 0])
            selected, weights = selected[counted], None if weights is None else weights[counted]
        means[columns] = compute_means(selected, weights, overwrite=overwrite)
    return means.tolist()


# Labels that are gains

MIN_MAXIMUM = 7
"""Lower labels are grades, such as 0, 1, 3, or 0, 1, 2, 4 in a small sample of the grades 0 to 4."""

MAX_GRADES = 32
"""More distinct labels are amounts, and so are labels of this size. XGBoost supports grades from 0 to 31 by default."""


class GainLabelsWarning(UserWarning):
    """The labels look like gains or amounts, but a metric has an exponential gain of them.

    `gainwise.evaluate`, `gainwise.compare`, `gainwise.disagreement_bound` and the functions for training emit it once
    per dataset. Use `warnings.simplefilter("ignore", gainwise.GainLabelsWarning)` if the labels are grades.
    """


def describe_gains(levels: Floats) -> str | None:
    """Return a description of distinct labels that look like gains or amounts, or None for grades.

    Labels are gains if they are 2^l − 1 or powers of one base. They are amounts if there are more than `MAX_GRADES`, or
    if the largest is at least `MAX_GRADES`. A single positive label is a grade of any size, because NDCG is then the
    same with every gain.

    >>> describe_gains([0.0, 1.0, 10.0, 100.0])
    'labels 0, 1, 10 and 100 look like gains'
    >>> describe_gains([0.0, 19.99, 49.5, 120.0])
    'labels 0, 19.99, 49.5 and 120 look like amounts'
    >>> describe_gains([0.0, 1.0, 3.0]), describe_gains([0.0, 1.0, 2.0, 3.0, 4.0])
    (None, None)
    """
    labels = [label for label in levels if label >= 0]
    positive = [label for label in labels if label > 0]
    if len(labels) > MAX_GRADES:
        return f"{len(labels):,} distinct labels from {labels[0]:g} to {labels[-1]:g} look like amounts"
    if len(positive) < 2 or labels[-1] < MIN_MAXIMUM:
        return None
    whole = [int(label) for label in positive if label == int(label)]
    are_gains = len(whole) == len(positive) and (all(label & (label + 1) == 0 for label in whole) or _are_powers(whole))
    if not are_gains and labels[-1] < MAX_GRADES:
        return None
    return (
        f"labels {join_names(list(map(format_exact, labels)), most=8)} look like {'gains' if are_gains else 'amounts'}"
    )


def _are_powers(labels: Sequence[int]) -> bool:
    """Return whether the labels are powers of one whole base above 1."""
    smallest = min(label for label in labels if label > 1)
    for exponent in range(1, smallest.bit_length() + 1):
        base = round(smallest ** (1 / exponent))
        if base > 1 and all(base ** round(math.log(label, base)) == label for label in labels):
            return True
    return False


def warn_of_gains(metrics: Sequence[Metric], judgments: Judgments) -> None:
    """Warn once per dataset if its labels look like gains, and a metric has an exponential gain of them."""
    for metric in filter(_has_exponential_gain, metrics):
        subject = judgments.column(metric.column)
        description = None if subject.gains_are_known else describe_gains(subject.levels)
        if description is None:
            continue
        subject.gains_are_known = True
        frame, level = sys._getframe(1), 2
        while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "gainwise":
            frame, level = frame.f_back, level + 1
        place = "" if metric.column is None else f"column {metric.column!r}: "
        fix = "Use a metric with linear gain, or map the labels to grades."
        message = f"{place}{description}, but {metric} has an exponential gain for grades such as 0, 1, 2, 3. {fix}"
        warnings.warn(message, GainLabelsWarning, stacklevel=level)


def _has_exponential_gain(metric: Metric) -> bool:
    return isinstance(metric, ERR) or (isinstance(metric, DCG) and metric.gain in ("exponential", "power"))
