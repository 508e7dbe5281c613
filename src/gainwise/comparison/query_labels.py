"""Labels of queries: segments and clusters."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np

from .._common.arrays import columns_of, factorize, index_of, is_missing, objects, only_counts
from .._common.text import format_exact, natural_order, pluralize
from .._common.typing import Integers
from .._common.validation import validate_distinct, validate_name, validate_ordered
from ..data.text import csv_rows, file_suffix
from ..judgments import Judgments

Labels = dict[str, np.ndarray[Any, Any]]
"""Label of each query by column, text in arrays of shape (queries,)."""

MAX_SEGMENTS = 50
"""Limit for all columns together. With more segments, the level of each detects almost nothing."""


def validate_labels(segments: Any, ids: Any, judgments: Judgments | None = None) -> Labels:
    """Return one or several columns of labels as text in the order of the queries, one for each of `ids`, or raise.

    With judgments, mappings and labels with an index are matched by query id, and labels with one row per document must
    be the same for all documents of a query.
    """
    texts: Labels = {}
    for name, labels in _read_columns(segments).items():
        title = f"segments {name!r}"
        if judgments is not None:
            labels = read_by_query(title, labels, judgments)
        elif isinstance(labels, Mapping):
            raise TypeError(f"{title} must be labels in the order of the queries, got a mapping of ids.")
        rows = list(labels)
        if len(rows) != len(ids):
            raise ValueError(f"{title} must have one label per query, got {len(rows)} labels for {len(ids)} queries.")
        for query, label in zip(ids, rows, strict=True):
            if is_missing(label) or label == "":
                raise ValueError(f"{title} has no label for query {query}. Pass a label such as 'other'.")
        texts[name] = np.array([_format_label(label) for label in rows], dtype=object)
        for text in list_labels(texts[name]):
            validate_name(f"{title}: a label", text)
    sizes = {name: len(list_labels(labels)) for name, labels in texts.items()}
    if sum(sizes.values()) > MAX_SEGMENTS:
        counts = ", ".join(f"{name} {number}" for name, number in sizes.items())
        raise ValueError(
            f"segments must not have more than {MAX_SEGMENTS} distinct labels, got {sum(sizes.values())} ({counts}). "
            "Join small segments."
        )
    return texts


def read_segment_file(path: str | PathLike[str]) -> dict[str, dict[str, str]]:
    """Read the label of each query by column from a CSV or TSV file whose first column contains query ids."""
    table = csv_rows(path, "\t" if file_suffix(path) == ".tsv" else ",")
    rows = ((line, [cell.strip() for cell in cells]) for line, cells in table if cells)
    _, header = next(rows, (1, []))
    if len(header) < 2 or len(set(header)) < len(header):
        raise ValueError(f"{path} must have distinct names of query ids and labels in its first line, got {header}")
    labels: dict[str, list[str]] = {}
    for line, (query, *values) in rows:
        if len(values) != len(header) - 1 or query in labels:
            mistake = "two lines" if query in labels else f"{pluralize(len(values), 'label')}"
            raise ValueError(
                f"{path} must have one line per query with {pluralize(len(header) - 1, 'label')}, got {mistake} for "
                f"query {query!r} (line {line})"
            )
        labels[query] = values
    return {name: {query: row[at] for query, row in labels.items()} for at, name in enumerate(header[1:])}


def list_labels(labels: np.ndarray[Any, Any]) -> list[str]:
    """Return the distinct labels in natural order.

    >>> list_labels(np.array(["10", "9", "10"], dtype=object))
    ['9', '10']
    """
    return natural_order(set(labels.tolist()))


def list_segments(labels: Labels) -> list[tuple[str, str]]:
    """Return the column and the label of each segment."""
    return [(column, label) for column, by_query in labels.items() for label in list_labels(by_query)]


def _read_columns(segments: Any) -> dict[str, Any]:
    """Return columns by name. A single column without a name is called `segment`."""
    validate_ordered("segments", segments)
    if hasattr(segments, "columns") and not isinstance(segments, Mapping):
        by_place = columns_of(segments)
        validate_distinct("names of columns of segments", [name for name, _ in by_place])
        columns = dict(by_place)
    elif isinstance(segments, Mapping) and segments and all(map(_is_column, segments.values())):
        columns = {str(name): labels for name, labels in segments.items()}
    elif getattr(segments, "ndim", 1) > 1:
        raise ValueError(
            f"segments must be one column, or a mapping or DataFrame of named columns, got shape {segments.shape}."
        )
    else:
        name = getattr(segments, "name", None)
        columns = {name if name and isinstance(name, str) else "segment": segments}
    if "" in columns:  # In results, an empty name means all queries.
        raise ValueError("segments must have names of columns, got ''. Name the column, for example 'device'.")
    return columns


def _is_column(value: Any) -> bool:
    return isinstance(value, Mapping) or (not isinstance(value, str) and np.ndim(value) == 1)


def read_by_query(title: str, labels: Any, judgments: Judgments) -> Any:
    """Return labels in the order of the queries: matched by query id, in that order, or one per document."""
    by_id = _index_by_id(title, labels, judgments)
    ids = judgments.query_ids.tolist()
    if by_id is not None:
        missing = [query for query in ids if query not in by_id]
        if missing:
            some = ", ".join(map(repr, list(by_id)[:3])) + (", …" if len(by_id) > 3 else "")
            fix = "" if isinstance(labels, Mapping) else " Pass .to_numpy() for labels in the order of the queries."
            raise ValueError(
                f"{title} has no label for {len(missing)} of {len(ids)} queries (first is {missing[0]!r}, labels are "
                f"for {some or 'none'}).{fix}"
            )
        return [by_id[query] for query in ids]
    if index_of(labels) is not None and len(labels) == judgments.documents:
        labels = judgments.in_row_order(title, labels)
    rows = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    if len(rows) == len(ids):
        return rows
    if len(rows) != judgments.documents:
        raise ValueError(
            f"{title} must have one label per query ({len(ids)}) or per document ({judgments.documents}), got "
            f"{len(rows)} labels."
        )
    by_place: dict[int, Any] = {}
    for query, label in zip(judgments.query_of_rows.tolist(), rows, strict=True):
        first = by_place.setdefault(query, label)
        if is_missing(first) != is_missing(label) or not (is_missing(label) or first == label):
            raise ValueError(
                f"{title} must be the same for all documents of a query, got {first!r} and {label!r} for query "
                f"{ids[query]!r}."
            )
    return [by_place.get(query) for query in range(len(ids))]


def _index_by_id(title: str, labels: Any, judgments: Judgments) -> Mapping[Any, Any] | None:
    """Return labels by query id, or None if they are in the order of queries or documents."""
    if isinstance(labels, Mapping):
        return labels
    index, ids = index_of(labels), judgments.query_ids.tolist()
    if index is None:
        return None
    has_rows = len(index) == judgments.documents
    if not (index.is_unique and index.isin(ids).sum() >= len(ids)) and (has_rows or only_counts(index)):
        return None
    if has_rows and len(index) > len(ids) and not isinstance(ids[0], str):
        return None  # Row numbers look like query ids that are numbers.
    if not index.is_unique:
        duplicate = index[index.duplicated()].tolist()[0]
        raise ValueError(f"{title} must have a unique index of query ids, got {duplicate!r} more than once.")
    return dict(zip(index.tolist(), labels.tolist(), strict=True))


def _format_label(label: Any) -> str:
    if isinstance(label, np.generic):
        label = label.item()
    return format_exact(label) if isinstance(label, float) else str(label)


def read_clusters(clusters: Any, size: int, judgments: Judgments | None = None) -> Integers:
    """Return the cluster of each query, or of each other unit, as a number from 0.

    With judgments, labels that have query ids are matched by them.

    >>> read_clusters(["s2", "s1", "s2"], 3)
    array([0, 1, 0])
    """
    if judgments is not None:
        clusters = read_by_query("clusters", clusters, judgments)
    labels = clusters.to_numpy() if hasattr(clusters, "to_numpy") else np.asanyarray(clusters)
    if labels.ndim and not hasattr(clusters, "dtype"):
        labels = objects(clusters)  # NumPy would turn numbers among strings into strings.
    if labels.shape != (size,):
        raise ValueError(f"clusters must have one label each, got shape {labels.shape} instead of ({size},).")
    try:
        codes, _ = factorize(objects(labels.tolist()))
    except TypeError as error:
        raise ValueError(f"clusters must have one label each: {error}.") from None
    codes[[isinstance(label, str) and not label for label in labels.tolist()]] = -1  # Not one cluster of empty cells.
    if (codes < 0).any():
        place = int(np.argmax(codes < 0))
        query = "" if judgments is None else f" (query {judgments.query_ids.tolist()[place]!r})"
        raise ValueError(f"clusters[{place}] is missing{query}. Pass a distinct label if it is independent.")
    return codes
