"""Queries and repeats that are required to show a difference."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from .._common.lazy import pandas as pd
from .._common.lazy import special
from .._common.text import TextResult, format_amount, join_names, plain, pluralize, printable
from .._common.typing import Floats
from .._common.validation import validate_choice, validate_integer, validate_real
from .bounds import DifferenceBounds, PairErrors, compute_binormal
from .estimates import MIN_FREEDOM, MIN_QUERIES, compute_interactions, compute_repeat_means, read_units
from .guards import Requirement, validate_requirement
from .inference import JointEstimate, Sample
from .panel import FEW_REPEATS, MIN_REPEATS, validate_alpha, validate_margin
from .ranked_models import validate_pair

ClaimKind: TypeAlias = Literal["genuine", "pair", "ship"]

DEFAULT_REPEATS = (3, 5, 10)
"""Numbers of repeats in a plan."""

MAX_QUERIES = 1e9
"""Decisions and plans that require more queries are out of reach."""


@dataclass(frozen=True)
class PlannedRepeats:
    """Number of queries required with this number of repeats of each configuration.

    Attributes
    ----------
    repeats : int or None
        Number of repeats. None for fixed models.
    queries, queries_upper : int or None
        Number of queries that is sufficient with 50 % and with 80 % confidence, by a bootstrap of the sample that
        provides the variances. Both are the same if the variances are given. None if no number is sufficient.
    chance : float
        Probability to show the claim with this number of queries, or with unlimited queries if none is sufficient.
    """

    repeats: int | None
    queries: int | None
    queries_upper: int | None
    chance: float


@dataclass(frozen=True, repr=False)
class Plan(TextResult):
    """Number of queries and repeats that are required to show a claim with the requested probability.

    `Comparison.plan` and `gainwise.plan` create it.

    Attributes
    ----------
    claim : {"genuine", "pair", "ship"}
        Claim to show. See `gainwise.plan`.
    difference : float
        True difference, in the unit of the metrics.
    power : float
        Requested probability.
    options : tuple of PlannedRepeats
        One for each number of repeats, or a single one for fixed models.
    deviations : dict of metric name to dict of {"query", "repeat", "query_repeat"} to float
        Standard deviations of the difference of the two models.
    differing : float
        Share of differing queries, the smaller one of the metrics. At least 30 queries must
        differ, so this share limits the number of queries from below.
    require : {"gain", "no_loss"}
        Condition for ``"ship"``. See `Comparison.against`.
    models : tuple of two str
        The two models. For ``"ship"``, the baseline comes first.
    rivals : int
        Number of all models.
    present : tuple of (int, int or None, float), or None
        Present number of queries and repeats, and the probability to show the claim with them.
    alpha, margin, seed : float, float, int
        Settings.
    """

    claim: ClaimKind
    difference: float
    power: float
    options: tuple[PlannedRepeats, ...]
    deviations: dict[str, dict[str, float]]
    differing: float
    require: Requirement
    models: tuple[str, str]
    rivals: int
    present: tuple[int, int | None, float] | None
    alpha: float
    margin: float
    seed: int

    @property
    def queries(self) -> int | None:
        """Number of queries, with the fewest repeats that are sufficient. None if no number is sufficient."""
        return self._first.queries

    @property
    def queries_upper(self) -> int | None:
        """Number of queries that is sufficient with 80 % confidence, with the same repeats as `queries`."""
        return self._first.queries_upper

    @property
    def repeats(self) -> int | None:
        """Number of repeats that belongs to `queries`. None for fixed models."""
        return self._first.repeats

    @property
    def _first(self) -> PlannedRepeats:
        return next((option for option in self.options if option.queries is not None), self.options[-1])

    def frame(self) -> pd.DataFrame:
        """Return one row per number of repeats: `queries`, `queries upper` and `chance`."""
        table = pd.DataFrame(self.options).rename(columns=lambda name: name.replace("_", " "))
        return table.astype({"repeats": object, "queries": "Int64", "queries upper": "Int64"}).set_index("repeats")

    @property
    def text(self) -> str:
        """One paragraph with the numbers."""
        limits = "More queries do not replace repeats, because a lucky repeat is lucky on all queries."
        if self.options[0].repeats is None:
            limits = "The models are fixed, so retraining is not covered, however many queries there are."
        present = ""
        if self.present is not None:
            queries, repeats, chance = self.present
            size = f"{queries:,} queries" if repeats is None else f"{queries:,} queries and {repeats} repeats"
            present = f" With the present {size}, the probability is {chance:.2f}."
        return printable(f"{self._describe_claim()} {self._describe_needs()}{present} {limits}")

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes and `text` as plain values for JSON."""
        numbers = {"queries": self.queries, "queries_upper": self.queries_upper, "repeats": self.repeats}
        return dict(plain({**asdict(self), **numbers, "text": self.text}))

    def _describe_claim(self) -> str:
        first, second = self.models
        size = format_amount(abs(self.difference))
        change = f"it is {'better' if self.difference > 0 else 'worse'} by {size}" if self.difference else "it is equal"
        others = f"{second} by {size} under the first metric and worse by as much under the second"
        if self.rivals > 2:
            others = f"all others by {size} under the first metric, {second} by as much under the second"
        claim = {
            "genuine": f"that no model is best under both metrics, if {first} is better than {others} ({self.rivals} "
            f"models)",
            "pair": f"which of {first} and {second} is better, if the difference is {size}, under the metric that "
            "needs the most queries",
            "ship": f"that {second} can replace {first} (require {self.require.replace('_', '-')}), if {change} under "
            f"every metric ({pluralize(self.rivals - 1, 'candidate')}, margin {format_amount(self.margin)})",
        }[self.claim]
        return f"The plan is to show with probability {100 * self.power:g} %, at level {self.alpha:g}, {claim}."

    def _describe_needs(self) -> str:
        is_range = any(option.queries != option.queries_upper for option in self.options)
        notes = " (sufficient with 50 % and with 80 % confidence)" if is_range else ""
        if self.queries is not None and float(compute_support_chance(self.queries, self.differing)) < 0.99:
            notes += f", because the models differ on only {100 * self.differing:.2g} % of the queries"
        sizes = [option.queries and format_range(option.queries, option.queries_upper) for option in self.options]
        if self.options[0].repeats is None:
            if sizes[0] is None:
                return "This requires more than a billion queries."
            return f"This requires about {sizes[0]} queries{notes}."
        sized = list(zip((str(option.repeats) for option in self.options), sizes, strict=True))
        few = [count for count, size in sized if size is None]
        needs = [f"{count} repeats of each configuration require about {size} queries" for count, size in sized if size]
        if few:
            needs = [f"{join_names(few, len(few), 'or')} repeats of each configuration are not sufficient", *needs]
        return f"{join_names(needs, most=len(needs))}{notes}."


