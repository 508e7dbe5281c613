"""Scores of models on the same judgments, ranked one block of queries at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._common.arrays import compute_means
from .._common.typing import Bools, Floats
from .._common.validation import validate_choice
from ..evaluation.evaluator import evaluate_random_order
from ..judgments import Judgments
from ..metrics.base import Metric
from ..metrics.dcg import DCG
from ..metrics.names import MetricLike, parse_metric
from ..ranking.rows import RankedRows, rank_block


def validate_model(name: str, models: Iterable[str]) -> None:
    """Raise `ValueError` unless the name is one of the models."""
    validate_choice("model", name, list(models))


def validate_pair(first: str, second: str, models: Iterable[str]) -> None:
    """Raise `ValueError` unless these are two different models."""
    for name in (first, second):
        validate_model(name, models)
    if first == second:
        raise ValueError(f"{first!r} cannot be compared with itself. Pass two different models.")


def cast_scores(scores: Floats, metric: Metric) -> np.ndarray[Any, Any]:
    """Return scores in the precision that the metric uses."""
    with np.errstate(over="ignore"):
        return scores.astype(np.float32) if metric.scores == "float32" else scores


@dataclass(frozen=True, eq=False)
class Rankings:
    """The scores of models on the same judgments.

    Attributes
    ----------
    judgments : Judgments
        The labels of the documents by query.
    scores : mapping of model to array, shape (documents,), or list of them
        Scores in the order of the labels, without NaN. A configuration has one array per repeat.
    counted : ndarray of bool, shape (queries,)
        Queries with a value under some metric.
    query_weights : ndarray, shape (queries,), optional
        Weights of the queries. None if all have the same weight.
    """

    judgments: Judgments
    scores: Mapping[str, Floats | Sequence[Floats]]
    counted: Bools
    query_weights: Floats | None = None

    def repeat_scores(self, model: str) -> Sequence[Floats]:
        """Return the scores of each repeat of a model, or one array for a fixed model."""
        scores = self.scores[model]
        return [scores] if isinstance(scores, np.ndarray) else scores

    def find_ranges(self, metrics: Mapping[str, Metric]) -> dict[str, tuple[float, float]]:
        """Return the lowest and the highest possible value of each metric."""
        return {name: metric.value_range(self.judgments.column(metric.column)) for name, metric in metrics.items()}

    def find_equal_labels(self, metrics: Iterable[Metric]) -> Bools:
        """Return whether all documents of a query have the same label for each of the metrics, shape (queries,)."""
        sizes = self.judgments.sizes
        equal = np.ones(len(sizes), dtype=bool)
        has_documents = sizes > 0
        starts = (np.cumsum(sizes) - sizes)[has_documents]
        for column in dict.fromkeys(metric.column for metric in metrics):
            labels = self.judgments.by_query(self.judgments.column(column).labels)
            equal[has_documents] &= np.maximum.reduceat(labels, starts) == np.minimum.reduceat(labels, starts)
        return equal

    @property
    def weights(self) -> Floats:
        """Weight of each query, 0 if it does not count, shape (queries,)."""
        return np.where(self.counted, 1.0 if self.query_weights is None else self.query_weights, 0.0)

    def compute_chance(self, metrics: Mapping[str, Metric]) -> dict[str, dict[str, float]]:
        """Return the mean in random order of the retrieved documents, by metric and model, as `Comparison.chance`."""
        means: dict[bytes, dict[str, float]] = {}
        by_model: dict[str, list[dict[str, float]]] = {}
        retrieves_all = not isinstance(self.scores, dict)  # Scores of experiments are read from files when needed.
        for model in self.scores:
            arrays = [np.zeros(self.judgments.documents)] if retrieves_all else self.repeat_scores(model)
            for scores in arrays:
                retrieves_everything = bool(scores.min() > -np.inf)
                key = b"" if retrieves_everything else np.packbits(np.isneginf(scores)).tobytes()
                if key not in means:
                    means[key] = self._compute_random_means(metrics, scores)
                by_model.setdefault(model, []).append(means[key])
        names = next(iter(means.values()))
        return {
            name: {model: sum(each[name] for each in repeats) / len(repeats) for model, repeats in by_model.items()}
            for name in names
        }

    def _compute_random_means(self, metrics: Mapping[str, Metric], scores: Floats) -> dict[str, float]:
        evaluation = evaluate_random_order(metrics, self.judgments, scores)
        if evaluation is None:
            return {}
        weights = None if self.query_weights is None else self.query_weights[self.counted]
        means = {}
        for name, values in zip(evaluation.mean, evaluation.per_query[self.counted].T, strict=True):
            has_value = ~np.isnan(values)
            used = None if weights is None else weights[has_value]
            means[name] = float(compute_means(values[has_value, None], used)[0])
        return means

    def common(self, metrics: Sequence[Metric]) -> Rankings:
        """Return rankings of the queries with a value under all these metrics."""
        counted = self.counted
        for metric in metrics:
            judgments = self.judgments.column(metric.column)
            if metric.empty == "skip":
                counted = counted & ~metric.bind(judgments, (metric.k,)).empty[:, 0]
            if judgments.unjudged_queries is not None:
                counted = counted & ~judgments.unjudged_queries
        return replace(self, counted=counted)

    def rank(self, scores: Floats, by: Metric) -> Iterator[RankedRows]:
        """Yield the ranked rows of the scores of one repeat under a metric. Rows with ties are separate."""
        cast = cast_scores(np.ascontiguousarray(self.judgments.by_query(scores)), by)
        for block in self.judgments.layout.blocks:
            yield from rank_block(block, cast, by.ties, len(self.judgments.levels))


def select_sums(metrics: Iterable[Metric]) -> list[DCG]:
    """Return the metrics of the labels that are sums over documents."""
    return [
        metric
        for metric in metrics
        if isinstance(metric, DCG) and metric.is_sum_over_documents and metric.column is None
    ]


def read_template(metric: MetricLike, argument: str = "metric") -> DCG:
    """Return the metric that determines cutoff, discount and all options but the gain.

    Raises
    ------
    ValueError
        If the metric is not a sum of gains over documents.
    """
    parsed = parse_metric(metric)
    if parsed.column is not None:
        raise ValueError(f"{argument} must name a metric of the labels, but {parsed} uses column {parsed.column!r}.")
    if isinstance(parsed, DCG) and parsed.is_sum_over_documents:
        return parsed
    redefined = f" ({type(parsed).__name__} defines its values anew)" if isinstance(parsed, DCG) else ""
    raise ValueError(
        f"{argument} names {parsed}, which is not a sum of gains over documents{redefined}. Use one of the NDCG and "
        "DCG family, such as ndcg_linear@10."
    )
