"""Lines over rounds with their best marked, and best rounds as dots."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, NamedTuple

from .lanes import COLOURS, TEXTS, Axis, bare, dot, drawing, level, text_at
from .rounds import thinned

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Curve", "curve_figure", "dots_figure"]

WIDTH = 1000
MOST_POINTS = 800


class Curve(NamedTuple):
    """A line: rounds, values of at most 0, and the round of its best."""

    rounds: list[int]
    values: list[float]
    best: int

    def at(self, number: int) -> float:
        """Return the value of a round; 0 where there is none."""
        return self.values[self.rounds.index(number)] if number in self.rounds else 0.0


def curve_figure(title: str, lanes: Sequence[Sequence[Curve]], names: Sequence[str]) -> str:
    """Return curves of two lanes on one scale, cut off where the early rounds are far below; best rounds are marked."""
    last = max(curve.rounds[-1] for lane in lanes for curve in lane)
    first = min(curve.rounds[0] for lane in lanes for curve in lane)
    values = sorted(value for lane in lanes for curve in lane for value in curve.values)
    there = [own.at(other.best) for pair in zip(*lanes, strict=True) for own, other in (pair, pair[::-1])]
    low = min(values[len(values) // 20], 1.3 * min(there, default=0.0)) * 1.05 or -1e-9
    height, top, axis = 268, 26, Axis.of(low, 0.0, 4)
    rounds = Axis.of(first, max(last, first + 1), 5)

    def x(number: float) -> float:
        return 8 + 90 * (number - first) / max(last - first, 1)

    def y(value: float) -> float:
        return round(top + (height - top - 28) * max(value, low) / low, 1)

    parts = []
    for tick in axis.ticks:
        parts.append(f'<line class="g" x1="8%" x2="98%" y1="{y(tick):g}" y2="{y(tick):g}"/>')
        parts.append(text_at(0, y(tick) + 4, "best" if tick == 0 else axis.written(tick)))
    for tick in dict.fromkeys((first, *(int(tick) for tick in rounds.ticks if first < tick <= last))):
        parts.append(text_at(x(tick), height - 8, str(tick), anchor="middle"))
    lines, marks = [], []
    for lane, curves in enumerate(lanes):
        for curve, other in zip(curves, lanes[1 - lane], strict=True):
            points = " ".join(
                f"{WIDTH * (number - first) / max(last - first, 1):.1f},{y(value):g}"
                for number, value in thinned(list(zip(curve.rounds, curve.values, strict=True)), MOST_POINTS)
            )
            thin = " thin" if len(curves) > 1 else ""
            lines.append(f'<polyline class="curve {COLOURS[lane]}{thin}" points="{points}"/>')
            place, drop = x(curve.best), other.at(curve.best)
            if curve.best != other.best:
                marks.append(
                    f'<line class="drop {COLOURS[1 - lane]}" x1="{place:.2f}%" x2="{place:.2f}%" y1="{y(0):g}" '
                    f'y2="{y(drop):g}"><title>{escape(names[1 - lane])} at round {curve.best}: {bare(drop)}</title>'
                    "</line>"
                )
            marks.append(dot(lane, place, y(0), filled=True, title=f"{names[lane]}: round {curve.best}"))
    if max(map(len, lanes)) == 1:
        marks += _named([lane[0].best for lane in lanes], names, x)
    said = "; ".join(
        f"{name}: best round {', '.join(str(curve.best) for curve in lane)}"
        for name, lane in zip(names, lanes, strict=True)
    )
    box = f'x="8%" width="90%" height="{height}" viewBox="0 0 {WIDTH} {height}" preserveAspectRatio="none"'
    parts += [f"<svg {box}>{''.join(lines)}</svg>", *marks]
    label = escape(f"{title}. {said}")
    return f"<figure><h3>{escape(title)}</h3>{drawing(''.join(parts), height, 'ax', label)}</figure>"


def _named(best: Sequence[int], names: Sequence[str], x: Callable[[float], float]) -> list[str]:
    """Return what stands above the marks of two best rounds: above each, or side by side where they are near."""
    one, other = places = [x(number) for number in best]
    told = [f"{name}: round {number}" for name, number in zip(names, best, strict=True)]
    if abs(one - other) >= 46:
        return [
            text_at(place, 12, text, anchor=_anchor(place), style=f"{style} b")
            for place, text, style in zip(places, told, TEXTS, strict=True)
        ]
    if one == other:
        at, anchor, spans = one, _anchor(one), [("s", f"both: round {best[0]}")]
    else:
        middle = (one + other) / 2
        at, anchor = (8, "start") if middle < 36 else (100, "end") if middle > 68 else (middle, "middle")
        spans = [(style, text) for _, style, text in sorted(zip(places, TEXTS, told, strict=True))]
    parts = (f'<tspan class="{style} b">{escape(text)}</tspan>' for style, text in spans)
    return [f'<text x="{at:.2f}%" y="12" text-anchor="{anchor}">{"&#8195;".join(parts)}</text>']


def _anchor(place: float) -> str:
    return "start" if place < 20 else "end" if place > 84 else "middle"


def dots_figure(title: str, note: str, rows: Sequence[tuple[str, str, list[list[int]]]], last: int) -> str:
    """Return for each row its name and two marks for each pair of rounds, a grey one where both are the same."""
    step, parts = 19 if len(rows) > 8 else 24, []
    for place, (name, full, pairs) in enumerate(rows):
        y = 12 + step * place
        parts.append(f"<g><title>{escape(full)}</title>{text_at(0, y + 4, name)}</g>")
        parts.append(f'<line class="g" x1="38%" x2="98%" y1="{y}" y2="{y}"/>')
        for one, other in pairs:
            x, end = (38 + 60 * number / last for number in (one, other))
            if one == other:
                parts.append(dot(2, x, y, filled=True, title=f"{full}: round {one} under both", size=4.6))
                continue
            parts.append(level("cn", x, end, y))
            parts += [
                dot(lane, at, y, filled=True, title=f"{full}: round {number}", size=4.6)
                for lane, at, number in ((0, x, one), (1, end, other))
            ]
    picture = drawing("".join(parts), 12 + step * len(rows), "ax", escape(f"{title}, {note}"))
    return f'<figure><h3>{escape(title)} <span class="m">({escape(note)})</span></h3>{picture}</figure>'
