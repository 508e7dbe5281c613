"""Ranking data from a DataFrame."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._common.arrays import numbers, refuse_unready
from .._common.distinct import factorize
from .ranking_data import RankingData

if TYPE_CHECKING:
    import pandas as pd


def from_frame(
    frame: Any,
    *,
    label: Hashable,
    query: Hashable,
    features: Sequence[Hashable] | None = None,
    document: Hashable | None = None,
    weight: Hashable | None = None,
) -> RankingData:
    """Take ranking data from the columns of a DataFrame, one row per document.

    Parameters
    ----------
    frame
        A pandas DataFrame, or anything that becomes one by its method `to_pandas` (polars, pyarrow).
    label
        Name of the column of relevance labels.
    query
        Name of the column of query ids, of any type; rows of a query need not stand together.
    features
        Names of the feature columns, numeric or categorical; None: every such column that has no other role, and a
        warning names the rest. Name them where the frame also holds columns that are no features, such as scores of a
        model.
    document
        Name of the column of document ids.
    weight
        Name of the column of weights, one per document.

    Returns
    -------
    RankingData
        Features are float32 where all their columns are float32 (or float16) or categorical, else float64; missing
        values are NaN. Their names are kept, and the categories of columns of dtype category (Categorical and Enum in
        polars, dictionary in pyarrow), which LightGBM and XGBoost then split by category. Ids are turned into strings.

    Raises
    ------
    ValueError
        If a column is missing or occurs twice, a label, query id, document id or weight is missing, a column has
        two roles, two query ids are one as text, or no feature column is left.
    TypeError
        If `frame` is no DataFrame, a column of labels or weights is not numeric, or a feature is neither that nor
        categorical.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"q": ["b", "b", "a"], "grade": [1, 0, 2], "bm25": [3.5, 1.0, 2.0]})
    >>> data = from_frame(frame, label="grade", query="q")
    >>> data
    RankingData(3 documents, 2 queries, 1 feature; labels 0: 1, 1: 1, 2: 1)
    >>> data.query_ids.tolist()
    ['b', 'a']
    >>> data.feature_names
    ('bm25',)
    """
    import pandas as pd

    refuse_unready("frame", frame)
    if not isinstance(frame, pd.DataFrame):
        if not hasattr(frame, "to_pandas"):
            raise TypeError(f"frame must be a DataFrame, got {type(frame).__name__}")
        frame = frame.to_pandas()
    if len(frame) == 0:
        raise ValueError("frame has no rows; a data set needs at least one document")
    if isinstance(features, str):
        raise TypeError(
            f"features must be a sequence of column names, got the string {features!r}; pass [{features!r}]"
        )
    roles = {name for name in (label, query, document, weight) if name is not None}
    rest: list[Hashable] = []
    if features is None:
        others = [name for name in frame.columns if name not in roles]
        features = [name for name in others if _is_numeric(frame, name) or _is_categorical(frame, name)]
        rest = [name for name in others if name not in features]
    features = list(features)
    if not features:
        raise ValueError(
            "no feature columns: frame has no numeric or categorical column besides those with another role"
        )
    if roles & set(features):
        raise ValueError(f"column {(roles & set(features)).pop()!r} is named as a feature and in another role")
    labels = _numbers(frame, "label", label)
    codes, ids = factorize(_column(frame, "query", query))
    if (codes < 0).any():
        raise ValueError(f"query column {query!r} has no id in {_place(frame, codes < 0)}")
    matrix, categories = _matrix(frame, features)
    data = RankingData(
        features=matrix,
        labels=labels,
        qid=codes,
        query_ids=_distinct(query, list(ids)),
        document_ids=None if document is None else _documents(frame, document),
        weight=None if weight is None else _numbers(frame, "weight", weight),
        feature_names=tuple(str(name) for name in features),
        categories=categories,
    )
    if rest:
        listed = ", ".join(f"{name!r} ({frame[name].dtype})" for name in rest[:5]) + (", …" if len(rest) > 5 else "")
        warnings.warn(
            f"columns that are neither numeric nor categorical are no features: {listed}; "
            "name the features as features=, or convert with astype('category')",
            stacklevel=2,
        )
    return data


def _distinct(column: Hashable, ids: list[Any]) -> NDArray[np.str_]:
    """Return ids as text, or raise where two of them are one text (1 and "1") or NumPy would cut them."""
    seen: dict[str, Any] = {}
    for name in ids:
        text = str(name).rstrip("\0")  # NumPy drops NUL at the end
        if text in seen:
            raise ValueError(
                f"query column {column!r} has {seen[text]!r} and {name!r}, which are one id as text; rename one of them"
            )
        seen[text] = name
    return np.array([str(name) for name in ids], dtype=np.str_)


def _column(frame: pd.DataFrame, role: str, name: Hashable) -> pd.Series[Any]:
    """Return a column, or raise where there is none of that name or more than one."""
    found = [column for column in frame.columns if column == name]
    if len(found) > 1:
        raise ValueError(f"{role} column {name!r} occurs {len(found)} times in frame; rename the others")
    if not found:
        names = [str(column) for column in frame.columns]
        near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.0)
        raise ValueError(f"frame has no column {name!r} ({role}); the nearest name is {near[0]!r}")
    return frame[name]


def _is_numeric(frame: pd.DataFrame, name: Hashable) -> bool:
    from pandas.api.types import is_complex_dtype, is_numeric_dtype

    dtype = _column(frame, "feature", name).dtype
    return is_numeric_dtype(dtype) and not is_complex_dtype(dtype)


def _is_categorical(frame: pd.DataFrame, name: Hashable) -> bool:
    return str(_column(frame, "feature", name).dtype) == "category"


def _as_floats(frame: pd.DataFrame, role: str, name: Hashable) -> NDArray[np.float64]:
    """Return a numeric column as float64, its missing values as NaN."""
    column = _column(frame, role, name)
    if not _is_numeric(frame, name):
        raise TypeError(
            f"{role} column {name!r} must be numeric, got {column.dtype}; convert it or leave it out{_or(role)}"
        )
    values: NDArray[np.float64] = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return values


def _or(role: str) -> str:
    return " (astype('category') makes a categorical feature of it)" if role == "feature" else ""


def _numbers(frame: pd.DataFrame, role: str, name: Hashable) -> NDArray[np.float64]:
    """Return a numeric column in which every value must be finite."""
    values = _as_floats(frame, role, name)
    column = _column(frame, role, name).dropna()
    numbers(f"{role} column {name!r}", np.asarray(column))  # refuses integers that no float holds
    wrong = ~np.isfinite(values)
    if wrong.any():
        value = values[np.argmax(wrong)]
        raise ValueError(f"{role} column {name!r} must be finite, got {value} in {_place(frame, wrong)}")
    return values


def _matrix(
    frame: pd.DataFrame, names: Sequence[Hashable]
) -> tuple[NDArray[np.floating[Any]], dict[str, tuple[Any, ...]]]:
    """Return the feature columns as one matrix, with the codes of categories, and the categories by name."""
    categories: dict[str, tuple[Any, ...]] = {}
    narrow = all(
        _is_categorical(frame, name) or _column(frame, "feature", name).dtype in ("float32", "float16")
        for name in names
    )
    matrix = np.empty((len(frame), len(names)), dtype=np.float32 if narrow else np.float64)
    for place, name in enumerate(names):
        if _is_categorical(frame, name):
            column = _column(frame, "feature", name).cat
            codes = column.codes.to_numpy()
            matrix[:, place] = np.where(codes < 0, np.nan, codes)
            categories[str(name)] = tuple(column.categories.tolist())
        else:
            matrix[:, place] = _as_floats(frame, "feature", name)
    return matrix, categories


def _documents(frame: pd.DataFrame, name: Hashable) -> tuple[str, ...]:
    column = _column(frame, "document", name)
    missing = column.isna().to_numpy()
    if missing.any():
        raise ValueError(f"document column {name!r} has no id in {_place(frame, missing)}")
    return tuple(str(value) for value in column.tolist())


def _place(frame: pd.DataFrame, mask: NDArray[np.bool_]) -> str:
    """Say where a mask is first true: the row by position, and by its index where that differs."""
    row = int(np.argmax(mask))
    index = frame.index[row]
    return f"row {row}" if index == row else f"row {row} (index {index})"
