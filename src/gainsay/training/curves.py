"""Curves of a training: what every metric was in every round, the best rounds, and what stopping elsewhere loses.

Knows no library: `gainsay.lightgbm.Curves` and `gainsay.xgboost.Curves` hand over what these report.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._common.checks import check_flag
from .._common.outputs import check_output
from ..metrics.base import Metric
from ..metrics.safe import check_names, safe_name_or_none
from .bound import known_metric, metric_name, name_or_none
from .history import History, read_history
from .live import Live, Show, display, seconds_now
from .messages import unknown_data_set, unlogged
from .views import chosen_pair, view_of

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence
    from typing import Self

    import pandas as pd
    from matplotlib.axes import Axes

    from ..metrics.names import MetricLike
    from ..metrics.safe import Names
    from .history import Line, Waiting
    from .views import View

__all__ = ["CurvesBase"]


class CurvesBase:
    """What the callbacks of both libraries share; see `gainsay.lightgbm.Curves` and `gainsay.xgboost.Curves`."""

    _directions: Mapping[str, bool]
    """Whether a higher value is better of each of the library's own metrics."""

    _model: Any = None
    """What is trained, while it is."""

    def __init__(
        self,
        metrics: MetricLike | Iterable[MetricLike] | None = None,
        *,
        dataset: str | None = None,
        name: str | None = None,
        higher_is_better: bool | Mapping[str, bool] | None = None,
        show: Show | bool = True,
        names: Names = "plain",
    ) -> None:
        super().__init__()
        check_names(names)
        self.names: Names = names
        self.metrics = _names(metrics)
        self.dataset = name_or_none("dataset", dataset)
        self.name = name_or_none("name", name)
        self.higher_is_better = _said(higher_is_better)
        self.show = show
        display(show)  # what is wrong with it is said now
        self._history = History()
        self._live: Live | None = None
        self._begun = self._checked = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_live": None, "_model": None}  # what has been recorded can be pickled, a terminal not

    def __del__(self) -> None:
        if getattr(self, "_live", None) is not None:
            self._end()

    # What the libraries' callbacks call

    def _begin(self, library: str, total: int | None = None) -> None:
        """Begin with a training; raise where there has been one before."""
        if self._begun:
            raise ValueError(
                f"this Curves has {self._history.last_round} rounds of a training already, and holds those of one: "
                f"make one for each, gainsay.{library}.Curves(…)"
            )
        self._begun, self._total, self._started = True, total, seconds_now()
        self._live = display(self.show)
        reference = weakref.ref(self)

        def view() -> View | None:
            curves = reference()
            return curves._view() if curves is not None and curves._history.lines else None

        def over() -> bool:
            curves = reference()
            return curves is None or curves._over()

        self._live.begin(view, over)

    def _record(self, round_number: int, results: Iterable[tuple[str, str, float, bool | None]]) -> None:
        """Take the values of a round; in the first one see whether everything is there that is to be shown."""
        for dataset, metric, value, higher in results:
            self._history.add(round_number, dataset, metric, value, higher)
        self._history.last_round = round_number
        live = self._live
        if live is None:
            return
        if not self._checked:
            try:
                self._shown()
            except ValueError:
                self._live = None
                live.cancel()
                raise
            self._checked = True
        live.touch()

    def _settle(self) -> None:
        """Show the end of a training of which nobody has told that it ended, but which has."""
        if self._live is not None and self._over():
            self._end()

    def _end(self) -> None:
        """Tell that the training has ended."""
        if self._live is not None:
            self._live.end()
        self._live = self._model = None

    def _direction(self, metric: str) -> bool | None:
        """Return whether a higher value is better; None where nobody knows."""
        ours, said = known_metric(metric), self.higher_is_better
        named = said.get(metric) if isinstance(said, Mapping) else None
        if ours is not None:
            if named not in (None, ours.higher_is_better):
                better = "higher" if ours.higher_is_better else "lower"
                raise ValueError(f"higher_is_better has {metric!r}: {named}, but a {better} value is better of it")
            return ours.higher_is_better
        if named is not None:
            return named
        known = self._directions.get(metric.partition("@")[0])
        return said if known is None and isinstance(said, bool) else known

    # What each of them knows of its library

    def _training_names(self) -> tuple[str, ...]:
        """Return what the data that are trained on may be called."""
        return ("training", "train")

    def _waiting(self) -> Waiting | None:
        """Return what early stopping waits for, where it is known."""
        raise NotImplementedError

    def _over(self) -> bool:
        """Return whether the training is known to have ended without a word."""
        return False

    def _remedy(self, metrics: list[str]) -> str:
        """Say how to have metrics evaluated."""
        raise NotImplementedError

    # What is recorded

    @classmethod
    def from_history(
        cls,
        history: Any,
        metrics: MetricLike | Iterable[MetricLike] | None = None,
        *,
        dataset: str | None = None,
        name: str | None = None,
        higher_is_better: bool | Mapping[str, bool] | None = None,
        names: Names = "plain",
    ) -> Self:
        """Return the curves of a training that is over.

        Parameters
        ----------
        history : dict or DataFrame
            What `lightgbm.record_evaluation` or XGBoost's `evals_result` have filled, or `lightgbm.cv` or `xgboost.cv`
            returned. Its values are taken for those of the rounds 1, 2, 3, …; where metrics have different numbers
            of them, a warning says so.
        metrics, dataset, name, higher_is_better, names
            As when made for a training.

        Raises
        ------
        TypeError, ValueError
            For what is no such history, a metric or data set that it does not hold, or a metric of which nobody has
            said whether a higher value is better.

        Examples
        --------
        >>> from gainsay.lightgbm import Curves
        >>> history = {"valid_0": {"ndcg_linear@10": [0.51, 0.53, 0.52], "ndcg_exp@10": [0.48, 0.47, 0.49]}}
        >>> curves = Curves.from_history(history)
        >>> print(curves)
        ndcg_linear@10 is best at round 2 (0.5300), ndcg_exp@10 at round 3 (0.4900), on valid_0 over 3 rounds.
        Stopping at the other's best round loses 0.0100 of ndcg_linear@10 and 0.0200 of ndcg_exp@10.
        """
        curves = cls(metrics, dataset=dataset, name=name, higher_is_better=higher_is_better, show=False, names=names)
        recorded = list(read_history(history))
        _warn_of_lengths(recorded)
        for at, metric, values in recorded:
            higher = curves._direction(metric)
            if higher is None:
                raise ValueError(
                    f"it is not known whether a higher {metric!r} is better: give higher_is_better=True or False, or "
                    f"{{{metric!r}: True}}"
                )
            for number, value in enumerate(values, start=1):
                curves._history.add(number, at, metric, value, higher)
        curves._begun = True
        curves._shown()
        return curves

    @property
    def rounds(self) -> int:
        """The last round, counted as the model counts its rounds: round n is the model with n of them."""
        return self._history.last_round

    @property
    def best(self) -> pd.DataFrame:
        """The first best round of each metric on each data set: columns `dataset`, `metric`, `round`, `value`.

        Metrics of which nobody knows whether a higher value is better have none.
        """
        import pandas as pd

        self._settle()
        rows = [
            (dataset, self._named(metric), line.best_round, line.best)
            for (dataset, metric), line in self._history.lines.items()
            if line.best_round is not None
        ]
        return pd.DataFrame(rows, columns=["dataset", "metric", "round", "value"])

    def losses(self, dataset: str | None = None) -> pd.DataFrame:
        """Return how much of each metric (row) is lost by stopping at the best round of another one (column).

        Parameters
        ----------
        dataset : str, optional
            By default the one that is shown.

        Returns
        -------
        DataFrame
            Zero on the diagonal; NaN where a metric was not evaluated in the other's best round.
        """
        import pandas as pd

        self._settle()
        lines = {metric: line for metric, line in self._lines(self._dataset(dataset)).items() if line.best_round}
        values = [[line.loss(other.best_round or 0) for other in lines.values()] for line in lines.values()]
        named = list(map(self._named, lines))
        columns = pd.Index(named, name="stopped by")
        return pd.DataFrame(values, index=pd.Index(named, name="metric"), columns=columns, dtype="float64")

    def frame(self) -> pd.DataFrame:
        """Return every value: columns `dataset`, `metric`, `round`, `value`; before them `candidate` where named."""
        import pandas as pd

        self._settle()
        parts = [
            pd.DataFrame(
                {"dataset": dataset, "metric": self._named(metric), "round": line.rounds, "value": line.values}
            )
            for (dataset, metric), line in self._history.lines.items()
        ]
        columns = ["dataset", "metric", "round", "value"]
        table = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
        if self.name is not None:
            table.insert(0, "candidate", self.name)
        return table

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write `frame` to a file, CSV or Parquet by its ending, and return its path.

        Raises
        ------
        ValueError
            For another ending.
        OSError
            Where the file cannot be written.
        ImportError
            For Parquet without pyarrow.
        """
        target = check_output("path", path)
        if target.suffix not in (".csv", ".parquet"):
            raise ValueError(f"path {str(target)!r} must end in .csv or .parquet")
        if target.suffix == ".csv":
            self.frame().to_csv(target, index=False)
            return target
        try:
            self.frame().to_parquet(target, index=False)
        except ImportError as error:
            raise ImportError(
                f"{target.name} needs pyarrow: pip install 'gainsay-ltr[parquet]', or end in .csv"
            ) from error
        return target

    def plot(self, ax: Axes | None = None, theme: str = "light") -> Axes:
        """Draw the metrics that are shown, each as its distance from its own best, with the best rounds.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to; by default on a figure of its own.
        theme : {"light", "dark"}
            Colours.

        Returns
        -------
        matplotlib.axes.Axes
            Save it with `.figure.savefig`.
        """
        from .plotting import plot_view

        return plot_view(self._view(), ax, theme)

    def summary(self) -> str:
        """Return best rounds and what stopping at the other's loses, in words."""
        self._settle()
        return self._view().sentences() if self._history.lines else "no rounds yet"

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        if not self._history.lines:
            return f"Curves({', '.join(self.metrics)})" if self.metrics else "Curves()"
        return f"Curves: {self.summary()}"

    def _repr_html_(self) -> str:
        return self._view().picture() if self._history.lines else f"<p>{escape(repr(self))}</p>"

    def _named(self, metric: str) -> str:
        """Return what a metric is called in tables and files; raise where another one would be called the same."""
        if self.names == "plain":
            return metric
        safe = safe_name_or_none(metric_name(metric)) or metric
        for other in {name for _, name in self._history.lines} - {metric}:
            if (safe_name_or_none(metric_name(other)) or other) == safe:
                raise ValueError(
                    f"names='safe' would call both {metric!r} and {other!r} {safe!r}; give one another name"
                )
        return safe

    # What is shown

    def _lines(self, dataset: str) -> dict[str, Line]:
        return {metric: line for (name, metric), line in self._history.lines.items() if name == dataset}

    def _dataset(self, wanted: str | None = None) -> str:
        """Return the data set that is meant: that which is named, else the first that is not trained on."""
        known = self._history.datasets
        name = wanted or self.dataset
        if name is None:
            training = self._training_names()
            return next((one for one in known if one not in training), known[0] if known else "")
        if name not in known:
            raise ValueError(unknown_data_set(name, known))
        return name

    def _shown(self) -> tuple[str, list[str]]:
        """Return the data set and the metrics that are shown; say if they are not there."""
        remedy = self._remedy(list(self.metrics) or ["ndcg_linear@10", "ndcg_exp@10"])
        if not self._history.lines:
            raise ValueError(f"Curves has nothing to show: no data set or no metric is evaluated; {remedy}")
        dataset = self._dataset()
        lines = self._lines(dataset)
        if not self.metrics:
            return dataset, chosen_pair([name for name, line in lines.items() if line.higher_is_better is not None])
        by_metric = {metric_name(name): name for name in lines}
        for name in self.metrics:
            if name not in by_metric:
                raise ValueError(f"{unlogged(name, repr(dataset), list(lines))}; {remedy}")
            if lines[by_metric[name]].higher_is_better is None:
                raise ValueError(
                    f"it is not known whether a higher {name!r} is better: give higher_is_better=True or False"
                )
        return dataset, [by_metric[name] for name in self.metrics]

    def _view(self) -> View:
        """Return what is to be seen now."""
        dataset, metrics = self._shown()
        lines = self._lines(dataset)
        training = self._live is not None
        return view_of(
            {name: lines[name] for name in metrics},
            title=self.name or dataset,
            dataset=dataset,
            last_round=self._history.last_round,
            total=self._total if training else None,
            seconds=seconds_now() - self._started if training else None,
            stops=self._stops(dataset) if training else None,
        )

    def _stops(self, dataset: str) -> tuple[str, int, int] | None:
        """Return on what early stopping waits, for how many more rounds, and for how many in all."""
        waiting = self._waiting()
        if waiting is None:
            return None
        lines = self._lines(waiting.dataset or dataset)
        name = next((one for one in lines if metric_name(one) == metric_name(waiting.metric)), waiting.metric)
        return name, waiting.left(lines.get(name), self._history.last_round), waiting.rounds


