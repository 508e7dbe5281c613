"""Files that are whole or not there: atomic writes, checksums, documents and tables that know theirs, a lock."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import re
import secrets
import stat
import unicodedata
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data._parquet import check_size
from ..data._text import MAX_BYTES, one_line

if TYPE_CHECKING:
    import pandas as pd

_SLUG_LENGTH = 60
_TEMPORARY = ".partial"
_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFREG: "a file",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def sha256(content: bytes) -> str:
    """Return the digest of some bytes."""
    return hashlib.sha256(content).hexdigest()


def canonical(document: Any) -> bytes:
    """Return JSON text that is the same for equal documents."""
    return json.dumps(document, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False).encode()


def slug(name: str) -> str:
    """Return a folder name for any text: readable, of few characters, and different for different texts.

    Examples
    --------
    >>> slug("../LightGBM: 31 leaves")
    'lightgbm-31-leaves-1d3192426c4c'
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    readable = re.sub(r"[^a-z0-9]+", "-", plain)[:_SLUG_LENGTH].strip("-")
    return f"{readable or 'candidate'}-{sha256(name.encode())[:12]}"


def replace_file(path: Path, content: bytes) -> None:
    """Write a file so that it is there with all its content or, after a crash, as it was before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}{_TEMPORARY}")
    try:
        with open(temporary, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def remove_partial(folder: Path) -> None:
    """Remove what writes that never ended have left in a folder."""
    for path in folder.glob(f".*{_TEMPORARY}"):
        path.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make the new name itself durable; not every system can open folders."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def need_parquet() -> None:
    """Raise `ImportError` where there is nothing to write Parquet with."""
    try:
        import_module("pyarrow")
    except ImportError as error:
        raise ImportError(
            "an experiment keeps its curves and values as Parquet and needs pyarrow: pip install 'gainsay[experiment]'"
        ) from error


def to_parquet(frame: pd.DataFrame) -> bytes:
    """Return a DataFrame as the bytes of a Parquet file."""
    buffer = io.BytesIO()
    frame.to_parquet(buffer, engine="pyarrow", index=False)
    return buffer.getvalue()


def from_parquet(content: bytes, columns: list[str] | None = None) -> pd.DataFrame:
    """Return the DataFrame in a Parquet file, or these columns of it; raise where it promises more than `MAX_BYTES`."""
    file = import_module("pyarrow.parquet").ParquetFile(io.BytesIO(content))
    check_size(file.metadata, MAX_BYTES)
    frame: pd.DataFrame = file.read(columns).to_pandas()
    return frame if columns is None else frame[columns]


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
        found = _KINDS.get(stat.S_IFMT(mode), "something else")
        wanted = "a folder" if folder else "a file"
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


@contextlib.contextmanager
def locked(path: Path, owner: Path) -> Iterator[None]:
    """Hold a lock file; the system releases it when the process ends, however it ends.

    Another file says who holds it, the `owner`: the lock file itself cannot be read on every system while it is held.
    """
    try:
        from filelock import FileLock, Timeout
    except ImportError as error:
        raise ImportError(
            "an experiment locks its directory and needs filelock: pip install 'gainsay[experiment]'"
        ) from error
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        held = FileLock(path).acquire(blocking=False)
    except Timeout:
        raise RuntimeError(
            f"{path.parent} is in use by {_holder(owner)}: wait until it has ended, or take another directory"
        ) from None
    with held:
        try:
            owner.write_bytes(f"process {os.getpid()}".encode())
            yield
        finally:
            owner.unlink(missing_ok=True)


def _holder(owner: Path) -> str:
    """Return who holds a lock, as far as that is known: it may have ended by now, or not have said so yet."""
    try:
        return owner.read_bytes()[:100].decode(errors="replace").strip() or "another process"
    except OSError:
        return "another process"
