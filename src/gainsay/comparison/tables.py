"""Comparison of models whose scores are columns of a table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.words import pluralize
from ..data.features import as_pandas
from ..data.tables import get_column, read_table
from ..data.text import one_line
from ..judgments import Judgments
from .compare import compare

if TYPE_CHECKING:
    import pandas as pd

    from .._common.typing import FilePath, Frame
    from ..metrics.names import MetricLike
    from .comparison import Comparison


def compare_table(
    frame: FilePath | Frame,
    scores: Sequence[str] | Mapping[str, str | Sequence[str]],
    metrics: MetricLike | Iterable[MetricLike] | None = None,
    *,
    query: str = "query",
    label: str = "label",
    document: str | None = None,
    weight: str | None = None,
    segments: str | Sequence[str] | None = None,
    clusters: str | None = None,
    **options: Any,
) -> Comparison:
    """Compare models whose scores are columns of a table with one row per query and document.

    Parameters
    ----------
    frame : DataFrame of pandas or polars, Arrow table, or path
        The table. Files are CSV, TSV (also compressed with gzip) or Parquet.
    scores : sequence of str, or mapping of name to column or columns
        The columns of scores, one per model. A mapping names the models, and a list of three or more columns is the
        repeats of a training recipe.
    metrics : str, Metric or iterable of these, optional
        Metrics to compare, as in `compare`.
    query, label : str, default "query" and "label"
        The columns of query ids and of relevance labels.
    document : str, optional
        The column of document ids. If you pass it, a document may occur only once in a query.
    weight : str, optional
        The column of weights. The weight of a query is the mean over its rows.
    segments : str or sequence of str, optional
        Columns with the segment of each query.
    clusters : str, optional
        The column with the cluster of each query.
    **options
        Other arguments of `compare`, for example ``baseline="current"`` and ``margin=0.005``.

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If a column does not exist, has two roles or missing values, a document occurs twice in a query, or scores are
        equal to the labels in every row.

    Examples
    --------
    >>> import pandas as pd
    >>> import gainsay as gs
    >>> frame = pd.DataFrame({"query": ["a", "a", "b", "b"], "label": [1, 0, 2, 1], "old": [1, 2, 1, 2]})
    >>> frame["new"] = [0.7, 0.1, 0.9, 0.2]
    >>> gs.compare_table(frame, scores=["old", "new"]).winners["ndcg_exp@10"]
    'new'
    """
    if isinstance(frame, str | os.PathLike):
        source, table = os.fspath(frame), read_table(Path(frame), text=query)
    else:
        source, table = "frame", as_pandas(frame, "frame")
    if isinstance(scores, str):
        raise TypeError(f"scores must be a list of columns, got {scores!r}. Pass scores=[{scores!r}].")
    models = dict(scores) if isinstance(scores, Mapping) else {name: name for name in scores}
    names = [segments] if isinstance(segments, str) else list(segments or ())
    columns: dict[str, Any] = {"query": query, "label": label, "document": document, "weight": weight}
    arguments = read_score_table(table, models, **columns, segments=names, clusters=clusters, source=source)
    return compare(**arguments, metrics=metrics, **options)


def read_score_table(
    table: pd.DataFrame,
    models: Mapping[str, str | Sequence[str]],
    *,
    query: str,
    label: str,
    document: str | None = None,
    weight: str | None = None,
    segments: Sequence[str] = (),
    clusters: str | None = None,
    source: str = "frame",
) -> dict[str, Any]:
    """Return the arguments of `compare`. `source` is the name of the table in errors."""
    if not models:
        raise ValueError("scores must name at least one column, got none.")
    roles = {"query": query, "label": label, "document": document, "weight": weight}
    columns = {role: get_column(table, name, source, role) for role, name in roles.items() if name is not None}
    for role, column in columns.items():
        missing = column.isna()
        if missing.any():
            raise ValueError(
                f"{source}: the {role} column {roles[role]!r} has {pluralize(int(missing.sum()), 'missing value')}, "
                f"the first in row {missing.to_numpy().argmax()} (from 0). Remove these rows or add the values."
            )
    if document is not None:
        repeated = table.duplicated([query, document]).to_numpy()
        if repeated.any():
            row = int(repeated.argmax())
            query_id, document_id = (columns[role].tolist()[row] for role in ("query", "document"))
            raise ValueError(
                f"{source}: document {document_id!r} of query {query_id!r} occurs "
                f"again in row {row} (from 0). Keep one row per query and document."
            )
    labels = columns["label"].to_numpy()

    def read_scores(name: str) -> Any:
        role = next((role for role, column in roles.items() if column == name), None)
        if role is not None:
            raise ValueError(f"scores must not contain {name!r}, which is the {role} column.")
        column = get_column(table, name, source)
        if not (labels == labels[:1]).all() and np.array_equal(column.to_numpy(), labels):
            raise ValueError(f"{source}: column {name!r} is equal to the label in every row, so it is not a score.")
        return column.to_numpy()

    scores = {
        name: read_scores(selected) if isinstance(selected, str) else [read_scores(column) for column in selected]
        for name, selected in models.items()
    }
    try:
        weights = None if weight is None else columns["weight"].to_numpy()
        judgments = Judgments(labels, qid=columns["query"].to_numpy(), weight=weights)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{source}: {one_line(error)}") from None
    return {
        "models": scores,
        "judgments": judgments,
        "segments": {name: get_column(table, name, source).tolist() for name in segments} or None,
        "clusters": None if clusters is None else get_column(table, clusters, source).tolist(),
    }
