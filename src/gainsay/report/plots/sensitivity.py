"""Plot of the choices that reverse pairs of models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .style import finish, only_across, start

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...comparison.sensitivity import Sensitivity
    from .picture import Picture


def plot_sensitivity(sensitivity: Sensitivity, ax: Axes | None = None, theme: str = "light") -> Picture:
    """Draw the share of reversed pairs for each choice, with its interval.

    Parameters
    ----------
    sensitivity : Sensitivity
        From `Comparison.sensitivity`.
    ax : Axes, optional
        Axes to draw on, by default those of a new figure that pyplot does not manage.
    theme : {"light", "dark"}

    Raises
    ------
    ValueError
        If the comparison has no other choice.

    Examples
    --------
    >>> import gainsay as gs
    >>> judgments = gs.Judgments([2, 1, 1, 0] * 40, group=[4] * 40)
    >>> orders = [[3, 1, 2, 4], [1, 4, 3, 2], [4, 1, 3, 2], [1, 2, 4, 3], [2, 4, 3, 1]]
    >>> scores = {f"model {number}": order * 40 for number, order in enumerate(orders)}
    >>> gs.compare(scores, judgments, ["ndcg_linear@2", "ndcg_exp@2"]).plot.sensitivity()
    <Picture: Of 7 choices, the gain reverses most pairs.>
    """
    table = sensitivity.table.iloc[::-1]
    if not len(table):
        raise ValueError("The comparison has no other choice to draw. Compare models with scores.")
    ax, colours = start(ax, theme, (7.6, 1.3 + 0.32 * len(table)))
    only_across(ax, colours, 7)
    for row, (share, lower, upper, kind) in enumerate(
        table[["reversed", "lower", "upper", "kind"]].itertuples(index=False)
    ):
        color = colours.first if kind == "gain" else colours.ink
        if np.isfinite(lower):
            ax.plot([100 * lower, 100 * upper], [row, row], color=color, lw=2.4, alpha=0.45, solid_capstyle="round")
        ax.plot([100 * share], [row], marker="o", markersize=6.5, color=color)
    ax.set_yticks(range(len(table)), table["choice"], parse_math=False)
    for label, kind in zip(ax.get_yticklabels(), table["kind"], strict=True):
        label.set_color(colours.first if kind == "gain" else colours.ink)
    ax.set_xlim(left=0)
    x = f"reversed pairs of models in the order of {sensitivity.reference}, in percent"
    return finish(ax, colours, sensitivity.headline, sensitivity.text, x=x, left=0.4)
