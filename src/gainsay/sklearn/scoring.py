"""A scorer for searches and cross-validations that knows the queries of the rows that it scores."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from sklearn.utils.metadata_routing import MetadataRequest

from ..metrics.base import Metric
from ..training.bound_metrics import BoundMetrics
from .queries import queries_of

if TYPE_CHECKING:
    from ..judgments import NegativeLabels
    from ..metrics.names import MetricLike

WITHOUT_QUERIES = (
    "scoring by {names} needs the query of each row: call sklearn.set_config(enable_metadata_routing=True) and pass "
    "qid= (to fit of a search; in params={{'qid': qid}} of cross_validate), or give X as a frame with a column 'qid'"
)


def scorer(
    metrics: MetricLike | Iterable[MetricLike],
    *,
    convention: str | None = None,
    negative_labels: NegativeLabels = "refuse",
    n_jobs: int | None = None,
) -> Scorer:
    """Return a scorer of scikit-learn, for `scoring=` of searches, cross-validations and learning curves.

    A higher score is better there, so that of a loss (`higher_is_better=False`) is its negative. The scorer asks for
    `qid` by metadata routing; where that is not turned on it looks for a column `qid` in X. Weights go by
    scikit-learn's rule: `scorer(…).set_score_request(sample_weight=True)` has `sample_weight` count here as well.

    Parameters
    ----------
    metrics : str, Metric, or an iterable of them
        See `gainsay.parse_metrics`. One name gives one number. Several, in a list, give a dict: what `cross_validate`
        and the searches take as several metrics, of which they want one as `refit=`. They are worked out of one
        prediction. A loss is called `neg_` and its name there.
    convention : str, optional
        Read metric names as this library does; see `gainsay.parse_metrics`.
    negative_labels : {"refuse", "allow", "zero"}
        See `gainsay.Judgments`.
    n_jobs : int, optional
        Threads at most that evaluate, in each process of the search.

    Returns
    -------
    Scorer
        `scorer(estimator, X, y, qid=…, sample_weight=…)`. Weights are one per row, of which a query gets the mean, or
        by query id in a mapping or Series, which scikit-learn hands on whole.

    Raises
    ------
    ValueError
        At once for unknown metrics; when called, where nobody says which rows are a query, or labels, queries or
        scores are wrong. In a search, `error_score="raise"` has that end it.

    Examples
    --------
    >>> import sklearn
    >>> from sklearn.model_selection import GridSearchCV, GroupKFold
    >>> from gainsay.data import simulate
    >>> from gainsay.sklearn import GroupedLGBMRanker, scorer
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
    return Scorer(BoundMetrics(metrics, convention, negative_labels, n_jobs), several)


class Scorer:
    """A scorer of scikit-learn; made by `scorer`."""

    def __init__(self, bound_metrics: BoundMetrics, several: bool) -> None:
        self.bound_metrics = bound_metrics
        self.several = several
        self._requests: dict[str, bool | str | None] = {"qid": True, "sample_weight": None}

    def set_score_request(self, **requests: bool | str | None) -> Scorer:
        """Say which metadata count here, by `qid=` and `sample_weight=`.

        Parameters
        ----------
        **requests
            True; False to leave it out; the name that it has in the call; None for an error where it is passed.
        """
        unknown = [name for name in requests if name not in self._requests]
        if unknown:
            raise TypeError(f"a scorer of rankings takes qid and sample_weight, not {unknown[0]!r}")
        self._requests.update(requests)
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """Return what scikit-learn is to hand over."""
        request = MetadataRequest(owner=self)
        for name, alias in self._requests.items():
            request.score.add_request(param=name, alias=alias)
        return request

    def _accept_sample_weight(self) -> bool:  # scikit-learn asks scorers where metadata routing is off
        return self._requests["sample_weight"] is True

    def __call__(
        self,
        estimator: Any,
        X: Any,  # noqa: N803
        y_true: Any,
        *,
        qid: Any = None,
        sample_weight: Any = None,
    ) -> float | dict[str, float]:
        """Return the mean over the queries of these rows, of the estimator's predictions: higher is better."""
        queries = queries_of(X, qid)
        if queries is None:
            raise ValueError(WITHOUT_QUERIES.format(names=", ".join(self.bound_metrics.names)))
        evaluator = self.bound_metrics.bind(y_true, qid=queries, weight=sample_weight)
        scores = estimator.predict(evaluator.judgments.in_row_order("X", X))
        means = evaluator(scores).mean.values()
        signed = {
            name if metric.higher_is_better else f"neg_{name}": mean if metric.higher_is_better else -mean
            for name, metric, mean in zip(self.bound_metrics.names, self.bound_metrics.metrics, means, strict=True)
        }
        return signed if self.several else next(iter(signed.values()))

    def __repr__(self) -> str:
        names = list(self.bound_metrics.names) if self.several else self.bound_metrics.names[0]
        return f"scorer({names!r})"
