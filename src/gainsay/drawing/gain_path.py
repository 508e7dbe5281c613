"""The path of gains as one SVG figure: how far each model is behind the best, along the base of the gain."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from html import escape
from itertools import accumulate, pairwise
from typing import TypeAlias, TypedDict

__all__ = [
    "PathData",
    "by_lead",
    "coloured",
    "gain_path_svg",
    "gain_text",
    "labelled_bases",
    "notable",
    "ranged",
    "scale_of",
    "stroke_of",
    "with_room",
]

WIDTH, LEFT, RIGHT, TOP, DEPTH, BAR = 900, 94.0, 770.0, 22.0, 228.0, 17.0
BEST = TOP + 22
"""Where the line of the best stands; distances go `DEPTH` down from there."""
LINE = 14.0
"""Between two names at the ends of lines."""
LETTER = 8.0
"""Room for one letter of a name."""
MOST_BARS = 12
"""Ranges in which models may be best; more are counted."""

CROWD = 6
"""As many models that may be best have room for thick lines."""

INK = "var(--ink,var(--jp-content-font-color1,currentColor))"
MUTED = "var(--muted,var(--jp-content-font-color2,#5d6672))"
GRID = "var(--grid,var(--jp-border-color2,#dfe3e8))"
MARKS = {"first": "var(--first,#1b6ab3)", "second": "var(--second,#e06c00)", "": INK}
"""The winner by linear gain, the winner by exponential gain, and all other models."""

WORDS = {"first": "var(--first-text,#15599a)", "second": "var(--second-text,#a84c00)", "": INK}
ON_MARKS = {"first": "var(--face,#ffffff)", "second": "#1a1206", "": "var(--face,var(--jp-layout-color0,#ffffff))"}
"""Text about a model, and on its mark."""

MARKED = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 64.0)

Stretch: TypeAlias = tuple[str, float, float]
"""A model, and from which base to which."""


class PathData(TypedDict):
    """What a figure shows: at ascending bases the regrets of every model, who leads, and who may be best.

    `grades` are those that gains are named of; `fit` is the base that preferences say, between its bounds.
    """

    bases: list[float]
    regrets: dict[str, list[float]]
    leads: list[Stretch]
    ranges: list[Stretch]
    grades: list[float]
    fit: tuple[float, float, float] | None
    headline: str
    confidence: str


def gain_path_svg(path: PathData) -> str:
    """Return the figure; empty for a single base."""
    return _Figure(path).svg() if len(path["bases"]) > 1 else ""


def coloured(path: PathData) -> dict[str, str]:
    """Return ``"first"`` for the leader at base 1, ``"second"`` for the one at base 2; neither where both are one."""
    leaders = {}
    for base, colour in ((1.0, "first"), (2.0, "second")):
        found = [name for name, start, stop in path["leads"] if start <= base <= stop]
        if found and path["bases"][0] <= base <= path["bases"][-1]:
            leaders[colour] = found[0]
    if len(set(leaders.values())) < len(leaders):
        return {}
    return {name: colour for colour, name in leaders.items()}


def notable(path: PathData) -> list[str]:
    """Return the models that lead somewhere, then those that may be best somewhere."""
    return list(dict.fromkeys(name for name, _, _ in [*path["leads"], *path["ranges"]]))


def ranged(path: PathData) -> list[str]:
    """Return the models that may be best somewhere, by base."""
    return list(dict.fromkeys(name for name, _, _ in sorted(path["ranges"], key=lambda one: one[1:])))


def by_lead(path: PathData, ends: Mapping[str, float]) -> dict[str, float]:
    """Return where lines end, those of leaders first, then the best ones."""
    leaders = {name for name, _, _ in path["leads"]}
    return dict(sorted(ends.items(), key=lambda item: (item[0] not in leaders, item[1])))


def scale_of(path: PathData) -> tuple[float, float]:
    """Return up to which distance the figure goes, and the step of its grid: as far as models that lead or may do."""
    largest = max((max(path["regrets"][name]) for name in notable(path)), default=0.0)
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
    room = 0.14 * math.log(bases[-1] / bases[0])
    found: list[float] = []
    for base in sorted({bases[0], *inside, bases[-1]}, key=lambda base: (base not in (1.0, 2.0), base not in bases)):
        if all(abs(math.log(base / other)) >= room for other in found):
            found.append(base)
    return sorted(found)


def apart(places: Sequence[float], gap: float, end: float) -> list[float]:
    """Return ascending places moved on until they are `gap` apart, and those beyond the end back again.

    >>> apart([1, 2, 9, 9.5], 2, 10)
    [1, 3, 8, 10]
    """
    moved = accumulate(places, lambda before, own: max(own, before + gap))
    return [min(place, end - gap * (len(places) - 1 - at)) for at, place in enumerate(moved)]


def with_room(ends: Mapping[str, float], gap: float, end: float) -> dict[str, float]:
    """Return where names of lines stand, `gap` apart and beside their ends; of names without room the first stay.

    A name further from the end of its line than one and a half gaps would be taken for that of another line.

    >>> with_room({"a": 5, "b": 5, "c": 5, "d": 9}, 1, 10)
    {'a': 5, 'b': 6, 'd': 9}
    """
    found: dict[str, float] = {}
    for name in ends:
        ordered = sorted([*found, name], key=ends.__getitem__)
        places = dict(zip(ordered, apart([ends[it] for it in ordered], gap, end), strict=True))
        if all(abs(place - ends[it]) <= 1.5 * gap for it, place in places.items()):
            found = places
    return found


def stroke_of(path: PathData) -> float:
    """Return how thick a line is where its model may be best: thinner where there are many."""
    return 4.5 if len(ranged(path)) <= CROWD else 2.8


def gain_text(base: float, grade: float) -> str:
    """Return what a grade is worth to three digits, however large it is."""
    try:
        return f"{grade if base == 1 else (base**grade - 1) / (base - 1):.3g}"
    except OverflowError:
        return f"{Decimal(base) ** Decimal(grade) / (Decimal(base) - 1):.2e}"


class _Figure:
    def __init__(self, path: PathData) -> None:
        self.path, self.bases, self.colour = path, path["bases"], coloured(path)
        self.notable, self.ranged = notable(path), ranged(path)
        self.most, self.step = scale_of(path)
        self.floor = BEST + DEPTH + 28 + BAR * min(MOST_BARS, len(self.ranged))

    def svg(self) -> str:
        parts = [*self._frame(), *self._leads()]
        for name in sorted(self.path["regrets"], key=lambda name: (name in self.notable, self.colour.get(name, ""))):
            parts += self._line(name)
        parts += [*self._ends(), *self._bars(), *self._axis()]
        longest = max(map(len, self.notable)) + len(" and 99 more")
        label = escape(f"{self.path['headline']}. Distance behind the best by gain base b.")
        return (
            f'<svg class="gain-path" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 '
            f'{max(WIDTH, RIGHT + 14 + LETTER * longest):.0f} {self.floor + 52:.0f}" width="100%" role="img" '
            f'aria-label="{label}" font-family="system-ui,sans-serif" font-size="12.5">{"".join(parts)}</svg>'
        )

    def _x(self, base: float) -> float:
        first, last = self.bases[0], self.bases[-1]
        inside = min(max(base, first), last)
        return LEFT + (RIGHT - LEFT) * math.log(inside / first) / math.log(last / first)

    def _y(self, distance: float) -> float:
        return BEST + DEPTH * distance / self.most

    def _has(self, base: float) -> bool:
        return self.bases[0] <= base <= self.bases[-1]

    def _frame(self) -> Iterator[str]:
        digits = max(0, -math.floor(math.log10(self.step)))
        if self.path["fit"] is not None:
            low, best, high = self.path["fit"]
            start, stop = self._x(low), self._x(high)
            yield (
                f'<rect x="{start:.1f}" y="{TOP - 4:.0f}" width="{max(1.0, stop - start):.1f}" '
                f'height="{self.floor - TOP + 4:.0f}" fill="{INK}" fill-opacity="0.09"/>'
            )
            if self._has(best):
                yield _rule(self._x(best), TOP - 4, self.floor, INK, 'stroke-dasharray="6 3"')
            yield _text((start + stop) / 2, TOP - 10, f"your users: {best:.2f}", "middle", INK, 'font-weight="600"')
        for number in range(1, int(self.most / self.step) + 1):
            y = self._y(number * self.step)
            yield f'<line x1="{LEFT}" x2="{RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="{GRID}"/>'
            yield _text(LEFT - 8, y + 4, f"{number * self.step:.{digits}f}", "end")
        yield f'<line x1="{LEFT}" x2="{RIGHT}" y1="{BEST}" y2="{BEST}" stroke="{INK}" stroke-width="1.5"/>'
        yield _text(LEFT - 8, BEST + 4, "best", "end", INK, 'font-weight="600"')
        for base, colour in ((1.0, MARKS["first"]), (2.0, MARKS["second"])):
            if self._has(base):
                yield _rule(self._x(base), BEST, self.floor, colour, 'stroke-width="1.5"')

    def _leads(self) -> Iterator[str]:
        """Draw the band of leaders."""
        for at, (name, start, stop) in enumerate(self.path["leads"]):
            left, right, colour = self._x(start), self._x(stop), self.colour.get(name, "")
            yield (
                f'<rect x="{left:.1f}" y="{TOP}" width="{max(0.5, right - left - 2):.1f}" height="18" rx="3" '
                f'fill="{MARKS[colour]}"><title>{escape(name)}: b = {start:.2f} to {stop:.2f}</title></rect>'
            )
            if right - left > 7.5 * len(name) + 8:
                middle = (left + right) / 2 - 1
                yield _text(middle, TOP + 13, name, "middle", ON_MARKS[colour], 'font-weight="650"')
            if at:
                yield _rule(left, TOP, BEST + DEPTH, MUTED, 'stroke-dasharray="2 3"')

    def _line(self, name: str) -> Iterator[str]:
        """Draw one model: thin, and thick where it may be best; cut where it leaves the figure."""
        points = [(self._x(base), value) for base, value in zip(self.bases, self.path["regrets"][name], strict=True)]
        stroke, width, faint = MUTED, "0.8", ' stroke-opacity="0.5"'
        if name in self.notable:
            stroke, width, faint = MARKS[self.colour.get(name, "")], "1.6", ""
        for stretch in _inside(points, self.most):
            yield _polyline([(x, self._y(value)) for x, value in stretch], stroke, width, faint)
        for owner, start, stop in self.path["ranges"]:
            if owner == name:
                within = [point for point, base in zip(points, self.bases, strict=True) if start <= base <= stop]
                thick = [(x, self._y(value)) for x, value in within]
                thick = [(thick[0][0] - 1, thick[0][1]), *thick] if len(thick) == 1 else thick
                yield _polyline(thick, stroke, f"{stroke_of(self.path):g}", ' stroke-linecap="round"')

    def _ends(self) -> Iterator[str]:
        """Name the lines where they end; those without room stand with the bars only."""
        last = {name: self.path["regrets"][name][-1] for name in self.notable}
        shown = {name: self._y(value) for name, value in by_lead(self.path, last).items() if value <= self.most}
        for name, place in with_room(shown, LINE, BEST + DEPTH).items():
            yield _text(RIGHT + 8, place + 4, name, "start", WORDS[self.colour.get(name, "")], 'font-weight="600"')

    def _bars(self) -> Iterator[str]:
        """Draw from where to where each model may be best."""
        top, rest = BEST + DEPTH + 20, len(self.ranged) - MOST_BARS
        yield _text(LEFT - 8, top + 10, "may be best", "end")
        for row, name in enumerate(self.ranged[:MOST_BARS]):
            y, colour = top + row * BAR, self.colour.get(name, "")
            for owner, start, stop in self.path["ranges"]:
                if owner == name:
                    left, right = self._x(start), self._x(stop)
                    yield (
                        f'<rect x="{left - 1:.1f}" y="{y:.0f}" width="{right - left + 2:.1f}" height="11" rx="2" '
                        f'fill="{MARKS[colour]}"><title>{escape(name)} may be best '
                        f"({escape(self.path['confidence'])}): b = {start:.2f} to {stop:.2f}</title></rect>"
                    )
            more = f" and {rest} more" if rest > 0 and row == MOST_BARS - 1 else ""
            yield _text(RIGHT + 8, y + 10, name + more, "start", WORDS[colour])

    def _axis(self) -> Iterator[str]:
        named = {1.0: ("b = 1: linear", "first"), 2.0: ("b = 2: exponential", "second")}
        for base in labelled_bases(self.bases):
            text, colour = named.get(base, (f"{base:g}", ""))
            anchor = "start" if base == self.bases[0] else "middle"
            fill, weight = (WORDS[colour], 'font-weight="600"') if colour else (MUTED, "")
            yield _text(self._x(base), self.floor + 14, text, anchor, fill, weight)
            earned = " ".join(gain_text(base, grade) for grade in self.path["grades"][:5])
            yield _text(self._x(base), self.floor + 30, earned, anchor, MUTED, 'font-size="11.5"')
        caption = (
            "gain base b, (b^l - 1)/(b - 1) for grade l, on a logarithmic scale; below it what the grades are worth"
        )
        yield _text(20, self.floor + 47, caption, "start", MUTED, 'font-size="12"')


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


def _text(x: float, y: float, text: str, anchor: str, fill: str = MUTED, more: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}" {more}>{escape(text)}</text>'


def _rule(x: float, top: float, bottom: float, stroke: str, more: str = "") -> str:
    return f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top:.0f}" y2="{bottom:.0f}" stroke="{stroke}" {more}/>'


def _polyline(points: Sequence[tuple[float, float]], stroke: str, width: str, more: str) -> str:
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{joined}" fill="none" stroke="{stroke}" stroke-width="{width}"{more}/>'
