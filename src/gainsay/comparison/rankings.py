"""The rankings behind a comparison: made again, one block of queries at a time, where values alone do not say why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.arrays import nearest
from ..ranking.rows import rank_block

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from .._common.typing import Bools, Floats
    from ..judgments import Judgments
    from ..metrics.base import Metric
    from ..ranking.rows import RankedRows


def validate_model(name: str, models: Iterable[str]) -> None:
    """Raise `ValueError` unless this is one of the models."""
    known = list(models)
    if name not in known:
        raise ValueError(f"{name!r} is not among the models{nearest(str(name), known)} (known: {', '.join(known)})")


def validate_pair(first: str, second: str, models: Iterable[str]) -> None:
    """Raise `ValueError` unless these are two different ones of the models."""
    for name in (first, second):
        validate_model(name, models)
    if first == second:
        raise ValueError(f"{first!r} cannot be set against itself: name two different models")


def as_read(scores: Floats, metric: Metric) -> np.ndarray[Any, Any]:
    """Return scores in the precision in which a metric compares them."""
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
        In the order of the labels, without NaN; of a recipe one array for each repeat.
    counted : ndarray of bool, shape (queries,)
        The queries that the models are compared on; the others have no value under any metric.
    query_weights : ndarray, shape (queries,), optional
        With which the models are compared; without, all queries count the same.
    documents : indexed by places, optional
        What documents are called, those of a query together; without, by the numbers of their rows.
    """

    judgments: Judgments
    scores: Mapping[str, Floats | Sequence[Floats]]
    counted: Bools
    query_weights: Floats | None = None
    documents: Any = None

    def documents_of(self, here: slice) -> np.ndarray[Any, Any]:
        """Return what documents are called that stand at these places, those of a query together."""
        found: np.ndarray[Any, Any] = (
            self.judgments.rows_by_query(here) if self.documents is None else self.documents[here]
        )
        return found

    def repeat_scores(self, model: str) -> Sequence[Floats]:
        """Return the scores of each repeat of a model: one array where it is fixed."""
        scores = self.scores[model]
        return [scores] if isinstance(scores, np.ndarray) else scores

    def each_repeat(self, model: str) -> Iterator[Rankings]:
        """Yield, repeat by repeat, the same with one repeat of this model in place of all."""
        for scores in self.repeat_scores(model):
            yield replace(self, scores={model: scores})

    @property
    def weights(self) -> Floats:
        """The weight of each query, 0 where it does not count, shape (queries,)."""
        return np.where(self.counted, 1.0 if self.query_weights is None else self.query_weights, 0.0)

    def common(self, metrics: Sequence[Metric]) -> Rankings:
        """Return the same on the queries only that have a value under all these metrics."""
        counted = self.counted
        for metric in metrics:
            if metric.empty == "skip":
                counted = counted & ~metric.bind(self.judgments, (metric.k,)).empty[:, 0]
        return replace(self, counted=counted)

    def ranked(self, model: str, by: Metric) -> Iterator[RankedRows]:
        """Yield the ranked rows of a model, ordered as a metric orders documents; those with ties by themselves.

        Of a recipe those of its first repeat.
        """
        scores = as_read(np.ascontiguousarray(self.judgments.by_query(self.repeat_scores(model)[0])), by)
        all_retrieved = bool(scores.min() != -np.inf)
        levels = len(self.judgments.levels)
        for block in self.judgments.layout.blocks:
            yield from rank_block(block, scores, by.ties, levels, all_retrieved=all_retrieved)
