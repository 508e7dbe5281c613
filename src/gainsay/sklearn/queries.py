"""The queries of rows, as a keyword or as a column of the features, and queries that a split has separated."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..judgments import Judgments

if TYPE_CHECKING:
    from .._common.typing import Floats, Integers

COLUMN = "qid"
"""The column of queries, with the name that XGBoost's ranker uses."""


def list_columns(X: Any) -> list[Any]:  # noqa: N803  # the name in scikit-learn
    """Return the names of the columns of a frame, or none for an array."""
    return list(getattr(X, "column_names", getattr(X, "columns", ())))


def drop_queries(X: Any) -> Any:  # noqa: N803
    """Return features without the column of queries."""
    names = list_columns(X)
    if COLUMN not in names:
        return X
    features = [name for name in names if name != COLUMN]
    return X.select(features) if hasattr(X, "column_names") else X[features]


def get_queries(X: Any, qid: Any) -> Any:  # noqa: N803
    """Return `qid` or the column of X, or None if both are missing. Raise an error if both are given."""
    if COLUMN not in list_columns(X):
        return qid
    if qid is not None:
        raise ValueError("the queries are given twice, as qid= and as column 'qid' of X: remove one of them")
    return X[COLUMN]


class QuerySummary(NamedTuple):
    """The queries of some rows, with the number and the sum of the labels of each query."""

    ids: np.ndarray[Any, Any]
    sizes: Integers
    sums: Floats

    @classmethod
    def create(cls, judgments: Judgments) -> QuerySummary:
        """Return the summary of the rows of some judgments."""
        labels = judgments.by_query(np.asarray(judgments.labels))
        starts = np.cumsum(judgments.sizes) - judgments.sizes
        return cls(judgments.query_ids, judgments.sizes, np.add.reduceat(labels, starts))


def validate_split(trained: QuerySummary, scored: QuerySummary) -> None:
    """Raise an error if a query is partly in the training rows. Complete queries are valid, for training scores."""
    if trained.ids.dtype.kind != scored.ids.dtype.kind:
        return
    shared, first, second = np.intersect1d(trained.ids, scored.ids, assume_unique=True, return_indices=True)
    differ = (trained.sizes[first] != scored.sizes[second]) | (trained.sums[first] != scored.sums[second])
    if differ.any():
        place = int(np.flatnonzero(differ)[0])
        raise ValueError(
            f"query {shared[place]} is split: {trained.sizes[first[place]]} of its documents were in the training rows "
            f"and {scored.sizes[second[place]]} are scored, so the score is too high ({np.count_nonzero(differ)} such "
            "queries). Use cv=GroupKFold(5), with .set_split_request(groups='qid') if metadata routing is enabled. If "
            "these are different queries, give them different ids"
        )


def find_training_queries(estimator: Any) -> QuerySummary | None:
    """Return the queries of the training rows of an estimator, or None if they are unknown.

    `GroupedLGBMRanker` stores them. For other estimators, such as `XGBRanker`, they are read from the variables of the
    function of scikit-learn that fits and scores them in a search or a cross-validation.
    """
    stored: QuerySummary | None = getattr(estimator, "training_queries_", None)
    frame = sys._getframe(1)
    while stored is None and frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code.co_name == "_fit_and_score" and frame.f_globals.get("__name__", "").startswith("sklearn."):
            variables = frame.f_locals
            rows, labels = variables.get("train"), variables.get("y")
            qid = get_queries(variables.get("X"), (variables.get("score_params") or {}).get("qid"))
            if rows is None or labels is None or qid is None:
                return None
            labels, qid = np.asarray(labels), np.asarray(qid)
            return QuerySummary.create(Judgments(labels[rows], qid=qid[rows], negative_labels="allow"))
    return stored
