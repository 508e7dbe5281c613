"""Finds the compiled core, which an installation has where a compiler was there or a wheel brought it.

Nothing fails for want of it: whoever asks gets None, and computes in NumPy. The environment says otherwise by
`GAINSAY_KERNEL`: 0 turns the core off, a path loads that file.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import ctypes

__all__ = ["ABI", "Found", "found"]

ABI = 2
"""What `gainsay_kernel_abi` of kernel.cpp must answer: both rise together when a function there changes."""
NAMES = ("_gainsay_kernel.so", "_gainsay_kernel.dylib", "_gainsay_kernel.dll")
VARIABLE = "GAINSAY_KERNEL"


class Found(NamedTuple):
    """The library, or None and why there is none."""

    library: ctypes.CDLL | None
    reason: str


@cache
def found() -> Found:
    """Return the compiled core with where it was found, or why it is not used; the same all through a process.

    Raise if the environment's `GAINSAY_KERNEL` is neither 0 nor 1 nor the path of a library that can be used.
    """
    asked = os.environ.get(VARIABLE, "")
    if asked == "0":
        return Found(None, f"turned off by {VARIABLE}=0")
    if asked not in ("", "1"):
        loaded = _load(Path(asked))
        if loaded.library is None:
            raise ValueError(f"{VARIABLE} must be 0, 1 or the path of a compiled core: {loaded.reason}")
        return loaded
    beside = [path for name in NAMES if (path := Path(__file__).with_name(name)).is_file()]
    return _load(beside[0]) if beside else Found(None, "none was built at installation")


def _load(path: Path) -> Found:
    """Return the library in a file, if it is one that this version of gainsay can call."""
    try:
        import ctypes

        loaded = ctypes.CDLL(str(path.absolute()))
        version = loaded.gainsay_kernel_abi
    except (ImportError, OSError, AttributeError) as error:
        return Found(None, f"{path} cannot be loaded: {error}")
    version.argtypes, version.restype = (), ctypes.c_int
    if (abi := version()) != ABI:
        return Found(
            None, f"{path} was built from other source (interface {abi}, not {ABI}): install gainsay-ltr again"
        )
    return Found(loaded, f"loaded from {path}")
