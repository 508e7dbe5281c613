"""The values that a training logs: one curve per dataset and metric, with its best round."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Mapping, Set
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["MetricCurve", "read_history"]


class MetricCurve:
    """One metric on one dataset over the rounds.

    `best_round` is the first round with the best value, or None if the direction of the metric is unknown.
    """

    __slots__ = ("best", "best_round", "higher_is_better", "rounds", "values")

    def __init__(self, higher_is_better: bool | None) -> None:
        self.higher_is_better = higher_is_better
        self.rounds: list[int] = []
        self.values: list[float] = []
        self.best = math.nan
        self.best_round: int | None = None

    def add(self, round_number: int, value: float) -> None:
        """Append the value of a round. NaN is never the best value."""
        self.rounds.append(round_number)
        self.values.append(value)
        if self.higher_is_better is None or value != value:
            return
        if self.best_round is None or (value > self.best if self.higher_is_better else value < self.best):
            self.best, self.best_round = value, round_number

    def get(self, round_number: int) -> float:
        """Return the value of a round, or NaN if the metric was not evaluated in it."""
        index = bisect_left(self.rounds, round_number)
        return self.values[index] if self.rounds[index : index + 1] == [round_number] else math.nan

    def compute_loss(self, round_number: int) -> float:
        """Return how much worse the metric is in a round than at its best."""
        difference = self.best - self.get(round_number)
        return difference if self.higher_is_better else -difference

    def get_upward_values(self) -> list[float]:
        """Return the values, negated if a lower value is better."""
        return self.values if self.higher_is_better is not False else [-value for value in self.values]


def read_history(history: Any) -> Iterable[tuple[str, str, Sequence[float]]]:
    """Yield dataset, metric and values of every curve in a history of LightGBM or XGBoost.

    A history is a dictionary by dataset and metric (`lightgbm.record_evaluation`, `evals_result`), or the result of a
    cross-validation: a dictionary or table with columns such as `valid ndcg_exp@10-mean`.
    """
    table = history if isinstance(history, Mapping) else _read_columns(history)
    is_empty = True
    for name, values in table.items():
        if isinstance(values, Mapping):
            for metric, curve in values.items():
                if not str(metric).endswith(("-stdv", "-std")):
                    is_empty = False
                    yield str(name), str(metric).removesuffix("-mean"), _read_numbers(f"{name}, {metric}", curve)
        elif means := re.fullmatch(r"([^ -]+)[ -](.+)-mean", str(name)):
            is_empty = False
            yield means[1], means[2], _read_numbers(str(name), values)
    if is_empty:
        raise ValueError(
            "history has no curves: pass a dictionary {'valid': {'ndcg_exp@10': [0.51, 0.52]}} as filled by "
            "lightgbm.record_evaluation or evals_result, or the result of lightgbm.cv or xgboost.cv"
        )


def _read_columns(history: Any) -> Mapping[str, Any]:
    """Return the columns of a table."""
    if not hasattr(history, "columns"):
        raise TypeError(f"history must be a dictionary by dataset and metric, got {type(history).__name__}")
    return {str(name): history[name] for name in history.columns}


def _read_numbers(location: str, curve: Any) -> list[float]:
    """Return the values of a curve. Cross-validation of XGBoost pairs each value with its deviation."""
    try:
        values = [value[0] if isinstance(value, tuple) else value for value in curve]
        if isinstance(curve, Mapping | Set | str) or any(isinstance(value, str | bool) for value in values):
            raise TypeError
        return [float(value) for value in values]
    except (TypeError, ValueError):
        raise ValueError(f"history of {location} must have one number per round, in order, got {curve!r:.80}") from None
