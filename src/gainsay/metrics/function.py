"""Metrics that are functions of the labels and scores of one query."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.checks import check_flag
from .._common.words import count
from .base import Empty, Metric, made
from .registry import METRICS, origin_of, require_picklable

if TYPE_CHECKING:
    from .._common.typing import Floats, Integers

Function = Callable[["Floats", "Floats"], Any]

SETTLED = ("k", "ties", "empty", "scores")
"""Options that have no meaning for a function: it is given all documents of a query as they are."""


@dataclass(frozen=True, kw_only=True)
class FunctionMetric(Metric, abstract=True):
    """A function of the labels and scores of one query; made by `metric`.

    Parameters
    ----------
    name : str
        What it is called.
    function : callable
        `function(labels, scores)` returns a number.
    higher_is_better : bool
        False for a loss.
    weights
        See `Metric`.
    """

    name: str
    function: Function
    higher_is_better: bool = True
    empty: Empty = "skip"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.name, str):
            raise TypeError(f"name must be a string, got {self.name!r}; write gs.metric(name, function)")
        if not callable(self.function):
            raise TypeError(f"function must take the labels and scores of a query, got {self.function!r}")
        self._set(higher_is_better=check_flag("higher_is_better", self.higher_is_better))
        for field in fields(self):
            if field.name in SETTLED and getattr(self, field.name) != field.default:
                raise ValueError(
                    f"{field.name} has no meaning for {self.name}, a function that is given all documents of a query: "
                    "settle it in the function"
                )
        METRICS.add(self.name, (type(self), self._name()[1]), origin_of(self.function))

    def _name(self) -> tuple[str, Mapping[str, Any]]:
        own = ("name", "function", "higher_is_better", "empty")
        return self.name, {option: getattr(self, option) for option in own}

    def __repr__(self) -> str:
        """Return how the metric is made."""
        direction = "" if self.higher_is_better else ", higher_is_better=False"
        return f"metric({self.name!r}, {self._literal('function')}{direction})"

    def option_text(self, option: str) -> str:
        """Return how the value of an option is written."""
        if option == "function":
            first = (inspect.getdoc(self.function) or "").partition("\n")[0]
            return ": ".join(filter(None, (".".join(origin_of(self.function)), first)))
        value = getattr(self, option)
        return str(value) if option == "higher_is_better" else super().option_text(option)

    @property
    def meaning(self) -> str:
        """What the function is said to be."""
        first = (inspect.getdoc(self.function) or "").partition("\n")[0]
        return first or f"A function of your own: {'.'.join(origin_of(self.function))}."

    @classmethod
    def option_names(cls) -> list[str]:
        """Return the options that may stand in the metric's name."""
        return ["weights"]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as a call, so that the metric is known by its name where it is read."""
        require_picklable(self, "function", self.function)
        return made, (type(self), {field.name: getattr(self, field.name) for field in fields(self)})

    def values(self, labels: Floats, scores: Floats, sizes: Integers, query_ids: np.ndarray[Any, Any]) -> Floats:
        """Return the value of each query, documents of a query together; NaN where there are none.

        Raise where the function raises or does not return a finite number; the message names the query.
        """
        found = np.full(len(sizes), np.nan)
        ends = np.cumsum(sizes)
        for query in np.flatnonzero(sizes).tolist():
            documents = slice(int(ends[query] - sizes[query]), int(ends[query]))
            found[query] = self._value(labels[documents], scores[documents], query_ids[query])
        return found

    def _value(self, labels: Floats, scores: Floats, query: Any) -> float:
        where = f"query {query!s} ({count(len(labels), 'document')})"
        try:
            value = self.function(labels.copy(), scores.copy())  # the function may sort them in place
        except Exception as error:
            raise ValueError(f"metric {self.name!r} failed on {where}: {type(error).__name__}: {error}") from error
        if not isinstance(value, Real | np.bool_):
            shape = f" of shape {np.shape(value)}" if isinstance(value, np.ndarray) else f", {value!r}"
            raise ValueError(
                f"metric {self.name!r} returned {type(value).__name__}{shape} for {where}: it must return one number"
            )
        if not np.isfinite(float(value)):
            raise ValueError(f"metric {self.name!r} returned {value} for {where}: it must return a finite number")
        return float(value)


def metric(name: str, function: Function, *, higher_is_better: bool = True) -> FunctionMetric:
    """Return a metric that is a function of the labels and scores of one query.

    It is known by its name from then on, and works wherever metrics do: in `evaluate`, in the adapters of the training
    libraries, in early stopping. The function is called query by query, in one thread, so it is slow; what is called
    often is better a subclass of `Metric`. There is no cutoff `@k`, ties are the function's own business, and query
    weights are taken care of outside.

    Parameters
    ----------
    name : str
        Letters, digits and `_`; not that of another metric. A function of the same module and name, as from a
        notebook's cell that is run again, takes the place of the one before.
    function : callable
        `function(labels, scores) -> float`, called with two float64 arrays, the documents of one query in the order in
        which they were given. A document that was judged but not retrieved has the score -inf. It is not called for a
        query without documents, which is left out of the mean.
    higher_is_better : bool
        False for a loss: early stopping then looks for its minimum.

    Returns
    -------
    FunctionMetric
        A metric as any other. It can be pickled where the function can be imported: defined with `def` at the top level
        of a module, not a lambda.

    Raises
    ------
    ValueError
        For a name that another metric has. When it is evaluated: where the function raises, or returns what is not a
        finite number; the message names the query.

    Examples
    --------
    >>> import gainsay as gs
    >>> def worst_gap(labels, scores):
    ...     return float(labels.max() - labels[scores.argmax()])
    >>> gap = gs.metric("worst_gap", worst_gap, higher_is_better=False)
    >>> gs.evaluate([gap, "mrr"], gs.Judgments([3, 0, 0, 2], group=[2, 2]), [1, 2, 1, 2]).mean
    {'worst_gap': 1.5, 'mrr': 0.75}
    """
    return FunctionMetric(name=name, function=function, higher_is_better=higher_is_better)
