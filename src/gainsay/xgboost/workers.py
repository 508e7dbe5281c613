"""Means over the queries of all workers of a distributed training with XGBoost."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import numpy as np
import xgboost as xgb

from ..training.parts import ratios

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._common.typing import Floats


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
