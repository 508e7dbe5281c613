"""Pictures of a comparison, drawn with Matplotlib.

Functions take a comparison (or one of its tables), `ax` and `theme`, and return a `Picture`. `comparison.plot` has them
as methods. They change no global state: pyplot does not manage the figures, and no `rcParams` are set.
"""

try:
    import matplotlib as _  # noqa: F401 # before anything here needs a part of it
except ImportError as error:
    raise ImportError("pictures need Matplotlib: pip install 'gainsay-ltr[report]'") from error

from .accessor import Plots
from .curves import plot_curves
from .explain import plot_attribution, plot_explain, plot_queries
from .gains import plot_gains
from .leaderboard import plot_leaderboard
from .pairs import plot_conflict
from .picture import Picture
from .rows import plot_bound, plot_sensitivity

__all__ = [
    "Picture",
    "Plots",
    "plot_attribution",
    "plot_bound",
    "plot_conflict",
    "plot_curves",
    "plot_explain",
    "plot_gains",
    "plot_leaderboard",
    "plot_queries",
    "plot_sensitivity",
]
