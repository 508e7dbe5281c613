"""The compiled core of the installation, the sort functions of NumPy that it uses, versions and CPUs.

Without the core, gainwise evaluates metrics in NumPy. The environment variable `GAINWISE_KERNEL` disables the core (0)
or names the file to load.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from .._common import __version__
from .._common.validation import validate_choice

ABI = 3
"""Expected result of `gainwise_kernel_abi` in kernel.cpp. Increase both if the interface changes."""
NAMES = ("_gainwise_kernel.so", "_gainwise_kernel.dylib", "_gainwise_kernel.dll")
VARIABLE = "GAINWISE_KERNEL"

ABI_VERSION, ARR_FUNCS = 0, 365
"""Positions in NumPy's table of C functions (`numpy/__multiarray_api.h`). NumPy 2 guarantees its positions."""
QUICKSORT = 21 + 12
"""Position of the quicksort in `PyArray_ArrFuncs` (`numpy/ndarraytypes.h`), after 21 casts and 12 other functions."""
NUMPY_2 = 0x02000000
NUMPY_1, DESCR_FUNCS = 0x01000009, 64
"""The version of NumPy 1's table, and the offset of `PyArray_ArrFuncs` in its `PyArray_Descr` on 64-bit machines."""

MODULES = ("numpy", "pandas", "scipy", "lightgbm", "xgboost", "catboost", "sklearn", "dask", "pyarrow", "matplotlib")
"""The libraries that `show_config` lists."""

SortFunction = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p)


class Library(NamedTuple):
    """The library or None, and the reason."""

    library: ctypes.CDLL | None
    reason: str

    @property
    def path(self) -> Literal["compiled", "numpy"]:
        """The path of evaluation. Metrics that the core does not support are always evaluated by NumPy."""
        return "numpy" if self.library is None else "compiled"


@cache
def find_library() -> Library:
    """Return the compiled core and its location, or the reason why it is not used.

    Raise if `GAINWISE_KERNEL` is neither 0 nor 1 nor the path of a compatible library.
    """
    setting = os.environ.get(VARIABLE, "")
    if setting == "0":
        return Library(None, f"turned off by {VARIABLE}=0")
    if setting not in ("", "1"):
        loaded = _load(Path(setting))
        if loaded.library is None:
            raise ValueError(f"{VARIABLE} must be 0, 1 or the path of a compiled core: {loaded.reason}")
    else:
        paths = [path for name in NAMES if (path := Path(__file__).with_name(name)).is_file()]
        loaded = _load(paths[0]) if paths else Library(None, "none was built at installation")
    if loaded.library is not None and sort_addresses() is None:
        return Library(None, f"{loaded.reason}, but the core does not find the sort functions of this NumPy")
    return loaded


def _load(path: Path) -> Library:
    """Return the library in a file if it is compatible with this version of gainwise."""
    try:
        loaded = ctypes.CDLL(str(path.absolute()))
        version = loaded.gainwise_kernel_abi
    except (OSError, AttributeError) as error:
        return Library(None, f"{path} cannot be loaded: {error}")
    version.argtypes, version.restype = (), ctypes.c_int
    if (abi := version()) != ABI:
        reason = f"{path} was built from other source (interface {abi}, not {ABI}): install gainwise again"
        return Library(None, reason)
    return Library(loaded, f"loaded from {path}")


@cache
def sort_addresses() -> tuple[int, int] | None:
    """Return the addresses of NumPy's sorts of 64-bit and 32-bit unsigned integers.

    The signature is `int sort(void *, intptr_t, void *)`. Return None if this NumPy has an unknown layout, or if one of
    the functions does not sort.
    """
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    addresses = []
    for dtype in (np.dtype(np.uint64), np.dtype(np.uint32)):
        try:
            address = _find_quicksort(dtype)
        except (AttributeError, ImportError, TypeError, ValueError):
            return None
        if not address or not _sorts(SortFunction(address), dtype):
            return None
        addresses.append(address)
    return addresses[0], addresses[1]


def _find_quicksort(dtype: np.dtype[Any]) -> int | None:
    """Return the address of a function in NumPy's table of C functions, which compiled extensions use too."""
    core = getattr(np, "_core", None) or np.core
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = ctypes.cast(get_pointer(core._multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    version = ctypes.CFUNCTYPE(ctypes.c_uint)(table[ABI_VERSION])()
    if version == NUMPY_2:
        functions = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(table[ARR_FUNCS])(dtype)
    elif version == NUMPY_1:
        functions = ctypes.c_void_p.from_address(id(dtype) + DESCR_FUNCS).value
    else:
        return None
    return None if functions is None else ctypes.cast(functions, ctypes.POINTER(ctypes.c_void_p))[QUICKSORT]


def _sorts(sort: Any, dtype: np.dtype[Any]) -> bool:
    """Return whether a function sorts. Numbers with the highest bit distinguish unsigned from signed integers."""
    for length in (2, 32, 100, 3_000):
        numbers = (np.arange(length, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)).astype(dtype)
        expected = np.sort(numbers)
        if sort(numbers.ctypes.data, length, None) or not np.array_equal(numbers, expected):
            return False
    return True


def cpus() -> int:
    """Return the number of CPUs that the process can use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows.
        return os.cpu_count() or 1


@overload
def show_config(mode: Literal["stdout"] = "stdout") -> None: ...
@overload
def show_config(mode: Literal["dicts"]) -> dict[str, Any]: ...


def show_config(mode: Literal["stdout", "dicts"] = "stdout") -> dict[str, Any] | None:
    """Show versions, CPUs, and whether the compiled core or NumPy evaluates metrics.

    Both return the same values to the last bit, but the core is faster. It is missing if gainwise was installed from
    source without a C++ compiler. Set the environment variable `GAINWISE_KERNEL=0` to disable it.

    Parameters
    ----------
    mode : {"stdout", "dicts"}
        Whether to print the information or to return it as a dict.

    Returns
    -------
    dict or None
        With ``"dicts"``: ``gainwise`` (version), ``kernel`` (``path``, ``"compiled"`` or ``"numpy"``, and ``reason``),
        ``cpus`` (number of CPUs available to this process), ``python``, ``platform``, and ``libraries`` (versions of
        the installed libraries by module).

    Raises
    ------
    ValueError
        If the mode is unknown, or `GAINWISE_KERNEL` is the path of a file that is not a compiled core.

    Examples
    --------
    >>> import gainwise as gw
    >>> sorted(gw.show_config("dicts"))
    ['cpus', 'gainwise', 'kernel', 'libraries', 'platform', 'python']
    >>> gw.show_config("dicts")["kernel"]["path"] in ("compiled", "numpy")
    True
    """
    validate_choice("mode", mode, ("stdout", "dicts"))
    import platform
    from importlib.metadata import packages_distributions, version

    core, distributions = find_library(), packages_distributions()
    libraries = {name: version(distributions[name][0]) for name in MODULES if name in distributions}
    facts = {"cpus": cpus(), "python": platform.python_version(), "platform": platform.platform()}
    if mode == "dicts":
        kernel = {"path": core.path, "reason": core.reason}
        return {"gainwise": __version__, "kernel": kernel, **facts, "libraries": libraries}
    evaluates = "with its compiled core" if core.library else "in NumPy"
    lines = {"gainwise": __version__, "evaluates": f"{evaluates}: {core.reason}", **facts, **libraries}
    print("\n".join(f"{name:12}{value}" for name, value in lines.items()))
    return None
