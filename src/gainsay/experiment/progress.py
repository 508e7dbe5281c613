"""Progress of an experiment: a bar for each running training in a terminal, otherwise one line per training."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .._common.shown import printable
from ..training.display import is_notebook
from .plan import Plan, Unit
from .trainings import find_best_rounds, orient

if TYPE_CHECKING:
    from .._common.typing import Floats

Follow = Callable[[Unit], Callable[[Sequence[float]], None] | None]
"""Called at the start of a training in this process. Returns a function for the values of each round, or None."""


@dataclass(frozen=True)
class Outcome:
    """The reported part of a finished unit: seconds, a traceback if it failed, best value and round of each metric."""

    unit: Unit
    seconds: float
    failure: str | None = None
    best: dict[str, tuple[float, int]] = field(default_factory=dict)


def find_best_values(plan: Plan, curves: Floats) -> dict[str, tuple[float, int]]:
    """Return the best value and round of the metrics that choose rounds."""
    rounds = dict(zip(plan.names, find_best_rounds(orient(curves, plan.metrics)), strict=True))
    return {
        name: (float(curves[rounds[name] - 1, plan.names.index(name)]), rounds[name]) for name in plan.primary_metrics
    }


def get_last_line(text: str) -> str:
    """Return the line of the last error in a traceback, or the last line of another text.

    XGBoost appends a list of valid values and the stack of its library to its message.
    """
    errors = re.findall(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)*(\S.*)", text)
    return str(errors[-1]) if errors else text.strip().splitlines()[-1]


class Progress:
    """Report the progress of a run on stderr, in a notebook on stdout.

    Parameters
    ----------
    show : bool
        Whether to report anything.
    """

    def __init__(self, show: bool) -> None:
        self._show = show
        self._lock = threading.Lock()
        self._bars: Any = None

    def start(self, plan: Plan, total: int, done: int) -> None:
        """Start a run in which `done` of `total` units are finished already."""
        self._plan, self._total, self._done = plan, total, done
        self._tasks: dict[str, Any] = {}
        self._stream = sys.stdout if is_notebook() else sys.stderr
        self._show = self._show and self._stream is not None  # pythonw has no streams.
        if self._show and done:
            self._print(f"{done} of {total} are already finished")
        if self._show and self._stream.isatty():
            self._start_bars()

    def _start_bars(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bars

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[values]}", markup=False),
            TimeElapsedColumn(),
        )
        self._bars = Bars(*columns, console=Console(file=self._stream, markup=False, highlight=False), transient=True)
        self._bars.start()
        self._trainings = self._bars.add_task("trainings", total=self._total, completed=self._done, values="")

    def follow(self, unit: Unit) -> Callable[[Sequence[float]], None] | None:
        """Start a training in this process, and return a function for the values of each round, or None."""
        if self._bars is None:
            return None
        total = unit.candidate.num_boost_round
        task = self._bars.add_task(self._to_text([str(unit)]), total=total, values="")
        with self._lock:
            self._tasks[unit.slug] = task

        def report(values: Sequence[float]) -> None:
            by_name = dict(zip(self._plan.names, values, strict=True))
            values_text = self._to_text(f"{name} {by_name[name]:.4f}" for name in self._plan.primary_metrics)
            self._bars.update(task, advance=1, values=values_text)

        return report

    def advance(self, outcome: Outcome) -> None:
        """Report a finished unit."""
        with self._lock:
            self._done += 1
            number, task = self._done, self._tasks.pop(outcome.unit.slug, None)
        if self._bars is not None:
            self._bars.update(self._trainings, completed=number)
            if task is not None:
                self._bars.remove_task(task)
        if not self._show:
            return
        title = f"[{number}/{self._total}] {outcome.unit}"
        if outcome.failure is not None:
            self._print(f"{title}: failed, {get_last_line(outcome.failure)}")
            return
        best = [f"{metric} {value:.4f} @{number}" for metric, (value, number) in outcome.best.items()]
        self._print(title, *best, f"{outcome.seconds:.1f} s")

    def stop(self) -> None:
        """End the reports."""
        if self._bars is not None:
            self._bars.stop()

    def _print(self, *parts: str) -> None:
        text = self._to_text(parts)
        if self._bars is None:
            print(text, file=self._stream, flush=True)
        else:
            self._bars.console.print(text, soft_wrap=True)

    def _to_text(self, parts: Iterable[str]) -> str:
        """Return text in characters that the stream can write."""
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        return "  ".join(map(printable, parts)).encode(encoding, "replace").decode(encoding)
