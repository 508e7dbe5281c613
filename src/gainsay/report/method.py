"""The method section and the glossary of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._common.shown import printable
from .._common.words import format_amount, format_confidence
from ..comparison.wording import SAMPLE

if TYPE_CHECKING:
    from ..comparison.comparison import Comparison


def describe_method(comparison: Comparison) -> list[str]:
    """Return scope and method as sentences."""
    level = format_confidence(comparison.alpha)
    if comparison.primary is None:
        return [
            SAMPLE,
            f"{printable(comparison.metrics[0])} is the only metric, so no disagreement is tested.",
            f"Intervals of the means have simultaneous {level} confidence and are cut at the range of the metric.",
        ]
    verdict = comparison.verdict
    return [
        verdict.about,
        f"The verdict is one joint test over both metrics of the hypothesis that some model is best under both "
        f"(two-step moment inequalities after Romano, Shaikh and Wolf, 2014, with a Gaussian multiplier bootstrap of "
        f"{verdict.draws:,} draws, seed {verdict.seed}, level {verdict.alpha:g}). Two t-tests between the two winners "
        f"cannot replace it: they show a conflict between two models, but a third may be best under both.",
        f"A difference up to {format_amount(verdict.margin)} counts as negligible (the margin)."
        if verdict.margin > 0
        else "No difference was declared negligible (the margin is 0).",
        f"Intervals have simultaneous {level} confidence: those of means over all models of a metric, those of "
        f"differences over all pairs and both metrics. They are cut at the range of the metric. p-values of pairs are "
        f"adjusted by Holm's method.",
        "A mark is hollow if the two-step test rules the model out as best. Exactly then the interval of its regret "
        "excludes 0.",
    ]


GLOSSARY = (
    ("NDCG@k", "The gains of the documents at ranks 1 to k, discounted by rank, divided by the largest possible sum. "
     "1 is a perfect ranking. Several numbers have this name, because gains and discounts differ."),
    ("linear, exponential gain", "A document of grade l has the gain l or 2ˡ − 1. The linear gain rewards many fair "
     "documents, the exponential gain one excellent document."),
    ("may be best, ruled out", "A model that is not ruled out as best with this confidence has a tinted cell and a "
     "filled mark under this metric. A row tinted on both sides may be best under both."),
    ("genuine disagreement", "No model is best under both metrics, beyond chance."),
    ("opposite order, conflict", "A pair of models that the two metrics put in opposite order. It does not show that "
     "the metrics disagree about the best model: a third may be best under both."),
    ("regret", "The difference between the best model and a model under a metric, 0 for the best. The worst regret is "
     "the larger of its regrets under the two metrics, and the worst case is its upper confidence bound."),
    ("safe choice", "The model with the smallest worst case. Choose it if both metrics matter."),
    ("margin", "The largest difference that you consider negligible. You set it."),
    ("p-value, Holm", "The probability that chance alone shows something at least as strong. With many pairs some look "
     "strong by chance. Holm's method adjusts for that."),
    ("contradictory query", "A query on which the two metrics prefer different models. Its strength is the smaller "
     "one of the two differences, times the weight of the query."),
)  # fmt: skip
"""Terms of every report with their meaning."""

JUDGED = (
    "judged@k",
    "The share of the first k retrieved documents with a judgment. The others count as irrelevant although they were "
    "never judged, or are removed from the lists (condensed lists).",
)
"""Additional term of a comparison of TREC runs."""


def list_terms(comparison: Comparison) -> list[tuple[str, str]]:
    """Return the terms of a report with their meaning, the metrics first."""
    terms = []
    for metric in comparison.definitions.values():
        if metric.meaning:
            lower = "" if metric.higher_is_better else " A lower value is better."
            terms.append((str(metric), printable(metric.meaning + lower)))
    return [*terms, *GLOSSARY, *([] if comparison.unjudged is None else [JUDGED])]
