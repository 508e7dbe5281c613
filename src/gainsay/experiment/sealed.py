"""Documents with a checksum of themselves, and files whose checksum a document lists."""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data._text import one_line
from .files import canonical, from_parquet, sha256

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DamagedError", "checked", "read_frame", "refuse_other", "sealed", "unsealed"]

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFREG: "a file",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


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


def refuse_other(path: Path, *, folder: bool = False, follow: bool = False) -> None:
    """Raise `ValueError` where there is something else than a plain file, or than a folder, at a path.

    A link may lead anywhere, a FIFO lets its reader wait for ever, and what is found after hours of training is found
    too late. With `follow` a link to a folder is one.
    """
    try:
        mode = path.stat(follow_symlinks=follow).st_mode
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise ValueError(f"{path.parent} is no folder: give the experiment another directory") from None
    if stat.S_ISLNK(mode):
        raise ValueError(f"{path} is a link; an experiment is read and written within its directory only")
    if not (stat.S_ISDIR(mode) if folder else stat.S_ISREG(mode)):
        found, wanted = (
            _KINDS.get(stat.S_IFMT(mode), "something else"),
            _KINDS[stat.S_IFDIR if folder else stat.S_IFREG],
        )
        raise ValueError(
            f"{path} is {found}, where an experiment keeps {wanted}: "
            "remove it, or give the experiment another directory"
        )


def checked(path: Path, listed: Mapping[str, Any]) -> bytes:
    """Return the content of a file, or raise where it is not the one that the manifest lists."""
    refuse_other(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DamagedError(f"{path.name} cannot be read: {error.strerror or error}") from error
    if {"bytes": len(content), "sha256": sha256(content)} != listed:
        raise DamagedError(f"{path.name} is not as it was written (it has {len(content)} bytes)")
    return content
