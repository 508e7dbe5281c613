"""Whether a higher value of a metric is better."""

from __future__ import annotations

from .._common.arrays import nearest
from ..metrics.base import Metric

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


def direction(metric: Metric | str, said: bool | None) -> bool:
    """Return whether a higher value of a metric, ours or another one by its name, is better.

    Raises
    ------
    ValueError
        Where `said` is not the direction of a metric of ours, or nothing is said and known of another one.
    """
    if isinstance(metric, Metric):
        if said is not None and bool(said) != metric.higher_is_better:
            better = "higher" if metric.higher_is_better else "lower"
            raise ValueError(
                f"maximize={bool(said)} would stop at the worst {metric}, of which a {better} value is better: leave "
                "it out"
            )
        return metric.higher_is_better
    if said is not None:
        return said
    known = known_direction(metric)
    if known is not None:
        return known
    raise ValueError(
        f"it is not known whether a higher {metric!r} is better: give maximize=True or maximize=False"
        f"{nearest(metric, (*_HIGHER_IS_BETTER, *_LOWER_IS_BETTER))} (of a metric of your own it is known once the "
        "module that defines it is imported)"
    )


def known_direction(metric: str) -> bool | None:
    """Return the direction of a metric of XGBoost's own by its name; None where it is none."""
    kind = metric.partition("@")[0]
    return True if kind in _HIGHER_IS_BETTER else False if kind in _LOWER_IS_BETTER else None
