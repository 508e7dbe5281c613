"""Whether a higher value of a metric is better."""

from __future__ import annotations

from .._common.arrays import nearest
from .._common.checks import check_flag
from ..metrics.base import Metric

_HIGHER = ("auc", "aucpr", "pre", "map", "ndcg", "interval-regression-accuracy")
_LOWER = (
    "rmse", "rmsle", "mae", "mape", "mphe", "logloss", "error", "merror", "mlogloss", "poisson-nloglik",
    "gamma-nloglik", "cox-nloglik", "gamma-deviance", "tweedie-nloglik", "aft-nloglik", "quantile", "expectile",
)  # fmt: skip

DIRECTIONS = {**dict.fromkeys(_HIGHER, True), **dict.fromkeys(_LOWER, False)}
"""Whether a higher value is better of each of XGBoost's own metrics, by its name without a cutoff."""


def direction(metric: Metric | str, said: bool | None) -> bool:
    """Return whether a higher value is better; raise where nobody knows, or `said` is not what a metric of ours is."""
    if said is not None:
        said = check_flag("maximize", said)
    if isinstance(metric, Metric):
        if said is not None and said != metric.higher_is_better:
            better = "higher" if metric.higher_is_better else "lower"
            raise ValueError(
                f"maximize={said} would stop at the worst {metric}, of which a {better} value is better: leave it out"
            )
        return metric.higher_is_better
    known = DIRECTIONS.get(metric.partition("@")[0]) if said is None else said
    if known is None:
        raise ValueError(
            f"it is not known whether a higher {metric!r} is better: give maximize=True or maximize=False"
            f"{nearest(metric, DIRECTIONS)} (of a metric of your own it is known once the module that defines it is "
            "imported)"
        )
    return known
