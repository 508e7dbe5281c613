"""Models side by side: the main chart, pairs of models under two metrics, and the choices that reverse pairs."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.offsetbox import AnnotationBbox, HPacker, TextArea
from matplotlib.patches import Rectangle

from ..._common.text import as_text, format_mean, pieces, printable
from ...drawing.style import (
    Picture,
    finish,
    looks,
    measure_text,
    remove_frame,
    start,
)
from ..chart import STAR

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from ..._common.theme import Theme
    from ...comparison.comparison import Comparison
    from ...comparison.sensitivity import Sensitivity
    from ..chart import Chart, Row

WIDTH = 8.5
"""Inches of a new figure."""

SIZE = 10.0
HEADLINE = 12.0
"""Points of the font."""

PAD, SPACE = 8.0, 14.0
"""Points around the chart, and between its columns."""

MIN_LANE = 0.4
"""Smallest share of the width for the lane. Longer names wrap."""

LETTER_WIDTH = 0.54
"""Width of a letter in a text, as a share of the size of the font."""

CAPTIONS, TICKS, ROW = 34.0, 22.0, 26.0
"""Points of height above and below the rows, and of a row with one line."""


def plot_leaderboard(comparison: Comparison, ax: Axes | None = None, theme: str = "light") -> Picture:
    """Draw the difference of at most twelve models to the best. Right is better.

    Both metrics share one lane. A filled mark means that the model may be best under this metric, a hollow mark that it
    is ruled out. The bar is the simultaneous interval, the last column the worst case under either metric, and the star
    marks the model that the advice names. With a baseline, differences are to the baseline.

    Parameters
    ----------
    comparison : Comparison
        The models to draw.
    ax : Axes, optional
        Axes to draw on, by default those of a new figure that pyplot does not manage. All texts have sizes in points,
        so the axes need a width of 8 inches.
    theme : {"light", "dark"}
        Colors.
    """
    content = comparison.content
    chart, (rows, rest) = content.chart, content.chart.fold()
    is_new = ax is None
    text_width = 72 * (WIDTH if ax is None else _measure_axes(ax)[0]) - 2 * PAD
    names = _wrap_names(chart, rows, text_width)
    heights = [max(ROW, 12.0 * max(map(len, cells)) + 8) for cells in names]
    advice = _wrap(as_text(chart.advice), 9.5, text_width)
    keys = [as_text(key) for key in chart.keys]
    legend = [*([f"{rest}."] if rest else []), *chart.legend, *content.same_number] if rows else []
    notes = _wrap(" ".join(legend), 7.5, text_width)
    headline = _wrap_headline(chart.headline, text_width)
    start_of_advice = 25.0 + 17 * len(headline)
    top = start_of_advice - 10 + 15 * len(advice) + (8 if advice else 0)
    body = CAPTIONS + sum(heights) + TICKS if rows else 16.0 * len(comparison.metrics)
    pixels = round((top + body + 12 * len(notes) + 10) * 96 / 72)  # whole ones, for notebooks
    ax, colors = start(ax, theme, (WIDTH, pixels / 96))
    if is_new:
        ax.figure.set_layout_engine("none")  # type: ignore[union-attr]
        ax.set_position((0, 0, 1, 1))
    width, height = (72 * inches for inches in _measure_axes(ax))
    ax.set(xlim=(0, width), ylim=(height, 0))
    ax.axis("off")
    painter = _Painter(ax, colors, chart, rows, width)
    painter.write_headline(headline)
    for number, line in enumerate(advice):
        painter.write(PAD, start_of_advice + 15 * number, line, colors.muted, 9.5, va="baseline")
    for number, line in enumerate(reversed(notes)):
        painter.write(PAD, height - 8 - 12 * number, line, colors.muted, 7.5)
    if rows:
        available = height - top - CAPTIONS - TICKS - 12 * len(notes) - 10
        painter.write(PAD, top + 8, f"{chart.caption}.   {'   '.join(keys)}", colors.muted, 8)
        painter.draw_rows(top, names, [h * min(1.0, available / sum(heights)) for h in heights])
    else:
        for number, (metric, mean) in enumerate(comparison.leaderboard[list(comparison.metrics)].iloc[0].items()):
            painter.write(PAD, top + 16 * number, f"{metric}: {format_mean(mean)}", colors.ink)
    title = printable(as_text(chart.headline)).removesuffix(".")
    ax.set_title(title, loc="left", parse_math=False).set_visible(False)  # for the file and its text alternative
    labels = chart.names.labels
    descriptions = (f"{labels[row.model]}: {'; '.join(mark.description for mark in row.marks)}." for row in rows)
    return Picture(ax, printable(" ".join((as_text(chart.advice), *descriptions))))


def _wrap_headline(text: str, width: float) -> list[list[tuple[str, str]]]:
    """Return the lines of text with emphasis, each as pieces with their style."""
    lines, line = list[list[tuple[str, str]]](), list[tuple[str, str]]()
    word = list[tuple[str, str]]()
    for style, part in pieces(text):
        for token in re.findall(r"\S+\s*|\s+", printable(part)):
            word.append((style, token))
            if token[-1].isspace():
                line, word = _append_word(lines, line, word, width), []
    last = _append_word(lines, line, word, width)  # may add to `lines`
    return [*lines, last]


def _append_word(
    lines: list[list[tuple[str, str]]], line: list[tuple[str, str]], word: list[tuple[str, str]], width: float
) -> list[tuple[str, str]]:
    """Return the line with one more word. If it is too wide, move the line to `lines` and return the word alone."""
    whole = "".join(part for _, part in [*line, *word])
    if line and measure_text([whole.rstrip()], HEADLINE, bold=True) > 0.96 * width:
        lines.append(line)
        return word
    return [*line, *word]


def _wrap_names(chart: Chart, rows: Sequence[Row], width: float) -> list[list[list[str]]]:
    """Return the lines of every name, by row and column, so that names leave enough space for the lane."""
    available = width * (1 - MIN_LANE) / len(chart.names.heads) - 1.6 * SPACE
    return [[_wrap(cell, SIZE, available) or [""] for cell in chart.names.cells[row.model]] for row in rows]


class _Painter:
    """Text and marks of a chart at positions in points from the upper left corner."""

    def __init__(self, ax: Axes, colors: Theme, chart: Chart, rows: Sequence[Row], width: float) -> None:
        self.ax, self.colors, self.chart, self.rows, self.width = ax, colors, chart, rows, width
        self.axis = chart.axis(rows)
        self.left = self.lane = 0.0

    def write(self, x: float, y: float, text: str, color: str, size: float = SIZE, **look: Any) -> None:
        """Write text, by default centered on `y`."""
        weight = "bold" if look.pop("bold", False) else "normal"
        look = {"va": "center_baseline", "fontsize": size, "fontweight": weight, **look}
        self.ax.text(x, y, text, color=color, parse_math=False, **look)

    def write_headline(self, lines: Sequence[Sequence[tuple[str, str]]]) -> None:
        """Write the lines of the headline with winners in the color of their metric, smaller if a name is too long."""
        colors, texts = self.colors, ["".join(part for _, part in line) for line in lines]
        size = HEADLINE * min(1.0, 0.96 * (self.width - 2 * PAD) / max(measure_text(texts, HEADLINE, bold=True), 1.0))
        for number, line in enumerate(lines):
            boxes = list[Artist]()
            for style, part in line:
                color = colors.first_text if "l" in style else colors.second_text if "e" in style else colors.ink
                look = {"color": color, "fontsize": size, "fontweight": "bold", "parse_math": False}
                boxes.append(TextArea(part, textprops=look))
            packed = HPacker(children=boxes, pad=0, sep=0, align="baseline")
            place = (PAD, 20 + 17 * number)
            self.ax.add_artist(
                AnnotationBbox(packed, place, box_alignment=(0, 0.3), frameon=False, pad=0, annotation_clip=False)
            )

    def draw_rows(self, top: float, names: Sequence[Sequence[Sequence[str]]], heights: Sequence[float]) -> None:
        """Draw heads, names, lanes and the last column from `top` down."""
        colors, chart, right, base = self.colors, self.chart, self.width - PAD, top + CAPTIONS
        x, lefts = PAD + SPACE, []
        for place, head in enumerate(chart.names.heads):
            lefts.append(x)
            x += measure_text([head, *(line for cells in names for line in cells[place])], SIZE, bold=True) + SPACE
            self.write(lefts[-1], base - 9, head, colors.muted, 8)
        self.left = x
        self.lane = right - x - measure_text([chart.last, *(row.outcome for row in self.rows)], SIZE, bold=True) - SPACE
        self.write(right, base - 9, chart.last, colors.ink, bold=True, ha="right")
        bottom = base + sum(heights)
        self.draw_grid(base, bottom)
        y = base
        for row, cells, height in zip(self.rows, names, heights, strict=True):
            middle, color = y + height / 2, colors.ink if any(mark.possible for mark in row.marks) else colors.muted
            if row.starred:
                box = Rectangle((0, y), self.width, height, facecolor=colors.shade, edgecolor="none", zorder=-3)
                self.ax.add_patch(box)
                self.write(PAD, middle, STAR, colors.ink)
            self.ax.hlines(y, PAD, right, color=colors.grid, linewidth=0.6, zorder=-1)
            for left, lines in zip(lefts, cells, strict=True):
                for number, line in enumerate(lines):
                    offset = 12.0 * (number - (len(lines) - 1) / 2)
                    self.write(left, middle + offset, line, color, bold=row.starred)
            self.write(right, middle, row.outcome, color, bold=row.starred, ha="right")
            self.draw_lane(row, middle, min(height, ROW))
            y += height
        self.ax.hlines(bottom, PAD, right, color=colors.grid, linewidth=0.6, zorder=-1)

    def locate(self, value: float) -> float:
        """Return the horizontal position of a difference."""
        return self.left + self.lane * self.axis.at(value) / 100

    def draw_grid(self, base: float, bottom: float) -> None:
        """Draw the band of the margin, the grid, and the axis below the rows."""
        colors, ax, chart, zero = self.colors, self.ax, self.chart, self.locate(0)
        if chart.margin:
            low, high = map(self.locate, chart.band)
            box = Rectangle((low, base), high - low, bottom - base, facecolor=colors.band, edgecolor="none", zorder=-2)
            ax.add_patch(box)
        for value, text in self.axis.ticks(max(2, int(self.lane // 50))):
            x = self.locate(value)
            ax.vlines(x, base, bottom, color=colors.grid, linewidth=0.8, zorder=-1)
            if abs(x - zero) > 6 + (measure_text([text], 7.5) + measure_text([chart.reference], 7.5, bold=True)) / 2:
                self.write(x, bottom + 12, text, colors.muted, 7.5, ha="center")
        ax.vlines(zero, base, bottom + 3, color=colors.ink, linewidth=1.2, zorder=2)
        self.write(zero, bottom + 12, chart.reference, colors.ink, 7.5, bold=True, ha="center")

    def draw_lane(self, row: Row, middle: float, height: float) -> None:
        """Draw the marks of a row, their intervals and repeats, and the end of the worst case."""
        colors, ax = self.colors, self.ax
        places = (-0.19 * height, 0.19 * height) if len(row.marks) > 1 else (0.0,)
        if self.chart.reference == "best" and 0 < row.worst < np.inf:
            reach = 0.36 * height
            worst, top, bottom = self.locate(-row.worst), middle - reach, middle + reach
            ax.vlines(worst, top, bottom, color=colors.muted, linewidth=1.2, zorder=3)
        bars = (colors.first_bar, colors.second_bar)
        for mark, shift, look, bar in zip(row.marks, places, looks(colors), bars, strict=False):
            y = middle + shift
            if mark.bounded:
                ends = [self.locate(mark.lower), self.locate(mark.upper)]
                line: dict[str, Any] = {"linewidth": 3.2, "solid_capstyle": "round", "zorder": 3}
                ax.plot(ends, (y, y), color=bar, alpha=1.0 if mark.possible else 0.65, **line)
            repeats = [self.locate(repeat) for repeat in mark.repeats]
            ax.vlines(repeats, y + 1.3 * shift - 3, y + 1.3 * shift + 3, color=look.text, linewidth=1.1, zorder=4)
            fill = look.color if mark.possible else ax.get_facecolor()
            edge: dict[str, Any] = {"markeredgewidth": 1.4, "markeredgecolor": look.color, "markersize": 5.5}
            ax.plot(self.locate(mark.value), y, look.marker, markerfacecolor=fill, zorder=6, **edge)


def _measure_axes(ax: Axes) -> tuple[float, float]:
    """Return width and height of axes in inches."""
    box = ax.get_position()
    width, height = ax.figure.canvas.figure.get_size_inches()
    return box.width * width, box.height * height


def _wrap(text: str, size: float, width: float) -> list[str]:
    """Return a text in lines of about the given width in points."""
    return textwrap.wrap(printable(text), int(width / (LETTER_WIDTH * size)))


def plot_sensitivity(sensitivity: Sensitivity, ax: Axes | None = None, theme: str = "light") -> Picture:
    """Draw the share of reversed pairs for each choice, with its interval.

    Parameters
    ----------
    sensitivity : Sensitivity
        From `Comparison.sensitivity`.
    ax, theme
        As for `plot_leaderboard`.

    Raises
    ------
    ValueError
        If the comparison has no other choice.

    Examples
    --------
    >>> import gainwise as gw
    >>> judgments = gw.Judgments([2, 1, 1, 0] * 40, group=[4] * 40)
    >>> orders = [[3, 1, 2, 4], [1, 4, 3, 2], [4, 1, 3, 2], [1, 2, 4, 3], [2, 4, 3, 1]]
    >>> scores = {f"model {number}": order * 40 for number, order in enumerate(orders)}
    >>> gw.compare(scores, judgments, ["ndcg_linear@2", "ndcg_exp@2"]).plot.sensitivity()
    <Picture: The largest effect of 7 choices: exponential gain reverses 20.0 % of the pairs of models.>
    """
    table = sensitivity.table.iloc[::-1]
    if not len(table):
        raise ValueError("The comparison has no other choice to draw. Compare models with scores.")
    ax, colors = start(ax, theme, (7.6, 1.3 + 0.32 * len(table)))
    remove_frame(ax, colors, 7)
    ax.set_yticks(range(len(table)), table["choice"], parse_math=False)
    for row, (choice, label) in enumerate(zip(table.to_dict("records"), ax.get_yticklabels(), strict=True)):
        color = colors.ink if choice["kind"] == "gain" else colors.muted
        label.set(color=color, weight="bold" if choice["kind"] == "gain" else "normal")
        if np.isfinite(choice["lower"]):
            ends = [100 * choice["lower"], 100 * choice["upper"]]
            ax.plot(ends, [row, row], color=color, lw=2.4, alpha=0.45, solid_capstyle="round")
        ax.plot([100 * choice["reversed"]], [row], marker="o", markersize=6.5, color=color)
    ax.set_xlim(left=0)
    x = f"reversed pairs of models in the order of {sensitivity.reference}, in percent"
    return finish(ax, colors, sensitivity.headline, sensitivity.text, x, left=0.4)