def plan(
    difference: float,
    power: float = 0.8,
    claim: ClaimKind = "genuine",
    *,
    query: float,
    repeat: float = 0.0,
    query_repeat: float = 0.0,
    correlation: float = 0.9,
    differing: float = 1.0,
    models: int = 2,
    repeats: int | Sequence[int] | None = None,
    alpha: float = 0.05,
    margin: float = 0.0,
    require: Requirement = "gain",
    seed: int = 0,
) -> Plan:
    """Estimate how many queries and repeats are required to show a difference, from standard deviations.

    Use it before you collect judgments. If you have a comparison of similar models, `Comparison.plan` estimates the
    standard deviations from it.

    Parameters
    ----------
    difference : float
        True difference to show, above 0, in the unit of the metrics. For ``require="no_loss"``, above −`margin`.
    power : float, default 0.8
        Probability to show it, between 0 and 1.
    claim : {"genuine", "pair", "ship"}, default "genuine"
        Claim to show: no model is best under both metrics, one model is better than another under one metric, or a
        candidate ships (see `Comparison.against`).
    query : float
        Standard deviation of the difference of two models between queries.
    repeat : float, default 0.0
        Standard deviation of the mean of a configuration between repeats. 0 for fixed models.
    query_repeat : float, default 0.0
        Remaining standard deviation of the value of a configuration on a query between repeats.
    correlation : float, default 0.9
        Correlation of the two metrics.
    differing : float, default 1.0
        Share of queries that differ between the two models. A test requires 30 of them.
    models : int, default 2
        Number of models.
    repeats : int or sequence of int, optional
        Number of repeats of each configuration, 3 or more. Defaults to 3, 5 and 10.
    require : {"gain", "no_loss"}, default "gain"
        Condition for ``"ship"``. See `Comparison.against`.
    alpha, margin, seed
        Level of the tests, largest acceptable loss for ``"ship"``, and random seed. See `Comparison`.

    Raises
    ------
    ValueError
        If `difference` is not positive or another number is out of range.

    See Also
    --------
    gainwise.Comparison.plan : Plan with the variances of a comparison.
    gainwise.Comparison.against : Decide which candidates may replace a baseline.

    Notes
    -----
    For ``"genuine"``, one model is better than all others by `difference` under the first metric, another one under the
    second. For ``"ship"``, the candidate is better by `difference` under both. All else is equal. The variance
    2 · repeat² / R + (query² + 2 · query_repeat² / R) / n over n queries and R repeats, and the t distribution, give
    the probability to show the claim. With fewer than five repeats, ``"genuine"`` is never shown.

    Examples
    --------
    >>> import gainwise as gw
    >>> expected = (1.960 + 0.842) ** 2 * 0.1**2 / 0.01**2
    >>> 0.95 < gw.plan(0.01, claim="pair", query=0.1).queries / expected < 1.05
    True
    """
    size = validate_integer("models", models, 2)
    spreads = {"query": query, "repeat": repeat, "query_repeat": query_repeat}
    for name, value in spreads.items():
        if not math.isfinite(validate_real(name, value, 0.0)):
            raise ValueError(f"{name} must be finite, got {value!r}.")
    if not any(spreads.values()):
        raise ValueError("query, repeat and query_repeat are all 0. Pass at least one positive standard deviation.")
    correlation = validate_real("correlation", correlation, -1.0, 1.0)
    components = build_covariances(float(query), float(repeat), float(query_repeat), correlation, size)
    if repeats is not None and not components.recipes.any():
        raise ValueError(
            f"repeats={repeats!r} requires repeats that differ. Pass repeat or query_repeat, their standard deviations."
        )
    request = Request(claim, difference, power, require, alpha, margin, seed)
    share = validate_real("differing", differing, 0.0, 1.0)
    if share == 0:
        raise ValueError("differing must be above 0, got 0. Pass the share of differing queries.")
    pilot = _Pilot(share, 1.0, np.zeros(2), ((1.0, share), (1.0, share)))
    planner = _Planner(request, components, (0, 1), pilot)
    return planner.plan(("model 1", "model 2"), ("first metric", "second metric"), _read_repeats(repeats))


