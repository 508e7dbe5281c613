"""Functions that evaluate our metrics in every round of a training."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._common.checks import check_whole
from ..training.bound import Panel, WeakIdentityMap, by_size, clash, in_round
from .results import REMEDY, builtin_names, name_of, note_evaluator

if TYPE_CHECKING:
    from collections.abc import Iterable

    import lightgbm as lgb

    from ..evaluation.evaluator import Evaluator
    from ..judgments import NegativeLabels
    from ..metrics.names import MetricLike
    from ..metrics.safe import Names

EvalTuple = tuple[str, float, bool]


def feval(
    metrics: MetricLike | Iterable[MetricLike],
    *,
    every: int = 1,
    convention: str | None = None,
    negative_labels: NegativeLabels = "refuse",
    n_jobs: int | None = None,
    names: Names = "plain",
) -> Feval:
    """Return a `feval` for `lightgbm.train` and `lightgbm.cv` that logs metrics on the grouped validation data.

    Labels, groups and weights come from each `Dataset`; everything that depends on them alone is worked out in the
    first round. Queries must be whole: `lightgbm.cv` splits them without a word where `folds` does, or where the
    objective is a function of your own; that is refused here.

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
        Threads at most, by default the CPUs that the process may use; fewer where that turns out to be quicker.
    names : {"plain", "safe"}
        Under which names metrics are logged: as they print themselves, `ndcg_exp@10`, or in letters, digits and
        underscores only, `ndcg_exp_at_10`, as trackers want them (`gainsay.metrics.safe_name`). Early stopping knows a
        metric by either.

    Raises
    ------
    ValueError
        At once for unknown metrics; in the first round for a Dataset without groups, one that holds only some documents
        of a query of the Dataset that it was cut out of, labels that do not suit the metrics, or a name that a built-in
        metric has too; in any round for NaN scores (`checkpoint` then has the model and the rounds before).

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
    return Feval(Panel(metrics, convention, negative_labels, n_jobs, names), every)


def eval_metric(
    metrics: MetricLike | Iterable[MetricLike],
    *,
    every: int = 1,
    convention: str | None = None,
    negative_labels: NegativeLabels = "refuse",
    n_jobs: int | None = None,
    names: Names = "plain",
) -> EvalMetric:
    """Return an `eval_metric` for `LGBMRanker.fit`; parameters as for `feval`.

    Unlike `feval` it does not see which metrics LightGBM logs itself: one of the same name shares the history of ours,
    unless our `early_stopping` is there to refuse it. `metric="None"` turns them all off.

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
    return EvalMetric(Panel(metrics, convention, negative_labels, n_jobs, names), every)


class _Bound(NamedTuple):
    """A data set's evaluator, and by what to know whether it is still the same data set.

    `rounds` counts by prediction buffer: LightGBM has one for each training and entry of `valid_sets`.
    """

    evaluator: Evaluator
    group: Any
    weight: Any
    rounds: WeakIdentityMap[int]


class _Adapter:
    """What the two forms of evaluation function share."""

    def __init__(self, panel: Panel, every: int) -> None:
        self.panel = panel
        self.every = check_whole("every", every, unit="rounds")
        self._bound: WeakIdentityMap[_Bound] = WeakIdentityMap()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.panel, self.every)

    def _evaluate(
        self, scores: Any, labels: Any, group: Any, weight: Any, dataset: lgb.Dataset | None = None
    ) -> list[EvalTuple]:
        bound = self._bound.get(labels)
        if bound is None or bound.group is not group or bound.weight is not weight:
            bound = self._bind(labels, group, weight, dataset)
        before = bound.rounds.get(scores) or 0
        bound.rounds.set(scores, before + 1)
        if not before:
            note_evaluator(labels, bound.evaluator, self.panel.names)
        if before % self.every:
            return []
        where = f" on {name_of(labels) or by_size(bound.evaluator.judgments)}"
        with in_round(before + 1, where):
            means = bound.evaluator(scores).mean.values()
        named = zip(self.panel.names, means, self.panel.metrics, strict=True)
        return [(name, mean, metric.higher_is_better) for name, mean, metric in named]

    def _bind(self, labels: Any, group: Any, weight: Any, dataset: lgb.Dataset | None) -> _Bound:
        if group is None:
            raise ValueError(
                "the data set has no groups: give it group= (documents per query), as ranking metrics need queries"
            )
        if dataset is not None:
            _check_whole_queries(dataset)
            for name in set(self.panel.names) & builtin_names(dataset.params or {}):
                raise clash(name, "LightGBM", REMEDY)
        bound = _Bound(self.panel.bind(labels, group=group, weight=weight), group, weight, WeakIdentityMap())
        self._bound.set(labels, bound)
        return bound


class Feval(_Adapter):
    """An evaluation function as `lightgbm.train` and `lightgbm.cv` take it; made by `feval`."""

    def __repr__(self) -> str:
        return self.panel.call(feval, every=self.every)

    def __call__(self, preds: Any, eval_data: lgb.Dataset) -> list[EvalTuple]:
        """Return (name, value, higher is better) of each metric, or nothing in rounds that are left out."""
        if not hasattr(eval_data, "get_label"):
            raise TypeError("feval is for lightgbm.train and lightgbm.cv; give LGBMRanker.fit eval_metric(…)")
        return self._evaluate(preds, eval_data.get_label(), eval_data.get_group(), eval_data.get_weight(), eval_data)


class EvalMetric(_Adapter):
    """An evaluation function as LightGBM's scikit-learn estimators take it; made by `eval_metric`."""

    def __repr__(self) -> str:
        return self.panel.call(eval_metric, every=self.every)

    def __call__(self, y_true: Any, y_pred: Any, weight: Any = None, group: Any = None) -> list[EvalTuple]:
        """Return (name, value, higher is better) of each metric, or nothing in rounds that are left out."""
        if hasattr(y_pred, "get_label"):
            raise TypeError("eval_metric is for LGBMRanker.fit; give lightgbm.train and lightgbm.cv feval=feval(…)")
        return self._evaluate(y_pred, y_true, group, weight)


def _check_whole_queries(dataset: lgb.Dataset) -> None:
    """Raise where rows were taken out of another data set such that one holds only some documents of a query.

    LightGBM makes a query of what is left of each: a metric then ranks fewer documents, which is easier.
    """
    rows, parent = dataset.used_indices, dataset.reference
    group = None if rows is None or parent is None else parent.get_group()
    if group is None:
        return
    sizes = np.asarray(group, dtype=np.int64)
    held = np.bincount(np.repeat(np.arange(len(sizes)), sizes)[rows], minlength=len(sizes))
    split = np.flatnonzero((held > 0) & (held != sizes))
    if len(split):
        first = split[0]
        raise ValueError(
            f"folds split queries: {len(split)} of the {np.count_nonzero(held)} queries of this one are not whole, the "
            f"first is query {first}, of which it holds {held[first]} of {sizes[first]} documents. Give lightgbm.cv "
            "folds=sklearn.model_selection.GroupKFold(5), to which it hands the queries as groups; it keeps queries "
            "whole by itself only where params['objective'] is the name of a ranking objective"
        )
