"""The look of all pictures: axes without global state, colors of the theme, and titles that state the finding."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from ..._common.shown import printable
from ..._common.theme import LIGHT, theme_named
from .picture import Picture

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from ..._common.theme import Theme

    Point: TypeAlias = tuple[float, float]
    Entries: TypeAlias = Sequence[tuple[Artist | tuple[Artist, ...], str]]

__all__ = ["finish", "grade_colors", "looks", "mixed", "plain", "short_metrics", "start"]

MARGIN = 0.12
"""Inches to the left and the right of a picture, because letters are wider in some fonts and resolutions."""

LETTERS = 11.5
"""Letters of a title in an inch."""


class Look(NamedTuple):
    """Marker, size (square points) and colors of a metric."""

    marker: str
    size: float
    color: str
    text: str


def looks(theme: Theme) -> tuple[Look, Look]:
    """Return the looks of the first and the second metric, with marks that look equally large."""
    return Look("o", 46, theme.first, theme.first_text), Look("D", 32, theme.second, theme.second_text)


def start(ax: Axes | None, name: str, size: tuple[float, float]) -> tuple[Axes, Theme]:
    """Return the theme and the axes to draw on: `ax`, or those of a new figure (inches) outside of pyplot."""
    theme = theme_named(name)
    if ax is None:
        layout = ConstrainedLayoutEngine(w_pad=MARGIN)
        ax = Figure(figsize=size, facecolor=theme.face, layout=layout).add_subplot()
    ax.set_facecolor(theme.face)
    for side, spine in ax.spines.items():
        spine.set_color(theme.muted)
        spine.set_linewidth(0.8)
        spine.set_visible(side in ("left", "bottom"))
    ax.tick_params(colors=theme.muted, labelcolor=theme.muted, labelsize=9, width=0.8)
    ax.set_axisbelow(True)
    return ax, theme


def finish(
    ax: Axes,
    theme: Theme,
    title: str,
    alt: str,
    *,
    x: str = "",
    y: str = "",
    x_color: str = "",
    y_color: str = "",
    pad: float = 10,
    wide: float = 0.8,
    left: float = 0.0,
) -> Picture:
    """Set the title (the finding) and the labels of the axes, and return the picture.

    The title is wrapped for axes with the share `wide` of the width of their column in the figure. It begins the share
    `left` of the axes' width to the left of them. Labels of axes may have the color of their metric.
    """
    letters = max(24, int(wide * column_width(ax) * LETTERS))
    title = "\n".join(textwrap.wrap(plain(title).replace("p = ", "p\u00a0=\u00a0"), letters))
    ax.set_title(title, loc="left", fontsize=11, weight="bold", color=theme.ink, parse_math=False, pad=pad, x=-left)
    ax.set_xlabel(x, fontsize=9.5, color=x_color or theme.muted, parse_math=False)
    ax.set_ylabel(y, fontsize=9.5, color=y_color or theme.muted, parse_math=False)
    return Picture(ax, plain(alt))


def column_width(ax: Axes) -> float:
    """Return the width in inches of the column of the figure that contains the axes."""
    width = ax.figure.get_figwidth() if isinstance(ax.figure, Figure) else 6.0
    place = ax.get_subplotspec()
    return width if place is None else width * len(place.colspan) / place.get_gridspec().ncols


def beside(ax: Axes, text: str, at: Point, offset: Point = (0, 0), *, color: str, size: float, **look: Any) -> None:
    """Write a text next to a position, growing away from it. Nothing in it is parsed as a formula."""
    right, up = offset
    across = "center" if abs(right) <= 0.3 * abs(up) else "left" if right > 0 else "right"
    along = "center" if abs(up) <= 0.5 * abs(right) else "bottom" if up > 0 else "top"
    look = {"ha": across, "va": along, **look}
    ax.annotate(text, at, offset, textcoords="offset points", fontsize=size, color=color, parse_math=False, **look)


def legend_below(ax: Axes, theme: Theme, entries: Entries = (), *, below: float = 0.13, **look: Any) -> None:
    """Write the legend below the axes: `entries`, or by default everything with a label."""
    if entries:
        look |= {"handles": [handle for handle, _ in entries], "labels": [label for _, label in entries]}
    look = {"bbox_to_anchor": (0.5, -below), "fontsize": 8, "ncols": 3, **look}
    legend = ax.legend(loc="upper center", frameon=False, labelcolor=theme.ink, **look)
    for text in legend.get_texts():
        text.set_parse_math(False)


def without_frame(ax: Axes) -> None:
    """Remove the lines around axes."""
    for spine in ax.spines.values():
        spine.set_visible(False)


def only_across(ax: Axes, theme: Theme, most_ticks: int) -> None:
    """Keep only the tick labels below the axes and vertical grid lines."""
    without_frame(ax)
    ax.tick_params(length=0)
    ax.locator_params(axis="x", nbins=most_ticks)
    ax.grid(axis="x", color=theme.grid, linewidth=0.8)


def two_sides(
    ax: Axes, theme: Theme, at: tuple[float, float], left: str, right: str, *, size: float = 8.5, va: str = "center"
) -> None:
    """Label the left and the right side of a line."""
    for words, ha in ((f"◂ {left}\u00a0", "right"), (f"\u00a0{right} ▸", "left")):
        ax.text(*at, words, ha=ha, va=va, fontsize=size, color=theme.muted, parse_math=False)


def plain(text: object) -> str:
    """Return text for a picture, on one line."""
    return printable(str(text))


def short_metrics(metrics: tuple[str, str]) -> dict[str, str]:
    """Return short labels of two metrics: the gain or discount of two NDCGs with the same cutoff.

    >>> short_metrics(("ndcg_linear@10", "ndcg_exp@10"))
    {'ndcg_linear@10': 'linear', 'ndcg_exp@10': 'exp'}
    >>> short_metrics(("ndcg_linear@10", "mrr"))
    {'ndcg_linear@10': 'ndcg_linear@10', 'mrr': 'mrr'}
    """
    cuts = {metric.partition("@")[2] for metric in metrics}
    if len(cuts) == 1 and all(metric.startswith("ndcg_") for metric in metrics):
        return {metric: metric.partition("@")[0].removeprefix("ndcg_") for metric in metrics}
    return {metric: metric for metric in metrics}


def mixed(face: str, color: str, share: float) -> str:
    """Mix a share of a color with the background.

    >>> mixed("#ffffff", "#000000", 0.5)
    '#808080'
    """
    start, end = np.array(to_rgb(face)), np.array(to_rgb(color))
    red, green, blue = (start + share * (end - start)).tolist()
    return to_hex((red, green, blue))


GRADES = (0.0, 0.11, 0.27, 0.64, 1.0)
"""Strength of the cell of a document for five grades."""


def grade_colors(count: int, theme: Theme = LIGHT) -> list[tuple[str, str]]:
    """Return the color of the cell and of its text for `count` grades, lowest first.

    >>> grade_colors(2)
    [('#ffffff', '#1a1e24'), ('#1a1e24', '#ffffff')]
    """
    shares = np.interp(np.linspace(0, 1, max(count, 2))[:count], np.linspace(0, 1, len(GRADES)), GRADES)
    return [(mixed(theme.face, theme.ink, float(share)), theme.ink if share < 0.5 else theme.face) for share in shares]
