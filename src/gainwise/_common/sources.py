"""Files and their columns, as `FILE` or `FILE:COLUMN`."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Source(NamedTuple):
    """A file, and the column of it that is named next to it."""

    path: Path
    column: str | None = None


def parse_source(text: str, *, columns: bool = True) -> Source:
    """Return the file and the column of `FILE` or `FILE:COLUMN`. A file with a colon in its name takes precedence."""
    file, colon, column = text.rpartition(":")
    if columns and colon and column and not Path(text).is_file() and (file == "-" or Path(file).is_file()):
        return Source(Path(file), column)
    return Source(Path(text))
