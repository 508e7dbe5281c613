"""Judgments and runs as tables: delimited files with a header, DataFrames and mappings."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from .._common.arrays import numbers
from .._common.distinct import factorize
from .._common.names import check_ids
from .text import StrPath, at_line, csv_rows, file_suffix, one_line, parse_number, shown

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


class MissingColumnError(ValueError):
    """A table lacks a required column. `matches` is the number of the other required columns that it has."""

    def __init__(self, message: str, matches: int) -> None:
        super().__init__(message)
        self.matches = matches


def find_columns(columns: Sequence[Any], value: Value) -> dict[str, Any]:
    """Return the columns of a table by role: query, document, `value` and, if there are such, query_text and title.

    A `ValueError` is raised if a column is missing, two have the same name, or two could be the label.

    >>> find_columns(["Query ID", "Query Text", "Doc ID", "Rating"], "label")
    {'query': 'Query ID', 'document': 'Doc ID', 'label': 'Rating', 'query_text': 'Query Text'}
    """
    wanted = {"query": _QUERY, "document": _DOCUMENT, value: _VALUES[value], "query_text": _TEXT, "title": _TITLE}
    relevant = {_normalize(name) for names in wanted.values() for name in names}
    by_name: dict[str, Any] = {}
    for column in columns:
        name = _normalize(str(column))
        if name in by_name and name in relevant:
            both = _join_columns([by_name[name], column], " and ")
            raise ValueError(f"column names must be unique, got {both}. Rename one of them.")
        by_name[name] = column
    if value == "label" and "corpusid" in by_name and not any(_normalize(name) in by_name for name in _VALUES[value]):
        wanted[value] = ("score",)  # The collections of BEIR call labels so.
    matches = {
        role: [by_name[_normalize(name)] for name in names if _normalize(name) in by_name]
        for role, names in wanted.items()
    }
    for role in ("query", "document", value):
        if not matches[role]:
            others = ", ".join(name for name in wanted[role] if name != role) or "no other name"
            raise MissingColumnError(
                f"no column {role!r} (also accepted: {others}). Its columns are {_join_columns(columns)}.",
                sum(bool(matches[required]) for required in ("query", "document", value)),
            )
    if len(matches[value]) > 1:
        raise ValueError(
            f"{_join_columns(matches[value], ' and ')} could each be the {value}. Remove or rename all but one."
        )
    roles = {role: found[0] for role, found in matches.items() if found}
    roles.pop("query_text", None)
    texts = [column for column in matches["query_text"] if column != roles["query"]]
    return {**roles, "query_text": texts[0]} if texts else roles


def _normalize(name: str) -> str:
    """Return a column name without case, blanks, `_` and `-`."""
    return re.sub(r"[\s_-]", "", name).lower()


def _join_columns(columns: Sequence[Any], separator: str = ", ") -> str:
    return separator.join(shown(str(column)) for column in columns[:20]) + (", …" if len(columns) > 20 else "")


class _Layout(NamedTuple):
    """The separator, the header and the positions of the columns by role."""

    separator: str
    header: list[str]
    positions: dict[str, int]


def is_table(path: StrPath) -> bool:
    """Return whether a file has the suffix of a table."""
    return file_suffix(path) in _SEPARATORS


def read_table(path: StrPath, value: Value, max_bytes: int) -> pd.DataFrame | None:
    """Read judgments or a run from a delimited file with a header.

    Columns are query, document and `value`, and query_text and title if the file has them. None is returned if the
    file has no such header and may be in TREC's format.
    """
    layout = _detect_layout(path, value, max_bytes)
    if layout is None:
        return None
    return _read_rows(path, value, max_bytes, layout)


def _detect_layout(path: StrPath, value: Value, max_bytes: int) -> _Layout | None:
    """Return how to read a file, from its suffix and its first line. None if that is not a header."""
    problem, first = None, ""
    for separator in _SEPARATORS[file_suffix(path)]:
        line, header = next(_rows(path, separator, max_bytes), (1, []))
        if not header:
            raise ValueError(f"{path}: the file is empty. Expected a header and one document per line.")
        first = first or separator.join(header)
        try:
            columns = find_columns(header, value)
            return _Layout(separator, header, {role: header.index(column) for role, column in columns.items()})
        except MissingColumnError as error:
            if problem is None or error.matches > problem.matches:
                problem = error
        except ValueError as error:
            raise at_line(path, line, str(error)) from None
    assert problem is not None
    if problem.matches == 0 and not {",", ";"} & set(first) and len(first.split()) >= 4:
        return None
    raise at_line(path, line, f"the header has {problem}")


def _rows(path: StrPath, separator: str, max_bytes: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row with any text, and the number of its last line."""
    for line, cells in csv_rows(path, separator, max_bytes, strict=True):
        if any(cells):
            yield line, [cell.strip() for cell in cells]


