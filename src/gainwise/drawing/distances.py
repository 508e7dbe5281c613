"""Curves of a training as distances from their best values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._common.text import format_difference
from .style import annotate_beside, draw_legend_below

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from .._common.theme import Theme
    from .._common.typing import Floats

ROLES = {"first": ("o", "-"), "second": ("D", (0, (5, 1.5))), "third": ("^", ":"), "fourth": ("s", "-.")}
"""Marker and line of each color of a theme."""


class DistanceCurve(NamedTuple):
    """A curve to draw as distances from its best value, which are 0 at `best_round`.

    `text` is written above the best round. `loss` is the distance at round `at`, the best round of another metric.
    """

    label: str
    text: str
    role: str
    rounds: Any
    losses: Floats
    best_round: int
    loss: float
    at: int


def draw_curves(ax: Axes, colors: Theme, curves: Sequence[DistanceCurve]) -> None:
    """Draw curves as distances from their best values, with a filled mark at 0 and a hollow one at `at`."""
    if not curves:
        raise ValueError("curves must have a value other than NaN, got none. Check the values of the metrics.")
    rightmost = max(reversed(curves), key=lambda curve: curve.best_round)
    for curve in curves:
        color, (marker, style) = getattr(colors, curve.role), ROLES[curve.role]
        mark: dict[str, Any] = {"marker": marker, "linestyle": "", "color": color, "markersize": 6.5}
        width = 1.8 if curve.text else 1.1
        ax.plot(curve.rounds, -curve.losses, color=color, linestyle=style, linewidth=width, label=curve.label or None)
        if curve.loss > 0:
            ax.vlines(curve.at, -curve.loss, 0, color=color, linewidth=4, alpha=0.45, zorder=3)
        ax.plot([curve.at], [-curve.loss], markerfacecolor=ax.get_facecolor(), zorder=4, **mark)
        ax.plot([curve.best_round], [0.0], zorder=5, clip_on=False, **mark)
        text_color = getattr(colors, f"{curve.role}_text", color)
        annotate_beside(ax, curve.text, (curve.best_round, 1), 2 if curve is rightmost else -2, 3, color=text_color,
                        size=8.5, xycoords=("data", "axes fraction"), va="baseline", weight="bold")  # fmt: skip
    lowest = max(1e-6, *(max(2.5 * np.nan_to_num(c.loss), np.nanquantile(c.losses, 0.8)) for c in curves))
    ax.set_ylim(-1.1 * lowest, 0.08 * lowest)
    if max(np.nanmax(curve.losses) for curve in curves) > 1.1 * lowest:
        note = f"values below {format_difference(-1.1 * lowest)} are not shown"
        ax.text(0.99, 0.02, note, transform=ax.transAxes, fontsize=8, color=colors.muted, ha="right",
                bbox={"facecolor": colors.face, "edgecolor": "none", "pad": 1.5})  # fmt: skip
    ax.grid(axis="y", color=colors.grid, linewidth=0.6)
    draw_legend_below(ax, colors, 0.14, fontsize=9)