def plan_from_sample(
    sample: Sample,
    metrics: tuple[str, ...],
    request: Request,
    models: Sequence[str] | None,
    candidates: Sequence[str],
    repeats: int | Sequence[int] | None = None,
) -> Plan:
    """Plan from the variances of a sample. Without `models`, choose two of the `candidates`."""
    if request.claim == "genuine" and len(metrics) < 2:
        raise ValueError(f"claim='genuine' requires two metrics, got 1 ({metrics[0]}). Use 'pair' or 'ship'.")
    sample.validate_difference("difference", request.difference, metrics)
    joint = sample.joint(metrics)
    panel = joint.panel
    if len(panel.models) < 2:
        raise ValueError(f"A plan requires two models, got one model ({panel.models[0]}). Pass a second model.")
    if not joint.estimated.decides:
        raise ValueError(
            f"{joint.estimated.shortage} Use gainwise.plan (--query-sd on the command line) with standard deviations."
        )
    components = estimate_covariances(joint)
    pair = _choose_pair(joint, components, request.claim, models, candidates)
    names = (panel.models[pair[0]], panel.models[pair[1]])
    if not joint.estimated.error[:, pair[0], pair[1]].any():
        raise ValueError(f"The difference of {names[0]} and {names[1]} does not vary. Pass two other models.")
    present = min((number for number in panel.repeat_counts if number), default=None)
    if repeats is not None and present is None:
        raise ValueError(f"repeats={repeats!r} requires models with repeats, but all are fixed. Use gainwise.plan.")
    planner = _Planner(request, components, pair, _resample_pilot(joint, pair, sample.seed))
    return planner.plan(names, panel.metrics, _read_repeats(repeats, present), (panel.queries, present))


