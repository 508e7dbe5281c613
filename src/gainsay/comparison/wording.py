"""The verdict in words: one template per kind, for a reader who has to choose a model and knows no statistics."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .._common.words import amount, confidence, count, listed, p_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .decide import Outcome

__all__ = ["SAMPLE", "cost", "direction", "paragraph"]

SAMPLE = (
    "The queries are the random sample and the models are fixed: "
    "what another training seed would have given is not covered."
)


def paragraph(verdict: Outcome) -> str:
    """Write the verdict as one paragraph.

    Parameters
    ----------
    verdict : Outcome
        Any kind.

    Returns
    -------
    str
        Plain text; names stand in it as they are, so escape it before it goes into HTML.
    """
    if len(verdict.models) == 1:
        opening = [f"There is one model only, {verdict.models[0]}, so the two metrics have nothing to disagree about."]
    else:
        writers = {
            "genuine": _genuine,
            "agree": _agree,
            "immaterial": _immaterial,
            "unresolved": _unresolved,
        }
        opening = writers[verdict.kind](verdict)
    first = verdict.in_question
    models = [*first, *(model for model in verdict.models if model not in first)]
    judged = [] if verdict.holes is None else verdict.holes.text(models)
    return " ".join([*opening, *direction(verdict.lower_is_better), *judged, *_reservations(verdict), SAMPLE])


def direction(losses: Sequence[str]) -> list[str]:
    """Say of which metrics a lower value is better; nothing where there are none.

    >>> direction(["shortfall"])
    ['A lower value of shortfall is better.']
    >>> direction(["shortfall", "lost@10"])
    ['Lower values of shortfall and lost@10 are better.']
    """
    if len(losses) < 2:
        return [f"A lower value of {metric} is better." for metric in losses]
    return [f"Lower values of {listed(losses, most=len(losses))} are better."]


def _genuine(verdict: Outcome) -> list[str]:
    first, second = verdict.metrics
    text = [
        f"{first} and {second} genuinely disagree: no model is best under both "
        f"({p_value(verdict.p_value)}, {_size(verdict)}).",
        _prefers(verdict),
        _cost_of_winners(verdict),
        f"Whatever is chosen, one of the two metrics "
        f"{'is worse than its best by' if verdict.lower_is_better else 'loses'} at least {amount(verdict.price_lower)} "
        f"(estimate {amount(verdict.price)}; {_confidence(verdict)}).",
        _safe(verdict),
    ]
    if verdict.rope > 0:
        text.append(_materiality(verdict))
    return text


def _materiality(verdict: Outcome) -> str:
    negligible = f"the {amount(verdict.rope)} that you called negligible"
    if verdict.material:
        return f"This is material: it exceeds {negligible} ({p_value(verdict.rope_p_value)})."
    if verdict.within_rope:
        return f"It is small, though: whichever metric you choose by, you lose no more than {negligible}."
    return f"Whether it exceeds {negligible} is not proven."


def _agree(verdict: Outcome) -> list[str]:
    first, second = verdict.metrics
    name = verdict.winners[first]
    return [
        f"{first} and {second} agree: {name} beats every other model under both "
        f"({_size(verdict)}, {_confidence(verdict)}).",
        f"Its means are {verdict.means[first][name]:.4f} and {verdict.means[second][name]:.4f}, "
        f"ahead of the next by {_ahead(verdict, first)} and {_ahead(verdict, second)}.",
        f"Choose {name}.",
    ]


def _immaterial(verdict: Outcome) -> list[str]:
    first, second = verdict.metrics
    chosen = set(verdict.winners.values())
    most = max(verdict.regrets_upper[metric][name] for metric in verdict.metrics for name in chosen)
    if most == 0:
        opening = (
            f"It does not matter which of {first} and {second} you choose by: "
            f"no query tells the leading models apart ({_size(verdict)})."
        )
        return [opening, f"{verdict.safe_choice} is as good a choice as any of them."]
    return [
        f"It does not matter which of {first} and {second} you choose by: either choice loses at most {amount(most)} "
        f"under either metric, no more than the {amount(verdict.rope)} that you called negligible "
        f"({_size(verdict)}, {_confidence(verdict)}).",
        _prefers(verdict),
        _safe(verdict),
    ]


def _unresolved(verdict: Outcome) -> list[str]:
    first, second = verdict.metrics
    differ = verdict.winners[first] != verdict.winners[second]
    common = verdict.common_best
    if differ:
        opening = (
            f"{first} and {second} put different models first, but that may be chance: these queries leave open "
            f"that one model is best under both ({p_value(verdict.p_value)}, {_size(verdict)})."
        )
    else:
        opening = (
            f"{first} and {second} put the same model first, "
            f"but these queries do not prove it the best ({_size(verdict)})."
        )
    text = [opening, _prefers(verdict)]
    if len(common) == len(verdict.models):
        some = "Either model" if len(common) == 2 else f"Any of the {len(common)} models"
        text.append(f"{some} may be best under both.")
    elif len(common) == 1:
        text.append(f"If one is best under both, it is {common[0]} ({_confidence(verdict)}).")
    else:
        text.append(f"If one is best under both, it is {listed(list(common), word='or')} ({_confidence(verdict)}).")
    if differ:
        text.append(_cost_of_winners(verdict))
    text.append(_safe(verdict))
    if math.isfinite(verdict.detectable):
        text.append(
            f"With this many queries a model that trails by about {amount(verdict.detectable)} or more "
            "would be found out four times in five; smaller differences need more queries."
        )
    return text


def _prefers(verdict: Outcome) -> str:
    first, second = verdict.metrics
    one, other = verdict.winners[first], verdict.winners[second]
    lead = f"{first} prefers {one} (mean {verdict.means[first][one]:.4f})"
    if one == other:
        return f"Both prefer {one} (means {verdict.means[first][one]:.4f} and {verdict.means[second][one]:.4f})."
    return f"{lead}, {second} prefers {other} (mean {verdict.means[second][other]:.4f})."


def _ahead(verdict: Outcome, metric: str) -> str:
    return amount(sorted(verdict.regrets[metric].values())[1])


def _cost_of_winners(verdict: Outcome) -> str:
    first, second = verdict.metrics
    parts = [
        f"choosing {verdict.winners[chosen]} {cost(verdict, 'costs', verdict.winner_regrets[chosen], lost)}"
        for chosen, lost in ((first, second), (second, first))
    ]
    return f"In this sample {parts[0]}, and {parts[1]}."


def cost(verdict: Outcome, verb: str, regret: float, metric: str) -> str:
    """Return what a choice costs under a metric, after a verb for those of which a higher value is better."""
    size = amount(regret)
    return f"adds {size} to {metric}" if metric in verdict.lower_is_better else f"{verb} {size} of {metric}"


def _safe(verdict: Outcome) -> str:
    upper = verdict.safe_regret_upper
    bound = f", and at most {amount(upper)} with {_confidence(verdict)}" if math.isfinite(upper) else ""
    if verdict.safe_regret == 0:
        return f"The safest choice is {verdict.safe_choice}: in this sample it is behind no other model{bound}."
    return (
        f"The safest choice is {verdict.safe_choice}: "
        f"under the metric that likes it less it is {amount(verdict.safe_regret)} behind the best{bound}."
    )


def _reservations(verdict: Outcome) -> list[str]:
    # One model, and a single paragraph says so already.
    return [flag.message for flag in verdict.flags if flag.code != "one model"]


def _size(verdict: Outcome) -> str:
    return f"{count(len(verdict.models), 'model')} on {count(verdict.queries, 'query')}"


def _confidence(verdict: Outcome) -> str:
    return f"{confidence(verdict.alpha)} confidence"
