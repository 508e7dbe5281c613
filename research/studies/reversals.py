"""How often another choice reverses the order of two systems, with intervals over systems.

A system is a configuration or a training recipe with one or more repeats. The share of a pair of systems is the share
of the pairs of their repeats whose order is reversed. The overall share is the mean over pairs of systems, so a system
with many repeats does not count more than others. Intervals use the jackknife over systems.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import gainwise as gw
from gainwise.comparison.panel import Panel, build_panel
from gainwise.comparison.ranked_models import Rankings
from gainwise.comparison.sensitivity import compute_sensitivity, estimate_share

Floats = NDArray[np.float64]
BASE, OTHER = "ndcg_linear@10", "ndcg_exp@10"
ALPHA = 0.05
CHOICES = {
    OTHER: "exponential gain",
    "ndcg_jk@10": "Järvelin & Kekäläinen's discount",
    "ndcg_linear@5": "cutoff 5",
    "ndcg_linear@20": "cutoff 20",
}
"""The package's names of the choices that a comparison without scores contains as metrics."""


def describe_choices(
    comparison: gw.Comparison, systems: NDArray[np.int64], suspect: Sequence[int] = ()
) -> dict[str, dict[str, Any]]:
    """Return what each other choice reverses, and what another repeat of both systems reverses.

    The repeats of `suspect` systems are not compared with each other.
    """
    panel, rankings = group_repeats(comparison, systems)
    sensitivity = compute_sensitivity(panel, BASE, comparison.definitions, rankings, ALPHA, comparison.settings.seed)
    rows = sensitivity.to_dict()["choices"]
    choices = {CHOICES.get(row["choice"], row["choice"]): row for row in rows if row["kind"] != "repeat"}
    for row in choices.values():
        del row["choice"], row["winner"]
    trusted = ~np.isin(systems, suspect)
    means = np.asarray(comparison.values[BASE]).mean(axis=0)
    shares = find_reversed_by_repeats(means[trusted], systems[trusted])
    if len(shares) > 1:
        choices["another repeat of both"] = {"kind": "repeat", "systems": len(shares), **summarize_pairs(shares)}
    return choices


def group_repeats(comparison: gw.Comparison, systems: NDArray[np.int64]) -> tuple[Panel, Rankings | None]:
    """Return the values and scores of systems, whose repeats are the models of a comparison of equal weights.

    A configuration of `gainwise.compare` requires three repeats. Here, one or two suffice, because the variance between
    repeats is not estimated.
    """
    members = {str(system): np.flatnonzero(systems == system) for system in np.unique(systems)}
    tables: dict[str, Floats] = {}
    repeats: dict[int, dict[str, Floats]] = {column: {} for column in range(len(members))}
    for metric, values in comparison.values.items():
        arrays = [np.asarray(values)[:, places] for places in members.values()]
        tables[metric] = np.stack([array.mean(axis=1) for array in arrays], axis=1)
        for column, array in enumerate(arrays):
            repeats[column][metric] = array
    panel, rankings = build_panel(tables, repeats, list(members)), comparison.rankings
    if rankings is None:
        return panel, None
    scores = {
        name: [np.asarray(rankings.scores[comparison.models[place]]) for place in places]
        for name, places in members.items()
    }
    return panel, replace(rankings, scores=scores)


def summarize_pairs(shares: Floats) -> dict[str, Any]:
    """Return the mean over pairs of systems with its interval."""
    share, lower, upper = map(float, estimate_share(shares, ALPHA))
    return {"reversed": share, "lower": lower, "upper": upper}


def find_reversed_by_repeats(means: Floats, systems: NDArray[np.int64]) -> Floats:
    """Return the share reversed by other repeats of both systems, for the systems that have two or more.

    >>> find_reversed_by_repeats(np.array([1.0, 2.0, 1.5, 3.0]), np.array([0, 0, 1, 1]))[0, 1]
    0.5
    """
    names, counts = np.unique(systems, return_counts=True)
    repeated = names[counts > 1]
    signs = np.sign(means[:, None] - means[None, :])
    shares = np.zeros((len(repeated), len(repeated)))
    for i, first in enumerate(repeated):
        for j, second in enumerate(repeated[:i]):
            block = signs[np.ix_(systems == first, systems == second)]
            n, m = block.shape
            products = np.einsum("ij,kl->ikjl", block, block) < 0
            is_other = ~np.eye(n, dtype=bool)[:, :, None, None] & ~np.eye(m, dtype=bool)
            shares[i, j] = shares[j, i] = products[is_other].mean()
    return shares
