"""What a directory holds of a candidate on a fold: its tables, and whether they can have been measured."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from .files import from_parquet
from .rounds import kept_rounds, rising

if TYPE_CHECKING:
    import pandas as pd

    from .._common.typing import Floats
    from ..metrics.base import Metric
    from .training import Trained

COLUMNS = ("round", "query", "query_id", "weight")
"""Columns of the tables beside those of the metrics."""


@dataclass(frozen=True)
class Finished:
    """A finished unit as it lies in the directory.

    Attributes
    ----------
    curves : DataFrame
        One row per round: `round` and one column per metric, the means on valid.
    test : DataFrame
        For every round of `kept_rounds`, one row per query of test: `round`, `query` (its place), `query_id`, `weight`
        and one column per metric.
    manifest : dict
        Identity, checksums, versions.
    model : bytes
        With all its rounds, in the library's own format.
    """

    curves: pd.DataFrame
    test: pd.DataFrame
    manifest: Mapping[str, Any]
    model: bytes


def curves_frame(metrics: Sequence[Metric], trained: Trained) -> pd.DataFrame:
    """Return a row per round: the means on valid."""
    import pandas as pd

    frame = pd.DataFrame(trained.curves, columns=list(map(str, metrics)))
    frame.insert(0, "round", np.arange(1, len(frame) + 1))
    return frame


def test_frame(metrics: Sequence[Metric], trained: Trained) -> pd.DataFrame:
    """Return for every round of `kept_rounds` a row per query of test."""
    import pandas as pd

    weights = np.ones(len(trained.query_ids)) if trained.weights is None else trained.weights
    frames = []
    for number, values in trained.test.items():
        about = {"round": number, "query": np.arange(len(values)), "query_id": trained.query_ids, "weight": weights}
        frames.append(pd.DataFrame({**about, **dict(zip(map(str, metrics), values.T, strict=True))}))
    return pd.concat(frames, ignore_index=True)


def scores_frame(trained: Trained) -> pd.DataFrame:
    """Return a row per document of test: the place of its query, its label, its score after each of `kept_rounds`."""
    import pandas as pd

    about = {"query": trained.qid.astype(np.int32), "label": trained.labels}
    return pd.DataFrame({**about, **{score_column(number): scores for number, scores in trained.scores.items()}})


def score_column(number: int) -> str:
    """Return the column that holds the scores after a round."""
    return f"round {number}"


def check_finished(finished: Finished, metrics: Sequence[Metric]) -> None:
    """Raise `ValueError` where curves, values on test and weights cannot belong to one training under these metrics.

    Checksums only tell that nobody has changed them.
    """
    names = [str(metric) for metric in metrics]
    curves = _numbers("curves.parquet", finished.curves, ["round", *names])
    if not len(curves) or (np.sort(curves[:, 0]) != np.arange(1, len(curves) + 1)).any():
        raise ValueError("curves.parquet does not hold the rounds 1, 2, 3, … once each")
    if not np.isfinite(curves).all():
        raise ValueError("curves.parquet holds values that are not finite")
    _check_test(finished, names, set(kept_rounds(rising(curves[np.argsort(curves[:, 0]), 1:], metrics))))
    weights = finished.manifest.get("valid_weight")
    if not (isinstance(weights, list) and len(weights) == len(metrics) and all(map(_is_weight, weights))):
        raise ValueError("manifest.json does not hold one positive valid_weight per metric")
    if not isinstance(finished.manifest.get("versions"), Mapping):
        raise ValueError("manifest.json says nothing of versions")


def check_scores(scores: bytes, test: pd.DataFrame) -> None:
    """Raise where a file of scores cannot be read, has other rounds or queries than the values on test, or bad labels.

    The scores themselves are not read.
    """
    parquet = import_module("pyarrow.parquet")  # which has no types
    found = parquet.read_schema(io.BytesIO(scores)).names
    if found != ["query", "label", *map(score_column, test["round"].unique().tolist())]:
        raise ValueError(f"it has the columns {', '.join(found)}")
    queries = test["query"].nunique()
    table = _numbers("scores.parquet", from_parquet(scores, ["query", "label"]), ["query", "label"])
    steps = np.diff(table[:, 0], prepend=-1)
    if not ((steps == 0) | (steps == 1)).all() or not len(table) or table[0, 0] != 0 or table[-1, 0] != queries - 1:
        raise ValueError("scores.parquet has other queries than test.parquet")
    if not np.isfinite(table[:, 1]).all():
        raise ValueError("scores.parquet has labels that are not finite")


def _check_test(finished: Finished, names: Sequence[str], rounds: set[int]) -> None:
    test = _numbers("test.parquet", finished.test, ["round", "query", "weight", *names])
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
