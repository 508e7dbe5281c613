"""Tables in files: CSV, TSV and Parquet as a pandas DataFrame."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._common.arrays import nearest
from .arrow import read_parquet
from .text import at_line, exact_floats, one_line, read_chunks, shown

if TYPE_CHECKING:
    import pandas as pd


def read_table(path: Path, text: str | None = None) -> pd.DataFrame:
    """Read a CSV, TSV or Parquet file, CSV and TSV also compressed with gzip.

    The column `text` contains ids. In CSV and TSV, they are read as written, such as "01" and "NA", without blanks
    around them, and as None if a cell is empty.
    """
    if path.suffix == ".parquet":
        return read_parquet(path)
    content = io.BytesIO(b"".join(chunk.text for chunk in read_chunks(path, cells=True)))
    return _parse_table(path, content, "\t" if ".tsv" in path.suffixes else ",", text)


def _parse_table(path: Path, content: io.BytesIO, separator: str, ids: str | None) -> pd.DataFrame:
    """Return the table in a text, or raise an error with file and line."""
    import pandas as pd

    try:
        with warnings.catch_warnings():
            # pandas only warns of rows that have more columns than the header.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            header = pd.read_csv(content, sep=separator, header=None, nrows=1, dtype=str).iloc[0].dropna()
            if header.duplicated().any():
                raise ValueError(f"two columns are named {header[header.duplicated()].iloc[0]!r}. Rename one of them.")
            content.seek(0)
            table: pd.DataFrame = pd.read_csv(
                content,
                sep=separator,
                index_col=False,
                low_memory=False,
                # pandas would read the id "NA" as a missing value.
                converters={} if ids is None else {ids: lambda cell: f"={cell.strip()}"},
                **exact_floats(pd.__version__),
            )
            if ids in table:
                table[ids] = [cell[1:] or None for cell in table[ids]]
            return table
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path}: the file is empty.") from None
    except pd.errors.ParserWarning:
        raise ValueError(f"{path}: rows have more columns than the header.") from None
    except (ValueError, OverflowError) as error:
        message = one_line(error).removeprefix("Error tokenizing data. C error: ")
        line = re.search(r" in line (\d+), ", message)
        raise at_line(path, int(line[1]), message) if line else ValueError(f"{path}: {message}") from None


def get_column(table: pd.DataFrame, name: Hashable, source: object, role: str | None = None) -> pd.Series[Any]:
    """Return a column, or raise an error that lists the columns if its name is missing or not unique.

    `role` is the argument that names the column.
    """
    if name not in table:
        columns = list(map(str, table.columns))
        names = ", ".join(map(shown, columns[:20])) + (", …" if len(columns) > 20 else "")
        remedy = "" if role is None else f" Name the column with {role}= (--{role})."
        raise ValueError(f"{source} has no column {name!r}{nearest(str(name), columns)} (columns: {names}).{remedy}")
    column = table[name]
    if column.ndim > 1:
        raise ValueError(f"column {name!r} occurs {column.shape[1]} times in {source}. Rename the others.")
    return column
