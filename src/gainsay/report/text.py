"""Comparisons in a terminal: the answer first, what to do, how every model stands, and what to ask next."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rich import box
from rich.cells import cell_len
from rich.console import Group
from rich.table import Table
from rich.text import Text

from .._common.shown import printable
from .._common.words import count, p_value
from ..comparison.headline import labels_of
from ..comparison.replacing import leading
from ..drawing.lanes import bare
from ..drawing.text import PIECE
from .full import leaderboard, notes, over, scope

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pandas as pd

    from ..drawing.lanes import Axis, Chart, Row
    from .content import Content

STYLES = {"b": "bold", "l": "dodger_blue2", "e": "dark_orange3"}
"""How emphasis looks: bold, blue for the first metric and orange for the second."""

MARKS = "\u25cf\u25cb\u25c6\u25c7\u25c8"
"""Filled and hollow marks of both lanes, and where two coincide."""

PLAIN = str.maketrans(f"{MARKS}\u2605\u2502\u2500\u254c\u2212\u2013\u00b7", "OoXx#*|----,")
"""What stands for marks, lines and signs where there is ASCII only."""

MOST_ROWS = 8
WIDEST = 120


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
        table.add_row(*(_shown(_cell(value)) for value in row))
    return _titled(title, table)


def whole_leaderboard(content: Content) -> Group:
    """Return the means of all models under all metrics, the best of each metric in bold."""
    found = leaderboard(content.comparison)
    table = _table(["model"], [column.label.replace("@", "\n@") for column in found.columns[1:]])
    for row in found.rows:
        table.add_row(*(Text(cell.text, style="bold" if cell.strong else "") for cell in row))
    return _titled(f"Means over {over(content.comparison)}{content.comparison.unjudged_remark}", table)


def decisions_table(content: Content) -> Group:
    """Return every candidate with its decision against the baseline, in `MOST_ROWS` rows at most."""
    found = content.against
    assert found is not None
    table, names = _table(["candidate", "decision"]), content.names
    for label in labels_of(found.metrics):
        table.add_column(label.head, justify="right")
    for one in leading(found)[:MOST_ROWS]:
        changes = (Text(one.format_difference(metric)) for metric in found.metrics)
        table.add_row(Text(names.short[one.candidate]), one.decision, *changes)
    rest = len(found.candidates) - MOST_ROWS
    more = f"; {rest} more in the report" if rest > 0 else ""
    return _titled(f"Against {names.said[found.baseline]}{more}", table)


def headline_lines(content: Content) -> list[Text]:
    """Return the answer and what to do."""
    chart = content.chart
    lines = [_styled(chart.headline, "bold")]
    lines += [_styled(chart.advice)] if chart.advice else []
    return [*lines, _shown(content.searches)] if content.searches else lines


def chart_lines(content: Content, width: int, *, unicode: bool = True, every: bool = False) -> list[Text]:
    """Return how every model stands, in at most so many columns, and 120: two lanes a model for up to four, else one.

    Without `unicode` in ASCII; without `every` the first eight models, the winners and the safe choice.
    """
    chart = content.chart
    if not chart.rows:
        means = content.comparison.leaderboard
        wide = max(map(len, content.comparison.metrics))
        return [Text(f"  {metric:<{wide}}  {means[metric].iloc[0]:.4f}") for metric in content.comparison.metrics]
    rows = chart.rows if every else chart.shown(MOST_ROWS)
    width = min(width, WIDEST)
    drawing = _Drawing(content, rows, width)
    lines = [drawing.head(), *drawing.body(), drawing.foot()]
    left, several = len(chart.rows) - len(rows), len(chart.labels) > 1
    legend = [f"{left} more behind these (--all)"] if left else []
    legend += ["* best"] if len(rows) > 4 else []
    legend.append(f"{MARKS[1:4:2] if several else MARKS[1]} ruled out as best")
    legend += [f"{MARKS[4]} both"] if len(rows) > 4 and several else []
    dash = "\u254c" if len(rows) > 4 and several else "\u2500"
    legend.append(f"{dash * 2} {chart.level}, all at once")
    if content.comparison.primary is not None and content.comparison.verdict.kind == "genuine":
        legend.append(p_value(content.comparison.verdict.p_value))
    primary, queries = content.comparison.primary, content.comparison.query_count
    shown = queries if primary is None else content.comparison.verdict.queries  # what is drawn is of these
    legend.append(f"{count(shown, 'query')}{content.comparison.unjudged_remark}")
    lines += [Text(), *(Text(f"  {line}", style="dim") for line in _joined(legend, width - 2))]
    for line in () if unicode else lines:
        line.plain = line.plain.translate(PLAIN)
    return lines


def next_lines(content: Content, *further: tuple[str, str]) -> list[Text]:
    """Return what to ask next, and how."""
    comparison, steps = content.comparison, []
    if comparison.primary is not None and math.isfinite(content.chart.ruler):
        seen = count(comparison.verdict.queries, "query")
        steps.append(("more queries", f"{seen} show leads from {bare(content.chart.ruler)}"))
    steps += further
    wide = max((len(what) for what, _ in steps), default=0) + 1
    starts = ["Next", *([""] * (len(steps) - 1))]
    return [Text(f"{start:<5}{what + ':':<{wide}} {how}") for start, (what, how) in zip(starts, steps, strict=False)]


def notes_lines(content: Content) -> list[Text]:
    """Return reservations, and on what the means are."""
    return [_shown(sentence) for sentence in (*notes(content), *scope(content.comparison))]


class _Drawing:
    """Rows of text on a common axis."""

    def __init__(self, content: Content, rows: Sequence[Row], width: int) -> None:
        self.chart: Chart = content.chart
        self.rows = rows
        self.lanes = len(self.chart.labels) if len(rows) <= 4 else 1
        self.axis: Axis = self.chart.axis(rows)
        free = self.chart.heads == (("model", "model"),)
        heads = [""] if free else [short for short, _ in self.chart.heads]
        self.align = "<" if free else ">"
        room = max(10, width // 3)
        self.names = [[_fit(cell, room) for cell in row.cells] for row in rows]
        self.widths = [max(map(cell_len, column)) for column in zip(heads, *self.names, strict=True)]
        self.heads = heads
        self.means = [max(len(label.head), 7) for label in self.chart.labels]
        self.before = 4 + sum(self.widths) + len(self.widths) + sum(self.means) + 2 * len(self.means)
        self.room = max(16, width - self.before - 2)

    def at(self, value: float) -> int:
        """Return the column of a distance."""
        return min(self.room - 1, max(0, round((self.room - 1) * value / self.axis.high)))

    def head(self) -> Text:
        """Return the head."""
        line = Text("  ")
        line.append(self._named(self.heads))
        for lane, (label, wide) in enumerate(zip(self.chart.labels, self.means, strict=True)):
            line.append(f"  {label.head:>{wide}}"[: wide + 2], style="le"[lane : lane + 1] and STYLES["le"[lane]])
        keys = "  ".join(f"{mark} {it.head}" for mark, it in zip(MARKS[::2], self.chart.labels, strict=False))
        said = f"   behind the best ({keys})"
        line.append(said if len(said) <= self.room + 3 else f"   {keys}"[: self.room + 3], style="dim")
        return line

    def body(self) -> Iterator[Text]:
        """Yield one line or two a row."""
        for row, cells in zip(self.rows, self.names, strict=True):
            safe = any("\u2605" in text for _, text in row.tags)
            yield self._line("\u2605 " if safe else "  ", self._named(cells), row, 0)
            if self.lanes > 1:
                yield self._line("  ", " " * cell_len(self._named(cells)), row, 1)

    def _named(self, cells: Sequence[str]) -> str:
        texts = []
        for cell, wide in zip(cells, self.widths, strict=True):
            gap = " " * (wide - cell_len(cell))
            texts.append(cell + gap if self.align == "<" else gap + cell)
        return " ".join(texts)

    def _line(self, start: str, name: str, row: Row, lane: int) -> Text:
        line = Text(start, style="bold" if start.strip() else "")
        line.append(name, style="bold" if self.lanes > 1 and not lane else "")
        for place, (mark, best, wide) in enumerate(zip(row.marks, row.best, self.means, strict=True)):
            style = STYLES["le"[place]]
            if lane:
                line.append(f"  {'best' if best else '':>{wide}}", style=style)
                continue
            star = "*" if best and self.lanes == 1 else " " if self.lanes == 1 else ""
            line.append(f"  {bare(mark.mean) + star:>{wide}}", style=f"bold {style}" if best else style)
        line.append("   ")
        line.append_text(self._lane(row, lane) if self.lanes > 1 or len(row.marks) == 1 else self._both(row))
        return line

    def _lane(self, row: Row, lane: int) -> Text:
        mark, cells = row.marks[lane], [" "] * self.room
        cells[0] = "\u2502"
        if math.isfinite(mark.high) and mark.high > 0:
            for place in range(self.at(mark.low), self.at(mark.high) + 1):
                cells[place] = "\u2500"
        cells[self.at(mark.value)] = MARKS[2 * lane + (not mark.filled)]
        return Text("".join(cells).rstrip(), style=STYLES["le"[lane]])

    def _both(self, row: Row) -> Text:
        cells, styles = [" "] * self.room, [""] * self.room
        finite = [mark for mark in row.marks if math.isfinite(mark.high)]
        if finite:
            for place in range(
                self.at(min(mark.low for mark in finite)), self.at(max(mark.high for mark in finite)) + 1
            ):
                cells[place], styles[place] = "\u254c", "dim"
        places = [self.at(mark.value) for mark in row.marks]
        for lane, (place, mark) in enumerate(zip(places, row.marks, strict=True)):
            cells[place], styles[place] = MARKS[2 * lane + (not mark.filled)], STYLES["le"[lane]]
        if len(set(places)) < len(places):
            cells[places[0]], styles[places[0]] = MARKS[4], "bold"
        line = Text()
        for cell, style in zip(cells, styles, strict=True):
            line.append(cell, style=style)
        line.rstrip()
        return line

    def foot(self) -> Text:
        """Return the axis."""
        cells = list("best".ljust(self.room))
        for tick in (tick for tick in self.axis.ticks if tick > 0):
            text, place = self.axis.written(tick), self.at(tick)
            start = place - len(text) // 2
            if 5 <= start <= self.room - len(text) and not "".join(cells[start - 1 : start + len(text) + 1]).strip():
                cells[start : start + len(text)] = text
        return Text(" " * self.before + "".join(cells).rstrip(), style="dim")


def _fit(text: str, room: int) -> str:
    """Return text that is no wider than there is room."""
    while cell_len(text) > room:
        text = text[:-2] + "\u2026"
    return text


def _joined(parts: Iterable[str], room: int) -> list[str]:
    """Return parts with dots between them, in lines that have room."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + 3 + len(part) <= room:
            lines[-1] += f" \u00b7 {part}"
        else:
            lines.append(part)
    return lines


def _styled(text: str, base: str = "") -> Text:
    line = Text(style=base)
    for place, piece in enumerate(PIECE.split(text)):  # plain, style, styled, plain, …
        if place % 3 == 1:
            style = " ".join(STYLES[mark] for mark in piece.split() if mark in STYLES)
        else:
            line.append(piece, style=style if place % 3 else "")
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


def _cell(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
