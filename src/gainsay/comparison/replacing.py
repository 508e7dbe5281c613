"""What decisions about a baseline come down to: a question, the answer in one line, what to do, and for how many."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .._common.markup import styled
from .._common.words import amount, confidence, listed
from .baseline import format_change
from .headline import labels_of
from .wording import format_sample_size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .baseline import BaselineComparison, CandidateDecision

__all__ = ["leading", "replacing", "searches"]

_ORDER = {"ship": 0, "undecided": 1, "do not ship": 2}


def leading(found: BaselineComparison) -> tuple[CandidateDecision, ...]:
    """Return the candidates, the likeliest to be shipped first: by decision, then by their worst lower bound."""
    return tuple(sorted(found.candidates, key=lambda one: (_ORDER[one.decision], -one.deciding.worst_lower)))


def replacing(found: BaselineComparison, said: Mapping[str, str]) -> tuple[str, str, str]:
    """Return the question whether to replace the baseline, the answer, and what to do."""
    labels, first, total = labels_of(found.metrics), leading(found)[0], len(found.candidates)
    old, new = said[found.baseline], said[first.candidate]
    metrics = " and ".join(styled(style, label.name) for style, label in zip("le", labels, strict=False))
    by = styled("n", new) if total == 1 else f"one of {total} candidates"
    question = f"Replace {styled('n', old)} by {by}? {format_sample_size(found)}, {metrics}."
    return question, _answer(found, first, styled("n", old), styled("n", new)), _advice(found, first, said)


def _answer(found: BaselineComparison, first: CandidateDecision, old: str, new: str) -> str:
    decided, total = list(found.decisions.values()), len(found.candidates)
    ships, rest = decided.count("ship"), decided.count("undecided")
    if ships > 1:
        return f"{ships} of {total} may replace {old}. The safest is {new}."
    if ships:
        return f"Ship {new} instead of {old}."
    if rest and total > 1:
        return f"Keep {old} for now: {rest} of {total} candidates are undecided."
    if rest and found.require == "no_loss":
        return f"Too close to call: a loss of {amount(found.margin)} or more by {new} is not excluded."
    if rest:
        return f"Too close to call: {new} is not proven better than {old}."
    if total > 1:
        return f"Keep {old}: each of the {total} candidates is worse under some metric."
    losing = [label.long for label in labels_of(found.metrics) if label.name in first.excessive_losses]
    return f"Keep {old}: {new} is worse under {listed(losing)}."


def _advice(found: BaselineComparison, first: CandidateDecision, said: Mapping[str, str]) -> str:
    new = said[first.candidate]
    tolerated = f" Tolerated: a loss up to {amount(found.margin)}." if found.margin else ""
    changes = []
    for label, style in zip(labels_of(found.metrics), "le", strict=False):
        low, high = first.lower[label.name], first.upper[label.name]
        bounded = math.isfinite(low) and math.isfinite(high)
        between = f" ({format_change(low)} to {format_change(high)})" if bounded else ""
        changes.append(f"{styled(style, format_change(first.difference[label.name]))}{between} under {label.long}")
    bounds = found.describe_bounds(first)
    change = (
        f"{' and '.join(changes)}, simultaneous at {confidence(found.alpha)}. One-sided, {bounds} "
        f"({found.one_sided_confidence}).{tolerated}"
    )
    if first.decision == "ship":
        return f"{styled('b', '★ Ship ')}{styled('b n', new)}: {change}"
    keep, name = f"{styled('b', '★ Keep ')}{styled('b n', said[found.baseline])}", styled("n", new)
    if first.decision == "do not ship":
        return f"{keep}: {name} changes it by {change}"
    return f"{keep} for now: {name} changes it by {change}{found.describe_next_step(first)}"


def searches(found: BaselineComparison, one: CandidateDecision, *, bounds: bool = True) -> str:
    """Return on how many of 1,000 queries a candidate is better and worse, with intervals or without."""
    page = "first page" if all(metric.endswith("@10") for metric in found.metrics) else "ranking"
    told = []
    for place, label in enumerate(labels_of(found.metrics)):
        both = [str(one.shares[label.name][kind]) for kind in ("better", "worse")]
        better, worse = both if bounds else (text.partition(" ")[0] for text in both)
        what = "" if place else f" get a better {page}"
        also = "" if place else " a worse one"
        told.append(f"{better}{what} and {worse}{also} by {label.by if place else label.long}")
    losing = list[str]()
    for label in labels_of(found.metrics):
        shares, difference = one.shares[label.name], one.difference[label.name]
        loses = difference > 0 if label.name in found.lower_is_better else difference < 0
        if loses and shares["better"].value > shares["worse"].value:
            losing.append(label.long)
    but = f" More searches get better than worse under {listed(losing)}, but the losses are larger." if losing else ""
    return f"Of 1,000 searches {'; '.join(told)}.{but}"
