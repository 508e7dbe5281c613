"""Evaluation in every round: a callback with its own datasets, a metric function, and the digits of its values."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xgboost as xgb
from xgboost.callback import TrainingCallback

from .._common.validation import prefix_errors, validate_integer, validate_mapping
from ..evaluation.prediction import count_features, select_columns_of, validate_column_count, warn_of_remarks
from ..judgments import Judgments
from ..training.logged_metrics import (
    LoggedMetrics,
    Partition,
    WeakIdentityMap,
    compute_ratios,
    create_clash_error,
    describe_size,
    find_columns,
    in_round,
    named_call,
    read_columns,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from .._common.typing import Floats
    from ..judgments import NegativeLabels
    from ..metrics.names import MetricLike, Names
    from ..training.logged_metrics import DatasetColumns

REMEDY = "Remove it from params['eval_metric'] (disable_default_eval_metric=True disables the objective's metric)"
calls: ContextVar[list[tuple[CustomMetric, weakref.ref[xgb.DMatrix]]] | None] = ContextVar("calls", default=None)
"""The custom metrics and matrices of the first round of a training that continues a model.

XGBoost does not pass the datasets of a training to callbacks. Early stopping sets a list, and `CustomMetric` appends to
it. Each training runs in one thread, so it has a separate list.
"""

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


class BoundMatrix:
    """Metrics bound to a DMatrix. XGBoost returns copies of its data, so changes are detected by value."""

    def __init__(
        self, logged_metrics: LoggedMetrics, dmatrix: xgb.DMatrix, columns: Mapping[str, Any] | None = None
    ) -> None:
        self._source = _read(dmatrix)
        labels, boundaries, weight = self._source
        whole = not xgb.collective.is_distributed()
        group = None
        if whole or dmatrix.num_row():
            if len(boundaries) == 0:
                raise ValueError(
                    "the DMatrix has no groups: pass qid= (the query of each document), because ranking metrics need "
                    "queries"
                )
            group = np.diff(np.asarray(boundaries).astype(np.int64))
        weight = weight if len(weight) else None
        self.partition = Partition(logged_metrics, labels, group=group, weight=weight, columns=columns, whole=whole)
        self.rounds = 0
        evaluator = self.partition.evaluator
        self.description = f" on {describe_size(evaluator.judgments)}" if evaluator else ""

    def is_outdated(self, dmatrix: xgb.DMatrix) -> bool:
        """Return whether labels, groups or weights were set again."""
        return not all(map(np.array_equal, self._source, _read(dmatrix)))


def _read(dmatrix: xgb.DMatrix) -> tuple[Any, Any, Any]:
    """Return labels, group boundaries and query weights of a DMatrix."""
    return dmatrix.get_label(), dmatrix.get_uint_info("group_ptr"), dmatrix.get_weight()


def compute_sums(partition: Partition, predictions: Any, round_number: int, dataset: str = "") -> Floats:
    """Return the sums of w * v and of w by metric. Errors contain the round and the dataset."""
    if hasattr(predictions, "__cuda_array_interface__"):
        predictions = predictions.get()  # an array of CuPy, from a GPU
    with in_round(round_number, dataset):
        return partition.compute_sums(predictions)


def compute_worker_means(sums: Callable[[], Floats], metrics: int) -> list[float]:
    """Return the mean of each metric over all queries, the same on every worker.

    Every worker calls this function equally often, with or without data. `sums` returns the sums of w * v and of w of
    this worker, shape (metrics, 2). If it raises an error on one worker, all workers raise it, so that none of them
    waits forever.
    """
    if not xgb.collective.is_distributed():
        return compute_ratios(sums()).tolist()  # type: ignore[no-any-return]
    own, failure = np.zeros((metrics, 2)), None
    try:
        own = sums()
    except Exception as error:
        failure = error
    *flat, failures = _allreduce([*own.ravel(), failure is not None], xgb.collective.Op.SUM)
    if failures:
        rank = xgb.collective.get_rank()
        (failed,) = map(int, _allreduce([-1 if failure is None else rank], xgb.collective.Op.MAX))
        message = xgb.collective.broadcast(str(failure), failed)
        raise failure or ValueError(f"on worker {failed}: {message}")
    return compute_ratios(np.reshape(flat, own.shape)).tolist()  # type: ignore[no-any-return]


def _allreduce(values: list[float], operation: xgb.collective.Op) -> list[float]:
    reduced: list[float] = xgb.collective.allreduce(np.array(values, dtype=np.float64), operation).tolist()
    return reduced


def describe_estimators(metrics: Any) -> str:
    """Return the advice for estimators, also on a cluster."""
    return (
        f"pass a callback to XGBRanker, EvaluateRanking({{'valid': (X, y, qid)}}, {metrics}). With such arrays in "
        "memory, it also works in DaskXGBRanker and SparkXGBRanker"
    )


class _Evaluated(NamedTuple):
    """A dataset and its metrics. `bound` is set if labels, groups and weights are those of a DMatrix."""

    data: xgb.DMatrix
    partition: Partition
    bound: BoundMatrix | None = None


class EvaluateRanking(Logger):
    """A callback that evaluates datasets after every round and logs all digits.

    It writes into the history that XGBoost prints, returns as `evals_result` and uses for early stopping. It works in
    `xgboost.train` and `XGBRanker`, and with arrays in `DaskXGBRanker` and `SparkXGBRanker`. In `xgboost.cv` and
    `xgboost.dask.train`, use `custom_metric`.

    Parameters
    ----------
    datasets : mapping of str to DMatrix, QuantileDMatrix, or tuple (X, y, qid), (X, y, qid, weight) or (X, judgments)
        The datasets to evaluate, by their name in the history. Weights are one per query. If y is a pandas Series, X
        and the other arrays are matched by its index. `gainwise.Judgments` have the columns of metrics with
        ``column=NAME``, and X may then be a matrix.
    metrics : str, Metric or iterable of these
        The metrics to log. See `gainwise.parse_metrics`.
    every : int, default 1
        Evaluate every `every` rounds, starting with the first. Nothing is logged in other rounds.
    missing : float, default NaN
        The value in X for a missing value, as `missing` of `XGBRanker`. A matrix has its own.
    convention, negative_labels, n_jobs, names
        Interpretation of metric names, treatment of negative labels, number of threads, and form of names in the log,
        as in `custom_metric`.

    Raises
    ------
    TypeError
        If datasets are not a mapping, such as a list of `evals`.
    ValueError
        If a metric is unknown, there is no dataset, a dataset has no groups, or labels are not valid for the metrics.
        In the first round, if a built-in metric has the same name or a dataset does not have the features of the
        model. In any round, if scores are NaN.

    See Also
    --------
    gainwise.xgboost.early_stopping : Stop on one of the logged metrics.
    gainwise.xgboost.Curves : Draw the logged metrics during training.
    gainwise.xgboost.custom_metric : Log one metric in `xgboost.cv` or a scikit-learn estimator.

    Notes
    -----
    Put this callback before callbacks that read its values, because XGBoost calls them in this order. `early_stopping`
    and `Curves` of gainwise work in any order. Before version 3.2, XGBoost calls callbacks in any order, so use
    `custom_metric` with its own early stopping.

    Callbacks with `(X, y, qid)` can be pickled with their data, for searches with several processes and for clusters.
    Use ``ranker.set_params(callbacks=None)`` to pickle a ranker without the data. On a cluster, every worker evaluates
    all arrays, or logs the means over all workers if each passes its own part.

    Examples
    --------
    >>> import xgboost as xgb
    >>> from gainwise.data import simulate
    >>> from gainwise.xgboost import EvaluateRanking, early_stopping
    >>> train, valid = simulate(60, seed=1).split_queries(0.5, 0.5, seed=1)
    >>> ranker = xgb.XGBRanker(n_estimators=5, callbacks=[
    ...     EvaluateRanking({"valid": (valid.features, valid.labels, valid.qid)}, ["ndcg_exp@10", "mrr"]),
    ...     early_stopping("mrr", dataset="valid", rounds=2, verbose=False)])
    >>> ranker = ranker.fit(train.features, train.labels, qid=train.qid, verbose=False)
    >>> list(ranker.evals_result()["valid"])
    ['ndcg_exp@10', 'mrr']
    """

    def __init__(
        self,
        datasets: Mapping[str, xgb.DMatrix | tuple[Any, ...]],
        metrics: MetricLike | Iterable[MetricLike],
        *,
        every: int = 1,
        missing: float = np.nan,
        convention: str | None = None,
        negative_labels: NegativeLabels = "refuse",
        n_jobs: int | None = None,
        names: Names = "plain",
    ) -> None:
        super().__init__()
        self.logged_metrics = LoggedMetrics(metrics, convention, negative_labels, n_jobs, names)
        self.every = validate_integer("every", every, unit="rounds")
        self.missing = missing
        validate_mapping("datasets", datasets, "a matrix or (X, y, qid)")
        self._sources: dict[str, Any] = dict(datasets)
        self._bound = {name: self._bind(name, data) for name, data in datasets.items()}

    def __getstate__(self) -> dict[str, Any]:
        """Return the content of a pickle, which has no matrices. Arrays are bound again when a training starts."""
        sources = {name: None if _has_matrix(data) else data for name, data in self._sources.items()}
        return {**self.__dict__, "_sources": sources, "_bound": {}}

    def __copy__(self) -> EvaluateRanking:
        return self  # the data are only read

    def __deepcopy__(self, memo: Any) -> EvaluateRanking:
        return self

    def __repr__(self) -> str:
        return self.logged_metrics.format_call(EvaluateRanking, list(self._sources), every=self.every)

    def _bind(self, name: str, data: Any, model: xgb.Booster | None = None) -> _Evaluated:
        """Return a dataset with its metrics. With a model, arrays become a matrix of its columns, in its order."""
        if "-" in name or any(letter.isspace() for letter in name):
            raise ValueError(
                f"the name {name!r} of a dataset must not contain '-' or a blank, because XGBoost splits names there"
            )
        with prefix_errors(f"dataset {name!r}: "):
            if isinstance(data, xgb.DMatrix):
                bound = BoundMatrix(self.logged_metrics, data)
                return _Evaluated(data, bound.partition, bound)
            if isinstance(data, tuple) and len(data) == 2 and isinstance(data[1], Judgments):
                data = (*data, None)
            if isinstance(data, tuple) and len(data) in (3, 4):
                features, labels, qid, *weight = data
                whole = not xgb.collective.is_distributed()
                earlier = None if model is None else self._bound.get(name)
                queries = {"qid": qid, "weight": weight[0] if weight else None, "whole": whole}
                partition = earlier.partition if earlier else Partition(self.logged_metrics, labels, **queries)
                if isinstance(features, xgb.DMatrix):
                    return _Evaluated(features, partition)
                if partition.evaluator is not None:
                    own = labels if isinstance(labels, Judgments) else partition.evaluator.judgments
                    others = {} if own is labels else {"y": labels, "qid": qid, "weight": queries["weight"]}
                    features = own.align_features(features, **others)
                if model is not None:
                    features, remarks = select_columns_of(model, features)
                    warn_of_remarks(f"Dataset {name!r}: the model", remarks)
                matrix = xgb.DMatrix(features, missing=self.missing, enable_categorical=True)
                if model is not None:
                    matrix.feature_names = model.feature_names
                return _Evaluated(matrix, partition)
        raise TypeError(
            f"dataset {name!r} must be a DMatrix, a QuantileDMatrix, (X, y, qid), (X, y, qid, weight) or "
            f"(X, judgments), got {type(data).__name__}"
        )

    def before_training(self, model: Any) -> Any:
        """Reject cross-validation, which has separate datasets, and read changed matrices."""
        lost = next((name for name, data in self._sources.items() if data is None), None)
        if lost is not None:
            raise ValueError(
                f"dataset {lost!r} was a matrix, which is not part of the pickle that this EvaluateRanking comes from: "
                f"{describe_estimators(list(self.logged_metrics.names))}. In xgboost.dask.train, use custom_metric, "
                "with full_precision if six digits are too few"
            )
        if not isinstance(model, xgb.Booster):
            raise ValueError("EvaluateRanking evaluates the datasets passed to it. In xgboost.cv, use custom_metric")
        for name, data in self._sources.items():
            current = self._bound.get(name)
            if current is None or (current.bound is not None and current.bound.is_outdated(data)):
                self._bound[name] = self._bind(name, data)
        return super().before_training(model)

    def log_round(self, model: Any, epoch: int, evals_log: Any) -> None:
        """Evaluate and log."""
        if epoch % self.every:
            return
        for data_name in self._bound:
            history = evals_log.setdefault(data_name, {})
            for name, value in zip(
                self.logged_metrics.names, self._compute_values(model, data_name, epoch + 1), strict=True
            ):
                curve = history.setdefault(name, [])
                if len(curve) != epoch // self.every:
                    raise create_clash_error(name, "XGBoost", REMEDY)
                curve.append(value)

    def compute_value(self, model: Any, rounds: int, data_name: str, metric: str) -> float | None:
        """Return a value of the first rounds of the model, or None if another object logs it."""
        if data_name not in self._bound or metric not in self.logged_metrics.names:
            return None
        values = self._compute_values(model, data_name, rounds, iteration_range=(0, rounds))
        return values[self.logged_metrics.names.index(metric)]

    def _compute_values(self, model: Any, data_name: str, number: int, **cut: Any) -> list[float]:
        """Return the mean of each metric on a dataset. Errors contain the round."""
        data, partition, bound = self._bound[data_name]
        names = getattr(model, "feature_names", None)
        if bound is None and data.feature_names != names and not _has_matrix(self._sources[data_name]):
            self._bound[data_name] = self._bind(data_name, self._sources[data_name], model)
            data, partition, bound = self._bound[data_name]

        def sums() -> Floats:
            if data.num_row():
                with prefix_errors(f"dataset {data_name!r}: "):
                    validate_column_count(count_features(model), data.num_col())
            return compute_sums(partition, model.predict(data, **cut), number, f" on {data_name!r}")

        return compute_worker_means(sums, len(self.logged_metrics.names))


def _has_matrix(data: Any) -> bool:
    """Return whether a dataset is a matrix, or a tuple of a matrix and judgments."""
    return isinstance(data[0] if isinstance(data, tuple) and data else data, xgb.DMatrix)


@named_call('custom_metric=custom_metric("ndcg_exp@10")')
def custom_metric(
    metrics: MetricLike | Iterable[MetricLike],
    *,
    convention: str | None = None,
    negative_labels: NegativeLabels = "refuse",
    n_jobs: int | None = None,
    names: Names = "plain",
    columns: DatasetColumns | None = None,
) -> CustomMetric:
    """Create a `custom_metric` for `xgboost.train`, `xgboost.cv` and `xgboost.dask.train`.

    XGBoost rounds the values of custom metrics to six decimals. Add `full_precision` if you need all digits.

    Parameters
    ----------
    metrics : str, Metric or iterable of these
        The metrics to log, for example ``["ndcg_linear@10", "mrr"]``. See `gainwise.parse_metrics`.
    convention : str, optional
        Interpret metric names as this library does, for example ``"sklearn"``. See `gainwise.parse_metrics`.
    negative_labels : {"refuse", "allow", "zero"}, default "refuse"
        Labels below 0 raise an error, are kept for metrics with linear gain, or are replaced with 0.
    n_jobs : int, optional
        Maximum number of threads. Defaults to the CPUs available to the process, or fewer if that is faster.
    names : {"plain", "safe"}, default "plain"
        The form of names in the log: ``ndcg_exp@10``, or ``ndcg_exp_at_10`` for experiment trackers that accept only
        letters, digits and underscores (`gainwise.metrics.safe_name`). Early stopping accepts both.
    columns : mapping of DMatrix to mapping, optional
        Further labels of each matrix for metrics with ``column=NAME``, as in ``{dvalid: {"revenue": revenue}}``, in row
        order. `xgboost.cv` creates its own matrices, so it does not support them.

    Raises
    ------
    ValueError
        If a metric is unknown. In the first round, if a DMatrix has no groups or its labels are not valid for the
        metrics. In any round, if scores are NaN.

    See Also
    --------
    gainwise.xgboost.EvaluateRanking : A callback that logs all digits, also with estimators.
    gainwise.xgboost.full_precision : Restore the digits that XGBoost removes.
    gainwise.xgboost.early_stopping : Stop on one of the logged metrics.

    Notes
    -----
    Do not pass it as `eval_metric` to `XGBRanker` or `DaskXGBRanker`, which call a metric query by query and ignore
    weights. Pass the callback `EvaluateRanking` to estimators.

    If XGBoost logs a metric under the same name, both share one history. Remove that name from `eval_metric`.
    `full_precision` and `early_stopping` detect this and raise an error.

    Examples
    --------
    >>> import xgboost as xgb
    >>> from gainwise.data import simulate
    >>> from gainwise.xgboost import custom_metric
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
    return CustomMetric(LoggedMetrics(metrics, convention, negative_labels, n_jobs, names), columns)


