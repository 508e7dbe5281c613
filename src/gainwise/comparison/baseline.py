"""Decisions about candidates for the place of a baseline: is a candidate better, or at least not worse?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import compress
from os import PathLike
from statistics import NormalDist
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from .._common import cached_property
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
from .._common.validation import validate_choice
from .bounds import UNKNOWN_RANGE, BoundKind, order_queries, validate_betting, validate_bounds
from .estimates import MIN_QUERIES, ROUNDING
from .flags import Flag
from .guards import (
    Decision,
    Family,
    Gate,
    OneSided,
    Part,
    Requirement,
    build_segments,
    find_size_without_losses,
    is_repeatable,
    name_segment,
    read_looks,
    read_record,
    resolve_margins,
    validate_requirement,
)
from .inference import POWER, Sample
from .metric_labels import label_metrics
from .pairs import clip_intervals
from .panel import Panel
from .power import MAX_QUERIES, compute_ship_probability, find_least, find_support_factor, format_range
from .query_labels import Labels, list_segments
from .ranked_models import validate_model
from .verdict import (
    Scope,
    describe_losses,
    describe_sample,
    format_choice,
    format_sample_size,
    style_metrics,
)

BY_METRIC = ("difference", "lower", "upper", "at_least", "at_most", "differing")
"""Numbers of a decision for each metric."""

MANY = 1_000_000
"""A larger number of queries is not stated in sentences. It is far less precise than its digits suggest."""

LISTED = 3
"""A sentence contains the bounds of so many metrics or segments."""


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
        if self.median is None:
            return ""
        return "more than a million" if self.median > MANY else format_range(self.median, self.upper)

    @property
    def approximate(self) -> str:
        """The range as an approximate number, or an empty text."""
        return f"about {self}" if self.median is not None and self.median <= MANY else str(self)


class Change(NamedTuple):
    """Change under one metric, on all queries or in a segment, next to its margin.

    Attributes
    ----------
    metric, segment : str
        Name of the metric, and of the segment, such as "device is tablet". Empty for all queries.
    queries : int
        Number of queries.
    least : int or None
        Least number of queries that can exclude a loss beyond the margin. None if there are enough differing queries,
        and for clusters of queries.
    shortage : str
        Sentence about too few queries, clusters or degrees of freedom for any bound, or an empty text.
    difference : float
        Mean of the candidate minus mean of the baseline in the unit of the metric.
    at_least, at_most : float
        One-sided bounds of the improvement, with the sign of losses reversed. The upper ones are simultaneous.
    margin : float
        Largest acceptable loss.
    """

    metric: str
    segment: str
    queries: int
    least: int | None
    difference: float
    at_least: float
    at_most: float
    margin: float
    shortage: str = ""

    @property
    def status(self) -> Literal["loss", "within", "open"]:
        """Whether a loss of more than the margin is shown, excluded, or neither."""
        return "loss" if self.at_most < -self.margin else "within" if self.at_least > -self.margin else "open"

    @property
    def excess(self) -> float:
        """Largest possible loss in units of the margin, or in the unit of the metric without a margin."""
        return -self.at_least / (self.margin or 1.0)


@dataclass(frozen=True)
class CandidateDecision:
    """Decision about one candidate.

    Attributes
    ----------
    candidate : str
        Name of the model.
    decision : {"ship", "do not ship", "undecided"}
        The decision by the bounds of this test. If an earlier look has decided, `BaselineComparison.decisions` has that
        decision, which counts.
    shown_losses, excessive_losses : tuple of str
        Metrics whose loss on all queries is shown, and metrics whose loss is shown to exceed the margin.
    difference, lower, upper : dict of metric name to float
        Mean of the candidate minus mean of the baseline in the unit of the metric, with the bounds of
        `Comparison.pairs`. They describe the differences and do not decide.
    at_least, at_most : dict of metric name to float
        One-sided bounds of the improvement under each metric: candidate − baseline, with the sign of losses reversed.
        The upper ones are simultaneous over metrics and segments.
    gain_at_least : dict of metric name to float
        Simultaneous lower bounds under the metrics of which one must improve.
    differing : dict of metric name to int
        Number of queries or clusters with another difference than the most frequent one, which is 0 unless more than
        90 % have it.
    shares : dict of metric name to dict of {"better", "worse", "same"} to float
        Shares of the queries, or of their weight.
    changes : tuple of Change
        Change under each metric on all queries, then in each segment. They decide, together with `gain_at_least`.
    queries_needed : NeededSize or None
        One test in a new experiment with this number of queries, and the same repeats, ships the candidate with 80 %
        probability. None if the decision is made, another look follows, or the sample promises no number.
    """

    candidate: str
    decision: Decision
    shown_losses: tuple[str, ...]
    excessive_losses: tuple[str, ...]
    difference: dict[str, float]
    lower: dict[str, float]
    upper: dict[str, float]
    at_least: dict[str, float]
    at_most: dict[str, float]
    gain_at_least: dict[str, float]
    differing: dict[str, int]
    shares: dict[str, dict[str, float]]
    changes: tuple[Change, ...]
    _estimate_needs: Callable[[], NeededSize] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def queries_needed(self) -> NeededSize | None:
        """The number of queries of a new experiment, computed at first use because the computation takes long."""
        return self._estimate_needs and self._estimate_needs()

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"queries_needed": self.queries_needed, "_estimate_needs": None}

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes as plain values for JSON. Infinite bounds become None."""
        content = {
            "decision": self.decision,
            "shown_losses": self.shown_losses,
            "excessive_losses": self.excessive_losses,
            "metrics": {
                metric: {name: getattr(self, name)[metric] for name in (*BY_METRIC, "shares")} for metric in self.shares
            },
            "gain_at_least": self.gain_at_least,
            "by_segment": [change._asdict() | {"status": change.status} for change in self.changes if change.segment],
            "queries_needed": self.queries_needed,
        }
        return dict(plain(content))

    @property
    def worst(self) -> Change:
        """The change with the largest possible loss in units of its margin, on all queries if several have it."""
        return max(self.changes, key=lambda change: change.excess)


