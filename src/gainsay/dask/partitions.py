"""Partitions of Dask's collections: their lists, merged results, and the detection of split queries."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from dask.base import compute
from dask.delayed import Delayed, delayed

from .._common.arrays import identifiers
from .._common.distinct import factorize

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Hashes = npt.NDArray[np.uint64]

FAN_IN = 16
"""The number of results that a task merges."""


def partitions(name: str, values: Any) -> list[Any]:
    """Return the partitions of a Dask array, Series, DataFrame or Delayed, or of a list with one entry each."""
    if isinstance(values, Delayed):
        return [values]
    if isinstance(values, list | tuple):
        parts = list(values)
        if any(isinstance(part, int | float | str | np.generic) for part in parts):
            raise TypeError(f"{name} is a list of numbers or strings: pass one array or Delayed per partition")
    elif hasattr(values, "to_delayed"):
        parts = _rows(name, values.to_delayed())
    else:
        raise TypeError(
            f"{name} must be a Dask array, Series or DataFrame, or a list of one Delayed or Future per partition, got "
            f"{type(values).__name__}. Use gainsay.evaluate for data in memory"
        )
    if not parts:
        raise ValueError(f"{name} has no partitions")
    return parts


def _rows(name: str, parts: Any) -> list[Any]:
    """Return the chunks of an array along its rows, or the partitions of a DataFrame or Series."""
    if isinstance(parts, np.ndarray):
        if parts.ndim > 1 and parts.shape[1] > 1:
            raise ValueError(
                f"{name} is cut into {parts.shape[1]} chunks along its columns: keep rows together with "
                f"{name}.rechunk({{1: -1}})"
            )
        parts = parts.ravel()
    return list(parts)


def aligned(collections: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the arguments of each partition by name. Collections that are None are omitted."""
    columns = {name: partitions(name, values) for name, values in collections.items() if values is not None}
    (first, expected), *others = ((name, len(parts)) for name, parts in columns.items())
    for name, found in others:
        if found != expected:
            raise ValueError(
                f"{name} has {found} partitions but {first} has {expected}: they must be cut at the same rows"
            )
    return [dict(zip(columns, parts, strict=True)) for parts in zip(*columns.values(), strict=True)]


def tree(parts: list[Delayed], merge: Callable[[list[Any]], Any]) -> Delayed:
    """Return the merged result of all parts, in their order and a few at a time."""
    merge_some = delayed(merge, pure=False)
    while len(parts) > 1:
        parts = [merge_some(parts[at : at + FAN_IN]) for at in range(0, len(parts), FAN_IN)]
    return parts[0]


@dataclass(frozen=True, eq=False)
class Seen:
    """The queries of some partitions by 64-bit hash, and the hashes that more than one partition has."""

    hashes: Hashes
    repeated: Hashes

    @classmethod
    def of(cls, query_ids: np.ndarray[Any, Any]) -> Seen:
        """Return the queries of one partition."""
        hashes = np.unique(hashed(query_ids))
        return cls(hashes, hashes[:0])

    @classmethod
    def merged(cls, parts: Sequence[Seen]) -> Seen:
        """Return the queries of several sets of partitions."""
        hashes = np.sort(np.concatenate([part.hashes for part in parts]))
        again = hashes[1:] == hashes[:-1]
        repeated = np.unique(np.concatenate([hashes[1:][again], *(part.repeated for part in parts)]))
        return cls(np.concatenate((hashes[:1], hashes[1:][~again])), repeated)


def require_whole_queries(qid: Any) -> None:
    """Raise an error if a query is in more than one partition.

    The distributed trainings of LightGBM and XGBoost do not check this, and use the parts of such a query as separate
    queries. `gainsay.dask.evaluate` checks it.

    Parameters
    ----------
    qid : dask array or Series, or list of Delayed, shape (documents,)
        The query of each document. Within a partition the rows of a query need not be contiguous.

    Raises
    ------
    ValueError
        If a query is split. The message contains the query and its partitions.

    Examples
    --------
    >>> import dask.array as da
    >>> from gainsay.dask import require_whole_queries
    >>> require_whole_queries(da.from_array([1, 1, 2, 2, 2], chunks=(2, 3)))
    >>> require_whole_queries(da.from_array([1, 1, 2, 2, 2], chunks=(3, 2)))
    Traceback (most recent call last):
        ...
    ValueError: query 2 is in partitions 0 and 1: a metric needs all documents of a query at once. Repartition the
    data so that no query is split
    """
    parts = partitions("qid", qid)
    look = delayed(_seen, pure=False)
    (seen,) = compute(tree([look(part) for part in parts], Seen.merged))
    raise_if_split(seen.repeated, parts)


def _seen(qid: Any) -> Seen:
    return Seen.of(factorize(identifiers("qid", qid))[1])


def raise_if_split(repeated: Hashes, qid_parts: Sequence[Any]) -> None:
    """Raise an error if a query with such a hash is in several partitions. Queries can have equal hashes."""
    if len(repeated) == 0:
        return
    find = delayed(_with_hashes, pure=False)
    found = compute([find(part, repeated) for part in qid_parts])[0]
    places = defaultdict(list)
    for number, ids in enumerate(found):
        for query in ids:
            places[query].append(number)
    split = {query: numbers for query, numbers in places.items() if len(numbers) > 1}
    if split:
        query, numbers = next(iter(split.items()))
        more = f" (and {len(split) - 1} more queries in several)" if len(split) > 1 else ""
        raise ValueError(
            f"query {query!s} is in partitions {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}{more}: a metric "
            "needs all documents of a query at once. Repartition the data so that no query is split"
        )


def _with_hashes(qid: Any, hashes: Hashes) -> list[Any]:
    ids = factorize(identifiers("qid", qid))[1]
    found: list[Any] = ids[np.isin(hashed(ids), hashes)].tolist()
    return found


def hashed(query_ids: np.ndarray[Any, Any]) -> Hashes:
    """Return a 64-bit hash of each id, the same in every process and for every type with the same ids."""
    ids = query_ids
    if ids.dtype.kind == "O":
        ids = pd.Series(ids).infer_objects().to_numpy()
    if ids.dtype.kind == "O":  # a number has the same hash with and without texts in the array
        whole = np.array([isinstance(one, Real | np.bool_) and one == one // 1 for one in ids], dtype=bool)
        found: Hashes = pd.util.hash_array(np.where(whole, np.array(None), ids))
        found[whole] = hashed(np.array([int(one) % 2**64 for one in ids[whole]], dtype=np.uint64))
        return found
    if ids.dtype.kind == "f":  # a whole number has the same hash as an integer
        floats = ids.astype(np.float64)
        ids = floats.view(np.int64).copy()
        whole = floats == np.floor(floats)
        ids[whole] = floats[whole]
    elif ids.dtype.kind in "iub":
        ids = ids.astype(np.int64)
    elif ids.dtype.kind in "US":
        ids = ids.astype(object)
    return pd.util.hash_array(ids)
