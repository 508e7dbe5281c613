"""Feature matrices (dense, sparse or from a DataFrame) with the names and categories of their columns."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._common.arrays import validate_ready
from .._common.validation import validate_text
from .tables import get_column

if TYPE_CHECKING:
    import pandas as pd

Categories = Mapping[str, tuple[Any, ...]]


def is_sparse(features: Any) -> bool:
    """Return whether a matrix is one of `scipy.sparse`."""
    return hasattr(features, "tocsr")


def as_matrix(features: Any) -> Any:
    """Return features as an array or, if they are sparse, as a CSR matrix, in float32 or float64.

    Masked entries of masked arrays become NaN.
    """
    validate_ready("features", features)
    if isinstance(features, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(features), np.nan, _as_floats(features.data))
    if not is_sparse(features):
        return _as_floats(np.asarray(features))
    from scipy.sparse import csr_matrix

    matrix = features if isinstance(features, csr_matrix) else csr_matrix(features)  # LightGBM rejects csr_array.
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    values = _as_floats(matrix.data)
    return matrix if values is matrix.data else csr_matrix((values, matrix.indices, matrix.indptr), shape=matrix.shape)


def _as_floats(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype in (np.dtype(np.float32), np.dtype(np.float64)):
        return values
    if values.dtype.kind not in "biuf":
        raise TypeError(f"features must be numbers, got an array of {values.dtype}")
    return values.astype(np.float64)


def validate_names(names: Any, columns: int) -> tuple[str, ...] | None:
    """Return the names of features, or raise if they are not one distinct string per column."""
    if names is None:
        return None
    if isinstance(names, str):
        raise TypeError(f"feature_names must be a sequence of names, got the string {names!r}")
    names = tuple(names)
    if len(names) != columns:
        raise ValueError(f"feature_names must have one name per column of features ({columns}), got {len(names)}")
    position_of_name: dict[str, int] = {}
    for position, name in enumerate(names):
        if not isinstance(name, str):
            raise TypeError(f"feature_names[{position}] must be a string, got {name!r}")
        validate_text(f"feature_names[{position}]", name)
        if (first := position_of_name.setdefault(name, position)) != position:
            raise ValueError(f"feature_names must be distinct, got {name!r} at {first} and {position}")
    return tuple(map(str, names))


def validate_categories(categories: Any, names: tuple[str, ...] | None, features: Any) -> Categories | None:
    """Return the categories by feature, in the order of columns, or raise if a column does not contain their codes."""
    if not categories:
        return None
    if names is None or is_sparse(features):
        raise ValueError("categories require feature_names and dense features")
    unknown = next((name for name in categories if name not in names), None)
    if unknown is not None:
        raise ValueError(f"categories must be those of feature_names, got {unknown!r}")
    ordered = {name: tuple(categories[name]) for name in names if name in categories}
    for name, values in ordered.items():
        for value in values:
            # Model files of the libraries contain no other types.
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                raise TypeError(
                    f"the categories of feature {name!r} must be strings or numbers, got {value!r} of type "
                    f"{type(value).__name__}. Convert them to strings."
                )
        if len({isinstance(value, str) for value in values}) > 1 or len(set(values)) < len(values):
            raise ValueError(f"the categories of feature {name!r} must be distinct, and all strings or all numbers")
        codes = features[:, names.index(name)]
        wrong = ~(np.isnan(codes) | ((codes >= 0) & (codes < len(values)) & (codes == np.floor(codes))))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"feature {name!r} has {len(values)} categories, so its values must be codes from 0 to "
                f"{len(values) - 1} or NaN, got {codes[row]} in row {row}"
            )
    return ordered


def merge_categories(categories: Sequence[Categories | None]) -> Categories | None:
    """Return the categories of several datasets: those of the first, then those that the others add."""
    merged: dict[str, dict[Any, None]] = {}
    for part in categories:
        for name, values in (part or {}).items():
            merged.setdefault(name, {}).update(dict.fromkeys(values))
    for name, union in merged.items():
        without = next((number for number, part in enumerate(categories) if name not in (part or {})), None)
        if without is not None:
            raise ValueError(
                f"feature {name!r} has categories in some datasets and numbers in others (number {without}). Convert "
                "all of them with frame[column].astype('category')."
            )
        if len({isinstance(value, str) for value in union}) > 1:
            raise ValueError(f"the categories of feature {name!r} are strings in some datasets and numbers in others")
    return {name: tuple(values) for name, values in merged.items()} or None


def recode(features: Any, names: tuple[str, ...], before: Categories, after: Categories) -> Any:
    """Return features whose codes are positions in `after` instead of `before`."""
    features = features.copy()
    for name, values in before.items():
        new_codes = {value: code for code, value in enumerate(after[name])}
        codes = np.array([new_codes[value] for value in values] + [np.nan])
        column = features[:, names.index(name)]
        column[:] = codes[np.where(np.isnan(column), -1, column).astype(np.int64)]
    return features


def stack_rows(matrices: Sequence[Any]) -> Any:
    """Return the rows of several matrices, one after the other."""
    sparse = [is_sparse(matrix) for matrix in matrices]
    if not any(sparse):
        return np.concatenate(matrices)
    if not all(sparse):
        raise ValueError(
            f"features must be all dense or all sparse, but those of part {sparse.index(False)} are dense and those of "
            f"part {sparse.index(True)} sparse. XGBoost reads missing entries of sparse matrices as missing values."
        )
    from scipy.sparse import vstack

    return vstack(matrices, format="csr")


def parts_of(features: Any) -> dict[str, NDArray[Any]]:
    """Return the arrays of a matrix by name: one if it is dense, four if it is sparse."""
    if not is_sparse(features):
        return {"features": features}
    indices, starts = features.indices.astype(np.int64), features.indptr.astype(np.int64)
    return {"values": features.data, "indices": indices, "starts": starts, "shape": np.array(features.shape)}


def from_parts(parts: Mapping[str, NDArray[Any]]) -> Any:
    """Return the matrix that consists of these arrays."""
    if "features" in parts:
        return parts["features"]
    from scipy.sparse import csr_matrix

    return csr_matrix((parts["values"], parts["indices"], parts["starts"]), shape=tuple(parts["shape"].tolist()))


def as_pandas(frame: Any, name: str) -> pd.DataFrame:
    """Return a pandas DataFrame, converted by the method `to_pandas` of other tables."""
    import pandas as pd

    if isinstance(frame, pd.DataFrame):
        return frame
    if not hasattr(frame, "to_pandas"):
        raise TypeError(f"{name} must be a DataFrame, got {type(frame).__name__}")
    converted: pd.DataFrame = frame.to_pandas()
    return converted


def is_numeric(column: pd.Series[Any]) -> bool:
    """Return whether a column contains real numbers or truth values."""
    from pandas.api.types import is_complex_dtype, is_numeric_dtype

    return is_numeric_dtype(column.dtype) and not is_complex_dtype(column.dtype)


def is_categorical(column: pd.Series[Any]) -> bool:
    """Return whether a column has dtype category."""
    return str(column.dtype) == "category"


def frame_to_matrix(
    frame: pd.DataFrame, names: Sequence[Hashable]
) -> tuple[NDArray[np.floating[Any]], dict[str, tuple[Any, ...]]]:
    """Return the feature columns as one matrix, in which categories are codes, and the categories by name."""
    columns = [get_column(frame, name, "frame") for name in names]
    categories: dict[str, tuple[Any, ...]] = {}
    narrow = all(is_categorical(column) or column.dtype in ("float32", "float16") for column in columns)
    matrix = np.empty((len(frame), len(names)), dtype=np.float32 if narrow else np.float64)
    for position, column in enumerate(columns):
        if is_categorical(column):
            codes = column.cat.codes.to_numpy()
            matrix[:, position] = np.where(codes < 0, np.nan, codes)
            categories[str(column.name)] = tuple(column.cat.categories.tolist())
        elif is_numeric(column):
            matrix[:, position] = column.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            raise TypeError(
                f"feature column {column.name!r} must be numeric, got {column.dtype}. Convert it or leave it out, or "
                "make it a categorical feature with astype('category')."
            )
    return matrix, categories
