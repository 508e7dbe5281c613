"""Telling how far an experiment is: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from .._common.words import count

if TYPE_CHECKING:
    from .work import Outcome

__all__ = ["Progress", "progress_of"]


class Progress:
    """What a run tells; this one tells nothing."""

    def start(self, total: int, done: int) -> None:
        """Begin: `done` units of `total` were finished earlier."""

    def advance(self, outcome: Outcome) -> None:
        """Tell of a unit that has ended."""

    def stop(self) -> None:
        """End, however it ended."""


def progress_of(wanted: bool) -> Progress:
    """Return where to tell: nowhere, a bar where rich is installed and stderr is a terminal, plain lines otherwise."""
    if not wanted:
        return Progress()
    if sys.stderr is not None and sys.stderr.isatty():
        try:
            return _Bar()
        except ImportError:
            pass
    return _Lines()


class _Lines(Progress):
    def start(self, total: int, done: int) -> None:
        self._total, self._done = total, done
        if done:
            self._say(f"{done} of {total} are finished already")

    def advance(self, outcome: Outcome) -> None:
        self._done += 1
        self._say(f"[{self._done}/{self._total}] {_line(outcome)}")

    def _say(self, text: str) -> None:
        encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
        print(text.encode(encoding, "replace").decode(encoding), file=sys.stderr, flush=True)


class _Bar(Progress):
    def __init__(self) -> None:
        from rich import progress
        from rich.console import Console

        text, time = progress.TextColumn("training"), progress.TimeElapsedColumn()
        columns = (text, progress.BarColumn(), progress.MofNCompleteColumn(), time)
        self._progress = progress.Progress(*columns, console=Console(stderr=True), transient=True)
        self._task: Any = None

    def start(self, total: int, done: int) -> None:
        self._progress.start()
        self._task = self._progress.add_task("training", total=total, completed=done)

    def advance(self, outcome: Outcome) -> None:
        # Names are the user's: they must not be read as markup.
        self._progress.console.print(_line(outcome), markup=False, highlight=False)
        self._progress.advance(self._task)

    def stop(self) -> None:
        self._progress.stop()


def _line(outcome: Outcome) -> str:
    name = "".join(letter if letter.isprintable() else "?" for letter in str(outcome.unit))
    if outcome.failure is not None:
        return f"{name}: failed, {outcome.failure.strip().splitlines()[-1]}"
    return f"{name}: {count(outcome.rounds, 'round')}, {outcome.seconds:.1f} s"
