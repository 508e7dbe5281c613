"""How much the choices of an evaluation matter.

`Sensitivity` compares the order of models under other choices. `DisagreementBound` is the largest possible disagreement
of two NDCGs, from the labels alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import scipy

from .._common.arrays import nearest
from .._common.text import TextResult, format_amount, format_confidence, join_names, pluralize
from .._common.typing import Floats, Integers, Listed
from ..evaluation.evaluator import Evaluator
from ..evaluation.label_gains import warn_of_gains
from ..evaluation.trec_runs import align_runs
from ..judgments import Judgments
from ..metrics.base import FunctionMetric, Metric, max_depth
from ..metrics.dcg import NDCG, Discount, GainStatistics, has_exponential_gain
from ..metrics.names import parse_metrics
from ..ranking.rows import RankedRows, ideal_rows
from .data import Panel
from .estimates import ROUNDING
from .inference import MIN_QUERIES
from .rankings import Rankings, select_sums

Kind = Literal["gain", "discount", "cutoff", "metric", "ties", "unjudged", "repeat", "queries"]

CUTOFFS = (5, 10, 20, 100)
SPLITS = 200
"""Random halves of the queries, and random selections of one repeat per model."""

MIN_MODELS = 5
"""Choices are not ranked by their effect on the pairs of fewer models."""

NEGLIGIBLE = 0.01
"""Below this difference of NDCG, the choice of the gain cannot matter."""

MAX_CELLS = 8_000_000
"""Documents are counted by query and label if the table has at most so many cells."""

MAX_REPORT_CELLS = 200_000
"""Cells up to which a report computes the bound, in about a second. Beyond, call `disagreement_bound`."""


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
    table: pd.DataFrame

    @property
    def headline(self) -> str:
        """One sentence: the choices that matter most, or that the sample is too small to rank them."""
        table = self.table
        total, names = pluralize(len(table), "choice"), table["choice"].tolist()
        if not table["reversed"].any():
            return f"None of {total} reverses any pair of models."
        if self.queries < MIN_QUERIES or len(self.models) < MIN_MODELS:
            needed = f"{MIN_QUERIES} queries and {MIN_MODELS} models"
            return f"The sample is too small to rank {total} by their effect, which requires at least {needed}."
        by_gain = table.loc[table["kind"] == "gain", "reversed"].max()
        if math.isnan(by_gain):
            return f"Of {total}, {names[0]} reverses most pairs."
        stronger = table.loc[table["reversed"] > by_gain, "choice"].tolist()
        if not stronger:
            return f"Of {total}, the gain reverses most pairs."
        verb = "matters" if len(stronger) == 1 else "matter"
        return f"Of {total}, {join_names(stronger, 4)} {verb} more than the gain."

    @property
    def text(self) -> str:
        """A short paragraph with the numbers."""
        size = f"{pluralize(len(self.models), 'model')} on {pluralize(self.queries, 'query')}"
        parts = [f"{size}, in the order of {self.reference}. {self.headline}"]
        for row in self.table[self.table["kind"] == "gain"].to_dict("records"):
            interval = ""
            if math.isfinite(row["lower"]):
                interval = f" ({100 * row['lower']:.1f} to {100 * row['upper']:.1f} %, {format_confidence(self.alpha)})"
            parts.append(f"The {row['choice']} reverses {100 * row['reversed']:.1f} % of the pairs{interval}.")
        changed = self.table.loc[self.table["winner_changes"] > 0.5, "choice"].tolist()
        change = f"changes under {join_names(changed)}" if changed else "is the same under every choice"
        parts.append(f"The winner, {self.winner}, {change}.")
        return " ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers and `text` as plain values for JSON."""
        names = ("reference", "models", "winner", "queries", "alpha", "headline", "text", "choices")
        return self._export(names, choices=self.table)


