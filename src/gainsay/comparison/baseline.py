"""Decisions about candidates for the place of a baseline, with simultaneous confidence bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from .._common.notebook import table_cell
from .._common.shown import Spoken, plain
from .._common.typing import Bools, Floats
from .._common.words import amount, confidence, count, listed
from .data import Panel, validate_margin
from .estimates import ROUNDING
from .inference import MIN_QUERIES, POWER
from .rankings import validate_model
from .resampling import critical_value
from .wording import describe_losses, describe_sample, format_sample_size

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    from .data import Vary
    from .resampling import JointEstimate, Sample

Decision: TypeAlias = Literal["ship", "do not ship", "undecided"]

MAX_QUERIES = 1e9
"""Decisions that require more queries are out of reach."""

MAX_REPEATS = 1000
"""Decisions that require more repeats are out of reach."""

RECIPE_DRAWS = 4000
"""Draws for recipes, whose critical value is computed again for each number of queries and repeats."""


class Share(NamedTuple):
    """Share of all queries, with its confidence bounds."""

    value: float
    lower: float
    upper: float

    def __str__(self) -> str:
        """Return the share as a number of 1,000 queries, with its bounds."""
        return f"{1000 * self.value:.0f} ({1000 * self.lower:.0f} to {1000 * self.upper:.0f})"


@dataclass(frozen=True)
class CandidateDecision:
    """Decision about one candidate.

    Attributes
    ----------
    candidate : str
        Name of the model.
    decision : {"ship", "do not ship", "undecided"}
        The decision.
    difference, lower, upper : dict of metric name to float
        Mean of the candidate minus mean of the baseline in the unit of the metric, and its bounds. Infinite (or the
        range of the metric) if the two differ on fewer than 30 queries.
    differing : dict of metric name to float
        Number of queries on which the two differ, or their effective number if queries are weighted.
    shares : dict of metric name to dict of {"better", "worse", "same"} to Share
        Shares of the queries, or of their weight.
    queries_needed, repeats_needed : int or None
        Number of queries, and number of repeats of either recipe, that decide with 80 % probability if the true
        differences are the estimated ones. None if the decision is made, or no number is sufficient.
    """

    candidate: str
    decision: Decision
    difference: dict[str, float]
    lower: dict[str, float]
    upper: dict[str, float]
    differing: dict[str, float]
    shares: dict[str, dict[str, Share]]
    queries_needed: int | None = None
    repeats_needed: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes as plain values for JSON. Infinite bounds become None."""
        return {
            "decision": self.decision,
            "metrics": {
                metric: {
                    "difference": difference,
                    "lower": plain(self.lower[metric]),
                    "upper": plain(self.upper[metric]),
                    "differing": self.differing[metric],
                    "shares": {name: share._asdict() for name, share in self.shares[metric].items()},
                }
                for metric, difference in self.difference.items()
            },
            "queries_needed": self.queries_needed,
            "repeats_needed": self.repeats_needed,
        }

    def format_difference(self, metric: str) -> str:
        """Return the difference with its bounds."""
        difference = format_change(self.difference[metric])
        if self.differing[metric] < MIN_QUERIES:
            return f"{difference} (no bounds, because the models differ on fewer than {MIN_QUERIES} queries)"
        return f"{difference} ({format_change(self.lower[metric])} to {format_change(self.upper[metric])})"


