"""Headlines and advice: answers in one line and recommendations, from verdicts and decisions about a baseline."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from .._common.markup import styled
from .._common.words import amount, confidence, count, listed, p_value
from .baseline import format_change
from .inference import MIN_QUERIES
from .wording import format_sample_size, name_unit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .baseline import BaselineComparison, CandidateDecision
    from .verdict import Verdict

_GAINS = {"linear": ("linear", "linear"), "exp": ("exp", "exponential")}
_ORDER = {"ship": 0, "undecided": 1, "do not ship": 2}


class Label(NamedTuple):
    """Names of a metric: its full name, a short column heading, and two for sentences ("linear gain", "linear")."""

    name: str
    head: str
    long: str
    by: str


def labels_of(metrics: tuple[str, ...]) -> tuple[Label, ...]:
    """Return short names of metrics. Two metrics that differ only in their gain are named after it.

    >>> [label.long for label in labels_of(("ndcg_linear@10", "ndcg_exp@10"))]
    ['linear gain', 'exponential gain']
    >>> [label.by for label in labels_of(("map", "mrr"))]
    ['map', 'mrr']
    """
    matches = [re.fullmatch(r"(n?dcg)_(linear|exp)(\W.*)?", metric) for metric in metrics]
    gains = [match and (match[1], match[3]) for match in matches]
    if len(metrics) != 2 or gains[0] is None or gains[0] != gains[1]:
        return tuple(Label(metric, metric, metric, metric) for metric in metrics)
    named = [_GAINS[match[2]] for match in matches if match]
    return tuple(Label(metric, head, f"{by} gain", by) for metric, (head, by) in zip(metrics, named, strict=True))


def is_one_number(verdict: Verdict) -> bool:
    """Return whether both metrics have the same values, as both NDCGs have with labels 0 and 1."""
    first, second = verdict.metrics
    return all(
        abs(by[first][model] - by[second][model]) <= 1e-12 * abs(by[first][model])
        for by in (verdict.means, verdict.regrets)
        for model in verdict.models
    )


def plural_of(verdict: Verdict) -> str:
    """Return the plural of both metrics: "NDCGs" if only their gains differ, else "metrics"."""
    label = labels_of(verdict.metrics)[0]
    return "metrics" if label.long == label.name else f"{label.name.partition('_')[0].upper()}s"


def rounded(value: float, up: bool) -> str:
    """Return a bound rounded to three places in its safe direction. Smaller bounds have more places.

    >>> rounded(0.0241, up=True), rounded(0.0054, up=False), rounded(0.0003, up=False), rounded(0.024, up=True)
    ('0.025', '0.005', '0.0003', '0.024')
    """
    for places in range(3, 9):
        scaled = value * 10**places
        whole = math.ceil(scaled - 1e-6) if up else math.floor(scaled + 1e-6)
        if whole and (whole > 2 or value >= 0.001):
            return f"{whole / 10**places:.{places}f}"
    return amount(value)


def question(verdict: Verdict) -> str:
    """Return the question that the headline answers, with the size of the sample."""
    number, unit = len(verdict.models), name_unit(verdict)
    metrics = [styled(style, metric) for style, metric in zip("le", verdict.metrics, strict=True)]
    size = f"{format_sample_size(verdict)}, {' and '.join(metrics)}"
    if number == 1:
        return f"How good is this {unit}? {size}."
    return f"Which of {number} {unit}s is {'better' if number == 2 else 'best'}? {size}."


def headline(verdict: Verdict, names: Mapping[str, str]) -> str:
    """Return the answer in one line."""
    first_label, second_label = labels_of(verdict.metrics)
    winner, second = (verdict.winners[metric] for metric in verdict.metrics)
    total, common, unit = len(verdict.models), verdict.common_best, name_unit(verdict)
    both = "" if is_one_number(verdict) else f" under both {plural_of(verdict)}"
    if total == 1:
        return f"One {unit}: add a second one to compare it with."
    if verdict.kind == "genuine":
        metrics = f"{first_label.name} and {second_label.name}"
        subject = f"The two {plural_of(verdict)}" if first_label.long != first_label.name else metrics
        return f"{subject} pick different {unit}s: {styled('n l', names[winner])} and {styled('n e', names[second])}."
    if verdict.kind == "agree":
        best = "best"
        if total == 2:
            (rest,) = (model for model in verdict.models if model != winner)
            best = f"better than {styled('n', names[rest])}"
        return f"{styled('n', names[winner])} is {best}{both}."
    if verdict.kind == "immaterial":
        return "The choice does not matter: every loss is negligible."
    alone = [len(verdict.best_sets[metric]) == 1 for metric in verdict.metrics]
    if total == 2 and sum(alone) == 1:
        label, unresolved, style = first_label, second_label, "n l"
        if not alone[0]:
            label, unresolved, style = second_label, first_label, "n e"
        name = styled(style, names[verdict.winners[label.name]])
        return f"{name} is better under {label.long}. Under {unresolved.long} it is too close to call."
    if len(common) == 1:
        return f"Only {styled('n', names[common[0]])} may be best{both}."
    some = f"{len(common)} of {total}"
    if len(common) == total:
        some = f"either {unit}" if total == 2 else f"any of the {total} {unit}s"
    return f"Too close to call: {some} may be best{both}."


def advice(verdict: Verdict, names: Mapping[str, str], selected: str | None = None) -> str:
    """Return which model to choose, and the largest loss that this may mean.

    A model that was selected on a validation set is the choice. The advice then states its gap to the best model.
    """
    if len(verdict.models) == 1:
        return ""
    level, safe, units = confidence(verdict.alpha), names[verdict.safe_choice], verdict.clusters or verdict.queries
    under = "" if is_one_number(verdict) else " under either"
    if units < MIN_QUERIES:
        few = "queries" if verdict.clusters is None else "clusters of queries"
        choice = "" if selected is None else f"{_selected(names[selected])} "
        return (
            f"{choice}{styled('b', f'Too few {few} to decide')}: {units}. At least {MIN_QUERIES} are needed. "
            f"{_highest(verdict)} in this sample: {styled('n', safe)}."
        )
    if selected is not None:
        regrets, bounds = (
            {model: max(by_model[metric][model] for metric in verdict.metrics) for model in verdict.models}
            for by_model in (verdict.regrets, verdict.regrets_upper)
        )
        if verdict.kind == "agree":
            bounds[verdict.safe_choice] = 0.0
        metric = f"{under} metric" if under else ""
        choice = describe_selection(selected, verdict.safe_choice, bounds, regrets, names, metric, level)
        return choice + _evidence(verdict)
    bound = f"at worst {rounded(verdict.safe_regret_upper, up=True)} behind the best{under} ({level})"
    if not verdict.safe_regret_upper:
        bound = f"not behind any other{under}"
    if verdict.kind == "agree":
        return _proven(verdict, safe, level)
    if verdict.kind == "immaterial":
        margin = f", no more than your margin of {amount(verdict.margin)}" if verdict.margin else ""
        return f"{_choose('Choose', safe)}: {bound}{margin}."
    if verdict.kind == "genuine":
        return f"{_choose('Choose', safe)} if both matter: {bound}.{_evidence(verdict)}"
    top = "highest under both, " if set(verdict.winners.values()) == {verdict.safe_choice} and under else ""
    top = "" if verdict.lower_is_better else top
    return f"{styled('b', '★ ')}{styled('b n', safe)} is the safe choice: {top}{bound}.{_evidence(verdict)}"


def _evidence(verdict: Verdict) -> str:
    """Return how sure a genuine disagreement is, or how to resolve an unresolved verdict, after a blank."""
    if verdict.kind == "genuine":
        sure = p_value(verdict.p_value).replace(" ", "\u00a0")
        return (
            f" The disagreement is not chance ({sure}). Any choice loses at least "
            f"{rounded(verdict.price_lower, up=False)} under one of the two.{_size(verdict)}"
        )
    if verdict.kind != "unresolved" or len(verdict.common_best) < 2:
        return ""
    detectable = ""
    if math.isfinite(verdict.detectable):
        size = rounded(verdict.detectable, up=True)
        detectable = f" {count(verdict.queries, 'query')} can prove differences of about {size} or more."
    evidence = "queries and repeats" if verdict.repeats else "queries"
    return f"{detectable} {styled('b', f'Add {evidence}, not {name_unit(verdict)}s.')}"


def describe_selection(
    selected: str,
    favored: str,
    bounds: Mapping[str, float],
    regrets: Mapping[str, float],
    names: Mapping[str, str],
    under: str,
    level: str,
) -> str:
    """Return the selection of the validation set, and its results on the test set.

    Parameters
    ----------
    selected, favored : str
        Models that the validation set and the test set choose.
    bounds, regrets : mapping of model to float
        Upper bounds and estimates of the larger gap to the best model. A bound of 0 means that the model is best.
    names : mapping of model to str
        Names for sentences.
    under : str
        Metrics, such as " under either metric".
    level : str
        Confidence of the bounds.
    """
    name, bound = styled("n", names[selected]), bounds[selected]
    if bound == 0:
        test = f"On the test set, {name} is proven best{under.replace('either metric', 'both metrics')} ({level})."
    elif math.isfinite(bound):
        test = f"On the test set, {name} is at most {rounded(bound, up=True)} from the best{under} ({level})."
    else:
        test = f"The test set has too few queries to bound the gap of {name} to the best."
    if favored != selected:
        other = f"The test set favors {styled('n', names[favored])}"
        if math.isfinite(bound) and bounds[favored] < bound:
            size = rounded(bounds[favored], up=True)
            best = "which is proven best" if bounds[favored] == 0 else f"which is at most {size} from the best"
            test += f" {other}, {best}: {amount(bound - bounds[favored])} less."
        else:
            test += f" {other} by {amount(regrets[selected] - regrets[favored])}."
    return f"{_selected(names[selected])} {test}"


def _selected(name: str) -> str:
    return f"{styled('b', '★ ')}Selected on the validation set: {styled('b n', name)}."


def headline_of_metric(winner: str, metric: str, possible: int, total: int) -> str:
    """Return the answer under a single metric, with the number of models that may be best."""
    if total == 1:
        return "One model: add a second one to compare it with."
    if possible == 1:
        return f"{styled('n l', winner)} is best under {metric}."
    some = f"any of the {total} models" if possible == total else f"{possible} of {total}"
    return f"Too close to call: {some} may be best under {metric}."


def advice_of_metric(winner: str, possible: int, total: int, lead: float, bound: float, level: str) -> str:
    """Return the advice under a single metric: `lead` is the gap to the next model, `bound` the winner's worst case."""
    if total == 1:
        return ""
    if possible == 1:
        next_model = f"The next is {amount(lead)} behind."
        return f"{_choose('Choose', winner)}: it is proven better than every other model ({level}). {next_model}"
    worst = f": at worst {rounded(bound, up=True)} behind the best ({level})" if math.isfinite(bound) else ""
    return f"{_choose('Choose', winner)}{worst}. {styled('b', 'Add queries, not models.')}"