@dataclass
class Request:
    """Claim to plan for, and settings of its test. Raises an error if one is invalid."""

    claim: ClaimKind
    difference: float
    power: float
    require: Requirement
    alpha: float
    margin: float
    seed: int

    def __post_init__(self) -> None:
        validate_choice("claim", self.claim, get_args(ClaimKind))
        self.margin = validate_margin(self.margin)
        validate_requirement(self.require, self.margin)
        lowest = -self.margin if self.claim == "ship" and self.require == "no_loss" else 0.0
        if not lowest < validate_real("difference", self.difference) < math.inf:
            raise ValueError(f"difference must be above {lowest:g}, got {self.difference!r}.")
        if not 0 < validate_real("power", self.power) < 1:
            raise ValueError(f"power must be between 0 and 1, both excluded, got {self.power!r}.")
        self.alpha, self.seed = validate_alpha(self.alpha), validate_integer("seed", self.seed, 0)
        self.difference, self.power = float(self.difference), float(self.power)


def _read_repeats(repeats: int | Sequence[int] | None, present: int | None = None) -> list[int]:
    """Return the numbers of repeats to plan for in ascending order, by default 3, 5, 10 and the present number."""
    if repeats is None:
        repeats = DEFAULT_REPEATS if present is None else (*DEFAULT_REPEATS, present)
    numbers = np.atleast_1d(np.asarray(repeats, dtype=object))
    if not len(numbers):
        raise ValueError(f"repeats is empty. Pass at least one number of repeats, {MIN_REPEATS} or more.")
    return sorted({validate_integer("repeats", number, MIN_REPEATS) for number in numbers})


def _choose_pair(
    joint: JointEstimate,
    components: ComponentCovariances,
    claim: str,
    models: Sequence[str] | None,
    candidates: Sequence[str],
) -> tuple[int, int]:
    """Return the indices of the two models to plan for."""
    panel, estimated = joint.panel, joint.estimated
    if models is not None:
        if isinstance(models, str) or len(models) != 2:
            raise ValueError(f"models must name two models, got {models!r}.")
        validate_pair(models[0], models[1], panel.models)
        return panel.models.index(models[0]), panel.models.index(models[1])
    if claim == "genuine":
        first = int(estimated.mean[0].argmax())
        others = estimated.mean[1].copy()
        others[first] = -np.inf
        return first, int(others.argmax())
    names = candidates if len(candidates) > 1 else panel.models

    def find_variance(pair: tuple[int, int]) -> float:
        parts = [components.find_deviations(row, *pair).values() for row in range(components.metrics)]
        return max(sum(deviation**2 for deviation in deviations) for deviations in parts)

    return max(itertools.combinations(sorted(map(panel.models.index, names)), 2), key=find_variance)


@dataclass(frozen=True, eq=False)
class _Pilot:
    """Differences of two models in the sample that provides the variances, and in bootstrap samples of it.

    Attributes
    ----------
    differing : float
        Share of differing queries, the smaller one of the metrics.
    effective : float
        Degrees of freedom for each query, below 1 for weights or clusters.
    skewness : ndarray, shape (metrics,)
        Skewness of the mean difference of one query, if all errors are over queries.
    quantiles : sequence of two (float, float)
        Ratio of the variance to that of the pilot, and share of differing queries, with 50 % and with 80 % confidence.
    """

    differing: float
    effective: float
    skewness: Floats
    quantiles: Sequence[tuple[float, float]]


