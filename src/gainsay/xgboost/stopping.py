"""Early stopping on the metric that you name."""

from __future__ import annotations

import json
import threading
import warnings
import weakref
from typing import TYPE_CHECKING, Any

import xgboost as xgb
from xgboost.callback import TrainingCallback

from .._common.checks import check_flag, check_real, check_whole
from .._common.shown import call_text
from ..training.bound import WeakIdentityMap, clash, known_metric, logged_as, metric_name, name_or_none
from ..training.history import Waiting
from ..training.messages import STOPPING, knows_others, no_value, unknown_data_set, unknown_start, unlogged
from .baseline import Cuts, listen
from .binding import REMEDY, log_first
from .cutting import first_rounds
from .directions import direction

if TYPE_CHECKING:
    from ..metrics.names import MetricLike


@knows_others(**STOPPING)
def early_stopping(
    metric: MetricLike,
    rounds: int,
    dataset: str | None = None,
    min_delta: float = 0.0,
    maximize: bool | None = None,
    save_best: bool = False,
    verbose: bool = True,
    *,
    data_name: str | None = None,
) -> EarlyStopping:
    """Return a callback that stops training when the metric that you name has not improved for some rounds.

    Our metrics know their direction: a metric is maximised, a loss (`higher_is_better=False`) minimised. (XGBoost's own
    callback guesses it from the name, so that it minimises `mrr`.) It sets `best_iteration` and `best_score`, whether
    training was stopped or ran to its end (where all values are NaN, a warning says that it could not), and may serve
    several trainings, one after the other or in several threads at once.

    Beside a stopping of XGBoost's own (`early_stopping_rounds`, `xgboost.callback.EarlyStopping`) it keeps its own
    record. With `save_best` the model is cut after the best round of this record, and both attributes name that;
    without it they are those of the stopping that ended the training: XGBoost's, unless it was this one. A training
    with two of these is refused.

    Where a training continues a model (`xgb_model`), the first of its rounds must be better than that model: with all
    of its rounds, or with those up to its own `best_iteration`, whichever is better. If none is, `best_iteration` and
    `best_score` are those of that model, and `save_best` returns it. The values are worked out for the metrics of
    `EvaluateRanking` and `custom_metric`; under any other a warning says that they are not known.

    Parameters
    ----------
    metric : str or Metric
        A metric, such as `"ndcg_linear@10"`, under either of the names that ours are logged under (`names=` of
        `custom_metric`).
    rounds : int
        Stop after this many boosting rounds without improvement, but not before a later round than the best one was
        evaluated (`every=n`).
    dataset : str, optional
        The data set, as it is named in `evals` or `EvaluateRanking`. May be left out where the metric is logged on one
        data set only.
    min_delta : float
        By how much a value must be better than the best one so far to count as such.
    maximize : bool, optional
        The direction; needed only for a custom metric of another origin, which has no name of ours.
    save_best : bool
        Return the model cut after its best round. Not in `xgboost.cv`, and not under dart or gblinear, where later
        rounds change earlier trees, or the same weights.
    verbose : bool
        Say which round was the best.
    data_name : str, optional
        The same as `dataset`, under the name that it has in XGBoost's own callback.

    Raises
    ------
    TypeError
        For an option that XGBoost's or LightGBM's own early stopping has under another name; the message says which.
    ValueError
        At once for a direction that is not that of a metric of ours. Before training, where there is another one of
        these among the callbacks. In the first round, where the metric or data set does not occur; the message lists
        those that do.
    """
    if dataset is not None and data_name is not None:
        raise TypeError(f"dataset= and data_name= are one option, got {dataset!r} and {data_name!r}: give one of them")
    dataset = name_or_none("data_name", data_name) if dataset is None else dataset
    return EarlyStopping(metric, rounds, dataset, min_delta, maximize, save_best, verbose)


_stoppings: WeakIdentityMap[EarlyStopping] = WeakIdentityMap()
"""The one of these that a training has, by its booster, until it ends."""


def waiting_of(model: Any) -> Waiting | None:
    """Return what the early stopping of a training waits for; None where there is none of ours."""
    stopping = _stoppings.get(model)
    return None if stopping is None else stopping.waiting()


