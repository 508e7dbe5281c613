"""From Dask's collections to lists of partitions, and back from many results to one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from dask.delayed import Delayed, delayed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

FAN_IN = 16
"""How many results a task merges."""


def partitions(name: str, values: Any) -> list[Any]:
    """Return the partitions of a Dask array, Series, DataFrame or Delayed, or of a list with one entry each.

    Raises
    ------
    TypeError
        Where `values` is none of these.
    ValueError
        Where there is no partition, or an array is cut up along its columns too.
    """
    if isinstance(values, Delayed):
        return [values]
    if isinstance(values, list | tuple):
        parts = list(values)
        if any(isinstance(part, int | float | str | np.generic) for part in parts):
            raise TypeError(f"{name} is a list of numbers or strings; give one array or Delayed per partition")
    elif hasattr(values, "to_delayed"):
        parts = _rows(name, values.to_delayed())
    else:
        raise TypeError(
            f"{name} must be a Dask array, Series or DataFrame, or a list of one Delayed or Future per partition, got "
            f"{type(values).__name__}; data in memory is what gainsay.evaluate takes"
        )
    if not parts:
        raise ValueError(f"{name} has no partitions")
    return parts


def _rows(name: str, parts: Any) -> list[Any]:
    """Return the chunks of an array, which is cut along its rows only, or the partitions of a DataFrame or Series."""
    if isinstance(parts, np.ndarray):
        if parts.ndim > 1 and parts.shape[1] > 1:
            raise ValueError(
                f"{name} is cut into {parts.shape[1]} chunks along its columns; keep rows whole with "
                f"{name}.rechunk({{1: -1}})"
            )
        parts = parts.ravel()
    return list(parts)


def aligned(collections: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the arguments of each partition by name; collections that are None are left out."""
    columns = {name: partitions(name, values) for name, values in collections.items() if values is not None}
    (first, expected), *others = ((name, len(parts)) for name, parts in columns.items())
    for name, found in others:
        if found != expected:
            raise ValueError(
                f"{name} has {found} partitions but {first} has {expected}: they must be cut at the same rows"
            )
    return [dict(zip(columns, parts, strict=True)) for parts in zip(*columns.values(), strict=True)]


def tree(parts: list[Delayed], merge: Callable[[list[Any]], Any]) -> Delayed:
    """Return the result of merging all parts, in their order and a few at a time, wherever these are."""
    merge_some = delayed(merge, pure=False)
    while len(parts) > 1:
        parts = [merge_some(parts[at : at + FAN_IN]) for at in range(0, len(parts), FAN_IN)]
    return parts[0]


def at_partition(number: int, error: ValueError | TypeError) -> ValueError | TypeError:
    """Return the error, saying in which partition it arose."""
    kind = TypeError if isinstance(error, TypeError) else ValueError
    return kind(f"in partition {number}: {error}")
