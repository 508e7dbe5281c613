"""How often another choice reverses the order of two systems, with intervals over systems.

A system is a configuration or a training recipe with one or more repeats. The share of a pair of systems is the share
of the pairs of their repeats whose order is reversed. The overall share is the mean over pairs of systems, so a system
with many repeats does not count more than others. Intervals use the jackknife over systems.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
HALVES = 200
NORMAL = 1.959964
"""The 97.5 % quantile of the normal distribution."""


def compute_differences(means: Floats) -> Floats:
    """Return the difference of each pair of repeats, shape (repeats, repeats)."""
    return means[:, None] - means[None, :]


def average_by_system(table: Floats, systems: NDArray[np.int64]) -> Floats:
    """Average a table of pairs of repeats within pairs of systems."""
    members = np.equal.outer(systems, np.unique(systems)).astype(float)
    members /= members.sum(axis=0)
    return np.asarray(members.T @ table @ members)


def find_reversed(base: Floats, alternative: Floats, systems: NDArray[np.int64]) -> Floats:
    """Return the share of pairs of repeats with reversed order, shape (systems, systems).

    `base` and `alternative` are means over queries, one per repeat. A tie reverses nothing.
    """
    is_reversed = compute_differences(base) * compute_differences(alternative) < 0
    return average_by_system(is_reversed.astype(float), systems)


def find_reversed_by_repeats(means: Floats, systems: NDArray[np.int64]) -> tuple[Floats, NDArray[np.int64]]:
    """Return the share reversed by taking other repeats of both systems, and the systems that have two or more."""
    names, counts = np.unique(systems, return_counts=True)
    repeated = names[counts > 1]
    signs = np.sign(compute_differences(means))
    shares = np.zeros((len(repeated), len(repeated)))
    for i, first in enumerate(repeated):
        for j, second in enumerate(repeated[:i]):
            block = signs[np.ix_(systems == first, systems == second)]
            n, m = block.shape
            products = np.einsum("ij,kl->ikjl", block, block) < 0
            other = ~np.eye(n, dtype=bool)[:, :, None, None] & ~np.eye(m, dtype=bool)
            shares[i, j] = shares[j, i] = products[other].mean()
    return shares, repeated


def find_reversed_by_halves(values: Floats, systems: NDArray[np.int64], seed: int) -> Floats:
    """Return the share reversed between two random halves of the queries. `values` has shape (queries, repeats)."""
    rng = np.random.default_rng(seed)
    tables = []
    for _ in range(HALVES):
        order = rng.permutation(len(values))
        first, second = order[: len(order) // 2], order[len(order) // 2 :]
        tables.append(find_reversed(values[first].mean(axis=0), values[second].mean(axis=0), systems))
    return np.asarray(np.mean(tables, axis=0))


def summarize_pairs(shares: Floats) -> dict[str, Any]:
    """Return the mean over pairs of systems and its 95 % interval by the jackknife over systems."""
    n = len(shares)
    above = np.triu_indices(n, 1)
    summary = {"share": float(shares[above].mean()), "systems": n, "pairs": len(above[0])}
    if n < 4:
        return {**summary, "half_width": None}
    total, by_system = shares[above].sum(), shares.sum(axis=1) - np.diag(shares)
    without = (total - by_system) / ((n - 1) * (n - 2) / 2)
    error = np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
    return {**summary, "half_width": float(NORMAL * error)}


def summarize_choices(
    base: str, values: dict[str, Floats], systems: NDArray[np.int64], seed: int, suspect: Sequence[int] = ()
) -> dict[str, dict[str, Any]]:
    """Summarize each other metric, another repeat, and the other half of the queries against the base metric.

    `values` contains the values per query of each metric, shape (queries, repeats). The repeats
    of `suspect` systems are not compared with each other.
    """
    means = {name: table.mean(axis=0) for name, table in values.items()}
    choices = {name: summarize_choice(means[base], mean, systems) for name, mean in means.items() if name != base}
    trusted = ~np.isin(systems, suspect)
    shares, repeated = find_reversed_by_repeats(means[base][trusted], systems[trusted])
    if len(repeated) > 1:
        choices["another repeat"] = summarize_pairs(shares)
    choices["other half of the queries"] = summarize_pairs(find_reversed_by_halves(values[base], systems, seed))
    return choices


def summarize_choice(base: Floats, alternative: Floats, systems: NDArray[np.int64]) -> dict[str, Any]:
    """Summarize one alternative: shares, single pairs, and the largest difference that it reverses."""
    is_reversed = np.triu(compute_differences(base) * compute_differences(alternative) < 0)
    smaller = np.minimum(np.abs(compute_differences(base)), np.abs(compute_differences(alternative)))
    best, best_alternative = base.argmax(), alternative.argmax()
    return {
        **summarize_pairs(find_reversed(base, alternative, systems)),
        "reversed_pairs_of_repeats": int(is_reversed.sum()),
        "pairs_of_repeats": len(base) * (len(base) - 1) // 2,
        "largest_reversed_difference": float(np.max(smaller, where=is_reversed, initial=0.0)),
        "same_winner": bool(systems[best] == systems[best_alternative]),
    }
