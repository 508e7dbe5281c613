"""Bounds of the mean of bounded differences by betting, which are valid for every sample size and distribution.

A gambler bets against every possible mean m with a capital of 1. If m is the true mean, the capital exceeds 1/γ at any
time with probability γ at most, so all means with a larger capital are excluded. No moment of the sample needs to be
reliable, so losses that the sample does not contain are covered, too. The price is power.

References
----------
Waudby-Smith & Ramdas (2024), "Estimating means of bounded random variables by betting", Journal of the Royal
Statistical Society B 86(1).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from .._common.lazy import scipy
from .._common.typing import Floats, Integers
from .._common.validation import validate_choice
from .panel import Panel

BoundKind: TypeAlias = Literal["asymptotic", "betting"]

MAX_STAKE = 0.9
"""Largest share of the capital that a bet may lose."""

DIGEST_BYTES = 8
"""Bytes of the hash of a query id."""


def validate_bounds(bounds: BoundKind) -> BoundKind:
    """Return the kind of bounds, or raise `ValueError` if it is unknown."""
    validate_choice("bounds", bounds, get_args(BoundKind))
    return bounds


def validate_betting(panel: Panel, metrics: Sequence[str], ranges: Mapping[str, tuple[float, float]]) -> None:
    """Raise `ValueError` unless differences under these metrics are bounded, independent and of equal weight."""
    problem = ""
    if panel.repeats is not None:
        problem = "fixed models, got repeats. Pass one repeat of each model"
    elif panel.clusters is not None:
        problem = "independent queries, got clusters. Pass one query of each cluster"
    elif panel.weights is not None:
        problem = "equal weights, got different ones. Sample queries by traffic with weight 1"
    elif unbounded := [metric for metric in metrics if not np.isfinite(np.subtract(*ranges[metric]))]:
        problem = (
            f"a range of {unbounded[0]}, got none. Pass ranges= to Comparison, or define value_range of the metric"
        )
    if problem:
        raise ValueError(f"bounds='betting' requires {problem}.")


def compute_bets(values: Floats, level: float, size: int) -> Floats:
    """Return the bet on each value between 0 and 1, from the values before it: √(2 ln(1/γ) / (N σ²)).

    `size` is the planned number N of values. The bets are tuned to it, but valid for any number.
    """
    steps = np.arange(2, len(values) + 2)
    mean = (0.5 + np.cumsum(values)) / steps
    variance = (0.25 + np.cumsum((values - mean) ** 2)) / steps
    before = np.concatenate([[0.25], variance[:-1]])
    return np.asarray(np.sqrt(2 * math.log(1 / level) / (size * before)))


def compute_log_capital(values: Floats, bets: Floats, mean: float) -> Floats:
    """Return the logarithm of the capital after each bet that the true mean is larger than this one."""
    stakes = np.minimum(bets, MAX_STAKE / max(mean, 1e-300))
    return np.cumsum(np.log1p(stakes * (values - mean)))


def bound_mean(differences: Floats, width: float, level: float, size: int) -> float:
    """Return a lower bound of the mean of differences between −width and width, in the order of betting.

    >>> round(bound_mean(np.zeros(300), 1.0, 0.025, 300), 6)
    -0.014063
    """
    values = np.clip((differences + width) / (2 * width), 0.0, 1.0)
    bets, target = compute_bets(values, level, size), math.log(1 / level)

    def compute_excess(mean: float) -> float:
        return float(compute_log_capital(values, bets, mean).max()) - target

    if compute_excess(0.0) <= 0:
        return -width
    lowest = scipy.optimize.brentq(compute_excess, 0.0, 1.0, xtol=1e-13)  # The capital falls with the mean.
    return float(width * (2 * lowest - 1))


def find_p_value(differences: Floats, width: float, level: float, size: int) -> float:
    """Return the p-value of a mean of 0 or less: the inverse of the largest capital. It suits bounds at any level."""
    values = np.clip((differences + width) / (2 * width), 0.0, 1.0)
    capital = compute_log_capital(values, compute_bets(values, level, size), 0.5)
    return float(min(1.0, math.exp(-max(float(capital.max()), 0.0))))


def compute_digests(ids: Iterable[Any]) -> list[str]:
    """Return a hash of each query id.

    >>> compute_digests([1, "q2"])[0] == compute_digests(["1"])[0]
    True
    """
    return [blake2b(str(query).encode(), digest_size=DIGEST_BYTES).hexdigest() for query in ids]


def order_queries(digests: Sequence[str], earlier: str = "") -> Integers:
    """Return the places of queries in the order of betting: queries of earlier looks first, then others by their hash.

    A fixed hash leaves no choice. A shuffle with a seed of the user would change many decisions. `earlier` contains the
    hashes of the earlier queries in their order.
    """
    length = 2 * DIGEST_BYTES
    recorded = [earlier[start : start + length] for start in range(0, len(earlier), length)]
    rank = {digest: place for place, digest in enumerate(recorded)}
    if missing := len(rank) - sum(digest in rank for digest in digests):
        raise ValueError(
            f"earlier contains {missing:,} queries that are missing in this sample. Include the queries of all earlier "
            "looks, with the same ids."
        )
    return np.array(
        sorted(range(len(digests)), key=lambda place: (rank.get(digests[place], len(rank)), digests[place]))
    )
