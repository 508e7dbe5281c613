"""Measure error rates and power of the release gate and of its plans, in populations with known means.

    python research/calibration/claims_gate.py --samples 4000

Differences of single queries are `differs · (spread · noise + mean / share)`. They are 0 on some queries, and their
noise is skewed and correlated over two metrics, so the true difference under each metric is exact. The result is
`research/calibration/claims/gate.json`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from claims import Study, at_least, at_most, run_studies
from differences import BASELINE, Array, Generator, compare

import gainwise as gw

LOOKS = (250, 500, 1000, 2000, 4000, 8000, 16_000)
Result = dict[str, bool | None]


class Population(NamedTuple):
    """Differences of a candidate and a baseline with these true means, on a share of the queries."""

    means: tuple[float, float]
    share: float = 0.7
    spread: float = 0.1
    skewed: float = 0.0
    """-1 for noise with a long tail of losses, 1 for a long tail of gains, 0 for normal noise."""

    def sample(self, rng: Generator, queries: int) -> Array:
        """Return differences, shape (queries, 2)."""
        if self.skewed:
            noise = self.skewed * (rng.exponential(size=(queries, 3)) - 1)
        else:
            noise = rng.standard_normal((queries, 3))
        noise = np.sqrt(0.9) * noise[:, :1] + np.sqrt(0.1) * noise[:, 1:]
        differs = rng.random((queries, 1)) < self.share
        return np.asarray(differs * (self.spread * noise + np.array(self.means) / self.share))

    @property
    def deviation(self) -> Array:
        """Standard deviations of the differences, shape (2,)."""
        return np.sqrt(self.share * self.spread**2 + np.square(self.means) * (1 / self.share - 1))


def is_shipped(differences: Array, margin: float, *, bounded: bool = False, **options: Any) -> bool:
    """Return whether any candidate ships."""
    comparison = compare(differences, bounded=bounded, draws=200)
    return "ship" in comparison.against(BASELINE, margin, **options).decisions.values()


def ship_without_loss(population: Population, queries: int, margin: float) -> Callable[[Generator], Result]:
    """Return a trial: does `no_loss` ship the candidate?"""
    return lambda rng: {"ships": is_shipped(population.sample(rng, queries), margin, require="no_loss")}


def ship_with_rare_losses(share: float, queries: int, loss: float, margin: float) -> Callable[[Generator], Result]:
    """Return a trial: does `no_loss` ship a candidate that loses up to `loss`, or exactly -`loss`, on some queries?"""

    def trial(rng: Generator) -> Result:
        size = rng.random(queries) * loss if loss > 0 else np.full(queries, -loss)
        differences = -1.0 * (rng.random(queries) < share) * size
        return {"ships": is_shipped(differences, margin, bounded=True, require="no_loss")}

    return trial


def ship_at_some_look(means: tuple[float, float], candidates: int = 1, **options: Any) -> Callable[[Generator], Result]:
    """Return a trial: does a candidate ship at one of several planned looks at growing samples?"""
    population = Population(means)
    margin = options.pop("margin", 0.0)

    def trial(rng: Generator) -> Result:
        differences = np.stack([population.sample(rng, LOOKS[-1]) for _ in range(candidates)], axis=2)
        return {"ships": any(is_shipped(differences[:queries], margin, looks=LOOKS, **options) for queries in LOOKS)}

    return trial


def ship_as_planned(share: float) -> Callable[[Generator], Result]:
    """Return a trial: do samples of the sizes planned from 1,000 other queries ship a better candidate?"""
    population = Population((0.3 * share, 0.3 * share), share, 0.1)

    def trial(rng: Generator) -> Result:
        plan = compare(population.sample(rng, 1000), bounded=False).plan(0.3 * share, claim="ship")
        sizes = {"the lower end ships": plan.queries, "the upper end ships": plan.queries_upper}
        return {text: size is None or is_shipped(population.sample(rng, size), 0.0) for text, size in sizes.items()}

    return trial


def ship_as_planned_from_deviations(share: float) -> Callable[[Generator], Result]:
    """Return a trial: does a sample of the size planned from the true deviation and share ship a better candidate?"""
    population = Population((0.3 * share, 0.3 * share), share, 0.1)
    deviation = float(population.deviation[0])

    def trial(rng: Generator) -> Result:
        queries = gw.plan(0.3 * share, claim="ship", query=deviation, differing=share).queries
        return {"ships": queries is None or is_shipped(population.sample(rng, queries), 0.0)}

    return trial


def cover_needed(difference: float, require: str) -> Callable[[Generator], Result]:
    """Return a trial: is the upper end of `queries_needed`, from 400 queries, at least the true number?"""
    population = Population((difference, difference), 0.7, 0.06)
    margin = 0.002

    def trial(rng: Generator) -> Result:
        comparison = compare(population.sample(rng, 400), bounded=False, draws=200)
        result = comparison.against(BASELINE, margin, require=require).candidates[0]
        size, covers = result.queries_needed, None
        if result.decision == "undecided":
            needed = find_needed(population, margin, require)
            covers = size is None or size.upper is None or size.upper >= needed
        return {"the upper end covers the needed number": covers}

    return trial


@lru_cache
def find_needed(population: Population, margin: float, require: str) -> float:
    """Return the number of queries that ships 80 % of normal samples, by bisection on fixed random numbers."""
    rng = np.random.default_rng(99)
    errors = rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], 200_000)
    # One-sided critical values at level .025: for one metric, and for the larger of two with a correlation of .9.
    critical, critical_max = 1.9600, 2.1081
    low, high = 30.0, 1e9
    while high / low > 1.001:
        queries = np.sqrt(low * high)
        error = population.deviation / np.sqrt(queries)
        means = np.array(population.means) + error * errors
        ships = (means - critical * error > -margin).all(axis=1)
        if require == "gain":
            ships &= (means - critical_max * error > 0).any(axis=1)
        low, high = (low, queries) if ships.mean() >= 0.8 else (queries, high)
    return high


def build_loss_studies() -> list[Study]:
    """Return the studies of `no_loss`: power, and false ships at the margin."""
    at_margin = Population((-0.01, 0.03))
    ships, all_ship, error = {"ships": at_least(0.95)}, {"ships": at_least(1.0)}, {"ships": at_most(0.025)}
    text = "no_loss: loss of exactly the margin"
    return [
        Study("1", "no_loss, margin .01: equal means, 20,000 queries, SD .084",
              ship_without_loss(Population((0.0, 0.0)), 20_000, 0.01), ships, 4),
        Study("1", "no_loss, margin .01: 368 identical queries",
              ship_with_rare_losses(0.0, 368, 1.0, 0.01), all_ship, 4),
        Study("1", "no_loss, margin .01: worse on 25 of 20,000 queries",
              ship_with_rare_losses(25 / 20_000, 20_000, 1.0, 0.01), ships, 4),
        Study("1", f"{text} under one metric, 1,000 queries", ship_without_loss(at_margin, 1000, 0.01), error),
        Study("1", f"{text}, skewed to gains, 1,000 queries",
              ship_without_loss(at_margin._replace(skewed=1), 1000, 0.01), error),
        Study("1", f"{text}, skewed to losses, 1,000 queries",
              ship_without_loss(at_margin._replace(skewed=-1), 1000, 0.01), error),
        Study("1", f"{text}, exponential losses on 6 % of queries",
              ship_without_loss(Population((-0.006, 0.02), 0.06, 0.1, -1), 1000, 0.006), error),
        Study("1", f"{text} by losses of 1 on 1 % of 1,000 queries",
              ship_with_rare_losses(0.01, 1000, -1.0, 0.01), error),
    ]  # fmt: skip


def build_studies() -> list[Study]:
    """Return all studies."""
    error = {"ships": at_most(0.025)}
    studies = [
        *build_loss_studies(),
        Study("2", "gain, undecided until decided, 7 planned looks, no gain", ship_at_some_look((0.0, 0.03)), error),
        Study("2", "no_loss at the margin, 7 planned looks",
              ship_at_some_look((-0.01, 0.03), margin=0.01, require="no_loss"), error),
        Study("2", "gain, 5 candidates, 7 planned looks, no gain", ship_at_some_look((0.0, 0.03), 5), error, 4),
    ]  # fmt: skip
    for share in (0.02, 0.05):
        text = f"plan for ship, {100 * share:g} % of queries differ"
        powers = {"the lower end ships": at_least(), "the upper end ships": at_least(0.78)}
        studies += [
            Study("3", f"{text}, true deviations", ship_as_planned_from_deviations(share), {"ships": at_least(0.78)}),
            Study("3", f"{text}, pilot of 1,000 queries", ship_as_planned(share), powers, 4),
        ]
    covers = {"the upper end covers the needed number": at_least(0.8)}
    for require in ("gain", "no_loss"):
        for difference in (0.001, 0.002, 0.005):
            setting = f"queries_needed, {require}, true difference {difference:g}, margin .002, pilot of 400"
            studies.append(Study("4", setting, cover_needed(difference, require), covers, 2))
    return studies


STUDIES = build_studies()


if __name__ == "__main__":
    run_studies(__doc__, "gate", STUDIES)
