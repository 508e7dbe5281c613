"""Decisions about candidates for the place of a baseline: is a candidate better, or at least not worse?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress
from os import PathLike
from statistics import NormalDist
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from .._common.lazy import pandas as pd
from .._common.text import (
    TextResult,
    as_text,
    format_bound,
    format_confidence,
    format_difference,
    format_exact,
    format_interval,
    join_names,
    plain,
    pluralize,
    printable,
    round_bound,
    styled,
)
from .._common.typing import Floats, Integers
from .betting import BoundKind, bound_mean, order_queries, validate_betting, validate_bounds
from .bounds import DifferenceBounds
from .choice import format_choice, label_metrics, name_family
from .estimates import MIN_QUERIES, ROUNDING
from .flags import Flag
from .inference import POWER, JointEstimate, Sample
from .looks import find_earlier_decisions, find_look_level, read_looks, read_record
from .one_sided import (
    MAX_QUERIES,
    PairErrors,
    Requirement,
    compute_ship_probability,
    find_joint_criticals,
    find_least,
    find_support_factor,
    validate_requirement,
)
from .pairs import clip_intervals
from .panel import Panel, validate_margin
from .ranked_models import validate_model
from .settings import Scope, Settings
from .verdict import (
    describe_kind,
    describe_losses,
    describe_sample,
    format_range,
    format_sample_size,
    style_metrics,
)

Decision: TypeAlias = Literal["ship", "undecided", "do not ship"]

BY_METRIC = ("difference", "lower", "upper", "at_least", "at_most", "differing")
"""Numbers of a decision for each metric."""


class DecidingBounds(NamedTuple):
    """Bounds that decide about a candidate, as improvements: candidate − baseline, with the sign of losses reversed.

    Attributes
    ----------
    worst_lower : float
        Lower bound of the smallest change of all metrics. It is minus infinity if a metric has no bound.
    worst_upper : float
        Upper bound of the smallest change of all metrics.
    best_lower : float
        Lower bound of the largest change of all metrics.
    """

    worst_lower: float
    worst_upper: float
    best_lower: float


class NeededSize(NamedTuple):
    """Number of queries that ships a candidate with 80 % probability, estimated from this sample.

    Attributes
    ----------
    median, upper : int or None
        The number is sufficient with 50 % and with 80 % confidence. None if the sample promises no number.
    """

    median: int | None
    upper: int | None

    def __str__(self) -> str:
        """Return the range, or an empty text if the sample promises no number."""
        return "" if self.median is None else format_range(self.median, self.upper)


@dataclass(frozen=True)
class CandidateDecision:
    """Decision about one candidate.

    Attributes
    ----------
    candidate : str
        Name of the model.
    decision : {"ship", "do not ship", "undecided"}
        The decision.
    deciding : DecidingBounds
        The one-sided bounds that decide.
    proven_losses, excessive_losses : tuple of str
        Metrics with a proven loss, and metrics with a proven loss of more than the margin.
    difference, lower, upper : dict of metric name to float
        Mean of the candidate minus mean of the baseline in the unit of the metric, with the bounds of
        `Comparison.pairs`. They describe the differences and do not decide.
    at_least, at_most : dict of metric name to float
        One-sided bounds of the improvement under each metric: candidate − baseline, with the sign of losses reversed.
        The upper ones are simultaneous.
    differing : dict of metric name to int
        Number of queries or clusters with another difference than the most frequent one, which is 0 unless more than
        90 % have it.
    shares : dict of metric name to dict of {"better", "worse", "same"} to float
        Shares of the queries, or of their weight.
    queries_needed : NeededSize or None
        One test in a new experiment with this number of queries, and the same repeats, ships the candidate with 80 %
        probability. None if the decision is made, another look follows, or the sample promises no number.
    """

    candidate: str
    decision: Decision
    deciding: DecidingBounds
    proven_losses: tuple[str, ...]
    excessive_losses: tuple[str, ...]
    difference: dict[str, float]
    lower: dict[str, float]
    upper: dict[str, float]
    at_least: dict[str, float]
    at_most: dict[str, float]
    differing: dict[str, int]
    shares: dict[str, dict[str, float]]
    queries_needed: NeededSize | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes as plain values for JSON. Infinite bounds become None."""
        content = {
            "decision": self.decision,
            "deciding": self.deciding._asdict(),
            "proven_losses": self.proven_losses,
            "excessive_losses": self.excessive_losses,
            "metrics": {
                metric: {name: getattr(self, name)[metric] for name in (*BY_METRIC, "shares")} for metric in self.shares
            },
            "queries_needed": self.queries_needed and self.queries_needed._asdict(),
        }
        return dict(plain(content))

    def format_interval(self, metric: str) -> str:
        """Return the interval of the difference after a blank, or an empty text if it has no bounds."""
        ends = (self.lower[metric], self.upper[metric])
        return f" ({format_interval(*ends)})" if all(map(math.isfinite, ends)) else ""


