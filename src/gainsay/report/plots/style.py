"""How all pictures look: axes without global state, and words for those who cannot see them."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import matplotlib.colors
import numpy as np
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from ..._common.shown import printable
from ...drawing.palette import theme_named

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...drawing.palette import Theme

__all__ = ["alt_text", "finish", "grade_colours", "plain", "start"]

MARGIN = 0.12
"""Inches to the left and the right of a picture: letters are wider in some readers' fonts, and at some resolutions."""


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
    ax.tick_params(colors=theme.muted, labelcolor=theme.ink, labelsize=9, width=0.8)
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
    pad: float = 10,
    wide: float = 0.8,
) -> Axes:
    """Give axes their title (the finding), the names of their axes, and their text alternative.

    The title is broken to fit axes that take the share `wide` of the width of their column of the figure.
    """
    width = ax.figure.get_figwidth() if isinstance(ax.figure, Figure) else 6.0
    place = ax.get_subplotspec()
    if place is not None:
        width *= len(place.colspan) / place.get_gridspec().ncols
    title = "\n".join(textwrap.wrap(plain(title).replace("p = ", "p\u00a0=\u00a0"), max(24, int(wide * width * 12.5))))
    ax.set_title(title, loc="left", fontsize=11, color=theme.ink, parse_math=False, pad=pad)
    ax.set_xlabel(x, fontsize=9.5, color=theme.ink, parse_math=False)
    ax.set_ylabel(y, fontsize=9.5, color=theme.ink, parse_math=False)
    setattr(ax, _ALT, plain(alt))
    return ax


def legend_below(
    ax: Axes, theme: Theme, *entries: Any, below: float = 0.13, fontsize: float = 8, **spacing: Any
) -> None:
    """Write the legend below the axes, where it hides nothing; `entries` are handles and labels, if not those drawn."""
    place = (0.5, -below)
    ax.legend(
        *entries, loc="upper center", bbox_to_anchor=place, ncols=3, frameon=False, fontsize=fontsize,
        labelcolor=theme.ink, **spacing,
    )  # fmt: skip


def without_frame(ax: Axes) -> None:
    """Take the lines around axes away."""
    for spine in ax.spines.values():
        spine.set_visible(False)


_ALT = "_gainsay_alt_text"


def alt_text(ax: Axes) -> str:
    """Return the text alternative of a picture: what it shows, with its numbers.

    Empty for axes that gainsay did not draw.
    """
    return str(getattr(ax, _ALT, ""))


def plain(text: Any) -> str:
    """Return text for a picture, on one line."""
    return printable(str(text))


def grade_colours(count: int) -> list[tuple[str, str]]:
    """Return for each of `count` grades, lowest first, a colour from cividis and that of text on it.

    >>> grade_colours(2)
    [('#00224e', '#fefefe'), ('#fee838', '#101010')]
    """
    colours = matplotlib.colormaps["cividis"](np.linspace(0, 1, max(count, 2)))[:count]
    light = [float(np.dot(np.power(colour[:3], 2.2), (0.2126, 0.7152, 0.0722))) > 0.2 for colour in colours]
    return [
        (matplotlib.colors.to_hex(colour), "#101010" if bright else "#fefefe")
        for colour, bright in zip(colours, light, strict=True)
    ]
