"""A scorer for searches and cross-validations, the queries of the rows, and queries that a split has separated."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils.metadata_routing import MetadataRequest

from ..evaluation.prediction import find_feature_names, predict_scores, select_columns_of, warn_of_remarks
from ..judgments import Judgments
from ..metrics.base import Metric, list_metric_columns
from ..training.logged_metrics import LoggedMetrics, named_call

if TYPE_CHECKING:
    from .._common.typing import Floats, Integers
    from ..judgments import NegativeLabels
    from ..metrics.names import MetricLike

COLUMN = "qid"
"""The column of queries, with the name that XGBoost's ranker uses."""

WITHOUT_QUERIES = (
    "scoring by {names} needs the query of each row: call sklearn.set_config(enable_metadata_routing=True) and pass "
    "qid= (to fit of a search; in params={{'qid': qid}} of cross_validate), or pass X as a frame with a column 'qid'"
)


@named_call('scoring=scorer("ndcg_exp@10")')
def scorer(
    metrics: MetricLike | Iterable[MetricLike],
    *,
    convention: str | None = None,
    negative_labels: NegativeLabels = "refuse",
    n_jobs: int | None = None,
) -> Scorer:
    """Create a scorer for `scoring=` of searches, cross-validations and learning curves of scikit-learn.

    The scorer requests `qid` by metadata routing. Without routing, it uses a column `qid` of X. It uses weights after
    ``scorer(…).set_score_request(sample_weight=True)``, as usual in scikit-learn. Metrics with ``column=NAME`` request
    their columns by name, as in ``search.fit(X, y, qid=qid, revenue=revenue)``.

    Parameters
    ----------
    metrics : str, Metric, or an iterable of them
        The metrics to compute (see `gainwise.parse_metrics`). One name results in one number. A list results in a
        dictionary, the form of several metrics in `cross_validate` and searches (with one of them as `refit=`),
        computed from one prediction.
    convention : str, optional
        Interpret metric names as this library does. See `gainwise.parse_metrics`.
    negative_labels : {"refuse", "allow", "zero"}, default "refuse"
        Labels below 0 raise an error, are kept for metrics with linear gain, or are replaced with 0.
    n_jobs : int, optional
        The largest number of threads that evaluate, in each process of the search.

    Returns
    -------
    Scorer
        ``scorer(estimator, X, y, qid=…, sample_weight=…)``. Weights are one per row, and a query has their mean, or one
        per query id in a mapping or Series.

    Raises
    ------
    ValueError
        If a metric is unknown. In a call, if queries are missing, if labels, queries or scores are invalid, or if the
        split of the data separates a query. Use ``error_score="raise"`` to end a search with the error.

    See Also
    --------
    gainwise.sklearn.GroupedLGBMRanker : A LightGBM ranker that accepts `qid`.
    sklearn.model_selection.GridSearchCV : Search parameters with this scorer.

    Notes
    -----
    Higher scores are better in scikit-learn. The score of a loss (`higher_is_better=False`) is its negative value, and
    its name in a dictionary starts with ``neg_``.

    Without ``cv=GroupKFold(…)``, searches split queries between training and test rows, and scores are too high. The
    scorer raises an error if a scored query was partly in the training rows of `GroupedLGBMRanker`. In searches and
    cross-validations of scikit-learn, it does so for all estimators, such as `XGBRanker`.

    Examples
    --------
    >>> import sklearn
    >>> from sklearn.model_selection import GridSearchCV, GroupKFold
    >>> from gainwise.data import simulate
    >>> from gainwise.sklearn import GroupedLGBMRanker, scorer
    >>> data = simulate(40, seed=1)
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     search = GridSearchCV(
    ...         GroupedLGBMRanker(n_estimators=3, n_jobs=1, verbose=-1), {"num_leaves": [4, 8]},
    ...         scoring=scorer("ndcg_exp@10"), cv=GroupKFold(3).set_split_request(groups="qid"))
    ...     search = search.fit(data.features, data.labels, qid=data.qid)
    >>> list(search.best_params_)
    ['num_leaves']
    """
    several = not isinstance(metrics, str | Metric)
    return Scorer(LoggedMetrics(metrics, convention, negative_labels, n_jobs), several)


