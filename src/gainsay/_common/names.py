"""Names that callers give to models, candidates and runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


def check_name(what: str, name: str) -> str:
    """Return a name if it is text that can be written and is not blank, or raise; the message begins with `what`."""
    if not name.strip():
        raise ValueError(f"{what} is blank: {name!r}; it stands in every table")
    return check_text(what, name)


def check_text(what: str, text: str) -> str:
    r"""Return text if it can be written, or raise.

    Python strings may hold halves of surrogate pairs (from file names that are no UTF-8, or from broken JSON), which no
    file, table or terminal takes.

    >>> check_text("name", "LambdaMART, 31 leaves")
    'LambdaMART, 31 leaves'
    >>> check_text("name", "31\ud83d")
    Traceback (most recent call last):
    ValueError: name cannot be written as UTF-8, since its character 2 is half of a pair: '31\ud83d'
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{what} cannot be written as UTF-8, since its character {error.start} is half of a pair: {text!r}"
        ) from None
    return text


def check_ids(what: str, rows: Iterable[tuple[Any, ...]]) -> None:
    """Raise where an id, among the first two entries of a row, is text that cannot be written (see `check_name`)."""
    for row in rows:
        for text in row[:2]:
            if isinstance(text, str) and not text.isascii():
                try:
                    text.encode()
                except UnicodeEncodeError:
                    raise ValueError(f"{what} has the id {text!r}, which cannot be written as UTF-8") from None


def natural_order(names: Iterable[str]) -> list[str]:
    """Return names in natural order, in which numbers inside them count as numbers.

    >>> natural_order(["model 10", "model 2", "base"])
    ['base', 'model 2', 'model 10']
    """
    return sorted(names, key=natural_key)


def natural_key(name: str) -> tuple[list[tuple[int, str]], str]:
    """Return the sort key of `natural_order`."""
    parts = re.split(r"([0-9]+)", name)
    return [_number_key(part) if place % 2 else (0, part) for place, part in enumerate(parts)], name


def _number_key(digits: str) -> tuple[int, str]:
    """Sort key of a number of any length: the longer one is the larger, leading zeros apart."""
    digits = digits.lstrip("0")
    return len(digits), digits
