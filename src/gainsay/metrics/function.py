"""Metrics that are functions of the labels and scores of one query."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from .._common.text import pluralize
from .._common.validation import validate_flag
from .base import METRICS, Empty, Metric, origin_of

if TYPE_CHECKING:
    from .._common.typing import Floats, Integers

Function = Callable[["Floats", "Floats"], Any]

UNSUPPORTED = ("k", "ties", "empty", "scores")
"""Options without effect on a function, which receives all documents of a query."""


@dataclass(frozen=True, kw_only=True)
class FunctionMetric(Metric, abstract=True):
    """A function of the labels and scores of one query. Use `metric` to create it.

    Parameters
    ----------
    name : str
        Its name.
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
            raise TypeError(f"name must be a string, got {self.name!r}. Call gs.metric(name, function).")
        if not callable(self.function):
            raise TypeError(f"function must be a function of the labels and scores of a query, got {self.function!r}.")
        self._set(higher_is_better=validate_flag("higher_is_better", self.higher_is_better))
        for field in fields(self):
            if field.name in UNSUPPORTED and getattr(self, field.name) != field.default:
                raise ValueError(
                    f"{field.name} has no effect on {self.name}, a function that receives all documents of a query. "
                    "Implement it in the function."
                )
        METRICS.add(self.name, (type(self), self._name()[1]), origin_of(self.function))

    def _functions(self) -> dict[str, Any]:
        return {"function": self.function}

    def _name(self) -> tuple[str, Mapping[str, Any]]:
        own = ("name", "function", "higher_is_better", "empty")
        return self.name, {option: getattr(self, option) for option in own}

    def __repr__(self) -> str:
        """Return the call that creates the metric."""
        direction = "" if self.higher_is_better else ", higher_is_better=False"
        return f"metric({self.name!r}, {self._literal('function')}{direction})"

    @property
    def meaning(self) -> str:
        """The first line of the docstring of the function."""
        first = (inspect.getdoc(self.function) or "").partition("\n")[0]
        return first or f"A custom function: {'.'.join(origin_of(self.function))}."

    @classmethod
    def option_names(cls) -> list[str]:
        """Return the options that the name of the metric can contain."""
        return ["weights"]

    def values(self, labels: Floats, scores: Floats, sizes: Integers, query_ids: np.ndarray[Any, Any]) -> Floats:
        """Return the value of each query, NaN for queries without documents. Documents are contiguous by query.

        Raise if the function raises or does not return a finite number. The message names the query.
        """
        values = np.full(len(sizes), np.nan)
        ends = np.cumsum(sizes)
        for query in np.flatnonzero(sizes).tolist():
            documents = slice(int(ends[query] - sizes[query]), int(ends[query]))
            values[query] = self._value(labels[documents], scores[documents], query_ids[query])
        return values

    def _value(self, labels: Floats, scores: Floats, query: Any) -> float:
        place = f"query {query!s} ({pluralize(len(labels), 'document')})"
        try:
            value = self.function(labels.copy(), scores.copy())  # The function may sort them in place.
        except Exception as error:
            raise ValueError(f"metric {self.name!r} failed on {place}: {type(error).__name__}: {error}.") from error
        if not isinstance(value, Real | np.bool_):
            shape = f" of shape {np.shape(value)}" if isinstance(value, np.ndarray) else f", {value!r}"
            raise ValueError(
                f"metric {self.name!r} must return one number, got {type(value).__name__}{shape} for {place}."
            )
        if not np.isfinite(float(value)):
            raise ValueError(f"metric {self.name!r} must return a finite number, got {value} for {place}.")
        return float(value)


def metric(name: str, function: Function | None = None, *, higher_is_better: bool = True) -> FunctionMetric:
    """Define a metric by a function of the labels and scores of one query.

    The name is registered, so you can use it wherever metrics are named, for example in `evaluate` and early stopping.
    To get a metric of gainsay by its name, use `parse_metrics`.

    Parameters
    ----------
    name : str
        Letters, digits and `_`, different from the names of other metrics. Running the same notebook cell again
        replaces the function.
    function : callable
        `function(labels, scores) -> float` receives two float64 arrays with the documents of one query in input order.
        A document that was judged but not retrieved has the score -inf. Queries without documents are excluded.
    higher_is_better : bool, default True
        False for a loss, which early stopping minimizes.

    Returns
    -------
    FunctionMetric
        It can be pickled if the function can be imported, which requires `def` at the top level of a module.

    Raises
    ------
    TypeError
        If `function` is missing.
    ValueError
        If another metric has the name. During evaluation, if the function raises or does not return a finite number.
        The message names the query.

    Notes
    -----
    The function is called for each query in one thread, so it is slow. Define a subclass of `Metric` if speed matters.
    The function handles cutoffs and ties itself. Query weights are applied to its values.

    Examples
    --------
    >>> import gainsay as gs
    >>> def worst_gap(labels, scores):
    ...     return float(labels.max() - labels[scores.argmax()])
    >>> gap = gs.metric("worst_gap", worst_gap, higher_is_better=False)
    >>> gs.evaluate([gap, "mrr"], gs.Judgments([3, 0, 0, 2], group=[2, 2]), [1, 2, 1, 2]).mean
    {'worst_gap': 1.5, 'mrr': 0.75}
    """
    if function is None:
        raise TypeError(
            "gs.metric(name, function) defines a custom metric, and function is missing. Call "
            f"gs.parse_metrics({name!r}) for a metric by its name."
        )
    return FunctionMetric(name=name, function=function, higher_is_better=higher_is_better)
