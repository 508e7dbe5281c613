"""Decisions about candidates for the place of a baseline: is a candidate better, or at least not worse?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from os import PathLike
from statistics import NormalDist
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
import pandas as pd

from .._common.text import (
    TextResult,
    format_amount,
    format_confidence,
    format_difference,
    join_names,
    plain,
    pluralize,
    printable,
    styled,
)
from .._common.typing import Floats
from .estimates import ROUNDING
from .inference import MIN_QUERIES, POWER, JointEstimate, Sample, compute_half_widths, critical_value
from .one_sided import (
    MAX_QUERIES,
    ErrorLevel,
    PairErrors,
    Requirement,
    bisect,
    compute_ship_probability,
    find_earlier_decisions,
    find_test_level,
    read_looks,
    validate_requirement,
)
from .pairs import clip_intervals
from .panel import Panel, Vary, validate_margin
from .ranked_models import validate_model
from .verdict import (
    describe_losses,
    describe_sample,
    format_choice,
    format_range,
    format_sample_size,
    label_metrics,
    style_metrics,
)

Decision: TypeAlias = Literal["ship", "undecided", "do not ship"]

BY_METRIC = ("difference", "lower", "upper", "differing")
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
        Mean of the candidate minus mean of the baseline in the unit of the metric, with bounds that are simultaneous
        for all candidates and metrics. They describe the differences and do not decide. Infinite (or the range of the
        metric) if the two differ on fewer than 30 queries.
    differing : dict of metric name to float
        Number of differing queries, or their effective number if queries are weighted.
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
    differing: dict[str, float]
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
        has_bounds = self.differing[metric] >= MIN_QUERIES and all(map(math.isfinite, ends))
        return f" ({' to '.join(map(format_difference, ends))})" if has_bounds else ""


@dataclass(frozen=True, repr=False)
class BaselineComparison(TextResult):
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
    lower_is_better : tuple of str
        The metrics whose lower values are better.
    queries : int
        Number of queries on which all `metrics` are defined.
    alpha, margin, draws, seed : float, float, int, int
        Settings.
    require : {"gain", "no_loss"}
        Condition for *ship*.
    level : float
        One-sided level of this test of each candidate.
    looks, earlier : tuple of int
        Planned numbers of queries, and numbers of queries of the looks before this one.
    earlier_decisions : dict of model to {"ship", "do not ship"}
        First decision about each candidate at a recorded look before this one.
    anytime : int or None
        Sample size that the bounds are tuned to, if they are valid at any number of queries.
    repeats : dict of model to int
        Number of repeats of each recipe, 0 for a fixed model. Empty if all models are fixed.
    clusters : int or None
        Number of clusters of queries. None if queries are independent.
    vary : {"seed", "queries"} or None
        What differs between repeats.
    candidates : tuple of CandidateDecision
        One decision for each candidate, in natural order of their names.

    Notes
    -----
    With probability 1 − α or more, no decision about any candidate is wrong. Each candidate is tested at the one-sided
    level α / (2 · number of candidates). *No loss* is an intersection-union test: every metric must reject δ ≤ −Δ, and
    the level is not corrected for the number of metrics. The other two statements use the one-sided max-T over metrics.
    If two models differ on fewer than 30 queries, a bound from the share of worse queries replaces the normal one. It
    can prove *no loss*, but not a gain. The page "Statistical methods" has the formulas.

    References
    ----------
    Berger (1982), "Multiparameter hypothesis testing and acceptance sampling", Technometrics 24(4).
    """

    baseline: str
    metrics: tuple[str, ...]
    lower_is_better: tuple[str, ...]
    queries: int
    alpha: float
    margin: float
    draws: int
    seed: int
    require: Requirement
    level: float
    looks: tuple[int, ...]
    earlier: tuple[int, ...]
    earlier_decisions: dict[str, Decision]
    anytime: int | None
    repeats: dict[str, int]
    clusters: int | None
    vary: Vary | None
    candidates: tuple[CandidateDecision, ...]

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
        and `queries needed upper`. For each metric M, they are `difference M`, `lower M`, `upper M`, `differing M`, and
        the number of 1,000 queries that are better, worse and the same: `better M`, `worse M` and `same M`.
        """
        rows = []
        for candidate in self.candidates:
            row: dict[str, Any] = {"decision": candidate.decision}
            row |= {name.replace("_", " "): bound for name, bound in candidate.deciding._asdict().items()}
            row["queries needed"], row["queries needed upper"] = candidate.queries_needed or (None, None)
            for metric in self.metrics:
                row |= {f"{name} {metric}": getattr(candidate, name)[metric] for name in BY_METRIC}
                row |= {f"{name} {metric}": 1000 * share for name, share in candidate.shares[metric].items()}
            rows.append(row)
        table = pd.DataFrame(rows, index=pd.Index(list(self.decisions), name="candidate"))
        return table.astype({"queries needed": "Int64", "queries needed upper": "Int64"})

    def sentence(self, candidate: str) -> str:
        """Return the decision about one candidate, its reason and the bounds that decide."""
        validate_model(candidate, self.decisions)
        chosen = next(decision for decision in self.candidates if decision.candidate == candidate)
        return printable(f"{self._describe(chosen)}{self.describe_next_step(chosen)}")

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
        parts.append(f"{f'A loss below {format_amount(self.margin)}' if self.margin else 'No loss'} is accepted.")
        parts.append(f"Intervals of changes are simultaneous at {format_confidence(self.alpha)} and do not decide.")
        if self.looks:
            planned = join_names([f"{number:,}" for number in self.looks], len(self.looks))
            parts.append(
                f"This is look {len(self.earlier) + 1} at {pluralize(self.queries, 'query')}. Looks are planned at "
                f"{planned} queries, and the error is controlled over all of them."
            )
        parts += [*describe_losses(self.lower_is_better), describe_sample(self.clusters, self.repeats, self.vary)]
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
        bounds = (("at least", lowest), ("at most", highest))
        ends = [f"{side} {format_difference(bound)}" for side, bound in bounds if math.isfinite(bound)]
        worst = " and ".join(ends) or "not bounded"
        if len(self.metrics) == 1:
            return f"the change is {worst}"
        more = f", under the best at least {format_difference(best)}" if math.isfinite(best) else ""
        return f"the change under the worst metric is {worst}{more}"

    def _describe(self, candidate: CandidateDecision) -> str:
        every, some = (" under every metric", " under some metric") if len(self.metrics) > 1 else ("", "")
        loss = f"a loss of more than {format_amount(self.margin)}" if self.margin else "a loss"
        if candidate.decision == "do not ship":
            proof = f"proven{some}"
        elif candidate.deciding.worst_lower <= -self.margin:
            proof = "not excluded"
        elif candidate.decision == "undecided":
            proof = "excluded, but no gain is proven"
        elif self.require == "gain" and not self.margin:
            loss, proof = "a gain", f"proven{every}"
        else:
            proof = f"excluded{every}" + (f", and a gain is proven{some}" if self.require == "gain" else "")
        head = {"ship": "Ship", "undecided": "Undecided about", "do not ship": "Do not ship"}[candidate.decision]
        bounds = self.describe_bounds(candidate)
        level = f"one-sided, {self.one_sided_confidence} each, {format_sample_size(self.queries, self.clusters)}"
        text = f"{head} {candidate.candidate}: {loss} against {self.baseline} is {proof}. "
        text += f"{bounds[0].upper()}{bounds[1:]} ({level})."
        if candidate.proven_losses and candidate.decision != "do not ship":
            text += f" A loss within the margin is proven under {join_names(candidate.proven_losses)}."
        if few := [metric for metric in self.metrics if candidate.differing[metric] < MIN_QUERIES]:
            is_bounded = math.isfinite(candidate.deciding.worst_lower)
            bound = "so the share of worse queries bounds the loss" if is_bounded else "too few to bound the loss"
            text += f" The models differ on fewer than {MIN_QUERIES} queries under {join_names(few)}, {bound}."
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
        if self.anytime is not None:
            return "These bounds are valid at any number of queries, so you can test again with more."
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
        if candidate.decision != "undecided" or self.anytime is not None or self._next_look is not None:
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
    return question, _format_answer(result, first, old, new), _format_advice(result, first, names)


def _format_answer(result: BaselineComparison, first: CandidateDecision, old: str, new: str) -> str:
    decisions, total = list(result.decisions.values()), len(result.candidates)
    shipped, undecided = decisions.count("ship"), decisions.count("undecided")
    if shipped > 1:
        return f"{shipped} of {total} may replace {old}. The safest is {new}."
    if shipped:
        return f"Ship {new} instead of {old}."
    if undecided and total > 1:
        return f"Keep {old} for now: {undecided} of {total} candidates are undecided."
    if undecided and result.require == "no_loss":
        return f"Too close to call: a loss of more than {format_amount(result.margin)} by {new} is not excluded."
    if undecided:
        return f"Too close to call: {new} is not proven better than {old}."
    if total > 1:
        return f"Keep {old}: each of the {total} candidates is worse under some metric."
    losing = [label.long for label in label_metrics(result.metrics) if label.name in first.excessive_losses]
    return f"Keep {old}: {new} is worse under {join_names(losing)}."


def _format_advice(result: BaselineComparison, first: CandidateDecision, names: Mapping[str, str]) -> str:
    changes = [
        f"{styled(style, format_difference(first.difference[label.name]))}{first.format_interval(label.name)} under "
        f"{label.long}"
        for label, style in zip(label_metrics(result.metrics), "le", strict=False)
    ]
    change = (
        f"{' and '.join(changes)}, simultaneous at {format_confidence(result.alpha)}. One-sided, "
        f"{result.describe_bounds(first)} ({result.one_sided_confidence})."
    )
    if result.margin:
        change += f" Tolerated: a loss up to {format_amount(result.margin)}."
    if first.decision == "ship":
        return f"{format_choice('Ship', names[first.candidate])}: {change}"
    for_now = " for now" if first.decision == "undecided" else ""
    keep = f"{format_choice('Keep', names[result.baseline])}{for_now}"
    return f"{keep}: {styled('n', names[first.candidate])} changes it by {change}{result.describe_next_step(first)}"


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
    anytime: bool | int = False,
    earlier: Mapping[str, Any] | str | PathLike[str] | None = None,
    plan: bool = True,
) -> BaselineComparison:
    """Decide about all models whether to replace the baseline. See `Comparison.against`.

    Without `plan`, the numbers of queries that would decide are not computed.
    """
    width = validate_margin(margin)
    sample.validate_difference("margin", margin, metrics)
    joint = sample.joint(metrics)
    panel = joint.panel
    validate_baseline(baseline, panel.models)
    validate_requirement(require, width)
    b = panel.models.index(baseline)
    candidates = [place for place in range(len(panel.models)) if place != b]
    settings = {
        "baseline": baseline, "candidates": [panel.models[c] for c in candidates], "metrics": list(metrics),
        "alpha": sample.alpha, "margin": width, "require": require, "repeats": panel.evidence["repeats"],
    }  # fmt: skip
    planned, previous, tuned = read_looks(looks, anytime, earlier, panel.queries, settings)
    gamma = sample.alpha / 2 / len(candidates)
    level = find_test_level(gamma, panel.queries, len(metrics), planned, previous, tuned)
    largest = [np.abs(joint.bootstrap.compute_t(row, b, candidates)).max(axis=0) for row in range(len(metrics))]
    rule = _Rule(width, require, level, float(critical_value(np.max(largest, axis=0), 1 - sample.alpha)))
    plan = plan and tuned is None and (not planned or panel.queries >= planned[-1])
    return BaselineComparison(
        baseline=baseline,
        metrics=tuple(metrics),
        candidates=tuple(_decide(sample, joint, b, c, rule, plan) for c in candidates),
        queries=panel.queries,
        alpha=sample.alpha,
        margin=width,
        draws=sample.draws,
        seed=sample.seed,
        require=require,
        level=level.marginal,
        looks=planned,
        earlier=previous,
        earlier_decisions=find_earlier_decisions(earlier, panel.queries),
        anytime=tuned,
        **panel.evidence,
    )


class _Rule(NamedTuple):
    """Settings of all decisions. `critical` is the critical value of two-sided intervals."""

    margin: float
    require: Requirement
    level: ErrorLevel
    critical: float


def _decide(sample: Sample, joint: JointEstimate, b: int, c: int, rule: _Rule, plan: bool) -> CandidateDecision:
    panel, pair = joint.panel, PairErrors(joint, b, c, sample.seed)
    widths = np.array([np.subtract(*sample.ranges[metric][::-1]) for metric in panel.metrics])
    marginal_lower, lower, upper = pair.bound(rule.level, widths)
    bounds = DecidingBounds(float(marginal_lower.min()), float(upper.min()), float(lower.max()))
    decision = apply_rule(bounds, rule.margin, rule.require)
    # If the models are equal on every query, they may be so on all further ones, which then bound no loss either.
    plan = plan and decision == "undecided" and not (np.isinf(marginal_lower) & (pair.support == 0)).any()
    needed = _estimate_needs(pair, rule, widths) if plan else None
    difference = np.array([panel.in_unit(*row) for row in zip(panel.metrics, pair.difference, strict=True)])
    half_widths = compute_half_widths(np.where(pair.has_support, pair.error, np.inf), rule.critical)
    lowest, highest = clip_intervals(difference, half_widths, -widths, widths)

    def by_metric(numbers: Floats) -> dict[str, float]:
        return dict(zip(panel.metrics, numbers.tolist(), strict=True))

    return CandidateDecision(
        candidate=panel.models[c],
        decision=decision,
        deciding=bounds,
        proven_losses=tuple(compress(panel.metrics, upper < 0)),
        excessive_losses=tuple(compress(panel.metrics, upper < -rule.margin)),
        difference=by_metric(difference),
        lower=by_metric(lowest),
        upper=by_metric(highest),
        differing=by_metric(pair.support),
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


def _estimate_needs(pair: PairErrors, rule: _Rule, widths: Floats) -> NeededSize | None:
    """Return the number of queries that one test in a new experiment needs to ship."""
    if pair.panel.units < 2:
        return None
    if rule.require == "no_loss" and (number := pair.find_size_without_losses(rule.level.total, rule.margin, widths)):
        return NeededSize(number, number)
    return NeededSize(*(_estimate_size(pair, rule, confidence_level) for confidence_level in (0.5, 0.8)))


def _estimate_size(pair: PairErrors, rule: _Rule, confidence_level: float) -> int | None:
    """Return the number of queries that is sufficient with this confidence.

    The true differences are assumed to be the estimated ones, less z standard errors, with z = 0 for 50 % and 0.84 for
    80 % confidence. The share of differing queries is the quantile of its Jeffreys interval.
    """
    finite = np.where(np.isfinite(pair.error), pair.error, 0.0)
    difference = pair.difference - NormalDist().inv_cdf(confidence_level) * finite
    level = ErrorLevel(rule.level.total, rule.level.total)

    def is_sufficient(more: float) -> bool:
        return compute_ship_probability(pair.scale(more), difference, level, rule.margin, rule.require) >= POWER

    low, high = max(1.0, pair.find_support_factor(confidence_level, POWER)), MAX_QUERIES / pair.panel.queries
    if low >= high or not is_sufficient(high):
        return None
    factor = low if is_sufficient(low) else bisect(is_sufficient, low, high, 1.001)
    return math.ceil(pair.panel.queries * factor)
