"""The object that CatBoost calls after every round, once for each data set."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import catboost
import numpy as np

from ..training.bound import Panel

if TYPE_CHECKING:
    from .._common.typing import Integers
    from ..evaluation.evaluator import Evaluator
    from ..judgments import NegativeLabels
    from ..metrics.names import MetricLike


def eval_metric(
    metric: MetricLike,
    train: catboost.Pool,
    *eval_sets: catboost.Pool,
    convention: str | None = None,
    negative_labels: NegativeLabels = "refuse",
    n_jobs: int | None = None,
) -> EvalMetric:
    """Return an `eval_metric` for `CatBoostRanker` and `CatBoost`: one metric, evaluated in every round.

    CatBoost hands a metric scores, labels and weights, but does not say which documents are a query. So give it the
    Pools of the training here too; which of them is evaluated is seen from the labels. `early_stopping_rounds`,
    `use_best_model`, `best_iteration_` and `evals_result_` then go by this metric, on the last of the eval sets.

    Where CatBoost shuffles the training data (for categorical features or `boosting_type="Ordered"`) nobody can tell
    whose scores it hands over: for `train`, 0 is logged with a warning. Eval sets are never shuffled.

    Parameters
    ----------
    metric : str or Metric
        See `gainsay.parse_metrics`. CatBoost takes one.
    train : catboost.Pool
        What goes to `fit`, with labels and `group_id`.
    *eval_sets : catboost.Pool
        What goes to `fit` as `eval_set`. The weight of a query is the mean of those of its documents.
    convention, negative_labels, n_jobs
        See `gainsay.lightgbm.feval`.

    Raises
    ------
    TypeError
        For data that are no Pool.
    ValueError
        At once for an unknown metric, a Pool without labels or groups, labels that do not suit the metric, and data
        sets that cannot be told apart. In training, quoted by a `CatBoostError`: for data that were not given here
        (`catboost.cv` makes its own), several scores a document, NaN scores, and a metric that skips every query.

    Examples
    --------
    >>> import catboost
    >>> from gainsay.catboost import eval_metric
    >>> from gainsay.data import simulate
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
    panel = Panel(metric, convention, negative_labels, n_jobs)
    if len(panel.names) != 1:
        raise ValueError(f"CatBoost takes one eval_metric, got {len(panel.names)}: {', '.join(panel.names)}")
    names = ["train", *(f"eval set {number}" for number in range(len(eval_sets)))]
    data = [_read(panel, name, pool) for name, pool in zip(names, (train, *eval_sets), strict=True)]
    for one, other in combinations(data, 2):
        if np.array_equal(one.target, other.target) and not np.array_equal(one.sizes, other.sizes):
            raise ValueError(
                f"{one.name} and {other.name} have the same labels but different queries: CatBoost hands over labels "
                "only, so they cannot be told apart; leave one of them out of the training"
            )
    return _named(panel, data)


@dataclass(eq=False)
class _Bound:
    """A data set: its labels, by which it is known, and the metric bound to its queries and their weights."""

    name: str
    target: np.ndarray[Any, Any]
    sizes: Integers
    evaluator: Evaluator
    weight: Any = None


def _read(panel: Panel, name: str, pool: Any) -> _Bound:
    if not isinstance(pool, catboost.Pool):
        raise TypeError(f"{name} must be a catboost.Pool, got {type(pool).__name__}")
    labels, query = pool.get_label(), pool.get_group_id_hash()
    for values, what, option in ((labels, "labels", "label"), (query, "groups", "group_id")):
        if values is None:
            raise ValueError(f"{name} has no {what}: give its Pool {option}=, as ranking metrics need judged queries")
    ends = np.append(np.flatnonzero(query[1:] != query[:-1]) + 1, len(query))
    target, sizes = np.asarray(labels, dtype=np.float32), np.diff(ends, prepend=0)
    return _Bound(name, target, sizes, panel.bind(target, group=sizes))


def _named(panel: Panel, data: list[_Bound]) -> EvalMetric:
    """Return the metric as of a class of its name, under which CatBoost logs it."""
    named: type[EvalMetric] = type(panel.names[0], (EvalMetric,), {})
    return named(panel, data)


class EvalMetric:
    """A metric as CatBoost takes it; made by `eval_metric`."""

    no_jit = True  # CatBoost has Numba compile the methods of what does not say this, and warns where that fails

    def __init__(self, panel: Panel, data: list[_Bound]) -> None:
        self.panel = panel
        self._data = data

    def __reduce__(self) -> tuple[Any, ...]:
        return _named, (self.panel, self._data)

    def __repr__(self) -> str:
        return f"eval_metric({self.panel.names[0]!r}, {', '.join(bound.name for bound in self._data)})"

    def __deepcopy__(self, memo: Any) -> EvalMetric:
        return self  # CatBoost copies its parameters for every training; the data need not be

    def is_max_optimal(self) -> bool:
        """Return whether higher values are better."""
        return self.panel.metrics[0].higher_is_better

    def evaluate(self, approxes: Any, target: Any, weight: Any) -> tuple[float, float]:
        """Return the mean over the queries of a data set, and 1."""
        if len(approxes) != 1:
            raise ValueError(f"ranking takes one score per document, but this loss_function makes {len(approxes)}")
        bound = next((bound for bound in self._data if np.array_equal(bound.target, target)), None)
        if bound is None:
            return self._unknown(target), 1.0
        if not (bound.weight is weight is None or np.array_equal(bound.weight, weight)):
            known = None if weight is None else np.array(weight)  # a copy: CatBoost's memory ends with training
            bound.evaluator = self.panel.bind(bound.target, group=bound.sizes, weight=known)
            bound.weight = known  # last, for weights that are refused must not be taken for known
        try:
            (mean,) = bound.evaluator(approxes[0]).mean.values()
        except ValueError as error:
            raise ValueError(f"{bound.name}: {error}") from None
        if np.isnan(mean):
            raise ValueError(
                f"{bound.name}: every query is skipped, and CatBoost takes no NaN; give empty=0 or empty=1"
            )
        return mean, 1.0

    def _unknown(self, target: Any) -> float:
        """Return 0 for training data in another order, with a warning; raise for anything else."""
        if not np.array_equal(np.sort(self._data[0].target), np.sort(target)):
            given = ", ".join(f"{bound.name} of {len(bound.target)} documents" for bound in self._data)
            raise ValueError(
                f"CatBoost evaluates {len(target)} documents whose labels are not those of {given}: give eval_metric "
                "all Pools of the training, train first"
            )
        warnings.warn(
            f"CatBoost has shuffled the training data, so {self.panel.names[0]} of train cannot be known and 0 is "
            "logged; has_time=True keeps their order. Eval sets are exact all the same",
            stacklevel=2,
        )
        return 0.0

    def get_final_error(self, error: float, weight: float) -> float:
        """Return the mean that `evaluate` has worked out."""
        return error
