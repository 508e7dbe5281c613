"""Early stopping on the metric that you name."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import lightgbm as lgb
from lightgbm.callback import CallbackEnv, EarlyStopException

from .._common.checks import check_real, check_whole
from .._common.shown import call_text
from ..training.bound import WeakIdentityMap, clash, known_metric, logged_as, metric_name, name_or_none
from ..training.history import Waiting
from ..training.messages import STOPPING, knows_others, no_value, unknown_data_set, unknown_start, unlogged
from .results import (
    REMEDY,
    Result,
    first_validation_set,
    is_dart,
    note_names,
    read,
    starting_values,
    tell_stopped,
    with_value,
)

if TYPE_CHECKING:
    from ..metrics.names import MetricLike


@knows_others(
    **STOPPING,
    data_name="dataset=",
    maximize="nothing, since LightGBM tells the direction with the value",
    save_best="nothing, since LightGBM's models predict with best_iteration",
)
def early_stopping(
    metric: MetricLike,
    rounds: int,
    dataset: str | None = None,
    min_delta: float = 0.0,
    verbose: bool = True,
) -> EarlyStopping:
    """Return a callback that stops training when the metric that you name has not improved for some rounds.

    It looks at this metric on this data set and at nothing else, whatever else is logged; a loss
    (`higher_is_better=False`) is minimised. Works in `lightgbm.train`, `lightgbm.cv` and the scikit-learn estimators,
    for built-in metrics as well as ours, and with `every=n`. It sets `best_iteration` to the first round with the best
    value, and `best_score` to the values of that round, whether training was stopped or ran to its end; where all
    values are NaN, a warning says that it could not. As LightGBM's own, it does nothing under dart, where later rounds
    change earlier trees. One of these may serve several trainings, one after the other or in several threads at once.
    Beside LightGBM's own (`early_stopping_round`, `lightgbm.early_stopping`) the one that stops the training first sets
    both; where both would in one round, this one does.

    Where a training continues a model (`init_model`), the first of its rounds must be better than that model with all
    of its rounds. If none is, `best_iteration` is the number of rounds of that model, so that it is what predicts and
    is saved, and `best_score` holds its values, those of our metrics. Under a metric that `feval` or `eval_metric` does
    not evaluate, the value of that model is not known, and a warning says so; as in `lightgbm.cv`, which counts the
    rounds of a continued model from 0.

    Parameters
    ----------
    metric : str or Metric
        A metric, such as `"ndcg_exp@10"`, under either of the names that ours are logged under (`names=` of `feval`).
    rounds : int
        Stop after this many boosting rounds without improvement, but not before a later round than the best one was
        evaluated (`every=n`).
    dataset : str, optional
        The data set as LightGBM names it (`"valid_0"`, or from `valid_names`); by default the first one that is not the
        training data.
    min_delta : float
        By how much a value must be better than the best one so far to count as such.
    verbose : bool
        Say which round was the best.

    Raises
    ------
    TypeError
        For an option that LightGBM's or XGBoost's own early stopping has under another name; the message says which.
    ValueError
        In the first round, where there is no validation data or the metric or data set does not occur; the message
        lists those that do.
    """
    return EarlyStopping(metric, rounds, dataset, min_delta, verbose)


_stoppings: WeakIdentityMap[EarlyStopping] = WeakIdentityMap()
"""The one of these that was last heard of in a training, by its model."""


def waiting_of(model: Any) -> Waiting | None:
    """Return what the early stopping of a training waits for; None where there is none of ours."""
    stopping = _stoppings.get(model)
    return None if stopping is None else stopping.waiting(model)


@dataclass
class _Run:
    """What is known of one training."""

    enabled: bool
    best_round: int
    seen_round: int = 0
    chosen: str | None = None
    logged: str | None = None
    best: Result | None = None
    best_results: Any = None


class EarlyStopping:
    """A callback for LightGBM; made by `early_stopping`."""

    def __init__(self, metric: MetricLike, rounds: int, dataset: str | None, min_delta: float, verbose: bool) -> None:
        self.order = 29  # after the recording callbacks, before its own stopping; LightGBM overlooks class attributes
        self.before_iteration = False
        self.metric = metric_name(metric)
        self._is_ours = known_metric(metric) is not None
        self.rounds = check_whole("rounds", rounds, unit="boosting rounds")
        self.dataset = name_or_none("dataset", dataset)
        self.min_delta = check_real("min_delta", min_delta, 0.0)
        self.verbose = verbose
        self._runs: WeakIdentityMap[_Run] = WeakIdentityMap()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.metric, self.rounds, self.dataset, self.min_delta, self.verbose)

    def __repr__(self) -> str:
        given = {"rounds": self.rounds, "dataset": self.dataset, "min_delta": self.min_delta, "verbose": self.verbose}
        return call_text(early_stopping, self.metric, **given)

    def waiting(self, model: Any) -> Waiting | None:
        """Return what a training waits for, its best round as the model counts them; None before its first round."""
        run = self._runs.get(model)
        if run is None or run.best is None:
            return None
        return Waiting(run.best.dataset, run.best.metric, self.rounds, run.best_round + 1)

    def __call__(self, env: CallbackEnv) -> None:
        """Look at the values of a round; raise LightGBM's `EarlyStopException` to stop."""
        run = self._runs.get(env.model)
        if run is None or env.iteration == env.begin_iteration:
            run = self._start(env)
        if not run.enabled:
            return
        current = self._find(env, run)
        if current is not None:
            run.seen_round = env.iteration
            if self._improves(current, run.best):
                run.best, run.best_round, run.best_results = current, env.iteration, env.evaluation_result_list
        last = env.iteration == env.end_iteration - 1
        waited = run.seen_round > run.best_round and env.iteration - run.best_round >= self.rounds
        if run.best is not None and (last or waited):
            happened = "Did not stop early" if last else "Early stopping"
            better = "" if run.best_round >= env.begin_iteration else "no round is better than the model continued, "
            self._say(
                f"{happened}, {better}best iteration is {run.best_round + 1} "
                f"with {self.metric} = {run.best.value:.6g} on {run.best.dataset}"
            )
            tell_stopped(env.model)
            self._runs.forget(env.model)
            raise EarlyStopException(run.best_round, run.best_results)
        if last:
            warnings.warn(no_value(self.metric, run.chosen), stacklevel=2)

    def _start(self, env: CallbackEnv) -> _Run:
        """Begin with a training; where it continues a model, with the value of that."""
        run = _Run(enabled=not is_dart(env), best_round=env.begin_iteration - 1)
        self._runs.set(env.model, run)
        note_names(env.model)
        self._say(f"Training until {self.metric} does not improve for {self.rounds} rounds")
        if not run.enabled:
            return run
        _stoppings.set(env.model, self)
        first = self._find(env, run)
        if first is None or not _continues(env):
            return run
        values = {} if hasattr(env.model, "boosters") else starting_values(env.model)
        value = values.get((first.dataset, first.metric))
        if value is None:
            warnings.warn(self._unknown(env), stacklevel=3)
            return run
        if value != value:
            return run
        run.best = first._replace(value=value)
        entries = [(entry, values.get(read(entry)[:2])) for entry in env.evaluation_result_list or []]
        run.best_results = [with_value(entry, known) for entry, known in entries if known is not None]
        return run

    def _unknown(self, env: CallbackEnv) -> str:
        """Say that a training goes on from a model whose value is not known."""
        if hasattr(env.model, "boosters"):
            return (
                "lightgbm.cv counts the rounds of a continued model from 0, and early stopping does not know the value "
                "of that model: best_iteration counts new rounds only, and may be that of a worse model"
            )
        return unknown_start(self.metric, self._is_ours, "gainsay's feval or eval_metric")

    def _improves(self, current: Result, best: Result | None) -> bool:
        if best is None:
            return current.value == current.value  # NaN is no start
        if current.maximize:
            return current.value > best.value + self.min_delta
        return current.value < best.value - self.min_delta

    def _find(self, env: CallbackEnv, run: _Run) -> Result | None:
        """Return this round's value, None in a round that is left out; in the first round say if it does not occur."""
        results = [read(entry) for entry in env.evaluation_result_list or []]
        if env.iteration == env.begin_iteration:
            run.chosen = self.dataset or first_validation_set(env, results)
            run.logged = logged_as(self.metric, [result.metric for result in results if result.dataset == run.chosen])
        found = [result for result in results if (result.dataset, result.metric) == (run.chosen, run.logged)]
        if len(found) > 1:
            raise clash(str(run.logged), "LightGBM", REMEDY)
        if not found and env.iteration == env.begin_iteration:
            raise ValueError(self._missing(results, run.chosen))
        return found[0] if found else None

    def _missing(self, results: list[Result], dataset: str | None) -> str:
        if not results:
            return (
                f"early stopping on {self.metric!r} has nothing to look at: no data set or no metric is evaluated. "
                f"Pass valid_sets=[…] and feval=gainsay.lightgbm.feval([{self.metric!r}])"
            )
        datasets = list(dict.fromkeys(result.dataset for result in results))
        if dataset not in datasets:
            if dataset is None:
                return (
                    f"early stopping on {self.metric!r} needs validation data: only the training data "
                    f"({', '.join(datasets)}) is evaluated. Pass valid_sets=[…], or name it as dataset="
                )
            return unknown_data_set(dataset, datasets)
        metrics = list(dict.fromkeys(result.metric for result in results if result.dataset == dataset))
        advice = f"; pass feval=gainsay.lightgbm.feval([{self.metric!r}])" if self._is_ours else ""
        return unlogged(self.metric, repr(dataset), metrics) + advice

    def _say(self, text: str) -> None:
        if self.verbose:
            lgb.basic._log_info(text)


def _continues(env: CallbackEnv) -> bool:
    """Return whether a training goes on from a model."""
    folds = getattr(env.model, "boosters", None)
    return env.begin_iteration > 0 if folds is None else folds[0].current_iteration() > env.iteration + 1
