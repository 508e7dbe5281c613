"""The panel of ten metrics that is timed, and our evaluation as a call without arguments, by either path."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import gainsay as gs
from gainsay.evaluation import groups
from gainsay.ranking import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from numpy.typing import NDArray

CUTOFFS = (1, 3, 5, 10)
NDCGS = [f"{name}@{k}" for name in ("ndcg_linear", "ndcg_exp") for k in CUTOFFS]
PANEL = [*NDCGS, "map", "mrr"]
PATHS = ("NumPy",) if compiled.core() is None else ("NumPy", "compiled")
"""The paths that this installation has."""


def ours(
    metrics: Sequence[str | gs.Metric],
    judgments: gs.Judgments,
    scores: NDArray[Any],
    threads: int,
    path: str = PATHS[-1],
) -> Callable[[], dict[str, float]]:
    """Return a call of our evaluation, bound as it is in training."""
    evaluator = gs.Evaluator(metrics, judgments, n_jobs=threads)
    return by_path(path, lambda: evaluator(scores).mean)


def by_path(path: str, work: Callable[..., Any]) -> Callable[..., Any]:
    """Return the same work, done in NumPy or with the compiled core."""

    def in_numpy(*given: Any) -> Any:
        core, compiled.core = compiled.core, lambda: None
        try:
            return work(*given)
        finally:
            compiled.core = core

    return in_numpy if path == "NumPy" else work


@contextmanager
def threads_as_asked() -> Iterator[None]:
    """Use as many threads as `n_jobs` allows, however few documents there are."""
    before = groups.DOCUMENTS_PER_THREAD, groups.COMPILED_PER_THREAD
    groups.DOCUMENTS_PER_THREAD = groups.COMPILED_PER_THREAD = 1
    try:
        yield
    finally:
        groups.DOCUMENTS_PER_THREAD, groups.COMPILED_PER_THREAD = before


def with_ties(metrics: list[str], ties: str) -> list[gs.Metric]:
    """Return metrics under a policy for ties."""
    return [replace(metric, ties=ties) for metric in gs.parse_metrics(metrics)]
