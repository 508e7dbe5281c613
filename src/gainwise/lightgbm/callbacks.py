"""Callbacks for LightGBM: early stopping on the metric that you name, and live curves."""

from __future__ import annotations

import sys
import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import lightgbm as lgb
from lightgbm.callback import CallbackEnv, EarlyStopException

from ..training.curves import CurvesBase
from ..training.early_stopping import EarlyStoppingBase, StoppingRun, active_runs, get_active_run
from ..training.logged_metrics import WeakIdentityMap, create_clash_error, find_logged_name, named_call
from .feval import REMEDY, compute_initial_values

if TYPE_CHECKING:
    from ..metrics.names import MetricLike


class Result(NamedTuple):
    """One evaluation result of LightGBM."""

    dataset: str
    metric: str
    value: float
    maximize: bool


def read_result(entry: Any) -> Result:
    """Return an evaluation result, which is an object since LightGBM 4.7 and a tuple in earlier versions."""
    if hasattr(entry, "dataset_name"):
        return Result(entry.dataset_name, entry.metric_name, float(entry.metric_value), bool(entry.maximize))
    dataset, metric, value, maximize = entry[:4]
    if dataset == "cv_agg":
        dataset, metric = metric.split(" ", 1)
    return Result(dataset, metric, float(value), bool(maximize))


shown_curves: WeakIdentityMap[WeakKeyDictionary[Any, None]] = WeakIdentityMap()
"""The `Curves` of a training by its model. Early stopping ends them, because LightGBM calls no callback at the end."""


def has_library_stop() -> bool:
    """Return whether LightGBM's own early stopping is among the callbacks of this training and enabled.

    LightGBM disables it with dart, for example. It does not pass the callbacks to a callback, so this function reads
    them from the loop that calls it.
    """
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_globals["__name__"] != "lightgbm.engine":
        frame = frame.f_back
    own = getattr(lgb.callback, "_EarlyStoppingCallback", ())
    callbacks = frame.f_locals.get("callbacks_after_iter", ())
    return any(isinstance(callback, own) and getattr(callback, "enabled", True) for callback in callbacks)


class Curves(CurvesBase):
    """A callback that shows metrics and their best rounds while LightGBM trains, and records every value.

    It updates a few lines in a terminal or a picture in a notebook. Elsewhere, it prints one line to stderr at the end.
    Pass it in the callbacks of `lightgbm.train`, `lightgbm.cv` or the scikit-learn estimators, together with any early
    stopping. Use one object per training.

    Parameters
    ----------
    metrics : str, Metric or iterable of these, optional
        The evaluated metrics to show. Default: linear and exponential NDCG at one cutoff if both are evaluated,
        otherwise the first two. All evaluated metrics are recorded.
    dataset : str, optional
        The dataset to show, by LightGBM's name. Default: the first one that is not the training data.
    name : str, optional
        The name of the training, also used as `candidate` in `frame`. Default: the dataset is shown instead.
    show : bool or {"terminal", "notebook", "line"}
        The place of the output. True selects it automatically, False disables it.

    Raises
    ------
    TypeError, ValueError
        If an argument is invalid. In the first round, if no value is evaluated or if the metric or dataset is missing.
        In a second training.

    See Also
    --------
    gainwise.lightgbm.feval : Log the metrics that the curves show.
    gainwise.lightgbm.early_stopping : Stop on one metric.

    Notes
    -----
    Each metric is drawn relative to its best value, with the loss from stopping at the best round of the other metric.
    With `early_stopping` of gainwise, the remaining rounds are shown. `lightgbm.cv` shows means over the folds.

    Examples
    --------
    >>> import lightgbm as lgb
    >>> from gainwise.data import simulate
    >>> from gainwise.lightgbm import Curves, feval
    >>> train, valid = simulate(60, seed=1).split_queries(0.5, 0.5, seed=1)
    >>> train_set = lgb.Dataset(train.features, train.labels, group=train.group)
    >>> valid_set = lgb.Dataset(valid.features, valid.labels, group=valid.group, reference=train_set)
    >>> curves = Curves(show=False)
    >>> booster = lgb.train(
    ...     {"objective": "lambdarank", "metric": "None", "verbose": -1}, train_set, 20, valid_sets=[valid_set],
    ...     feval=feval(["ndcg_linear@10", "ndcg_exp@10"]), callbacks=[curves])
    >>> curves.frame().columns.tolist(), len(curves.frame())
    (['dataset', 'metric', 'round', 'value'], 40)
    """

    # Without `order`, LightGBM calls this callback before all others that may stop training.

    def __call__(self, env: CallbackEnv) -> None:
        """Record the values of a round."""
        if env.iteration == env.begin_iteration or self._model is not env.model:
            self._begin("lightgbm", env.end_iteration)
            self._model = env.model
            name = getattr(env.model, "_train_data_name", None)
            if isinstance(name, str):  # a CVBooster returns a function for any name
                self._training_names = (*self._training_names, name)
            shown_curves.set(env.model, WeakKeyDictionary({**(shown_curves.get(env.model) or {}), self: None}))
        results = [read_result(entry) for entry in env.evaluation_result_list or []]
        counts = Counter(result[:2] for result in results)
        duplicate = next((metric for (_, metric), count in counts.items() if count > 1), None)
        if duplicate is not None:
            raise create_clash_error(duplicate, "LightGBM", REMEDY)
        self._record(env.iteration + 1, results)
        is_last = env.iteration == env.end_iteration - 1
        if is_last and get_active_run(env.model) is None and not (results and has_library_stop()):
            self._end()  # otherwise, early stopping selects a round after this callback

    def _find_selected_round(self) -> int | None:
        best: Any = getattr(self._model, "best_iteration", 0)
        return best if isinstance(best, int) and best > 0 else None

    def _describe_remedy(self, metrics: list[str]) -> str:
        return f"pass valid_sets=[…] and feval=gainwise.lightgbm.feval({metrics})"


