"""Sensitivity of a comparison: how many pairs of models change their order under other choices of the evaluation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from .._common.arrays import nearest
from .._common.shown import TextResult, plain
from .._common.typing import Floats
from .._common.words import confidence, count, listed
from ..evaluation.evaluator import Evaluator
from ..metrics.base import Metric
from ..metrics.dcg import DCG
from ..metrics.function import FunctionMetric
from ..metrics.names import parse_metrics
from .data import Panel
from .inference import MIN_QUERIES

if TYPE_CHECKING:
    import pandas as pd

    from .._common.typing import Integers
    from .rankings import Rankings

Kind = Literal["gain", "discount", "cutoff", "metric", "ties", "unjudged", "repeat", "queries"]

CUTOFFS = (5, 10, 20, 100)
SPLITS = 200
"""Random halves of the queries, and random selections of one repeat per model."""

MIN_MODELS = 5
"""Choices are not ranked by their effect on the pairs of fewer models."""

COLUMNS = (
    "choice", "kind", "reversed", "lower", "upper", "reversed_pairs", "pairs", "largest", "winner", "winner_changes",
)  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity(TextResult):
    """Share of the pairs of models whose order another choice reverses. `Comparison.sensitivity` creates it.

    Attributes
    ----------
    reference : str
        The metric that determines the order. Each other choice is compared with this order.
    models : tuple of str
        The models, or the groups if there are any.
    winner : str
        The model with the best mean under the reference.
    queries : int
        Number of queries of positive weight.
    alpha : float
        Level of the intervals.
    table : DataFrame
        One row per choice, the most reversals first:

        - `choice`, and its `kind` (``"gain"``, ``"discount"``, ``"cutoff"``, ``"metric"``, ``"ties"``, ``"unjudged"``,
          ``"repeat"`` or ``"queries"``),
        - `reversed`, the share of reversed pairs, with a confidence interval from `lower` to `upper`, NaN for two
          models,
        - `reversed_pairs` of `pairs` of repeats (of models without repeats), missing for random choices,
        - `largest`, the largest difference that is reversed: the smaller one of the differences under both choices,
        - `winner` under this choice, and `winner_changes`, the share of random choices (0 or 1 if nothing is random)
          with another winner.
    """

    reference: str
    models: tuple[str, ...]
    winner: str
    queries: int
    alpha: float
    table: pd.DataFrame = field(repr=False)

    @property
    def headline(self) -> str:
        """One sentence: the choices that matter most, or that the sample is too small to rank them."""
        table = self.table
        if not len(table):
            return "The comparison has no other choice."
        total, names = count(len(table), "choice"), table["choice"].tolist()
        if not table["reversed"].any():
            return f"None of {total} reverses any pair of models."
        if self.queries < MIN_QUERIES or len(self.models) < MIN_MODELS:
            needed = f"{MIN_QUERIES} queries and {MIN_MODELS} models"
            return f"The sample is too small to rank {total} by their effect, which requires at least {needed}."
        gain = table.loc[table["kind"] == "gain", "reversed"]
        if not len(gain):
            return f"Of {total}, {listed(names[:2])} {'reverse' if len(names) > 1 else 'reverses'} most pairs."
        stronger = table.loc[table["reversed"] > gain.max(), "choice"].tolist()
        if not stronger:
            return f"Of {total}, the gain reverses most pairs."
        verb = "matters" if len(stronger) == 1 else "matter"
        return f"Of {total}, {listed(stronger, 4)} {verb} more than the gain."

    @property
    def text(self) -> str:
        """A short paragraph with the numbers."""
        size = f"{count(len(self.models), 'model')} on {count(self.queries, 'query')}"
        parts = [f"{size}, in the order of {self.reference}. {self.headline}"]
        for row in self.table[self.table["kind"] == "gain"].to_dict("records"):
            interval = ""
            if math.isfinite(row["lower"]):
                interval = f" ({100 * row['lower']:.1f} to {100 * row['upper']:.1f} %, {confidence(self.alpha)})"
            parts.append(f"The {row['choice']} reverses {100 * row['reversed']:.1f} % of the pairs{interval}.")
        changed = self.table.loc[self.table["winner_changes"] > 0.5, "choice"].tolist()
        change = f"changes under {listed(changed)}" if changed else "is the same under every choice"
        parts.append(f"The winner, {self.winner}, {change}.")
        return " ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers and `text` as plain values for JSON."""
        names = ("reference", "models", "winner", "queries", "alpha", "headline", "text")
        values = {name: getattr(self, name) for name in names} | {"choices": self.table.to_dict("records")}
        content: dict[str, Any] = plain(values)
        return content


