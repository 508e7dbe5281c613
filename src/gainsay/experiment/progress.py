"""Progress of an experiment: curves in a terminal and in a notebook, otherwise one line per training."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING

from .._common.shown import printable
from ..training.display import NotebookOutput, get_screen, is_notebook, is_terminal, print_final_line, seconds_now
from ..training.history import MetricCurve
from ..training.picture import STYLE, create_picture
from ..training.view import View, create_view
from .plan import Plan, Unit

if TYPE_CHECKING:
    from .._common.typing import Floats
    from ..training.view import Segments

MAX_BLOCKS = 3
"""Limit on simultaneous trainings with curves. If there are more, each has one line."""
MAX_FINISHED = 30
"""Limit on the lines of finished trainings in a notebook."""

Follow = Callable[[Unit], Callable[[Sequence[float]], None] | None]
"""Called at the start of a training in this process. Returns a function for the values of each round, or None."""


@dataclass(frozen=True)
class Outcome:
    """The reported part of a finished unit. Everything else is in the directory."""

    unit: Unit
    seconds: float
    rounds: int = 0
    failure: str | None = None
    lines: dict[str, MetricCurve] = field(default_factory=dict)


class Progress:
    """Reports of a run. This class reports nothing."""

    def start(self, plan: Plan, total: int, done: int) -> None:
        """Start a run in which `done` of `total` units are finished already."""

    def follow(self, unit: Unit) -> Callable[[Sequence[float]], None] | None:
        """Start a training in this process, and return a function for the values of each round, or None."""
        return None

    def advance(self, outcome: Outcome) -> None:
        """Report a finished unit."""

    def stop(self) -> None:
        """End the reports."""


def create_progress(show: bool) -> Progress:
    """Return the progress for a notebook, a terminal or plain lines on stderr."""
    if not show:
        return Progress()
    if is_notebook():
        return _Notebook()
    return _Terminal() if is_terminal(sys.stderr) else _Lines()


def create_curves(plan: Plan, curves: Floats) -> dict[str, MetricCurve]:
    """Return the curves of the metrics that choose rounds."""
    lines = _create_empty_curves(plan)
    for metric, line in lines.items():
        for number, value in enumerate(curves[:, plan.names.index(metric)].tolist(), start=1):
            line.add(number, value)
    return lines


def get_last_line(text: str) -> str:
    """Return the line of the last error in a traceback, or the last line of another text.

    XGBoost appends a list of valid values and the stack of its library to its message.
    """
    errors = re.findall(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)*(\S.*)", text)
    return str(errors[-1]) if errors else text.strip().splitlines()[-1]


def _create_empty_curves(plan: Plan) -> dict[str, MetricCurve]:
    directions = dict(zip(plan.names, plan.metrics, strict=True))
    return {metric: MetricCurve(directions[metric].higher_is_better) for metric in plan.primary_metrics}


class _Running:
    """A running training."""

    def __init__(self, plan: Plan, unit: Unit, number: str) -> None:
        self.lines = _create_empty_curves(plan)
        self._columns = [plan.names.index(metric) for metric in self.lines]
        self._title, self._dataset = f"{number} {unit}", unit.fold.valid
        self._total = unit.candidate.num_boost_round
        self._started, self.rounds = seconds_now(), 0

    def add(self, values: Sequence[float]) -> None:
        """Append the values of a round."""
        self.rounds += 1
        for line, column in zip(self.lines.values(), self._columns, strict=True):
            line.add(self.rounds, values[column])

    def create_view(self) -> View:
        """Return the current view."""
        return create_view(
            self.lines,
            title=self._title,
            dataset=self._dataset,
            last_round=self.rounds,
            total=self._total,
            seconds=seconds_now() - self._started,
        )


class _Reporter(Progress):
    """Counts and running trainings, which all reports share."""

    def start(self, plan: Plan, total: int, done: int) -> None:
        self._plan, self._total, self._done, self._begun = plan, total, done, done
        self._running: dict[str, _Running] = {}
        self._lock = threading.Lock()
        """Locked while a round is added or views are drawn, so that no thread draws half of a round."""
        if done:
            self.print_line(f"{done} of {total} are already finished")

    def follow(self, unit: Unit) -> Callable[[Sequence[float]], None] | None:
        with self._lock:
            self._begun += 1
            running = self._running[unit.slug] = _Running(self._plan, unit, f"[{self._begun}/{self._total}]")

        def report(values: Sequence[float]) -> None:
            with self._lock:
                running.add(values)
            self.touch()

        return report

    def advance(self, outcome: Outcome) -> None:
        with self._lock:
            self._done += 1
            self._running.pop(outcome.unit.slug, None)
        number = f"[{self._done}/{self._total}]"
        if outcome.failure is not None:
            self.print_line(printable(f"{number} {outcome.unit}: failed, {get_last_line(outcome.failure)}"))
        else:
            view = create_view(
                outcome.lines,
                title=f"{number} {outcome.unit}",
                dataset=outcome.unit.fold.valid,
                last_round=outcome.rounds,
                seconds=outcome.seconds,
            )
            self.finish(view)

    def create_views(self) -> list[View]:
        """Return views of the running trainings with at least one round. Draw them while the lock is locked."""
        return [running.create_view() for running in self._running.values() if running.rounds]

    def print_line(self, text: str) -> None:
        """Print a line of text."""
        encoding = getattr(sys.stderr, "encoding", None) or "utf-8"
        print(text.encode(encoding, "replace").decode(encoding), file=sys.stderr, flush=True)

    def finish(self, view: View) -> None:
        """Report a finished training."""
        print_final_line(view)

    def touch(self) -> None:
        """Draw again."""


class _Lines(_Reporter):
    """One line per finished training."""

    def follow(self, unit: Unit) -> None:
        return None


class _Terminal(_Reporter):
    """Curves of the running trainings at the bottom of a terminal, below one line per finished training."""

    def start(self, plan: Plan, total: int, done: int) -> None:
        self._screen, self._started = get_screen(sys.stderr), seconds_now()
        super().start(plan, total, done)
        self._screen.add(self, self._create_lines)
        self.touch()

    def print_line(self, text: str) -> None:
        encoding = getattr(self._screen.stream, "encoding", None) or "utf-8"
        self._screen.print_line([(text.encode(encoding, "replace").decode(encoding), "")])
        self.touch()

    def finish(self, view: View) -> None:
        super().finish(view)
        self.touch()

    def touch(self) -> None:
        self._screen.update(self)

    def stop(self) -> None:
        self._screen.remove(self)

    def _create_lines(self, width: int) -> list[Segments]:
        ascii_only = self._screen.ascii_only
        with self._lock:
            views = self.create_views()
            if not views:
                return [[(f"{self._done} of {self._total} trained, {seconds_now() - self._started:.0f} s", "")]]
            if len(views) > MAX_BLOCKS:
                return [view.create_final_line(width, running=True, ascii_only=ascii_only) for view in views]
            return [line for view in views for line in view.create_lines(width, ascii_only=ascii_only)]


class _Notebook(_Reporter):
    """Curves of the running trainings in the output of a cell, above one line per finished training."""

    def start(self, plan: Plan, total: int, done: int) -> None:
        self._finished: list[str] = []
        self._output = NotebookOutput(self._html)
        super().start(plan, total, done)

    def print_line(self, text: str) -> None:
        self._append(f'<tr><td colspan="6">{escape(text)}</td></tr>')

    def finish(self, view: View) -> None:
        self._append(view.create_row())

    def _append(self, row: str) -> None:
        self._finished.append(row)
        self._output.draw()

    def touch(self) -> None:
        self._output.update()

    def stop(self) -> None:
        with self._lock:
            self._running.clear()
        self._output.draw()

    def _html(self) -> str:
        with self._lock:
            pictures = [create_picture(view, style=False) for view in self.create_views()[:MAX_BLOCKS]]
        omitted = len(self._finished) - MAX_FINISHED
        more = [f'<p class="gs-quiet">{omitted} more before these</p>'] if omitted > 0 else []
        count = f'<p class="gs-quiet">{self._done} of {self._total} trained</p>'
        rows = "".join(self._finished[-MAX_FINISHED:])
        text = "".join([*more, f"<table>{rows}</table>" if rows else "", count])
        return f'{STYLE}{"".join(pictures)}<div class="gs-live">{text}</div>'
