"""A metric function for XGBoost, and the digits that XGBoost cuts off its values."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import xgboost as xgb

from ..training.bound import Panel, WeakIdentityMap, clash
from .baseline import note_call
from .binding import REMEDY, BoundMatrix, Logger, in_estimators, means_over_workers, sums_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .._common.typing import Floats
    from ..judgments import NegativeLabels
    from ..metrics.names import MetricLike
    from ..metrics.safe import Names


def custom_metric(
    metrics: MetricLike | Iterable[MetricLike],
    *,
    convention: str | None = None,
    negative_labels: NegativeLabels = "refuse",
    n_jobs: int | None = None,
    names: Names = "plain",
) -> CustomMetric:
    """Return a `custom_metric` for `xgboost.train`, `xgboost.cv` and `xgboost.dask.train`.

    XGBoost formats the values of custom metrics with six decimals; where you need all digits add `full_precision`.
    Do not give it to the `eval_metric` of `XGBRanker` or `DaskXGBRanker`, which calls a metric query by query and
    ignores weights: estimators take `EvaluateRanking`, as a callback. A metric that
    XGBoost logs under the same name cannot be seen from here and shares its history, unless `full_precision` or our
    `early_stopping` is there to refuse it: leave it out of `eval_metric`.

    Parameters
    ----------
    metrics : str, Metric, or an iterable of them
        See `gainsay.parse_metrics`.
    convention : str, optional
        Read metric names as this library does; see `gainsay.parse_metrics`.
    negative_labels : {"refuse", "allow", "zero"}
        See `gainsay.Judgments`.
    n_jobs : int, optional
        Threads at most, by default the CPUs that the process may use; fewer where that turns out to be quicker.
    names : {"plain", "safe"}
        Under which names metrics are logged: as they print themselves, `ndcg_exp@10`, or in letters, digits and
        underscores only, `ndcg_exp_at_10`, as trackers want them (`gainsay.metrics.safe_name`). Early stopping knows a
        metric by either.

    Raises
    ------
    ValueError
        At once for unknown metrics; in the first round for a DMatrix without groups or labels that do not suit the
        metrics; in any round for NaN scores (`checkpoint` then has the model and the rounds before).

    Examples
    --------
    >>> import xgboost as xgb
    >>> from gainsay.data import simulate
    >>> from gainsay.xgboost import custom_metric
    >>> data = simulate(30, seed=1)
    >>> train = xgb.DMatrix(data.features, label=data.labels, qid=data.qid)
    >>> curves = {}
    >>> booster = xgb.train(
    ...     {"objective": "rank:ndcg", "disable_default_eval_metric": True}, train, num_boost_round=3,
    ...     evals=[(train, "train")], custom_metric=custom_metric(["ndcg_linear@10", "mrr"]), evals_result=curves,
    ...     verbose_eval=False)
    >>> list(curves["train"])
    ['ndcg_linear@10', 'mrr']
    """
    return CustomMetric(Panel(metrics, convention, negative_labels, n_jobs, names))


class CustomMetric:
    """An evaluation function as `xgboost.train` and `xgboost.cv` take it; made by `custom_metric`."""

    def __init__(self, panel: Panel) -> None:
        self.panel = panel
        self._unread: dict[int, list[list[float]]] = {}
        """By thread, where `full_precision` asks for them, the values of each data set since it last read them."""
        self._bound: WeakIdentityMap[BoundMatrix] = WeakIdentityMap()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.panel,)

    def __repr__(self) -> str:
        return self.panel.call(custom_metric)

    def __call__(self, predt: Any, dmatrix: xgb.DMatrix) -> list[tuple[str, float]]:
        """Return (name, value) of each metric."""
        if not isinstance(dmatrix, xgb.DMatrix):
            raise TypeError(
                "custom_metric is for xgboost.train, xgboost.cv and xgboost.dask.train; "
                + in_estimators(list(self.panel.names))
            )
        note_call(self, dmatrix)
        values = means_over_workers(lambda: self._sums(predt, dmatrix), len(self.panel.names))
        if (unread := self._unread.get(threading.get_ident())) is not None:
            unread.append(values)
        return list(zip(self.panel.names, values, strict=True))

    def read(self, *, further: bool = True) -> list[list[float]]:
        """Return the values of each data set since this was last called in this thread; keep further ones or none."""
        values = self._unread.pop(threading.get_ident(), [])
        if further:
            self._unread[threading.get_ident()] = []
        return values

    def value_after(self, model: Any, rounds: int, dmatrix: xgb.DMatrix, metric: str) -> float:
        """Return the value of one metric for a model cut after some rounds, on a matrix that was evaluated before."""

        def sums() -> Floats:
            bound = self._bind(dmatrix)
            return sums_of(bound.part, model.predict(dmatrix, iteration_range=(0, rounds)), rounds, bound.where)

        return means_over_workers(sums, len(self.panel.names))[self.panel.names.index(metric)]

    def _sums(self, predt: Any, dmatrix: xgb.DMatrix) -> Floats:
        bound = self._bind(dmatrix)
        bound.rounds += 1
        return sums_of(bound.part, predt, bound.rounds, bound.where)

    def _bind(self, dmatrix: xgb.DMatrix) -> BoundMatrix:
        bound = self._bound.get(dmatrix)
        if bound is None or bound.outdated(dmatrix):
            bound = BoundMatrix(self.panel, dmatrix)
            self._bound.set(dmatrix, bound)
        return bound


def full_precision(log: CustomMetric) -> FullPrecision:
    """Return a callback that puts the unrounded values of a custom metric into the history.

    XGBoost formats the values of custom metrics with six decimals. Unlike `EvaluateRanking` this predicts nothing
    itself, and works in `xgboost.dask.train`.

    Parameters
    ----------
    log : CustomMetric
        What `custom_metric` returned; the same goes to the training.

    Raises
    ------
    TypeError
        Where `log` is something else.
    ValueError
        In the first round, where the training was given another custom metric.

    Examples
    --------
    >>> import xgboost as xgb
    >>> from gainsay.data import simulate
    >>> from gainsay.xgboost import custom_metric, full_precision
    >>> data = simulate(30, seed=1)
    >>> train = xgb.DMatrix(data.features, label=data.labels, qid=data.qid)
    >>> log, curves = custom_metric(["mrr"]), {}
    >>> booster = xgb.train(
    ...     {"objective": "rank:ndcg", "disable_default_eval_metric": True}, train, num_boost_round=1,
    ...     evals=[(train, "train")], custom_metric=log, callbacks=[full_precision(log)], evals_result=curves,
    ...     verbose_eval=False)
    >>> curves["train"]["mrr"][0] == round(curves["train"]["mrr"][0], 6)
    False
    """
    return FullPrecision(log)


class FullPrecision(Logger):
    """A callback for XGBoost; made by `full_precision`."""

    def __init__(self, log: CustomMetric) -> None:
        super().__init__()
        if not isinstance(log, CustomMetric):
            raise TypeError(f"log must be what gainsay.xgboost.custom_metric returned, got {type(log).__name__}")
        self.log = log

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.log,)

    def __repr__(self) -> str:
        return f"full_precision({self.log!r})"

    def before_training(self, model: Any) -> Any:
        """Have the values kept."""
        if not isinstance(model, xgb.Booster):
            raise ValueError("full_precision has no meaning in xgboost.cv, whose values are means over folds")
        self.log.read()
        return super().before_training(model)

    def log_round(self, model: Any, epoch: int, evals_log: Any) -> None:
        """Replace the rounded values of this round."""
        unread = self.log.read()
        names = self.log.panel.names
        if not evals_log:
            raise ValueError("full_precision has nothing to put in: no data set is evaluated; give evals=[…]")
        histories = [history for history in evals_log.values() if names[0] in history]  # XGBoost's own come first
        if not 0 < len(unread) <= len(histories):
            raise ValueError("full_precision has nothing to put in: give training the same log, as custom_metric=")
        for history, values in zip(histories, unread, strict=False):
            for name, value in zip(names, values, strict=True):
                if len(history[name]) > epoch + 1:
                    raise clash(name, "XGBoost", REMEDY)
                history[name][-1] = value

    def after_training(self, model: Any) -> Any:
        """Have nothing kept any more."""
        self.log.read(further=False)
        return super().after_training(model)