@dataclass(frozen=True, repr=False)
class BaselineComparison(Settings, Scope, TextResult):
    """Decisions for all models whether to replace a baseline. `Comparison.against` creates it.

    With δ the true mean of the candidate minus that of the baseline under a metric (sign reversed for losses):

    - *Ship* with ``require="no_loss"``: δ > −`margin` under every metric is proven.
    - *Ship* with ``require="gain"``: in addition, δ > 0 under some metric is proven. If `margin` is 0, δ > 0 under
      every metric is proven.
    - *Do not ship*: δ < −`margin` under some metric is proven.
    - *Undecided*: otherwise.

    Attributes
    ----------
    baseline : str
        Name of the baseline.
    metrics : tuple of str
        Metrics that decide.
    require : {"gain", "no_loss"}
        Condition for *ship*.
    level : float
        One-sided level of this test of each candidate.
    looks, earlier : tuple of int
        Planned numbers of queries, and numbers of queries of the looks before this one.
    earlier_decisions : dict of model to {"ship", "do not ship"}
        First decision about each candidate at a recorded look before this one.
    bounds : {"asymptotic", "betting"}
        Kind of the bounds that decide.
    size : int
        Number of queries that bounds by betting are tuned to: the last look, or the size of the first sample.
    order : str
        Hashes of the query ids in the order of betting, for later looks.
    shortage : str
        Sentence about why nothing can be decided, or an empty text.
    flags : tuple of Flag
        Candidates of TREC runs that retrieve more unjudged documents than the baseline.
    candidates : tuple of CandidateDecision
        One decision for each candidate, in natural order of their names.
    queries, clusters, repeats, vary, lower_is_better
        Sample of queries and repeats. See `Scope`.
    alpha, margin, draws, seed : float, float, int, int
        Settings. See `Settings`.

    Notes
    -----
    With probability 1 − α or more, no decision about any candidate is wrong. Each candidate is tested at the one-sided
    level α / (2 · number of candidates). *No loss* is an intersection-union test: every metric must reject δ ≤ −Δ, and
    the level is not corrected for the number of metrics. The other two statements use the one-sided max-T over metrics.
    If two models differ on fewer than 30 queries, a bound from the share of worse queries replaces the normal one. It
    can show *no loss*, but rarely a gain. Unless `bounds` is ``"betting"``, the bounds are asymptotic, for losses that
    the sample can show. The page "Decisions and plans" has the formulas.

    References
    ----------
    Berger (1982), "Multiparameter hypothesis testing and acceptance sampling", Technometrics 24(4).
    """

    baseline: str
    metrics: tuple[str, ...]
    require: Requirement
    level: float
    looks: tuple[int, ...]
    earlier: tuple[int, ...]
    earlier_decisions: dict[str, Decision]
    bounds: BoundKind
    size: int
    order: str
    shortage: str
    candidates: tuple[CandidateDecision, ...]
    flags: tuple[Flag, ...] = ()

    @property
    def decisions(self) -> dict[str, Decision]:
        """Decision about each candidate."""
        return {candidate.candidate: candidate.decision for candidate in self.candidates}

    @property
    def one_sided_confidence(self) -> str:
        """Confidence of each deciding bound, for example "97.5 %"."""
        return format_confidence(float(f"{self.level:.2g}"))

    def frame(self) -> pd.DataFrame:
        """Return one row per candidate.

        Columns are `decision`, the deciding bounds `worst lower`, `worst upper` and `best lower`, `queries needed`
        and `queries needed upper`. For each metric M, they are `difference M`, `lower M`, `upper M`, the one-sided
        bounds `at least M` and `at most M` of the improvement, `differing M`, and the number of 1,000 queries that are
        better, worse and the same: `better M`, `worse M` and `same M`.
        """
        rows = []
        for candidate in self.candidates:
            row: dict[str, Any] = {"decision": candidate.decision}
            row |= {name.replace("_", " "): bound for name, bound in candidate.deciding._asdict().items()}
            row["queries needed"], row["queries needed upper"] = candidate.queries_needed or (None, None)
            for metric in self.metrics:
                row |= {f"{name.replace('_', ' ')} {metric}": getattr(candidate, name)[metric] for name in BY_METRIC}
                row |= {f"{name} {metric}": 1000 * share for name, share in candidate.shares[metric].items()}
            rows.append(row)
        table = pd.DataFrame(rows, index=pd.Index(list(self.decisions), name="candidate"))
        return table.astype({"queries needed": "Int64", "queries needed upper": "Int64"})

    def sentence(self, candidate: str) -> str:
        """Return the decision about one candidate, its reason and the bounds that decide."""
        validate_model(candidate, self.decisions)
        chosen = next(decision for decision in self.candidates if decision.candidate == candidate)
        remarks = "".join(f" {flag}" for flag in self.flags if candidate in flag.models)
        return printable(f"{self._describe(chosen)}{self.describe_next_step(chosen)}{remarks}")

    @property
    def text(self) -> str:
        """One paragraph with the numbers."""
        parts = []
        for candidate in self.candidates:
            changes = [
                f"{metric} changes by {format_difference(candidate.difference[metric])}"
                f"{candidate.format_interval(metric)}"
                for metric in self.metrics
            ]
            parts.append(f"{self._describe(candidate)} {join_names(changes)}.{self._describe_needs(candidate)}")
        if "undecided" in self.decisions.values():
            parts.append(self._describe_further_tests())
        parts.append(f"{f'A loss below {format_exact(self.margin)}' if self.margin else 'No loss'} is accepted.")
        parts.append(f"Intervals of changes are simultaneous at {format_confidence(self.alpha)} and do not decide.")
        if self.looks:
            planned = join_names([f"{number:,}" for number in self.looks], len(self.looks))
            spending = (
                "Bounds by betting need no correction for looks"
                if self.bounds == "betting"
                else "The error is controlled over all of them"
            )
            parts.append(
                f"This is look {len(self.earlier) + 1} at {pluralize(self.queries, 'query')}. Looks are planned at "
                f"{planned} queries. {spending}."
            )
        parts += [flag.message for flag in self.flags]
        about = describe_sample(self.clusters, self.repeats, self.vary)
        parts += [*describe_losses(self.lower_is_better), f"{about}{describe_kind(self.bounds)}"]
        return printable(" ".join(parts))

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes and `text` as plain values for JSON. The result is a record for a later look."""
        content: dict[str, Any] = plain({name: value for name, value in vars(self).items() if name != "candidates"})
        candidates = {candidate.candidate: candidate.to_dict() for candidate in self.candidates}
        return content | {"candidates": candidates, "text": self.text}

    def describe_bounds(self, candidate: CandidateDecision) -> str:
        """Return the bounds that decide: the change under the worst metric, and the least one under the best.

        For a single metric, both are the same change.
        """
        lowest, highest, best = candidate.deciding
        bounds = (("at least", lowest, False), ("at most", highest, True))
        ends = [f"{side} {format_bound(bound, up)}" for side, bound, up in bounds if math.isfinite(bound)]
        worst = " and ".join(ends) or "not bounded"
        if len(self.metrics) == 1:
            return f"the change is {worst}"
        more = f", under the best at least {format_bound(best, up=False)}" if math.isfinite(best) else ""
        return f"the change under the worst metric is {worst}{more}"

    def _describe(self, candidate: CandidateDecision) -> str:
        names = {name: name for name in (self.baseline, candidate.candidate)}
        bounds = self.describe_bounds(candidate)
        level = f"one-sided, {self.one_sided_confidence} each, {format_sample_size(self.queries, self.clusters)}"
        text = as_text(format_decision(self, candidate, names)).removeprefix("★ ")
        text += f" {bounds[0].upper()}{bounds[1:]} ({level})."
        if candidate.proven_losses and candidate.decision != "do not ship":
            text += f" A loss within the margin is shown under {join_names(candidate.proven_losses)}."
        few = [metric for metric in self.metrics if candidate.differing[metric] < MIN_QUERIES]
        if few and not self.shortage and self.bounds == "asymptotic":
            is_bounded = math.isfinite(candidate.deciding.worst_lower)
            bound = "their share bounds" if is_bounded else "only a range of the metric (ranges=) could bound"
            text += f" Fewer than {MIN_QUERIES} queries differ under {join_names(few)}, so {bound} the loss."
        if candidate.candidate in self.earlier_decisions:
            decision = self.earlier_decisions[candidate.candidate]
            text += f" An earlier look has already decided: {decision}. The first decision counts."
        return text

    def describe_next_step(self, candidate: CandidateDecision) -> str:
        """Return sentences about further evidence, for an undecided candidate."""
        if candidate.decision != "undecided":
            return ""
        return f"{self._describe_needs(candidate)} {self._describe_further_tests()}"

    @property
    def _next_look(self) -> int | None:
        return next((number for number in self.looks if number > self.queries), None)

    def _describe_further_tests(self) -> str:
        if self.bounds == "betting":
            return "These bounds are valid at any number of queries. Test again with more, and pass this as earlier."
        if self._next_look is not None:
            return f"The next look is planned at {self._next_look:,} queries."
        if self.looks:
            return "This was the last planned look, so the plan must not be extended."
        twice, fivefold = (f"{100 * (1 - (1 - self.alpha / 2) ** tests):.1f} %" for tests in (2, 5))
        return (
            "This test has spent its error probability, and every further test on new queries can err again: the "
            f"probability of a false ship is up to {twice} in two tests and up to {fivefold} in five. To test "
            "repeatedly, plan the looks in advance."
        )

    def _describe_needs(self, candidate: CandidateDecision) -> str:
        if (
            candidate.decision != "undecided"
            or self.bounds == "betting"
            or self.shortage
            or self._next_look is not None
        ):
            return ""
        needs = " This sample does not promise any number of queries that would suffice to ship."
        if size := str(candidate.queries_needed or ""):
            needs = f" To ship with 80 % probability, a new experiment with one test needs about {size} queries"
            needs += " (sufficient with 50 % and with 80 % confidence)." if " to " in size else "."
        if any(self.repeats.values()):
            needs += " More repeats may help, too: see Comparison.plan."
        if self.require == "gain" and candidate.deciding.worst_lower > -self.margin:
            needs += " To accept candidates that are not worse, pass require='no_loss' (--require no-loss)."
        return needs


def rank_candidates(result: BaselineComparison) -> tuple[CandidateDecision, ...]:
    """Return the candidates, the likeliest to be shipped first: by decision, then by their worst lower bound."""
    order = get_args(Decision)
    return tuple(sorted(result.candidates, key=lambda item: (order.index(item.decision), -item.deciding.worst_lower)))


def describe_replacement(result: BaselineComparison, names: Mapping[str, str]) -> tuple[str, str, str]:
    """Return the question whether to replace the baseline, the answer, and the advice."""
    first, total = rank_candidates(result)[0], len(result.candidates)
    old, new = styled("n", names[result.baseline]), styled("n", names[first.candidate])
    by = new if total == 1 else f"one of {total} candidates"
    size = format_sample_size(result.queries, result.clusters)
    question = f"Replace {old} by {by}? {size}, {style_metrics(result.metrics)}."
    return question, format_decision(result, first, names), _format_advice(result, first, names)


def format_decision(result: BaselineComparison, candidate: CandidateDecision, names: Mapping[str, str]) -> str:
    """Return the decision about a candidate with the bounds that decide, in one sentence."""
    name, old = names[candidate.candidate], styled("n", names[result.baseline])
    margin, labels = format_exact(result.margin), label_metrics(result.metrics)
    tables = (candidate.difference, candidate.at_least, candidate.at_most)
    merged = len(labels) == 1 or all(math.isclose(*table.values(), rel_tol=1e-12, abs_tol=1e-15) for table in tables)
    measure = f" {name_family(result.metrics[0])}" if labels[0].long != labels[0].name else ""

    def list_bounds(bounds: Mapping[str, float], up: bool) -> str:
        sizes = {label.short: round_bound(abs(bounds[label.name]), up) for label in labels if label.name in bounds}
        if merged:
            return next(iter(sizes.values()))
        return " and ".join(f"{size} ({short})" for short, size in sizes.items())

    if candidate.decision == "do not ship":
        losses = {metric: candidate.at_most[metric] for metric in candidate.excessive_losses}
        excess = f", more than the margin of {margin}" if result.margin else ""
        return f"Do not ship {styled('b n', name)}: it loses at least {list_bounds(losses, up=False)}{excess}."
    gains = {metric: bound for metric, bound in candidate.at_least.items() if bound > 0}
    losses = {metric: bound for metric, bound in candidate.at_least.items() if bound <= 0}
    worst = -candidate.deciding.worst_lower
    if not math.isfinite(worst):
        return f"Undecided: the loss of {styled('b n', name)} has no bound. {result.shortage}".rstrip()
    behind = f"at worst {round_bound(worst, up=True)}{measure} behind {old}" if worst > 0 else f"not behind {old}"
    within = f", within the margin of {margin}" if worst > 0 else ""
    if candidate.decision == "ship":
        choice = format_choice("Ship", name)
        if not gains:
            return f"{choice}: {behind}{within}."
        subject = measure.strip() or (result.metrics[0] if len(labels) == 1 else "the result")
        verb, lower = ("improves", "worse") if result.lower_is_better else ("rises", "lower")
        text = f"{choice} instead of {old}: {subject} {verb} by at least {list_bounds(gains, up=False)}"
        for label in labels:
            if label.name in losses:
                bound = f"at worst {round_bound(-losses[label.name], up=True)}" if worst > 0 else "not"
                text += f", {bound} {lower} ({label.short})"
        return f"{text}{within}."
    undecided = f"Undecided: {styled('b n', name)}"
    if worst < result.margin:
        return f"{undecided} is {behind}{within}, but no gain is shown."
    tolerated = f" (margin {margin})" if result.margin else ""
    return f"{undecided} may lose up to {round_bound(worst, up=True)}{measure}{tolerated}.{_format_need(candidate)}"


def _format_need(candidate: CandidateDecision) -> str:
    """Return the number of queries of a new test after a blank, or an empty text."""
    if candidate.queries_needed is None or candidate.queries_needed.median is None:
        return ""
    return f" A new test needs about {candidate.queries_needed.median:,} queries, if the difference is as it looks."


def _format_advice(result: BaselineComparison, first: CandidateDecision, names: Mapping[str, str]) -> str:
    changes = [
        f"{styled(style, format_difference(first.difference[label.name]))}{first.format_interval(label.name)} under "
        f"{label.long}"
        for label, style in zip(label_metrics(result.metrics), "le", strict=False)
    ]
    decisions, text = list(result.decisions.values()), ""
    if len(decisions) > 1:
        counts = [f"{decisions.count(kind)} {kind}" for kind in get_args(Decision) if kind in decisions]
        text = f"Decisions about the {len(decisions)} candidates: {join_names(counts)}. "
    text += (
        f"{styled('n', names[first.candidate])} differs from {styled('n', names[result.baseline])} by "
        f"{' and '.join(changes)}, simultaneous at {format_confidence(result.alpha)}. One-sided, "
        f"{result.describe_bounds(first)} ({result.one_sided_confidence})."
    )
    return f"{text}{result.describe_next_step(first)}"


def validate_baseline(baseline: str, models: Sequence[str]) -> None:
    """Raise `ValueError` unless the baseline is one of several models."""
    validate_model(baseline, models)
    if len(models) < 2:
        raise ValueError(f"baseline {baseline!r} is the only model, so there is no candidate. Pass another model.")


def compare_with_baseline(
    sample: Sample,
    metrics: tuple[str, ...],
    baseline: str,
    margin: float,
    *,
    require: Requirement = "gain",
    looks: Sequence[int] | None = None,
    earlier: Mapping[str, Any] | str | PathLike[str] | None = None,
    bounds: BoundKind | None = None,
    plan: bool = True,
) -> BaselineComparison:
    """Decide about all models whether to replace the baseline. See `Comparison.against`.

    `bounds` are by default those of the sample. Without `plan`, the numbers of queries that would decide are not
    computed.
    """
    width = validate_margin(margin)
    sample.validate_difference("margin", margin, metrics)
    bounds = sample.bounds if bounds is None else validate_bounds(bounds)
    joint = sample.joint(metrics)
    panel = joint.panel
    validate_baseline(baseline, panel.models)
    validate_requirement(require, width)
    b = panel.models.index(baseline)
    candidates = [place for place in range(len(panel.models)) if place != b]
    settings = {
        "baseline": baseline, "candidates": [panel.models[c] for c in candidates], "metrics": list(metrics),
        "alpha": sample.alpha, "margin": width, "require": require, "repeats": panel.evidence["repeats"],
        "bounds": bounds,
    }  # fmt: skip
    planned, previous = read_looks(looks, earlier, panel.queries, settings)
    gamma = sample.alpha / 2 / len(candidates)
    size, order = 0, ""
    level = find_look_level(gamma, panel.queries, planned, previous)
    bound: Callable[..., OneSided] = partial(bound_asymptotically, level=level)
    if bounds == "betting":
        validate_betting(panel, metrics, sample.ranges)
        record = {} if earlier is None else read_record(earlier)
        size = record.get("size") or (planned[-1] if planned else panel.queries)
        digests = sample.compute_digests(metrics)
        places = order_queries(digests, record.get("order", ""))
        order, level = "".join(digests[place] for place in places), gamma
        bound = partial(bound_by_betting, level=level, places=places, size=size)
    intervals = joint.bootstrap.bound_pairs(sample.alpha)
    plan = plan and bounds == "asymptotic" and (not planned or panel.queries >= planned[-1])
    request = _Request(width, require, gamma if plan else None)
    return BaselineComparison(
        baseline=baseline,
        metrics=tuple(metrics),
        candidates=tuple(_decide(joint, b, c, bound(joint, b, c), request, intervals) for c in candidates),
        queries=panel.queries,
        require=require,
        level=level,
        looks=planned,
        earlier=previous,
        earlier_decisions=find_earlier_decisions(earlier, panel.queries),
        bounds=bounds,
        size=size,
        order=order,
        shortage=joint.estimated.shortage if bounds == "asymptotic" else "",
        **sample.describe(width),
        **panel.evidence,
    )


class OneSided(NamedTuple):
    """Bounds of the change of a candidate by metric: marginal lower, simultaneous lower and simultaneous upper bounds.

    All hypotheses of a loss must be rejected, so the marginal bounds need no correction for the number of metrics
    (intersection-union test).
    """

    marginal: Floats
    lower: Floats
    upper: Floats


def bound_asymptotically(joint: JointEstimate, b: int, c: int, level: float) -> OneSided:
    """Return the bounds of the t distribution or of the share of differing queries."""
    correlation = PairErrors.from_joint(joint, b, c).correlation
    change = joint.bootstrap.bounds.select(b, c)

    def bound_jointly(bounds: DifferenceBounds) -> Floats:
        return bounds.bound_jointly(
            level, len(bounds.error), lambda part: find_joint_criticals(bounds.freedom, correlation, part)
        )

    return OneSided(change.bound_singly(level), bound_jointly(change), -bound_jointly(change.reverse()))


def bound_by_betting(joint: JointEstimate, b: int, c: int, level: float, places: Integers, size: int) -> OneSided:
    """Return the bounds by betting on queries in this order, tuned to a number of them."""
    values, widths = joint.panel.values, joint.estimated.widths.tolist()
    change = (values[:, c] - values[:, b])[:, places]

    def bound(change: Floats, level: float) -> Floats:
        return np.array([bound_mean(row, width, level, size) for row, width in zip(change, widths, strict=True)])

    part = level / len(change)
    return OneSided(bound(change, level), bound(change, part), -bound(-change, part))


class _Request(NamedTuple):
    """Settings of all decisions, and the one-sided level of a plan, None without a plan."""

    margin: float
    require: Requirement
    level: float | None


def _decide(
    joint: JointEstimate, b: int, c: int, bounds: OneSided, request: _Request, intervals: Floats
) -> CandidateDecision:
    panel, pair = joint.panel, joint.bootstrap.bounds.select(b, c)
    marginal, lower, upper = bounds
    deciding = DecidingBounds(float(marginal.min()), float(upper.min()), float(lower.max()))
    decision = apply_rule(deciding, request.margin, request.require)
    # If the models are equal on every query, they may be so on all further ones, which then bound no loss either.
    can_plan = (
        decision == "undecided" and pair.decides and not (np.isinf(marginal) & (pair.below + pair.above == 0)).any()
    )
    needed = _estimate_needs(joint, b, c, request) if can_plan and request.level is not None else None
    difference = np.array([panel.in_unit(*row) for row in zip(panel.metrics, pair.difference, strict=True)])
    ends = zip(panel.metrics, intervals[:, b, c], -intervals[:, c, b], strict=True)
    first, second = np.transpose([(panel.in_unit(name, one), panel.in_unit(name, other)) for name, one, other in ends])
    lowest, highest = clip_intervals(difference, first, second, -joint.estimated.widths, joint.estimated.widths)

    def by_metric(numbers: Any) -> dict[str, Any]:
        return dict(zip(panel.metrics, numbers.tolist(), strict=True))

    return CandidateDecision(
        candidate=panel.models[c],
        decision=decision,
        deciding=deciding,
        proven_losses=tuple(compress(panel.metrics, upper < 0)),
        excessive_losses=tuple(compress(panel.metrics, upper < -request.margin)),
        difference=by_metric(difference),
        lower=by_metric(lowest),
        upper=by_metric(highest),
        at_least=by_metric(marginal),
        at_most=by_metric(upper),
        differing=by_metric(pair.below + pair.above),
        shares={metric: compute_shares(panel, row, b, c) for row, metric in enumerate(panel.metrics)},
        queries_needed=needed,
    )


def apply_rule(bounds: DecidingBounds, margin: float, require: Requirement) -> Decision:
    """Return the decision for the bounds of candidate − baseline.

    >>> [apply_rule(DecidingBounds(-0.0011, 0.0009, -0.0005), 0.01, require) for require in ("gain", "no_loss")]
    ['undecided', 'ship']
    """
    if bounds.worst_lower > -margin and (require == "no_loss" or margin == 0 or bounds.best_lower > 0):
        return "ship"
    return "do not ship" if bounds.worst_upper < -margin else "undecided"


def compute_shares(panel: Panel, row: int, baseline: int, candidate: int) -> dict[str, float]:
    """Return the shares of queries, or of their weight, that get better, get worse and stay the same.

    >>> panel = Panel(("m",), ("A", "B"), np.array([[[0.0, 0, 0, 1], [1, 1, 0, 0]]]), None)
    >>> compute_shares(panel, 0, 0, 1)
    {'better': 0.5, 'worse': 0.25, 'same': 0.25}
    """
    values = panel.values[row]
    difference = values[candidate] - values[baseline]
    tolerance = ROUNDING * np.abs(values).max()
    weights = np.ones(panel.queries) if panel.weights is None else panel.weights
    masks = {"better": difference > tolerance, "worse": difference < -tolerance, "same": abs(difference) <= tolerance}
    return {name: float(weights @ mask / weights.sum()) for name, mask in masks.items()}


def _estimate_needs(joint: JointEstimate, b: int, c: int, request: _Request) -> NeededSize:
    """Return the number of queries that one test in a new experiment needs to ship.

    The true differences are assumed to be the estimated ones, less z standard errors, with z = 0 for 50 % and 0.84 for
    80 % confidence. The share of differing queries is the quantile of its Jeffreys interval.
    """
    margin, require, level = request
    assert level is not None
    bounds, errors, queries = (
        joint.bootstrap.bounds.select(b, c),
        PairErrors.from_joint(joint, b, c),
        joint.panel.queries,
    )
    if require == "no_loss" and (number := find_size_without_losses(bounds, level, margin)):
        number = math.ceil(number * queries / bounds.units)
        return NeededSize(number, number)

    def find_size(confidence: float) -> int | None:
        difference = bounds.difference - NormalDist().inv_cdf(confidence) * errors.error

        def is_sufficient(more: float) -> bool:
            return compute_ship_probability(errors.scale(more), difference, level, margin, require) >= POWER

        least = max(1.0, find_support_factor(bounds, confidence, POWER))
        factor = find_least(is_sufficient, least, MAX_QUERIES / queries)
        return None if factor is None else math.ceil(queries * factor)

    return NeededSize(find_size(0.5), find_size(0.8))


def find_size_without_losses(bounds: DifferenceBounds, level: float, margin: float) -> int | None:
    """Return the number of units that exclude a loss if still no query gets worse, or None if some does.

    With range B, the bound −B(1 − γ^(1/n)) exceeds −Δ if n ≥ ln γ / ln(1 − Δ/B).
    """
    widest = float(bounds.widths.max()) * bounds.largest
    if not bounds.is_rare.all() or (bounds.below > 0).any() or bounds.modal.any() or not math.isfinite(widest):
        return None
    return (
        max(MIN_QUERIES, math.ceil(math.log(level) / math.log1p(-margin / widest))) if margin < widest else MIN_QUERIES
    )