class _Units(NamedTuple):
    """The repeats of all models one after the other, and the model (or group) of each."""

    names: tuple[str, ...]
    groups: Integers
    sizes: Integers

    def average(self, means: Floats) -> Floats:
        """Return the mean of each model over its repeats, shape (…, models), from the means of all repeats."""
        averages: Floats = means @ self._members / self.sizes
        return averages

    def average_pairs(self, reversed_: Floats) -> Floats:
        """Return the share of reversed pairs of repeats for each pair of models."""
        shares: Floats = self._members.T @ reversed_ @ self._members / np.outer(self.sizes, self.sizes)
        return shares

    @property
    def _members(self) -> Floats:
        """1 for each repeat of a model, otherwise 0, shape (repeats, models)."""
        return np.eye(len(self.names))[self.groups]


def compute_sensitivity(
    panel: Panel,
    reference: str,
    definitions: Mapping[str, Metric],
    rankings: Rankings | None = None,
    groups: Mapping[str, str] | None = None,
    alpha: float = 0.05,
    seed: int = 0,
) -> Sensitivity:
    """Compare the order of the models under a reference metric with that under other choices.

    `Comparison.sensitivity` describes the other arguments.
    """
    import pandas as pd

    units = _group_repeats(panel, groups)
    values = _stack_repeats(panel)
    means = {
        metric: _average_queries(table, panel.weights) for metric, table in zip(panel.metrics, values, strict=True)
    }
    base = means[reference]
    rows = [
        _describe_choice(units, base, alternative, choice, kind, alpha)
        for choice, kind, alternative in _compute_alternatives(panel, reference, definitions, rankings, means)
    ]
    generator = np.random.default_rng(seed)
    if len(units.groups) > len(units.names):
        rows.append(_describe_repeats(units, base, alpha, generator))
    rows.append(_describe_halves(units, values[panel.metrics.index(reference)], panel, alpha, generator))
    table = pd.DataFrame(rows, columns=list(COLUMNS)).sort_values("reversed", ascending=False, kind="stable")
    winner = units.names[int(units.average(base).argmax())]
    return Sensitivity(reference, units.names, winner, panel.queries, alpha, table.reset_index(drop=True))


def _group_repeats(panel: Panel, groups: Mapping[str, str] | None) -> _Units:
    names = list(panel.models)
    if groups is not None:
        if not isinstance(groups, Mapping):
            raise TypeError(f"groups must map the name of a model to the name of its group, got {groups!r}.")
        unknown = next((name for name in groups if name not in names), None)
        if unknown is not None:
            raise ValueError(f"groups must name compared models, got {unknown!r}{nearest(str(unknown), names)}.")
        names = [str(groups.get(name, name)) for name in names]
    distinct = list(dict.fromkeys(names))
    if len(distinct) < 2:
        raise ValueError(f"Expected at least two models or groups, got {len(distinct)}. Compare two or more models.")
    repeats = np.maximum(panel.repeat_counts, 1)
    codes = np.repeat([distinct.index(name) for name in names], repeats)
    return _Units(tuple(distinct), codes, np.bincount(codes))


def _stack_repeats(panel: Panel) -> Floats:
    """Return the values of all repeats, shape (metrics, repeats, queries)."""
    if panel.repeats is None:
        return panel.values
    return np.concatenate([repeats.transpose(0, 2, 1) for repeats in panel.repeats], axis=1)


def _average_queries(values: Floats, weights: Floats | None) -> Floats:
    """Return the weighted means over the queries with a value, shape (repeats,)."""
    counted = ~np.isnan(values[0])
    means: Floats = np.average(values[:, counted], axis=1, weights=None if weights is None else weights[counted])
    return means