def _warn_of_lengths(recorded: Sequence[tuple[str, str, Sequence[float]]]) -> None:
    """Warn where some metrics have fewer values than others: in which rounds these were taken is not recorded."""
    longest = max(recorded, key=lambda curve: len(curve[2]))
    for dataset, metric, values in recorded:
        if len(values) < len(longest[2]):
            warnings.warn(
                f"history holds {len(values)} values of {metric!r} on {dataset!r} and {len(longest[2])} of "
                f"{longest[1]!r} on {longest[0]!r}: all are taken for those of the rounds 1, 2, 3, …, which they are "
                "not where a metric was evaluated in some rounds only (every=); a Curves among the callbacks of the "
                "training knows the rounds",
                stacklevel=3,
            )
            return


def _said(higher_is_better: Any) -> bool | dict[str, bool] | None:
    """Return what has been said of directions, or raise where it is neither a truth value nor one by metric."""
    if higher_is_better is None:
        return None
    if not isinstance(higher_is_better, Mapping):
        return check_flag("higher_is_better", higher_is_better)
    return {name: check_flag(f"higher_is_better[{name!r}]", said) for name, said in higher_is_better.items()}


def _names(metrics: MetricLike | Iterable[MetricLike] | None) -> tuple[str, ...]:
    """Return the names of metrics, ours in their canonical spelling."""
    if metrics is None:
        return ()
    listed = [metrics] if isinstance(metrics, str | Metric) else list(metrics)
    for metric in listed:
        if not isinstance(metric, str | Metric):
            raise TypeError(f"metrics must be names or Metric objects, got {metric!r}")
    if not listed:
        raise ValueError("metrics is empty: name at least one, or leave it out")
    names = [metric_name(str(metric)) for metric in listed]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"metrics names {name!r} twice")
    return tuple(names)
