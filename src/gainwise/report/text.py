"""Comparisons in a terminal: the answer, the advice, the chart, tables, and the next steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from rich import box
from rich.cells import cell_len, set_cell_size
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from .._common.lazy import pandas as pd
from .._common.names import split_names
from .._common.text import format_confidence, pieces, pluralize, printable
from ..comparison.flags import format_range
from ..metrics.conventions import CONVENTIONS
from .chart import SIGNS, STAR
from .tables import Table as TableData
from .tables import build_decisions, build_leaderboard, build_sensitivity, describe_scope, list_notes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rich.console import ConsoleOptions, JustifyMethod

    from ..comparison.gain_path import GainPath
    from ..comparison.sensitivity import Sensitivity
    from ..evaluation.explain import Number
    from .chart import Chart, Mark, Row
    from .content import Content

STYLES = {"b": "bold", "l": "first", "e": "second"}
"""Looks of emphasis. `gainwise._common.theme.choose_terminal_colors` has the colors of both metrics."""

COLORS = ("first", "second")
PLAIN = str.maketrans("●○◆◇★│┊─━╵−–·…’", "#o*+>|:--'--,.'")
"""ASCII signs for marks, lines and punctuation."""

MIN_WIDTH, MAX_WIDTH = 20, 120
MAX_BASES = 5

MAX_SWAPS = 12
"""Pairs of models that change places in the table. The others are counted."""


def values_table(title: str, rows: Mapping[str, float]) -> Group:
    """Return a table of metrics and their means."""
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
    names = split_names(gains.models).labels
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
        tables.append(frame_table(caption + (f" ({pluralize(rest, 'more pair')})" if rest else ""), swaps.round(2)))
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
    return _report_table(build_leaderboard(content), notes=False)


def choices_table(sensitivity: Sensitivity) -> Group:
    """Return the share of reversed pairs and the winner under every other choice."""
    return _report_table(build_sensitivity(sensitivity))


def decisions_table(content: Content) -> Group:
    """Return the decision and the differences of every candidate, without the other columns of a report."""
    assert content.against is not None
    data = build_decisions(content, content.against)
    names = len(content.names.heads)
    columns = [*data.columns[:names], *(c for c in data.columns[names:] if c.label.startswith(("decision", "\u0394")))]
    return _report_table(TableData(data.caption.partition(".")[0], columns))


def headline_lines(content: Content) -> list[Text]:
    """Return the answer and the advice."""
    chart = content.chart
    lines = [_style(chart.headline, STYLES, "bold")]
    lines += [_style(chart.advice, {"b": "bold"})] if chart.advice else []
    return lines + [Text(sentence) for sentence in content.same_number]


def chart_lines(content: Content, width: int, *, unicode: bool = True, every: bool = False) -> list[Text]:
    """Return the chart in at most `width` columns, and 120, with twelve rows or with `every` row.

    Without `unicode` it consists of ASCII.
    """
    chart, comparison, width = content.chart, content.comparison, max(min(width, MAX_WIDTH), MIN_WIDTH)
    if not chart.rows:
        means = comparison.leaderboard
        wide = max(map(len, comparison.metrics))
        return [Text(f"  {metric:<{wide}}  {means[metric].iloc[0]:.4f}") for metric in comparison.metrics]
    rows, rest = (chart.rows, "") if every else chart.fold()
    lanes = _Lanes(chart, rows, width, unicode)
    keys = Text("  ").join(_style(text, STYLES) for text in (f"{chart.caption}.", *chart.keys))
    lines = [*_wrap(keys, width), *lanes.head(), *(line for row in rows for line in lanes.draw(row)), lanes.foot()]
    lines += [Text(f"  … {rest} (--all)")] if rest else []
    queries = comparison.counts.any if comparison.primary is None else comparison.verdict.queries
    size = f"{pluralize(queries, 'query')}{'' if comparison.unjudged is None else comparison.unjudged.remark}."
    legend = " ".join((*chart.describe_marks("Right of ┊" if chart.reference == "best" else "Between ┊ and ┊"), size))
    lines += _wrap(Text(printable(legend)), width)
    for line in () if unicode else lines:
        line.plain = _to_ascii(line.plain)
    return lines


def next_lines(*commands: tuple[str, str]) -> list[Text]:
    """Return next steps with their commands."""
    width = max((len(purpose) for purpose, _ in commands), default=0) + 1
    return [
        Text(f"{'' if place else 'Next':<5}{purpose + ':':<{width}} {command}")
        for place, (purpose, command) in enumerate(commands)
    ]


def notes_lines(content: Content) -> list[Text]:
    """Return reservations and the scope of the means."""
    chance = content.comparison.chance
    levels = ", ".join(f"{metric} {format_range(by_model.values())}" for metric, by_model in chance.items())
    random_order = [f"Random order: {levels}."] if levels else []
    sentences = (*list_notes(content), *describe_scope(content), *random_order)
    return [_show(sentence) for sentence in sentences]


class _Lanes:
    """The rows of a chart as lines of text: a name, a line of the lane for each metric, and the last column.

    Names that take more than half of the width are above their lanes.
    """

    def __init__(self, chart: Chart, rows: Sequence[Row], width: int, unicode: bool) -> None:
        self.chart, self.axis, self.width = chart, chart.axis(rows), width
        names = chart.names
        show = str if unicode else _to_ascii  # before texts are aligned, because signs may become narrower
        cells = {row.model: [show(cell) for cell in names.cells[row.model]] for row in rows}
        heads = [head if len(names.heads) > 1 else "" for head in names.heads]
        widths = [max(map(cell_len, column)) for column in zip(heads, *cells.values(), strict=True)]
        self.last = max(map(cell_len, (chart.last, *(row.outcome for row in rows)))) + 1
        self.name = sum(widths) + 2 * len(widths)
        self.is_stacked = self.name > width // 2 - 2
        if self.is_stacked:
            self.names, self.heads, self.name = {row.model: show(names.labels[row.model]) for row in rows}, "", 0
        else:
            self.names = {model: _align(texts, widths) for model, texts in cells.items()}
            self.heads = _align(heads, widths)
        self.lane = width - self.name - self.last - 2

    def head(self) -> list[Text]:
        """Return the heads of the columns of names, and the head of the last column."""
        head = Text(f"  {self.heads}{'':{self.lane}}", "dim")
        return [Text.assemble(head, (self.chart.last.rjust(self.last), "bold"))]

    def draw(self, row: Row) -> list[Text]:
        """Return the lines of a row."""
        style = "bold" if row.starred else "" if any(mark.possible for mark in row.marks) else "dim"
        star, name = (STAR if row.starred else " "), self.names[row.model]
        lines = []
        if self.is_stacked:
            above = _wrap(Text(name, style), self.width - 2)
            lines = [Text.assemble((f"{star if not place else ' '} ", style), line) for place, line in enumerate(above)]
            star, name = " ", ""
        for lane in range(len(row.marks)):
            start = f"{star} {name}" if not lane else f"{'':{self.name + 2}}"
            end = (row.outcome.rjust(self.last), style) if not lane else ("", "")
            lines.append(Text.assemble((start, style), self._draw_lane(row.marks[lane], lane), end))
        return lines

    def _draw_lane(self, mark: Mark, lane: int) -> Text:
        color = COLORS[lane]
        signs = dict.fromkeys(self._ends, ("┊", "dim")) | {self._at(0.0): ("│", "")}
        bar = range(self._at(mark.lower), self._at(mark.upper) + 1) if mark.bounded else range(0)
        signs |= dict.fromkeys(bar, ("━", color))
        signs |= {self._at(repeat): ("╵", color) for repeat in mark.repeats}
        signs[self._at(mark.value)] = (SIGNS[lane][not mark.possible], color)
        return Text.assemble(*(signs.get(place, " ") for place in range(self.lane)))

    @property
    def _ends(self) -> list[int]:
        """The places of the ends of the margin."""
        band = self.chart.band if self.chart.margin else ()
        return [self._at(end) for end in band if end and self.axis.low <= end <= self.axis.high]

    def foot(self) -> Text:
        """Return the axis below the lanes."""
        reference, start = self.chart.reference, self.name + 2
        first = max(0, min(self._at(0.0) - len(reference) // 2, self.lane - len(reference)))
        signs = f"{'':{first}}{reference}".ljust(self.lane)
        for end in self._ends:  # Bars may cover them in all lanes.
            signs = signs[:end] + signs[end].replace(" ", "┊") + signs[end + 1 :]
        for value, text in self.axis.ticks(max(2, self.lane // 12)):
            place = self._at(value) - len(text) // 2
            end = place + len(text)
            if place >= 0 and end <= self.lane and not signs[max(place - 1, 0) : end + 1].strip():
                signs = signs[:place] + text + signs[end:]
        return Text(f"{'':{start}}{signs}".rstrip(), "dim")

    def _at(self, value: float) -> int:
        share = (min(max(value, self.axis.low), self.axis.high) - self.axis.low) / (self.axis.high - self.axis.low)
        return round(share * (self.lane - 1))


def _align(texts: Iterable[str], widths: Iterable[int]) -> str:
    """Return texts in columns, each with two blanks after it."""
    return "".join(set_cell_size(text, width) + "  " for text, width in zip(texts, widths, strict=True))


def _wrap(text: Text, width: int) -> list[Text]:
    """Return a text in lines that end between words, or within words that are longer than a line."""
    lines = list(text.wrap(Console(width=width), width, overflow="fold"))
    for line in lines:
        line.rstrip()
    return lines


def _to_ascii(text: str) -> str:
    return text.translate(PLAIN).encode("ascii", "replace").decode()


def _style(text: str, styles: Mapping[str, str], base: str = "") -> Text:
    """Return text with emphasis in the looks of some styles."""
    line = Text(style=base)
    for marks, piece in pieces(text):
        line.append(piece, " ".join(styles[mark] for mark in marks.split() if mark in styles))
    return line


class _Columns(NamedTuple):
    """A table whose columns continue below, after the column of names, if they do not fit.

    Numbers wrap only in a terminal that is too narrow for a single column next to the names.
    """

    columns: Sequence[tuple[str, bool]]
    rows: Sequence[Sequence[Text]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        widths = []
        for place, (head, is_numeric) in enumerate(self.columns):
            widest = max((row[place].cell_len for row in self.rows), default=0)
            widths.append(max(widest, *map(cell_len, head.split("\n"))) + 3)
            if not is_numeric:
                widths[-1] = min(widths[-1], max(options.max_width // 3, 8))
        start = 1
        while start < len(self.columns) or start == 1:
            stop, room = start, options.max_width - widths[0]
            while stop < len(self.columns) and (room >= widths[stop] or stop == start):
                room, stop = room - widths[stop], stop + 1
            is_wide = widths[0] + sum(widths[start:stop]) <= options.max_width
            yield self._build([0, *range(start, stop)], is_wide)
            if stop < len(self.columns):
                yield Text()
            start = max(stop, 2)

    def _build(self, places: Sequence[int], is_wide: bool) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True, show_edge=False)
        for head, is_numeric in (self.columns[place] for place in places):
            justify: JustifyMethod = "right" if is_numeric else "left"
            table.add_column(head, justify=justify, overflow="fold", no_wrap=is_numeric and is_wide)
        for row in self.rows:
            table.add_row(*(row[place] for place in places))
        return table


def _create_table(title: str, columns: Iterable[tuple[str, bool]], rows: Iterable[Iterable[Text]]) -> Group:
    """Return a table below its title, which may be wider. Columns are heads, and whether they contain numbers."""
    return Group(Text(title, style="bold"), Text(), _Columns(list(columns), list(map(list, rows))), Text())


def _show(text: str) -> Text:
    """Return text from data: on one line, and nothing in it acts on the terminal."""
    return Text(printable(text))