def _compute_alternatives(
    panel: Panel,
    reference: str,
    definitions: Mapping[str, Metric],
    rankings: Rankings | None,
    means: Mapping[str, Floats],
) -> list[tuple[str, Kind, Floats]]:
    """Return the name, the kind and the means of all repeats of every other choice of the metric."""
    if rankings is None or reference not in definitions:
        return [(metric, "metric", means[metric]) for metric in panel.metrics if metric != reference]
    base, longest = definitions[reference], int(rankings.judgments.sizes.max())
    choices = _list_choices(base, longest, bool(rankings.judgments.levels[0] < 0))
    named = {str(metric) for _, _, metric in choices}
    for metric in (*(definitions.get(name, name) for name in panel.metrics), *parse_metrics(["map", "mrr"])):
        if str(metric) not in named | {reference}:
            named.add(str(metric))
            choices.append((str(metric), "metric", metric))
    computed = [metric for _, _, metric in choices if str(metric) not in means and isinstance(metric, Metric)]
    judged = rankings.judgments.judged
    drops = judged is not None and not judged.all() and not isinstance(base, FunctionMetric)
    further, dropped = _evaluate(panel, rankings, computed, base if drops else None)
    means = {**means, **further}
    alternatives = [(choice, kind, means[str(metric)]) for choice, kind, metric in choices]
    if dropped is not None:
        alternatives.append(("unjudged documents left out", "unjudged", dropped))
    return alternatives


def _list_choices(base: Metric, longest: int, has_negative_labels: bool) -> list[tuple[str, Kind, Metric | str]]:
    """Return other versions of a metric: gain, discount, cutoff and order of ties."""
    choices: list[tuple[str, Kind, Metric | str]] = []
    if isinstance(base, DCG) and base.is_sum_over_documents:
        for gain in ("linear", "exponential"):
            if gain != base.gain and not (has_negative_labels and gain == "exponential"):
                choices.append((f"{gain} gain", "gain", _change(base, gain=gain, gain_base=None)))
        if base.discount == "log2":
            choices.append(("Järvelin & Kekäläinen's discount", "discount", _change(base, discount="jk")))
    if isinstance(base, FunctionMetric):
        return choices
    depths = {longest if base.k is None else min(base.k, longest)}
    for k in CUTOFFS:
        if min(k, longest) not in depths:
            depths.add(min(k, longest))
            choices.append((f"cutoff {k}", "cutoff", replace(base, k=k)))
    ties: Any = "order" if base.ties == "average" else "average"
    name = "ties in the order of the data" if ties == "order" else "average over orders of ties"
    choices.append((name, "ties", replace(base, ties=ties)))
    return choices


def _change(base: DCG, **options: Any) -> DCG:
    """Return a DCG metric with other options, without the name of its functions if it has none any more."""
    changed = {"gain": base.gain, "gain_base": base.gain_base, "discount": base.discount} | options
    name = base.name if any(callable(changed[option]) for option in ("gain", "discount")) else None
    return replace(base, **changed, name=name)


def _evaluate(
    panel: Panel, rankings: Rankings, metrics: Sequence[Metric], dropped: Metric | None
) -> tuple[dict[str, Floats], Floats | None]:
    """Return the means of all repeats under further metrics, and under one metric without unjudged documents."""
    counted = rankings.weights > 0
    evaluators = [Evaluator(metrics, rankings.judgments)] if metrics else []
    if dropped is not None:
        evaluators.append(Evaluator([dropped], rankings.judgments, unjudged="drop"))
    columns = []
    for model in panel.models:
        for scores in rankings.repeat_scores(model):
            values = np.concatenate([evaluator(scores).per_query[counted] for evaluator in evaluators], axis=1)
            columns.append([float(_average_queries(column[None], panel.weights)[0]) for column in values.T])
    signs = [1.0 if metric.higher_is_better else -1.0 for metric in (*metrics, *([dropped] if dropped else []))]
    means = np.array(columns).T * np.array(signs)[:, None]
    names = [str(metric) for metric in metrics]
    return dict(zip(names, means, strict=False)), means[-1] if dropped is not None else None


