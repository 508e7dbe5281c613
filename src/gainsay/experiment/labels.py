"""Clusters and segments: labels of the test queries, from arguments and CSV files."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.alignment import index_of
from .._common.arrays import is_missing
from .._common.words import count, listed
from ..comparison.labels import validate_labels
from ..data.text import one_line

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
    """Return the cluster of each test query, from a mapping by query id, or a sequence in the order of the ids.

    Examples
    --------
    >>> align_clusters({"b": 7, "a": 7, "c": 8}, ["a", "b"])
    ('7', '7')
    """
    return _align_labels("clusters", clusters, ids)


def align_segments(segments: Any, ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the labels of the test queries by column.

    Several columns are a DataFrame, or a mapping of names to labels as in `align_clusters`.
    """
    if hasattr(segments, "columns"):
        columns = {str(name): segments[name] for name in segments.columns}
    elif isinstance(segments, Mapping) and all(map(_is_column, segments.values())):
        columns = dict(segments)
    else:
        columns = {"segment": segments}
    aligned = {name: _align_labels(f"segments {name!r}", labels, ids) for name, labels in columns.items()}
    return {name: tuple(labels.tolist()) for name, labels in validate_labels(aligned, ids).items()}


def _is_column(value: Any) -> bool:
    return isinstance(value, Mapping) or (not isinstance(value, str) and np.ndim(value) == 1)


def _align_labels(argument: str, labels: Any, ids: Sequence[str]) -> tuple[str, ...]:
    index = index_of(labels)
    if index is not None and index.is_unique and set(ids) <= set(map(str, index)):
        labels = dict(zip(index.tolist(), labels.tolist(), strict=True))
    if isinstance(labels, Mapping):
        by_id = {str(name): label for name, label in labels.items()}
        missing = [repr(name) for name in ids if name not in by_id]
        if missing:
            raise ValueError(
                f"{argument} has no label for {count(len(missing), 'query')} of the test set: {listed(missing, 3)}"
            )
        labels = [by_id[name] for name in ids]
    values = np.asarray(labels, dtype=object).ravel().tolist()
    if len(values) != len(ids):
        raise ValueError(
            f"{argument} must have one label per test query, got {count(len(values), 'label')} for "
            f"{count(len(ids), 'query')}"
        )
    for name, label in zip(ids, values, strict=True):
        if is_missing(label) or label != label or label == "":
            raise ValueError(f"{argument} must have a label for each test query, got {label!r} for query {name!r}")
    return tuple(map(str, values))
