"""Shares of queries that get better, get worse and stay, with intervals that hold for the three together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._common.typing import Floats
from .estimates import ROUNDING
from .inputs import Panel

__all__ = ["Share", "goodman", "shares_of"]


class Share(NamedTuple):
    """A share of all queries, and its bounds."""

    value: float
    lower: float
    upper: float


def shares_of(panel: Panel, row: int, baseline: int, candidate: int, alpha: float) -> dict[str, Share]:
    """Return on what share of the queries a candidate is better than a baseline, worse, and the same.

    Under weights a share is one of the weight, and as many queries stand behind it as (Σw)²/Σw² says; of queries in
    clusters, as many as there are clusters of that weight, as if all queries of one were copies.

    The metric `row` and the two models go by their places; the three intervals hold together at level `alpha`.

    >>> panel = Panel(("m",), ("A", "B"), np.array([[[0.0, 0, 0, 1], [1, 1, 0, 0]]]), None)
    >>> {name: share.value for name, share in shares_of(panel, 0, 0, 1, 0.05).items()}
    {'better': 0.5, 'worse': 0.25, 'same': 0.25}
    """
    values = panel.values[row]
    difference = values[candidate] - values[baseline]
    tolerance = ROUNDING * np.abs(values).max()
    weights = np.ones(panel.queries) if panel.weights is None else panel.weights
    units = weights if panel.clusters is None else np.bincount(panel.clusters, weights)
    kinds = [difference > tolerance, difference < -tolerance, np.abs(difference) <= tolerance]
    shares = np.array([float(weights @ kind) for kind in kinds]) / weights.sum()
    lower, upper = goodman(shares, float(weights.sum() ** 2 / (units @ units)), alpha)
    return {
        name: Share(float(share), float(low), float(high))
        for name, share, low, high in zip(("better", "worse", "same"), shares, lower, upper, strict=True)
    }


def goodman(shares: Floats, size: float, alpha: float) -> tuple[Floats, Floats]:
    """Return simultaneous bounds of shares of a multinomial sample of that size: Wilson's intervals, each at α over k.

    References
    ----------
    Goodman (1965), "On simultaneous confidence intervals for multinomial proportions", Technometrics 7(2).
    """
    from scipy.special import chdtri

    squared = float(chdtri(1, alpha / len(shares)))
    half = np.sqrt(squared * (squared + 4 * size * shares * (1 - shares)))
    middle, width = squared + 2 * size * shares, 2 * (size + squared)
    return np.maximum(0.0, (middle - half) / width), np.minimum(1.0, (middle + half) / width)
