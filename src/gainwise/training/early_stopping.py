"""The shared part of early stopping in LightGBM and XGBoost: options, the rule of improvement, and messages."""

from __future__ import annotations

from dataclasses import dataclass, field
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar

from .._common.text import call_text
from .._common.validation import validate_integer, validate_real
from .logged_metrics import (
    WeakIdentityMap,
    describe_unknown_dataset,
    describe_unlogged_metric,
    find_metric,
    validate_optional_name,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ..metrics.names import MetricLike
    from .view import MetricCurve


@dataclass
class StoppingRun:
    """Early stopping in one training: the monitored metric and its best round so far.

    Rounds are counted from 1 in the model, so `start` is the number of rounds of the continued model.
    """

    metric: str
    patience: int
    start: int
    best_round: int
    last_evaluated: int = 0
    dataset: str | None = None
    logged_name: str | None = None
    best: float | None = None
    sets_best: bool | None = None
    """Whether the model predicts with the best round. None during the training, because other callbacks may decide."""
    on_end: list[Callable[[Any], None]] = field(default_factory=list)
    """Functions to call with the model when this is decided."""

    def is_over(self, round_number: int) -> bool:
        """Return whether a metric has been evaluated after its best round, and the patience is over."""
        waited = round_number - max(self.best_round, self.start)
        return self.best is not None and self.last_evaluated > self.best_round and waited >= self.patience

    def count_rounds_left(self, curve: MetricCurve | None, current_round: int) -> int:
        """Return after how many further rounds without improvement the training ends."""
        best = max(self.best_round, self.start)
        if curve is not None and curve.best_round == current_round:
            best = current_round  # curves record a round before early stopping does
        return max(self.patience - (current_round - best), 0)


class EarlyStoppingBase:
    """The shared part of the callbacks that `early_stopping` creates."""

    _factory: ClassVar[Callable[..., Any]]
    """The function that creates the callback, for `repr` and `pickle`."""

    def __init__(self, metric: MetricLike, rounds: int, dataset: str | None, min_delta: float, verbose: bool) -> None:
        super().__init__()
        self._own_metric = find_metric(metric)
        self.metric = str(self._own_metric or metric)
        self.rounds = validate_integer("rounds", rounds, unit="boosting rounds")
        self.dataset = validate_optional_name("dataset", dataset)
        self.min_delta = validate_real("min_delta", min_delta, 0.0)
        self.verbose = verbose

    def _get_options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in signature(type(self)._factory).parameters if name != "metric"}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._factory, (self.metric, *self._get_options().values())

    def __repr__(self) -> str:
        return call_text(type(self)._factory, self.metric, **self._get_options())

    def _record(self, run: StoppingRun, round_number: int, value: float, maximize: bool, min_delta: float) -> bool:
        """Return whether a value is better than the best one by more than `min_delta`, and store it. NaN never is."""
        run.last_evaluated = round_number
        if run.best is None:
            improves = value == value
        else:
            improves = (
                self._exceeds(value, run.best, min_delta) if maximize else self._exceeds(-value, -run.best, min_delta)
            )
        if improves:
            run.best, run.best_round = value, round_number
        return improves

    @staticmethod
    def _exceeds(value: float, best: float, min_delta: float) -> bool:
        return value - best > min_delta

    def _describe_unknown_start(self, functions: str) -> str:
        """Return the warning that the value of the continued model is not known."""
        advice = "" if self._own_metric else ", or stop on a metric of gainwise"
        return (
            f"early stopping on {self.metric!r} does not know the value of the continued model, so the best round may "
            f"be worse than that model: evaluate {self.metric!r} with {functions}{advice}"
        )

    def _describe_missing_values(self, dataset: str | None) -> str:
        """Return the warning that all values were NaN."""
        return (
            f"early stopping on {self.metric!r} got only NaN on {dataset!r}: it did not stop the training or set "
            "best_iteration. (A metric of gainwise is NaN if it skips every query.)"
        )

    def _describe_missing_metric(self, logged: Mapping[str, Iterable[str]], dataset: str | None, remedy: str) -> str:
        """Return the message that the metric is not logged, on one or any dataset, with the names that are."""
        if not logged:
            nothing = "has nothing to look at: no dataset or no metric is evaluated"
            return f"early stopping on {self.metric!r} {nothing}. {remedy}"
        if dataset is not None and dataset not in logged:
            return describe_unknown_dataset(dataset, list(logged))
        datasets = list(logged) if dataset is None else [dataset]
        names = list(dict.fromkeys(metric for name in datasets for metric in logged[name]))
        advice = f". {remedy}" if self._own_metric else ""
        return describe_unlogged_metric(self.metric, ", ".join(map(repr, datasets)), names) + advice


active_runs: WeakIdentityMap[StoppingRun] = WeakIdentityMap()
"""The early stopping of each training in progress, by its model."""


def get_active_run(model: Any) -> StoppingRun | None:
    """Return the early stopping of a training, or None before its first value."""
    run = active_runs.get(model)
    return None if run is None or run.best is None else run
