"""A callback that evaluates datasets after every round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import xgboost as xgb

from .._common.validation import validate_integer
from ..training.bound_metrics import BoundMetrics, create_clash_error
from ..training.partial_sums import Partition
from .common import REMEDY, BoundMatrix, Logger, compute_means, compute_sums, describe_estimators

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .._common.typing import Floats
    from ..judgments import NegativeLabels
    from ..metrics.names import MetricLike
    from ..metrics.safe import Names


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
    datasets : mapping of str to DMatrix, QuantileDMatrix, or tuple (X, y, qid) or (X, y, qid, weight)
        The datasets to evaluate, by their name in the history. Weights are one per query. If y is a pandas Series, X
        and the other arrays are matched by its index.
    metrics : str, Metric or iterable of these
        The metrics to log. See `gainsay.parse_metrics`.
    every : int, default 1
        Evaluate every `every` rounds, starting with the first. Nothing is logged in other rounds.
    missing : float, default NaN
        The value in X for a missing value, as `missing` of `XGBRanker`. A matrix has its own.
    convention, negative_labels, n_jobs, names
        See `custom_metric`.

    Raises
    ------
    ValueError
        If a metric is unknown, a dataset has no groups, or labels are not valid for the metrics. In the first round,
        if a built-in metric has the same name. In any round, if scores are NaN (`checkpoint` then has the model and
        the rounds before).

    Notes
    -----
    Put this callback before callbacks that read its values, because XGBoost calls them in this order. `early_stopping`
    and `Curves` of gainsay work in any order. Before version 3.2, XGBoost calls callbacks in any order, so use
    `custom_metric` with its own early stopping.

    Callbacks with `(X, y, qid)` can be pickled with their data, for searches with several processes and for clusters.
    Use ``ranker.set_params(callbacks=None)`` to pickle a ranker without the data. On a cluster, every worker evaluates
    all arrays, or logs the means over all workers if each passes its own part.

    Examples
    --------
    >>> import xgboost as xgb
    >>> from gainsay.data import simulate
    >>> from gainsay.xgboost import EvaluateRanking, early_stopping
    >>> train, valid = simulate(60, seed=1).split_queries(0.5, 0.5, seed=1)
    >>> ranker = xgb.XGBRanker(n_estimators=5, callbacks=[
    ...     EvaluateRanking({"valid": (valid.features, valid.labels, valid.qid)}, ["ndcg_exp@10", "mrr"]),
    ...     early_stopping("mrr", dataset="valid", rounds=2, verbose=False)])
    >>> ranker = ranker.fit(train.features, train.labels, qid=train.qid, verbose=False)
    >>> list(ranker.evals_result()["valid"])
    ['ndcg_exp@10', 'mrr']
    """

    _name = "EvaluateRanking"

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
        if not isinstance(datasets, Mapping):
            raise TypeError(
                f"datasets must map names to data, for example {{'valid': dvalid}}, got {type(datasets).__name__}"
            )
        if not datasets:
            raise ValueError("datasets is empty: name at least one, for example {'valid': dvalid}")
        self.bound_metrics = BoundMetrics(metrics, convention, negative_labels, n_jobs, names)
        self.every = validate_integer("every", every, unit="rounds")
        self.missing = missing
        self._sources: dict[str, Any] = dict(datasets)
        self._bound = {name: self._bind(name, data) for name, data in datasets.items()}

    def __getstate__(self) -> dict[str, Any]:
        """Return the content of a pickle, which has no matrices. Arrays are bound again when a training starts."""
        sources = {name: None if isinstance(data, xgb.DMatrix) else data for name, data in self._sources.items()}
        return {**self.__dict__, "_sources": sources, "_bound": {}}

    def __copy__(self) -> EvaluateRanking:
        return self  # the data are only read

    def __deepcopy__(self, memo: Any) -> EvaluateRanking:
        return self

    def __repr__(self) -> str:
        return self.bound_metrics.format_call(EvaluateRanking, list(self._sources), every=self.every)

    def _bind(self, name: str, data: Any) -> _Evaluated:
        if not isinstance(name, str):
            raise TypeError(f"the names of datasets must be strings, got {name!r}")
        if "-" in name or any(letter.isspace() for letter in name):
            raise ValueError(
                f"the name {name!r} of a dataset must not contain '-' or a blank, because XGBoost splits names there"
            )
        try:
            if isinstance(data, xgb.DMatrix):
                bound = BoundMatrix(self.bound_metrics, data)
                return _Evaluated(data, bound.partition, bound)
            if isinstance(data, tuple) and len(data) in (3, 4):
                features, labels, qid, *weight = data
                whole = not xgb.collective.is_distributed()
                partition = Partition(
                    self.bound_metrics, labels, qid=qid, weight=weight[0] if weight else None, whole=whole
                )
                if partition.evaluator is not None:
                    features = partition.evaluator.judgments.in_row_order("X", features)
                return _Evaluated(xgb.DMatrix(features, missing=self.missing, enable_categorical=True), partition)
        except ValueError as error:
            raise ValueError(f"dataset {name!r}: {error}") from None
        raise TypeError(
            f"dataset {name!r} must be a DMatrix, a QuantileDMatrix, or (X, y, qid) or (X, y, qid, weight), "
            f"got {type(data).__name__}"
        )

    def before_training(self, model: Any) -> Any:
        """Reject cross-validation, which has separate datasets, and read changed matrices."""
        lost = next((name for name, data in self._sources.items() if data is None), None)
        if lost is not None:
            raise ValueError(
                f"dataset {lost!r} was a matrix, which is not part of the pickle that this EvaluateRanking comes from: "
                f"{describe_estimators(list(self.bound_metrics.names))}. In xgboost.dask.train, use custom_metric, "
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
                self.bound_metrics.names, self._compute_values(model, data_name, epoch + 1), strict=True
            ):
                curve = history.setdefault(name, [])
                if len(curve) != epoch // self.every:
                    raise create_clash_error(name, "XGBoost", REMEDY)
                curve.append(value)

    def compute_value(self, model: Any, rounds: int, data_name: str, metric: str) -> float | None:
        """Return a value of the first rounds of the model, or None if another object logs it."""
        if data_name not in self._bound or metric not in self.bound_metrics.names:
            return None
        values = self._compute_values(model, data_name, rounds, iteration_range=(0, rounds))
        return values[self.bound_metrics.names.index(metric)]

    def _compute_values(self, model: Any, data_name: str, number: int, **cut: Any) -> list[float]:
        """Return the mean of each metric on a dataset. Errors contain the round."""
        data, partition, _ = self._bound[data_name]

        def sums() -> Floats:
            return compute_sums(partition, model.predict(data, **cut), number, f" on {data_name!r}")

        return compute_means(sums, len(self.bound_metrics.names))
