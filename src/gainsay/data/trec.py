"""Runs (what a system retrieved) and qrels (what assessors judged) as DataFrames: TREC's formats, and tables."""

from __future__ import annotations

import gzip
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsFloat

import numpy as np

from .._common.arrays import twice
from ._arrow import Kind, blank_separated
from ._listed import frame_of
from ._numbers import number_of
from ._separated import is_table, read_table, refuse_repeated
from ._text import BOM, CONTROL, MAX_BYTES, StrPath, at_line, numbered_lines, read_chunks, shown

if TYPE_CHECKING:
    import pandas as pd

    from .._common.typing import Floats, Frame, Integers


class _Form(NamedTuple):
    """What a line of one of the two formats looks like."""

    pattern: str
    place: int  # of the number
    number: str  # what it is called
    finite: bool
    least: int
    most: int | None


_RUN = _Form("topic Q0 document rank score tag", 4, "score", finite=False, least=6, most=None)
_QRELS = _Form("topic iteration document grade", 3, "grade", finite=True, least=4, most=4)


def read_run(path: StrPath, *, max_bytes: int = MAX_BYTES) -> pd.DataFrame:
    r"""Read a run: TREC's `topic Q0 document rank score tag`, separated by blanks or tabs, or a table.

    The order of documents is that of their scores; the rank column is ignored, and so are words after the tag. The
    file may be compressed with gzip, which is told from its content. Where pyarrow is installed plain files of TREC's
    format are read through it, with the same result, several times sooner.

    A file named `.csv` or `.tsv` (or `.csv.gz`) whose first line is a header is a table of queries, documents and
    scores; for the names of its columns see `read_qrels`.

    Parameters
    ----------
    path
        The file.
    max_bytes
        Limit on the text after decompression, in bytes (default 16 GiB).

    Returns
    -------
    DataFrame
        Columns `query` and `document` (str, exactly as in the file: "301" and "NA" stay so) and `score` (float64;
        infinite ones are kept), rows in file order.

    Raises
    ------
    ValueError
        If a line has too few columns, a score is not a number or NaN, a document occurs twice in a query, or the header
        of a table lacks a column. The message names file and line.

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
    return _read(path, _RUN, max_bytes)


def read_qrels(path: StrPath, *, max_bytes: int = MAX_BYTES) -> pd.DataFrame:
    r"""Read qrels: TREC's `topic iteration document grade`, separated by blanks or tabs, or a table.

    A file named `.csv` or `.tsv` (or `.csv.gz`) whose first line is a header is a table, as Quepid and spreadsheets
    write it, with commas, semicolons or tabs between columns; cells with separators or quotes in them stand in double
    quotes. Columns are known by usual names, whatever their case, blanks, `_` and `-`: `query_id`, `qid`, `topic` or
    `query`; `document`, `docno`, `doc_id`, `corpus-id`, `product_id`, `url`, …; `label`, `relevance`, `grade`, `rating`
    or `judgment`. Others are passed over. Blanks around a cell do not count. A row without a rating is no judgment: a
    warning says how many there are.

    Parameters
    ----------
    path
        The file, plain or gzip.
    max_bytes
        Limit on the text after decompression, in bytes (default 16 GiB).

    Returns
    -------
    DataFrame
        Columns `query` and `document` (str, exactly as in the file) and `label` (float64), rows in file order. Negative
        grades are kept. A table may also have the texts of queries and the titles of documents: `query_text` (from
        such a column, or from `query` beside an id of the query) and `title`.

    Raises
    ------
    ValueError
        If a line has not four columns (in a table, as many as the header), a grade is not a finite number, a document
        occurs twice in a query, or the header of a table lacks a column. The message names file and line.

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
    return _read(path, _QRELS, max_bytes).rename(columns={"grade": "label"})


class Columns(NamedTuple):
    """The rows of a run or of qrels, in file order."""

    ids: list[str]
    """The distinct ids of queries, in order of their first row."""
    query: Integers
    """The query of each row, as its place among them."""
    documents: Any
    """The id of each row's document, a `pyarrow.ChunkedArray`."""
    numbers: Floats


def run_columns(path: StrPath) -> Columns | None:
    """Return a run as columns that need not be made into a DataFrame, None where `read_run` has to look at the file.

    A document may stand twice in a query.
    """
    return _columns(path, _RUN, MAX_BYTES)


def qrels_columns(path: StrPath) -> Columns | None:
    """Return qrels as columns, None where `read_qrels` has to look at the file; see `run_columns`."""
    return _columns(path, _QRELS, MAX_BYTES)


def _columns(path: StrPath, form: _Form, max_bytes: int) -> Columns | None:
    if is_table(path):
        return None
    kinds: dict[int, Kind] = {0: "category", 2: "text", form.place: "number"}
    table = blank_separated(path, max_bytes, kinds, form.least, form.most)
    if table is None:
        return None
    queries, documents, values = table.columns
    numbers = values.to_numpy()
    if not (np.isfinite(numbers) if form.finite else ~np.isnan(numbers)).all():
        return None
    queries = queries.combine_chunks()
    return Columns(queries.dictionary.to_pylist(), queries.indices.to_numpy().astype(np.int64), documents, numbers)


