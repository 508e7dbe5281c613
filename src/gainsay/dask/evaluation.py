"""Metrics over the partitions of Dask collections."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import dask.array as da
import numpy as np
import pandas as pd

from .._common.cached import cached_property
from .._common.words import pluralize
from ..training.bound_metrics import BoundMetrics
from ..training.partial_sums import compute_ratios
from .cluster import Cluster, Totals, evaluate_partition

if TYPE_CHECKING:
    from collections.abc import Iterable

    import dask.dataframe

    from .._common.typing import Floats, Partitions
    from ..judgments import NegativeLabels
    from ..metrics.base import Metric
    from ..metrics.names import MetricLike


@dataclass(frozen=True, eq=False)
class ClusterEvaluation:
    """Values of metrics on a cluster. The means are local, and the values by query stay on the cluster.

    Attributes
    ----------
    metrics : tuple of Metric
        The metrics.
    """

    metrics: tuple[Metric, ...]
    _totals: Totals = field(repr=False)
    _cluster: Cluster = field(repr=False)

    @cached_property
    def sums(self) -> dict[str, tuple[float, float]]:
        """The sums of w * v and of w over queries by metric name, exact and rounded once."""
        return dict(zip(map(str, self.metrics), map(tuple, self._totals.sums[0].tolist()), strict=True))

    @cached_property
    def mean(self) -> dict[str, float]:
        """The weighted mean over queries, sum(w * v) / sum(w), by metric name. NaN if every query is skipped."""
        return dict(zip(map(str, self.metrics), compute_ratios(self._totals.sums[0]).tolist(), strict=True))

    @property
    def queries(self) -> int:
        """Number of queries."""
        return int(self._totals.queries.sum())

    @property
    def documents(self) -> int:
        """Number of documents."""
        return self._totals.documents

    @property
    def per_query(self) -> da.Array:
        """The values by query, a Dask array of shape (queries, metrics), one chunk per partition.

        Nothing is computed until you call `compute`. Partitions are then evaluated again, and the values stay on the
        workers.
        """
        counts = self._totals.queries.tolist()
        chunks = [
            da.from_delayed(values, shape=(queries, len(self.metrics)), dtype=np.float64)
            for values, queries in zip(self._cluster.map(_values), counts, strict=True)
        ]
        values: da.Array = da.concatenate(chunks, axis=0)
        return values

    def frame(self) -> dask.dataframe.DataFrame:
        """Return the values by query as a Dask DataFrame: one row per query, one column per metric.

        The index is the id of the query, or its number over all partitions if you passed `group`.
        """
        import dask.dataframe as dd

        names = [str(metric) for metric in self.metrics]
        numbered = "qid" not in self._cluster.partitions[0]
        firsts = (np.cumsum(self._totals.queries) - self._totals.queries).tolist() if numbered else None
        index = pd.Index(self._totals.first_id, name="query")[:0]
        meta = pd.DataFrame(index=index, columns=names, dtype=np.float64)
        frames = self._cluster.map(partial(_frame, meta), first=firsts or [None] * len(self._cluster.partitions))
        frame: dask.dataframe.DataFrame = dd.from_delayed(frames, meta=meta)
        return frame

    def __repr__(self) -> str:
        width = max(len(name) for name in self.mean)
        lines = "\n".join(f"  {name:<{width}}  {value:.6f}" for name, value in self.mean.items())
        size = f"{pluralize(self.queries, 'query')} in {pluralize(len(self._totals.queries), 'partition')}"
        return f"Evaluation of {size}\n{lines}"


def evaluate(
    metrics: MetricLike | Iterable[MetricLike],
    labels: Partitions,
    scores: Partitions,
    *,
    group: Partitions | None = None,
    qid: Partitions | None = None,
    weight: Partitions | None = None,
    convention: str | None = None,
    negative_labels: NegativeLabels = "refuse",
) -> ClusterEvaluation:
    """Evaluate one score per document over partitions, with the current scheduler or client.

    Each partition is evaluated on its worker, in one task and one thread. It returns the exact sums of w * v and of w,
    so the means do not depend on the partitions. They equal those of `gainsay.evaluate` except for rounding.

    Parameters
    ----------
    metrics : str, Metric, or an iterable of them
        See `gainsay.parse_metrics`.
    labels, scores : dask array or Series, or list of Delayed or Future with one entry per partition
        Labels and scores of documents, with the same partitions. Partitions may have any size, and may be empty. See
        `gainsay.Judgments` and `gainsay.evaluate`.
    group : the same, optional
        Documents per query, for each partition, as in LightGBM's Dask estimators.
    qid : the same, optional
        The query of each document. All documents of a query must be in one partition. Pass either `group` or `qid`.
    weight : the same, optional
        Weights of queries, or of documents as in LightGBM, with the same partitions.
    convention : str, optional
        Read metric names as this library does. See `gainsay.parse_metrics`.
    negative_labels : {"refuse", "allow", "zero"}
        See `gainsay.Judgments`.

    Returns
    -------
    ClusterEvaluation
        `.mean` and `.sums` (dicts, here), `.per_query` (a Dask array) and `.frame()` (a Dask DataFrame).

    Raises
    ------
    TypeError
        If data are in memory. Use `gainsay.evaluate` for them.
    ValueError
        As in `gainsay.evaluate` and `gainsay.Judgments`, with the number of the partition. If numbers of partitions
        differ, or if a query is in several partitions.

    Notes
    -----
    With `qid`, one worker receives all query ids to detect split queries. If a worker fails, another worker
    repeats its tasks with the same result, if Dask can create the partition again.

    Examples
    --------
    >>> import dask.array as da
    >>> from gainsay.data import simulate
    >>> from gainsay.dask import evaluate
    >>> data = simulate(4, seed=1, mean_length=20)
    >>> ends = data.group.cumsum().tolist()
    >>> rows = ((ends[1], 0, ends[3] - ends[1]),)  # three partitions, one of them empty
    >>> labels = da.from_array(data.labels, chunks=rows)
    >>> scores = da.from_array(data.features[:, 0], chunks=rows)
    >>> result = evaluate(["ndcg_exp@10", "mrr"], labels, scores, qid=da.from_array(data.qid, chunks=rows))
    >>> {name: round(value, 3) for name, value in result.mean.items()}
    {'ndcg_exp@10': 0.377, 'mrr': 0.572}
    >>> result.per_query
    dask.array<concatenate, shape=(4, 2), dtype=float64, chunksize=(2, 2), chunktype=numpy.ndarray>
    >>> result.frame().compute().round(3)
           ndcg_exp@10    mrr
    query
    0            0.470  1.000
    1            0.000  0.038
    2            0.674  1.000
    3            0.364  0.250
    """
    bound_metrics = BoundMetrics(metrics, convention, negative_labels, n_jobs=1)
    cluster = Cluster.from_collections(bound_metrics, labels=labels, scores=scores, weight=weight, group=group, qid=qid)
    return ClusterEvaluation(bound_metrics.metrics, cluster.compute_totals(), cluster)


def _values(bound_metrics: BoundMetrics, number: int, **data: Any) -> Floats:
    """Return the values by query of a partition, shape (queries, metrics)."""
    evaluation = evaluate_partition(bound_metrics, number, **data)
    return np.zeros((0, len(bound_metrics.metrics))) if evaluation is None else evaluation.per_query


def _frame(
    empty: pd.DataFrame, bound_metrics: BoundMetrics, number: int, first: int | None, **data: Any
) -> pd.DataFrame:
    """Return the values by query of a partition as a DataFrame, numbered from `first` without ids."""
    evaluation = evaluate_partition(bound_metrics, number, **data)
    if evaluation is None:
        return empty
    frame = evaluation.frame()
    if first is not None:
        frame.index += first
    return frame
