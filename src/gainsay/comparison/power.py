"""Queries and repeats that a proof requires: a formula as a first guess, then the test itself on simulated samples."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from .._common.arrays import nearest
from .._common.checks import check_real, check_whole
from .._common.shown import Spoken, printable
from .._common.words import amount, count, listed
from ..drawing.notebook import table_cell
from .data import MIN_REPEATS, validate_alpha, validate_margin
from .inference import MIN_QUERIES
from .rankings import validate_pair
from .simulation import (
    ComponentCovariances,
    Simulation,
    build_covariances,
    estimate_covariances,
    is_genuine,
    is_pair,
    is_ship,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    from .resampling import JointEstimate, Sample

ClaimKind: TypeAlias = Literal["genuine", "pair", "ship"]

DEFAULT_REPEATS = (3, 5, 10)
"""Numbers of repeats in a plan."""

MAX_QUERIES = 1e9
"""Plans that require more queries are out of reach."""

PRECISION = 1.01
"""A number of queries is found up to this factor. Simulations are not more precise."""

FIXED_SIZES = {"genuine": 1000, "pair": 10_000, "ship": 10_000}
"""Samples of fixed models, and draws of every test. Small levels use more draws."""

RECIPE_SIZES = {"genuine": 333, "pair": 1000, "ship": 1000}
"""Samples of recipes, whose tests require new draws for each sample."""


@dataclass(frozen=True)
class PlannedRepeats:
    """Number of queries required with this number of repeats of each recipe.

    Attributes
    ----------
    repeats : int or None
        Number of repeats. None for fixed models.
    queries : int or None
        Number of queries. None if no number is sufficient.
    first_guess : int or None
        Number of queries by the formula, which ignores other models and the estimation of variances.
    chance : float
        Probability of a proof with this number of queries, or with unlimited queries if none is sufficient.
    """

    repeats: int | None
    queries: int | None
    first_guess: int | None
    chance: float


@dataclass(frozen=True, repr=False)
class Plan(Spoken):
    """Number of queries and repeats that prove a claim with the requested probability.

    `Comparison.plan` and `gainsay.plan` create it.

    Attributes
    ----------
    claim : {"genuine", "pair", "ship"}
        Claim to prove. See `gainsay.plan`.
    difference : float
        True difference, in the unit of the metrics.
    power : float
        Requested probability.
    options : tuple of PlannedRepeats
        One for each number of repeats, or a single one for fixed models.
    deviations : dict of metric name to dict of {"query", "repeat", "query_repeat"} to float
        Standard deviations of the difference of the two models.
    models : tuple of two str
        The two models. For ``"ship"``, the baseline comes first.
    rivals : int
        Number of all models.
    present : tuple of (int, int or None, float), or None
        Present number of queries and repeats, and the probability of a proof with them.
    alpha, margin, seed : float, float, int
        Settings.
    """

    claim: ClaimKind
    difference: float
    power: float
    options: tuple[PlannedRepeats, ...]
    deviations: dict[str, dict[str, float]]
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
    def repeats(self) -> int | None:
        """Number of repeats that belongs to `queries`. None for fixed models."""
        return self._first.repeats

    @property
    def _first(self) -> PlannedRepeats:
        return next((option for option in self.options if option.queries is not None), self.options[-1])

    def frame(self) -> pd.DataFrame:
        """Return one row per number of repeats: `queries`, `first guess` and `chance`."""
        import pandas as pd

        return pd.DataFrame(
            {
                "queries": pd.array([option.queries for option in self.options], dtype="Int64"),
                "first guess": pd.array([option.first_guess for option in self.options], dtype="Int64"),
                "chance": [option.chance for option in self.options],
            },
            index=pd.Index([option.repeats for option in self.options], dtype=object, name="repeats"),
        )

    @property
    def text(self) -> str:
        """One paragraph with the numbers."""
        sentences = [self._describe_claim(), self._describe_needs(), *self._describe_present(), self._describe_limits()]
        return printable(" ".join(sentences))

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes and `text` as plain values for JSON."""
        return {**asdict(self), "queries": self.queries, "repeats": self.repeats, "text": self.text}

    def _repr_html_(self) -> str:
        rows = [
            (
                "fixed models" if option.repeats is None else f"{option.repeats}",
                "not sufficient" if option.queries is None else f"{option.queries:,}",
                f"{option.chance:.2f}",
            )
            for option in self.options
        ]
        head = ("repeats of each recipe", "queries", "power")
        return table_cell(self._describe_needs(), head, rows, self._describe_claim())

    def _describe_claim(self) -> str:
        first, second = self.models
        size = amount(self.difference)
        claim = {
            "genuine": f"that no model is best under both metrics, if {first} and {second} are each better than all "
            f"others by {size} under one metric and equal to them under the other ({self.rivals} models)",
            "pair": f"that {second} is better than {first}, if the difference is {size}, by the interval of this pair "
            "and one metric",
            "ship": f"that {second} can replace {first}, if it is better by {size} under every metric "
            f"({count(self.rivals - 1, 'candidate')}, margin {amount(self.margin)})",
        }[self.claim]
        return f"The plan is to prove with probability {100 * self.power:g} %, at level {self.alpha:g}, {claim}."

    def _describe_needs(self) -> str:
        if self.options[0].repeats is None:
            size = "more than a billion queries" if self.queries is None else f"about {count(self.queries, 'query')}"
            return f"This requires {size}."
        needs = [
            f"{option.repeats} repeats of each recipe "
            + ("are not sufficient" if option.queries is None else f"require about {option.queries:,} queries")
            for option in self.options
        ]
        return f"{listed(needs, most=len(needs))}."

    def _describe_present(self) -> list[str]:
        if self.present is None:
            return []
        queries, repeats, chance = self.present
        size = f"{queries:,} queries" if repeats is None else f"{queries:,} queries and {repeats} repeats"
        return [f"With the present {size}, the probability is {chance:.2f}."]

    def _describe_limits(self) -> str:
        if self.options[0].repeats is None:
            return "The models are fixed, so retraining is not covered, however many queries there are."
        return "More queries do not replace repeats, because a lucky repeat is lucky on all queries."