def _highest(verdict: Verdict) -> str:
    return "Best mean" if verdict.lower_is_better else "Highest mean"


def _choose(verb: str, name: str) -> str:
    return f"{styled('b', f'★ {verb} ')}{styled('b n', name)}"


def _size(verdict: Verdict) -> str:
    """Compare a proven disagreement with the margin."""
    if not verdict.margin:
        return ""
    if verdict.material:
        return f" That exceeds your margin of {amount(verdict.margin)}."
    if verdict.within_margin:
        return f" That is within your margin of {amount(verdict.margin)}."
    return f" Whether that exceeds your margin of {amount(verdict.margin)} is open."


def _proven(verdict: Verdict, name: str, level: str) -> str:
    """Return the advice to choose the common winner, with its distance from the next model."""
    gaps = [
        f"{float(gap):.3f}" if len(gap) == 6 and float(gap) >= 0.001 else gap
        for gap in map(amount, verdict.runner_up_regrets)
    ]
    merged, pair = is_one_number(verdict), len(verdict.models) == 2
    labels = labels_of(verdict.metrics)
    behind = " and ".join(
        styled(style, gap) + ("" if merged else f" ({label.long})")
        for style, gap, label in zip("le", gaps[: 1 if merged else 2], labels, strict=False)
    )
    rest = "the other one" if pair else f"every other {name_unit(verdict)}"
    other = "The other one" if pair else "The next"
    return f"{_choose('Choose', name)}: it is proven better than {rest} ({level}). {other} is {behind} behind."


