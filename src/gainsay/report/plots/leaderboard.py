"""The main chart as a Matplotlib figure."""

from __future__ import annotations

import textwrap
import warnings
from typing import TYPE_CHECKING, Any

from matplotlib.font_manager import FontProperties
from matplotlib.offsetbox import AnnotationBbox, HPacker, TextArea
from matplotlib.patches import FancyBboxPatch
from matplotlib.textpath import text_to_path

from ..._common.markup import as_text, pieces
from ..._common.shown import printable
from ..chart import STAR
from ..content import Content
from .style import Picture, looks, start

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from ..._common.palette import Theme
    from ...comparison.comparison import Comparison
    from ..chart import Axis, Chart, Row

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
    content = Content(comparison, comparison.against(comparison.baseline) if comparison.baseline else None)
    chart = content.chart
    rows = len(chart.rows)
    row = 27.0 if rows <= 4 else 22.0 if rows <= 12 else 15.5
    text_width = 72 * (WIDTH if ax is None else _size(ax)[0]) - 2 * PAD
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
    width, height = (72 * inches for inches in _size(ax))
    ax.set(xlim=(0, width), ylim=(height, 0))
    ax.axis("off")
    pen = _Pen(ax, colors, 10.0 if rows <= 12 else 8.5, width)
    pen.headline(chart.headline)
    for number, line in enumerate(advice):
        pen.text(PAD, 42 + 15 * number, line, colors.muted, size=9.5, va="baseline")
    for number, line in enumerate(notes):
        pen.text(PAD, height - 8 - 12 * (len(notes) - 1 - number), line, colors.muted, size=7.5)
    if rows:
        available = (height - top - CAPTIONS - TICKS - 12 * len(notes) - 10) / rows
        _draw_rows(pen, chart, top, max(min(row, available), 4.0))
    else:
        for number, metric in enumerate(comparison.metrics):
            mean = comparison.leaderboard[metric].iloc[0]
            pen.text(PAD, top + 16 * number, f"{metric}: {mean:.4f}", colors.ink)
    title = printable(as_text(chart.headline)).removesuffix(".")
    ax.set_title(title, loc="left", parse_math=False).set_visible(False)  # for the file and its text alternative
    descriptions = (f"{row.name}: {'; '.join(cell.description for cell in row.cells)}." for row in chart.rows)
    return Picture(ax, printable(" ".join((as_text(chart.advice), *descriptions))))


class _Pen:
    """Text and marks at positions in points from the upper left corner."""

    def __init__(self, ax: Axes, colors: Theme, size: float, width: float) -> None:
        self.ax, self.colors, self.size, self.width = ax, colors, size, width

    def text(
        self, x: float, y: float, text: str, color: str, *, size: float = 0.0, bold: bool = False, **look: Any
    ) -> None:
        """Write text, by default centered on `y`."""
        look = {"va": "center_baseline", **look}
        weight = "bold" if bold else "normal"
        size = size or self.size
        self.ax.text(x, y, text, color=color, fontsize=size, fontweight=weight, parse_math=False, **look)

    def line(self, x: tuple[float, float], y: tuple[float, float], color: str, width: float, **look: Any) -> None:
        """Draw a line."""
        self.ax.plot(x, y, color=color, linewidth=width, **look)

    def headline(self, text: str) -> None:
        """Write the headline with winners in the color of their metric, smaller if it is too long."""
        parts, size = pieces(text), 14.0
        size *= min(1.0, 0.96 * (self.width - 2 * PAD) / max(width_of([as_text(text)], size, True), 1.0))
        metric = {"l": self.colors.first_text, "e": self.colors.second_text}
        boxes: list[Artist] = []
        for style, part in parts:
            color = next((metric[mark] for mark in style.split() if mark in metric), self.colors.ink)
            look = {"color": color, "fontsize": size, "fontweight": "bold", "parse_math": False}
            boxes.append(TextArea(printable(part) if style else part, textprops=look))
        packed = HPacker(children=boxes, pad=0, sep=0, align="baseline")
        artist = AnnotationBbox(packed, (PAD, 20), box_alignment=(0, 0.3), frameon=False, pad=0, annotation_clip=False)
        self.ax.add_artist(artist)


def width_of(texts: Iterable[str], size: float, bold: bool = False) -> float:
    """Return the width of the widest text in points."""
    font = FontProperties(size=size, weight="bold" if bold else "normal")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # drawing warns of it anyway
        return max((text_to_path.get_text_width_height_descent(text, font, False)[0] for text in texts), default=0.0)


def _wrap(text: str, size: float, width: float) -> list[str]:
    """Return a text in lines of about the given width in points."""
    return textwrap.wrap(printable(text), int(width / (LETTER_WIDTH * size)))


def _size(ax: Axes) -> tuple[float, float]:
    """Return width and height of axes in inches."""
    box = ax.get_position()
    width, height = ax.figure.canvas.figure.get_size_inches()
    return box.width * width, box.height * height


