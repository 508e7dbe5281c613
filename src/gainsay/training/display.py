"""Live output of trainings: lines in a terminal, a picture in a notebook, or one line at the end."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import time
import weakref
from typing import TYPE_CHECKING, Any, Literal

from .picture import create_picture
from .view import to_ascii

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .view import Segments, View

__all__ = ["Display", "Screen", "Show", "choose_display", "is_notebook", "is_terminal"]

Show = Literal["terminal", "notebook", "line"]
TERMINAL_INTERVAL = 0.25
"""The shortest time between two updates of a terminal, in seconds."""
NOTEBOOK_INTERVAL = 0.5
"""The same for notebooks, where each update passes through the browser."""


def is_terminal(stream: Any) -> bool:
    """Return whether lines of a stream can be rewritten."""
    try:
        return bool(stream.isatty()) and os.environ.get("TERM") != "dumb"
    except (AttributeError, ValueError):  # None with pythonw, or closed
        return False


def supports_unicode(stream: Any) -> bool:
    """Return whether a stream can write marks and blocks."""
    try:
        "●◆▁█−…".encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def is_notebook() -> bool:
    """Return whether the process is a kernel of Jupyter."""
    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and hasattr(shell, "kernel")


class Screen:
    """Live lines at the bottom of a terminal, one block per key, below all output of Python.

    Output hides a block until its next update, so no lines of a failed training remain below the output.
    """

    def __init__(self, stream: Any) -> None:
        from rich.console import Console

        self.stream = stream
        self._ascii_only = not supports_unicode(stream)
        self._console = Console(file=stream, force_terminal=True, highlight=False, markup=False, emoji=False)
        self._live: Any = None
        self._blocks: dict[object, Callable[[int], list[Segments]]] = {}
        self._hidden: set[object] = set()
        self._lock = threading.RLock()
        """Locked to start and stop, never to draw, because rich has a lock for that."""
        self._last = 0.0
        self._is_refreshing = False

    def add(self, key: object, create_lines: Callable[[int], list[Segments]]) -> None:
        """Add a block. `create_lines` gets the width."""
        from rich.live import Live

        with self._lock:
            self._blocks[key] = create_lines
            if self._live is None:
                self._live = Live(
                    self,
                    console=self._console,
                    auto_refresh=False,
                    transient=True,
                    redirect_stdout=is_terminal(sys.stdout),
                    redirect_stderr=is_terminal(sys.stderr),
                )
                self._hidden.add(key)  # nothing to draw yet
                with self._ignore_closed_terminal():
                    self._live.start()
                    self._console.show_cursor()  # a failed training must not leave a hidden cursor

    def update(self, key: object) -> None:
        """Draw again if the last time is long enough ago."""
        self._hidden.discard(key)
        if time.monotonic() - self._last < TERMINAL_INTERVAL or self._live is None:
            return
        self._last = time.monotonic()
        self._is_refreshing = True
        with self._ignore_closed_terminal():
            self._live.refresh()
        self._is_refreshing = False

    def remove(self, key: object, line: str = "") -> None:
        """Remove a block and print a line instead. Stop with the last block."""
        with self._lock:
            self._blocks.pop(key, None)
            self._hidden.discard(key)
            if not self._blocks and self._live is not None:
                live, self._live = self._live, None
                with self._ignore_closed_terminal():
                    live.stop()
            if line:
                self.print_line(line)

    def print_line(self, line: str) -> None:
        """Print a line above the blocks."""
        hidden = set(self._hidden)
        with self._ignore_closed_terminal():
            self._console.print(to_ascii(line) if self._ascii_only else line, soft_wrap=True)
        self._hidden = hidden & set(self._blocks)

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from rich.text import Text

        width = max(self._console.width - 1, 20)  # one column stays free, because some terminals wrap after the last
        for key, create_lines in list(self._blocks.items()):
            if key not in self._hidden:
                for line in create_lines(width):
                    text = Text.assemble(
                        *((to_ascii(text) if self._ascii_only else text, style) for text, style in line)
                    )
                    text.truncate(width, overflow="crop")
                    yield text
        if not self._is_refreshing:
            self._hidden.update(self._blocks)

    @contextlib.contextmanager
    def _ignore_closed_terminal(self) -> Iterator[None]:
        """Continue the training without output if the terminal is closed."""
        try:
            yield
        except (OSError, ValueError):
            if not getattr(self.stream, "closed", True):
                raise
            self._blocks.clear()


_screens: dict[int, Screen] = {}


def get_screen(stream: Any) -> Screen:
    """Return the screen of a terminal, which all trainings share."""
    stream = getattr(stream, "rich_proxied_file", stream)
    screen = _screens.get(id(stream))
    if screen is None or screen.stream is not stream:
        screen = _screens[id(stream)] = Screen(stream)
    return screen


class Display:
    """The output of one training: one line at the end, for logs.

    `create_view` returns the current state, or None before the first round. The end of the process counts as the end of
    the training.
    """

    def __init__(self, create_view: Callable[[], View | None]) -> None:
        self._create_view = create_view
        _running.add(self)

    def update(self) -> None:
        """Show a new round."""

    def end(self) -> None:
        """Show the end."""
        self.cancel()
        view, stream = self._create_view(), sys.stderr
        if view is not None and stream is not None:
            encoding = getattr(stream, "encoding", None) or "utf-8"
            print(view.create_final_line().encode(encoding, "replace").decode(encoding), file=stream, flush=True)

    def cancel(self) -> None:
        """Show nothing more."""
        _running.discard(self)


class TerminalDisplay(Display):
    """Live lines, which one line replaces at the end."""

    def __init__(self, create_view: Callable[[], View | None]) -> None:
        super().__init__(create_view)
        self._screen = get_screen(sys.stderr)
        self._screen.add(self, self._create_lines)

    def update(self) -> None:
        self._screen.update(self)

    def end(self) -> None:
        _running.discard(self)
        view = self._create_view()
        self._screen.remove(self, "" if view is None else view.create_final_line())

    def cancel(self) -> None:
        super().cancel()
        self._screen.remove(self)

    def _create_lines(self, width: int) -> list[Segments]:
        view = self._create_view()
        return [] if view is None else view.create_lines(width)


class NotebookDisplay(Display):
    """One output of a cell that is replaced in place, at the latest when the cell has ended."""

    def __init__(self, create_view: Callable[[], View | None]) -> None:
        super().__init__(create_view)
        self._handle: Any = None
        self._last = 0.0
        self._lock = threading.Lock()
        self._shell = sys.modules["IPython"].get_ipython() if is_notebook() else None
        if self._shell is not None:
            self._shell.events.register("post_run_cell", self._finish_cell)

    def update(self) -> None:
        if time.monotonic() - self._last >= NOTEBOOK_INTERVAL:
            self._draw()

    def end(self) -> None:
        self.cancel()
        self._draw()

    def cancel(self) -> None:
        super().cancel()
        if self._shell is not None:
            self._shell.events.unregister("post_run_cell", self._finish_cell)
            self._shell = None

    def _finish_cell(self, _: Any = None) -> None:
        self.end()

    def _draw(self) -> None:
        with self._lock:
            self._last = time.monotonic()
            view = self._create_view()
            if view is None:
                return
            from IPython import display as ipython_display

            display: Any = ipython_display
            content = display.HTML(create_picture(view))
            if self._handle is None:
                self._handle = display.display(content, display_id=True)
            else:
                self._handle.update(content)


DISPLAYS: dict[str, type[Display]] = {"terminal": TerminalDisplay, "notebook": NotebookDisplay, "line": Display}


def choose_display(show: Show | bool) -> type[Display] | None:
    """Return the kind of display for `show`. True selects it by the type of stderr, False is None."""
    if show is False:
        return None
    if show is True:
        show = "notebook" if is_notebook() else "terminal" if is_terminal(sys.stderr) else "line"
    if not isinstance(show, str) or show not in DISPLAYS:
        raise ValueError(f"show must be True, False or one of {', '.join(map(repr, DISPLAYS))}, got {show!r}")
    return DISPLAYS[show]


_running: weakref.WeakSet[Display] = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    """Show the end of all trainings that ended without a call."""
    for display in list(_running):
        display.end()
