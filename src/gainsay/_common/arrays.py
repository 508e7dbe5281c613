"""Turning what callers pass into plain NumPy arrays, or saying clearly why it cannot be done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .typing import Floats, Integers


EXACT = 2**53
"""Up to here every integer is a float64."""


def vector(name: str, values: Any) -> np.ndarray[Any, Any]:
    """Return `values` (array, list, Series of pandas, polars or pyarrow) as a 1-D array, or raise `ValueError`.

    Masked entries of masked arrays become None.
    """
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be one-dimensional, got entries of different lengths") from None
    if isinstance(values, np.ma.MaskedArray) and values.mask.any():
        array = array.astype(object)
        array[values.mask] = None
    if array.ndim == 2 and 1 in array.shape:
        raise ValueError(
            f"{name} must be one-dimensional, got shape {array.shape}; "
            f"pass {name}.ravel() if each entry is one document"
        )
    if array.ndim != 1:
        raise ValueError(f"{name} must be one-dimensional, got {array.ndim} dimensions (shape {array.shape})")
    return array


def numbers(name: str, values: Any) -> np.ndarray[Any, Any]:
    """Return `values` as a 1-D array of real numbers (float32 and float64 keep their type), or raise."""
    array = vector(name, values)
    if array.dtype.kind == "O":
        array = _from_objects(name, array)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must be numbers, got an array of {array.dtype}")
    if array.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        _refuse_huge(name, array)
        array = array.astype(np.float64)
    return array


def _refuse_huge(name: str, array: np.ndarray[Any, Any]) -> None:
    """Refuse integers that float64 cannot tell from their neighbours."""
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8 and len(array):
        beyond = (array > EXACT) | (array < -EXACT) if array.dtype.kind == "i" else array > EXACT
        if beyond.any():
            at = int(np.argmax(beyond))
            raise ValueError(
                f"{name} must lie between -2**53 and 2**53 where they are integers, got {array[at]} in row {at}; "
                "beyond that float64 cannot tell neighbours apart"
            )


def _from_objects(name: str, array: np.ndarray[Any, Any]) -> Floats:
    """Convert an object array (nullable pandas columns, decimals) where every entry is a number."""
    for at, value in enumerate(array):
        if isinstance(value, str | bytes):
            raise TypeError(f"{name} must be numbers, got the text {value!r} in row {at}")
    try:
        return np.array([np.nan if _is_missing(value) else value for value in array], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be numbers: {error}") from None


def _is_missing(value: object) -> bool:
    """Tell None and pandas.NA, which have no number, from everything else."""
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def integers(name: str, values: Any) -> Integers:
    """Return `values` as 1-D int64; floats are taken where they are whole."""
    array = numbers(name, values)
    whole = np.isfinite(array) & (array == np.floor(array))
    if not whole.all():
        at = int(np.argmin(whole))
        raise ValueError(f"{name} must be whole numbers; entry {at} is {array[at]!s}")
    return array.astype(np.int64)


def twice(values: Integers) -> bool:
    """Whether a number occurs more than once."""
    ordered = np.sort(values)
    return bool((ordered[1:] == ordered[:-1]).any())


def nearest(word: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the known word nearest to `word`, or nothing."""
    from difflib import get_close_matches  # for errors only

    close = get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""
