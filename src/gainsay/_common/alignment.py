"""Alignment of pandas objects: rows by the index of the labels, weights by query id."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .arrays import objects

if TYPE_CHECKING:
    import pandas as pd


def index_of(values: Any) -> pd.Index[Any] | None:
    """Return the index of a Series or DataFrame of pandas, or None for other objects."""
    if any(base.__module__.partition(".")[0] == "pandas" for base in type(values).__mro__):
        index: pd.Index[Any] | None = values.index if hasattr(values, "reindex") and hasattr(values, "index") else None
        return index
    return None


def align_rows(index: pd.Index[Any] | None, name: str, values: Any) -> Any:
    """Return pandas values in the row order of `index`. Values without an index are returned unchanged.

    A `ValueError` is raised if rows do not match one to one.
    """
    own_index = index_of(values)
    if (
        index is None
        or own_index is None
        or own_index is index
        or len(own_index) != len(index)
        or own_index.equals(index)
    ):
        return values  # Callers reject a wrong number of rows.
    positions = _find_positions(own_index, index)
    if positions is None:
        difference = _describe_difference(name, own_index, index)
        raise ValueError(
            f"{name} does not match the labels: {difference}. Use the same index for both, or pass {name}.to_numpy() "
            "if the rows are in the same order."
        )
    return values.take(positions)


def align_weights(weight: Any, query_ids: Any, documents: int, index: pd.Index[Any] | None, *, numbered: bool) -> Any:
    """Return weights in the order of the queries or, for one weight per document, of the rows.

    A mapping contains weights by query id, and so does a Series whose index contains all query ids. Other ids are
    ignored. A Series with a row for each document is aligned to the index of the rows. Queries defined by their sizes
    have numbers as ids (`numbered`). A `ValueError` is raised if a query has no weight, or if weights match both
    queries and rows with different results.
    """
    if isinstance(weight, Mapping):
        import pandas as pd

        keys = pd.Index(objects(weight), dtype=object)  # Different keys remain different.
        weight = pd.Series(list(weight.values()), index=keys, dtype=object)
        return _match_queries(weight, query_ids, "the mapping", numbered).tolist()
    own_index = index_of(weight)
    if own_index is None:
        return weight
    rows = _match_rows(weight, own_index, index, documents)
    positions = _find_positions(own_index, query_ids)
    if rows is not None and positions is not None and len(query_ids) == documents:
        if not np.array_equal(np.asarray(rows), np.asarray(weight.take(positions))):
            raise ValueError(
                "weight is ambiguous, because its index matches the query ids and the rows in different orders. Pass a "
                "dict for weights by query, or weight.to_numpy() for weights by row."
            )
        return rows
    if rows is not None and (positions is None or index is not None or only_counts(own_index)):
        return rows
    return _match_queries(weight, query_ids, "its index", numbered)


def _match_rows(weight: Any, own_index: pd.Index[Any], index: pd.Index[Any] | None, documents: int) -> Any:
    """Return one weight per document in the order of the rows, or None if the index does not match."""
    if len(own_index) != documents:
        return None
    if index is None or own_index.equals(index):
        return weight
    positions = _find_positions(own_index, index)
    return None if positions is None else weight.take(positions)


def _match_queries(weight: Any, query_ids: Any, where: str, numbered: bool) -> Any:
    own_index = weight.index
    if not own_index.is_unique:
        repeated = _show_first(own_index, own_index.duplicated())
        raise ValueError(
            f"weight has {repeated} more than once in {where}. Pass one weight per query, or one per document with the "
            "index of the labels."
        )
    positions = own_index.get_indexer(_index(query_ids))
    if (positions < 0).any():
        hint = "with group=, query ids are numbers from 0" if numbered else f"it has {_list_first(own_index)}"
        raise ValueError(
            f"weight has no entry for {int((positions < 0).sum())} of {len(positions)} queries, the first is "
            f"{_show_first(_index(query_ids), positions < 0)}: weights of a Series or mapping are matched by query id "
            f"({hint}). Pass an array for weights in the order of the queries."
        )
    return weight.take(positions)


def _find_positions(own_index: pd.Index[Any], wanted: Any) -> Any:
    """Return the position in `own_index` of each wanted entry, or None if one is missing or not unique."""
    wanted = _index(wanted)
    if not (own_index.is_unique and wanted.is_unique):
        return None
    positions = own_index.get_indexer(wanted)
    return positions if bool((positions >= 0).all()) else None


def _index(ids: Any) -> pd.Index[Any]:
    import pandas as pd

    if isinstance(ids, pd.Index):
        return ids
    index: pd.Index[Any] = pd.Index(ids.astype(object), dtype=object) if ids.dtype.kind in "US" else pd.Index(ids)
    return index


def only_counts(index: pd.Index[Any]) -> bool:
    """Return whether an index is 0, 1, 2, …, the default of pandas."""
    return bool(len(index) == 0 or index.equals(_index(np.arange(len(index)))))


def _describe_difference(name: str, own_index: pd.Index[Any], index: pd.Index[Any]) -> str:
    """Return the reason why two indexes do not match."""
    for owner, entries in ((name, own_index), ("the labels", index)):
        if not entries.is_unique:
            repeated = _show_first(entries, entries.duplicated())
            return f"their indexes differ, and that of {owner} has {repeated} more than once"
    missing = own_index.get_indexer(index) < 0
    row = int(np.argmax(missing))
    return f"{name} has no entry for index {_show_first(index, missing)} (row {row}) but has {_list_first(own_index)}"


def _show_first(index: pd.Index[Any], chosen: Any) -> str:
    return repr(index[chosen][:1].tolist()[0])


def _list_first(index: pd.Index[Any]) -> str:
    return ", ".join(map(repr, index[:3].tolist())) + (", …" if len(index) > 3 else "")
