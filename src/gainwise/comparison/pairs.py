"""Tables of all pairs of models and of all means, with simultaneous intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from .._common.typing import Floats
from .bounds import remove_skewness
from .estimates import MIN_QUERIES, ROUNDING
from .flags import FEW_QUERIES
from .inference import MAX_MODELS, BootstrapDraws, JointEstimate, Sample, two_step_test

DISCORDANCE = "discordance"


def build_pairs(sample: Sample, names: tuple[str, str], *, common_scale: bool = False) -> pd.DataFrame:
    """Return the table of all pairs of models. `Comparison.pairs` describes the columns.

    With a `common_scale` of the two metrics, it contains the discordance.
    """
    panel, level = sample.panel, sample.alpha
    joint = sample.joint(names)
    effects, common = _build_effects(joint, level, sample.ranges), {}
    conflicts = _build_conflicts(joint, [effects[metric]["p_adjusted"] for metric in names])
    if not panel.counts(names).same:
        shared = [(quantity, metric) for metric in names for quantity in ("difference", "lower", "upper", "p_adjusted")]
        common = {f"common {quantity} {metric}": effects[metric][quantity] for quantity, metric in shared}
        for metric in names:  # These estimates use different queries, so their levels add up.
            effects |= _build_effects(sample.single(metric), level, sample.ranges, families=2)
    columns: dict[str, Any] = {}
    for metric in panel.metrics:
        if metric not in names:
            effects |= _build_effects(sample.single(metric), level, sample.ranges)
        columns |= {f"{quantity} {metric}": column for quantity, column in effects[metric].items()}
    discordance = _build_discordance(sample, names) if common_scale else {}
    return pd.DataFrame(conflicts | columns | common | discordance)


def _build_discordance(sample: Sample, names: tuple[str, str]) -> dict[str, Any]:
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
    joint = Sample(gap, sample.alpha, sample.draws, sample.seed, ranges).joint((DISCORDANCE,))
    effects = _build_effects(joint, sample.alpha, ranges)[DISCORDANCE]
    further = {
        f"{DISCORDANCE} {quantity}": effects[quantity] for quantity in ("lower", "upper", "p_value", "p_adjusted")
    }
    return {DISCORDANCE: effects["difference"], **further}


def _build_effects(
    joint: JointEstimate, alpha: float, ranges: Mapping[str, tuple[float, float]], families: int = 1
) -> dict[str, dict[str, Any]]:
    """Return the columns of each metric, with one row per pair of models. `families` share the level (Bonferroni)."""
    panel, estimated, bootstrap = joint
    first, second = np.triu_indices(len(panel.models), 1)
    bounds, p_values = bootstrap.bound_pairs(alpha / families), bootstrap.bounds.p_values
    two_sided = np.minimum(1.0, 2 * np.minimum(p_values, p_values.transpose(0, 2, 1)))
    adjusted = np.minimum(1.0, families * adjust_p_values(bootstrap))
    effects = {}
    for row, metric in enumerate(panel.metrics):
        difference = panel.in_unit(metric, estimated.difference[row, second, first])
        low, high = ranges[metric]
        lower, upper = bounds[row, second, first], -bounds[row, first, second]
        ends = panel.in_unit(metric, lower), panel.in_unit(metric, upper)
        lower, upper = clip_intervals(difference, *ends, low - high, high - low)
        wins, losses = estimated.wins[row, second, first], estimated.wins[row, first, second]
        effects[metric] = {
            "difference": difference,
            "lower": lower,
            "upper": upper,
            "wins": wins,
            "ties": estimated.queries - wins - losses,
            "losses": losses,
            "p_value": two_sided[row, first, second],
            "p_adjusted": adjusted[row, first, second],
        }
    return effects


def _build_conflicts(joint: JointEstimate, adjusted: Sequence[Floats]) -> dict[str, Any]:
    """Return the pairs of models, and the columns about conflicts of two metrics, from their adjusted p-values."""
    estimated, models = joint.estimated, joint.panel.models
    first, second = np.triu_indices(len(models), 1)
    sign = np.sign(estimated.difference[:, first, second])
    conflict = sign[0] * sign[1] < 0
    p_value = find_conflict_p_values(joint)[first, second]
    support = estimated.support[:, first, second]
    least = support.min(axis=0)
    flag = np.select(
        [support.max(axis=0) == 0, least < MIN_QUERIES, least < FEW_QUERIES], ["identical", "few", "thin"], default=""
    ).astype(object)
    pair = {"model_x": [models[k] for k in first], "model_y": [models[j] for j in second]}
    tests = {"conflict": conflict, "p_value": p_value, "p_adjusted": np.where(conflict, np.maximum(*adjusted), 1.0)}
    return pair | tests | {"differing": least, "flag": flag}


def find_conflict_p_values(joint: JointEstimate) -> Floats:
    """Return p-values of a sign conflict of two metrics, shape (M, M), symmetric.

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
    first, second = joint.bootstrap.bounds.p_values
    one_way = np.maximum(first, second.T)
    return np.asarray(np.minimum(1.0, np.minimum(one_way, one_way.T) * np.where(find_covariances(joint) < 0, 2, 1)))


def find_covariances(joint: JointEstimate) -> Floats:
    """Return the covariance of the differences of each pair of models under two metrics, shape (M, M)."""
    models, estimated = len(joint.panel.models), joint.estimated
    covariance = estimated.root[:, :models].T @ estimated.root[:, models:]
    own = np.diag(covariance).copy()
    if estimated.repeats is not None:
        own += np.einsum("kr,kr->k", estimated.repeats.root[:, :, 0], estimated.repeats.root[:, :, 1])
    return np.asarray(own[:, None] + own - covariance - covariance.T)


