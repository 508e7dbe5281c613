"""Find NumPy's sort functions for unsigned integers, which use the vector instructions of the processor."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

ABI_VERSION, ARR_FUNCS = 0, 365
"""Positions in NumPy's table of C functions (`numpy/__multiarray_api.h`). NumPy 2 guarantees its positions."""
QUICKSORT = 21 + 12
"""Position of the quicksort in `PyArray_ArrFuncs` (`numpy/ndarraytypes.h`), after 21 casts and 12 other functions."""
NUMPY_2 = 0x02000000
NUMPY_1, DESCR_FUNCS = 0x01000009, 64
"""The version of NumPy 1's table, and the offset of `PyArray_ArrFuncs` in its `PyArray_Descr` on 64-bit machines."""

SortFunction = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p)


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
    table = _table()
    version = ctypes.CFUNCTYPE(ctypes.c_uint)(table[ABI_VERSION])()
    if version == NUMPY_2:
        functions = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(table[ARR_FUNCS])(dtype)
    elif version == NUMPY_1:
        functions = ctypes.c_void_p.from_address(id(dtype) + DESCR_FUNCS).value
    else:
        return None
    return None if functions is None else ctypes.cast(functions, ctypes.POINTER(ctypes.c_void_p))[QUICKSORT]


def _table() -> Any:
    """Return NumPy's table of C functions, as compiled extensions find it."""
    core = getattr(np, "_core", None) or np.core
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return ctypes.cast(get_pointer(core._multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))


def _sorts(sort: Any, dtype: np.dtype[Any]) -> bool:
    """Whether a function sorts. Numbers with the highest bit tell unsigned from signed integers."""
    for length in (2, 32, 100, 3_000):
        numbers = (np.arange(length, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)).astype(dtype)
        expected = np.sort(numbers)
        if sort(numbers.ctypes.data, length, None) or not np.array_equal(numbers, expected):
            return False
    return True
