"""Metrics while LightGBM trains, and early stopping on the one that you name.

>>> from gainsay.lightgbm import early_stopping, feval
>>> log = feval(["ndcg_linear@10", "ndcg_exp@10", "map@10", "mrr"])
>>> stop = early_stopping("ndcg_exp@10", rounds=50)

Both go to `lightgbm.train` or `lightgbm.cv`, with `params["metric"] = "None"` where the built-in metrics are unwanted.
"""

from __future__ import annotations

import warnings
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

from ._arrays import nearest
from ._bound import Panel, WeakIdentityMap, clash, is_ours, metric_name, positive_int

try:
    import lightgbm as lgb
    from lightgbm.callback import CallbackEnv, EarlyStopException
except ImportError as error:  # pragma: no cover - needs an environment without LightGBM
    raise ImportError("gainsay.lightgbm needs LightGBM: pip install 'gainsay[lightgbm]'") from error

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .evaluation import Evaluator
    from .judgments import NegativeLabels
    from .metrics.names import MetricLike

__all__ = ["early_stopping", "eval_metric", "feval"]

EvalTuple = tuple[str, float, bool]

_REMEDY = "Leave it out of params['metric'] (metric='None' turns the built-ins off)"


def feval(
    metrics: MetricLike | Iterable[MetricLike],
    *,
    every: int = 1,
    convention: str | None = None,
    negative_labels: NegativeLabels = "refuse",
    n_jobs: int | None = None,
) -> Feval:
    """Return a `feval` for `lightgbm.train` and `lightgbm.cv` that logs metrics on the grouped validation data.

    Labels, groups and weights come from each `Dataset`; everything that depends on them alone is worked out in the
    first round.

    Parameters
    ----------
    metrics : str, Metric, or an iterable of them
        See `gainsay.parse_metrics`.
    every : int
        Evaluate in every n-th round only, counted from the first: 1, 1 + every, 1 + 2 * every, …; in the others nothing
        is logged. (The first round is always among them: LightGBM's own recording callbacks take the names from it.)
    convention : str, optional
        Read metric names as this library does; see `gainsay.parse_metrics`.
    negative_labels : {"refuse", "allow", "zero"}
        See `gainsay.Judgments`.
    n_jobs : int, optional
        Threads; by default the CPUs that the process may use.

    Raises
    ------
    ValueError
        At once for unknown metrics; in the first round for a Dataset without groups, labels that do not suit the
        metrics, or a name that a built-in metric has too; in any round for NaN scores.

    Examples
    --------
    >>> import lightgbm as lgb
    >>> from gainsay.data import simulate
    >>> from gainsay.lightgbm import feval
    >>> data = simulate(30, seed=1)
    >>> train = lgb.Dataset(data.features, data.labels, group=data.group)
    >>> curves = {}
    >>> booster = lgb.train(
    ...     {"objective": "lambdarank", "metric": "None", "verbose": -1}, train, num_boost_round=3, valid_sets=[train],
    ...     feval=feval(["ndcg_linear@10", "ndcg_exp@10"]), callbacks=[lgb.record_evaluation(curves)])
    >>> list(curves["training"]), len(curves["training"]["ndcg_exp@10"])
    (['ndcg_linear@10', 'ndcg_exp@10'], 3)
    """
    return Feval(Panel(metrics, convention, negative_labels, n_jobs), positive_int("every", every, "rounds"))


def eval_metric(
    metrics: MetricLike | Iterable[MetricLike],
    *,
    every: int = 1,
    convention: str | None = None,
    negative_labels: NegativeLabels = "refuse",
    n_jobs: int | None = None,
) -> EvalMetric:
    """Return an `eval_metric` for `LGBMRanker.fit`; parameters as for `feval`.

    Examples
    --------
    >>> import lightgbm as lgb
    >>> from gainsay.data import simulate
    >>> from gainsay.lightgbm import eval_metric
    >>> train, valid = simulate(60, seed=1).split_queries(0.5, 0.5, seed=1)
    >>> ranker = lgb.LGBMRanker(n_estimators=3, metric="None", verbose=-1).fit(
    ...     train.features, train.labels, group=train.group, eval_X=valid.features, eval_y=valid.labels,
    ...     eval_group=[valid.group], eval_metric=eval_metric(["ndcg_linear@10", "mrr"]))
    >>> list(ranker.evals_result_["valid_0"])
    ['ndcg_linear@10', 'mrr']
    """
    return EvalMetric(Panel(metrics, convention, negative_labels, n_jobs), positive_int("every", every, "rounds"))


