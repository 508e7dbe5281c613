"""Shared code for XGBoost: callbacks that log, metrics bound to a DMatrix, and means over all workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xgboost as xgb
from xgboost.callback import TrainingCallback

from ..training.bound_metrics import (
    BoundMetrics,
    LibraryObject,
    Partition,
    WeakIdentityMap,
    compute_ratios,
    describe_size,
    in_round,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._common.typing import Floats

REMEDY = "Remove it from params['eval_metric'] (disable_default_eval_metric=True disables the objective's metric)"
_HIGHER = ("auc", "aucpr", "pre", "map", "ndcg", "interval-regression-accuracy")
_LOWER = (
    "rmse", "rmsle", "mae", "mape", "mphe", "logloss", "error", "merror", "mlogloss", "poisson-nloglik",
    "gamma-nloglik", "cox-nloglik", "gamma-deviance", "tweedie-nloglik", "aft-nloglik", "quantile", "expectile",
)  # fmt: skip
DIRECTIONS = {**dict.fromkeys(_HIGHER, True), **dict.fromkeys(_LOWER, False)}
"""Whether a higher value is better, for each metric of XGBoost by its name without a cutoff."""

_loggers: WeakIdentityMap[list[Logger]] = WeakIdentityMap()
"""The callbacks that log into a training, by its booster.

XGBoost before 3.2 calls callbacks in any order. Early stopping uses this map to make them log first.
"""


def describe_estimators(metrics: Any) -> str:
    """Return the advice for estimators, also on a cluster."""
    return (
        f"pass a callback to XGBRanker, EvaluateRanking({{'valid': (X, y, qid)}}, {metrics}). With such arrays in "
        "memory, it also works in DaskXGBRanker and SparkXGBRanker"
    )


class Callback(LibraryObject, TrainingCallback):
    """A callback for XGBoost. Subclasses override `finish_round`."""

    _library = "xgboost"

    def before_training(self, model: Any) -> Any:
        """Return the model."""
        return model

    def after_iteration(self, model: Any, *arguments: Any) -> bool:
        """Call `finish_round`, or raise an error if another library calls this method."""
        if len(arguments) != 2:
            raise self._create_misuse_error(library="catboost")
        return self.finish_round(model, *arguments)

    def finish_round(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Return whether to stop training."""
        return False


class Logger(Callback):
    """A callback that logs once per round."""

    def __init__(self) -> None:
        super().__init__()
        self._logged: WeakIdentityMap[int] = WeakIdentityMap()

    def before_training(self, model: Any) -> Any:
        """Register for early stopping."""
        _loggers.set(model, [*get_loggers(model), self])
        return model

    def finish_round(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Log this round unless it is logged already."""
        if self._logged.get(model) != epoch:
            self._logged.set(model, epoch)
            self.log_round(model, epoch, evals_log)
        return False

    def after_training(self, model: Any) -> Any:
        """Remove the registration."""
        _loggers.set(model, [])
        return model

    def log_round(self, model: Any, epoch: int, evals_log: Any) -> None:
        """Write into the history."""
        raise NotImplementedError

    def compute_value(self, model: Any, rounds: int, data_name: str, metric: str) -> float | None:
        """Return a value of the first rounds of the model, or None if another object logs it."""
        return None


def get_loggers(model: Any) -> list[Logger]:
    """Return the callbacks that log into a training."""
    return _loggers.get(model) or []


def log_first(model: Any, epoch: int, evals_log: Any) -> None:
    """Make all callbacks log this round."""
    for logger in get_loggers(model):
        logger.finish_round(model, epoch, evals_log)


def read_best(model: Any) -> tuple[str | None, str | None]:
    """Return the attributes of the best round. Each early stopping overwrites them, and a continued model has some."""
    return model.attr("best_iteration"), model.attr("best_score")


class BoundMatrix:
    """Metrics bound to a DMatrix. XGBoost returns copies of its data, so changes are detected by value."""

    def __init__(self, bound_metrics: BoundMetrics, dmatrix: xgb.DMatrix) -> None:
        self._source = _read(dmatrix)
        labels, boundaries, weight = self._source
        whole = not xgb.collective.is_distributed()
        group = None
        if whole or dmatrix.num_row():
            if len(boundaries) == 0:
                raise ValueError(
                    "the DMatrix has no groups: pass qid= (the query of each document), because ranking metrics need "
                    "queries"
                )
            group = np.diff(np.asarray(boundaries).astype(np.int64))
        weight = weight if len(weight) else None
        self.partition = Partition(bound_metrics, labels, group=group, weight=weight, whole=whole)
        self.rounds = 0
        evaluator = self.partition.evaluator
        self.description = f" on {describe_size(evaluator.judgments)}" if evaluator else ""

    def is_outdated(self, dmatrix: xgb.DMatrix) -> bool:
        """Return whether labels, groups or weights were set again."""
        return not all(map(np.array_equal, self._source, _read(dmatrix)))


def _read(dmatrix: xgb.DMatrix) -> tuple[Any, Any, Any]:
    """Return labels, group boundaries and query weights of a DMatrix."""
    return dmatrix.get_label(), dmatrix.get_uint_info("group_ptr"), dmatrix.get_weight()


def compute_sums(partition: Partition, predictions: Any, round_number: int, dataset: str = "") -> Floats:
    """Return the sums of w * v and of w by metric. Errors contain the round and the dataset."""
    if hasattr(predictions, "__cuda_array_interface__"):
        predictions = predictions.get()  # an array of CuPy, from a GPU
    with in_round(round_number, dataset):
        return partition.compute_sums(predictions)


def compute_means(sums: Callable[[], Floats], metrics: int) -> list[float]:
    """Return the mean of each metric over all queries, the same on every worker.

    Every worker calls this function equally often, with or without data. `sums` returns the sums of w * v and of w of
    this worker, shape (metrics, 2). If it raises an error on one worker, all workers raise it, so that none of them
    waits forever.
    """
    if not xgb.collective.is_distributed():
        return compute_ratios(sums()).tolist()  # type: ignore[no-any-return]
    own, failure = np.zeros((metrics, 2)), None
    try:
        own = sums()
    except Exception as error:
        failure = error
    *flat, failures = _allreduce([*own.ravel(), failure is not None], xgb.collective.Op.SUM)
    if failures:
        rank = xgb.collective.get_rank()
        (failed,) = map(int, _allreduce([-1 if failure is None else rank], xgb.collective.Op.MAX))
        message = xgb.collective.broadcast(str(failure), failed)
        raise failure or ValueError(f"on worker {failed}: {message}")
    return compute_ratios(np.reshape(flat, own.shape)).tolist()  # type: ignore[no-any-return]


def _allreduce(values: list[float], operation: xgb.collective.Op) -> list[float]:
    reduced: list[float] = xgb.collective.allreduce(np.array(values, dtype=np.float64), operation).tolist()
    return reduced
