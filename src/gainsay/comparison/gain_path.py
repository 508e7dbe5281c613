"""Means of all models at many bases of the gain together, and draws of their errors, at the cost of a few bases.

Each base is a metric, and all of them form one family as two metrics do in a verdict. What a query's value is at one
base says nearly all about its value at another: values are smooth in the base. So the errors of all means are drawn at
a few of the bases, chosen from the data (the *nodes*), and the others are the combinations of these that fit their
values best: an interpolative decomposition. Means, errors and support of every base are exact.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._common.typing import Floats, Integers
from ..evaluation.evaluator import Evaluator
from .estimates import Estimate, estimate
from .grades import GradeCounts, at_base, settled
from .recipes import RunError
from .resampling import draw_noise
from .sample import Family

if TYPE_CHECKING:
    from ..metrics.dcg import DCG
    from .inputs import Panel
    from .rankings import Rankings
    from .sample import Sample

CLOSE = 1e-6
"""Differences between models are off by no more than this share of their size where they are interpolated."""

SAMPLED = 20_000
"""From so many values the nodes are chosen."""

MOST_VALUES = 4_000_000
"""So many values of models on queries are estimated at once (32 MB), or those at one base if these are more."""

MOST_GRADES, MOST_COUNTS = 32, 40_000_000
"""So many grades are counted, and as many counts by grade, model and query kept (320 MB); for more, each base is
evaluated by itself."""


class Nodes(NamedTuple):
    """Which bases are nodes, and the weights, (bases, nodes), that combine values there to those at all bases."""

    places: Integers
    weights: Floats


def find_nodes(values: Floats) -> Nodes:
    """Choose the bases from which the values at all others follow.

    `values`, (bases, models, queries), are of a sample of queries. Of several models only their differences count.
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


def path_family(rankings: Rankings, sample: Sample, family: DCG, bases: Sequence[float]) -> Family:
    """Estimate all bases of the gain, each exactly, and draw the errors of all together.

    `family` lends all options but the gain. The rows of the returned family are the bases; its panel is that of the
    nodes, for all values at once would be large.
    """
    panel = sample.panel
    at = _values_at(rankings, panel, settled(family, int(rankings.judgments.sizes.max())), bases)
    turned = 1.0 if family.higher_is_better else -1.0
    losses = frozenset(() if family.higher_is_better else map(str, bases))
    starts = np.cumsum([0, *(max(1, count) for count in panel.run_counts)])
    sizes = np.diff(starts)[:, None]

    def by_model(values: Floats) -> Floats:
        return values if panel.runs is None else np.add.reduceat(values, starts[:-1], axis=1) / sizes

    def panel_at(places: Sequence[int]) -> Panel:
        found = turned * at(places, slice(None))
        runs = panel.runs and tuple(
            np.ascontiguousarray(found[:, start:stop].transpose(0, 2, 1)) for start, stop in itertools.pairwise(starts)
        )
        wanted = tuple(str(bases[place]) for place in places)
        made = replace(panel, metrics=wanted, values=by_model(found), runs=runs, lower_is_better=losses & set(wanted))
        return made if counted.all() else made.select(wanted)

    counted = ~np.isnan(at([0], slice(None))[0, 0])
    some = np.flatnonzero(counted)[:: max(1, int(counted.sum()) * len(panel.models) // SAMPLED)]
    nodes = find_nodes(by_model(at(range(len(bases)), some)))
    return estimate_path(panel_at, nodes, sample.draws, sample.seed)


def estimate_path(panel_at: Callable[[Sequence[int]], Panel], nodes: Nodes, draws: int, seed: int) -> Family:
    """Estimate all bases, each exactly, and draw the errors of all together; `panel_at` has the values by place."""
    few = panel_at(nodes.places.tolist())
    places = range(len(nodes.weights))
    together = max(1, MOST_VALUES // few.values[0].size)
    parts = [places[start : start + together] for start in places[::together]]
    estimated = _combined(estimate(few), [estimate(panel_at(part), joint=False) for part in parts], nodes)
    return Family(few, estimated, draw_noise(estimated, draws, seed))


def _values_at(
    rankings: Rankings, panel: Panel, lending: DCG, bases: Sequence[float]
) -> Callable[[Sequence[int], Integers | slice], Floats]:
    """Return the function that has the values of all runs of all models at some bases, for some of the panel's queries.

    It takes the places of both, and returns the shape (bases, runs, queries).
    """
    kept = np.flatnonzero(rankings.weights > 0)
    grades, trainings = int((rankings.judgments.levels > 0).sum()), sum(max(1, count) for count in panel.run_counts)
    each = (scores for model in panel.models for scores in rankings.runs_of(model))  # one at a time in memory
    if grades <= MOST_GRADES and grades * trainings * len(kept) <= MOST_COUNTS:
        counts = GradeCounts(lending, rankings.judgments)
        table = np.empty((len(counts.levels), trainings, len(kept)))
        for place, one in enumerate(each):
            table[:, place] = counts.of(one)[:, kept]
        return lambda places, some: counts.values(table[..., some], [bases[place] for place in places], kept[some])
    evaluator = Evaluator([at_base(lending, base) for base in bases], rankings.judgments)
    every = np.empty((len(bases), trainings, len(kept)))
    for place, one in enumerate(each):
        every[:, place] = evaluator(one).per_query.T[:, kept]
    return lambda places, some: np.stack([every[place][:, some] for place in places])


def _combined(joint: Estimate, single: Sequence[Estimate], nodes: Nodes) -> Estimate:
    """Return what is said of every base by itself, with the errors of the nodes combined for those of all."""
    rows: dict[str, Any] = {name: np.concatenate([getattr(one, name) for one in single]) for name in Estimate.BY_ROW}
    models, runs = joint.mean.shape[1], joint.runs
    spread = joint.root.reshape(len(joint.root), -1, models)
    root = np.einsum("rnm,bn->rbm", spread, nodes.weights).reshape(len(joint.root), -1)
    if runs is not None:
        parts: dict[str, Any] = {
            name: np.concatenate([getattr(one.runs, name) for one in single]) for name in RunError.BY_ROW
        }
        runs = replace(runs, root=np.einsum("krn,bn->krb", runs.root, nodes.weights), **parts)
    return replace(joint, root=root, runs=runs, **rows)
