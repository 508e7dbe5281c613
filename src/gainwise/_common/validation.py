"""Validation of single arguments: choices, numbers, flags, names and paths of outputs."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .lazy import numpy as np
from .text import printable

NAME = r"[A-Za-z_][A-Za-z0-9_]*"
"""The names of metrics, functions and columns that the name of a metric can contain."""


def validate_choice(argument: str, value: object, choices: Sequence[str]) -> None:
    """Raise `ValueError` with the nearest valid value unless `value` is one of `choices`."""
    if value not in choices:
        from .arrays import nearest

        hint = nearest(str(value), choices)
        raise ValueError(f"{argument} must be one of {', '.join(map(repr, choices))}, got {value!r}{hint}.")


def validate_integer(argument: str, value: Any, least: int = 1, unit: str = "") -> int:
    """Return `value` as an int if it is a whole number of at least `least`, or raise.

    Integers of Python and NumPy are accepted, and floats without a fraction, because tables, JSON and tuners convert
    integers to floats. Truth values are rejected. `unit` is the counted noun. Other types raise a
    `TypeError`. Fractions and small numbers raise a `ValueError`.

    >>> validate_integer("k", 10.0)
    10
    >>> validate_integer("rounds", 2.5, unit="boosting rounds")
    Traceback (most recent call last):
    ValueError: rounds must be a whole number of boosting rounds, at least 1, got 2.5.
    """
    wanted = f"{argument} must be a whole number of {f'{unit}, ' if unit else ''}at least {least}, got {value!r}."
    if not _is_number(value):
        raise TypeError(wanted)
    if value != value // 1 or value < least:
        raise ValueError(wanted)
    return int(value)


def validate_real(argument: str, value: Any, low: float = -math.inf, high: float = math.inf) -> float:
    """Return `value` as a float if it is a real number of Python or NumPy with low <= value <= high, or raise.

    Truth values are rejected, as by `validate_integer`.

    >>> validate_real("p", np.float32(0.5), 0, 1)
    0.5
    >>> validate_real("min_delta", -1, 0)
    Traceback (most recent call last):
    ValueError: min_delta must be at least 0, got -1.
    """
    validate_number(argument, value)
    if not low <= value <= high:
        bounds = f"be at least {low:g}" if high == math.inf else f"be between {low:g} and {high:g}"
        raise ValueError(f"{argument} must {'not be NaN' if low == -math.inf else bounds}, got {value!r}.")
    return float(value)


def validate_number(argument: str, value: Any) -> float:
    """Return `value` as a float if it is a real number of Python or NumPy, NaN included, or raise `TypeError`."""
    if not _is_number(value):
        raise TypeError(f"{argument} must be a number, got {value!r}.")
    return float(value)


def validate_flag(argument: str, value: Any) -> bool:
    """Return `value` as a bool if it is a truth value of Python or NumPy, or raise `TypeError`.

    >>> validate_flag("maximize", "min")
    Traceback (most recent call last):
    TypeError: maximize must be True or False, got 'min'.
    """
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{argument} must be True or False, got {value!r}.")
    return bool(value)


def validate_ordered(argument: str, value: Any) -> None:
    """Raise `TypeError` for a set, because the order of strings in it differs between runs of Python.

    >>> validate_ordered("metrics", {"map"})
    Traceback (most recent call last):
    TypeError: metrics must have an order, got a set. Pass a list.
    """
    if isinstance(value, set | frozenset):
        raise TypeError(f"{argument} must have an order, got a set. Pass a list.")


def validate_name(argument: str, name: str) -> str:
    """Return a name, or raise if it is blank or cannot be written. The message starts with `argument`."""
    if not name.strip():
        raise ValueError(f"{argument} must not be blank, got {name!r}.")
    return validate_text(argument, name)


def validate_mapping(argument: str, value: Any, content: str) -> None:
    """Raise unless `value` maps names, which are strings, to objects. `content` describes the objects.

    >>> validate_mapping("runs", ["bm25.txt"], "a run")
    Traceback (most recent call last):
    TypeError: runs must map each name to a run, got list. Pass {'name': …}.
    >>> validate_mapping("runs", {}, "a run")
    Traceback (most recent call last):
    ValueError: runs must map at least one name to a run, got none. Pass {'name': …}.
    """
    if not isinstance(value, Mapping):
        raise TypeError(f"{argument} must map each name to {content}, got {type(value).__name__}. Pass {{'name': …}}.")
    if not value:
        raise ValueError(f"{argument} must map at least one name to {content}, got none. Pass {{'name': …}}.")
    for name in value:
        if not isinstance(name, str):
            raise TypeError(f"names of {argument} must be strings, got {name!r}.")
    validate_distinct(f"names of {argument}", list(value), when_printed=True)


def validate_distinct(argument: str, names: Sequence[str], *, when_printed: bool = False) -> None:
    """Raise `ValueError` with both places, from 0, if two names are the same, or the same when printed on one line.

    >>> validate_distinct("models", ["A", "B", "A "], when_printed=True)
    Traceback (most recent call last):
    ValueError: models must be distinct when printed, got 'A' at 0 and 'A ' at 2. Rename or remove one of them.
    """
    places: dict[str, int] = {}
    for place, name in enumerate(names):
        first = places.setdefault(printable(name).strip() if when_printed else name, place)
        if first != place:
            condition = "distinct when printed" if when_printed else "distinct"
            raise ValueError(
                f"{argument} must be {condition}, got {names[first]!r} at {first} and {name!r} at {place}. Rename or "
                "remove one of them."
            )


def validate_column(argument: str, name: Any) -> str:
    """Return the name of a column of judgments, or raise, because the name is part of names of metrics.

    >>> validate_column("column", "price (EUR)")
    Traceback (most recent call last):
    ValueError: column must consist of letters, digits and _ and not start with a digit, got 'price (EUR)'. Rename it.
    """
    if not isinstance(name, str):
        raise TypeError(f"{argument} must be the name of a column, got {name!r}.")
    if not re.fullmatch(NAME, name):
        raise ValueError(
            f"{argument} must consist of letters, digits and _ and not start with a digit, got {name!r}. Rename it."
        )
    return name


def validate_text(argument: str, text: str) -> str:
    r"""Return text, or raise if it cannot be written.

    Python strings may contain halves of surrogate pairs, for example from file names that are not UTF-8. Files, tables
    and terminals do not support them.

    >>> validate_text("name", "LambdaMART, 31 leaves")
    'LambdaMART, 31 leaves'
    >>> validate_text("name", "31\ud83d")
    Traceback (most recent call last):
    ValueError: name cannot be written as UTF-8, because its character 2 is half of a surrogate pair: '31\ud83d'.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{argument} cannot be written as UTF-8, because its character {error.start} is half of a surrogate pair: "
            f"{text!r}."
        ) from None
    return text


