"""Telling how far an experiment is: curves in place on a terminal and in a notebook, a line a training elsewhere."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from .._common.shown import printable
from ..drawing.rounds import STYLE
from ..drawing.terminal import board_of, is_terminal, knows_blocks, may_colour
from ..drawing.updating import Picture, in_notebook
from ..training.history import Line
from ..training.live import seconds_now, tell_line
from ..training.views import View, view_of
from .plan import Plan, Unit

if TYPE_CHECKING:
    from .._common.typing import Floats

MOST_BLOCKS = 3
"""So many trainings at a time have their curves shown; where there are more, each has a line."""

MOST_FINISHED = 30
"""So many lines of ended trainings stand in a notebook."""

Follow = Callable[[Unit], Callable[[Sequence[float]], None] | None]
"""Asked at the start of a training that goes on in this process: whom to tell the values of each round."""


@dataclass(frozen=True)
class Outcome:
    """What is told of a unit that has ended; everything else is in the directory."""

    unit: Unit
    seconds: float
    rounds: int = 0
    failure: str | None = None
    lines: dict[str, Line] = field(default_factory=dict)


class Progress:
    """What a run tells; this one tells nothing."""

    def start(self, plan: Plan, total: int, done: int) -> None:
        """Begin: `done` units of `total` were finished earlier."""

    def follow(self, unit: Unit) -> Callable[[Sequence[float]], None] | None:
        """Hear that a training begins in this process; return whom to tell the values of each round."""
        return None

    def advance(self, outcome: Outcome) -> None:
        """Tell of a unit that has ended."""

    def stop(self) -> None:
        """End, however it ended."""


def progress_of(wanted: bool) -> Progress:
    """Return where to tell: nowhere, in a notebook, on a terminal, or as plain lines on stderr."""
    if not wanted:
        return Progress()
    if in_notebook():
        return _Notebook()
    return _Terminal() if is_terminal(sys.stderr) else _Lines()


def lines_of(plan: Plan, curves: Floats) -> dict[str, Line]:
    """Return the curves of the metrics that are shown, those that choose rounds."""
    lines = _empty(plan)
    for metric, line in lines.items():
        for number, value in enumerate(curves[:, plan.names.index(metric)].tolist(), start=1):
            line.add(number, value)
    return lines


def last_line(text: str) -> str:
    """Return what a traceback or another reason comes down to: the line of the last error, without what stands below.

    XGBoost puts a list of values that it knows and the stack of its own library below its message.
    """
    errors = re.findall(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)*(\S.*)", text)
    return str(errors[-1]) if errors else text.strip().splitlines()[-1]


def _empty(plan: Plan) -> dict[str, Line]:
    directions = dict(zip(plan.names, plan.metrics, strict=True))
    return {metric: Line(directions[metric].higher_is_better) for metric in plan.judges}


class _Running:
    """A training that goes on."""

    def __init__(self, plan: Plan, unit: Unit, number: str) -> None:
        self.lines = _empty(plan)
        self._columns = [plan.names.index(metric) for metric in self.lines]
        self._title, self._dataset = f"{number} {unit}", unit.fold.valid
        self._total = unit.candidate.num_boost_round
        self._started, self.rounds = seconds_now(), 0

    def add(self, values: Sequence[float]) -> None:
        """Take the values of a round."""
        self.rounds += 1
        for line, column in zip(self.lines.values(), self._columns, strict=True):
            line.add(self.rounds, values[column])

    def view(self) -> View:
        """Return what is to be seen now."""
        return view_of(
            self.lines,
            title=self._title,
            dataset=self._dataset,
            last_round=self.rounds,
            total=self._total,
            seconds=seconds_now() - self._started,
        )


class _Told(Progress):
    """What the three ways to tell share: counting, and following what goes on."""

    def start(self, plan: Plan, total: int, done: int) -> None:
        self._plan, self._total, self._done, self._begun = plan, total, done, done
        self._running: dict[str, _Running] = {}
        self._lock = threading.Lock()
        """Held while a round is added, and while what goes on is drawn: no thread sees half of another's round."""
        if done:
            self.say(f"{done} of {total} are finished already")

    def follow(self, unit: Unit) -> Callable[[Sequence[float]], None] | None:
        with self._lock:
            self._begun += 1
            running = self._running[unit.slug] = _Running(self._plan, unit, f"[{self._begun}/{self._total}]")

        def tell(values: Sequence[float]) -> None:
            with self._lock:
                running.add(values)
            self.touch()

        return tell

    def advance(self, outcome: Outcome) -> None:
        with self._lock:
            self._done += 1
            self._running.pop(outcome.unit.slug, None)
        number = f"[{self._done}/{self._total}]"
        if outcome.failure is not None:
            self.say(printable(f"{number} {outcome.unit}: failed, {last_line(outcome.failure)}"))
        else:
            view = view_of(
                outcome.lines,
                title=f"{number} {outcome.unit}",
                dataset=outcome.unit.fold.valid,
                last_round=outcome.rounds,
                seconds=outcome.seconds,
            )
            self.ended(view)

    def shown(self) -> list[View]:
        """Return what goes on and has had a round; it may be drawn for as long as the lock is held."""
        return [running.view() for running in self._running.values() if running.rounds]

    def say(self, text: str) -> None:
        """Tell a line of text."""
        encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
        print(text.encode(encoding, "replace").decode(encoding), file=sys.stderr, flush=True)

    def ended(self, view: View) -> None:
        """Tell how a training has ended."""
        self.say(tell_line(view, sys.stderr))

    def touch(self) -> None:
        """Tell that there is news."""


