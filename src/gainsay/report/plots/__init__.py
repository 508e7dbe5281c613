"""Pictures of a comparison, drawn with Matplotlib.

Functions take a comparison (or one of its tables), `ax` and `theme`, and return a `Picture`. `comparison.plot` has them
as methods. They change no global state: pyplot does not manage the figures, and no `rcParams` are set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

try:
    import matplotlib as _  # noqa: F401 # before anything here needs a part of it
except ImportError as error:
    raise ImportError("pictures need Matplotlib: pip install 'gainsay-ltr[report]'") from error

from ..content import choose_pair
from .curves import plot_best_rounds, plot_curves, plot_gains
from .explain import plot_attribution, plot_explain, plot_queries
from .models import plot_conflict, plot_leaderboard, plot_sensitivity
from .style import Picture, validate_picture_path

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from matplotlib.axes import Axes

    from ..._common.typing import FilePath
    from ...comparison.comparison import Comparison

    Path: TypeAlias = FilePath | None

__all__ = [
    "Picture",
    "Plots",
    "plot_attribution",
    "plot_best_rounds",
    "plot_conflict",
    "plot_curves",
    "plot_explain",
    "plot_gains",
    "plot_leaderboard",
    "plot_queries",
    "plot_sensitivity",
]

MAX_GRADES = 20
"""Up to this number of grades, the colors of queries are those of all grades in the data."""


class Plots:
    """Pictures of a comparison. Every method returns a `Picture`, which notebooks display.

    All accept `ax`, the axes to draw on (by default those of a new figure that pyplot does not manage), `theme`,
    ``"light"`` or ``"dark"``, and `path`, a file to write the picture to (.png, .svg or .pdf).

    Parameters
    ----------
    comparison : Comparison
        The comparison to draw.

    Examples
    --------
    >>> import numpy as np
    >>> import gainsay as gs
    >>> labels, rng = np.tile([0, 1, 2, 4], 250), np.random.default_rng(0)
    >>> models = {name: labels + rng.normal(0, spread, 1000) for name, spread in [("a", 1), ("b", 2), ("c", 3)]}
    >>> picture = gs.compare(models, gs.Judgments(labels, group=[20] * 50)).plot.leaderboard()
    >>> picture
    <Picture: a is best under both NDCGs>
    """

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison

    def __repr__(self) -> str:
        methods = [f".{name}()" for name in vars(Plots) if not name.startswith("_")]
        return f"Pictures of {self._comparison!r}: {', '.join(methods)}"

    def leaderboard(self, ax: Axes | None = None, theme: str = "light", *, path: Path = None) -> Picture:
        """Draw the main chart, every model next to the best under both metrics: see `plot_leaderboard`."""
        return _draw_and_save(path, lambda: plot_leaderboard(self._comparison, ax, theme))

    def conflict(self, ax: Axes | None = None, theme: str = "light", *, path: Path = None) -> Picture:
        """Draw every pair of models under both metrics: see `plot_conflict`."""
        return _draw_and_save(path, lambda: plot_conflict(self._comparison, ax, theme))

    def attribution(
        self,
        first: str | None = None,
        second: str | None = None,
        ax: Axes | None = None,
        theme: str = "light",
        *,
        path: Path = None,
    ) -> Picture:
        """Draw why two models differ, grade by rank: see `plot_attribution`. By default the pair of `choose_pair`."""
        pair, names = self._choose_pair(first, second), self._comparison.short_names
        return _draw_and_save(
            path, lambda: plot_attribution(self._comparison.attribution(*pair), ax, theme, names=names)
        )

    def queries(
        self,
        first: str | None = None,
        second: str | None = None,
        ax: Axes | None = None,
        theme: str = "light",
        *,
        most: int = 6,
        path: Path = None,
    ) -> Picture:
        """Draw the most contradictory queries of two models: see `plot_queries`. By default those of `choose_pair`."""
        pair, rankings = self._choose_pair(first, second), self._comparison.rankings
        levels = () if rankings is None else rankings.judgments.levels.tolist()
        grades = levels if len(levels) <= MAX_GRADES else None
        options: dict[str, Any] = {"most": most, "names": self._comparison.short_names, "grades": grades}
        return _draw_and_save(
            path, lambda: plot_queries(self._comparison.queries(*pair, most=most), ax, theme, **options)
        )

    def curves(
        self, candidate: str | None = None, ax: Axes | None = None, theme: str = "light", *, path: Path = None
    ) -> Picture:
        """Draw both metrics over the rounds of training: see `plot_curves`.

        Raises
        ------
        ValueError
            If the comparison has no curves. Only results of experiments have them.
        """
        comparison, curves = self._comparison, self._comparison.curves
        if curves is None:
            raise ValueError("this comparison has no curves: they come with the results of an experiment")
        options: dict[str, Any] = {"names": comparison.short_names, "lower_is_better": comparison.lower_is_better}
        metrics = comparison.verdict.metrics
        return _draw_and_save(path, lambda: plot_curves(curves, metrics, ax, theme, candidate=candidate, **options))

    def gains(self, ax: Axes | None = None, theme: str = "light", *, path: Path = None, **options: Any) -> Picture:
        """Draw the best model for each gain: see `plot_gains`. Further options are those of `Comparison.gains`."""
        return _draw_and_save(path, lambda: plot_gains(self._comparison.gains(**options), ax, theme))

    def sensitivity(
        self, ax: Axes | None = None, theme: str = "light", *, path: Path = None, **options: Any
    ) -> Picture:
        """Draw which choices reverse pairs of models: see `plot_sensitivity`. Options: see `Comparison`."""
        return _draw_and_save(path, lambda: plot_sensitivity(self._comparison.sensitivity(**options), ax, theme))

    def _choose_pair(self, first: str | None, second: str | None) -> tuple[str, str]:
        if first is not None and second is not None:
            return first, second
        if first is not None or second is not None:
            raise ValueError("name both models, or none")
        pair = choose_pair(self._comparison)
        if pair is None:
            raise ValueError("there is one model only: nothing is compared")
        return pair.first, pair.second


def _draw_and_save(path: Path, draw: Callable[[], Picture]) -> Picture:
    """Return the picture that `draw` makes, and save it if a path is given. An invalid path raises before drawing."""
    if path is None:
        return draw()
    validate_picture_path(path)
    picture = draw()
    picture.save(path)
    return picture
