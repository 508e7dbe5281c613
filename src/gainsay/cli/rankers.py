"""Three simulated rankers about which the definitions disagree: what there is to see before anything is trained."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..data.simulate import simulate, simulate_rankers
from ..harness import compare

if TYPE_CHECKING:
    from ..harness import Comparison

__all__ = ["compared", "introduction", "why"]

QUERIES = 10_000
"""So many that the disagreement is proven whatever the seed: it was with each of the seeds 0 to 149."""


def compared(seed: int) -> Comparison:
    """Compare the three rankers under both NDCGs."""
    data = simulate(QUERIES, seed, mean_length=40, features=1)
    return compare(simulate_rankers(data, seed), data.judgments(), ["ndcg_linear@10", "ndcg_exp@10"], seed=seed)


def introduction(seed: int) -> str:
    """Say what is compared, and that it is simulated."""
    return (
        f"Three simulated rankers on {QUERIES:,} simulated queries, seed {seed}, built to differ: 'fair' finds fair "
        "documents, 'excellent' the few excellent ones, 'blend' some of both."
    )


def why(comparison: Comparison) -> str | None:
    """Say by which grades the two winners differ; None where one model wins under both metrics."""
    first, second = comparison.metrics
    winner, other = comparison.winners[first], comparison.winners[second]
    if winner == other:
        return None
    cells = comparison.attribution(winner, other).grades_by_ranks
    grades = cells.index.get_level_values("grade").unique()
    gained, lost = (cells.loc[[metric]].to_numpy().sum(axis=1) for metric in (first, second))
    return (
        f"Why: {winner} ranks documents of grade {grades[gained.argmax()]} higher ({gained.max():.3f} of {first}), "
        f"{other} those of grade {grades[lost.argmin()]} ({-lost.min():.3f} of {second})."
    )
