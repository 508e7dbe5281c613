"""How all pictures look: axes without global state, the colours of the theme, a title that says what was found."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from ..._common.shown import printable
from ...drawing.palette import LIGHT, theme_named
from .picture import Picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...drawing.palette import Theme

__all__ = ["finish", "grade_colours", "mixed", "plain", "short_metrics", "start"]

MARGIN = 0.12
"""Inches to the left and the right of a picture: letters are wider in some readers' fonts, and at some resolutions."""

LETTERS = 11.5
"""Letters of a title in an inch."""

CIRCLE, DIAMOND = 46, 32
"""Sizes of the marks of the first and the second metric, in square points: about as large to the eye."""


def start(ax: Axes | None, name: str, size: tuple[float, float]) -> tuple[Axes, Theme]:
    """Return the axes to draw on, those given or those of a new figure (inches) unknown to pyplot, and the theme."""
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
    x_colour: str = "",
    y_colour: str = "",
    pad: float = 10,
    wide: float = 0.8,
    left: float = 0.0,
) -> Picture:
    """Give axes their title (the finding) and the names of their axes, and return the picture.

    The title is broken to fit axes that take the share `wide` of the width of their column of the figure; it begins the
    share `left` of the axes' width to the left of them. What belongs to a metric has its colour, here the name of an
    axis.
    """
    letters = max(24, int(wide * column_width(ax) * LETTERS))
    title = "\n".join(textwrap.wrap(plain(title).replace("p = ", "p\u00a0=\u00a0"), letters))
    ax.set_title(title, loc="left", fontsize=11, weight="bold", color=theme.ink, parse_math=False, pad=pad, x=-left)
    ax.set_xlabel(x, fontsize=9.5, color=x_colour or theme.muted, parse_math=False)
    ax.set_ylabel(y, fontsize=9.5, color=y_colour or theme.muted, parse_math=False)
    return Picture(ax, plain(alt))


def column_width(ax: Axes) -> float:
    """Return the width in inches of the column of the figure that axes stand in."""
    width = ax.figure.get_figwidth() if isinstance(ax.figure, Figure) else 6.0
    place = ax.get_subplotspec()
    return width if place is None else width * len(place.colspan) / place.get_gridspec().ncols


def legend_below(
    ax: Axes, theme: Theme, *entries: Any, below: float = 0.13, fontsize: float = 8, ncols: int = 3, **spacing: Any
) -> None:
    """Write the legend below the axes, where it hides nothing; `entries` are handles and labels, if not those drawn."""
    place = (0.5, -below)
    ax.legend(
        *entries, loc="upper center", bbox_to_anchor=place, ncols=ncols, frameon=False, fontsize=fontsize,
        labelcolor=theme.ink, **spacing,
    )  # fmt: skip


def without_frame(ax: Axes) -> None:
    """Take the lines around axes away."""
    for spine in ax.spines.values():
        spine.set_visible(False)


def plain(text: Any) -> str:
    """Return text for a picture, on one line."""
    return printable(str(text))


def short_metrics(metrics: tuple[str, str]) -> dict[str, str]:
    """Return what tags and heads of columns call two metrics: two NDCGs of one cutoff by what they differ in.

    >>> short_metrics(("ndcg_linear@10", "ndcg_exp@10"))
    {'ndcg_linear@10': 'linear', 'ndcg_exp@10': 'exp'}
    >>> short_metrics(("ndcg_linear@10", "mrr"))
    {'ndcg_linear@10': 'ndcg_linear@10', 'mrr': 'mrr'}
    """
    cuts = {metric.partition("@")[2] for metric in metrics}
    if len(cuts) == 1 and all(metric.startswith("ndcg_") for metric in metrics):
        return {metric: metric.partition("@")[0].removeprefix("ndcg_") for metric in metrics}
    return {metric: metric for metric in metrics}


def mixed(face: str, colour: str, share: float) -> str:
    """Return a share of a colour on the background.

    >>> mixed("#ffffff", "#000000", 0.5)
    '#808080'
    """
    start, end = np.array(to_rgb(face)), np.array(to_rgb(colour))
    red, green, blue = (start + share * (end - start)).tolist()
    return to_hex((red, green, blue))


GRADES = (0.0, 0.11, 0.27, 0.64, 1.0)
"""How much ink the cell of a document has, of five grades."""


def grade_colours(count: int, theme: Theme = LIGHT) -> list[tuple[str, str]]:
    """Return for each of `count` grades, lowest first, the colour of its cell and that of text on it.

    >>> grade_colours(2)
    [('#ffffff', '#1a1e24'), ('#1a1e24', '#ffffff')]
    """
    shares = np.interp(np.linspace(0, 1, max(count, 2))[:count], np.linspace(0, 1, len(GRADES)), GRADES)
    return [(mixed(theme.face, theme.ink, float(share)), theme.ink if share < 0.5 else theme.face) for share in shares]
