"""Labels of queries, such as the kind of each: read once, in the order of the queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.alignment import index_of, only_counts
from .._common.arrays import is_missing, objects
from .._common.names import check_name, natural_order
from .._common.words import number_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from .._common.typing import Columns, Floats, Integers, OfQueries
    from ..judgments import Judgments


Labels = dict[str, np.ndarray[Any, Any]]
"""By column the label of each query, text in an array of shape (queries,)."""

MAX_SEGMENTS = 50
"""Of all columns together: beyond that each is judged at a level at which next to nothing is proven."""


def read_labels(segments: Columns, judgments: Judgments) -> Labels:
    """Return one column of labels, or several, in the order of the queries of judgments.

    What carries an index, and a mapping, is matched by query id; what has a row for each document is matched with the
    rows, and must say the same for all documents of a query.
    """
    found = {name: by_query(f"segments {name!r}", labels, judgments) for name, labels in _columns(segments).items()}
    return _checked(found, judgments.query_ids)


def validate_labels(segments: Any, ids: Any) -> Labels:
    """Return labels that stand in the order of the queries as text, one for each of `ids`, or raise."""
    columns = _columns(segments)
    for name, labels in columns.items():
        if isinstance(labels, Mapping):
            raise TypeError(f"segments {name!r} must be labels in the order of the queries, got a mapping of ids")
    return _checked(columns, ids)


def _checked(columns: Mapping[str, Any], ids: Any) -> Labels:
    found: Labels = {}
    for name, labels in columns.items():
        given = list(labels)
        if len(given) != len(ids):
            raise ValueError(
                f"segments {name!r} has {len(given)} labels, but there are {len(ids)} queries: one for each"
            )
        for place, label in enumerate(given):
            if _is_none(label) or label == "":
                raise ValueError(
                    f"segments {name!r} has no label for query {np.asarray(ids)[place]!s}: name a segment for it, such "
                    "as 'other'"
                )
        found[name] = np.array([_text(label) for label in given], dtype=object)
        for text in distinct_labels(found[name]):
            check_name(f"segments {name!r}: a label", text)
    total = sum(len(distinct_labels(labels)) for labels in found.values())
    if total > MAX_SEGMENTS:
        sizes = ", ".join(f"{name} {len(distinct_labels(labels))}" for name, labels in found.items())
        raise ValueError(
            f"segments hold {total} distinct labels ({sizes}), more than {MAX_SEGMENTS}: the error is held over all: "
            "join small ones first"
        )
    return found


def distinct_labels(labels: np.ndarray[Any, Any]) -> list[str]:
    """Return the distinct labels, in natural order.

    >>> distinct_labels(np.array(["10", "9", "10"], dtype=object))
    ['9', '10']
    """
    return natural_order(set(labels.tolist()))


def _columns(segments: Any) -> dict[str, Any]:
    """Return columns by name; a single one without a name is called `segment`."""
    if isinstance(segments, str):
        raise TypeError(f"segments must be labels, one for each query, got the text {segments!r}")
    if hasattr(segments, "columns") and not isinstance(segments, Mapping):
        names = list(map(str, segments.columns))
        twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
        if twice is not None:
            raise ValueError(f"segments has two columns named {twice!r}: their names must be distinct")
        return {str(name): segments[name] for name in segments.columns}
    if isinstance(segments, Mapping) and segments and all(map(_holds_many, segments.values())):
        return {str(name): labels for name, labels in segments.items()}
    if getattr(segments, "ndim", 1) > 1:
        raise ValueError(
            "segments must be one column of labels, or several with names as a mapping or a DataFrame, got an array of "
            f"shape {segments.shape}"
        )
    name = getattr(segments, "name", None)
    return {name if name and isinstance(name, str) else "segment": segments}


def _holds_many(value: Any) -> bool:
    return isinstance(value, Mapping) or (not isinstance(value, str) and np.ndim(value) == 1)


def by_query(title: str, labels: Any, judgments: Judgments) -> Any:
    """Return labels in the order of the queries, whatever they came by; messages call them by their title."""
    ids = judgments.query_ids.tolist()
    index = index_of(labels)
    by_id = labels if isinstance(labels, Mapping) else None
    if index is not None and (len(index) != judgments.documents or _holds(index, ids)):
        of_rows = len(index) == judgments.documents > len(ids) and not isinstance(ids[0], str)  # both are numbered
        in_order = of_rows or (only_counts(index) and not _holds(index, ids))
        by_id = None if in_order else dict(zip(index.tolist(), labels.tolist(), strict=True))
        if by_id is not None and not index.is_unique:
            twice = index[index.duplicated()].tolist()[0]
            raise ValueError(
                f"{title} has {twice!r} more than once in its index: labels of a Series are matched by query id, so "
                "give each query one"
            )
    if by_id is not None:
        missing = [query for query in ids if query not in by_id]
        if missing:
            some = ", ".join(map(repr, list(by_id)[:3])) + (", …" if len(by_id) > 3 else "")
            remedy = "" if index is None else "; pass .to_numpy() for labels in the order of the queries"
            raise ValueError(
                f"{title} has no label for {len(missing)} of {len(ids)} queries, the first is {missing[0]!r}; it has "
                f"labels for {some or 'none'}{remedy}"
            )
        return [by_id[query] for query in ids]
    if index is not None and len(labels) == judgments.documents:
        labels = judgments.in_row_order(title, labels)
    given = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    if len(given) == len(ids):
        return given
    if len(given) != judgments.documents:
        raise ValueError(
            f"{title} has {len(given)} labels; there must be one for each query ({len(ids)}) or for each "
            f"document ({judgments.documents})"
        )
    found: dict[int, Any] = {}
    for query, label in zip(judgments.query_of_rows.tolist(), given, strict=True):
        known = found.setdefault(query, label)
        if _is_none(known) != _is_none(label) or not (_is_none(label) or known == label):
            raise ValueError(
                f"{title} has two labels for query {ids[query]!r}, {known!r} and {label!r}: give all "
                "documents of a query the same"
            )
    return [found.get(query) for query in range(len(ids))]


def _holds(index: pd.Index[Any], ids: Sequence[Any]) -> bool:
    """Whether an index has every query id, each entry once."""
    return bool(index.is_unique and index.isin(ids).sum() >= len(ids))


def _is_none(label: Any) -> bool:
    """Tell None, NA, NaT and NaN, which are no label."""
    return is_missing(label) or bool(label != label)


def _text(label: Any) -> str:
    """Return a label as text; numbers as people write them."""
    if isinstance(label, np.generic):
        label = label.item()
    return number_text(label) if isinstance(label, float) else str(label)


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
