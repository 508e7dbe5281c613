"""Callbacks for XGBoost: early stopping on the metric that you name, and live curves."""

from __future__ import annotations

import json
import sys
import threading
import warnings
import weakref
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import xgboost as xgb
from xgboost.callback import TrainingCallback

from .._common.arrays import nearest
from .._common.validation import validate_flag
from ..evaluation.prediction import find_trees
from ..metrics.base import METRICS, Metric
from ..training.curves import CurvesBase
from ..training.early_stopping import EarlyStoppingBase, StoppingRun, active_runs
from ..training.logged_metrics import create_clash_error, find_logged_name, find_metric, named_call
from .evaluate import REMEDY, calls, get_loggers, log_first

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ..metrics.names import MetricLike
    from ..training.display import Show

_HIGHER = ("auc", "aucpr", "pre", "map", "ndcg", "interval-regression-accuracy")
_LOWER = (
    "rmse", "rmsle", "mae", "mape", "mphe", "logloss", "error", "merror", "mlogloss", "poisson-nloglik",
    "gamma-nloglik", "cox-nloglik", "gamma-deviance", "tweedie-nloglik", "aft-nloglik", "quantile", "expectile",
)  # fmt: skip
DIRECTIONS = {**dict.fromkeys(_HIGHER, True), **dict.fromkeys(_LOWER, False)}
"""Whether a higher value is better, for each metric of XGBoost by its name without a cutoff."""


def read_best(model: Any) -> tuple[str | None, str | None]:
    """Return the attributes of the best round. Each early stopping overwrites them, and a continued model has some."""
    return model.attr("best_iteration"), model.attr("best_score")


def has_library_stop() -> bool:
    """Return whether XGBoost's own early stopping is among the callbacks of this training.

    XGBoost does not pass the callbacks to a callback, so this function reads them from the object that calls it.
    """
    frame = sys._getframe()
    while frame.f_back is not None:
        container = frame.f_locals.get("self")
        if isinstance(container, xgb.callback.CallbackContainer):
            return any(isinstance(callback, xgb.callback.EarlyStopping) for callback in container.callbacks)
        frame = frame.f_back
    return False


