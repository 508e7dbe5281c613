"""Validation of single arguments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .arrays import nearest


def validate_choice(argument: str, value: object, choices: Sequence[str]) -> None:
    """Raise `ValueError` with the nearest valid value unless `value` is one of `choices`."""
    if value not in choices:
        raise ValueError(
            f"{argument} must be one of {', '.join(map(repr, choices))}, got {value!r}{nearest(str(value), choices)}"
        )


def validate_integer(argument: str, value: Any, least: int = 1, unit: str = "") -> int:
    """Return `value` as an int if it is a whole number of at least `least`, or raise.

    Integers of Python and NumPy are accepted, and floats without a fraction, because tables, JSON and tuners convert
    integers to floats. Truth values are rejected. `unit` is the counted noun. Other types raise a
    `TypeError`. Fractions and small numbers raise a `ValueError`.

    >>> validate_integer("k", 10.0)
    10
    >>> validate_integer("rounds", 2.5, unit="boosting rounds")
    Traceback (most recent call last):
    ValueError: rounds must be a whole number of boosting rounds, at least 1, got 2.5
    """
    wanted = f"{argument} must be a whole number of {f'{unit}, ' if unit else ''}at least {least}, got {value!r}"
    if not _is_number(value):
        raise TypeError(wanted)
    if value != value // 1 or value < least:
        raise ValueError(wanted)
    return int(value)


def validate_real(argument: str, value: Any, low: float = -math.inf, high: float = math.inf) -> float:
    """Return `value` as a float if it is a real number of Python or NumPy with low <= value <= high, or raise.

    Truth values are rejected, as by `validate_integer`.

    >>> validate_real("p", np.float32(0.5), 0, 1)
    0.5
    >>> validate_real("min_delta", -1, 0)
    Traceback (most recent call last):
    ValueError: min_delta must be at least 0, got -1
    """
    validate_number(argument, value)
    if not low <= value <= high:
        bounds = f"be at least {low:g}" if high == math.inf else f"be between {low:g} and {high:g}"
        raise ValueError(f"{argument} must {'not be NaN' if low == -math.inf else bounds}, got {value!r}")
    return float(value)


def validate_number(argument: str, value: Any) -> float:
    """Return `value` as a float if it is a real number of Python or NumPy, NaN included, or raise `TypeError`."""
    if not _is_number(value):
        raise TypeError(f"{argument} must be a number, got {value!r}")
    return float(value)


def validate_flag(argument: str, value: Any) -> bool:
    """Return `value` as a bool if it is a truth value of Python or NumPy, or raise `TypeError`.

    >>> validate_flag("maximize", "min")
    Traceback (most recent call last):
    TypeError: maximize must be True or False, got 'min'
    """
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{argument} must be True or False, got {value!r}")
    return bool(value)


def validate_ordered(argument: str, value: Any) -> None:
    """Raise `TypeError` for a set, because the order of strings in it differs between runs of Python.

    >>> validate_ordered("metrics", {"map"})
    Traceback (most recent call last):
    TypeError: metrics must have an order, got a set. Pass a list.
    """
    if isinstance(value, set | frozenset):
        raise TypeError(f"{argument} must have an order, got a set. Pass a list.")


def _is_number(value: object) -> bool:
    """Return whether a value is a real number of Python or NumPy and not a truth value."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