class _Run:
    """What is known of one training.

    Rounds are counted from 0 in this training; that before them, -1, is the model that is continued.
    """

    def __init__(self, model: Any) -> None:
        self.model = weakref.ref(model)  # another callback may hand on a model that it has cut
        self.first_round: int = model.num_boosted_rounds()
        self.best_before: str | None = model.attr("best_iteration") if self.first_round else None
        self.history: Any = {}
        self.looked_epoch = -1
        self.chosen: str | None = None
        self.logged = ""
        self.seen = 0
        self.best: float | None = None
        self.best_epoch = self.seen_epoch = 0
        self.continues = self.fired = False

    @property
    def best_round(self) -> int:
        """The best round, counted from 0 in the model."""
        return self.first_round + self.best_epoch

    @property
    def cuts(self) -> list[int]:
        """The numbers of rounds after which the model that is continued may be cut: at its best one, and not at all."""
        best = (self.best_before or "").strip()
        rounds = int(best) + 1 if best.isdigit() else self.first_round
        return sorted({min(rounds, self.first_round), self.first_round})


class EarlyStopping(TrainingCallback):
    """A callback for XGBoost; made by `early_stopping`."""

    def __init__(
        self,
        metric: MetricLike,
        rounds: int,
        dataset: str | None,
        min_delta: float,
        maximize: bool | None,
        save_best: bool,
        verbose: bool,
    ) -> None:
        super().__init__()
        self.metric = metric_name(metric)
        ours = known_metric(metric)
        self._is_ours = ours is not None
        self.rounds = check_whole("rounds", rounds, unit="boosting rounds")
        self.dataset = name_or_none("dataset", dataset)
        self.min_delta = check_real("min_delta", min_delta, 0.0)
        self.maximize = direction(ours or self.metric, maximize)
        self.save_best = check_flag("save_best", save_best)
        self.verbose = verbose
        self._runs: dict[int, _Run] = {}
        """By thread: the model that ends a training need not be the one that began it."""

    def __reduce__(self) -> tuple[Any, ...]:
        given = (self.metric, self.rounds, self.dataset, self.min_delta, self.maximize, self.save_best, self.verbose)
        return type(self), given

    def __repr__(self) -> str:
        given = {"rounds": self.rounds, "dataset": self.dataset, "min_delta": self.min_delta}
        given |= {"maximize": None if self._is_ours else self.maximize, "save_best": self.save_best}
        return call_text(early_stopping, self.metric, **given, verbose=self.verbose)

    def waiting(self) -> Waiting | None:
        """Return what the training of this thread waits for; None before its first round."""
        run = self._runs.get(threading.get_ident())
        if run is None or run.best is None:
            return None
        return Waiting(run.chosen, self.metric, self.rounds, run.best_round + 1)

    def before_training(self, model: Any) -> Any:
        """Start anew."""
        other = _stoppings.get(model)
        if other is not None and other is not self:
            raise ValueError(
                f"two early_stopping callbacks in one training, on {other.metric!r} and on {self.metric!r}: a model is "
                "cut at one round only. Keep one, and read the best round of the other metric off evals_result"
            )
        if self.save_best and not isinstance(model, xgb.Booster):
            raise ValueError("save_best has no meaning in xgboost.cv, which returns no model")
        lost = _lost_rounds(model) if isinstance(model, xgb.Booster) else None
        if lost is not None:
            booster, why = lost
            if self.save_best:
                raise ValueError(
                    f"save_best has no meaning under {booster}: {why}, so that a model cut after its best round is not "
                    "the one that was evaluated"
                )
            warnings.warn(f"under {booster} {why}: the model as of the best round is not to be had again", stacklevel=2)
        _stoppings.set(model, self)
        run = self._runs[threading.get_ident()] = _Run(model)
        run.continues = run.first_round > 0 and lost is None
        if run.continues:
            listen()
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Look at the values of a round; return whether to stop."""
        run = self._runs[threading.get_ident()]
        run.history = evals_log
        log_first(model, epoch, evals_log)
        self._look(run, model, epoch)
        waited = run.seen_epoch > run.best_epoch and epoch - max(run.best_epoch, -1) >= self.rounds
        run.fired = run.best is not None and waited
        if run.fired:
            self._name_best(run, model)  # at once, since xgboost.cv and the save_best of another stopping read it
        return run.fired

    def _look(self, run: _Run, model: Any, epoch: int) -> None:
        """Take the value of a round, if there is one."""
        curve = self._curve(run)
        if curve is None:
            raise ValueError(self._missing(run.history))
        if len(curve) > epoch + 1:
            raise clash(run.logged, "XGBoost", REMEDY)
        if run.continues and run.looked_epoch < 0:
            self._start_from(run, model)
        run.looked_epoch = epoch
        if len(curve) > run.seen:
            run.seen, run.seen_epoch = len(curve), epoch
            value = float(curve[-1][0] if isinstance(curve[-1], tuple) else curve[-1])
            if self._improves(value, run.best, self.min_delta):
                run.best, run.best_epoch = value, epoch

    def _start_from(self, run: _Run, model: Any) -> None:
        """Have the model that is continued set what the first round must beat."""
        cuts = Cuts(model, run.logged, str(run.chosen), run.history)
        for rounds in run.cuts:
            value = cuts.value(rounds)
            if value is None:
                with_ours = "EvaluateRanking or custom_metric"
                warnings.warn(unknown_start(self.metric, self._is_ours, with_ours), stacklevel=2)
                return
            if self._improves(value, run.best, 0.0):
                run.best, run.best_epoch = value, rounds - 1 - run.first_round

    def after_training(self, model: Any) -> Any:
        """Say which round was the best, and cut the model there if asked to."""
        run = self._runs.pop(threading.get_ident())
        trained = run.model()
        trained = model if trained is None else trained
        _stoppings.forget(trained)
        last = trained.num_boosted_rounds() - run.first_round - 1
        if 0 <= run.looked_epoch < last:  # another callback stopped the training before this one was asked
            self._look(run, trained, last)
        if run.best is None:
            if run.seen:
                warnings.warn(no_value(self.metric, run.chosen), stacklevel=2)
            return model
        cut = model.num_boosted_rounds() < trained.num_boosted_rounds()
        others = cut or trained.attr("best_iteration") != run.best_before
        theirs = others and not run.fired and not self.save_best
        self._tell(run, theirs)
        if theirs:
            return model
        chosen = first_rounds(trained, run.best_round + 1) if self.save_best else model
        self._name_best(run, chosen)
        return chosen

    def _name_best(self, run: _Run, model: Any) -> None:
        """Have a model say which round is the best."""
        model.set_attr(best_score=str(run.best), best_iteration=str(run.best_round))

    def _tell(self, run: _Run, theirs: bool) -> None:
        if not self.verbose or xgb.collective.get_rank() != 0:
            return
        which = "No round is better than the model continued: its best" if run.best_epoch < 0 else "Best"
        other = "; best_iteration and best_score of the model are those of another stopping" if theirs else ""
        value = f"{self.metric} = {run.best:.6g} on {run.chosen}"
        told = f"{which} iteration is {run.best_round} (counted from 0) with {value}{other}"
        xgb.collective.communicator_print(f"{told}\n")

    def _improves(self, value: float, best: float | None, delta: float) -> bool:
        if best is None:
            return value == value  # NaN is no start
        gain = value - best if self.maximize else best - value
        return gain > delta

    def _curve(self, run: _Run) -> list[Any] | None:
        """Return the values so far; None where there are none."""
        if run.chosen is None:
            having = [name for name, history in run.history.items() if logged_as(self.metric, history)]
            if self.dataset is not None:
                having = [name for name in having if name == self.dataset]
            if len(having) > 1:
                raise ValueError(f"{self.metric!r} is logged on {', '.join(having)}: give dataset=, one of these")
            if not having:
                return None
            run.chosen = having[0]
            run.logged = str(logged_as(self.metric, run.history[run.chosen]))
        curve: list[Any] = run.history[run.chosen][run.logged]
        return curve

    def _missing(self, evals_log: Any) -> str:
        """Say that the metric does not occur, and what does."""
        remedy = f"evaluate it with EvaluateRanking({{…}}, [{self.metric!r}]) in callbacks, or with custom_metric"
        if not evals_log:
            return f"early stopping on {self.metric!r} has nothing to look at: no data set is evaluated; {remedy}"
        if self.dataset is not None and self.dataset not in evals_log:
            return unknown_data_set(self.dataset, list(evals_log))
        names = [self.dataset] if self.dataset else list(evals_log)
        logged = list(dict.fromkeys(metric for name in names for metric in evals_log[name]))
        advice = f"; {remedy}" if self._is_ours else ""
        return unlogged(self.metric, ", ".join(map(repr, names)), logged) + advice


def _lost_rounds(model: xgb.Booster) -> tuple[str, str] | None:
    """Return under which booster the model as of an earlier round is not to be had again, and why, if so.

    Trees are dropped in training by a booster of its own, since XGBoost 3.4 by parameters of any.
    """
    trained = json.loads(model.save_config())["learner"]["gradient_booster"]
    if trained["name"] == "gblinear":
        return "gblinear", "later rounds change the same weights"
    dropout = trained.get("dart_train_param", {})
    if trained["name"] == "dart" or any(float(dropout.get(name, 0)) > 0 for name in ("rate_drop", "one_drop")):
        return "dart", "later rounds change earlier trees"
    return None
