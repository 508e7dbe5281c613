"""The main chart as a Matplotlib figure."""

from __future__ import annotations

import textwrap
import warnings
from typing import TYPE_CHECKING, Any

from matplotlib.artist import Artist
from matplotlib.font_manager import FontProperties
from matplotlib.offsetbox import AnnotationBbox, HPacker, TextArea
from matplotlib.patches import FancyBboxPatch
from matplotlib.textpath import text_to_path

from ..._common.text import as_text, pieces, printable
from ..chart import STAR
from .style import Picture, looks, start

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes

    from ..._common.theme import Theme
    from ...comparison.comparison import Comparison
    from ..chart import Cell, Chart

WIDTH = 8.5
"""Inches of a new figure."""

PAD, GAP = 8.0, 14.0
"""Points around the chart, and between its panels."""

LETTER_WIDTH = 0.54
"""Width of a letter in a text, as a share of the size of the font."""

CAPTIONS, TICKS = 42.0, 22.0
"""Points of height above and below the rows."""


def plot_leaderboard(comparison: Comparison, ax: Axes | None = None, theme: str = "light") -> Picture:
    """Draw the difference of every model to the best under both metrics. Right is better.

    Each metric has a panel. A tinted cell with a filled mark means that the model may be best under this metric, a
    hollow mark that it is ruled out. The bar is the simultaneous interval, the last column the worst case under either
    metric, and the star marks the model that the advice names. With a baseline, differences are to the baseline.

    Parameters
    ----------
    comparison : Comparison
        The models to draw.
    ax : Axes, optional
        The axes to draw on, by default those of a new figure that pyplot does not manage. All texts have sizes in
        points, so the axes need a width of 8 inches.
    theme : {"light", "dark"}
        Colors.

    Returns
    -------
    Picture
    """
    content = comparison.content
    chart = content.chart
    rows = len(chart.rows)
    row = 27.0 if rows <= 4 else 22.0 if rows <= 12 else 15.5
    text_width = 72 * (WIDTH if ax is None else _measure_axes(ax)[0]) - 2 * PAD
    advice = _wrap(as_text(chart.advice), 9.5, text_width)
    notes = _wrap(" ".join((*chart.notes, *content.same_number)), 7.5, text_width)
    top = 32.0 + 15 * len(advice) + (8 if advice else 0)
    body = CAPTIONS + rows * row + TICKS if rows else 16.0 * len(comparison.metrics)
    pixels = round((top + body + 12 * len(notes) + 10) * 96 / 72)  # whole ones, for notebooks
    is_new = ax is None
    ax, colors = start(ax, theme, (WIDTH, pixels / 96))
    if is_new:
        ax.figure.set_layout_engine("none")  # type: ignore[union-attr]
        ax.set_position((0, 0, 1, 1))
    width, height = (72 * inches for inches in _measure_axes(ax))
    ax.set(xlim=(0, width), ylim=(height, 0))
    ax.axis("off")
    painter = _Painter(ax, colors, chart, width)
    painter.write_headline()
    for number, line in enumerate(advice):
        painter.write(PAD, 42 + 15 * number, line, colors.muted, 9.5, va="baseline")
    for number, line in enumerate(reversed(notes)):
        painter.write(PAD, height - 8 - 12 * number, line, colors.muted, 7.5)
    if rows:
        available = (height - top - CAPTIONS - TICKS - 12 * len(notes) - 10) / rows
        painter.draw_rows(top, max(min(row, available), 4.0))
    else:
        for number, (metric, mean) in enumerate(comparison.leaderboard[list(comparison.metrics)].iloc[0].items()):
            painter.write(PAD, top + 16 * number, f"{metric}: {mean:.4f}", colors.ink)
    title = printable(as_text(chart.headline)).removesuffix(".")
    ax.set_title(title, loc="left", parse_math=False).set_visible(False)  # for the file and its text alternative
    descriptions = (f"{row.name}: {'; '.join(cell.description for cell in row.cells)}." for row in chart.rows)
    return Picture(ax, printable(" ".join((as_text(chart.advice), *descriptions))))


