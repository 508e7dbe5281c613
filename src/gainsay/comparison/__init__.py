"""Models compared on per-query values: leaderboard, pairs, and whether two metrics really disagree."""

from .comparison import Comparison, compare, compare_runs
from .verdict import Verdict

__all__ = ["Comparison", "Verdict", "compare", "compare_runs"]
