"""The queries of rows: as a keyword, or as a column of the features."""

from __future__ import annotations

from typing import Any

COLUMN = "qid"
"""A column of features that holds the queries, as XGBoost's ranker knows it too."""


def columns_of(X: Any) -> list[Any]:  # noqa: N803  # as scikit-learn calls it
    """Return the names of the columns of a frame, none where it is no frame."""
    return list(getattr(X, "column_names", getattr(X, "columns", ())))


def without_queries(X: Any) -> Any:  # noqa: N803
    """Return features without the column of queries, if there is one."""
    names = columns_of(X)
    if COLUMN not in names:
        return X
    kept = [name for name in names if name != COLUMN]
    return X.select(kept) if hasattr(X, "column_names") else X[kept]


def queries_of(X: Any, qid: Any) -> Any:  # noqa: N803
    """Return the queries of the rows: `qid`, or the column of X; None where neither is there; raise if both are."""
    if COLUMN not in columns_of(X):
        return qid
    if qid is not None:
        raise ValueError("the queries are given twice, as qid= and as column 'qid' of X: leave out one of them")
    return X[COLUMN]
