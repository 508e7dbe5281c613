"""Runs and qrels as callers pass them: paths, mappings or DataFrames, read into the same few columns."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from .._common.arrays import numbers
from .._common.distinct import factorize
from .._common.names import check_ids

if TYPE_CHECKING:
    from collections.abc import Iterator

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
    from ..data.trec import qrels_columns, run_columns

    if not isinstance(data, str | PathLike):
        return None
    columns = run_columns(data) if value == "score" else qrels_columns(data)
    if columns is None or (value == "score" and np.isneginf(columns.numbers).any()):
        return None
    return Listing(*columns)


def listing(name: str, data: Listed, value: Value, empty: bool = False) -> Listing:
    """Return a run or qrels, which errors call `name`, as a listing; without rows it must be allowed to be `empty`."""
    frame = _table(name, data, value, empty)
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


def _table(name: str, data: Any, value: str, empty: bool = False) -> pd.DataFrame:
    """Return a run or qrels as a DataFrame with columns query, document and `value`; ids are strings."""
    import pandas as pd

    if isinstance(data, str | PathLike):
        from ..data import read_qrels, read_run

        data = read_run(data) if value == "score" else read_qrels(data)
    if isinstance(data, Mapping):
        rows = list(_triples(name, data, value))
        check_ids(name, rows)
        _refuse_merged_ids(name, rows)
        given = numbers(f"{name}'s {value}", [row[2] for row in rows])  # before pandas makes floats of them
        frame = pd.DataFrame([row[:2] for row in rows], columns=["query", "document"], dtype=object)
        frame[value] = given
    elif hasattr(data, "to_pandas") or isinstance(data, pd.DataFrame):
        frame = _renamed(name, data if isinstance(data, pd.DataFrame) else data.to_pandas(), value)
    else:
        raise TypeError(
            f"{name} must be the path of a file, a mapping {{query: {{document: {value}}}}} or a DataFrame with "
            f"columns query, document, {value}, got {type(data).__name__}"
        )
    if frame.empty and not empty:
        raise ValueError(f"{name} is empty")
    numeric = numbers(f"{name}'s {value}", frame[value].to_numpy())
    frame = frame.assign(query=frame["query"].astype(str), document=frame["document"].astype(str), **{value: numeric})
    bad = np.isnan(numeric)
    if bad.any():
        at = frame[bad].iloc[0]
        raise ValueError(
            f"{name} has {int(bad.sum())} NaN, the first for document {at['document']!r} of query {at['query']!r}"
        )
    twice = frame.duplicated(["query", "document"]).to_numpy()
    if twice.any():  # or so it seems to a pandas that takes ids to end at NUL
        codes = {column: factorize(frame[column])[0] for column in ("query", "document")}
        twice = pd.DataFrame(codes).duplicated().to_numpy()
    if twice.any():
        at = frame[twice].iloc[0]
        raise ValueError(f"{name} has document {at['document']!r} of query {at['query']!r} more than once")
    return frame


def _refuse_merged_ids(name: str, rows: list[tuple[Any, Any, Any]]) -> None:
    """Raise where two queries of a mapping have one id as text, such as 1 and "1"."""
    seen: dict[str, Any] = {}
    for query in dict.fromkeys(row[0] for row in rows):
        if seen.setdefault(str(query), query) != query:
            raise ValueError(f"{name} has the queries {seen[str(query)]!r} and {query!r}, which are one id as text")


def _triples(name: str, data: Mapping[Any, Any], value: str) -> Iterator[tuple[Any, Any, Any]]:
    """Yield query, document and number of every entry."""
    for query, found in data.items():
        if not isinstance(found, Mapping):
            raise TypeError(
                f"{name} must map each query to {{document: {value}}}, got {type(found).__name__} for query {query!r}"
            )
        for document, number in found.items():
            yield query, document, number


def _renamed(name: str, frame: pd.DataFrame, value: str) -> pd.DataFrame:
    """Return the columns of a frame that are wanted, under our names."""
    from ..data._roles import MissingColumnError, roles_of

    try:
        roles = roles_of(list(frame.columns), value)
    except ValueError as error:
        raise ValueError(
            f"{name} has {error}" if isinstance(error, MissingColumnError) else f"{name}: {error}"
        ) from None
    names = {"query": "query", "document": "document", "value": value, "text": "query_text", "title": "title"}
    chosen = {column: names[role] for role, column in roles._asdict().items() if column is not None}
    renamed = frame[list(chosen)].rename(columns=chosen)
    _refuse_missing_ids(name, renamed)
    return renamed


def _refuse_missing_ids(name: str, frame: pd.DataFrame) -> None:
    """Raise where a row does not say its query or its document."""
    for column in ("query", "document"):
        missing = frame[column].isna()
        if missing.any():
            raise ValueError(
                f"{name} has no {column} in {int(missing.sum())} of {len(frame)} rows, the first is row "
                f"{int(np.argmax(missing))}; every row needs one"
            )
