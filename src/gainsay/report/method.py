"""How the numbers were made, on what they are, and what the words of a report mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._common.shown import listed_short, printable
from .._common.words import amount, confidence, count
from ..comparison.pairs import compute_kendall_tau, compute_tau_ap
from ..comparison.wording import SAMPLE, describe_sample
from .numbers import share

if TYPE_CHECKING:
    from ..comparison.comparison import Comparison
    from .content import Content


def method(content: Content) -> list[str]:
    """Return scope, method and descriptions as sentences."""
    comparison = content.comparison
    level = confidence(comparison.alpha)
    if comparison.primary is None:
        intervals = f"Intervals of the means hold together with {level} confidence and end where the metric does."
        only = f"{printable(comparison.metrics[0])} is the only metric here, so there is none for it to disagree with."
        return [SAMPLE, only, intervals]
    verdict, pairs = comparison.verdict, comparison.pairs
    first, second = verdict.metrics
    text = [
        describe_sample(verdict),
        f"The verdict is one joint test over both metrics of the hypothesis that some model is best under both "
        f"(two-step moment inequalities after Romano, Shaikh and Wolf, 2014; Gaussian multiplier bootstrap with "
        f"{verdict.draws:,} draws, seed {verdict.seed}, level {verdict.alpha:g}). Comparing the two winners by two "
        f"t-tests would not answer it: that shows a conflict between two models, not that no other is best under both.",
        f"A difference up to {amount(verdict.margin)} counts as negligible (the margin)."
        if verdict.margin > 0
        else "No difference was declared negligible (the margin is 0).",
        f"Intervals hold together with {level} confidence: those of the means over all models of a metric, those of "
        f"the differences over all pairs and both metrics. They end where the metric does: no mean lies beyond its "
        f"range. p-values of pairs are corrected by Holm's method.",
        "A mark is hollow where the two-step test rules the model out as best; the lower end of its interval is where "
        "the same test stops ruling it out, so it is above 0 exactly there.",
    ]
    if len(verdict.models) > 1:
        sets = "; ".join(
            f"by {metric}: {listed_short(best, comparison.short_names)}" for metric, best in verdict.best_sets.items()
        )
        text.append(f"Who may be best under each metric alone ({level} confidence): {sets}.")
        text.append(_descriptions(comparison, len(pairs), first, second))
    if content.no_attribution and len(verdict.models) > 1:
        text.append(content.no_attribution)
    return text


def _descriptions(comparison: Comparison, pairs: int, first: str, second: str) -> str:
    """Describe how alike the two metrics order the models; ranks, so that means within rounding count as ties."""
    ranks = [[-rank for rank in comparison.leaderboard[f"{metric} rank"]] for metric in (first, second)]
    tau, one_way, other_way = compute_kendall_tau(*ranks), compute_tau_ap(*ranks), compute_tau_ap(*ranks[::-1])
    counts = {
        metric: int((comparison.pairs[f"p_holm {metric}"] <= comparison.alpha).sum()) for metric in (first, second)
    }
    alike = "" if tau is None else f"Kendall's τ between the two orders is {tau:.2f}".replace("-", "\u2212")
    if alike and one_way is not None and other_way is not None:
        alike += f", τ_AP {(one_way + other_way) / 2:.2f}; ".replace("-", "\u2212")
    return (
        f"Descriptions, which are no tests: {alike}"
        f"{first} tells {counts[first]} of {count(pairs, 'pair')} apart, {second} {counts[second]}; "
        f"the winners differ in {share(comparison.verdict.winners_differ_probability)} of the draws."
    )


GLOSSARY = (
    ("query, document, grade", "Each query has documents with relevance grades (labels), judged by people or derived "
     "from clicks. A model ranks the documents of each query."),
    ("NDCG@k", "The gains of the documents at ranks 1 to k, discounted by rank, divided by the largest such sum that "
     "any order could reach. 1 is a perfect ranking. The name stands for several numbers: gain and discount differ."),
    ("ndcg_linear", "NDCG whose gain is the grade itself, discounted by 1/log2(rank + 1). Many fair hits win."),
    ("ndcg_exp", "NDCG whose gain is 2^grade − 1, same discount. One excellent hit wins."),
    ("ndcg_jk", "NDCG of 2002 (Järvelin and Kekäläinen): linear gain, no discount at ranks 1 and 2, then "
     "1/log2(rank)."),
    ("opposite order, conflict", "A pair of models of which one metric prefers the one, and the other metric the "
     "other. It does not yet show that the metrics disagree about the best model: a third may be best under both."),
    ("genuine disagreement", "No model is best under both metrics, beyond what chance explains."),
    ("behind the best, regret", "How far a model is behind the best one under a metric; 0 for the best. The "
     "worst regret is the larger of its regrets under the two metrics."),
    ("safe choice", "The model whose worst regret is smallest: the one to take if both metrics matter."),
    ("price of disagreement", "What must be given up under one of the metrics, whichever model is chosen: the worst "
     "regret of the safe choice."),
    ("may be best, ruled out", "A model that is not ruled out as best with this confidence has a tinted cell and a "
     "filled mark under this metric. A row tinted on both sides may be best under both."),
    ("worst case", "How far behind the best a model may be under either metric: the upper end of the interval."),
    ("margin", "Region of practical equivalence: a difference so small that it does not matter to you. You set it."),
    ("p-value, Holm", "How often chance alone would show something at least as strong. With many pairs some look "
     "strong by chance; Holm's correction allows for that."),
    ("wins, ties, losses", "On how many queries the first model of a pair is better than, level with, or worse than "
     "the second."),
    ("rank band", "Ranks taken together: 1, 2-3, 4-5, 6-10 and beyond."),
    ("contradiction strength", "Strength of a contradiction: the smaller of its two differences of opposite signs, "
     "times its weight."),
)  # fmt: skip
"""Terms and what they mean."""

HOLES = (
    ("judged@k", "The share of the first k retrieved documents that somebody judged. The others count as irrelevant "
     "although nobody looked at them, or are dropped from the lists (condensed lists)."),
)  # fmt: skip
"""What joins them where runs are compared."""


def glossary(comparison: Comparison) -> tuple[tuple[str, str], ...]:
    """Return the terms of a report and what they mean."""
    own = [(metric, metric.meaning) for metric in comparison.definitions.values()]
    lower = " A lower value is better."
    told = [
        (str(metric), printable(meaning + lower * (not metric.higher_is_better))) for metric, meaning in own if meaning
    ]
    return (*told, *GLOSSARY, *(() if comparison.unjudged is None else HOLES))
