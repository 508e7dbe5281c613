"""Properties that are worked out once."""

from __future__ import annotations

import functools
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 12):
    cached_property = functools.cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801
        """That of Python 3.12 for 3.11, whose own holds a lock that all instances share while it works.

        Threads wait for each other there, and a process that is forked meanwhile waits for ever.
        """

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            """Return the value, worked out when it is first asked for."""
            if instance is None:
                return self
            if self.attrname not in instance.__dict__:
                instance.__dict__[self.attrname] = self.func(instance)
            return instance.__dict__[self.attrname]
