"""Callbacks for XGBoost: their base class, and live curves."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import xgboost as xgb
from xgboost.callback import TrainingCallback

from ..training.curves import CurvesBase
from ..training.early_stopping import StoppingRun, active_runs
from ..training.logged_metrics import WeakIdentityMap, create_clash_error

if TYPE_CHECKING:
    from collections.abc import Iterator


REMEDY = "Remove it from params['eval_metric'] (disable_default_eval_metric=True disables the objective's metric)"
_HIGHER = ("auc", "aucpr", "pre", "map", "ndcg", "interval-regression-accuracy")
_LOWER = (
    "rmse", "rmsle", "mae", "mape", "mphe", "logloss", "error", "merror", "mlogloss", "poisson-nloglik",
    "gamma-nloglik", "cox-nloglik", "gamma-deviance", "tweedie-nloglik", "aft-nloglik", "quantile", "expectile",
)  # fmt: skip
DIRECTIONS = {**dict.fromkeys(_HIGHER, True), **dict.fromkeys(_LOWER, False)}
"""Whether a higher value is better, for each metric of XGBoost by its name without a cutoff."""

_loggers: WeakIdentityMap[list[Logger]] = WeakIdentityMap()
"""The callbacks that log into a training, by its booster.

XGBoost before 3.2 calls callbacks in any order. Early stopping uses this map to make them log first.
"""


class Logger(TrainingCallback):
    """A callback that logs once per round."""

    def __init__(self) -> None:
        super().__init__()
        self._logged: WeakIdentityMap[int] = WeakIdentityMap()

    def before_training(self, model: Any) -> Any:
        """Register for early stopping."""
        _loggers.set(model, [*get_loggers(model), self])
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Log this round unless it is logged already."""
        if self._logged.get(model) != epoch:
            self._logged.set(model, epoch)
            self.log_round(model, epoch, evals_log)
        return False

    def after_training(self, model: Any) -> Any:
        """Remove the registration."""
        _loggers.set(model, [])
        return model

    def log_round(self, model: Any, epoch: int, evals_log: Any) -> None:
        """Write into the history."""
        raise NotImplementedError

    def compute_value(self, model: Any, rounds: int, data_name: str, metric: str) -> float | None:
        """Return a value of the first rounds of the model, or None if another object logs it."""
        return None


def get_loggers(model: Any) -> list[Logger]:
    """Return the callbacks that log into a training."""
    return _loggers.get(model) or []


def log_first(model: Any, epoch: int, evals_log: Any) -> None:
    """Make all callbacks log this round."""
    for logger in get_loggers(model):
        logger.after_iteration(model, epoch, evals_log)


def read_best(model: Any) -> tuple[str | None, str | None]:
    """Return the attributes of the best round. Each early stopping overwrites them, and a continued model has some."""
    return model.attr("best_iteration"), model.attr("best_score")


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

    _directions = DIRECTIONS

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

    def _find_selected_round(self) -> int | None:
        best_iteration, _ = self._best
        return None if best_iteration is None or self._best == self._initial_best else int(best_iteration) + 1

    def _describe_remedy(self, metrics: list[str]) -> str:
        return f"evaluate it with EvaluateRanking({{…}}, {metrics}) in callbacks, or with custom_metric"
