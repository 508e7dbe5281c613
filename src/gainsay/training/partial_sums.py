"""Metrics of a part of all queries, on one worker of a cluster, and their exact sums."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.arrays import index_of, sum_columns
from ..evaluation.evaluator import weighted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._common.typing import Floats
    from ..evaluation.evaluator import Evaluation
    from ..metrics.base import Metric
    from .bound_metrics import BoundMetrics

SMALLEST, LARGEST = 2.0**-500, 2.0**500
"""If the largest weight is in this range, sums neither overflow nor lose digits."""


class Partition:
    """Metrics bound to a part of all queries.

    A partition may be empty or have only queries of weight 0, unless it is the whole dataset.
    """

    def __init__(
        self,
        bound_metrics: BoundMetrics,
        labels: Any,
        *,
        group: Any = None,
        qid: Any = None,
        weight: Any = None,
        whole: bool = False,
    ) -> None:
        self.metrics = bound_metrics.metrics
        self.evaluator = None
        self._whole = whole
        weights = list(weight.values()) if isinstance(weight, Mapping) else weight
        weightless = weight is not None and not whole and not np.any(weights)
        self.counts = len(labels) > 0 and not weightless
        """Whether a query has documents and a positive weight."""
        if len(labels) or whole:
            weight = _ones_like(weight) if weightless else weight
            self.evaluator = bound_metrics.bind(labels, group=group, qid=qid, weight=weight)
            return
        for name, values in (("group", group), ("qid", qid), ("weight", weight)):
            if values is not None and len(values) and not isinstance(values, Mapping):
                raise ValueError(
                    f"{name} has {len(values)} entries, but labels is empty. Remove queries without documents"
                )

    def evaluate(self, scores: Any) -> Evaluation | None:
        """Return the values of the queries, or None without queries."""
        if self.evaluator is not None:
            return self.evaluator(scores)
        if len(scores):
            raise ValueError(f"scores has {len(scores)} entries, but labels is empty. Pass one score per document")
        return None

    def compute_terms(self, scores: Any) -> list[Floats]:
        """Return w * v and w of each query, for each metric, shape (2, queries)."""
        evaluation = self.evaluate(scores)
        if evaluation is None:
            return [np.zeros((2, 0)) for _ in self.metrics]
        columns = zip(self.metrics, evaluation.per_query.T, strict=True)
        return [self._terms(metric, evaluation, values) for metric, values in columns]

    def _terms(self, metric: Metric, evaluation: Evaluation, values: Floats) -> Floats:
        if not self.counts and metric.weights != "ignore":
            return np.zeros((2, 0))
        terms = np.stack(weighted(metric, evaluation.judgments, values, scale=self._whole))
        largest = terms[1].max(initial=0.0)
        if not self._whole and largest and not SMALLEST <= largest <= LARGEST:
            raise ValueError(
                f"weight must be between {SMALLEST:g} and {LARGEST:g} to add up partitions, got {largest:g}. "
                "Multiply all weights by one number"
            )
        return terms

    def compute_sums(self, scores: Any) -> Floats:
        """Return the sums of w * v and of w by metric, shape (metrics, 2), with the rounding of `gainsay.evaluate`."""
        return np.array([sum_columns(terms.T) if terms.size else np.zeros(2) for terms in self.compute_terms(scores)])

    def compute_exact_sums(self, scores: Any) -> Floats:
        """Return a few rows with the exact sums of w * v and of w by metric, shape (rows, metrics, 2)."""
        return stack_rows([exact_sum(terms) for terms in self.compute_terms(scores)])


def _ones_like(weight: Any) -> Any:
    """Return weights of 1 instead of 0."""
    if isinstance(weight, Mapping):
        return dict.fromkeys(weight, 1.0)
    return np.ones(len(weight)) if index_of(weight) is None else weight + 1


def exact_sum(terms: Floats) -> Floats:
    """Return a few rows whose sum is the exact sum of `terms` over their last axis, for any split of the terms.

    Each pass takes the bits of every number above a common place, so few that their sum is not rounded. The next pass
    continues with the other bits (Rump, Ogita and Oishi 2008, "Accurate floating-point summation, part I").

    >>> import numpy as np
    >>> from gainsay.training.partial_sums import exact_sum, round_sum
    >>> terms = np.array([1e16, 1.0, -1e16])
    >>> float(terms[::-1].sum()), float(round_sum(exact_sum(terms)))
    (0.0, 1.0)
    """
    bits = (terms.shape[-1] + 1).bit_length()  # 2 ** bits is at least the number of terms + 2
    rest, rows = terms, []
    while (largest := np.abs(rest).max(axis=-1, initial=0, keepdims=True)).any():
        with np.errstate(over="ignore"):
            place = np.ldexp(1.0, np.frexp(largest)[1] + bits)
        if not np.isfinite(place).all():
            raise ValueError(f"values as large as {largest.max():g} cannot be added up exactly")
        leading = (place + rest) - place
        rows.append(leading.sum(axis=-1))
        rest = rest - leading
    return np.array(rows).reshape(-1, *terms.shape[:-1])


def add_exact_sums(sums: Sequence[Floats]) -> Floats:
    """Return a few rows whose sum is the exact sum of all rows of all `sums`."""
    return exact_sum(np.moveaxis(np.concatenate(sums), 0, -1))


def round_sum(rows: Floats) -> Floats:
    """Return the sum of the rows, rounded once."""
    totals: Floats = np.apply_along_axis(math.fsum, 0, rows)
    return totals


def compute_ratios(sums: Floats) -> Floats:
    """Return means from the sums of w * v and of w, shape (…, 2). They are NaN if no query counts."""
    products, weights = sums[..., 0], sums[..., 1]
    means = np.full(weights.shape, np.nan)
    np.divide(products, weights, out=means, where=weights > 0)
    return means


def stack_rows(columns: Sequence[Floats]) -> Floats:
    """Stack arrays with different numbers of rows along a new second axis, padded with zeros."""
    stacked = np.zeros((max(map(len, columns)), len(columns), *columns[0].shape[1:]))
    for index, column in enumerate(columns):
        stacked[: len(column), index] = column
    return stacked
