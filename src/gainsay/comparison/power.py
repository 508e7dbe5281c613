"""What a plan says: queries, and repeats, that would prove a claim."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from .._common.arrays import nearest
from .._common.checks import check_real, check_whole
from .._common.shown import Spoken
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


@dataclass(frozen=True)
class PlannedRepeats:
    """How many queries it takes with so many repeats of each recipe.

    Attributes
    ----------
    repeats : int or None
        None for fixed models.
    queries : int or None
        None where no number of queries suffices.
    first_guess : int or None
        What the formula says, which knows nothing of other models and of estimated variances.
    chance : float
        With which the claim is proven with that many queries; without an end of queries where none suffices.
    """

    repeats: int | None
    queries: int | None
    first_guess: int | None
    chance: float


@dataclass(frozen=True, repr=False)
class Plan(Spoken):
    """How many queries, and repeats, prove a claim with a wanted probability; made by `Comparison.plan` or `gainsay.plan`.

    Attributes
    ----------
    claim : {"genuine", "pair", "ship"}
        What is to be proven; see `gainsay.plan`.
    lead : float
        The true lead, in the metrics' unit.
    power : float
        The wanted probability.
    options : tuple of PlannedRepeats
        One for each number of repeats; one where models are fixed.
    deviations : dict of metric name to dict of {"query", "repeat", "query_repeat"} to float
        Standard deviations of the difference of the two models from which all follows.
    models : tuple of two str
        Which two; for `ship` the baseline first.
    rivals : int
        How many models there are in all.
    present : tuple of (int, int or None, float), or None
        Queries and repeats that there are, and the probability with which they prove the claim.
    alpha, margin, seed : float, float, int
        As given.
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
        """How many queries: of fixed models, or with the fewest repeats that suffice at all. None where none do."""
        return self._first.queries

    @property
    def repeats(self) -> int | None:
        """How many repeats belong to `queries`; None where models are fixed."""
        return self._first.repeats

    @property
    def _first(self) -> PlannedRepeats:
        return next((option for option in self.options if option.queries is not None), self.options[-1])

    def frame(self) -> pd.DataFrame:
        """Return one row per number of repeats: `queries`, `first guess` and `chance`; missing where none suffices."""
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
        """A paragraph, with numbers."""
        return " ".join([self._wanted(), self._takes(), *self._has(), self._covers()])

    def to_dict(self) -> dict[str, Any]:
        """Return everything, `text` included, as JSON knows it."""
        return {**asdict(self), "queries": self.queries, "repeats": self.repeats, "text": self.text}

    def _repr_html_(self) -> str:
        rows = [
            (
                "fixed models" if one.repeats is None else f"{one.repeats}",
                "none suffice" if one.queries is None else f"{one.queries:,}",
                f"{one.chance:.2f}",
            )
            for one in self.options
        ]
        return table_cell(self._takes(), ("repeats of each recipe", "queries", "power"), rows, self._wanted())

    def _wanted(self) -> str:
        first, second = self.models
        what = {
            "genuine": f"that no model is best under both metrics, where {first} and {second} each lead all others by "
            f"{amount(self.difference)} under one metric and are level with them under the other ({self.rivals} models)",
            "pair": f"that {second} is ahead of {first} where it leads by {amount(self.difference)}, by the interval of this "
            "pair and one metric alone",
            "ship": f"that {second} is to take the place of {first} where it leads by {amount(self.difference)} under every "
            f"metric ({count(self.rivals - 1, 'candidate')}, margin {amount(self.margin)})",
        }[self.claim]
        return f"Wanted is a proof, with probability {100 * self.power:g} % and at level {self.alpha:g}, {what}."

    def _takes(self) -> str:
        if self.options[0].repeats is None:
            size = "more than a billion queries" if self.queries is None else f"about {count(self.queries, 'query')}"
            return f"It takes {size}."
        said = [
            f"with {one.repeats} repeats of each recipe "
            + ("no number of queries suffices" if one.queries is None else f"it takes about {one.queries:,} queries")
            for one in self.options
        ]
        text = listed(said, most=len(said))
        return f"{text[0].upper()}{text[1:]}."

    def _has(self) -> list[str]:
        if self.present is None:
            return []
        queries, repeats, chance = self.present
        of_repeats = "" if repeats is None else f" and {repeats} repeats"
        return [f"With the {queries:,} queries{of_repeats} that there are it is proven with probability {chance:.2f}."]

    def _covers(self) -> str:
        if self.options[0].repeats is None:
            return (
                "The models are fixed: how much another training repeat would change them is not known, and more queries "
                "do not tell."
            )
        return "More queries cannot make up for too few repeats: what one repeat is lucky by, it has on all queries."


