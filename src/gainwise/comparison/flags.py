"""Reasons to be careful with a verdict: ties, little evidence, identical models, unjudged documents."""

from __future__ import annotations

import itertools
import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._common.lazy import special
from .._common.text import format_confidence, format_mean, join_names, pluralize, styled
from .._common.typing import Floats
from ..evaluation.evaluator import HANDLING
from ..judgments import Unjudged
from ..metrics.base import Metric
from ..metrics.dcg import DCG
from .estimates import MIN_QUERIES, ROUNDING, Estimate, compute_repeat_means
from .panel import FEW_REPEATS, Panel, QueryCounts

FEW_QUERIES = 100
"""Pairs that differ on fewer queries are flagged."""

MAX_SKEWNESS = 0.15
"""Pairs with a larger skewness of the mean difference are flagged: a one-sided test at level 5 % then errs in 7 %."""

MAX_JUDGED_DIFFERENCE = 0.05
"""Models in question are flagged if their shares of judged documents differ by more."""


NO_EVIDENCE = "No query can distinguish two rankings, because every query has one document or equal labels"
"""Message of a comparison without evidence."""

OUTLIER_LEVEL = 0.01
"""Probability with which a healthy set of repeats is flagged."""


@dataclass(frozen=True)
class Flag:
    """A reason to be careful with a verdict.

    Attributes
    ----------
    code : str
        ``"equal labels"``, ``"left-out queries"``, ``"one model"``, ``"few queries"``, ``"few clusters"``,
        ``"few degrees of freedom"``, ``"uneven weights"``, ``"uneven clusters"``, ``"identical repeats"``,
        ``"outlying repeats"``, ``"few repeats"``, ``"tied winners"``, ``"identical models"``, ``"ignored pairs"``,
        ``"thin pairs"``, ``"lopsided pairs"``, ``"uneven judging"``, ``"more unjudged"``, ``"below chance"`` or
        ``"chance level"``.
    message : str
        One sentence with numbers.
    models : tuple of str
        Models concerned, if any.
    pairs : tuple of (str, str)
        Pairs of models concerned, if any.
    """

    code: str
    message: str
    models: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return self.message


NO_EVIDENCE_FLAG = Flag("equal labels", f"{NO_EVIDENCE}.")


def find_equal_label_flags(equal: int, queries: int) -> Iterator[Flag]:
    """Yield a flag if most queries cannot distinguish two rankings, because all of their labels are equal.

    >>> print(*find_equal_label_flags(1140, 1200))
    1,140 of 1,200 queries cannot distinguish two rankings, because they have one document or equal labels.
    """
    reason = "queries cannot distinguish two rankings, because they have one document or equal labels."
    if 2 * equal > queries:
        yield NO_EVIDENCE_FLAG if equal == queries else Flag("equal labels", f"{equal:,} of {queries:,} {reason}")


def find_unit_flags(metrics: Mapping[str, Metric], ranges: Mapping[str, tuple[float, float]]) -> Iterator[Flag]:
    """Yield a flag if a metric is an amount, such as DCG, so that it has another unit than a share of the ideal.

    >>> from gainwise.metrics.names import parse_metrics
    >>> metrics = {str(metric): metric for metric in parse_metrics("map", "cg(column=sold)")}
    >>> print(*find_unit_flags(metrics, {"map": (0, 1), "cg(column=sold)": (0, math.inf)}))
    map and cg(column=sold) have different units. For a common one, compare ndcg_linear(column=sold).
    """
    units = {name: (metric.column, ranges[name][1] == math.inf) for name, metric in metrics.items()}
    amount = next((metric for name, metric in metrics.items() if isinstance(metric, DCG) and units[name][1]), None)
    if amount is not None and len(set(units.values())) > 1:
        column = "" if amount.column is None else f"(column={amount.column})"
        text = f"{join_names(list(metrics))} have different units."
        yield Flag("units", f"{text} For a common one, compare ndcg_linear{column}.")


def find_left_out_flags(counts: QueryCounts) -> Iterator[Flag]:
    """Yield a flag if a metric has queries without a value under the other one.

    >>> print(*find_left_out_flags(QueryCounts(any=30, by_metric={"a": 30, "b": 18}, common=18)))
    The verdict uses the 18 queries on which both metrics are defined and leaves out 12 more of a.
    """
    left_out = [f"{number:,} more of {metric}" for metric, number in counts.left_out.items() if number]
    size = "one query" if counts.common == 1 else f"{counts.common:,} queries"
    text = f"The verdict uses the {size} on which both metrics are defined and leaves out {join_names(left_out)}."
    if left_out:
        yield Flag("left-out queries", text)


