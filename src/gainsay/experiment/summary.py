"""The result of an experiment in words."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from .._common.markup import as_text
from .._common.words import listed
from .rounds import BALANCED, EACH

if TYPE_CHECKING:
    from ..comparison.comparison import Comparison
    from .tables import ResultTables

MAX_NAMES, MAX_ROUNDS = 4, 6
"""Limits on the names and rounds in a sentence."""


def summarize(tables: ResultTables, comparison: Comparison) -> list[str]:
    """Return sentences on the selected model, the compared rounds, and the best models on the test set."""
    lines = [_describe_rounds(tables)]
    means = comparison.leaderboard.to_dict("index")
    rounds = {model.name: model.rounds for model in tables.models}
    for metric in comparison.primary or tables.plan.names[:1]:
        name = comparison.winners[metric]
        text = f"round{'s' if len(rounds[name]) > 1 else ''} {join_rounds(rounds[name])}"
        lines.append(f"Best on the test set by {metric}: {name} at {text} ({means[name][metric]:.4f}).")
    if len(comparison.models) == 1:
        return lines
    return [as_text(comparison.content.standing.advice), *lines]


def _describe_rounds(tables: ResultTables) -> str:
    """Describe the rounds of the compared models."""
    stop_by, metrics = tables.plan.stop_by, tables.plan.primary_metrics
    if len(tables.plan.names) == 1:
        return f"Each candidate is compared at its best round on the validation set by {metrics[0]}."
    if stop_by == EACH:
        return (
            f"Each candidate is compared at its best rounds on the validation set by {metrics[0]} and by {metrics[1]}, "
            "as two models if they differ."
        )
    subject = "Each repeat of a candidate" if tables.plan.repeats.number > 1 else "Each candidate"
    if stop_by == BALANCED:
        return (
            f"{subject} is compared at the balanced round, with the smallest larger gap of {metrics[0]} and "
            f"{metrics[1]} to their best values on the validation set."
        )
    return f"{subject} is compared at its best round on the validation set by {stop_by}."


def join_rounds(rounds: Sequence[int]) -> str:
    """Return the rounds of the trainings of a model, or the range of many.

    Examples
    --------
    >>> join_rounds([70, 83]), join_rounds([12, 40, 7, 31, 25, 18, 90])
    ('70, 83', '7 to 90, median 25')
    """
    if len(rounds) <= MAX_ROUNDS:
        return ", ".join(map(str, rounds))
    return f"{min(rounds)} to {max(rounds)}, median {median(rounds):g}"


def create_notes(tables: ResultTables) -> tuple[str, ...]:
    """Return remarks on finalists, repeats and folds, one clause each."""
    notes = (
        _describe_finalists(tables),
        _describe_identical(tables),
        _describe_shift(tables),
        _describe_folds(tables),
    )
    return tuple(filter(None, notes))


def _describe_finalists(tables: ResultTables) -> str:
    finalists, repeats = tables.finalists, tables.plan.repeats
    if finalists.empty:
        return ""
    rejected = [str(name) for name in finalists.index[~finalists["finalist"]]]
    baseline = "" if repeats.baseline is None else f", and the baseline {repeats.baseline}"
    once = f". {listed(rejected, MAX_NAMES)} {'was' if len(rejected) == 1 else 'were'} trained once" if rejected else ""
    return (
        f"The compared finalists are the best {repeats.keep} on valid by {' or '.join(tables.plan.primary_metrics)}"
        f"{baseline}, trained {repeats.number} times anew. The training that chose them is not counted{once}"
    )


def _describe_identical(tables: ResultTables) -> str:
    if not tables.identical:
        return ""
    return (
        f"All repeats of {listed(tables.identical, MAX_NAMES)} are identical, because another seed changes nothing. "
        "Each is compared as a fixed model. Sample documents or features, or use vary='queries'"
    )


def _describe_shift(tables: ResultTables) -> str:
    if not tables.full:
        return ""
    changes = []
    for metric in tables.plan.primary_metrics:
        shifts = tables.shift[tables.shift["metric"] == metric].set_index("candidate")["shift"]
        extremes = f", from {shifts.min():+.4f} ({shifts.idxmin()}) to {shifts.max():+.4f} ({shifts.idxmax()})"
        changes.append(f"{metric} by {shifts.mean():+.4f}{extremes if len(shifts) > 1 else ''}")
    return (
        "Repeats are trained on resampled queries (63 % distinct). Training on all queries changes the "
        f"mean over candidates: {'; '.join(changes)}"
    )


def _describe_folds(tables: ResultTables) -> str:
    folds = len(tables.plan.folds)
    if folds == 1:
        return ""
    repeat = " in each repeat" if tables.plan.repeats.number > 1 else ""
    return (
        f"The {folds} folds are pooled. Statements on a candidate are about the average of {folds} models{repeat}, "
        "trained on overlapping queries (Bayle et al. 2020)"
    )
