"""Measure error rates and power of the release gate and of its plans, in populations with known means.

    python research/calibration/claims_gate.py --samples 4000 --output research/calibration/claims/gate.json

Differences of single queries are `differs · (spread · noise + mean / share)`. They are 0 on some queries, and their
noise is skewed and correlated over two metrics, so the true difference under each metric is exact. The file has one row
per claim: `row`, `claim`, `target`, and the rate with its standard error and the number of samples as `after`. The
script does not change `before`, the rate of an earlier version. `direction` is "at most" for error rates and "at least"
for power and coverage.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import gainwise as gw
from gainwise import Comparison
from gainwise.comparison.baseline import compare_with_baseline

Array = NDArray[np.float64]

METRICS = ("ndcg_linear@10", "ndcg_exp@10")
DRAWS = 200
LOOKS = (250, 500, 1000, 2000, 4000, 8000, 16_000)


class Population(NamedTuple):
    """Differences of a candidate and a baseline with these true means, on a share of the queries."""

    means: tuple[float, float]
    share: float = 0.7
    spread: float = 0.1
    skewed: float = 0.0
    """-1 for noise with a long tail of losses, 1 for a long tail of gains, 0 for normal noise."""

    def sample(self, rng: np.random.Generator, queries: int) -> Array:
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


def compare(differences: Array, max_loss: float = np.inf) -> Comparison:
    """Return a comparison of a baseline with candidates, from differences of shape (queries, 2) or (queries, 2, C)."""
    table = differences.reshape(len(differences), 2, -1)
    values = np.concatenate([np.zeros_like(table[:, :, :1]), table], axis=2)
    names = ["baseline", *(f"candidate {number}" for number in range(1, values.shape[2]))]
    ranges = dict.fromkeys(METRICS, (-max_loss, 0.0)) if np.isfinite(max_loss) else {}
    by_metric = {metric: values[:, row] for row, metric in enumerate(METRICS)}
    return Comparison(by_metric, names, ranges=ranges, draws=DRAWS)


def decide(differences: Array, margin: float, max_loss: float = np.inf, **options: Any) -> list[str]:
    """Return the decision about every candidate."""
    sample = compare(differences, max_loss)._sample
    return list(compare_with_baseline(sample, METRICS, "baseline", margin, plan=False, **options).decisions.values())


def ships_without_loss(population: Population, queries: int, margin: float) -> Callable[..., bool]:
    """Return a trial: does `no_loss` ship the candidate?"""
    return lambda rng: decide(population.sample(rng, queries), margin, require="no_loss") == ["ship"]


def ships_with_rare_losses(share: float, queries: int, loss: float, margin: float) -> Callable[..., bool]:
    """Return a trial: does `no_loss` ship a candidate that loses up to `loss`, or exactly -`loss`, on some queries?"""

    def trial(rng: np.random.Generator) -> bool:
        size = rng.random((queries, 1)) * loss if loss > 0 else np.full((queries, 1), -loss)
        differences = -1.0 * (rng.random((queries, 1)) < share) * size * np.ones(2)
        return decide(differences, margin, 1.0, require="no_loss") == ["ship"]

    return trial


def ships_at_some_look(means: tuple[float, float], candidates: int = 1, **options: Any) -> Callable[..., bool]:
    """Return a trial: does a candidate ship at one of several looks at growing samples?"""
    population = Population(means)
    margin = options.pop("margin", 0.0)

    def trial(rng: np.random.Generator) -> bool:
        samples = [population.sample(rng, LOOKS[-1]) for _ in range(candidates)]
        differences = np.stack(samples, axis=2)
        return any("ship" in decide(differences[:queries], margin, **options) for queries in LOOKS)

    return trial


def ships_as_planned(share: float, upper: bool) -> Callable[..., bool]:
    """Return a trial: does a sample of the size planned from 1,000 other queries ship a better candidate?"""
    population = Population((0.3 * share, 0.3 * share), share, 0.1)

    def trial(rng: np.random.Generator) -> bool:
        plan = compare(population.sample(rng, 1000)).plan(0.3 * share, claim="ship")
        queries = plan.queries_upper if upper else plan.queries
        return queries is None or decide(population.sample(rng, queries), 0.0) == ["ship"]

    return trial


def ships_as_planned_from_deviations(share: float) -> Callable[..., bool]:
    """Return a trial: does a sample of the size planned from the true deviation and share ship a better candidate?"""
    population = Population((0.3 * share, 0.3 * share), share, 0.1)
    plan = gw.plan(0.3 * share, claim="ship", query=float(population.deviation[0]), differing=share)
    assert plan.queries is not None
    return lambda rng: decide(population.sample(rng, plan.queries), 0.0) == ["ship"]


def covers_needed(difference: float, require: str) -> Callable[..., bool | None]:
    """Return a trial: is the upper end of `queries_needed`, from 400 queries, at least the true number?"""
    population = Population((difference, difference), 0.7, 0.06)
    margin = 0.002
    needed = find_needed(population, margin, require)

    def trial(rng: np.random.Generator) -> bool | None:
        result = compare(population.sample(rng, 400)).against("baseline", margin, require=require).candidates[0]
        if result.decision != "undecided":
            return None
        size = result.queries_needed
        return size.upper is None or size.upper >= needed

    return trial


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


class Claim(NamedTuple):
    """A claim, its target, and a trial. The number of samples is divided by `divisor`."""

    row: int
    claim: str
    direction: str
    target: float | None
    trial: Callable[..., bool | None]
    divisor: int = 1


def build_claims() -> list[Claim]:
    """Return all claims."""
    most, least = "at most", "at least"
    at_margin = Population((-0.01, 0.03))
    claims = [
        Claim(1, "no_loss, margin .01: equal means, 20,000 queries, SD .084: ships", least, 0.95,
              ships_without_loss(Population((0.0, 0.0)), 20_000, 0.01), 4),
        Claim(1, "no_loss, margin .01: 368 identical queries: ships", least, 1.0,
              ships_with_rare_losses(0.0, 368, 1.0, 0.01), 4),
        Claim(1, "no_loss, margin .01: worse on 25 of 20,000 queries: ships", least, 0.95,
              ships_with_rare_losses(25 / 20_000, 20_000, 1.0, 0.01), 4),
        Claim(1, "no_loss: loss of exactly the margin under one metric, 1,000 queries: false ship", most, 0.025,
              ships_without_loss(at_margin, 1000, 0.01)),
        Claim(1, "no_loss: loss of exactly the margin, skewed to gains, 1,000 queries: false ship", most, 0.025,
              ships_without_loss(at_margin._replace(skewed=1), 1000, 0.01)),
        Claim(1, "no_loss: loss of exactly the margin, skewed to losses, 1,000 queries: false ship", most, 0.025,
              ships_without_loss(at_margin._replace(skewed=-1), 1000, 0.01)),
        Claim(1, "no_loss: loss of exactly the margin, exponential losses on 6 % of queries: false ship", most, 0.025,
              ships_without_loss(Population((-0.006, 0.02), 0.06, 0.1, -1), 1000, 0.006)),
        Claim(1, "no_loss: loss of exactly the margin by losses of 1 on 1 % of 1,000 queries: false ship", most, 0.025,
              ships_with_rare_losses(0.01, 1000, -1.0, 0.01)),
        Claim(2, "gain, undecided until decided, 7 doublings, planned looks: false ship", most, 0.025,
              ships_at_some_look((0.0, 0.03), looks=LOOKS)),
        Claim(2, "no_loss at the margin, 7 planned looks: false ship", most, 0.025,
              ships_at_some_look((-0.01, 0.03), margin=0.01, require="no_loss", looks=LOOKS)),
        Claim(2, "gain, 5 candidates, 7 planned looks: any false ship", most, 0.025,
              ships_at_some_look((0.0, 0.03), 5, looks=LOOKS), 4),
        Claim(2, "gain, 7 doublings, valid at any time: false ship", most, 0.025,
              ships_at_some_look((0.0, 0.03), anytime=True)),
    ]  # fmt: skip
    for share in (0.02, 0.05):
        text = f"plan for ship, {100 * share:g} % of queries differ"
        claims += [
            Claim(3, f"{text}, true deviations: power", least, 0.78, ships_as_planned_from_deviations(share)),
            Claim(
                3, f"{text}, pilot of 1,000 queries, lower end: power", least, None, ships_as_planned(share, False), 4
            ),
            Claim(
                3, f"{text}, pilot of 1,000 queries, upper end: power", least, 0.78, ships_as_planned(share, True), 4
            ),
        ]
    for require in ("gain", "no_loss"):
        for difference in (0.001, 0.002, 0.005):
            claims.append(
                Claim(4, f"queries_needed, {require}, true difference {difference:g}, margin .002, pilot of 400: "
                      "upper end covers the needed number", least, 0.8, covers_needed(difference, require), 2)
            )  # fmt: skip
    return claims


def measure(claim: Claim, samples: int, seed: int) -> dict[str, float]:
    """Return the rate with its standard error, without trials that have no result."""
    results = []
    for number in range(max(1, samples // claim.divisor)):
        result = claim.trial(np.random.default_rng([seed, claim.row, number]))
        if result is not None:
            results.append(bool(result))
    rate = float(np.mean(results))
    return {"rate": rate, "se": float(np.sqrt(rate * (1 - rate) / len(results))), "samples": len(results)}


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure error rates and power of the release gate and of its plans.")
    parser.add_argument("--samples", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, nargs="*", default=[1, 2, 3, 4])
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    stored = json.loads(options.output.read_text()) if options.output and options.output.exists() else []
    by_claim = {row["claim"]: row for row in stored}
    for claim in build_claims():
        if claim.row not in options.rows:
            continue
        start = time.perf_counter()
        content = {"row": claim.row, "claim": claim.claim, "direction": claim.direction, "target": claim.target}
        before = by_claim.get(claim.claim, {}).get("before")
        by_claim[claim.claim] = content | {"before": before, "after": measure(claim, options.samples, options.seed)}
        print(f"{time.perf_counter() - start:6.1f} s", by_claim[claim.claim], flush=True)
        if options.output:
            options.output.parent.mkdir(exist_ok=True)
            options.output.write_text(json.dumps(list(by_claim.values()), indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
