"""Text of numbers, counts and lists of names."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def count(number: int, thing: str) -> str:
    """Return a number with its noun in the singular or plural.

    >>> count(1, "pair"), count(30000, "query")
    ('1 pair', '30,000 queries')
    """
    plural = f"{thing[:-1]}ies" if thing.endswith("y") else f"{thing}{'es' if thing.endswith('s') else 's'}"
    return f"{number:,} {thing if number == 1 else plural}"


def listed(names: Sequence[str], most: int = 6, word: str = "and") -> str:
    """Return names as a list in words, with at most `most` names.

    >>> listed(["a", "b", "c"])
    'a, b and c'
    >>> listed([str(i) for i in range(10)], most=3)
    '0, 1, 2 and 7 more'
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} {word} {len(names) - most} more"
    return f" {word} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def number_text(value: float) -> str:
    """Return the shortest text of exactly this number."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def amount(value: float) -> str:
    """Return a difference of means with four decimals, or its first digit if it is smaller.

    >>> amount(0.0123456), amount(0.0), amount(0.000043), amount(3e-9)
    ('0.0123', '0', '0.00004', '3e-09')
    """
    if value == 0:
        return "0"
    if abs(value) >= 0.0001:
        return f"{value:.4f}"
    short = f"{value:.0e}"
    exponent = int(short.partition("e")[2])
    return short if exponent < -7 else f"{float(short):.{-exponent}f}"


def format_mean(value: float, places: int = 4) -> str:
    """Return a mean or another metric value with four decimals and a real minus sign, or a dash for NaN.

    >>> format_mean(0.123456), format_mean(-0.5), format_mean(float("nan"))
    ('0.1235', '\u22120.5000', '\u2013')
    """
    if math.isnan(value):
        return "\u2013"
    return f"{value:.{places}f}".replace("-", "\u2212")


def confidence(alpha: float) -> str:
    """Return the confidence level 1 - alpha in percent.

    >>> confidence(0.05), confidence(0.05 / 3), confidence(0.0005)
    ('95 %', '98.3 %', '99.95 %')
    """
    percent = 100 * (1 - alpha)
    return f"{round(percent, 1) if alpha > 0.005 else percent:g} %"


def p_value(value: float) -> str:
    """Return the text of a p-value.

    >>> p_value(0.0123), p_value(0.00002)
    ('p = 0.012', 'p = 2e-05')
    """
    return f"p = {p_values([value])[0]}"


def p_values(values: Iterable[float]) -> list[str]:
    """Return the texts of a column of p-values."""
    return [f"{value:.2g}" if value >= 0.0001 else f"{value:.0e}" for value in values]
