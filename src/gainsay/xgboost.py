"""Metrics while XGBoost trains, and early stopping on the one that you name.

>>> from gainsay.xgboost import EvaluateRanking, custom_metric, early_stopping
>>> log = custom_metric(["ndcg_linear@10", "ndcg_exp@10"])

`custom_metric` goes to `xgboost.train` and `xgboost.cv`; XGBoost keeps six digits of its values. `EvaluateRanking` is a
callback that writes full precision into the same history, and serves `XGBRanker` too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ._arrays import nearest
from ._bound import Panel, WeakIdentityMap, clash, is_ours, metric_name, positive_int

try:
    import xgboost as xgb
    from xgboost.callback import TrainingCallback
except ImportError as error:  # pragma: no cover - needs an environment without XGBoost
    raise ImportError("gainsay.xgboost needs XGBoost: pip install 'gainsay[xgboost]'") from error

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .evaluation import Evaluator
    from .judgments import NegativeLabels
    from .metrics.names import MetricLike

__all__ = ["EvaluateRanking", "custom_metric", "early_stopping"]

_HIGHER_IS_BETTER = ("auc", "aucpr", "pre", "map", "ndcg")
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
    "interval-regression-accuracy",
    "quantile",
    "expectile",
)
_REMEDY = "Leave it out of params['eval_metric'] (disable_default_eval_metric=True turns the objective's own off)"


def custom_metric(
    metrics: MetricLike | Iterable[MetricLike],
    *,
    convention: str | None = None,
    negative_labels: NegativeLabels = "refuse",
    n_jobs: int | None = None,
) -> CustomMetric:
    """Return a `custom_metric` for `xgboost.train` and `xgboost.cv`.

    XGBoost formats the values of custom metrics with six decimals; where you need all digits take `EvaluateRanking`.
    Do not give it to `XGBRanker(eval_metric=…)`, which calls a metric query by query and ignores weights.

    Parameters
    ----------
    metrics : str, Metric, or an iterable of them
        See `gainsay.parse_metrics`.
    convention : str, optional
        Read metric names as this library does; see `gainsay.parse_metrics`.
    negative_labels : {"refuse", "allow", "zero"}
        See `gainsay.Judgments`.
    n_jobs : int, optional
        Threads; by default the CPUs that the process may use.

    Raises
    ------
    ValueError
        At once for unknown metrics; in the first round for a DMatrix without groups or labels that do not suit the
        metrics; in any round for NaN scores.

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
    return CustomMetric(Panel(metrics, convention, negative_labels, n_jobs))


class CustomMetric:
    """An evaluation function as `xgboost.train` and `xgboost.cv` take it; made by `custom_metric`."""

    def __init__(self, panel: Panel) -> None:
        self.panel = panel
        self._bound: WeakIdentityMap[_Bound] = WeakIdentityMap()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.panel,)

    def __call__(self, predt: Any, dmatrix: xgb.DMatrix) -> list[tuple[str, float]]:
        """Return (name, value) of each metric."""
        bound = self._bound.get(dmatrix)
        if bound is None or bound.outdated(dmatrix):
            bound = _Bound(self.panel, dmatrix)
            self._bound.set(dmatrix, bound)
        bound.rounds += 1
        values = self.panel.evaluate(bound.evaluator, _on_host(predt), round_number=bound.rounds)
        return list(zip(self.panel.names, values, strict=True))


class _Bound:
    """A DMatrix's evaluator, with what it was made from: XGBoost hands out fresh copies, so compare values."""

    def __init__(self, panel: Panel, dmatrix: xgb.DMatrix) -> None:
        self._made_from = _read(dmatrix)
        labels, boundaries, weight = self._made_from
        self.evaluator = panel.bind(labels, group=_sizes(boundaries), weight=weight if len(weight) else None)
        self.rounds = 0

    def outdated(self, dmatrix: xgb.DMatrix) -> bool:
        """Return whether labels, groups or weights have been set anew."""
        return not all(map(np.array_equal, self._made_from, _read(dmatrix)))


