"""What per-query values of several models say: estimates, tests, pairs, attribution, and the verdict."""

from .verdict import Verdict

__all__ = ["Verdict"]
