"""Scores of models on the same judgments, ranked one block of queries at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._common.arrays import nearest
from .._common.shown import printables
from .._common.typing import Bools, Floats
from ..judgments import Judgments
from ..metrics.base import Metric
from ..ranking.rows import RankedRows, rank_block


def validate_model(name: str, models: Iterable[str]) -> None:
    """Raise `ValueError` unless the name is one of the models."""
    names = list(models)
    if name not in names:
        known = ", ".join(printables(names))
        raise ValueError(f"{name!r} is not among the models{nearest(str(name), names)} (known: {known}).")


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
        Scores in the order of the labels, without NaN. A recipe has one array per repeat.
    counted : ndarray of bool, shape (queries,)
        Queries with a value under some metric.
    query_weights : ndarray, shape (queries,), optional
        Weights of the queries. None if all have the same weight.
    documents : array, optional
        Names of the documents, grouped by query. Defaults to the numbers of their rows.
    """

    judgments: Judgments
    scores: Mapping[str, Floats | Sequence[Floats]]
    counted: Bools
    query_weights: Floats | None = None
    documents: Any = None

    def documents_of(self, here: slice) -> np.ndarray[Any, Any]:
        """Return the names of the documents at these indices, grouped by query."""
        names: np.ndarray[Any, Any] = (
            self.judgments.rows_by_query(here) if self.documents is None else self.documents[here]
        )
        return names

    def repeat_scores(self, model: str) -> Sequence[Floats]:
        """Return the scores of each repeat of a model, or one array for a fixed model."""
        scores = self.scores[model]
        return [scores] if isinstance(scores, np.ndarray) else scores

    def each_repeat(self, model: str) -> Iterator[Rankings]:
        """Yield rankings with a single repeat of this model."""
        for scores in self.repeat_scores(model):
            yield replace(self, scores={model: scores})

    @property
    def equal_labels(self) -> Bools:
        """Whether all documents of a query have the same label, shape (queries,)."""
        labels, sizes = self.judgments.by_query(self.judgments.labels), self.judgments.sizes
        starts = np.cumsum(sizes) - sizes
        equal: Bools = sizes == 0
        starts = starts[~equal]
        equal[~equal] = np.maximum.reduceat(labels, starts) == np.minimum.reduceat(labels, starts)
        return equal

    @property
    def weights(self) -> Floats:
        """Weight of each query, 0 if it does not count, shape (queries,)."""
        return np.where(self.counted, 1.0 if self.query_weights is None else self.query_weights, 0.0)

    def common(self, metrics: Sequence[Metric]) -> Rankings:
        """Return rankings of the queries with a value under all these metrics."""
        counted = self.counted
        for metric in metrics:
            if metric.empty == "skip":
                counted = counted & ~metric.bind(self.judgments, (metric.k,)).empty[:, 0]
        return replace(self, counted=counted)

    def ranked(self, model: str, by: Metric) -> Iterator[RankedRows]:
        """Yield the ranked rows of a model, or of its first repeat, under a metric. Rows with ties are separate."""
        scores = cast_scores(np.ascontiguousarray(self.judgments.by_query(self.repeat_scores(model)[0])), by)
        levels = len(self.judgments.levels)
        for block in self.judgments.layout.blocks:
            yield from rank_block(block, scores, by.ties, levels)