def leading(result: BaselineComparison) -> tuple[CandidateDecision, ...]:
    """Return the candidates, the likeliest to be shipped first: by decision, then by their worst lower bound."""
    return tuple(sorted(result.candidates, key=lambda it: (_ORDER[it.decision], -it.deciding.worst_lower)))


def replacing(result: BaselineComparison, names: Mapping[str, str]) -> tuple[str, str, str]:
    """Return the question whether to replace the baseline, the answer, and the advice."""
    labels, first, total = labels_of(result.metrics), leading(result)[0], len(result.candidates)
    old, new = names[result.baseline], names[first.candidate]
    metrics = " and ".join(styled(style, label.name) for style, label in zip("le", labels, strict=False))
    by = styled("n", new) if total == 1 else f"one of {total} candidates"
    question = f"Replace {styled('n', old)} by {by}? {format_sample_size(result)}, {metrics}."
    return question, _answer(result, first, styled("n", old), styled("n", new)), _advice(result, first, names)


def _answer(result: BaselineComparison, first: CandidateDecision, old: str, new: str) -> str:
    decided, total = list(result.decisions.values()), len(result.candidates)
    ships, rest = decided.count("ship"), decided.count("undecided")
    if ships > 1:
        return f"{ships} of {total} may replace {old}. The safest is {new}."
    if ships:
        return f"Ship {new} instead of {old}."
    if rest and total > 1:
        return f"Keep {old} for now: {rest} of {total} candidates are undecided."
    if rest and result.require == "no_loss":
        return f"Too close to call: a loss of {amount(result.margin)} or more by {new} is not excluded."
    if rest:
        return f"Too close to call: {new} is not proven better than {old}."
    if total > 1:
        return f"Keep {old}: each of the {total} candidates is worse under some metric."
    losing = [label.long for label in labels_of(result.metrics) if label.name in first.excessive_losses]
    return f"Keep {old}: {new} is worse under {listed(losing)}."


