"""Scores of a model, one per row of a data set, from a file."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._common.arrays import refuse_huge
from ._arrow import numbers_of
from ._npy import is_archive, names_of, read_array, read_member
from ._numbers import to_number
from ._parquet import read_column
from ._text import MAX_BYTES, StrPath, at_line, csv_rows, numbered_lines, read_chunks, shown

# What separates the columns of a text file; None: any blanks.
_SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": None}


def read_scores(path: StrPath, *, column: str | None = None, max_bytes: int = MAX_BYTES) -> NDArray[np.float64]:
    r"""Read scores, one per row of a data set.

    The suffix of the file decides: `.npy` and `.npz` (arrays of NumPy; never pickled objects), `.csv`, `.tsv` and
    `.txt` (one number a line, with or without a header, or one of several columns named in a header), `.parquet`.
    Where pyarrow is installed plain text is read through it, with the same result, many times sooner.

    Parameters
    ----------
    path
        The file. Text may be compressed with gzip, whatever its name.
    column
        Name of the column, or of the array in an `.npz` file; None: the only one there is.
    max_bytes
        Limit on the text after decompression, or on the values of an array or column, in bytes (default 16 GiB). It
        stops a small file that unfolds without end, or that promises more values than it has.

    Returns
    -------
    ndarray
        Scores in file order, float64, shape (rows,). Infinite scores are kept: −inf says that a document was not
        retrieved.

    Raises
    ------
    ValueError
        If a value is not a number, there is no such column, or several and none is named.
    ImportError
        If a `.parquet` file is read without pyarrow.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.csv"
    >>> _ = path.write_text("first,second\n0.5,1.5\n0.25,2\n")
    >>> read_scores(path, column="second")
    array([1.5, 2. ])
    """
    suffix = os.path.splitext(os.fspath(path).removesuffix(".gz"))[1].lower()
    if suffix in (".npy", ".npz"):
        return _checked(path, _from_numpy(path, column, max_bytes))
    if suffix == ".parquet":
        return _checked(path, read_column(path, lambda names: _chosen(path, names, column), max_bytes))
    if suffix in _SEPARATORS:
        return _from_text(path, _SEPARATORS[suffix], column, max_bytes)
    known = ".npy, .npz, .csv, .tsv, .txt, .parquet"
    raise ValueError(f"{os.fspath(path)}: cannot tell the format from the suffix {suffix!r}; known are {known}")


def _checked(path: StrPath, values: NDArray[Any]) -> NDArray[np.float64]:
    """Return scores as float64, or raise where there are none or one is NaN."""
    if values.size == 0:
        raise ValueError(f"{os.fspath(path)}: the file holds no scores")
    refuse_huge(f"{os.fspath(path)}: scores", values)
    with np.errstate(over="ignore", invalid="ignore"):  # beyond the range of float64: infinite, as in text
        scores = values.astype(np.float64)
    if np.isnan(scores).any():
        missing = np.isnan(scores)
        raise ValueError(
            f"{os.fspath(path)}: {missing.sum()} scores are NaN, the first in row {np.argmax(missing)} (from 0)"
        )
    return scores


def _chosen(path: StrPath, names: list[str], column: str | None) -> str:
    """Return the name of the column to read."""
    listed = ", ".join(map(shown, names[:20])) + (", …" if len(names) > 20 else "")
    if column is None:
        if len(names) != 1:
            raise ValueError(
                f"{os.fspath(path)}: {len(names)} columns, name one with column= (on the command line FILE:COLUMN); "
                f"there are {listed}"
            )
        return names[0]
    if column not in names:
        raise ValueError(f"{os.fspath(path)}: no column {column!r}; there are {listed}")
    if names.count(column) > 1:
        raise ValueError(f"{os.fspath(path)}: column {column!r} occurs {names.count(column)} times")
    return column


def _from_numpy(path: StrPath, column: str | None, max_bytes: int) -> NDArray[Any]:
    with open(path, "rb") as stream:
        if is_archive(stream):
            members = names_of(path, stream)
            return read_member(path, stream, members[_chosen(path, list(members), column)], max_bytes)
        values = read_array(path, stream, max_bytes)
    if column is not None:
        raise ValueError(f"{os.fspath(path)}: the file is a single array; leave out column={column!r}")
    return values


def _from_text(path: StrPath, separator: str | None, column: str | None, max_bytes: int) -> NDArray[np.float64]:
    """Read one column of a text file."""
    rows = _rows(path, separator, max_bytes)
    line, first = next(rows, (1, []))
    if not first:
        raise ValueError(f"{os.fspath(path)}: the file holds no scores")
    place, scores = 0, []
    header = column is not None or not all(map(_is_number, first))
    if header:
        place = first.index(_chosen(path, first, column))
    elif len(first) > 1:
        raise at_line(path, line, f"{len(first)} columns and no header; expected one score a line")
    values = numbers_of(path, max_bytes, separator, len(first), place, header)
    if values is not None and not np.isnan(values).any():
        return values
    if not header:
        scores.append(_score(path, line, first[0]))
    for line, cells in rows:
        if len(cells) != len(first):
            raise at_line(path, line, f"{len(cells)} columns, but the first line has {len(first)}")
        scores.append(_score(path, line, cells[place]))
    if not scores:
        raise ValueError(f"{os.fspath(path)}: the file holds a header, {shown(first[place])}, but no scores")
    return np.array(scores, dtype=np.float64)


def _rows(path: StrPath, separator: str | None, max_bytes: int) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of every row; blank lines are allowed at the end of the file only."""
    table = csv_rows(path, separator, max_bytes) if separator else _blank_separated(path, max_bytes)
    blank = None
    for number, cells in table:
        if not any(cells):
            blank = blank or number
            continue
        if blank is not None:
            raise at_line(path, blank, "the line is empty; expected a score")
        yield number, [cell.strip() for cell in cells]


def _blank_separated(path: StrPath, max_bytes: int) -> Iterator[tuple[int, list[str]]]:
    for chunk in read_chunks(path, max_bytes=max_bytes):
        for number, line in numbered_lines(chunk):
            yield number, line.decode().split()


def _is_number(cell: str) -> bool:
    try:
        to_number(cell.encode())
    except ValueError:
        return False
    return True


def _score(path: StrPath, line: int, cell: str) -> float:
    try:
        score = to_number(cell.encode())
    except ValueError:
        raise at_line(path, line, f"the score {shown(cell)} is not a number") from None
    if math.isnan(score):
        raise at_line(path, line, "the score is NaN; every row needs a score (-inf: not retrieved)")
    return score
