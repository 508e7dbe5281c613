"""Pictures of a notebook that are replaced in place."""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Picture", "in_notebook"]

OFTEN = 0.5
"""Seconds between two drawings at least: each goes through the browser."""


def in_notebook() -> bool:
    """Return whether this runs in a kernel of Jupyter, behind a notebook of whatever kind."""
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and hasattr(shell, "kernel")


class Picture:
    """One picture below a cell; `touch` replaces it, at most twice a second."""

    def __init__(self, render: Callable[[], str]) -> None:
        self._render = render
        self._handle: Any = None
        self._last = 0.0
        self._lock = threading.Lock()

    def touch(self) -> None:
        """Tell that there is news."""
        if time.monotonic() - self._last >= OFTEN:
            self.draw()

    def draw(self) -> None:
        """Show how it is now."""
        from IPython import display as shown

        display: Any = shown

        with self._lock:
            self._last = time.monotonic()
            markup = self._render()
            if not markup:
                return
            content = display.HTML(markup)
            if self._handle is None:
                self._handle = display.display(content, display_id=True)
            else:
                self._handle.update(content)