def find_chance_flags(
    standings: Iterable[Mapping[str, Any]], chance: Mapping[str, Mapping[str, float]], lower_is_better: Container[str]
) -> Iterator[Flag]:
    """Yield flags of models whose confidence interval is not above random order, or is below it.

    `standings` are the `rank_models` of each metric.

    >>> columns = {"metric": "mrr", "model": ["A"], "lower": np.array([0.2]), "upper": np.array([0.3])}
    >>> print(*find_chance_flags([columns], {"mrr": {"A": 0.4}}, ()))
    A is below random order under mrr (0.4000). Are its scores negated or shuffled?
    """
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for columns in standings:
        name, lower, upper = columns["metric"], columns["lower"], columns["upper"]
        if name not in chance:
            continue
        levels = np.array([chance[name][model] for model in columns["model"]])
        worse, better = upper < levels, lower > levels
        if name in lower_is_better:
            worse, better = lower > levels, upper < levels
        for code, mask in (("below chance", worse), ("chance level", ~worse & ~better)):
            if mask.any():
                models = tuple(sorted(itertools.compress(columns["model"], mask)))
                found.setdefault((code, models), []).append(f"{name} ({format_range(levels[mask])})")
    for (code, models), metrics in found.items():
        verb, pronoun = ("is", "its") if len(models) == 1 else ("are", "their")
        text = f"{join_names(models)} {verb} not shown to be better than random order under {join_names(metrics)}."
        if code == "below chance":
            text = f"{join_names(models)} {verb} below random order under {join_names(metrics)}. "
            text += f"Are {pronoun} scores negated or shuffled?"
        yield Flag(code, text, models)


def format_range(levels: Iterable[float]) -> str:
    """Return the smallest and the largest number as text, or the only one.

    >>> format_range([0.2, 0.2]), format_range([0.2, 0.31])
    ('0.2000', '0.2000 to 0.3100')
    """
    return " to ".join(dict.fromkeys(map(format_mean, (min(levels), max(levels)))))


def find_flags(panel: Panel, estimated: Estimate, alpha: float) -> Iterator[Flag]:
    """Yield all flags, the most serious first."""
    clusters = pluralize(panel.units, "cluster")
    if len(panel.models) == 1:
        yield Flag("one model", "There is only one model to compare.", panel.models)
    elif panel.units < MIN_QUERIES:
        code, size = "few clusters", f"The {panel.queries:,} queries are in {clusters}"
        if panel.queries < MIN_QUERIES:
            code, size = "few queries", f"The sample has {pluralize(panel.queries, 'query')}"
        yield Flag(code, f"{size} only. At least {MIN_QUERIES} are required to decide.")
    elif estimated.shortage:
        yield Flag("few degrees of freedom", estimated.shortage)
    if estimated.freedom + 1 < estimated.units / 2:
        kind, uneven = (
            ("weights", "weights") if panel.units == panel.queries else ("clusters", f"sizes of the {clusters}")
        )
        text = (
            f"The {uneven} are so uneven that the variance is estimated as by {estimated.freedom + 1:,.0f} equal ones, "
            f"out of {estimated.units:,}. The sample may miss others as large."
        )
        yield Flag(f"uneven {kind}", text)
    if panel.repeats is not None:
        yield from _find_repeat_flags(panel, panel.repeats, estimated)
    for metric, tied in zip(panel.metrics, estimated.tied, strict=True):
        names = tuple(itertools.compress(panel.models, tied))
        if len(names) > 1:
            extreme = "lowest" if metric in panel.lower_is_better else "highest"
            text = f"{join_names(names)} share the {extreme} mean {metric}. Results show {names[0]}, the first by name."
            yield Flag("tied winners", text, names)
    yield from _find_pair_flags(panel, estimated, alpha)


def _find_repeat_flags(panel: Panel, repeats: Sequence[Floats], estimated: Estimate) -> Iterator[Flag]:
    recipes = {name: number for name, number in zip(panel.models, panel.repeat_counts, strict=True) if number}
    equal = [
        any(
            bool((np.abs(values[:, :, first] - values[:, :, second]) <= estimated.tolerance[:, None]).all())
            for first, second in itertools.combinations(range(values.shape[2]), 2)
        )
        for values in repeats
    ]
    if same := tuple(itertools.compress(panel.models, equal)):
        text = (
            f"Some repeats of {join_names(same)} have equal values on every query. The seed may have no effect, for "
            "example without sampling of queries or features, so the variance between repeats is unknown."
        )
        yield Flag("identical repeats", text, same)
    if outliers := find_outlying_repeats(panel):
        names = tuple(dict.fromkeys(name for name, _ in outliers))
        places = join_names([f"repeat {number} of {name}" for name, number in outliers])
        text = (
            f"The distance of {places} from the other repeats is larger than in {format_confidence(OUTLIER_LEVEL)} of "
            "healthy sets of repeats. A training may have failed."
        )
        yield Flag("outlying repeats", text, names)
    if few := tuple(name for name, number in recipes.items() if number < FEW_REPEATS):
        text = (
            f"{join_names(few)} {'has' if len(few) == 1 else 'have'} fewer than {FEW_REPEATS} repeats, so the "
            f"verdict is unresolved. Train at least {FEW_REPEATS} repeats of each."
        )
        yield Flag("few repeats", text, few)


