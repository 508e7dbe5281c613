"""Runs (retrieved documents) and qrels (judged documents): TREC's formats, tables with a header, and mappings."""

from __future__ import annotations

import gzip
import itertools
import os
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, SupportsFloat, TypeAlias

import numpy as np

from .._common.arrays import numbers, twice
from .._common.text import agree, pluralize
from .._common.validation import prefix_errors, validate_text
from .text import (
    BOM,
    CONTROL,
    StrPath,
    at_line,
    collapse_blanks,
    csv_rows,
    decode_fields,
    encode_fields,
    file_suffix,
    is_number,
    list_columns,
    numbered_lines,
    one_line,
    parse_fields,
    parse_number,
    read_chunks,
    read_fields,
    shown,
)

if TYPE_CHECKING:
    import pandas as pd

    from .._common.typing import Floats, Frame, Integers


Value: TypeAlias = Literal["score", "label"]
"""The number of a row: a score in runs, a label in qrels."""


class _Format(NamedTuple):
    line: str
    position: int
    """The position of the number in a line."""
    min_fields: int
    max_fields: int


_FORMATS: dict[str, _Format] = {
    "score": _Format("topic Q0 document rank score tag", 4, 6, sys.maxsize),
    "label": _Format("topic iteration document grade", 3, 4, 4),
}
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


def read_run(path: StrPath) -> pd.DataFrame:
    r"""Read a run in TREC's format `topic Q0 document rank score tag`, or from a table.

    Columns are separated by blanks or tabs. The rank and words after the tag are ignored. A file named `.csv` or `.tsv`
    with a header is read as a table of queries, documents and scores (see `read_qrels`).

    Parameters
    ----------
    path : str or path-like
        The file, plain or gzip.

    Returns
    -------
    DataFrame
        Columns `query` and `document` (str, as in the file, so "301" and "NA" stay text) and `score` (float64, may be
        infinite). Rows are in file order.

    Raises
    ------
    ValueError
        If a line has too few columns, a score is not a number, a document occurs twice in a query, or a table lacks a
        column. The message names the file and the line.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "results.txt"
    >>> _ = path.write_text("301 Q0 FR94-1 1 2.5 STANDARD\n301 Q0 FR94-2 2 1.5 STANDARD\n")
    >>> read_run(path)
      query document  score
    0   301   FR94-1    2.5
    1   301   FR94-2    1.5
    """
    return _read(path, "score")


def read_qrels(path: StrPath) -> pd.DataFrame:
    r"""Read qrels in TREC's format `topic iteration document grade`, or from a table.

    Columns are separated by blanks or tabs. A file named `.csv` or `.tsv` (or `.csv.gz`) with a header is read as a
    table, as Quepid and spreadsheets write it. See Notes.

    Parameters
    ----------
    path : str or path-like
        The file, plain or gzip.

    Returns
    -------
    DataFrame
        Columns `query` and `document` (str, as in the file) and `label` (float64, may be negative). Rows are in file
        order. A table may also have the texts of queries (`query_text`) and the titles of documents (`title`).

    Raises
    ------
    ValueError
        If a line has a wrong number of columns, a grade is not a finite number, a document occurs twice in a query, or
        a table lacks a column. The message names the file and the line.

    Notes
    -----
    Tables are separated by commas, semicolons or tabs, and cells can be in double quotes. Columns are recognized by
    their names: `query_id`, `qid`, `topic` or `query`; `document`, `docno`, `doc_id`, `corpus-id`, `product_id`, `url`,
    …; `label`, `relevance`, `grade`, `rating` or `judgment`. Case, blanks, `_` and `-` are ignored, and so are all
    other columns. Rows without a rating are skipped with a warning.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "qrels.txt"
    >>> _ = path.write_text("301 0 FR94-1 1\n301 0 FR94-2 0\n")
    >>> read_qrels(path)
      query document  label
    0   301   FR94-1    1.0
    1   301   FR94-2    0.0
    >>> path = path.with_name("quepid.csv")
    >>> _ = path.write_text('query,docid,rating\nstar wars,11,3\n"6"" pipe, steel",802,0\n')
    >>> read_qrels(path)
                query document  label
    0       star wars       11    3.0
    1  6" pipe, steel      802    0.0
    """
    return _read(path, "label")


class Listing(NamedTuple):
    """The rows of a run or of qrels, in file order."""

    ids: list[str]
    """The distinct ids of queries, in order of their first row."""
    query: Integers
    """The query of each row, as its position in `ids`."""
    documents: Any
    """The id of each row's document: a `pandas.Series` of text, or `Fields`."""
    values: Floats
    texts: Mapping[str, str] = MappingProxyType({})
    """Query texts by query id."""
    titles: Any = None
    """The title of each row's document, or None if there are no titles."""