class _Reference(NamedTuple):
    """Means of all repeats under the reference, one model after the other, and the model (or group) of each repeat."""

    names: tuple[str, ...]
    groups: Integers
    means: Floats
    alpha: float

    @property
    def _members(self) -> Floats:
        """1 for each repeat of a model, otherwise 0, shape (repeats, models)."""
        return np.eye(len(self.names))[self.groups]

    def average(self, means: Floats) -> Floats:
        """Return the mean of each model over its repeats from the means of all repeats."""
        return np.asarray(means @ self._members / np.bincount(self.groups))

    def average_pairs(self, reversed_pairs: Floats) -> Floats:
        """Return the share of reversed pairs of repeats for each pair of models."""
        sizes = np.bincount(self.groups)
        return np.asarray(self._members.T @ reversed_pairs @ self._members / np.outer(sizes, sizes))

    def describe(self, choice: str, kind: Kind, shares: Floats, gaps: Floats, drawn: Floats) -> dict[str, Any]:
        """Return a row of the table.

        `shares` and `gaps` are the share of reversals and the largest reversed difference of each pair of models. The
        means of all models under this choice are `drawn`, shape (models, draws), with one draw if nothing is random.
        """
        winners = drawn.argmax(axis=0)
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
            "winner_changes": float((winners != self.average(self.means).argmax()).mean()),
        }


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
    names, codes = _group_repeats(panel, groups)
    values = panel.values
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


def _group_repeats(panel: Panel, groups: Mapping[str, str] | None) -> tuple[tuple[str, ...], Integers]:
    """Return the distinct models or groups, and the place of that of each repeat."""
    names = list(panel.models)
    groups = {} if groups is None else groups
    if not isinstance(groups, Mapping):
        raise TypeError(f"groups must map the name of a model to the name of its group, got {groups!r}.")
    for name in groups:
        if name not in names:
            raise ValueError(f"groups must name compared models, got {name!r}{nearest(str(name), names)}.")
    names = [str(groups.get(name, name)) for name in names]
    distinct = tuple(dict.fromkeys(names))
    if len(distinct) < 2:
        raise ValueError(f"Expected at least two models or groups, got {len(distinct)}. Compare two or more models.")
    return distinct, np.repeat([distinct.index(name) for name in names], np.maximum(panel.repeat_counts, 1))


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
) -> list[tuple[str, Kind, Floats]]:
    """Return the name, the kind and the means of all repeats of every other choice of the metric."""
    if rankings is None or reference not in definitions:
        return [(metric, "metric", means[metric]) for metric in panel.metrics if metric != reference]
    base = definitions[reference]
    judgments = rankings.judgments.column(base.column)
    choices = _list_choices(base, int(judgments.sizes.max()), has_exponential_gain(judgments.levels))
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


def _list_choices(base: Metric, longest: int, exponential: bool) -> list[tuple[str, Kind, Metric | str]]:
    """Return other versions of a metric: gain, discount, cutoff and order of ties."""
    choices: list[tuple[str, Kind, Metric | str]] = []
    for metric in select_sums([base]):
        for gain in ("linear", "exponential") if exponential else ("linear",):
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
    ties: Any = "order" if base.ties == "average" else "average"
    name = "ties in the order of the data" if ties == "order" else "average over orders of ties"
    with suppress(ValueError):  # map(denominator=hits) is not averaged over ties.
        choices.append((name, "ties", base.change(ties=ties)))
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

    >>> find_reversals(np.array([3.0, 2.0, 1.0]), np.array([3.0, 1.0, 2.0])).tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    signs = [np.sign(means[:, None] - means[None, :]) for means in (first, second)]
    return (signs[0] * signs[1] < 0).astype(np.float64)


def _compare_orders(order: _Reference, choice: str, kind: Kind, alternative: Floats) -> dict[str, Any]:
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
    shares = order.average_pairs(find_reversals(means[order.groups], order.means))
    members = [np.flatnonzero(order.groups == group) for group in range(len(means))]
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


