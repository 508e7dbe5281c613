"""Comparisons in a terminal: the answer, the advice, the chart, tables, and the next steps."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

import numpy as np
from rich import box
from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from .._common.text import format_confidence, format_number, pieces, pluralize, printable
from ..comparison.flags import format_range
from ..metrics.conventions import CONVENTIONS
from .chart import STAR
from .tables import Table as TableData
from .tables import build_decisions, build_leaderboard, build_sensitivity, describe_scope, list_notes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

    from ..comparison.gain_path import GainPath
    from ..comparison.sensitivity import Sensitivity
    from ..evaluation.explain import Number
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
MAX_BASES = 5

MAX_SWAPS = 12
"""Pairs of models that change places in the table. The others are counted."""


def values_table(title: str, rows: Mapping[str, float]) -> Group:
    """Return a table of metrics and their means."""
    import pandas as pd

    return frame_table(title, pd.DataFrame({"mean": rows}).rename_axis("metric"))


def frame_table(title: str, frame: pd.DataFrame) -> Group:
    """Return a DataFrame as a table: index first, numbers to four decimals, everything else as it is."""
    frame = frame.reset_index()
    columns = [(str(name), dtype.kind in "fiu") for name, dtype in frame.dtypes.items()]
    rows = (
        [_show(f"{value:.4f}" if isinstance(value, float) else str(value)) for value in row]
        for row in frame.itertuples(index=False)
    )
    return _create_table(title, columns, rows)


def gains_tables(gains: GainPath) -> list[Group]:
    """Return the highest mean by base, regrets at some bases, and the models that change places."""
    import pandas as pd

    names = gains.short_names
    winners = gains.winners.assign(model=gains.winners["model"].map(names)).set_index("model")
    places = np.unique(np.linspace(0, len(gains.bases) - 1, MAX_BASES).round().astype(int))
    columns = [f"b = {gains.bases[place]:.3g}" for place in places]
    index = pd.Index([names[model] for model in gains.models], name="model")
    tables = [
        frame_table(f"Highest mean of {gains.metric}", winners.round(2)),
        frame_table("Difference to the best", pd.DataFrame(gains.regret[places].T, index, columns)),
    ]
    if len(gains.swaps):
        swaps = gains.swaps.head(MAX_SWAPS).replace({"first": names, "second": names}).set_index("first")
        rest = len(gains.swaps) - len(swaps)
        caption = f"Bases that reverse the order of two models, {format_confidence(gains.alpha)} intervals"
        tables.append(frame_table(caption + (f" ({rest} more pairs)" if rest else ""), swaps.round(2)))
    return tables


def explanation(numbers: Sequence[Number], conventions: pd.DataFrame, queries: int) -> Group:
    """Return the numbers that libraries print for a ranking, or their means over `queries`, in 80 columns.

    `numbers` are made by `distinct_numbers`, `conventions` by `gainwise.explain`.
    """
    by_heading: dict[str, list[Number]] = {}
    for number in numbers:
        by_heading.setdefault(number.heading, []).append(number)
    first = numbers[0].heading
    title = f"{pluralize(len(by_heading[first]), 'number')} called {first}"
    title = f"One ranking, {title}" if queries == 1 else f"{title}, means over {pluralize(queries, 'query')}"
    width = min(40, max(len(name) for number in numbers for name in number.names))
    parts = list[RenderableType]()
    for heading, group in by_heading.items():
        rows = [
            (Text(f"{number.value:.4f}", "bold"), "\n".join(number.names), ", ".join(number.printed_by))
            for number in group
        ]
        parts += [Text(title if heading == first else heading, "bold"), *([Text()] if heading == first else [])]
        parts += [_create_grid(rows, 6, width), Text()]
    columns = {"calls NDCG": "NDCG", "ties": "ties", "empty": "no relevant document", "scores": "scores as"}
    titles = {library: CONVENTIONS[str(library)].title for library in conventions.index if library in CONVENTIONS}
    shown = conventions[list(columns)].rename(index=titles, columns=columns).rename_axis("")
    shown["NDCG"] = (
        shown["NDCG"].str.replace(r"ndcg\(gain=(\w+)(?:,discount=)?(\w*)\)", r"\1 gain \2", regex=True).str.rstrip()
    )
    notes = ((titles[library], note) for library, note in conventions["note"].items() if note and library in titles)
    return Group(*parts, frame_table("Conventions of the libraries", shown), _create_grid(notes, 12))


def _create_grid(rows: Iterable[Sequence[str | Text]], *widths: int) -> Table:
    """Return rows of 80 columns without lines. The last column takes the rest of the width."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0), width=80)
    for width in widths:
        table.add_column(width=width, overflow="fold")
    table.add_column(overflow="fold", ratio=1)
    for row in rows:
        table.add_row(*row)
    return table


