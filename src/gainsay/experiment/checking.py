"""Whether what a directory holds of a candidate can have been measured: checksums only tell that nobody changed it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .files import from_parquet
from .training import kept_rounds

if TYPE_CHECKING:
    from .._common.typing import Floats
    from .store import Finished

__all__ = ["check_finished", "check_judged"]


def check_finished(finished: Finished, metrics: Sequence[str]) -> None:
    """Raise `ValueError` where curves, values on test and weights cannot belong to one training under these metrics."""
    curves = _numbers("curves.parquet", finished.curves, ["round", *metrics])
    if not len(curves) or (np.sort(curves[:, 0]) != np.arange(1, len(curves) + 1)).any():
        raise ValueError("curves.parquet does not hold the rounds 1, 2, 3, … once each")
    if not np.isfinite(curves).all():
        raise ValueError("curves.parquet holds values that are not finite")
    _check_test(finished, metrics, set(kept_rounds(curves[np.argsort(curves[:, 0]), 1:])))
    weights = finished.manifest.get("valid_weight")
    if not (isinstance(weights, list) and len(weights) == len(metrics) and all(map(_is_weight, weights))):
        raise ValueError("manifest.json does not hold one positive valid_weight per metric")
    if not isinstance(finished.manifest.get("versions"), Mapping):
        raise ValueError("manifest.json says nothing of versions")


def check_judged(scores: bytes, queries: int) -> None:
    """Raise `ValueError` where a file of scores has other queries than the values on test, or labels that are none."""
    table = _numbers("scores.parquet", from_parquet(scores, ["query", "label"]), ["query", "label"])
    steps = np.diff(table[:, 0], prepend=-1)
    if not ((steps == 0) | (steps == 1)).all() or not len(table) or table[0, 0] != 0 or table[-1, 0] != queries - 1:
        raise ValueError("scores.parquet has other queries than test.parquet")
    if not np.isfinite(table[:, 1]).all():
        raise ValueError("scores.parquet has labels that are not finite")


def _check_test(finished: Finished, metrics: Sequence[str], rounds: set[int]) -> None:
    test = _numbers("test.parquet", finished.test, ["round", "query", "weight", *metrics])
    if set(np.unique(test[:, 0]).tolist()) != rounds:
        raise ValueError("test.parquet does not hold the rounds that the metrics choose, alone and in pairs")
    order = np.lexsort((test[:, 1], test[:, 0]))
    queries, left = divmod(len(test), len(rounds))
    tables = test[order[: queries * len(rounds)]].reshape(len(rounds), queries, -1)
    if left or (tables[:, :, 0] != tables[:, :1, 0]).any() or (tables[:, :, 1] != np.arange(queries)).any():
        raise ValueError("test.parquet does not hold every query once in each round")
    weights = tables[:, :, 2]
    if not (np.isfinite(weights).all() and (weights >= 0).all() and (weights == weights[0]).all() and weights.any()):
        raise ValueError("test.parquet does not hold one weight per query")
    if np.isinf(test[:, 3:]).any():
        raise ValueError("test.parquet holds values that are infinite")


def _numbers(name: str, frame: Any, columns: list[str]) -> Floats:
    """Return columns as one table of float64, or raise where one of them holds no numbers."""
    for column in columns:
        if frame[column].dtype.kind not in "fiu":
            raise ValueError(f"{name} has values of {frame[column].dtype} in the column {column!r}")
    table: Floats = frame[columns].to_numpy(dtype=np.float64, na_value=np.nan)
    return table


def _is_weight(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf")
