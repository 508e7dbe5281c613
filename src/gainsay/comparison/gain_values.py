"""Values of rankings under any gain, and their joint estimate for many bases of the gain.

DCG is a sum over documents of gain(label) · discount(rank), so it is a sum over grades of gain(grade) times the
discounts of the ranks of that grade. These counts by query and grade are computed once. Every base of the power gain
then costs one product of small tables.

Each base is a metric, and all of them form one joint estimate, as two metrics do in a verdict. The values of a query
are smooth in the base. So the errors of all means are drawn at a few bases that are selected from the data (the
*nodes*). Those of the other bases are the linear combinations that fit their values best (an interpolative
decomposition). Means, standard errors and support of every base are exact.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._common.typing import Floats, Integers
from ..evaluation.evaluator import Evaluator
from ..metrics.dcg import DCG, NDCG
from ..metrics.gains import at_bases, discounts
from ..metrics.names import MetricLike, parse_metric
from .estimates import Estimate, RepeatError, estimate
from .inference import JointEstimate, draw_errors

if TYPE_CHECKING:
    from .._common.typing import Bools
    from ..judgments import Judgments
    from ..metrics.base import Metric
    from .data import Panel
    from .inference import Sample
    from .rankings import Rankings


def select_sums(metrics: Iterable[Metric]) -> list[DCG]:
    """Return the metrics that are sums over documents."""
    return [metric for metric in metrics if isinstance(metric, DCG) and metric.is_sum_over_documents]


def read_template(metric: MetricLike, argument: str = "metric") -> DCG:
    """Return the metric that determines cutoff, discount and all options but the gain.

    Raises
    ------
    ValueError
        If the metric is not a sum of gains over documents.
    """
    parsed = parse_metric(metric)
    for template in select_sums([parsed]):
        return template
    redefined = f" ({type(parsed).__name__} defines its values anew)" if isinstance(parsed, DCG) else ""
    raise ValueError(
        f"{argument} names {parsed}, which is not a sum of gains over documents{redefined}. Use one of the NDCG and "
        "DCG family, such as ndcg_linear@10."
    )


def find_template(compared: Mapping[str, Metric], primary: Iterable[str], metric: MetricLike | None = None) -> DCG:
    """Return the metric that determines all options but the gain: `metric`, otherwise a compared one, primary first.

    Raises
    ------
    ValueError
        If no metric is a sum of gains over documents, or the two primary ones differ in more than their gain.
    """
    if metric is not None:
        return read_template(compared.get(metric, metric) if isinstance(metric, str) else metric)
    first_metrics = select_sums(compared[name] for name in primary if name in compared)
    if len(first_metrics) == 2 and _list_options(first_metrics[0]) != _list_options(first_metrics[1]):
        raise ValueError(
            f"{first_metrics[0]} and {first_metrics[1]} differ in more than their gain. Choose the cutoff and discount "
            f"with gains(metric='{first_metrics[0]}')."
        )
    candidates = [*first_metrics, *select_sums(compared.values())]
    if not candidates:
        raise ValueError(
            f"gains requires a metric of the NDCG and DCG family, but only {', '.join(compared)} are compared. Pass "
            "one, for example gains(metric='ndcg_linear@10')."
        )
    return candidates[0]


def settle_discounts(template: DCG, longest: int) -> DCG:
    """Return the metric with linear gain and a table of discounts, so that a discount function keeps its name."""
    discount: Any = template.discount
    if callable(discount):
        discount = tuple(discounts(discount, template.base, longest).tolist())
    kind, options = _list_options(template)
    return kind(gain="linear", **options | {"discount": discount})


def set_base(template: DCG, base: float) -> DCG:
    """Return the metric with the power gain of a base."""
    kind, options = _list_options(template)
    return kind(gain="power", gain_base=base, **options)


def _list_options(template: DCG) -> tuple[type[DCG], dict[str, Any]]:
    """Return the class of the metric and all options but the gain."""
    options = ("discount", "base", "k", "ties", "empty", "scores", "weights")
    return NDCG if template.is_ratio else DCG, {option: getattr(template, option) for option in options}


def name_path(template: DCG) -> str:
    """Return the name of the metric as a function of the base b."""
    if callable(template.discount):
        return f"{template} with gain_base=b"
    return str(set_base(template, 1.5)).replace("gain_base=1.5", "gain_base=b")


class GradeCounts:
    """Discounted counts of documents by grade, and their values under the power gain of any base.

    A metric from `settle_discounts` determines cutoff, discount, ties and the value of queries without relevant
    documents. Labels must not be negative. `levels` are the labels above 0, ascending. `ideal`, shape (grades,
    queries), contains the counts of the ideal ranking, which is the same for every base. `empty` marks queries without
    relevant documents.
    """

    def __init__(self, template: DCG, judgments: Judgments) -> None:
        self.template, self.judgments = template, judgments
        if judgments.levels[0] < 0:
            raise ValueError(
                f"gains does not support negative labels (the lowest is {judgments.levels[0]:g}), because "
                "(b^l - 1)/(b - 1) is not a gain for them. Pass negative_labels='zero' to Judgments."
            )
        self.levels: Floats = judgments.levels[judgments.levels > 0]
        options: dict[str, Any] = {
            name: getattr(template, name) for name in ("discount", "base", "k", "ties", "scores")
        }
        counting = [
            DCG(gain={label: float(label == level) for label in judgments.levels.tolist()}, **options)
            for level in self.levels.tolist()
        ]
        self._evaluator = Evaluator(counting, judgments)
        in_order = Evaluator([replace(metric, ties="order") for metric in counting], judgments)
        self.ideal: Floats = np.ascontiguousarray(in_order(judgments.labels).per_query.T)
        self.empty: Bools = np.logical_not(self.ideal.any(axis=0))

    def count(self, scores: Floats) -> Floats:
        """Return the counts of one ranking of every query, shape (grades, queries)."""
        return np.ascontiguousarray(self._evaluator(scores).per_query.T)

    def compute_values(self, counts: Floats, bases: Sequence[float], queries: Any = slice(None)) -> Floats:
        """Return the metric of every query under the power gain of each base, shape (bases, …, queries).

        `counts`, shape (grades, …, queries), are those of one or several rankings on some `queries`. Queries that the
        metric skips are NaN. The gains must not overflow.
        """
        ideal, empty = self.ideal[:, queries], self.empty[queries]
        values = np.empty((len(bases), *counts.shape[1:]))
        for place, gains in enumerate(at_bases(self.levels, bases)):
            assert gains is not None
            values[place] = np.tensordot(gains, counts, axes=(0, 0))
            if self.template.is_ratio:
                values[place] /= np.where(empty, 1.0, gains @ ideal)
        if empty.any():
            values[..., empty] = np.nan if self.template.empty == "skip" else self.template.empty
        return values


CLOSE = 1e-6
"""Largest relative error of interpolated differences between models."""

SAMPLED = 20_000
"""Number of values from which the nodes are selected."""

MAX_VALUES = 4_000_000
"""Values of models on queries to estimate at once (32 MB), or those at one base if these are more."""

MAX_GRADES, MAX_COUNTS = 32, 40_000_000
"""Limits of the grades, and of the counts by grade, model and query (320 MB). Beyond them, each base is evaluated
separately."""


class Nodes(NamedTuple):
    """Which bases are nodes, and the weights, (bases, nodes), that combine values there to those at all bases."""

    places: Integers
    weights: Floats


def find_nodes(values: Floats) -> Nodes:
    """Choose the bases that determine the values at all others.

    `values` has shape (bases, models, queries), with a sample of queries. For several models, only their differences
    matter.
    """
    from scipy.linalg import qr, solve_triangular

    bases, models, _ = values.shape
    centered = values - values.mean(axis=1, keepdims=True) if models > 1 else values
    columns = centered.reshape(bases, -1).T
    triangle, order = qr(columns, mode="r", pivoting=True)
    size = np.linalg.norm(columns, axis=0).max()
    errors = [np.linalg.norm(triangle[count:, count:], axis=0).max(initial=0.0) for count in range(bases + 1)]
    count = max(1, next(number for number, error in enumerate(errors) if error <= CLOSE * size))
    weights = np.zeros((bases, count))
    if size > 0:
        weights[order[:count]] = np.eye(count)
    if size > 0 and count < bases:
        weights[order[count:]] = solve_triangular(triangle[:count, :count], triangle[:count, count:]).T
    return Nodes(order[:count], weights)


def estimate_gains(rankings: Rankings, sample: Sample, template: DCG, bases: Sequence[float]) -> JointEstimate:
    """Estimate all bases of the gain, each exactly, and draw the errors of all together.

    All options but the gain are those of `template`. The rows of the returned estimate are the bases. Its panel is that
    of the nodes, because the values at all bases would need much memory.
    """
    panel = sample.panel
    compute_values = _prepare_values(rankings, panel, template, bases)
    starts = np.cumsum([0, *(max(1, count) for count in panel.repeat_counts)])
    sizes = np.diff(starts)[:, None]

    def average_repeats(values: Floats) -> Floats:
        return values if panel.repeats is None else np.add.reduceat(values, starts[:-1], axis=1) / sizes

    def build_panel(places: Sequence[int]) -> Panel:
        values = compute_values(places, slice(None)) * (1.0 if template.higher_is_better else -1.0)
        repeats = panel.repeats and tuple(
            np.ascontiguousarray(values[:, start:stop].transpose(0, 2, 1)) for start, stop in itertools.pairwise(starts)
        )
        names = tuple(str(bases[place]) for place in places)
        losses: frozenset[str] = frozenset(() if template.higher_is_better else names)
        changed = replace(panel, metrics=names, values=average_repeats(values), repeats=repeats, lower_is_better=losses)
        return changed if counted.all() else changed.select(names)

    counted = ~np.isnan(compute_values([0], slice(None))[0, 0])
    some = np.flatnonzero(counted)[:: max(1, int(counted.sum()) * len(panel.models) // SAMPLED)]
    nodes = find_nodes(average_repeats(compute_values(range(len(bases)), some)))
    return estimate_gains_at_nodes(build_panel, nodes, sample.draws, sample.seed)


def estimate_gains_at_nodes(
    build_panel: Callable[[Sequence[int]], Panel], nodes: Nodes, draws: int, seed: int
) -> JointEstimate:
    """Estimate all bases, each exactly, and draw their joint errors. `build_panel` returns the values by place."""
    panel = build_panel(nodes.places.tolist())
    places = range(len(nodes.weights))
    size = max(1, MAX_VALUES // panel.values[0].size)
    single = [estimate(build_panel(places[start : start + size]), joint=False) for start in places[::size]]
    estimated = _combine_estimates(estimate(panel), single, nodes)
    return JointEstimate(panel, estimated, draw_errors(estimated, draws, seed, shared=True))


def _prepare_values(
    rankings: Rankings, panel: Panel, template: DCG, bases: Sequence[float]
) -> Callable[[Sequence[int], Integers | slice], Floats]:
    """Return the function that returns the values of all repeats of all models at some bases for some queries.

    It takes the places of both, and returns the shape (bases, repeats, queries).
    """
    template = settle_discounts(template, int(rankings.judgments.sizes.max()))
    queries = np.flatnonzero(rankings.weights > 0)
    levels = rankings.judgments.levels[rankings.judgments.levels > 0]
    trainings = sum(max(1, count) for count in panel.repeat_counts)
    # One array of scores at a time is in memory.
    all_scores = (scores for model in panel.models for scores in rankings.repeat_scores(model))
    is_small = len(levels) <= MAX_GRADES and len(levels) * trainings * len(queries) <= MAX_COUNTS
    if is_small and all(gains is not None for gains in at_bases(levels, bases)):
        grades = GradeCounts(template, rankings.judgments)
        counts = np.empty((len(levels), trainings, len(queries)))
        for place, scores in enumerate(all_scores):
            counts[:, place] = grades.count(scores)[:, queries]
        return lambda places, some: grades.compute_values(
            counts[..., some], [bases[place] for place in places], queries[some]
        )
    evaluator = Evaluator([set_base(template, base) for base in bases], rankings.judgments)
    values = np.empty((len(bases), trainings, len(queries)))
    for place, scores in enumerate(all_scores):
        values[:, place] = evaluator(scores).per_query.T[:, queries]
    return lambda places, some: np.stack([values[place][:, some] for place in places])


def _combine_estimates(joint: Estimate, single: Sequence[Estimate], nodes: Nodes) -> Estimate:
    """Return the separate estimates of all bases, with their joint errors combined from those of the nodes."""
    models, repeats = joint.mean.shape[1], joint.repeats
    spread = joint.root.reshape(len(joint.root), -1, models)
    root = np.einsum("rnm,bn->rbm", spread, nodes.weights).reshape(len(joint.root), -1)
    if repeats is not None:
        repeats = replace(
            repeats,
            root=np.einsum("krn,bn->krb", repeats.root, nodes.weights),
            **_concatenate_rows([part.repeats for part in single], RepeatError.BY_ROW),
        )
    return replace(joint, root=root, repeats=repeats, **_concatenate_rows(single, Estimate.BY_ROW))


def _concatenate_rows(parts: Sequence[Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
