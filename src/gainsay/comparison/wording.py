"""The verdict in words: one template per kind, for a reader who has to choose a model and knows no statistics."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .._common.words import amount, confidence, count, listed, p_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .baseline import BaselineComparison
    from .verdict import Verdict

__all__ = ["SAMPLE", "about", "direction", "next_best", "paragraph", "sample_size", "thing"]

SAMPLE = (
    "The queries are the random sample and the models are fixed: "
    "what another training seed would have given is not covered."
)


def paragraph(verdict: Verdict) -> str:
    """Write a verdict of any kind as one paragraph of plain text; names stand in it as they are."""
    if len(verdict.models) == 1:
        opening = [f"There is one model only, {verdict.models[0]}, so the two metrics have nothing to disagree about."]
    else:
        writers = {"genuine": _genuine, "agree": _agree, "immaterial": _immaterial, "unresolved": _unresolved}
        opening = writers[verdict.kind](verdict)
    first = verdict.in_question
    models = [*first, *(model for model in verdict.models if model not in first)]
    judged = [] if verdict.unjudged is None else verdict.unjudged.text(models)
    opening += direction(verdict.lower_is_better)
    flags = [flag.message for flag in verdict.flags if flag.code != "one model"]  # the opening says so already
    return " ".join([*opening, *judged, *flags, about(verdict)])


def about(verdict: Verdict | BaselineComparison) -> str:
    """Say what is a sample and what is fixed, and so what another training would have given is covered or not."""
    queries = "queries" if verdict.clusters is None else "clusters of queries"
    trained = {model: repeats for model, repeats in verdict.repeats.items() if repeats}
    if not trained:
        return SAMPLE.replace("queries", queries, 1)
    fewest, most = min(trained.values()), max(trained.values())
    times = f"{fewest} times" if fewest == most else f"{fewest} {'or' if most == fewest + 1 else 'to'} {most} times"
    if len(trained) == 1:
        are = f"{next(iter(trained))} is a recipe, trained {times}"
    else:
        named = "The models" if len(trained) == len(verdict.models) else listed(list(trained))
        are = f"{named} are recipes, trained {times} each"
    covered = {
        "seed": "; another seed is covered, other training data are not",
        "queries": " on resampled training queries; another seed and another such sample are covered, and all means "
        "are those of training on resampled queries",
        None: "; another such repeat is covered, and whatever differed between the repeats counts as chance",
    }
    fixed = [model for model in verdict.models if model not in trained]
    last = f" {listed(fixed)} {'is' if len(fixed) == 1 else 'are'} fixed: no other training is covered there."
    return f"The {queries} and the repeats are random samples. {are}{covered[verdict.vary]}.{last if fixed else ''}"


def thing(verdict: Verdict) -> str:
    """Return what is compared: recipes where all are, else models."""
    return "recipe" if verdict.repeats and all(verdict.repeats.values()) else "model"


def sample_size(found: Verdict | BaselineComparison) -> str:
    """Return how many queries there are, and in how many clusters they come."""
    clusters = "" if found.clusters is None else f" in {count(found.clusters, 'cluster')}"
    return f"{count(found.queries, 'query')}{clusters}"


def _evidence(verdict: Verdict) -> str:
    return "queries and repeats" if verdict.repeats else "queries"


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


def _genuine(verdict: Verdict) -> list[str]:
    first, second = verdict.metrics
    text = [
        f"{first} and {second} genuinely disagree: no {thing(verdict)} is best under both "
        f"({p_value(verdict.p_value)}, {_size(verdict)}).",
        _prefers(verdict),
        _cost_of_winners(verdict),
        f"Whatever is chosen, one of the two metrics "
        f"{'is worse than its best by' if verdict.lower_is_better else 'loses'} at least {amount(verdict.price_lower)} "
        f"(estimate {amount(verdict.price)}; {_confidence(verdict)}).",
        _safe(verdict),
    ]
    if verdict.margin > 0:
        text.append(_materiality(verdict))
    return text


def _materiality(verdict: Verdict) -> str:
    negligible = f"the {amount(verdict.margin)} that you called negligible"
    if verdict.material:
        return f"This is material: it exceeds {negligible} ({p_value(verdict.margin_p_value)})."
    if verdict.within_margin:
        return f"It is small, though: whichever metric you choose by, you lose no more than {negligible}."
    return f"Whether it exceeds {negligible} is not proven."


def _agree(verdict: Verdict) -> list[str]:
    first, second = verdict.metrics
    name = verdict.winners[first]
    return [
        f"{first} and {second} agree: {name} beats every other {thing(verdict)} under both "
        f"({_size(verdict)}, {_confidence(verdict)}).",
        f"Its means are {verdict.means[first][name]:.4f} and {verdict.means[second][name]:.4f}, "
        f"ahead of the next by {' and '.join(next_best(verdict))}.",
        f"Choose {name}.",
    ]


def _immaterial(verdict: Verdict) -> list[str]:
    first, second = verdict.metrics
    chosen = set(verdict.winners.values())
    most = max(verdict.regrets_upper[metric][name] for metric in verdict.metrics for name in chosen)
    if most == 0:
        opening = (
            f"It does not matter which of {first} and {second} you choose by: "
            f"no query tells the leading {thing(verdict)}s apart ({_size(verdict)})."
        )
        return [opening, f"{verdict.safe_choice} is as good a choice as any of them."]
    return [
        f"It does not matter which of {first} and {second} you choose by: either choice loses at most {amount(most)} "
        f"under either metric, no more than the {amount(verdict.margin)} that you called negligible "
        f"({_size(verdict)}, {_confidence(verdict)}).",
        _prefers(verdict),
        _safe(verdict),
    ]


def _unresolved(verdict: Verdict) -> list[str]:
    first, second = verdict.metrics
    differ = verdict.winners[first] != verdict.winners[second]
    common, what, evidence = verdict.common_best, thing(verdict), _evidence(verdict)
    if differ:
        opening = (
            f"{first} and {second} put different {what}s first, but that may be chance: these {evidence} leave open "
            f"that one {what} is best under both ({p_value(verdict.p_value)}, {_size(verdict)})."
        )
    else:
        opening = (
            f"{first} and {second} put the same {what} first, "
            f"but these {evidence} do not prove it the best ({_size(verdict)})."
        )
    text = [opening, _prefers(verdict)]
    if len(common) == len(verdict.models):
        some = f"Either {what}" if len(common) == 2 else f"Any of the {len(common)} {what}s"
        text.append(f"{some} may be best under both.")
    else:
        text.append(f"If one is best under both, it is {listed(list(common), word='or')} ({_confidence(verdict)}).")
    if differ:
        text.append(_cost_of_winners(verdict))
    text.append(_safe(verdict))
    if math.isfinite(verdict.detectable):
        text.append(
            f"With this many {evidence} a {what} that trails by about {amount(verdict.detectable)} or more "
            f"would be found out four times in five; smaller differences need more {evidence.replace('and', 'or')}."
        )
    return text


def _prefers(verdict: Verdict) -> str:
    first, second = verdict.metrics
    one, other = verdict.winners[first], verdict.winners[second]
    lead = f"{first} prefers {one} (mean {verdict.means[first][one]:.4f})"
    if one == other:
        return f"Both prefer {one} (means {verdict.means[first][one]:.4f} and {verdict.means[second][one]:.4f})."
    return f"{lead}, {second} prefers {other} (mean {verdict.means[second][other]:.4f})."


def next_best(verdict: Verdict) -> list[str]:
    """Return by how much the next model is behind the best under each metric."""
    return [amount(sorted(verdict.regrets[metric].values())[1]) for metric in verdict.metrics]


def _cost_of_winners(verdict: Verdict) -> str:
    first, second = verdict.metrics
    parts = [
        f"choosing {verdict.winners[chosen]} {_cost(verdict, verdict.winner_regrets[chosen], lost)}"
        for chosen, lost in ((first, second), (second, first))
    ]
    return f"In this sample {parts[0]}, and {parts[1]}."


def _cost(verdict: Verdict, regret: float, metric: str) -> str:
    """Return what a choice costs under a metric."""
    size = amount(regret)
    return f"adds {size} to {metric}" if metric in verdict.lower_is_better else f"costs {size} of {metric}"


def _safe(verdict: Verdict) -> str:
    upper = verdict.safe_regret_upper
    bound = f", and at most {amount(upper)} with {_confidence(verdict)}" if math.isfinite(upper) else ""
    if verdict.safe_regret == 0:
        behind = f"in this sample it is behind no other {thing(verdict)}"
        return f"The safest choice is {verdict.safe_choice}: {behind}{bound}."
    return (
        f"The safest choice is {verdict.safe_choice}: "
        f"under the metric that likes it less it is {amount(verdict.safe_regret)} behind the best{bound}."
    )


def _size(verdict: Verdict) -> str:
    return f"{count(len(verdict.models), thing(verdict))} on {sample_size(verdict)}"


def _confidence(verdict: Verdict) -> str:
    return f"{confidence(verdict.alpha)} confidence"
