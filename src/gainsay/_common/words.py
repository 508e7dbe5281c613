"""Text of numbers, counts and lists of names, and the natural order of names."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


MINUS = "\u2212"


def pluralize(number: int, thing: str) -> str:
    """Return a number with its noun in the singular or plural.

    >>> pluralize(1, "pair"), pluralize(30000, "query")
    ('1 pair', '30,000 queries')
    """
    plural = f"{thing[:-1]}ies" if thing.endswith("y") else f"{thing}{'es' if thing.endswith('s') else 's'}"
    return f"{number:,} {thing if number == 1 else plural}"


def join_names(names: Sequence[str], most: int = 6, word: str = "and") -> str:
    """Return names as a list in words, with at most `most` names.

    >>> join_names(["a", "b", "c"])
    'a, b and c'
    >>> join_names([str(i) for i in range(10)], most=3)
    '0, 1, 2 and 7 more'
    """
    if len(names) > most:
        return f"{', '.join(names[:most])} {word} {len(names) - most} more"
    return f" {word} ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def natural_order(names: Iterable[str]) -> list[str]:
    """Return names in natural order, which compares numbers within names by value.

    >>> natural_order(["model 10", "model 2", "base"])
    ['base', 'model 2', 'model 10']
    """
    return sorted(names, key=_natural_key)


def _natural_key(name: str) -> tuple[list[tuple[int, str]], str]:
    pieces = re.split(r"([0-9]+)", name)
    pieces[1::2] = [digits.lstrip("0") for digits in pieces[1::2]]
    lengths = [len(piece) if place % 2 else 0 for place, piece in enumerate(pieces)]
    return list(zip(lengths, pieces, strict=True)), name


def format_exact(value: float) -> str:
    """Return the shortest text of exactly this number."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def format_amount(value: float) -> str:
    """Return a number with four decimals, or its first digit if it is smaller. Zero has no decimals.

    >>> format_amount(0.0123456), format_amount(0.0), format_amount(0.000043), format_amount(3e-9)
    ('0.0123', '0', '0.00004', '3e\u221209')
    """
    return "0" if value == 0 else format_number(value)


def format_number(value: float, places: int = 4, plus: bool = False) -> str:
    """Return a number with `places` decimals and a real minus sign, or its first digit if it is smaller.

    >>> format_number(0.01372), format_number(-0.5, 3), format_number(0.00007, plus=True), format_number(float("inf"))
    ('0.0137', '\u22120.500', '+0.00007', 'unbounded')
    """
    if value == 0 or math.isnan(value) or abs(value) >= 10.0**-places:
        return format_mean(value, places, plus)
    first_digit = f"{value:.0e}"
    exponent = int(first_digit.partition("e")[2])
    if exponent < -7:
        return first_digit.replace("-", MINUS)
    return format_mean(float(first_digit), -exponent, plus)


def format_mean(value: float, places: int = 4, plus: bool = False) -> str:
    """Return a number with exactly `places` decimals and a real minus sign, a dash for NaN, or "unbounded".

    >>> format_mean(0.123456), format_mean(-0.5), format_mean(-0.0001, 3), format_mean(float("nan"))
    ('0.1235', '\u22120.5000', '0.000', '\u2013')
    """
    if math.isnan(value):
        return "\u2013"
    if math.isinf(value):
        return "unbounded"
    text = f"{abs(value):.{places}f}"
    sign = MINUS if value < 0 else "+" if plus else ""
    return sign + text if float(text) else text


def format_difference(value: float) -> str:
    """Return a difference with its sign and four decimals, or its first digit if it is smaller.

    >>> format_difference(0.01234), format_difference(-0.01234), format_difference(0.0)
    ('+0.0123', '\u22120.0123', '0')
    """
    return "0" if value == 0 else format_number(value, plus=True)


def round_bound(value: float, up: bool) -> str:
    """Return a bound rounded to three places in its safe direction. Smaller bounds have more places.

    >>> round_bound(0.0241, up=True), round_bound(0.0054, up=False), round_bound(0.0003, up=False)
    ('0.025', '0.005', '0.0003')
    """
    for places in range(3, 9):
        scaled = value * 10**places
        whole = math.ceil(scaled - 1e-6) if up else math.floor(scaled + 1e-6)
        if whole and (whole > 2 or value >= 0.001):
            return f"{whole / 10**places:.{places}f}"
    return format_amount(value)


def format_confidence(alpha: float) -> str:
    """Return the confidence level 1 - alpha in percent.

    >>> format_confidence(0.05), format_confidence(0.05 / 3), format_confidence(0.0005)
    ('95 %', '98.3 %', '99.95 %')
    """
    percent = 100 * (1 - alpha)
    return f"{round(percent, 1) if alpha > 0.005 else percent:g} %"


def format_p_value(value: float) -> str:
    """Return the text of a p-value.

    >>> format_p_value(0.0123), format_p_value(0.00002)
    ('p = 0.012', 'p = 2e-05')
    """
    return f"p = {format_p_values([value])[0]}"


def format_p_values(values: Iterable[float]) -> list[str]:
    """Return the texts of a column of p-values."""
    return [f"{value:.2g}" if value >= 0.0001 else f"{value:.0e}" for value in values]
