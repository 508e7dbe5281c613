"""The names by which metrics, and gains and discounts that are functions, are found: all the state that is shared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection


T = TypeVar("T")

Origin = tuple[str, ...]
"""Module and qualified name of what a name was given to: what is defined there again is the same, anew."""

NAME = r"[A-Za-z_][A-Za-z0-9_]*"


class Registry(Mapping[str, T], Generic[T]):
    """What there is by name, and where each was defined. `kind` says what names name; `reserved` may not be given."""

    def __init__(self, kind: str, reserved: Collection[str] = ()) -> None:
        self._kind = kind
        self._reserved = reserved
        self._found: dict[str, tuple[T, Origin]] = {}

    def __getitem__(self, name: str) -> T:
        return self._found[name][0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def check(self, name: str, origin: Origin) -> None:
        """Raise `ValueError` where a name is none, is one of gainsay's own, or was given to something else."""
        if not re.fullmatch(NAME, name):
            raise ValueError(f"a {self._kind} is named with letters, digits and _, not by a digit first: got {name!r}")
        held = self._found[name][1] if name in self._found else None
        if name in self._reserved or (held is not None and held != origin and _built_in(held)):
            raise ValueError(f"{name!r} is the name of a {self._kind} of gainsay's own: take another name")
        if held is not None and held != origin:
            raise ValueError(
                f"the {self._kind} name {name!r} is taken by {'.'.join(held)}, and cannot go to {'.'.join(origin)} "
                "too: take another name"
            )

    def add(self, name: str, value: T, origin: Origin) -> None:
        """Give a name, anew where it was given to what has the same origin; see `check`."""
        self.check(name, origin)
        self._found[name] = value, origin


METRICS: Registry[tuple[type[Any], Mapping[str, Any]]] = Registry("metric")
"""Each name of a metric, with the class (a `Metric`) and the options that it stands for."""


def origin_of(thing: Any) -> Origin:
    """Return module and qualified name of a class or function; of what has none, those of its type.

    >>> origin_of(origin_of)
    ('gainsay.metrics.registry', 'origin_of')
    """
    while isinstance(thing, partial):
        thing = thing.func
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return str(getattr(named, "__module__", "")), str(named.__qualname__)


class UnpicklableError(TypeError):
    """A metric is to be sent to another process, or written to a file, that is made with what cannot be."""


def require_picklable(metric: object, part: str, function: Any) -> None:
    """Raise `UnpicklableError` with the remedy for a lambda, or a function within a function.

    What a notebook or script defines at its top level is left to the pickler: those of clusters send it as it is.
    """
    origin = origin_of(function)
    if "<" in origin[1]:  # <lambda>, <locals>
        raise UnpicklableError(
            f"{metric} cannot be pickled: its {part}, {'.'.join(origin)}, is not what another process could import. "
            "Define it with def at the top level of a module"
        )


def _built_in(origin: Origin) -> bool:
    return origin[0].partition(".")[0] == __name__.partition(".")[0]
