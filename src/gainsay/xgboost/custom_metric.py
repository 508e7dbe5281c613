"""A metric function for XGBoost, and a callback that restores the digits of its values."""

from __future__ import annotations

import threading
import weakref
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import xgboost as xgb

from ..training.bound_metrics import BoundMetrics, LibraryObject, WeakIdentityMap, create_clash_error, factory
from .common import REMEDY, BoundMatrix, Logger, compute_means, compute_sums, describe_estimators

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .._common.typing import Floats
    from ..judgments import NegativeLabels
    from ..metrics.names import MetricLike
    from ..metrics.safe import Names

calls: ContextVar[list[tuple[CustomMetric, weakref.ref[xgb.DMatrix]]] | None] = ContextVar("calls", default=None)
"""The custom metrics and matrices of the first round of a training that continues a model.

XGBoost does not pass the datasets of a training to callbacks. Early stopping sets a list, and `CustomMetric` appends to
it. Each training runs in one thread, so it has a separate list.
"""


@factory('custom_metric=custom_metric("ndcg_exp@10")')
def custom_metric(
    metrics: MetricLike | Iterable[MetricLike],
    *,
    convention: str | None = None,
    negative_labels: NegativeLabels = "refuse",
    n_jobs: int | None = None,
    names: Names = "plain",
) -> CustomMetric:
    """Create a `custom_metric` for `xgboost.train`, `xgboost.cv` and `xgboost.dask.train`.

    XGBoost rounds the values of custom metrics to six decimals. Add `full_precision` if you need all digits.

    Parameters
    ----------
    metrics : str, Metric or iterable of these
        The metrics to log, for example ``["ndcg_linear@10", "mrr"]``. See `gainsay.parse_metrics`.
    convention : str, optional
        Read metric names as this library does. See `gainsay.parse_metrics`.
    negative_labels : {"refuse", "allow", "zero"}
        See `gainsay.Judgments`.
    n_jobs : int, optional
        The largest number of threads. Default: the CPUs that the process may use, or fewer if that is faster.
    names : {"plain", "safe"}
        The form of names in the log: ``ndcg_exp@10``, or ``ndcg_exp_at_10`` for experiment trackers
        (`gainsay.metrics.safe_name`). Early stopping accepts both.

    Raises
    ------
    ValueError
        If a metric is unknown. In the first round, if a DMatrix has no groups or its labels are not valid for the
        metrics. In any round, if scores are NaN (`checkpoint` then has the model and the rounds before).

    Notes
    -----
    Do not pass it as `eval_metric` to `XGBRanker` or `DaskXGBRanker`, which call a metric query by query and ignore
    weights. Pass the callback `EvaluateRanking` to estimators.

    If XGBoost logs a metric under the same name, both share one history. Remove that name from `eval_metric`.
    `full_precision` and `early_stopping` detect this and raise an error.

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
    return CustomMetric(BoundMetrics(metrics, convention, negative_labels, n_jobs, names))


class CustomMetric(LibraryObject):
    """An evaluation function for `xgboost.train` and `xgboost.cv`, created by `custom_metric`."""

    _library, _name, _argument = "xgboost", "custom_metric", "custom_metric="

    def __init__(self, bound_metrics: BoundMetrics) -> None:
        self.bound_metrics = bound_metrics
        self._unread: dict[int, list[list[float]]] = {}
        """The values of each dataset that `full_precision` has not read, by thread."""
        self._matrices: WeakIdentityMap[BoundMatrix] = WeakIdentityMap()

    def __repr__(self) -> str:
        return self.bound_metrics.format_call(custom_metric)

    def __call__(self, predt: Any, dmatrix: Any = None, *arguments: Any) -> list[tuple[str, float]]:
        """Return (name, value) of each metric."""
        if not isinstance(dmatrix, xgb.DMatrix):
            if "lightgbm" in f"{type(predt).__module__} {type(dmatrix).__module__}":
                raise self._create_misuse_error(library="lightgbm")
            raise TypeError(
                "custom_metric only works in xgboost.train, xgboost.cv and xgboost.dask.train. In LGBMRanker, write "
                "`from gainsay.lightgbm import eval_metric`. In XGBoost's estimators, "
                + describe_estimators(list(self.bound_metrics.names))
            )
        if (recorded := calls.get()) is not None:
            recorded.append((self, weakref.ref(dmatrix)))
        values = compute_means(lambda: self._compute_sums(predt, dmatrix), len(self.bound_metrics.names))
        if (unread := self._unread.get(threading.get_ident())) is not None:
            unread.append(values)
        return list(zip(self.bound_metrics.names, values, strict=True))

    def read(self, *, keep: bool = True) -> list[list[float]]:
        """Return the values of each dataset since the last call in this thread. With `keep`, collect further ones."""
        values = self._unread.pop(threading.get_ident(), [])
        if keep:
            self._unread[threading.get_ident()] = []
        return values

    def compute_value(self, model: Any, rounds: int, dmatrix: xgb.DMatrix, metric: str) -> float:
        """Return the value of a metric for the first rounds of a model."""

        def sums() -> Floats:
            bound = self._bind(dmatrix)
            scores = model.predict(dmatrix, iteration_range=(0, rounds))
            return compute_sums(bound.partition, scores, rounds, bound.description)

        return compute_means(sums, len(self.bound_metrics.names))[self.bound_metrics.names.index(metric)]

    def _compute_sums(self, predt: Any, dmatrix: xgb.DMatrix) -> Floats:
        bound = self._bind(dmatrix)
        bound.rounds += 1
        return compute_sums(bound.partition, predt, bound.rounds, bound.description)

    def _bind(self, dmatrix: xgb.DMatrix) -> BoundMatrix:
        bound = self._matrices.get(dmatrix)
        if bound is None or bound.is_outdated(dmatrix):
            bound = BoundMatrix(self.bound_metrics, dmatrix)
            self._matrices.set(dmatrix, bound)
        return bound


def full_precision(log: CustomMetric) -> FullPrecision:
    """Create a callback that writes the unrounded values of a custom metric into the history.

    XGBoost rounds the values of custom metrics to six decimals. Unlike `EvaluateRanking`, this callback does not
    predict, and it works in `xgboost.dask.train`.

    Parameters
    ----------
    log : CustomMetric
        The result of `custom_metric`, which you also pass to the training.

    Raises
    ------
    TypeError
        If `log` is another object.
    ValueError
        In the first round, if the training has another custom metric.

    Examples
    --------
    >>> import xgboost as xgb
    >>> from gainsay.data import simulate
    >>> from gainsay.xgboost import custom_metric, full_precision
    >>> data = simulate(30, seed=1)
    >>> train = xgb.DMatrix(data.features, label=data.labels, qid=data.qid)
    >>> log, curves = custom_metric(["mrr"]), {}
    >>> booster = xgb.train(
    ...     {"objective": "rank:ndcg", "disable_default_eval_metric": True}, train, num_boost_round=1,
    ...     evals=[(train, "train")], custom_metric=log, callbacks=[full_precision(log)], evals_result=curves,
    ...     verbose_eval=False)
    >>> curves["train"]["mrr"][0] == round(curves["train"]["mrr"][0], 6)
    False
    """
    return FullPrecision(log)


class FullPrecision(Logger):
    """A callback for XGBoost, created by `full_precision`."""

    _name = "full_precision"

    def __init__(self, log: CustomMetric) -> None:
        super().__init__()
        if not isinstance(log, CustomMetric):
            raise TypeError(f"log must be the result of gainsay.xgboost.custom_metric, got {type(log).__name__}")
        self.log = log

    def __repr__(self) -> str:
        return f"full_precision({self.log!r})"

    def before_training(self, model: Any) -> Any:
        """Start to keep values."""
        if not isinstance(model, xgb.Booster):
            raise ValueError("full_precision does not work in xgboost.cv, whose values are means over folds")
        self.log.read()
        return super().before_training(model)

    def log_round(self, model: Any, epoch: int, evals_log: Any) -> None:
        """Replace the rounded values of this round."""
        unread = self.log.read()
        names = self.log.bound_metrics.names
        if not evals_log:
            raise ValueError("full_precision needs values, but no dataset is evaluated: pass evals=[…]")
        histories = [history for history in evals_log.values() if names[0] in history]  # XGBoost's datasets come first
        if not 0 < len(unread) <= len(histories):
            raise ValueError("full_precision needs values: pass the same log to the training, as custom_metric=")
        for history, values in zip(histories, unread, strict=False):
            for name, value in zip(names, values, strict=True):
                if len(history[name]) > epoch + 1:
                    raise create_clash_error(name, "XGBoost", REMEDY)
                history[name][-1] = value

    def after_training(self, model: Any) -> Any:
        """Stop keeping values."""
        self.log.read(keep=False)
        return super().after_training(model)
