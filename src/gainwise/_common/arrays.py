"""Arguments as NumPy arrays, pandas objects in the order of rows or queries, and means of columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd

    from .typing import Floats, Integers


EXACT = 2**53
"""Up to this number, every integer is a float64."""


def vector(name: str, values: Any) -> np.ndarray[Any, Any]:
    """Return `values` (array, list, Series of pandas, polars or pyarrow) as a 1-D array, or raise.

    Masked entries of masked arrays become None.
    """
    if hasattr(values, "tocsr"):
        raise ValueError(
            f"{name} must be one-dimensional, got a sparse matrix of shape {values.shape}. Pass "
            f"{name}.toarray().ravel() if each entry is one document."
        )
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be one-dimensional, got entries of different lengths") from None
    except Exception:
        if not hasattr(values, "to_list"):
            raise
        array = objects(values.to_list())  # NumPy has no 128-bit integers, but polars does.
    if isinstance(values, np.ma.MaskedArray) and values.mask.any():
        array = array.astype(object)
        array[values.mask] = None
    if array.ndim == 0 and not isinstance(values, np.ndarray):
        raise TypeError(f"{name} must be a list, an array or a Series, got {type(values).__name__}.")
    if array.ndim != 1:
        is_column = array.ndim == 2 and 1 in array.shape
        hint = f" Pass {name}.ravel() if each entry is one document." if is_column else ""
        if name == "scores" and array.shape[1:] == (2,):
            hint = " Pass scores[:, 1] if they are the probabilities of two classes."
        columns = list(getattr(values, "column_names", getattr(values, "columns", ())))
        if columns:
            hint = f" Pass one of its columns, for example {name}[{columns[0]!r}]."
        raise ValueError(f"{name} must be one-dimensional, got shape {array.shape}.{hint}")
    return array


def numbers(name: str, values: Any) -> np.ndarray[Any, Any]:
    """Return `values` as a 1-D array of real numbers (float32 and float64 keep their type), or raise."""
    array = vector(name, values)
    if array.dtype.kind == "O":
        array = _from_objects(name, array)
    elif array.dtype.kind == "f" and not hasattr(values, "__array__"):
        _validate_objects(name, values, array)  # NumPy converts lists of integers and fractions to floats.
    if array.dtype.kind not in "fiub":
        raise TypeError(f"{name} must be numbers, got an array of {array.dtype}")
    if array.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        validate_exact_integers(name, array)
        array = array.astype(np.float64)
    return array


def number_table(name: str, values: Any) -> Floats:
    """Return `values` with any number of dimensions as float64, each column converted by `numbers`, or raise."""
    try:
        array = np.ma.asarray(values) if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} must be an array of numbers, got entries of different lengths") from None
    if type(array) is np.ndarray and array.dtype == np.float64:
        return array.astype(np.float64, copy=False)  # In the byte order of this machine.
    if array.ndim < 2:
        return numbers(name, array.reshape(-1)).astype(np.float64).reshape(array.shape)
    table = np.empty(array.shape)
    for column in range(array.shape[1]):
        table[:, column] = number_table(f"{name}[:, {column}]", array[:, column])
    return table


def identifiers(name: str, values: Any) -> np.ndarray[Any, Any]:
    """Return ids as a 1-D array in which different ids stay different, or raise `ValueError`.

    NumPy converts the items of a list to one type. With a fraction in the list, 2**53 and 2**53 + 1 become the same
    float. 1 and "1" become the same string, and strings lose NUL characters at their ends. Such ids remain objects.
    """
    array = vector(name, values)
    if array.dtype.kind in "US" and hasattr(values, "to_list"):
        values = values.to_list()  # polars strings may end with NUL, which NumPy strips.
    if hasattr(values, "__array__"):
        _validate_exact(name, array)
        return array
    return array if _is_faithful(array, values) else objects(values)


def format_id(value: Any) -> str:
    """Return an id as text, in which a whole float is the integer, because pandas makes floats of integers.

    Floats from 2**53 on are left as they are, because several integers may have been rounded to one of them.

    >>> format_id(7), format_id(7.0), format_id(7.5), format_id("7.0"), format_id("07")
    ('7', '7', '7.5', '7.0', '07')
    """
    number = float(value) if isinstance(value, float | np.floating) else math.nan
    return str(int(number)) if number.is_integer() and abs(number) < EXACT else str(value)


def _is_faithful(array: np.ndarray[Any, Any], items: Any) -> bool:
    """Return whether different items are certainly different in the array that NumPy created."""
    if array.dtype.kind == "f":
        return not (np.abs(array) >= EXACT).any()
    if array.dtype.kind in "US":
        kind = str if array.dtype.kind == "U" else bytes
        same_kind = all(issubclass(item_type, kind) for item_type in set(map(type, items)))
        return same_kind and sum(map(len, items)) == int(np.char.str_len(array).sum())  # No NUL was stripped.
    return True


def objects(items: Any) -> np.ndarray[Any, Any]:
    """Return items as an array of objects."""
    return np.fromiter(items, dtype=object)


def _validate_exact(name: str, array: np.ndarray[Any, Any]) -> None:
    """Raise for floats so large that several integers may have been rounded to one of them."""
    if array.dtype.kind == "f":
        largest = 2.0 ** (np.finfo(array.dtype).nmant + 1)
        beyond = np.abs(array) >= largest
        if beyond.any():
            row = int(np.argmax(beyond))
            raise ValueError(
                f"{name} must be exact, got the {array.dtype} {array[row]} in row {row}. From {largest:.0f} on, "
                "several integers are the same float. Pass integers or strings (pandas uses floats if one is missing)."
            )


def validate_exact_integers(name: str, array: np.ndarray[Any, Any]) -> None:
    """Raise for integers that float64 cannot represent exactly."""
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8 and len(array):
        beyond = (array > EXACT) | (array < -EXACT) if array.dtype.kind == "i" else array > EXACT
        if beyond.any():
            at = int(np.argmax(beyond))
            raise _huge(name, array[at], at)


def _validate_objects(name: str, items: Any, array: Floats) -> None:
    """Raise for integers, decimals and fractions of Python that float64 cannot represent exactly."""
    for at in np.flatnonzero(np.abs(array) >= EXACT).tolist():
        value = items[at]
        if not isinstance(value, float | np.floating) and np.isfinite(array[at]) and not -EXACT <= value <= EXACT:
            raise _huge(name, value, at)


def _huge(name: str, value: Any, row: int) -> ValueError:
    return ValueError(
        f"{name} must be between -2**53 and 2**53 if they are integers, got {value} in row {row}, which float64 cannot "
        "represent exactly."
    )


def _from_objects(name: str, array: np.ndarray[Any, Any]) -> Floats:
    """Return an object array (nullable pandas columns, decimals) as numbers, or raise."""
    for at, value in enumerate(array):
        if isinstance(value, str | bytes):
            raise TypeError(f"{name} must be numbers, got the text {value!r} in row {at}")
        if isinstance(value, np.datetime64 | np.timedelta64):  # NumPy would convert them without their units.
            raise TypeError(f"{name} must be numbers, got {value!r} in row {at}")
    try:
        converted = np.array([np.nan if is_missing(value) else value for value in array], dtype=np.float64)
    except OverflowError:
        row, value = next((at, value) for at, value in enumerate(array) if abs(value) > EXACT)
        raise _huge(name, value, row) from None
    except (TypeError, ValueError, ArithmeticError) as error:
        raise TypeError(f"{name} must be numbers: {error}") from None
    _validate_objects(name, array, converted)
    return converted


def is_missing(value: object) -> bool:
    """Return whether a value is None, NaN, pandas.NA or NaT."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)