def _resample_pilot(joint: JointEstimate, pair: tuple[int, int], seed: int) -> _Pilot:
    """Draw bootstrap samples of the queries, or of their clusters."""
    (first, second), estimated = pair, joint.estimated
    values, shares = read_units(joint.panel)
    units, queries = estimated.units, estimated.queries
    difference = values[:, second] - values[:, first]
    differs = np.abs(difference) > estimated.tolerance[:, None]
    shares = np.full(units, 1 / units) if shares is None else shares
    influence = (difference - (difference @ shares)[:, None]) * shares
    row, rarest = int((influence**2).sum(axis=1).argmax()), int(differs.sum(axis=1).argmin())
    columns = np.stack([influence[row] ** 2, influence[row], differs[rarest]])
    generator = np.random.default_rng([seed, 3])
    means = np.array([columns[:, generator.integers(units, size=units)].mean(axis=1) for _ in range(200)])
    variances = (means[:, 0] - means[:, 1] ** 2) / columns[0].mean()
    skewness, repeats = estimated.skewness[:, first, second], estimated.repeats
    if repeats is not None:
        error, of_queries = estimated.error[:, first, second], repeats.query_error[:, first, second]
        skewness = skewness * np.divide(error, of_queries, out=np.zeros_like(error), where=of_queries > 0) ** 3
    shares = means[:, 2] * units / queries
    return _Pilot(
        float(columns[2].mean()) * units / queries,
        (estimated.freedom + 1) / queries,
        skewness * math.sqrt(queries),
        [(float(np.quantile(variances, q)), float(np.quantile(shares, 1 - q))) for q in (0.5, 0.8)],
    )


@dataclass(frozen=True)
class _Planner:
    """Request of a plan, variance components, the indices of the two models, and their differences in a pilot."""

    request: Request
    components: ComponentCovariances
    pair: tuple[int, int]
    pilot: _Pilot

    def plan(
        self,
        names: tuple[str, str],
        metrics: tuple[str, ...],
        repeats: Sequence[int],
        present: tuple[int, int | None] | None = None,
    ) -> Plan:
        numbers: Sequence[int | None] = repeats if self.components.recipes.any() else (None,)
        options = []
        for number in numbers:
            queries, upper = (self._find_queries(number, *quantile) for quantile in self.pilot.quantiles)
            options.append(PlannedRepeats(number, queries, upper, self.compute_chance(queries or MAX_QUERIES, number)))
        return Plan(
            **vars(self.request),
            options=tuple(options),
            deviations={metric: self.components.find_deviations(row, *self.pair) for row, metric in enumerate(metrics)},
            differing=self.pilot.differing,
            models=names,
            rivals=self.components.models,
            present=None if present is None else (*present, self.compute_chance(*present)),
        )

    def _find_queries(self, repeats: int | None, variance: float, share: float) -> int | None:
        """Return the number of queries that are required to show the claim with the requested probability, or None."""
        # Under weights or clusters, fewer degrees of freedom decide nothing.
        least = 1.0 if self.pilot.effective == 1 else (MIN_FREEDOM + 1) / self.pilot.effective

        def is_sufficient(queries: float) -> bool:
            return self.compute_chance(queries, repeats, variance, share) >= self.request.power

        queries = find_least(is_sufficient, max(MIN_QUERIES, least), MAX_QUERIES)
        return None if queries is None else math.ceil(queries)

    def compute_chance(
        self, queries: float, repeats: int | None, variance: float = 1.0, share: float | None = None
    ) -> float:
        """Return the probability to show the claim, if at least 30 queries must differ.

        `variance` is the ratio of the variance to that of the pilot, and `share` the share of differing queries.

        For a difference of the pair, or a genuine disagreement, the level is shared between all differences to a model
        (Bonferroni). Compared with simulated tests, the number of queries is within 5 % for a pair of fixed models,
        12 % for configurations, and 22 % for a genuine disagreement.
        """
        request, others, number = self.request, self.components.models - 1, repeats or 1
        if request.claim == "genuine" and self.components.recipes.any() and number < FEW_REPEATS:
            return 0.0  # Such verdicts are unresolved.
        # A larger variance has the effect of fewer queries.
        errors, spread = self._build_errors(max(queries / variance, 2.0), number)
        if request.claim == "ship":
            difference, level = np.full(len(spread), request.difference), request.alpha / 2 / others
            gains = len(spread) if request.require == "gain" else 0
            chance = compute_ship_probability(errors, difference, level, request.margin, gains, spread)
        else:
            level = request.alpha / (2 if request.claim == "pair" else 2 * others)
            critical = errors.find_criticals(level) * errors.error
            chances = special.ndtr((request.difference - critical) / np.maximum(spread, 1e-300))
            chance = float(chances.min() if request.claim == "pair" else chances.prod())
        return chance * float(compute_support_chance(queries, self.pilot.differing if share is None else share))

    def _build_errors(self, queries: float, repeats: int) -> tuple[PairErrors, Floats]:
        """Return the errors that the test estimates, and the true standard deviations.

        The test counts the interaction of repeats and queries twice: in the variance over queries and in that of the
        means of repeats.
        """
        components, pair, (k, j) = self.components, list(self.pair), self.pair
        query = components.query
        of_query = query[:, k, :, k] + query[:, j, :, j] - query[:, k, :, j] - query[:, j, :, k]
        interactions = components.query_repeat[pair]
        by_model = (components.repeat[pair] + interactions / queries) / repeats
        by_query = np.diag(of_query + interactions.sum(axis=0) / repeats) / queries
        counts = np.where(components.recipes[pair], repeats, 0)[:, None]
        errors = PairErrors(
            of_queries=by_query,
            of_repeats=np.stack([np.diag(matrix) for matrix in by_model]),
            counts=counts,
            freedom_of_queries=max(self.pilot.effective * queries - 1, 1.0),
            third=self.pilot.skewness / math.sqrt(queries) * by_query**1.5,
            covariance=of_query / queries,
            repeat_covariance=by_model.sum(axis=0),
        )
        return errors, np.sqrt(np.diag(of_query / queries + by_model.sum(axis=0)))


