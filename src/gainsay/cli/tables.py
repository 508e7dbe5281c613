"""Tables that the command line writes to files."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._common.outputs import check_output

if TYPE_CHECKING:
    import pandas as pd

_KINDS = (".csv", ".csv.gz", ".parquet", ".json")


def check_table(option: str, path: Path) -> None:
    """Raise where a table cannot be written to a file, or a package for it is missing."""
    check_output(option, path)
    if not path.name.endswith(_KINDS):
        raise ValueError(f"{option} {str(path)!r}: cannot tell the format from the name; known are {', '.join(_KINDS)}")
    if path.suffix == ".parquet" and importlib.util.find_spec("pyarrow") is None:
        raise ImportError("writing .parquet needs pyarrow: pip install 'gainsay[parquet]'")


def write_table(path: Path, frame: pd.DataFrame) -> None:
    """Write a DataFrame, its index as columns: CSV and JSON with every digit, JSON as a list of objects.

    A value that is missing (NaN) is empty in CSV and null in JSON.
    """
    flat = frame.reset_index()
    if path.suffix == ".parquet":
        flat.to_parquet(path, index=False)
    elif path.suffix == ".json":
        records: list[dict[str, Any]] = flat.astype(object).where(flat.notna(), None).to_dict("records")  # type: ignore[assignment]
        lines = ",\n".join(json.dumps(record, ensure_ascii=False, allow_nan=False) for record in records)
        path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    else:
        flat.to_csv(path, index=False)
