"""Feature matrices, dense, sparse or of a DataFrame, and what is known of their columns: names and categories."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._common.arrays import refuse_unready
from .._common.names import check_text

if TYPE_CHECKING:
    import pandas as pd

Categories = Mapping[str, tuple[Any, ...]]
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def is_sparse(features: Any) -> bool:
    """Return whether a matrix is one of `scipy.sparse`."""
    return hasattr(features, "tocsr")


def as_matrix(features: Any) -> Any:
    """Return features as an array or, where they are sparse, as a CSR matrix; float32 or float64.

    Masked entries of masked arrays are missing.
    """
    refuse_unready("features", features)
    if isinstance(features, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(features), np.nan, _as_floats(features.data))
    if not is_sparse(features):
        return _as_floats(np.asarray(features))
    from scipy.sparse import csr_matrix

    matrix = features if isinstance(features, csr_matrix) else csr_matrix(features)  # LightGBM knows no csr_array
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    values = _as_floats(matrix.data)
    if values is matrix.data:
        return matrix
    return csr_matrix((values, matrix.indices, matrix.indptr), shape=matrix.shape)


def _as_floats(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype in _FLOATS:
        return values
    if values.dtype.kind not in "biuf":
        raise TypeError(f"features must be numbers, got an array of {values.dtype}")
    return values.astype(np.float64)


def checked_names(names: Any, columns: int) -> tuple[str, ...] | None:
    """Return the names of features, or raise where they are not one distinct text per column."""
    if names is None:
        return None
    if isinstance(names, str):
        raise TypeError(f"feature_names must be a sequence of names, got the string {names!r}")
    names = tuple(names)
    if len(names) != columns:
        raise ValueError(f"feature_names must hold one name per column of features ({columns}), got {len(names)}")
    seen: dict[str, int] = {}
    for place, name in enumerate(names):
        if not isinstance(name, str):
            raise TypeError(f"feature_names[{place}] must be a string, got {name!r}")
        check_text(f"feature_names[{place}]", name)
        if name in seen:
            raise ValueError(f"feature_names holds {name!r} twice, at {seen[name]} and {place}; names must be distinct")
        seen[name] = place
    return tuple(map(str, names))


def checked_categories(categories: Any, names: tuple[str, ...] | None, features: Any) -> Categories | None:
    """Return the categories by feature, in the order of columns, or raise where a column does not hold their codes."""
    if not categories:
        return None
    if names is None or is_sparse(features):
        raise ValueError("categories need feature_names, which say the columns that they are of, and dense features")
    unknown = next((name for name in categories if name not in names), None)
    if unknown is not None:
        raise ValueError(f"categories names {unknown!r}, which is not among feature_names")
    found = {name: tuple(categories[name]) for name in names if name in categories}
    for name, values in found.items():
        _check_values(name, values)
        codes = features[:, names.index(name)]
        wrong = ~(np.isnan(codes) | ((codes >= 0) & (codes < len(values)) & (codes == np.floor(codes))))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"feature {name!r} has {len(values)} categories, so its values must be codes from 0 to "
                f"{len(values) - 1} or NaN, got {codes[row]} in row {row}"
            )
    return found


def _check_values(name: str, values: tuple[Any, ...]) -> None:
    """Refuse categories that a library's model file cannot hold, or that are not distinct."""
    for value in values:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise TypeError(
                f"the categories of feature {name!r} must be strings or numbers, got {value!r} of type "
                f"{type(value).__name__}; turn them into strings"
            )
    if len({isinstance(value, str) for value in values}) > 1 or len(set(values)) < len(values):
        raise ValueError(f"the categories of feature {name!r} must be distinct, and all strings or all numbers")


def united(categories: Sequence[Categories | None]) -> Categories | None:
    """Return the categories of several data sets together: those of the first, then what others add, in their order."""
    together: dict[str, dict[Any, None]] = {}
    for some in categories:
        for name, values in (some or {}).items():
            together.setdefault(name, {}).update(dict.fromkeys(values))
    for name in together:
        without = [place for place, some in enumerate(categories) if name not in (some or {})]
        if without:
            raise ValueError(
                f"feature {name!r} has categories in some of the data and numbers in others (number {without[0]}): "
                "give all the same type, as frame[column].astype('category') does"
            )
        kinds = {isinstance(value, str) for value in together[name]}
        if len(kinds) > 1:
            raise ValueError(
                f"the categories of feature {name!r} are strings in some of the data and numbers in others"
            )
    return {name: tuple(values) for name, values in together.items()} or None


def recoded(features: Any, names: tuple[str, ...] | None, before: Categories | None, after: Categories | None) -> Any:
    """Return features with codes that count in `after` instead of `before`."""
    changed = [name for name in before or {} if (before or {})[name] != (after or {})[name]]
    if not changed:
        return features
    features = features.copy()
    for name in changed:
        place = {value: code for code, value in enumerate((after or {})[name])}
        codes = np.array([place[value] for value in (before or {})[name]] + [np.nan])
        column = features[:, (names or ()).index(name)]
        column[:] = codes[np.where(np.isnan(column), -1, column).astype(np.int64)]
    return features


def joined(matrices: Sequence[Any]) -> Any:
    """Return the rows of several matrices, one after the other."""
    sparse = [is_sparse(matrix) for matrix in matrices]
    if not any(sparse):
        return np.concatenate(matrices)
    if not all(sparse):
        raise ValueError(
            f"the features of part {sparse.index(False)} are dense and those of part {sparse.index(True)} sparse: "
            "make all of one kind, since XGBoost takes what a sparse matrix does not hold for missing, not for 0"
        )
    from scipy.sparse import vstack

    return vstack(matrices, format="csr")


def parts_of(features: Any) -> dict[str, NDArray[Any]]:
    """Return the arrays that a matrix consists of, by name: one if it is dense, three if it is sparse."""
    if not is_sparse(features):
        return {"features": features}
    indices, starts = features.indices.astype(np.int64), features.indptr.astype(np.int64)
    return {"values": features.data, "indices": indices, "starts": starts, "shape": np.array(features.shape)}


def from_parts(parts: Mapping[str, NDArray[Any]]) -> Any:
    """Return the matrix that consists of these arrays."""
    if "features" in parts:
        return parts["features"]
    from scipy.sparse import csr_matrix

    rows, columns = parts["shape"].tolist()
    return csr_matrix((parts["values"], parts["indices"], parts["starts"]), shape=(rows, columns))


def as_frame(features: Any, names: tuple[str, ...] | None, categories: Categories | None) -> pd.DataFrame:
    """Return dense features as a DataFrame under their names, with categorical columns where there are categories."""
    import pandas as pd

    frame = pd.DataFrame(features, columns=None if names is None else list(names))
    for name, values in (categories or {}).items():
        codes = frame[name].fillna(-1).to_numpy().astype(np.int64)
        column = pd.Categorical.from_codes(codes, categories=pd.Index(list(values)))
        frame[name] = pd.Series(column, index=frame.index)
    return frame


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
    if name not in frame.columns:
        names = [str(column) for column in frame.columns]
        near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.0)
        raise ValueError(f"frame has no column {name!r} ({role}); the nearest name is {near[0]!r}")
    column = frame[name]
    if column.ndim > 1:
        raise ValueError(f"{role} column {name!r} occurs {column.shape[1]} times in frame; rename the others")
    return column


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
        hint = " (astype('category') makes a categorical feature of it)" if role == "feature" else ""
        raise TypeError(f"{role} column {name!r} must be numeric, got {column.dtype}; convert it or leave it out{hint}")
    values: NDArray[np.float64] = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return values


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
