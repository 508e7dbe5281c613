"""A chart that is a table: one row each with a strip on a common axis, one lane in it for each metric.

Distances from a line of reference, each with an interval. Positions are in percent of the strip's width, so that text
and strokes keep their size; colours are classes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


MINUS = "\u2212"
COLOURS = ("lin", "exp")
TEXTS = ("l", "e")


class Label(NamedTuple):
    """What a lane is called: its name, a word for the head of a column, and in sentences ("by `by`")."""

    name: str
    head: str
    long: str
    by: str


class Mark(NamedTuple):
    """A point of a lane with its interval, whether it is filled, in words what it says, and the mean behind it.

    Where that is a mean over runs, `runs` has where each of them stands.
    """

    value: float
    low: float
    high: float
    filled: bool
    said: str
    mean: float
    runs: tuple[float, ...] = ()


def marks_of(metric: str, rows: Iterable[tuple[float, float, float, bool, float]]) -> list[Mark]:
    """Return distances from the best of a metric, with what they say in words.

    A row is the distance, its interval, whether the model may be best or is ruled out, and its mean.
    """
    marks = []
    for value, low, high, may, mean in rows:
        between = f", in truth between {bare(low)} and {bare(high)}" if math.isfinite(high) else ""
        said = f"{metric}: {bare(value)} behind the best{between}; {'may be best' if may else 'ruled out as best'}"
        marks.append(Mark(value, low, high, may, said, mean))
    return marks


class Row(NamedTuple):
    """A row: what it is called, what it is, its marks, whether it is shaded, and what is to be said of it."""

    key: str
    cells: tuple[str, ...]
    full: str
    tags: tuple[tuple[str, str], ...]
    marks: tuple[Mark, ...]
    shaded: bool
    best: tuple[bool, ...]
    remark: str = ""

    @property
    def worst(self) -> float:
        """The larger one of its distances."""
        return max(mark.value for mark in self.marks)


@dataclass(frozen=True)
class Chart:
    """A question, its answer, what to do, and the rows that show it, all of them in order.

    `labels` are the lanes; `heads` the columns of names, short and in full, and `alike` what all names have in common;
    `level` the confidence of the intervals, such as "95 %"; `shading` what a shaded row says, or why there is none. A
    dashed line stands at `price`, NaN for none; `ruler`, infinite for none, is a length to compare with.
    """

    question: str
    headline: str
    advice: str
    labels: tuple[Label, ...] = ()
    heads: tuple[tuple[str, str], ...] = ()
    alike: str = ""
    rows: tuple[Row, ...] = ()
    level: str = ""
    shading: str = ""
    price: float = math.nan
    ruler: float = math.inf
    ruler_says: str = ""

    def shown(self, most: int) -> tuple[Row, ...]:
        """Return the first rows, and those further down that somebody looks for: winners and the safe choice."""
        return tuple(row for place, row in enumerate(self.rows) if place < most or row.tags)

    def axis(self, rows: Sequence[Row]) -> Axis:
        """Return the axis on which these rows have room: from 0, or from the run that is furthest ahead of the best."""
        marks = [mark for row in rows for mark in row.marks]
        ends = [end for mark in marks for end in (mark.value, mark.high, *mark.runs) if math.isfinite(end)]
        return Axis.of(min([0.0, *ends]), 1.02 * max(ends, default=0.0) or 0.01)


@dataclass(frozen=True)
class Axis:
    """Where numbers stand on a strip, in percent of its width."""

    low: float
    high: float
    ticks: tuple[float, ...]
    places: int
    start: float = 2.2
    width: float = 95.6

    @classmethod
    def of(cls, low: float, high: float, most: int = 6) -> Axis:
        """Return an axis with at most so many round steps.

        >>> Axis.of(0, 0.052).ticks
        (0.0, 0.01, 0.02, 0.03, 0.04, 0.05)
        """
        rough = (high - low) / most
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        places = max(0, -math.floor(math.log10(step) + 1e-9))
        return cls(low, high, tuple(round(k * step, places) for k in range(first, last + 1)), places)

    def at(self, value: float) -> float:
        """Return where a number stands; what is beyond an end stands there."""
        inside = min(max(value, self.low), self.high)
        return self.start + self.width * (inside - self.low) / (self.high - self.low)

    def written(self, tick: float, signed: bool = False) -> str:
        """Return a tick as text."""
        return f"{tick:{'+' if signed and tick else ''}.{self.places}f}".replace("-", MINUS)

    def grid(self, height: float, origin: float = 0.0) -> str:
        """Return the lines of a strip: faint ones at ticks, a strong one at the origin."""
        return "".join(
            upright("z" if tick == origin else "g", self.at(tick), 0, height)
            for tick in dict.fromkeys((origin, *self.ticks))
        )


def bare(value: float, places: int = 4) -> str:
    """Write a number to so many places; what would show as zero and is not, by its first digit.

    >>> bare(0.01372), bare(0.0), bare(0.00003), bare(-0.5, 3), bare(float("inf"))
    ('0.0137', '0.0000', '0.00003', '−0.500', 'unbounded')
    """
    if not math.isfinite(value):
        return "unbounded"
    while value and abs(value) < 0.5 * 10.0**-places and places < 12:
        places += 1
    return f"{value:.{places}f}".replace("-", MINUS)


def drawing(inner: str, height: float, style: str = "", label: str = "") -> str:
    """Return a picture of the strip's width; without a label it is hidden from those who do not see it."""
    kind = f' class="{style}"' if style else ""
    how = f'role="img" aria-label="{label}"' if label else 'aria-hidden="true"'
    return f'<svg{kind} width="100%" height="{height:g}" {how}>{inner}</svg>'


