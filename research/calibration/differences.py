"""Populations of differences of a candidate and a baseline with exactly known means, and comparisons of their samples.

The values of two metrics are between 0 and 1, so the difference of two models is between −1 and 1. The name of the
candidate comes first in natural order, so ties go to the candidate.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from gainwise import Comparison

Array = NDArray[np.float64]
Generator = np.random.Generator

METRICS = ("ndcg_linear@10", "ndcg_exp@10")
BASELINE, CANDIDATE = "production", "candidate"
DRAWS = 1000


def compare(differences: Array, *, bounded: bool = True, **options: Any) -> Comparison:
    """Return a comparison of a baseline and candidates, from the differences candidate − baseline.

    They have shape (queries,) if both metrics are equal, otherwise (queries, 2) or (queries, 2, candidates).
    """
    if differences.ndim == 1:
        differences = np.stack([differences, differences], axis=1)
    table = differences.reshape(len(differences), 2, -1)
    baseline = np.maximum(0.0, -table.min(axis=2, keepdims=True))
    values = np.concatenate([baseline, baseline + table], axis=2)
    count = table.shape[2]
    candidates = [CANDIDATE] if count == 1 else [f"{CANDIDATE} {number}" for number in range(1, count + 1)]
    by_metric = {metric: values[:, row] for row, metric in enumerate(METRICS)}
    ranges = dict.fromkeys(METRICS, (0.0, 1.0)) if bounded else {}
    return Comparison(by_metric, [BASELINE, *candidates], ranges=ranges, **({"draws": DRAWS} | options))


def draw_rare(rng: Generator, queries: int, share: float, others: float = 0.0, noise: float = 0.0) -> Array:
    """Return differences of −1 on a share of the queries, and normal ones with this mean and deviation on the others.

    The true mean is (1 − share) · others − share.
    """
    rest = others + noise * rng.standard_normal(queries)
    return np.where(rng.random(queries) < share, -1.0, rest)


class Lognormal(NamedTuple):
    """Differences with a long tail of losses: mean − scale · (exp(deviation · z) − its mean), z standard normal.

    With a `limit`, exp(deviation · z) is at most the limit, and the mean remains exact.
    """

    mean: float
    scale: float = 0.05
    deviation: float = 1.0
    limit: float = np.inf

    def draw(self, rng: Generator, queries: int) -> Array:
        """Return differences, shape (queries,)."""
        tail = np.minimum(np.exp(self.deviation * rng.standard_normal(queries)), self.limit)
        return np.asarray(self.mean - self.scale * (tail - self._compute_moment(1)))

    def _compute_moment(self, power: int) -> float:
        """Return E[min(exp(deviation · z), limit)^power]."""
        s = power * self.deviation
        moment = float(np.exp(s**2 / 2))
        if self.limit == np.inf:
            return moment
        z = float(np.log(self.limit)) / self.deviation
        return float(moment * ndtr(z - s) + self.limit**power * ndtr(-z))

    def compute_moments(self) -> tuple[float, float]:
        """Return the standard deviation and the skewness."""
        first, second, third = map(self._compute_moment, (1, 2, 3))
        variance = second - first**2
        return self.scale * variance**0.5, -(third - 3 * first * second + 2 * first**3) / variance**1.5


def draw_weighted(rng: Generator, queries: int, deviation: float, mean: float) -> tuple[Array, Array]:
    """Return differences and lognormal weights. The weighted mean is exact, and heavy queries lose more.

    The weight is exp(deviation · z). Among queries drawn by weight, z has mean `deviation`.
    """
    z = rng.standard_normal(queries)
    difference = mean - 0.05 * (z - deviation) + 0.05 * rng.standard_normal(queries)
    return np.clip(difference, -1, 1), np.exp(deviation * z)


def draw_clustered(
    rng: Generator, number: int, largest: int, power: float, mean: float
) -> tuple[Array, NDArray[np.int64]]:
    """Return differences and the cluster of each query. The mean over queries is exact, and large clusters lose more.

    Clusters have 1, 2, 4, … up to `largest` queries with probabilities proportional to size^−power.
    """
    logs = np.arange(np.log2(largest) + 1)
    sizes = (2**logs).astype(np.int64)
    chances = 2 ** (-power * logs)
    center = (chances * sizes) @ logs / (chances @ sizes)
    chosen = rng.choice(len(sizes), number, p=chances / chances.sum())
    clusters = np.repeat(np.arange(number), sizes[chosen])
    effect = -0.03 * (logs[chosen] - center) + 0.03 * rng.standard_normal(number)
    return mean + effect[clusters] + 0.05 * rng.standard_normal(len(clusters)), clusters