def _report_table(data: TableData, *, notes: bool = True) -> Group:
    """Return a table of a report, with the notes of its cells or without."""
    rows = []
    for row in data.rows:
        texts = (f"{cell.text} ({cell.note})" if notes and cell.note else cell.text for cell in row)
        styles = ("bold" if cell.strong else "dim" if cell.muted else "" for cell in row)
        rows.append(map(Text, map(printable, texts), styles))
    columns = [(column.label.replace("@", "\n@"), column.numeric) for column in data.columns]
    return _create_table(data.caption, columns, rows)


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
    lines = [_style(chart.headline, STYLES, "bold")]
    lines += [_style(chart.advice, {"b": "bold"})] if chart.advice else []
    return lines + [Text(sentence) for sentence in content.same_number]


def chart_lines(content: Content, width: int, *, unicode: bool = True, every: bool = False) -> list[Text]:
    """Return the chart in at most `width` columns, and 120.

    Without `unicode` it consists of ASCII. Without `every` it has eight rows, and all rows in question.
    """
    chart, comparison, width = content.chart, content.comparison, min(width, MAX_WIDTH)
    if not chart.rows:
        means = comparison.leaderboard
        wide = max(map(len, comparison.metrics))
        return [Text(f"  {metric:<{wide}}  {means[metric].iloc[0]:.4f}") for metric in comparison.metrics]
    rows, rest = (chart.rows, "") if every else chart.folded(MAX_ROWS)
    table = _Lanes(chart, rows, width)
    lines = [*table.heads(), *map(table.line, rows), table.foot()]
    lines += [Text(f"  … {rest} (--all)")] if rest else []
    filled, hollow = (" ".join(pair[k] for pair in MARKS[: len(chart.panels)]) for k in (0, 1))
    key = f"{filled} {chart.legend}, {hollow} {chart.excluded} ({chart.level}). Right is better."
    key += " ╵ one repeat." if comparison.repeats else ""
    queries = comparison.counts.any if comparison.primary is None else comparison.verdict.queries
    winners = [
        f"{row.name} {format_number(row.cells[lane].mean)}"
        for lane in range(len(chart.panels))
        for row in chart.rows
        if row.cells[lane].highest
    ]
    size = f"{pluralize(queries, 'query')}{'' if comparison.unjudged is None else comparison.unjudged.remark}"
    reference = f"{size}; {'mean' if len(winners) == 1 else 'means'} at the line: {', '.join(winners)}."
    lines += [_show(line) for text in (key, reference) for line in textwrap.wrap(text, width)]
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
    return [
        Text(f"{'' if place else 'Next':<5}{purpose + ':':<{width}} {command}")
        for place, (purpose, command) in enumerate(steps)
    ]


def notes_lines(content: Content) -> list[Text]:
    """Return reservations and the scope of the means."""
    chance = content.comparison.chance
    levels = ", ".join(f"{metric} {format_range(by_model.values())}" for metric, by_model in chance.items())
    random_order = [f"Random order: {levels}."] if levels else []
    sentences = (*list_notes(content), *describe_scope(content.comparison), *random_order)
    return [_show(sentence) for sentence in sentences]