def _read(path: StrPath, form: _Form, max_bytes: int) -> pd.DataFrame:
    """Read a file of one of the two formats, or a table; the number's column bears the name the format gives it."""
    if is_table(path):
        table = read_table(path, "label" if form is _QRELS else "score", max_bytes)
        if table is not None:
            return table
    columns = _columns(path, form, max_bytes)
    frame = None if columns is None else _frame(columns, form)
    return _read_lines(path, form, max_bytes) if frame is None else frame


def _frame(columns: Columns, form: _Form) -> pd.DataFrame | None:
    """Return columns as a DataFrame, None where a document stands twice in a query."""
    import pandas as pd

    encoded = columns.documents.dictionary_encode().combine_chunks()
    pairs = columns.query * len(encoded.dictionary) + encoded.indices.to_numpy()
    if twice(pairs):
        return None
    kind = pd.Series([""]).dtype  # as this version of pandas holds text
    queries = pd.Series(columns.ids, dtype=kind).take(columns.query).reset_index(drop=True)
    documents = pd.Series(columns.documents.to_pandas(), dtype=kind)
    return pd.DataFrame({"query": queries, "document": documents, form.number: columns.numbers})


def _read_lines(path: StrPath, form: _Form, max_bytes: int) -> pd.DataFrame:
    """Read a file line by line, and say what is wrong with it and where."""
    import pandas as pd

    queries: list[str] = []
    documents: list[str] = []
    numbers: list[float] = []
    lines: list[int] = []
    known: dict[bytes, str] = {}  # one str per query, not one per line
    for chunk in read_chunks(path, max_bytes=max_bytes):
        for line, text in numbered_lines(chunk):
            fields = text.split()
            if not fields:
                continue
            try:
                numbers.append(_number(fields, form))
            except ValueError as error:
                raise at_line(path, line, str(error)) from None
            queries.append(known.get(fields[0]) or known.setdefault(fields[0], fields[0].decode()))
            documents.append(fields[2].decode())
            lines.append(line)
    if not lines:
        raise ValueError(f"{os.fspath(path)}: the file is empty; expected lines '{form.pattern}'")
    frame = pd.DataFrame({"query": queries, "document": documents, form.number: np.array(numbers, dtype=np.float64)})
    refuse_repeated(path, frame, lines)
    return frame


def _number(fields: list[bytes], form: _Form) -> float:
    """Return the number of a line, or raise ValueError with what is wrong with the line."""
    if len(fields) < form.least:
        raise ValueError(f"{len(fields)} columns, expected '{form.pattern}'; found {shown(b' '.join(fields))}")
    if form.most is not None and len(fields) > form.most:
        raise ValueError(f"{len(fields)} columns, expected '{form.pattern}'; a run is for read_run")
    return number_of(fields[form.place], form.number, finite=form.finite, expected=f"; expected '{form.pattern}'")


def write_run(run: Mapping[Any, Mapping[Any, SupportsFloat]] | Frame, path: StrPath, tag: str = "gainsay") -> None:
    """Write a run in TREC's format, queries in the order given, documents by descending score.

    Documents of equal score keep the order given. Scores are written so that they read back exactly.

    Parameters
    ----------
    run
        A DataFrame with columns `query`, `document` and `score`, or a mapping {query: {document: score}}; what
        `gainsay.evaluate_run` takes.
    path
        The file to write; compressed with gzip if its name ends in ".gz".
    tag
        Name of the run, one word.

    Raises
    ------
    ValueError
        If the run is empty, a column is missing, an id is missing or contains blanks, two query ids are one as text
        (1 and "1"), a score is NaN or an integer beyond 2**53, or a document occurs twice in a query.
    TypeError
        If a score is no number.

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
    frame = _checked(run)
    # Codes by first appearance keep the queries in the order given; a stable sort keeps tied documents in theirs.
    codes = frame["query"].factorize()[0]
    order = np.lexsort((-frame["score"].to_numpy(), codes))
    sizes = np.bincount(codes)
    ranks = np.arange(1, len(frame) + 1) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    columns = (frame[name].to_numpy()[order].tolist() for name in ("query", "document", "score"))
    text = "".join(
        f"{query} Q0 {document} {rank} {score!r} {tag}\n"
        for query, document, score, rank in zip(*columns, ranks.tolist(), strict=True)
    ).encode()
    if text.startswith(BOM):  # the first id begins so; a reader takes one mark away
        text = BOM + text
    # Without a time stamp, equal runs give equal files.
    data = gzip.compress(text, mtime=0) if os.fspath(path).endswith(".gz") else text
    with open(path, "wb") as stream:
        stream.write(data)


def _is_word(text: str) -> bool:
    """Whether a text is one field of a line to `read_run`: only blanks of ASCII part fields."""
    try:
        field = text.encode()
    except UnicodeEncodeError:
        return False
    return field.split() == [field] and field.translate(None, CONTROL) == field


def _checked(run: Mapping[Any, Mapping[Any, SupportsFloat]] | Frame) -> pd.DataFrame:
    """Return the run as a DataFrame with columns query, document and score, of ids that a file can hold."""
    frame = frame_of("run", run, "score")
    for name in ("query", "document"):
        wrong = [text for text in dict.fromkeys(frame[name]) if not _is_word(text)]
        if wrong:
            raise ValueError(f"{name} ids must be words without blanks, got {wrong[0]!r}")
    return frame