@dataclass(frozen=True, repr=False)
class BaselineComparison(TextResult, Scope):
    """Decisions for all models whether to replace a baseline. `Comparison.against` creates it.

    With δ the true mean of the candidate minus that of the baseline under a metric (sign reversed for losses), on all
    queries and in each segment of `segments`, and Δ the margin of the metric:

    - *Ship* with ``require="no_loss"``: δ > −Δ under every metric is shown.
    - *Ship* with ``require="gain"``: in addition, δ > 0 on all queries under some metric of `gain` is shown. If the
      margin is 0, δ > 0 under every metric is shown.
    - *Do not ship*: δ < −Δ under some metric is shown.
    - *Undecided*: otherwise.

    Attributes
    ----------
    baseline : str
        Name of the baseline.
    metrics : tuple of str
        Metrics that decide, first those of which one must improve.
    margins : dict of metric name to float
        Largest acceptable losses, in the unit of the metric.
    shares : dict of metric name to str
        Margins that were passed as a share of the baseline's mean, such as "1%".
    gain : tuple of str
        Metrics of which one must improve. Empty with ``require="no_loss"``. The other metrics are guards.
    require : {"gain", "no_loss"}
        Condition for *ship*.
    level : float
        One-sided level of this test of each candidate.
    looks, earlier : tuple of int
        Planned numbers of queries, and numbers of queries of the looks before this one.
    history : tuple of dict
        Number of queries and decisions (by model) of each recorded test before this one.
    bounds : {"asymptotic", "betting"}
        Kind of the bounds that decide.
    size : int
        Number of queries that bounds by betting are tuned to: the last look, or the size of the first sample.
    order : str
        Hashes of the query ids in the order of betting, for later looks.
    segments : tuple of dict
        Segments of the queries: column, label, numbers of queries at the looks, and `size`. They are a record, too.
    shortage : str
        Sentence about why nothing can be decided, or an empty text.
    flags : tuple of Flag
        Candidates of TREC runs that retrieve more unjudged documents than the baseline.
    candidates : tuple of CandidateDecision
        One decision for each candidate, in natural order of their names.
    queries, clusters, repeats, vary, lower_is_better
        Sample of queries and repeats. See `Scope`.
    alpha, draws, seed : float, int, int
        Settings. See `Settings`.

    Notes
    -----
    With probability 1 − α or more, no decision about any candidate is wrong. Each candidate is tested at the one-sided
    level α / (2 · number of candidates). *No loss* is an intersection-union test: every metric must reject δ ≤ −Δ on
    all queries and in every segment, and the level is not corrected for their number. *Gain* uses the one-sided max-T
    over the metrics of `gain`, *do not ship* that over all metrics and segments. If two models differ on fewer than 30
    queries, a bound from the share of worse queries replaces the normal one. It can show *no loss*, but rarely a gain.
    Unless `bounds` is ``"betting"``, the bounds are asymptotic, for losses that the sample can show. The page
    "Decisions and plans" has the formulas.

    References
    ----------
    Berger (1982), "Multiparameter hypothesis testing and acceptance sampling", Technometrics 24(4).
    """

    baseline: str
    metrics: tuple[str, ...]
    margins: dict[str, float]
    shares: dict[str, str]
    gain: tuple[str, ...]
    require: Requirement
    level: float
    looks: tuple[int, ...]
    earlier: tuple[int, ...]
    history: tuple[dict[str, Any], ...]
    bounds: BoundKind
    size: int
    order: str
    segments: tuple[dict[str, Any], ...]
    shortage: str
    candidates: tuple[CandidateDecision, ...]
    alpha: float
    draws: int
    seed: int
    flags: tuple[Flag, ...] = ()

    @property
    def decisions(self) -> dict[str, Decision]:
        """Decision about each candidate: the first one that was made, at an earlier look or by these bounds."""
        return {candidate.candidate: candidate.decision for candidate in self.candidates} | self.earlier_decisions

    @property
    def earlier_decisions(self) -> dict[str, Decision]:
        """First decision about each candidate at an earlier look, or test by betting, if one was made."""
        first: dict[str, Decision] = {}
        for test in self.history if self.looks or self.bounds == "betting" else ():
            made = {name: decision for name, decision in test["decisions"].items() if decision != "undecided"}
            first = made | first
        return first

    @property
    def leading(self) -> tuple[str, ...]:
        """The metrics that charts and sentences show first: those of which one must improve, or the first two."""
        return self.gain or self.metrics[:2]

    @property
    def guards(self) -> tuple[str, ...]:
        """The metrics that must not lose and are not among the first ones."""
        return tuple(metric for metric in self.metrics if metric not in self.leading)

    @property
    def one_sided_confidence(self) -> str:
        """Confidence of each deciding bound, for example "97.5 %"."""
        return format_confidence(float(f"{self.level:.2g}"))

    def frame(self) -> pd.DataFrame:
        """Return one row per candidate.

        Columns are `decision`, `queries needed` and `queries needed upper`. For each metric M, they are `difference M`,
        `lower M`, `upper M`, the one-sided bounds `at least M` and `at most M` of the improvement, `margin M`,
        `differing M`, and the number of 1,000 queries that are better, worse and the same: `better M`, `worse M` and
        `same M`.
        """
        rows = []
        for candidate in self.candidates:
            row: dict[str, Any] = {"decision": self.decisions[candidate.candidate]}
            row["queries needed"], row["queries needed upper"] = candidate.queries_needed or (None, None)
            for metric in self.metrics:
                row |= {f"{name.replace('_', ' ')} {metric}": getattr(candidate, name)[metric] for name in BY_METRIC}
                row[f"margin {metric}"] = self.margins[metric]
                row |= {f"{name} {metric}": 1000 * share for name, share in candidate.shares[metric].items()}
            rows.append(row)
        table = pd.DataFrame(rows, index=pd.Index(list(self.decisions), name="candidate"))
        return table.astype({"queries needed": "Int64", "queries needed upper": "Int64"})

    def changes(self) -> pd.DataFrame:
        """Return one row per candidate, segment (empty for all queries) and metric, with the columns of `Change`.

        Its `status` is "within" if a loss beyond the margin is excluded, "loss" if one is shown, or "open".
        """
        rows = [
            {"candidate": candidate.candidate, **change._asdict(), "status": change.status}
            for candidate in self.candidates
            for change in candidate.changes
        ]
        return pd.DataFrame(rows).astype({"least": "Int64"})

    def sentence(self, candidate: str) -> str:
        """Return the decision about one candidate, its reason and the bounds that decide."""
        chosen = self.find_candidate(candidate)
        remarks = "".join(f" {flag}" for flag in self.flags if candidate in flag.models)
        return printable(f"{self._describe(chosen)}{self.describe_next_step(chosen)}{remarks}")

    def find_candidate(self, candidate: str) -> CandidateDecision:
        """Return the decision about one candidate."""
        validate_model(candidate, self.decisions)
        return next(decision for decision in self.candidates if decision.candidate == candidate)

    @property
    def text(self) -> str:
        """One paragraph with the numbers."""
        parts = []
        for candidate in self.candidates:
            changes = [
                f"{metric} changes by {as_text(self.format_change(candidate, metric))}" for metric in self.metrics
            ]
            parts.append(f"{self._describe(candidate)} {join_names(changes)}.{self.describe_needs(candidate)}")
        if "undecided" in self.decisions.values():
            parts.append(self._describe_further_tests())
        parts.append(self.describe_margins())
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
        parts += [*describe_losses(self.lower_is_better), describe_sample(self, self.bounds)]
        return printable(" ".join(parts))

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes and `text` as plain values for JSON. The result is a record for a later look."""
        content: dict[str, Any] = plain({name: value for name, value in vars(self).items() if name != "candidates"})
        candidates = {candidate.candidate: candidate.to_dict() for candidate in self.candidates}
        return content | {"candidates": candidates, "text": self.text}

    def describe_margins(self) -> str:
        """Return the accepted losses, and which metrics must improve if others are guards."""
        margins = set(self.margins.values())
        if len(margins) == 1 and not self.shares:
            (margin,) = margins
            text = f"{f'A loss below {format_exact(margin)}' if margin else 'No loss'} is accepted."
        else:
            parts = []
            for metric in self.metrics:
                share = f", {self.shares[metric]} of the mean of {self.baseline}" if metric in self.shares else ""
                parts.append(f"{self.format_margin(metric)} ({metric}{share})")
            text = f"Smaller losses are accepted: {join_names(parts, len(parts))}."
        if self.guards and self.gain:
            text += f" {join_names(self.gain, word='or')} must improve."
        return text

    def describe_bounds(self, candidate: CandidateDecision) -> str:
        """Return the bounds of the improvement under each metric that decide."""
        changes = [change for change in self.list_changes(candidate) if not change.segment]
        names, texts = {label.name: label.long for label in label_metrics(self.leading)}, []
        for change in changes:
            bounds = (("at least", change.at_least, False), ("at most", change.at_most, True))
            ends = [
                f"{side} {format_bound(bound, up, change.margin)}" for side, bound, up in bounds if math.isfinite(bound)
            ]
            under = f" under {names.get(change.metric, change.metric)}" if len(changes) > 1 else ""
            texts.append(f"{' and '.join(ends) or 'not bounded'}{under}")
        return f"the improvement is {', '.join(texts)}"

    def describe_crossed(self, candidate: CandidateDecision) -> str:
        """Return a sentence about bounds that exclude each other after a blank, or an empty text.

        Bounds by betting are the best ones of all times, so those of a mean that changes may cross.
        """
        crossed = dict.fromkeys(change.metric for change in candidate.changes if change.at_least > change.at_most)
        if not crossed:
            return ""
        return (
            f" The bounds under {join_names(list(crossed))} exclude each other. A random sample rarely has such "
            "bounds, so later queries may differ from earlier ones."
        )

    def list_changes(self, candidate: CandidateDecision) -> list[Change]:
        """Return the changes that decide, without the second of the first two metrics if both have the same values."""
        leading, tables = self.leading, (self.margins, candidate.difference, candidate.at_least, candidate.at_most)
        merged = len(leading) == 2 and all(
            math.isclose(*(table[metric] for metric in leading), rel_tol=1e-12, abs_tol=1e-15) for table in tables
        )
        return [change for change in candidate.changes if not (merged and change.metric == leading[1])]

    def format_change(self, candidate: CandidateDecision, metric: str, style: str = "") -> str:
        """Return a difference in a style, with its interval if it has bounds."""
        ends = (candidate.lower[metric], candidate.upper[metric])
        interval = f" ({format_interval(*ends, self.margins[metric])})" if all(map(math.isfinite, ends)) else ""
        return f"{styled(style, format_difference(candidate.difference[metric]))}{interval}"

    def format_margin(self, metric: str) -> str:
        """Return a margin, rounded if it was passed as a share of the baseline's mean."""
        margin = self.margins[metric]
        return format_exact(float(f"{margin:.4g}") if metric in self.shares else margin)

    @property
    def labels(self) -> dict[str, str]:
        """Short names of the metrics."""
        return {metric: metric for metric in self.metrics} | {
            label.name: label.short for label in label_metrics(self.leading)
        }

    def _describe(self, candidate: CandidateDecision) -> str:
        names = {name: name for name in (self.baseline, candidate.candidate)}
        bounds = self.describe_bounds(candidate)
        level = f"one-sided, {self.one_sided_confidence} each, {format_sample_size(self.queries, self.clusters)}"
        text = as_text(format_decision(self, candidate, names)).removeprefix("★ ")
        text += f" {bounds[0].upper()}{bounds[1:]} ({level})."
        text += self.describe_crossed(candidate)
        if candidate.shown_losses and candidate.decision != "do not ship":
            text += f" A loss within the margin is shown under {join_names(candidate.shown_losses)}."
        few = [metric for metric in self.metrics if candidate.differing[metric] < MIN_QUERIES]
        is_bounded = all(map(math.isfinite, candidate.at_least.values()))
        if few and is_bounded and not self.shortage and self.bounds == "asymptotic":
            text += f" Fewer than {MIN_QUERIES} queries differ under {join_names(few)}, so their share bounds the loss."
        return text + self.describe_repeated_tests()

    def describe_repeated_tests(self) -> str:
        """Return the error probability after a blank from the third test without a plan on, or an empty text."""
        tests = len(self.history) + 1
        if tests < 3 or self.looks or self.bounds == "betting":
            return ""
        return (
            f" These queries, or a part of them, have decided {tests} times without a plan: at least one false "
            f"ship has a probability of up to {100 * tests * self.alpha / 2:.1f} %."
        )

    def describe_next_step(self, candidate: CandidateDecision) -> str:
        """Return sentences about further evidence, for an undecided candidate."""
        if self.decisions[candidate.candidate] != "undecided":
            return ""
        return f"{self.describe_needs(candidate)} {self._describe_further_tests()}"

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
        if self.shortage:
            return "Such a sample decides nothing, so a test with more queries does not raise the error rate."
        twice, fivefold = (f"{100 * (1 - (1 - self.alpha / 2) ** tests):.1f} %" for tests in (2, 5))
        return (
            "Every further test on new queries can err again: the probability of a false ship is up to "
            f"{twice} in two tests and up to {fivefold} in five. To test repeatedly, plan the looks in advance."
        )

    def describe_needs(self, candidate: CandidateDecision) -> str:
        """Return how many queries a new experiment needs, for an undecided candidate without a further look."""
        if (
            self.decisions[candidate.candidate] != "undecided"
            or self.bounds == "betting"
            or self.shortage
            or self._next_look is not None
        ):
            return ""
        needs = " This sample does not promise any number of queries that would suffice to ship."
        if (needed := candidate.queries_needed) and (size := needed.approximate):
            needs = f" To ship with 80 % probability, a new experiment with one test needs {size} queries"
            needs += " (sufficient with 50 % and with 80 % confidence)." if " to " in size else "."
        if any(self.repeats.values()):
            needs += " More repeats may help, too: see Comparison.plan."
        if self.gain and candidate.worst.status == "within":
            needs += " To accept candidates that are not worse, pass require='no_loss' (--require no-loss)."
        return needs


