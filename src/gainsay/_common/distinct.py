"""Numbering what differs, by pandas where pandas tells it apart."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .arrays import objects

if TYPE_CHECKING:
    from .typing import Integers


def factorize(values: Any) -> tuple[Integers, Any]:
    r"""Return the number of each value, -1 where it is missing, and the distinct values as pandas holds them.

    Both in order of first appearance, as `pandas.factorize` does. Old versions of pandas take a text to end at its
    first NUL character, so that "a" and "a\0" are one to them; where a text has one, they are told apart here.

    >>> codes, ids = factorize(np.array(["a", "a\0", "a", None], dtype=object))
    >>> codes.tolist(), ids.tolist()
    ([0, 1, 0, -1], ['a', 'a\x00'])
    """
    import pandas as pd

    if _texts_end_at_nul():
        held = np.asarray(values, dtype=object)
        if any(isinstance(value, str) and "\0" in value for value in held):
            return _by_equality(held)
    codes, ids = pd.factorize(values)
    return codes.astype(np.int64), ids


@cache
def _texts_end_at_nul() -> bool:
    import pandas as pd

    return len(pd.factorize(np.array(["a", "a\0"], dtype=object))[1]) == 1


def _by_equality(values: np.ndarray[Any, Any]) -> tuple[Integers, np.ndarray[Any, Any]]:
    import pandas as pd

    numbers: dict[Any, int] = {}
    missing = np.asarray(pd.isna(values))
    pairs = zip(values, missing, strict=True)
    codes = [-1 if gone else numbers.setdefault(value, len(numbers)) for value, gone in pairs]
    return np.array(codes, dtype=np.int64), objects(numbers)
