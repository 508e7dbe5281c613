"""What of XGBoost the adapters share: binding metrics to a DMatrix, means over all workers, and callbacks that log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import xgboost as xgb
from xgboost.callback import TrainingCallback

from ..training.bound import Panel, WeakIdentityMap, by_size, in_round
from ..training.parts import Part, ratios

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._common.typing import Floats

REMEDY = "Leave it out of params['eval_metric'] (disable_default_eval_metric=True turns the objective's own off)"


def in_estimators(metrics: Any) -> str:
    """Return what works in estimators, on a cluster too."""
    return (
        f"give XGBRanker a callback, EvaluateRanking({{'valid': (X, y, qid)}}, {metrics}); with such arrays in memory, "
        "DaskXGBRanker and SparkXGBRanker take it too"
    )


_loggers: WeakIdentityMap[list[Logger]] = WeakIdentityMap()
"""The callbacks that log into a training, by its booster, until it ends.

Before 3.2 XGBoost calls callbacks in no particular order; with this, early stopping can have them log first.
"""


class Logger(TrainingCallback):
    """A callback that logs something in every round, once, whoever asks for it first."""

    def __init__(self) -> None:
        super().__init__()
        self._logged: WeakIdentityMap[int] = WeakIdentityMap()

    def before_training(self, model: Any) -> Any:
        """Let early stopping know."""
        _loggers.set(model, [*loggers(model), self])
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Log; never stops training."""
        if self._logged.get(model) != epoch:
            self._logged.set(model, epoch)
            self.log_round(model, epoch, evals_log)
        return False

    def after_training(self, model: Any) -> Any:
        """Let go of the booster."""
        _loggers.forget(model)
        return model

    def log_round(self, model: Any, epoch: int, evals_log: Any) -> None:
        """Write into the history."""
        raise NotImplementedError

    def value_after(self, model: Any, rounds: int, data_name: str, metric: str) -> float | None:
        """Return the value of the model cut after some rounds, if it is this callback that logs it."""
        return None


def loggers(model: Any) -> list[Logger]:
    """Return the callbacks that log into a training."""
    return _loggers.get(model) or []


def log_first(model: Any, epoch: int, evals_log: Any) -> None:
    """Have all callbacks that log into a training do so for this round, if they have not yet."""
    for logger in loggers(model):
        logger.after_iteration(model, epoch, evals_log)


class BoundMatrix:
    """A DMatrix's metrics, with what it was made from: XGBoost hands out fresh copies, so compare values."""

    def __init__(self, panel: Panel, dmatrix: xgb.DMatrix) -> None:
        self._made_from = _read(dmatrix)
        labels, boundaries, weight = self._made_from
        whole = not xgb.collective.is_distributed()
        group = _sizes(boundaries) if whole or dmatrix.num_row() else None
        self.part = Part(panel, labels, group=group, weight=weight if len(weight) else None, whole=whole)
        self.rounds = 0
        self.where = f" on {by_size(self.part.evaluator.judgments)}" if self.part.evaluator else ""

    def outdated(self, dmatrix: xgb.DMatrix) -> bool:
        """Return whether labels, groups or weights have been set anew."""
        return not all(map(np.array_equal, self._made_from, _read(dmatrix)))


def _read(dmatrix: xgb.DMatrix) -> tuple[Any, Any, Any]:
    """Return labels, group boundaries and query weights of a DMatrix."""
    return dmatrix.get_label(), dmatrix.get_uint_info("group_ptr"), dmatrix.get_weight()


def sums_of(part: Part, predictions: Any, round_number: int, where: str = "") -> Floats:
    """Return the sums of w * v and of w by metric; an error says in which round, and where given in which data set."""
    if hasattr(predictions, "__cuda_array_interface__"):
        predictions = predictions.get()  # made on a GPU, by CuPy
    with in_round(round_number, where):
        return part.sums(predictions)


def _sizes(boundaries: Any) -> Any:
    if len(boundaries) == 0:
        raise ValueError(
            "the DMatrix has no groups: give it qid= (the query of each document), as ranking metrics need queries"
        )
    return np.diff(np.asarray(boundaries).astype(np.int64))


def means_over_workers(sums: Callable[[], Floats], metrics: int) -> list[float]:
    """Return the mean of each metric over all queries, the same on every worker.

    Every worker calls this equally often, whether it has data or not. `sums` returns its own sums of w * v and of w,
    shape (metrics, 2). Where it raises on one worker, all of them raise, so that none waits for the others for ever.
    """
    if not xgb.collective.is_distributed():
        return _means(sums())
    own, failure = np.zeros((metrics, 2)), None
    try:
        own = sums()
    except Exception as error:
        failure = error
    *flat, failures = _allreduce([*own.ravel(), failure is not None], xgb.collective.Op.SUM)
    if failures:
        _raise_everywhere(failure)
    return _means(np.reshape(flat, own.shape))


def _means(sums: Floats) -> list[float]:
    means: list[float] = ratios(sums).tolist()
    return means


def _raise_everywhere(own: Exception | None) -> NoReturn:
    """Raise the error of this worker, or tell that of another one."""
    rank = xgb.collective.get_rank()
    (failed,) = map(int, _allreduce([-1 if own is None else rank], xgb.collective.Op.MAX))
    message = xgb.collective.broadcast(str(own), failed)
    raise own or ValueError(f"on worker {failed}: {message}")


def _allreduce(values: list[float], operation: xgb.collective.Op) -> list[float]:
    reduced: list[float] = xgb.collective.allreduce(np.array(values, dtype=np.float64), operation).tolist()
    return reduced