@dataclass(frozen=True, eq=False, repr=False)
class DisagreementBound(TextResult):
    """How far two NDCGs can disagree on the same labels, whatever the models. `disagreement_bound` creates it.

    Attributes
    ----------
    metrics : tuple of two str
        The two NDCGs.
    one_ranking : dict of metric to float
        Largest mean excess of each metric over the other one, for one ranking of every query. It is reached.
    two_rankings : float
        Upper bound of the conflict of two rankings. In a conflict, each metric prefers another ranking, and its size is
        the smaller difference.
    queries : int
        Number of queries.
    possible : int
        Number of queries with a possible conflict of two rankings.
    per_query : DataFrame
        One row per query: `query`, `excess M` for each metric M, and `two_rankings`, the bound of that query alone.
    """

    metrics: tuple[str, str]
    one_ranking: dict[str, float]
    two_rankings: float
    queries: int
    possible: int
    per_query: pd.DataFrame

    @property
    def same_number(self) -> bool:
        """Whether both metrics are the same number for every ranking, as with the labels 0 and 1."""
        return max(self.one_ranking.values()) <= ROUNDING

    @property
    def is_negligible(self) -> bool:
        """Whether no two rankings can be in conflict by 0.01 or more."""
        return self.two_rankings < NEGLIGIBLE

    @property
    def conclusion(self) -> str:
        """One sentence if the choice between the metrics cannot matter, otherwise an empty text."""
        if not self.is_negligible:
            return ""
        limit = f"no two rankings can be in conflict by {NEGLIGIBLE:g} or more"
        return f"On these labels, the choice between {' and '.join(self.metrics)} cannot matter: {limit}."

    @property
    def text(self) -> str:
        """Two sentences with the numbers."""
        first, second = self.metrics
        over = pluralize(self.queries, "query")
        if self.same_number:
            return f"On these labels ({over}), {first} and {second} are the same number for every ranking."
        above, below = (format_amount(self.one_ranking[metric]) for metric in self.metrics)
        cost = format_amount(self.two_rankings)
        return (
            f"On average over {over}, {first} of one ranking is at most {above} above and {below} below {second}. If "
            f"the two metrics prefer different rankings, the wrong choice costs at most {cost} under one of them, and "
            f"a conflict is possible on {self.possible:,} of {over}. {self.conclusion}"
        ).rstrip()

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers and `text` as plain values for JSON."""
        names = "metrics one_ranking two_rankings queries possible same_number is_negligible per_query text"
        return self._export(names.split())


def disagreement_bound(
    judgments: Judgments | Listed,
    k: int | None = 10,
    gains: Sequence[Any] = ("linear", "exponential"),
    *,
    discount: Discount = "log2",
) -> DisagreementBound:
    r"""Bound the disagreement of two NDCGs from the labels alone, before there is a model.

    Parameters
    ----------
    judgments : Judgments, or path, mapping or DataFrame of TREC qrels
        Relevance labels. A system can retrieve documents that the qrels do not contain, so qrels allow any number of
        documents with label 0. `Judgments` contain all documents to rank.
    k : int or None, default 10
        Cutoff. None uses all ranks. It may exceed the number of documents.
    gains : sequence of two gains, default ("linear", "exponential")
        Each is a gain of `NDCG` (a name, a table, a mapping of label to gain, or a function), or a number: the base b
        of the gain (b^l − 1)/(b − 1).
    discount : str, table or function, default "log2"
        Discount of both metrics. See `NDCG`.

    Returns
    -------
    DisagreementBound

    Raises
    ------
    ValueError
        If there are not two gains, `k` is not positive, or a gain does not support the labels.

    Notes
    -----
    Let d_r be the discount of rank r (0 beyond k), and λ(l) and ε(l) the gains of label l divided by the ideal DCG of
    the query. Both NDCGs are sums over documents, so the rearrangement inequality applies:

    - One ranking: the largest difference is Σ d_r h_(r) with h = ε − λ of all documents in descending order.
    - Two rankings: for every t in [0, 1] and h = tλ − (1 − t)ε, the conflict is at most the mean over queries of
      Σ d_r h_(r) − Σ d_r h_(−r), with h_(−r) in ascending order. The bound is the minimum over t, one t for all
      queries. Two rankings of one query reach somewhat less, because there are finitely many.

    A query without relevant documents has the value 0 under both metrics. Means are weighted by query weights.

    References
    ----------
    Hardy, Littlewood & Pólya 1934, Inequalities, section 10.2 (rearrangement).

    Examples
    --------
    >>> import gainwise as gw
    >>> bound = gw.disagreement_bound(gw.Judgments([3, 1, 1, 1, 0, 0], group=[6]), k=3)
    >>> round(bound.one_ranking["ndcg_linear@3"], 3), round(bound.two_rankings, 3)
    (0.254, 0.159)
    """
    if isinstance(gains, str) or not isinstance(gains, Sequence) or len(gains) != 2:
        raise ValueError(f"gains must be two gains, such as ('linear', 'exponential'), got {gains!r}.")
    metrics = []
    for gain in gains:
        is_base = isinstance(gain, int | float | np.number) and not isinstance(gain, bool)
        options: dict[str, Any] = {"gain": "power", "gain_base": float(gain)} if is_base else {"gain": gain}
        metrics.append(NDCG(**options, k=k, discount=discount))
    if not isinstance(judgments, Judgments):
        judgments = _read_qrels(judgments, k)
    warn_of_gains(metrics, judgments)
    return compute_bound(judgments, *metrics)


def find_bound(judgments: Judgments, metrics: Sequence[Metric | None]) -> DisagreementBound | None:
    """Return the bound of two compared metrics for a report.

    It is None if the metrics are not NDCGs that differ in their gain only, or if the computation would take too long.
    """
    pair = [metric for metric in select_sums(filter(None, metrics)) if isinstance(metric, NDCG)]
    if len(pair) < 2 or any(getattr(pair[0], name) != getattr(pair[1], name) for name in ("k", "discount", "base")):
        return None
    cells = judgments.queries * len(judgments.levels) if _has_few_labels(judgments) else judgments.documents
    return compute_bound(judgments, *pair) if cells <= MAX_REPORT_CELLS else None


def _has_few_labels(judgments: Judgments) -> bool:
    """Return whether documents are counted by query and label."""
    levels = len(judgments.levels)
    return levels * judgments.queries <= MAX_CELLS and levels <= max(64, judgments.layout.longest)


def _read_qrels(qrels: Listed, k: int | None) -> Judgments:
    """Return judgments with documents of label 0 that fill all ranks of every query."""
    judgments = align_runs({}, qrels).judgments
    spare = int(judgments.sizes.max()) if k is None else k
    numbers = np.arange(judgments.queries)
    return Judgments(
        np.concatenate([judgments.by_query(judgments.labels), np.zeros(spare * judgments.queries)]),
        qid=judgments.query_ids[np.concatenate([np.repeat(numbers, judgments.sizes), np.repeat(numbers, spare)])],
    )


class _Cells(NamedTuple):
    """Documents of some queries: gains divided by the ideal DCG under both metrics, and how many have these."""

    queries: Integers
    first: Floats
    second: Floats
    counts: Integers


def compute_bound(judgments: Judgments, first: NDCG, second: NDCG) -> DisagreementBound:
    """Return the bound for two NDCGs with the same discount and cutoff."""
    groups = _count_documents(judgments, first, second)
    depth = max_depth((first.k,), int(judgments.sizes.max(initial=1)))
    discount = first.bind(judgments, (first.k,)).gains.discount[:depth]
    sums = np.concatenate([[0.0], np.cumsum(discount)])
    weights = np.ones(judgments.queries) if judgments.weights is None else judgments.weights / judgments.weights.max()

    def compute_spread(t: Floats) -> Floats:
        spread = np.zeros((2, judgments.queries))
        for cells in groups:
            rise = cells.first + cells.second
            values = t[cells.queries, None] * rise - cells.second
            spread[:, cells.queries] = _sum_ends(values, rise, cells.counts, sums)
        return spread

    def compute_mean_spread(t: Floats) -> Floats:
        spread = compute_spread(np.full(judgments.queries, t[0]))
        return np.stack([np.average(part, weights=weights, keepdims=True) for part in spread])

    excess = {str(metric): np.zeros(judgments.queries) for metric in (first, second)}
    for cells in groups:
        for values, sign in zip(excess.values(), (1, -1), strict=True):
            gap = sign * (cells.first - cells.second)
            values[cells.queries], _ = _sum_ends(gap, None, cells.counts, sums)
    by_query = _minimize(compute_spread, judgments.queries)
    columns = {f"excess {name}": values for name, values in excess.items()}
    return DisagreementBound(
        metrics=(str(first), str(second)),
        one_ranking={name: float(np.average(values, weights=weights)) for name, values in excess.items()},
        two_rankings=float(_minimize(compute_mean_spread, 1)[0]),
        queries=int(np.count_nonzero(weights)),
        possible=int(np.count_nonzero((by_query > 1e-6) & (weights > 0))),
        per_query=pd.DataFrame({"query": judgments.query_ids, **columns, "two_rankings": by_query}),
    )


def _count_documents(judgments: Judgments, first: NDCG, second: NDCG) -> list[_Cells]:
    """Return the documents of all queries, counted by label if there are few labels."""
    levels, queries = len(judgments.levels), np.arange(judgments.queries)
    if _has_few_labels(judgments):
        rows = RankedRows(queries, np.tile(np.arange(levels), (len(queries), 1)), judgments.sizes)
        places = np.repeat(queries, judgments.sizes) * levels + judgments.layout.codes
        tables = [(rows, np.bincount(places, minlength=len(queries) * levels).reshape(-1, levels))]
    else:
        blocks = [ideal_rows(block, levels) for block in judgments.layout.blocks]
        tables = [(rows, (np.arange(rows.width) < rows.sizes[:, None]).astype(np.int64)) for rows in blocks]
    of_first, of_second = (metric.bind(judgments, (metric.k,)) for metric in (first, second))
    return [
        _Cells(rows.queries, _scale_gains(of_first, rows), _scale_gains(of_second, rows), counts)
        for rows, counts in tables
    ]


def _scale_gains(statistics: GainStatistics, rows: RankedRows) -> Floats:
    """Return gains divided by the ideal DCG, 0 if they overflow, as those of labels that a query does not have may."""
    ideal = statistics.ideal[rows.queries]
    with np.errstate(over="ignore"):
        gains = statistics.gains.of(rows, rows.width)
    return np.asarray(np.divide(gains, ideal, out=np.zeros(gains.shape), where=(ideal > 0) & np.isfinite(gains)))


def _sum_ends(values: Floats, rise: Floats | None, counts: Integers, discounts: Floats) -> tuple[Floats, Floats]:
    """Return the sum of values in descending order times the discounts of their ranks, for each row, and 0.

    With `rise`, the derivatives of the values, return that sum minus the one in ascending order, and its derivative.
    `counts` is the number of documents of each value, `discounts` the sum of the discounts of the first 0, 1, … ranks.
    """
    order = np.argsort(-values, axis=1)
    values, counts = np.take_along_axis(values, order, axis=1), np.take_along_axis(counts, order, axis=1)
    last = len(discounts) - 1
    reached = np.cumsum(counts, axis=1)
    weights = np.diff(discounts[np.minimum(reached, last)], axis=1, prepend=0.0)
    if rise is None:
        return (values * weights).sum(axis=1), np.zeros(len(values))
    left = reached[:, -1:] - reached  # documents with lower values
    weights -= discounts[np.minimum(left + counts, last)] - discounts[np.minimum(left, last)]
    return (values * weights).sum(axis=1), (np.take_along_axis(rise, order, axis=1) * weights).sum(axis=1)


def _minimize(function: Callable[[Floats], Floats], size: int) -> Floats:
    """Return the minima of convex functions over [0, 1] from above, by the intersections of tangents.

    `function` returns the values and the slopes at some points, shape (2, points).
    """
    low, high = np.zeros(size), np.ones(size)
    at_low, at_high = function(low), function(high)
    best: Floats = np.minimum(at_low[0], at_high[0])
    for step in range(16):
        bend = at_high[1] - at_low[1]
        meeting = at_low[0] - at_high[0] + at_high[1] * high - at_low[1] * low
        t = np.divide(meeting, bend, out=(low + high) / 2, where=bend > ROUNDING)
        if step % 3 == 2:  # Bisect now and then, because tangents may approach the minimum from one side only.
            t = (low + high) / 2
        t = np.clip(t, low, high)
        at_t = function(t)
        gain = best - at_t[0]
        best = np.minimum(best, at_t[0])
        left = at_t[1] < 0
        low, high = np.where(left, t, low), np.where(left, high, t)
        at_low, at_high = np.where(left, at_t, at_low), np.where(left, at_high, at_t)
        if step > 3 and (np.abs(gain) <= ROUNDING).all():
            break
    return best