def find_reversals(first: Floats, second: Floats) -> Floats:
    """Return 1 for each pair that two lists of means order in opposite ways, otherwise 0, shape (M, M).

    >>> find_reversals(np.array([3.0, 2.0, 1.0]), np.array([3.0, 1.0, 2.0])).tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    signs = [np.sign(means[:, None] - means[None, :]) for means in (first, second)]
    return (signs[0] * signs[1] < 0).astype(np.float64)


def _describe_choice(
    units: _Units, base: Floats, alternative: Floats, choice: str, kind: Kind, alpha: float
) -> tuple[Any, ...]:
    reversed_ = find_reversals(base, alternative)
    means = [units.average(values) for values in (base, alternative)]
    gaps = [np.abs(values[:, None] - values[None, :]) for values in means]
    largest = float((np.minimum(*gaps) * find_reversals(*means)).max())
    pairs = len(base) * (len(base) - 1) // 2
    winner = units.names[int(means[1].argmax())]
    share = estimate_share(units.average_pairs(reversed_), alpha)
    changed = float(winner != units.names[int(means[0].argmax())])
    return (choice, kind, *share, int(reversed_.sum() / 2), pairs, largest, winner, changed)


def _describe_repeats(units: _Units, base: Floats, alpha: float, generator: np.random.Generator) -> tuple[Any, ...]:
    """Compare the order by single repeats with the order by means over repeats."""
    means = units.average(base)
    order = means[units.groups]
    reversed_ = ((order[:, None] - order) * (base[:, None] - base) < 0).astype(np.float64)
    members = [np.flatnonzero(units.groups == group) for group in range(len(units.names))]
    drawn = np.stack([base[generator.choice(places, SPLITS)] for places in members])
    return _describe_random(
        units, units.average_pairs(reversed_), means, drawn, "one repeat per model", "repeat", alpha
    )


def _describe_halves(
    units: _Units, values: Floats, panel: Panel, alpha: float, generator: np.random.Generator
) -> tuple[Any, ...]:
    """Compare the orders by two random halves of the queries, or of their clusters."""
    counted = ~np.isnan(values[0])
    weights = np.ones(panel.queries) if panel.weights is None else panel.weights
    codes = np.arange(panel.queries) if panel.clusters is None else panel.clusters
    number = int(codes.max()) + 1
    totals, means = np.zeros((len(units.names), len(units.names))), []
    for _ in range(SPLITS):
        half = np.zeros(number, dtype=bool)
        half[generator.permutation(number)[: number // 2]] = True
        sides = [np.where(counted & (half[codes] == side), weights, 0.0) for side in (True, False)]
        if not all(side.any() for side in sides):
            continue
        both = [np.nan_to_num(values) @ side / side.sum() for side in sides]
        totals += units.average_pairs(find_reversals(*both))
        means += [units.average(side) for side in both]
    whole = units.average(_average_queries(values, panel.weights))
    shares = totals / max(1, len(means) // 2)
    drawn = np.stack(means, axis=1) if means else whole[:, None]
    return _describe_random(units, shares, whole, drawn, "the other half of the queries", "queries", alpha)


def _describe_random(
    units: _Units, shares: Floats, means: Floats, drawn: Floats, choice: str, kind: Kind, alpha: float
) -> tuple[Any, ...]:
    """Describe a random choice. `drawn` contains the means of all models, shape (models, draws)."""
    winners = drawn.argmax(axis=0)
    common = int(np.bincount(winners, minlength=len(units.names)).argmax())
    gaps = np.abs(means[:, None] - means[None, :])
    changes = float((winners != means.argmax()).mean())
    largest = float((gaps * (shares > 0)).max())
    return (choice, kind, *estimate_share(shares, alpha), None, None, largest, units.names[common], changes)


def estimate_share(shares: Floats, alpha: float) -> tuple[float, float, float]:
    """Return the mean of a symmetric matrix over pairs of models, with a confidence interval for other models.

    The variance v is the jackknife variance over models. The interval is Wilson's, with the effective number of
    observations θ(1 − θ)/v (the number of models if v is 0) and the quantile of Student's distribution with n − 1
    degrees of freedom. It is NaN for two models.

    References
    ----------
    Wilson (1927), "Probable inference, the law of succession, and statistical inference", JASA 22.
    Arvesen (1969), "Jackknifing U-statistics", Annals of Mathematical Statistics 40.

    >>> [round(number, 3) for number in estimate_share(np.zeros((20, 20)), 0.05)]
    [0.0, 0.0, 0.18]
    """
    from scipy.special import stdtrit

    models = len(shares)
    rows = shares.sum(axis=1) - np.diag(shares)
    total = float(rows.sum() / 2)
    share = total / (models * (models - 1) / 2)
    if models < 3:
        return share, math.nan, math.nan
    without = (total - rows) / ((models - 1) * (models - 2) / 2)
    variance = float((models - 1) / models * ((without - without.mean()) ** 2).sum())
    size = share * (1 - share) / variance if variance > 0 and 0 < share < 1 else float(models)
    square = float(stdtrit(models - 1, 1 - alpha / 2)) ** 2
    middle = (share + square / (2 * size)) / (1 + square / size)
    half = math.sqrt(square * (share * (1 - share) / size + square / (4 * size**2))) / (1 + square / size)
    return share, max(0.0, middle - half), min(1.0, middle + half)
