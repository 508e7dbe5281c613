"""The contract of all adapters: metrics bound to a dataset or a part of it, names, and errors with the same words."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, get_args

import numpy as np

from .._common.arrays import index_of, nearest, numbers, sum_columns
from .._common.text import call_text, pluralize
from .._common.validation import prefix_errors, validate_choice
from ..evaluation.evaluator import Evaluator, validate_threads, weighted
from ..evaluation.prediction import LIBRARIES
from ..judgments import Judgments, NegativeLabels
from ..metrics.base import Metric, list_metric_columns
from ..metrics.binary import validate_without_judged
from ..metrics.names import (
    MetricLike,
    Names,
    parse_metric,
    parse_metrics,
    plain_name,
    safe_name,
    safe_name_or_none,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable
    from contextlib import AbstractContextManager

    from .._common.typing import Floats
    from ..evaluation.evaluator import Evaluation

P = ParamSpec("P")
T = TypeVar("T")

SMALLEST, LARGEST = 2.0**-500, 2.0**500
"""If the largest weight is in this range, sums neither overflow nor lose digits."""

DatasetColumns = Mapping[Any, Mapping[str, Any]] | Sequence[tuple[Any, Mapping[str, Any]]]
"""Columns of labels by dataset, or pairs of a dataset or its labels, which cannot be keys, and columns."""


class WeakIdentityMap(Generic[T]):
    """A mapping whose keys are compared by identity. An entry is removed when its key is deleted. Copies are empty."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[Any], T]] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()

    def get(self, key: object) -> T | None:
        """Return the value of this object, or None."""
        entry = self._entries.get(id(key))
        return entry[1] if entry is not None and entry[0]() is key else None

    def set(self, key: object, value: T) -> None:
        """Store the value of this object."""
        address, entries = id(key), self._entries

        def remove(reference: weakref.ref[Any]) -> None:
            if address in entries and entries[address][0] is reference:
                del entries[address]

        entries[address] = (weakref.ref(key, remove), value)


class LoggedMetrics:
    """The metrics that an adapter logs, and the options for reading its datasets."""

    def __init__(
        self,
        metrics: MetricLike | Iterable[MetricLike],
        convention: str | None,
        negative_labels: NegativeLabels,
        n_jobs: int | None,
        names: Names = "plain",
    ) -> None:
        self.metrics = parse_metrics(metrics, convention=convention)
        validate_without_judged(self.metrics)
        validate_choice("names", names, get_args(Names))
        validate_choice("negative_labels", negative_labels, get_args(NegativeLabels))
        validate_threads(n_jobs)
        self.names = tuple(safe_name(metric) if names == "safe" else str(metric) for metric in self.metrics)
        """The names in the log."""
        self.negative_labels = negative_labels
        self.n_jobs = n_jobs

    def format_call(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> str:
        """Return the call that creates an adapter, for its `repr`."""
        own = {"negative_labels": self.negative_labels, "n_jobs": self.n_jobs}
        return call_text(function, *arguments, list(self.names), **options, **own)

    def validate_columns(self, columns: Mapping[str, Any] | None, documents: int) -> None:
        """Raise `ValueError` unless a dataset has the columns of all metrics in the argument `columns`."""
        for name in list_metric_columns(self.metrics):
            if name not in (columns or {}):
                given = f"the columns {', '.join(columns)}" if columns else "no columns"
                raise ValueError(
                    f"columns must contain {name!r} for every evaluated dataset, got {given} for the dataset of "
                    f"{pluralize(documents, 'document')}. Pass columns={{dataset: {{{name!r}: …}}}}, in an estimator "
                    f"columns=[(labels, {{{name!r}: …}})]."
                )

    def bind(self, labels: Any, *, whole: bool = True, **queries: Any) -> Evaluator:
        """Return the metrics bound to a dataset, or raise an error if its labels are not valid for them.

        `queries` are the arguments `group`, `qid`, `weight` and `columns` of `Judgments`.
        """
        if isinstance(labels, Judgments):
            return Evaluator(self.metrics, labels, self.n_jobs)
        judgments = Judgments(labels, negative_labels=self.negative_labels, **queries)
        judgments.gains_are_known = not whole  # The labels of one partition may look like gains by chance.
        return Evaluator(self.metrics, judgments, self.n_jobs)


def read_columns(columns: DatasetColumns | None) -> list[tuple[Any, Mapping[str, Any]]]:
    """Return pairs of a dataset, or labels in 32 bits, and its columns."""
    pairs = list(columns.items() if isinstance(columns, Mapping) else columns or ())
    for place, pair in enumerate(pairs):
        is_pair = isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[1], Mapping)
        if not is_pair or isinstance(pair[0], str):
            text = " ".join(repr(pair).split())[:80]
            raise TypeError(
                "columns must map datasets, which have no names in evaluation functions, to columns, as in "
                f"{{valid_set: {{'revenue': revenue}}}}, got {text} (entry {place})."
            )
        if type(pair[0]).__module__.partition(".")[0] not in LIBRARIES:
            pairs[place] = numbers("labels in columns", pair[0]).astype(np.float32), pair[1]
    return pairs


