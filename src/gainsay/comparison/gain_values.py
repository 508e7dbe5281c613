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

from .._common.cpus import cpus
from .._common.typing import Floats, Integers
from ..evaluation.evaluator import Evaluator
from ..evaluation.groups import AlignedScores, Family, Group
from ..metrics.dcg import DCG, NDCG
from ..metrics.gains import MAX_EXPONENT, at_bases, discounts, magnitude, power, raised
from ..metrics.names import MetricLike, parse_metric
from ..ranking.rows import table_of
from .estimates import Estimate, RepeatError, estimate
from .resampling import JointEstimate, draw_errors

if TYPE_CHECKING:
    from .._common.typing import Bools
    from ..judgments import Judgments
    from ..metrics.base import Metric
    from ..metrics.dcg import DCG
    from .data import Panel
    from .rankings import Rankings
    from .resampling import Sample


def read_template(metric: MetricLike) -> DCG:
    """Return the metric that determines cutoff, discount and all options but the gain.

    Raises
    ------
    ValueError
        If the metric is not a sum of gains over documents.
    """
    chosen = parse_metric(metric)
    if not isinstance(chosen, DCG) or not chosen.is_sum_over_documents:
        raise ValueError(
            f"metric names {chosen}, which is not a sum of gains over documents. Use one of the NDCG and DCG family, "
            "such as metric='ndcg_linear@10'"
        )
    return chosen


def find_template(compared: Mapping[str, Metric], primary: Iterable[str], metric: MetricLike | None = None) -> DCG:
    """Return the metric that determines all options but the gain: `metric`, otherwise a compared one, primary first.

    Raises
    ------
    ValueError
        If no metric is a sum of gains over documents, or the two primary ones differ in more than their gain.
    """
    if metric is not None:
        return read_template(compared.get(metric, metric) if isinstance(metric, str) else metric)
    asked = [compared[name] for name in primary if name in compared]
    for metrics in (asked, compared.values()):
        found = [one for one in metrics if isinstance(one, DCG) and one.is_sum_over_documents]
        if metrics is asked and len(found) == 2 and _lent(found[0]) != _lent(found[1]):
            raise ValueError(
                f"{found[0]} and {found[1]} differ in more than their gain. Choose the cutoff and discount with "
                f"gains(metric='{found[0]}')."
            )
        if found:
            return found[0]
    raise ValueError(
        f"gains requires a metric of the NDCG and DCG family, but only {', '.join(compared)} are compared. Pass one, "
        "for example gains(metric='ndcg_linear@10')."
    )


def settle_discounts(template: DCG, longest: int) -> DCG:
    """Return the metric with linear gain and a table of discounts, so that a discount function keeps its name."""
    discount: Any = template.discount
    if callable(discount):
        discount = tuple(discounts(discount, template.base, longest).tolist())
    kind, options = _lent(template)
    return kind(gain="linear", **options | {"discount": discount})


def at_base(template: DCG, base: float) -> DCG:
    """Return the metric with the power gain of a base."""
    kind, options = _lent(template)
    return kind(gain="power", gain_base=base, **options)


def _lent(template: DCG) -> tuple[type[DCG], dict[str, Any]]:
    """Return the class of the metric and all options but the gain."""
    options = ("discount", "base", "k", "ties", "empty", "scores", "weights")
    return NDCG if template.is_ratio else DCG, {option: getattr(template, option) for option in options}


def name_path(template: DCG) -> str:
    """Return the name of the metric as a function of the base b."""
    if callable(template.discount):
        return f"{template} with gain_base=b"
    return str(at_base(template, 1.5)).replace("gain_base=1.5", "gain_base=b")


