"""Registries of metrics, and of gains and discounts that are functions. No other state is shared."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection

T = TypeVar("T")

Origin = tuple[str, ...]
"""Module and qualified name of a class or function. A new definition with the same origin replaces the old one."""

NAME = r"[A-Za-z_][A-Za-z0-9_]*"


class Registry(dict[str, T], Generic[T]):
    """Values by name, with their origins. `kind` is the type of values in words. `reserved` names cannot be added."""

    def __init__(self, kind: str, reserved: Collection[str] = ()) -> None:
        super().__init__()
        self._kind = kind
        self._reserved = reserved
        self._origins: dict[str, Origin] = {}

    def validate(self, name: str, origin: Origin) -> None:
        """Raise `ValueError` if a name is invalid, built in, or used by another origin."""
        if not re.fullmatch(NAME, name):
            raise ValueError(
                f"the name of a {self._kind} must consist of letters, digits and _ and not start with a digit, got "
                f"{name!r}."
            )
        owner = self._origins.get(name, origin)
        if name in self._reserved or (owner != origin and is_built_in(owner)):
            raise ValueError(f"{name!r} is the name of a built-in {self._kind}. Choose another name.")
        if owner != origin:
            raise ValueError(
                f"the {self._kind} name {name!r} is used by {'.'.join(owner)}, so {'.'.join(origin)} cannot have it. "
                "Choose another name."
            )

    def add(self, name: str, value: T, origin: Origin) -> None:
        """Add a value, or replace the one with the same origin. See `validate`."""
        self.validate(name, origin)
        self[name], self._origins[name] = value, origin


METRICS: Registry[tuple[type[Any], Mapping[str, Any]]] = Registry("metric")
"""The class and the options of each metric name."""


def origin_of(thing: Any) -> Origin:
    """Return module and qualified name of a class or function, or of the type of any other object.

    >>> origin_of(origin_of)
    ('gainsay.metrics.registry', 'origin_of')
    """
    while isinstance(thing, partial):
        thing = thing.func
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return str(getattr(named, "__module__", "")), str(named.__qualname__)


class UnpicklableError(TypeError):
    """A metric cannot be sent to another process, because it contains a function that cannot be pickled."""


def validate_picklable(metric: object, part: str, function: Any) -> None:
    """Raise `UnpicklableError` for a lambda or a nested function.

    Functions of a notebook or script are accepted, because the picklers of clusters can send them.
    """
    origin = origin_of(function)
    if "<" in origin[1]:  # <lambda>, <locals>
        raise UnpicklableError(
            f"{metric} cannot be pickled, because other processes cannot import its {part}, {'.'.join(origin)}. Define "
            "it with def at the top level of a module."
        )


def is_built_in(origin: Origin) -> bool:
    """Return whether a class or function is part of gainsay."""
    return origin[0].partition(".")[0] == __name__.partition(".")[0]
