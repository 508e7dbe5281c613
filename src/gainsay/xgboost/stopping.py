"""Early stopping on the metric that you name."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Any

import xgboost as xgb
from xgboost.callback import TrainingCallback

from .._common.arrays import nearest
from ..training.bound import clash, known_metric, metric_name, name_or_none, not_negative, positive_int
from .binding import REMEDY, log_first

if TYPE_CHECKING:
    from ..metrics.base import Metric
    from ..metrics.names import MetricLike

_HIGHER_IS_BETTER = ("auc", "aucpr", "pre", "map", "ndcg", "interval-regression-accuracy")
_LOWER_IS_BETTER = (
    "rmse",
    "rmsle",
    "mae",
    "mape",
    "mphe",
    "logloss",
    "error",
    "merror",
    "mlogloss",
    "poisson-nloglik",
    "gamma-nloglik",
    "cox-nloglik",
    "gamma-deviance",
    "tweedie-nloglik",
    "aft-nloglik",
    "quantile",
    "expectile",
)


def early_stopping(
    metric: MetricLike,
    rounds: int,
    data_name: str | None = None,
    min_delta: float = 0.0,
    maximize: bool | None = None,
    save_best: bool = False,
    verbose: bool = True,
) -> EarlyStopping:
    """Return a callback that stops training when the metric that you name has not improved for some rounds.

    Our metrics know their direction: a metric is maximised, a loss (`higher_is_better=False`) minimised. (XGBoost's own
    callback guesses it from the name, so that it minimises `mrr`.) It sets `best_iteration` and `best_score`, whether
    training was stopped or ran to its end, and may serve several trainings one after the other.

    Parameters
    ----------
    metric : str or Metric
        A metric as it is logged, such as `"ndcg_linear@10"`.
    rounds : int
        Stop after this many boosting rounds without improvement, but not before a later round than the best one was
        evaluated (`every=n`).
    data_name : str, optional
        The data set, as it is named in `evals` or `EvaluateRanking`. May be left out where the metric is logged on one
        data set only.
    min_delta : float
        By how much a value must be better than the best one so far to count as such.
    maximize : bool, optional
        The direction; needed only for a custom metric of another origin, which has no name of ours.
    save_best : bool
        Return the model cut after its best round. Not in `xgboost.cv`, and not under dart, where later rounds change
        earlier trees.
    verbose : bool
        Say which round was the best.

    Raises
    ------
    ValueError
        At once for a direction that is not that of a metric of ours. In the first round, where the metric or data set
        does not occur; the message lists those that do.
    """
    return EarlyStopping(metric, rounds, data_name, min_delta, maximize, save_best, verbose)


class EarlyStopping(TrainingCallback):
    """A callback for XGBoost; made by `early_stopping`."""

    def __init__(
        self,
        metric: MetricLike,
        rounds: int,
        data_name: str | None,
        min_delta: float,
        maximize: bool | None,
        save_best: bool,
        verbose: bool,
    ) -> None:
        super().__init__()
        self.metric = metric_name(metric)
        ours = known_metric(metric)
        self._is_ours = ours is not None
        self.rounds = positive_int("rounds", rounds, "boosting rounds")
        self.data_name = name_or_none("data_name", data_name)
        self.min_delta = not_negative("min_delta", min_delta)
        self.maximize = _own_direction(ours, maximize) if ours else _direction(self.metric, maximize)
        self.save_best = save_best
        self.verbose = verbose

    def before_training(self, model: Any) -> Any:
        """Start anew."""
        if self.save_best and not isinstance(model, xgb.Booster):
            raise ValueError("save_best has no meaning in xgboost.cv, which returns no model")
        if isinstance(model, xgb.Booster) and _is_dart(model):
            if self.save_best:
                raise ValueError(
                    "save_best has no meaning under dart: later rounds change earlier trees, so that a model cut after "
                    "its best round is not the one that was evaluated"
                )
            warnings.warn(
                "under dart later rounds change earlier trees: the model as of the best round is not to be had again",
                stacklevel=2,
            )
        self._first_round = model.num_boosted_rounds()
        self._chosen: str | None = None
        self._seen = 0
        self._best: float | None = None
        self._best_epoch = self._seen_epoch = 0
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Look at the values of a round; return whether to stop."""
        log_first(model, epoch, evals_log)
        curve = self._curve(evals_log)
        if curve is None:
            raise ValueError(self._missing(evals_log))
        if len(curve) > epoch + 1:
            raise clash(self.metric, "XGBoost", REMEDY)
        if len(curve) > self._seen:
            self._seen, self._seen_epoch = len(curve), epoch
            value = float(curve[-1][0] if isinstance(curve[-1], tuple) else curve[-1])
            if self._improves(value):
                self._best, self._best_epoch = value, epoch
                model.set_attr(best_score=str(value), best_iteration=str(epoch + self._first_round))
        waited = self._seen_epoch > self._best_epoch and epoch - self._best_epoch >= self.rounds
        return self._best is not None and waited

    def after_training(self, model: Any) -> Any:
        """Say which round was the best, and cut the model there if asked to."""
        if self._best is None:
            return model
        if self.verbose and xgb.collective.get_rank() == 0:
            xgb.collective.communicator_print(
                f"Best iteration is {self._best_epoch + self._first_round} (counted from 0) "
                f"with {self.metric} = {self._best:.6g} on {self._chosen}\n"
            )
        if not self.save_best:
            return model
        best = model.best_iteration
        cut = model[: best + 1]
        cut.set_attr(best_iteration=str(best), best_score=str(self._best))
        return cut

    def _improves(self, value: float) -> bool:
        if self._best is None:
            return value == value  # NaN is no start
        gain = value - self._best if self.maximize else self._best - value
        return gain > self.min_delta

    def _curve(self, evals_log: Any) -> list[Any] | None:
        """Return the values so far; None where there are none."""
        if self._chosen is None:
            having = [name for name, history in evals_log.items() if self.metric in history]
            if self.data_name is not None:
                having = [name for name in having if name == self.data_name]
            if len(having) > 1:
                raise ValueError(f"{self.metric!r} is logged on {', '.join(having)}: give data_name=, one of these")
            if not having:
                return None
            self._chosen = having[0]
        curve: list[Any] = evals_log[self._chosen][self.metric]
        return curve

    def _missing(self, evals_log: Any) -> str:
        """Say that the metric does not occur, and what does."""
        remedy = f"evaluate it with EvaluateRanking({{…}}, [{self.metric!r}]) in callbacks, or with custom_metric"
        if not evals_log:
            return f"early stopping on {self.metric!r} has nothing to look at: no data set is evaluated; {remedy}"
        if self.data_name is not None and self.data_name not in evals_log:
            known = list(evals_log)
            return (
                f"no data set {self.data_name!r} is evaluated{nearest(self.data_name, known)} "
                f"(there are: {', '.join(known)})"
            )
        names = [self.data_name] if self.data_name else list(evals_log)
        logged = list(dict.fromkeys(metric for name in names for metric in evals_log[name]))
        advice = f"; {remedy}" if self._is_ours else ""
        return (
            f"no metric {self.metric!r} is logged on {', '.join(map(repr, names))}{nearest(self.metric, logged)} "
            f"(there are: {', '.join(logged)}){advice}"
        )


