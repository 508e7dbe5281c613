"""The evaluation of partitions in tasks, and the exact sums over all partitions."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from dask.base import compute
from dask.delayed import delayed

from ..metrics.registry import UnpicklableError
from ..training.partial_sums import Partition, add_exact_sums, round_sum, stack_rows
from .partitions import Seen, aligned, raise_if_split, tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from .._common.typing import Floats, Integers, Partitions
    from ..evaluation.evaluator import Evaluation
    from ..training.bound_metrics import BoundMetrics


@dataclass(frozen=True, eq=False)
class Summed:
    """The evaluation of some partitions, in their order.

    `sums` are the exact sums of w * v and of w as rows to add, shape (rows, stages, metrics, 2). `queries` and
    `documents` are numbers by partition. `counts` is whether a query has documents and a weight. `some_id` has the id
    of at most one query. `seen` are all queries if they have ids.
    """

    sums: Floats
    queries: Integers
    documents: Integers
    counts: bool
    some_id: np.ndarray[Any, Any]
    seen: Seen | None

    @classmethod
    def merged(cls, parts: Sequence[Summed]) -> Summed:
        """Return the evaluation of several sets of partitions."""
        seen = [part.seen for part in parts if part.seen is not None]
        return cls(
            add_exact_sums([part.sums for part in parts]),
            np.concatenate([part.queries for part in parts]),
            np.concatenate([part.documents for part in parts]),
            any(part.counts for part in parts),
            next((part.some_id for part in parts if len(part.some_id)), parts[0].some_id),
            Seen.merged(seen) if seen else None,
        )

    @property
    def totals(self) -> Floats:
        """The sums of w * v and of w, shape (stages, metrics, 2)."""
        return round_sum(self.sums)


@dataclass(frozen=True, eq=False)
class Cluster:
    """Partitions by the name of their arguments, and the metrics.

    `stages` converts a partition of `features` into arrays of scores. It is None if there are `scores`.
    """

    bound_metrics: BoundMetrics
    partitions: Sequence[dict[str, Any]]
    stages: Any = None

    @classmethod
    def of(
        cls,
        bound_metrics: BoundMetrics,
        group: Partitions | None,
        qid: Partitions | None,
        stages: Any = None,
        **collections: Partitions | None,
    ) -> Cluster:
        """Return the partitions after all checks that do not need data."""
        if (group is None) == (qid is None):
            passed = "both" if group is not None else "neither"
            raise ValueError(
                "pass exactly one of group= (documents per query, by partition) and qid= (the query of each document), "
                f"got {passed}"
            )
        return cls(bound_metrics, aligned({**collections, "group": group, "qid": qid}), stages)

    def summed(self) -> Summed:
        """Evaluate all partitions and add the sums, or raise an error if a query is split or no query counts."""
        stages = delayed(self.stages, traverse=False)
        results = self.map(_summed, stages=[stages] * len(self.partitions))
        result: Summed = _computed(tree(results, Summed.merged))
        if result.documents.sum() == 0:
            raise ValueError(f"labels must have documents, but it is empty in all of {len(results)} partitions")
        if not result.counts:
            raise ValueError("weight must not be 0 for every query. At least one must be positive")
        if result.seen is not None:
            raise_if_split(result.seen.repeated, [part["qid"] for part in self.partitions])
        return result

    def map(self, work: Callable[..., Any], **more: Sequence[Any]) -> list[Any]:
        """Return `work(bound_metrics, number, **arguments)` as Delayed, with values of `more` for each partition."""
        lazily, bound_metrics = delayed(work, pure=False), delayed(self.bound_metrics, traverse=False)
        return [
            lazily(bound_metrics, number, **part, **{name: values[number] for name, values in more.items()})
            for number, part in enumerate(self.partitions)
        ]


def _computed(result: Any) -> Any:
    """Compute a result. If an object cannot be sent to the workers, raise its error instead of that of Dask."""
    try:
        return compute(result)[0]
    except TypeError as error:
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, UnpicklableError):
                raise cause from None
            cause = cause.__cause__ or cause.__context__
        raise


@contextmanager
def _in_partition(number: int) -> Iterator[None]:
    """Prepend the number of the partition to an error."""
    try:
        yield
    except (ValueError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"in partition {number}: {error}") from error.__cause__


def evaluate_partition(bound_metrics: BoundMetrics, number: int, scores: Any, **data: Any) -> Evaluation | None:
    """Return the values of the queries of a partition, or None without queries."""
    with _in_partition(number):
        return Partition(bound_metrics, **data).evaluate(scores)


def _summed(
    bound_metrics: BoundMetrics, number: int, stages: Any, scores: Any = None, features: Any = None, **data: Any
) -> Summed:
    """Evaluate a partition at each stage, and return everything to add or check."""
    with _in_partition(number):
        part = Partition(bound_metrics, **data)
        each = [part.compute_exact_sums(values) for values in ([scores] if stages is None else stages(features))]
    judgments = None if part.evaluator is None else part.evaluator.judgments
    ids = np.zeros(0, dtype=np.int64) if judgments is None else judgments.query_ids
    return Summed(
        stack_rows(each),
        np.array([len(ids)]),
        np.array([0 if judgments is None else judgments.documents]),
        part.counts,
        ids[:1].copy(),
        Seen.of(ids) if "qid" in data else None,
    )
