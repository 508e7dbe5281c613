"""Tables of all pairs of models and of all means, with simultaneous intervals."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike

from .._common.typing import Floats
from .estimates import ROUNDING, Estimate
from .flags import FEW_QUERIES
from .inference import MIN_QUERIES, JointEstimate, Sample, two_step_test

DISCORDANCE = "discordance"


def build_pairs(sample: Sample, names: tuple[str, str], *, common_scale: bool = False) -> pd.DataFrame:
    """Return the table of all pairs of models. `Comparison.pairs` describes the columns.

    With a `common_scale` of the two metrics, it contains the discordance.
    """
    panel, level = sample.panel, sample.alpha
    joint = sample.joint(names)
    effects, common = _build_effects(joint, level, sample.ranges), {}
    if not panel.counts(names).same:
        shared = [(quantity, metric) for metric in names for quantity in ("difference", "lower", "upper", "p_holm")]
        common = {f"common {quantity} {metric}": effects[metric][quantity] for quantity, metric in shared}
        for metric in names:  # These estimates use different queries, so their levels add up (Bonferroni).
            effects |= _build_effects(sample.single(metric), level / 2, sample.ranges)
    columns: dict[str, Any] = {}
    for metric in panel.metrics:
        if metric not in names:
            effects |= _build_effects(sample.single(metric), level, sample.ranges)
        columns |= {f"{quantity} {metric}": column for quantity, column in effects[metric].items()}
    discordance = _build_discordance(sample, names) if common_scale else {}
    return pd.DataFrame(_build_conflicts(joint) | columns | common | discordance)


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
    joint = Sample(gap, sample.alpha, sample.draws, sample.seed).joint((DISCORDANCE,))
    effects = _build_effects(joint, sample.alpha, {DISCORDANCE: (-np.inf, np.inf)})[DISCORDANCE]
    further = {f"{DISCORDANCE} {quantity}": effects[quantity] for quantity in ("lower", "upper", "p_value", "p_holm")}
    return {DISCORDANCE: effects["difference"], **further}


def compute_advantages(
    table: pd.DataFrame, metric: str, lower_is_better: Container[str] = (), of: str = "difference"
) -> pd.Series[float]:
    """Return a column of a metric, with the sign of losses reversed. Positive values favor `model_x`.

    It is the column for the queries with a value under both primary metrics, if there is one.
    """
    name = f"{of} {metric}"
    column = table[f"common {name}" if f"common {name}" in table else name]
    return 0.0 - column if metric in lower_is_better else column


def _build_effects(
    joint: JointEstimate, alpha: float, ranges: Mapping[str, tuple[float, float]]
) -> dict[str, dict[str, Any]]:
    """Return the columns of each metric, with one row per pair of models."""
    panel, estimated, bootstrap = joint
    first, second = np.triu_indices(len(panel.models), 1)
    half_widths, two_sided = bootstrap.compute_half_widths(alpha), compute_pair_p_values(estimated).two_sided
    effects = {}
    for row, metric in enumerate(panel.metrics):
        difference = panel.in_unit(metric, estimated.difference[row, second, first])
        low, high = ranges[metric]
        lower, upper = clip_intervals(difference, half_widths[row, second, first], low - high, high - low)
        wins, losses = estimated.wins[row, second, first], estimated.wins[row, first, second]
        effects[metric] = {
            "difference": difference,
            "lower": lower,
            "upper": upper,
            "wins": wins,
            "ties": estimated.queries - wins - losses,
            "losses": losses,
            "p_value": two_sided[row, first, second],
            "p_holm": holm(two_sided[row, first, second]),
        }
    return effects


def _build_conflicts(joint: JointEstimate) -> dict[str, Any]:
    """Return the pairs of models, and the columns about conflicts of two metrics."""
    estimated, models = joint.estimated, joint.panel.models
    first, second = np.triu_indices(len(models), 1)
    sign = np.sign(estimated.difference[:, first, second])
    p_value = compute_conflict_p_values(*compute_pair_p_values(estimated).one_sided)[first, second]
    support = estimated.support[:, first, second]
    least = support.min(axis=0)
    flag = np.select(
        [support.max(axis=0) == 0, least < MIN_QUERIES, least < FEW_QUERIES], ["identical", "few", "thin"], default=""
    ).astype(object)
    pair = {"model_x": [models[k] for k in first], "model_y": [models[j] for j in second]}
    conflict = {"conflict": sign[0] * sign[1] < 0, "p_value": p_value, "p_holm": holm(p_value)}
    return pair | conflict | {"differing": least, "flag": flag}


class PairedPValues(NamedTuple):
    """P-values of the differences between models, shape (metrics, M, M).

    ``one_sided[m, k, j]`` is small if model j is better than model k under metric m. `two_sided` is twice the smaller
    one of both directions, at most 1.
    """

    one_sided: Floats
    two_sided: Floats


def compute_pair_p_values(estimated: Estimate) -> PairedPValues:
    """Return the p-values of the paired t-test of every pair of models under every metric.

    t = difference / standard error with n − 1 degrees of freedom, where n is the number of queries or clusters, or
    their effective number (Σw)²/Σw² under weights. For a recipe with R repeats, the error has two parts with n − 1 and
    R − 1 degrees of freedom, which the formula of Welch and Satterthwaite combines. A p-value from bootstrap draws
    would have a Monte Carlo error and a minimum of 1/(B + 1), which Holm's correction multiplies by the number of
    pairs.

    No p-value is 0: two models that differ on m queries or clusters cannot have a p-value below 2⁻ᵐ, the minimum of a
    sign-flipping test. It is 1 for models that never differ, and for a single query.
    """
    difference, error = estimated.difference, estimated.error
    t = np.divide(difference, error, out=np.where(difference > 0, np.inf, -np.inf), where=error > 0)
    one_sided = np.asarray(scipy.special.stdtr(_compute_freedom(estimated), -t), dtype=np.float64)
    floor = np.maximum(np.exp2(-estimated.differing.astype(np.float64)), np.finfo(float).tiny)
    one_sided = np.maximum(one_sided, floor)
    one_sided[np.isinf(error) | (estimated.differing == 0)] = 1.0
    two_sided = np.minimum(1.0, 2 * np.minimum(one_sided, one_sided.transpose(0, 2, 1)))
    return PairedPValues(one_sided, two_sided)


def _compute_freedom(estimated: Estimate) -> float | Floats:
    """Return the degrees of freedom of every difference, or one number if all models are fixed."""
    of_queries = max(estimated.effective - 1, np.finfo(float).tiny)
    repeats = estimated.repeats
    if repeats is None or not repeats.variance.any():
        return of_queries
    of_repeats = repeats.variance**2 / np.maximum(repeats.counts - 1, 1)
    whole = estimated.error**4
    parts = repeats.query_error**4 / of_queries + of_repeats[:, :, None] + of_repeats[:, None, :]
    mixed = np.isfinite(whole) & (estimated.error > repeats.query_error)
    return np.asarray(np.divide(whole, parts, out=np.full_like(whole, of_queries), where=mixed))


def compute_conflict_p_values(first: Floats, second: Floats) -> Floats:
    """Return p-values of a sign conflict from the one-sided p-values under two metrics, shape (M, M), symmetric.

    The claim that X is better than Y under one metric *and* Y is better than X under the other requires both, so its
    p-value is the larger of the two one-sided p-values. The smaller one of the two directions is used, the observed one
    if there is a conflict. Both directions are tested without a correction, which is exact unless the two differences
    are negatively correlated. Those of two metrics of the same rankings are not (Gail & Simon 1985 have the same
    critical value for independent ones). At correlation −1, the level would double.

    References
    ----------
    Gail & Simon (1985), "Testing for qualitative interactions between treatment effects and patient subsets",
    Biometrics 41.
    """
    one_way = np.maximum(first, second.T)
    return np.asarray(np.minimum(one_way, one_way.T))


def holm(p_values: ArrayLike) -> Floats:
    """Adjust p-values by Holm's step-down method, which controls the family-wise error under any dependence.

    The r-th smallest of m p-values becomes the largest of (m − s + 1) · p₍ₛ₎ over s <= r, at most 1.

    >>> holm([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return adjusted


def build_leaderboard(sample: Sample, metrics: Sequence[str] | None = None) -> pd.DataFrame:
    """Rank the models under every metric. `Comparison.standings` describes the columns."""
    names = sample.panel.metrics if metrics is None else metrics
    tables = [_rank_models(sample.single(metric), sample.alpha, sample.ranges[metric]) for metric in names]
    return pd.concat(tables, ignore_index=True)


def _rank_models(single: JointEstimate, alpha: float, value_range: tuple[float, float]) -> pd.DataFrame:
    panel, estimated, bootstrap = single
    mean = panel.in_unit(panel.metrics[0], estimated.mean[0])
    lower, upper = clip_intervals(mean, bootstrap.compute_mean_half_widths(0, alpha), *value_range)
    difference, widest = estimated.difference[0], value_range[1] - value_range[0]
    half_widths = bootstrap.compute_half_widths(alpha)[0]
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
            "regret_lower": np.maximum(0.0, (difference - half_widths).max(axis=1)),
            "regret_upper": np.clip((difference + half_widths).max(axis=1), 0.0, widest),
            "may_be_best": two_step_test(estimated, bootstrap, alpha).not_rejected,
        }
    )
    return table.sort_values("rank", kind="stable", ignore_index=True)


def clip_intervals(
    middle: Floats, half: Floats, lowest: float | Floats, highest: float | Floats
) -> tuple[Floats, Floats]:
    """Return the ends of intervals, cut at the range of values. They contain their middles in spite of rounding."""
    return np.minimum(middle, np.maximum(middle - half, lowest)), np.maximum(middle, np.minimum(middle + half, highest))


def select_clearest_pairs(pairs: pd.DataFrame, number: int) -> pd.DataFrame:
    """Return a number of pairs, the clearest conflicts first, then the clearest differences."""
    return pairs.sort_values(["conflict", "p_holm"], ascending=[False, True], kind="stable").head(number)
