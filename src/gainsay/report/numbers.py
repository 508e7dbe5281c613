"""Format numbers for reports, one at a time or by column."""

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


def format_mean(value: float) -> str:
    """Format a mean or a distance from it with four decimals, or a dash for NaN."""
    if math.isnan(value):
        return NONE
    return f"{value:.4f}".replace("-", MINUS) if math.isfinite(value) else "unbounded"


def format_number(value: float, places: int = 4) -> str:
    """Format a number with `places` decimals, or more until its first digit is visible.

    >>> format_number(0.01372), format_number(0.00003), format_number(-0.5, 3), format_number(float("inf"))
    ('0.0137', '0.00003', '−0.500', 'unbounded')
    """
    if not math.isfinite(value):
        return "unbounded"
    while value and abs(value) < 0.5 * 10.0**-places and places < 12:
        places += 1
    return f"{value:.{places}f}".replace("-", MINUS)


def format_means(values: Iterable[float]) -> list[str]:
    """Format means, each as `format_mean` does."""
    return list(map(format_mean, values))


def format_difference(value: float) -> str:
    """Format a difference with its sign, or a dash for NaN.

    >>> format_difference(0.01234), format_difference(-0.01234), format_difference(0.0), format_difference(-0.00001)
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


def format_differences(values: Iterable[float]) -> list[str]:
    """Format differences, each as `format_difference` does."""
    return list(map(format_difference, values))


def format_share(value: float) -> str:
    """Format a share in percent.

    >>> format_share(0.931), format_share(0.0004), format_share(0.9996), format_share(1.0)
    ('93 %', '< 1 %', '> 99 %', '100 %')
    """
    if 0 < value < 0.005:
        return "< 1 %"
    if 0.995 < value < 1:
        return "> 99 %"
    return f"{100 * value:.0f} %"
