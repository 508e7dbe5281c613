"""`comparison.plot`: every picture of a comparison by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..chosen import chosen_pair
from .conflict import plot_conflict
from .curves import plot_curves
from .heatmaps import plot_attribution, plot_pairs
from .ranks import plot_ranks
from .regret import plot_regret
from .strips import plot_queries

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...comparison.findings import Findings

__all__ = ["Plots"]


class Plots:
    """The pictures of a comparison; every method returns the axes that it drew on.

    All take `ax`, where to draw (by default a new figure of which pyplot knows nothing; `ax.figure.savefig` saves
    it), and `theme`, ``"light"`` or ``"dark"``. `alt_text(ax)` says in words what a picture shows.

    Parameters
    ----------
    comparison : Findings
        What is drawn.
    """

    def __init__(self, comparison: Findings) -> None:
        self._comparison = comparison

    def conflict(self, ax: Axes | None = None, theme: str = "light") -> Axes:
        """Draw every pair of models under both metrics: see `plot_conflict`."""
        return plot_conflict(self._comparison, ax, theme)

    def regret(self, ax: Axes | None = None, theme: str = "light") -> Axes:
        """Draw what every model loses under either metric: see `plot_regret`."""
        return plot_regret(self._comparison, ax, theme)

    def ranks(self, ax: Axes | None = None, theme: str = "light") -> Axes:
        """Draw how the order of the models changes: see `plot_ranks`."""
        return plot_ranks(self._comparison, ax, theme)

    def pairs(self, ax: Axes | None = None, theme: str = "light") -> Axes:
        """Draw the differences of all pairs as colours: see `plot_pairs`."""
        return plot_pairs(self._comparison, ax, theme)

    def attribution(
        self, first: str | None = None, second: str | None = None, ax: Axes | None = None, theme: str = "light"
    ) -> Axes:
        """Draw why two models differ, grade by rank: see `plot_attribution`. By default the pair of `chosen_pair`."""
        chosen = self._pair(first, second)
        names = self._comparison.short_names
        return plot_attribution(self._comparison.attribution(*chosen), ax, theme, names=names)

    def queries(
        self,
        first: str | None = None,
        second: str | None = None,
        ax: Axes | None = None,
        theme: str = "light",
        *,
        most: int = 6,
    ) -> Axes:
        """Draw the most contradictory queries of two models: see `plot_queries`. By default those of `chosen_pair`."""
        chosen = self._pair(first, second)
        table = self._comparison.queries(*chosen, most=most)
        rankings = self._comparison.rankings
        grades = None if rankings is None or len(rankings.judgments.levels) > 20 else rankings.judgments.levels.tolist()
        return plot_queries(table, ax, theme, most=most, grades=grades, names=self._comparison.short_names)

    def curves(self, candidate: str | None = None, ax: Axes | None = None, theme: str = "light") -> Axes:
        """Draw both metrics over the rounds of training: see `plot_curves`.

        Raises
        ------
        ValueError
            Where the comparison has no curves: only those of experiments do.
        """
        comparison = self._comparison
        if comparison.curves is None:
            raise ValueError("this comparison has no curves: they come with the results of an experiment")
        names = comparison.short_names
        metrics, losses = comparison.verdict.metrics, comparison.lower_is_better
        return plot_curves(
            comparison.curves, metrics, ax, theme, candidate=candidate, names=names, lower_is_better=losses
        )

    def _pair(self, first: str | None, second: str | None) -> tuple[str, str]:
        if first is not None and second is not None:
            return first, second
        if first is not None or second is not None:
            raise ValueError("name both models, or none")
        pair = chosen_pair(self._comparison)
        if pair is None:
            raise ValueError("there is one model only: nothing is compared")
        return pair.first, pair.second