def read_listing(path: StrPath, value: Value) -> Listing | None:
    """Return a run or qrels as a listing, or None if `read_run` or `read_qrels` has to read the file.

    A document may occur twice in a query.
    """
    if file_suffix(path) in _SEPARATORS:
        return None
    form = _FORMATS[value]
    texts = (collapse_blanks(chunk.text) for chunk in read_chunks(path))
    columns = read_fields(texts, " ", (0, 2, form.position), form.min_fields, form.max_fields)
    if columns is None:
        return None
    queries, documents, numbers = columns
    values = parse_fields(numbers)
    if values is None or not (np.isfinite(values) if value == "label" else ~np.isnan(values)).all():
        return None
    codes, distinct = encode_fields(queries)
    return Listing(decode_fields(distinct), codes, documents, values)


def _read(path: StrPath, value: Value) -> pd.DataFrame:
    import pandas as pd

    if file_suffix(path) in _SEPARATORS:
        table = _read_table(path, value)
        if table is not None:
            return table
    listing = read_listing(path, value)
    if listing is not None:
        codes, distinct = encode_fields(listing.documents)
        if not twice(listing.query * len(distinct) + codes):
            columns = {"query": (listing.ids, listing.query), "document": (decode_fields(distinct), codes)}
            ids = {name: pd.Series(texts).take(rows).reset_index(drop=True) for name, (texts, rows) in columns.items()}
            return pd.DataFrame({**ids, value: listing.values})
    return _parse_lines(path, value)


def _parse_lines(path: StrPath, value: Value) -> pd.DataFrame:
    """Read a file line by line, or raise with the first problem and its line."""
    form = _FORMATS[value]
    lines, queries, documents, values = [], [], [], []
    ids: dict[bytes, str] = {}  # One string per query instead of one per line.
    for chunk in read_chunks(path):
        for line, text in numbered_lines(chunk):
            fields = text.split()
            if not fields:
                continue
            try:
                if not form.min_fields <= len(fields) <= form.max_fields:
                    hint = " (read_run reads runs)" if len(fields) > form.max_fields else ""
                    raise ValueError(f"{len(fields)} columns in {shown(b' '.join(fields))}{hint}")
                values.append(parse_number(fields[form.position], value, finite=value == "label"))
            except ValueError as error:
                raise at_line(path, line, f"{error}. Expected '{form.line}'.") from None
            queries.append(ids.get(fields[0]) or ids.setdefault(fields[0], fields[0].decode()))
            documents.append(fields[2].decode())
            lines.append(line)
    if not lines:
        raise ValueError(f"{os.fspath(path)}: the file is empty. Expected lines '{form.line}'.")
    return _build_frame(path, lines, {"query": queries, "document": documents, value: np.array(values)})


def _read_table(path: StrPath, value: Value) -> pd.DataFrame | None:
    """Read judgments or a run from a delimited file with a header, or return None for a file in TREC's format.

    Columns are query, document and `value`, and query_text and title if the file has them. Rows without a label are
    skipped with a warning.
    """
    chunks = read_chunks(path, cells=True)
    first = next((text for chunk in chunks for text in chunk.text.split(b"\n") if text.strip()), b"")
    if not first:
        raise ValueError(f"{path}: the file is empty. Expected a header and one document per line.")
    separator = max(_SEPARATORS[file_suffix(path)], key=first.decode().count)
    names_query = not set(map(_normalize, _QUERY)).isdisjoint(map(_normalize, first.decode().split(separator)))
    if is_number(b"".join(first.split()[3:4])) and not names_query:  # a rank or a grade
        return None
    rows = ((line, cells) for line, cells in csv_rows(path, separator) if any(cells))
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
            f"{path}: {pluralize(len(unrated), 'row')} without a rating {agree(len(unrated), 'are')} ignored. "
            f"The first is on line {unrated[0]}.",
            stacklevel=4,
        )
    for role in ("query", "document"):
        for line, cell in zip(lines, columns[role], strict=True):
            if not cell or "\n" in cell:
                problem = "contains a line break" if cell else "is empty. Every row requires one."
                raise at_line(path, line, f"the column {shown(names[role])} {problem}")
    for row, cell in enumerate(columns[value]):
        try:
            columns[value][row] = parse_number(cell.encode(), value, finite=value == "label")
        except ValueError as error:
            raise at_line(path, lines[row], str(error)) from None
    for role in columns.keys() & {"query_text", "title"}:
        columns[role] = list(map(one_line, columns[role]))
    return _build_frame(path, lines, columns)


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
            raise ValueError(f"no column {role!r} (also accepted: {others}). Its columns are {list_columns(columns)}.")
    if len(matches[value]) > 1:
        both = list_columns(matches[value], " and ")
        raise ValueError(f"{both} could each be the {value}. Remove or rename all but one.")
    roles = {role: matches[role][0] for role in ("query", "document", value)}
    texts = [column for column in matches["query_text"] if column != roles["query"]]
    roles |= {role: names[0] for role, names in (("query_text", texts), ("title", matches["title"])) if names}
    for column in roles.values():
        same = [name for name in columns if _normalize(str(name)) == _normalize(str(column))]
        if len(same) > 1:
            raise ValueError(f"column names must be unique, got {list_columns(same, ' and ')}. Rename one of them.")
    return roles


