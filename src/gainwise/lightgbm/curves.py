"""Live curves for LightGBM."""

from __future__ import annotations

import sys
from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple
from weakref import WeakKeyDictionary

import lightgbm as lgb

from ..training.curves import CurvesBase
from ..training.early_stopping import get_active_run
from ..training.logged_metrics import WeakIdentityMap, create_clash_error
from .feval import REMEDY, register_names

if TYPE_CHECKING:
    from lightgbm.callback import CallbackEnv


_HIGHER = ("auc", "auc_mu", "average_precision", "map", "mean_average_precision", "ndcg", "lambdarank")
_LOWER = (
    "l1", "l2", "rmse", "quantile", "mape", "huber", "fair", "poisson", "gamma", "gamma_deviance", "tweedie",
    "binary_logloss", "binary_error", "multi_logloss", "multi_error", "cross_entropy", "cross_entropy_lambda",
    "kullback_leibler",
)  # fmt: skip


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
    higher_is_better : bool, optional
        The direction of other metrics in `from_history`. During a training, LightGBM passes it.
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
    _directions: ClassVar = {**dict.fromkeys(_HIGHER, True), **dict.fromkeys(_LOWER, False)}

    def __call__(self, env: CallbackEnv) -> None:
        """Record the values of a round."""
        if env.iteration == env.begin_iteration or self._model is not env.model:
            self._begin("lightgbm", env.end_iteration)
            self._model = env.model
            name = getattr(env.model, "_train_data_name", None)
            if isinstance(name, str):  # a CVBooster returns a function for any name
                self._training_names = (*self._training_names, name)
            register_names(env.model)
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
