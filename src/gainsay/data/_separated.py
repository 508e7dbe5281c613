"""Judgments and runs as comma- or tab-separated values with a header, as Quepid and spreadsheets write them."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ._numbers import number_of
from ._roles import MissingColumnError, roles_of
from ._text import StrPath, at_line, csv_rows, one_line, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from ._roles import Roles

_SEPARATORS = {".csv": (",", ";", "\t"), ".tsv": ("\t",)}
"""By the suffix of a file; of several the one counts whose header is one of ours."""


class _Table(NamedTuple):
    """How a file is to be read."""

    separator: str
    header: list[str]
    roles: Roles


def is_table(path: StrPath) -> bool:
    """Return whether a file bears the suffix of a table."""
    return _suffix(path) in _SEPARATORS


def read_table(path: StrPath, value: str, max_bytes: int) -> pd.DataFrame | None:
    """Read judgments (`value` is "label") or a run ("score") from a table.

    Columns are query, document and the value, and query_text and title where the file has them; rows in file order.
    None where the file has the suffix of a table but no header of one, and may be TREC's format.
    """
    table = _opened(path, value, max_bytes)
    return None if table is None else _read(path, value, max_bytes, table)


def _suffix(path: StrPath) -> str:
    return os.path.splitext(os.fspath(path).removesuffix(".gz"))[1].lower()


def _opened(path: StrPath, value: str, max_bytes: int) -> _Table | None:
    """Return how to read a file, from its suffix and its first line; None where that is no header."""
    problem, first = None, ""
    separators = _SEPARATORS[_suffix(path)]
    for separator in separators:
        line, header = next(_rows(path, separator, max_bytes), (1, []))
        if not header:
            raise ValueError(f"{os.fspath(path)}: the file is empty; expected a header and one document a line")
        first = first or separator.join(header)
        try:
            return _Table(separator, header, roles_of(header, value))
        except MissingColumnError as error:
            worse = isinstance(problem, MissingColumnError) and error.found <= problem.found
            problem = problem if worse else error
        except ValueError as error:
            raise at_line(path, line, str(error)) from None
    assert problem is not None
    if problem.found == 0 and not {",", ";"} & set(first) and len(first.split()) >= 4:
        return None
    raise at_line(path, line, f"the header has {problem}")


def _rows(path: StrPath, separator: str, max_bytes: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row, and the number of its last line; rows without any text are passed over."""
    for line, cells in csv_rows(path, separator, max_bytes, strict=True):
        if any(cells):
            yield line, [cell.strip() for cell in cells]


def _read(path: StrPath, value: str, max_bytes: int, table: _Table) -> pd.DataFrame:
    import pandas as pd

    places = {role: table.header.index(column) for role, column in table.roles._asdict().items() if column is not None}
    rows = _rows(path, table.separator, max_bytes)
    next(rows)
    found: dict[str, list[str]] = {role: [] for role in places if role != "value"}
    numbers: list[float] = []
    lines: list[int] = []
    unrated: list[int] = []
    for line, cells in rows:
        if len(cells) != len(table.header):
            raise at_line(path, line, f"{len(cells)} columns, but the header has {len(table.header)}")
        for role in ("query", "document"):
            cell = cells[places[role]]
            if not cell or "\n" in cell:
                problem = "holds a line break" if cell else "is empty: every row needs one"
                raise at_line(path, line, f"the column {shown(table.header[places[role]])} {problem}")
        token = cells[places["value"]]
        if not token and value == "label":  # listed, and not judged yet
            unrated.append(line)
            continue
        try:
            numbers.append(number_of(token.encode(), value, finite=value == "label"))
        except ValueError as error:
            raise at_line(path, line, str(error)) from None
        lines.append(line)
        for role, texts in found.items():
            texts.append(cells[places[role]] if role in ("query", "document") else one_line(cells[places[role]]))
    if not lines:
        raise ValueError(f"{os.fspath(path)}: the file holds a header, but no row with a {value}")
    names = {"query": "query", "document": "document", "text": "query_text", "title": "title"}
    frame = pd.DataFrame({names[role]: texts for role, texts in found.items()})
    frame.insert(2, value, np.array(numbers, dtype=np.float64))
    refuse_repeated(path, frame, lines)
    if unrated:
        warnings.warn(
            f"{os.fspath(path)}: {len(unrated)} rows without a rating, the first on line {unrated[0]}, are left out, "
            "as they are no judgments",
            stacklevel=5,
        )
    return frame


def refuse_repeated(path: StrPath, frame: pd.DataFrame, lines: list[int]) -> None:
    """Raise where a document occurs twice in a query; `lines` are those of the rows."""
    rows = repeated(frame)
    if rows is not None:
        first, again = rows
        what = f"document {shown(frame['document'].iloc[again])} of query {shown(frame['query'].iloc[again])}"
        raise at_line(path, lines[again], f"{what} is on line {lines[first]} already")


def repeated(frame: pd.DataFrame) -> tuple[int, int] | None:
    """Return the rows of a document's first and second place in the same query, if there is such a document."""
    again = frame.duplicated(["query", "document"]).to_numpy()
    if not again.any():
        return None
    row = int(np.argmax(again))
    same = (frame["query"] == frame["query"].iloc[row]) & (frame["document"] == frame["document"].iloc[row])
    return int(np.argmax(same.to_numpy())), row