def _normalize(name: str) -> str:
    """Return a column name without case, blanks, `_` and `-`."""
    return re.sub(r"[\s_-]", "", name).lower()


def _build_frame(path: StrPath, lines: list[int], columns: Mapping[str, Any]) -> pd.DataFrame:
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


def write_run(run: Mapping[Any, Mapping[Any, SupportsFloat]] | Frame, path: StrPath, tag: str = "gainwise") -> None:
    """Write a run in TREC's format, with documents by descending score.

    Queries, and documents with equal scores, keep their order. Scores are written so that they read back exactly.

    Parameters
    ----------
    run : mapping or DataFrame
        A mapping ``{query: {document: score}}``, or a DataFrame with columns `query`, `document` and `score`, as for
        `gainwise.evaluate_run`.
    path : str or path-like
        The file to write. It is compressed with gzip if its name ends with ".gz".
    tag : str
        Name of the run, one word.

    Raises
    ------
    ValueError
        If the run is empty, a column is missing, an id is missing or contains blanks, two query ids are the same text
        (1 and "1"), a score is NaN or an integer beyond 2**53, or a document occurs twice in a query.
    TypeError
        If a score is not a number.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "run.txt"
    >>> write_run({"301": {"FR94-1": 1.5, "FR94-2": 2.5}}, path, tag="mine")
    >>> print(path.read_text(), end="")
    301 Q0 FR94-2 1 2.5 mine
    301 Q0 FR94-1 2 1.5 mine
    """
    if not isinstance(tag, str) or not _is_word(tag):
        raise ValueError(f"tag must be one word, got {tag!r}")
    frame = convert_to_frame("run", run, "score")
    for name in ("query", "document"):
        wrong = next((text for text in dict.fromkeys(frame[name]) if not _is_word(text)), None)
        if wrong is not None:
            raise ValueError(f"{name} ids must be words without blanks, got {wrong!r}")
    # Codes in order of first appearance keep the order of queries, a stable sort that of tied documents.
    codes = frame["query"].factorize()[0]
    order = np.lexsort((-frame["score"].to_numpy(), codes))
    sizes = np.bincount(codes)
    ranks = np.arange(1, len(frame) + 1) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    columns = (frame[name].to_numpy()[order].tolist() for name in ("query", "document", "score"))
    text = "".join(
        f"{query} Q0 {document} {rank} {score!r} {tag}\n"
        for query, document, score, rank in zip(*columns, ranks.tolist(), strict=True)
    ).encode()
    if text.startswith(BOM):  # Readers remove one mark, which here belongs to the first id.
        text = BOM + text
    # Without a time stamp, equal runs give equal files.
    data = gzip.compress(text, mtime=0) if os.fspath(path).endswith(".gz") else text
    with open(path, "wb") as stream:
        stream.write(data)


def _is_word(text: str) -> bool:
    """Return whether `read_run` reads a text as one field. Only ASCII blanks separate fields."""
    try:
        field = text.encode()
    except UnicodeEncodeError:
        return False
    return field.split() == [field] and field.translate(None, CONTROL) == field


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
        with prefix_errors(f"{name}: "):
            roles = {column: role for role, column in find_columns(list(frame.columns), value).items()}
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
    distinct = frame["query"].drop_duplicates()
    texts = distinct.astype(str)
    if texts.duplicated().any():
        first, second, *_ = distinct[texts == texts[texts.duplicated()].iloc[0]]
        raise ValueError(
            f"{name} has the queries {first!r} and {second!r}, which are the same text. Convert all ids to strings if "
            "they are one query, otherwise rename one of them."
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