CONTINUED_CV = (
    "lightgbm.cv counts the rounds of a continued model from 0, and early stopping does not know the value of that "
    "model: best_iteration counts new rounds only, and may be that of a worse model"
)


@named_call('callbacks=[early_stopping("ndcg_exp@10", rounds=50)]')
def early_stopping(
    metric: MetricLike,
    rounds: int,
    dataset: str | None = None,
    min_delta: float = 0.0,
    verbose: bool = True,
) -> EarlyStopping:
    """Create a callback that stops training if the metric that you name does not improve for some rounds.

    LightGBM's own early stopping ends the training if any metric on any validation set does not improve. This callback
    monitors one metric on one dataset, and ignores all others. It sets `best_iteration` to the first round with the
    best value, and `best_score` to the values of that round, whether it stops the training or not.

    Parameters
    ----------
    metric : str or Metric
        The metric, such as ``"ndcg_exp@10"``, by its plain or safe name (`names=` of `feval`).
    rounds : int
        Stop after this number of boosting rounds without improvement.
    dataset : str, optional
        The dataset by LightGBM's name (``"valid_0"``, or from `valid_names`). Default: the first one that is not the
        training data.
    min_delta : float, default 0
        The smallest increase over the best value that counts as an improvement.
    verbose : bool, default True
        Print the best round.

    Returns
    -------
    callable
        A callback to pass in ``callbacks=``, in place of `lightgbm.early_stopping`.

    Raises
    ------
    TypeError
        If an option belongs to the early stopping of another library. The message contains the right option.
    ValueError
        In the first round, if there is no validation data, or if the metric or the dataset is not evaluated. The
        message lists the names in the log.

    See Also
    --------
    gainwise.lightgbm.feval : Log the metrics that early stopping monitors.
    gainwise.xgboost.early_stopping : The same for XGBoost.

    Notes
    -----
    The callback works in `lightgbm.train`, `lightgbm.cv` and the scikit-learn estimators, for metrics of gainwise and
    of LightGBM. One object can be used in several trainings. With `feval(…, every=n)`, at least one round after the
    best round must be evaluated. The callback has no effect with dart, or if all values are NaN. A warning
    states that.

    Examples
    --------
    >>> import lightgbm as lgb
    >>> from gainwise.data import simulate
    >>> from gainwise.lightgbm import early_stopping, feval
    >>> train, valid = simulate(60, seed=1).split_queries(0.5, 0.5, seed=1)
    >>> train_set = lgb.Dataset(train.features, train.labels, group=train.group)
    >>> valid_set = lgb.Dataset(valid.features, valid.labels, group=valid.group, reference=train_set)
    >>> booster = lgb.train(
    ...     {"objective": "lambdarank", "metric": "None", "verbose": -1}, train_set, 20, valid_sets=[valid_set],
    ...     feval=feval(["ndcg_exp@10", "mrr"]), callbacks=[early_stopping("ndcg_exp@10", rounds=5, verbose=False)])
    >>> 1 <= booster.best_iteration <= 20
    True
    """
    return EarlyStopping(metric, rounds, dataset, min_delta, verbose)


@dataclass
class _Run(StoppingRun):
    """The state of one training."""

    best_results: Any = None


