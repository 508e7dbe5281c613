"""Runs (retrieved documents) and qrels (judged documents) in TREC's formats."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsFloat

import numpy as np

from .._common.arrays import twice
from .arrow import Kind, collapse_blanks, parse_columns
from .tables import Value, build_frame, convert_to_frame, is_table, read_table
from .text import BOM, CONTROL, MAX_BYTES, StrPath, at_line, numbered_lines, parse_number, read_chunks, shown

if TYPE_CHECKING:
    import pandas as pd

    from .._common.typing import Floats, Frame, Integers


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


def read_run(path: StrPath, *, max_bytes: int = MAX_BYTES) -> pd.DataFrame:
    r"""Read a run in TREC's format `topic Q0 document rank score tag`, or from a table.

    Columns are separated by blanks or tabs. The rank and words after the tag are ignored. A file named `.csv` or `.tsv`
    with a header is read as a table of queries, documents and scores (see `read_qrels`).

    Parameters
    ----------
    path : str or path-like
        The file, plain or gzip.
    max_bytes : int
        Maximum size of the text after decompression. Defaults to 16 GiB.

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
    return _read(path, "score", max_bytes)


def read_qrels(path: StrPath, *, max_bytes: int = MAX_BYTES) -> pd.DataFrame:
    r"""Read qrels in TREC's format `topic iteration document grade`, or from a table.

    Columns are separated by blanks or tabs. A file named `.csv` or `.tsv` (or `.csv.gz`) with a header is read as a
    table, as Quepid and spreadsheets write it. See Notes.

    Parameters
    ----------
    path : str or path-like
        The file, plain or gzip.
    max_bytes : int
        Maximum size of the text after decompression. Defaults to 16 GiB.

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
    return _read(path, "label", max_bytes)


class Listing(NamedTuple):
    """The rows of a run or of qrels, in file order."""

    ids: list[str]
    """The distinct ids of queries, in order of their first row."""
    query: Integers
    """The query of each row, as its position in `ids`."""
    documents: Any
    """The id of each row's document: a `pandas.Series` or a `pyarrow.ChunkedArray` of text."""
    values: Floats
    texts: Mapping[str, str] = MappingProxyType({})
    """Query texts by query id."""
    titles: Any = None
    """The title of each row's document, or None if there are no titles."""


def read_listing(path: StrPath, value: Value, max_bytes: int = MAX_BYTES) -> Listing | None:
    """Return a run or qrels as a listing, or None if `read_run` or `read_qrels` has to read the file.

    A document may occur twice in a query.
    """
    if is_table(path):
        return None
    form = _FORMATS[value]
    texts = (collapse_blanks(chunk.text) for chunk in read_chunks(path, max_bytes=max_bytes))
    kinds: dict[int, Kind] = {0: "category", 2: "text", form.position: "number"}
    table = parse_columns(texts, " ", kinds, form.min_fields, form.max_fields)
    if table is None:
        return None
    queries, documents, values = table.columns
    numbers = values.to_numpy()
    if not (np.isfinite(numbers) if value == "label" else ~np.isnan(numbers)).all():
        return None
    queries = queries.combine_chunks()
    return Listing(queries.dictionary.to_pylist(), queries.indices.to_numpy().astype(np.int64), documents, numbers)


def _read(path: StrPath, value: Value, max_bytes: int) -> pd.DataFrame:
    import pandas as pd

    if is_table(path):
        table = read_table(path, value, max_bytes)
        if table is not None:
            return table
    listing = read_listing(path, value, max_bytes)
    if listing is not None:
        encoded = listing.documents.dictionary_encode().combine_chunks()
        if not twice(listing.query * len(encoded.dictionary) + encoded.indices.to_numpy()):
            kind = pd.Series([""]).dtype  # The type of text depends on the version of pandas.
            queries = pd.Series(listing.ids, dtype=kind).take(listing.query).reset_index(drop=True)
            documents = pd.Series(listing.documents.to_pandas(), dtype=kind)
            return pd.DataFrame({"query": queries, "document": documents, value: listing.values})
    return _parse_lines(path, value, max_bytes)


def _parse_lines(path: StrPath, value: Value, max_bytes: int) -> pd.DataFrame:
    """Read a file line by line, or raise with the first problem and its line."""
    lines, queries, documents, numbers = [], [], [], []
    ids: dict[bytes, str] = {}  # One string per query instead of one per line.
    for chunk in read_chunks(path, max_bytes=max_bytes):
        for line, text in numbered_lines(chunk):
            fields = text.split()
            if not fields:
                continue
            try:
                numbers.append(_parse_fields(fields, value))
            except ValueError as error:
                raise at_line(path, line, f"{error}. Expected '{_FORMATS[value].line}'.") from None
            queries.append(ids.get(fields[0]) or ids.setdefault(fields[0], fields[0].decode()))
            documents.append(fields[2].decode())
            lines.append(line)
    if not lines:
        raise ValueError(f"{os.fspath(path)}: the file is empty. Expected lines '{_FORMATS[value].line}'.")
    return build_frame(path, lines, {"query": queries, "document": documents, value: np.array(numbers)})


def _parse_fields(fields: list[bytes], value: Value) -> float:
    """Return the number of a line, or raise ValueError with the problem."""
    form = _FORMATS[value]
    if len(fields) < form.min_fields:
        raise ValueError(f"{len(fields)} columns in {shown(b' '.join(fields))}")
    if len(fields) > form.max_fields:
        raise ValueError(f"{len(fields)} columns (read_run reads runs)")
    return parse_number(fields[form.position], value, finite=value == "label")


def write_run(run: Mapping[Any, Mapping[Any, SupportsFloat]] | Frame, path: StrPath, tag: str = "gainsay") -> None:
    """Write a run in TREC's format, with documents by descending score.

    Queries, and documents with equal scores, keep their order. Scores are written so that they read back exactly.

    Parameters
    ----------
    run : mapping or DataFrame
        A mapping ``{query: {document: score}}``, or a DataFrame with columns `query`, `document` and `score`, as for
        `gainsay.evaluate_run`.
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
