"""Bars to both sides of a line: stacked ones in rows, and small ones for single differences."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

from .lanes import MINUS, TEXTS, Bar, Text, drawing, hue, rectangles, texts, upright

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Bars", "bar_key", "bars"]

SHADES = (1, 0.72, 0.48, 0.28, 0.16)
"""How strong the bands of a bar are, from the first outwards."""


class Bars(NamedTuple):
    """A panel of bars: for each row the parts of its sum, above 0 to the right, and the total of all rows.

    The side that the total favours has the colour of the lane, the other is grey.
    """

    title: str
    lane: int
    sides: tuple[str, ...]
    rows: list[str]
    cells: list[list[float]]
    nets: list[str]
    total: float
    total_said: str
    parts: list[str]


def _strength(band: int) -> str:
    return f'fill-opacity="{SHADES[min(band, len(SHADES) - 1)]:g}"'


def bars(panel: Bars, limits: tuple[float, float]) -> str:
    """Return a panel as HTML, on a scale between two limits."""
    low, high = limits
    step = 28 if len(panel.rows) <= 6 else 22
    sides = ("off", hue(panel.lane)) if panel.total >= 0 else (hue(panel.lane), "off")
    start, width = (30, 55) if max(map(len, panel.rows), default=0) <= 10 else (42, 43)

    def at(value: float) -> float:
        return start + width * (value - low) / (high - low)

    zero, end = at(0.0), 24 + step * len(panel.rows) + 8
    drawn = []
    written = [
        Text(zero, 12, f"\u25c2 {panel.sides[0]}", -8, "end"),
        Text(zero, 12, f"{panel.sides[1]} \u25b8", 8),
    ]
    for place, (row, cells, net) in enumerate(zip(panel.rows, panel.cells, panel.nets, strict=True)):
        y = 24 + step * place
        written.append(Text(0, y + 14, row))
        reach = [0.0, 0.0]
        for band, value in enumerate(cells):
            if value:
                side = value > 0
                near, far = at(reach[side]), at(reach[side] + value)
                reach[side] += value
                said = f"{row}, {panel.parts[band]}: {value:+.4f}".replace("-", MINUS)
                drawn.append(Bar(sides[side], near, far, y, step - 8, f" {_strength(band)}", said))
        ahead = sum(cells) >= 0
        dx, anchor = (6, "start") if ahead else (-6, "end")
        written.append(Text(at(reach[ahead]), y + 14, net, dx, anchor, "s"))
    drawn.append(Bar(sides[panel.total >= 0], zero, at(panel.total), end + 6, 18))
    written.append(Text(0, end + 20, "total", style="s b"))
    dx, anchor = (-6, "end") if panel.total >= 0 else (6, "start")
    written.append(Text(zero, end + 20, panel.total_said, dx, anchor, "s b"))
    lines = f'<line class="g" x1="0" x2="100%" y1="{end - 2}" y2="{end - 2}"/>{upright("z", zero, 18, end + 28)}'
    said = "; ".join(f"{row} {net}" for row, net in zip(panel.rows, panel.nets, strict=True))
    label = escape(f"{panel.title}, {panel.sides[1]} minus {panel.sides[0]}: {said}; total {panel.total_said}")
    style = f' class="{TEXTS[panel.lane]}"' if panel.lane < 2 else ""
    picture = drawing(rectangles(drawn) + lines + texts(written), end + 30, label=label)
    return f"<div><h3{style}>{escape(panel.title)}</h3>{picture}</div>"


def bar_key(parts: Sequence[str], lanes: Sequence[int]) -> str:
    """Return what the shades of bars are."""
    items, hues = [], [hue(lane) for lane in dict.fromkeys(lanes)]
    for band, name in enumerate(parts):
        boxes = "".join(
            f'<rect class="bar {colour}" x="{11 * place}" width="11" height="11" {_strength(band)}/>'
            for place, colour in enumerate(hues)
        )
        picture = f'<svg width="{11 * len(hues)}" height="11" aria-hidden="true">{boxes}</svg>'
        items.append(f'<span class="key m">{picture}{escape(name)}</span>')
    return f'<p class="keys">{"".join(items)}</p>'