def plan(
    difference: float,
    power: float = 0.8,
    claim: ClaimKind = "genuine",
    *,
    query: float,
    repeat: float = 0.0,
    query_repeat: float = 0.0,
    correlation: float = 0.9,
    models: int = 2,
    repeats: int | Sequence[int] | None = None,
    alpha: float = 0.05,
    margin: float = 0.0,
    seed: int = 0,
) -> Plan:
    """Estimate how many queries, and repeats of each recipe, prove a difference, from standard deviations.

    `Comparison.plan` estimates the standard deviations from a sample.

    Parameters
    ----------
    difference : float
        True difference to prove, above 0, in the unit of the metrics.
    power : float, default 0.8
        Probability with which to prove it, between 0 and 1.
    claim : {"genuine", "pair", "ship"}, default "genuine"
        Claim to prove. ``"genuine"``: no model is best under both metrics, if one model is better than all others by
        `difference` under the first metric, another one under the second, and all else is equal. ``"pair"``: one model
        is better than another, by the two-sided interval of this pair and one metric. ``"ship"``: a candidate that is
        better than the baseline by `difference` under both metrics is shipped (see `Comparison.against`), if all other
        candidates equal the baseline.
    query : float
        Standard deviation of the difference of two models between queries.
    repeat : float, default 0.0
        Standard deviation of the mean of a recipe between repeats. 0 for fixed models.
    query_repeat : float, default 0.0
        Remaining standard deviation of the value of a recipe on a query between repeats.
    correlation : float, default 0.9
        Correlation of the two metrics.
    models : int, default 2
        Number of models.
    repeats : int or sequence of int, optional
        Number of repeats of each recipe, 3 or more. Defaults to 3, 5 and 10. Not for fixed models.
    alpha, margin, seed
        See `Verdict.from_values`.

    Raises
    ------
    ValueError
        If `difference` is not positive or another number is out of range.

    Notes
    -----
    The mean difference of two recipes over n queries and R repeats has the variance
    2 · repeat² / R + (query² + 2 · query_repeat² / R) / n, which gives a first guess. The test is then run on simulated
    samples, because it is more conservative than the formula: it counts 2 · query_repeat² / R twice, estimates the
    variance from few repeats, and considers all models.

    Examples
    --------
    >>> import gainsay as gs
    >>> plan = gs.plan(0.01, claim="pair", query=0.1)
    >>> plan.options[0].first_guess  # (1.960 + 0.842)² · 0.1² / 0.01²
    785
    >>> 0.95 < plan.queries / 785 < 1.05
    True
    """
    size = check_whole("models", models, 2)
    spreads = {"query": query, "repeat": repeat, "query_repeat": query_repeat}
    for name, value in spreads.items():
        if not math.isfinite(check_real(name, value, 0.0)):
            raise ValueError(f"{name} must be finite, got {value!r}.")
    if not any(spreads.values()):
        raise ValueError("query, repeat and query_repeat are all 0. Pass at least one positive standard deviation.")
    correlation = check_real("correlation", correlation, -1.0, 1.0)
    components = build_covariances(float(query), float(repeat), float(query_repeat), correlation, size)
    if repeats is not None and not components.recipes.any():
        raise ValueError(f"repeats={repeats!r} requires recipes. Pass repeat or query_repeat, how much repeats differ.")
    _validate_request(difference, power, claim, alpha, margin, seed)
    planner = _Planner(difference, power, claim, alpha, margin, seed, components, (0, 1))
    numbers = DEFAULT_REPEATS if repeats is None else _read_repeats(repeats)
    return planner.plan(("model 1", "model 2"), ("first metric", "second metric"), numbers)