def rank_candidates(result: BaselineComparison) -> tuple[CandidateDecision, ...]:
    """Return the candidates, the likeliest to be shipped first: by decision, then by their worst lower bound."""
    order, decisions = get_args(Decision), result.decisions
    return tuple(
        sorted(result.candidates, key=lambda item: (order.index(decisions[item.candidate]), item.worst.excess))
    )


def describe_replacement(result: BaselineComparison, names: Mapping[str, str]) -> tuple[str, str, str]:
    """Return the question whether to replace the baseline, the answer, and the advice."""
    first, total = rank_candidates(result)[0], len(result.candidates)
    old, new = styled("n", names[result.baseline]), styled("n", names[first.candidate])
    by = new if total == 1 else f"one of {total} candidates"
    size = format_sample_size(result.queries, result.clusters)
    limits = [pluralize(len(part), thing) for part, thing in ((result.guards, "guard"), (result.segments, "segment"))]
    others = [text for text in limits if not text.startswith("0 ")]
    question = f"Replace {old} by {by}? {', '.join([size, style_metrics(result.leading), *others])}."
    return question, format_decision(result, first, names), _format_advice(result, first, names)


def format_decision(result: BaselineComparison, candidate: CandidateDecision, names: Mapping[str, str]) -> str:
    """Return the decision about a candidate with the bounds that decide, or the one of an earlier look."""
    if earlier := result.earlier_decisions.get(candidate.candidate):
        new = styled("b n", names[candidate.candidate])
        return f"An earlier look has decided: {earlier} {new}. The first decision counts."
    return _Sentence(result, candidate, names[candidate.candidate], styled("n", names[result.baseline])).format()


