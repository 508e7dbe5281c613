"""Ranking data from a DataFrame."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._common.arrays import numbers, refuse_unready
from .._common.distinct import factorize
from ._features import as_pandas, column_of, floats_of, is_categorical, is_numeric, matrix_of
from ._reading import distinct_texts
from .ranking_data import RankingData

if TYPE_CHECKING:
    import pandas as pd

    from .._common.typing import Frame


def from_frame(
    frame: Frame,
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
    refuse_unready("frame", frame)
    frame = as_pandas(frame, "frame")
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
        features = [name for name in others if is_numeric(frame, name) or is_categorical(frame, name)]
        taken = set(features)
        rest = [name for name in others if name not in taken]
    features = list(features)
    if not features:
        raise ValueError(
            "no feature columns: frame has no numeric or categorical column besides those with another role"
        )
    if roles & set(features):
        raise ValueError(f"column {(roles & set(features)).pop()!r} is named as a feature and in another role")
    labels = _numbers(frame, "label", label)
    codes, ids = factorize(column_of(frame, "query", query))
    if (codes < 0).any():
        raise ValueError(f"query column {query!r} has no id in {_place(frame, codes < 0)}")
    matrix, categories = matrix_of(frame, features)
    data = RankingData(
        features=matrix,
        labels=labels,
        qid=codes,
        query_ids=distinct_texts(f"query column {query!r}", list(ids)),
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


def _numbers(frame: pd.DataFrame, role: str, name: Hashable) -> NDArray[np.float64]:
    """Return a numeric column in which every value must be finite."""
    values = floats_of(frame, role, name)
    column = column_of(frame, role, name).dropna()
    numbers(f"{role} column {name!r}", np.asarray(column))  # refuses integers that no float holds
    wrong = ~np.isfinite(values)
    if wrong.any():
        value = values[np.argmax(wrong)]
        raise ValueError(f"{role} column {name!r} must be finite, got {value} in {_place(frame, wrong)}")
    return values


def _documents(frame: pd.DataFrame, name: Hashable) -> tuple[str, ...]:
    column = column_of(frame, "document", name)
    missing = column.isna().to_numpy()
    if missing.any():
        raise ValueError(f"document column {name!r} has no id in {_place(frame, missing)}")
    return tuple(str(value) for value in column.tolist())


def _place(frame: pd.DataFrame, mask: NDArray[np.bool_]) -> str:
    """Say where a mask is first true: the row by position, and by its index where that differs."""
    row = int(np.argmax(mask))
    index = frame.index[row]
    return f"row {row}" if index == row else f"row {row} (index {index})"
