"""Metrics bound to the data sets of a training library, for as long as the library keeps these."""

from __future__ import annotations

import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .._common.shown import call_text
from ..evaluation.evaluator import Evaluator, validate_threads
from ..judgments import Judgments, NegativeLabels, check_negative_labels
from ..metrics.base import Metric
from ..metrics.judged import validate_without_judged
from ..metrics.names import MetricLike, parse_metric, parse_metrics
from ..metrics.safe import Names, plain_name, safe_name, safe_name_or_none, validate_names

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

T = TypeVar("T")


class WeakIdentityMap(Generic[T]):
    """Values by object, compared by identity; an entry goes when its object does."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[Any], T]] = {}

    def get(self, key: object) -> T | None:
        """Return the value of this very object, if there is one."""
        entry = self._entries.get(id(key))
        return entry[1] if entry is not None and entry[0]() is key else None

    def set(self, key: object, value: T) -> None:
        """Store the value of this object."""
        at, entries = id(key), self._entries

        def forget(reference: weakref.ref[Any]) -> None:
            if at in entries and entries[at][0] is reference:
                del entries[at]

        entries[at] = (weakref.ref(key, forget), value)

    def forget(self, key: object) -> None:
        """Drop the value of this object, if there is one."""
        if self.get(key) is not None:
            del self._entries[id(key)]


class Panel:
    """The metrics that an adapter logs every round, and how the data sets that it meets are read."""

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
        validate_names(names)
        check_negative_labels(negative_labels)
        validate_threads(n_jobs)
        self.names = tuple(safe_name(metric) if names == "safe" else str(metric) for metric in self.metrics)
        """Under which they are logged."""
        self.negative_labels = negative_labels
        self.n_jobs = n_jobs

    def call(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> str:
        """Return the call that makes an adapter, for its `repr`."""
        own = {"negative_labels": self.negative_labels, "n_jobs": self.n_jobs}
        return call_text(function, *arguments, list(self.names), **options, **own)

    def bind(self, labels: Any, *, group: Any = None, qid: Any = None, weight: Any = None) -> Evaluator:
        """Return the metrics bound to a data set; raise where its labels do not suit them."""
        judgments = Judgments(labels, group=group, qid=qid, weight=weight, negative_labels=self.negative_labels)
        return Evaluator(self.metrics, judgments, self.n_jobs)


@contextmanager
def in_round(number: int, where: str = "") -> Iterator[None]:
    """Have a `ValueError` say in which boosting round, and where given on which data set, it came up."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"in boosting round {number}{where}: {error}") from error.__cause__


def by_size(judgments: Judgments) -> str:
    """Return what to call a data set whose name is not known."""
    return f"the data set of {judgments.queries} queries and {judgments.documents} documents"


def clash(name: str, library: str, remedy: str) -> ValueError:
    """Return the error for a metric that the library logs too, under the same name."""
    return ValueError(
        f"{library} itself logs a metric named {name!r}: both would be mixed up in one history. {remedy}, "
        "or give an option that changes our name. Where it logs none, two data sets or two metrics have one name: give "
        "each its own"
    )


def name_or_none(argument: str, value: Any) -> str | None:
    """Return `value` if it is a name or None, or raise."""
    if value is None or isinstance(value, str):
        return value
    raise TypeError(f"{argument} must be the name of a data set, got {value!r}")


def known_metric(metric: MetricLike) -> Metric | None:
    """Return a metric from its name, or its safe name; None where it is not one of ours but perhaps a library's own."""
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


def metric_name(metric: MetricLike) -> str:
    """Return the name under which a metric is logged: canonical where it is ours, as given where a library's own."""
    return str(known_metric(metric) or metric)


def logged_as(metric: str, names: Container[str]) -> str | None:
    """Return under which of its two names a metric is among those that are logged; None where under neither."""
    return next((name for name in (metric, safe_name_or_none(metric)) if name is not None and name in names), None)