def validate_output(what: str, path: str | os.PathLike[str]) -> Path:
    """Return the path of an output file, or raise if it cannot be written.

    Nothing is created. Existing files will be overwritten. Messages start with `what`.

    >>> validate_output("path", "missing/report.html")
    Traceback (most recent call last):
    FileNotFoundError: path 'missing/report.html': directory 'missing' does not exist. Create it or choose another path.
    """
    output = Path(path)
    named = f"{what} {str(output)!r}"
    if output.is_dir():
        raise IsADirectoryError(f"{named} is a directory. Add a file name.")
    folder = (output.resolve() if output.is_symlink() else output).parent  # The target of a link may not exist yet.
    if not folder.is_dir():
        raise FileNotFoundError(f"{named}: directory {str(folder)!r} does not exist. Create it or choose another path.")
    if not os.access(output if output.exists() else folder, os.W_OK):
        raise PermissionError(f"{named} is not writable. Change its permissions or choose another path.")
    return output


@contextmanager
def prefix_errors(prefix: str, *kinds: type[Exception]) -> Iterator[None]:
    """Put a prefix before the message of a `ValueError`, and of errors of these kinds, which become a `ValueError`.

    >>> with prefix_errors("in round 3: "):
    ...     validate_integer("k", 0)
    Traceback (most recent call last):
    ValueError: in round 3: k must be a whole number of at least 1, got 0.
    """
    expected: tuple[type[Exception], ...] = (ValueError, *kinds)
    try:
        yield
    except expected as error:
        raise ValueError(f"{prefix}{error}") from error.__cause__


def _is_number(value: object) -> bool:
    """Return whether a value is a real number of Python or NumPy and not a truth value."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
