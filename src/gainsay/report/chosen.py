"""Which two models a report explains."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..comparison.pairs import common_column

if TYPE_CHECKING:
    from ..comparison.findings import Findings

__all__ = ["ChosenPair", "chosen_pair"]


class ChosenPair(NamedTuple):
    """Two models, and why these."""

    first: str
    second: str
    reason: str


def chosen_pair(comparison: Findings) -> ChosenPair | None:
    """Return the two models that are worth explaining; None where there is one only.

    1. Where the two primary metrics have different winners, these two.
    2. Else, where some pair is in opposite order, the one whose conflict is best supported: by p-value after Holm's
       correction, then by the smaller of its two differences.
    3. Else the common winner and the runner-up under the first metric.

    The model that the first metric prefers comes first.
    """
    if len(comparison.models) < 2:
        return None
    verdict = comparison.verdict
    metrics = verdict.metrics
    one, other = (verdict.winners[metric] for metric in metrics)
    if one != other:
        return ChosenPair(one, other, "the winners under the two metrics")
    conflicts = comparison.conflicts
    if not conflicts.empty:
        columns = [common_column(conflicts, f"difference {metric}") for metric in metrics]
        sizes = np.abs(conflicts[columns].to_numpy(float)).min(axis=1)
        row = conflicts.iloc[int(np.lexsort((-sizes, conflicts["p_holm"].to_numpy(float)))[0])]
        pair = (str(row["model_x"]), str(row["model_y"]))
        if (row[columns[0]] < 0) != (metrics[0] in verdict.lower_is_better):
            pair = pair[::-1]
        return ChosenPair(*pair, "both metrics have the same winner; of the pairs in opposite order the clearest")
    means = verdict.means[metrics[0]]
    turned = 1 if metrics[0] in verdict.lower_is_better else -1
    runner_up = min((name for name in verdict.models if name != one), key=lambda name: turned * means[name])
    return ChosenPair(one, runner_up, "no pair is in opposite order; the winner and the runner-up")
