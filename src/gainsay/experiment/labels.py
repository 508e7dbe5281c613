"""Clusters and segments: labels of the test queries, from arguments and CSV files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.alignment import index_of
from .._common.arrays import is_missing
from .._common.words import count
from ..comparison.labels import validate_labels
from ..data.text import one_line

if TYPE_CHECKING:
    import os

    from ..data import RankingData


def read_cluster_file(path: str | os.PathLike[str]) -> dict[str, str]:
    """Read the cluster of each query from a CSV file with two columns: query ids and labels."""
    columns = read_segment_file(path)
    if len(columns) != 1:
        raise ValueError(f"{path} must have one column next to the query ids, got {', '.join(columns)}")
    return next(iter(columns.values()))


def read_segment_file(path: str | os.PathLike[str]) -> dict[str, dict[str, str]]:
    """Read the label of each query by column from a CSV file whose first column contains query ids."""
    import pandas as pd

    try:
        # With a header, pandas may use a column as index and rename others, depending on the rows.
        cells = pd.read_csv(path, dtype=str, keep_default_na=False, header=None, encoding="utf-8-sig")
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not CSV: {one_line(error)}") from None
    cells = cells.apply(lambda column: column.str.strip())
    table = cells.iloc[1:].reset_index(drop=True).set_axis(cells.iloc[0], axis=1)
    repeated = table.columns[table.columns.duplicated()]
    if len(repeated):
        raise ValueError(f"{path} must have unique column names, but two columns are named {repeated[0]!r}")
    if table.shape[1] < 2:
        raise ValueError(f"{path} must have a line of names and columns of query ids and labels, got one column")
    ids = table.iloc[:, 0]
    again = table[ids.duplicated()]
    if len(again):
        line = again.index[0] + 2
        raise ValueError(f"{path} must have one label per query, but query {again.iloc[0, 0]!r} has two (line {line})")
    return {str(name): dict(zip(ids, table[name], strict=True)) for name in table.columns[1:]}


def align_clusters(clusters: Any, tests: Sequence[RankingData]) -> tuple[str, ...]:
    """Return the cluster of each test query, folds one after the other.

    Clusters are a mapping by query id, or a sequence in the order of their first appearance.

    Examples
    --------
    >>> from gainsay import RankingData
    >>> test = RankingData([[0.5], [0.1], [0.9]], [1, 0, 2], qid=["a", "b", "b"])
    >>> align_clusters({"b": 7, "a": 7, "c": 8}, [test])
    ('7', '7')
    """
    return _align_labels("clusters", clusters, _list_ids(tests))


def align_segments(segments: Any, tests: Sequence[RankingData]) -> dict[str, tuple[str, ...]]:
    """Return the labels of the test queries by column.

    Several columns are a DataFrame, or a mapping of names to labels as in `align_clusters`.
    """
    ids = _list_ids(tests)
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


def _list_ids(tests: Sequence[RankingData]) -> list[str]:
    return [name for test in tests for name in test.query_ids.tolist()]


def _align_labels(argument: str, labels: Any, ids: Sequence[str]) -> tuple[str, ...]:
    index = index_of(labels)
    if index is not None and index.is_unique and set(ids) <= set(map(str, index)):
        labels = dict(zip(index.tolist(), labels.tolist(), strict=True))
    if isinstance(labels, Mapping):
        by_id = {str(name): label for name, label in labels.items()}
        missing = [name for name in ids if name not in by_id]
        if missing:
            names = ", ".join(map(repr, missing[:3])) + (", …" if len(missing) > 3 else "")
            raise ValueError(f"{argument} has no label for {count(len(missing), 'query')} of the test set: {names}")
        values = [by_id[name] for name in ids]
    else:
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
