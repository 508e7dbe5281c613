"""Labels of the queries of test, their clusters and segments, from arguments and files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.alignment import index_of
from .._common.arrays import is_missing
from .._common.words import count
from ..comparison.labelling import check_labels
from ..data.text import one_line

if TYPE_CHECKING:
    import os

    from ..data import RankingData

_SHOWN = 3


def cluster_file(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return the cluster of each query that a CSV file of two columns holds: query ids, and labels."""
    columns = segment_file(path)
    if len(columns) != 1:
        raise ValueError(f"{path}: one column beside that of query ids is wanted, found {', '.join(columns)}")
    return next(iter(columns.values()))


def segment_file(path: str | os.PathLike[str]) -> dict[str, dict[str, str]]:
    """Return by the name of its column the label of each query in a CSV file, whose first column are query ids."""
    import pandas as pd

    try:
        # Without a header pandas takes no column for an index and renames none, whatever the rows are.
        cells = pd.read_csv(path, dtype=str, keep_default_na=False, header=None, encoding="utf-8-sig")
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: not CSV: {one_line(error)}") from None
    cells = cells.apply(lambda column: column.str.strip())
    table = cells.iloc[1:].reset_index(drop=True).set_axis(cells.iloc[0], axis=1)
    twice = table.columns[table.columns.duplicated()]
    if len(twice):
        raise ValueError(f"{path}: two columns are named {twice[0]!r}: rename one of them")
    if table.shape[1] < 2:
        raise ValueError(
            f"{path}: query ids and labels are wanted, below a line that names the columns; found one column"
        )
    ids = table.iloc[:, 0]
    again = table[ids.duplicated()]
    if len(again):
        raise ValueError(f"{path}: query {again.iloc[0, 0]!r} has a label twice, again in line {again.index[0] + 2}")
    return {str(name): dict(zip(ids, table[name], strict=True)) for name in table.columns[1:]}


def read_clusters(clusters: Any, tests: Sequence[RankingData]) -> tuple[str, ...]:
    """Return the cluster of each query of test, folds one after the other; raise where one has none, or several.

    They come by query id, or as a sequence in the order in which the queries first appear.

    Examples
    --------
    >>> from gainsay import RankingData
    >>> test = RankingData([[0.5], [0.1], [0.9]], [1, 0, 2], qid=["a", "b", "b"])
    >>> read_clusters({"b": 7, "a": 7, "c": 8}, [test])
    ('7', '7')
    """
    return _by_query("clusters", clusters, _ids(tests))


def read_segments(segments: Any, tests: Sequence[RankingData]) -> dict[str, tuple[str, ...]]:
    """Return by column the label of each query of test, likewise.

    Several columns are a DataFrame, or a mapping of names to what `read_clusters` takes; a single one may have no name.
    """
    ids = _ids(tests)
    if hasattr(segments, "columns"):
        columns = {str(name): segments[name] for name in segments.columns}
    elif isinstance(segments, Mapping) and all(map(_is_column, segments.values())):
        columns = dict(segments)
    else:
        columns = {"segment": segments}
    found = {name: _by_query(f"segments {name!r}", labels, ids) for name, labels in columns.items()}
    return {name: tuple(labels.tolist()) for name, labels in check_labels(found, ids).items()}


def _is_column(value: Any) -> bool:
    return isinstance(value, Mapping) or (not isinstance(value, str) and np.ndim(value) == 1)


def _ids(tests: Sequence[RankingData]) -> list[str]:
    return [name for test in tests for name in test.query_ids.tolist()]


def _by_query(argument: str, labels: Any, ids: Sequence[str]) -> tuple[str, ...]:
    index = index_of(labels)
    if index is not None and index.is_unique and set(ids) <= set(map(str, index)):
        labels = dict(zip(index.tolist(), labels.tolist(), strict=True))
    if isinstance(labels, Mapping):
        known = {str(name): label for name, label in labels.items()}
        missing = [name for name in ids if name not in known]
        if missing:
            more = ", …" if len(missing) > _SHOWN else ""
            raise ValueError(
                f"{argument} has no label for {count(len(missing), 'query')} of test: "
                f"{', '.join(map(repr, missing[:_SHOWN]))}{more}"
            )
        given = [known[name] for name in ids]
    else:
        given = np.asarray(labels, dtype=object).ravel().tolist()
        if len(given) != len(ids):
            raise ValueError(
                f"{argument} has {count(len(given), 'label')} for {count(len(ids), 'query')} of test: give one each"
            )
    for name, label in zip(ids, given, strict=True):
        if is_missing(label) or label != label or label == "":
            raise ValueError(f"{argument} has no label for query {name!r}, got {label!r}")
    return tuple(map(str, given))