def _read_rows(path: StrPath, value: Value, max_bytes: int, layout: _Layout) -> pd.DataFrame:
    """Read the rows with a number. Rows without a label are skipped with a warning."""
    header, positions = layout.header, layout.positions
    lines, numbers, unrated = [], [], []
    columns: dict[str, list[str]] = {name: [] for name in positions if name != value}
    ids = [positions["query"], positions["document"]]
    texts = [(position, columns[name], position in ids) for name, position in positions.items() if name != value]
    rows = _rows(path, layout.separator, max_bytes)
    next(rows)
    for line, cells in rows:
        if len(cells) != len(header):
            raise at_line(path, line, f"{len(cells)} columns, but the header has {len(header)}")
        for position in ids:
            cell = cells[position]
            if not cell or "\n" in cell:
                problem = "contains a line break" if cell else "is empty. Every row requires one."
                raise at_line(path, line, f"the column {shown(header[position])} {problem}")
        token = cells[positions[value]]
        if not token and value == "label":
            unrated.append(line)
            continue
        try:
            numbers.append(parse_number(token.encode(), value, finite=value == "label"))
        except ValueError as error:
            raise at_line(path, line, str(error)) from None
        lines.append(line)
        for position, column, is_id in texts:
            column.append(cells[position] if is_id else one_line(cells[position]))
    if not lines:
        raise ValueError(f"{path}: the file has a header, but no row with a {value}.")
    if unrated:
        warnings.warn(
            f"{path}: {len(unrated)} rows without a rating are ignored. The first is on line {unrated[0]}.",
            stacklevel=5,
        )
    order = ["query", "document", value, *(name for name in ("query_text", "title") if name in columns)]
    return build_frame(path, lines, {name: np.array(numbers) if name == value else columns[name] for name in order})


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
        rows = list(_mapping_rows(name, data, value))
        check_ids(name, rows)
        values = numbers(f"{name}'s {value}", [row[2] for row in rows])  # pandas would round large integers.
        frame = pd.DataFrame([row[:2] for row in rows], columns=["query", "document"], dtype=object)
        frame[value] = values
    elif hasattr(data, "to_pandas") or isinstance(data, pd.DataFrame):
        frame = data if isinstance(data, pd.DataFrame) else data.to_pandas()
        try:
            roles = {column: role for role, column in find_columns(list(frame.columns), value).items()}
        except MissingColumnError as error:
            raise ValueError(f"{name} has {error}") from None
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


def _mapping_rows(name: str, data: Mapping[Any, Any], value: str) -> Iterator[tuple[Any, Any, Any]]:
    """Yield query, document and number of every entry."""
    for query, documents in data.items():
        if not isinstance(documents, Mapping):
            raise TypeError(
                f"{name} must map each query to {{document: {value}}}, got {type(documents).__name__} for query "
                f"{query!r}"
            )
        for document, number in documents.items():
            yield query, document, number


def _validate_rows(name: str, frame: pd.DataFrame, value: str) -> pd.DataFrame:
    """Return a frame with ids as strings, or raise if an id or a number is missing or a document occurs twice."""
    import pandas as pd

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
    if twice.any():  # Old versions of pandas end strings at NUL, so the ids may be different.
        codes = {column: factorize(frame[column])[0] for column in ("query", "document")}
        twice = pd.DataFrame(codes).duplicated().to_numpy()
    if twice.any():
        row = frame[twice].iloc[0]
        raise ValueError(f"{name} has document {row['document']!r} of query {row['query']!r} more than once")
    return frame
