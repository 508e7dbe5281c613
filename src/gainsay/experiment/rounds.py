"""Rounds: their values on the validation set, early stopping, and the choice of a round."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.arrays import nearest
from ..metrics.names import parse_metric

if TYPE_CHECKING:
    from .._common.typing import Floats
    from ..metrics.base import Metric

BALANCED, EACH = "balanced", "each"


def validate_stop_by(stop_by: Any, metrics: Sequence[Metric]) -> str:
    """Return "balanced", "each" or the full name of one of the metrics, or raise `ValueError`."""
    names = [str(metric) for metric in metrics]
    if str(stop_by) in (BALANCED, EACH, *names):
        return str(stop_by)
    try:
        metric = parse_metric(stop_by)
    except (ValueError, TypeError):
        metric = None
    if metric not in metrics:
        raise ValueError(
            f"stop_by must be 'balanced', 'each' or one of the metrics, got {str(stop_by)!r}"
            f"{nearest(str(stop_by), (BALANCED, EACH, *names))} (metrics: {', '.join(names)})"
        )
    return str(metric)


def orient(curves: Floats, metrics: Sequence[Metric]) -> Floats:
    """Return curves, shape (rounds, metrics), with the sign of losses changed, so that larger is better."""
    signs: Floats = np.array([1.0 if metric.higher_is_better else -1.0 for metric in metrics])
    return curves * signs


def find_best_rounds(curves: Floats) -> list[int]:
    """Return for each column of (rounds, metrics) the first round, counted from 1, with the largest value.

    Examples
    --------
    >>> find_best_rounds(np.array([[0.1, 0.5], [0.3, 0.4], [0.3, 0.2]]))
    [2, 1]
    """
    return [int(place) + 1 for place in curves.argmax(axis=0)]


def find_balanced_round(curves: Floats, columns: Sequence[int]) -> int:
    """Return the first round, counted from 1, with the smallest worst shortfall.

    The shortfall of a metric at a round is the gap to its best value at any round. The worst shortfall is the largest
    over the metrics in `columns`.

    Examples
    --------
    >>> curves = np.array([[0.50, 0.20], [0.49, 0.25], [0.40, 0.26]])
    >>> find_best_rounds(curves), find_balanced_round(curves, [0, 1])
    ([1, 3], 2)
    """
    selected = curves[:, list(columns)]
    return int((selected.max(axis=0) - selected).max(axis=1).argmin()) + 1


def find_stored_rounds(curves: Floats) -> list[int]:
    """Return, ascending, the best round of each metric and the balanced round of each pair of metrics.

    With the values at these rounds, other primary metrics and another `stop_by` require no training.
    """
    pairs = itertools.combinations(range(curves.shape[1]), 2)
    return sorted({*find_best_rounds(curves), *(find_balanced_round(curves, pair) for pair in pairs)})
