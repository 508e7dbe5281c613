"""What is to be done about candidates for the place of the model that is deployed, in numbers and words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from .._common.shown import Spoken, plain
from .._common.typing import Bools, Floats
from .._common.words import amount, confidence, count, listed
from ..drawing.notebook import table_cell
from .data import Panel, validate_margin
from .estimates import ROUNDING
from .inference import MIN_QUERIES, POWER
from .rankings import validate_model
from .resampling import critical_value
from .wording import about, direction

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    from .data import Vary
    from .resampling import JointEstimate, Sample


Decision: TypeAlias = Literal["ship", "do not ship", "undecided"]


@dataclass(frozen=True)
class CandidateDecision:
    """How one candidate stands against the baseline.

    Attributes
    ----------
    candidate : str
        Its name.
    decision : {"ship", "do not ship", "undecided"}
        What follows from the bounds.
    difference, lower, upper : dict of metric name to float
        Mean of the candidate minus that of the baseline in the metric's own unit and sign, and its bounds; infinite
        (or the ends of the metric's range) where the two differ on fewer than 30 queries.
    differing : dict of metric name to float
        On how many queries the two differ; under weights their effective number.
    shares : dict of metric name to dict of {"better", "worse", "same"} to Share
        Of the queries, or of their weight.
    queries_needed, repeats_needed : int or None
        How many queries, with as many repeats as there are, and how many repeats of either recipe, with as many queries,
        would decide with 80 % probability, if the true differences are those measured. More repeats are taken not to
        lessen what varies by query, to be on the safe side. None where it is decided, or no number of them would do.
    """

    candidate: str
    decision: Decision
    difference: dict[str, float]
    lower: dict[str, float]
    upper: dict[str, float]
    differing: dict[str, float]
    shares: dict[str, dict[str, Share]]
    queries_needed: int | None
    repeats_needed: int | None

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON knows it; an infinite bound becomes None."""
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


@dataclass(frozen=True, repr=False)
class BaselineComparison(Spoken):
    """Every candidate against a baseline, under one metric or both primary ones; made by `Comparison.against`.

    *Ship*: under no metric is the candidate proven worse than the baseline by more than `margin`, in the strict sense
    that every lower bound of candidate − baseline lies above −`margin`, and at least one above 0. *Do not ship*: some
    upper bound lies below −`margin`. Otherwise *undecided*. (For a loss read these with the sign turned.)

    All bounds of all candidates and metrics hold together with probability 1 − `alpha`: difference ± c · error, with c
    the 1 − `alpha` quantile of the largest absolute studentised error over candidates and metrics (max-T). So with that
    probability no decision is wrong, however many candidates there are. A metric under which two models differ on fewer
    than 30 queries decides nothing about them.

    The shares of queries have Goodman's intervals: the three of one candidate under one metric hold together, each such
    set by itself.

    Attributes
    ----------
    baseline : str
        What the others are set against.
    metrics : tuple of str
        Under which.
    lower_is_better : tuple of str
        Those of the metrics that are losses.
    queries : int
        On how many queries, those that all `metrics` have.
    alpha, margin, draws, seed : float, float, int, int
        As given.
    repeats : dict of model to int
        How often each model was trained, where there are recipes; 0 for a fixed one. The decisions are then about
        recipes, and another such repeat is covered.
    clusters : int or None
        How many clusters the queries are in; None where they are independent.
    vary : {"seed", "queries"} or None
        What differs between repeats.
    candidates : tuple of CandidateDecision
        One for each candidate, in natural order of their names.
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
        """The baseline, and all candidates."""
        return (self.baseline, *(one.candidate for one in self.candidates))

    @property
    def decisions(self) -> dict[str, Decision]:
        """What is to be done about each candidate."""
        return {one.candidate: one.decision for one in self.candidates}

    def frame(self) -> pd.DataFrame:
        """Return one row per candidate.

        `decision`, `queries needed`, `repeats needed` (missing where it is decided or none would do), and for each metric
        M `difference M`, `lower M`, `upper M`, `differing M`, and of a thousand queries how many get better, worse and
        stay, `better M`, `better lower M`, `better upper M`, and so on for `worse` and `same`.
        """
        import pandas as pd

        columns: dict[str, Any] = {
            "decision": [one.decision for one in self.candidates],
            "queries needed": pd.array([one.queries_needed for one in self.candidates], dtype="Int64"),
            "repeats needed": pd.array([one.repeats_needed for one in self.candidates], dtype="Int64"),
        }
        for metric in self.metrics:
            for name in ("difference", "lower", "upper", "differing"):
                columns[f"{name} {metric}"] = [getattr(one, name)[metric] for one in self.candidates]
            for name in ("better", "worse", "same"):
                of = [one.shares[metric][name] for one in self.candidates]
                columns[f"{name} {metric}"] = [1000 * share.value for share in of]
                columns[f"{name} lower {metric}"] = [1000 * share.lower for share in of]
                columns[f"{name} upper {metric}"] = [1000 * share.upper for share in of]
        index = pd.Index([one.candidate for one in self.candidates], name="candidate")
        return pd.DataFrame(columns, index=index)

    def sentence(self, candidate: str) -> str:
        """Return what is to be done about one candidate, and why, in one sentence."""
        validate_model(candidate, self.decisions)
        one = next(one for one in self.candidates if one.candidate == candidate)
        changes = listed([f"{metric} changes by {self.bounded(one, metric)}" for metric in self.metrics])
        heads = {"ship": "Ship", "do not ship": "Do not ship", "undecided": "Undecided about"}
        clusters = "" if self.clusters is None else f" in {count(self.clusters, 'cluster')}"
        size = f"{count(self.queries, 'query')}{clusters}, {confidence(self.alpha)} confidence"
        return f"{heads[one.decision]} {candidate}: against {self.baseline} {changes} ({size}){self._reason(one)}."

    @property
    def text(self) -> str:
        """A paragraph for whoever has to decide, with numbers."""
        said = [self._about(one) for one in self.candidates]
        tolerated = f"A loss up to {amount(self.margin)} is tolerated" if self.margin > 0 else "No loss is tolerated"
        rule = (
            f"{tolerated}; bounds of differences hold all together, those of shares for one candidate and metric at a "
            "time."
        )
        return " ".join([*said, rule, *direction(self.lower_is_better), about(self)])

    def to_dict(self) -> dict[str, Any]:
        """Return everything, `text` included, as JSON knows it."""
        found: dict[str, Any] = plain({name: value for name, value in vars(self).items() if name != "candidates"})
        candidates = {one.candidate: one.to_dict() for one in self.candidates}
        return found | {"candidates": candidates, "text": self.text}

    def _repr_html_(self) -> str:
        rows = [
            (one.candidate, one.decision, *(self.bounded(one, metric) for metric in self.metrics))
            for one in self.candidates
        ]
        size = f"{count(self.queries, 'query')}; differences with {confidence(self.alpha)} bounds, all at once"
        return table_cell(f"Against {self.baseline}", ("candidate", "decision", *self.metrics), rows, size)

    def _about(self, one: CandidateDecision) -> str:
        """Return the sentences about one candidate: the decision, and how many queries change."""
        parts = []
        for metric in self.metrics:
            better, worse, same = (thousands(one.shares[metric][name]) for name in ("better", "worse", "same"))
            parts.append(f"{metric} gets better on {better}, worse on {worse} and stays on {same}")
        return f"{self.sentence(one.candidate)} Of 1,000 queries {'; '.join(parts)}."

    def bounded(self, one: CandidateDecision, metric: str) -> str:
        """Return a difference with its bounds."""
        difference, lower, upper = one.difference[metric], one.lower[metric], one.upper[metric]
        if one.differing[metric] < MIN_QUERIES:
            return f"{signed(difference)} (no bounds: the two differ on fewer than {MIN_QUERIES} queries)"
        return f"{signed(difference)} ({signed(lower)} to {signed(upper)})"

    def _reason(self, one: CandidateDecision) -> str:
        """Return what made the decision, or what it would take."""
        if one.decision == "ship":
            sure = all(one.upper[it] < 0 if it in self.lower_is_better else one.lower[it] > 0 for it in self.metrics)
            return "" if sure else f", at worst a loss within the {amount(self.margin)} tolerated"
        if one.decision == "do not ship":
            return f", a loss beyond the {amount(self.margin)} tolerated" if self.margin > 0 else ""
        ways = [
            f"about {count(number, thing)}{extra}"
            for number, thing, extra in (
                (one.queries_needed, "query", ""),
                (one.repeats_needed, "repeat", " of each recipe on these queries"),
            )
            if number is not None
        ]
        if not ways:
            nothing = "neither more queries nor more repeats alone" if self.repeats else "no number of queries"
            return f"; if the true differences are these, {nothing} will decide it"
        return f"; if the true differences are these, {' or '.join(ways)} will decide it four times in five"


def signed(value: float) -> str:
    """Write a change with its sign.

    >>> signed(0.0123), signed(-0.002), signed(0.0)
    ('+0.0123', '−0.0020', '0')
    """
    return f"{'+' if value > 0 else '−' if value < 0 else ''}{amount(abs(value))}"


def thousands(share: Share) -> str:
    """Write a share of 1,000 queries with its bounds."""
    return f"{1000 * share.value:.0f} ({1000 * share.lower:.0f} to {1000 * share.upper:.0f})"


class Share(NamedTuple):
    """A share of all queries, and its bounds."""

    value: float
    lower: float
    upper: float


def shares_of(panel: Panel, row: int, baseline: int, candidate: int, alpha: float) -> dict[str, Share]:
    """Return on what share of the queries a candidate is better than a baseline, worse, and the same.

    Under weights a share is one of the weight, and as many queries stand behind it as (Σw)²/Σw² says; of queries in
    clusters, as many as there are clusters of that weight, as if all queries of one were copies.

    The metric `row` and the two models go by their places; the three intervals hold together at level `alpha`.

    >>> panel = Panel(("m",), ("A", "B"), np.array([[[0.0, 0, 0, 1], [1, 1, 0, 0]]]), None)
    >>> {name: share.value for name, share in shares_of(panel, 0, 0, 1, 0.05).items()}
    {'better': 0.5, 'worse': 0.25, 'same': 0.25}
    """
    values = panel.values[row]
    difference = values[candidate] - values[baseline]
    tolerance = ROUNDING * np.abs(values).max()
    weights = np.ones(panel.queries) if panel.weights is None else panel.weights
    units = weights if panel.clusters is None else np.bincount(panel.clusters, weights)
    kinds = [difference > tolerance, difference < -tolerance, np.abs(difference) <= tolerance]
    shares = np.array([float(weights @ kind) for kind in kinds]) / weights.sum()
    lower, upper = goodman(shares, float(weights.sum() ** 2 / (units @ units)), alpha)
    return {
        name: Share(float(share), float(low), float(high))
        for name, share, low, high in zip(("better", "worse", "same"), shares, lower, upper, strict=True)
    }


def goodman(shares: Floats, size: float, alpha: float) -> tuple[Floats, Floats]:
    """Return simultaneous bounds of shares of a multinomial sample of that size: Wilson's intervals, each at α over k.

    References
    ----------
    Goodman (1965), "On simultaneous confidence intervals for multinomial proportions", Technometrics 7(2).
    """
    from scipy.special import chdtri

    squared = float(chdtri(1, alpha / len(shares)))
    half = np.sqrt(squared * (squared + 4 * size * shares * (1 - shares)))
    middle, width = squared + 2 * size * shares, 2 * (size + squared)
    return np.maximum(0.0, (middle - half) / width), np.minimum(1.0, (middle + half) / width)


MAX_QUERIES = 1e9
"""So many queries are as good as none: nobody has them."""

MAX_REPEATS = 1000
"""So many repeats nobody trains."""

FEWER_DRAWS = 4000
"""Of recipes, whose critical value is found anew for every number of queries and repeats."""


def against(
    sample: Sample, metrics: tuple[str, ...], baseline: str, margin: float, *, needs: bool = True
) -> BaselineComparison:
    """Set every other model against one: see `BaselineComparison` and `Comparison.against`.

    Without `needs` it is not worked out what would decide where nothing is decided.
    """
    width = validate_margin(margin)
    joint = sample.joint(metrics)
    panel, bootstrap = joint.panel, joint.bootstrap
    validate_baseline(baseline, panel.models)
    b = panel.models.index(baseline)
    others = [place for place in range(len(panel.models)) if place != b]
    largest = np.zeros(sample.draws)
    for c in others:
        for row in range(len(metrics)):
            np.maximum(largest, np.abs(bootstrap.compute_t(row, b, c)), out=largest)
    critical = float(critical_value(largest, 1 - sample.alpha))
    return BaselineComparison(
        baseline=baseline,
        metrics=tuple(metrics),
        candidates=tuple(_standing(sample, joint, b, c, critical, width, needs) for c in others),
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


def validate_baseline(baseline: str, models: Sequence[str]) -> None:
    """Raise unless the baseline is one of several models."""
    validate_model(baseline, models)
    if len(models) < 2:
        raise ValueError(f"{baseline!r} is the only model: there is no candidate to set against it")


def _standing(
    sample: Sample, joint: JointEstimate, b: int, c: int, critical: float, margin: float, needs: bool
) -> CandidateDecision:
    panel, estimated = joint.panel, joint.estimated
    difference, error = estimated.difference[:, b, c], estimated.error[:, b, c]
    has_support = (estimated.support[:, b, c] >= MIN_QUERIES) & np.isfinite(error)
    half = critical * np.where(has_support, error, 0.0)
    lower = np.where(has_support, difference - half, -np.inf)
    upper = np.where(has_support, difference + half, np.inf)
    decision = _decided(lower, upper, margin)
    queries = repeats = None
    if needs and decision == "undecided":
        queries, repeats = _needed(sample, joint, b, c, critical, margin)
    units = [sample.ranges[metric] for metric in panel.metrics]
    ends = [
        sorted(float(panel.in_unit(metric, np.array(end))) for end in both)
        for metric, both in zip(panel.metrics, zip(lower, upper, strict=True), strict=True)
    ]
    named = {metric: row for row, metric in enumerate(panel.metrics)}
    return CandidateDecision(
        candidate=panel.models[c],
        decision=decision,
        difference={it: float(panel.in_unit(it, difference[row])) for it, row in named.items()},
        lower={it: max(ends[row][0], units[row][0] - units[row][1]) for it, row in named.items()},
        upper={it: min(ends[row][1], units[row][1] - units[row][0]) for it, row in named.items()},
        differing={it: float(estimated.support[row, b, c]) for it, row in named.items()},
        shares={it: shares_of(panel, row, b, c, sample.alpha) for it, row in named.items()},
        queries_needed=queries,
        repeats_needed=repeats,
    )


def _needed(
    sample: Sample, joint: JointEstimate, b: int, c: int, critical: float, margin: float
) -> tuple[int | None, int | None]:
    """Return with how many queries, and with how many repeats, the decision would fall, were the differences as measured.

    The sample is drawn anew many times, with the error that so many queries or repeats would leave, and decided each time.
    """
    panel, support = joint.panel, joint.estimated.support[:, b, c]
    if panel.units < 2 or not (support > 0).all():
        return None, None
    further = _Further(joint, b, c, sample.alpha, critical, sample.seed)
    repeats = further.repeats

    def chance(more_queries: float, more_repeats: float = 1.0) -> float:
        lower, upper = further.bounds(more_queries, more_repeats)
        return float((_ships(lower, margin) | (upper < -margin).any(axis=0)).mean())

    fewest = max(1.0, float((MIN_QUERIES / support).max()))
    factor = _least(chance, fewest, MAX_QUERIES / panel.queries)
    queries_needed = None if factor is None else math.ceil(factor * panel.queries)
    factor = _least(lambda more: chance(1.0, more), 1.0, MAX_REPEATS / repeats) if repeats and fewest <= 1 else None
    return queries_needed, None if factor is None else math.ceil(factor * repeats)


class _Further:
    """New samples of more queries or more repeats, whose true differences are those measured: what bounds they would show.

    The critical value of fixed models is that of the sample, whatever the size. That of recipes falls as repeats know
    their variance better, and is found anew.
    """

    def __init__(self, joint: JointEstimate, b: int, c: int, alpha: float, critical: float, seed: int) -> None:
        estimated, values = joint.estimated, joint.bootstrap.values
        self.others = [place for place in range(len(joint.panel.models)) if place != b]
        self.b, self.c, self.alpha, self.critical, self.seed = b, c, alpha, critical, seed
        self.difference = estimated.difference[:, b, c][:, None]
        self.counts = np.array(joint.panel.repeat_counts)
        self.repeats = int(min((count for count in self.counts[[b, c]] if count), default=0))
        self.of_repeats = np.zeros_like(estimated.mean) if estimated.repeats is None else estimated.repeats.variance
        self.varies = bool(self.of_repeats.any())
        error = estimated.error[:, b]
        self.of_queries = np.maximum(error**2 - self.of_repeats - self.of_repeats[:, [b]], 0.0)
        values = values[:, :, :FEWER_DRAWS] if self.varies else values
        lead = values - values[:, [b]]
        known = (error > 0) & np.isfinite(error)
        self.z = np.divide(lead, error[:, :, None], out=np.zeros_like(lead), where=known[:, :, None])

    def bounds(self, more_queries: float, more_repeats: float) -> tuple[Floats, Floats]:
        """Return the bounds of the candidate's lead in every sample, (metrics, samples) each."""
        generator = np.random.default_rng([self.seed, 1])
        of_queries, of_repeats = self.of_queries / more_queries, self.of_repeats / more_repeats
        error = np.sqrt(of_queries + of_repeats + of_repeats[:, [self.b]])[:, :, None]
        critical = self.critical
        if self.varies:
            seen = self._seen(of_queries, of_repeats, more_repeats, generator)
            t = np.abs(self.z) * np.divide(error, seen, out=np.zeros_like(seen), where=seen > 0)
            critical = float(critical_value(t[:, self.others].max(axis=(0, 1)), 1 - self.alpha))
            half = critical * self._seen(of_queries, of_repeats, more_repeats, generator)[:, self.c]
        else:
            half = critical * error[:, self.c]
        drawn = self.difference + error[:, self.c] * self.z[:, self.c]
        return drawn - half, drawn + half

    def _seen(self, of_queries: Floats, of_repeats: Floats, more_repeats: float, generator: Any) -> Floats:
        """Return the errors that samples of so many repeats show, (metrics, M, samples): theirs is estimated."""
        factor = np.ones((len(self.counts), self.z.shape[2]))
        for k in np.flatnonzero(self.counts):
            freedom = self.counts[k] * more_repeats - 1
            factor[k] = generator.chisquare(freedom, self.z.shape[2]) / freedom
        shown = of_repeats[:, :, None] * factor
        seen: Floats = np.sqrt(of_queries[:, :, None] + shown + shown[:, [self.b]])
        return seen


def _ships(lower: Floats, margin: float) -> Bools:
    """Whether a candidate is shipped by its lower bounds, by metric along the first axis, one or in many draws."""
    return np.asarray((lower > -margin).all(axis=0) & (lower > 0).any(axis=0))


def _decided(lower: Floats, upper: Floats, margin: float) -> Decision:
    """Return what bounds of candidate − baseline, larger is better, say: the rule itself."""
    if _ships(lower, margin):
        return "ship"
    return "do not ship" if (upper < -margin).any() else "undecided"


def _least(chance: Callable[[float], float], low: float, high: float) -> float | None:
    """Return the least factor above `low` that decides with probability `POWER`, or None where `high` does not."""
    if chance(low) >= POWER:
        return low
    if low >= high or chance(high) < POWER:
        return None
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if chance(middle) >= POWER else (middle, high)
    return high