class _Painter:
    """Text and marks of a chart at positions in points from the upper left corner."""

    def __init__(self, ax: Axes, colors: Theme, chart: Chart, width: float) -> None:
        self.ax, self.colors, self.chart, self.width = ax, colors, chart, width
        self.axis, self.size = chart.axis(), 10.0 if len(chart.rows) <= 12 else 8.5

    def write(
        self, x: float, y: float, text: str, color: str, size: float = 0.0, bold: bool = False, **look: Any
    ) -> None:
        """Write text, by default centered on `y`."""
        look = {"va": "center_baseline", "fontsize": size or self.size, "fontweight": _weigh(bold), **look}
        self.ax.text(x, y, text, color=color, parse_math=False, **look)

    def write_headline(self) -> None:
        """Write the headline with winners in the color of their metric, smaller if it is too long."""
        text, size, colors = self.chart.headline, 14.0, self.colors
        size *= min(1.0, 0.96 * (self.width - 2 * PAD) / max(_measure([as_text(text)], size, bold=True), 1.0))
        boxes = list[Artist]()
        for style, part in pieces(text):
            color = colors.first_text if "l" in style else colors.second_text if "e" in style else colors.ink
            look = {"color": color, "fontsize": size, "fontweight": "bold", "parse_math": False}
            boxes.append(TextArea(printable(part) if style else part, textprops=look))
        packed = HPacker(children=boxes, pad=0, sep=0, align="baseline")
        artist = AnnotationBbox(packed, (PAD, 20), box_alignment=(0, 0.3), frameon=False, pad=0, annotation_clip=False)
        self.ax.add_artist(artist)

    def draw_rows(self, top: float, height: float) -> None:
        """Draw captions, panels and names from `top` down."""
        colors, chart, base, right = self.colors, self.chart, top + CAPTIONS, self.width - PAD
        stars = [f"{STAR} " if row.starred else "" for row in chart.rows]
        names = [star + printable(row.name) for star, row in zip(stars, chart.rows, strict=True)]
        ends = [star + row.outcome for star, row in zip(stars, chart.rows, strict=True)]
        last = max(_measure([*ends, chart.last[0]], self.size, bold=True), _measure([chart.last[1]], 7.5))
        left, panels = PAD + _measure(names, self.size, bold=True) + 18, len(chart.panels)
        wide = (right - last - 16 - left - GAP * (panels - 1)) / panels
        self.ax.hlines(base - 4, PAD, right, color=colors.ink, linewidth=1)
        self.write(right, top + 12, chart.last[0], colors.ink, 10, bold=True, ha="right")
        self.write(right, top + 26, chart.last[1], colors.muted, 7.5, ha="right")
        for number, (row, name, end) in enumerate(zip(chart.rows, names, ends, strict=True)):
            y = base + (number + 0.5) * height
            if number:
                self.ax.hlines(y - height / 2, PAD, right, color=colors.grid, linewidth=0.6, zorder=-1)
            self.write(PAD, y, name, colors.ink, bold=row.starred)
            self.write(right, y, end, colors.ink, bold=row.starred, ha="right")
        for lane in range(panels):
            self.draw_panel(lane, left + lane * (wide + GAP), wide, base, height)

    def draw_panel(self, lane: int, left: float, wide: float, base: float, height: float) -> None:
        """Draw a metric from `left` to the right: its caption, grid and cells, and the axis below them."""
        colors, look, panel, ax = self.colors, looks(self.colors)[lane], self.chart.panels[lane], self.ax
        cells = [row.cells[lane] for row in self.chart.rows]
        texts = (cell.text for row in self.chart.rows for cell in row.cells)
        room = wide - _measure(texts, self.size, bold=True) - 16
        bottom, reference = base + len(cells) * height, self.chart.reference

        def locate(value: float) -> float:
            return left + room * self.axis.at(value) / 100

        ax.plot(left + 6, base - 30, look.marker, markersize=6.5 - lane, color=look.color, clip_on=False)
        low = " (lower is better)" if panel.lower_is_better else ""
        self.write(left + 15, base - 30, printable(panel.caption) + low, look.text, 10, bold=True)
        self.write(left + 2, base - 16, printable(panel.libraries), colors.muted, 7.5)
        zero = locate(0)
        for value, text in self.axis.ticks(max(2, int(room // 36))):
            x = locate(value)
            ax.vlines(x, base, bottom, color=colors.grid, linewidth=0.8, zorder=1)
            if abs(x - zero) > 18 + 2 * len(reference):
                self.write(x, bottom + 12, text, colors.muted, 7.5, ha="center")
        for place, cell in enumerate(cells):
            y = base + (place + 0.5) * height
            self.draw_cell(cell, lane, [locate(end) for end in (cell.value, cell.lower, cell.upper)], y)
            if cell.possible:
                margin = 1.2 if self.size < 10 else 1.8
                box = (left, y - height / 2 + margin), wide, height - 2 * margin
                tint = (colors.first_tint, colors.second_tint)[lane]
                rounded = "round,pad=0,rounding_size=3"
                ax.add_patch(FancyBboxPatch(*box, boxstyle=rounded, facecolor=tint, edgecolor="none", zorder=0))
            repeats = [locate(repeat) for repeat in cell.repeats]
            ax.vlines(repeats, y - 0.27 * height, y - 0.08 * height, color=look.text, linewidth=1.1, zorder=4)
            color = look.text if cell.possible else colors.muted
            self.write(left + wide - 6, y, cell.text, color, bold=cell.highest, ha="right")
        ax.vlines(zero, base - 4, bottom + 2, color=colors.ink, linewidth=1.2, zorder=5)
        self.write(zero, bottom + 12, reference, colors.ink, 7.5, bold=True, ha="center")

    def draw_cell(self, cell: Cell, lane: int, ends: list[float], y: float) -> None:
        """Draw the mark of a cell and its interval. `ends` are the positions of its value and its interval."""
        colors, look, small = self.colors, looks(self.colors)[lane], self.size < 10
        if cell.bounded:
            bar, width = (colors.first_bar, colors.second_bar)[lane], 2.6 if small else 3.6
            self.ax.plot(ends[1:], (y, y), color=bar, linewidth=width, solid_capstyle="round", zorder=3)
        size = ((8.5 if cell.highest else 6.5) - lane) * (0.72 if small else 1)
        fill = look.color if cell.possible else self.ax.get_facecolor()
        edge: dict[str, Any] = {"markeredgewidth": 1.4, "markeredgecolor": look.color}
        self.ax.plot(ends[0], y, look.marker, markersize=size, markerfacecolor=fill, zorder=6, **edge)


def _weigh(bold: bool) -> str:
    return "bold" if bold else "normal"


def _measure(texts: Iterable[str], size: float, bold: bool = False) -> float:
    """Return the width of the widest text in points."""
    font = FontProperties(size=size, weight=_weigh(bold))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # drawing warns of it anyway
        return max((text_to_path.get_text_width_height_descent(text, font, False)[0] for text in texts), default=0.0)


def _measure_axes(ax: Axes) -> tuple[float, float]:
    """Return width and height of axes in inches."""
    box = ax.get_position()
    width, height = ax.figure.canvas.figure.get_size_inches()
    return box.width * width, box.height * height


def _wrap(text: str, size: float, width: float) -> list[str]:
    """Return a text in lines of about the given width in points."""
    return textwrap.wrap(printable(text), int(width / (LETTER_WIDTH * size)))
