"""The answer to a comparison in one line, and one or two sentences of advice, both from the verdict alone."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from .._common.markup import styled
from .._common.words import amount, confidence, count, p_value
from .inference import MIN_QUERIES
from .wording import format_sample_size, name_unit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .verdict import Verdict

_GAINS = {"linear": ("linear", "linear"), "exp": ("exp", "exponential")}


class Label(NamedTuple):
    """Names of a metric: the full one, a short head of a column, and two for sentences ("linear gain", "linear")."""

    name: str
    head: str
    long: str
    by: str


def labels_of(metrics: tuple[str, ...]) -> tuple[Label, ...]:
    """Return short names of metrics; two that differ only by their gain are named after it.

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


def question(verdict: Verdict) -> str:
    """Return the question that the headline answers, with the size of the sample."""
    number, what = len(verdict.models), name_unit(verdict)
    metrics = [styled(style, metric) for style, metric in zip("le", verdict.metrics, strict=True)]
    size = f"{format_sample_size(verdict)}, {' and '.join(metrics)}"
    if number == 1:
        return f"How good is this {what}? {size}."
    return f"Which of {number} {what}s is {'better' if number == 2 else 'best'}? {size}."


def headline(verdict: Verdict, said: Mapping[str, str]) -> str:
    """Return the answer in one line."""
    one, other = labels_of(verdict.metrics)
    winner, second = (verdict.winners[metric] for metric in verdict.metrics)
    total, common, what = len(verdict.models), verdict.common_best, name_unit(verdict)
    both = "" if is_one_number(verdict) else f" under both {plural_of(verdict)}"
    if total == 1:
        return f"One {what}: add a second one to compare it with."
    if verdict.kind == "genuine":
        subject = f"The two {plural_of(verdict)}" if one.long != one.name else f"{one.name} and {other.name}"
        return f"{subject} pick different {what}s: {styled('n l', said[winner])} and {styled('n e', said[second])}."
    if verdict.kind == "agree":
        best = "best"
        if total == 2:
            (rest,) = (model for model in verdict.models if model != winner)
            best = f"better than {styled('n', said[rest])}"
        return f"{styled('n', said[winner])} is {best}{both}."
    if verdict.kind == "immaterial":
        return "The choice does not matter: every loss is negligible."
    alone = [len(verdict.best_sets[metric]) == 1 for metric in verdict.metrics]
    if total == 2 and sum(alone) == 1:
        label, unresolved, style = (one, other, "n l") if alone[0] else (other, one, "n e")
        name = styled(style, said[verdict.winners[label.name]])
        return f"{name} is better under {label.long}. Under {unresolved.long} it is too close to call."
    if len(common) == 1:
        return f"Only {styled('n', said[common[0]])} may be best{both}."
    some = f"{len(common)} of {total}"
    if len(common) == total:
        some = f"either {what}" if total == 2 else f"any of the {total} {what}s"
    return f"Too close to call: {some} may be best{both}."


def advice(verdict: Verdict, said: Mapping[str, str], selected: str | None = None) -> str:
    """Return which model to choose, and the largest loss that this may mean.

    A model that was selected on a validation set is the choice. The advice then states its gap to the best model.
    """
    if len(verdict.models) == 1:
        return ""
    level, safe, units = confidence(verdict.alpha), said[verdict.safe_choice], verdict.clusters or verdict.queries
    under = "" if is_one_number(verdict) else " under either"
    if units < MIN_QUERIES:
        few = "queries" if verdict.clusters is None else "clusters of queries"
        choice = "" if selected is None else f"{_selected(said[selected])} "
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
        choice = describe_selection(selected, verdict.safe_choice, bounds, regrets, said, metric, level)
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
    said: Mapping[str, str],
    under: str,
    level: str,
) -> str:
    """Return which model the validation set selected, and what the test set shows about it.

    Parameters
    ----------
    selected, favored : str
        Models that the validation set and the test set choose.
    bounds, regrets : mapping of model to float
        Upper bounds and estimates of the larger gap to the best model. A bound of 0 means that the model is best.
    said : mapping of model to str
        Names for sentences.
    under : str
        Metrics, such as " under either metric".
    level : str
        Confidence of the bounds.
    """
    name, bound = styled("n", said[selected]), bounds[selected]
    if bound == 0:
        test = f"On the test set, {name} is proven best{under.replace('either metric', 'both metrics')} ({level})."
    elif math.isfinite(bound):
        test = f"On the test set, {name} is at most {rounded(bound, up=True)} from the best{under} ({level})."
    else:
        test = f"The test set has too few queries to bound the gap of {name} to the best."
    if favored != selected:
        other = f"The test set favors {styled('n', said[favored])}"
        if math.isfinite(bound) and bounds[favored] < bound:
            size = rounded(bounds[favored], up=True)
            best = "which is proven best" if bounds[favored] == 0 else f"which is at most {size} from the best"
            test += f" {other}, {best}: {amount(bound - bounds[favored])} less."
        else:
            test += f" {other} by {amount(regrets[selected] - regrets[favored])}."
    return f"{_selected(said[selected])} {test}"


def _selected(name: str) -> str:
    return f"{styled('b', '★ ')}Selected on the validation set: {styled('b n', name)}."


def headline_of_metric(winner: str, metric: str, possible: int, total: int) -> str:
    """Return the answer under a single metric, of whose models so many may be best."""
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
