"""Fuzz `gainwise.data.read_scores` with NumPy files: `.npy` and `.npz`."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from gainwise.data import read_scores

from .oracle import attempt


def _npy(array: Any, version: tuple[int, int] | None = None) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), version=version, allow_pickle=True)
    return buffer.getvalue()


def _npz(save: Any, **arrays: Any) -> bytes:
    buffer = io.BytesIO()
    save(buffer, **arrays)
    return buffer.getvalue()


def _zip(method: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        archive.writestr("a.npy", _npy([1.0]))
    return buffer.getvalue()


SEEDS = (
    _npy([0.5, -1.25, 3e-7]),
    _npy(np.array([[1], [2]], dtype=">i4"), (2, 0)),
    _npy([0.5, 1]).replace(b"(2,)", b"(-1,)").replace(b" \n", b"\n"),
    _npy([0.5, 1]).replace(b"(2,), }  ", b"(2**62,),}"),
    _npy(np.array([{}], dtype=object)),
    _npz(np.savez, a=[1.0, 2.0]),
    _npz(np.savez_compressed, a=[1.0, 2.0], b=[3.0]),
    _zip(zipfile.ZIP_LZMA),
)
TOKENS = (b"\x93NUMPY\x01\x00", b"'descr': '<f8'", b"'fortran_order': True", b"'shape': (99999999999,)", b"|O", b"PK")


def check(content: bytes, folder: Path) -> None:
    """Read with and without a column. The suffix has no effect."""
    path = folder / "scores.npy"
    path.write_bytes(content)
    for column in (None, "a"):
        attempt(lambda: read_scores(path, column=column), path, lines=False)  # noqa: B023
