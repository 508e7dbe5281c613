"""Tables of effects: every pair of models, and every model's mean, with intervals that hold all at once."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from .flags import FEW
from .inequalities import FEWEST, two_step_test
from .inputs import FloatArray, check_family, check_level, check_seed, losses_of, read_panel
from .paired import conflict_p_values, holm, pair_p_values
from .resampling import Estimate, critical_value
from .sample import Family, Sample

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "advantages",
    "common_column",
    "common_ranks",
    "leaderboard_of",
    "leaderboard_table",
    "pairs_of",
    "pairs_table",
]

Ranges: TypeAlias = Mapping[str, tuple[float, float]]


def pairs_table(
    values: Mapping[str, ArrayLike],
    models: Sequence[str] | None = None,
    weights: ArrayLike | None = None,
    alpha: float = 0.05,
    draws: int = 10_000,
    seed: int = 0,
    primary: Sequence[str] | None = None,
    ranges: Ranges | None = None,
    higher_is_better: Mapping[str, bool] | None = None,
) -> pd.DataFrame:
    """Compare every pair of models under every metric.

    Parameters
    ----------
    values : mapping of metric name to array, shape (queries, models)
        Per-query values. A query that a metric skips is NaN for every model; each metric is compared on its own
        queries.
    models, weights, alpha, draws, seed
        As for `Verdict.from_values`.
    primary : two metric names, optional
        Between which two a sign conflict is looked for; the first two by default.
    ranges : mapping of metric name to (lowest, highest), optional
        Between which values a metric lies (`Metric.value_range`): no interval of a difference reaches beyond what they
        allow.
    higher_is_better : mapping of metric name to bool, optional
        False for a loss; a higher value of a metric that is not named is better.

    Returns
    -------
    DataFrame
        One row per pair, the pairs in natural order of the names; differences are ``model_x`` minus ``model_y``.

        ``model_x``, ``model_y``
            The pair.
        ``conflict``
            Whether the primary metrics prefer different ones of the two in the sample. This and the next four are
            statements about both metrics, made on the queries that both have.
        ``p_value``, ``p_holm``
            Of a sign conflict: the larger of the two one-sided p-values (see `paired.conflict_p_values`), and the same
            after Holm's correction over all pairs. Never 0; 1 for models that never differ.
        ``differing``
            On how many queries the two differ, the smaller count of the primary metrics, under weights their effective
            number.
        ``flag``
            ``"identical"`` (never differ), ``"few"`` (differ on fewer than 30 queries), ``"thin"`` (fewer than 100), or
            empty.
        ``difference M``, ``lower M``, ``upper M`` for each metric M
            Mean difference in the metric's own unit and sign, with a confidence interval. The intervals of both primary
            metrics and all pairs hold together with probability 1 − `alpha` (max-T; where the two have different
            queries, each at `alpha` / 2); those of each further metric are a family of their own, so adding one does
            not widen the others.
        ``wins M``, ``ties M``, ``losses M``
            On how many queries ``model_x`` is better, level and worse. Unweighted.
        ``p_value M``, ``p_holm M``
            Two-sided paired t-test, raw and after Holm's correction over all pairs.
        ``common difference M``, ``common lower M``, ``common upper M``, ``common p_holm M`` for both primary metrics
            The same on the queries that both have, by which `conflict` goes; only where the two have different ones.

    Raises
    ------
    ValueError
        If the values or settings are not as said.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).random((100, 1))
    >>> table = pairs_table({"a": x * [0.9, 0.8], "b": x * [0.8, 0.9]}, models=["m", "n"])
    >>> table[["model_x", "model_y", "conflict", "wins a", "losses b"]].values.tolist()
    [['m', 'n', True, 100, 100]]
    """
    sample = read_sample(values, models, weights, alpha, draws, seed, ranges, higher_is_better)
    return pairs_of(sample, check_family(primary, sample.panel.metrics))


def read_sample(
    values: Mapping[str, ArrayLike],
    models: Sequence[str] | None,
    weights: ArrayLike | None,
    alpha: float,
    draws: int,
    seed: int,
    ranges: Ranges | None,
    higher_is_better: Mapping[str, bool] | None,
) -> Sample:
    """Return the sample that arguments of `pairs_table` say, checked."""
    level = check_level(alpha)
    seed, draws = check_seed(seed, draws, level)
    losses = losses_of(higher_is_better, values)
    return Sample(read_panel(values, models, weights, lower_is_better=losses), level, draws, seed, ranges)


def pairs_of(sample: Sample, names: tuple[str, str]) -> pd.DataFrame:
    """Return what `pairs_table` does, for a sample that was read already."""
    import pandas as pd

    panel, level = sample.panel, sample.alpha
    first, second = np.triu_indices(len(panel.models), 1)

    def effects(family: Sequence[str], alpha: float) -> dict[str, Any]:
        found = sample.family(family) if len(family) > 1 else sample.alone(family[0])
        return _effects(found, alpha, first, second, sample.range_of)

    columns = effects(names, level)
    conflict, common = _conflicts(sample.family(names).estimated, first, second), {}
    if not panel.counts(names).alike:
        kept = [f"{what} {metric}" for metric in names for what in ("difference", "lower", "upper", "p_holm")]
        common = {f"common {column}": columns[column] for column in kept}
        for metric in names:  # their estimates are of different samples, so Bonferroni's inequality joins them
            columns |= effects([metric], level / 2)
    for metric in panel.metrics:
        if metric not in names:
            columns |= effects([metric], level)
    pair = {"model_x": [panel.models[k] for k in first], "model_y": [panel.models[j] for j in second]}
    quantities = ("difference", "lower", "upper", "wins", "ties", "losses", "p_value", "p_holm")
    ordered = {f"{what} {metric}": columns[f"{what} {metric}"] for metric in panel.metrics for what in quantities}
    return pd.DataFrame(pair | conflict | ordered | common)


def common_column(table: pd.DataFrame, column: str) -> str:
    """Return the column of `pairs_table` that has a number on the queries that both primary metrics have.

    >>> import pandas as pd
    >>> common_column(pd.DataFrame({"difference a": [0.1], "common difference a": [0.2]}), "difference a")
    'common difference a'
    >>> common_column(pd.DataFrame({"difference a": [0.1]}), "difference a")
    'difference a'
    """
    common = f"common {column}"
    return common if common in table else column


def advantages(
    table: pd.DataFrame, metric: str, lower_is_better: Container[str] = (), of: str = "difference"
) -> pd.Series[float]:
    """Return `common_column` of a table of pairs with such a sign that above 0 favours `model_x`, for a loss too."""
    column = table[common_column(table, f"{of} {metric}")]
    return 0.0 - column if metric in lower_is_better else column


def common_ranks(
    table: pd.DataFrame, models: Sequence[str], metric: str, lower_is_better: Container[str] = ()
) -> dict[str, int]:
    """Return the rank of every model under a primary metric on the queries that both have; equal means share a rank.

    >>> import pandas as pd
    >>> pairs = {"model_x": ["m", "m", "n"], "model_y": ["n", "o", "o"]}
    >>> table = pd.DataFrame(pairs | {"difference a": [0.0, -0.1, -0.1]})
    >>> common_ranks(table, ["m", "n", "o"], "a")
    {'m': 2, 'n': 2, 'o': 1}
    """
    difference = advantages(table, metric, lower_is_better)
    beaten = [*table["model_x"][difference < 0], *table["model_y"][difference > 0]]
    return {model: 1 + beaten.count(model) for model in models}


def _effects(
    family: Family, alpha: float, first: Any, second: Any, range_of: Callable[[str], tuple[float, float]]
) -> dict[str, Any]:
    panel, estimated, noise = family
    # The largest studentised lead over all ordered pairs is the largest absolute one over all pairs.
    width = float(critical_value(noise.peaks.max(axis=(0, 1)), 1 - alpha))
    two_sided = pair_p_values(estimated).two_sided
    columns: dict[str, Any] = {}
    for row, metric in enumerate(panel.metrics):
        difference = panel.in_unit(metric, estimated.difference[row, second, first])
        half = _half_width(estimated.error[row, second, first], width)
        low, high = range_of(metric)
        lower, upper = _within(difference, half, low - high, high - low)
        wins, losses = estimated.wins[row, second, first], estimated.wins[row, first, second]
        columns |= {
            f"difference {metric}": difference,
            f"lower {metric}": lower,
            f"upper {metric}": upper,
            f"wins {metric}": wins,
            f"ties {metric}": estimated.queries - wins - losses,
            f"losses {metric}": losses,
            f"p_value {metric}": two_sided[row, first, second],
            f"p_holm {metric}": holm(two_sided[row, first, second]),
        }
    return columns


def _conflicts(estimated: Estimate, first: Any, second: Any) -> dict[str, Any]:
    sign = np.sign(estimated.difference[:, first, second])
    one, other = pair_p_values(estimated).one_sided
    p_value = conflict_p_values(one, other)[first, second]
    support = estimated.support[:, first, second]
    least = support.min(axis=0)
    flag = np.select(
        [support.max(axis=0) == 0, least < FEWEST, least < FEW], ["identical", "few", "thin"], default=""
    ).astype(object)
    return {
        "conflict": sign[0] * sign[1] < 0,
        "p_value": p_value,
        "p_holm": holm(p_value),
        "differing": least,
        "flag": flag,
    }


def leaderboard_table(
    values: Mapping[str, ArrayLike],
    models: Sequence[str] | None = None,
    weights: ArrayLike | None = None,
    alpha: float = 0.05,
    draws: int = 10_000,
    seed: int = 0,
    ranges: Ranges | None = None,
    higher_is_better: Mapping[str, bool] | None = None,
) -> pd.DataFrame:
    """Rank the models under every metric, with confidence intervals.

    Parameters
    ----------
    values, models, weights, alpha, draws, seed, ranges, higher_is_better
        As for `pairs_table`.

    Returns
    -------
    DataFrame
        One row per metric and model, metrics in the order given, models from best to worst.

        ``metric``, ``model``, ``rank``
            Rank 1 has the best mean; equal means share a rank.
        ``queries``
            On how many queries of positive weight the metric has a value. Everything in a row is about these.
        ``mean``, ``lower``, ``upper``
            The intervals of all models of a metric hold together with probability 1 − `alpha`. They say where each mean
            lies, cut off at the ends of the metric's range: the true mean lies within it, so that they lose nothing.
            They are too wide to compare models by, for models are scored on the same queries.
        ``regret``, ``regret_lower``, ``regret_upper``
            Distance to the best mean, with bounds from the simultaneous intervals of all pairs of the metric:
            valid for whichever model is picked out.
        ``may_be_best``
            Whether the model is in the confidence set of the best under this metric alone.

    Raises
    ------
    ValueError
        If the values or settings are not as said.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).random((100, 1))
    >>> table = leaderboard_table({"a": x * [0.8, 0.9]}, models=["m", "n"])
    >>> table[["model", "rank", "may_be_best"]].values.tolist()
    [['n', 1, True], ['m', 2, False]]
    """
    return leaderboard_of(read_sample(values, models, weights, alpha, draws, seed, ranges, higher_is_better))


def leaderboard_of(sample: Sample, metrics: Sequence[str] | None = None) -> pd.DataFrame:
    """Return what `leaderboard_table` does, for a sample that was read already, or for some of its metrics."""
    import pandas as pd

    chosen = sample.panel.metrics if metrics is None else metrics
    parts = [_leaderboard(sample.alone(metric), sample.alpha, sample.range_of(metric)) for metric in chosen]
    return pd.concat(parts, ignore_index=True)


def _leaderboard(family: Family, alpha: float, value_range: tuple[float, float]) -> pd.DataFrame:
    import pandas as pd

    panel, estimated, noise = family
    mean, error = panel.in_unit(panel.metrics[0], estimated.mean[0]), estimated.mean_error[0]
    half = _half_width(error, float(critical_value(noise.deviations(0), 1 - alpha)))
    lower, upper = _within(mean, half, *value_range)
    difference, widest = estimated.difference[0], value_range[1] - value_range[0]
    reach = _half_width(estimated.error[0], float(critical_value(noise.peaks[0].max(axis=0), 1 - alpha)))
    rank = 1 + (difference > 0).sum(axis=1)
    table = pd.DataFrame(
        {
            "metric": panel.metrics[0],
            "model": list(panel.models),
            "rank": rank,
            "queries": panel.queries,
            "mean": mean,
            "lower": lower,
            "upper": upper,
            "regret": np.maximum(0.0, difference.max(axis=1)),
            "regret_lower": np.maximum(0.0, (difference - reach).max(axis=1)),
            "regret_upper": np.clip((difference + reach).max(axis=1), 0.0, widest),
            "may_be_best": two_step_test(estimated, noise, alpha).kept,
        }
    )
    return table.sort_values("rank", kind="stable", ignore_index=True)


def _within(middle: FloatArray, half: FloatArray, lowest: float, highest: float) -> tuple[FloatArray, FloatArray]:
    """Return the ends of intervals, cut off where no value can be; they hold their middles whatever rounding did."""
    return np.minimum(middle, np.maximum(middle - half, lowest)), np.maximum(middle, np.minimum(middle + half, highest))


def _half_width(error: FloatArray, width: float) -> FloatArray:
    finite = np.isfinite(error)
    half: FloatArray = np.where(finite, np.where(finite, error, 0.0) * width, np.inf)
    return half
