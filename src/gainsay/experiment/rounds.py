"""Rounds: what each is worth on valid, when training has seen enough of them, and which one is chosen."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.arrays import nearest
from ..metrics.names import parse_metrics
from ..training.bound import in_round

if TYPE_CHECKING:
    from .._common.typing import Floats
    from ..evaluation.evaluator import Evaluator
    from ..metrics.base import Metric
    from ..metrics.names import MetricLike

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


class Watch:
    """Evaluates the scores of every round, keeps the values, and says when no metric improves any more.

    Training may stop only where *every* metric has gone `patience` rounds without a new best value. So each metric sees
    at least the rounds that it would have seen, had one stopped by it alone, and its best round is the same. With a
    patience of 0 training never stops. In every round `check` is called, which raises where training is to be given up,
    and `tell` with the values.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        patience: int,
        check: Callable[[], None] | None = None,
        tell: Callable[[Sequence[float]], None] | None = None,
    ) -> None:
        self._evaluator = evaluator
        self._patience = patience
        self._check = check
        self._tell = tell
        self.rounds: list[list[float]] = []
        self._best = np.full(len(evaluator.metrics), -np.inf)
        self._last_improvement = 0

    def look(self, scores: Any) -> None:
        """Take the scores of one round; a `ValueError` says in which round they cannot be evaluated."""
        if self._check is not None:
            self._check()
        with in_round(len(self.rounds) + 1, " on valid"):
            self.record(list(self._evaluator(scores).mean.values()))

    def record(self, values: Sequence[float]) -> None:
        """Take the values of one round."""
        self.rounds.append(list(values))
        risen = rising(np.array(values), self._evaluator.metrics)
        if (risen > self._best).any():
            self._last_improvement = len(self.rounds)
        self._best = np.fmax(self._best, risen)
        if self._tell is not None:
            self._tell(values)

    @property
    def exhausted(self) -> bool:
        """Whether training should stop now."""
        return self._patience > 0 and len(self.rounds) - self._last_improvement >= self._patience


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