RUNS = (3, 5, 10)
"""Numbers of repeats that a plan tries where none is given."""

MAX_QUERIES = 1e9
"""So many queries nobody has."""

CLOSE = 1.01
"""A number of queries is found up to this factor: no simulation tells it more closely."""

SIZES = {"genuine": 1000, "pair": 10_000, "ship": 10_000}
"""Samples of fixed models, and draws of every test on them. Of recipes, whose tests need new draws for each sample,
there are a third of a thousand samples for `genuine`, a thousand otherwise, and a thousand draws. Small levels take
more draws."""


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
    """Say how many queries, and repeats, a proof takes, from standard deviations that are known or guessed.

    The mean difference of two recipes over n queries and R repeats has the variance
    2 · repeat² / R + (query² + 2 · query_repeat² / R) / n. That gives a first guess; then the test itself is tried on
    simulated samples, with n found by bisection: the test counts 2 · query_repeat² / R twice, to be on the safe side, has
    to estimate the variance of few repeats, and has rivals to deal with, so that the formula alone promises too much.

    Parameters
    ----------
    lead : float
        The true lead that is to be proven, above 0, in the metrics' unit.
    power : float
        The probability with which it is to be proven, in (0, 1).
    claim : {"genuine", "pair", "ship"}
        ``"genuine"``: no model is best under both metrics. In truth one of two models leads all others by `difference` under
        the first metric, the other one under the second, and nobody else leads anybody. ``"pair"``: one model is ahead
        of another by `difference`, shown by the interval of this pair and one metric alone, two-sided at `alpha`. ``"ship"``:
        a candidate that leads the baseline by `difference` under both metrics is shipped (see `BaselineComparison`), all other models
        being candidates as good as the baseline.
    query : float
        Standard deviation, from query to query, of the difference of two models.
    repeat : float
        Standard deviation of one recipe's mean from training repeat to training repeat; 0 for fixed models.
    query_repeat : float
        Standard deviation of one recipe's value on one query from repeat to repeat, beyond that.
    correlation : float
        Between the two metrics.
    models : int
        How many models are compared.
    repeats : int or sequence of int, optional
        Of each recipe, 3 or more; by default 3, 5 and 10 are tried. Not for fixed models.
    alpha, margin, seed
        As for `Verdict.from_values`.

    Raises
    ------
    ValueError
        Where `difference` is not above 0, or another number is out of its range.

    Examples
    --------
    >>> import gainsay as gs
    >>> one = gs.plan(0.01, claim="pair", query=0.1)
    >>> one.options[0].first_guess  # (1.960 + 0.842)² · 0.1² / 0.01²
    785
    >>> 0.95 < one.queries / 785 < 1.05
    True
    """
    size = check_whole("models", models, 2)
    spreads = {
        name: check_real(name, value, 0.0)
        for name, value in (("query", query), ("repeat", repeat), ("query_repeat", query_repeat))
    }
    for name, value in spreads.items():
        if not math.isfinite(value):
            raise ValueError(f"{name} must be finite, got {value!r}")
    if not any(spreads.values()):
        raise ValueError("query, repeat and query_repeat are all 0: where nothing varies, nothing needs a proof")
    components = build_covariances(query, repeat, query_repeat, check_real("correlation", correlation, -1.0, 1.0), size)
    if repeats is not None and not components.recipes.any():
        raise ValueError(
            f"repeats={repeats!r} is for recipes: give repeat or query_repeat, by how much their repeats differ"
        )
    tried = RUNS if repeats is None else _repeat_numbers(repeats)
    _validate_wanted(difference, power, claim, alpha, margin, seed)
    planner = _Planner(difference, power, claim, alpha, margin, seed, components, (0, 1))
    return planner.plan(("model 1", "model 2"), ("first metric", "second metric"), tried)


