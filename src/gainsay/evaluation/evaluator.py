"""From scores to the values of metrics: rank each query once, read every metric off the ranked rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from .._common.cached import cached_property
from .._common.checks import check_whole
from .._common.cpus import cpus
from ..judgments import Judgments, Unjudged, scaled_weights
from ..metrics.base import choice
from ..metrics.names import MetricLike, parse_metrics
from .coverage import BECAME, Coverage
from .plan import Given, bound_groups

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    from .._common.typing import Floats, Numbers
    from ..metrics.base import Metric


def check_threads(n_jobs: int | None) -> None:
    """Raise unless a number of threads is None or a whole number of at least 1."""
    if n_jobs is not None:
        check_whole("n_jobs", n_jobs, unit="threads")


def check_judgments(call: str, judgments: Any, **others: Any) -> None:
    """Raise unless `judgments` are judgments; where one of the other arguments is them, say how to write the call."""
    if isinstance(judgments, Judgments):
        return
    for name, value in others.items():
        if isinstance(value, Judgments):
            raise TypeError(f"{name} and judgments have changed places, {name} being the Judgments: write {call}")
    raise TypeError(
        f"judgments must be gainsay.Judgments, got {type(judgments).__name__}; "
        "make one with gainsay.Judgments(labels, group=sizes)"
    )


class Evaluator:
    """Metrics bound to judgments: call it with scores, as often as there are scores to evaluate.

    What depends on the judgments alone (ideals, gains by label, layout) is worked out here, once.

    Parameters
    ----------
    metrics : str, Metric, or an iterable of them
        See `parse_metrics`.
    judgments : Judgments
        The labels of the documents by query.
    n_jobs : int, optional
        Threads at most, by default the CPUs that the process may use; fewer where that turns out to be quicker.
    convention : str, optional
        Read metric names as this library does; see `parse_metrics`.
    unjudged : {"irrelevant", "drop"}
        What becomes of documents that nobody judged (see `Judgments`): they have label 0, or are taken out of the
        rankings, which leaves condensed lists (Sakai 2007). `Judged` always looks at the rankings as they were.

    Raises
    ------
    TypeError
        Where `judgments` are none; arguments that changed places are recognised.
    ValueError
        For unknown metrics, and labels that do not suit them.

    Examples
    --------
    >>> import gainsay as gs
    >>> evaluator = gs.Evaluator(["mrr", "map"], gs.Judgments([0, 1, 1, 0], group=[2, 2]))
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
        check_judgments("Evaluator(metrics, judgments)", judgments, metrics=metrics)
        check_threads(n_jobs)
        choice("unjudged", unjudged, get_args(Unjudged))
        self.judgments = judgments
        self.unjudged = unjudged
        self.metrics = parse_metrics(metrics, convention=convention)
        self.names = tuple(str(metric) for metric in self.metrics)
        self._threads = n_jobs if n_jobs is not None else cpus()
        self._groups = bound_groups(self.metrics, judgments, unjudged)

    def __call__(self, scores: Numbers) -> Evaluation:
        """Evaluate one score per document, in the order of the labels.

        A score of -inf says that the document was judged but not retrieved.

        Raises
        ------
        ValueError
            Where the number of scores differs from the number of labels, or a score is NaN; the message says how many,
            in which row and of which query.
        """
        given = Given.of(self.judgments, scores)
        found = [group.evaluate(self.judgments, given, self._threads) for group in self._groups]
        if self._groups[0].columns == list(range(len(self.metrics))):
            per_query = found[0]  # a copy is slow where queries are short and many
        else:
            per_query = np.empty((self.judgments.queries, len(self.metrics)))
            for group, part in zip(self._groups, found, strict=True):
                per_query[:, group.columns] = part
        return Evaluation(self.metrics, self.judgments, per_query, self.unjudged, _names=self.names)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Values of metrics, by query and in the mean.

    Attributes
    ----------
    metrics : tuple of Metric
        What was computed.
    judgments : Judgments
        On what.
    per_query : ndarray of float64, shape (queries, metrics)
        The value of each query; NaN where the metric skips queries without relevant documents.
    unjudged : {"irrelevant", "drop"}
        What became of documents that nobody judged.
    coverage : Coverage or None
        Of a run: how much of it the qrels judge, and which queries only one of them has.
    """

    metrics: tuple[Metric, ...]
    judgments: Judgments
    per_query: Floats = field(repr=False)
    unjudged: Unjudged = "irrelevant"
    coverage: Coverage | None = field(default=None, repr=False)
    _names: tuple[str, ...] | None = field(default=None, repr=False)

    @cached_property
    def mean(self) -> dict[str, float]:
        """The weighted mean over queries, sum(w * v) / sum(w), by metric name; NaN where every query is skipped."""
        names = self._names or map(str, self.metrics)  # writing ten takes as long as evaluating 50,000 documents
        return dict(zip(names, _means(self.metrics, self.judgments, self.per_query), strict=True))

    @property
    def notes(self) -> list[str]:
        """What was assumed or left out, in words."""
        if self.coverage is not None:
            return self.coverage.sentences
        if not self.judgments.unjudged:
            return []
        size = f"{self.judgments.unjudged:,} of {self.judgments.documents:,} documents"
        return [f"unjudged: {size}, {BECAME[self.unjudged]}"]

    def frame(self) -> pd.DataFrame:
        """Return the values by query as a DataFrame: one row per query, one column per metric."""
        import pandas as pd

        index = pd.Index(self.judgments.query_ids, name="query")
        return pd.DataFrame(self.per_query, index=index, columns=[str(metric) for metric in self.metrics])

    def __repr__(self) -> str:
        from .._common.words import count

        width = max(len(name) for name in self.mean)
        lines = "\n".join(f"  {name:<{width}}  {value:.6f}" for name, value in self.mean.items())
        notes = "".join(f"\n  {note}" for note in self.notes)
        return f"Evaluation of {count(self.judgments.queries, 'query')}\n{lines}{notes}"

    def _repr_html_(self) -> str:
        from .._common.notebook import table_cell
        from .._common.words import count

        size = f"{count(self.judgments.queries, 'query')}, {count(self.judgments.documents, 'document')}"
        rows = [(name, f"{value:.6f}") for name, value in self.mean.items()]
        return table_cell(f"Evaluation: {size}", ("metric", "mean"), rows, *self.notes)


def evaluate(
    metrics: MetricLike | Iterable[MetricLike],
    judgments: Judgments,
    scores: Numbers,
    *,
    convention: str | None = None,
    n_jobs: int | None = None,
    unjudged: Unjudged = "irrelevant",
) -> Evaluation:
    """Evaluate one score per document under each metric.

    Parameters
    ----------
    metrics : str, Metric, or an iterable of them
        See `parse_metrics`.
    judgments : Judgments
        The labels of the documents by query.
    scores : array-like of float, shape (documents,)
        Higher is better. -inf says that a document was judged but not retrieved. A pandas Series is matched with the
        labels by its index, where they have one.
    convention : str, optional
        Read metric names as this library does, ``"lightgbm"`` for example: see `parse_metrics`.
    n_jobs : int, optional
        Threads at most, by default the CPUs that the process may use; fewer where that turns out to be quicker.
    unjudged : {"irrelevant", "drop"}
        What becomes of documents that nobody judged; see `Evaluator`.

    Returns
    -------
    Evaluation
        `.mean` (a dict), `.per_query` (an array), `.frame()` (a DataFrame).

    Raises
    ------
    ValueError
        For unknown metrics, a wrong number of scores, or NaN scores.
    TypeError
        Where `judgments` are none; arguments that changed places are recognised.

    Examples
    --------
    >>> import gainsay as gs
    >>> judgments = gs.Judgments([3, 3, 3, 3, 3, 0, 0, 0, 0, 5], group=[10])
    >>> result = gs.evaluate(["ndcg_jk", "ndcg_exp"], judgments, range(10, 0, -1))
    >>> {name: round(value, 2) for name, value in result.mean.items()}
    {'ndcg_jk': 0.88, 'ndcg_exp': 0.63}
    >>> round(gs.evaluate("ndcg@10", judgments, range(10, 0, -1), convention="sklearn").mean["ndcg_linear@10"], 2)
    0.86
    """
    check_judgments("evaluate(metrics, judgments, scores)", judgments, metrics=metrics, scores=scores)
    return Evaluator(metrics, judgments, n_jobs, convention=convention, unjudged=unjudged)(scores)


def weighted(metric: Metric, judgments: Judgments, values: Floats, *, scale: bool = True) -> tuple[Floats, Floats]:
    """Return w * v and w of the queries that count, from the value v of every query; their sums make the mean.

    With `scale` the weights come divided by a power of two, so that huge and tiny ones have right means. Sums that are
    added to those of other judgments need the weights as they are.
    """
    weights = _query_weights(metric, judgments)
    counted = ~np.isnan(values) if metric.empty == "skip" else slice(None)
    values = values[counted]
    if weights is None:
        return values, np.ones(len(values))
    weights = scaled_weights(weights[counted])[0] if scale else weights[counted]
    with np.errstate(under="ignore"):
        return weights * values, weights


def shared_weights(metrics: Sequence[Metric], judgments: Judgments) -> Floats | None:
    """Return the query weights with which all these metrics can be compared, None where all queries count the same.

    Raise where some of them ignore the weights and others do not.
    """
    first = metrics[0]
    for metric in metrics:
        if judgments.weights is not None and (metric.weights == "ignore") != (first.weights == "ignore"):
            one, other = (metric, first) if metric.weights == "ignore" else (first, metric)
            raise ValueError(
                f"{one} ignores the weights of the queries and {other} does not, so they cannot be compared on the "
                "same sample; give both the same weights= (query or ignore), or leave the weights out"
            )
    alike = len({metric.weights for metric in metrics}) == 1
    return _query_weights(first, judgments) if alike else judgments.weights


def _query_weights(metric: Metric, judgments: Judgments) -> Floats | None:
    """Return the weights of queries as a metric reads them."""
    if metric.weights == "ignore":
        return None
    if metric.weights == "query":
        return judgments.weights
    return judgments.float32_weights(mean=metric.weights == "float32_mean")


def _means(metrics: Sequence[Metric], judgments: Judgments, values: Floats) -> list[float]:
    """Return sum(w * v) / sum(w) of each column of values, NaN where no query counts."""
    means = np.full(len(metrics), np.nan)
    together: dict[str, list[int]] = {}
    for column, metric in enumerate(metrics):
        if metric.empty == "skip":  # which queries count, and so how their weights are scaled, is its own affair
            products, counting = weighted(metric, judgments, values[:, column])
            total = sums(counting[:, None])[0] if len(counting) else 0.0
            means[column] = sums(products[:, None])[0] / total if total > 0 else np.nan
        else:
            together.setdefault(metric.weights, []).append(column)
    for columns in together.values():
        some = values if len(columns) == len(metrics) else values[:, columns]
        weights = _query_weights(metrics[columns[0]], judgments)
        if weights is None:
            means[columns] = sums(some) / len(some)
            continue
        scaled = scaled_weights(weights)[0][:, None]
        total = sums(scaled)[0]
        if total > 0:
            means[columns] = sums(scaled * some) / total
    return means.tolist()


def sums(values: Floats) -> Floats:
    """Return the sum of each column, in an order that depends on their number alone: the two halves are added, again.

    The error grows with the logarithm of the number of rows; no column is walked through by itself.
    """
    folded = None
    while len(values) > 1:
        half = len(values) // 2
        folded = np.add(values[:half], values[half : 2 * half], out=None if folded is None else folded[:half])
        if len(values) % 2:
            folded[0] += values[-1]
        values = folded
    total: Floats = values[0]
    return total
