"""Plot of the largest possible disagreement of two NDCGs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .style import finish, only_across, start

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...comparison.disagreement import DisagreementBound
    from .picture import Picture

PUBLIC = {
    "TREC Deep Learning 2019": 0.127,
    "TREC Deep Learning 2020": 0.122,
    "ClueWeb09 (4 folds)": 0.105,
    "LightGBM's example": 0.089,
}
"""Bounds of two rankings for linear and exponential NDCG@10 on public datasets."""


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
    own = "these labels"
    usual = bound.metrics == ("ndcg_linear@10", "ndcg_exp@10")
    values = sorted([(bound.two_rankings, own), *((value, name) for name, value in PUBLIC.items() if usual)])
    ax, colours = start(ax, theme, (7.0, 1.4 + 0.35 * len(values)))
    only_across(ax, colours, 6)
    for row, (value, name) in enumerate(values):
        color = colours.first if name == own else colours.muted
        ax.barh(row, value, height=0.55, color=color)
        ax.annotate(f"{value:.3f}", (value, row), (4, 0), textcoords="offset points", va="center", fontsize=9,
                    color=colours.ink)  # fmt: skip
    ax.set_yticks(range(len(values)), [name for _, name in values])
    title = f"Two rankings can be in conflict by {bound.two_rankings:.2g} at most"
    first, second = bound.metrics
    return finish(ax, colours, title, bound.text, x=f"largest conflict between {first} and {second}", left=0.3)