@dataclass(frozen=True, repr=False)
class BaselineComparison(Spoken):
    """Decisions for all models whether to replace a baseline. `Comparison.against` creates it.

    *Ship*: every lower bound of candidate − baseline is above −`margin`, and at least one is above 0. *Do not ship*:
    some upper bound is below −`margin`. Otherwise *undecided*. For a loss, the signs are reversed.

    The bounds of all candidates and metrics are simultaneous (max-T), so with probability 1 − `alpha` no decision is
    wrong. A metric under which two models differ on fewer than 30 queries does not decide about them. The intervals of
    the three shares of a candidate under a metric are simultaneous (Goodman 1965).

    Attributes
    ----------
    baseline : str
        Name of the baseline.
    metrics : tuple of str
        Metrics that decide.
    lower_is_better : tuple of str
        The metrics for which lower values are better.
    queries : int
        Number of queries on which all `metrics` are defined.
    alpha, margin, draws, seed : float, float, int, int
        Settings.
    repeats : dict of model to int
        Number of repeats of each recipe, 0 for a fixed model. Empty if all models are fixed.
    clusters : int or None
        Number of clusters of queries. None if queries are independent.
    vary : {"seed", "queries"} or None
        What differs between repeats.
    candidates : tuple of CandidateDecision
        One decision for each candidate, in natural order of their names.
    """

    baseline: str
    metrics: tuple[str, ...]
    lower_is_better: tuple[str, ...]
    queries: int
    alpha: float
    margin: float
    draws: int
    seed: int
    repeats: dict[str, int]
    clusters: int | None
    vary: Vary | None
    candidates: tuple[CandidateDecision, ...]

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the baseline and all candidates."""
        return (self.baseline, *(it.candidate for it in self.candidates))

    @property
    def decisions(self) -> dict[str, Decision]:
        """Decision about each candidate."""
        return {it.candidate: it.decision for it in self.candidates}

    def has_same_numbers(self, other: BaselineComparison) -> bool:
        """Return whether all numbers are equal, except for the numbers of queries and repeats needed."""
        first, second = (
            replace(it, candidates=tuple(replace(c, queries_needed=None, repeats_needed=None) for c in it.candidates))
            for it in (self, other)
        )
        return first == second

    def frame(self) -> pd.DataFrame:
        """Return one row per candidate.

        Columns are `decision`, `queries needed` and `repeats needed`. For each metric M, they are `difference M`,
        `lower M`, `upper M`, `differing M`, and the number of 1,000 queries that are better, worse and the same:
        `better M`, `better lower M`, `better upper M`, and so on.
        """
        import pandas as pd

        columns: dict[str, Any] = {
            "decision": [it.decision for it in self.candidates],
            "queries needed": pd.array([it.queries_needed for it in self.candidates], dtype="Int64"),
            "repeats needed": pd.array([it.repeats_needed for it in self.candidates], dtype="Int64"),
        }
        for metric in self.metrics:
            for name in ("difference", "lower", "upper", "differing"):
                columns[f"{name} {metric}"] = [getattr(it, name)[metric] for it in self.candidates]
            for name in ("better", "worse", "same"):
                for end, title in (("value", ""), ("lower", " lower"), ("upper", " upper")):
                    shares = [1000 * getattr(it.shares[metric][name], end) for it in self.candidates]
                    columns[f"{name}{title} {metric}"] = shares
        return pd.DataFrame(columns, index=pd.Index([it.candidate for it in self.candidates], name="candidate"))

    def sentence(self, candidate: str) -> str:
        """Return the decision about one candidate and its reason in one sentence."""
        validate_model(candidate, self.decisions)
        return self._describe(next(it for it in self.candidates if it.candidate == candidate))

    @property
    def text(self) -> str:
        """One paragraph with the numbers."""
        accepted = f"A loss of up to {amount(self.margin)} is accepted." if self.margin > 0 else "No loss is accepted."
        bounds = "Bounds of differences are simultaneous. Bounds of shares are, for each candidate and metric."
        about = [f"{self._describe(it)} {self._describe_shares(it)}" for it in self.candidates]
        return " ".join([*about, accepted, bounds, *describe_losses(self.lower_is_better), describe_sample(self)])

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes and `text` as plain values for JSON."""
        content: dict[str, Any] = plain({name: value for name, value in vars(self).items() if name != "candidates"})
        candidates = {it.candidate: it.to_dict() for it in self.candidates}
        return content | {"candidates": candidates, "text": self.text}

    def _repr_html_(self) -> str:
        rows = [
            (it.candidate, it.decision, *(it.format_difference(metric) for metric in self.metrics))
            for it in self.candidates
        ]
        size = f"{count(self.queries, 'query')}. Differences have simultaneous {confidence(self.alpha)} bounds."
        return table_cell(f"Against {self.baseline}", ("candidate", "decision", *self.metrics), rows, size)

    def _describe(self, it: CandidateDecision) -> str:
        changes = listed([f"{metric} changes by {it.format_difference(metric)}" for metric in self.metrics])
        heads = {"ship": "Ship", "do not ship": "Do not ship", "undecided": "Undecided about"}
        size = f"{format_sample_size(self)}, {confidence(self.alpha)} confidence"
        decision = f"{heads[it.decision]} {it.candidate}: against {self.baseline} {changes} ({size})."
        return decision + self._describe_reason(it)

    def _describe_shares(self, it: CandidateDecision) -> str:
        parts = [
            f"{metric} is better on {shares['better']}, worse on {shares['worse']} and the same on {shares['same']}"
            for metric, shares in it.shares.items()
        ]
        return f"Of 1,000 queries, {listed(parts)}."

    def _describe_reason(self, it: CandidateDecision) -> str:
        """Return a sentence about an accepted or excessive loss, or about the evidence that would decide."""
        if it.decision == "ship":
            sure = all(it.upper[m] < 0 if m in self.lower_is_better else it.lower[m] > 0 for m in self.metrics)
            return "" if sure else f" A loss is possible, but within the accepted {amount(self.margin)}."
        if it.decision == "do not ship":
            return f" The loss exceeds the accepted {amount(self.margin)}." if self.margin > 0 else ""
        ways = []
        if it.queries_needed is not None:
            ways.append(f"about {count(it.queries_needed, 'query')}")
        if it.repeats_needed is not None:
            ways.append(f"about {count(it.repeats_needed, 'repeat')} of each recipe on these queries")
        if not ways:
            evidence = "neither more queries nor more repeats alone" if self.repeats else "no number of queries"
            return f" If the true differences are these, {evidence} will decide."
        return f" If the true differences are these, {' or '.join(ways)} will decide with 80 % probability."