def integers(name: str, values: Any) -> Integers:
    """Return `values` as 1-D int64, or raise if a float has a fraction."""
    array = numbers(name, values)
    whole = np.isfinite(array) & (array == np.floor(array))
    if not whole.all():
        position = int(np.argmin(whole))
        raise ValueError(f"{name} must be whole numbers, got {array[position]!s} (entry {position}).")
    sizes = np.abs(array)
    if (sizes > EXACT).any():
        position = int(np.argmax(sizes))
        raise _huge(name, int(array[position]), position)
    return array.astype(np.int64)


def factorize(values: Any) -> tuple[Integers, Any]:
    """Return the number of each value, in order of first appearance or -1 if it is missing, and the distinct values."""
    import pandas as pd

    codes, ids = pd.factorize(values)
    return codes.astype(np.int64), ids


def twice(values: Integers) -> bool:
    """Return whether a number occurs more than once."""
    ordered = np.sort(values)
    return bool((ordered[1:] == ordered[:-1]).any())


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a suggestion in parentheses, or an empty string if no known word is similar.

    >>> nearest("ndgc", ["ndcg", "map"]), nearest("x", ["ndcg", "map"])
    (" (did you mean 'ndcg'?)", '')
    """
    from difflib import get_close_matches  # Needed for errors only.

    close = get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f" (did you mean {close[0]!r}?)" if close else ""


def to_float32(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return scores in 32 bits. Only -inf becomes -inf, which means that a document was not retrieved."""
    with np.errstate(over="ignore"):
        narrow: np.ndarray[Any, Any] = values.astype(np.float32)
    lowest = np.isneginf(narrow)
    if lowest.any():
        narrow[lowest & (values > -np.inf)] = np.finfo(np.float32).min
    return narrow


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
    if index is None or own_index is None or len(own_index) != len(index) or own_index.equals(index):
        return values  # Callers reject a wrong number of rows.
    aligned = _align(values, index)
    if aligned is None:
        difference = _describe_difference(name, own_index, index)
        raise ValueError(
            f"{name} does not match the labels: {difference}. Use the same index for both, or pass {name}.to_numpy() "
            "if the rows are in the same order."
        )
    return aligned


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
    rows, queries = None, _align(weight, query_ids)
    if len(own_index) == documents:
        rows = weight if index is None or own_index.equals(index) else _align(weight, index)
    if rows is not None and queries is not None and len(query_ids) == documents:
        if not np.array_equal(np.asarray(rows), np.asarray(queries)):
            raise ValueError(
                "weight is ambiguous, because its index matches the query ids and the rows in different orders. Pass a "
                "dict for weights by query, or weight.to_numpy() for weights by row."
            )
        return rows
    if rows is not None and (queries is None or index is not None or only_counts(own_index)):
        return rows
    return _match_queries(weight, query_ids, "its index", numbered)


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


