"""Options that go by another name here than in the libraries: said, not only refused."""

from __future__ import annotations

from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from .._common.arrays import nearest

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")


def knows_others(**others: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Have a function say what to write for options of other functions of its kind.

    Parameters
    ----------
    **others : str
        By the name of an option that the function does not have: what to write instead.

    Examples
    --------
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