def _draw_rows(pen: _Pen, chart: Chart, top: float, row: float) -> None:
    """Draw captions, panels and names from `top` down."""
    colors, base = pen.colors, top + CAPTIONS
    starred = [(f"{STAR} " if row.starred else "", row) for row in chart.rows]
    names = width_of([star + printable(row.name) for star, row in starred], pen.size, bold=True)
    ends = [star + row.outcome for star, row in starred]
    last = max(width_of([*ends, chart.last[0]], pen.size, bold=True), width_of([chart.last[1]], 7.5))
    left, right = PAD + names + 18, pen.width - PAD - last - 16
    panels = len(chart.panels)
    wide = (right - left - GAP * (panels - 1)) / panels
    pen.line((PAD, pen.width - PAD), (base - 4, base - 4), colors.ink, 1)
    pen.text(pen.width - PAD, top + 12, chart.last[0], colors.ink, size=10, bold=True, ha="right")
    pen.text(pen.width - PAD, top + 26, chart.last[1], colors.muted, size=7.5, ha="right")
    for number, (star, line) in enumerate(starred):
        y = base + (number + 0.5) * row
        if number:
            pen.line((PAD, pen.width - PAD), (y - row / 2, y - row / 2), colors.grid, 0.6, zorder=-1)
        pen.text(PAD, y, star + printable(line.name), colors.ink, bold=line.starred)
        pen.text(pen.width - PAD, y, star + line.outcome, colors.ink, bold=line.starred, ha="right")
    for lane in range(panels):
        _draw_panel(pen, chart, lane, left + lane * (wide + GAP), wide, base, row)


def _draw_panel(pen: _Pen, chart: Chart, lane: int, left: float, wide: float, base: float, row: float) -> None:
    colors, look, panel = pen.colors, looks(pen.colors)[lane], chart.panels[lane]
    axis, bottom = chart.axis(), base + len(chart.rows) * row
    number = width_of((cell.text for line in chart.rows for cell in line.cells), pen.size, bold=True) + 16
    scale = (axis, left, wide - number)
    pen.ax.plot(left + 6, base - 30, look.marker, markersize=6.5 - lane, color=look.color, clip_on=False)
    low = " (lower is better)" if panel.lower_is_better else ""
    pen.text(left + 15, base - 30, printable(panel.caption) + low, look.text, size=10, bold=True)
    pen.text(left + 2, base - 16, printable(panel.libraries), colors.muted, size=7.5)
    for value, text in axis.ticks(max(2, int((wide - number) // 36))):
        x = _at(scale, value)
        pen.line((x, x), (base, bottom), colors.grid, 0.8, zorder=1)
        if abs(x - _at(scale, 0)) > 26 + 2 * len(chart.reference) - 8:
            pen.text(x, bottom + 12, text, colors.muted, size=7.5, ha="center")
    for place, line in enumerate(chart.rows):
        _draw_cell(pen, line, lane, scale, (left, wide), base + (place + 0.5) * row, row)
    zero = _at(scale, 0)
    pen.line((zero, zero), (base - 4, bottom + 2), colors.ink, 1.2, zorder=5)
    pen.text(zero, bottom + 12, chart.reference, colors.ink, size=7.5, bold=True, ha="center")


def _at(scale: tuple[Axis, float, float], value: float) -> float:
    axis, left, wide = scale
    return left + wide * axis.at(value) / 100


def _draw_cell(
    pen: _Pen, row: Row, lane: int, scale: tuple[Axis, float, float], box: tuple[float, float], y: float, height: float
) -> None:
    colors, look, cell = pen.colors, looks(pen.colors)[lane], row.cells[lane]
    tint, bar = ((colors.first_tint, colors.first_bar), (colors.second_tint, colors.second_bar))[lane]
    small = pen.size < 10
    if cell.possible:
        margin = 1.2 if small else 1.8
        rounded = "round,pad=0,rounding_size=3"
        patch = FancyBboxPatch((box[0], y - height / 2 + margin), box[1], height - 2 * margin, boxstyle=rounded)
        patch.set(facecolor=tint, edgecolor="none", zorder=0)
        pen.ax.add_patch(patch)
    if cell.bounded:
        ends = _at(scale, cell.lower), _at(scale, cell.upper)
        pen.line(ends, (y, y), bar, 2.6 if small else 3.6, solid_capstyle="round", zorder=3)
    for repeat in cell.repeats:
        x = _at(scale, repeat)
        pen.line((x, x), (y - 0.27 * height, y - 0.08 * height), look.text, 1.1, zorder=4)
    size = ((8.5 if cell.highest else 6.5) - lane) * (0.72 if small else 1)
    fill = look.color if cell.possible else pen.ax.get_facecolor()
    pen.ax.plot(
        _at(scale, cell.value), y, look.marker, markersize=size, markeredgewidth=1.4, markeredgecolor=look.color,
        markerfacecolor=fill, zorder=6,
    )  # fmt: skip
    color = look.text if cell.possible else colors.muted
    pen.text(box[0] + box[1] - 6, y, cell.text, color, bold=cell.highest, ha="right")