def find_columns(pairs: Iterable[tuple[Any, Mapping[str, Any]]], dataset: Any, labels: Any) -> Mapping[str, Any] | None:
    """Return the columns of a dataset, which is recognized by identity or by its labels, or None.

    Raise if two datasets have these labels, but different columns.
    """
    matches = [columns for key, columns in pairs if key is dataset]
    if not matches:
        narrow = np.asarray(labels, dtype=np.float32)
        matches = [columns for key, columns in pairs if isinstance(key, np.ndarray) and np.array_equal(key, narrow)]
    if not all(are_equal(matches[0], columns) for columns in matches[1:]):
        raise ValueError("columns has two datasets with the same labels but different values. Pass one of them only.")
    return matches[0] if matches else None


def are_equal(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Return whether two datasets have the same columns."""
    return first.keys() == second.keys() and all(
        np.array_equal(np.asarray(values, float), np.asarray(second[name], float), equal_nan=True)
        for name, values in first.items()
    )


class Partition:
    """Metrics bound to a part of all queries.

    A partition may be empty or have only queries of weight 0, unless it is the whole dataset.
    """

    def __init__(
        self,
        logged_metrics: LoggedMetrics,
        labels: Any,
        *,
        weight: Any = None,
        whole: bool = False,
        **queries: Any,
    ) -> None:
        self.metrics = logged_metrics.metrics
        self.evaluator = None
        self._whole = whole
        weights = list(weight.values()) if isinstance(weight, Mapping) else weight
        weightless = weight is not None and not whole and not np.any(weights)
        self.counts = len(labels) > 0 and not weightless
        """Whether a query has documents and a positive weight."""
        if len(labels) or whole:
            weight = _ones_like(weight) if weightless else weight
            self.evaluator = logged_metrics.bind(labels, weight=weight, whole=whole, **queries)
            return
        for name, values in {**queries, "weight": weight}.items():
            if values is not None and len(values) and not isinstance(values, Mapping):
                raise ValueError(
                    f"{name} has {len(values)} entries, but labels is empty. Remove queries without documents"
                )

    def evaluate(self, scores: Any) -> Evaluation | None:
        """Return the values of the queries, or None without queries."""
        if self.evaluator is not None:
            return self.evaluator(scores)
        if len(scores):
            raise ValueError(f"scores has {len(scores)} entries, but labels is empty. Pass one score per document")
        return None

    def compute_sums(self, scores: Any) -> Floats:
        """Return the sums of w * v and of w by metric, shape (metrics, 2), or the mean and 1 of a whole dataset."""
        if self._whole and self.evaluator is not None:
            return np.array([(mean, 1.0) for mean in self.evaluator.mean(scores).values()])
        evaluation = self.evaluate(scores)
        sums = np.zeros((len(self.metrics), 2))
        if evaluation is None:
            return sums
        for row, metric, values in zip(sums, self.metrics, evaluation.per_query.T, strict=True):
            if not self.counts and metric.weights != "ignore":
                continue
            terms = np.stack(weighted(metric, evaluation.judgments, values), axis=1)
            if not len(terms):
                continue
            largest = terms[:, 1].max()
            if not SMALLEST <= largest <= LARGEST:
                raise ValueError(
                    f"weight must be between {SMALLEST:g} and {LARGEST:g} to add up partitions, got {largest:g}. "
                    "Multiply all weights by one number"
                )
            row[:] = sum_columns(terms, overwrite=True)
        return sums


def _ones_like(weight: Any) -> Any:
    """Return weights of 1 instead of 0."""
    if isinstance(weight, Mapping):
        return dict.fromkeys(weight, 1.0)
    return np.ones(len(weight)) if index_of(weight) is None else weight + 1


def compute_ratios(sums: Floats) -> Floats:
    """Return means from the sums of w * v and of w, shape (…, 2). They are NaN if no query counts."""
    products, weights = sums[..., 0], sums[..., 1]
    means = np.full(weights.shape, np.nan)
    np.divide(products, weights, out=means, where=weights > 0)
    return means


def in_round(number: int, dataset: str = "") -> AbstractContextManager[None]:
    """Prepend the boosting round, and the dataset if it is known, to a `ValueError`."""
    return prefix_errors(f"in boosting round {number}{dataset}: ")


def describe_size(judgments: Judgments) -> str:
    """Return a description of a dataset without a name."""
    return f"the dataset of {pluralize(judgments.queries, 'query')} and {pluralize(judgments.documents, 'document')}"


def create_clash_error(name: str, library: str, remedy: str) -> ValueError:
    """Return the error for two metrics with one name in one history."""
    return ValueError(
        f"{library} itself logs a metric named {name!r}, which is mixed up with that of gainwise in one history. "
        f"{remedy}, or use an option that changes the name. If the library does not log it, two datasets or two "
        "metrics have one name, so rename one of them"
    )


def validate_optional_name(argument: str, value: Any) -> str | None:
    """Return `value` if it is a name or None, or raise an error."""
    if value is None or isinstance(value, str):
        return value
    raise TypeError(f"{argument} must be the name of a dataset, got {value!r}")


def find_metric(metric: MetricLike) -> Metric | None:
    """Return one of our metrics by its name or safe name, or None for a metric of the library or the user."""
    if isinstance(metric, Metric):
        return metric
    if not isinstance(metric, str):
        raise TypeError(f"metric must be one name, such as 'ndcg_exp@10', or a Metric, got {metric!r}")
    for name in dict.fromkeys((metric, plain_name(metric))):
        try:
            return parse_metric(name)
        except ValueError:
            continue
    return None


def canonical_name(metric: MetricLike) -> str:
    """Return the canonical name of one of our metrics, and other names unchanged."""
    return str(find_metric(metric) or metric)


def find_logged_name(metric: str, names: Container[str]) -> str | None:
    """Return the name of a metric in a log, which is its plain or its safe name, or None."""
    return next((name for name in (metric, safe_name_or_none(metric)) if name is not None and name in names), None)


def named_call(usage: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorate a function so that it names the right argument if a library calls it.

    A library calls it with its data if the function itself was passed, such as ``feval=feval``.
    """

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> T:
            if any(map(is_library_data, args)):
                module = function.__module__.rpartition(".")[0]
                raise TypeError(f"{module}.{function.__name__} was passed without a call. Pass {usage}.")
            return function(*args, **kwargs)

        return checked

    return decorate


def is_library_data(argument: Any) -> bool:
    """Return whether an argument comes from a library during a training: scores, a dataset, a model or a round."""
    is_array = isinstance(argument, np.ndarray) and argument.dtype.kind in "fiu"
    return is_array or hasattr(argument, "predict") or type(argument).__module__.partition(".")[0] in LIBRARIES


def describe_unknown_dataset(name: str, names: Sequence[str]) -> str:
    """Return the message for a dataset that is not evaluated."""
    return f"no dataset {name!r} is evaluated{nearest(name, names)} (there are: {', '.join(names)})"


def describe_unlogged_metric(metric: str, datasets: str, names: Sequence[str]) -> str:
    """Return the message for a metric that is not logged."""
    return f"no metric {metric!r} is logged on {datasets}{nearest(metric, names)} (there are: {', '.join(names)})"