def plan_from(
    sample: Sample,
    metrics: tuple[str, ...],
    difference: float,
    power: float,
    claim: ClaimKind,
    models: Sequence[str] | None,
    margin: float,
    likely: Sequence[str],
    repeats: int | Sequence[int] | None = None,
) -> Plan:
    """Plan from the variances that a sample shows: see `Comparison.plan`."""
    _validate_wanted(difference, power, claim, sample.alpha, margin, sample.seed)
    if claim == "genuine" and len(metrics) < 2:
        raise ValueError(f"claim='genuine' is about two metrics, and there is one: {metrics[0]}; take 'pair' or 'ship'")
    joint = sample.joint(metrics)
    panel = joint.panel
    if len(panel.models) < 2:
        raise ValueError(f"there is one model only, {panel.models[0]}: nothing is to be proven of a lead")
    if panel.units < MIN_QUERIES:
        units = "queries" if panel.clusters is None else "clusters of queries"
        raise ValueError(
            f"there are {panel.units} {units} only, from which no variance is to be had: take gainsay.plan"
        )
    components = estimate_covariances(joint)
    pair = _chosen(joint, components, claim, models, likely)
    names = (panel.models[pair[0]], panel.models[pair[1]])
    if not joint.estimated.error[:, pair[0], pair[1]].any():
        raise ValueError(f"{names[0]} and {names[1]} differ by nothing that varies: name two other models by models=")
    there = min((number for number in panel.repeat_counts if number), default=None)
    if repeats is not None and there is None:
        raise ValueError(
            f"repeats={repeats!r} is for recipes, and the models compared here are fixed: take gainsay.plan"
        )
    tried = tuple(sorted({*RUNS, there or RUNS[0]})) if repeats is None else _repeat_numbers(repeats)
    planner = _Planner(difference, power, claim, sample.alpha, margin, sample.seed, components, pair)
    return planner.plan(names, panel.metrics, tried, (panel.queries, there))


def _validate_wanted(difference: float, power: float, claim: ClaimKind, alpha: float, margin: float, seed: int) -> None:
    """Raise where a plan is asked for what cannot be."""
    if claim not in get_args(ClaimKind):
        known = ", ".join(map(repr, get_args(ClaimKind)))
        raise ValueError(f"claim must be one of {known}, got {claim!r}{nearest(str(claim), get_args(ClaimKind))}")
    if not 0 < check_real("lead", difference) < math.inf:
        raise ValueError(f"lead must be above 0, got {difference!r}: no number of queries proves that nothing is ahead")
    if not 0 < check_real("power", power) < 1:
        raise ValueError(f"power must lie between 0 and 1, both excluded: got {power!r}")
    validate_alpha(alpha)
    validate_margin(margin)
    check_whole("seed", seed, 0)


def _repeat_numbers(repeats: int | Sequence[int]) -> tuple[int, ...]:
    """Return numbers of repeats, each once."""
    given = (repeats,) if isinstance(repeats, int | float | np.number) else tuple(repeats)
    if not given:
        raise ValueError(f"repeats is empty: give at least one number of repeats, {MIN_REPEATS} or more")
    return tuple(dict.fromkeys(check_whole("repeats", number, MIN_REPEATS) for number in given))


def _chosen(
    joint: JointEstimate,
    components: ComponentCovariances,
    claim: str,
    models: Sequence[str] | None,
    likely: Sequence[str],
) -> tuple[int, int]:
    """Return which two models are planned for, by place."""
    panel, estimated = joint.panel, joint.estimated
    if models is not None:
        pair = (models,) if isinstance(models, str) else tuple(models)
        if len(pair) != 2:
            raise ValueError(f"models must name two models, got {models!r}")
        validate_pair(*pair, panel.models)
        return panel.models.index(pair[0]), panel.models.index(pair[1])
    if claim == "genuine":
        first = int(estimated.mean[0].argmax())
        rest = estimated.mean[1].copy()
        rest[first] = -np.inf
        return first, int(rest.argmax())
    places = [panel.models.index(name) for name in likely]
    places = places if len(places) > 1 else list(range(len(panel.models)))
    pairs = [(k, j) for k in places for j in places if k < j]
    rows = range(components.metrics)

    def spread(pair: tuple[int, int]) -> float:
        return max(sum(value**2 for value in components.deviations(row, *pair).values()) for row in rows)

    return max(pairs, key=spread)


