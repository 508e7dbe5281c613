"""Where a training is shown while it goes on: lines of a terminal, a picture in a notebook, or one line at its end."""

from __future__ import annotations

import atexit
import sys
import time
import weakref
from typing import TYPE_CHECKING, Any, Literal

from ..drawing.terminal import board_of, is_terminal, knows_blocks, may_colour
from ..drawing.updating import Picture, in_notebook

if TYPE_CHECKING:
    from collections.abc import Callable

    from .views import View

__all__ = ["Live", "Show", "display", "seconds_now", "tell_line"]

Show = Literal["terminal", "notebook", "line"]

seconds_now = time.perf_counter


def display(show: Show | bool) -> Live:
    """Return where a training is shown: as said, or as suits what stderr is."""
    if show is False:
        return Live()
    if show is True:
        show = "notebook" if in_notebook() else "terminal" if is_terminal(sys.stderr) else "line"
    known: dict[str, type[Live]] = {"terminal": _Terminal, "notebook": _Notebook, "line": _Line}
    if not isinstance(show, str) or show not in known:
        raise ValueError(f"show must be True, False or one of {', '.join(map(repr, known))}, got {show!r}")
    return known[show]()


def tell_line(view: View, stream: Any) -> str:
    """Return the last line of a training as this stream can write it."""
    width = board_of(stream).width() if is_terminal(stream) else None
    return view.final_line(width, ascii_only=not knows_blocks(stream), colour=may_colour(stream))


class Live:
    """Where one training is shown; this one shows nothing."""

    def begin(self, view: Callable[[], View | None], over: Callable[[], bool]) -> None:
        """Begin; `view` returns what is to be seen, `over` whether it has ended without a word."""

    def touch(self) -> None:
        """Tell that a round has ended."""

    def end(self) -> None:
        """Show the end."""

    def cancel(self) -> None:
        """Show nothing any more."""
        _running.discard(self)


class _Shown(Live):
    """What the three others share: an end that comes at the end of the process at the latest."""

    def begin(self, view: Callable[[], View | None], over: Callable[[], bool]) -> None:
        self._view = view
        _running.add(self)


class _Line(_Shown):
    """Nothing but a line at the end, for logs."""

    def end(self) -> None:
        _running.discard(self)
        view = self._view()
        if view is not None and sys.stderr is not None:
            print(tell_line(view, sys.stderr), file=sys.stderr, flush=True)


class _Terminal(_Shown):
    """Lines that are rewritten in place, and become one at the end."""

    def begin(self, view: Callable[[], View | None], over: Callable[[], bool]) -> None:
        super().begin(view, over)
        self._board = board_of(sys.stderr)
        self._board.put(self, self._lines, over)

    def touch(self) -> None:
        self._board.touch(self)

    def end(self) -> None:
        _running.discard(self)
        view = self._view()
        self._board.drop(self, None if view is None else tell_line(view, self._board.stream))

    def cancel(self) -> None:
        super().cancel()
        self._board.drop(self)

    def _lines(self, width: int) -> list[str]:
        view = self._view()
        stream = self._board.stream
        return [] if view is None else view.block(width, ascii_only=not knows_blocks(stream), colour=may_colour(stream))


class _Notebook(_Shown):
    """One picture that is replaced in place; drawn for the last time when the cell has ended at the latest."""

    def begin(self, view: Callable[[], View | None], over: Callable[[], bool]) -> None:
        super().begin(view, over)
        self._picture = Picture(self._html)
        self._events = sys.modules["IPython"].get_ipython() if in_notebook() else None
        if self._events is not None:
            self._events.events.register("post_run_cell", self._after_cell)
        self._any = False

    def touch(self) -> None:
        self._any = True
        self._picture.touch()

    def end(self) -> None:
        self.cancel()
        if self._any:
            self._picture.draw()

    def cancel(self) -> None:
        super().cancel()
        if self._events is not None:
            self._events.events.unregister("post_run_cell", self._after_cell)
            self._events = None

    def _after_cell(self, _: Any = None) -> None:
        self.end()

    def _html(self) -> str:
        view = self._view()
        return "" if view is None else view.picture()


_running: weakref.WeakSet[Live] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    """Show the end of trainings of which nobody has told that they ended."""
    for one in list(_running):
        one.end()
