"""Numbering of distinct values."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .arrays import objects

if TYPE_CHECKING:
    from .typing import Integers


def factorize(values: Any) -> tuple[Integers, Any]:
    r"""Return the number of each value, or -1 if it is missing, and the distinct values, as `pandas.factorize`.

    Numbers are in order of first appearance. Old versions of pandas end strings at the first NUL character, so "a" and
    "a\0" are equal to them. This function distinguishes them.

    >>> codes, ids = factorize(np.array(["a", "a\0", "a", None], dtype=object))
    >>> codes.tolist(), ids.tolist()
    ([0, 1, 0, -1], ['a', 'a\x00'])
    """
    import pandas as pd

    if _texts_end_at_nul():
        objects_ = np.asarray(values, dtype=object)
        if any(isinstance(value, str) and "\0" in value for value in objects_):
            return _factorize_by_equality(objects_)
    codes, ids = pd.factorize(values)
    return codes.astype(np.int64), ids


@cache
def _texts_end_at_nul() -> bool:
    import pandas as pd

    return len(pd.factorize(np.array(["a", "a\0"], dtype=object))[1]) == 1


def _factorize_by_equality(values: np.ndarray[Any, Any]) -> tuple[Integers, np.ndarray[Any, Any]]:
    import pandas as pd

    numbers: dict[Any, int] = {}
    missing = np.asarray(pd.isna(values))
    pairs = zip(values, missing, strict=True)
    codes = [-1 if is_missing else numbers.setdefault(value, len(numbers)) for value, is_missing in pairs]
    return np.array(codes, dtype=np.int64), objects(numbers)
