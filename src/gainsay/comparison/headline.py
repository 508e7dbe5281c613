"""What a verdict comes down to: a question, the answer in one line, and what to choose."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from .._common.words import amount, confidence, count, p_value
from ..drawing.lanes import Label
from ..drawing.text import as_text, styled
from .inference import MIN_QUERIES
from .wording import format_sample_size, name_unit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .verdict import Verdict

__all__ = ["advice", "finding", "headline", "labels_of", "question", "rounded"]

_GAINS = {"linear": ("linear", "linear"), "exp": ("exp", "exponential")}


def labels_of(metrics: tuple[str, ...]) -> tuple[Label, ...]:
    """Return what metrics are called where their names are too long: two that differ by their gain go by that.

    >>> [label.long for label in labels_of(("ndcg_linear@10", "ndcg_exp@10"))]
    ['linear gain', 'exponential gain']
    >>> [label.by for label in labels_of(("map", "mrr"))]
    ['map', 'mrr']
    """
    found = [re.fullmatch(r"(n?dcg)_(linear|exp)(\W.*)?", metric) for metric in metrics]
    gains = [match and (match[1], match[3]) for match in found]
    if len(metrics) != 2 or gains[0] is None or gains[0] != gains[1]:
        return tuple(Label(metric, metric, metric, metric) for metric in metrics)
    named = [_GAINS[match[2]] for match in found if match]
    return tuple(Label(it, head, f"{by} gain", by) for it, (head, by) in zip(metrics, named, strict=True))


def rounded(value: float, up: bool) -> str:
    """Return a bound to three places, rounded to the side on which it stays one; more places where it is smaller.

    >>> rounded(0.0241, up=True), rounded(0.0054, up=False), rounded(0.0003, up=False), rounded(0.024, up=True)
    ('0.025', '0.005', '0.0003', '0.024')
    """
    for places in range(3, 9):
        scaled = value * 10**places
        whole = math.ceil(scaled - 1e-6) if up else math.floor(scaled + 1e-6)
        if whole and (whole > 2 or value >= 0.001):
            return f"{whole / 10**places:.{places}f}"
    return amount(value)


def question(verdict: Verdict, models: Sequence[str], said: Mapping[str, str]) -> str:
    """Return what is asked; of two `models` in the order given whether to replace the first by the second."""
    first, second = styled("b l", verdict.metrics[0]), styled("b e", verdict.metrics[1])
    queries, number = format_sample_size(verdict), len(verdict.models)
    if len(models) == 2:
        old, new = (styled("b n", said[model]) for model in models)
        return f"Replace {old} by {new}? By {first} and {second} on {queries}"
    best = "better" if number == 2 else "best"
    size = f"{count(number, name_unit(verdict))}, {queries}"
    return f"Do {first} and {second} disagree about the {best} {name_unit(verdict)}? {size}"


def headline(verdict: Verdict, said: Mapping[str, str], base: str = "") -> str:
    """Return the answer in one line; of two models whether to replace `base` by the other, where it is named."""
    one, other = labels_of(verdict.metrics)
    winner, second = (verdict.winners[metric] for metric in verdict.metrics)
    models, common, things = len(verdict.models), verdict.common_best, f"{name_unit(verdict)}s"
    pair = models == 2 and bool(base)
    by_one, by_other = styled("n l", said[winner]), styled("n e", said[second])
    if models == 1:
        return f"One {name_unit(verdict)}: there is nothing to disagree about."
    if verdict.kind == "genuine":
        yes, kind = ("It depends", "better") if pair else ("Yes", "best")
        return f"{yes}: {by_one} is {kind} by {one.long}, {by_other} by {other.by}."
    if verdict.kind == "agree":
        best = styled("n", said[winner])
        if models == 2:
            (rest,) = (styled("n", said[model]) for model in verdict.models if model != winner)
            return f"{'No' if not pair or winner == base else 'Yes'}: {best} is better than {rest} under both."
        if len(said[winner]) > 20:
            return f"No: one of the {models} {things} is best under both."
        return f"No: {best} is the best of {models} under both."
    if verdict.kind == "immaterial":
        return "It does not matter: whichever metric you choose by, you lose next to nothing."
    if pair:
        alone = [len(verdict.best_sets[metric]) == 1 for metric in verdict.metrics]
        if sum(alone) == 1:
            label, still = (one, other) if alone[0] else (other, one)
            lead = by_one if alone[0] else by_other
            return f"Not proven: {lead} is better by {label.long}, {still.by} leaves it open."
        return "Not proven: neither is shown to be better."
    if len(common) == models:
        some = f"either {name_unit(verdict)}" if models == 2 else f"any of the {models} {things}"
        return f"Not proven: {some} may be best under both."
    if len(common) == 1:
        return f"Not proven: if one is best under both, it is {styled('n', said[common[0]])}."
    return f"Not proven: {len(common)} of {models} {things} may still be best under both."


def finding(verdict: Verdict, said: Mapping[str, str], base: str = "") -> str:
    """Return the headline where no question stands above it, as the title of a picture: how sure, without Yes."""
    text = re.sub("^(Yes|No|It depends): ", "", as_text(headline(verdict, said, base))).removesuffix(".")
    if verdict.kind == "agree":
        return f"{text}: both proven ({confidence(verdict.alpha)})"
    return f"{text}: proven ({p_value(verdict.p_value)})" if verdict.kind == "genuine" else text


def advice(verdict: Verdict, said: Mapping[str, str]) -> str:
    """Return what to choose, what that costs at most, and how sure all that is."""
    if len(verdict.models) == 1:
        return ""
    level, safe = confidence(verdict.alpha), said[verdict.safe_choice]
    if (verdict.clusters or verdict.queries) < MIN_QUERIES:
        few = "queries" if verdict.clusters is None else "clusters of queries"
        return (
            f"{styled('b', f'Too few {few} to decide')}: {verdict.clusters or verdict.queries}, and below "
            f"{MIN_QUERIES} nothing is proven. Best in this sample: {styled('n', safe)}."
        )
    bound = f"at most {rounded(verdict.safe_regret_upper, up=True)} behind the best under either ({level})"
    if not verdict.safe_regret_upper:
        bound = "behind no other under either"
    if verdict.kind == "agree":
        return _ahead(verdict, said)
    if verdict.kind == "immaterial":
        negligible = f", no more than the {amount(verdict.margin)} that you called negligible" if verdict.margin else ""
        return f"{_choose('Take', safe)}: {bound}{negligible}."
    if verdict.kind == "genuine":
        sure = p_value(verdict.p_value).replace(" ", "\u00a0")
        return (
            f"{_choose('Choose', safe)} if both matter: {bound}. The disagreement is proven ({sure}); some metric "
            f"loses at least {rounded(verdict.price_lower, up=False)} whatever you choose.{_size(verdict)}"
        )
    behind = ""
    if verdict.safe_regret:
        behind = f"{amount(verdict.safe_regret)} behind under the metric that likes it less, in truth "
    evidence = "queries and repeats" if verdict.repeats else "queries"
    more = f" More {evidence} decide it, not more {name_unit(verdict)}s." if len(verdict.common_best) > 1 else ""
    return f"{_choose('Take', safe)}: {behind}{bound}.{more}"


def _choose(verb: str, name: str) -> str:
    return f"{styled('b', f'★ {verb} ')}{styled('b n', name)}"


def _size(verdict: Verdict) -> str:
    """Say of a proven disagreement how it compares with what the caller called negligible."""
    if not verdict.margin:
        return ""
    if verdict.material:
        return f" That is more than the {amount(verdict.margin)} that you called negligible."
    if verdict.within_margin:
        return f" It is small, though: no more than the {amount(verdict.margin)} that you called negligible."
    return f" Whether it exceeds the {amount(verdict.margin)} that you called negligible is open."


def _ahead(verdict: Verdict, said: Mapping[str, str]) -> str:
    """Say by how much the common winner leads."""
    leads = [
        f"{float(lead):.3f}" if len(lead) == 6 and float(lead) >= 0.001 else lead
        for lead in map(amount, verdict.runner_up_regrets)
    ]
    by_one, by_other = styled("l", leads[0]), styled("e", leads[1])
    choice, level = _choose("Choose", said[verdict.winners[verdict.metrics[0]]]), confidence(verdict.alpha)
    if len(verdict.models) > 2:
        return f"{choice}: ahead of the next by {by_one} and {by_other}, proven under both metrics ({level})."
    one, other = labels_of(verdict.metrics)
    return f"{choice}: ahead by {by_one} under {one.long} and {by_other} under {other.long}, both proven ({level})."
