"""Ranking data from a DataFrame."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

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
        Names of the feature columns, all numeric; None: every numeric column that has no other role. Name them where
        the frame also holds columns that are no features, such as scores of a model.
    document
        Name of the column of document ids.
    weight
        Name of the column of weights, one per document.

    Returns
    -------
    RankingData
        Features are float32 where all their columns are float32 (or float16), else float64; missing values are NaN.
        Ids are turned into strings.

    Raises
    ------
    ValueError
        If a column is missing or occurs twice, a label, query id, document id or weight is missing, a column has
        two roles, or no feature column is left.
    TypeError
        If `frame` is no DataFrame, or a column of labels, weights or features is not numeric.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"q": ["b", "b", "a"], "grade": [1, 0, 2], "bm25": [3.5, 1.0, 2.0]})
    >>> data = from_frame(frame, label="grade", query="q")
    >>> data
    RankingData(3 documents, 2 queries, 1 feature; labels 0: 1, 1: 1, 2: 1)
    >>> data.query_ids.tolist()
    ['b', 'a']
    """
    import pandas as pd

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
    if features is None:
        features = [name for name in frame.columns if name not in roles and _is_numeric(frame, name)]
    features = list(features)
    if not features:
        raise ValueError("no feature columns: frame has no numeric column besides those with another role")
    if roles & set(features):
        raise ValueError(f"column {(roles & set(features)).pop()!r} is named as a feature and in another role")
    labels = _numbers(frame, "label", label)
    codes, ids = pd.factorize(_column(frame, "query", query), use_na_sentinel=True)
    if (codes < 0).any():
        raise ValueError(f"query column {query!r} has no id in {_place(frame, codes < 0)}")
    return RankingData(
        features=_matrix(frame, features),
        labels=labels,
        qid=codes.astype(np.int64),
        query_ids=np.array([str(name) for name in ids], dtype=np.str_),
        document_ids=None if document is None else _documents(frame, document),
        weight=None if weight is None else _numbers(frame, "weight", weight),
    )


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


def _as_floats(frame: pd.DataFrame, role: str, name: Hashable) -> NDArray[np.float64]:
    """Return a numeric column as float64, its missing values as NaN."""
    column = _column(frame, role, name)
    if not _is_numeric(frame, name):
        raise TypeError(f"{role} column {name!r} must be numeric, got {column.dtype}; convert it or leave it out")
    values: NDArray[np.float64] = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return values


def _numbers(frame: pd.DataFrame, role: str, name: Hashable) -> NDArray[np.float64]:
    """Return a numeric column in which every value must be finite."""
    values = _as_floats(frame, role, name)
    wrong = ~np.isfinite(values)
    if wrong.any():
        value = values[np.argmax(wrong)]
        raise ValueError(f"{role} column {name!r} must be finite, got {value} in {_place(frame, wrong)}")
    return values


def _matrix(frame: pd.DataFrame, names: Sequence[Hashable]) -> NDArray[np.floating[Any]]:
    """Return the feature columns as one matrix."""
    narrow = all(_column(frame, "feature", name).dtype in ("float32", "float16") for name in names)
    matrix = np.empty((len(frame), len(names)), dtype=np.float32 if narrow else np.float64)
    for place, name in enumerate(names):
        matrix[:, place] = _as_floats(frame, "feature", name)
    return matrix


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
