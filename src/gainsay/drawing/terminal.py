"""Lines of a terminal that are rewritten in place, below everything else that is printed meanwhile."""

from __future__ import annotations

import os
import shutil
import sys
import threading
import time
import unicodedata
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Board", "board_of", "columns", "is_terminal", "knows_blocks", "may_colour"]

OFTEN = 0.25
"""Seconds between two drawings at least."""


def is_terminal(stream: Any) -> bool:
    """Return whether lines of a stream can be rewritten."""
    try:
        return bool(stream.isatty()) and os.environ.get("TERM") != "dumb"
    except (AttributeError, ValueError):  # None under pythonw, or closed
        return False


def knows_blocks(stream: Any) -> bool:
    """Return whether a stream can write marks and blocks."""
    try:
        "●◆▁█−…".encode(getattr(stream, "encoding", None) or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def may_colour(stream: Any) -> bool:
    """Return whether a stream is a terminal on which colours are welcome (https://no-color.org)."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes.

    >>> columns("31 leaves"), columns("模型")
    (9, 4)
    """
    wide = sum(unicodedata.east_asian_width(one) in "WF" for one in text)
    return len(text) + wide - sum(unicodedata.combining(one) > 0 for one in text)


class Board:
    """The lines at the bottom of a terminal, in blocks, one for each thing that goes on.

    What anybody prints meanwhile, from Python, stands above them. Safe for threads.
    """

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self._lock = threading.RLock()
        self._blocks: dict[object, tuple[Callable[[int], list[str]], Callable[[], bool]]] = {}
        self._quiet: set[object] = set()
        self._drawn = 0
        self._last = 0.0
        self._inside_line = False
        self._hooked: list[tuple[str, _Above]] = []
        self._proxies: list[_Above] = []

    def put(self, key: object, render: Callable[[int], list[str]], over: Callable[[], bool] = lambda: False) -> None:
        """Have a block drawn from now on; `render` returns its lines, none wider than it is told.

        `over` returns whether what it shows has ended without a word: then the cursor may be anywhere, and what is
        written is left as it is.
        """
        with self._lock:
            self._blocks[key] = (render, over)
            self._hook()

    def touch(self, key: object) -> None:
        """Tell that a block has news; draws at most four times a second."""
        self._quiet.discard(key)
        if time.monotonic() - self._last < OFTEN:
            return
        with self._lock:
            if time.monotonic() - self._last >= OFTEN:
                self._draw()

    def drop(self, key: object, line: str | None = None) -> None:
        """Take a block away; a line that stays may take its place."""
        with self._lock:
            known = self._blocks.pop(key, None) is not None
            self._quiet.discard(key)
            if line is not None:
                self.say(line)
            elif known:
                self._erase()
            if known and self._blocks:
                self._draw()
            if not self._blocks:
                self._unhook()

    def say(self, line: str) -> None:
        """Write a line above the blocks."""
        with self._lock:
            self._erase()
            self._write(line + "\n")

    def width(self) -> int:
        """Return how many columns lines may have; one stays free, since some terminals wrap after the last."""
        return max(self._size()[0] - 1, 20)

    def _size(self) -> tuple[int, int]:
        """Return columns and lines of the terminal, 80 by 24 where it does not tell."""
        try:
            columns, lines = os.get_terminal_size(self.stream.fileno())
        except (AttributeError, OSError, ValueError):
            columns, lines = 0, 0
        usual = shutil.get_terminal_size()
        return columns or usual.columns, lines or usual.lines

    def above(self, stream: Any, text: str) -> Any:
        """Write to another stream, and draw below it the blocks that have had news since the last time."""
        with self._lock:
            left = [key for key, (_, over) in self._blocks.items() if over()]
            for key in left:
                del self._blocks[key]
            if left and not self._blocks:
                self._drawn = 0
                self._unhook()
            self._erase()
            written = stream.write(text)
            self._inside_line = not text.endswith("\n")
            if not self._inside_line:
                if self._blocks.keys() - self._quiet:
                    self._draw()
                self._quiet.update(self._blocks)  # of an aborted training nothing is drawn below every further line
        return written

    def _draw(self) -> None:
        width = self.width()
        shown = [render for key, (render, _) in self._blocks.items() if key not in self._quiet]
        lines = [line for render in shown for line in render(width)]
        lines = lines[: max(self._size()[1] - 1, 1)]
        self._last = time.monotonic()
        start = "\n" if self._inside_line else self._back()
        self._inside_line = False
        self._write(start + "".join(f"{line}\n" for line in lines))
        self._drawn = len(lines)

    def _back(self) -> str:
        """Return what brings the cursor to the first line that was drawn, and wipes from there."""
        return f"\x1b[{self._drawn}A\r\x1b[J" if self._drawn else ""

    def _erase(self) -> None:
        if self._drawn:
            self._write(self._back())
            self._drawn = 0

    def _write(self, text: str) -> None:
        try:
            self.stream.write(text)
            self.stream.flush()
        except (OSError, ValueError):  # the terminal has gone; training goes on
            self._blocks.clear()

    def _hook(self) -> None:
        """Have everything that Python prints to the terminal pass by here."""
        if self._hooked:
            return
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if is_terminal(stream) and not isinstance(stream, _Above):
                above = next((one for one in self._proxies if one._stream is stream), None)
                if above is None:
                    above = _Above(self, stream)
                    self._proxies.append(above)  # for good: print holds no reference to the stream that it writes to
                setattr(sys, name, above)
                self._hooked.append((name, above))

    def _unhook(self) -> None:
        for name, above in self._hooked:
            if getattr(sys, name) is above:
                setattr(sys, name, above._stream)
        self._hooked = []


class _Above:
    """A stream whose text is written above the blocks of a board."""

    def __init__(self, board: Board, stream: Any) -> None:
        self._board = board
        self._stream = stream

    def write(self, text: str) -> Any:
        """Write above the blocks."""
        return self._board.above(self._stream, text) if text else 0

    def writelines(self, lines: Iterable[str]) -> None:
        """Write above the blocks."""
        self.write("".join(lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


_boards: dict[int, Board] = {}


def board_of(stream: Any) -> Board:
    """Return the board of a terminal: all that goes on shares it."""
    stream = stream._stream if isinstance(stream, _Above) else stream
    board = _boards.get(id(stream))
    if board is None or board.stream is not stream:
        board = _boards[id(stream)] = Board(stream)
    return board