def plan_from_sample(
    sample: Sample,
    metrics: tuple[str, ...],
    difference: float,
    power: float,
    claim: ClaimKind,
    models: Sequence[str] | None,
    margin: float,
    candidates: Sequence[str],
    repeats: int | Sequence[int] | None = None,
) -> Plan:
    """Plan from the variances of a sample. Without `models`, choose two of the `candidates`."""
    _validate_request(difference, power, claim, sample.alpha, margin, sample.seed)
    if claim == "genuine" and len(metrics) < 2:
        raise ValueError(f"claim='genuine' requires two metrics, got 1 ({metrics[0]}). Use 'pair' or 'ship'.")
    joint = sample.joint(metrics)
    panel = joint.panel
    if len(panel.models) < 2:
        raise ValueError(f"A plan requires two models, got one model ({panel.models[0]}).")
    if panel.units < MIN_QUERIES:
        units = "queries" if panel.clusters is None else "clusters of queries"
        raise ValueError(
            f"Variances require at least {MIN_QUERIES} {units}, got {panel.units} {units}. Use gainsay.plan with "
            "standard deviations."
        )
    components = estimate_covariances(joint)
    pair = _choose_pair(joint, components, claim, models, candidates)
    names = (panel.models[pair[0]], panel.models[pair[1]])
    if not joint.estimated.error[:, pair[0], pair[1]].any():
        raise ValueError(f"The difference of {names[0]} and {names[1]} does not vary. Pass two other models.")
    present = min((number for number in panel.repeat_counts if number), default=None)
    if repeats is not None and present is None:
        raise ValueError(f"repeats={repeats!r} requires recipes, but the models are fixed. Use gainsay.plan.")
    if repeats is None:
        numbers = tuple(sorted({*DEFAULT_REPEATS, present or DEFAULT_REPEATS[0]}))
    else:
        numbers = _read_repeats(repeats)
    planner = _Planner(difference, power, claim, sample.alpha, margin, sample.seed, components, pair)
    return planner.plan(names, panel.metrics, numbers, (panel.queries, present))


def _validate_request(
    difference: float, power: float, claim: ClaimKind, alpha: float, margin: float, seed: int
) -> None:
    if claim not in get_args(ClaimKind):
        names = ", ".join(map(repr, get_args(ClaimKind)))
        raise ValueError(f"claim must be one of {names}, got {claim!r}{nearest(str(claim), get_args(ClaimKind))}.")
    if not 0 < check_real("difference", difference) < math.inf:
        raise ValueError(f"difference must be above 0, got {difference!r}.")
    if not 0 < check_real("power", power) < 1:
        raise ValueError(f"power must be between 0 and 1, both excluded, got {power!r}.")
    validate_alpha(alpha)
    validate_margin(margin)
    check_whole("seed", seed, 0)


def _read_repeats(repeats: int | Sequence[int]) -> tuple[int, ...]:
    numbers = (repeats,) if isinstance(repeats, int | float | np.number) else tuple(repeats)
    if not numbers:
        raise ValueError(f"repeats is empty. Pass at least one number of repeats, {MIN_REPEATS} or more.")
    return tuple(dict.fromkeys(check_whole("repeats", number, MIN_REPEATS) for number in numbers))


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
        names = (models,) if isinstance(models, str) else tuple(models)
        if len(names) != 2:
            raise ValueError(f"models must name two models, got {models!r}.")
        validate_pair(*names, panel.models)
        return panel.models.index(names[0]), panel.models.index(names[1])
    if claim == "genuine":
        first = int(estimated.mean[0].argmax())
        others = estimated.mean[1].copy()
        others[first] = -np.inf
        return first, int(others.argmax())
    places = [panel.models.index(name) for name in candidates]
    places = places if len(places) > 1 else list(range(len(panel.models)))

    def spread(pair: tuple[int, int]) -> float:
        return max(
            sum(value**2 for value in components.deviations(row, *pair).values()) for row in range(components.metrics)
        )

    return max([(k, j) for k in places for j in places if k < j], key=spread)


