"""Names beside points, each placed so that it is taken for the name of no other point."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.path import Path
from matplotlib.transforms import Bbox

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from matplotlib.axes import Axes

    from ..._common.typing import Bools, Floats

    Point: TypeAlias = tuple[float, float]

__all__ = ["beside", "ems", "label_points"]

_BESIDE = np.array([(10, 0), (-10, 0), (7, 5), (-7, 5), (7, -5), (-7, -5), (0, 8), (0, -8)], dtype=float)
"""Offsets in points of a text that touches its point, the best first; the text grows away from its point."""

_RINGS = np.arange(22.0, 151, 8)
_BEARINGS = np.radians([20, -20, 160, -160, 50, -50, 130, -130, 5, -5, 175, -175, 75, -75, 105, -105])
_AHEAD = np.stack([np.cos(_BEARINGS), np.sin(_BEARINGS)], axis=1)
"""Distances in points and directions of a text that a line leads to."""

_CLEAR = 5
"""So many points texts keep from the middle of other markers."""

_OFFSETS = np.concatenate([_BESIDE, (_RINGS[:, None, None] * _AHEAD).reshape(-1, 2)])
_LED = np.arange(len(_OFFSETS)) >= len(_BESIDE)
_STARTS = np.concatenate([_BESIDE, np.tile(_CLEAR * _AHEAD, (len(_RINGS), 1))])
"""All offsets at which a text may stand, the best first; whether a line leads to it, and where that starts."""

_RADIUS = 4
"""So many points lines keep from the middle of other markers."""

_WIDE = "…\N{MINUS SIGN}=+<>%@mwMW"

_SIZE = 8.5
"""Points of letters."""

_TRIES = 4

_PLAIN = 2
"""A text without a line is so many times nearer its own marker than any other."""


class Place(NamedTuple):
    """Where a text stands: its offset from the point, its corners, and the ends of a line that leads to it."""

    offset: Point
    box: Floats
    leader: Floats | None


@dataclass
class _Scene:
    """What texts are placed among; everything in points from the lower left corner of the figure."""

    frame: Floats
    markers: Floats
    lines: list[Path]
    texts: Floats

    def arrange(self, texts: Sequence[str]) -> dict[int, Place]:
        """Return places for as many texts as can be; who finds none in one try comes first in the next."""
        order, best = list(range(len(texts))), dict[int, Place]()
        for _ in range(_TRIES):
            found: dict[int, Place] = {}
            for number in order:
                free = self._with_room(self.markers[number], _extent(texts[number]), list(found.values()))
                if free:
                    found[number] = min(free, key=self._crossings)
            best = found if len(found) > len(best) else best
            order.sort(key=lambda number: number in found)
            if len(best) == len(texts):
                break
        return best

    def _with_room(self, own: Floats, extent: Floats, taken: Sequence[Place]) -> list[Place]:
        """Return where a text can stand and be read as the name of the marker at `own`.

        It lies in the frame, on no other text and on no line that leads to one, far enough from other markers and,
        without a line, much nearer to its own. Its own line meets none of these and no other marker.
        """
        others = self.markers[np.hypot(*(self.markers - own).T) > _CLEAR]
        texts = np.concatenate([self.texts, *(other.box[None] for other in taken)])
        leaders = np.array([other.leader for other in taken if other.leader is not None]).reshape(-1, 2, 2)
        low = own + _OFFSETS - extent * _SHARES
        boxes, lines = np.stack([low, low + extent], axis=1), own + np.stack([_STARTS, _OFFSETS], axis=1)
        free = ((boxes >= self.frame[0]) & (boxes <= self.frame[1])).all(axis=(1, 2))
        free &= ~_overlap(boxes, _padded(texts, 3)).any(axis=1) & ~_meet(leaders, boxes).any(axis=0)
        near = np.maximum(_CLEAR, _PLAIN * _distances(boxes[free], own[None])[:, 0])
        others_near = _distances(boxes[free], others).min(axis=1, initial=np.inf)
        free[free] = others_near >= np.where(_LED[free], _CLEAR + 2, near)
        led = free & _LED
        barriers = np.concatenate([_padded(texts, 1), np.stack([others - _RADIUS, others + _RADIUS], axis=1)])
        free[led] = ~_meet(lines[led], barriers).any(axis=1) & ~_cross(lines[led], leaders).any(axis=1)
        return [
            Place((float(_OFFSETS[at, 0]), float(_OFFSETS[at, 1])), boxes[at], lines[at] if _LED[at] else None)
            for at in np.flatnonzero(free)
        ]

    def _crossings(self, place: Place) -> int:
        """Return how many of the lines, which are better not written across, the text lies on."""
        return sum(line.intersects_bbox(Bbox(place.box), filled=False) for line in self.lines)


def label_points(
    ax: Axes,
    points: Sequence[Point],
    texts: Sequence[str],
    colour: str,
    *,
    around: Sequence[Point] = (),
    lines: Sequence[Sequence[Point]] = (),
) -> None:
    """Write each text near its point, the first ones first; one that finds no free place is left out.

    A text beside its point is much nearer to it than to any other; where there is no such place, a line leads to the
    text. Legend and limits of the axes must be set before, the title need not. Places are judged by an estimate of the
    width of the letters; they keep clear of the points `around` too, and of the `lines` if they can.
    """
    _settle(ax)
    scale = 72 / ax.figure.dpi

    def in_points(places: Sequence[Point]) -> Floats:
        return np.asarray(ax.transData.transform(places), dtype=float).reshape(-1, 2) * scale

    scene = _Scene(
        ax.get_window_extent().get_points() * scale,
        in_points([*points, *around]),
        [Path(in_points(line)) for line in lines],
        np.array([text.get_window_extent().get_points() for text in ax.texts]).reshape(-1, 2, 2) * scale,
    )
    for number, place in scene.arrange(texts).items():
        beside(ax, texts[number], points[number], place.offset, colour=colour, size=_SIZE)
        if place.leader is not None:
            look = {"arrowstyle": "-", "color": colour, "linewidth": 0.6, "shrinkA": 2, "shrinkB": _CLEAR}
            beside(ax, "", points[number], place.offset, colour=colour, size=_SIZE, arrowprops=look)


def beside(ax: Axes, text: str, at: Point, offset: Point = (0, 0), *, colour: str, size: float, **look: Any) -> None:
    """Write a text so many points from a place, from which it grows away; nothing in it is read as a formula."""
    look = {"ha": _across(*offset), "va": _along(*offset), **look}
    ax.annotate(text, at, offset, textcoords="offset points", fontsize=size, color=colour, parse_math=False, **look)


def _settle(ax: Axes) -> None:
    """Let a figure with a layout give the axes their place, with room for a title of two lines and names of axes."""
    ax.set_title("\n", loc="left", fontsize=11, pad=10)
    ax.set_xlabel(" ", fontsize=9.5)
    ax.set_ylabel(" ", fontsize=9.5)
    figure = ax.figure.canvas.figure
    layout = figure.get_layout_engine()
    if layout is not None:
        layout.execute(figure)


def _extent(text: str) -> Floats:
    lines = text.split("\n")
    return np.array([_SIZE * max(map(ems, lines)), 1.2 * _SIZE * len(lines)])


def _across(right: float, up: float) -> str:
    return "center" if abs(right) <= 0.3 * abs(up) else "left" if right > 0 else "right"


def _along(right: float, up: float) -> str:
    return "center" if abs(up) <= 0.5 * abs(right) else "bottom" if up > 0 else "top"


_BEFORE = {"left": 0.0, "bottom": 0.0, "center": 0.5, "right": 1.0, "top": 1.0}
_SHARES = np.array([(_BEFORE[_across(*offset)], _BEFORE[_along(*offset)]) for offset in _OFFSETS])
"""Which share of its extent a text has to the left of, and below, its offset."""


def ems(line: str) -> float:
    """Return about how wide a line is, in sizes of its letters."""
    return sum(1.0 if unicodedata.east_asian_width(one) in "WF" or one in _WIDE else 0.6 for one in line)


def _padded(boxes: Floats, by: float) -> Floats:
    return boxes + np.array([[-by], [by]], dtype=np.float64)


def _distances(boxes: Floats, points: Floats) -> Floats:
    """Return how far every point is from every box, shape (boxes, points)."""
    beyond = np.maximum(np.maximum(boxes[:, None, 0] - points, points - boxes[:, None, 1]), 0)
    return np.asarray(np.hypot(beyond[..., 0], beyond[..., 1]))


def _overlap(boxes: Floats, others: Floats) -> Bools:
    """Return which boxes share a point with which others, shape (boxes, others)."""
    shared = (boxes[:, None, 0] <= others[:, 1]) & (others[:, 0] <= boxes[:, None, 1])
    return np.asarray(shared.all(axis=-1))


def _meet(segments: Floats, boxes: Floats) -> Bools:
    """Return which segments run through which boxes, shape (segments, boxes).

    They do not where an axis parts them: one of the two of the plane, or the one across the segment.
    """
    middle = segments.mean(axis=1)[:, None] - boxes.mean(axis=1)
    along = (segments[:, 1] - segments[:, 0])[:, None] / 2
    half = (boxes[:, 1] - boxes[:, 0]) / 2
    within = (np.abs(middle) < np.abs(along) + half).all(axis=-1)
    cross = np.abs(middle[..., 0] * along[..., 1] - middle[..., 1] * along[..., 0])
    found: Bools = within & (cross < half[:, 0] * np.abs(along[..., 1]) + half[:, 1] * np.abs(along[..., 0]))
    return found


def _cross(lines: Floats, others: Floats) -> Bools:
    """Return which lines cross which others, shape (lines, others)."""
    paths = [Path(other) for other in others]
    crossed = [[Path(line).intersects_path(path) for path in paths] for line in lines]
    return np.array(crossed, dtype=bool).reshape(len(lines), len(paths))