def _advice(result: BaselineComparison, first: CandidateDecision, names: Mapping[str, str]) -> str:
    new = names[first.candidate]
    tolerated = f" Tolerated: a loss up to {amount(result.margin)}." if result.margin else ""
    changes = []
    for label, style in zip(labels_of(result.metrics), "le", strict=False):
        low, high = first.lower[label.name], first.upper[label.name]
        bounded = math.isfinite(low) and math.isfinite(high)
        between = f" ({format_change(low)} to {format_change(high)})" if bounded else ""
        changes.append(f"{styled(style, format_change(first.difference[label.name]))}{between} under {label.long}")
    bounds = result.describe_bounds(first)
    change = (
        f"{' and '.join(changes)}, simultaneous at {confidence(result.alpha)}. One-sided, {bounds} "
        f"({result.one_sided_confidence}).{tolerated}"
    )
    if first.decision == "ship":
        return f"{styled('b', '★ Ship ')}{styled('b n', new)}: {change}"
    keep, name = f"{styled('b', '★ Keep ')}{styled('b n', names[result.baseline])}", styled("n", new)
    if first.decision == "do not ship":
        return f"{keep}: {name} changes it by {change}"
    return f"{keep} for now: {name} changes it by {change}{result.describe_next_step(first)}"


def searches(result: BaselineComparison, candidate: CandidateDecision, *, bounds: bool = True) -> str:
    """Return on how many of 1,000 queries a candidate is better and worse, with intervals or without."""
    page = "first page" if all(metric.endswith("@10") for metric in result.metrics) else "ranking"
    parts = []
    for place, label in enumerate(labels_of(result.metrics)):
        both = [str(candidate.shares[label.name][kind]) for kind in ("better", "worse")]
        better, worse = both if bounds else (text.partition(" ")[0] for text in both)
        ends = ("", "") if place else (f" get a better {page}", " a worse one")
        parts.append(f"{better}{ends[0]} and {worse}{ends[1]} by {label.by if place else label.long}")
    losing = list[str]()
    for label in labels_of(result.metrics):
        shares, difference = candidate.shares[label.name], candidate.difference[label.name]
        loses = difference > 0 if label.name in result.lower_is_better else difference < 0
        if loses and shares["better"].value > shares["worse"].value:
            losing.append(label.long)
    but = f" More searches get better than worse under {listed(losing)}, but the losses are larger." if losing else ""
    return f"Of 1,000 searches {'; '.join(parts)}.{but}"