class _Lines(_Told):
    """A line when a training has ended."""

    def follow(self, unit: Unit) -> None:
        return None


class _Terminal(_Told):
    """The curves of what goes on, at the bottom of a terminal, below a line for everything that has ended."""

    def start(self, plan: Plan, total: int, done: int) -> None:
        self._board, self._started = board_of(sys.stderr), seconds_now()
        super().start(plan, total, done)
        self._board.put(self, self._block)
        self.touch()

    def say(self, text: str) -> None:
        encoding = getattr(self._board.stream, "encoding", None) or "utf-8"
        self._board.say(text.encode(encoding, "replace").decode(encoding))
        self.touch()

    def ended(self, view: View) -> None:
        self.say(tell_line(view, self._board.stream))

    def touch(self) -> None:
        self._board.touch(self)

    def stop(self) -> None:
        self._board.drop(self)

    def _block(self, width: int) -> list[str]:
        stream = self._board.stream
        look = {"ascii_only": not knows_blocks(stream), "colour": may_colour(stream)}
        with self._lock:
            views = self.shown()
            if not views:
                return [f"{self._done} of {self._total} trained, {seconds_now() - self._started:.0f} s"]
            if len(views) > MOST_BLOCKS:
                return [view.final_line(width, running=True, **look) for view in views]
            return [line for view in views for line in view.block(width, **look)]


class _Notebook(_Told):
    """One output of a cell: pictures of what goes on, above a line for everything that has ended."""

    def start(self, plan: Plan, total: int, done: int) -> None:
        self._ended: list[str] = []
        self._picture = Picture(self._html)
        super().start(plan, total, done)

    def say(self, text: str) -> None:
        self._tell(f'<tr><td colspan="5">{escape(text)}</td></tr>')

    def ended(self, view: View) -> None:
        self._tell(view.row())

    def _tell(self, row: str) -> None:
        self._ended.append(row)
        self._picture.draw()

    def touch(self) -> None:
        self._picture.touch()

    def stop(self) -> None:
        with self._lock:
            self._running.clear()
        self._picture.draw()

    def _html(self) -> str:
        with self._lock:
            drawn = [view.picture(style=False) for view in self.shown()[:MOST_BLOCKS]]
        left_out = len(self._ended) - MOST_FINISHED
        more = [f'<p class="gs-quiet">{left_out} more before these</p>'] if left_out > 0 else []
        count = f'<p class="gs-quiet">{self._done} of {self._total} trained</p>'
        rows = "".join(self._ended[-MOST_FINISHED:])
        told = "".join([*more, f"<table>{rows}</table>" if rows else "", count])
        return f'{STYLE}{"".join(drawn)}<div class="gs-live">{told}</div>'
