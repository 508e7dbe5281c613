"""Order of the models under other choices of the evaluation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from .._common.lazy import pandas as pd
from .._common.lazy import scipy
from .._common.text import TextResult, format_confidence, join_names, pluralize
from .._common.typing import Floats, Integers
from ..evaluation.evaluator import Evaluator
from ..metrics.base import FunctionMetric, Metric
from ..metrics.dcg import has_exponential_gain
from ..metrics.names import parse_metrics
from .estimates import MIN_QUERIES, ROUNDING
from .panel import Panel
from .ranked_models import Rankings, select_sums

ChoiceKind = Literal["gain", "discount", "cutoff", "metric", "ties", "unjudged", "repeat", "queries"]

CUTOFFS = (5, 10, 20, 100)
SPLITS = 200
"""Random halves of the queries, and random selections of one repeat per model."""

MIN_MODELS = 5
"""Choices are not ranked by their effect on the pairs of fewer models."""


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity(TextResult):
    """Share of the pairs of models whose order another choice reverses. `Comparison.sensitivity` creates it.

    Attributes
    ----------
    reference : str
        The metric that determines the order. Each other choice is compared with this order.
    models : tuple of str
        Names of the models.
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
    table: pd.DataFrame

    @property
    def headline(self) -> str:
        """One sentence: the choices that matter most, or the sample that ranking them requires."""
        table = self.table
        total = pluralize(len(table), "choice")
        if not table["reversed"].any():
            return f"None of {total} reverses any pair of models."
        if self.queries < MIN_QUERIES or len(self.models) < MIN_MODELS:
            needed = f"{MIN_QUERIES} queries and {MIN_MODELS} models"
            return f"Ranking {total} by their effect requires at least {needed}."
        first, by_gain = table.iloc[0], table.loc[table["kind"] == "gain", "reversed"].max()
        most = f"{first['choice']} reverses {100 * first['reversed']:.1f} % of the pairs of models"
        if first["kind"] != "gain" and not math.isnan(by_gain):
            stronger = int((table["reversed"] > by_gain).sum())
            more = f", and {stronger} of {total} reverse more" if stronger > 1 else ""
            return f"The gain reverses {100 * by_gain:.1f} % of the pairs of models{more}. The largest effect: {most}."
        return f"The largest effect of {total}: {most}."

    @property
    def text(self) -> str:
        """A short paragraph with the numbers."""
        size = f"{pluralize(len(self.models), 'model')} on {pluralize(self.queries, 'query')}"
        parts = [f"{size}, in the order of {self.reference}. {self.headline}"]
        for row in self.table[self.table["kind"] == "gain"].to_dict("records"):
            if math.isfinite(row["lower"]):
                ends = f"{100 * row['lower']:.1f} to {100 * row['upper']:.1f} %"
                parts.append(f"The {row['choice']} reverses {ends} of the pairs ({format_confidence(self.alpha)}).")
        shares = zip(self.table["choice"], self.table["winner_changes"], strict=True)
        changed = [
            choice if share == 1 else f"{choice} ({100 * share:.1f} % of the draws)"
            for choice, share in shares
            if share > 0
        ]
        change = f"changes under {join_names(changed)}" if changed else "is the same under every choice"
        parts.append(f"The winner, {self.winner}, {change}.")
        return " ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers and `text` as plain values for JSON."""
        names = ("reference", "models", "winner", "queries", "alpha", "headline", "text", "choices")
        return self._export(names, choices=self.table)


class _Reference(NamedTuple):
    """Means of all repeats under the reference, one model after the other, and the code of the model of each repeat."""

    names: tuple[str, ...]
    codes: Integers
    means: Floats
    alpha: float

    @property
    def _members(self) -> Floats:
        """1 for each repeat of a model, otherwise 0, shape (repeats, models)."""
        return np.eye(len(self.names))[self.codes]

    def average(self, means: Floats) -> Floats:
        """Return the mean of each model over its repeats from the means of all repeats."""
        return np.asarray(means @ self._members / np.bincount(self.codes))

    def average_pairs(self, reversed_pairs: Floats) -> Floats:
        """Return the share of reversed pairs of repeats for each pair of models."""
        sizes = np.bincount(self.codes)
        return np.asarray(self._members.T @ reversed_pairs @ self._members / np.outer(sizes, sizes))

    def describe(self, choice: str, kind: ChoiceKind, shares: Floats, gaps: Floats, drawn: Floats) -> dict[str, Any]:
        """Return a row of the table.

        `shares` and `gaps` are the share of reversals and the largest reversed difference of each pair of models. The
        means of all models under this choice are `drawn`, shape (models, draws), with one draw if nothing is random.
        """
        reference = int(self.average(self.means).argmax())
        is_best = drawn >= drawn.max(axis=0) - ROUNDING * np.abs(drawn).max(axis=0)
        winners = np.where(is_best[reference], reference, is_best.argmax(axis=0))  # A tie does not change the winner.
        share, lower, upper = estimate_share(shares, self.alpha)
        return {
            "choice": choice,
            "kind": kind,
            "reversed": share,
            "lower": lower,
            "upper": upper,
            "reversed_pairs": None,
            "pairs": None,
            "largest": float(gaps.max()),
            "winner": self.names[int(np.bincount(winners).argmax())],
            "winner_changes": float((winners != reference).mean()),
        }


