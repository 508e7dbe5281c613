"""Descriptions: how alike two metrics order the models. They illustrate a verdict and never replace it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .._common.typing import Floats
from .estimates import Estimate
from .resampling import Noise

__all__ = ["best_in_draws", "kendall_tau", "tau_ap"]


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
    x, y = np.asarray(first), np.asarray(second)
    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    # Every pair counts twice, above and below the line.
    over, under = (np.sign(values[:, None] - values) for values in (x, y))
    return float((over * under).sum() / np.sqrt(np.count_nonzero(over)) / np.sqrt(np.count_nonzero(under)))


def tau_ap(values: ArrayLike, reference: ArrayLike) -> float | None:
    r"""τ_AP of the order by `values` against the order by `reference`; None for fewer than two models.

    τ_AP = 2/(M − 1) · Σ_{i=2..M} C(i)/(i − 1) − 1 with C(i) the number of models above rank i that `reference` too puts
    above the model at rank i. It is 1 for equal orders, −1 for opposite ones, 0 on average for random ones; it is not
    symmetric. Both hold means of the same models, larger is better. Ties: the exact expectation when the ties of either
    list are broken at random.

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
    x, y = np.asarray(values), np.asarray(reference)
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


def best_in_draws(estimated: Estimate, noise: Noise) -> tuple[Floats, float]:
    """Return in what share of draws each model is best, shape (metrics, M), and in what share none is under all.

    A draw with ties is shared among those tied, so that rows sum to 1.
    """
    drawn = noise.values + estimated.mean[:, :, None]
    best = drawn >= drawn.max(axis=1, keepdims=True)
    shares: Floats = (best / best.sum(axis=1, keepdims=True)).mean(axis=2)
    return shares, float(np.mean(~best.all(axis=0).any(axis=0)))