def _is_dart(model: xgb.Booster) -> bool:
    """Return whether trees are dropped in training: by a booster of its own, since XGBoost 3.4 by parameters of any."""
    trained = json.loads(model.save_config())["learner"]["gradient_booster"]
    dropout = trained.get("dart_train_param", {})
    return trained["name"] == "dart" or any(float(dropout.get(name, 0)) > 0 for name in ("rate_drop", "one_drop"))


def _own_direction(metric: Metric, said: bool | None) -> bool:
    """Return whether a higher value of a metric of ours is better; raise where it is said to be the other way round."""
    if said is not None and bool(said) != metric.higher_is_better:
        better = "higher" if metric.higher_is_better else "lower"
        raise ValueError(
            f"maximize={bool(said)} would stop at the worst {metric}, of which a {better} value is better: leave it out"
        )
    return metric.higher_is_better


def _direction(metric: str, said: bool | None) -> bool:
    """Return whether a higher value of a metric of another origin is better, where that is known or said."""
    if said is not None:
        return said
    kind = metric.partition("@")[0]
    if kind in _HIGHER_IS_BETTER:
        return True
    if kind in _LOWER_IS_BETTER:
        return False
    raise ValueError(
        f"it is not known whether a higher {metric!r} is better: give maximize=True or maximize=False"
        f"{nearest(metric, (*_HIGHER_IS_BETTER, *_LOWER_IS_BETTER))} (of a metric of your own it is known once the "
        "module that defines it is imported)"
    )