class Curves(CurvesBase, TrainingCallback):
    """A callback that shows metrics and their best rounds while XGBoost trains, and records every value.

    It updates a few lines in a terminal or a picture in a notebook. Elsewhere, it prints one line to stderr at the end.
    Pass it in the callbacks of `xgboost.train`, `xgboost.cv` or `XGBRanker`, together with any evaluation and any early
    stopping. Use one object per training. To disable the lines of XGBoost, pass
    `verbose_eval=False` to `xgboost.train`, or `verbose=False` to `XGBRanker.fit`.

    Parameters
    ----------
    metrics : str, Metric or iterable of these, optional
        The evaluated metrics to show. Default: linear and exponential NDCG at one cutoff if both are evaluated,
        otherwise the first two. All evaluated metrics are recorded.
    dataset : str, optional
        The dataset to show, by its name in `evals` or `EvaluateRanking`. Default: the first one that is not called
        train or training.
    name : str, optional
        The name of the training, also used as `candidate` in `frame`. Default: the dataset is shown instead.
    higher_is_better : bool, optional
        The direction of metrics that belong neither to gainwise nor to XGBoost.
    show : bool or {"terminal", "notebook", "line"}
        The place of the output. True selects it automatically, False disables it.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid. In the first round, if no value is evaluated or if the metric or dataset is missing.
        In a second training.

    Notes
    -----
    Each metric is drawn relative to its best value, with the loss from stopping at the best round of the other metric.
    With `early_stopping` of gainwise, the remaining rounds are shown. `xgboost.cv` shows means over the folds. Rounds
    are counted from 1 and include those of a continued model, but `best_iteration` of XGBoost counts from 0.

    Examples
    --------
    >>> import xgboost as xgb
    >>> from gainwise.data import simulate
    >>> from gainwise.xgboost import Curves, EvaluateRanking
    >>> train, valid = simulate(60, seed=1).split_queries(0.5, 0.5, seed=1)
    >>> matrix = xgb.DMatrix(train.features, label=train.labels, qid=train.qid)
    >>> log = EvaluateRanking({"valid": (valid.features, valid.labels, valid.qid)}, ["ndcg_linear@10", "ndcg_exp@10"])
    >>> curves = Curves(show=False)
    >>> params = {"objective": "rank:ndcg", "disable_default_eval_metric": True}
    >>> booster = xgb.train(params, matrix, 20, callbacks=[log, curves], verbose_eval=False)
    >>> curves.frame().columns.tolist(), len(curves.frame())
    (['dataset', 'metric', 'round', 'value'], 40)
    """

    def __init__(
        self,
        metrics: MetricLike | Iterable[MetricLike] | None = None,
        *,
        dataset: str | None = None,
        name: str | None = None,
        higher_is_better: bool | None = None,
        show: Show | bool = True,
    ) -> None:
        super().__init__(metrics, dataset=dataset, name=name, show=show)
        self.higher_is_better = (
            None if higher_is_better is None else validate_flag("higher_is_better", higher_is_better)
        )

    def before_training(self, model: Any) -> Any:
        """Start recording."""
        if xgb.collective.get_rank() != 0:
            self.show = False  # all workers log the same values, and the first one shows them
        self._begin("xgboost")
        self._model = model
        self._first_round = model.num_boosted_rounds() if isinstance(model, xgb.Booster) else 0
        self._best = self._initial_best = read_best(model)
        self._log: Any = {}
        return model

    def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Remember the history, in case another callback ends the training in this round."""
        self._log = evals_log
        return False

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Record the values of a round."""
        log_first(model, epoch, evals_log)
        self._log = evals_log
        self._record(self._first_round + epoch + 1, self._read_new_values())
        return False

    def after_training(self, model: Any) -> Any:
        """Record the last values and show the end."""
        if self._model is not None:
            values = list(self._read_new_values())
            is_booster = isinstance(self._model, xgb.Booster)
            last = self._model.num_boosted_rounds() if is_booster else self.rounds + bool(values)
            if self._log and last > self.rounds:  # another callback stopped the training before this one was called
                self._record(last, values)
        run = active_runs.get(self._model)
        if run is not None and run.sets_best is None:
            run.on_end.append(partial(self._finish, run))  # early stopping comes later, and may select another round
        else:
            self._finish(run, model)
        return model

    def _finish(self, run: StoppingRun | None, model: Any) -> None:
        """Show the end, with the round that the model predicts with."""
        self._best = read_best(model)
        is_selected = run is not None and run.sets_best and self._best[0] == str(run.best_round - 1)
        self._end(run if is_selected else None)
        self._log = {}

    def _read_new_values(self) -> Iterator[tuple[str, str, float, bool | None]]:
        """Yield the values since the last call."""
        for dataset, history in self._log.items():
            for metric, values in history.items():
                curve = self._curves.get((dataset, metric))
                seen = 0 if curve is None else len(curve.values)
                if len(values) > seen + 1:
                    raise create_clash_error(metric, "XGBoost", REMEDY)
                if len(values) > seen:
                    value = values[-1][0] if isinstance(values[-1], tuple) else values[-1]
                    higher = self._find_direction(metric) if curve is None else curve.higher_is_better
                    yield dataset, metric, float(value), higher

    def _find_direction(self, metric: str) -> bool | None:
        """Return whether a higher value is better, or None if it is unknown."""
        own_metric = find_metric(metric)
        if own_metric is not None:
            return own_metric.higher_is_better
        return DIRECTIONS.get(metric.partition("@")[0], self.higher_is_better)

    def _find_selected_round(self) -> int | None:
        best_iteration, _ = self._best
        return None if best_iteration is None or self._best == self._initial_best else int(best_iteration) + 1

    def _describe_remedy(self, metrics: list[str]) -> str:
        return f"evaluate it with EvaluateRanking({{…}}, {metrics}) in callbacks, or with custom_metric"