class CustomMetric:
    """An evaluation function for `xgboost.train` and `xgboost.cv`, created by `custom_metric`."""

    def __init__(self, logged_metrics: LoggedMetrics, columns: DatasetColumns | None = None) -> None:
        self.logged_metrics = logged_metrics
        self.columns = read_columns(columns)
        self._unread: dict[int, list[list[float]]] = {}
        """The values of each dataset that `full_precision` has not read, by thread."""
        self._matrices: WeakIdentityMap[BoundMatrix] = WeakIdentityMap()

    def __repr__(self) -> str:
        return self.logged_metrics.format_call(custom_metric)

    def __call__(self, predt: Any, dmatrix: Any = None, *arguments: Any) -> list[tuple[str, float]]:
        """Return (name, value) of each metric."""
        if not isinstance(dmatrix, xgb.DMatrix):
            raise TypeError(
                "custom_metric only works in xgboost.train, xgboost.cv and xgboost.dask.train. In estimators, "
                + describe_estimators(list(self.logged_metrics.names))
            )
        if (recorded := calls.get()) is not None:
            recorded.append((self, weakref.ref(dmatrix)))
        values = self._compute_values(dmatrix, lambda: predt)
        if (unread := self._unread.get(threading.get_ident())) is not None:
            unread.append(values)
        return list(zip(self.logged_metrics.names, values, strict=True))

    def read(self, *, keep: bool = True) -> list[list[float]]:
        """Return the values of each dataset since the last call in this thread. With `keep`, collect further ones."""
        values = self._unread.pop(threading.get_ident(), [])
        if keep:
            self._unread[threading.get_ident()] = []
        return values

    def compute_value(self, model: Any, rounds: int, dmatrix: xgb.DMatrix, metric: str) -> float:
        """Return the value of a metric for the first rounds of a model."""
        values = self._compute_values(dmatrix, lambda: model.predict(dmatrix, iteration_range=(0, rounds)), rounds)
        return values[self.logged_metrics.names.index(metric)]

    def _compute_values(
        self, dmatrix: xgb.DMatrix, predict: Callable[[], Any], rounds: int | None = None
    ) -> list[float]:
        """Return the mean of each metric, by default in the next round."""

        def sums() -> Floats:
            bound = self._matrices.get(dmatrix)
            if bound is None or bound.is_outdated(dmatrix):
                columns = find_columns(self.columns, dmatrix, dmatrix.get_label()) if self.columns else None
                if dmatrix.num_row():
                    self.logged_metrics.validate_columns(columns, dmatrix.num_row())
                bound = BoundMatrix(self.logged_metrics, dmatrix, columns)
                self._matrices.set(dmatrix, bound)
            bound.rounds += rounds is None
            return compute_sums(bound.partition, predict(), rounds or bound.rounds, bound.description)

        return compute_worker_means(sums, len(self.logged_metrics.names))


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
    >>> from gainwise.data import simulate
    >>> from gainwise.xgboost import custom_metric, full_precision
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

    def __init__(self, log: CustomMetric) -> None:
        super().__init__()
        if not isinstance(log, CustomMetric):
            raise TypeError(f"log must be the result of gainwise.xgboost.custom_metric, got {type(log).__name__}")
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
        names = self.log.logged_metrics.names
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
