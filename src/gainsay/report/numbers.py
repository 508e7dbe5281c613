"""Numbers as reports write them: single ones, and whole columns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

MINUS = "\u2212"

NONE = "\u2013"
"""Replaces a missing number."""

LEFT_TO_RIGHT = "\u200e"
"""An invisible mark that keeps numbers in place next to names written from right to left."""

GAP = f"{LEFT_TO_RIGHT}\u2003{LEFT_TO_RIGHT}"
"""A wide space between a name and a number that is not part of it."""


def mean(value: float) -> str:
    """Write a mean or a distance from it with four decimals, or a dash for NaN."""
    if math.isnan(value):
        return NONE
    return f"{value:.4f}".replace("-", MINUS) if math.isfinite(value) else "unbounded"


def bare(value: float, places: int = 4) -> str:
    """Write a number with `places` decimals, or more until its first digit is visible.

    >>> bare(0.01372), bare(0.0), bare(0.00003), bare(-0.5, 3), bare(float("inf"))
    ('0.0137', '0.0000', '0.00003', '−0.500', 'unbounded')
    """
    if not math.isfinite(value):
        return "unbounded"
    while value and abs(value) < 0.5 * 10.0**-places and places < 12:
        places += 1
    return f"{value:.{places}f}".replace("-", MINUS)


def means(values: Iterable[float]) -> list[str]:
    """Write means, each as `mean` does."""
    return list(map(mean, values))


def difference(value: float) -> str:
    """Write a difference with its sign, or a dash for NaN.

    >>> difference(0.01234), difference(-0.01234), difference(0.0), difference(-0.00001)
    ('+0.0123', '−0.0123', '0', '−0.00001')
    """
    if math.isnan(value):
        return NONE
    if value == 0:
        return "0"
    if not math.isfinite(value):
        return "unbounded"
    size = abs(value)
    text = f"{value:+.4f}" if size >= 0.00005 else f"{value:+.5f}" if size >= 0.000005 else f"{value:+.0e}"
    return text.replace("-", MINUS)


def differences(values: Iterable[float]) -> list[str]:
    """Write differences, each as `difference` does."""
    return list(map(difference, values))


def share(value: float) -> str:
    """Write a share in percent.

    >>> share(0.931), share(0.0004), share(0.9996), share(1.0)
    ('93 %', '< 1 %', '> 99 %', '100 %')
    """
    if 0 < value < 0.005:
        return "< 1 %"
    if 0.995 < value < 1:
        return "> 99 %"
    return f"{100 * value:.0f} %"
