"""Pictures of a comparison, drawn with Matplotlib.

Functions take a comparison (or one of its tables), `ax` and `theme`, and return a `Picture`. `comparison.plot` has them
as methods. They change no global state: pyplot does not manage the figures, and no `rcParams` are set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...drawing.style import Picture
from ..content import choose_pair
from .curves import plot_curves, plot_gains
from .explain import plot_attribution, plot_queries
from .models import plot_leaderboard, plot_sensitivity

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ...comparison.comparison import Comparison

MAX_GRADES = 20
"""Up to this number of grades, the colors of queries are those of all grades in the data."""


class Plots:
    """Pictures of a comparison. Every method returns a `Picture`, which notebooks display and `Picture.save` writes.

    All accept `ax`, the axes to draw on (by default those of a new figure that pyplot does not manage), and `theme`,
    ``"light"`` or ``"dark"``.

    Parameters
    ----------
    comparison : Comparison
        The comparison to draw.

    Examples
    --------
    >>> import numpy as np
    >>> import gainwise as gw
    >>> labels, rng = np.tile([0, 1, 2, 4], 250), np.random.default_rng(0)
    >>> models = {name: labels + rng.normal(0, spread, 1000) for name, spread in [("a", 1), ("b", 2), ("c", 3)]}
    >>> picture = gw.compare(models, gw.Judgments(labels, group=[20] * 50)).plot.leaderboard()
    >>> picture.title.startswith("a is better than the 2 others by linear and by exponential gain (95 %)")
    True
    """

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison

    def __repr__(self) -> str:
        methods = [f".{name}()" for name in vars(Plots) if not name.startswith("_")]
        return f"Pictures of {self._comparison!r}: {', '.join(methods)}"

    def leaderboard(self, ax: Axes | None = None, theme: str = "light") -> Picture:
        """Draw the main chart, every model next to the best under both metrics: see `plot_leaderboard`."""
        return plot_leaderboard(self._comparison, ax, theme)

    def attribution(
        self, first: str | None = None, second: str | None = None, ax: Axes | None = None, theme: str = "light"
    ) -> Picture:
        """Draw why two models differ, grade by rank: see `plot_attribution`. By default the pair of `choose_pair`."""
        attribution = self._comparison.attribution(*self._choose_pair(first, second))
        return plot_attribution(attribution, ax, theme, names=self._comparison.content.names.labels)

    def queries(
        self,
        first: str | None = None,
        second: str | None = None,
        ax: Axes | None = None,
        theme: str = "light",
        *,
        most: int = 6,
    ) -> Picture:
        """Draw the most contradictory queries of two models: see `plot_queries`. By default those of `choose_pair`."""
        queries = self._comparison.queries(*self._choose_pair(first, second), most=most)
        rankings = self._comparison.rankings
        levels = () if rankings is None else rankings.judgments.levels.tolist()
        grades = levels if len(levels) <= MAX_GRADES else None
        return plot_queries(queries, ax, theme, most=most, names=self._comparison.content.names.labels, grades=grades)

    def curves(self, candidate: str | None = None, ax: Axes | None = None, theme: str = "light") -> Picture:
        """Draw both metrics over the rounds of training: see `plot_curves`.

        Raises
        ------
        ValueError
            If the comparison has no curves. Only results of experiments have them.
        """
        comparison = self._comparison
        if comparison.curves is None:
            raise ValueError("this comparison has no curves: they come with the results of an experiment")
        options: dict[str, Any] = {
            "names": comparison.content.names.labels,
            "lower_is_better": comparison.lower_is_better,
        }
        return plot_curves(comparison.curves, comparison.verdict.metrics, ax, theme, candidate=candidate, **options)

    def gains(self, ax: Axes | None = None, theme: str = "light", **options: Any) -> Picture:
        """Draw the best model for each gain: see `plot_gains`. Further options are those of `Comparison.gains`."""
        return plot_gains(self._comparison.gains(**options), ax, theme, names=self._comparison.content.names.labels)

    def sensitivity(self, ax: Axes | None = None, theme: str = "light", **options: Any) -> Picture:
        """Draw which choices reverse pairs of models: see `plot_sensitivity`. Options: see `Comparison`."""
        return plot_sensitivity(self._comparison.sensitivity(**options), ax, theme)

    def _choose_pair(self, first: str | None, second: str | None) -> tuple[str, str]:
        if first is not None and second is not None:
            return first, second
        if first is not None or second is not None:
            raise ValueError("name both models, or none")
        pair = choose_pair(self._comparison)
        if pair is None:
            raise ValueError("there is one model only: nothing is compared")
        return pair.first, pair.second
