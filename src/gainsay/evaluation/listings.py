"""Runs and qrels as callers pass them: paths, mappings or DataFrames, read into the same few columns."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from .._common.distinct import factorize

if TYPE_CHECKING:
    import pandas as pd

    from .._common.typing import Floats, Integers, Listed

Value = Literal["score", "label"]
"""What a run has, and what qrels have."""


class Listing(NamedTuple):
    """The rows of a run or of qrels."""

    ids: list[str]
    """The distinct ids of queries, in order of their first row."""
    query: Integers
    """The query of each row, as its place among them."""
    documents: Any
    """The id of each row's document: a `pandas.Series` or a `pyarrow.ChunkedArray` of text."""
    values: Floats
    texts: Mapping[str, str] = MappingProxyType({})
    """What was asked, by the id of the query, as far as that is known."""
    titles: Any = None
    """The title of each row's document, an array of text; None where there are none."""


def fast_listing(data: Listed, value: Value) -> Listing | None:
    """Return a file as a listing, None for all else and where a file has to be looked at line by line.

    A document may stand twice in a query.
    """
    from ..data.trec import read_columns

    if not isinstance(data, str | PathLike):
        return None
    columns = read_columns(data, value)
    if columns is None or (value == "score" and np.isneginf(columns.values).any()):
        return None
    return Listing(*columns)


def listing(name: str, data: Listed, value: Value, empty: bool = False) -> Listing:
    """Return a run or qrels, which errors call `name`, as a listing; without rows it must be allowed to be `empty`."""
    from ..data import read_qrels, read_run
    from ..data.tables import convert_to_frame

    if isinstance(data, str | PathLike):
        data = read_run(data) if value == "score" else read_qrels(data)
    frame = convert_to_frame(name, data, value, empty=empty, expected="the path of a file, ")
    if value == "score":
        _refuse_unretrieved(name, frame)
    query, found = factorize(frame["query"])
    ids = list(map(str, found))
    titles = _texts(frame["title"]) if "title" in frame else None
    return Listing(ids, query, frame["document"], frame[value].to_numpy(), _texts_of_queries(frame, ids, query), titles)


def _texts_of_queries(frame: pd.DataFrame, ids: list[str], query: Integers) -> Mapping[str, str]:
    """Return the first text of each query that has one."""
    if "query_text" not in frame:
        return {}
    texts = _texts(frame["query_text"])
    rows = np.flatnonzero(texts != "")
    places, first = np.unique(query[rows], return_index=True)
    return {ids[place]: texts[row] for place, row in zip(places.tolist(), rows[first].tolist(), strict=True)}


def _texts(column: pd.Series) -> np.ndarray[Any, Any]:
    """Return a column as an array of text, empty where there is none."""
    return np.where(column.isna(), "", column.astype(object).map(str)).astype(object)


def _refuse_unretrieved(name: str, frame: pd.DataFrame) -> None:
    """Raise where a document stands in a run with the score of one that was not retrieved."""
    if np.isneginf(frame["score"]).any():
        at = frame[np.isneginf(frame["score"])].iloc[0]
        raise ValueError(
            f"{name} gives document {at['document']!r} of query {at['query']!r} the score -inf; leave out documents "
            "that were not retrieved"
        )
