"""Tables in files: CSV, TSV and Parquet as a pandas DataFrame, their columns, and the scores of a model."""

from __future__ import annotations

import importlib
import io
import itertools
import os
import re
import warnings
from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._common.arrays import nearest, validate_exact_integers
from .._common.text import agree, pluralize
from .._common.validation import validate_distinct
from .text import (
    StrPath,
    at_line,
    collapse_blanks,
    csv_rows,
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

# None means any blanks.
_SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": None}


def read_scores(path: StrPath, *, column: str | None = None) -> NDArray[np.float64]:
    r"""Read scores from a file, one per row of a dataset.

    The suffix determines the format: `.npy` and `.npz` (NumPy, never pickled objects), `.csv`, `.tsv` and `.txt` (one
    number per line, or one of several columns with a header), or `.parquet`.

    Parameters
    ----------
    path : str or path-like
        The file. Text can be compressed with gzip.
    column : str, optional
        Name of the column, or of the array in an `.npz` file. Required if there are several.

    Returns
    -------
    ndarray of float64, shape (rows,)
        Scores in file order. Infinite scores are kept, and −inf marks a document that was not retrieved.

    Raises
    ------
    ValueError
        If a value is not a number, or if the column does not exist or is ambiguous.
    ImportError
        If a `.parquet` file is read and pyarrow is not installed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.csv"
    >>> _ = path.write_text("first,second\n0.5,1.5\n0.25,2\n")
    >>> read_scores(path, column="second")
    array([1.5, 2. ])
    """
    name, suffix = os.fspath(path), file_suffix(path)
    if suffix in _SEPARATORS:
        return _read_text(path, _SEPARATORS[suffix], column)
    if suffix in (".npy", ".npz"):
        values = _load_array(path, column)
    elif suffix == ".parquet":
        cells = read_parquet(path, lambda names: _select_column(path, names, column)).iloc[:, 0]
        if problem := describe_text(name, cells.name, cells):
            raise ValueError(f"{problem}.")
        values = cells.to_numpy()
    else:
        os.stat(path)  # Raises if the file does not exist.
        supported = ".npy, .npz, .csv, .tsv, .txt, .parquet"
        raise ValueError(f"{name}: unknown format {suffix!r}. Supported are {supported}.")
    if values.dtype.kind not in "iuf":
        raise ValueError(f"{name}: expected numbers, got values of type {one_line(values.dtype)}")
    if values.ndim not in (1, 2) or values.shape[1:] not in ((), (1,)):
        raise ValueError(f"{name}: expected one score per row, got an array of shape {values.shape}")
    if values.size == 0:
        raise ValueError(f"{name}: the file has no scores")
    validate_exact_integers(f"{name}: scores", values)
    with np.errstate(over="ignore", invalid="ignore"):  # Numbers beyond float64 become infinite, as in text.
        scores: NDArray[np.float64] = values.reshape(-1).astype(np.float64)
    missing = np.isnan(scores)
    if number := int(missing.sum()):
        size = f"{pluralize(number, 'score')} {agree(number, 'are')} NaN"
        raise ValueError(f"{name}: {size}, the first in row {missing.argmax()} (from 0)")
    return scores


def _select_column(path: StrPath, names: list[str], column: str | None) -> str:
    """Return the name of the column to read."""
    chosen = names if column is None else [name for name in names if name == column]
    if len(chosen) == 1:
        return chosen[0]
    if column is None:
        problem = f"{len(names)} columns. Name one with column= of read_scores, or as FILE:COLUMN in other calls"
    else:
        problem = f"column {column!r} occurs {len(chosen)} times" if chosen else f"no column {column!r}"
    raise ValueError(f"{os.fspath(path)}: {problem}. The columns are {list_columns(names)}.")


def _load_array(path: StrPath, column: str | None) -> NDArray[Any]:
    """Return the array of an `.npy` file, or one of an `.npz` file."""
    expected = "no file of NumPy arrays, or one of Python objects, which are never loaded"
    with open(path, "rb"), describe_damage(path, expected):
        content = np.load(path, allow_pickle=False)
    if isinstance(content, np.ndarray):
        if column is not None:
            raise ValueError(f"{os.fspath(path)}: the file contains a single array. Omit column={column!r}.")
        return content
    with content:
        name = _select_column(path, content.files, column)
        with describe_damage(path, expected):
            return np.asarray(content[name])


def _read_text(path: StrPath, separator: str | None, column: str | None) -> NDArray[np.float64]:
    """Read one column of a text file."""
    rows = _iter_rows(path, separator)
    line, first = next(rows, (1, []))
    if not first:
        raise ValueError(f"{os.fspath(path)}: the file has no scores")
    position, scores = 0, []
    header = not all(is_number(cell.encode()) for cell in first)
    if column is not None and not header:
        raise at_line(path, line, f"columns have no names, but numbers: {shown(', '.join(first))}. Add a header.")
    if header:
        position = first.index(_select_column(path, first, column))
    elif len(first) > 1:
        raise at_line(path, line, f"{len(first)} columns and no header. Expected one score per line.")
    width = len(first)
    texts = _iter_plain_rows(path, separator, header)
    columns = read_fields(texts, separator or " ", [position], width, width)
    values = None if columns is None else parse_fields(columns[0])
    if values is not None and not np.isnan(values).any():
        return values
    for number, cells in rows if header else itertools.chain([(line, first)], rows):
        if len(cells) != width:
            raise at_line(path, number, f"{len(cells)} columns, but the first line has {width}")
        try:
            scores.append(parse_number(cells[position].encode(), "score", finite=False))
        except ValueError as error:
            raise at_line(path, number, str(error)) from None
    if not scores:
        raise ValueError(f"{os.fspath(path)}: the file has a header, {shown(first[position])}, but no scores")
    return np.array(scores, dtype=np.float64)


def _iter_plain_rows(path: StrPath, separator: str | None, header: bool) -> Iterator[bytes]:
    """Yield the lines without the header, or raise if `read_fields` may read them differently than `_iter_rows`."""
    has_ended = False
    for chunk in read_chunks(path, cells=separator is not None):
        text = chunk.text if separator else collapse_blanks(chunk.text)
        if separator and b"\r" in text:  # This search is ten times faster than a replacement without an occurrence.
            text = text.replace(b"\r\n", b"\n")
        # Quotes change the meaning of separators, and in ASCII no other characters are blanks.
        if b'"' in text or b"\r" in text if separator else not text.isascii():
            raise ValueError("quotes, carriage returns or blanks that are not ASCII")
        rows = text.rstrip(b"\n")
        is_end = np.frombuffer(rows, dtype=np.uint8) == ord("\n")  # Faster than a search for two line feeds.
        if rows and (has_ended or is_end[0] or (is_end[1:] & is_end[:-1]).any()):
            raise ValueError("empty lines before the last row")  # `read_fields` skips empty lines.
        has_ended = not rows or len(text) > len(rows) + 1
        yield text.partition(b"\n")[2] if header and chunk.first_line == 1 else text


def _iter_rows(path: StrPath, separator: str | None) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of every row. Blank lines are allowed at the end of the file only."""
    if separator:
        table = csv_rows(path, separator)
    else:
        chunks = read_chunks(path)
        table = ((number, line.decode().split()) for chunk in chunks for number, line in numbered_lines(chunk))
    blank = None
    for number, cells in table:
        if not any(cells):
            blank = blank or number
            continue
        if blank is not None:
            raise at_line(path, blank, "the line is empty. Expected a score.")
        yield number, [cell.strip() for cell in cells]


def read_table(path: Path, texts: Collection[str | None] = ()) -> pd.DataFrame:
    """Read a CSV, TSV or Parquet file, CSV and TSV also compressed with gzip.

    The columns `texts` contain ids or names. In CSV and TSV, they are read as written, such as "01" and "NA", without
    blanks around them, and as None if a cell is empty.
    """
    suffix = file_suffix(path)
    if suffix == ".parquet":
        return read_parquet(path)
    import pandas as pd

    content = io.BytesIO(b"".join(chunk.text for chunk in read_chunks(path, cells=True)))
    separator = "\t" if suffix == ".tsv" else ","
    # pandas would read the id "NA" as a missing value.
    converters: dict[Any, Any] = {text: lambda cell: f"={cell.strip()}" for text in texts if text is not None}
    try:
        with warnings.catch_warnings():
            # pandas only warns of rows that have more columns than the header.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            header = pd.read_csv(content, sep=separator, header=None, nrows=1, dtype=str, keep_default_na=False)
            _validate_header(header.iloc[0].tolist(), separator)
            content.seek(0)
            table: pd.DataFrame = pd.read_csv(
                content,
                sep=separator,
                index_col=False,
                low_memory=False,
                converters=converters,
                **exact_floats(pd.__version__),
            )
            for text in converters.keys() & set(table):
                table[text] = [cell[1:] or None for cell in table[text]]
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path}: the file is empty.") from None
    except pd.errors.ParserWarning:
        raise ValueError(f"{path}: rows have more columns than the header.") from None
    except (ValueError, OverflowError) as error:
        message = one_line(error).removeprefix("Error tokenizing data. C error: ")
        line = re.search(r" in line (\d+), ", message)
        raise at_line(path, int(line[1]), message) if line else ValueError(f"{path}: {message}") from None
    if table.isna().to_numpy().any():  # pandas reads the missing cells of short rows as missing values.
        for number, cells in csv_rows(path, separator):
            if cells and len(cells) != table.shape[1]:
                raise at_line(path, number, f"{len(cells)} columns, but the header has {table.shape[1]}")
    return table


def _validate_header(names: list[str], separator: str) -> None:
    """Raise if a column has no name or the name of another one, or the columns have another separator."""
    if len(names) == 1:
        other = next((sign for sign in ";\t|," if sign in names[0]), None)
        if other is not None:
            spelled = {"\t": "tabs", ",": "commas"}
            expected = f"{spelled[separator]} ({'.csv' if separator == ',' else '.tsv'})"
            fix = f"Convert it, as pandas.read_csv(path, sep={other!r}).to_csv(new_path, index=False) does."
            if other in spelled:
                fix = f"Rename it to {'.csv' if other == ',' else '.tsv'}."
            raise ValueError(
                f"columns must be separated by {expected}, got the header {names[0][:80]!r}, which contains "
                f"{spelled.get(other, repr(other))}. {fix}"
            )
    blank = next((place for place, name in enumerate(names, 1) if not name.strip()), None)
    if blank is not None:
        raise ValueError(
            f"every column must have a name, but column {blank} of {len(names)} has none. Name it, or write the file "
            "without an index: frame.to_csv(path, index=False)."
        )
    validate_distinct("names of columns", names)


def find_text(column: pd.Series[Any]) -> tuple[int, str] | None:
    """Return the row and the text of the first cell that is no number, or None if there is none.

    If all texts are numbers, the first of them is returned, because a column of numbers contains no text.
    """
    texts = [(row, cell) for row, cell in enumerate(column.tolist()) if isinstance(cell, str)]
    return next((pair for pair in texts if not is_number(pair[1].encode())), texts[0] if texts else None)


def is_mostly_numeric(column: pd.Series[Any]) -> bool:
    """Return whether more than half of the cells of a column are numbers, so that it is meant to contain numbers."""
    cells = column.tolist()
    numeric = sum(is_number(cell.encode()) if isinstance(cell, str) else cell == cell for cell in cells)
    return bool(2 * numeric > len(cells))


def describe_text(source: object, name: Hashable, column: pd.Series[Any]) -> str | None:
    """Return what is wrong with a column that must contain numbers only, or None."""
    found = None if column.dtype.kind in "fiub" else find_text(column)
    if found is None:
        return None
    row, text = found
    return (
        f"{source}: column {name!r} must contain numbers only, got {text[:40]!r} in row {row} (from 0). Write a number"
    )


def exact_floats(version: str) -> dict[str, Any]:
    """Return the options with which this version of pandas reads decimal numbers exactly as Python does.

    >>> exact_floats("2.1.4"), exact_floats("3.1.0rc0")
    ({'float_precision': 'round_trip'}, {})
    """
    major, minor = (int(part) for part in version.split(".")[:2])
    return {} if (major, minor) >= (3, 1) else {"float_precision": "round_trip"}


def read_parquet(path: StrPath, select: Callable[[list[str]], str] | None = None) -> pd.DataFrame:
    """Return the columns of a Parquet file, or the one that `select` chooses from their names.

    Text becomes categorical, so that long texts are not copied to each row.
    """
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ImportError("Reading .parquet requires pyarrow. Run: pip install pyarrow") from None
    expected = "no parquet file, or a damaged one"
    with open(path, "rb") as stream:
        with describe_damage(path, expected):
            file = parquet.ParquetFile(stream)
            names = file.schema_arrow.names
        # Old versions of pyarrow do not read files with equal names.
        validate_distinct(f"{os.fspath(path)}: names of columns", names)
        columns = None if select is None else [select(names)]
        with describe_damage(path, expected):
            texts = [column.path for column in file.schema if column.physical_type == "BYTE_ARRAY"]
            table = parquet.ParquetFile(stream, read_dictionary=texts).read(columns=columns)
            # The metadata of pandas would make a selected column the index.
            frame: pd.DataFrame = table.to_pandas(ignore_metadata=columns is not None)
            if columns is not None and list(frame) != columns:
                raise ValueError(f"its two lists of columns differ: one has {columns[0]!r}, the other one does not")
        return frame


def get_column(table: pd.DataFrame, name: Hashable, source: object, role: str | None = None) -> pd.Series[Any]:
    """Return a column, or raise an error that lists the columns if its name is missing or not unique.

    `role` is the argument that names the column.
    """
    if name not in table:
        columns = list(map(str, table.columns))
        hint, names = nearest(str(name), columns), list_columns(columns)
        remedy = "" if role is None else f" Name the column with {role}= (--{role})."
        raise ValueError(f"{source} has no column {name!r}{hint} (columns: {names}).{remedy}")
    column = table[name]
    if column.ndim > 1:
        raise ValueError(f"column {name!r} occurs {column.shape[1]} times in {source}. Rename the others.")
    return column


@contextmanager
def describe_damage(path: StrPath, expected: str) -> Iterator[None]:
    """Turn every exception of a reader of binary files into one `ValueError` that names the file."""
    try:
        yield
    except Exception as error:  # zipfile, zlib, NumPy and pyarrow raise many types of errors, including OSError.
        raise ValueError(f"{os.fspath(path)}: {expected} ({one_line(error)})") from error