@named_call('callbacks=[early_stopping("ndcg_exp@10", rounds=50)]')
def early_stopping(
    metric: MetricLike,
    rounds: int,
    dataset: str | None = None,
    min_delta: float = 0.0,
    maximize: bool | None = None,
    save_best: bool = False,
    verbose: bool = True,
) -> EarlyStopping:
    """Create a callback that stops training if the metric that you name does not improve for some rounds.

    XGBoost's own early stopping guesses the direction of a metric from its name, and minimizes `mrr`. This callback
    uses the direction that the metric defines. It monitors one metric on one dataset, ignores all others, and sets
    `best_iteration` and `best_score`, whether it stops the training or not.

    Parameters
    ----------
    metric : str or Metric
        The metric, such as ``"ndcg_linear@10"``, by its plain or safe name (`names=` of `custom_metric`).
    rounds : int
        Stop after this number of boosting rounds without improvement.
    dataset : str, optional
        The name of the dataset in `evals` or `EvaluateRanking`. Optional if the metric is logged on one dataset only.
    min_delta : float, default 0
        The smallest increase over the best value that counts as an improvement.
    maximize : bool, optional
        The direction. Required only for custom metrics that gainwise does not define.
    save_best : bool, default False
        Return the model cut after its best round. Not available in `xgboost.cv`, or with dart and gblinear.
    verbose : bool, default True
        Print the best round.

    Returns
    -------
    TrainingCallback
        A callback to pass in ``callbacks=``, in place of `early_stopping_rounds`.

    Raises
    ------
    TypeError
        If an option belongs to the early stopping of another library. The message contains the right option.
    ValueError
        If the direction is wrong for a metric of gainwise, or if there is a second callback of this kind. In the first
        round, if the metric or the dataset is not evaluated. The message lists the names in the log.

    See Also
    --------
    gainwise.xgboost.EvaluateRanking : Log the metrics that early stopping monitors.
    gainwise.lightgbm.early_stopping : The same for LightGBM.

    Notes
    -----
    One object can be used in several trainings. XGBoost's own early stopping (`early_stopping_rounds`) may also end the
    training, and a warning states that. With `every=n`, at least one round after the best round must be evaluated. If
    all values are NaN, the callback has no effect, and a warning states that. In `xgboost.cv`, pass this callback last,
    because later callbacks do not receive the last round.

    Examples
    --------
    >>> import xgboost as xgb
    >>> from gainwise.data import simulate
    >>> from gainwise.xgboost import EvaluateRanking, early_stopping
    >>> train, valid = simulate(60, seed=1).split_queries(0.5, 0.5, seed=1)
    >>> matrix = xgb.DMatrix(train.features, label=train.labels, qid=train.qid)
    >>> booster = xgb.train(
    ...     {"objective": "rank:ndcg", "disable_default_eval_metric": True}, matrix, 20, verbose_eval=False,
    ...     callbacks=[EvaluateRanking({"valid": (valid.features, valid.labels, valid.qid)}, ["ndcg_exp@10", "mrr"]),
    ...                early_stopping("ndcg_exp@10", rounds=5, verbose=False)])
    >>> 0 <= booster.best_iteration < 20
    True
    """
    common = {"metric": metric, "rounds": rounds, "dataset": dataset, "min_delta": min_delta, "verbose": verbose}
    return EarlyStopping(maximize, save_best, **common)


@dataclass(eq=False)
class _Run(StoppingRun):
    """The state of one training. `reference` is its model, because another callback may return a shorter one."""

    reference: Any = None
    initial_best: tuple[str | None, str | None] = (None, None)
    is_continued: bool = False
    has_stopped: bool = False
    history: Any = field(default_factory=dict)
    last_checked: int = 0
    values_seen: int = 0


