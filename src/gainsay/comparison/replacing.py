"""What decisions about a baseline come down to: a question, the answer in one line, what to do, and for how many."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .._common.words import amount, confidence, count, listed
from .against import signed, thousands
from .headline import labels_of
from .wording import sample_size

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..drawing.text import Words
    from .against import Against, Standing

__all__ = ["leading", "replacing", "searches"]

_ORDER = {"ship": 0, "undecided": 1, "do not ship": 2}


def leading(found: Against) -> tuple[Standing, ...]:
    """Return the candidates, the likeliest to be shipped first: by decision, then by their worst lower bound."""

    def worst(one: Standing) -> float:
        losses = found.lower_is_better
        return min(-one.upper[it] if it in losses else one.lower[it] for it in found.metrics)

    return tuple(sorted(found.standings, key=lambda one: (_ORDER[one.decision], -worst(one))))


def replacing(found: Against, said: Mapping[str, str]) -> tuple[Words, Words, Words]:
    """Return the question whether to replace the baseline, the answer, and what to do."""
    labels, first, total = labels_of(found.metrics), leading(found)[0], len(found.standings)
    old, new = (("n", said[found.baseline]), ("n", said[first.candidate]))
    by: Words = (("b l", labels[0].name),)
    if len(labels) > 1:
        by = (*by, ("", " and "), ("b e", labels[1].name))
    asked: Words = (("", "Replace "), ("b n", old[1]), ("", " by "))
    what: Words = (("b n", new[1]),) if total == 1 else (("", f"one of {total} candidates"),)
    question = (*asked, *what, ("", "? By "), *by, ("", f" on {sample_size(found)}"))
    return question, _answer(found, first, old, new), _advice(found, first, said)


def _answer(found: Against, first: Standing, old: tuple[str, str], new: tuple[str, str]) -> Words:
    decided, total = list(found.decisions.values()), len(found.standings)
    ships, rest = decided.count("ship"), decided.count("undecided")
    if ships > 1:
        return (("", f"Yes: {ships} of {total} may replace "), old, ("", ", best of all "), new, ("", "."))
    if ships:
        return (("", "Yes: ship "), new, ("", " in place of "), old, ("", "."))
    if rest and total > 1:
        return (("", f"Not yet: {rest} of {total} are undecided, none is proven fit to replace "), old, ("", "."))
    if rest:
        return (("", "Undecided: whether "), new, ("", " is better than "), old, ("", " is not proven."))
    if total > 1:
        return (("", "No: keep "), old, ("", f", each of the {total} candidates is worse."))
    losing = [label.by for label in labels_of(found.metrics) if _loses(found, first, label.name)]
    return (("", "No: keep "), old, ("", ", "), new, ("", f" is worse by {listed(losing)}."))


def _loses(found: Against, one: Standing, metric: str) -> bool:
    upper = -one.lower[metric] if metric in found.lower_is_better else one.upper[metric]
    return upper < -found.rope


def _advice(found: Against, first: Standing, said: Mapping[str, str]) -> Words:
    new = said[first.candidate]
    tolerated = f" Tolerated: a loss up to {amount(found.rope)}." if found.rope else ""
    changes: list[tuple[str, str]] = []
    for place, (label, style) in enumerate(zip(labels_of(found.metrics), "le", strict=False)):
        low, high = first.lower[label.name], first.upper[label.name]
        between = f" ({signed(low)} to {signed(high)})" if math.isfinite(low) and math.isfinite(high) else ""
        changes += [("", " and " if place else ""), (style, signed(first.difference[label.name]))]
        changes.append(("", f"{between} under {label.long}"))
    sure = f", all bounds at {confidence(found.alpha)}."
    if first.decision == "ship":
        return (("b", "\u2605 Ship "), ("b n", new), ("", ": "), *changes, ("", f"{sure}{tolerated}"))
    keep: Words = (("b", "\u2605 Keep "), ("b n", said[found.baseline]))
    rejected = first.decision == "do not ship"
    needed = "" if rejected else f" {(needs(first) or 'no number of queries').capitalize()} would decide it."
    start: Words = (("", ": " if rejected else " for now: "), ("n", new), ("", " changes it by "))
    return (*keep, *start, *changes, ("", f"{sure}{tolerated}{needed}"))


def needs(one: Standing) -> str:
    """Return how many queries, or runs, would decide about a candidate; empty where no number of them would.

    They do so four times in five, if the true differences are those measured.
    """
    known = ((one.queries_needed, "query"), (one.runs_needed, "run"))
    return " or ".join(f"about {count(number, what)}" for number, what in known if number is not None)


def searches(found: Against, one: Standing, *, bounds: bool = True) -> str:
    """Return on how many of 1,000 queries a candidate is better and worse, with intervals or without."""
    page = "first page" if all(metric.endswith("@10") for metric in found.metrics) else "ranking"
    told = []
    for place, label in enumerate(labels_of(found.metrics)):
        both = [thousands(one.shares[label.name][kind]) for kind in ("better", "worse")]
        better, worse = both if bounds else (text.partition(" ")[0] for text in both)
        what = "" if place else f" get a better {page}"
        also = "" if place else " a worse one"
        told.append(f"{better}{what} and {worse}{also} by {label.by if place else label.long}")
    return f"Of 1,000 searches {'; '.join(told)}."
