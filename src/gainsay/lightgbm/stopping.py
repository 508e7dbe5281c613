"""Early stopping on the metric that you name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import lightgbm as lgb
from lightgbm.callback import CallbackEnv, EarlyStopException

from .._common.arrays import nearest
from ..training.bound import clash, known_metric, metric_name, name_or_none, not_negative, positive_int
from .results import REMEDY, Result, first_validation_set, is_dart, note_names, read

if TYPE_CHECKING:
    from ..metrics.names import MetricLike


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
    value, and `best_score` to the values of that round, whether training was stopped or ran to its end. As LightGBM's
    own, it does nothing under dart, where later rounds change earlier trees.

    Parameters
    ----------
    metric : str or Metric
        A metric as it is logged, such as `"ndcg_exp@10"`.
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
    ValueError
        In the first round, where there is no validation data or the metric or data set does not occur; the message
        lists those that do.
    """
    return EarlyStopping(metric, rounds, dataset, min_delta, verbose)


class EarlyStopping:
    """A callback for LightGBM; made by `early_stopping`."""

    def __init__(self, metric: MetricLike, rounds: int, dataset: str | None, min_delta: float, verbose: bool) -> None:
        self.order = 30  # after the recording callbacks; LightGBM overlooks class attributes here
        self.before_iteration = False
        self.metric = metric_name(metric)
        self._is_ours = known_metric(metric) is not None
        self.rounds = positive_int("rounds", rounds, "boosting rounds")
        self.dataset = name_or_none("dataset", dataset)
        self.min_delta = not_negative("min_delta", min_delta)
        self.verbose = verbose
        self._start()

    def _start(self) -> None:
        self._enabled = True
        self._chosen: str | None = None
        self._best: Result | None = None
        self._best_round = self._seen_round = 0
        self._best_results: Any = None

    def __call__(self, env: CallbackEnv) -> None:
        """Look at the values of a round; raise LightGBM's `EarlyStopException` to stop."""
        if env.iteration == env.begin_iteration:
            self._start()
            self._enabled = not is_dart(env)
            note_names(env.model)
            self._say(f"Training until {self.metric} does not improve for {self.rounds} rounds")
        if not self._enabled:
            return
        current = self._find(env)
        if current is not None:
            self._seen_round = env.iteration
            if self._improves(current):
                self._best, self._best_round, self._best_results = current, env.iteration, env.evaluation_result_list
        last = env.iteration == env.end_iteration - 1
        waited = self._seen_round > self._best_round and env.iteration - self._best_round >= self.rounds
        if self._best is not None and (last or waited):
            happened = "Did not stop early" if last else "Early stopping"
            self._say(
                f"{happened}, best iteration is {self._best_round + 1} "
                f"with {self.metric} = {self._best.value:.6g} on {self._best.dataset}"
            )
            raise EarlyStopException(self._best_round, self._best_results)

    def _improves(self, current: Result) -> bool:
        if self._best is None:
            return current.value == current.value  # NaN is no start
        if current.maximize:
            return current.value > self._best.value + self.min_delta
        return current.value < self._best.value - self.min_delta

    def _find(self, env: CallbackEnv) -> Result | None:
        """Return this round's value, None in a round that is left out; in the first round say if it does not occur."""
        results = [read(entry) for entry in env.evaluation_result_list or []]
        if env.iteration == env.begin_iteration:
            self._chosen = self.dataset or first_validation_set(env, results)
        found = [result for result in results if (result.dataset, result.metric) == (self._chosen, self.metric)]
        if len(found) > 1:
            raise clash(self.metric, "LightGBM", REMEDY)
        if not found and env.iteration == env.begin_iteration:
            raise ValueError(self._missing(results, self._chosen))
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
            return (
                f"no data set {dataset!r} is evaluated{nearest(dataset, datasets)} (there are: {', '.join(datasets)})"
            )
        metrics = list(dict.fromkeys(result.metric for result in results if result.dataset == dataset))
        advice = f"; pass feval=gainsay.lightgbm.feval([{self.metric!r}])" if self._is_ours else ""
        return (
            f"no metric {self.metric!r} is logged on {dataset!r}{nearest(self.metric, metrics)} "
            f"(there are: {', '.join(metrics)}){advice}"
        )

    def _say(self, text: str) -> None:
        if self.verbose:
            lgb.basic._log_info(text)