def format_change(value: float) -> str:
    """Return a change with its sign.

    >>> format_change(0.0123), format_change(-0.002), format_change(0.0)
    ('+0.0123', '−0.0020', '0')
    """
    return f"{'+' if value > 0 else '−' if value < 0 else ''}{amount(abs(value))}"


def validate_baseline(baseline: str, models: Sequence[str]) -> None:
    """Raise `ValueError` unless the baseline is one of several models."""
    validate_model(baseline, models)
    if len(models) < 2:
        raise ValueError(f"baseline {baseline!r} is the only model, so there is no candidate. Pass another model.")


def compare_with_baseline(
    sample: Sample, metrics: tuple[str, ...], baseline: str, margin: float, *, plan: bool = True
) -> BaselineComparison:
    """Decide about all models whether to replace the baseline.

    Without `plan`, the numbers of queries and repeats that would decide are not computed.
    """
    width = validate_margin(margin)
    joint = sample.joint(metrics)
    panel = joint.panel
    validate_baseline(baseline, panel.models)
    b = panel.models.index(baseline)
    candidates = [place for place in range(len(panel.models)) if place != b]
    largest = np.zeros(sample.draws)
    for c in candidates:
        for row in range(len(metrics)):
            np.maximum(largest, np.abs(joint.bootstrap.compute_t(row, b, c)), out=largest)
    critical = float(critical_value(largest, 1 - sample.alpha))
    return BaselineComparison(
        baseline=baseline,
        metrics=tuple(metrics),
        candidates=tuple(_decide(sample, joint, b, c, critical, width, plan) for c in candidates),
        queries=panel.queries,
        alpha=sample.alpha,
        margin=width,
        draws=sample.draws,
        seed=sample.seed,
        lower_is_better=tuple(metric for metric in metrics if metric in panel.lower_is_better),
        repeats=dict(zip(panel.models, panel.repeat_counts, strict=True)) if any(panel.repeat_counts) else {},
        clusters=None if panel.clusters is None else panel.units,
        vary=panel.vary,
    )