class Scorer:
    """A scorer for scikit-learn, created by `scorer`."""

    def __init__(self, logged_metrics: LoggedMetrics, several: bool) -> None:
        self.logged_metrics = logged_metrics
        self.several = several
        columns = list_metric_columns(logged_metrics.metrics)
        self._requests: dict[str, bool | str | None] = {
            "qid": True, "sample_weight": None, **dict.fromkeys(columns, True)
        }  # fmt: skip

    def set_score_request(self, **requests: bool | str | None) -> Scorer:
        """Select the metadata that the scorer uses, by `qid=`, `sample_weight=` and the names of columns.

        Parameters
        ----------
        **requests
            True to use it, False to ignore it, its name in the call, or None to raise an error if it is passed.
        """
        unknown = [name for name in requests if name not in self._requests]
        if unknown:
            raise TypeError(f"a scorer of rankings supports {', '.join(self._requests)}, not {unknown[0]!r}")
        self._requests.update(requests)
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the requested metadata."""
        request = MetadataRequest(owner=self)
        for name, alias in self._requests.items():
            request.score.add_request(param=name, alias=alias)
        return request

    def _accept_sample_weight(self) -> bool:  # used by scikit-learn without metadata routing
        return self._requests["sample_weight"] is True

    def __call__(
        self,
        estimator: Any,
        X: Any,  # noqa: N803
        y_true: Any,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        **columns: Any,
    ) -> float | dict[str, float]:
        """Return the mean over the queries of these rows, of the estimator's predictions: higher is better."""
        queries = get_queries(X, qid)
        if queries is None:
            raise ValueError(WITHOUT_QUERIES.format(names=", ".join(self.logged_metrics.names)))
        evaluator = self.logged_metrics.bind(y_true, qid=queries, weight=sample_weight, columns=columns)
        trained = find_training_queries(estimator)
        if trained is not None:
            validate_split(trained, QuerySummary.create(evaluator.judgments))
        features = evaluator.judgments.align_features(X, y=y_true, qid=queries, sample_weight=sample_weight)
        if COLUMN not in (find_feature_names(estimator) or ()):
            features = drop_queries(features)
        selected = select_columns_of(estimator, features)
        prediction = predict_scores(estimator, selected.features)
        warn_of_remarks(type(estimator).__name__, (*selected.remarks, *prediction.remarks))
        means = evaluator(prediction.scores).mean.values()
        signed = {
            name if metric.higher_is_better else f"neg_{name}": mean if metric.higher_is_better else -mean
            for name, metric, mean in zip(self.logged_metrics.names, self.logged_metrics.metrics, means, strict=True)
        }
        return signed if self.several else next(iter(signed.values()))

    def __repr__(self) -> str:
        names = list(self.logged_metrics.names) if self.several else self.logged_metrics.names[0]
        return f"scorer({names!r})"


def get_column_names(X: Any) -> list[Any]:  # noqa: N803  # the name in scikit-learn
    """Return the names of the columns of a frame, or none for an array."""
    return list(getattr(X, "column_names", getattr(X, "columns", ())))


def drop_queries(X: Any) -> Any:  # noqa: N803
    """Return features without the column of queries."""
    names = get_column_names(X)
    if COLUMN not in names:
        return X
    features = [name for name in names if name != COLUMN]
    return X.select(features) if hasattr(X, "column_names") else X[features]


def get_queries(X: Any, qid: Any) -> Any:  # noqa: N803
    """Return `qid` or the column of X, or None if both are missing. Raise an error if both are given."""
    if COLUMN not in get_column_names(X):
        return qid
    if qid is not None:
        raise ValueError("the queries are given twice, as qid= and as column 'qid' of X: remove one of them")
    return X[COLUMN]


class QuerySummary(NamedTuple):
    """The queries of some rows, with the number and the sum of the labels of each query."""

    ids: np.ndarray[Any, Any]
    sizes: Integers
    sums: Floats

    @classmethod
    def create(cls, judgments: Judgments) -> QuerySummary:
        """Return the summary of the rows of some judgments."""
        labels = judgments.by_query(np.asarray(judgments.labels))
        starts = np.cumsum(judgments.sizes) - judgments.sizes
        return cls(judgments.query_ids, judgments.sizes, np.add.reduceat(labels, starts))


def validate_split(trained: QuerySummary, scored: QuerySummary) -> None:
    """Raise an error if a query is partly in the training rows. Complete queries are valid, for training scores."""
    if trained.ids.dtype.kind != scored.ids.dtype.kind:
        return
    shared, first, second = np.intersect1d(trained.ids, scored.ids, assume_unique=True, return_indices=True)
    differ = (trained.sizes[first] != scored.sizes[second]) | (trained.sums[first] != scored.sums[second])
    if differ.any():
        place = int(np.flatnonzero(differ)[0])
        raise ValueError(
            f"query {shared[place]} is split: {trained.sizes[first[place]]} of its documents were in the training rows "
            f"and {scored.sizes[second[place]]} are scored, so the score is too high ({np.count_nonzero(differ)} such "
            "queries). Use cv=GroupKFold(5), with .set_split_request(groups='qid') if metadata routing is enabled. If "
            "these are different queries, give them different ids"
        )


def find_training_queries(estimator: Any) -> QuerySummary | None:
    """Return the queries of the training rows of an estimator, or None if they are unknown.

    `GroupedLGBMRanker` stores them. For other estimators, such as `XGBRanker`, they are read from the variables of the
    function of scikit-learn that fits and scores them in a search or a cross-validation.
    """
    stored: QuerySummary | None = getattr(estimator, "training_queries_", None)
    frame = sys._getframe(1)
    while stored is None and frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code.co_name == "_fit_and_score" and frame.f_globals.get("__name__", "").startswith("sklearn."):
            variables = frame.f_locals
            rows, labels = variables.get("train"), variables.get("y")
            qid = get_queries(variables.get("X"), (variables.get("score_params") or {}).get("qid"))
            if rows is None or labels is None or qid is None:
                return None
            labels, qid = np.asarray(labels), np.asarray(qid)
            return QuerySummary.create(Judgments(labels[rows], qid=qid[rows], negative_labels="allow"))
    return stored
