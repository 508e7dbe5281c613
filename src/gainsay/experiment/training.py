"""One candidate trained on one fold: every metric at every round on valid, every query's values on test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..evaluation.evaluator import Evaluation, Evaluator, shared_weights
from .folds import Fold, Parts
from .rounds import kept_rounds, rising

if TYPE_CHECKING:
    from .._common.typing import Floats
    from ..data import RankingData
    from ..metrics.base import Metric
    from .candidates import Candidate

__all__ = [
    "Trained",
    "Watch",
    "check_library",
    "check_weights",
    "counted_weight",
    "library_of",
    "train_candidate",
]


class Library(Protocol):
    """What a training library does for an experiment; `lightgbm_training` and `xgboost_training` are such modules."""

    def check(self, candidate: Candidate) -> None:
        """Raise where the library does not know a parameter of the candidate."""

    def uses_seed(self, candidate: Candidate, documents: int) -> bool:
        """Return whether another seed can give another model, as far as the parameters tell."""

    def unused(self, candidate: Candidate, features: int) -> tuple[Sequence[str], Sequence[str]]:
        """Return the parameters of the candidate that the library would pass over, and all that it knows."""

    def check_features(self, names: tuple[str, ...]) -> None:
        """Raise where the library does not take a name of a feature."""

    def version(self) -> str:
        """Return the version of the library."""

    def train(self, candidate: Candidate, train: RankingData, valid: RankingData, watch: Watch) -> bytes:
        """Train, telling `watch` of every round; return the model in the library's own format."""

    def cut(self, model: bytes, rounds: int) -> bytes:
        """Return the model without what was added after so many rounds, in the library's own format.

        Whatever reads it gets the scores of `predictor` at this round, to the last bit, without having to say which.
        """

    def load(self, model: bytes) -> Any:
        """Return the model of the library that these bytes hold, which predicts with all its rounds."""

    def predictor(self, model: bytes, data: RankingData, threads: int) -> Callable[[int], Any]:
        """Return a function from a number of rounds to the scores of the documents."""


def library_of(name: str) -> Library:
    """Return the module that trains with this library.

    Raises
    ------
    ImportError
        Where the library is not installed; the message names the extra to install.
    """
    module: Any = import_module(f".{name}_training", __package__)
    library: Library = module
    return library


def check_library(candidate: Candidate) -> None:
    """Raise where the candidate's library is not installed or does not know one of its parameters."""
    library = library_of(candidate.library)
    try:
        library.check(candidate)
    except ValueError as error:
        raise ValueError(f"candidate {candidate.name!r}: {error}") from None


class Watch:
    """Keeps the values of every round, and says when no metric improves any more.

    Training may stop only where *every* metric has gone `patience` rounds without a new best value. So each metric sees
    at least the rounds that it would have seen, had one stopped by it alone, and its best round is the same.

    Parameters
    ----------
    metrics : sequence of Metric
        In the order of the values.
    patience : int
        Rounds without improvement; 0: never stop.
    """

    def __init__(self, metrics: Sequence[Metric], patience: int) -> None:
        self.metrics = tuple(metrics)
        self.patience = patience
        self.rounds: list[list[float]] = []
        self._best = np.full(len(self.metrics), -np.inf)
        self._last_improvement = 0

    def record(self, values: Sequence[float]) -> None:
        """Take the values of one round."""
        self.rounds.append(list(values))
        risen = rising(np.array(values), self.metrics)
        if (risen > self._best).any():
            self._last_improvement = len(self.rounds)
        self._best = np.fmax(self._best, risen)

    @property
    def exhausted(self) -> bool:
        """Whether training should stop now."""
        return self.patience > 0 and len(self.rounds) - self._last_improvement >= self.patience


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


def train_candidate(candidate: Candidate, fold: Fold, metrics: Sequence[Metric], parts: Parts) -> Trained:
    """Train a candidate once and evaluate what can be chosen.

    The scores on test come from the model as it is stored, not from the one in memory.
    """
    library = library_of(candidate.library)
    train, valid, test = fold.data(parts)
    watch = Watch(metrics, candidate.early_stopping_rounds or 0)
    threads = candidate.threads or 1
    model = library.train(candidate, train, valid, watch)
    curves = np.array(watch.rounds, dtype=np.float64)
    judgments = test.judgments()
    evaluator = Evaluator(metrics, judgments, threads)
    predict = library.predictor(model, test, threads)
    scores = {number: predict(number) for number in kept_rounds(rising(curves, metrics))}
    return Trained(
        model,
        curves,
        {number: evaluator(predicted).per_query for number, predicted in scores.items()},
        test.query_ids,
        shared_weights(evaluator.metrics, judgments),
        counted_weight(metrics, valid),
        test.labels,
        test.qid,
        scores,
    )


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


def counted_weight(metrics: Sequence[Metric], data: RankingData) -> list[float]:
    """Return for each metric the total weight of the queries that have a value under it.

    Raises
    ------
    ValueError
        For labels that do not suit a metric, or a metric under which no query has a value.
    """
    judgments = data.judgments()
    evaluation = Evaluator(metrics, judgments)(np.zeros(judgments.documents))
    weights = [_weight_under(evaluation, column) for column in range(len(metrics))]
    for metric, weight in zip(metrics, weights, strict=True):
        if not weight > 0:
            raise ValueError(f"no query has a value under {metric}: all are skipped for want of relevant documents")
    return weights


def _weight_under(evaluation: Evaluation, column: int) -> float:
    counted = ~np.isnan(evaluation.per_query[:, column])
    weights = evaluation.judgments.weights
    if weights is None or evaluation.metrics[column].weights == "ignore":
        return float(np.count_nonzero(counted))
    return float(weights[counted].sum())
