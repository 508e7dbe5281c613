"""Curves of a training drawn with Matplotlib, to go beside other pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..drawing.palette import theme_named

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..drawing.marks import Role
    from .views import View

__all__ = ["plot_view"]

_MARKERS: dict[Role, str] = {"first": "o", "second": "D", "third": "^", "fourth": "s"}
_LINES: dict[Role, str] = {"first": "-", "second": "--", "third": ":", "fourth": "-."}


def plot_view(view: View, ax: Axes | None, theme: str) -> Axes:
    """Draw the curves of a view as distances from their best, and what stopping at another's best round loses."""
    colours = theme_named(theme)
    if ax is None:
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError("plots need Matplotlib: pip install 'gainsay-ltr[report]'") from error
        _, ax = plt.subplots(figsize=(6.8, 3.6), layout="constrained")
    ax.figure.set_facecolor(colours.face)
    ax.set_facecolor(colours.face)
    inks = {"first": colours.first, "second": colours.second, "third": colours.third, "fourth": colours.muted}
    lowest = 0.0
    for shown in view.shown:
        line, ink = shown.line, inks[shown.role]
        if line.best_round is None:
            continue
        best = line.best if line.higher_is_better else -line.best
        behind = np.array(line.risen()) - best
        ax.plot(line.rounds, behind, color=ink, linestyle=_LINES[shown.role], linewidth=1.6, label=shown.name)
        look: dict[str, Any] = {
            "color": ink,
            "marker": _MARKERS[shown.role],
            "linestyle": "none",
            "zorder": 4,
            "clip_on": False,
        }
        ax.plot([line.best_round], [0.0], markersize=7, **look)
        if shown.loss > 0:
            ax.plot([shown.at], [-shown.loss], markersize=7, fillstyle="none", **look)
        lowest = max(lowest, 3 * shown.loss if shown.loss > 0 else 0.0, float(np.nanquantile(-behind, 0.8)))
    bottom = lowest or 0.01
    ax.set_ylim(-1.1 * bottom, 0.08 * bottom)
    ax.grid(axis="y", color=colours.grid, linewidth=0.6)
    for spine in ax.spines.values():
        spine.set_color(colours.rule)
    ax.tick_params(colors=colours.muted, labelsize=9)
    ax.set_xlabel("round", color=colours.muted, fontsize=9)
    ax.set_ylabel("distance from its own best", color=colours.muted, fontsize=9)
    ax.set_title(view.title, loc="left", color=colours.ink, fontsize=10.5)
    above = {"bbox_to_anchor": (1, 1), "borderaxespad": 0.2, "ncols": len(view.shown)}
    legend = ax.legend(loc="lower right", fontsize=9, frameon=False, **above)
    for text in legend.get_texts():
        text.set_color(colours.ink)
    ax.set_gid("curves")
    return ax
