"""What the adapters say alike: what options are called here, and of data sets and metrics that are not there."""

from __future__ import annotations

from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from .._common.arrays import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

P = ParamSpec("P")
T = TypeVar("T")


def knows_others(**others: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Have a function say what to write for options of other functions of its kind, by the names of these.

    >>> @knows_others(stopping_rounds="rounds=")
    ... def stop(metric, rounds): ...
    >>> stop("mrr", stopping_rounds=50)
    Traceback (most recent call last):
    TypeError: stop() has no option stopping_rounds=: write rounds=
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        known = list(signature(function).parameters)

        @wraps(function)
        def checked(*args: P.args, **options: P.kwargs) -> T:
            for name in options:
                if name not in known:
                    remedy = f": write {others[name]}" if name in others else nearest(name, known)
                    raise TypeError(f"{function.__name__}() has no option {name}={remedy}")
            return function(*args, **options)

        return checked

    return decorate


STOPPING = {
    "stopping_rounds": "rounds=",
    "early_stopping_rounds": "rounds=",
    "early_stopping_round": "rounds=",
    "metric_name": "metric=, or the name as the first argument",
    "first_metric_only": "nothing, since it looks at the one metric that you name",
}
"""Options of the early stopping of LightGBM, XGBoost and their estimators."""


def unknown_data_set(name: str, known: Sequence[str]) -> str:
    """Say that no data set of this name is evaluated, and which are."""
    return f"no data set {name!r} is evaluated{nearest(name, known)} (there are: {', '.join(known)})"


def unlogged(metric: str, where: str, logged: Sequence[str]) -> str:
    """Say that a metric is not logged there, and which are."""
    return f"no metric {metric!r} is logged on {where}{nearest(metric, logged)} (there are: {', '.join(logged)})"


def unknown_start(metric: str, ours: bool, evaluate_with: str) -> str:
    """Say that early stopping cannot know the value of the model that a training continues."""
    advice = "" if ours else ", or stop on a metric of gainsay's"
    return (
        f"early stopping on {metric!r} does not know the value of the model that is continued, so the best round may "
        f"be worse than that: evaluate {metric!r} with {evaluate_with}{advice}"
    )


def no_value(metric: str, dataset: str | None) -> str:
    """Say that early stopping has waited in vain for a value."""
    return (
        f"early stopping on {metric!r} has seen nothing but NaN on {dataset!r}: it stopped no training, and set no "
        "best_iteration. (A metric of gainsay's is NaN where it skips every query.)"
    )