def hue(lane: int) -> str:
    """Return the class of a lane's colour; beyond the second all are grey."""
    return COLOURS[lane] if lane < len(COLOURS) else "wit"


def dot(lane: int, x: float, y: float, *, filled: bool, title: str = "", size: float = 5.2) -> str:
    """Return a mark: a circle in the first lane, a diamond in the second, hollow where it is not filled."""
    style = f"mk {hue(lane)}{'' if filled else ' open'}"
    inner = f"<title>{escape(title)}</title>" if title else ""
    if lane != 1:
        return f'<circle class="{style}" cx="{x:.2f}%" cy="{y:g}" r="{size:g}">{inner}</circle>'
    d = size * 1.23
    path = f'<path class="{style}" d="M0-{d:.1f} {d:.1f} 0 0 {d:.1f}-{d:.1f} 0z">{inner}</path>'
    return f'<svg x="{x:.2f}%" y="{y:g}" overflow="visible">{path}</svg>'


class Text(NamedTuple):
    """Text of a picture, and where it stands: moved by `dx` pixels from there."""

    x: float
    y: float
    text: str
    dx: float = 0
    anchor: str = "start"
    style: str = ""


def texts(shown: Iterable[Text]) -> str:
    """Return texts of a picture."""
    found = ""
    for x, y, text, dx, anchor, style in shown:
        where = f' dx="{dx:g}"' if dx else ""
        how = f' text-anchor="{anchor}"' if anchor != "start" else ""
        kind = f' class="{style}"' if style else ""
        found += f'<text x="{x:.2f}%" y="{y:g}"{where}{how}{kind}>{escape(text)}</text>'
    return found


def text_at(x: float, y: float, text: str, *, dx: float = 0, anchor: str = "start", style: str = "") -> str:
    """Return one text of a picture."""
    return texts([Text(x, y, text, dx, anchor, style)])


def upright(kind: str, x: float, top: float, bottom: float) -> str:
    """Return a vertical line."""
    return f'<line class="{kind}" x1="{x:.2f}%" x2="{x:.2f}%" y1="{top:g}" y2="{bottom:g}"/>'


def level(kind: str, start: float, end: float, y: float) -> str:
    """Return a horizontal line."""
    return f'<line class="{kind}" x1="{start:.2f}%" x2="{end:.2f}%" y1="{y:g}" y2="{y:g}"/>'


def price_line(chart: Chart, axis: Axis, height: float) -> str:
    """Return where the price of disagreement is; nothing where there is none."""
    return "" if math.isnan(chart.price) else upright("pr", axis.at(chart.price), 0, height)


