"""Live output of trainings: lines in a terminal, a picture in a notebook, or one line at the end."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from .._common.theme import choose_terminal_colors
from .view import create_picture, to_ascii

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from .view import View

__all__ = ["Display", "Show", "choose_display", "is_notebook", "is_terminal"]

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


class Display:
    """The output of one training: one line at the end, for logs.

    `create_view` returns the current state, or None if the `Curves` have been deleted.
    """

    def __init__(self, create_view: Callable[[], View | None]) -> None:
        self._create_view = create_view

    def update(self) -> None:
        """Show a new round."""

    def end(self) -> None:
        """Show the end."""
        self.cancel()
        view, stream = self._create_view(), sys.stderr
        if view is not None and stream is not None:
            encoding = getattr(stream, "encoding", None) or "utf-8"
            line = view.create_final_line().encode(encoding, "replace").decode(encoding)
            with _ignore_closed(stream):
                print(line, file=stream, flush=True)

    def cancel(self) -> None:
        """Show nothing more."""


class TerminalDisplay(Display):
    """Live lines at the bottom of a terminal, which one line replaces at the end. The latest training has them.

    Output of Python appears above the lines and hides them until the next update, so that no lines of a failed training
    remain below the output.
    """

    _latest: ClassVar[TerminalDisplay | None] = None
    _lock = threading.Lock()

    def __init__(self, create_view: Callable[[], View | None]) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.theme import Theme

        super().__init__(create_view)
        stream = getattr(sys.stderr, "rich_proxied_file", sys.stderr)
        self._console = Console(file=stream, force_terminal=True, highlight=False, markup=False, emoji=False)
        self._console.push_theme(Theme(choose_terminal_colors(self._console.color_system)))
        self._live = Live(
            self,
            console=self._console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=is_terminal(sys.stdout),
            redirect_stderr=is_terminal(sys.stderr),
        )
        self._is_hidden, self._is_refreshing, self._last = True, False, 0.0
        self._console.push_render_hook(self)  # type: ignore[arg-type]  # called before that of `Live`
        with TerminalDisplay._lock, _ignore_closed(stream):
            if TerminalDisplay._latest is not None:
                TerminalDisplay._latest._remove_lines()
            TerminalDisplay._latest = self
            self._live.start()
            self._streams = sys.stdout, sys.stderr  # `print(curves)` may end the training, and print to them after that
            self._console.show_cursor()  # a failed training must not leave a hidden cursor

    def update(self) -> None:
        self._is_hidden = False
        if time.monotonic() - self._last >= TERMINAL_INTERVAL and self._live.is_started:
            self._last, self._is_refreshing = time.monotonic(), True
            with _ignore_closed(self._console.file):
                self._live.refresh()
            self._is_refreshing = False

    def cancel(self) -> None:
        self._remove_lines()

    def _remove_lines(self) -> None:
        self._is_hidden = True
        with _ignore_closed(self._console.file):
            self._live.stop()

    def process_renderables(self, renderables: list[Any]) -> list[Any]:
        """Leave the lines of an ended training in place, because the user may have typed below them."""
        view = None if self._is_refreshing else self._create_view()
        if view is not None and view.is_over:
            self._live._live_render._shape, self._is_hidden = None, True
        return renderables

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        from rich.text import Text

        view = None if self._is_hidden else self._create_view()
        width = max(console.width - 1, 20)  # one column stays free, because some terminals wrap after the last
        is_ascii = not supports_unicode(console.file)
        for line in [] if view is None else view.create_lines(width):
            text = Text.assemble(*((to_ascii(text) if is_ascii else text, style) for text, style in line))
            text.truncate(width, overflow="crop")
            yield text
        self._is_hidden = not self._is_refreshing


@contextlib.contextmanager
def _ignore_closed(stream: Any) -> Iterator[None]:
    """Continue the training without output if the terminal is closed."""
    try:
        yield
    except (OSError, ValueError):
        if not getattr(stream, "closed", True):
            raise


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
