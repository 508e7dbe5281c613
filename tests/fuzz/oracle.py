"""The permitted behavior of readers: return data, or raise a `ValueError` that names the file and the line.

A harness is a module with `SEEDS`, `TOKENS` and `check(content, folder)`. The tests replay `tests/corpus` with the same
`check`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

MAX_MESSAGE_LENGTH = 4000
WHOLE_FILE = (
    "the file has no documents",
    "the file has no scores",
    "the file has a header",
    "the file is empty",
    "the gzip stream ends too early",
    "damaged gzip stream",
    "rows of ",
    ": group must ",
    ": weight must ",
    " weights, but ",
    "columns. Name one with column=",
    "no column ",
    " occurs ",
)
"""Parts of messages about a whole file. Other messages must name a line."""


class ViolationError(AssertionError):
    """A reader violates the rules of this module."""


def attempt(read: Callable[[], T], *paths: Path, lines: bool, permitted: tuple[type[Exception], ...] = ()) -> T | str:
    """Return what `read` returns, or the message of the `ValueError` that it raises.

    Parameters
    ----------
    read
        Function that reads the files. Exceptions other than ValueError and `permitted` propagate.
    paths
        The files. A message must name one of them.
    lines
        Whether a message must also name the line, unless it is about the whole file.
    permitted
        Further documented exceptions.
    """
    try:
        return read()
    except (ValueError, *permitted) as error:
        message = str(error)
    path = next((path for path in paths if str(path) in message), None)
    if path is None:
        raise ViolationError(f"message without a file: {message!r}")
    if len(message.replace(str(path), "")) > MAX_MESSAGE_LENGTH:
        raise ViolationError(f"message of {len(message)} characters: {message[:200]!r}…")
    if any(ord(character) < 32 and character != "\n" for character in message):
        raise ViolationError(f"message with control characters: {message!r}")
    if lines:
        _check_line(message, path)
    return message


def _check_line(message: str, path: Path) -> None:
    match = re.match(rf"{re.escape(str(path))}, line (\d+): .", message, re.DOTALL)
    if match is None:
        if not any(part in message for part in WHOLE_FILE):
            raise ViolationError(f"message without a line: {message!r}")
        return
    # The number of lines in a gzip file is not available here, so only the lower limit is checked.
    if int(match[1]) < 1:
        raise ViolationError(f"line {match[1]} does not exist: {message!r}")


def assert_equal(first: object, second: object, comparison: str) -> None:
    """Raise an error if two results differ."""
    if first != second:
        raise ViolationError(f"{comparison}: {first!r} is not {second!r}")