class Bar(NamedTuple):
    """A bar between two places, how it looks, and what it says."""

    kind: str
    start: float
    end: float
    y: float
    height: float
    look: str = ""
    title: str = ""


def rectangles(bars: Iterable[Bar]) -> str:
    """Return bars."""
    found = ""
    for kind, start, end, y, height, look, title in bars:
        left, right = sorted((start, end))
        where = f'x="{left:.2f}%" width="{right - left:.2f}%" y="{y:g}" height="{height:g}"'
        inner = f"><title>{escape(title)}</title></rect>" if title else "/>"
        found += f'<rect class="bar {kind}" {where}{look}{inner}'
    return found


def interval(lane: int, low: float, high: float, y: float) -> str:
    """Return the line of an interval between two places."""
    return level(f"i {hue(lane)}", low, high, y)


def _point(lane: int, axis: Axis, ends: tuple[float, float, float], y: float, said: str, filled: bool = True) -> str:
    """Return a mark in the middle of its interval, which has no line where it is infinite."""
    low, middle, high = ends
    known = math.isfinite(low) and math.isfinite(high)
    line = interval(lane, axis.at(low), axis.at(high), y) if known else ""
    return line + dot(lane, axis.at(middle), y, filled=filled, title=said)


def strip(row: Row, axis: Axis, height: float, grid: str, *, tall: bool = False) -> str:
    """Return the strip of a row; a tall one has a connector between the marks, and their numbers."""
    lanes = len(row.marks)
    ys = [round(height * share, 1) for share in ((0.31, 0.69) if lanes > 1 else (0.5,))]
    places = [axis.at(mark.value) for mark in row.marks]
    parts = [grid]
    for lane, (mark, y) in enumerate(zip(row.marks, ys, strict=True)):
        if math.isfinite(mark.high) and mark.high > mark.low:
            parts.append(interval(lane, axis.at(mark.low), axis.at(mark.high), y))
        parts += [upright(f"run {COLOURS[lane]}", axis.at(run), y - 5, y + 5) for run in mark.runs]
    if tall and lanes > 1:
        x1, x2 = places
        parts.append(f'<line class="cn" x1="{x1:.2f}%" y1="{ys[0]:g}" x2="{x2:.2f}%" y2="{ys[1]:g}"/>')
    for lane, (mark, place, y) in enumerate(zip(row.marks, places, ys, strict=True)):
        if tall and mark.value > 0:
            end = max(place, axis.at(mark.high)) if math.isfinite(mark.high) else place
            number, colour = bare(mark.value), f"{TEXTS[lane]} num"
            if end < 86:
                parts.append(text_at(end, y + 4, number, dx=11, style=colour))
            else:
                above = y + (18 if lane else -9)
                parts.append(text_at(min(place, 94), above, number, anchor="middle", style=colour))
        parts.append(dot(lane, place, y, filled=mark.filled, title=f"{row.full}\n{mark.said}"))
    return drawing("".join(parts), height, "reg")


def difference_strip(
    lanes: Sequence[tuple[float, float, float]], axis: Axis, height: float, floor: float, said: Sequence[str]
) -> str:
    """Return a strip of differences around a line at 0, each lane low, middle and high; a dashed line at `floor`."""
    parts = [axis.grid(height)]
    if floor:
        parts.append(upright("pr", axis.at(floor), 0, height))
    for lane, (ends, text) in enumerate(zip(lanes, said, strict=True)):
        parts.append(_point(lane, axis, ends, round(height * (lane + 1) / (len(lanes) + 1), 1), text))
    return f'{drawing("".join(parts), height)}<span class="sr">{escape(". ".join(said))}</span>'


def ticks_below(axis: Axis, *, turn: float = 1.0, pair: bool = False) -> str:
    """Return the numbers below strips; where they hold differences of a pair, with signs, and 0 is "equal"."""
    parts = []
    for tick in axis.ticks:
        equal = pair and tick == 0
        text = "equal" if equal else axis.written(turn * tick + 0.0, signed=pair)
        parts.append(text_at(axis.at(tick), 18, text, anchor="middle", style="s b" if equal else ""))
    return "".join(parts)


