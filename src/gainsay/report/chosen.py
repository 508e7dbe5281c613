"""Which two models a report explains."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..comparison.findings import Findings

__all__ = ["ChosenPair", "chosen_pair"]


class ChosenPair(NamedTuple):
    """Two models, and why these."""

    first: str
    second: str
    reason: str


def chosen_pair(comparison: Findings) -> ChosenPair | None:
    """Return the two models that matter to the choice; None where there is one only.

    1. Where the two primary metrics have different winners, these two.
    2. Else the common winner, and of the other models that may be best under both the nearest.
    3. Where there is no such rival, the common winner and the nearest of all.

    Near is who is least behind under the metric that likes it less. The model that the first metric prefers is first.
    """
    if len(comparison.models) < 2:
        return None
    verdict = comparison.verdict
    one, other = (verdict.winners[metric] for metric in verdict.metrics)
    if one != other:
        return ChosenPair(one, other, "the winners under the two metrics")
    possible = [model for model in verdict.common_best if model != one]
    among = possible or [model for model in verdict.models if model != one]
    rival = min(among, key=lambda model: max(by_model[model] for by_model in verdict.regrets.values()))
    if possible:
        return ChosenPair(one, rival, "the winner under both metrics and its nearest rival that is still possible")
    return ChosenPair(one, rival, "the winner under both metrics and the runner-up")
