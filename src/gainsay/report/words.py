"""What a report says in words around its tables: the answer, the facts beside it, the method, the glossary."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from .._common.shown import LONGEST_IN_TEXT, fitting, isolated, listed_short, printable
from .._common.words import amount, bare_p, confidence, count
from ..comparison.descriptions import kendall_tau, tau_ap
from ..comparison.inequalities import FEWEST
from ..comparison.wording import SAMPLE, cost, direction
from .numbers import mean, share

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from ..comparison.attribution import Attribution
    from ..comparison.findings import Findings
    from ..metrics.base import Metric

__all__ = [
    "GLOSSARY",
    "Fact",
    "advice",
    "answer",
    "facts",
    "glossary",
    "method",
    "over",
    "question",
    "scope",
    "when",
    "why_sentences",
]


class Fact(NamedTuple):
    """One of the few numbers beside the verdict."""

    label: str
    value: str
    note: str


def question(comparison: Findings) -> str:
    """Return the title of the report."""
    if comparison.primary is None:
        return f"Models compared by {comparison.metrics[0]}"
    return f"Do {comparison.primary[0]} and {comparison.primary[1]} disagree about the best model?"


def answer(comparison: Findings) -> str:
    """Return the verdict in one line."""
    short = _in_text(comparison)
    if comparison.primary is None:
        best = "lowest" if comparison.lower_is_better else "highest"
        return f"{short[comparison.winners[comparison.metrics[0]]]} has the {best} mean."
    verdict = comparison.verdict
    winner = short[verdict.winners[verdict.metrics[0]]]
    if len(verdict.models) == 1:
        return "There is one model only: nothing to disagree about."
    if verdict.kind == "genuine":
        small = " But the difference is negligible." if verdict.within_rope and verdict.rope > 0 else ""
        return f"Yes, genuinely: no model is best under both.{small}"
    if verdict.kind == "agree":
        return f"No: {winner} is the best under both."
    if verdict.kind == "immaterial":
        return "Not so that it matters: either choice is as good."
    if len(set(verdict.winners.values())) > 1:
        return "Not proven: different models come first, but that may be chance."
    return f"Not proven: both put {winner} first, but it may not be the best."


def over(comparison: Findings) -> str:
    """Return what the means of the leaderboard are over."""
    alike = len(set(comparison.metric_queries.values())) == 1
    return count(comparison.query_count, "query") if alike else "the queries that each metric has"


def _in_text(comparison: Findings) -> dict[str, str]:
    return fitting(comparison.models, comparison.short_names, LONGEST_IN_TEXT)


def scope(comparison: Findings) -> list[str]:
    """Return what was compared, where it goes without saying no more: losses, queries left out, rounds of boosters."""
    text = [printable(sentence) for sentence in direction(comparison.lower_is_better)]
    queries = comparison.metric_queries
    if len(set(queries.values())) > 1:
        own = ", ".join(f"{printable(metric)} on {number:,}" for metric, number in queries.items())
        text.append(f"Each metric is compared on the queries that it has: {own}.")
        if comparison.primary is not None and any(comparison.verdict.left_out.values()):
            both = " and ".join(map(printable, comparison.primary))
            text[-1] += (
                f" What is said of {both} together (verdict, opposite order, regret, pictures, which queries) is on "
                f"the {count(comparison.verdict.queries, 'query')} that both have."
            )
    if comparison.iterations:
        short = _in_text(comparison)
        used = "; ".join(f"{short[name]} with {iteration}" for name, iteration in comparison.iterations.items())
        text.append(f"Boosters predict at their best iteration, if not told otherwise: {used}.")
    return text


def advice(comparison: Findings) -> str:
    """Return what to choose, in one line."""
    verdict = comparison.verdict
    safe = _in_text(comparison)[verdict.safe_choice]
    if verdict.kind == "agree":
        return f"Choose {safe}."
    if verdict.queries < FEWEST:
        return f"Too few queries to decide: {verdict.queries}, and below {FEWEST} nothing is proven."
    behind = "best in this sample"
    if verdict.safe_regret:
        behind = f"{amount(verdict.safe_regret)} behind the best under the metric that likes it less"
    upper = verdict.safe_regret_upper
    truth = f", in truth at most {amount(upper)} behind ({confidence(verdict.alpha)} confidence)" if upper else ""
    return f"Safe choice: {safe}, {behind}{truth}."


def facts(comparison: Findings) -> list[Fact]:
    """Return the numbers that a reader looks for first."""
    verdict, short = comparison.verdict, comparison.short_names
    first, second = verdict.metrics
    sure = f"{confidence(verdict.alpha)} confidence"
    found = []
    for metric, other in ((first, second), (second, first)):
        winner = verdict.winners[metric]
        sample = ", on the queries that both have" if any(verdict.left_out.values()) else ""
        own = f"mean {mean(verdict.means[metric][winner])}{sample}"
        note = f"{own}; {cost(verdict, 'loses', verdict.winner_regrets[metric], other)}"
        found.append(Fact(f"Best by {metric}", short[winner], note))
    upper = verdict.safe_regret_upper
    bound = f", at most {amount(upper)} with {sure}" if math.isfinite(upper) else ""
    found.append(Fact("Safe choice", short[verdict.safe_choice], f"loses {amount(verdict.safe_regret)}{bound}"))
    at_least = f"at least {amount(verdict.price_lower)} with {sure}" if verdict.price_lower > 0 else "may be nothing"
    found.append(Fact("Price of disagreement", amount(verdict.price), at_least))
    size = f"{count(len(verdict.models), 'model')}, {count(verdict.queries, 'query')}"
    found.append(Fact("p-value", bare_p(verdict.p_value), f"small where no model can be best under both; {size}"))
    return found


def why_sentences(attribution: Attribution, short: Mapping[str, str], reason: str) -> list[str]:
    """Return what the attribution says, before its tables."""
    first, second = (short[name] for name in attribution.models)
    leads = [
        f"by {metric} {first} {_ahead(value, metric in attribution.lower_is_better)} by {abs(value):.4f}"
        if value
        else f"by {metric} the two are level"
        for metric, value in attribution.difference.items()
    ]
    text = [f"{first} against {second} ({reason}): {', '.join(leads)}."]
    if attribution.left_out:
        text.append(
            f"This is on the {count(attribution.queries, 'query')} that all these metrics have; "
            f"{attribution.left_out:,} more are left out."
        )
    if {"gain", "discount"} <= set(attribution.parts.index):
        change = attribution.parts["change"]
        ends = attribution.parts.loc["total", ["from", "to"]]
        text.append(
            f"From {ends['from']} to {ends['to']} the difference changes by {change['total']:+.4f}: "
            f"{change['discount']:+.4f} by the discount, {change['gain']:+.4f} by the gain."
        )
    if attribution.parts_note:
        text.append(attribution.parts_note)
    return [sentence.replace("-0.", "\u22120.") for sentence in text]


def _ahead(difference: float, loss: bool) -> str:
    return "leads" if (difference > 0) != loss else "trails"


def method(comparison: Findings) -> list[str]:
    """Return scope, method and descriptions as sentences."""
    level = confidence(comparison.alpha)
    left = [f"{printable(note)}." for note in comparison.notes]
    if comparison.primary is None:
        judged = [] if comparison.holes is None else comparison.holes.text(comparison.models)
        judged = [isolated(sentence, comparison.short_names) for sentence in judged]
        intervals = f"Intervals of the means hold together with {level} confidence and end where the metric does."
        return [SAMPLE, intervals, *judged, *left]
    verdict, pairs = comparison.verdict, comparison.pairs
    first, second = verdict.metrics
    text = [
        SAMPLE,
        f"The verdict is one joint test over both metrics of the hypothesis that some model is best under both "
        f"(two-step moment inequalities after Romano, Shaikh and Wolf, 2014; Gaussian multiplier bootstrap with "
        f"{verdict.draws:,} draws, seed {verdict.seed}, level {verdict.alpha:g}). Comparing the two winners by two "
        f"t-tests would not answer it: that shows a conflict between two models, not that no other is best under both.",
        f"A difference up to {amount(verdict.rope)} counts as negligible (the ROPE)."
        if verdict.rope > 0
        else "No difference was declared negligible (the ROPE is 0).",
        f"Intervals hold together with {level} confidence: those of the means over all models of a metric, those of "
        f"the differences over all pairs and both metrics. They end where the metric does: no mean lies beyond its "
        f"range. p-values of pairs are corrected by Holm's method.",
    ]
    if len(verdict.models) > 1:
        sets = "; ".join(
            f"by {metric}: {listed_short(best, comparison.short_names)}" for metric, best in verdict.best_sets.items()
        )
        text.append(f"Who may be best under each metric alone ({level} confidence): {sets}.")
        text.append(_descriptions(comparison, len(pairs), first, second))
    return [*text, *left]


def _descriptions(comparison: Findings, pairs: int, first: str, second: str) -> str:
    """Describe how alike the two metrics order the models; ranks, so that means within rounding count as ties."""
    ranks = [[-rank for rank in comparison.leaderboard[f"{metric} rank"]] for metric in (first, second)]
    tau, one_way, other_way = kendall_tau(*ranks), tau_ap(*ranks), tau_ap(*ranks[::-1])
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


def when(best: pd.DataFrame) -> str:
    """Return what stands above the table of best rounds."""
    text = "Each metric has its own best round of training. What a metric loses where training stops at the other's"
    if "compared" not in best.columns:
        return f"{text} best round:"
    return (
        f"{text} best round, and at the round at which the candidate is compared, all on the validation set. Every "
        "other number of this report is of the candidates as compared:"
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
    ("regret", "How far a model is behind the best one under a metric; 0 for the best. The worst regret is the larger "
     "of its regrets under the two metrics."),
    ("safe choice", "The model whose worst regret is smallest: the one to take if both metrics matter."),
    ("price of disagreement", "What must be given up under one of the metrics, whichever model is chosen: the worst "
     "regret of the safe choice."),
    ("possible, ruled out", "Whether a model may be best under both metrics: the confidence set of common best models "
     "holds each such model with the stated confidence."),
    ("ROPE", "Region of practical equivalence: a difference so small that it does not matter to you. You set it."),
    ("p-value, Holm", "How often chance alone would show something at least as strong. With many pairs some look "
     "strong by chance; Holm's correction allows for that."),
    ("wins, ties, losses", "On how many queries the first model of a pair is better than, level with, or worse than "
     "the second."),
    ("rank band", "Ranks taken together: 1, 2-3, 4-5, 6-10 and beyond."),
    ("pull", "How strongly a query contradicts: the smaller of its two differences, which have opposite signs, times "
     "its weight."),
)  # fmt: skip
"""Terms and what they mean."""

HOLES = (
    ("judged@k", "The share of the first k retrieved documents that somebody judged. The others count as irrelevant "
     "although nobody looked at them, or are dropped from the lists (condensed lists)."),
)  # fmt: skip
"""What joins them where runs are compared."""


def glossary(comparison: Findings) -> tuple[tuple[str, str], ...]:
    """Return the terms of a report and what they mean."""
    own = tuple((str(metric), _meaning(metric)) for metric in comparison.definitions.values() if metric.meaning)
    return (*own, *GLOSSARY, *(() if comparison.holes is None else HOLES))


def _meaning(metric: Metric) -> str:
    return printable(metric.meaning if metric.higher_is_better else f"{metric.meaning} A lower value is better.")
