"""Descriptions: how alike two metrics order the models. They illustrate a verdict and never replace it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._common.typing import Floats
from .estimates import Estimate
from .resampling import Noise

__all__ = ["best_probabilities", "kendall_tau", "tau_ap", "winners_differ"]


def kendall_tau(first: ArrayLike, second: ArrayLike) -> float | None:
    """Kendall's τ-b of two lists of means, which allows for ties; None where one of them ties all models.

    τ_b = (C − D)/√((C + D + T₁)(C + D + T₂)) with C concordant and D discordant pairs, T₁ and T₂ the pairs that only
    the first or only the second ties.

    Examples
    --------
    >>> round(kendall_tau([3, 2, 1], [3, 1, 2]), 6)
    0.333333
    >>> kendall_tau([1, 1], [2, 1]) is None
    True
    """
    x, y = _two_lists(first, second)
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    # Every pair counts twice, above and below the line.
    over, under = (np.sign(values[:, None] - values) for values in (x, y))
    return float((over * under).sum() / np.sqrt(np.count_nonzero(over)) / np.sqrt(np.count_nonzero(under)))


def tau_ap(values: ArrayLike, reference: ArrayLike) -> float | None:
    r"""τ_AP of the order by `values` against the order by `reference`; None for fewer than two models.

    τ_AP = 2/(M − 1) · Σ_{i=2..M} C(i)/(i − 1) − 1 with C(i) the number of models above rank i that `reference` too puts
    above the model at rank i. It is 1 for equal orders, −1 for opposite ones, 0 on average for random ones; it is not
    symmetric. Ties: the exact expectation when the ties of either list are broken at random.

    Parameters
    ----------
    values, reference : array, shape (M,)
        Means of the same models, larger is better.

    Returns
    -------
    float or None

    References
    ----------
    Yilmaz, Aslam & Robertson (2008), "A new rank correlation coefficient for information retrieval", SIGIR.

    Examples
    --------
    >>> tau_ap([3, 2, 1], [3, 1, 2])  # the two at the bottom swapped: (1/1 + 1/2) - 1
    0.5
    >>> tau_ap([3, 2, 1], [2, 3, 1])  # the two at the top swapped: (0/1 + 2/2) - 1
    0.0
    """
    x, y = _two_lists(values, reference)
    count = len(x)
    if count < 2:
        return None
    total = 0.0
    # above[i, j]: the probability that the reference puts j above i.
    above = (y[None, :] > y[:, None]) + 0.5 * (y[None, :] == y[:, None])
    for i in range(count):
        before = x > x[i]
        tied = x == x[i]
        tied[i] = False
        start, size = int(before.sum()), int(tied.sum()) + 1
        right_before, right_tied = above[i, before].sum(), above[i, tied].sum()
        # At place p of its tie run the model has all of `before` above it, and p of the others on average alike.
        for place in range(size):
            if start + place:
                within = right_tied * place / (size - 1) if size > 1 else 0.0
                total += (right_before + within) / (start + place) / size
    return float(2 * total / (count - 1) - 1)


def best_probabilities(estimated: Estimate, noise: Noise) -> Floats:
    """In what share of draws each model is best under each metric, a draw with ties shared among those tied.

    Returns
    -------
    ndarray, shape (metrics, M)
        Rows sum to 1.
    """
    best = _best_in_draws(estimated, noise)
    share: Floats = (best / best.sum(axis=1, keepdims=True)).mean(axis=2)
    return share


def winners_differ(estimated: Estimate, noise: Noise) -> float:
    """In what share of draws no model is best under all metrics."""
    common = _best_in_draws(estimated, noise).all(axis=0).any(axis=0)
    return float(np.mean(~common))


def _best_in_draws(estimated: Estimate, noise: Noise) -> Any:
    drawn = noise.values + estimated.mean[:, :, None]
    return drawn >= drawn.max(axis=1, keepdims=True)


def _two_lists(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"both orders must list the same models: got shapes {x.shape} and {y.shape}")
    if np.isnan(x).any() or np.isnan(y).any():
        raise ValueError("means must not be NaN")
    return x, y
