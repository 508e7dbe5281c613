"""How far linear and exponential NDCG can differ on given labels, whatever the model.

By the rearrangement inequality, the extreme values for one ranking have a closed form. For two rankings, the bound is
the minimum of a convex function of one number t. See `bound_two_rankings`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gainsay as gs

Floats = NDArray[np.float64]
SIMULATED_QUERIES = 1_000
PUBLISHED = {
    "MSLR-WEB30K": ([0.52, 0.32, 0.13, 0.02, 0.01], 120),
}
"""Shares of labels from 0 and documents per query, as published with the dataset."""


def make_shares(labels: Iterable[Floats]) -> tuple[Floats, Floats]:
    """Return each document's share of the ideal DCG@10 under linear and exponential gain, padded with zeros."""
    rows = [np.sort(row)[::-1] for row in labels]
    width = max(10, *(len(row) for row in rows))
    padded = np.zeros((len(rows), width))
    for row, values in zip(padded, rows, strict=True):
        row[: len(values)] = values
    discounts = _discounts(width)
    tables = []
    for gains in (padded, np.exp2(padded) - 1):
        ideal = gains @ discounts
        tables.append(gains / np.where(ideal > 0, ideal, 1.0)[:, None])
    return tables[0], tables[1]


def _discounts(width: int, k: int = 10) -> Floats:
    discounts = np.zeros(width)
    discounts[:k] = 1 / np.log2(np.arange(2, k + 2))
    return discounts


def bound_one_ranking(linear: Floats, exponential: Floats) -> tuple[float, float]:
    """Return the largest mean of NDCG_exp − NDCG_lin over queries, and of NDCG_lin − NDCG_exp."""
    discounts = _discounts(linear.shape[1])
    above = np.sort(exponential - linear, axis=1)[:, ::-1] @ discounts
    below = np.sort(linear - exponential, axis=1)[:, ::-1] @ discounts
    return float(above.mean()), float(below.mean())


def bound_two_rankings(linear: Floats, exponential: Floats) -> float:
    """Return a bound on the largest conflict of two models: the smaller of two opposite differences.

    It is the minimum over t in [0, 1] of the mean spread of t·λ − (1 − t)·ε, with λ and ε the shares of the ideal DCG.
    """
    discounts = _discounts(linear.shape[1])

    def compute_spread(t: float) -> float:
        values = np.sort(t * linear - (1 - t) * exponential, axis=1)
        return float(np.mean(values[:, ::-1] @ discounts - values @ discounts))

    low, high = 0.0, 1.0
    while high - low > 1e-7:  # The spread is convex, so a third without the minimum can be dropped.
        first, second = low + (high - low) / 3, high - (high - low) / 3
        if compute_spread(first) < compute_spread(second):
            high = second
        else:
            low = first
    return compute_spread((low + high) / 2)


def describe_labels(judgments: gs.Judgments, labels: Floats) -> dict[str, Any]:
    """Return the distribution of the labels and the bounds for a dataset."""
    ends = np.cumsum(judgments.sizes)
    return describe_queries(np.split(labels, ends[:-1]))


def describe_queries(rows: list[Floats]) -> dict[str, Any]:
    """Return the distribution of labels and the bounds, for labels by query."""
    linear, exponential = make_shares(rows)
    above, below = bound_one_ranking(linear, exponential)
    values, counts = np.unique(np.concatenate(rows), return_counts=True)
    return {
        "queries": len(rows),
        "documents": int(counts.sum()),
        "documents_by_label": {f"{value:g}": int(count) for value, count in zip(values, counts, strict=True)},
        "one_ranking_exponential_above_linear": above,
        "one_ranking_linear_above_exponential": below,
        "two_rankings": bound_two_rankings(linear, exponential),
    }


def describe_published(seed: int) -> dict[str, Any]:
    """Return bounds for simulated queries with published distributions of labels."""
    rng = np.random.default_rng(seed)
    return {
        name: describe_queries([rng.choice(len(shares), length, p=shares) for _ in range(SIMULATED_QUERIES)])
        for name, (shares, length) in PUBLISHED.items()
    }