@dataclass(frozen=True)
class _Sentence:
    """Parts of the sentence about a candidate. Two metrics with the same values are one."""

    result: BaselineComparison
    candidate: CandidateDecision
    name: str
    old: str

    @cached_property
    def changes(self) -> list[Change]:
        """The changes that decide."""
        return self.result.list_changes(self.candidate)

    @property
    def measure(self) -> str:
        """The measure that the first two metrics are variants of, or an empty text."""
        return label_metrics(self.result.leading)[0].measure

    @property
    def whole(self) -> list[Change]:
        """The changes on all queries."""
        return [change for change in self.changes if not change.segment]

    @cached_property
    def margin(self) -> float | None:
        """The common margin of all metrics, or None if they differ."""
        first, *others = dict.fromkeys(self.result.margins.values())
        return None if others else first

    def format(self) -> str:
        """Return the sentence."""
        name = styled("b n", self.name)
        if self.candidate.decision == "do not ship":
            losses = [change for change in self.changes if change.status == "loss"]
            sizes = self._list_bounds(losses, [-change.at_most for change in losses])
            excess = f", more than the margin of {format_exact(self.margin)}" if self.margin else ""
            return f"Do not ship {name}: it loses at least {sizes}{excess}."
        unbounded = next((change for change in self.changes if not math.isfinite(change.at_least)), None)
        if unbounded is not None:
            under = f" under {unbounded.metric}" if self.result.guards else ""
            subject = f"the loss of {name}{under}{self._name_place(unbounded)}"
            return f"Undecided: {subject} has no bound.{self._describe_shortage(unbounded)}"
        if self.candidate.decision == "ship":
            return self._format_ship()
        worst = max(self.changes, key=lambda change: change.excess)
        if worst.status == "within":
            gains = [change for change in self.whole if change.metric in self.result.leading]
            jointly = " by bounds that are valid for all metrics together" if max(c.at_least for c in gains) > 0 else ""
            return f"Undecided: {name} is {self._describe_worst(worst)}, but no gain is shown{jointly}."
        tolerated = f" (margin {self.result.format_margin(worst.metric)})" if worst.margin else ""
        size = round_bound(-worst.at_least, up=True, limit=worst.margin)
        loss = f"{size}{self._name_measure(worst)}{self._name_place(worst)}"
        return f"Undecided: {name} may lose up to {loss}{tolerated}.{self._describe_shortage(worst) or self._need}"

    def _format_ship(self) -> str:
        choice, leading = format_choice("Ship", self.name), self.result.leading
        gains = [change for change in self.whole if change.at_least > 0 and change.metric in leading]
        if not gains:
            worst = max(self.changes, key=lambda change: change.excess)
            return f"{choice}: {self._describe_worst(worst)}."
        subject = self.measure or (gains[0].metric if len(gains) == 1 else "the result")
        rises, falls = ("improves", "worsens") if self.result.lower_is_better else ("rises", "falls")
        sizes = round_bound(gains[0].at_least, up=False, limit=gains[0].margin)
        if len(gains) > 1 or (self.measure and len({change.metric for change in self.changes}) > 1):
            sizes = self._list_bounds(gains, [change.at_least for change in gains])
        clauses, margins = [f"{subject} {rises} by at least {sizes}"], []
        for change in self.whole:
            if change.at_least <= 0 and change.metric in leading:
                bound = f"{falls} by at most {round_bound(-change.at_least, up=True, limit=change.margin)}"
                label = self.result.labels[change.metric]
                clauses.append(f"{bound} ({label})" if self.measure else f"{label} {bound}")
                margins.append(self.result.format_margin(change.metric))
        text = f"{choice} instead of {self.old}: {join_names(clauses, len(clauses))}"
        text += f", within the margin of {join_names(list(dict.fromkeys(margins)))}" if margins else ""
        return f"{text}{self._describe_guards()}."

    def _describe_guards(self) -> str:
        """Return the guards, and the segments, of a candidate that ships."""
        guards = [change for change in self.whole if change.metric in self.result.guards]
        texts = []
        for change in guards if len(guards) <= LISTED else ():
            worse = (
                f"at most {round_bound(-change.at_least, True, change.margin)} worse"
                if change.at_least < 0
                else "not worse"
            )
            texts.append(f"{change.metric} {worse} (margin {self.result.format_margin(change.metric)})")
        if len(guards) > LISTED:
            texts.append(f"{len(guards)} guards within their margins")
        if self.result.segments:
            texts.append("every segment within the margin of each metric")
        return f", with {join_names(texts)}" if texts else ""

    def _describe_worst(self, worst: Change) -> str:
        """Return how far the candidate may be behind. All losses are within their margins."""
        if worst.at_least >= 0:
            return f"not behind {self.old}"
        bound = round_bound(-worst.at_least, up=True, limit=worst.margin)
        text = f"at worst {bound}{self._name_measure(worst)} behind {self.old}{self._name_place(worst)}"
        if self.margin is not None:
            return f"{text}, within the margin of {format_exact(self.margin)}"
        return f"{text} (margin {self.result.format_margin(worst.metric)}), the largest loss relative to its margin"

    def _name_measure(self, change: Change) -> str:
        """Return the measure, or the metric if the others are different measures, after a blank."""
        if self.measure and change.metric in self.result.leading:
            return f" {self.measure}"
        several = len({change.metric for change in self.changes}) > 1
        return f" {change.metric}" if several else ""

    def _name_place(self, change: Change) -> str:
        """Return the segment after a blank, or an empty text for all queries."""
        return f" where {change.segment}" if change.segment else ""

    def _list_bounds(self, changes: Sequence[Change], sizes: Sequence[float]) -> str:
        """Return lower bounds, each with its metric, segment, and margin if there are several of these."""
        labels, texts = self.result.labels, []
        several = len({change.metric for change in self.changes}) > 1
        are_losses = self.candidate.decision == "do not ship"
        for change, size in zip(changes, sizes, strict=True):
            details = [labels[change.metric]] if several else []
            details += [change.segment] if change.segment else []
            if self.margin is None and are_losses:
                details.append(f"margin {self.result.format_margin(change.metric)}")
            bound = round_bound(size, up=False, limit=change.margin)
            texts.append(f"{bound} ({', '.join(details)})" if details else bound)
        return join_names(texts, LISTED)

    def _describe_shortage(self, change: Change) -> str:
        """Return why nothing is known about all queries or about a segment after a blank."""
        if not change.segment:
            reason = self.result.shortage
            if not (reason or math.isfinite(change.at_least)):
                missing = "" if any(self.result.repeats.values()) else f", by an {UNKNOWN_RANGE}"
                reason = f"Fewer than {MIN_QUERIES} queries differ under {change.metric}{missing}."
            return f" {reason}".rstrip()
        if change.least is None or change.queries >= change.least:
            few = "" if change.least is None else f"Fewer than {MIN_QUERIES} of its queries differ."
            return f" {change.shortage or few}".rstrip()
        return f" It has {pluralize(change.queries, 'query')}, and needs {change.least:,} or more."

    @property
    def _need(self) -> str:
        """The number of queries of a new test after a blank, or an empty text."""
        needed = self.candidate.queries_needed
        if needed is None or needed.median is None:
            return ""
        size = needed._replace(upper=needed.median).approximate
        return f" A new test needs {size} queries, if the difference is as it looks."


