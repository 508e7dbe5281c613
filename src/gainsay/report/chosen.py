"""Which two models a report explains, and what explains them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..comparison.attribution import splittable
from ..comparison.pairs import common_column
from .rounds import best_rounds

if TYPE_CHECKING:
    import pandas as pd

    from ..comparison.attribution import Attribution
    from ..comparison.findings import Findings

__all__ = ["ChosenPair", "Explained", "chosen_pair", "explain"]


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


@dataclass(frozen=True)
class Explained:
    """Two models, why they differ, on which queries the metrics contradict each other, and when each would stop.

    What is not to be had is None, and `no_attribution` and `no_queries` say why.
    """

    pair: ChosenPair | None
    attribution: Attribution | None
    no_attribution: str
    queries: pd.DataFrame | None
    no_queries: str
    rounds: pd.DataFrame | None


def explain(comparison: Findings) -> Explained:
    """Work out what a report explains, in whatever form it is written."""
    pair = chosen_pair(comparison) if comparison.primary is not None else None
    rounds = None
    if comparison.curves is not None and comparison.primary is not None:
        rounds = best_rounds(comparison.curves, comparison.verdict.metrics, comparison.lower_is_better)
    return Explained(pair, *_attribution(comparison, pair), *_contradictions(comparison, pair), rounds)


def _attribution(comparison: Findings, pair: ChosenPair | None) -> tuple[Attribution | None, str]:
    if pair is None:
        return None, "There are no two models or no two metrics to explain."
    if comparison.rankings is None:
        return None, "Made from values alone: without the scores of the models nothing can be said about ranks."
    split = [name for name, metric in comparison.definitions.items() if splittable([metric])]
    wanted = [name for name in comparison.verdict.metrics if name in split] or split[:2]
    if not wanted:
        return None, "No compared metric is a sum over documents (NDCG, DCG), so there is no exact split."
    return comparison.attribution(pair.first, pair.second, wanted), ""


def _contradictions(comparison: Findings, pair: ChosenPair | None) -> tuple[pd.DataFrame | None, str]:
    if pair is None:
        return None, "There are no two models or no two metrics to set against each other."
    if comparison.rankings is None:
        return None, "Made from values alone: without the scores of the models no ranking can be shown."
    table = comparison.queries(pair.first, pair.second, most=comparison.query_count)
    return table, "" if len(table) else "On no query do the two metrics prefer different ones of these models."