def _decide(
    sample: Sample, joint: JointEstimate, b: int, c: int, critical: float, margin: float, plan: bool
) -> CandidateDecision:
    panel, estimated = joint.panel, joint.estimated
    difference, error = estimated.difference[:, b, c], estimated.error[:, b, c]
    has_support = (estimated.support[:, b, c] >= MIN_QUERIES) & np.isfinite(error)
    half_width = critical * np.where(has_support, error, 0.0)
    lower = np.where(has_support, difference - half_width, -np.inf)
    upper = np.where(has_support, difference + half_width, np.inf)
    decision = apply_rule(lower, upper, margin)
    queries = repeats = None
    if plan and decision == "undecided":
        queries, repeats = _estimate_needs(sample, joint, b, c, critical, margin)
    bounds = {}
    for row, metric in enumerate(panel.metrics):
        low, high = sorted(float(panel.in_unit(metric, np.array(end))) for end in (lower[row], upper[row]))
        lowest, highest = sample.ranges[metric]
        bounds[metric] = max(low, lowest - highest), min(high, highest - lowest)
    rows = {metric: row for row, metric in enumerate(panel.metrics)}
    return CandidateDecision(
        candidate=panel.models[c],
        decision=decision,
        difference={metric: float(panel.in_unit(metric, difference[row])) for metric, row in rows.items()},
        lower={metric: low for metric, (low, _) in bounds.items()},
        upper={metric: high for metric, (_, high) in bounds.items()},
        differing={metric: float(estimated.support[row, b, c]) for metric, row in rows.items()},
        shares={metric: compute_shares(panel, row, b, c, sample.alpha) for metric, row in rows.items()},
        queries_needed=queries,
        repeats_needed=repeats,
    )


def apply_rule(lower: Floats, upper: Floats, margin: float) -> Decision:
    """Return the decision for bounds of candidate − baseline by metric, where larger is better."""
    if _ships(lower, margin):
        return "ship"
    return "do not ship" if (upper < -margin).any() else "undecided"


def _ships(lower: Floats, margin: float) -> Bools:
    """Return whether to ship a candidate, for lower bounds by metric along the first axis, in one or many draws."""
    return np.asarray((lower > -margin).all(axis=0) & (lower > 0).any(axis=0))


def compute_shares(panel: Panel, row: int, baseline: int, candidate: int, alpha: float) -> dict[str, Share]:
    """Return the shares of the queries on which a candidate is better than a baseline, worse, and the same.

    Under weights, shares are of the weight, and the sample size is (Σw)²/Σw². For queries in clusters, it is that of
    the weights of the clusters, as if all queries of a cluster were copies. The three intervals are simultaneous.

    >>> panel = Panel(("m",), ("A", "B"), np.array([[[0.0, 0, 0, 1], [1, 1, 0, 0]]]), None)
    >>> {name: share.value for name, share in compute_shares(panel, 0, 0, 1, 0.05).items()}
    {'better': 0.5, 'worse': 0.25, 'same': 0.25}
    """
    values = panel.values[row]
    difference = values[candidate] - values[baseline]
    tolerance = ROUNDING * np.abs(values).max()
    weights = np.ones(panel.queries) if panel.weights is None else panel.weights
    units = weights if panel.clusters is None else np.bincount(panel.clusters, weights)
    masks = [difference > tolerance, difference < -tolerance, np.abs(difference) <= tolerance]
    shares = np.array([float(weights @ mask) for mask in masks]) / weights.sum()
    lower, upper = compute_goodman_bounds(shares, float(weights.sum() ** 2 / (units @ units)), alpha)
    names = ("better", "worse", "same")
    return {name: Share(*map(float, ends)) for name, *ends in zip(names, shares, lower, upper, strict=True)}


def compute_goodman_bounds(shares: Floats, size: float, alpha: float) -> tuple[Floats, Floats]:
    """Return simultaneous bounds of the shares of a multinomial sample: Wilson intervals, each at α over their number.

    References
    ----------
    Goodman (1965), "On simultaneous confidence intervals for multinomial proportions", Technometrics 7(2).
    """
    from scipy.special import chdtri

    squared = float(chdtri(1, alpha / len(shares)))
    half = np.sqrt(squared * (squared + 4 * size * shares * (1 - shares)))
    middle, width = squared + 2 * size * shares, 2 * (size + squared)
    return np.maximum(0.0, (middle - half) / width), np.minimum(1.0, (middle + half) / width)


def _estimate_needs(
    sample: Sample, joint: JointEstimate, b: int, c: int, critical: float, margin: float
) -> tuple[int | None, int | None]:
    """Return the numbers of queries and of repeats that decide, if the true differences are the estimated ones.

    The sample is drawn many times, with the error for so many queries or repeats, and each draw is decided.
    """
    panel, support = joint.panel, joint.estimated.support[:, b, c]
    if panel.units < 2 or not (support > 0).all():
        return None, None
    future = _FutureSamples(joint, b, c, sample.alpha, critical, sample.seed)
    repeats = future.repeats

    def chance(more_queries: float, more_repeats: float = 1.0) -> float:
        lower, upper = future.bounds(more_queries, more_repeats)
        return float((_ships(lower, margin) | (upper < -margin).any(axis=0)).mean())

    lowest = max(1.0, float((MIN_QUERIES / support).max()))
    factor = _find_least_factor(chance, lowest, MAX_QUERIES / panel.queries)
    queries_needed = None if factor is None else math.ceil(factor * panel.queries)
    if not repeats or lowest > 1:
        return queries_needed, None
    factor = _find_least_factor(lambda more: chance(1.0, more), 1.0, MAX_REPEATS / repeats)
    return queries_needed, None if factor is None else math.ceil(factor * repeats)


