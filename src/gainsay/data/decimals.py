"""Decimal numbers in a byte buffer, parsed many at a time and exactly as `float` parses them."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Bytes: TypeAlias = NDArray[np.uint8]
Integers: TypeAlias = NDArray[np.int64]

# The parsers read windows of a fixed width, which may extend beyond both ends of the text.
PADDING = 64
# A mantissa of up to 15 digits is an exact double, and so is a power of ten up to 10^22. One division of the two then
# gives the correctly rounded value, the same that `float` returns (Clinger 1990).
_EXACT_DIGITS = 15
_WINDOW = _EXACT_DIGITS + 1
_POWERS = np.array([float(10**places) for places in range(_WINDOW)])
INDEX_DIGITS = 9


def pad(text: bytes) -> Bytes:
    """Return the text as an array of bytes with blanks on either side, as the other functions require."""
    blanks = b" " * PADDING
    return np.frombuffer(b"".join((blanks, text, blanks)), dtype=np.uint8)


def parse_indices(buffer: Bytes, starts: Integers, ends: Integers) -> Integers | None:
    """Return the values of unsigned integers of at most nine digits, or None if a token is something else."""
    length = ends - starts
    width = int(length.max(initial=0))
    if width > INDEX_DIGITS:
        return None
    value = np.zeros(starts.size, dtype=np.int32)
    valid = length > 0
    position = ends.copy()
    for place in range(width):
        position -= 1
        digit = buffer[position] - np.uint8(ord("0"))
        inside = length > place
        valid &= (digit < 10) | ~inside
        value += np.multiply(digit * inside, 10**place, dtype=np.int32)
    return value.astype(np.int64) if valid.all() else None


def parse_numbers(buffer: Bytes, starts: Integers, ends: Integers) -> NDArray[np.float64] | None:
    """Return the values of decimal numbers, bit for bit those of `float`, or None if a token is not a number."""
    value, is_plain = _parse_plain(buffer, starts, ends)
    if not is_plain.all():
        rest = np.flatnonzero(~is_plain)
        values = _parse_any_notation(buffer, starts[rest], ends[rest])
        if values is None:
            return None
        value[rest] = values
    return value


def _parse_plain(buffer: Bytes, starts: Integers, ends: Integers) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Parse numbers that consist of a sign, at most 15 digits and at most one point. The mask is False for others."""
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


def _parse_any_notation(buffer: Bytes, starts: Integers, ends: Integers) -> NDArray[np.float64] | None:
    """Parse numbers in any notation of `float` (exponents, many digits, nan) except underscores."""
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
        with np.errstate(over="ignore"):  # Numbers beyond float64 become infinite, as in `float`.
            return tokens.astype(np.float64)
    except ValueError:
        return None