def _format_advice(result: BaselineComparison, first: CandidateDecision, names: Mapping[str, str]) -> str:
    labels, decided = label_metrics(result.leading), {change.metric for change in result.list_changes(first)}
    shown = [label for label in labels if label.name in decided]  # one of two metrics with the same values
    changes = [
        result.format_change(first, label.name, style) + (f" under {label.long}" if len(shown) == len(labels) else "")
        for label, style in zip(shown, "le", strict=False)
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
    return f"{text}{result.describe_crossed(first)}{result.describe_next_step(first)}"


def validate_baseline(baseline: str, models: Sequence[str]) -> None:
    """Raise `ValueError` unless the baseline is one of several models."""
    validate_choice("baseline", baseline, list(models))
    if len(models) < 2:
        raise ValueError(f"baseline {baseline!r} is the only model, so there is no candidate. Pass another model.")


def compare_with_baseline(
    sample: Sample,
    family: Family,
    baseline: str,
    *,
    require: Requirement = "gain",
    labels: Labels | None = None,
    looks: Sequence[int] | None = None,
    earlier: Mapping[str, Any] | str | PathLike[str] | None = None,
    bounds: BoundKind | None = None,
) -> BaselineComparison:
    """Decide about all models whether to replace the baseline. See `Comparison.against`.

    `labels` are those of segments, and `bounds` are by default those of the sample.
    """
    bounds = sample.bounds if bounds is None else validate_bounds(bounds)
    joint = sample.joint(tuple(family.margins))
    panel = joint.panel
    validate_baseline(baseline, panel.models)
    b = panel.models.index(baseline)
    means = {m: float(panel.in_unit(m, joint.estimated.mean[row, b])) for row, m in enumerate(panel.metrics)}
    record = None if earlier is None else read_record(earlier)
    continued = record if record and is_repeatable(record) else {}
    margins, segments = resolve_margins(family.margins, baseline, means, continued), list_segments(labels or {})
    _validate_margins(sample, margins, require, bool(segments))
    candidates = [place for place in range(len(panel.models)) if place != b]
    settings = {
        "baseline": baseline, "candidates": [panel.models[c] for c in candidates], "metrics": list(panel.metrics),
        "shares": family.shares, "margins": margins, "require": require, "gain": list(family.gain),
        "alpha": sample.alpha, "repeats": panel.evidence["repeats"], "bounds": bounds,
        "segments": [name_segment(*name) for name in segments],
    }  # fmt: skip
    planned, previous = read_looks(looks, record, panel.queries, settings)
    places, order, size = None, "", 0
    if bounds == "betting":
        places, order, size = _order_for_betting(sample, panel, planned, continued)
    level = sample.alpha / 2 / len(candidates)
    gate = Gate(margins, len(family.gain), level, panel.queries, 1 + len(segments), planned, previous, continued)
    whole = Part(gate, panel, joint.estimated, (*previous, panel.queries), places, size)
    parts = (whole, *build_segments(whole, sample, labels or {}))
    intervals, history = joint.bootstrap.bound_pairs(sample.alpha), record["history"] if record else ()
    return BaselineComparison(
        baseline=baseline,
        metrics=panel.metrics,
        margins=margins,
        shares=family.shares,
        gain=family.gain,
        require=require,
        level=whole.find_level(),
        looks=planned,
        earlier=previous,
        history=tuple(test for test in history if test["queries"] < panel.queries or not continued),
        bounds=bounds,
        size=size,
        order=order,
        segments=tuple(part.record for part in parts[1:]),
        shortage=joint.estimated.shortage if bounds == "asymptotic" else "",
        candidates=tuple(_decide(parts, b, c, intervals) for c in candidates),
        queries=panel.queries,
        alpha=sample.alpha,
        draws=sample.draws,
        seed=sample.seed,
        **panel.evidence,
    )


def _validate_margins(sample: Sample, margins: Mapping[str, float], require: Requirement, has_segments: bool) -> None:
    """Raise `ValueError` if a margin is too large for its metric, or 0 but needed."""
    for metric, width in margins.items():
        sample.validate_difference("margin", width, [metric])
        validate_requirement(require, width)
    if has_segments and not all(margins.values()):
        raise ValueError("margin must be above 0 for segments, got 0. Pass the largest acceptable loss.")


def _order_for_betting(
    sample: Sample, panel: Panel, planned: Sequence[int], record: Mapping[str, Any]
) -> tuple[Integers, str, int]:
    """Return the order of the queries for bounds by betting, its record, and the size that the bounds are tuned to."""
    validate_betting(panel, panel.metrics, sample.ranges)
    digests = sample.compute_digests(panel.metrics)
    places = order_queries(digests, record.get("order", ""))
    size = record.get("size") or (planned[-1] if planned else panel.queries)
    return places, "".join(digests[place] for place in places), size


def _decide(parts: Sequence[Part], b: int, c: int, intervals: Floats) -> CandidateDecision:
    """Decide about model c instead of model b."""
    whole, gate = parts[0], parts[0].gate
    panel, pair, margins = whole.panel, whole.bounds.select(b, c), np.array(list(gate.margins.values()))
    bounds = [part.bound(b, c) for part in parts]
    decision = apply_rule(bounds, margins, gate.gains > 0)
    metrics, (at_least, at_most, gain) = panel.metrics, bounds[0]
    # If the models are equal on every query, they may be so on all further ones, which then bound no loss either.
    can_plan = decision == "undecided" and not (np.isinf(at_least) & (pair.below + pair.above == 0)).any()
    can_plan = can_plan and whole.places is None and (not gate.looks or gate.queries >= gate.looks[-1])
    can_plan = can_plan and all(part.decides for part in parts)
    difference = np.array([panel.in_unit(*row) for row in zip(metrics, pair.difference, strict=True)])
    ends = zip(metrics, intervals[:, b, c], -intervals[:, c, b], strict=True)
    first, second = np.transpose([(panel.in_unit(name, one), panel.in_unit(name, other)) for name, one, other in ends])
    assert whole.estimated is not None
    widths = whole.estimated.widths
    lowest, highest = clip_intervals(difference, first, second, -widths, widths)

    def by_metric(numbers: Any) -> dict[str, Any]:
        return dict(zip(metrics, numbers.tolist(), strict=False))

    return CandidateDecision(
        candidate=panel.models[c],
        decision=decision,
        shown_losses=tuple(compress(metrics, at_most < 0)),
        excessive_losses=tuple(compress(metrics, at_most < -margins)),
        difference=by_metric(difference),
        lower=by_metric(lowest),
        upper=by_metric(highest),
        at_least=by_metric(at_least),
        at_most=by_metric(at_most),
        gain_at_least=by_metric(gain),
        differing=by_metric(pair.below + pair.above),
        shares={metric: compute_shares(panel, row, b, c) for row, metric in enumerate(metrics)},
        changes=tuple(
            change for part, own in zip(parts, bounds, strict=True) for change in _list_changes(part, own, b, c)
        ),
        _estimate_needs=partial(_estimate_needs, parts, b, c, margins) if can_plan else None,
    )


def _list_changes(part: Part, bounds: OneSided, b: int, c: int) -> Iterator[Change]:
    """Yield the changes under all metrics on all queries, or in a segment."""
    panel = part.panel
    pair = part.bounds.select(b, c) if panel.queries else None
    for row, (metric, margin) in enumerate(part.gate.margins.items()):
        least, difference = MIN_QUERIES, math.nan
        if pair is not None:
            difference = float(panel.in_unit(metric, pair.difference[row]))
            own = pair.take(slice(row, row + 1))
            least = find_size_without_losses(own, part.find_level(), np.array([margin])) or MIN_QUERIES
        has_least = part.places is None and panel.clusters is None and (pair is None or bool(pair.is_rare[row]))
        yield Change(
            metric,
            part.name,
            panel.queries,
            least if has_least else None,
            difference,
            float(bounds.at_least[row]),
            float(bounds.at_most[row]),
            margin,
            part.shortage,
        )


def apply_rule(bounds: Sequence[OneSided], margins: Floats, needs_gain: bool) -> Decision:
    """Return the decision for the bounds of candidate − baseline on all queries and in segments.

    >>> bounds = OneSided(np.array([-0.0011, -0.0009]), np.array([0.0009, 0.01]), np.array([-0.0005]))
    >>> [apply_rule([bounds], np.array([0.01, 0.001]), needs_gain) for needs_gain in (True, False)]
    ['undecided', 'ship']
    """
    gains = not needs_gain or not margins.all() or bool((bounds[0].gain > 0).any())
    if gains and all((part.at_least > -margins).all() for part in bounds):
        return "ship"
    return "do not ship" if any((part.at_most < -margins).any() for part in bounds) else "undecided"


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


def _estimate_needs(parts: Sequence[Part], b: int, c: int, margins: Floats) -> NeededSize:
    """Return the number of queries that one test in a new experiment needs to ship.

    The true differences are assumed to be the estimated ones, less z standard errors, with z = 0 for 50 % and 0.84 for
    80 % confidence. The share of differing queries is the quantile of its Jeffreys interval. Segments keep their shares
    of the queries, and reduce the probability by those that they reject the candidate.
    """
    gate = parts[0].gate
    pairs = [part.bounds.select(b, c) for part in parts]
    errors = [part.find_errors(b, c) for part in parts]
    if not gate.gains:
        sizes = [(find_size_without_losses(pair, gate.level, margins), pair.units) for pair in pairs]
        factors = [size / units for size, units in sizes if size is not None]
        if len(factors) == len(pairs):
            number = math.ceil(max(factors) * gate.queries - 1e-9)
            return NeededSize(number, number)

    def find_size(confidence: float) -> int | None:
        lower = NormalDist().inv_cdf(confidence)
        differences = [pair.difference - lower * error.error for pair, error in zip(pairs, errors, strict=True)]

        def is_sufficient(more: float) -> bool:
            chances = [
                compute_ship_probability(error.scale(more), difference, gate.level, margins, 0 if place else gate.gains)
                for place, (error, difference) in enumerate(zip(errors, differences, strict=True))
            ]
            return sum(chances) - (len(chances) - 1) >= POWER

        least = max(1.0, *(find_support_factor(pair, confidence, POWER) for pair in pairs))
        factor = find_least(is_sufficient, least, MAX_QUERIES / gate.queries)
        return None if factor is None else math.ceil(gate.queries * factor)

    return NeededSize(find_size(0.5), find_size(0.8))