def compute_sensitivity(
    panel: Panel,
    reference: str,
    definitions: Mapping[str, Metric],
    rankings: Rankings | None = None,
    alpha: float = 0.05,
    seed: int = 0,
) -> Sensitivity:
    """Compare the order of the models under a reference metric with that under other choices.

    `Comparison.sensitivity` describes the other arguments.
    """
    names, values = panel.models, panel.values
    if len(names) < 2:
        raise ValueError(f"Expected at least two models, got {len(names)}. Compare two or more models.")
    codes = np.repeat(np.arange(len(names)), np.maximum(panel.repeat_counts, 1))
    if panel.repeats is not None:
        values = np.concatenate([repeats.transpose(0, 2, 1) for repeats in panel.repeats], axis=1)
    tables = dict(zip(panel.metrics, values, strict=True))
    means = {metric: _average_queries(table, panel.weights) for metric, table in tables.items()}
    order = _Reference(names, codes, means[reference], alpha)
    alternatives = _compute_alternatives(panel, reference, definitions, rankings, means)
    rows = [_compare_orders(order, *alternative) for alternative in alternatives]
    generator = np.random.default_rng(seed)
    if len(codes) > len(names):
        rows.append(_compare_repeats(order, generator))
    rows.append(_compare_halves(order, tables[reference], panel, generator))
    table = pd.DataFrame(rows).sort_values("reversed", ascending=False, kind="stable", ignore_index=True)
    winner = names[int(order.average(order.means).argmax())]
    return Sensitivity(reference, names, winner, panel.queries, alpha, table)


def _average_queries(values: Floats, weights: Floats | None) -> Floats:
    """Return the weighted means over the queries with a value, shape (repeats,)."""
    counted = ~np.isnan(values[0])
    return np.asarray(np.average(values[:, counted], axis=1, weights=None if weights is None else weights[counted]))


def _compute_alternatives(
    panel: Panel,
    reference: str,
    definitions: Mapping[str, Metric],
    rankings: Rankings | None,
    means: Mapping[str, Floats],
) -> list[tuple[str, ChoiceKind, Floats]]:
    """Return the name, the kind and the means of all repeats of every other choice of the metric."""
    if rankings is None or reference not in definitions:
        return [(metric, "metric", means[metric]) for metric in panel.metrics if metric != reference]
    base = definitions[reference]
    judgments = rankings.judgments.column(base.column)
    gains = ("linear", "exponential") if has_exponential_gain(judgments.levels) else ("linear",)
    gains_differ = not set(judgments.levels.tolist()) <= {0, 1}
    choices = _list_choices(base, int(judgments.sizes.max()), gains if gains_differ else ())
    names = {reference, *(str(metric) for _, _, metric in choices)}
    others = (*(definitions.get(name, name) for name in panel.metrics), *parse_metrics(["map", "mrr"]))
    by_name = {str(metric): metric for metric in others}
    choices += [(name, "metric", metric) for name, metric in by_name.items() if name not in names]
    missing = [metric for _, _, metric in choices if str(metric) not in means and isinstance(metric, Metric)]
    means = {**means, **(_evaluate(panel, rankings, missing) if missing else {})}
    alternatives = [(choice, kind, means[str(metric)]) for choice, kind, metric in choices]
    if judgments.judged is not None and not judgments.judged.all() and not isinstance(base, FunctionMetric):
        (dropped,) = _evaluate(panel, rankings, [base], unjudged="drop").values()
        alternatives.append(("unjudged documents left out", "unjudged", dropped))
    return alternatives


def _list_choices(base: Metric, longest: int, gains: Sequence[Any]) -> list[tuple[str, ChoiceKind, Metric | str]]:
    """Return other versions of a metric: gain, discount, cutoff and order of ties."""
    choices: list[tuple[str, ChoiceKind, Metric | str]] = []
    for metric in select_sums([base]):
        for gain in gains:
            if gain != metric.gain:
                choices.append((f"{gain} gain", "gain", metric.change(gain=gain, gain_base=None)))
        if metric.discount == "log2":
            choices.append(("Järvelin & Kekäläinen's discount", "discount", metric.change(discount="jk")))
    if isinstance(base, FunctionMetric):
        return choices
    depths = {longest if base.k is None else min(base.k, longest)}
    for k in CUTOFFS:
        if min(k, longest) not in depths:
            depths.add(min(k, longest))
            choices.append((f"cutoff {k}", "cutoff", base.change(k=k)))
    if base.ties == "average":
        choices.append(("ties in the order of the data", "ties", base.change(ties="order")))
    elif base.has_mean_over_ties:
        choices.append(("average over orders of ties", "ties", base.change(ties="average")))
    return choices


