"""Tables in files: CSV, TSV and Parquet as a pandas DataFrame, and their columns."""

from __future__ import annotations

import importlib
import io
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._common.arrays import nearest
from .text import (
    MAX_BYTES,
    StrPath,
    at_line,
    describe_damage,
    exact_floats,
    list_columns,
    one_line,
    read_chunks,
    validate_size,
)

if TYPE_CHECKING:
    import pandas as pd


def read_table(path: Path, text: str | None = None) -> pd.DataFrame:
    """Read a CSV, TSV or Parquet file, CSV and TSV also compressed with gzip.

    The column `text` contains ids. In CSV and TSV, they are read as written, such as "01" and "NA", without blanks
    around them, and as None if a cell is empty.
    """
    if path.suffix == ".parquet":
        return read_parquet(path)
    import pandas as pd

    content = io.BytesIO(b"".join(chunk.text for chunk in read_chunks(path, cells=True)))
    separator = "\t" if ".tsv" in path.suffixes else ","
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
                converters={} if text is None else {text: lambda cell: f"={cell.strip()}"},
                **exact_floats(pd.__version__),
            )
            if text in table:
                table[text] = [cell[1:] or None for cell in table[text]]
            return table
    except pd.errors.EmptyDataError:
        raise ValueError(f"{path}: the file is empty.") from None
    except pd.errors.ParserWarning:
        raise ValueError(f"{path}: rows have more columns than the header.") from None
    except (ValueError, OverflowError) as error:
        message = one_line(error).removeprefix("Error tokenizing data. C error: ")
        line = re.search(r" in line (\d+), ", message)
        raise at_line(path, int(line[1]), message) if line else ValueError(f"{path}: {message}") from None


def read_parquet(
    path: StrPath, select: Callable[[list[str]], str] | None = None, max_bytes: int = MAX_BYTES
) -> pd.DataFrame:
    """Return the columns of a Parquet file, or the one that `select` chooses from their names.

    Text becomes categorical, so that long texts are not copied to each row.
    """
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ImportError("Reading .parquet requires pyarrow. Run pip install 'gainsay-ltr[parquet]'.") from None
    expected = "no parquet file, or a damaged one"
    with open(path, "rb") as stream:
        with describe_damage(path, expected):
            file = parquet.ParquetFile(stream)
            metadata, names = file.metadata, file.schema_arrow.names
            # Arrow ends the process on some damaged metadata of columns, so only row groups are read here.
            groups = (metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
            size = max(8 * metadata.num_rows * len(names), sum(groups))
        duplicate = next((name for name, number in Counter(names).items() if number > 1), None)
        if duplicate is not None:  # Old versions of pyarrow do not read such files.
            raise ValueError(f"{os.fspath(path)} has two columns {duplicate!r}. Rename one of them.")
        columns = None if select is None else [select(names)]
        # Before Arrow decodes any value.
        validate_size(path, size if columns is None else 8 * metadata.num_rows, max_bytes)
        with describe_damage(path, expected):
            texts = [column.path for column in file.schema if column.physical_type == "BYTE_ARRAY"]
            table = parquet.ParquetFile(stream, read_dictionary=texts).read(columns=columns)
            # The metadata of pandas would make a selected column the index.
            frame: pd.DataFrame = table.to_pandas(ignore_metadata=columns is not None)
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