def early_stopping(
    metric: MetricLike,
    rounds: int,
    dataset: str | None = None,
    min_delta: float = 0.0,
    verbose: bool = True,
) -> EarlyStopping:
    """Return a callback that stops training when the metric that you name has not improved for some rounds.

    It looks at this metric on this data set and at nothing else, whatever else is logged. Works in `lightgbm.train`,
    `lightgbm.cv` and the scikit-learn estimators, for built-in metrics as well as ours, and with `every=n`. It sets
    `best_iteration` to the first round with the best value, and `best_score` to the values of that round, whether
    training was stopped or ran to its end. As LightGBM's own, it does nothing under dart, where later rounds change
    earlier trees.

    Parameters
    ----------
    metric : str or Metric
        A metric as it is logged, such as `"ndcg_exp@10"`.
    rounds : int
        Stop after this many boosting rounds without improvement.
    dataset : str, optional
        The data set as LightGBM names it (`"valid_0"`, or from `valid_names`); by default the first one that is not the
        training data.
    min_delta : float
        By how much a value must exceed the best one so far to count as better.
    verbose : bool
        Say which round was the best.

    Raises
    ------
    ValueError
        In the first round, where there is no validation data or the metric or data set does not occur; the message
        lists those that do.
    """
    return EarlyStopping(metric, rounds, dataset, min_delta, verbose)


class _Bound(NamedTuple):
    """A data set's evaluator, and by what to know whether it is still the same data set and the same training."""

    evaluator: Evaluator
    group: Any
    weight: Any
    training: _Training


class _Training:
    """Counts the rounds of one training, which LightGBM's prediction buffer stands for."""

    def __init__(self, predictions: Any) -> None:
        self.buffer = weakref.ref(predictions)
        self.rounds = 0


class _Adapter:
    """What the two forms of evaluation function share."""

    def __init__(self, panel: Panel, every: int) -> None:
        self.panel = panel
        self.every = every
        self._bound: WeakIdentityMap[_Bound] = WeakIdentityMap()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.panel, self.every)

    def _evaluate(self, scores: Any, labels: Any, group: Any, weight: Any, params: Any = None) -> list[EvalTuple]:
        bound = self._bound.get(labels)
        if bound is None or bound.group is not group or bound.weight is not weight:
            bound = self._bind(scores, labels, group, weight, params)
        elif bound.training.buffer() is not scores:
            bound = bound._replace(training=_Training(scores))
            self._bound.set(labels, bound)
        training = bound.training
        training.rounds += 1
        if (training.rounds - 1) % self.every:
            return []
        values = self.panel.evaluate(bound.evaluator, scores, round_number=training.rounds)
        return [(name, value, True) for name, value in zip(self.panel.names, values, strict=True)]

    def _bind(self, scores: Any, labels: Any, group: Any, weight: Any, params: Any) -> _Bound:
        if group is None:
            raise ValueError(
                "the data set has no groups: give it group= (documents per query), as ranking metrics need queries"
            )
        for name in set(self.panel.names) & _builtin_names(params or {}):
            raise clash(name, "LightGBM", _REMEDY)
        bound = _Bound(self.panel.bind(labels, group=group, weight=weight), group, weight, _Training(scores))
        self._bound.set(labels, bound)
        return bound


class Feval(_Adapter):
    """An evaluation function as `lightgbm.train` and `lightgbm.cv` take it; made by `feval`."""

    def __call__(self, preds: Any, eval_data: lgb.Dataset) -> list[EvalTuple]:
        """Return (name, value, True) of each metric, or nothing in rounds that are left out."""
        return self._evaluate(
            preds, eval_data.get_label(), eval_data.get_group(), eval_data.get_weight(), eval_data.params
        )


class EvalMetric(_Adapter):
    """An evaluation function as LightGBM's scikit-learn estimators take it; made by `eval_metric`."""

    def __call__(self, y_true: Any, y_pred: Any, weight: Any, group: Any) -> list[EvalTuple]:
        """Return (name, value, True) of each metric, or nothing in rounds that are left out."""
        return self._evaluate(y_pred, y_true, group, weight)


class _Result(NamedTuple):
    """One value as LightGBM reports it to callbacks."""

    dataset: str
    metric: str
    value: float
    maximize: bool


