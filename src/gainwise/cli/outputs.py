"""Results that the commands print and write."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.theme import Theme

from .._common.text import printable
from .._common.theme import choose_terminal_colors
from .._common.validation import validate_output

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..comparison.comparison import Comparison


class Terminal(Console):
    """The standard output. Pipes get plain text that is not cut to the width of a terminal."""

    def __init__(self) -> None:
        super().__init__(width=None if sys.stdout.isatty() else 200, highlight=False, emoji=False)
        self.push_theme(Theme(choose_terminal_colors(self.color_system)))

    def print_text(self, text: str, **style: Any) -> None:
        """Print text without markup, on one line if it goes to a file."""
        self.print(printable(text), markup=False, soft_wrap=not sys.stdout.isatty(), **style)

    def print_lines(self, lines: Iterable[Any]) -> None:
        """Print lines with markup, each on one line if it goes to a file."""
        for line in lines:
            self.print(line, soft_wrap=not sys.stdout.isatty())


def format_json(content: Any) -> str:
    """Return JSON of `plain` content. Names are escaped if the terminal supports only ASCII, and remain complete."""
    ascii_only = not (sys.stdout.encoding or "").lower().startswith("utf")
    return json.dumps(content, indent=2, ensure_ascii=ascii_only, allow_nan=False)


def print_json(content: Any) -> None:
    """Print JSON of `plain` content."""
    typer.echo(format_json(content))


def print_result(result: Any, as_json: bool, *tables: Any, headline: str = "") -> None:
    """Print a result as JSON, or its headline, text and tables."""
    if as_json:
        print_json(result.to_dict())
        return
    terminal = Terminal()
    if headline:
        terminal.print_text(headline, style="bold")
    terminal.print_text(result.text)
    for table in tables:
        terminal.print(table)


def print_answer(comparison: Comparison, *, every: bool = False) -> None:
    """Print the answer and the chart."""
    from ..report.text import chart_lines, headline_lines

    terminal, content = Terminal(), comparison.content
    terminal.print_lines([*headline_lines(content), ""])
    for line in chart_lines(content, terminal.width, unicode=not terminal.options.ascii_only, every=every):
        terminal.print(line, no_wrap=True, crop=False, overflow="ignore")


def print_comparison(
    comparison: Comparison, *tables: Any, every: bool = False, next_steps: Iterable[tuple[str, str]] = ()
) -> None:
    """Print the verdict, the chart, further tables, notes and next steps. With `every`, print all models."""
    from ..report.text import next_lines, notes_lines, whole_leaderboard

    terminal, content = Terminal(), comparison.content
    print_answer(comparison, every=every)
    terminal.print()
    for table in (*tables, *([whole_leaderboard(content)] if every else [])):
        terminal.print(table)
    if notes := notes_lines(content):
        terminal.print_lines([*notes, ""])
    terminal.print_lines(next_lines(*next_steps))
    if comparison.segments is not None:
        terminal.print_text(comparison.segments.text)


def validate_report(page: Path) -> None:
    """Raise an error if an HTML report, or the data next to it, cannot be written, or if packages are missing."""
    from ..report.exports import find_data_path
    from ..report.sections import get_environment

    get_environment()
    validate_output("the HTML report", page)
    find_data_path(page)


def plan_report(directory: Path) -> Path | None:
    """Return the path of the report of an experiment, or None after a message if packages for reports are missing."""
    page = directory / "report.html"
    try:
        from ..report.sections import get_environment

        get_environment()
    except ImportError as error:
        typer.echo(f"no HTML report: {error}", err=True)
        return None
    if directory.exists():
        validate_report(page)
    return page


def announce(label: str, text: object) -> None:
    """Print a line about a written file to the standard error."""
    typer.echo(f"{label}: {text}", err=True)


def announce_report(page: Path, open_it: bool) -> None:
    """Print the path of a report, and open it in the browser on request."""
    announce("Report", page)
    if open_it and typer.launch(page.resolve().as_uri()):
        announce("gainwise: warning", "no browser is available to open the report.")


def validate_overwrites(outputs: dict[str, Path | None], inputs: Iterable[object]) -> None:
    """Raise an error if an output is also an input file, or if two options write the same file.

    Inputs are the values of options: paths, and texts such as `NAME=FILE,FILE` or `FILE:COLUMN`.
    """
    texts = [str(text) for value in inputs for text in (value if isinstance(value, list) else [value])]
    parts = {part for text in texts for part in (text, text.partition("=")[2], *re.split("[=,]", text))}
    files = [file for part in parts for file in (part, part.rpartition(":")[0]) if os.path.isfile(file)]
    options: dict[str, str] = {}
    for option, path in outputs.items():
        if path is None:
            continue
        first = options.setdefault(os.path.realpath(path), option)
        if first != option:
            raise ValueError(f"{first} and {option} both write {str(path)!r}. Pass two different files.")
        if path.exists() and any(path.samefile(file) for file in files):
            raise ValueError(f"{option} {str(path)!r} is also an input, which would be overwritten. Pass another file.")