def find_outlying_repeats(panel: Panel) -> list[tuple[str, int]]:
    """Return repeats whose mean is an outlier under some metric: names of configurations and numbers of repeats from 1.

    The distance of a repeat from the mean of the other R − 1 repeats of its configuration, divided by the standard
    error by these, has a t distribution with R − 2 degrees of freedom if repeats are normal. Other configurations may
    have another variance and do not matter. A healthy set of repeats has an outlier with probability `OUTLIER_LEVEL` at
    most (Bonferroni).
    """
    outliers, tests = [], len(panel.metrics) * sum(panel.repeat_counts)
    for k, number in enumerate(panel.repeat_counts):
        if not number:
            continue
        means = compute_repeat_means(panel, k)
        limit = -float(special.stdtrit(number - 2, OUTLIER_LEVEL / 2 / tests))
        rounding = ROUNDING * np.abs(panel.values).max(axis=(1, 2))
        for place in range(number):
            others = np.delete(means, place, axis=1)
            error = others.std(axis=1, ddof=1) * math.sqrt(1 + 1 / (number - 1))
            distance = np.abs(means[:, place] - others.mean(axis=1))
            if (distance > limit * np.maximum(error, rounding)).any():
                outliers.append((panel.models[k], place + 1))
    return outliers


def _find_pair_flags(panel: Panel, estimated: Estimate, alpha: float) -> Iterator[Flag]:
    # If models differed on a larger share of all queries, this sample would show it with probability 1 - alpha.
    unseen = min(1.0, estimated.largest * (1 - alpha ** (1 / estimated.units)))
    discordant = (estimated.wins + estimated.wins.transpose(0, 2, 1)).max(axis=0)
    support, same = estimated.support.min(axis=0), discordant == 0
    lopsided = (support >= FEW_QUERIES) & (np.abs(estimated.skewness).max(axis=0) > MAX_SKEWNESS)
    shifted = (estimated.modal != 0).any(axis=0)
    units = "queries" if panel.units == panel.queries else "clusters"
    cases = [
        (
            "identical models",
            same,
            "never differ in this sample and count as one model, but may differ on up to "
            f"{100 * unseen:.2g} % of all queries ({format_confidence(alpha)} confidence)",
        )
    ]
    ignored, thin = ~same & (support < MIN_QUERIES), (support >= MIN_QUERIES) & (support < FEW_QUERIES)
    for code, mask, limit, outcome in (
        ("ignored pairs", ignored, MIN_QUERIES, "this metric cannot rule one of them out"),
        ("thin pairs", thin, FEW_QUERIES, "the results for it are rough"),
    ):
        by_amount = shifted & (discordant >= limit)
        for part, verb in ((~by_amount, "differ on"), (by_amount, "differ by the same amount on all but")):
            text = f"{verb} fewer than {limit} {units} under a metric, so {outcome}"
            cases.append((code, mask & part, text))
    text = f"differ under a metric mainly on a few {units} with large differences, so the results for it are rough"
    cases.append(("lopsided pairs", lopsided, text))
    for code, mask, text in cases:
        places = zip(*np.nonzero(np.triu(mask, 1)), strict=True)
        if pairs := tuple((panel.models[first], panel.models[second]) for first, second in places):
            names = join_names([f"{first} and {second}" for first, second in pairs], word="as well as")
            if len(pairs) > 3:
                names = f"{len(pairs):,} of {math.comb(len(panel.models), 2):,} pairs of models"
            yield Flag(code, f"{names} {text}.", tuple(dict.fromkeys(itertools.chain(*pairs))), pairs)


