"""Checks of single arguments."""

from __future__ import annotations

from typing import Any

import numpy as np


def check_whole(argument: str, value: Any, least: int = 1, unit: str = "") -> int:
    """Return `value` as an int if it is a whole number of at least `least`, or raise.

    One rule for all arguments: Python's and NumPy's integers, and floats without a fraction, which is what tables, JSON
    and tuners make of integers. Truth values are no numbers.

    Parameters
    ----------
    argument : str
        What to call it in messages.
    value : object
        What was given.
    least : int
        The smallest that will do.
    unit : str, optional
        What is counted, such as ``"boosting rounds"``.

    Raises
    ------
    TypeError
        For what is no number.
    ValueError
        For one that has a fraction or is too small.

    Examples
    --------
    >>> check_whole("k", 10.0)
    10
    >>> check_whole("rounds", 2.5, unit="boosting rounds")
    Traceback (most recent call last):
    ValueError: rounds must be a whole number of boosting rounds, at least 1, got 2.5
    """
    wanted = f"{argument} must be a whole number of {f'{unit}, ' if unit else ''}at least {least}, got {value!r}"
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise TypeError(wanted)
    if value != value // 1 or value < least:
        raise ValueError(wanted)
    return int(value)
