"""Tables of all pairs of models and of all means, with simultaneous intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .._common.lazy import pandas as pd
from .._common.typing import Bools, Floats, Integers
from .bounds import RARE_SHARE, DifferenceBounds, bound_share, remove_skewness
from .estimates import MIN_QUERIES, MODAL_SHARE, ROUNDING, read_units
from .flags import FEW_QUERIES
from .inference import (
    MAX_MODELS,
    BestTest,
    BootstrapDraws,
    JointEstimate,
    Sample,
    bound_regrets_from_above,
    invert_t,
)

DISCORDANCE = "discordance"

MAX_PAIRS = 500
"""Pairs of models in JSON. With more, only the clearest ones are listed. `Comparison.pairs` contains all of them."""

STEP_BLOCK = 65_536
"""So many t-statistics are computed at a time, which fit into the cache of a processor."""


Effects: TypeAlias = dict[str, dict[str, Any]]
"""Columns of the table of pairs by metric."""


class Pairs(NamedTuple):
    """Pairs of models: the numbers of both, and the places of the pairs among all of them."""

    first: Integers
    second: Integers
    places: Integers

    @classmethod
    def list_all(cls, models: int) -> Pairs:
        """Return all pairs of so many models."""
        first, second = np.triu_indices(models, 1)
        return cls(first, second, np.arange(len(first)))

    def take(self, which: Any) -> Pairs:
        """Return some pairs."""
        return Pairs(*(numbers[which] for numbers in self))


def build_pairs(sample: Sample, names: tuple[str, str], *, common_scale: bool = False) -> pd.DataFrame:
    """Return the table of all pairs of models. `Comparison.pairs` describes the columns.

    With a `common_scale` of the two metrics, it contains the discordance.
    """
    pairs, joint = Pairs.list_all(len(sample.panel.models)), sample.joint(names)
    effects, common = _build_primary_effects(sample, names, pairs, adjust_p_values(joint.bootstrap))
    conflicts = _build_conflicts(joint, pairs, effects, common)
    columns: dict[str, Any] = {}
    for metric in sample.panel.metrics:
        if metric not in names:
            effects |= _build_effects(sample.single(metric), sample, pairs)
        columns |= {f"{quantity} {metric}": column for quantity, column in effects[metric].items()}
    discordance = _build_discordance(sample, names, pairs) if common_scale else {}
    return pd.DataFrame(conflicts | columns | _name_common(common) | discordance)


def build_clearest_pairs(sample: Sample, names: tuple[str, str], number: int) -> pd.DataFrame:
    """Return rows of the table of all pairs, the clearest conflicts first, then the clearest differences.

    The columns are those of both metrics. Only the adjusted p-values are computed for all pairs.
    """
    pairs, joint = Pairs.list_all(len(sample.panel.models)), sample.joint(names)
    conflict, adjusted = _find_conflicts(joint, pairs), adjust_p_values(joint.bootstrap)
    order = np.lexsort((np.where(conflict, adjusted.max(axis=0), 1.0), ~conflict))
    pairs = pairs.take(order[:number])
    effects, common = _build_primary_effects(sample, names, pairs, adjusted)
    columns = {f"{quantity} {metric}": column for metric in names for quantity, column in effects[metric].items()}
    return pd.DataFrame(_build_conflicts(joint, pairs, effects, common) | columns | _name_common(common))


def _build_primary_effects(
    sample: Sample, names: tuple[str, str], pairs: Pairs, adjusted: Floats
) -> tuple[Effects, Effects]:
    """Return the columns of two metrics, and those on their common queries if these are others.

    `adjusted` are the `adjust_p_values` on common queries.
    """
    effects = _build_effects(sample.joint(names), sample, pairs, adjusted=adjusted)
    if sample.panel.counts(names).same:
        return effects, {}
    own: Effects = {}
    for metric in names:  # These estimates use different queries, so their levels add up.
        own |= _build_effects(sample.single(metric), sample, pairs, families=2)
    return own, effects


def _name_common(common: Effects) -> dict[str, Any]:
    """Return the columns on common queries."""
    shown = ("difference", "lower", "upper", "p_adjusted")
    return {f"common {name} {metric}": columns[name] for metric, columns in common.items() for name in shown}


def _build_discordance(sample: Sample, names: tuple[str, str], pairs: Pairs) -> dict[str, Any]:
    """Return the difference under the second metric minus that under the first, as differences of one metric."""
    panel = sample.panel.select(names)

    def subtract(values: Floats) -> Floats:
        difference: Floats = values[1:2] - values[0:1]
        difference[np.abs(difference) <= ROUNDING * np.abs(values).max(initial=0.0)] = 0.0
        return difference

    gap = replace(
        panel,
        metrics=(DISCORDANCE,),
        values=subtract(panel.values),
        repeats=panel.repeats and tuple(map(subtract, panel.repeats)),
        lower_is_better=frozenset(),
    )
    (low, high), (other_low, other_high) = (sample.ranges[name] for name in names)
    ranges = {DISCORDANCE: (other_low - high, other_high - low)}
    gaps = Sample(gap, sample.alpha, sample.draws, sample.seed, ranges)
    effects = _build_effects(gaps.joint((DISCORDANCE,)), gaps, pairs)[DISCORDANCE]
    further = ("lower", "upper", "p_value", "p_adjusted")
    return {DISCORDANCE: effects["difference"], **{f"{DISCORDANCE} {name}": effects[name] for name in further}}


def _build_effects(
    joint: JointEstimate, sample: Sample, pairs: Pairs, families: int = 1, adjusted: Floats | None = None
) -> Effects:
    """Return the columns of each metric, with one row per pair of models.

    `families` share the level (Bonferroni). `adjusted` are the `adjust_p_values` of the estimate.
    """
    panel, estimated, bootstrap = joint
    first, second, places = pairs
    bounds = bootstrap.bounds.select(second, first)
    one_sided = np.minimum(bounds.p_values, bounds.reverse().p_values)
    adjusted = adjust_p_values(bootstrap) if adjusted is None else adjusted
    lowest, highest = bootstrap.bound_pairs(sample.alpha / families, (second, first), (first, second))
    effects = {}
    for row, metric in enumerate(panel.metrics):
        difference = panel.in_unit(metric, estimated.difference[row, second, first])
        low, high = sample.ranges[metric]
        ends = panel.in_unit(metric, lowest[row]), panel.in_unit(metric, -highest[row])
        lower, upper = clip_intervals(difference, *ends, low - high, high - low)
        wins, losses = (estimated.wins[row, *ends].astype(np.int64) for ends in ((second, first), (first, second)))
        effects[metric] = {
            "difference": difference,
            "lower": lower,
            "upper": upper,
            "wins": wins,
            "ties": estimated.queries - wins - losses,
            "losses": losses,
            "p_value": np.minimum(1.0, 2 * one_sided[row]),
            "p_adjusted": np.minimum(1.0, families * adjusted[row, places]),
        }
    return effects


def _find_conflicts(joint: JointEstimate, pairs: Pairs) -> Bools:
    """Return whether two metrics prefer different models of each pair."""
    sign = np.sign(joint.estimated.difference[:, pairs.first, pairs.second])
    return np.asarray(sign[0] * sign[1] < 0)


def _build_conflicts(joint: JointEstimate, pairs: Pairs, effects: Effects, common: Effects) -> dict[str, Any]:
    """Return the pairs of models, and the columns about conflicts of two metrics, from the effects on their queries."""
    models, conflict = joint.panel.models, _find_conflicts(joint, pairs)
    below, duplicate_of = joint.estimated.below, joint.estimated.duplicate_of
    is_identical = (duplicate_of[:, pairs.first] == duplicate_of[:, pairs.second]).all(axis=0)
    support = below[:, pairs.first, pairs.second] + below[:, pairs.second, pairs.first]
    least = support.min(axis=0)
    conditions = [is_identical, least < MIN_QUERIES, least < FEW_QUERIES]
    flag = np.select(conditions, ["identical", "few", "thin"], default="").astype(object)
    adjusted = np.maximum(*((common or effects)[metric]["p_adjusted"] for metric in joint.panel.metrics))
    return {
        "model_x": [models[k] for k in pairs.first],
        "model_y": [models[j] for j in pairs.second],
        "conflict": conflict,
        "p_value": find_conflict_p_values(joint, pairs),
        "p_adjusted": np.where(conflict, adjusted, 1.0),
        "differing": least.astype(np.int64),
        "flag": flag,
    }


def find_conflict_p_values(joint: JointEstimate, pairs: Pairs) -> Floats:
    """Return p-values of a sign conflict of two metrics for pairs of models.

    The claim that X is better than Y under one metric *and* Y is better than X under the other requires both, so its
    p-value is the larger of the two one-sided p-values. The smaller one of the two directions is used, the observed one
    if there is a conflict. Both directions are tested without a correction, which is exact unless the two differences
    are negatively correlated. If they are, the p-value is doubled (Bonferroni). Gail & Simon (1985) have the same
    critical value for independent differences.

    References
    ----------
    Gail & Simon (1985), "Testing for qualitative interactions between treatment effects and patient subsets",
    Biometrics 41.
    """
    bounds = joint.bootstrap.bounds.select(pairs.first, pairs.second)
    first, second = bounds.p_values
    reversed_first, reversed_second = bounds.reverse().p_values
    one_way = np.minimum(np.maximum(first, reversed_second), np.maximum(reversed_first, second))
    is_negative = find_covariances(joint, pairs) < 0
    return np.asarray(np.minimum(1.0, one_way * np.where(is_negative, 2, 1)))


def find_covariances(joint: JointEstimate, pairs: Pairs) -> Floats:
    """Return the covariance of the differences of pairs of models under two metrics."""
    models, estimated = len(joint.panel.models), joint.estimated
    covariance = estimated.root[:, :models].T @ estimated.root[:, models:]
    own = np.diag(covariance).copy()
    if estimated.repeats is not None:
        own += np.einsum("kr,kr->k", estimated.repeats.root[:, :, 0], estimated.repeats.root[:, :, 1])
    (first, second, _) = pairs
    return np.asarray(own[first] + own[second] - covariance[first, second] - covariance[second, first])


def adjust_p_values(bootstrap: BootstrapDraws) -> Floats:
    """Return two-sided p-values of all pairs and metrics, adjusted for their number, shape (metrics, pairs).

    They are those of the step-down max-T of Romano & Wolf (2005), or of the single step above `MAX_MODELS` models. The
    interval of `bound_pairs` excludes 0 only if the p-value is at most its level. Rare pairs, and all pairs if a
    configuration has few repeats, have the corrections of their bounds (Bonferroni).

    References
    ----------
    Romano & Wolf (2005), "Exact and approximate stepdown methods for multiple hypothesis testing", JASA 100(469).
    """
    (metrics, models, _), bounds = bootstrap.values.shape, bootstrap.bounds
    pairs = Pairs.list_all(models)
    statistic, rare = _compute_statistics(bounds, pairs)
    corrects = not (bounds.decides and bounds.has_repeats)
    some = rare.any(axis=0) | corrects
    part = bounds.select(pairs.first[some], pairs.second[some])
    single = np.minimum(part.p_values, part.reverse().p_values) * metrics * models * (models - 1)
    if corrects:
        return np.asarray(np.minimum(1.0, single))
    rare_share = bounds.rare_share
    adjusted = _adjust_statistics(bootstrap, pairs, statistic) if rare_share < 1 else np.ones_like(statistic)
    adjusted /= max(1 - rare_share, 1e-9)
    adjusted[:, some] = np.where(rare[:, some], single / (rare_share or 1.0), adjusted[:, some])
    return np.asarray(np.minimum(1.0, adjusted, out=adjusted))


def _compute_statistics(bounds: DifferenceBounds, pairs: Pairs) -> tuple[Floats, Bools]:
    """Return the two-sided statistics of pairs, 0 for rare ones, and which are rare, shape (metrics, pairs)."""
    shape = (len(bounds.difference), len(pairs.places))
    statistic, rare = np.empty(shape), np.empty(shape, dtype=bool)
    for start in range(0, shape[1], STEP_BLOCK):
        block = slice(start, start + STEP_BLOCK)
        part = bounds.select(pairs.first[block], pairs.second[block])
        t = np.divide(part.difference, part.error, out=np.zeros_like(part.error), where=part.error > 0)
        largest = np.maximum(remove_skewness(t, -part.skewness), remove_skewness(-t, part.skewness))
        rare[:, block] = part.is_rare
        statistic[:, block] = np.where(rare[:, block], 0.0, largest)
    return statistic, rare


def _adjust_statistics(bootstrap: BootstrapDraws, pairs: Pairs, statistic: Floats) -> Floats:
    """Return the p-values of max-T of all pairs, in steps from the largest statistic, shape (metrics, pairs)."""
    if bootstrap.values.shape[1] > MAX_MODELS:
        largest = np.sort(bootstrap.max_t.max(axis=(0, 1)))
        number = len(largest) + 1 - np.searchsorted(largest, statistic)
        return np.asarray(number / (len(largest) + 1))
    order, draws = np.argsort(statistic, axis=None, kind="stable"), bootstrap.draws
    ordered, fixed = statistic.ravel()[order], bootstrap.factor is None
    limits = invert_t(ordered, bootstrap.estimated.freedom) if fixed else ordered
    counts, largest = np.zeros(len(order)), np.zeros(draws)
    step = max(1, STEP_BLOCK // draws)
    reached = int(np.searchsorted(ordered, bootstrap.max_t.max() * (1 + 1e-9), side="right"))
    for start in range(0, reached, step):  # No draw of any pair reaches the statistics of the others.
        part = slice(start, min(start + step, reached))
        rows, places = np.divmod(order[part], len(pairs.places))
        t = bootstrap.compute_pair_t(rows, pairs.first[places], pairs.second[places])
        for place, (values, limit) in enumerate(zip(t, limits[part], strict=True), start):
            np.maximum(values, largest, out=largest)  # The maximum over this pair and all with smaller statistics.
            counts[place] = np.count_nonzero(largest >= limit)
    p_values = np.empty(len(order))
    p_values[order] = np.maximum.accumulate(((1 + counts) / (draws + 1))[::-1])[::-1]
    return p_values.reshape(statistic.shape)


def build_leaderboard(
    sample: Sample, metrics: Sequence[str] | None = None, *, with_regrets: bool = True
) -> pd.DataFrame:
    """Rank the models under every metric. `Comparison.standings` describes the columns.

    Regrets, and which models may be best, require the comparison of all pairs.
    """
    tables = []
    for metric in sample.panel.metrics if metrics is None else metrics:
        columns = rank_models(sample, metric, with_regrets=with_regrets)
        tables.append(pd.DataFrame(columns).sort_values("rank", kind="stable", ignore_index=True))
    return pd.concat(tables, ignore_index=True)


def rank_models(sample: Sample, metric: str, *, with_regrets: bool = False) -> dict[str, Any]:
    """Return the columns of `build_leaderboard` for a metric, in the order of the models of the sample."""
    single, value_range = sample.single(metric, pairs=with_regrets), sample.ranges[metric]
    panel, estimated, _ = single
    mean = panel.in_unit(metric, estimated.mean[0])
    lower, upper = clip_intervals(mean, *_bound_means(single, sample.alpha, *value_range), *value_range)
    columns = {
        "metric": metric,
        "model": list(panel.models),
        "rank": 1 + (estimated.difference[0] > 0).sum(axis=1),
        "queries": panel.queries,
        "mean": mean,
        "lower": lower,
        "upper": upper,
    }
    if with_regrets:
        columns |= _bound_regrets(single, sample.alpha, value_range[1] - value_range[0])
    return columns


def _bound_means(single: JointEstimate, alpha: float, lowest: float, highest: float) -> tuple[Floats, Floats]:
    """Return the ends of simultaneous intervals of all means under one metric, in its unit.

    If fewer than 30 queries, and less than 10 %, deviate from one value, such as 1, their error says nothing about the
    share of such queries. The means of these models have the bounds of rare differences, at a tenth of the level if
    there are other models.
    """
    panel, estimated, bootstrap = single
    (metric,), units = panel.metrics, estimated.units
    values, mean = (panel.in_unit(metric, each[0]) for each in (read_units(panel)[0], estimated.mean))
    modal, tolerance = np.median(values, axis=1), 2 * estimated.tolerance[0]
    below = (values < (modal - tolerance)[:, None]).sum(axis=1)
    above = (values > (modal + tolerance)[:, None]).sum(axis=1)
    rare = below + above < min(MIN_QUERIES, (1 - MODAL_SHARE) * units)
    if estimated.repeats is not None:  # Another repeat may differ on other queries.
        rare &= estimated.repeats.counts == 0
    share = 0.0 if not rare.any() else 1.0 if rare.all() else RARE_SHARE
    half = bootstrap.compute_mean_half_widths(0, (1 - share) * alpha) if share < 1 else np.zeros_like(mean)
    level = share * alpha / (2 * len(mean))
    down, up = (np.minimum(1.0, estimated.largest * bound_share(count, units, level)) for count in (below, above))
    return (
        np.where(rare, modal - (modal - lowest) * down, mean - half),
        np.where(rare, modal + (highest - modal) * up, mean + half),
    )


def _bound_regrets(single: JointEstimate, alpha: float, largest: float) -> dict[str, Any]:
    _, estimated, bootstrap = single
    (bounds,) = bootstrap.bound_pairs(alpha)
    return {
        "regret": np.maximum(0.0, estimated.difference[0].max(axis=1)),
        "regret_lower": np.maximum(0.0, bounds.max(axis=1)),
        "regret_upper": np.minimum(bound_regrets_from_above(bounds), largest),
        "may_be_best": BestTest(estimated, bootstrap, alpha / 2).not_rejected,
    }


def clip_intervals(
    middle: Floats, end: Floats, other: Floats, lowest: float | Floats, highest: float | Floats
) -> tuple[Floats, Floats]:
    """Return the lower and the upper ends of intervals, cut at the range of values.

    They contain their middles in spite of rounding. Ends in units of a loss are in reversed order.
    """
    lower, upper = np.maximum(np.minimum(end, other), lowest), np.minimum(np.maximum(end, other), highest)
    return np.minimum(middle, lower), np.maximum(middle, upper)
