"""Whether a higher value of a metric is better."""

from __future__ import annotations

from .._common.arrays import nearest
from ..training.bound import is_ours

_HIGHER_IS_BETTER = ("auc", "aucpr", "pre", "map", "ndcg", "interval-regression-accuracy")
_LOWER_IS_BETTER = (
    "rmse",
    "rmsle",
    "mae",
    "mape",
    "mphe",
    "logloss",
    "error",
    "merror",
    "mlogloss",
    "poisson-nloglik",
    "gamma-nloglik",
    "cox-nloglik",
    "gamma-deviance",
    "tweedie-nloglik",
    "aft-nloglik",
    "quantile",
    "expectile",
)


def direction(metric: str, said: bool | None) -> bool:
    """Return whether a higher value of the metric is better, where that is known or said."""
    if said is not None:
        if is_ours(metric) and not said:
            raise ValueError(f"maximize=False would stop at the worst {metric}: all of our metrics are maximised")
        return said
    kind = metric.partition("@")[0]
    if is_ours(metric) or kind in _HIGHER_IS_BETTER:
        return True
    if kind in _LOWER_IS_BETTER:
        return False
    raise ValueError(
        f"it is not known whether a higher {metric!r} is better: give maximize=True or maximize=False"
        f"{nearest(metric, (*_HIGHER_IS_BETTER, *_LOWER_IS_BETTER))}"
    )