@dataclass(frozen=True, eq=False)
class ComponentCovariances:
    """Covariances of two metrics by source: query, repeat, and their interaction.

    The mean over n queries and R repeats has the variance repeat / R + (query + query_repeat / R) / n. For a fixed
    model, only the first component is positive.

    Attributes
    ----------
    query : ndarray, shape (metrics, M, metrics, M)
        Covariance of the values of a query averaged over repeats.
    repeat, query_repeat : ndarray, shape (M, metrics, metrics)
        Covariance of each model.
    """

    query: Floats
    repeat: Floats
    query_repeat: Floats

    @property
    def models(self) -> int:
        """Number of models."""
        return len(self.repeat)

    @property
    def metrics(self) -> int:
        """Number of metrics."""
        return int(self.repeat.shape[1])

    @property
    def recipes(self) -> Floats:
        """Whether each model varies between repeats, shape (M,)."""
        return np.asarray(np.trace(self.repeat + self.query_repeat, axis1=1, axis2=2) > 0)

    def find_deviations(self, row: int, k: int, j: int) -> dict[str, float]:
        """Return the standard deviations of the difference of two models by source."""
        query = self.query[row, :, row]
        variances = {
            "query": query[k, k] + query[j, j] - 2 * query[k, j],
            "repeat": self.repeat[k, row, row] + self.repeat[j, row, row],
            "query_repeat": self.query_repeat[k, row, row] + self.query_repeat[j, row, row],
        }
        return {name: math.sqrt(max(0.0, variance)) for name, variance in variances.items()}


def build_covariances(
    query: float, repeat: float, query_repeat: float, correlation: float, models: int
) -> ComponentCovariances:
    """Return equal components for all models, from the arguments of `gainwise.plan`."""
    mixed = np.array([[1.0, correlation], [correlation, 1.0]])
    alike = np.broadcast_to(mixed, (models, 2, 2))
    by_query = (np.kron(mixed, np.eye(models)) * query**2 / 2).reshape(2, models, 2, models)
    return ComponentCovariances(by_query, alike * repeat**2, alike * query_repeat**2)


def estimate_covariances(joint: JointEstimate) -> ComponentCovariances:
    """Estimate the components from a sample by mean squares.

    The share of finer components is subtracted from the covariances of repeat means and of queries. Negative estimates
    become 0.
    """
    panel, estimated = joint.panel, joint.estimated
    metrics, models, queries = panel.values.shape
    scale = queries * panel.units / (panel.units - 1)
    repeat, both = np.zeros((2, models, metrics, metrics))
    shared = np.zeros((metrics, models, metrics, models))
    for k, number in enumerate(panel.repeat_counts):
        if number:
            left = compute_interactions(panel, k)
            both[k] = scale / (number - 1) * np.einsum("mrq,prq->mp", left, left)
            shared[:, k, :, k] = both[k] / number
            repeat[k] = _remove_negative_variances(np.cov(compute_repeat_means(panel, k)) - both[k] / queries)
    covariance = queries * estimated.root.T @ estimated.root
    query = _remove_negative_variances(covariance - shared.reshape(covariance.shape))
    return ComponentCovariances(query.reshape(shared.shape), repeat, both)


