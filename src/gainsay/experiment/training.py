"""One candidate trained on one fold: every metric at every round on valid, every query's values on test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..evaluation.evaluator import Evaluation, Evaluator, shared_weights
from .libraries import Predict, library_of
from .rounds import kept_rounds, rising
from .watch import Watch

if TYPE_CHECKING:
    from .._common.typing import Floats
    from ..data import RankingData
    from ..metrics.base import Metric
    from .candidates import Candidate
    from .plan import Unit
    from .workbench import Workbench

__all__ = [
    "Trained",
    "check_weights",
    "counted_weight",
    "train_candidate",
]


DOCUMENTS_AT_A_TIME = 65_536
"""Predicted on at once."""


@dataclass(frozen=True)
class Trained:
    """What is kept of one training.

    Attributes
    ----------
    model : bytes
        The model with all its rounds, in the library's own format.
    curves : ndarray, shape (rounds, metrics)
        Means on valid.
    test : dict of int to ndarray, shape (queries, metrics)
        For every round of `kept_rounds`, the values of all metrics for each query of test.
    query_ids : ndarray of str, shape (queries,)
        Of test.
    weights : ndarray, shape (queries,), or None
        Of test.
    valid_weight : list of float, one per metric
        The weight of all queries of valid that have a value: how much this fold counts where folds are averaged.
    labels, qid : ndarray, shape (documents,)
        Of test.
    scores : dict of int to ndarray, shape (documents,)
        Of test, after the rounds of `test`.
    """

    model: bytes
    curves: Floats
    test: dict[int, Floats]
    query_ids: Any
    weights: Floats | None
    valid_weight: list[float]
    labels: Floats
    qid: Any
    scores: dict[int, Any]


def train_candidate(candidate: Candidate, unit: Unit, metrics: Sequence[Metric], bench: Workbench) -> Trained:
    """Train a candidate once and evaluate what can be chosen.

    The scores on test come from the model as it is stored, not from the one in memory.
    """
    library, threads = library_of(candidate.library), candidate.threads or 1
    evaluators = [Evaluator(metrics, bench.judgments(part), threads) for part in (unit.fold.valid, unit.fold.test)]
    watch = Watch(evaluators[0], candidate.early_stopping_rounds or 0, bench.check, bench.follow(unit))
    with bench.binned(unit) as data:
        model = library.train(candidate, data, watch)
    curves = np.array(watch.rounds, dtype=np.float64)
    test, evaluator = bench.parts[unit.fold.test], evaluators[1]
    scores = _scores(library.predictor(model, test, threads), test, kept_rounds(rising(curves, metrics)))
    return Trained(
        model,
        curves,
        {number: evaluator(predicted).per_query for number, predicted in scores.items()},
        test.query_ids,
        shared_weights(evaluator.metrics, evaluator.judgments),
        counted_weight(evaluators[0]),
        test.labels,
        test.qid,
        scores,
    )


def _scores(predict: Predict, data: RankingData, rounds: Sequence[int]) -> dict[int, Any]:
    """Return the scores of all documents after each of these rounds, some documents at a time.

    Both libraries copy what they predict on, XGBoost into twice the memory.
    """
    starts = range(0, len(data.labels), DOCUMENTS_AT_A_TIME)
    pieces = [predict(slice(start, start + DOCUMENTS_AT_A_TIME), rounds) for start in starts]
    return {number: np.concatenate(scores) for number, scores in zip(rounds, zip(*pieces, strict=True), strict=True)}


def check_weights(name: str, data: RankingData) -> None:
    """Raise where weights lie beyond the 32-bit floats that both libraries keep, so that they would train on others."""
    if data.weight is None or not data.weight.any():
        return
    limits = np.finfo(np.float32)
    smallest, largest = data.weight[data.weight > 0].min(), data.weight.max()
    if largest > limits.max or smallest < limits.tiny:
        wrong = largest if largest > limits.max else smallest
        raise ValueError(
            f"{name} has a weight of {wrong:g}, and LightGBM and XGBoost keep weights as 32-bit floats, from "
            f"{limits.tiny:.0e} to {limits.max:.0e}: multiply the weights of all data by the same number"
        )


def counted_weight(evaluator: Evaluator) -> list[float]:
    """Return for each metric the total weight of the queries that have a value under it.

    Raises
    ------
    ValueError
        For a metric under which no query has a value.
    """
    evaluation = evaluator(np.zeros(evaluator.judgments.documents))
    weights = [_weight_under(evaluation, column) for column in range(len(evaluator.metrics))]
    for metric, weight in zip(evaluator.metrics, weights, strict=True):
        if not weight > 0:
            raise ValueError(f"no query has a value under {metric}: all are skipped for want of relevant documents")
    return weights


def _weight_under(evaluation: Evaluation, column: int) -> float:
    counted = ~np.isnan(evaluation.per_query[:, column])
    weights = evaluation.judgments.weights
    if weights is None or evaluation.metrics[column].weights == "ignore":
        return float(np.count_nonzero(counted))
    return float(weights[counted].sum())
