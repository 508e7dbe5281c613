"""Find the compiled core of the installation.

Without it, gainsay evaluates metrics in NumPy. The environment variable `GAINSAY_KERNEL` disables the core (0) or names
the file to load.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import ctypes

ABI = 2
"""Expected result of `gainsay_kernel_abi` in kernel.cpp. Increase both if the interface changes."""
NAMES = ("_gainsay_kernel.so", "_gainsay_kernel.dylib", "_gainsay_kernel.dll")
VARIABLE = "GAINSAY_KERNEL"


class Library(NamedTuple):
    """The library or None, and the reason."""

    library: ctypes.CDLL | None
    reason: str


@cache
def find_library() -> Library:
    """Return the compiled core and its location, or the reason why it is not used.

    Raise if `GAINSAY_KERNEL` is neither 0 nor 1 nor the path of a compatible library.
    """
    setting = os.environ.get(VARIABLE, "")
    if setting == "0":
        return Library(None, f"turned off by {VARIABLE}=0")
    if setting not in ("", "1"):
        loaded = _load(Path(setting))
        if loaded.library is None:
            raise ValueError(f"{VARIABLE} must be 0, 1 or the path of a compiled core: {loaded.reason}")
        return loaded
    paths = [path for name in NAMES if (path := Path(__file__).with_name(name)).is_file()]
    return _load(paths[0]) if paths else Library(None, "none was built at installation")


def _load(path: Path) -> Library:
    """Return the library in a file if it is compatible with this version of gainsay."""
    try:
        import ctypes

        loaded = ctypes.CDLL(str(path.absolute()))
        version = loaded.gainsay_kernel_abi
    except (ImportError, OSError, AttributeError) as error:
        return Library(None, f"{path} cannot be loaded: {error}")
    version.argtypes, version.restype = (), ctypes.c_int
    if (abi := version()) != ABI:
        reason = f"{path} was built from other source (interface {abi}, not {ABI}): install gainsay-ltr again"
        return Library(None, reason)
    return Library(loaded, f"loaded from {path}")
