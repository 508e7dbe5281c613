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
    refuse_unready(name, values)
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be one-dimensional, got entries of different lengths") from None
    except Exception:
        if not hasattr(values, "to_list"):
            raise
        array = objects(values.to_list())  # polars has integers of 128 bits, NumPy has none
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
    elif array.dtype.kind == "f" and not hasattr(values, "__array__"):
        _refuse_huge_objects(name, values, array)  # a list of integers and fractions, now all of them floats
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must be numbers, got an array of {array.dtype}")
    if array.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        refuse_huge(name, array)
        array = array.astype(np.float64)
    return array


def number_table(name: str, values: Any) -> Floats:
    """Return `values` of any number of dimensions as float64, every column read as `numbers` reads it, or raise."""
    refuse_unready(name, values)
    try:
        array = np.ma.asarray(values) if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be an array of numbers, got entries of different lengths") from None
    if type(array) is np.ndarray and array.dtype == np.float64:
        return array.astype(np.float64, copy=False)  # in the byte order of this machine
    if array.ndim < 2:
        return numbers(name, array.reshape(-1)).astype(np.float64).reshape(array.shape)
    found = np.empty(array.shape)
    for column in range(array.shape[1]):
        found[:, column] = number_table(f"{name}[:, {column}]", array[:, column])
    return found


def identifiers(name: str, values: Any) -> np.ndarray[Any, Any]:
    """Return ids as a 1-D array in which different ids stay different, or raise `ValueError`.

    NumPy brings all that a list holds to one type: beside a fraction 2**53 and 2**53 + 1 become one float, 1 and "1"
    one text, and a text loses the NUL characters at its end. Such ids stay the objects that they are.
    """
    array = vector(name, values)
    if array.dtype.kind in "US" and hasattr(values, "to_list"):
        values = values.to_list()  # of polars, whose texts may end with NUL
    if hasattr(values, "__array__"):
        _refuse_rounded(name, array)
        return array
    return array if _is_faithful(array, values) else objects(values)


def _is_faithful(array: np.ndarray[Any, Any], items: Any) -> bool:
    """Whether two items that differ are sure to differ in the array that NumPy made of them."""
    if array.dtype.kind == "f":
        return not (np.abs(array) >= EXACT).any()
    if array.dtype.kind in "US":
        kind = str if array.dtype.kind == "U" else bytes
        alike = all(issubclass(found, kind) for found in set(map(type, items)))
        return alike and sum(map(len, items)) == int(np.char.str_len(array).sum())  # no NUL at an end is lost
    return True


def objects(items: Any) -> np.ndarray[Any, Any]:
    """Return items as an array of objects, whatever they are."""
    return np.fromiter(items, dtype=object)


def _refuse_rounded(name: str, array: np.ndarray[Any, Any]) -> None:
    """Refuse floats so large that several integers may have become one of them."""
    if array.dtype.kind == "f":
        largest = 2.0 ** (np.finfo(array.dtype).nmant + 1)
        beyond = np.abs(array) >= largest
        if beyond.any():
            at = int(np.argmax(beyond))
            raise ValueError(
                f"{name} holds the {array.dtype} {array[at]} in row {at}: from {largest:.0f} on, several integers "
                "become one such float; pass integers or strings (pandas makes floats of ids where one is missing)"
            )


def refuse_huge(name: str, array: np.ndarray[Any, Any]) -> None:
    """Refuse integers that float64 cannot tell from their neighbours."""
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8 and len(array):
        beyond = (array > EXACT) | (array < -EXACT) if array.dtype.kind == "i" else array > EXACT
        if beyond.any():
            at = int(np.argmax(beyond))
            raise _huge(name, array[at], at)


def _refuse_huge_objects(name: str, items: Any, array: Floats) -> None:
    """Refuse integers, decimals and fractions of Python that float64 cannot tell from their neighbours."""
    for at in np.flatnonzero(np.abs(array) >= EXACT).tolist():
        value = items[at]
        if not isinstance(value, float | np.floating) and np.isfinite(array[at]) and not -EXACT <= value <= EXACT:
            raise _huge(name, value, at)


def _huge(name: str, value: Any, row: int) -> ValueError:
    if isinstance(value, int) and value.bit_length() > 128:
        value = f"an integer of {value.bit_length()} bits"
    return ValueError(
        f"{name} must lie between -2**53 and 2**53 where they are integers, got {value} in row {row}; "
        "beyond that float64 cannot tell neighbours apart"
    )


def _from_objects(name: str, array: np.ndarray[Any, Any]) -> Floats:
    """Convert an object array (nullable pandas columns, decimals) where every entry is a number."""
    for at, value in enumerate(array):
        if isinstance(value, str | bytes):
            raise TypeError(f"{name} must be numbers, got the text {value!r} in row {at}")
        if isinstance(value, np.datetime64 | np.timedelta64):  # which NumPy makes numbers of, whatever their units
            raise TypeError(f"{name} must be numbers, got {value!r} in row {at}")
    try:
        found = np.array([np.nan if is_missing(value) else value for value in array], dtype=np.float64)
    except OverflowError:
        row, value = next((at, value) for at, value in enumerate(array) if abs(value) > EXACT)
        raise _huge(name, value, row) from None
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be numbers: {error}") from None
    _refuse_huge_objects(name, array, found)
    return found


def refuse_unready(name: str, values: Any) -> None:
    """Say what to do with values that are not in this process's memory, or that their library will not hand out."""
    home = type(values).__module__.partition(".")[0]
    if home == "polars" and type(values).__name__ == "LazyFrame":
        raise TypeError(f"{name} is a lazy frame of polars, which holds no rows yet: pass {name}.collect()")
    if hasattr(values, "requires_grad") and hasattr(values, "detach"):
        steps = [".detach()"] if values.requires_grad else []
        if str(getattr(values, "device", "cpu")).partition(":")[0] != "cpu":
            steps.append(".cpu()")
        if str(getattr(values, "dtype", "")).endswith("bfloat16"):
            steps.append(".float()")  # NumPy has no such type
        if steps:
            raise TypeError(f"{name} is a tensor that NumPy cannot read as it is: pass {name}{''.join(steps)}.numpy()")
    elif hasattr(values, "__cuda_array_interface__"):
        how = "to_numpy()" if hasattr(values, "to_numpy") else "get()" if hasattr(values, "get") else "copy_to_host()"
        raise TypeError(f"{name} is on the GPU (a {home}.{type(values).__name__}): pass {name}.{how}")


def is_missing(value: object) -> bool:
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
