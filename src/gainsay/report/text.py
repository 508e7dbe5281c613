"""Comparisons in a terminal: the answer, the advice, the chart, and the next steps."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING, Literal

from rich import box
from rich.cells import cell_len
from rich.console import Group
from rich.table import Table
from rich.text import Text

from .._common.shown import pieces, printable
from .._common.words import format_number, pluralize
from .chart import STAR
from .tables import Table as TableData
from .tables import build_decisions, build_leaderboard, build_sensitivity, describe_scope, list_notes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

    from ..comparison.sensitivity import Sensitivity
    from .chart import Cell, Chart, Row
    from .content import Content

CELLS = ("white on #1f5f9e", "white on #96490a")
"""Tinted cells: no color of text has enough contrast on both white and black, but white on a solid cell has."""

COLORS = ("#2d80c9", "#cb5f0e")
"""Marks and bars on the background of the terminal, with a contrast of 4:1 on both white and #1e1e1e."""

STYLES = {"b": "bold", "l": CELLS[0], "e": CELLS[1]}
"""Looks of emphasis."""

MARKS = ("●○", "◆◇")
PLAIN = str.maketrans("●○◆◇★│─━╵−–·…’", "#o#o>|--'--,.'")
"""ASCII signs for marks, lines and punctuation."""

MAX_ROWS = 8
MAX_WIDTH = 120
MIN_LANE = 11


def values_table(title: str, rows: Mapping[str, float]) -> Group:
    """Return a table of metrics and their means."""
    table = _table(["metric"], ["mean"])
    for name, value in rows.items():
        table.add_row(name, f"{value:.4f}")
    return _titled(title, table)


def frame_table(title: str, frame: pd.DataFrame) -> Group:
    """Return a DataFrame as a table: index first, numbers to four decimals, everything else as it is."""
    frame = frame.reset_index()
    table = _table(map(str, frame.columns))
    for column, name in zip(table.columns, frame.columns, strict=True):
        column.justify = "right" if frame[name].dtype.kind in "fiu" else "left"
    for row in frame.itertuples(index=False):
        table.add_row(*(_shown(f"{value:.4f}" if isinstance(value, float) else str(value)) for value in row))
    return _titled(title, table)


def _report_table(data: TableData, *, notes: bool = True) -> Group:
    """Return a table of a report, with the notes of its cells or without."""
    table = _table(())
    for column in data.columns:
        justify: Literal["right", "left"] = "right" if column.numeric else "left"
        table.add_column(column.label.replace("@", "\n@"), justify=justify, overflow="fold")
    for row in data.rows:
        texts = (f"{cell.text} ({cell.note})" if notes and cell.note else cell.text for cell in row)
        table.add_row(
            *(Text(printable(text), "bold" if cell.strong else "") for text, cell in zip(texts, row, strict=True))
        )
    return _titled(data.caption, table)


def whole_leaderboard(content: Content) -> Group:
    """Return the means of all models under all metrics, the best of each metric in bold."""
    return _report_table(build_leaderboard(content.comparison), notes=False)


def choices_table(sensitivity: Sensitivity) -> Group:
    """Return the share of reversed pairs and the winner under every other choice."""
    return _report_table(build_sensitivity(sensitivity))


def decisions_table(content: Content) -> Group:
    """Return the decision and the differences of every candidate, without the other columns of a report."""
    assert content.against is not None
    data = build_decisions(content, content.against)
    columns = [column for column in data.columns if column.label.startswith(("candidate", "decision", "\u0394"))]
    return _report_table(TableData(data.caption.partition(".")[0], columns))


def headline_lines(content: Content) -> list[Text]:
    """Return the answer and the advice."""
    chart = content.chart
    lines = [_styled(chart.headline, "bold")]
    lines += [_styled(chart.advice, colored=False)] if chart.advice else []
    return lines + [Text(sentence) for sentence in content.same_number]