class EarlyStopping:
    """A callback for LightGBM; made by `early_stopping`."""

    def __init__(self, metric: MetricLike, rounds: int, dataset: str | None, min_delta: float, verbose: bool) -> None:
        self.order = 30  # after the recording callbacks; LightGBM overlooks class attributes here
        self.before_iteration = False
        self.metric = metric_name(metric)
        self.rounds = positive_int("rounds", rounds, "boosting rounds")
        self.dataset = dataset
        if not min_delta >= 0:
            raise ValueError(f"min_delta must not be negative, got {min_delta}")
        self.min_delta = min_delta
        self.verbose = verbose
        self._start()

    def _start(self) -> None:
        self._enabled = True
        self._chosen: str | None = None
        self._best: _Result | None = None
        self._best_round = 0
        self._best_results: Any = None

    def __call__(self, env: CallbackEnv) -> None:
        """Look at the values of a round; raise LightGBM's `EarlyStopException` to stop."""
        if env.iteration == env.begin_iteration:
            self._start()
            self._enabled = not _is_dart(env)
            self._say(f"Training until {self.metric} does not improve for {self.rounds} rounds")
        if not self._enabled:
            return
        current = self._find(env)
        if current is not None and self._improves(current):
            self._best, self._best_round, self._best_results = current, env.iteration, env.evaluation_result_list
        last = env.iteration == env.end_iteration - 1
        if self._best is not None and (last or env.iteration - self._best_round >= self.rounds):
            happened = "Did not stop early" if last else "Early stopping"
            self._say(
                f"{happened}, best iteration is {self._best_round + 1} "
                f"with {self.metric} = {self._best.value:.6g} on {self._best.dataset}"
            )
            raise EarlyStopException(self._best_round, self._best_results)

    def _improves(self, current: _Result) -> bool:
        if self._best is None:
            return current.value == current.value  # NaN is no start
        if current.maximize:
            return current.value > self._best.value + self.min_delta
        return current.value < self._best.value - self.min_delta

    def _find(self, env: CallbackEnv) -> _Result | None:
        """Return this round's value, None in a round that is left out; in the first round say if it does not occur."""
        results = [_read(entry) for entry in env.evaluation_result_list or []]
        if env.iteration == env.begin_iteration:
            self._chosen = self.dataset or _first_validation_set(env, results)
        found = [result for result in results if (result.dataset, result.metric) == (self._chosen, self.metric)]
        if len(found) > 1:
            raise clash(self.metric, "LightGBM", _REMEDY)
        if not found and env.iteration == env.begin_iteration:
            raise ValueError(self._missing(results, self._chosen))
        return found[0] if found else None

    def _missing(self, results: list[_Result], dataset: str | None) -> str:
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
        advice = f"; pass feval=gainsay.lightgbm.feval([{self.metric!r}])" if is_ours(self.metric) else ""
        return (
            f"no metric {self.metric!r} is logged on {dataset!r}{nearest(self.metric, metrics)} "
            f"(there are: {', '.join(metrics)}){advice}"
        )

    def _say(self, text: str) -> None:
        if self.verbose:
            lgb.basic._log_info(text)


def _read(entry: Any) -> _Result:
    """Read an evaluation result of LightGBM: an object since 4.7, before that a tuple."""
    if hasattr(entry, "dataset_name"):
        return _Result(entry.dataset_name, entry.metric_name, float(entry.metric_value), bool(entry.maximize))
    dataset, metric, value, maximize = entry[:4]
    if dataset == "cv_agg":
        dataset, metric = metric.split(" ", 1)
    return _Result(dataset, metric, float(value), bool(maximize))


def _first_validation_set(env: CallbackEnv, results: list[_Result]) -> str | None:
    """Return the first data set that is evaluated and is not the training data."""
    training = "train" if hasattr(env.model, "boosters") else getattr(env.model, "_train_data_name", "training")
    return next((result.dataset for result in results if result.dataset != training), None)


def _is_dart(env: CallbackEnv) -> bool:
    if "dart" not in (env.params.get(alias) for alias in ("boosting", "boosting_type", "boost")):
        return False
    warnings.warn("early stopping is not available with dart: later rounds change earlier trees", stacklevel=3)
    return True


def _builtin_names(params: dict[str, Any]) -> set[str]:
    """Return under which names LightGBM itself logs metrics that may have the name of one of ours."""
    metrics = next((params[alias] for alias in ("metric", "metrics", "metric_types") if alias in params), "")
    listed = {name.strip() for name in metrics.split(",")} if isinstance(metrics, str) else set(metrics)
    if not listed & {"map", "mean_average_precision"}:
        return set()
    aliases = ("eval_at", "ndcg_eval_at", "ndcg_at", "map_eval_at", "map_at")
    at = next((params[alias] for alias in aliases if alias in params), (1, 2, 3, 4, 5))
    cutoffs = at.split(",") if isinstance(at, str) else at if isinstance(at, list | tuple) else [at]
    return {f"map@{int(k)}" for k in cutoffs}
