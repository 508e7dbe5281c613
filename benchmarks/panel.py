"""The panel of ten metrics that is timed, and our evaluation as a call without arguments."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import gainsay as gs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from numpy.typing import NDArray

CUTOFFS = (1, 3, 5, 10)
NDCGS = [f"{name}@{k}" for name in ("ndcg_linear", "ndcg_exp") for k in CUTOFFS]
PANEL = [*NDCGS, "map", "mrr"]


def ours(
    metrics: Sequence[str | gs.Metric], judgments: gs.Judgments, scores: NDArray[Any], threads: int
) -> Callable[[], dict[str, float]]:
    """Return a call of our evaluation, bound as it is in training."""
    evaluator = gs.Evaluator(metrics, judgments, n_jobs=threads)
    return lambda: evaluator(scores).mean


def with_ties(metrics: list[str], ties: str) -> list[gs.Metric]:
    """Return metrics under a policy for ties."""
    return [replace(metric, ties=ties) for metric in gs.parse_metrics(metrics)]