class GradeCounts:
    """Discounted counts of documents by grade, and their values under the power gain of any base.

    A metric from `settle_discounts` determines cutoff, discount, ties and the value of queries without relevant
    documents. Labels must not be negative. `levels` are the labels above 0, ascending. `ideal`, shape (grades,
    queries), contains the counts of the ideal ranking, which is the same for every base. `empty` marks queries without
    relevant documents.
    """

    def __init__(self, template: DCG, judgments: Judgments) -> None:
        self.template, self.judgments, self._threads = template, judgments, cpus()
        if judgments.levels[0] < 0:
            raise ValueError(
                f"gains does not support negative labels (the lowest is {judgments.levels[0]:g}), because "
                "(b^l - 1)/(b - 1) is not a gain for them. Pass negative_labels='zero' to Judgments."
            )
        self.levels: Floats = judgments.levels[judgments.levels > 0]
        options = {option: getattr(template, option) for option in ("discount", "base", "k", "scores")}
        relevant = {label: float(label > 0) for label in judgments.levels.tolist()}
        counting = DCG(gain=relevant, ties=template.ties, **options)
        facts = counting.bind(judgments, (template.k,))
        tables = [table_of((judgments.levels == level).astype(np.float64)) for level in self.levels.tolist()]
        of_grade = [replace(facts, gains=replace(facts.gains, table=table)) for table in tables]
        families = [Family(counting, own, (template.k,), slice(place, place + 1)) for place, own in enumerate(of_grade)]
        self._group = Group(counting, "irrelevant", families, list(range(len(families))))
        in_order = replace(self._group, like=replace(counting, ties="order"))
        self.ideal: Floats = self._counts(in_order, judgments.labels)
        self.empty: Bools = np.logical_not(self.ideal.any(axis=0)) if template.is_ratio else facts.empty[:, 0]

    def of(self, scores: Floats) -> Floats:
        """Return the counts of one ranking of every query, shape (grades, queries)."""
        return self._counts(self._group, scores)

    def _counts(self, group: Group, scores: Floats) -> Floats:
        return np.ascontiguousarray(
            group.evaluate(self.judgments, AlignedScores.of(self.judgments, scores), self._threads).T
        )

    def values(self, counts: Floats, bases: Sequence[float], queries: Any = slice(None)) -> Floats:
        """Return the metric of every query under the power gain of each base, shape (bases, …, queries).

        `counts`, shape (grades, …, queries), are those of one or several rankings on some `queries`. Queries that the
        metric skips are NaN.
        """
        ideal, empty = self.ideal[:, queries], self.empty[queries]
        found = np.empty((len(bases), *counts.shape[1:]))
        for place, (base, gains) in enumerate(zip(bases, at_bases(self.levels, bases), strict=True)):
            if gains is None:  # Each query has its own scale.
                gains = self._scaled(base)[:, queries]
                worth, best = np.einsum("g...q,gq->...q", counts, gains), (ideal * gains).sum(axis=0)
            else:
                worth, best = np.tensordot(gains, counts, axes=(0, 0)), gains @ ideal
            found[place] = worth / np.where(empty, 1.0, best) if self.template.is_ratio else worth
        if empty.any():
            found[..., empty] = np.nan if self.template.empty == "skip" else self.template.empty
        return found

    def _scaled(self, base: float) -> Floats:
        """Return gains that do not overflow, divided for each query by about its largest gain."""
        validate_overflow(self.template, base, self.judgments)
        return scaled_gains(self.levels, self.ideal, base)


def validate_overflow(template: DCG, base: float, judgments: Judgments) -> None:
    """Raise if gains overflow and are not divided by an ideal."""
    if not template.is_ratio:
        at_base(template, base).bind(judgments, (template.k,))  # This raises the error.


def scaled_gains(levels: Floats, ideal: Floats, base: float) -> Floats:
    """Return gains that do not overflow, divided for each query by about its largest gain.

    `levels` ascend above 0. `ideal`, shape (grades, queries), is positive for the levels that a query has.
    """
    top = (levels[:, None] * (ideal > 0)).max(axis=0)
    labels = np.minimum(levels[:, None], top)
    large = magnitude(top, base) > MAX_EXPONENT
    with np.errstate(under="ignore"):
        scaled = raised(base, labels - top) - raised(base, -top)
    return np.where(large, scaled, power(np.where(large, 0.0, labels), base))


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


