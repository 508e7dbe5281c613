"""The version, properties that are computed once, and helpers without ranking: arrays, arguments, text, themes."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING or sys.version_info >= (3, 12):
    cached_property = functools.cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801
        """The property of Python 3.12 for 3.11, in which all instances share a lock.

        That lock makes threads wait for each other, and can block a forked process forever.
        """

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            """Return the value, which is computed at first use."""
            if instance is None:
                return self
            if self.attrname not in instance.__dict__:
                instance.__dict__[self.attrname] = self.func(instance)
            return instance.__dict__[self.attrname]
