"""Progress of an experiment: a bar for each running training in a terminal, otherwise one line per training."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._common.shown import printable
from ..training.display import is_notebook
from .plan import Plan, Unit

if TYPE_CHECKING:
    from .._common.typing import Floats

Follow = Callable[[Unit], Callable[[Sequence[float]], None] | None]
"""Called at the start of a training in this process. Returns a function for the values of each round, or None."""


@dataclass(frozen=True)
class Outcome:
    """The reported part of a finished unit: seconds, a traceback if it failed, best value and round of metrics."""

    unit: Unit
    seconds: float
    failure: str | None = None
    best: Sequence[str] = ()


def describe_best_values(plan: Plan, curves: Floats) -> list[str]:
    """Return the best value and round of the metrics that choose rounds."""
    texts = []
    for name in plan.primary_metrics:
        number = plan.choose_round(curves, name)
        texts.append(f"{name} {curves[number - 1, plan.names.index(name)]:.4f} @{number}")
    return texts


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
    plan : Plan
        Plan of the experiment.
    total, done : int
        Number of trainings, and of those that are finished already.
    show : bool
        Whether to report anything.
    """

    def __init__(self, plan: Plan, total: int, done: int, show: bool) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bars

        self.total, self.done = total, done
        self._plan = plan
        self._lock = threading.Lock()
        self._tasks: dict[str, Any] = {}
        stream = sys.stdout if is_notebook() else sys.stderr  # pythonw has none.
        options = {"markup": False, "emoji": False, "highlight": False, "force_jupyter": False}
        self._console = Console(file=stream, quiet=not show or stream is None, **options)
        name, values = (TextColumn(f"{{task.{field}}}", markup=False) for field in ("description", "fields[values]"))
        columns = (name, BarColumn(), MofNCompleteColumn(), values, TimeElapsedColumn())
        has_terminal = not self._console.quiet and stream.isatty()
        self._bars = Bars(*columns, console=self._console, transient=True, disable=not has_terminal)
        self._trainings = self._bars.add_task("trainings", total=total, completed=done, values="")
        if done:
            self._print(f"{done} of {total} are already finished")
        self._bars.start()

    def follow(self, unit: Unit) -> Callable[[Sequence[float]], None] | None:
        """Start a training in this process, and return a function for the values of each round, or None."""
        if self._bars.disable:
            return None
        task = self._bars.add_task(self._to_text([str(unit)]), total=unit.candidate.num_boost_round, values="")
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
            self.done += 1
            number, task = self.done, self._tasks.pop(outcome.unit.slug, None)
        self._bars.update(self._trainings, completed=number)
        if task is not None:
            self._bars.remove_task(task)
        title = f"[{number}/{self.total}] {outcome.unit}"
        if outcome.failure is not None:
            self._print(f"{title}: failed, {get_last_line(outcome.failure)}")
        else:
            self._print(title, *outcome.best, f"{outcome.seconds:.1f} s")

    def stop(self) -> None:
        """End the reports."""
        self._bars.stop()

    def _print(self, *parts: str) -> None:
        self._console.print(self._to_text(parts), soft_wrap=True)

    def _to_text(self, parts: Iterable[str]) -> str:
        """Return text in characters that the stream can write."""
        encoding = self._console.encoding
        return "  ".join(map(printable, parts)).encode(encoding, "replace").decode(encoding)
