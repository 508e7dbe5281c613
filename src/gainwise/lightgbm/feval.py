"""Functions that evaluate metrics in every round of a training with LightGBM, and the datasets of the training."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._common.text import agree, pluralize
from .._common.validation import validate_integer
from ..judgments import Judgments
from ..training.logged_metrics import (
    LoggedMetrics,
    WeakIdentityMap,
    create_clash_error,
    describe_size,
    find_columns,
    in_round,
    named_call,
    read_columns,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import lightgbm as lgb

    from ..evaluation.evaluator import Evaluator
    from ..judgments import NegativeLabels
    from ..metrics.names import MetricLike, Names
    from ..training.logged_metrics import DatasetColumns

EvalTuple = tuple[str, float, bool]
REMEDY = "Remove it from params['metric'] (metric='None' disables the built-in metrics)"

_evaluators: WeakIdentityMap[list[tuple[weakref.ref[Evaluator], tuple[str, ...]]]] = WeakIdentityMap()
"""The evaluators of a dataset by its labels, each with the names of its metrics in the log."""


@named_call('feval=feval("ndcg_exp@10")')
def feval(
    metrics: MetricLike | Iterable[MetricLike],
    *,
    every: int = 1,
    convention: str | None = None,
    negative_labels: NegativeLabels = "refuse",
    n_jobs: int | None = None,
    names: Names = "plain",
    columns: DatasetColumns | None = None,
) -> Feval:
    """Create an evaluation function for `lightgbm.train` and `lightgbm.cv`.

    The returned function computes ranking metrics on every validation dataset after each boosting round. It reads
    labels, groups and weights from the `lightgbm.Dataset` and caches everything that depends only on them. Use it to
    log metrics that LightGBM does not compute, such as both NDCGs in one training.

    Parameters
    ----------
    metrics : str, Metric or iterable of these
        The metrics to log, for example ``["ndcg_linear@10", "mrr"]``. See `gainwise.parse_metrics`.
    every : int, default 1
        Evaluate every `every` rounds, starting with the first. Nothing is logged in other rounds.
    convention : str, optional
        Interpret metric names as this library does, for example ``"sklearn"``. See `gainwise.parse_metrics`.
    negative_labels : {"refuse", "allow", "zero"}, default "refuse"
        Labels below 0 raise an error, are kept for metrics with linear gain, or are replaced with 0.
    n_jobs : int, optional
        Maximum number of threads. Defaults to the CPUs available to the process, or fewer if that is faster.
    names : {"plain", "safe"}, default "plain"
        The form of names in the log: ``ndcg_exp@10``, or ``ndcg_exp_at_10`` for experiment trackers that accept only
        letters, digits and underscores (`gainwise.metrics.safe_name`). Early stopping accepts both.
    columns : mapping of Dataset to mapping, or list of pairs, optional
        Further labels of each dataset for metrics with ``column=NAME``, as in ``{valid_set: {"revenue": revenue}}``.
        Values are in row order. In `lightgbm.cv`, pass those of the full dataset. For arrays, as in `LGBMRanker`, pass
        pairs with the labels of the dataset, ``[(y_valid, {"revenue": revenue})]``.

    Returns
    -------
    Feval
        A callable to pass as ``feval=``.

    Raises
    ------
    ValueError
        If a metric is unknown. In the first round, if a dataset has no groups or only a part of the documents of a
        query, if labels are not valid for the metrics, or if a built-in metric has the same name. In any round, if
        scores are NaN.

    See Also
    --------
    gainwise.lightgbm.early_stopping : Stop on one of the logged metrics.
    gainwise.lightgbm.Curves : Draw the logged metrics during training.
    gainwise.lightgbm.eval_metric : The same for `LGBMRanker.fit`.

    Notes
    -----
    `lightgbm.cv` splits queries without a warning if `folds` does, or if the objective is a custom function. The
    returned function rejects such folds, because a part of a query is usually easier to rank.

    Examples
    --------
    >>> import lightgbm as lgb
    >>> from gainwise.data import simulate
    >>> from gainwise.lightgbm import feval
    >>> data = simulate(30, seed=1)
    >>> train = lgb.Dataset(data.features, data.labels, group=data.group)
    >>> curves = {}
    >>> booster = lgb.train(
    ...     {"objective": "lambdarank", "metric": "None", "verbose": -1}, train, num_boost_round=3, valid_sets=[train],
    ...     feval=feval(["ndcg_linear@10", "ndcg_exp@10"]), callbacks=[lgb.record_evaluation(curves)])
    >>> list(curves["training"]), len(curves["training"]["ndcg_exp@10"])
    (['ndcg_linear@10', 'ndcg_exp@10'], 3)
    """
    return Feval(LoggedMetrics(metrics, convention, negative_labels, n_jobs, names), every, columns)


@named_call('eval_metric=eval_metric("ndcg_exp@10")')
def eval_metric(metrics: MetricLike | Iterable[MetricLike], *, every: int = 1, **options: Any) -> Feval:
    """Create an `eval_metric` for `LGBMRanker.fit`, with the parameters of `feval`.

    Both functions return the same object, which works in both places.

    If LightGBM logs a metric under the same name, both share one history. Use ``metric="None"`` to disable the
    built-in metrics. `early_stopping` detects equal names and raises an error.

    See Also
    --------
    gainwise.lightgbm.feval : The parameters, and the errors.
    gainwise.sklearn.GroupedLGBMRanker : A ranker for searches and pipelines of scikit-learn.

    Examples
    --------
    >>> import lightgbm as lgb
    >>> from gainwise.data import simulate
    >>> from gainwise.lightgbm import eval_metric
    >>> train, valid = simulate(60, seed=1).split_queries(0.5, 0.5, seed=1)
    >>> ranker = lgb.LGBMRanker(n_estimators=3, metric="None", verbose=-1).fit(
    ...     train.features, train.labels, group=train.group, eval_X=valid.features, eval_y=valid.labels,
    ...     eval_group=[valid.group], eval_metric=eval_metric(["ndcg_linear@10", "mrr"]))
    >>> list(ranker.evals_result_["valid_0"])
    ['ndcg_linear@10', 'mrr']
    """
    return feval(metrics, every=every, **options)


class _Dataset(NamedTuple):
    """The evaluator of a dataset, with the arrays that identify it.

    `rounds` counts by prediction buffer, because LightGBM has one for each training and entry of `valid_sets`.
    """

    evaluator: Evaluator
    group: Any
    weight: Any
    rounds: WeakIdentityMap[int]


class Feval:
    """An evaluation function for all trainings of LightGBM, created by `feval` and `eval_metric`."""

    def __init__(self, logged_metrics: LoggedMetrics, every: int, columns: DatasetColumns | None = None) -> None:
        self.logged_metrics = logged_metrics
        self.columns = read_columns(columns)
        self.every = validate_integer("every", every, unit="rounds")
        self._datasets: WeakIdentityMap[_Dataset] = WeakIdentityMap()

    def __repr__(self) -> str:
        return self.logged_metrics.format_call(feval, every=self.every)

    def with_columns(self, columns: DatasetColumns) -> Feval:
        """Return this function with the columns of further datasets."""
        return Feval(self.logged_metrics, self.every, [*self.columns, *read_columns(columns)])

    # LightGBM's estimators count the parameters to select the arguments.
    def __call__(self, first: Any, second: Any = None, weight: Any = None, group: Any = None) -> list[EvalTuple]:
        """Return (name, value, higher is better) of each metric, or nothing in other rounds.

        `lightgbm.train` passes scores and a Dataset. The estimators pass labels, scores, weights and groups.
        """
        if hasattr(second, "get_label"):
            return self._evaluate(first, second.get_label(), second.get_group(), second.get_weight(), second)
        return self._evaluate(second, first, group, weight)

    def _evaluate(
        self, scores: Any, labels: Any, group: Any, weight: Any, dataset: lgb.Dataset | None = None
    ) -> list[EvalTuple]:
        data = self._datasets.get(labels)
        if data is None or data.group is not group or data.weight is not weight:
            data = self._bind(labels, group, weight, dataset)
        rounds = data.rounds.get(scores) or 0
        data.rounds.set(scores, rounds + 1)
        if not rounds:
            register_evaluator(labels, data.evaluator, self.logged_metrics.names)
        if rounds % self.every:
            return []
        with in_round(rounds + 1, f" on {describe_size(data.evaluator.judgments)}"):
            means = data.evaluator.mean(scores).values()
        metrics = zip(self.logged_metrics.names, means, self.logged_metrics.metrics, strict=True)
        return [(name, mean, metric.higher_is_better) for name, mean, metric in metrics]

    def _bind(self, labels: Any, group: Any, weight: Any, dataset: lgb.Dataset | None) -> _Dataset:
        if group is None:
            raise ValueError(
                "Ranking metrics require query groups, but the dataset has no groups. "
                "Pass group= (documents per query)."
                + ("" if dataset is not None else " In XGBRanker, use `from gainwise.xgboost import EvaluateRanking`.")
            )
        if dataset is not None:
            _validate_queries(dataset)
            for name in set(self.logged_metrics.names) & list_builtin_names(dataset.params or {}):
                raise create_clash_error(name, "LightGBM", REMEDY)
        columns = self._find_columns(dataset, labels)
        self.logged_metrics.validate_columns(columns, len(labels))
        evaluator = self.logged_metrics.bind(labels, group=group, weight=weight, columns=columns)
        data = _Dataset(evaluator, group, weight, WeakIdentityMap())
        self._datasets.set(labels, data)
        return data

    def _find_columns(self, dataset: lgb.Dataset | None, labels: Any) -> Mapping[str, Any] | None:
        """Return the columns of a dataset, or the rows of a subset from those of the full dataset."""
        columns = find_columns(self.columns, dataset, labels)
        rows, parent = (None, None) if dataset is None else (dataset.used_indices, dataset.reference)
        if columns is not None or rows is None or parent is None:
            return columns
        full = find_columns(self.columns, parent, parent.get_label())
        judgments = Judgments(
            np.zeros(parent.num_data()), group=[parent.num_data()], columns=full, negative_labels="allow"
        )
        return {name: values[rows] for name, values in judgments.columns.items()}


def _validate_queries(dataset: lgb.Dataset) -> None:
    """Raise an error if a dataset is a subset of another one with only a part of the documents of a query.

    LightGBM makes a query of each part, so a metric ranks fewer documents, which is easier.
    """
    rows, parent = dataset.used_indices, dataset.reference
    group = None if rows is None or parent is None else parent.get_group()
    if group is None:
        return
    sizes = np.asarray(group, dtype=np.int64)
    used = np.bincount(np.repeat(np.arange(len(sizes)), sizes)[rows], minlength=len(sizes))
    split = np.flatnonzero((used > 0) & (used != sizes))
    if len(split):
        first = split[0]
        size = (
            f"{len(split):,} of {pluralize(int(np.count_nonzero(used)), 'query')} {agree(len(split), 'are')} incomplete"
        )
        raise ValueError(
            f"folds split queries: {size}, the first is query {first} with {used[first]} of {sizes[first]} documents. "
            "Pass folds=sklearn.model_selection.GroupKFold(5) to lightgbm.cv. It keeps queries together without folds "
            "only if params['objective'] is the name of a ranking objective"
        )


def register_evaluator(labels: Any, evaluator: Evaluator, names: tuple[str, ...]) -> None:
    """Register the evaluator of the dataset with these labels, for the names in the log."""
    others = [entry for entry in _evaluators.get(labels) or [] if entry[0]() not in (None, evaluator)]
    _evaluators.set(labels, [*others, (weakref.ref(evaluator), names)])


def compute_initial_values(booster: lgb.Booster) -> dict[tuple[str, str], float]:
    """Return the values of the continued model by dataset and metric, for registered evaluators.

    LightGBM passes the scores of the continued model to each dataset as initial scores.
    """
    dataset_names = [booster._train_data_name, *booster.name_valid_sets]
    values: dict[tuple[str, str], float] = {}
    for dataset_name, dataset in zip(dataset_names, [booster.train_set, *booster.valid_sets], strict=True):
        if dataset is None:
            continue
        scores: Any = dataset.get_init_score()
        for reference, names in _evaluators.get(dataset.get_label()) or []:
            evaluator = reference()
            if scores is not None and evaluator is not None:
                means = evaluator.mean(scores).values()
                values |= {(dataset_name, name): mean for name, mean in zip(names, means, strict=True)}
    return values


def list_builtin_names(params: dict[str, Any]) -> set[str]:
    """Return the names of LightGBM's metrics in the log, if metrics of gainwise can have them."""
    params = {name: value for name, value in params.items() if value is not None}  # LightGBM ignores None
    metrics = next((params[alias] for alias in ("metric", "metrics", "metric_types") if alias in params), "")
    names = {str(name).strip().lower() for name in _split(metrics)} - {"custom"}  # a custom metric may have this name
    if not names & {"map", "mean_average_precision"}:
        return names
    aliases = ("eval_at", "ndcg_eval_at", "ndcg_at", "map_eval_at", "map_at")
    cutoffs = next((params[alias] for alias in aliases if alias in params), (1, 2, 3, 4, 5))
    return names | {f"map@{int(k)}" for k in _split(cutoffs)}


def _split(values: Any) -> Iterable[Any]:
    """Return the values of a parameter of LightGBM."""
    if isinstance(values, str):
        return values.split(",")
    return values if isinstance(values, Iterable) else [values]
