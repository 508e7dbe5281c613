"""Clusters and segments: labels of the test queries of an experiment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .._common.arrays import index_of, only_counts
from ..comparison.labels import read_by_query, read_clusters, validate_labels
from ..judgments import Judgments


def align_clusters(clusters: Any, ids: Sequence[str]) -> tuple[str, ...]:
    """Return the cluster of each test query, from labels by query id or in the order of the ids.

    Examples
    --------
    >>> align_clusters({"b": 7, "a": 7, "c": 8}, ["a", "b"])
    ('7', '7')
    """
    judgments = _create_judgments(ids)
    labels = read_by_query("clusters", _use_text_ids(clusters), judgments)
    read_clusters(labels, len(labels), judgments)  # Raises if a label is missing.
    return _expand(map(str, labels), ids, judgments)


def align_segments(segments: Any, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the labels of the test queries by column. See `gainsay.compare`."""
    judgments = _create_judgments(ids)
    columns = validate_labels(_use_text_ids(segments), judgments.query_ids, judgments)
    return {name: _expand(labels.tolist(), ids, judgments) for name, labels in columns.items()}


def _create_judgments(ids: Sequence[str]) -> Judgments:
    """Return one document for each query, because several folds may have a query of the same id."""
    distinct = list(dict.fromkeys(ids))
    return Judgments(np.zeros(len(distinct)), qid=distinct)


def _expand(labels: Iterable[str], ids: Sequence[str], judgments: Judgments) -> tuple[str, ...]:
    by_id = dict(zip(judgments.query_ids.tolist(), labels, strict=True))
    return tuple(by_id[name] for name in ids)


def _use_text_ids(labels: Any) -> Any:
    """Return labels with text as ids, because `RankingData` stores ids as text."""
    if isinstance(labels, Mapping):
        return {str(key): _use_text_ids(value) for key, value in labels.items()}
    index = index_of(labels)
    return labels if index is None or only_counts(index) else labels.set_axis(index.map(str))
