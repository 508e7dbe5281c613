"""Names of models, candidates and runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


def validate_name(argument: str, name: str) -> str:
    """Return a name, or raise if it is blank or cannot be written. The message starts with `argument`."""
    if not name.strip():
        raise ValueError(f"{argument} must not be blank, got {name!r}.")
    return validate_text(argument, name)


def validate_text(argument: str, text: str) -> str:
    r"""Return text, or raise if it cannot be written.

    Python strings may contain halves of surrogate pairs, for example from file names that are not UTF-8. Files, tables
    and terminals do not support them.

    >>> validate_text("name", "LambdaMART, 31 leaves")
    'LambdaMART, 31 leaves'
    >>> validate_text("name", "31\ud83d")
    Traceback (most recent call last):
    ValueError: name cannot be written as UTF-8, because its character 2 is half of a surrogate pair: '31\ud83d'
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{argument} cannot be written as UTF-8, because its character {error.start} is half of a surrogate pair: "
            f"{text!r}"
        ) from None
    return text


def validate_ids(argument: str, rows: Iterable[tuple[Any, ...]]) -> None:
    """Raise if an id, one of the first two entries of a row, cannot be written (see `validate_text`)."""
    for row in rows:
        for text in row[:2]:
            if isinstance(text, str) and not text.isascii():
                try:
                    text.encode()
                except UnicodeEncodeError:
                    raise ValueError(f"{argument} has the id {text!r}, which cannot be written as UTF-8.") from None


def natural_order(names: Iterable[str]) -> list[str]:
    """Return names in natural order, which compares numbers within names by value.

    >>> natural_order(["model 10", "model 2", "base"])
    ['base', 'model 2', 'model 10']
    """
    return sorted(names, key=natural_key)


def natural_key(name: str) -> tuple[list[tuple[int, str]], str]:
    """Return the sort key of `natural_order`."""
    parts = re.split(r"([0-9]+)", name)
    return [_number_key(part) if place % 2 else (0, part) for place, part in enumerate(parts)], name


def _number_key(digits: str) -> tuple[int, str]:
    """Return the sort key of a number of any length, without leading zeros."""
    digits = digits.lstrip("0")
    return len(digits), digits
