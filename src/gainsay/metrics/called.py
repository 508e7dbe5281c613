"""Gains and discounts that are functions of the user's: what they go by, and what they return, checked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.words import number_text
from .registry import NAME

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._common.typing import Floats


def checked_name(option: str, function: Any) -> str:
    """Return the name of a function, or raise where it has none that can stand in a metric's name.

    >>> checked_name("gain", checked_name)
    'checked_name'
    """
    name = getattr(function, "__name__", None)
    if not isinstance(name, str) or not re.fullmatch(NAME, name):
        kind = "a lambda" if name == "<lambda>" else f"an object without a name of its own ({function!r})"
        raise ValueError(
            f"{option} is {kind}: say what the metric is to be called, as in name='ndcg_own', or define a function "
            "with def, which goes by its name"
        )
    return name


def called(option: str, function: Callable[[Floats], Any], of: str, arguments: Floats) -> Floats:
    """Return what a gain makes of labels or a discount of ranks, or raise where it is not one number for each.

    What a document is worth must not depend on which others there are, so the first and the last argument are asked
    about alone too.
    """
    values = _numbers(option, function, of, arguments)
    for at in {0, len(arguments) - 1}:
        alone = _numbers(option, function, of, arguments[at : at + 1])
        if not np.isclose(values[at], alone[0], rtol=1e-9, atol=0.0):
            raise ValueError(
                f"{_called(option, function)} gives {of} {number_text(arguments[at])} {values[at]:g} among other {of}s "
                f"but {alone[0]:g} alone: it must depend on the {of} itself and on nothing else"
            )
    return values


def _numbers(option: str, function: Callable[[Floats], Any], of: str, arguments: Floats) -> Floats:
    shown = f"{of}s {', '.join(map(number_text, arguments[:6].tolist()))}{', …' if len(arguments) > 6 else ''}"
    try:
        values = np.asarray(function(arguments.copy()), dtype=np.float64)
    except Exception as error:
        raise ValueError(
            f"{_called(option, function)} failed on the {shown}: {type(error).__name__}: {error}; it is given an array "
            f"of {of}s and returns an array of as many numbers"
        ) from error
    if values.shape != arguments.shape:
        raise ValueError(
            f"{_called(option, function)} returned shape {values.shape} for {len(arguments)} {of}s ({shown}): it must "
            f"return one number for each {of}"
        )
    bad = ~np.isfinite(values) | (values < 0)
    if bad.any():
        at = int(np.argmax(bad))
        raise ValueError(
            f"{_called(option, function)} returned {values[at]} for {of} {number_text(arguments[at])}: it must be "
            "finite and not negative"
        )
    return values


def _called(option: str, function: Any) -> str:
    return f"{option} {getattr(function, '__name__', repr(function))!r}"