def _evaluate(panel: Panel, rankings: Rankings, metrics: Sequence[Metric], **options: Any) -> dict[str, Floats]:
    """Return the means of all repeats under further metrics. Higher means are better, also for losses."""
    counted, evaluator = rankings.weights > 0, Evaluator(metrics, rankings.judgments, **options)
    repeats = (scores for model in panel.models for scores in rankings.repeat_scores(model))
    tables = [evaluator(scores).per_query[counted] for scores in repeats]
    means = {}
    for column, metric in enumerate(metrics):
        averages = [_average_queries(table[None, :, column], panel.weights) for table in tables]
        means[str(metric)] = np.concatenate(averages) * (1.0 if metric.higher_is_better else -1.0)
    return means


def find_reversals(first: Floats, second: Floats) -> Floats:
    """Return 1 for each pair that two lists of means order in opposite ways, otherwise 0, shape (M, M).

    Means that differ by rounding are equal.

    >>> find_reversals(np.array([3.0, 2.0, 1.0]), np.array([3.0, 1.0, 2.0])).tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    signs = []
    for means in (first, second):
        gaps = means[:, None] - means
        gaps[np.abs(gaps) <= ROUNDING * np.abs(means).max()] = 0.0
        signs.append(np.sign(gaps))
    return (signs[0] * signs[1] < 0).astype(np.float64)


def _compare_orders(order: _Reference, choice: str, kind: ChoiceKind, alternative: Floats) -> dict[str, Any]:
    """Compare the order by the reference with that by the means of all repeats under another choice."""
    reversed_pairs = find_reversals(order.means, alternative)
    means = [order.average(values) for values in (order.means, alternative)]
    gaps = np.minimum(*map(_compute_gaps, means)) * find_reversals(*means)
    row = order.describe(choice, kind, order.average_pairs(reversed_pairs), gaps, means[1][:, None])
    pairs = len(alternative) * (len(alternative) - 1) // 2
    return row | {"reversed_pairs": int(reversed_pairs.sum() / 2), "pairs": pairs}


def _compare_repeats(order: _Reference, generator: np.random.Generator) -> dict[str, Any]:
    """Compare the order by single repeats with the order by means over repeats."""
    means = order.average(order.means)
    shares = order.average_pairs(find_reversals(means[order.codes], order.means))
    members = [np.flatnonzero(order.codes == code) for code in range(len(means))]
    drawn = np.stack([order.means[generator.choice(places, SPLITS)] for places in members])
    return order.describe("one repeat per model", "repeat", shares, _compute_gaps(means) * (shares > 0), drawn)


def _compare_halves(order: _Reference, values: Floats, panel: Panel, generator: np.random.Generator) -> dict[str, Any]:
    """Compare the orders by two random halves of the queries, or of their clusters."""
    counted = ~np.isnan(values[0])
    weights = np.ones(panel.queries) if panel.weights is None else panel.weights
    codes = np.arange(panel.queries) if panel.clusters is None else panel.clusters
    number, whole = int(codes.max()) + 1, order.average(order.means)
    shares, means = np.zeros((len(whole), len(whole))), []
    for _ in range(SPLITS):
        half = np.zeros(number, dtype=bool)
        half[generator.permutation(number)[: number // 2]] = True
        sides = [np.where(counted & (half[codes] == side), weights, 0.0) for side in (True, False)]
        if all(side.any() for side in sides):
            both = [np.nan_to_num(values) @ side / side.sum() for side in sides]
            shares += order.average_pairs(find_reversals(*both))
            means += [order.average(side) for side in both]
    shares /= max(1, len(means) // 2)
    drawn = np.stack(means, axis=1) if means else whole[:, None]
    gaps = _compute_gaps(whole) * (shares > 0)
    return order.describe("the other half of the queries", "queries", shares, gaps, drawn)


def _compute_gaps(means: Floats) -> Floats:
    return np.abs(means[:, None] - means)


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
    models = len(shares)
    rows = shares.sum(axis=1) - np.diag(shares)
    total = float(rows.sum() / 2)
    share = total / (models * (models - 1) / 2)
    if models < 3:
        return share, math.nan, math.nan
    without = (total - rows) / ((models - 1) * (models - 2) / 2)
    variance = float((models - 1) / models * ((without - without.mean()) ** 2).sum())
    size = share * (1 - share) / variance if variance > 0 and 0 < share < 1 else float(models)
    square = float(scipy.special.stdtrit(models - 1, 1 - alpha / 2)) ** 2
    middle = (share + square / (2 * size)) / (1 + square / size)
    half = math.sqrt(square * (share * (1 - share) / size + square / (4 * size**2))) / (1 + square / size)
    return share, max(0.0, middle - half), min(1.0, middle + half)
