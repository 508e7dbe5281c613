"""Path of gains: the best model under each gain between linear and exponential, and beyond.

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
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from .._common import cached_property
from .._common.lazy import pandas as pd
from .._common.lazy import scipy
from .._common.text import TextResult, format_confidence, format_exact, format_p_value, join_names, pluralize, printable
from .._common.typing import Bools, Floats, Integers
from .._common.validation import validate_real
from ..evaluation.evaluator import Evaluator, shared_weights
from ..metrics.base import Metric
from ..metrics.dcg import DCG, NDCG, at_bases, discounts
from ..metrics.names import MetricLike
from .estimates import Estimate, RepeatError, estimate
from .inference import BestTest, JointEstimate, Sample, compute_regret_band, critical_value, draw_errors
from .panel import Panel
from .ranked_models import Rankings, read_template, select_sums

DEFAULT_BASES = tuple(np.round(np.geomspace(1, 4, 25), 6).tolist())
"""25 bases from 1 (linear) over 2 (exponential) to 4, evenly spaced in log b."""

AXIS_BASES = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 64.0)
"""Bases to label on an axis if there is room."""

FINE_STEPS = 48
"""Steps between two bases in which means are interpolated."""

CLOSE = 1e-6
"""Largest relative error of interpolated differences between models."""

SAMPLED = 20_000
"""Number of values from which the nodes are selected."""

MAX_VALUES = 4_000_000
"""Values of models on queries to estimate at once (32 MB), or those at one base if these are more."""

MAX_GRADES, MAX_COUNTS = 32, 40_000_000
"""Limits of the grades, and of the counts by grade, model and query (320 MB). Beyond them, each base is evaluated
separately."""

GainsVerdictKind = Literal["genuine", "agree", "unresolved"]


class GainsVerdict(NamedTuple):
    """Verdict on whether some model is best under every gain.

    Attributes
    ----------
    kind : {"genuine", "agree", "unresolved"}
        No model is best at every base, one model is best at every base, or neither is shown at level `alpha`.
    p_value : float
        P-value of the hypothesis that some model is best at every base. At most alpha exactly if the kind is
        ``"genuine"``.
    always_best : tuple of str
        Models that may be best at every base. Empty if the kind is ``"genuine"``.
    """

    kind: GainsVerdictKind
    p_value: float
    always_best: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class GainPath(TextResult):
    """Means of all models under the gains (b^l − 1)/(b − 1) for a range of bases b. `Comparison.gains` creates it.

    Base 1 is linear gain, base 2 exponential gain. Each grade adds b times the gain that the grade below adds. Cutoff,
    discount, ties and weights are those of the metric.

    Attributes
    ----------
    metric : str
        The metric as a function of b.
    bases : tuple of float
        Bases in ascending order.
    models : tuple of str
        Names in natural order.
    queries : int
        Number of queries of positive weight with a value.
    grades : tuple of float
        Labels in the data, at most nine of them.
    winners : DataFrame
        One row per range of b with the same best model: `model`, `from`, `to`. Means are exact at the
        bases, and interpolated by cubic splines in log b between them.
    best_sets : dict of base to tuple of str
        Models that may be best at each base. All sets together contain the best model of every base with probability
        1 − alpha, so they may be larger than those of a verdict.
    best_ranges : DataFrame
        The same by model: `model`, `from`, `to`.
    swaps : DataFrame
        One row for each change of order: `first` is better below `base`, `second` above. `lower` to `upper` is a
        confidence interval of that base, simultaneous for all pairs. At the first or last base, it may continue.
    verdict : GainsVerdict
        Whether some model is best at every base: the test of `Verdict` with all bases as its metrics.
    lower_is_better : bool
        Whether the metric is a loss.
    alpha, draws, seed : float, int, int
        Settings.

    Examples
    --------
    >>> import gainwise as gw
    >>> from gainwise.data import simulate
    >>> data = simulate(200, seed=1)
    >>> labels = data.labels
    >>> scores = {"fair": (labels > 0) + 0.1 * labels, "excellent": 1.0 * (labels == labels.max())}
    >>> gains = gw.compare(scores, data.judgments(), ["ndcg_linear@10", "ndcg_exp@10"]).gains([1, 1.5, 2, 3])
    >>> gains.winners
      model  from   to
    0  fair   1.0  3.0
    >>> gains.verdict.kind
    'agree'
    """

    metric: str
    bases: tuple[float, ...]
    models: tuple[str, ...]
    queries: int
    grades: tuple[float, ...]
    mean: Floats
    regret: Floats
    lower: Floats
    upper: Floats
    winners: pd.DataFrame
    best_sets: dict[float, tuple[str, ...]]
    best_ranges: pd.DataFrame
    swaps: pd.DataFrame
    verdict: GainsVerdict
    lower_is_better: bool
    alpha: float
    draws: int
    seed: int

    def frame(self) -> pd.DataFrame:
        """Return one row per base and model: `base`, `model`, `mean`, `regret`, `lower`, `upper`.

        `regret` is the gap to the best model at that base. `lower` to `upper` is its band, simultaneous for all bases
        and models. `lower` is positive exactly if the model is not in `best_sets`.
        """
        index = pd.MultiIndex.from_product([self.bases, self.models], names=["base", "model"])
        columns = {name: getattr(self, name).ravel() for name in ("mean", "regret", "lower", "upper")}
        return pd.DataFrame(columns, index).reset_index()

    @cached_property
    def text(self) -> str:
        """Two sentences with numbers."""
        return printable(f"{self._describe_winners()} {self._describe_verdict()}")

    @property
    def _ends(self) -> tuple[str, str]:
        return format_exact(self.bases[0]), format_exact(self.bases[-1])

    @property
    def _best(self) -> str:
        return "lowest" if self.lower_is_better else "highest"

    def _describe_winners(self) -> str:
        size = f"{pluralize(len(self.models), 'model')} on {pluralize(self.queries, 'query')}"
        low, high = self._ends
        *changing, (last, _, _) = self.winners.itertuples(index=False)
        opening = f"Under {self.metric} with gain (b^l - 1)/(b - 1),"
        if not changing:
            return f"{opening} {last} has the {self._best} mean at every base b from {low} to {high} ({size})."
        parts = [f"{model} to b = {format_base(stop)}" for model, _, stop in changing]
        if len(parts) > 5:
            parts = [*parts[:2], f"{len(parts) - 4} further changes", *parts[-2:]]
        path = ", then ".join([*parts, f"{last} to b = {high}"])
        return f"{opening} the model with the {self._best} mean from b = {low} is {path} ({size})."

    def _describe_verdict(self) -> str:
        kind, p, always = self.verdict
        level, (low, high) = format_confidence(self.alpha), self._ends
        if len(self.models) == 1:
            return f"{self.models[0]} is the only model."
        if kind == "agree":
            return f"{always[0]} is better than all others at every base ({level})."
        if kind == "unresolved":
            names = join_names(always, word="or")
            return f"One model may be best at every base (p = {format_p_value(p)}). If so, it is {names} ({level})."
        first, last = (join_names(self.best_sets[self.bases[place]], word="or") for place in (0, -1))
        ends = f"at b = {low} it is {first}, at b = {high} it is {last}"
        return f"No model is best at every base (p = {format_p_value(p)}): {ends} ({level}, simultaneous)."

    def to_dict(self) -> dict[str, Any]:
        """Return all results and `text` as plain values for JSON. Infinite bounds become None."""
        return self._export(
            ("metric", "bases", "models", "queries", "path", "winners", "best_sets", "best_ranges", "swaps", "verdict",
             "lower_is_better", "alpha", "draws", "seed", "text"),
            path=self.frame(),
            best_sets=[{"base": base, "models": models} for base, models in self.best_sets.items()],
        )  # fmt: skip

    @cached_property
    def headline(self) -> str:
        """The models that may be best at every gain, and the highest mean, without the last full stop."""
        changes, (low, high), total = len(self.winners) - 1, self._ends, len(self.models)
        winner, level = printable(self.winners["model"].iloc[0]), format_confidence(self.alpha)
        bases = f"at every gain from b = {low} to {high}"
        if total == 1:
            return f"{winner} is the only model"
        if self.verdict.kind == "agree":
            others = "the other one" if total == 2 else f"the {total - 1} others"
            return f"{winner} is better than {others} {bases} ({level})"
        number = len(self.verdict.always_best)
        subject = "No model is" if self.verdict.kind == "genuine" else f"{number} of {total} models may be"
        times = {1: "once", 2: "twice"}.get(changes, f"{changes} times")
        mean = f"The model with the {self._best} mean changes {times}"
        if not changes:
            mean = f"{winner} has the {self._best} mean at each"
        return f"{subject} best {bases} ({level}). {mean}"


def format_base(base: float) -> str:
    """Return a base with two decimals.

    >>> format_base(1.2034), format_base(2.0)
    ('1.20', '2')
    """
    return format_exact(base) if float(base).is_integer() else f"{base:.2f}"


def select_labelled_bases(bases: Sequence[float], distance: float = 0.14) -> list[float]:
    """Return the bases to label on an axis, at least the share `distance` of its length apart.

    >>> select_labelled_bases([1.0, 2.0, 4.0])
    [1.0, 1.5, 2.0, 3.0, 4.0]
    """
    inside = [base for base in AXIS_BASES if bases[0] <= base <= bases[-1]]
    room = distance * math.log(bases[-1] / bases[0])
    labels: list[float] = []
    for base in sorted({bases[0], *inside, bases[-1]}, key=lambda base: (base not in (1.0, 2.0), base not in bases)):
        if all(abs(math.log(base / label)) >= room for label in labels):
            labels.append(base)
    return sorted(labels)


def validate_bases(bases: Iterable[float] | None) -> tuple[float, ...]:
    """Return the bases in ascending order, or the default ones. Raise for invalid and for duplicate bases."""
    if bases is None:
        return DEFAULT_BASES
    numbers = [validate_real(f"bases[{place}]", base, 1.0) for place, base in enumerate(bases)]
    if not numbers:
        raise ValueError("bases is empty. Pass at least one base, for example [1, 1.5, 2].")
    for place, base in enumerate(numbers):
        if math.isinf(base) or base in numbers[:place]:
            raise ValueError(f"bases must be finite and distinct, got {base:g} as bases[{place}].")
    return tuple(sorted(numbers))


def build_gain_path(
    rankings: Rankings,
    sample: Sample,
    compared: Mapping[str, Metric],
    primary: Sequence[str],
    bases: tuple[float, ...],
    metric: MetricLike | None = None,
) -> GainPath:
    """Compare all models at validated bases. `Comparison.gains` describes the arguments."""
    template = find_template(compared, primary, metric)
    shared_weights([*compared.values(), template], rankings.judgments)  # Raises if a metric ignores the weights.
    joint = estimate_gains(rankings, sample, template, bases)
    return read_gain_path(joint, template, bases, sample, tuple(rankings.judgments.levels[:9].tolist()))


class Nodes(NamedTuple):
    """Which bases are nodes, and the weights, (bases, nodes), that combine values there to those at all bases."""

    places: Integers
    weights: Floats


def find_nodes(values: Floats) -> Nodes:
    """Choose the bases that determine the values at all others.

    `values` has shape (bases, models, queries), with a sample of queries. For several models, only their differences
    matter.
    """
    bases, models, _ = values.shape
    centered = values - values.mean(axis=1, keepdims=True) if models > 1 else values
    columns = centered.reshape(bases, -1).T
    triangle, order = scipy.linalg.qr(columns, mode="r", pivoting=True)
    size = np.linalg.norm(columns, axis=0).max()
    errors = [np.linalg.norm(triangle[count:, count:], axis=0).max(initial=0.0) for count in range(bases + 1)]
    count = max(1, next(number for number, error in enumerate(errors) if error <= CLOSE * size))
    weights = np.zeros((bases, count))
    if size > 0:
        weights[order[:count]] = np.eye(count)
    if size > 0 and count < bases:
        weights[order[count:]] = scipy.linalg.solve_triangular(triangle[:count, :count], triangle[:count, count:]).T
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
    settled = settle_discounts(template, int(rankings.judgments.sizes.max()))
    ranges = [set_base(settled, base).value_range(rankings.judgments) for base in bases]
    return estimate_gains_at_nodes(build_panel, nodes, sample.draws, sample.seed, np.ptp(ranges, axis=1))


def estimate_gains_at_nodes(
    build_panel: Callable[[Sequence[int]], Panel], nodes: Nodes, draws: int, seed: int, widths: Floats | None = None
) -> JointEstimate:
    """Estimate all bases, each exactly, and draw their joint errors. `build_panel` returns the values by place.

    `widths` are those of the estimate.
    """
    panel = build_panel(nodes.places.tolist())
    places = range(len(nodes.weights))
    size = max(1, MAX_VALUES // panel.values[0].size)
    single = [estimate(build_panel(places[start : start + size]), joint=False) for start in places[::size]]
    estimated = _combine_estimates(estimate(panel), single, nodes)
    estimated = estimated if widths is None else replace(estimated, widths=widths)
    return JointEstimate(panel, estimated, draw_errors(estimated, draws, seed, shared=True))


def _prepare_values(
    rankings: Rankings, panel: Panel, template: DCG, bases: Sequence[float]
) -> Callable[[Sequence[int], Integers | slice], Floats]:
    """Return the function that returns the values of all repeats of all models at some bases for some queries.

    It takes the places of both, and returns the shape (bases, repeats, queries). If possible, it uses the discounted
    counts of documents by grade.
    """
    judgments, queries = rankings.judgments, np.flatnonzero(rankings.weights > 0)
    template, levels = settle_discounts(template, int(judgments.sizes.max())), judgments.levels[judgments.levels > 0]
    trainings = sum(max(1, count) for count in panel.repeat_counts)
    # One array of scores at a time is in memory.
    all_scores = (scores for model in panel.models for scores in rankings.repeat_scores(model))
    is_small = 0 < len(levels) <= MAX_GRADES and len(levels) * trainings * len(queries) <= MAX_COUNTS
    if not (is_small and all(gains is not None for gains in at_bases(levels, bases))):
        evaluator = Evaluator([set_base(template, base) for base in bases], judgments)
        evaluated = np.empty((len(bases), trainings, len(queries)))
        for place, scores in enumerate(all_scores):
            evaluated[:, place] = evaluator(scores).per_query.T[:, queries]
        return lambda places, some: np.stack([evaluated[place][:, some] for place in places])
    if judgments.levels[0] < 0:
        raise ValueError(
            f"gains does not support negative labels (the lowest is {judgments.levels[0]:g}), because "
            "(b^l - 1)/(b - 1) is not a gain for them. Pass negative_labels='zero' to Judgments."
        )
    options: dict[str, Any] = {name: getattr(template, name) for name in ("discount", "base", "k", "ties", "scores")}
    grades = [{label: float(label == level) for label in judgments.levels.tolist()} for level in levels.tolist()]
    counting = [DCG(gain=grade, **options) for grade in grades]
    evaluator, counts = Evaluator(counting, judgments), np.empty((len(levels), trainings, len(queries)))
    for place, scores in enumerate(all_scores):
        counts[:, place] = np.ascontiguousarray(evaluator(scores).per_query.T)[:, queries]
    # The counts of the ideal ranking are the same for every base.
    in_order = Evaluator([replace(metric, ties="order") for metric in counting], judgments)
    ideal = np.ascontiguousarray(in_order(judgments.labels).per_query.T)
    is_empty = np.logical_not(ideal.any(axis=0))

    def compute_values(places: Sequence[int], some: Integers | slice) -> Floats:
        chosen, selected = queries[some], counts[..., some]
        best, empty = ideal[:, chosen], is_empty[chosen]
        values = np.empty((len(places), *selected.shape[1:]))
        for row, gains in enumerate(at_bases(levels, [bases[place] for place in places])):
            assert gains is not None
            values[row] = np.tensordot(gains, selected, axes=(0, 0))
            if template.is_ratio:
                values[row] /= np.where(empty, 1.0, gains @ best)
        if empty.any():
            values[..., empty] = np.nan if template.empty == "skip" else template.empty
        return values

    return compute_values


def _combine_estimates(joint: Estimate, single: Sequence[Estimate], nodes: Nodes) -> Estimate:
    """Return the separate estimates of all bases, with their joint errors combined from those of the nodes."""
    models, repeats = joint.mean.shape[1], joint.repeats
    spread = joint.root.reshape(len(joint.root), -1, models)
    root = np.einsum("rnm,bn->rbm", spread, nodes.weights).reshape(len(joint.root), -1)
    if repeats is not None:
        by_row = _concatenate_rows([part.repeats for part in single], RepeatError.BY_ROW)
        repeats = replace(repeats, root=np.einsum("krn,bn->krb", repeats.root, nodes.weights), **by_row)
    return replace(joint, root=root, repeats=repeats, **_concatenate_rows(single, Estimate.BY_ROW))


def _concatenate_rows(parts: Sequence[Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}


def read_gain_path(
    joint: JointEstimate, template: DCG, bases: tuple[float, ...], sample: Sample, grades: tuple[float, ...]
) -> GainPath:
    """Return the path of a joint estimate with one metric per base."""
    estimated, models, at = joint.estimated, joint.panel.models, np.array(bases)
    lower, upper = compute_regret_band(estimated, joint.bootstrap, sample.alpha)
    may_be_best = lower <= 0
    names = np.array(models, dtype=object)
    test = BestTest(estimated, joint.bootstrap, sample.alpha)
    winners = find_leaders(models, at, estimated.mean)
    stretches = [(model, find_stretches(at, row)) for model, row in zip(models, may_be_best.T, strict=True)]
    ranges = sorted(((model, *ends) for model, rows in stretches for ends in rows), key=lambda row: row[1:])
    critical = float(critical_value(joint.bootstrap.max_t.max(axis=(0, 1)), 1 - sample.alpha))
    swaps = find_crossings(models, at, estimated.difference, estimated.error, estimated.tolerance, critical)
    is_alone = may_be_best.sum() == len(bases) and winners["model"].nunique() == 1 < len(models)
    kind: GainsVerdictKind = "genuine" if not test.not_rejected.any() else "agree" if is_alone else "unresolved"
    always = (winners["model"].iloc[0],) if kind == "agree" else tuple(names[test.not_rejected])
    loss = not template.higher_is_better
    return GainPath(
        metric=name_path(template),
        bases=bases,
        models=models,
        queries=joint.panel.queries,
        grades=grades,
        mean=0.0 - estimated.mean if loss else estimated.mean,
        regret=np.maximum(0.0, estimated.difference.max(axis=2)),
        lower=lower,
        upper=upper,
        winners=winners,
        best_sets={base: tuple(names[row]) for base, row in zip(bases, may_be_best, strict=True)},
        best_ranges=pd.DataFrame(ranges, columns=["model", "from", "to"]),
        swaps=swaps,
        verdict=GainsVerdict(kind, test.p_value, always),
        lower_is_better=loss,
        alpha=sample.alpha,
        draws=sample.draws,
        seed=sample.seed,
    )


def find_leaders(models: Sequence[str], bases: Floats, mean: Floats) -> pd.DataFrame:
    """Return the model with the largest mean in each range of bases. Of tied models, it is the first.

    `mean` has shape (bases, models), with ascending bases. Means are interpolated by cubic splines in log b.
    """
    fine, between = _interpolate(bases, mean)
    winner = between.argmax(axis=1)
    starts = [0, *(np.flatnonzero(np.diff(winner)) + 1).tolist()]
    edges = [float(bases[0])]
    for start in starts[1:]:
        rows = between[start - 1 : start + 1]
        edges.append(_find_zero(fine[start - 1], fine[start], rows[:, winner[start]] - rows[:, winner[start - 1]]))
    edges.append(float(bases[-1]))
    return pd.DataFrame({"model": [models[winner[start]] for start in starts], "from": edges[:-1], "to": edges[1:]})


def find_crossings(
    models: Sequence[str], bases: Floats, difference: Floats, error: Floats, tolerance: Floats, critical: float
) -> pd.DataFrame:
    """Return every change of order of two models by base, with the bases that a band allows.

    `difference` and `error`, (bases, models, models), and `tolerance`, (bases,), are those of an estimate with one
    metric per base. The band is ``difference ± critical · error``. The order may change where it contains 0. An
    interval that ends at the first or last base may continue there. See `GainPath.swaps` for the columns.
    """
    first, second = np.triu_indices(len(models), 1)
    gap, size = difference[:, first, second], error[:, first, second]
    turns = (np.abs(gap) > tolerance[:, None]).any(axis=0) & (gap.min(axis=0) <= 0) & (gap.max(axis=0) >= 0)
    gap, size, first, second = gap[:, turns], size[:, turns], first[turns], second[turns]
    finite = (np.isfinite(size) & (size > 0)).all(axis=0)
    fine, fine_gap = _interpolate(bases, gap)
    _, fine_size = _interpolate(bases, np.where(finite, size, 1.0))
    inside = (np.abs(fine_gap) <= critical * fine_size) | ~finite
    crossings = []
    for pair, places in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        pair_gap = fine_gap[:, pair]
        sign = np.sign(pair_gap)
        for before, after in itertools.pairwise(np.flatnonzero(sign).tolist()):
            if sign[before] != sign[after]:
                base = _find_zero(fine[before], fine[after], pair_gap[[before, after]])
                ordered = places if sign[before] < 0 else places[::-1]
                crossings.append((base, *ordered, *_extend(fine, inside[:, pair], before, after)))
    rows = [(models[first], models[second], base, *interval) for base, first, second, *interval in sorted(crossings)]
    return pd.DataFrame(rows, columns=["first", "second", "base", "lower", "upper"])


def _extend(fine: Floats, inside: Bools, start: int, stop: int) -> tuple[float, float]:
    """Return the ends of the range inside the band around two neighboring bases."""
    while start > 0 and inside[start]:
        start -= 1
    while stop < len(fine) - 1 and inside[stop]:
        stop += 1
    return float(fine[start]), float(fine[stop])


def find_stretches(bases: Floats, mask: Bools) -> list[tuple[float, float]]:
    """Return the ranges of bases with an uninterrupted mask of True.

    >>> import numpy as np
    >>> find_stretches(np.array([1.0, 1.5, 2.0, 3.0]), np.array([True, True, False, True]))
    [(1.0, 1.5), (3.0, 3.0)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(int)))
    return [(float(bases[start]), float(bases[stop - 1])) for start, stop in edges.reshape(-1, 2)]


def _interpolate(bases: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return many bases, including the given ones, and the values there."""
    if len(bases) == 1:
        return bases, values
    at = np.log(bases)
    steps = (np.linspace(a, b, FINE_STEPS, endpoint=False) for a, b in itertools.pairwise(at))
    fine = np.concatenate([*steps, at[-1:]])
    between: Floats = scipy.interpolate.CubicSpline(at, values)(fine)
    between[::FINE_STEPS] = values
    return np.exp(fine), between


def _find_zero(start: float, stop: float, gap: Floats) -> float:
    """Return the zero of a difference between two close bases by linear interpolation."""
    share = gap[0] / (gap[0] - gap[1]) if gap[0] != gap[1] else 0.5
    return float(start + (stop - start) * share)


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
