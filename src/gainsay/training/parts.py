"""Some of all queries, as a worker of a cluster holds them, and sums over them that can be added up."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.alignment import index_of
from .._common.sums import sum_columns
from ..evaluation.evaluator import weighted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._common.typing import Floats
    from ..evaluation.evaluator import Evaluation
    from ..metrics.base import Metric
    from .bound import Panel


SMALLEST, LARGEST = 2.0**-500, 2.0**500
"""Where the largest weight of a part lies between these, its sums neither overflow nor lose digits to the range."""


class Part:
    """Metrics bound to some of all queries: perhaps to none, perhaps to queries of weight 0 only.

    Either is an error where the part is the whole.
    """

    def __init__(
        self, panel: Panel, labels: Any, *, group: Any = None, qid: Any = None, weight: Any = None, whole: bool = False
    ) -> None:
        self.metrics = panel.metrics
        self.evaluator = None
        self._whole = whole
        weights = list(weight.values()) if isinstance(weight, Mapping) else weight
        weightless = weight is not None and not whole and not np.any(weights)
        self.counts = len(labels) > 0 and not weightless
        """Whether any query has a document and a weight."""
        if len(labels) or whole:
            weight = _ones_like(weight) if weightless else weight
            self.evaluator = panel.bind(labels, group=group, qid=qid, weight=weight)
            return
        for name, values in (("group", group), ("qid", qid), ("weight", weight)):
            if values is not None and len(values) and not isinstance(values, Mapping):
                raise ValueError(
                    f"{name} has {len(values)} entries but there is no document: leave out queries without documents"
                )

    def evaluate(self, scores: Any) -> Evaluation | None:
        """Return the values of the queries of this part; None where there are none."""
        if self.evaluator is not None:
            return self.evaluator(scores)
        if len(scores):
            raise ValueError(f"scores has {len(scores)} entries but there are no labels; give one score per document")
        return None

    def terms(self, scores: Any) -> list[Floats]:
        """Return, for each metric, w * v and w of the queries that count, shape (2, queries)."""
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
                f"weight goes up to {largest:g}: sums over several parts of the data need weights between "
                f"{SMALLEST:g} and {LARGEST:g}; multiply all of them by the same number"
            )
        return terms

    def sums(self, scores: Any) -> Floats:
        """Return the sums of w * v and of w by metric, shape (metrics, 2), added up as `gainsay.evaluate` does."""
        return np.array([sum_columns(terms.T) if terms.size else np.zeros(2) for terms in self.terms(scores)])

    def exact_sums(self, scores: Any) -> Floats:
        """Return few rows whose sums are the exact sums of w * v and of w by metric, shape (rows, metrics, 2)."""
        return beside([exact_sum(terms) for terms in self.terms(scores)])


def _ones_like(weight: Any) -> Any:
    """Return a weight of 1 instead of each 0."""
    if isinstance(weight, Mapping):
        return dict.fromkeys(weight, 1.0)
    return np.ones(len(weight)) if index_of(weight) is None else weight + 1


def exact_sum(terms: Floats) -> Floats:
    """Return few rows whose sum is exactly the sum of `terms` over their last axis, however these are split and added.

    Each pass takes from every number the bits above a common place, few enough that adding them rounds nothing, and
    leaves the rest to the next pass (Rump, Ogita and Oishi 2008, "Accurate floating-point summation, part I").

    >>> import numpy as np
    >>> from gainsay.training.parts import exact_sum, rounded
    >>> terms = np.array([1e16, 1.0, -1e16])
    >>> float(terms[::-1].sum()), float(rounded(exact_sum(terms)))
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


def add_exactly(sums: Sequence[Floats]) -> Floats:
    """Return few rows whose sum is exactly that of all rows of all `sums`."""
    return exact_sum(np.moveaxis(np.concatenate(sums), 0, -1))


def rounded(rows: Floats) -> Floats:
    """Return the sum of rows, rounded once."""
    totals: Floats = np.apply_along_axis(math.fsum, 0, rows)
    return totals


def ratios(sums: Floats) -> Floats:
    """Return means from the sums of w * v and of w, shape (…, 2); NaN where no query counts."""
    products, weights = sums[..., 0], sums[..., 1]
    means = np.full(weights.shape, np.nan)
    np.divide(products, weights, out=means, where=weights > 0)
    return means


def beside(columns: Sequence[Floats]) -> Floats:
    """Stack arrays of rows of different numbers along a new second axis, filled up with zeros."""
    stacked = np.zeros((max(map(len, columns)), len(columns), *columns[0].shape[1:]))
    for at, column in enumerate(columns):
        stacked[: len(column), at] = column
    return stacked