class EvaluateRanking(TrainingCallback):
    """A callback that evaluates data sets after every round and logs full precision.

    It writes into the history that XGBoost prints, returns as `evals_result`, and looks at for early stopping. Put it
    before `early_stopping` in the list of callbacks. Works in `xgboost.train` and `XGBRanker`; in `xgboost.cv`, where
    each fold has data of its own, take `custom_metric`.

    Parameters
    ----------
    datasets : mapping of str to DMatrix, QuantileDMatrix, or tuple (X, y, qid) or (X, y, qid, weight)
        What to evaluate, by the name in the history. Weights are one per query.
    metrics : str, Metric, or an iterable of them
        See `gainsay.parse_metrics`.
    every : int
        Evaluate in every n-th round only, counted from the first: 1, 1 + every, 1 + 2 * every, …; in the others nothing
        is logged.
    convention, negative_labels, n_jobs
        See `custom_metric`.

    Raises
    ------
    ValueError
        At once for unknown metrics, a data set without groups, or labels that do not suit the metrics; in the first
        round for a name that a built-in metric has too; in any round for NaN scores.

    Examples
    --------
    >>> import xgboost as xgb
    >>> from gainsay.data import simulate
    >>> from gainsay.xgboost import EvaluateRanking, early_stopping
    >>> train, valid = simulate(60, seed=1).split_queries(0.5, 0.5, seed=1)
    >>> ranker = xgb.XGBRanker(n_estimators=5, callbacks=[
    ...     EvaluateRanking({"valid": (valid.features, valid.labels, valid.qid)}, ["ndcg_exp@10", "mrr"]),
    ...     early_stopping("mrr", data_name="valid", rounds=2, verbose=False)])
    >>> ranker = ranker.fit(train.features, train.labels, qid=train.qid)
    >>> list(ranker.evals_result()["valid"])
    ['ndcg_exp@10', 'mrr']
    """

    def __init__(
        self,
        datasets: Mapping[str, Any],
        metrics: MetricLike | Iterable[MetricLike],
        *,
        every: int = 1,
        convention: str | None = None,
        negative_labels: NegativeLabels = "refuse",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__()
        if not datasets:
            raise ValueError("datasets is empty: name at least one, for example {'valid': dvalid}")
        self.panel = Panel(metrics, convention, negative_labels, n_jobs)
        self.every = positive_int("every", every, "rounds")
        self._bound = {name: self._bind(name, data) for name, data in datasets.items()}

    def _bind(self, name: str, data: Any) -> tuple[xgb.DMatrix, Evaluator]:
        if "-" in name or any(letter.isspace() for letter in name):
            raise ValueError(
                f"the name {name!r} of a data set must hold no '-' and no blank: XGBoost splits names there"
            )
        try:
            if isinstance(data, xgb.DMatrix):
                return data, _Bound(self.panel, data).evaluator
            if isinstance(data, tuple) and len(data) in (3, 4):
                features, labels, qid, *weight = data
                evaluator = self.panel.bind(labels, qid=qid, weight=weight[0] if weight else None)
                return xgb.DMatrix(features, enable_categorical=True), evaluator
        except ValueError as error:
            raise ValueError(f"data set {name!r}: {error}") from None
        raise TypeError(
            f"data set {name!r} must be a DMatrix, a QuantileDMatrix, or (X, y, qid) or (X, y, qid, weight), "
            f"got {type(data).__name__}"
        )

    def before_training(self, model: Any) -> Any:
        """Refuse cross-validation, which has data sets of its own."""
        if not isinstance(model, xgb.Booster):
            raise ValueError("EvaluateRanking evaluates the data sets given to it; in xgboost.cv take custom_metric")
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Evaluate and log; never stops training."""
        if epoch % self.every:
            return False
        for data_name, (data, evaluator) in self._bound.items():
            history = evals_log.setdefault(data_name, {})
            scores = _on_host(model.predict(data))
            where = f" on {data_name!r}"
            values = self.panel.evaluate(evaluator, scores, round_number=epoch + 1, where=where)
            for name, value in zip(self.panel.names, values, strict=True):
                curve = history.setdefault(name, [])
                if len(curve) != epoch // self.every:
                    raise clash(name, "XGBoost", _REMEDY)
                curve.append(value)
        return False


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

    Our metrics are maximised, always. (XGBoost's own callback guesses the direction from the name, so that it minimises
    `mrr`.) It sets `best_iteration` and `best_score`, whether training was stopped or ran to its end, and may serve
    several trainings one after the other.

    Parameters
    ----------
    metric : str or Metric
        A metric as it is logged, such as `"ndcg_linear@10"`.
    rounds : int
        Stop after this many boosting rounds without improvement.
    data_name : str, optional
        The data set, as it is named in `evals` or `EvaluateRanking`. May be left out where the metric is logged on one
        data set only.
    min_delta : float
        By how much a value must exceed the best one so far to count as better.
    maximize : bool, optional
        The direction; needed only for a custom metric of another origin.
    save_best : bool
        Return the model cut after its best round. Not in `xgboost.cv`.
    verbose : bool
        Say which round was the best.

    Raises
    ------
    ValueError
        In the first round, where the metric or data set does not occur; the message lists those that do.
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
        self.rounds = positive_int("rounds", rounds, "boosting rounds")
        self.data_name = data_name
        if not min_delta >= 0:
            raise ValueError(f"min_delta must not be negative, got {min_delta}")
        self.min_delta = min_delta
        self.maximize = _direction(self.metric) if maximize is None else maximize
        self.save_best = save_best
        self.verbose = verbose

    def before_training(self, model: Any) -> Any:
        """Start anew."""
        if self.save_best and not isinstance(model, xgb.Booster):
            raise ValueError("save_best has no meaning in xgboost.cv, which returns no model")
        self._first_round = model.num_boosted_rounds()
        self._chosen: str | None = None
        self._seen = 0
        self._best: float | None = None
        self._best_epoch = 0
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        """Look at the values of a round; return whether to stop."""
        curve = self._curve(evals_log)
        if curve is None:
            raise ValueError(self._missing(evals_log))
        if len(curve) > epoch + 1:
            raise clash(self.metric, "XGBoost", _REMEDY)
        if len(curve) > self._seen:
            self._seen = len(curve)
            value = float(curve[-1][0] if isinstance(curve[-1], tuple) else curve[-1])
            if self._improves(value):
                self._best, self._best_epoch = value, epoch
                model.set_attr(best_score=str(value), best_iteration=str(epoch + self._first_round))
        return self._best is not None and epoch - self._best_epoch >= self.rounds

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
        remedy = (
            f"evaluate it with EvaluateRanking({{…}}, [{self.metric!r}]) earlier in callbacks, or with custom_metric"
        )
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
        advice = f"; {remedy}" if is_ours(self.metric) else ""
        return (
            f"no metric {self.metric!r} is logged on {', '.join(map(repr, names))}{nearest(self.metric, logged)} "
            f"(there are: {', '.join(logged)}){advice}"
        )


def _direction(metric: str) -> bool:
    """Return whether a higher value of the metric is better, where that is known."""
    kind = metric.partition("@")[0]
    if is_ours(metric) or kind in _HIGHER_IS_BETTER:
        return True
    if kind in _LOWER_IS_BETTER:
        return False
    raise ValueError(
        f"it is not known whether a higher {metric!r} is better: give maximize=True or maximize=False"
        f"{nearest(metric, (*_HIGHER_IS_BETTER, *_LOWER_IS_BETTER))}"
    )


def _read(dmatrix: xgb.DMatrix) -> tuple[Any, Any, Any]:
    """Return labels, group boundaries and query weights of a DMatrix."""
    return dmatrix.get_label(), dmatrix.get_uint_info("group_ptr"), dmatrix.get_weight()


def _sizes(boundaries: Any) -> Any:
    if len(boundaries) == 0:
        raise ValueError(
            "the DMatrix has no groups: give it qid= (the query of each document), as ranking metrics need queries"
        )
    return np.diff(np.asarray(boundaries).astype(np.int64))


def _on_host(predictions: Any) -> Any:
    """Bring predictions that were made on a GPU (CuPy) to NumPy."""
    return predictions.get() if hasattr(predictions, "__cuda_array_interface__") else predictions
