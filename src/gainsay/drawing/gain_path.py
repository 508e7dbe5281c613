"""The path of gains as one SVG figure: how far each model is behind the best, along the base of the gain."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from html import escape
from itertools import pairwise
from typing import Any

__all__ = ["coloured", "gain_path_svg", "labelled_bases", "scale_of"]

WIDTH, LEFT, RIGHT, TOP, DEPTH, BAR = 900, 94.0, 770.0, 22.0, 228.0, 17.0
LINE = 14.0
"""Between two names at the ends of lines."""
LETTER = 8.0
"""Room for one letter of a name."""
MOST_BARS = 12
"""Ranges in which models may be best; more are counted."""

INK = "var(--ink,var(--jp-content-font-color1,currentColor))"
MUTED = "var(--muted,var(--jp-content-font-color2,#5d6672))"
GRID = "var(--grid,var(--jp-border-color2,#dfe3e8))"
MARKS = {"first": "var(--first,#1b6ab3)", "second": "var(--second,#e06c00)", "": INK}
"""The winner by linear gain, the winner by exponential gain, and all other models."""

WORDS = {"first": "var(--first-text,#15599a)", "second": "var(--second-text,#a84c00)", "": INK}
ON_MARKS = {"first": "var(--face,#ffffff)", "second": "#1a1206", "": "var(--face,var(--jp-layout-color0,#ffffff))"}
"""Text about a model, and on its mark."""

MARKED = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 64.0)


def gain_path_svg(path: Mapping[str, Any]) -> str:
    """Return the figure; empty for a single base.

    Parameters
    ----------
    path : mapping
        `bases`, ascending; `regrets`, by model one for each base; `leads` and `ranges`, (model, from, to) of who leads
        and who may be best; `grades`; `fit`, None or (lower, base, upper) of the base that preferences say; `headline`
        and `confidence`.
    """
    bases: Sequence[float] = path["bases"]
    if len(bases) < 2:
        return ""
    colour = coloured(path)
    notable = list(dict.fromkeys([name for name, _, _ in [*path["leads"], *path["ranges"]]]))
    most, step = scale_of(path)
    bars = _bars(path, bases, colour)
    floor = TOP + 22 + DEPTH
    rows = min(MOST_BARS, len({name for name, _, _ in path["ranges"]}))
    axis = floor + 20 + rows * BAR + 8
    parts = [*_frame(path, bases, most, step, floor, axis), *_leads(path, bases, colour)]
    for name in sorted(path["regrets"], key=lambda name: (name in notable, colour.get(name, ""))):
        parts += _line(path, bases, name, most, colour.get(name, ""), notable=name in notable)
    parts += [*_ends(path, notable, most, colour), *bars, *_axis(path, bases, axis)]
    width = max(WIDTH, RIGHT + 14 + LETTER * max(len(name) + len(" and 99 more") for name in notable))
    label = escape(f"{path['headline']}. Distance behind the best by gain base b.", quote=True)
    return (
        f'<svg class="gain-path" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {axis + 52:.0f}" '
        f'width="100%" role="img" aria-label="{label}" font-family="system-ui,sans-serif" font-size="12.5">'
        f"{''.join(parts)}</svg>"
    )


def coloured(path: Mapping[str, Any]) -> dict[str, str]:
    """Return ``"first"`` for the leader at base 1, ``"second"`` for the one at base 2; neither where both are one."""
    leaders = {}
    for base, colour in ((1.0, "first"), (2.0, "second")):
        found = [name for name, start, stop in path["leads"] if start <= base <= stop]
        if found and path["bases"][0] <= base <= path["bases"][-1]:
            leaders[colour] = found[0]
    if len(set(leaders.values())) < len(leaders):
        return {}
    return {name: colour for colour, name in leaders.items()}


def scale_of(path: Mapping[str, Any]) -> tuple[float, float]:
    """Return up to which distance the figure goes, and the step of its grid: as far as models that lead or may do."""
    shown = {name for name, _, _ in [*path["leads"], *path["ranges"]]}
    largest = max((max(path["regrets"][name]) for name in shown), default=0.0)
    runner_up = sorted(max(values) for values in path["regrets"].values())[:2]
    most = 1.05 * max(largest, *runner_up, 1e-9)
    power = 10.0 ** math.floor(math.log10(most / 3))
    step = next(unit * power for unit in (1, 2, 5, 10) if most / (unit * power) <= 6)
    return most, step


def labelled_bases(bases: Sequence[float]) -> list[float]:
    """Return the bases to name below the axis.

    >>> labelled_bases([1.0, 2.0, 4.0])
    [1.0, 1.5, 2.0, 3.0, 4.0]
    """
    inside = [base for base in MARKED if bases[0] <= base <= bases[-1]]
    found: list[float] = []
    for base in sorted({bases[0], *inside, bases[-1]}, key=lambda base: (base not in (1.0, 2.0), base not in bases)):
        room = 0.14 * math.log(bases[-1] / bases[0])
        if all(abs(math.log(base / other)) >= room for other in found):
            found.append(base)
    return sorted(found)


def _x(bases: Sequence[float], base: float) -> float:
    inside = min(max(base, bases[0]), bases[-1])
    return LEFT + (RIGHT - LEFT) * math.log(inside / bases[0]) / math.log(bases[-1] / bases[0])


def _frame(
    path: Mapping[str, Any], bases: Sequence[float], most: float, step: float, floor: float, axis: float
) -> list[str]:
    parts, top = [], TOP + 22
    digits = max(0, -math.floor(math.log10(step)))
    if path["fit"] is not None:
        low, best, high = path["fit"]
        start, stop = _x(bases, low), _x(bases, high)
        parts.append(
            f'<rect x="{start:.1f}" y="{TOP - 4:.0f}" width="{max(1.0, stop - start):.1f}" '
            f'height="{axis - TOP + 4:.0f}" fill="{INK}" fill-opacity="0.09"/>'
        )
        if bases[0] <= best <= bases[-1]:
            parts.append(_rule(_x(bases, best), TOP - 4, axis, INK, 'stroke-dasharray="6 3"'))
        said = f"your users: {best:.2f}"
        parts.append(_text((start + stop) / 2, TOP - 10, said, "middle", INK, 'font-weight="600"'))
    for number in range(1, int(most / step) + 1):
        y = top + DEPTH * number * step / most
        parts.append(f'<line x1="{LEFT}" x2="{RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="{GRID}"/>')
        parts.append(_text(LEFT - 8, y + 4, f"{number * step:.{digits}f}", "end"))
    parts.append(f'<line x1="{LEFT}" x2="{RIGHT}" y1="{top}" y2="{top}" stroke="{INK}" stroke-width="1.5"/>')
    parts.append(_text(LEFT - 8, top + 4, "best", "end", INK, 'font-weight="600"'))
    for base, colour in ((1.0, MARKS["first"]), (2.0, MARKS["second"])):
        if bases[0] <= base <= bases[-1]:
            parts.append(_rule(_x(bases, base), top, axis, colour, 'stroke-width="1.5"'))
    return parts


def _leads(path: Mapping[str, Any], bases: Sequence[float], colour: Mapping[str, str]) -> list[str]:
    """Draw the band of leaders."""
    parts = []
    for at, (name, start, stop) in enumerate(path["leads"]):
        left, right = _x(bases, start), _x(bases, stop)
        fill = MARKS[colour.get(name, "")]
        parts.append(
            f'<rect x="{left:.1f}" y="{TOP}" width="{max(0.5, right - left - 2):.1f}" height="18" rx="3" fill="{fill}">'
            f"<title>{escape(name)}: b = {start:.2f} to {stop:.2f}</title></rect>"
        )
        if right - left > 7.5 * len(name) + 8:
            parts.append(
                _text(
                    (left + right) / 2 - 1,
                    TOP + 13,
                    name,
                    "middle",
                    ON_MARKS[colour.get(name, "")],
                    'font-weight="650"',
                )
            )
        if at:
            parts.append(_rule(left, TOP, TOP + 22 + DEPTH, MUTED, 'stroke-dasharray="2 3"'))
    return parts


def _line(
    path: Mapping[str, Any], bases: Sequence[float], name: str, most: float, colour: str, *, notable: bool
) -> list[str]:
    """Draw one model: thin, and thick where it may be best; cut where it leaves the figure."""
    top, values = TOP + 22, path["regrets"][name]
    points = [(_x(bases, base), value) for base, value in zip(bases, values, strict=True)]
    stroke = MARKS[colour] if notable else MUTED
    width, faint = ("1.6", "") if notable else ("0.8", ' stroke-opacity="0.5"')
    parts = []
    for stretch in _inside(points, most):
        parts.append(_polyline([(x, top + DEPTH * y / most) for x, y in stretch], stroke, width, faint))
    for owner, start, stop in path["ranges"]:
        if owner == name:
            within = [point for point, base in zip(points, bases, strict=True) if start <= base <= stop]
            thick = [(x, top + DEPTH * y / most) for x, y in within]
            thick = [(thick[0][0] - 1, thick[0][1]), *thick] if len(thick) == 1 else thick
            parts.append(_polyline(thick, stroke, "5", ' stroke-linecap="round"'))
    return parts


def _ends(path: Mapping[str, Any], notable: Sequence[str], most: float, colour: Mapping[str, str]) -> list[str]:
    """Name the lines where they end, one below the other; those for which there is no room stand with the bars only."""
    top, last = TOP + 22, {name: path["regrets"][name][-1] for name in notable}
    named = sorted((name for name in notable if last[name] <= most), key=lambda name: last[name])
    places: list[float] = []
    for name in named[: int(DEPTH // LINE)]:
        places.append(max(top + DEPTH * last[name] / most, places[-1] + LINE if places else top))
    for at in reversed(range(len(places))):  # the lowest back into the figure, and what stands above it
        places[at] = min(places[at], top + DEPTH - LINE * (len(places) - 1 - at))
    return [
        _text(RIGHT + 8, place + 4, name, "start", WORDS[colour.get(name, "")], 'font-weight="600"')
        for name, place in zip(named, places, strict=False)
    ]


def _inside(points: Sequence[tuple[float, float]], most: float) -> list[list[tuple[float, float]]]:
    """Return the stretches of a line below a limit, cut where it crosses it."""
    stretches: list[list[tuple[float, float]]] = [[]]
    for (x, y), (after_x, after_y) in pairwise([*points, points[-1]]):
        if y <= most:
            stretches[-1].append((x, y))
        if (y <= most) != (after_y <= most):
            cut = (x + (after_x - x) * (most - y) / (after_y - y), most)
            stretches[-1].append(cut)
            if y <= most:
                stretches.append([])
    return [stretch for stretch in stretches if len(stretch) > 1]


def _bars(path: Mapping[str, Any], bases: Sequence[float], colour: Mapping[str, str]) -> list[str]:
    """Draw from where to where each model may be best."""
    start_y = TOP + 22 + DEPTH + 20
    names = list(dict.fromkeys(name for name, _, _ in sorted(path["ranges"], key=lambda one: one[1:])))
    parts = [_text(LEFT - 8, start_y + 10, "may be best", "end")]
    for row, name in enumerate(names[:MOST_BARS]):
        fill = MARKS[colour.get(name, "")]
        y = start_y + row * BAR
        for owner, start, stop in path["ranges"]:
            if owner == name:
                left, right = _x(bases, start), _x(bases, stop)
                parts.append(
                    f'<rect x="{left - 1:.1f}" y="{y:.0f}" width="{right - left + 2:.1f}" height="11" rx="2" '
                    f'fill="{fill}"><title>{escape(name)} may be best ({escape(path["confidence"])}): '
                    f"b = {start:.2f} to {stop:.2f}</title></rect>"
                )
        rest = len(names) - MOST_BARS
        more = f" and {rest} more" if rest > 0 and row == MOST_BARS - 1 else ""
        parts.append(_text(RIGHT + 8, y + 10, name + more, "start", WORDS[colour.get(name, "")]))
    return parts


def _axis(path: Mapping[str, Any], bases: Sequence[float], axis: float) -> list[str]:
    named = {1.0: ("b = 1: linear", "first"), 2.0: ("b = 2: exponential", "second")}
    parts = []
    for base in labelled_bases(bases):
        text, colour = named.get(base, (f"{base:g}", ""))
        anchor = "start" if base == bases[0] else "middle"
        fill, weight = (WORDS[colour], 'font-weight="600"') if colour else (MUTED, "")
        parts.append(_text(_x(bases, base), axis + 14, text, anchor, fill, weight))
        worth = " ".join(_gain(base, grade) for grade in path["grades"][:5])
        parts.append(_text(_x(bases, base), axis + 30, worth, anchor, MUTED, 'font-size="11.5"'))
    caption = "gain base b, (b^l - 1)/(b - 1) for grade l, on a logarithmic scale; below it what the grades are worth"
    parts.append(_text(20, axis + 47, caption, "start", MUTED, 'font-size="12"'))
    return parts


def _gain(base: float, grade: float) -> str:
    """Return what a grade is worth to three digits, however large it is."""
    try:
        return f"{grade if base == 1 else (base**grade - 1) / (base - 1):.3g}"
    except OverflowError:
        return f"{Decimal(base) ** Decimal(grade) / (Decimal(base) - 1):.2e}"


def _text(x: float, y: float, text: str, anchor: str, fill: str = MUTED, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}" {more}>{escape(text)}</text>'


def _rule(x: float, top: float, bottom: float, stroke: str, more: str = "") -> str:
    return f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top:.0f}" y2="{bottom:.0f}" stroke="{stroke}" {more}/>'


def _polyline(points: Sequence[tuple[float, float]], stroke: str, width: str, more: str) -> str:
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{joined}" fill="none" stroke="{stroke}" stroke-width="{width}"{more}/>'
