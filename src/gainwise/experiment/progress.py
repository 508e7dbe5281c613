"""The progress of an experiment: bars in a terminal, curves in a notebook, and one line per finished training."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import rich.progress
from rich.cells import cell_len
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.table import Column

from .._common.names import split_names
from .._common.text import printable
from ..training.display import NotebookDisplay, is_notebook, is_terminal, supports_unicode
from ..training.view import MetricCurve, View, create_shown, to_ascii

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rich.table import Table

    from .plan import ExperimentPlan, Unit

MIN_BAR, ELAPSED = 10, 7
"""Columns of the shortest bar, and of the time."""


class Progress(rich.progress.Progress):
    """The progress of a run on stderr, in a notebook on stdout.

    A terminal shows a bar per training. Values and the time are left out if the names need their space, and no number
    wraps. A notebook shows the curves of the latest training in place.

    Parameters
    ----------
    plan : ExperimentPlan
        Plan of the experiment.
    total, done : int
        Number of trainings, and of those that are finished already.
    show : bool
        Whether to report anything.
    """

    def __init__(self, plan: ExperimentPlan, total: int, done: int, show: bool) -> None:
        in_notebook = is_notebook()
        stream = sys.stdout if in_notebook else sys.stderr  # pythonw has none.
        quiet = not show or stream is None
        console = Console(file=stream, quiet=quiet, markup=False, emoji=False, highlight=False, force_jupyter=False)
        self._is_live = not quiet and not in_notebook and is_terminal(stream)
        self._terminal = console  # The base class draws before it has a console.
        super().__init__(console=console, transient=True, disable=not self._is_live)
        self.total, self.done = total, done
        self._plan, self._names = plan, split_names(candidate.name for candidate in plan.candidates)
        self._is_ascii = not supports_unicode(stream)
        self._bars: dict[str, rich.progress.TaskID] = {}
        self._trainings = self.add_task("trainings", total=total, completed=done, values="")
        self._view: View | None = None
        self._display = NotebookDisplay(lambda: self._view) if in_notebook and not quiet else None
        if done:
            self._print(f"{done} of {total} are already finished")

    def stop(self) -> None:
        """Show the last curves of a notebook, and remove the bars."""
        if self._display is not None:
            self._display.end()
        super().stop()

    def follow(self, unit: Unit) -> Callable[[Sequence[float]], None] | None:
        """Start a training in this process, and return a function for the values of each round, or None."""
        if self._display is not None:
            return self._follow_in_notebook(unit, self._display)
        if not self._is_live:
            return None
        bar = self.add_task(self._to_text([self._label(unit)]), total=unit.candidate.num_boost_round, values="")
        self._bars[unit.slug] = bar

        def report(values: Sequence[float]) -> None:
            by_name = dict(zip(self._plan.names, values, strict=True))
            texts = [f"{name} {by_name[name]:.4f}" for name in self._plan.primary_metrics]
            self.update(bar, advance=1, values=self._to_text(texts))

        return report

    def _follow_in_notebook(self, unit: Unit, display: NotebookDisplay) -> Callable[[Sequence[float]], None]:
        metrics = [self._plan.names.index(name) for name in self._plan.primary_metrics]
        curves = {self._plan.names[k]: MetricCurve(self._plan.metrics[k].higher_is_better) for k in metrics}
        label, rounds = self._label(unit), unit.candidate.num_boost_round

        def report(values: Sequence[float]) -> None:
            for k, curve in zip(metrics, curves.values(), strict=True):
                curve.add(len(curve.rounds) + 1, values[k])
            last_round = len(next(iter(curves.values())).rounds)
            title = f"{label}, training {self.done + 1} of {self.total}"
            self._view = View(title, unit.fold.valid, create_shown(curves), last_round, rounds)
            display.update()

        return report

    def report(self, unit: Unit, words: Sequence[str]) -> None:
        """Report a finished unit."""
        self.done += 1
        self.update(self._trainings, completed=self.done)
        if unit.slug in self._bars:
            self.remove_task(self._bars.pop(unit.slug))
        head = f"[{self.done}/{self.total}] "
        if not self._is_live:
            self._print(f"{head}{unit}", *words)
            return
        short = list(words)
        for metric, mark in zip(self._plan.primary_metrics, "●◆", strict=False):
            short = [word.replace(f"{metric} ", f"{mark} ", 1) for word in short]
        name = head + self._label(unit)
        lines = (self._to_text([name, *parts]) for parts in (words, short))
        fitting = next((line for line in lines if cell_len(line) <= self._terminal.width), None)
        if fitting is not None:
            self.console.print(fitting)
        else:
            self.console.print(self._to_text([name]))
            self.console.print(f"{'':{len(head)}}{self._to_text(short)}")

    def make_tasks_table(self, tasks: Iterable[rich.progress.Task]) -> Table:
        """Return the bars. Names wrap, and counts and values do not."""
        tasks, width = list(tasks), self._terminal.width
        counts = max((2 * len(f"{task.total:.0f}") + 1 for task in tasks), default=0)
        values = max((cell_len(task.fields["values"]) for task in tasks), default=0)
        longest = max((cell_len(task.description) for task in tasks), default=0)
        names = max(min(longest, width - MIN_BAR - counts - 2), 8)
        room = width - names - MIN_BAR - counts - 2
        column = Column(overflow="fold", max_width=names)
        columns = [TextColumn("{task.description}", markup=False, table_column=column)]
        optional: list[rich.progress.ProgressColumn] = []
        if 0 < values < room:
            optional, room = [TextColumn("{task.fields[values]}", markup=False)], room - values - 1
        if room > ELAPSED:
            optional, room = [*optional, TimeElapsedColumn()], room - ELAPSED - 1
        self.columns = (*columns, BarColumn(bar_width=max(MIN_BAR + min(room, 30), 2)), MofNCompleteColumn(), *optional)
        return super().make_tasks_table(tasks)

    def _label(self, unit: Unit) -> str:
        """Return the unit with the parts of its name that differ from other candidates."""
        return self._names.labels[unit.candidate.name] + str(unit).removeprefix(unit.candidate.name)

    def _print(self, *parts: str) -> None:
        self.console.print(self._to_text(parts), soft_wrap=True)

    def _to_text(self, parts: Iterable[str]) -> str:
        """Return text in characters that the stream can write."""
        text, encoding = "  ".join(map(printable, parts)), self.console.encoding
        return (to_ascii(text) if self._is_ascii else text).encode(encoding, "replace").decode(encoding)
