"""Clusters and segments: labels of the test queries, from arguments and CSV files."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.alignment import index_of, only_counts
from .._common.words import count
from ..comparison.labels import read_by_query, read_clusters, validate_labels
from ..data.text import one_line
from ..judgments import Judgments

if TYPE_CHECKING:
    import os


def read_cluster_file(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read the cluster of each query from a CSV file with two columns: query ids and labels."""
    columns = read_segment_file(path)
    if len(columns) != 1:
        raise ValueError(f"{path} must have one column next to the query ids, got {', '.join(columns)}")
    return next(iter(columns.values()))


def read_segment_file(path: str | os.PathLike[str]) -> dict[str, dict[str, str]]:
    """Read the label of each query by column from a CSV file whose first column contains query ids."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            header, *rows = [[cell.strip() for cell in row] for row in csv.reader(file) if row]
    except (ValueError, csv.Error) as error:
        raise ValueError(f"{path}: not CSV with a line of names: {one_line(error)}") from None
    if len(header) < 2 or len(set(header)) < len(header):
        raise ValueError(f"{path} must have distinct names of query ids and labels in its first line, got {header}")
    labels: dict[str, list[str]] = {}
    for line, (query, *values) in enumerate(rows, 2):
        if len(values) != len(header) - 1 or query in labels:
            mistake = "two lines" if query in labels else f"{count(len(values), 'label')}"
            raise ValueError(
                f"{path} must have one line per query with {count(len(header) - 1, 'label')}, got {mistake} for query "
                f"{query!r} (line {line})"
            )
        labels[query] = values
    return {name: {query: row[at] for query, row in labels.items()} for at, name in enumerate(header[1:])}


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