class _FutureSamples:
    """Bounds in new samples with more queries or more repeats, if the true differences are the estimated ones.

    The critical value of fixed models does not depend on the size of the sample. For recipes, it decreases because more
    repeats estimate their variance better, so it is computed again.
    """

    def __init__(self, joint: JointEstimate, b: int, c: int, alpha: float, critical: float, seed: int) -> None:
        estimated, values = joint.estimated, joint.bootstrap.values
        self.candidates = [place for place in range(len(joint.panel.models)) if place != b]
        self.b, self.c, self.alpha, self.critical, self.seed = b, c, alpha, critical, seed
        self.difference = estimated.difference[:, b, c][:, None]
        self.counts = np.array(joint.panel.repeat_counts)
        self.repeats = int(min((number for number in self.counts[[b, c]] if number), default=0))
        self.of_repeats = np.zeros_like(estimated.mean) if estimated.repeats is None else estimated.repeats.variance
        self.varies = bool(self.of_repeats.any())
        error = estimated.error[:, b]
        # More repeats are assumed not to reduce the variance over queries, which is conservative.
        self.of_queries = np.maximum(error**2 - self.of_repeats - self.of_repeats[:, [b]], 0.0)
        values = values[:, :, :RECIPE_DRAWS] if self.varies else values
        deviation = values - values[:, [b]]
        finite = (error > 0) & np.isfinite(error)
        self.z = np.divide(deviation, error[:, :, None], out=np.zeros_like(deviation), where=finite[:, :, None])

    def bounds(self, more_queries: float, more_repeats: float) -> tuple[Floats, Floats]:
        """Return the bounds of the candidate's difference in every sample, shape (metrics, samples) each."""
        generator = np.random.default_rng([self.seed, 1])
        of_queries, of_repeats = self.of_queries / more_queries, self.of_repeats / more_repeats
        error = np.sqrt(of_queries + of_repeats + of_repeats[:, [self.b]])[:, :, None]
        critical = self.critical
        if self.varies:
            estimated = self._draw_estimated_errors(of_queries, of_repeats, more_repeats, generator)
            t = np.abs(self.z) * np.divide(error, estimated, out=np.zeros_like(estimated), where=estimated > 0)
            critical = float(critical_value(t[:, self.candidates].max(axis=(0, 1)), 1 - self.alpha))
            half_width = (
                critical * self._draw_estimated_errors(of_queries, of_repeats, more_repeats, generator)[:, self.c]
            )
        else:
            half_width = critical * error[:, self.c]
        drawn = self.difference + error[:, self.c] * self.z[:, self.c]
        return drawn - half_width, drawn + half_width

    def _draw_estimated_errors(
        self, of_queries: Floats, of_repeats: Floats, more_repeats: float, generator: np.random.Generator
    ) -> Floats:
        """Return the errors that samples with so many repeats estimate, shape (metrics, M, samples)."""
        factor = np.ones((len(self.counts), self.z.shape[2]))
        for k in np.flatnonzero(self.counts):
            freedom = self.counts[k] * more_repeats - 1
            factor[k] = generator.chisquare(freedom, self.z.shape[2]) / freedom
        variance = of_repeats[:, :, None] * factor
        errors: Floats = np.sqrt(of_queries[:, :, None] + variance + variance[:, [self.b]])
        return errors


def _find_least_factor(chance: Callable[[float], float], low: float, high: float) -> float | None:
    """Return the least factor from `low` to `high` that decides with probability `POWER`, or None."""
    if chance(low) >= POWER:
        return low
    if low >= high or chance(high) < POWER:
        return None
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if chance(middle) >= POWER else (middle, high)
    return high
