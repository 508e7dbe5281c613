"""Curves of a training: the values of all metrics, their best rounds, and the losses from stopping at another round.

The subclasses are `gainwise.lightgbm.Curves` and `gainwise.xgboost.Curves`.
"""

from __future__ import annotations

import atexit
import math
import weakref
from html import escape
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..metrics.base import Metric
from .display import Display, Show, choose_display
from .early_stopping import get_active_run
from .logged_metrics import (
    canonical_name,
    describe_unknown_dataset,
    describe_unlogged_metric,
    validate_optional_name,
)
from .view import MetricCurve, SelectedRound, View, choose_metrics, create_picture, create_shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from matplotlib.axes import Axes

    from ..drawing import Picture
    from ..metrics.names import MetricLike
    from .early_stopping import StoppingRun


class CurvesBase:
    """The shared part of `gainwise.lightgbm.Curves` and `gainwise.xgboost.Curves`."""

    _model: Any = None
    """The model during the training."""
    _training_names: tuple[str, ...] = ("training", "train")
    """The possible names of the training data."""

    def __init__(
        self,
        metrics: MetricLike | Iterable[MetricLike] | None = None,
        *,
        dataset: str | None = None,
        name: str | None = None,
        show: Show | bool = True,
    ) -> None:
        super().__init__()
        self.metrics = _read_names(metrics)
        self.dataset = validate_optional_name("dataset", dataset)
        self.name = validate_optional_name("name", name)
        self.show = show
        choose_display(show)  # raises an error if it is invalid
        self._curves: dict[tuple[str, str], MetricCurve] = {}
        """By dataset and metric, in the order of their first values."""
        self._last_round = 0
        self._display: Display | None = None
        self._has_begun = self._is_checked = False
        self._selected_round: SelectedRound | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_display": None, "_model": None}  # the recorded values can be pickled

    def __del__(self) -> None:
        if getattr(self, "_display", None) is not None:
            self._settle()
            self._end()

    # Called by the callbacks of the libraries

    def _begin(self, library: str, total: int | None = None) -> None:
        """Begin a training, or raise an error if there was one before."""
        if self._has_begun:
            raise ValueError(
                f"this Curves already has {self._last_round} rounds of a training: create a new one for each "
                f"training, gainwise.{library}.Curves(…)"
            )
        self._has_begun, self._total, self._started = True, total, perf_counter()

    def _record(self, round_number: int, results: Iterable[tuple[str, str, float, bool | None]]) -> None:
        """Record the values of a round. The first one must have all metrics to show."""
        for dataset, metric, value, higher in results:
            self._add(round_number, dataset, metric, value, higher)
        self._last_round = round_number
        if not self._is_checked:
            self._choose_shown()
            self._is_checked = True
            self._start_display()
        if self._display is not None:
            self._display.update()

    def _start_display(self) -> None:
        """Begin to show the training, without a reference to this object, which ends the display when it is deleted."""
        display, reference = choose_display(self.show), weakref.ref(self)

        def create_current_view() -> View | None:
            curves = reference()
            return None if curves is None else curves._create_view()

        self._display = None if display is None else display(create_current_view)
        _started.add(self)

    def _add(self, round_number: int, dataset: str, metric: str, value: float, higher: bool | None) -> None:
        """Append one value."""
        curve = self._curves.get((dataset, metric))
        if curve is None:
            curve = self._curves[dataset, metric] = MetricCurve(higher)
        curve.add(round_number, value)

    def _settle(self) -> None:
        """Show the end of a training that is over."""
        if self._is_over():
            if self._display is not None:
                self._display.cancel()  # before `_end`, so that the lines stay in place
            self._end()

    def _is_over(self) -> bool:
        """Return whether another callback has ended the training, after which LightGBM calls no callback."""
        return self._model is not None and self._find_selected_round() is not None

    def _end(self, run: StoppingRun | None = None) -> None:
        """Show the end of the training. `run` is the early stopping of gainwise, if it has set the best round."""
        if run is not None:
            monitored = self._find_monitored(run)
            curve = self._curves.get(monitored)
            value = math.nan if curve is None else curve.get(run.best_round)
            self._selected_round = SelectedRound(run.best_round, value, monitored[1])
        elif self._model is not None and (best_round := self._find_selected_round()) is not None:
            self._selected_round = SelectedRound(best_round)
        self._model = None
        if self._display is not None:
            self._display.end()
        self._display = None

    # Overridden for each library

    def _find_selected_round(self) -> int | None:
        """Return the round that the model predicts with if another callback has stopped the training."""
        raise NotImplementedError

    def _describe_remedy(self, metrics: list[str]) -> str:
        """Return the advice for evaluating metrics."""
        raise NotImplementedError

    # Results

    @property
    def rounds(self) -> int:
        """The number of the last round, counted from 1 including the rounds of a continued model."""
        return self._last_round

    @property
    def best(self) -> pd.DataFrame:
        """The first best round of each metric on each dataset: columns `dataset`, `metric`, `round`, `value`.

        Metrics of unknown direction are missing.
        """
        import pandas as pd

        self._settle()
        rows = [
            (dataset, metric, curve.best_round, curve.best)
            for (dataset, metric), curve in self._curves.items()
            if curve.best_round is not None
        ]
        return pd.DataFrame(rows, columns=["dataset", "metric", "round", "value"])

    def losses(self, dataset: str | None = None) -> pd.DataFrame:
        """Return the loss of each metric (row) from stopping at the best round of another one (column).

        Parameters
        ----------
        dataset : str, optional
            Default: the dataset that is shown.

        Returns
        -------
        DataFrame
            Zero on the diagonal. NaN if a metric was not evaluated in the best round of the other.
        """
        import pandas as pd

        self._settle()
        curves = self._get_curves(self._choose_dataset(dataset))
        curves = {metric: curve for metric, curve in curves.items() if curve.best_round}
        values = [[curve.compute_loss(other.best_round or 0) for other in curves.values()] for curve in curves.values()]
        index, columns = pd.Index(list(curves), name="metric"), pd.Index(list(curves), name="stopped by")
        return pd.DataFrame(values, index=index, columns=columns, dtype="float64")

    def frame(self) -> pd.DataFrame:
        """Return all values: columns `dataset`, `metric`, `round`, `value`, after `candidate` if it has a name."""
        import pandas as pd

        self._settle()
        rows = [
            (dataset, metric, number, value)
            for (dataset, metric), curve in self._curves.items()
            for number, value in zip(curve.rounds, curve.values, strict=True)
        ]
        table = pd.DataFrame(rows, columns=["dataset", "metric", "round", "value"])
        if self.name is not None:
            table.insert(0, "candidate", self.name)
        return table

    def plot(self, ax: Axes | None = None, theme: str = "light") -> Picture:
        """Draw the metrics that are shown as distances from their best values, with the best rounds.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Default: the axes of a new figure.
        theme : {"light", "dark"}
            The colors.

        Returns
        -------
        Picture
            Notebooks display it. `save` writes it to a file.
        """
        from ..drawing import DistanceCurve, draw_curves, finish, start

        self._settle()
        view = self._create_view()
        lines = [
            DistanceCurve(
                metric.name,
                f"{metric.label}: round {metric.curve.best_round}" if len(view.shown) <= 2 else "",
                metric.role,
                metric.curve.rounds,
                np.abs(np.array(metric.curve.values) - metric.curve.best),
                metric.curve.best_round,
                metric.loss,
                metric.loss_round,
            )
            for metric in view.shown
            if metric.curve.best_round is not None
        ]
        ax, colors = start(ax, theme, (6.8, 4.2))
        if lines:
            draw_curves(ax, colors, lines)
        return finish(ax, colors, view.title, view.describe(), x="round", y="distance from its own best", pad=22)

    def __str__(self) -> str:
        self._settle()
        return self._create_view().describe() if self._curves else "no rounds yet"

    def __repr__(self) -> str:
        if not self._curves:
            return f"Curves({', '.join(self.metrics)})" if self.metrics else "Curves()"
        return f"Curves: {self}"

    def _repr_html_(self) -> str:
        self._settle()
        return create_picture(self._create_view()) if self._curves else f"<p>{escape(repr(self))}</p>"

    # Shown metrics

    def _get_curves(self, dataset: str) -> dict[str, MetricCurve]:
        return {metric: curve for (name, metric), curve in self._curves.items() if name == dataset}

    def _choose_dataset(self, dataset: str | None = None) -> str:
        """Return the dataset with this name, by default the first one that is not the training data."""
        names = list(dict.fromkeys(name for name, _ in self._curves))
        name = dataset or self.dataset
        if name is None:
            return next((name for name in names if name not in self._training_names), names[0] if names else "")
        if name not in names:
            raise ValueError(describe_unknown_dataset(name, names))
        return name

    def _choose_shown(self) -> tuple[str, list[str]]:
        """Return the dataset and the metrics to show, or raise an error if they are missing."""
        remedy = self._describe_remedy(list(self.metrics) or ["ndcg_linear@10", "ndcg_exp@10"])
        if not self._curves:
            raise ValueError(f"Curves has nothing to show: no dataset or no metric is evaluated. Please {remedy}")
        dataset = self._choose_dataset()
        curves = self._get_curves(dataset)
        if not self.metrics:
            return dataset, choose_metrics([name for name in curves if curves[name].higher_is_better is not None])
        logged_names = {canonical_name(name): name for name in curves}
        for name in self.metrics:
            if name not in logged_names:
                raise ValueError(f"{describe_unlogged_metric(name, repr(dataset), list(curves))}. Please {remedy}")
            if curves[logged_names[name]].higher_is_better is None:
                raise ValueError(
                    f"it is not known whether a higher {name!r} is better: pass higher_is_better=True or False"
                )
        return dataset, [logged_names[name] for name in self.metrics]

    def _create_view(self) -> View:
        """Return the current view."""
        dataset, metrics = self._choose_shown()
        curves = self._get_curves(dataset)
        is_shown = self._display is not None
        patience = None
        if self._model is not None and (run := get_active_run(self._model)) is not None:
            monitored = self._find_monitored(run)
            left = run.count_rounds_left(self._curves.get(monitored), self._last_round)
            patience = monitored[1], left, run.patience
        return View(
            shown=create_shown({name: curves[name] for name in metrics}),
            title=self.name or dataset,
            dataset=dataset,
            last_round=self._last_round,
            total=self._total if is_shown else None,
            seconds=perf_counter() - self._started if is_shown else None,
            patience=patience,
            selected_round=self._selected_round,
            is_over=self._is_over(),
        )

    def _find_monitored(self, run: StoppingRun) -> tuple[str, str]:
        """Return the dataset and the metric that early stopping monitors, by their names in the log."""
        return run.dataset or self._choose_dataset(), run.logged_name or run.metric


_started: weakref.WeakSet[CurvesBase] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    """Show the end of all trainings that ended without a call."""
    for curves in list(_started):
        curves.__del__()


def _read_names(metrics: MetricLike | Iterable[MetricLike] | None) -> tuple[str, ...]:
    """Return the canonical names of metrics."""
    if metrics is None:
        return ()
    metrics = [metrics] if isinstance(metrics, str | Metric) else list(metrics)
    return tuple(dict.fromkeys(map(canonical_name, metrics)))
