"""Decimal numbers out of a byte buffer, many at a time and exactly as `float` reads them."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ._text import shown

Bytes: TypeAlias = NDArray[np.uint8]
Positions: TypeAlias = NDArray[np.int64]

# The parsers look at fixed-width windows that may reach over either end of the text; the padding keeps them inside.
PADDING = 64
# Up to 15 digits a decimal mantissa is an exact double, and so is a power of ten up to 10^22: one division of the two
# is then the correctly rounded value, the same that `float` gives (Clinger 1990).
_EXACT_DIGITS = 15
_WINDOW = _EXACT_DIGITS + 1
_POWERS = np.array([float(10**places) for places in range(_WINDOW)])
INDEX_DIGITS = 9


def padded(text: bytes) -> Bytes:
    """Return the text as an array of bytes with blanks on either side, as the functions below need it."""
    blanks = b" " * PADDING
    return np.frombuffer(b"".join((blanks, text, blanks)), dtype=np.uint8)


def to_number(token: bytes) -> float:
    """Return the number that a token spells, else raise ValueError: what `float` reads, without its underscores.

    This is the definition of a number in every file; `parse_numbers` gives the same values, many at a time.
    """
    if b"_" in token:
        raise ValueError("underscores are for Python source")
    return float(token)


def number_of(token: bytes, what: str, *, finite: bool, expected: str = "") -> float:
    """Return the number that a token spells, or raise ValueError with what is wrong; NaN is always wrong."""
    try:
        value = to_number(token)
    except ValueError:
        raise ValueError(f"the {what} {shown(token)} is not a number{expected}") from None
    if math.isnan(value) or (finite and math.isinf(value)):
        raise ValueError(f"the {what} is {shown(token)}; it must be {'finite' if finite else 'a number'}")
    return value


def parse_indices(buffer: Bytes, starts: Positions, ends: Positions) -> NDArray[np.int64] | None:
    """Return the values of unsigned integers of at most nine digits; None where one is something else."""
    length = ends - starts
    width = int(length.max(initial=0))
    if width > INDEX_DIGITS:
        return None
    value = np.zeros(starts.size, dtype=np.int32)
    good = length > 0
    position = ends.copy()
    for place in range(width):
        position -= 1
        digit = buffer[position] - np.uint8(ord("0"))
        inside = length > place
        good &= (digit < 10) | ~inside
        value += np.multiply(digit * inside, 10**place, dtype=np.int32)
    return value.astype(np.int64) if good.all() else None


def parse_numbers(buffer: Bytes, starts: Positions, ends: Positions) -> NDArray[np.float64] | None:
    """Return the values of decimal numbers, bit for bit those of `float`; None where one is no number."""
    value, known = _parse_plain(buffer, starts, ends)
    if not known.all():
        rest = np.flatnonzero(~known)
        others = _parse_by_float(buffer, starts[rest], ends[rest])
        if others is None:
            return None
        value[rest] = others
    return value


def _parse_plain(buffer: Bytes, starts: Positions, ends: Positions) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Parse numbers of a sign, at most 15 digits and at most one point; the mask tells which ones are that."""
    first = buffer[starts]
    negative = first == ord("-")
    length = ends - starts - (negative | (first == ord("+")))
    mantissa, power = np.zeros(starts.size), np.ones(starts.size)
    decimals = np.zeros(starts.size, dtype=np.int64)
    points = np.zeros(starts.size, dtype=np.int64)
    plain = length <= _WINDOW
    position = ends.copy()
    for place in range(min(int(length.max(initial=0)), _WINDOW)):  # from the last character to the first
        position -= 1
        byte = buffer[position]
        digit = byte - np.uint8(ord("0"))
        inside = length > place
        is_digit = (digit < 10) & inside
        is_point = (byte == ord(".")) & inside
        plain &= is_digit | is_point | ~inside
        mantissa += (digit * is_digit) * power
        power *= 1.0 + 9.0 * is_digit
        decimals += np.multiply(is_point, place, dtype=np.int64)
        points += is_point
    plain &= (points <= 1) & (length > points) & (length - points <= _EXACT_DIGITS)
    decimals[~plain] = 0
    mantissa /= _POWERS[decimals]
    return np.where(negative, -mantissa, mantissa), plain


def _parse_by_float(buffer: Bytes, starts: Positions, ends: Positions) -> NDArray[np.float64] | None:
    """Parse numbers in any notation that `float` reads (exponents, many digits, nan), except underscores."""
    length = ends - starts
    width = max(int(length.max()), 1)
    if width > PADDING:
        return None
    windows = np.ndarray((buffer.size - width + 1,), dtype=f"S{width}", buffer=buffer, strides=(1,))
    tokens = windows[starts]
    characters = tokens.view(np.uint8).reshape(-1, width)
    characters[np.arange(width) >= length[:, None]] = 0
    if (characters == ord("_")).any() or (characters >= 128).any():
        return None
    try:
        with np.errstate(over="ignore"):  # beyond the range of float64: infinite, as `float` has it
            return tokens.astype(np.float64)
    except ValueError:
        return None
