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


def in_order_of(index: pd.Index[Any] | None, name: str, values: Any) -> Any:
    """Return pandas values in the row order of `index`. Values without an index are returned unchanged.

    A `ValueError` is raised if rows do not match one to one.
    """
    own = index_of(values)
    if index is None or own is None or own is index or len(own) != len(index) or own.equals(index):
        return values  # Callers reject a wrong number of rows.
    places = _places(own, index)
    if places is None:
        raise ValueError(
            f"{name} does not match the labels: {_difference(name, own, index)}. Use the same index for both, or pass "
            f"{name}.to_numpy() if the rows are in the same order."
        )
    return values.take(places)


def weights_in_order(
    weight: Any, query_ids: Any, documents: int, index: pd.Index[Any] | None, *, numbered: bool
) -> Any:
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
        return _by_query(weight, query_ids, "the mapping", numbered).tolist()
    own = index_of(weight)
    if own is None:
        return weight
    rows = _by_row(weight, own, index, documents)
    places = _places(own, query_ids)
    if rows is not None and places is not None and len(query_ids) == documents:
        if not np.array_equal(np.asarray(rows), np.asarray(weight.take(places))):
            raise ValueError(
                "weight is ambiguous, because its index matches the query ids and the rows in different orders. Pass a "
                "dict for weights by query, or weight.to_numpy() for weights by row."
            )
        return rows
    if rows is not None and (places is None or index is not None or only_counts(own)):
        return rows
    return _by_query(weight, query_ids, "its index", numbered)


def _by_row(weight: Any, own: pd.Index[Any], index: pd.Index[Any] | None, documents: int) -> Any:
    """Return one weight per document in the order of the rows, or None if the index does not match."""
    if len(own) != documents:
        return None
    if index is None or own.equals(index):
        return weight
    places = _places(own, index)
    return None if places is None else weight.take(places)


def _by_query(weight: Any, query_ids: Any, where: str, numbered: bool) -> Any:
    own = weight.index
    if not own.is_unique:
        raise ValueError(
            f"weight has {_first(own, own.duplicated())} more than once in {where}. Pass one weight per query, or "
            "one per document with the index of the labels."
        )
    places = own.get_indexer(_index(query_ids))
    if (places < 0).any():
        hint = "with group=, query ids are numbers from 0" if numbered else f"it has {_some(own)}"
        raise ValueError(
            f"weight has no entry for {int((places < 0).sum())} of {len(places)} queries, the first is "
            f"{_first(_index(query_ids), places < 0)}: weights of a Series or mapping are matched by query id "
            f"({hint}). Pass an array for weights in the order of the queries."
        )
    return weight.take(places)


def _places(own: pd.Index[Any], wanted: Any) -> Any:
    """Return the position in `own` of each wanted entry, or None if one is missing or not unique."""
    wanted = _index(wanted)
    if not (own.is_unique and wanted.is_unique):
        return None
    places = own.get_indexer(wanted)
    return places if bool((places >= 0).all()) else None


def _index(ids: Any) -> pd.Index[Any]:
    import pandas as pd

    if isinstance(ids, pd.Index):
        return ids
    index: pd.Index[Any] = pd.Index(ids.astype(object), dtype=object) if ids.dtype.kind in "US" else pd.Index(ids)
    return index


def only_counts(index: pd.Index[Any]) -> bool:
    """Return whether an index is 0, 1, 2, …, the default of pandas."""
    return bool(len(index) == 0 or index.equals(_index(np.arange(len(index)))))


def _difference(name: str, own: pd.Index[Any], index: pd.Index[Any]) -> str:
    """Return the reason why two indexes do not match."""
    for whose, one in ((name, own), ("the labels", index)):
        if not one.is_unique:
            return f"their indexes differ, and that of {whose} has {_first(one, one.duplicated())} more than once"
    missing = own.get_indexer(index) < 0
    row = int(np.argmax(missing))
    return f"{name} has no entry for index {_first(index, missing)} (row {row}) but has {_some(own)}"


def _first(index: pd.Index[Any], chosen: Any) -> str:
    return repr(index[chosen][:1].tolist()[0])


def _some(index: pd.Index[Any]) -> str:
    return ", ".join(map(repr, index[:3].tolist())) + (", …" if len(index) > 3 else "")
