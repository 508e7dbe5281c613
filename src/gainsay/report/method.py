"""The method section and the glossary of a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._common.shown import listed_short, printable
from .._common.words import amount, confidence, count
from ..comparison.pairs import compute_kendall_tau
from ..comparison.wording import SAMPLE, describe_sample
from .numbers import format_share

if TYPE_CHECKING:
    from ..comparison.comparison import Comparison
    from .content import Content


def method(content: Content) -> list[str]:
    """Return scope, method and descriptions as sentences."""
    comparison = content.comparison
    level = confidence(comparison.alpha)
    if comparison.primary is None:
        intervals = (
            f"Intervals of the means have simultaneous {level} confidence and are cut at the range of the metric."
        )
        only = f"{printable(comparison.metrics[0])} is the only metric, so no disagreement is tested."
        return [SAMPLE, only, intervals]
    verdict, pairs = comparison.verdict, comparison.pairs
    first, second = verdict.metrics
    text = [
        describe_sample(verdict),
        f"The verdict is one joint test over both metrics of the hypothesis that some model is best under both "
        f"(two-step moment inequalities after Romano, Shaikh and Wolf, 2014, with a Gaussian multiplier bootstrap of "
        f"{verdict.draws:,} draws, seed {verdict.seed}, level {verdict.alpha:g}). Two t-tests between the two winners "
        f"cannot replace it: they show a conflict between two models, but a third may be best under both.",
        f"A difference up to {amount(verdict.margin)} counts as negligible (the margin)."
        if verdict.margin > 0
        else "No difference was declared negligible (the margin is 0).",
        f"Intervals have simultaneous {level} confidence: those of means over all models of a metric, those of "
        f"differences over all pairs and both metrics. They are cut at the range of the metric. p-values of pairs are "
        f"adjusted by Holm's method.",
        "A mark is hollow if the two-step test rules the model out as best. Exactly then the interval of its regret "
        "excludes 0.",
    ]
    if len(verdict.models) > 1:
        sets = ", ".join(
            f"by {metric}: {listed_short(best, comparison.short_names)}" for metric, best in verdict.best_sets.items()
        )
        text.append(f"Models that may be best under each metric separately ({level} confidence): {sets}.")
        text.append(_descriptions(comparison, len(pairs), first, second))
    if content.no_attribution and len(verdict.models) > 1:
        text.append(content.no_attribution)
    return text


def _descriptions(comparison: Comparison, pairs: int, first: str, second: str) -> str:
    """Describe how similarly the two metrics order the models. Ranks treat means within rounding as ties."""
    ranks = [[-rank for rank in comparison.leaderboard[f"{metric} rank"]] for metric in (first, second)]
    tau = compute_kendall_tau(*ranks)
    counts = {
        metric: int((comparison.pairs[f"p_holm {metric}"] <= comparison.alpha).sum()) for metric in (first, second)
    }
    similarity = "" if tau is None else f"Kendall's τ between the two orders is {tau:.2f}. ".replace("-", "\u2212")
    return (
        f"Descriptions, not tests: {similarity}"
        f"{first} separates {counts[first]} of {count(pairs, 'pair')}, {second} {counts[second]}. "
        f"The winners differ in {format_share(comparison.verdict.winners_differ_probability)} of the draws."
    )


GLOSSARY = (
    ("query, document, grade", "Each query has documents with relevance grades (labels), judged by people or derived "
     "from clicks. A model ranks the documents of each query."),
    ("NDCG@k", "The gains of the documents at ranks 1 to k, discounted by rank, divided by the largest possible sum. "
     "1 is a perfect ranking. Several numbers have this name, because gains and discounts differ."),
    ("ndcg_linear", "NDCG with the grade itself as gain and the discount 1/log2(rank + 1). It rewards many fair hits."),
    ("ndcg_exp", "NDCG with the gain 2^grade − 1 and the same discount. It rewards one excellent hit."),
    ("ndcg_jk", "NDCG of 2002 (Järvelin and Kekäläinen): linear gain, no discount at ranks 1 and 2, then "
     "1/log2(rank)."),
    ("opposite order, conflict", "A pair of models that the two metrics put in opposite order. It does not show that "
     "the metrics disagree about the best model: a third may be best under both."),
    ("genuine disagreement", "No model is best under both metrics, beyond chance."),
    ("regret", "The difference between the best model and a model under a metric, 0 for the best. The worst regret is "
     "the larger of its regrets under the two metrics."),
    ("safe choice", "The model with the smallest worst case. Choose it if both metrics matter."),
    ("price of disagreement", "The loss under one of the metrics that every choice has at least: the worst regret of "
     "the best compromise."),
    ("may be best, ruled out", "A model that is not ruled out as best with this confidence has a tinted cell and a "
     "filled mark under this metric. A row tinted on both sides may be best under both."),
    ("worst case", "The upper end of the interval of a model's regret under either metric."),
    ("margin", "The largest difference that you consider negligible. You set it."),
    ("p-value, Holm", "The probability that chance alone shows something at least as strong. With many pairs some look "
     "strong by chance. Holm's method adjusts for that."),
    ("wins, ties, losses", "How many queries the first model of a pair ranks better than, as well as, or worse "
     "than the second."),
    ("rank band", "Ranks combined: 1, 2-3, 4-5, 6-10 and beyond."),
    ("contradiction strength", "The smaller of two differences with opposite signs, times the weight of the query."),
)  # fmt: skip
"""Terms of every report with their meaning."""

UNJUDGED_TERMS = (
    ("judged@k", "The share of the first k retrieved documents with a judgment. The others count as irrelevant "
     "although they were never judged, or are removed from the lists (condensed lists)."),
)  # fmt: skip
"""Additional terms of a comparison of TREC runs."""


def glossary(comparison: Comparison) -> tuple[tuple[str, str], ...]:
    """Return the terms of a report with their meaning."""
    own = [(metric, metric.meaning) for metric in comparison.definitions.values()]
    lower = " A lower value is better."
    definitions = [
        (str(metric), printable(meaning + lower * (not metric.higher_is_better))) for metric, meaning in own if meaning
    ]
    return (*definitions, *GLOSSARY, *(() if comparison.unjudged is None else UNJUDGED_TERMS))
