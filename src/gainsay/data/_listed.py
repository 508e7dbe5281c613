"""Runs and qrels in memory, mappings or DataFrames, as the same three columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.arrays import numbers
from .._common.distinct import factorize
from .._common.names import check_ids
from ._roles import MissingColumnError, roles_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd


def frame_of(name: str, data: Any, value: str, *, empty: bool = False, also: str = "") -> pd.DataFrame:
    """Return a run or qrels as a DataFrame with columns query, document and `value`; ids are strings.

    Errors call it `name`, and say what may be given `also`. Without rows it must be allowed to be `empty`.
    """
    import pandas as pd

    if isinstance(data, Mapping):
        rows = list(_triples(name, data, value))
        check_ids(name, rows)
        given = numbers(f"{name}'s {value}", [row[2] for row in rows])  # before pandas makes floats of them
        frame = pd.DataFrame([row[:2] for row in rows], columns=["query", "document"], dtype=object)
        frame[value] = given
    elif hasattr(data, "to_pandas") or isinstance(data, pd.DataFrame):
        frame = _renamed(name, data if isinstance(data, pd.DataFrame) else data.to_pandas(), value)
    else:
        raise TypeError(
            f"{name} must be {also}a mapping {{query: {{document: {value}}}}} or a DataFrame with columns query, "
            f"document, {value}, got {type(data).__name__}"
        )
    if frame.empty and not empty:
        raise ValueError(f"{name} is empty")
    _refuse_missing_ids(name, frame)
    _refuse_merged_ids(name, frame["query"])
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


def _refuse_merged_ids(name: str, queries: pd.Series) -> None:
    """Raise where two queries have one id as text, such as 1 and "1"."""
    if queries.dtype != object:
        return
    seen: dict[str, Any] = {}
    distinct = queries.drop_duplicates()
    for text, query in zip(distinct.astype(str), distinct, strict=True):
        if seen.setdefault(text, query) != query:
            raise ValueError(
                f"{name} has the queries {seen[text]!r} and {query!r}, which are one id as text: where they are "
                "one query, make all ids strings first, else rename one of them"
            )


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
    try:
        roles = roles_of(list(frame.columns), value)
    except ValueError as error:
        raise ValueError(
            f"{name} has {error}" if isinstance(error, MissingColumnError) else f"{name}: {error}"
        ) from None
    names = {"query": "query", "document": "document", "value": value, "text": "query_text", "title": "title"}
    chosen = {column: names[role] for role, column in roles._asdict().items() if column is not None}
    return frame[list(chosen)].rename(columns=chosen)


def _refuse_missing_ids(name: str, frame: pd.DataFrame) -> None:
    """Raise where a row does not say its query or its document."""
    for column in ("query", "document"):
        missing = frame[column].isna()
        if missing.any():
            raise ValueError(
                f"{name} has no {column} in {int(missing.sum())} of {len(frame)} rows, the first is row "
                f"{int(np.argmax(missing))}; every row needs one"
            )
