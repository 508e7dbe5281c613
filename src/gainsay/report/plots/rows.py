"""Pictures with one row per choice or dataset: reversed pairs of models, and the disagreement that labels allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .style import finish, only_across, start

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...comparison.disagreement import DisagreementBound
    from ...comparison.sensitivity import Sensitivity
    from .picture import Picture

PUBLIC = {
    "TREC Deep Learning 2019": 0.127,
    "TREC Deep Learning 2020": 0.122,
    "ClueWeb09 (4 folds)": 0.105,
    "LightGBM's example": 0.089,
}
"""Bounds of two rankings for linear and exponential NDCG@10 on public datasets.

They are `labels.two_rankings` in the files of the folder studies/results.
"""


def plot_bound(bound: DisagreementBound, ax: Axes | None = None, theme: str = "light") -> Picture:
    """Draw the bound of two rankings, next to public datasets if the metrics are the usual two NDCG@10.

    Parameters
    ----------
    bound : DisagreementBound
        From `gainsay.disagreement_bound`.
    ax : Axes, optional
        Axes to draw on, by default those of a new figure that pyplot does not manage.
    theme : {"light", "dark"}

    Examples
    --------
    >>> import gainsay as gs
    >>> plot_bound(gs.disagreement_bound(gs.Judgments([3, 1, 1, 1, 0, 0], group=[6]), k=3))
    <Picture: Two rankings can be in conflict by 0.16 at most>
    """
    public = PUBLIC if bound.metrics == ("ndcg_linear@10", "ndcg_exp@10") else {}
    values = sorted([(bound.two_rankings, "these labels"), *((value, name) for name, value in public.items())])
    ax, colors = start(ax, theme, (7.0, 1.4 + 0.35 * len(values)))
    only_across(ax, colors, 6)
    for row, (value, name) in enumerate(values):
        color = colors.muted if name in PUBLIC else colors.first
        ax.barh(row, value, height=0.55, color=color)
        ax.annotate(f"{value:.3f}", (value, row), (4, 0), textcoords="offset points", va="center", fontsize=9,
                    color=colors.ink)  # fmt: skip
    ax.set_yticks(range(len(values)), [name for _, name in values])
    title = f"Two rankings can be in conflict by {bound.two_rankings:.2g} at most"
    first, second = bound.metrics
    return finish(ax, colors, title, bound.text, x=f"largest conflict between {first} and {second}", left=0.3)


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
    ax, colors = start(ax, theme, (7.6, 1.3 + 0.32 * len(table)))
    only_across(ax, colors, 7)
    for row, (share, lower, upper, kind) in enumerate(
        table[["reversed", "lower", "upper", "kind"]].itertuples(index=False)
    ):
        color = colors.first if kind == "gain" else colors.ink
        if np.isfinite(lower):
            ax.plot([100 * lower, 100 * upper], [row, row], color=color, lw=2.4, alpha=0.45, solid_capstyle="round")
        ax.plot([100 * share], [row], marker="o", markersize=6.5, color=color)
    ax.set_yticks(range(len(table)), table["choice"], parse_math=False)
    for label, kind in zip(ax.get_yticklabels(), table["kind"], strict=True):
        label.set_color(colors.first if kind == "gain" else colors.ink)
    ax.set_xlim(left=0)
    x = f"reversed pairs of models in the order of {sensitivity.reference}, in percent"
    return finish(ax, colors, sensitivity.headline, sensitivity.text, x=x, left=0.4)
