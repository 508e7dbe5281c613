"""The answer whether to replace a baseline, and advice, from the decisions about its candidates."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .._common.shown import styled
from .._common.words import format_amount, format_confidence, join_names
from .baseline import format_change
from .wording import format_choice, format_sample_size, label_metrics, style_metrics

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .baseline import BaselineComparison, CandidateDecision

_ORDER = {"ship": 0, "undecided": 1, "do not ship": 2}


def rank_candidates(result: BaselineComparison) -> tuple[CandidateDecision, ...]:
    """Return the candidates, the likeliest to be shipped first: by decision, then by their worst lower bound."""
    return tuple(
        sorted(result.candidates, key=lambda decided: (_ORDER[decided.decision], -decided.deciding.worst_lower))
    )


def describe_replacement(result: BaselineComparison, names: Mapping[str, str]) -> tuple[str, str, str]:
    """Return the question whether to replace the baseline, the answer, and the advice."""
    first, total = rank_candidates(result)[0], len(result.candidates)
    old, new = styled("n", names[result.baseline]), styled("n", names[first.candidate])
    by = new if total == 1 else f"one of {total} candidates"
    question = f"Replace {old} by {by}? {format_sample_size(result)}, {style_metrics(result.metrics)}."
    return question, _format_answer(result, first, old, new), _format_advice(result, first, names)


def _format_answer(result: BaselineComparison, first: CandidateDecision, old: str, new: str) -> str:
    decisions, total = list(result.decisions.values()), len(result.candidates)
    shipped, undecided = decisions.count("ship"), decisions.count("undecided")
    if shipped:
        return (
            f"{shipped} of {total} may replace {old}. The safest is {new}."
            if shipped > 1
            else f"Ship {new} instead of {old}."
        )
    if undecided and total > 1:
        return f"Keep {old} for now: {undecided} of {total} candidates are undecided."
    if undecided and result.require == "no_loss":
        return f"Too close to call: a loss of {format_amount(result.margin)} or more by {new} is not excluded."
    if undecided:
        return f"Too close to call: {new} is not proven better than {old}."
    if total > 1:
        return f"Keep {old}: each of the {total} candidates is worse under some metric."
    losing = [label.long for label in label_metrics(result.metrics) if label.name in first.excessive_losses]
    return f"Keep {old}: {new} is worse under {join_names(losing)}."


def _format_advice(result: BaselineComparison, first: CandidateDecision, names: Mapping[str, str]) -> str:
    changes = []
    for label, style in zip(label_metrics(result.metrics), "le", strict=False):
        low, high = first.lower[label.name], first.upper[label.name]
        has_bounds = math.isfinite(low) and math.isfinite(high)
        between = f" ({format_change(low)} to {format_change(high)})" if has_bounds else ""
        changes.append(f"{styled(style, format_change(first.difference[label.name]))}{between} under {label.long}")
    change = (
        f"{' and '.join(changes)}, simultaneous at {format_confidence(result.alpha)}. One-sided, "
        f"{result.describe_bounds(first)} ({result.one_sided_confidence})."
    )
    if result.margin:
        change += f" Tolerated: a loss up to {format_amount(result.margin)}."
    if first.decision == "ship":
        return f"{format_choice('Ship', names[first.candidate])}: {change}"
    for_now = " for now" if first.decision == "undecided" else ""
    keep = f"{format_choice('Keep', names[result.baseline])}{for_now}"
    return f"{keep}: {styled('n', names[first.candidate])} changes it by {change}{result.describe_next_step(first)}"
