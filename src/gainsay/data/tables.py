"""Judgments and runs as tables: delimited files with a header, DataFrames and mappings."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from .._common.arrays import numbers
from .._common.validation import validate_text
from .text import StrPath, at_line, csv_rows, file_suffix, is_number, one_line, parse_number, read_chunks, shown

if TYPE_CHECKING:
    import pandas as pd

Value: TypeAlias = Literal["score", "label"]
"""The number of a row: a score in runs, a label in qrels."""

_SEPARATORS = {".csv": (",", ";", "\t"), ".tsv": ("\t",)}

# Case, blanks, `_` and `-` are ignored, and the first name that occurs is used. In PyTerrier's tables, `query` is the
# text of the query `qid`, and `docid` is a number within an index. The id of a document is `docno`.
_TEXT = ("query_text", "query_string", "search_query", "search_term", "query")
_QUERY = ("query_id", "qid", "topic_id", "topic", "query", *_TEXT[:-1])
_DOCUMENT = (
    *("document", "docno", "doc_id", "document_id", "doc", "corpus_id", "passage_id", "product_id", "item_id"),
    *("product", "item", "url"),
)
_TITLE = ("title", "doc_title", "document_title", "product_title", "item_title")
_VALUES: dict[str, tuple[str, ...]] = {
    "label": ("label", "relevance", "rel", "grade", "rating", "judgment", "judgement", "relevance_grade"),
    "score": ("score",),
}


def find_columns(columns: Sequence[Any], value: Value) -> dict[str, Any]:
    """Return the columns of a table by role: query, document, `value` and, if there are such, query_text and title.

    A `ValueError` is raised if a column is missing, two have the same name, or two could be the label.

    >>> find_columns(["Query ID", "Query Text", "Doc ID", "Rating"], "label")
    {'query': 'Query ID', 'document': 'Doc ID', 'label': 'Rating', 'query_text': 'Query Text'}
    """
    accepted = {"query": _QUERY, "document": _DOCUMENT, value: _VALUES[value], "query_text": _TEXT, "title": _TITLE}
    normalized = [_normalize(str(column)) for column in columns]
    if value == "label" and "corpusid" in normalized and not {*map(_normalize, _VALUES["label"])} & {*normalized}:
        accepted[value] = ("score",)  # The collections of BEIR call labels so.
    matches = {
        role: [columns[normalized.index(name)] for name in map(_normalize, names) if name in normalized]
        for role, names in accepted.items()
    }
    for role in ("query", "document", value):
        if not matches[role]:
            others = ", ".join(name for name in accepted[role] if name != role) or "no other name"
            raise ValueError(f"no column {role!r} (also accepted: {others}). Its columns are {_join_columns(columns)}.")
    if len(matches[value]) > 1:
        both = _join_columns(matches[value], " and ")
        raise ValueError(f"{both} could each be the {value}. Remove or rename all but one.")
    roles = {role: matches[role][0] for role in ("query", "document", value)}
    texts = [column for column in matches["query_text"] if column != roles["query"]]
    roles |= {role: names[0] for role, names in (("query_text", texts), ("title", matches["title"])) if names}
    for column in roles.values():
        same = [name for name in columns if _normalize(str(name)) == _normalize(str(column))]
        if len(same) > 1:
            raise ValueError(f"column names must be unique, got {_join_columns(same, ' and ')}. Rename one of them.")
    return roles


def _normalize(name: str) -> str:
    """Return a column name without case, blanks, `_` and `-`."""
    return re.sub(r"[\s_-]", "", name).lower()


def _join_columns(columns: Sequence[Any], separator: str = ", ") -> str:
    return separator.join(shown(str(column)) for column in columns[:20]) + (", …" if len(columns) > 20 else "")


def is_table(path: StrPath) -> bool:
    """Return whether a file has the suffix of a table."""
    return file_suffix(path) in _SEPARATORS


def read_table(path: StrPath, value: Value, max_bytes: int) -> pd.DataFrame | None:
    """Read judgments or a run from a delimited file with a header, or return None for a file in TREC's format.

    Columns are query, document and `value`, and query_text and title if the file has them. Rows without a label are
    skipped with a warning.
    """
    chunks = read_chunks(path, max_bytes=max_bytes, cells=True)
    first = next((text for chunk in chunks for text in chunk.text.split(b"\n") if text.strip()), b"")
    if not first:
        raise ValueError(f"{path}: the file is empty. Expected a header and one document per line.")
    separator = max(_SEPARATORS[file_suffix(path)], key=first.decode().count)
    names_query = not set(map(_normalize, _QUERY)).isdisjoint(map(_normalize, first.decode().split(separator)))
    if is_number(b"".join(first.split()[3:4])) and not names_query:  # a rank or a grade
        return None
    rows = ((line, cells) for line, cells in csv_rows(path, separator, max_bytes, strict=True) if any(cells))
    line, cells = next(rows, (1, []))
    header = [cell.strip() for cell in cells]
    try:
        names = find_columns(header, value)
    except ValueError as error:
        raise at_line(path, line, str(error)) from None
    positions = {role: header.index(name) for role, name in names.items()}
    lines: list[int] = []
    unrated: list[int] = []
    columns: dict[str, Any] = {role: [] for role in positions}
    targets = [(columns[role], position) for role, position in positions.items()]
    for line, cells in rows:
        if len(cells) != len(header):
            raise at_line(path, line, f"{len(cells)} columns, but the header has {len(header)}")
        if value == "label" and not cells[positions[value]].strip():
            unrated.append(line)
            continue
        lines.append(line)
        for column, position in targets:
            column.append(cells[position].strip())
    if not lines:
        raise ValueError(f"{path}: the file has a header, but no row with a {value}.")
    if unrated:
        warnings.warn(
            f"{path}: {len(unrated)} rows without a rating are ignored. The first is on line {unrated[0]}.",
            stacklevel=4,
        )
    for role in ("query", "document"):
        for line, cell in zip(lines, columns[role], strict=True):
            if not cell or "\n" in cell:
                problem = "contains a line break" if cell else "is empty. Every row requires one."
                raise at_line(path, line, f"the column {shown(names[role])} {problem}")
    numbers = []
    for line, cell in zip(lines, columns[value], strict=True):
        try:
            numbers.append(parse_number(cell.encode(), value, finite=value == "label"))
        except ValueError as error:
            raise at_line(path, line, str(error)) from None
    columns[value] = np.array(numbers)
    for role in columns.keys() & {"query_text", "title"}:
        columns[role] = list(map(one_line, columns[role]))
    return build_frame(path, lines, columns)


def build_frame(path: StrPath, lines: list[int], columns: Mapping[str, Any]) -> pd.DataFrame:
    """Return the columns of a file as a DataFrame, or raise if a document occurs twice in a query.

    `lines` are the line numbers of the rows.
    """
    import pandas as pd

    frame = pd.DataFrame(columns)
    again = frame.duplicated(["query", "document"]).to_numpy()
    if again.any():
        row = int(np.argmax(again))
        query, document = frame["query"].iloc[row], frame["document"].iloc[row]
        first = int(np.argmax(((frame["query"] == query) & (frame["document"] == document)).to_numpy()))
        raise at_line(
            path,
            lines[row],
            f"document {shown(document)} of query {shown(query)} already occurs on line {lines[first]}",
        )
    return frame


def convert_to_frame(name: str, data: Any, value: Value, *, empty: bool = False, expected: str = "") -> pd.DataFrame:
    """Return a run or qrels as a DataFrame with columns query, document and `value`. Ids are strings.

    Error messages start with `name` and list what is `expected` in addition to mappings and DataFrames. Data without
    rows are accepted if `empty`.
    """
    import pandas as pd

    if isinstance(data, Mapping):
        for query, documents in data.items():
            if not isinstance(documents, Mapping):
                raise TypeError(
                    f"{name} must map each query to {{document: {value}}}, got {type(documents).__name__} for query "
                    f"{query!r}"
                )
        rows = [(query, document, number) for query, entries in data.items() for document, number in entries.items()]
        for text in itertools.chain.from_iterable(row[:2] for row in rows):
            if isinstance(text, str) and not text.isascii():
                validate_text(f"the id {text!r} of {name}", text)
        values = numbers(f"{name}'s {value}", [row[2] for row in rows])  # pandas would round large integers.
        frame = pd.DataFrame([row[:2] for row in rows], columns=["query", "document"], dtype=object)
        frame[value] = values
    elif hasattr(data, "to_pandas") or isinstance(data, pd.DataFrame):
        frame = data if isinstance(data, pd.DataFrame) else data.to_pandas()
        try:
            roles = {column: role for role, column in find_columns(list(frame.columns), value).items()}
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        frame = frame[list(roles)].rename(columns=roles)
    else:
        raise TypeError(
            f"{name} must be {expected}a mapping {{query: {{document: {value}}}}} or a DataFrame with columns query, "
            f"document, {value}, got {type(data).__name__}"
        )
    if frame.empty and not empty:
        raise ValueError(f"{name} is empty")
    return _validate_rows(name, frame, value)


def _validate_rows(name: str, frame: pd.DataFrame, value: str) -> pd.DataFrame:
    """Return a frame with ids as strings, or raise if an id or a number is missing or a document occurs twice."""
    for column in ("query", "document"):
        missing = frame[column].isna().to_numpy()
        if missing.any():
            raise ValueError(
                f"{name} has no {column} in {missing.sum()} of {len(frame)} rows, the first is row {missing.argmax()}. "
                "Every row requires one."
            )
    if frame["query"].dtype == object:
        originals: dict[str, Any] = {}
        distinct = frame["query"].drop_duplicates()
        for text, query in zip(distinct.astype(str), distinct, strict=True):
            if originals.setdefault(text, query) != query:
                raise ValueError(
                    f"{name} has the queries {originals[text]!r} and {query!r}, which are the same text. Convert all "
                    "ids to strings if they are one query, otherwise rename one of them."
                )
    values = numbers(f"{name}'s {value}", frame[value].to_numpy())
    frame = frame.assign(query=frame["query"].astype(str), document=frame["document"].astype(str), **{value: values})
    if (bad := np.isnan(values)).any():
        row = frame[bad].iloc[0]
        raise ValueError(
            f"{name} has {bad.sum()} NaN, the first for document {row['document']!r} of query {row['query']!r}"
        )
    twice = frame.duplicated(["query", "document"]).to_numpy()
    if twice.any():
        row = frame[twice].iloc[0]
        raise ValueError(f"{name} has document {row['document']!r} of query {row['query']!r} more than once")
    return frame