@dataclass(frozen=True)
class _Planner:
    """Request of a plan, variance components, and the indices of the two models."""

    difference: float
    power: float
    claim: ClaimKind
    alpha: float
    margin: float
    seed: int
    components: ComponentCovariances
    pair: tuple[int, int]

    def plan(
        self,
        names: tuple[str, str],
        metrics: tuple[str, ...],
        repeats: tuple[int, ...],
        present: tuple[int, int | None] | None = None,
    ) -> Plan:
        numbers: tuple[int | None, ...] = repeats if self.components.recipes.any() else (None,)
        return Plan(
            claim=self.claim,
            difference=float(self.difference),
            power=float(self.power),
            options=tuple(map(self._plan_repeats, numbers)),
            deviations={metric: self.components.deviations(row, *self.pair) for row, metric in enumerate(metrics)},
            models=names,
            rivals=self.components.models,
            present=None if present is None else (*present, self._simulate(present[1])(present[0])),
            alpha=self.alpha,
            margin=self.margin,
            seed=self.seed,
        )

    def _plan_repeats(self, repeats: int | None) -> PlannedRepeats:
        guess, chance = self._guess_queries(repeats or 1), self._simulate(repeats)
        first_guess = None if guess is None else math.ceil(guess)
        highest = chance(MAX_QUERIES)
        if highest < self.power:
            return PlannedRepeats(repeats, None, first_guess, highest)
        queries = _find_least_queries(chance, self.power, guess or 1000.0)
        return PlannedRepeats(repeats, math.ceil(queries), first_guess, chance(queries))

    def _guess_queries(self, repeats: int) -> float | None:
        """Return n of difference² = z² · (2 σ_b² / R + (σ_a² + 2 σ_c² / R) / n), the larger one of the metrics."""
        side = 1 - self.alpha if self.claim == "genuine" else 1 - self.alpha / 2
        z = NormalDist().inv_cdf(side) + NormalDist().inv_cdf(self.power)
        guesses = [float(MIN_QUERIES)]
        for row in range(self.components.metrics):
            by = self.components.deviations(row, *self.pair)
            rest = self.difference**2 - z**2 * by["repeat"] ** 2 / repeats
            if rest <= 0:
                return None
            guesses.append(z**2 * (by["query"] ** 2 + by["query_repeat"] ** 2 / repeats) / rest)
        return max(guesses)

    def _simulate(self, repeats: int | None) -> Callable[[float], float]:
        """Return the function from a number of queries to the probability of a proof."""
        components, (first, second) = self.components, self.pair
        truth = np.zeros((components.metrics, components.models))
        if self.claim == "genuine":
            truth[0, first] = truth[1, second] = self.difference
            order = [first, second, *(k for k in range(components.models) if k not in self.pair)]
            claims = [is_genuine(self.alpha, order)]
        else:
            truth[:, second] = self.difference
            claims = [is_pair(first, second, row, self.alpha) for row in range(components.metrics)]
            if self.claim == "ship":
                claims = [is_ship(first, second, self.alpha, self.margin)]
        recipes = components.recipes.any()
        samples, draws = (RECIPE_SIZES[self.claim], 1000) if recipes else (FIXED_SIZES[self.claim],) * 2
        draws = max(draws, math.ceil(10 / self.alpha))  # The minimum of `validate_seed`.
        simulation = Simulation(components, truth, samples, draws, self.seed, repeats or MIN_REPEATS)
        return lambda queries: simulation.chance(queries, claims, together=self.claim != "genuine")


def _find_least_queries(chance: Callable[[float], float], power: float, guess: float) -> float:
    """Return the least number of queries that is sufficient, at least `MIN_QUERIES`, by bisection from a guess."""
    low = high = max(float(MIN_QUERIES), guess)
    while chance(high) < power:
        low, high = high, high * 2
    while low == high or chance(low) >= power:
        high = low
        if low <= MIN_QUERIES:
            return low
        low = max(float(MIN_QUERIES), low / 2)
    while high / low > PRECISION:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if chance(middle) >= power else (middle, high)
    return high
