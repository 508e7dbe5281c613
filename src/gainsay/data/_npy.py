"""Arrays of NumPy's own files, read without its pickles and without trusting what their headers promise."""

from __future__ import annotations

import io
import os
import warnings
import zipfile
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ._text import StrPath, one_line

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
# What `numpy.savez` and `savez_compressed` write; other methods may unfold without bound within one read.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def is_archive(stream: IO[bytes]) -> bool:
    """Whether an open file is an `.npz`, which is a zip file, by its first bytes."""
    head = stream.read(2)
    stream.seek(0)
    return head == b"PK"


def names_of(path: StrPath, stream: IO[bytes]) -> dict[str, str]:
    """Return the arrays of an `.npz` file: from name to member."""
    try:
        with zipfile.ZipFile(stream) as archive:
            return {name.removesuffix(".npy"): name for name in archive.namelist()}
    except Exception:  # zipfile raises errors of many kinds
        raise _refused(path) from None


def read_member(path: StrPath, stream: IO[bytes], member: str, max_bytes: int) -> NDArray[Any]:
    """Return a one-dimensional array of numbers from an `.npz` file."""
    try:
        with zipfile.ZipFile(stream) as archive:
            info = archive.getinfo(member)
            if info.compress_type not in _METHODS:
                raise _refused(path)
            with archive.open(info) as packed:
                return _read(path, packed, info.file_size, max_bytes)
    except _UnusableError as error:
        raise ValueError(str(error)) from None
    except Exception:  # zipfile, zlib and NumPy raise errors of many kinds
        raise _refused(path) from None


def read_array(path: StrPath, stream: IO[bytes], max_bytes: int) -> NDArray[Any]:
    """Return a one-dimensional array of numbers from an `.npy` file."""
    size = stream.seek(0, io.SEEK_END)
    stream.seek(0)
    return _read(path, stream, size, max_bytes)


class _UnusableError(ValueError):
    """A file that was understood, and that holds no scores."""


def _refused(path: StrPath) -> ValueError:
    return _UnusableError(
        f"{os.fspath(path)}: no file of NumPy arrays, or one of Python objects, which are never loaded"
    )


def _read(path: StrPath, stream: IO[bytes], size: int, max_bytes: int) -> NDArray[Any]:
    """Read header and values; what the header promises is checked before memory is asked for."""
    shape, dtype = _header(path, stream)
    if dtype.hasobject:
        raise _refused(path)
    if dtype.kind not in "iuf":
        raise _UnusableError(f"{os.fspath(path)}: expected numbers, found values of type {one_line(dtype)}")
    if not (len(shape) == 1 or (len(shape) == 2 and shape[1] == 1)) or shape[0] < 0:
        raise _UnusableError(
            f"{os.fspath(path)}: expected one score per row, found an array of shape {one_line(shape)}"
        )
    promised = shape[0] * dtype.itemsize
    if promised > max_bytes:
        raise _UnusableError(
            f"{os.fspath(path)}: an array of {promised} bytes, more than max_bytes={max_bytes}; "
            "raise max_bytes if the file is meant to be this large"
        )
    if promised > size - stream.tell():
        raise _UnusableError(f"{os.fspath(path)}: cut short; its header promises {promised} bytes of values")
    stream.seek(0)
    with warnings.catch_warnings(action="ignore"):  # about files that Python 2 wrote
        values: NDArray[Any] = np.load(stream, allow_pickle=False)
    return values.reshape(-1)


def _header(path: StrPath, stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    try:
        with warnings.catch_warnings(action="ignore"):
            shape, _, dtype = _HEADERS[npy.read_magic(stream)](stream)
    except Exception:  # the header is a Python literal, and what is wrong with it has many names
        raise _refused(path) from None
    return shape, dtype