class EarlyStopping(EarlyStoppingBase, TrainingCallback):
    """A callback for XGBoost, created by `early_stopping`."""

    _factory = early_stopping

    def __init__(self, maximize: bool | None, save_best: bool, **common: Any) -> None:
        super().__init__(**common)
        self.maximize = _find_direction(self._own_metric or self.metric, maximize)
        self.save_best = validate_flag("save_best", save_best)
        self._runs: defaultdict[int, list[_Run]] = defaultdict(list)
        """The trainings of each thread, where a callback of one may start another."""

    def before_training(self, model: Any) -> Any:
        """Start a new record."""
        second = active_runs.get(model)
        runs = self._runs[threading.get_ident()]
        if second is not None and second.sets_best is None and all(second is not run for run in runs):
            raise ValueError(
                f"two early_stopping callbacks in one training, on {second.metric!r} and on {self.metric!r}: a model "
                "has one best round. Keep one, and read the best round of the other metric from evals_result"
            )
        if has_library_stop():
            warnings.warn(
                f"XGBoost's own early stopping is active next to the one on {self.metric!r}, and the first to stop "
                "ends the training. Remove early_stopping_rounds, or xgboost.callback.EarlyStopping from the callbacks",
                stacklevel=5,
            )
        if self.save_best and not isinstance(model, xgb.Booster):
            raise ValueError("save_best does not work in xgboost.cv, which returns no model")
        unstable = _describe_unstable_booster(model) if isinstance(model, xgb.Booster) else None
        if unstable is not None:
            booster, reason = unstable
            if self.save_best:
                raise ValueError(
                    f"save_best does not work under {booster}: {reason}, so the model cut after its best round differs "
                    "from the one that was evaluated"
                )
            warnings.warn(f"under {booster} {reason}: the model of the best round cannot be restored", stacklevel=2)
        start: int = model.num_boosted_rounds()
        run = _Run(self.metric, self.rounds, start, start, reference=weakref.ref(model), last_checked=start)
        run.initial_best = read_best(model) if start else (None, None)
        run.is_continued = start > 0 and unstable is None
        runs.append(run)
        active_runs.set(model, run)
        if run.is_continued:
            calls.set([])
        return model

    def before_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """End the training if `after_iteration` decided so, after all callbacks have received the last round."""
        run = self._find_run(model)
        run.history = evals_log
        return run.has_stopped

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Check the value of a round. Only `xgboost.cv` is stopped at once, which then cuts its table."""
        run = self._find_run(model)
        run.history = evals_log
        log_first(model, epoch, evals_log)
        round_number = run.start + epoch + 1
        self._check(run, model, round_number)
        run.has_stopped = run.is_over(round_number)
        if run.has_stopped:
            self._set_best(run, model)  # at once, because xgboost.cv and a second stop with save_best read it
        return run.has_stopped and not isinstance(model, xgb.Booster)

    def _find_run(self, model: Any) -> _Run:
        """Return the state of a model's training, or of the last one if another callback has replaced the model."""
        runs = self._runs[threading.get_ident()]
        return next((run for run in reversed(runs) if run.reference() is model), runs[-1])

    def _check(self, run: _Run, model: Any, round_number: int) -> None:
        """Check the value of a round, if it was evaluated."""
        curve = self._find_curve(run)
        if len(curve) > round_number - run.start:
            raise create_clash_error(str(run.logged_name), "XGBoost", REMEDY)
        if run.is_continued and run.last_checked == run.start:
            self._evaluate_start(run, model)
        run.last_checked = round_number
        if len(curve) > run.values_seen:
            run.values_seen = len(curve)
            value = float(curve[-1][0] if isinstance(curve[-1], tuple) else curve[-1])
            self._record(run, round_number, value, self.maximize, self.min_delta)

    def _evaluate_start(self, run: _Run, model: Any) -> None:
        """Use the better length of the continued model as the value to beat: up to its best round, or complete."""
        best = (run.initial_best[0] or "").strip()
        best_length = min(int(best) + 1, run.start) if best.isdigit() else run.start
        recorded = [(log, matrix) for log, reference in calls.get() or () if (matrix := reference()) is not None]
        calls.set(None)
        for rounds in sorted({best_length, run.start}):
            value = self._compute_value(run, model, rounds, recorded)
            if value is None:
                functions = "EvaluateRanking or custom_metric"
                warnings.warn(self._describe_unknown_start(functions), stacklevel=2)
                return
            self._record(run, rounds, value, self.maximize, 0.0)

    def _compute_value(self, run: _Run, model: Any, rounds: int, recorded: list[Any]) -> float | None:
        """Return the value of the first rounds of a model as it would be logged, or None for other metrics."""
        metric, dataset, loggers = str(run.logged_name), str(run.dataset), get_loggers(model)
        for logger in loggers:
            value = logger.compute_value(model, rounds, dataset, metric)
            if value is not None:
                return value
        recorded = [(log, matrix) for log, matrix in recorded if metric in log.logged_metrics.names]
        datasets = [name for name, history in run.history.items() if metric in history]
        place = datasets.index(dataset)  # XGBoost evaluates its own datasets first, in the order of history
        if place >= len(recorded):
            return None
        log, matrix = recorded[place]
        exact = log.compute_value(model, rounds, matrix, metric)
        restored = any(getattr(logger, "log", None) is log for logger in loggers)
        return float(exact if restored else f"{exact:f}")  # XGBoost keeps six digits

    def after_training(self, model: Any) -> Any:
        """Print the best round, and cut the model there if `save_best`."""
        run = self._find_run(model)
        self._runs[threading.get_ident()].remove(run)
        result = self._finish(run, model)
        for function in run.on_end:
            function(result)
        run.history, run.on_end = {}, []  # the run is stored as long as the model
        return result

    def _finish(self, run: _Run, model: Any) -> Any:
        """Return the resulting model."""
        run.sets_best = False
        trained = model if run.reference() is None else run.reference()
        last_round = trained.num_boosted_rounds()
        if run.history and run.last_checked < last_round:  # another callback stopped before this one was called
            self._check(run, trained, last_round)
        if run.best is None:
            if run.values_seen:
                warnings.warn(self._describe_missing_values(run.dataset), stacklevel=2)
            return model
        is_cut = model.num_boosted_rounds() < last_round
        has_second_stop = is_cut or read_best(trained) != run.initial_best
        keeps_attributes = has_second_stop and not run.has_stopped and not self.save_best
        self._print_best(run, keeps_attributes)
        if keeps_attributes:
            return model
        run.sets_best = True
        result = cut_booster(trained, run.best_round) if self.save_best else model
        self._set_best(run, result)
        return result

    def _set_best(self, run: _Run, model: Any) -> None:
        model.set_attr(best_score=str(run.best), best_iteration=str(run.best_round - 1))

    def _print_best(self, run: _Run, keeps_attributes: bool) -> None:
        if not self.verbose or xgb.collective.get_rank() != 0:
            return
        start = "Best" if run.best_round > run.start else "No round is better than the continued model: its best"
        second = (
            ". best_iteration and best_score of the model are those of another stopping" if keeps_attributes else ""
        )
        value = f"{self.metric} = {run.best:.6g} on {run.dataset}"
        text = f"{start} iteration is {run.best_round - 1} (counted from 0) with {value}{second}"
        xgb.collective.communicator_print(f"{text}\n")

    def _find_curve(self, run: _Run) -> list[Any]:
        """Return the values of the metric, or raise an error if it is not logged."""
        if run.dataset is None:
            datasets = [name for name, history in run.history.items() if find_logged_name(self.metric, history)]
            datasets = [name for name in datasets if self.dataset in (None, name)]
            if len(datasets) > 1:
                raise ValueError(f"{self.metric!r} is logged on {', '.join(datasets)}: pass dataset=, one of these")
            if not datasets:
                remedy = f"Pass EvaluateRanking({{…}}, [{self.metric!r}]) in callbacks, or custom_metric="
                raise ValueError(self._describe_missing_metric(run.history, self.dataset, remedy))
            run.dataset, run.logged_name = datasets[0], find_logged_name(self.metric, run.history[datasets[0]])
        curve: list[Any] = run.history[run.dataset][run.logged_name]
        return curve


