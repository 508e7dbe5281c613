"""Tables of effects: every pair of models, and every model's mean, with intervals that hold all at once."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.typing import Floats
from .estimates import Estimate
from .flags import FEW
from .inequalities import FEWEST, two_step_test
from .paired import conflict_p_values, holm, pair_p_values
from .resampling import critical_value
from .sample import Family, Sample

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "advantages",
    "common_column",
    "common_ranks",
    "leaderboard_of",
    "pairs_of",
]


def pairs_of(sample: Sample, names: tuple[str, str]) -> pd.DataFrame:
    """Compare every pair of models under every metric: see `Findings.pairs` for the columns."""
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
    """Return the column of a table of pairs that has a number on the queries that both primary metrics have.

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


def leaderboard_of(sample: Sample, metrics: Sequence[str] | None = None) -> pd.DataFrame:
    """Rank the models under every metric, or some, with confidence intervals: see `Findings.standings`."""
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


def _within(middle: Floats, half: Floats, lowest: float, highest: float) -> tuple[Floats, Floats]:
    """Return the ends of intervals, cut off where no value can be; they hold their middles whatever rounding did."""
    return np.minimum(middle, np.maximum(middle - half, lowest)), np.maximum(middle, np.minimum(middle + half, highest))


def _half_width(error: Floats, width: float) -> Floats:
    finite = np.isfinite(error)
    half: Floats = np.where(finite, np.where(finite, error, 0.0) * width, np.inf)
    return half
