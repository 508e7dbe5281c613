"""The rounds that valid chooses: the best one of each metric, and the balanced one of two."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .._common.arrays import nearest
from ..metrics.names import parse_metrics

if TYPE_CHECKING:
    from .._common.typing import Floats
    from ..metrics.base import Metric
    from ..metrics.names import MetricLike

__all__ = ["BALANCED", "EACH", "Artefact", "balanced_round", "best_rounds", "check_stop_by", "kept_rounds", "rising"]

BALANCED, EACH = "balanced", "each"


@dataclass(frozen=True)
class Artefact:
    """What a verdict speaks of: a candidate at one round, a model that can be deployed as it was compared.

    Attributes
    ----------
    name : str
        What it is called in a comparison: like its candidate, unless that has another one.
    candidate : str
        What was trained.
    stop_by : str
        What chose the round: "balanced", a metric, or two of them with " and " between that chose the same.
    rounds : tuple of int
        One per fold, counted from 1.
    """

    name: str
    candidate: str
    stop_by: str
    rounds: tuple[int, ...]


def check_stop_by(stop_by: MetricLike, metrics: Sequence[Metric]) -> str:
    """Return "balanced", "each" or the full name of one of the metrics, or raise `ValueError`."""
    names = [str(metric) for metric in metrics]
    if str(stop_by) in (BALANCED, EACH, *names):
        return str(stop_by)
    try:
        (metric,) = parse_metrics(stop_by)
    except (ValueError, TypeError):
        metric = None
    if metric not in metrics:
        raise ValueError(
            f"stop_by must be 'balanced', 'each' or one of the metrics, got {str(stop_by)!r}"
            f"{nearest(str(stop_by), (BALANCED, EACH, *names))} (metrics: {', '.join(names)})"
        )
    return str(metric)


def rising(curves: Floats, metrics: Sequence[Metric]) -> Floats:
    """Return curves, shape (rounds, metrics), of which larger is better: those of losses with the other sign."""
    signs: Floats = np.array([1.0 if metric.higher_is_better else -1.0 for metric in metrics])
    return curves * signs


def best_rounds(curves: Floats) -> list[int]:
    """Return for each column of (rounds, metrics) the first round, counted from 1, with the largest value.

    Examples
    --------
    >>> best_rounds(np.array([[0.1, 0.5], [0.3, 0.4], [0.3, 0.2]]))
    [2, 1]
    """
    return [int(place) + 1 for place in curves.argmax(axis=0)]


def balanced_round(curves: Floats, columns: Sequence[int]) -> int:
    """Return the first round, counted from 1, whose worst shortfall is smallest.

    The shortfall of a metric at a round is how far its value there is behind the best one that it has at any round; the
    worst is the largest over the metrics in `columns`.

    Examples
    --------
    >>> curves = np.array([[0.50, 0.20], [0.49, 0.25], [0.40, 0.26]])
    >>> best_rounds(curves), balanced_round(curves, [0, 1])
    ([1, 3], 2)
    """
    among = curves[:, list(columns)]
    return int((among.max(axis=0) - among).max(axis=1).argmin()) + 1


def kept_rounds(curves: Floats) -> list[int]:
    """Return, ascending, every round that may be asked for: the best one of each metric, the balanced one of each pair.

    Which two metrics are primary, and how a candidate is stopped, can then be decided anew without training.
    """
    pairs = itertools.combinations(range(curves.shape[1]), 2)
    return sorted({*best_rounds(curves), *(balanced_round(curves, pair) for pair in pairs)})