def _remove_negative_variances(matrix: Floats) -> Floats:
    """Return the nearest covariance matrix. Negative eigenvalues are sampling errors and become 0."""
    scale, directions = np.linalg.eigh(np.atleast_2d(matrix))
    return np.asarray((directions * np.maximum(scale, 0.0)) @ directions.T)


def find_support_factor(bounds: DifferenceBounds, confidence: float, power: float) -> float:
    """Return how many times the queries are required so that 30 differ under every metric with this power.

    The share of differing queries is at the lower quantile of its Jeffreys interval.
    """
    support = bounds.below + bounds.above
    share = float(special.betaincinv(support + 0.5, bounds.units - support + 0.5, 1 - confidence).min())
    rest = float(np.ceil(special.nbdtrik(power, MIN_QUERIES, share) - 1e-9)) if share > 0 else np.inf
    return (MIN_QUERIES + rest) / bounds.units


def compute_ship_probability(
    errors: PairErrors,
    difference: Floats,
    level: float,
    margins: Floats | float,
    gains: int,
    spread: Floats | None = None,
) -> float:
    """Return the probability to ship a candidate with these true differences, if the errors are normal.

    One of the first `gains` metrics must improve, none if it is 0. `spread` is the true standard deviation of the
    differences, by default the standard error. The probability is exact for two metrics. The other metrics, the guards,
    reduce it by the probabilities that they reject the candidate, which is a lower bound.
    """
    scale = np.maximum(errors.error if spread is None else spread, 1e-300)
    lowest = (errors.find_criticals(level) * errors.error - difference - margins) / scale
    highest = lowest.copy()
    if gains and np.all(margins > 0):
        part = errors.take(slice(gains))
        gain = (part.find_joint_criticals(level) * part.error - difference[:gains]) / scale[:gains]
        highest[:gains] = np.maximum(lowest[:gains], gain)
    if gains > 2:  # At least one of them gains if the likeliest one does.
        first = int(highest[:gains].argmin())
        return float(special.ndtr(-highest[first]) - special.ndtr(np.delete(lowest, first)).sum())
    exact = min(gains or 2, len(lowest))
    failing = float(special.ndtr(lowest[exact:]).sum())
    if exact == 1:
        return float(special.ndtr(-highest[0])) - failing
    # All normal errors exceed `lowest`, and some exceeds `highest`: they are not all between the two.
    (a, b), (c, d), correlation = lowest[:2], highest[:2], errors.correlation
    shipped = compute_binormal(-a, -b, correlation)
    if (highest[:2] > lowest[:2]).any():
        inside = (
            compute_binormal(c, d, correlation)
            - compute_binormal(a, d, correlation)
            - compute_binormal(c, b, correlation)
            + compute_binormal(a, b, correlation)
        )
        shipped = shipped - np.maximum(inside, 0.0)
    return float(shipped) - failing


def compute_support_chance(queries: Floats | float, share: Floats | float) -> Floats:
    """Return the probability that at least 30 of these queries differ, for a share of differing queries."""
    rest = np.maximum(np.asarray(queries, dtype=float) - MIN_QUERIES + 1, 1e-9)
    return np.asarray(special.betainc(MIN_QUERIES, rest, share), dtype=np.float64)


def find_least(is_sufficient: Callable[[float], bool], low: float, high: float) -> float | None:
    """Return the least sufficient number between two limits, at most 0.1 % more, or None if there is none."""
    if low >= high or not is_sufficient(high):
        return None
    if is_sufficient(low):
        return low
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if is_sufficient(middle) else (middle, high)
    return high


def format_range(median: int, upper: int | None) -> str:
    """Return a number that is sufficient with 50 % confidence, and the one with 80 %.

    >>> format_range(1200, 3400), format_range(368, 368), format_range(1200, None)
    ('1,200 to 3,400', '368', '1,200 or many more')
    """
    if upper is None:
        return f"{median:,} or many more"
    return f"{median:,}" if upper == median else f"{median:,} to {upper:,}"