@dataclass(frozen=True)
class UnjudgedDocuments:
    """Number and share of unjudged documents that each model retrieved.

    Attributes
    ----------
    shares : dict of metric name to dict of model to float
        Mean of `judged@k` over all queries, with the cutoffs and ties of the two primary metrics, before documents are
        dropped. A query without retrieved documents is left out.
    retrieved, unjudged : dict of model to int
        Number of retrieved documents, and of those without a label.
    handling : {"irrelevant", "drop"}
        Whether unjudged documents have label 0 or were dropped before the other metrics were computed.
    other_means : dict of metric name to dict of model to float
        Means under the primary metrics with the other handling, on the queries with a value under both. Empty if every
        retrieved document is judged.
    """

    shares: dict[str, dict[str, float]]
    retrieved: dict[str, int]
    unjudged: dict[str, int]
    handling: Unjudged
    other_means: dict[str, dict[str, float]] = field(default_factory=dict)

    def describe_obstacle(self, winners: Mapping[str, str], losses: Container[str], names: Mapping[str, str]) -> str:
        """Return the sentences that the best model depends on the handling, or an empty text. `names` are for texts."""
        condition = "left out" if self.handling == "irrelevant" else "counted as irrelevant"
        for metric, means in self.other_means.items():
            signed = {model: -mean if metric in losses else mean for model, mean in means.items()}
            best, extreme = max(signed, key=signed.__getitem__), "lowest" if metric in losses else "highest"
            if signed[best] > signed[winners[metric]] + ROUNDING:
                return (
                    f"Unjudged documents decide which run is best. If they are {condition}, "
                    f"{styled('n', names[best])} has the {extreme} mean {metric}, not "
                    f"{styled('n', names[winners[metric]])}."
                )
        return ""

    @property
    def remark(self) -> str:
        """Remark for headings of tables if unjudged documents were dropped, otherwise empty."""
        return "; unjudged documents dropped" if self.handling == "drop" else ""

    def additional_shares(self, metrics: Container[str]) -> dict[str, dict[str, float]]:
        """Return the shares that are not among the compared metrics."""
        return {name: shares for name, shares in self.shares.items() if name not in metrics}

    def text(self, models: Sequence[str]) -> list[str]:
        """Return the sentences of a verdict about these models."""
        if not any(self.unjudged.values()):
            return ["Every document that the models retrieved was judged."]
        sentences = []
        for name, shares in self.shares.items():
            sentences.append(
                f"{name} is {join_names([f'{format_mean(shares[model])} for {model}' for model in models])}."
            )
        counts = join_names([f"{self.unjudged[model]:,} of {self.retrieved[model]:,} for {model}" for model in models])
        return [*sentences, f"Unjudged documents among those retrieved were {HANDLING[self.handling]}: {counts}."]


def find_uneven_judging(unjudged: UnjudgedDocuments, in_question: Sequence[str]) -> Iterator[Flag]:
    """Yield a flag if the share of judged documents of a model in question differs clearly from that of another.

    The other model may be out of question because of its unjudged documents.
    """
    for name, shares in unjudged.shares.items():
        others = [model for model in shares if model not in in_question]
        pairs = tuple(
            (first, second)
            for first, second in itertools.combinations([*in_question, *others], 2)
            if first in in_question and abs(shares[first] - shares[second]) > MAX_JUDGED_DIFFERENCE + ROUNDING
        )
        if pairs:
            names = join_names([f"{a} and {b} ({format_mean(shares[a])}, {format_mean(shares[b])})" for a, b in pairs])
            if len(pairs) > 3:
                names = f"a model in question and another in {len(pairs):,} pairs"
            text = (
                f"{name} differs by more than {MAX_JUDGED_DIFFERENCE:g} between {names}. {_REMEDY[unjudged.handling]}"
            )
            yield Flag("uneven judging", text, tuple(dict.fromkeys(itertools.chain(*pairs))), pairs)


def find_unjudged_flags(unjudged: UnjudgedDocuments, baseline: str, candidates: Sequence[str]) -> Iterator[Flag]:
    """Yield a flag for each candidate that retrieves more unjudged documents than the baseline.

    >>> unjudged = UnjudgedDocuments({"judged@10": {"old": 0.95, "new": 0.9}}, {}, {}, "irrelevant")
    >>> next(find_unjudged_flags(unjudged, "old", ["new"])).message[:79]
    'new retrieves more unjudged documents than old: judged@10 is 0.9000 and 0.9500.'
    """
    for candidate in candidates:
        for name, shares in unjudged.shares.items():
            share, usual = format_mean(shares[candidate]), format_mean(shares[baseline])
            if float(share) < float(usual):
                effect = "They count as irrelevant, so its value may be too low."
                if unjudged.handling == "drop":
                    effect = "They are removed from the lists, so its value may be too high."
                text = f"{candidate} retrieves more unjudged documents than {baseline}: {name} is {share} and {usual}."
                yield Flag("more unjudged", f"{text} {effect}", (candidate, baseline))
                break


_REMEDY = {
    "irrelevant": "The model with fewer judged documents may look worse than it is. Compare with unjudged='drop', or "
    "judge the missing documents.",
    "drop": "Condensed lists may favor the model with fewer judged documents. Compare with unjudged='irrelevant', or "
    "judge the missing documents.",
}
