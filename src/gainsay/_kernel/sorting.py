"""The address of the NumPy function that sorts 64-bit integers by SIMD instructions."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np

ABI_VERSION, ARR_FUNCS = 0, 365
"""Positions in the table of C functions of NumPy (`numpy/__multiarray_api.h`), which are stable in NumPy 2."""
QUICKSORT = 21 + 12
"""Position of the quicksort in `PyArray_ArrFuncs` (`numpy/ndarraytypes.h`), after 21 casts and 12 other functions."""
NUMPY_2 = 0x02000000
NUMPY_1, DESCR_FUNCS = 0x01000009, 64
"""The version of the table of NumPy 1, and the offset of `PyArray_ArrFuncs` in its `PyArray_Descr` on 64 bits."""

SortFunction = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_void_p)


@cache
def sort_address() -> int | None:
    """Return the address of `int sort(uint64_t *, intptr_t, void *)`, or None if the layout of NumPy is unknown."""
    if ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    try:
        address = _address()
    except (AttributeError, ImportError, TypeError, ValueError):
        return None
    return address if address and _sorts(SortFunction(address)) else None


def _address() -> int | None:
    table = _table()
    version = ctypes.CFUNCTYPE(ctypes.c_uint)(table[ABI_VERSION])()
    numbers = np.dtype(np.uint64)
    if version == NUMPY_2:
        functions = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(table[ARR_FUNCS])(numbers)
    elif version == NUMPY_1:
        functions = ctypes.c_void_p.from_address(id(numbers) + DESCR_FUNCS).value
    else:
        return None
    return None if functions is None else ctypes.cast(functions, ctypes.POINTER(ctypes.c_void_p))[QUICKSORT]


def _table() -> Any:
    """Return the table of C functions of NumPy."""
    core = getattr(np, "_core", None) or np.core
    pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_in.restype, pointer_in.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    return ctypes.cast(pointer_in(core._multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))


def _sorts(sort: Any) -> bool:
    """Return whether a function sorts. Numbers with the highest bit distinguish unsigned from signed."""
    for length in (2, 100, 3_000):
        numbers = np.arange(length, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        expected = np.sort(numbers)
        if sort(numbers.ctypes.data, length, None) or not np.array_equal(numbers, expected):
            return False
    return True