def cut_booster(booster: xgb.Booster, rounds: int) -> xgb.Booster:
    """Return the first rounds of a booster, with the categories of its features.

    Slices of XGBoost before 3.4 lose the categories. They misread a DataFrame with the same categories in another
    order.
    """
    cut = booster[:rounds]
    if "c" not in (booster.feature_types or ()):
        return cut
    content, complete = (json.loads(bytes(model.save_raw("json"))) for model in (cut, booster))
    trees, all_trees = find_trees(content), find_trees(complete)
    if trees is None or all_trees is None or trees.get("cats") == all_trees.get("cats"):
        return cut
    trees["cats"] = all_trees["cats"]
    restored: xgb.Booster = xgb.Booster(model_file=bytearray(json.dumps(content).encode()))
    return restored


def _find_direction(metric: Metric | str, maximize: bool | None) -> bool:
    """Return whether a higher value is better, or raise an error if it is unknown or contradicts `maximize`."""
    if maximize is not None:
        maximize = validate_flag("maximize", maximize)
    if isinstance(metric, Metric):
        if maximize is not None and maximize != metric.higher_is_better:
            better = "higher" if metric.higher_is_better else "lower"
            raise ValueError(f"maximize={maximize} selects the worst {metric}, because a {better} value is better")
        return metric.higher_is_better
    direction = DIRECTIONS.get(metric.partition("@")[0]) if maximize is None else maximize
    if direction is None:
        hint = nearest(metric, [*METRICS, *DIRECTIONS])
        raise ValueError(
            f"it is not known whether a higher {metric!r} is better{hint}. Pass maximize=True or maximize=False. For a "
            "custom metric of gainwise, import the module that defines it."
        )
    return direction


def _describe_unstable_booster(model: xgb.Booster) -> tuple[str, str] | None:
    """Return the kind of a booster whose earlier rounds cannot be restored, with the reason, or None.

    dart drops trees during training. Since XGBoost 3.4, parameters of any tree booster can do so.
    """
    config = json.loads(model.save_config())["learner"]["gradient_booster"]
    if config["name"] == "gblinear":
        return "gblinear", "later rounds change the same weights"
    dropout = config.get("dart_train_param", {})
    if config["name"] == "dart" or any(float(dropout.get(name, 0)) > 0 for name in ("rate_drop", "one_drop")):
        return "dart", "later rounds change earlier trees"
    return None
