"""Checks of single arguments."""

from __future__ import annotations

from typing import Any

import numpy as np


def check_whole(argument: str, value: Any, least: int = 1, kind: str = "a whole number") -> int:
    """Return `value` as an int if it is a whole number of at least `least`, or raise.

    Raises
    ------
    TypeError
        For what is no whole number; the message calls for one of this `kind`.
    ValueError
        For one that is too small.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{argument} must be {kind}, got {value!r}")
    if value < least:
        raise ValueError(f"{argument} must be at least {least}, got {value}")
    return int(value)
