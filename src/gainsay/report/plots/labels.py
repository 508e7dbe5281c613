"""Names beside points, each placed so that it is taken for the name of no other point."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.path import Path
from matplotlib.transforms import Bbox

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matplotlib.axes import Axes

    from ..._common.typing import Floats

__all__ = ["ems", "label_points"]

_BESIDE = [(10, 0), (-10, 0), (7, 5), (-7, 5), (7, -5), (-7, -5), (0, 8), (0, -8)]
"""Offsets in points of a text that touches its point, the best first; the text grows away from its point."""

_RINGS = range(22, 151, 8)
_BEARINGS = (20, -20, 160, -160, 50, -50, 130, -130, 5, -5, 175, -175, 75, -75, 105, -105)
"""Distances in points and directions in degrees of a text that a line leads to."""

_CLEAR = 5
"""So many points texts keep from the middle of other markers."""

_RADIUS = 4
"""So many points lines keep from the middle of other markers."""

_WIDE = "…\N{MINUS SIGN}=+<>%@mwMW"

_TRIES = 4

_PLAIN = 2
"""A text without a line is so many times nearer its own marker than any other."""


class Place(NamedTuple):
    """Where a text may stand: its offset from the point, its outline, and the line that leads to it, if any."""

    right: float
    up: float
    box: Bbox
    leader: Path | None

    @property
    def across(self) -> str:
        """Return how the text is aligned with the offset."""
        return _across(self.right, self.up)

    @property
    def along(self) -> str:
        """Return how the text is aligned with the offset, upwards."""
        return _along(self.right, self.up)


@dataclass
class _Scene:
    """What texts are placed among; everything in points from the lower left corner of the figure."""

    frame: Bbox
    markers: Floats
    lines: list[Path]
    texts: list[Bbox]

    def arrange(self, texts: Sequence[tuple[int, str]], size: float) -> dict[int, Place]:
        """Return a place for each text, given with the number of its marker, that finds one, the first ones first."""
        found: dict[int, Place] = {}
        for number, text in texts:
            own, taken = self.markers[number], list(found.values())
            free = [place for place in _places(own, text, size) if self._has_room(place, own, taken)]
            if free:
                found[number] = min(free, key=self._crossings)
        return found

    def _has_room(self, place: Place, own: Floats, taken: Sequence[Place]) -> bool:
        """Return whether a text can stand there and be read as the name of the marker at `own`."""
        texts = [*self.texts, *(other.box for other in taken)]
        leaders = [other.leader for other in taken if other.leader is not None]
        box = place.box
        if not (self.frame.containsx(box.x0) and self.frame.containsx(box.x1)):
            return False
        if not (self.frame.containsy(box.y0) and self.frame.containsy(box.y1)):
            return False
        others = self.markers[np.hypot(*(self.markers - own).T) > _CLEAR]
        nearest = float(_distances(box, others).min(initial=np.inf))
        if nearest < (_CLEAR if place.leader is None else _CLEAR + 2) or any(
            box.overlaps(text.padded(3)) for text in texts
        ):
            return False
        if any(leader.intersects_bbox(box) for leader in leaders):
            return False
        if place.leader is None:
            return nearest >= _PLAIN * float(_distances(box, own[None])[0])
        return not (
            any(place.leader.intersects_bbox(text.padded(1)) for text in texts)
            or any(place.leader.intersects_path(leader) for leader in leaders)
            or any(place.leader.intersects_bbox(_square(other)) for other in others)
        )

    def _crossings(self, place: Place) -> int:
        """Return how many of the lines, which are better not written across, the text lies on."""
        return sum(line.intersects_bbox(place.box, filled=False) for line in self.lines)


def label_points(
    ax: Axes,
    points: Sequence[tuple[float, float]],
    texts: Sequence[str],
    colour: str,
    *,
    around: Sequence[tuple[float, float]] = (),
    lines: Sequence[Sequence[tuple[float, float]]] = (),
    size: float = 8.5,
) -> None:
    """Write each text near its point, the first ones first; one that finds no free place is left out.

    A text beside its point is much nearer to it than to any other; where there is no such place, a line leads to the
    text. Legend and limits of the axes must be set before, the title need not. Places are judged by an estimate of the
    width of the letters; they keep clear of the points `around` too, and of the `lines` if they can.
    """
    _settle(ax)
    scale = 72 / ax.figure.dpi

    def in_points(places: Any) -> Floats:
        return np.asarray(ax.transData.transform(places), dtype=float).reshape(-1, 2) * scale

    scene = _Scene(
        Bbox(ax.get_window_extent().get_points() * scale),
        in_points([*points, *around]),
        [Path(in_points(line)) for line in lines],
        [Bbox(text.get_window_extent().get_points() * scale) for text in ax.texts],
    )
    for number, place in _arranged(scene, texts, size).items():
        _write(ax, texts[number], points[number], place, colour, size)


def _arranged(scene: _Scene, texts: Sequence[str], size: float) -> dict[int, Place]:
    """Return places for as many texts as can be; who finds none in one try comes first in the next."""
    order, best = list(range(len(texts))), dict[int, Place]()
    for _ in range(_TRIES):
        found = scene.arrange([(number, texts[number]) for number in order], size)
        best = found if len(found) > len(best) else best
        order.sort(key=lambda number: number in found)
        if len(best) == len(texts):
            break
    return best


def _settle(ax: Axes) -> None:
    """Let a figure with a layout give the axes their place, with room for a title of two lines and names of axes."""
    ax.set_title("\n", loc="left", fontsize=11, pad=10)
    ax.set_xlabel(" ", fontsize=9.5)
    ax.set_ylabel(" ", fontsize=9.5)
    figure = ax.figure.canvas.figure
    layout = figure.get_layout_engine()
    if layout is not None:
        layout.execute(figure)


def _places(own: Floats, text: str, size: float) -> Iterator[Place]:
    lines = text.split("\n")
    wide, tall = size * max(map(ems, lines)), 1.2 * size * len(lines)
    for right, up in _BESIDE:
        yield Place(right, up, _outline(own, right, up, wide, tall), None)
    for ring in _RINGS:
        for bearing in np.radians(_BEARINGS):
            ahead = np.array([np.cos(bearing), np.sin(bearing)])
            across, along = (float(part) for part in ring * ahead)
            leader = Path([own + _CLEAR * ahead, own + ring * ahead])
            yield Place(across, along, _outline(own, across, along, wide, tall), leader)


def _across(right: float, up: float) -> str:
    return "center" if abs(right) <= 0.3 * abs(up) else "left" if right > 0 else "right"


def _along(right: float, up: float) -> str:
    return "center" if abs(up) <= 0.5 * abs(right) else "bottom" if up > 0 else "top"


def _outline(own: Floats, right: float, up: float, wide: float, tall: float) -> Bbox:
    left = right - wide * {"left": 0.0, "center": 0.5, "right": 1.0}[_across(right, up)]
    low = up - tall * {"bottom": 0.0, "center": 0.5, "top": 1.0}[_along(right, up)]
    return Bbox.from_bounds(own[0] + left, own[1] + low, wide, tall)


def ems(line: str) -> float:
    """Return about how wide a line is, in sizes of its letters."""
    return sum(1.0 if unicodedata.east_asian_width(one) in "WF" or one in _WIDE else 0.6 for one in line)


def _square(point: Floats) -> Bbox:
    return Bbox([point - _RADIUS, point + _RADIUS])


def _distances(box: Bbox, points: Floats) -> Floats:
    """Return how far points are from a box."""
    beyond = np.maximum(np.maximum(box.min - points, points - box.max), 0.0)
    return np.asarray(np.hypot(*beyond.T))


def _write(ax: Axes, text: str, point: tuple[float, float], place: Place, colour: str, size: float) -> None:
    ax.annotate(
        text,
        point,
        xytext=(place.right, place.up),
        textcoords="offset points",
        ha=place.across,
        va=place.along,
        fontsize=size,
        color=colour,
        parse_math=False,
    )
    if place.leader is not None:
        ax.annotate(
            "",
            point,
            xytext=(place.right, place.up),
            textcoords="offset points",
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.6, "shrinkA": 2, "shrinkB": _CLEAR},
        )