class _Lanes:
    """The rows of a chart as lines of text: a name, a lane and a number for each panel, and the last column."""

    def __init__(self, chart: Chart, rows: Sequence[Row], width: int) -> None:
        self.chart, self.axis, self.width = chart, chart.axis(rows), width
        panels = len(chart.panels)
        self.title = chart.last[0] if width >= 100 else chart.last[0].split()[0]
        self.outcomes = {row.model: row.outcome.removesuffix(" behind") for row in rows}
        self.last = max(map(cell_len, (self.title, *self.outcomes.values()))) + 3
        self.number = max(cell_len(cell.text) for row in rows for cell in row.cells) + 1
        free = width - self.last - panels * (self.number + MIN_LANE + 3) - 3
        self.name = min(max(cell_len(row.name) for row in rows), max(free, 8))
        room = (width - self.last - self.name - 3) // panels - self.number - 3
        self.lane = max(min(room, 44), 4)

    def heads(self) -> list[Text]:
        """Return the captions, the libraries below them, and a rule."""
        cell = self.lane + self.number + 2
        first, second = Text(" " * (self.name + 3)), Text(" " * (self.name + 3))
        for panel, style in zip(self.chart.panels, CELLS, strict=False):
            caption = Text(f" {panel.caption} ", style=f"bold {style}")
            caption.truncate(cell, overflow="ellipsis")
            libraries = panel.libraries
            while len(libraries) + 1 > cell and ", " in libraries:
                libraries = libraries[: libraries.rindex(", ")]
            first.append_text(caption).append(" " * (cell + 1 - caption.cell_len))
            second.append(f" {_fit(libraries, cell)}")
        first.append(self.title.rjust(self.last - 1), style="bold")
        second.append(self.chart.level.rjust(self.last - 1))
        return [first, second, Text("─" * max(first.cell_len, second.cell_len))]

    def line(self, row: Row) -> Text:
        """Return the line of a row."""
        star, style = (f"{STAR} ", "bold") if row.starred else ("", "")
        line = Text().append(f"{star or '  '}{_fit(row.name, self.name)} ", style)
        for lane, cell in enumerate(row.cells):
            line.append_text(self._cell(cell, lane)).append(" ")
        return line.append(f"{star}{self.outcomes[row.model]}".rjust(self.last - 1), style)

    def _cell(self, cell: Cell, lane: int) -> Text:
        color = "" if cell.possible else COLORS[lane]
        marks = {self._at(repeat): ("╵", color) for repeat in cell.repeats}
        marks |= {self._at(0.0): ("│", ""), self._at(cell.value): (MARKS[lane][not cell.possible], color)}
        bar = range(self._at(cell.lower), self._at(cell.upper) + 1) if cell.bounded else range(0)
        text = Text(" ")
        for place in range(self.lane):
            text.append(*marks.get(place, ("━", color) if place in bar else (" ", "")))
        text.append(f"{cell.text:>{self.number}} ", style="bold" if cell.highest else "")
        if cell.possible:
            text.stylize(CELLS[lane])
        return text

    def foot(self) -> Text:
        """Return the axis below the lanes."""
        width, reference = self.lane + self.number + 3, self.chart.reference
        start = max(0, min(1 + self._at(0.0) - len(reference) // 2, width - len(reference)))
        signs = f"{'':{start}}{reference}".ljust(width)
        for value, text in self.axis.ticks(3):
            place = 1 + self._at(value) - len(text) // 2
            end = place + len(text)
            if place >= 0 and not signs[max(place - 1, 0) : end + 1].strip():
                signs = signs[:place] + text + signs[end:]
        return Text(f"{'':{self.name + 3}}{signs * len(self.chart.panels)}".rstrip())

    def _at(self, value: float) -> int:
        share = (min(max(value, self.axis.low), self.axis.high) - self.axis.low) / (self.axis.high - self.axis.low)
        return round(share * (self.lane - 1))


def _fit(text: str, width: int) -> str:
    """Return a text of exactly this width, with an ellipsis if it is too long."""
    fitted = Text(text)
    fitted.truncate(width, overflow="ellipsis", pad=True)
    return fitted.plain


def _style(text: str, styles: Mapping[str, str], base: str = "") -> Text:
    """Return text with emphasis in the looks of some styles."""
    line = Text(style=base)
    for marks, piece in pieces(text):
        line.append(piece, " ".join(styles[mark] for mark in marks.split() if mark in styles))
    return line


def _create_table(title: str, columns: Iterable[tuple[str, bool]], rows: Iterable[Iterable[Text]]) -> Group:
    """Return a table below its title, which may be wider. Columns are heads, and whether they contain numbers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True, show_edge=False)
    for head, is_numeric in columns:
        table.add_column(head, justify="right" if is_numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    return Group(Text(title, style="bold"), Text(), table, Text())


def _show(text: str) -> Text:
    """Return text from data: on one line, and nothing in it acts on the terminal."""
    return Text(printable(text))
