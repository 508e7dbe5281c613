"""Descriptions: how alike two metrics order the models. They illustrate a verdict and never replace it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .inputs import FloatArray, check_family, check_level, check_seed, losses_of, read_panel
from .paired import holm, pair_p_values
from .resampling import Estimate, Noise, draw_noise, estimate

__all__ = ["Descriptions", "best_probabilities", "describe", "kendall_tau", "tau_ap", "winners_differ"]


@dataclass(frozen=True)
class Descriptions:
    """How alike two metrics order the models, and how sharply each tells them apart. Not tests of disagreement.

    Attributes
    ----------
    metrics : tuple of str
        The two metrics.
    kendall_tau : float or None
        Kendall's τ-b of the two orders of models by mean; None where a metric ties all models.
    tau_ap : float or None
        τ_AP, the mean of both directions; a swap near the top costs more than one below. None for fewer than two
        models.
    pairs : int
        How many pairs of models there are.
    separated : dict of metric name to int
        Discriminative power: how many pairs the metric separates at `alpha` after Holm's correction.
    separated_share : dict of metric name to float
        The same as a share of all pairs; 0 where there is no pair.
    best_probability : dict of metric name to dict of model to float
        In what share of draws the model is best, ties shared.
    winners_differ_probability : float
        In what share of draws no model is best under both.
    alpha : float
        As given.
    """

    metrics: tuple[str, str]
    kendall_tau: float | None
    tau_ap: float | None
    pairs: int
    separated: dict[str, int]
    separated_share: dict[str, float]
    best_probability: dict[str, dict[str, float]]
    winners_differ_probability: float
    alpha: float

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON knows it."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}


def describe(
    values: Mapping[str, ArrayLike],
    models: Sequence[str] | None = None,
    weights: ArrayLike | None = None,
    alpha: float = 0.05,
    draws: int = 10_000,
    seed: int = 0,
    primary: Sequence[str] | None = None,
    higher_is_better: Mapping[str, bool] | None = None,
) -> Descriptions:
    """Describe how two metrics order the models.

    Parameters
    ----------
    values : mapping of metric name to array, shape (queries, models)
        Per-query values; NaN on queries that a metric skips. The description is of the queries that both metrics have.
    models, weights, alpha, draws, seed
        As for `Verdict.from_values`; the shares of draws are the same as there.
    primary : two metric names, optional
        Which two to compare; the first two by default.
    higher_is_better : mapping of metric name to bool, optional
        False for a loss; a higher value of a metric that is not named is better.

    Returns
    -------
    Descriptions

    Raises
    ------
    ValueError
        If the values or settings are not as said.

    Examples
    --------
    >>> import numpy as np
    >>> first = np.random.default_rng(0).random((200, 1)) * [0.9, 0.8, 0.7]
    >>> about = describe({"a": first, "b": first[:, [1, 0, 2]]}, models=["x", "y", "z"])
    >>> round(about.kendall_tau, 4), about.tau_ap, about.separated
    (0.3333, 0.0, {'a': 3, 'b': 3})
    """
    level = check_level(alpha)
    seed, draws = check_seed(seed, draws, level)
    panel = read_panel(values, models, weights, lower_is_better=losses_of(higher_is_better, values))
    names = check_family(primary, panel.metrics)
    estimated = estimate(panel.select(names))
    noise = draw_noise(estimated, draws, seed)
    pairs = math.comb(len(panel.models), 2)
    separated = dict(zip(names, _count_separated(estimated, level), strict=True))
    shares = best_probabilities(estimated, noise)
    first, second = _rounded(estimated)
    return Descriptions(
        metrics=names,
        kendall_tau=kendall_tau(first, second),
        tau_ap=_both_ways(first, second),
        pairs=pairs,
        separated=separated,
        separated_share={name: count / pairs if pairs else 0.0 for name, count in separated.items()},
        best_probability={
            name: dict(zip(panel.models, row.tolist(), strict=True)) for name, row in zip(names, shares, strict=True)
        },
        winners_differ_probability=winners_differ(estimated, noise),
        alpha=level,
    )


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


def best_probabilities(estimated: Estimate, noise: Noise) -> FloatArray:
    """In what share of draws each model is best under each metric, a draw with ties shared among those tied.

    Returns
    -------
    ndarray, shape (metrics, M)
        Rows sum to 1.
    """
    best = _best_in_draws(estimated, noise)
    share: FloatArray = (best / best.sum(axis=1, keepdims=True)).mean(axis=2)
    return share


def winners_differ(estimated: Estimate, noise: Noise) -> float:
    """In what share of draws no model is best under all metrics."""
    common = _best_in_draws(estimated, noise).all(axis=0).any(axis=0)
    return float(np.mean(~common))


def _best_in_draws(estimated: Estimate, noise: Noise) -> Any:
    drawn = noise.values + estimated.mean[:, :, None]
    return drawn >= drawn.max(axis=1, keepdims=True)


def _rounded(estimated: Estimate) -> FloatArray:
    """Give means whose differences are rounding one value, so that they count as ties."""
    means = estimated.mean.copy()
    for row, tolerance in zip(means, estimated.tolerance, strict=True):
        order = np.argsort(row, kind="stable")
        for lower, upper in itertools.pairwise(order):
            if row[upper] - row[lower] <= tolerance:
                row[upper] = row[lower]
    return means


def _both_ways(first: FloatArray, second: FloatArray) -> float | None:
    one, other = tau_ap(first, second), tau_ap(second, first)
    return None if one is None or other is None else (one + other) / 2


def _count_separated(estimated: Estimate, alpha: float) -> list[int]:
    first, second = np.triu_indices(estimated.mean.shape[1], 1)
    two_sided = pair_p_values(estimated).two_sided[:, first, second]
    return [int(np.count_nonzero(holm(row) <= alpha)) for row in two_sided]


def _two_lists(first: ArrayLike, second: ArrayLike) -> tuple[FloatArray, FloatArray]:
    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"both orders must list the same models: got shapes {x.shape} and {y.shape}")
    if np.isnan(x).any() or np.isnan(y).any():
        raise ValueError("means must not be NaN")
    return x, y