class Panel(NamedTuple):
    """A lane of its own: its axis, where the best is, and for each row low, middle, high, filled, and what it says."""

    axis: Axis
    best: float
    points: list[tuple[float, float, float, bool, str]]


def panel_strips(panels: Sequence[Panel], height: float) -> list[str]:
    """Return for each row one strip with all panels side by side."""
    pictures = []
    for points in zip(*(panel.points for panel in panels), strict=True):
        parts = []
        for lane, (panel, (low, middle, high, filled, said)) in enumerate(zip(panels, points, strict=True)):
            parts.append(upright("z to", panel.axis.at(panel.best), 0, height))
            parts.append(_point(lane, panel.axis, (low, middle, high), height / 2, said, filled))
        pictures.append(drawing("".join(parts), height, "mea"))
    return pictures


def pair_bars(rows: Sequence[tuple[Sequence[float], Sequence[float]]]) -> list[str]:
    """Return small bars to both sides of a line, one for each lane, and their numbers in words.

    Of each row what is written, and how far and to which side it is drawn; all rows are on one scale.
    """
    widest = max((abs(lead) for _, leads in rows for lead in leads), default=0.0) or 1.0
    pictures = []
    for differences, leads in rows:
        drawn, written = [], []
        for lane, (difference, lead) in enumerate(zip(differences, leads, strict=True)):
            end, y = 50 + 28 * lead / widest, 3 + 16 * lane
            drawn.append(Bar(COLOURS[lane], 50, end, y, 12))
            dx, anchor = (5, "start") if lead >= 0 else (-5, "end")
            written.append(Text(end, y + 10, bare(abs(difference), 3), dx, anchor))
        said = ", ".join(map(bare, differences))
        inner = f'<line class="z" x1="50%" x2="50%" y1="0" y2="34"/>{rectangles(drawn)}{texts(written)}'
        pictures.append(f'{drawing(inner, 34)}<span class="sr">{said}</span>')
    return pictures


def rug(rows: Iterable[Row], axis: Axis, height: float, grid: str) -> tuple[str, int]:
    """Return a strip of one tick a row and lane, and how many rows have one beyond the axis."""
    parts, beyond = [grid], 0
    for row in rows:
        beyond += row.worst > axis.high
        for lane, mark in enumerate(row.marks):
            if mark.value <= axis.high:
                y = 3 + lane * (height - 4) / 2
                parts.append(upright(f"rug {COLOURS[lane]}", axis.at(mark.value), y, y + height / 2 - 5))
    return drawing("".join(parts), height, "reg"), beyond


def axis_foot(chart: Chart, axis: Axis) -> str:
    """Return the axis below the strips: its numbers, the price or the ruler."""
    parts = [text_at(axis.at(0), 18, "best", anchor="middle", style="s b")]
    for tick in axis.ticks:
        parts.append(upright("g", axis.at(tick), 0, 5))
        if tick > 0:
            parts.append(text_at(axis.at(tick), 18, axis.written(tick), anchor="middle"))
    height = 24
    if math.isfinite(chart.price):
        height, x = 40, axis.at(chart.price)
        anchor, dx = ("start", -12) if x < 22 else ("end", 12) if x > 78 else ("middle", 0)
        parts.append(upright("pr", x, 0, 23))
        parts.append(text_at(x, 36, f"price of disagreement {bare(chart.price)}", dx=dx, anchor=anchor, style="s"))
    elif math.isfinite(chart.ruler):
        height, right = 44, axis.start + axis.width
        left = right - axis.width * chart.ruler / (axis.high - axis.low)
        whole = left >= axis.start
        parts.append(level("rl", max(left, axis.start), right, 27))
        parts += [upright("rl", end, 23, 31) for end in (left, right)[not whole :]]
        more = "" if whole else "\u25c2 "
        parts.append(text_at(right, 42, f"{more}{chart.ruler_says}: {bare(chart.ruler)}", anchor="end", style="s"))
    return drawing("".join(parts), height, "reg ax")
