"""Pictures of a comparison, drawn with Matplotlib.

Functions take a comparison (or one of its tables), `ax` and `theme`, and return the axes; `comparison.plot` has them
as methods. They change no global state: figures are unknown to pyplot, and no `rcParams` are set.
"""

try:
    import matplotlib as _  # noqa: F401 # before anything here needs a part of it
except ImportError as error:
    raise ImportError("pictures need Matplotlib: pip install 'gainsay[report]'") from error

from .accessor import Plots
from .conflict import plot_conflict
from .contributions import plot_explain
from .curves import plot_curves
from .heatmaps import plot_attribution, plot_pairs
from .ranks import plot_ranks
from .regret import plot_regret
from .strips import plot_queries
from .style import alt_text

__all__ = [
    "Plots",
    "alt_text",
    "plot_attribution",
    "plot_conflict",
    "plot_curves",
    "plot_explain",
    "plot_pairs",
    "plot_queries",
    "plot_ranks",
    "plot_regret",
]
