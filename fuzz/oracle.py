"""What a reader may do with any bytes whatever: return data, or raise one `ValueError` that says where.

A harness is a module with `SEEDS`, `TOKENS` and `check(content, folder)`. The tests replay `tests/corpus` through the
same `check`, so what is permitted is written here only.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

LONGEST_MESSAGE = 4000
WHOLE_FILE = (
    "the file has no documents",
    "the file has no scores",
    "the file has a header",
    "the file is empty",
    "the gzip stream ends too early",
    "damaged gzip stream",
    "more than max_bytes=",
    "rows of ",
    ": group must ",
    ": weight must ",
    " weights, but ",
    "columns. Name one with column=",
    "no column ",
    " occurs ",
)
"""What a reader of lines may say of a file as a whole; everything else has to name its line."""


class ViolationError(AssertionError):
    """A reader did what none may do."""


def attempt(read: Callable[[], T], *paths: Path, lines: bool, permitted: tuple[type[Exception], ...] = ()) -> T | str:
    """Return what `read` returns, or the message of the `ValueError` that it raises.

    Parameters
    ----------
    read
        Reads the files; every exception other than ValueError and `permitted` passes through, and so is found.
    paths
        The files, one of which a message has to name.
    lines
        Whether a message has to say the line too, unless it is about the whole file.
    permitted
        Further exceptions that the reader's documentation allows.
    """
    try:
        return read()
    except (ValueError, *permitted) as error:
        message = str(error)
    path = next((path for path in paths if str(path) in message), None)
    if path is None:
        raise ViolationError(f"names none of the files: {message!r}")
    if len(message.replace(str(path), "")) > LONGEST_MESSAGE:
        raise ViolationError(f"message of {len(message)} characters: {message[:200]!r}…")
    if any(ord(one) < 32 and one != "\n" for one in message):
        raise ViolationError(f"message with control characters: {message!r}")
    if lines:
        _names_line(message, path)
    return message


def _names_line(message: str, path: Path) -> None:
    said = re.match(rf"{re.escape(str(path))}, line (\d+): .", message, re.DOTALL)
    if said is None:
        if not any(known in message for known in WHOLE_FILE):
            raise ViolationError(f"names no line: {message!r}")
        return
    # gzip: the lines are those of the text inside, which the caller does not know; any line from 1 is possible
    if int(said[1]) < 1:
        raise ViolationError(f"there is no line {said[1]}: {message!r}")


def same(first: object, second: object, what: str) -> None:
    """Raise where two ways to read the same thing differ."""
    if first != second:
        raise ViolationError(f"{what}: {first!r} against {second!r}")