def chart_lines(content: Content, width: int, *, unicode: bool = True, every: bool = False) -> list[Text]:
    """Return the chart in at most `width` columns, and 120.

    Without `unicode` it consists of ASCII. Without `every` it has eight rows, and all rows in question.
    """
    chart = content.chart
    if not chart.rows:
        means = content.comparison.leaderboard
        wide = max(map(len, content.comparison.metrics))
        return [Text(f"  {metric:<{wide}}  {means[metric].iloc[0]:.4f}") for metric in content.comparison.metrics]
    rows, rest = (chart.rows, "") if every else chart.folded(MAX_ROWS)
    table = _Lanes(chart, rows, min(width, MAX_WIDTH))
    lines = [*table.heads(), *map(table.line, rows), table.foot()]
    lines += [Text(f"  … {rest} (--all)")] if rest else []
    filled, hollow = (" ".join(pair[k] for pair in MARKS[: len(chart.panels)]) for k in (0, 1))
    key = f"{filled} {chart.legend}, {hollow} {chart.excluded} ({chart.level}). Right is better."
    key += " ╵ one repeat." if chart.has_repeats else ""
    lines += [Text(line) for line in textwrap.wrap(key, min(width, MAX_WIDTH))]
    comparison = content.comparison
    queries = comparison.query_count if comparison.primary is None else comparison.verdict.queries
    winners = [
        f"{row.name} {format_number(row.cells[lane].mean)}"
        for lane in range(len(chart.panels))
        for row in chart.rows
        if row.cells[lane].highest
    ]
    size = f"{pluralize(queries, 'query')}{comparison.unjudged_remark}"
    text = f"{size}; {'mean' if len(winners) == 1 else 'means'} at the line: {', '.join(winners)}."
    lines += [_shown(line) for line in textwrap.wrap(text, min(width, MAX_WIDTH))]
    for line in () if unicode else lines:
        line.plain = line.plain.translate(PLAIN)
    return lines


def next_lines(content: Content, *commands: tuple[str, str]) -> list[Text]:
    """Return next steps with their commands."""
    comparison, steps = content.comparison, list(commands)
    verdict = None if comparison.primary is None else comparison.verdict
    if verdict is not None and verdict.kind == "unresolved" and math.isfinite(verdict.detectable):
        size = format_number(verdict.detectable, 3)
        steps.insert(0, ("more queries", f"{pluralize(verdict.queries, 'query')} can prove differences from {size}"))
    width = max((len(purpose) for purpose, _ in steps), default=0) + 1
    starts = ["Next", *[""] * len(steps)]
    return [
        Text(f"{start:<5}{purpose + ':':<{width}} {command}")
        for start, (purpose, command) in zip(starts, steps, strict=False)
    ]


def notes_lines(content: Content) -> list[Text]:
    """Return reservations and the scope of the means."""
    return [_shown(sentence) for sentence in (*list_notes(content), *describe_scope(content.comparison))]


