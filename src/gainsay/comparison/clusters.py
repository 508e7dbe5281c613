"""Clusters of queries: near duplicates, sessions, one user's queries. Not the queries are independent, but they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.arrays import objects
from .labelling import by_query

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._common.typing import Floats, Integers, OfQueries
    from ..judgments import Judgments

__all__ = ["cluster_sums", "clusters_of", "read_clusters"]


def read_clusters(clusters: Any, queries: int, ids: Sequence[Any] | None = None) -> Integers:
    """Return the cluster of each query as a number from 0, from one label per query.

    Labels are numbers, strings, or whatever else has an equality, told apart by type too: 1 and "1" are two clusters.
    A missing one (None, NaN, NaT) is refused; messages call queries by their `ids`, else by their places, from 0.

    >>> read_clusters(["s2", "s1", "s2"], 3)
    array([0, 1, 0])
    """
    if isinstance(clusters, str) or not hasattr(clusters, "__len__"):
        raise TypeError(f"clusters must hold one label per query: got {clusters!r}")
    labels = clusters.to_numpy() if hasattr(clusters, "to_numpy") else np.asanyarray(clusters)  # masks stay
    if labels.ndim and not hasattr(clusters, "dtype"):
        labels = objects(clusters)  # in which no two become one, as numbers among strings or large integers would
    if labels.ndim != 1:
        raise ValueError(f"clusters must be one label per query, shape ({queries},): got shape {labels.shape}")
    if len(labels) != queries:
        raise ValueError(f"clusters has {len(labels)} labels, but there are {queries} queries: one label per query")
    numbers: dict[Any, int] = {}
    codes = np.empty(queries, dtype=np.int64)
    for place, given in enumerate(labels.tolist()):
        label = given.item() if isinstance(given, np.generic) else given
        if label is None or type(label).__name__ == "NAType" or label != label:
            query = f"query {place} (counted from 0)" if ids is None else f"query {ids[place]!r}"
            raise ValueError(f"clusters has no label for {query}: give a query that stands alone a label of its own")
        try:
            codes[place] = numbers.setdefault((type(label), label), len(numbers))
        except TypeError:
            raise ValueError(f"clusters must be one label per query: got {label!r} at place {place}") from None
    return codes


def clusters_of(clusters: OfQueries, judgments: Judgments) -> Integers:
    """Return the cluster of each query of judgments as a number, matched by query id where labels carry one."""
    if isinstance(clusters, str):
        raise TypeError(f"clusters must hold one label per query: got {clusters!r}")
    ids = judgments.query_ids.tolist()
    return read_clusters(by_query("clusters", clusters, judgments), len(ids), ids)


def cluster_sums(rows: Floats, codes: Integers) -> Floats:
    """Sum what stands in each row, one number a query, within each cluster.

    >>> cluster_sums(np.array([[1.0, 2.0, 4.0]]), np.array([0, 1, 0]))
    array([[5., 2.]])
    """
    return np.stack([np.bincount(codes, row) for row in rows])