def adjust_p_values(bootstrap: BootstrapDraws) -> Floats:
    """Return two-sided p-values of all pairs and metrics, adjusted for their number, shape (metrics, M, M), symmetric.

    They are those of the step-down max-T of Romano & Wolf (2005), or of the single step above `MAX_MODELS` models. The
    interval of `bound_pairs` excludes 0 only if the p-value is at most its level. Rare pairs, and all pairs if a recipe
    has few repeats, have the corrections of their bounds (Bonferroni).

    References
    ----------
    Romano & Wolf (2005), "Exact and approximate stepdown methods for multiple hypothesis testing", JASA 100(469).
    """
    bounds, (metrics, models, _) = bootstrap.bounds, bootstrap.values.shape
    p_values = bounds.p_values
    single = np.minimum(p_values, p_values.transpose(0, 2, 1)) * metrics * models * (models - 1)
    if not (bounds.decides and bounds.has_repeats):
        return np.asarray(np.minimum(1.0, single))
    rare_share, rare = bounds.rare_share, bounds.is_rare
    t = np.divide(bounds.difference, bounds.error, out=np.zeros_like(bounds.error), where=bounds.error > 0)
    statistic = remove_skewness(t, -bounds.skewness)
    statistic = np.where(rare, 0.0, np.maximum(statistic, statistic.transpose(0, 2, 1)))
    adjusted = _step_down(bootstrap, statistic) if rare_share < 1 else np.ones_like(statistic)
    return np.minimum(1.0, np.where(rare, single / (rare_share or 1.0), adjusted / max(1 - rare_share, 1e-9)))


def _step_down(bootstrap: BootstrapDraws, statistic: Floats) -> Floats:
    """Return the p-values of max-T, in steps from the largest statistic, shape (metrics, M, M)."""
    models, p_values = statistic.shape[1], np.ones_like(statistic)
    if models > MAX_MODELS:
        largest = np.sort(bootstrap.max_t.max(axis=(0, 1)))
        number = len(largest) - np.searchsorted(largest, statistic)
        return np.asarray((1 + number) / (len(largest) + 1))
    places = [(row, k, j) for row in range(len(statistic)) for k in range(models) for j in range(k + 1, models)]
    places.sort(key=lambda place: statistic[place])
    largest = np.zeros(bootstrap.draws)
    for row, k, j in places:  # The maximum is over this pair and all pairs with smaller statistics.
        np.maximum(largest, np.abs(bootstrap.compute_t(row, k, j)), out=largest)
        p_values[row, k, j] = (1 + np.count_nonzero(largest >= statistic[row, k, j])) / (len(largest) + 1)
    highest = 0.0
    for row, k, j in reversed(places):
        highest = max(highest, float(p_values[row, k, j]))
        p_values[row, k, j] = p_values[row, j, k] = highest
    return p_values


def build_leaderboard(sample: Sample, metrics: Sequence[str] | None = None) -> pd.DataFrame:
    """Rank the models under every metric. `Comparison.standings` describes the columns."""
    names = sample.panel.metrics if metrics is None else metrics
    tables = [_rank_models(sample.single(metric), sample.alpha, sample.ranges[metric]) for metric in names]
    return pd.concat(tables, ignore_index=True)


def _rank_models(single: JointEstimate, alpha: float, value_range: tuple[float, float]) -> pd.DataFrame:
    panel, estimated, bootstrap = single
    mean = panel.in_unit(panel.metrics[0], estimated.mean[0])
    half = bootstrap.compute_mean_half_widths(0, alpha)
    lower, upper = clip_intervals(mean, mean - half, mean + half, *value_range)
    difference, (bounds,) = estimated.difference[0], bootstrap.bound_pairs(alpha)
    table = pd.DataFrame(
        {
            "metric": panel.metrics[0],
            "model": list(panel.models),
            "rank": 1 + (difference > 0).sum(axis=1),
            "queries": panel.queries,
            "mean": mean,
            "lower": lower,
            "upper": upper,
            "regret": np.maximum(0.0, difference.max(axis=1)),
            "regret_lower": np.maximum(0.0, bounds.max(axis=1)),
            "regret_upper": np.clip(-bounds.min(axis=0), 0.0, value_range[1] - value_range[0]),
            "may_be_best": two_step_test(estimated, bootstrap, alpha / 2).not_rejected,
        }
    )
    return table.sort_values("rank", kind="stable", ignore_index=True)


def clip_intervals(
    middle: Floats, end: Floats, other: Floats, lowest: float | Floats, highest: float | Floats
) -> tuple[Floats, Floats]:
    """Return the lower and the upper ends of intervals, cut at the range of values.

    They contain their middles in spite of rounding. Ends in units of a loss are in reversed order.
    """
    lower, upper = np.maximum(np.minimum(end, other), lowest), np.minimum(np.maximum(end, other), highest)
    return np.minimum(middle, lower), np.maximum(middle, upper)


def select_clearest_pairs(pairs: pd.DataFrame, number: int) -> pd.DataFrame:
    """Return a number of pairs, the clearest conflicts first, then the clearest differences."""
    return pairs.sort_values(["conflict", "p_adjusted"], ascending=[False, True], kind="stable").head(number)
