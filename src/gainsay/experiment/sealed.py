"""Documents with a checksum of themselves, and files whose checksum a document lists."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data._text import one_line
from .files import canonical, from_parquet, sha256

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DamagedError", "checked", "read_frame", "refuse_link", "sealed", "unsealed"]


class DamagedError(Exception):
    """What is in the directory is not what was written there; the message says what is wrong."""


def sealed(document: Mapping[str, Any]) -> bytes:
    """Return a JSON document with a checksum of itself."""
    return canonical({**document, "sha256": sha256(canonical(document))})


def unsealed(content: bytes) -> dict[str, Any]:
    """Return the document in what `sealed` wrote; raise `ValueError` where it has changed."""
    try:
        document = json.loads(content)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(document, dict):
        raise ValueError("it is not a JSON object")
    seal = document.pop("sha256", None)
    if seal != sha256(canonical(document)):
        raise ValueError("its checksum does not fit its content")
    return document


def read_frame(name: str, content: bytes, columns: list[str]) -> pd.DataFrame:
    """Return the table in a Parquet file, or raise where it cannot be read or has other columns."""
    try:
        frame = from_parquet(content)
    except Exception as error:  # pyarrow raises errors of many kinds
        raise DamagedError(f"{name} cannot be read: {one_line(error)}") from error
    if list(frame.columns) != columns:
        raise DamagedError(f"{name} has the columns {one_line(', '.join(map(str, frame.columns)))}")
    return frame


def refuse_link(path: Path) -> None:
    """Raise `ValueError` where a path is a link, which may lead anywhere."""
    if path.is_symlink():
        raise ValueError(f"{path} is a link; an experiment is read and written within its directory only")


def checked(path: Path, listed: Mapping[str, Any]) -> bytes:
    """Return the content of a file, or raise where it is not the one that the manifest lists."""
    refuse_link(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DamagedError(f"{path.name} cannot be read: {error.strerror or error}") from error
    if {"bytes": len(content), "sha256": sha256(content)} != listed:
        raise DamagedError(f"{path.name} is not as it was written (it has {len(content)} bytes)")
    return content