@dataclass(frozen=True)
class _Planner:
    """What a plan is asked for, what varies, and for which two models, by place."""

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
        """Return the plan."""
        tried: tuple[int | None, ...] = repeats if self.components.recipes.any() else (None,)
        return Plan(
            claim=self.claim,
            difference=float(self.difference),
            power=float(self.power),
            options=tuple(map(self._option, tried)),
            deviations={metric: self.components.deviations(row, *self.pair) for row, metric in enumerate(metrics)},
            models=names,
            rivals=self.components.models,
            present=None if present is None else (*present, self._chance(present[1])(present[0])),
            alpha=self.alpha,
            margin=self.margin,
            seed=self.seed,
        )

    def _option(self, repeats: int | None) -> PlannedRepeats:
        guess, chance = self._guess(repeats or 1), self._chance(repeats)
        shown = None if guess is None else math.ceil(guess)
        high = chance(MAX_QUERIES)
        if high < self.power:
            return PlannedRepeats(repeats, None, shown, high)
        queries = _least(chance, self.power, guess or 1000.0)
        return PlannedRepeats(repeats, math.ceil(queries), shown, chance(queries))

    def _guess(self, repeats: int) -> float | None:
        """Return n of lead² = z² · (2 σ_b² / R + (σ_a² + 2 σ_c² / R) / n), under the metric that takes more."""
        side = 1 - self.alpha if self.claim == "genuine" else 1 - self.alpha / 2
        z = NormalDist().inv_cdf(side) + NormalDist().inv_cdf(self.power)
        found = [float(MIN_QUERIES)]
        for row in range(self.components.metrics):
            by = self.components.deviations(row, *self.pair)
            left = self.difference**2 - z**2 * by["repeat"] ** 2 / repeats
            if left <= 0:
                return None
            found.append(z**2 * (by["query"] ** 2 + by["query_repeat"] ** 2 / repeats) / left)
        return max(found)

    def _chance(self, repeats: int | None) -> Callable[[float], float]:
        """Return the function that says with which probability so many queries prove the claim."""
        components, (first, second) = self.components, self.pair
        truth = np.zeros((components.metrics, components.models))
        if self.claim == "genuine":
            truth[0, first] = truth[1, second] = self.difference
            claims = [
                is_genuine(self.alpha, [first, second, *(k for k in range(components.models) if k not in self.pair)])
            ]
        else:
            truth[:, second] = self.difference
            claims = [is_pair(first, second, row, self.alpha) for row in range(components.metrics)]
            if self.claim == "ship":
                claims = [is_ship(first, second, self.alpha, self.margin)]
        samples = draws = SIZES[self.claim]
        if components.recipes.any():
            samples, draws = (333 if self.claim == "genuine" else 1000), 1000
        draws = max(draws, math.ceil(10 / self.alpha))  # as `validate_seed` wants them
        simulation = Simulation(components, truth, samples, draws, self.seed, repeats or MIN_REPEATS)
        return lambda queries: simulation.chance(queries, claims, together=self.claim != "genuine")


def _least(chance: Callable[[float], float], power: float, guess: float) -> float:
    """Return about the least number of queries that will do, from a guess; `MIN_QUERIES` at least."""
    low = high = max(float(MIN_QUERIES), guess)
    while chance(high) < power:
        low, high = high, high * 2
    while low == high or chance(low) >= power:
        high = low
        if low <= MIN_QUERIES:
            return low
        low = max(float(MIN_QUERIES), low / 2)
    while high / low > CLOSE:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if chance(middle) >= power else (middle, high)
    return high