class EarlyStopping(EarlyStoppingBase):
    """A callback for LightGBM, created by `early_stopping`."""

    _factory = early_stopping

    def __init__(self, metric: MetricLike, rounds: int, dataset: str | None, min_delta: float, verbose: bool) -> None:
        super().__init__(metric, rounds, dataset, min_delta, verbose)
        self.order = 29  # after the recording callbacks, before LightGBM's own, which ignores class attributes
        self.before_iteration = False
        self._runs: WeakIdentityMap[_Run | None] = WeakIdentityMap()

    @staticmethod
    def _exceeds(value: float, best: float, min_delta: float) -> bool:
        return value > best + min_delta  # the inequality of LightGBM's early stopping, which rounds differently

    def __call__(self, env: CallbackEnv) -> None:
        """Check the value of a round, and raise LightGBM's `EarlyStopException` to stop."""
        if env.iteration == env.begin_iteration:
            self._runs.set(env.model, self._start(env))
        run = self._runs.get(env.model)
        if run is None:
            return
        round_number, current = env.iteration + 1, self._find_result(env, run)
        if current is not None and self._record(run, round_number, current.value, current.maximize, self.min_delta):
            run.best_results = env.evaluation_result_list
        is_last = round_number == env.end_iteration
        if run.best is not None and (is_last or run.is_over(round_number)):
            outcome = "Did not stop early" if is_last else "Early stopping"
            start = "" if run.best_round > env.begin_iteration else "no round is better than the continued model, "
            self._print(
                f"{outcome}, {start}best iteration is {run.best_round} "
                f"with {self.metric} = {run.best:.6g} on {run.dataset}"
            )
            for curves in shown_curves.get(env.model) or ():
                curves._end(run)
            raise EarlyStopException(run.best_round - 1, run.best_results)
        if is_last:
            warnings.warn(self._describe_missing_values(run.dataset), stacklevel=2)

    def _start(self, env: CallbackEnv) -> _Run | None:
        """Return the state of a new training, with the value of the model that it continues, or None with dart."""
        run = _Run(self.metric, self.rounds, env.begin_iteration, env.begin_iteration)
        self._print(f"Training until {self.metric} does not improve for {self.rounds} rounds")
        if _is_dart(env):
            return None
        active_runs.set(env.model, run)
        if has_library_stop():
            warnings.warn(
                f"LightGBM's own early stopping is active next to the one on {self.metric!r}, and the first to stop "
                "ends the training. Remove lightgbm.early_stopping from the callbacks and early_stopping_round from "
                "the parameters",
                stacklevel=5,
            )
        first = self._find_result(env, run)
        if isinstance(env.model, lgb.CVBooster):
            if env.model.boosters[0].current_iteration() > env.iteration + 1:
                warnings.warn(CONTINUED_CV, stacklevel=4)
            return run
        if first is None or env.begin_iteration == 0:
            return run
        values = compute_initial_values(env.model)
        value = values.get((first.dataset, first.metric))
        if value is None:
            warnings.warn(self._describe_unknown_start("gainwise's feval or eval_metric"), stacklevel=4)
        elif value == value:
            run.best = value
            entries = [(entry, values.get(read_result(entry)[:2])) for entry in env.evaluation_result_list or []]
            run.best_results = [replace_value(entry, initial) for entry, initial in entries if initial is not None]
        return run

    def _find_result(self, env: CallbackEnv, run: _Run) -> Result | None:
        """Return the value of this round, or None without an evaluation. It must exist in the first round."""
        results = [read_result(entry) for entry in env.evaluation_result_list or []]
        if env.iteration == env.begin_iteration:
            is_cv = isinstance(env.model, lgb.CVBooster)
            training = "train" if is_cv else getattr(env.model, "_train_data_name", "training")
            datasets = (result.dataset for result in results if result.dataset != training)
            run.dataset = self.dataset or next(datasets, None)
            run.logged_name = self._find_name(results, run.dataset)
        matches = [result for result in results if (result.dataset, result.metric) == (run.dataset, run.logged_name)]
        if len(matches) > 1:
            raise create_clash_error(str(run.logged_name), "LightGBM", REMEDY)
        return matches[0] if matches else None

    def _find_name(self, results: list[Result], dataset: str | None) -> str:
        """Return the name of the metric in the log, or raise an error if it is not evaluated."""
        if results and dataset is None:
            raise ValueError(
                f"early stopping on {self.metric!r} needs validation data: only the training data is evaluated. "
                "Pass valid_sets=[…], or name the training data as dataset="
            )
        logged: dict[str, list[str]] = defaultdict(list)
        for result in results:
            logged[result.dataset].append(result.metric)
        name = find_logged_name(self.metric, logged.get(str(dataset), ()))
        if name is None:
            remedy = f"Pass valid_sets=[…] and feval=gainwise.lightgbm.feval([{self.metric!r}])"
            raise ValueError(self._describe_missing_metric(logged, dataset, remedy))
        return name

    def _print(self, text: str) -> None:
        if self.verbose:
            lgb.basic._log_info(text)


def _is_dart(env: CallbackEnv) -> bool:
    """Return whether dart is trained, with a warning."""
    values = (env.params.get(alias) for alias in ("boosting", "boosting_type", "boost"))
    if "dart" not in (str(boosting).lower() for boosting in values):  # LightGBM accepts DART, too
        return False
    warnings.warn("early stopping is not available with dart: later rounds change earlier trees", stacklevel=5)
    return True


def replace_value(entry: Any, value: float) -> Any:
    """Return an evaluation result of LightGBM with another value."""
    if hasattr(entry, "dataset_name"):
        return type(entry)(entry.dataset_name, entry.metric_name, value, entry.maximize)
    return (*entry[:2], value, *entry[3:])
