"""Columns of a pandas DataFrame as numbers: what of it can be a feature, and how."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd


def as_pandas(frame: Any, name: str) -> pd.DataFrame:
    """Return a DataFrame of pandas, or of anything that becomes one by its method `to_pandas`."""
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        if not hasattr(frame, "to_pandas"):
            raise TypeError(f"{name} must be a DataFrame, got {type(frame).__name__}")
        converted: pd.DataFrame = frame.to_pandas()
        return converted
    return frame


def column_of(frame: pd.DataFrame, role: str, name: Hashable) -> pd.Series[Any]:
    """Return a column, or raise where there is none of that name or more than one."""
    found = [column for column in frame.columns if column == name]
    if len(found) > 1:
        raise ValueError(f"{role} column {name!r} occurs {len(found)} times in frame; rename the others")
    if not found:
        names = [str(column) for column in frame.columns]
        near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.0)
        raise ValueError(f"frame has no column {name!r} ({role}); the nearest name is {near[0]!r}")
    return frame[name]


def is_numeric(frame: pd.DataFrame, name: Hashable) -> bool:
    """Return whether a column holds real numbers or truth values."""
    from pandas.api.types import is_complex_dtype, is_numeric_dtype

    dtype = column_of(frame, "feature", name).dtype
    return is_numeric_dtype(dtype) and not is_complex_dtype(dtype)


def is_categorical(frame: pd.DataFrame, name: Hashable) -> bool:
    """Return whether a column is of dtype category."""
    return str(column_of(frame, "feature", name).dtype) == "category"


def floats_of(frame: pd.DataFrame, role: str, name: Hashable) -> NDArray[np.float64]:
    """Return a numeric column as float64, its missing values as NaN."""
    column = column_of(frame, role, name)
    if not is_numeric(frame, name):
        raise TypeError(
            f"{role} column {name!r} must be numeric, got {column.dtype}; convert it or leave it out{_or(role)}"
        )
    values: NDArray[np.float64] = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return values


def _or(role: str) -> str:
    return " (astype('category') makes a categorical feature of it)" if role == "feature" else ""


def matrix_of(
    frame: pd.DataFrame, names: Sequence[Hashable]
) -> tuple[NDArray[np.floating[Any]], dict[str, tuple[Any, ...]]]:
    """Return the feature columns as one matrix, with the codes of categories, and the categories by name."""
    categories: dict[str, tuple[Any, ...]] = {}
    narrow = all(
        is_categorical(frame, name) or column_of(frame, "feature", name).dtype in ("float32", "float16")
        for name in names
    )
    matrix = np.empty((len(frame), len(names)), dtype=np.float32 if narrow else np.float64)
    for place, name in enumerate(names):
        if is_categorical(frame, name):
            column = column_of(frame, "feature", name).cat
            codes = column.codes.to_numpy()
            matrix[:, place] = np.where(codes < 0, np.nan, codes)
            categories[str(name)] = tuple(column.categories.tolist())
        else:
            matrix[:, place] = floats_of(frame, "feature", name)
    return matrix, categories
