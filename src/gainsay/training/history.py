"""What a training has logged: values by round for every data set and metric, and the best round of each."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Mapping, Set
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["History", "Line", "Waiting", "read_history"]


class Line:
    """One metric on one data set over the rounds; taking a value costs the same however many there are.

    `best_round` is the first one with the best value; None where nobody has said which direction is better.
    """

    __slots__ = ("best", "best_round", "higher_is_better", "rounds", "values")

    def __init__(self, higher_is_better: bool | None) -> None:
        self.higher_is_better = higher_is_better
        self.rounds: list[int] = []
        self.values: list[float] = []
        self.best = math.nan
        self.best_round: int | None = None

    def add(self, round_number: int, value: float) -> None:
        """Take the value of a round; NaN is never the best one."""
        self.rounds.append(round_number)
        self.values.append(value)
        if self.higher_is_better is None or value != value:
            return
        if self.best_round is None or (value > self.best if self.higher_is_better else value < self.best):
            self.best, self.best_round = value, round_number

    def at(self, round_number: int) -> float:
        """Return the value of a round; NaN where the metric was not evaluated then."""
        place = bisect_left(self.rounds, round_number)
        return self.values[place] if self.rounds[place : place + 1] == [round_number] else math.nan

    def loss(self, round_number: int) -> float:
        """Return how much worse than at its best the metric is in a round."""
        behind = self.best - self.at(round_number)
        return behind if self.higher_is_better else -behind

    def risen(self) -> list[float]:
        """Return the values turned such that a larger one is better."""
        return self.values if self.higher_is_better is not False else [-value for value in self.values]


class Waiting(NamedTuple):
    """What early stopping waits for: it ends the training `rounds` after the best round of this metric."""

    dataset: str | None
    metric: str
    rounds: int
    best_round: int

    def left(self, line: Line | None, now: int) -> int:
        """Return after how many further rounds without improvement the training ends."""
        best = self.best_round
        if line is not None and line.best_round == now and now > best:
            best = now  # early stopping looks at a round after the curves do
        return max(self.rounds - (now - best), 0)


class History:
    """The lines of one training, by data set and metric, in the order in which they were first logged."""

    def __init__(self) -> None:
        self.lines: dict[tuple[str, str], Line] = {}
        self.last_round = 0

    def add(self, round_number: int, dataset: str, metric: str, value: float, higher_is_better: bool | None) -> None:
        """Take one value."""
        line = self.lines.get((dataset, metric))
        if line is None:
            line = self.lines[dataset, metric] = Line(higher_is_better)
        line.add(round_number, value)
        if round_number > self.last_round:
            self.last_round = round_number

    @property
    def datasets(self) -> list[str]:
        """The data sets, in the order in which they were first logged."""
        return list(dict.fromkeys(dataset for dataset, _ in self.lines))


def read_history(history: Any) -> Iterable[tuple[str, str, Sequence[float]]]:
    """Yield data set, metric and values of every curve in what LightGBM or XGBoost have recorded.

    That is a dictionary by data set and metric (`lightgbm.record_evaluation`, `evals_result`), or what cross-validation
    returns: a dictionary or table with columns such as `valid ndcg_exp@10-mean`, of which the means are taken.
    """
    table = history if isinstance(history, Mapping) else _columns(history)
    found = False
    for name, values in table.items():
        if isinstance(values, Mapping):
            for metric, curve in values.items():
                if not str(metric).endswith(("-stdv", "-std")):
                    found = True
                    yield str(name), str(metric).removesuffix("-mean"), _numbers(f"{name}, {metric}", curve)
        elif means := re.fullmatch(r"([^ -]+)[ -](.+)-mean", str(name)):
            found = True
            yield means[1], means[2], _numbers(str(name), values)
    if not found:
        raise ValueError(
            "history holds no curves: give what lightgbm.record_evaluation or evals_result have filled, a dictionary "
            "{'valid': {'ndcg_exp@10': [0.51, 0.52]}}, or what lightgbm.cv or xgboost.cv returned"
        )


def _columns(history: Any) -> Mapping[str, Any]:
    """Return the columns of a table."""
    if not hasattr(history, "columns"):
        raise TypeError(f"history must be a dictionary by data set and metric, got {type(history).__name__}")
    return {str(name): history[name] for name in history.columns}


def _numbers(where: str, curve: Any) -> list[float]:
    """Return the values of a curve; in cross-validation of XGBoost each comes with its deviation."""
    try:
        values = [value[0] if isinstance(value, tuple) else value for value in curve]
        if isinstance(curve, Mapping | Set | str) or any(isinstance(value, str | bool) for value in values):
            raise TypeError
        return [float(value) for value in values]
    except (TypeError, ValueError):
        raise ValueError(f"history of {where} must hold one number a round, in order, got {curve!r:.80}") from None
