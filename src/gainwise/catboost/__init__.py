"""A metric that CatBoost evaluates in every round and uses for early stopping.

>>> from gainwise.catboost import eval_metric

``CatBoostRanker(eval_metric=eval_metric("ndcg_exp@10", train, valid), early_stopping_rounds=50)`` stops on the metric
that you name. `train` and `valid` are the Pools of the training.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.validation import prefix_errors
from ..training.logged_metrics import LoggedMetrics, are_equal, find_columns, read_columns

try:
    import catboost
except ImportError as error:  # pragma: no cover - needs an environment without CatBoost
    raise ImportError("gainwise.catboost requires CatBoost. Run: pip install catboost") from error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._common.typing import Integers
    from ..evaluation.evaluator import Evaluator
    from ..judgments import NegativeLabels
    from ..metrics.names import MetricLike
    from ..training.logged_metrics import DatasetColumns

__all__ = ["eval_metric"]


def eval_metric(
    metric: MetricLike,
    train: catboost.Pool,
    *eval_sets: catboost.Pool,
    convention: str | None = None,
    negative_labels: NegativeLabels = "refuse",
    n_jobs: int | None = None,
    columns: DatasetColumns | None = None,
) -> EvalMetric:
    """Create an `eval_metric` for `CatBoostRanker` and `CatBoost`, which evaluates one metric in every round.

    `early_stopping_rounds`, `use_best_model`, `best_iteration_` and `evals_result_` then use this metric, on the last
    of the eval sets.

    Parameters
    ----------
    metric : str or Metric
        The metric, for example ``"ndcg_exp@10"``. See `gainwise.parse_metrics`.
    train : catboost.Pool
        The training data that you pass to `fit`, with labels and `group_id`.
    *eval_sets : catboost.Pool
        The data that you pass to `fit` as `eval_set`. The weight of a query is the mean weight of its documents.
    convention, negative_labels, n_jobs
        Interpretation of the name, treatment of negative labels and number of threads, as in `gainwise.lightgbm.feval`.
    columns : list of pairs (Pool, mapping), optional
        Further labels of each Pool, including `train`, for a metric with ``column=NAME``, as in
        ``[(train, {"revenue": …}), (valid, {"revenue": …})]``, in row order.

    Raises
    ------
    TypeError
        If a dataset is not a Pool.
    ValueError
        If the metric is unknown, a Pool has no labels or groups, labels are not valid for the metric, or datasets
        cannot be distinguished. During training, inside a `CatBoostError`: if the data are not among the Pools
        (`catboost.cv` creates its own), if a document has several scores, if scores are NaN, or if the metric skips
        every query.

    Notes
    -----
    CatBoost passes scores, labels and weights to a metric, but no queries. They are read from the Pools, which are
    recognized by their labels. If CatBoost shuffles the training data (with categorical features or
    ``boosting_type="Ordered"``), the queries of its scores are unknown. It then logs 0 for `train`, with a warning.
    Eval sets are never shuffled.

    Examples
    --------
    >>> import catboost
    >>> from gainwise.catboost import eval_metric
    >>> from gainwise.data import simulate
    >>> train, valid = (
    ...     catboost.Pool(part.features, part.labels, group_id=part.qid)
    ...     for part in simulate(60, seed=1).split_queries(0.5, 0.5, seed=1))
    >>> ranker = catboost.CatBoostRanker(
    ...     iterations=50, eval_metric=eval_metric("ndcg_exp@10", train, valid), early_stopping_rounds=5,
    ...     thread_count=1, verbose=False, allow_writing_files=False)
    >>> curve = ranker.fit(train, eval_set=valid).evals_result_["validation"]["ndcg_exp@10"]
    >>> ranker.best_iteration_ == curve.index(max(curve)), len(curve) == ranker.best_iteration_ + 1 + 5
    (True, True)
    """
    logged_metrics = LoggedMetrics(metric, convention, negative_labels, n_jobs)
    names = logged_metrics.names
    if len(names) != 1:
        raise ValueError(f"CatBoost accepts one eval_metric, got {len(names)}: {', '.join(names)}")
    pools = {"train": train, **{f"eval set {number}": pool for number, pool in enumerate(eval_sets)}}
    pairs = read_columns(columns)
    data = [_read(logged_metrics, name, pool, pairs) for name, pool in pools.items()]
    for first, second in combinations(data, 2):
        same = np.array_equal(first.sizes, second.sizes) and are_equal(first.columns, second.columns)
        if np.array_equal(first.target, second.target) and not same:
            raise ValueError(
                f"{first.name} and {second.name} have the same labels but different queries or columns: CatBoost "
                "passes only labels, so they cannot be distinguished. Remove one of them from the training"
            )
    return _create(logged_metrics, data)


@dataclass(eq=False)
class _Dataset:
    """A dataset: its labels, which identify it, and the metric bound to its queries and weights."""

    name: str
    target: np.ndarray[Any, Any]
    sizes: Integers
    evaluator: Evaluator
    weight: Any = None

    @property
    def columns(self) -> Mapping[str, Any]:
        """The further labels."""
        return self.evaluator.judgments.columns


def _read(logged_metrics: LoggedMetrics, name: str, pool: Any, pairs: list[tuple[Any, Mapping[str, Any]]]) -> _Dataset:
    if not isinstance(pool, catboost.Pool):
        raise TypeError(f"{name} must be a catboost.Pool, got {type(pool).__name__}")
    labels, query = pool.get_label(), pool.get_group_id_hash()
    for values, noun, option in ((labels, "labels", "label"), (query, "groups", "group_id")):
        if values is None:
            raise ValueError(
                f"{name} has no {noun}: pass {option}= to its Pool, because ranking metrics need judged queries"
            )
    ends = np.append(np.flatnonzero(query[1:] != query[:-1]) + 1, len(query))
    target, sizes = np.asarray(labels, dtype=np.float32), np.diff(ends, prepend=0)
    columns = find_columns(pairs, pool, target) or {}
    with prefix_errors(f"{name}: "):
        evaluator = logged_metrics.bind(target, group=sizes, columns=columns)
    return _Dataset(name, target, sizes, evaluator)


def _create(logged_metrics: LoggedMetrics, data: list[_Dataset]) -> EvalMetric:
    """Return the metric as an object of a class with its name, which CatBoost logs."""
    kind: type[EvalMetric] = type(logged_metrics.names[0], (EvalMetric,), {})
    return kind(logged_metrics, data)


class EvalMetric:
    """A metric for CatBoost, created by `eval_metric`."""

    no_jit = True  # otherwise, CatBoost compiles the methods with Numba and warns if that fails

    def __init__(self, logged_metrics: LoggedMetrics, data: list[_Dataset]) -> None:
        self.logged_metrics = logged_metrics
        self._data = data

    def __reduce__(self) -> tuple[Any, ...]:
        return _create, (self.logged_metrics, self._data)

    def __repr__(self) -> str:
        return f"eval_metric({self.logged_metrics.names[0]!r}, {', '.join(dataset.name for dataset in self._data)})"

    def __deepcopy__(self, memo: Any) -> EvalMetric:
        return self  # CatBoost copies its parameters for every training, which would copy the data

    def is_max_optimal(self) -> bool:
        """Return whether higher values are better."""
        return self.logged_metrics.metrics[0].higher_is_better

    def evaluate(self, approxes: Any, target: Any, weight: Any) -> tuple[float, float]:
        """Return the mean over the queries of a dataset, and 1."""
        if len(approxes) != 1:
            raise ValueError(f"ranking needs one score per document, but this loss_function makes {len(approxes)}")
        dataset = next((dataset for dataset in self._data if np.array_equal(dataset.target, target)), None)
        if dataset is None:
            return self._evaluate_unknown(target), 1.0
        if not (dataset.weight is weight is None or np.array_equal(dataset.weight, weight)):
            copied = None if weight is None else np.array(weight)  # CatBoost frees its memory after training
            dataset.evaluator = self.logged_metrics.bind(
                dataset.target, group=dataset.sizes, weight=copied, columns=dataset.columns
            )
            dataset.weight = copied  # last, because invalid weights must not be stored
        with prefix_errors(f"{dataset.name}: "):
            (mean,) = dataset.evaluator.mean(approxes[0]).values()
        if np.isnan(mean):
            raise ValueError(
                f"{dataset.name}: every query is skipped, and CatBoost rejects NaN. Use empty=0 or empty=1"
            )
        return mean, 1.0

    def _evaluate_unknown(self, target: Any) -> float:
        """Return 0 for training data in another order, with a warning, or raise an error for other data."""
        if not np.array_equal(np.sort(self._data[0].target), np.sort(target)):
            datasets = ", ".join(f"{dataset.name} of {len(dataset.target)} documents" for dataset in self._data)
            raise ValueError(
                f"CatBoost evaluates {len(target)} documents whose labels are not those of {datasets}: pass all Pools "
                "of the training to eval_metric, train first"
            )
        warnings.warn(
            f"CatBoost has shuffled the training data, so {self.logged_metrics.names[0]} of train is unknown, and 0 is "
            "logged. Use has_time=True to keep their order. Eval sets are exact in any case",
            stacklevel=2,
        )
        return 0.0

    def get_final_error(self, error: float, weight: float) -> float:
        """Return the mean that `evaluate` has computed."""
        return error
