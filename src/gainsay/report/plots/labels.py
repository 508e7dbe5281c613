"""Names beside points, moved about until no two overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

__all__ = ["label_points"]

_PLACES = [(10, 0), (-10, 0), (7, 11), (-7, 11), (7, -11), (-7, -11), (10, 22), (-10, 22), (10, -22), (-10, -22)]
_PLACES += [(side * right, up) for right in (26, 52, 90) for up in (-8, 8, -26, 26, -46, 46, -70) for side in (1, -1)]
"""Offsets in points, the best first; the text grows away from its point."""

_FAR = 24
"""Beyond so many points a line leads to the text."""


def label_points(
    ax: Axes,
    points: Sequence[tuple[float, float]],
    texts: Sequence[str],
    colour: str,
    *,
    around: Sequence[tuple[float, float]] = (),
    size: float = 8.5,
) -> None:
    """Write each text near its point, the first ones first; one that finds no free place is left out.

    The limits of the axes must be set before. Places are judged by an estimate of the width of the letters; they keep
    clear of the points `around` too.
    """
    frame = ax.get_window_extent()
    scale = 72 / ax.figure.dpi
    corners = [(frame.x0 * scale, frame.y0 * scale + 14), (frame.x1 * scale, frame.y1 * scale)]
    at = [tuple(float(part) * scale for part in ax.transData.transform(point)) for point in [*points, *around]]
    taken = [(x - 4, y - 4, x + 4, y + 4) for x, y in at]
    for number, ((x, y), text) in enumerate(zip(at, texts, strict=False)):
        others = [box for box in taken if box != taken[number]]
        for right, up in _PLACES:
            width = 0.6 * size * max(map(len, text.split("\n")))
            tall = 0.7 * size * (1 + text.count("\n"))
            left = x + right if right > 0 else x + right - width
            box = (left, y + up - tall, left + width, y + up + tall)
            inside = box[0] >= corners[0][0] and box[2] <= corners[1][0] and box[1] >= corners[0][1]
            if inside and box[3] <= corners[1][1] and not any(_overlap(box, other) for other in others):
                taken.append(box)
                ax.annotate(
                    text,
                    points[number],
                    xytext=(right, up),
                    textcoords="offset points",
                    ha="left" if right > 0 else "right",
                    va="center",
                    fontsize=size,
                    color=colour,
                    parse_math=False,
                    arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.6, "shrinkA": 1, "shrinkB": 4}
                    if abs(right) > _FAR
                    else None,
                )
                break


def _overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