def estimate_gains(rankings: Rankings, sample: Sample, template: DCG, bases: Sequence[float]) -> JointEstimate:
    """Estimate all bases of the gain, each exactly, and draw the errors of all together.

    All options but the gain are those of `template`. The rows of the returned estimate are the bases. Its panel is that
    of the nodes, because the values at all bases would need much memory.
    """
    panel = sample.panel
    at = _values_at(rankings, panel, settle_discounts(template, int(rankings.judgments.sizes.max())), bases)
    turned = 1.0 if template.higher_is_better else -1.0
    losses = frozenset(() if template.higher_is_better else map(str, bases))
    starts = np.cumsum([0, *(max(1, count) for count in panel.repeat_counts)])
    sizes = np.diff(starts)[:, None]

    def by_model(values: Floats) -> Floats:
        return values if panel.repeats is None else np.add.reduceat(values, starts[:-1], axis=1) / sizes

    def panel_at(places: Sequence[int]) -> Panel:
        found = turned * at(places, slice(None))
        repeats = panel.repeats and tuple(
            np.ascontiguousarray(found[:, start:stop].transpose(0, 2, 1)) for start, stop in itertools.pairwise(starts)
        )
        wanted = tuple(str(bases[place]) for place in places)
        made = replace(
            panel, metrics=wanted, values=by_model(found), repeats=repeats, lower_is_better=losses & set(wanted)
        )
        return made if counted.all() else made.select(wanted)

    counted = ~np.isnan(at([0], slice(None))[0, 0])
    some = np.flatnonzero(counted)[:: max(1, int(counted.sum()) * len(panel.models) // SAMPLED)]
    nodes = find_nodes(by_model(at(range(len(bases)), some)))
    return estimate_gains_at_nodes(panel_at, nodes, sample.draws, sample.seed)


def estimate_gains_at_nodes(
    panel_at: Callable[[Sequence[int]], Panel], nodes: Nodes, draws: int, seed: int
) -> JointEstimate:
    """Estimate all bases, each exactly, and draw their joint errors. `panel_at` returns the values by place."""
    few = panel_at(nodes.places.tolist())
    places = range(len(nodes.weights))
    together = max(1, MAX_VALUES // few.values[0].size)
    parts = [places[start : start + together] for start in places[::together]]
    estimated = _combined(estimate(few), [estimate(panel_at(part), joint=False) for part in parts], nodes)
    return JointEstimate(few, estimated, draw_errors(estimated, draws, seed, shared=True))


def _values_at(
    rankings: Rankings, panel: Panel, lending: DCG, bases: Sequence[float]
) -> Callable[[Sequence[int], Integers | slice], Floats]:
    """Return the function that returns the values of all repeats of all models at some bases for some queries.

    It takes the places of both, and returns the shape (bases, repeats, queries).
    """
    kept = np.flatnonzero(rankings.weights > 0)
    grades, trainings = int((rankings.judgments.levels > 0).sum()), sum(max(1, count) for count in panel.repeat_counts)
    each = (scores for model in panel.models for scores in rankings.repeat_scores(model))  # one at a time in memory
    if grades <= MAX_GRADES and grades * trainings * len(kept) <= MAX_COUNTS:
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
    """Return the separate estimates of all bases, with their joint errors combined from those of the nodes."""
    rows: dict[str, Any] = {name: np.concatenate([getattr(one, name) for one in single]) for name in Estimate.BY_ROW}
    models, repeats = joint.mean.shape[1], joint.repeats
    spread = joint.root.reshape(len(joint.root), -1, models)
    root = np.einsum("rnm,bn->rbm", spread, nodes.weights).reshape(len(joint.root), -1)
    if repeats is not None:
        parts: dict[str, Any] = {
            name: np.concatenate([getattr(one.repeats, name) for one in single]) for name in RepeatError.BY_ROW
        }
        repeats = replace(repeats, root=np.einsum("krn,bn->krb", repeats.root, nodes.weights), **parts)
    return replace(joint, root=root, repeats=repeats, **rows)
