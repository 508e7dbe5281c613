"""Settings of tests and the scope of statements, which several results have in common."""

from __future__ import annotations

from dataclasses import dataclass, field

from .panel import Vary


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of all tests and bounds.

    Attributes
    ----------
    alpha : float
        Level.
    margin : float
        Largest difference of means that is tolerated.
    draws, seed : int
        Number of bootstrap draws, and the random seed.
    """

    alpha: float
    margin: float
    draws: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class Scope:
    """What statements are about: the sample of queries and repeats.

    Attributes
    ----------
    queries : int
        Number of queries of positive weight with a value under all metrics.
    clusters : int or None
        Number of clusters of queries. None if queries are independent.
    repeats : dict of model to int
        Number of repeats of each configuration, 0 for a fixed model. Empty if all models are fixed.
    vary : {"seed", "queries"} or None
        What differs between repeats.
    lower_is_better : tuple of str
        Metrics whose lower values are better.
    """

    queries: int
    clusters: int | None = None
    repeats: dict[str, int] = field(default_factory=dict)
    vary: Vary | None = None
    lower_is_better: tuple[str, ...] = ()