def _align(values: Any, entries: Any) -> Any:
    """Return pandas values in the order of these entries of their index, or None if one is missing or not unique."""
    entries = _index(entries)
    if not (values.index.is_unique and entries.is_unique):
        return None
    positions = values.index.get_indexer(entries)
    return values.take(positions) if (positions >= 0).all() else None


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


def columns_of(table: Any) -> list[tuple[str, Any]]:
    """Return the names of the columns of a table of pandas, polars or pyarrow, and the columns."""
    if hasattr(table, "column_names"):  # `columns` of an Arrow table are not the names.
        return list(zip(map(str, table.column_names), table.columns, strict=True))
    return [(str(name), table[name]) for name in table.columns]


def find_best(values: Any, higher_is_better: bool = True) -> int | None:
    """Return the position of the first best value, or None if there is none. NaN is never the best value.

    >>> find_best([0.1, 0.3, np.nan, 0.3]), find_best([0.1, 0.3], higher_is_better=False), find_best([np.nan])
    (1, 0, None)
    """
    array = np.asarray(values, dtype=np.float64)
    if np.isnan(array).all():
        return None
    return int(np.nanargmax(array) if higher_is_better else np.nanargmin(array))


def sum_columns(values: Floats, *, overwrite: bool = False) -> Floats:
    """Return the sum of each column by repeatedly adding the two halves of the rows.

    The order depends only on the number of rows, and the error grows with its logarithm. With `overwrite`, the values
    may be changed, which saves memory.
    """
    folded = values if overwrite else None
    while len(values) > 1:
        half = len(values) // 2
        folded = np.add(values[:half], values[half : 2 * half], out=None if folded is None else folded[:half])
        if len(values) % 2:
            folded[0] += values[-1]
        values = folded
    total: Floats = values[0]
    return total


def scale_weights(weights: Floats) -> tuple[Floats, int]:
    """Return weights divided by a power of two, so that the largest is between 1/2 and 1, and its exponent.

    Their sums neither overflow nor lose digits. Means are the same to the last bit, because a power of two changes no
    digit.

    >>> scale_weights(np.array([3.0, 6.0]))
    (array([0.375, 0.75 ]), 3)
    """
    exponent = int(np.frexp(weights.max(initial=0.0))[1])
    with np.errstate(under="ignore"):  # Lost digits are below 2^-1022 of the largest weight.
        return np.ldexp(weights, -exponent), exponent


def compute_means(values: Floats, weights: Floats | None = None, *, overwrite: bool = False) -> Floats:
    """Return sum(w * v) / sum(w) over the rows, NaN if none has a positive weight.

    Equal weights are the same as no weights, and rows of weight 0 are left out, to the last bit. With `overwrite`, the
    values may be changed, which saves memory.

    >>> compute_means(np.array([[1.0, 2.0], [4.0, 8.0], [9.0, 9.0]]), np.array([1.0, 2.0, 0.0]))
    array([3., 6.])
    """
    if weights is not None:
        values, weights = values[weights > 0], weights[weights > 0]
    if not len(values):
        return np.full(values.shape[1:], np.nan)
    if weights is None or (weights == weights[0]).all():
        return sum_columns(values, overwrite=overwrite) / len(values)
    scaled, _ = scale_weights(weights)
    with np.errstate(under="ignore"):
        products = scaled.reshape(-1, *[1] * (values.ndim - 1)) * values
    means: Floats = sum_columns(products) / sum_columns(scaled[:, None])[0]
    return means
