"""Means of all models at many bases of the gain together, and draws of their errors, at the cost of a few bases.

Each base is a metric, and all of them form one family as two metrics do in a verdict. What a query's value is at one
base says nearly all about its value at another: values are smooth in the base. So the errors of all means are drawn at
a few of the bases, chosen from the data (the *nodes*), and the others are the combinations of these that fit their
values best: an interpolative decomposition. Means, errors and support of every base are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .inputs import FloatArray, Panel
from .resampling import IntArray, draw_noise, estimate
from .sample import Family

__all__ = ["Nodes", "estimate_path", "find_nodes"]

BY_ROW = ("mean", "difference", "error", "mean_error", "wins", "support", "differing", "twin", "tolerance")
OF_RUNS = ("variance", "query_error", "query_mean_error", "error", "mean_error")
"""What an estimate holds metric by metric."""

CLOSE = 1e-6
"""Differences between models are off by no more than this share of their size where they are interpolated."""

SAMPLED = 20_000
"""From so many values the nodes are chosen."""


@dataclass(frozen=True)
class Nodes:
    """Some of the bases, and how all others are combined from them.

    Attributes
    ----------
    places : ndarray of int, shape (nodes,)
        Which bases.
    weights : ndarray, shape (bases, nodes)
        Values at all bases are about ``weights @ values_at_nodes``.
    """

    places: IntArray
    weights: FloatArray


def find_nodes(values: FloatArray) -> Nodes:
    """Choose the bases from which the values at all others follow.

    Parameters
    ----------
    values : ndarray, shape (bases, models, queries)
        Of a sample of queries. Of several models only their differences count.

    Returns
    -------
    Nodes
    """
    from scipy.linalg import qr, solve_triangular

    bases, models, _ = values.shape
    centred = values - values.mean(axis=1, keepdims=True) if models > 1 else values
    columns = centred.reshape(bases, -1).T
    triangle, order = qr(columns, mode="r", pivoting=True)
    size = np.linalg.norm(columns, axis=0).max()
    rest = [np.linalg.norm(triangle[count:, count:], axis=0).max(initial=0.0) for count in range(bases + 1)]
    count = max(1, next(number for number, left in enumerate(rest) if left <= CLOSE * size))
    weights = np.zeros((bases, count))
    weights[order[:count]] = np.eye(count)
    if count < bases and size > 0:
        weights[order[count:]] = solve_triangular(triangle[:count, :count], triangle[:count, count:]).T
    elif count < bases:
        weights[:] = 0.0
    return Nodes(order[:count], weights)


def estimate_path(panel_at: Callable[[Sequence[int]], Panel], nodes: Nodes, draws: int, seed: int) -> Family:
    """Estimate all bases, each exactly, and draw the errors of all together.

    Parameters
    ----------
    panel_at : callable
        Returns the values at some of the bases, given their places.
    nodes : Nodes
        From whose errors those of all bases follow.
    draws, seed : int
        Of the noise.

    Returns
    -------
    Family
        Its rows are the bases. The panel is that of the nodes: all values at once would be large.
    """
    panel = panel_at(nodes.places.tolist())
    joint = estimate(panel)
    single = [estimate(panel_at([place])) for place in range(len(nodes.weights))]
    rows: dict[str, Any] = {name: np.concatenate([getattr(one, name) for one in single]) for name in BY_ROW}
    models = joint.mean.shape[1]
    spread = joint.root.reshape(len(joint.root), -1, models)
    root = np.einsum("rnm,bn->rbm", spread, nodes.weights).reshape(len(joint.root), -1)
    runs = joint.runs
    if runs is not None:
        parts: dict[str, Any] = {name: np.concatenate([getattr(one.runs, name) for one in single]) for name in OF_RUNS}
        runs = replace(runs, root=np.einsum("krn,bn->krb", runs.root, nodes.weights), **parts)
    estimated = replace(joint, root=root, runs=runs, **rows)
    return Family(panel, estimated, draw_noise(estimated, draws, seed))