class _Lanes:
    """The rows of a chart as lines of text: a name, a lane and a number for each panel, and the last column."""

    def __init__(self, chart: Chart, rows: Sequence[Row], width: int) -> None:
        self.chart, self.axis, self.width = chart, chart.axis(rows), width
        panels = len(chart.panels)
        self.title = chart.last[0] if width >= 100 else chart.last[0].split()[0]
        self.outcomes = {row.model: row.outcome.removesuffix(" behind") for row in rows}
        self.last = max(map(cell_len, (self.title, *self.outcomes.values()))) + 3
        self.number = max(cell_len(cell.text) for row in rows for cell in row.cells) + 1
        wanted = max(cell_len(row.name) for row in rows)
        free = width - self.last - panels * (self.number + MIN_LANE + 3) - 3
        self.name = min(wanted, max(free, 8))
        room = (width - self.last - self.name - 3) // panels - self.number - 3
        self.lane = max(min(room, 44), 4)

    def heads(self) -> list[Text]:
        """Return the captions, the libraries below them, and a rule."""
        cell = self.lane + self.number + 2
        first, second = (Text(" " * (self.name + 3)) for _ in range(2))
        for lane, panel in enumerate(self.chart.panels):
            caption = Text(f" {panel.caption} ", style=f"bold {CELLS[lane]}")
            caption.truncate(cell, overflow="ellipsis")
            libraries = panel.libraries
            while len(libraries) + 1 > cell and ", " in libraries:
                libraries = libraries[: libraries.rindex(", ")]
            first.append_text(caption).append(" " * (cell + 1 - caption.cell_len))
            second.append(f" {_fit(libraries, cell)}")
        first.append(self.title.rjust(self.last - 1), style="bold")
        second.append(self.chart.level.rjust(self.last - 1))
        rule = "─" * (3 + self.name + len(self.chart.panels) * (cell + 1) + self.last - 1)
        return [first, second, Text(rule)]

    def line(self, row: Row) -> Text:
        """Return the line of a row."""
        star = f"{STAR} " if row.starred else "  "
        line = Text()
        line.append(f"{star}{_fit(row.name, self.name)} ", style="bold" if row.starred else "")
        for lane, cell in enumerate(row.cells):
            line.append_text(self._cell(cell, lane)).append(" ")
        outcome = (STAR + " " if row.starred else "") + self.outcomes[row.model]
        return line.append(outcome.rjust(self.last - 1), style="bold" if row.starred else "")

    def _cell(self, cell: Cell, lane: int) -> Text:
        color = "" if cell.possible else COLORS[lane]
        signs, styles = [" "] * self.lane, [""] * self.lane
        if cell.bounded:
            for place in range(self._at(cell.lower), self._at(cell.upper) + 1):
                signs[place], styles[place] = "━", color
        for repeat in cell.repeats:
            signs[self._at(repeat)], styles[self._at(repeat)] = "╵", color
        signs[self._at(0.0)], styles[self._at(0.0)] = "│", ""
        signs[self._at(cell.value)], styles[self._at(cell.value)] = MARKS[lane][not cell.possible], color
        text = Text(" ")
        for sign, style in zip(signs, styles, strict=True):
            text.append(sign, style=style)
        text.append(f"{cell.text:>{self.number}} ", style="bold" if cell.highest else "")
        if cell.possible:
            text.stylize(CELLS[lane])
        return text

    def foot(self) -> Text:
        """Return the axis below the lanes."""
        line = Text(" " * (self.name + 3))
        for _ in self.chart.panels:
            signs = [" "] * (self.lane + self.number + 3)
            start = 1 + self._at(0.0) - len(self.chart.reference) // 2
            start = max(0, min(start, len(signs) - len(self.chart.reference)))
            signs[start : start + len(self.chart.reference)] = self.chart.reference
            for value, text in self.axis.ticks(3):
                place = 1 + self._at(value) - len(text) // 2
                if place >= 0 and not "".join(signs[max(place - 1, 0) : place + len(text) + 1]).strip():
                    signs[place : place + len(text)] = text
            line.append("".join(signs))
        line.rstrip()
        return line

    def _at(self, value: float) -> int:
        share = (min(max(value, self.axis.low), self.axis.high) - self.axis.low) / (self.axis.high - self.axis.low)
        return round(share * (self.lane - 1))


def _fit(text: str, width: int) -> str:
    """Return a text of exactly this width, with an ellipsis if it is too long."""
    fitted = Text(text)
    fitted.truncate(width, overflow="ellipsis", pad=True)
    return fitted.plain


def _styled(text: str, base: str = "", *, colored: bool = True) -> Text:
    line = Text(style=base)
    for style, piece in pieces(text):
        marks = (mark for mark in style.split() if mark == "b" or (colored and mark in STYLES))
        line.append(piece, style=" ".join(STYLES[mark] for mark in marks))
    return line


def _titled(title: str, table: Table) -> Group:
    """Return a table below its title, which may be wider than the table."""
    return Group(Text(title, style="bold"), Text(), table, Text())


def _table(left: Iterable[str], right: Iterable[str] = ()) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True, show_edge=False)
    for name in left:
        table.add_column(name, overflow="fold")
    for name in right:
        table.add_column(name, justify="right", overflow="fold")
    return table


def _shown(text: str) -> Text:
    """Return text from data: on one line, and nothing in it acts on the terminal."""
    return Text(printable(text))
