"""How often is the verdict right? Simulated populations with known truth, and what `Verdict` makes of samples of them.

    python benchmarks/calibration.py --repetitions 2000 --output benchmarks/CALIBRATION.md

Each population holds the per-query NDCG@10 of eight models under both definitions. The models look for grades 0 to 4
with different tastes: the first for anything fair, the last for what is excellent, the others in between. They share
much of their noise, and rank nearly a third of the queries exactly alike. A scenario then gives every query a weight
such that the true means differ by exactly what the scenario says (exponential tilting), and queries are drawn with
these weights. So the truth is known, while values keep the ties, skews and correlations of ranking metrics.

Beside the verdict stand two naive rules that call metrics in disagreement: two t-tests between the two winners, and a
large probability that the winners differ. Both miss that a third model may be best under both metrics.

Two processes, one BLAS thread each; a few minutes for the default settings.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import root
from scipy.special import logsumexp
from scipy.stats import ttest_rel

from gainsay.comparison.verdict import Verdict

Array = NDArray[np.float64]

MODELS = 8
ALPHA = 0.05
DRAWS = 1_000
NAMES = tuple(f"model {number}" for number in range(1, MODELS + 1))


@dataclass(frozen=True)
class Scenario:
    """True means of all models under both metrics, up to a constant; what `genuine` should come to.

    `limits` holds the target rate for each number of queries: at most that where a common best model exists, about
    that or more where none does.
    """

    name: str
    linear: tuple[float, ...]
    exponential: tuple[float, ...]
    limits: dict[int, float] = field(default_factory=dict)

    @property
    def truth(self) -> Array:
        """True means, shape (2, models)."""
        return np.array([self.linear, self.exponential])

    @property
    def regret(self) -> Array:
        """Worst-metric regret of every model."""
        worst: Array = (self.truth.max(axis=1, keepdims=True) - self.truth).max(axis=0)
        return worst

    @property
    def has_common_best(self) -> bool:
        """Whether some model is best under both metrics, alone or not."""
        return bool(self.regret.min() == 0)

    @property
    def has_clear_best(self) -> bool:
        """Whether one model beats every other under both metrics, so that `agree` is true."""
        lead = np.sort(self.truth, axis=1)[:, -1] - np.sort(self.truth, axis=1)[:, -2]
        return self.has_common_best and bool((lead > 0).all())


def means(other: float, **leads: float) -> tuple[float, ...]:
    """Give one mean per model: `other`, except where m1, m2, … say otherwise."""
    return tuple(leads.get(f"m{number}", other) for number in range(1, MODELS + 1))


RAMP = tuple(np.linspace(0, 0.012, MODELS).tolist())
NULL = {1000: ALPHA, 3000: ALPHA}
SCENARIOS = (
    Scenario("all equal", means(0), means(0), NULL),
    Scenario("same best, ahead by .012", means(0, m1=0.012), means(0, m1=0.012), NULL),
    Scenario("linear's best ahead by .012, all tied on exponential", means(0, m1=0.012), means(0), NULL),
    Scenario(
        "a third ties both winners",
        means(-0.02, m1=0.012, m4=0.012, m8=0),
        means(-0.02, m8=0.012, m4=0.012, m1=0),
        NULL,
    ),
    Scenario(
        "a third ties both winners, crowded",
        means(0, m1=0.012, m2=0.012, m3=0.012, m4=0.012),
        means(0, m4=0.012, m6=0.012, m7=0.012, m8=0.012),
        NULL,
    ),
    Scenario(
        "different bests, ±.012",
        means(-0.02, m1=0.012, m8=0),
        means(-0.02, m8=0.012, m1=0),
        {1000: 0.75, 3000: 0.99},
    ),
    Scenario("different bests, ±.006", means(-0.02, m1=0.006, m8=0), means(-0.02, m8=0.006, m1=0), {3000: 0.74}),
    Scenario("ladder of 8, ±.012", RAMP[::-1], RAMP, {3000: 0.81}),
    Scenario(
        "compromise .0015 behind both",
        means(-0.02, m1=0.012, m4=0.0105, m8=0),
        means(-0.02, m8=0.012, m4=0.0105, m1=0),
    ),
)  # fmt: skip


def simulate(queries: int, seed: int, cutoff: int = 10) -> Array:
    """Make a population, shape (queries, 2, models): NDCG@10 with linear gains, then with exponential ones."""
    rng = np.random.default_rng(seed)
    documents, grades = 24, np.arange(5)
    appeal = {"fair": np.array([0.0, 1.2, 2.1, 2.3, 2.5]), "excellent": np.array([0.0, 0.5, 1.1, 2.6, 4.0])}
    labels = rng.choice(grades, size=(queries, documents), p=[0.52, 0.30, 0.13, 0.03, 0.02])
    absent = np.arange(documents) >= rng.integers(8, documents, size=(queries, 1), endpoint=True)
    labels[absent] = 0
    relevant = labels.any(axis=1)
    labels, absent = labels[relevant], absent[relevant]
    shared = rng.normal(scale=1.3, size=labels.shape)
    alike = rng.random(len(labels)) < 0.30
    values = np.empty((len(labels), 2, MODELS))
    for model in range(MODELS):
        taste = model / (MODELS - 1)
        own = rng.normal(scale=0.7, size=labels.shape)
        own[alike] = 0.0
        taste_here = np.where(alike, 0.5, taste)[:, None]
        score = (1 - taste_here) * appeal["fair"][labels] + taste_here * appeal["excellent"][labels] + shared + own
        score[absent] = -np.inf
        top = np.argpartition(-score, cutoff, axis=1)[:, :cutoff]
        top = np.take_along_axis(top, np.argsort(-np.take_along_axis(score, top, axis=1), axis=1), axis=1)
        for row, gain in enumerate((grades.astype(float), 2.0**grades - 1)):
            values[:, row, model] = _dcg(gain[np.take_along_axis(labels, top, axis=1)])
            values[:, row, model] /= _dcg(gain[-np.sort(-labels, axis=1)[:, :cutoff]])
    return values


def _dcg(gains: Array) -> Array:
    total: Array = gains @ (1 / np.log2(np.arange(2, gains.shape[1] + 2)))
    return total


def tilt(values: Array, truth: Array) -> Array:
    """Give every query a probability such that the models' means differ as `truth` says.

    The probabilities nearest to equal ones, in relative entropy, are proportional to exp(θ'h) with h a query's
    differences less the true ones, and θ minimises log Σ exp(θ'h): smooth and convex, so it is where the gradient is 0.
    """
    h = (values[:, :, 1:] - values[:, :, :1] - (truth[:, 1:] - truth[:, :1])).reshape(len(values), -1)

    def probabilities(theta: Array) -> Array:
        exponent = h @ theta
        return np.exp(exponent - logsumexp(exponent))

    def hessian(theta: Any) -> Any:
        p = probabilities(theta)
        centred = h - p @ h
        return (centred * p[:, None]).T @ centred

    def gradient(theta: Any) -> Any:
        return probabilities(theta) @ h

    found = root(gradient, np.zeros(h.shape[1]), jac=hessian, tol=1e-13)
    p = probabilities(found.x)
    if np.abs(p @ h).max() > 1e-9:
        raise ArithmeticError("tilting did not converge: this population cannot have the truth asked for")
    return p


@dataclass(frozen=True)
class Row:
    """One scenario at one number of queries: rates over all repetitions, mean true regrets of three ways to choose.

    `t_tests` and `winners_differ` are the rates at which the two naive rules say that the metrics disagree.
    """

    scenario: Scenario
    queries: int
    repetitions: int
    genuine: float
    agree: float
    t_tests: float
    winners_differ: float
    price_covered: float
    safe_covered: float
    linear_regret: float
    exponential_regret: float
    safe_regret: float

    @property
    def error(self) -> float:
        """Standard error of the rate of `genuine`."""
        return float(np.sqrt(self.genuine * (1 - self.genuine) / self.repetitions))

    @property
    def target(self) -> float | None:
        """What the rate should be."""
        return self.scenario.limits.get(self.queries)

    @property
    def kept(self) -> bool | None:
        """Whether the target is kept; None where there is none."""
        if self.target is None:
            return None
        if self.scenario.has_common_best:
            return self.genuine <= self.target + 2 * self.error
        return self.genuine >= self.target - 0.05 - 2 * self.error


def each_winner_beats_the_other(sample: Array, winners: Sequence[int]) -> bool:
    """Compare the two winners as is often done: by one paired t-test under each metric, one-sided at level `ALPHA`.

    That shows at most a sign conflict of these two models. `sample` has shape (queries, 2, models).
    """
    first, second = winners
    if first == second:
        return False
    ahead, behind = sample[:, [0, 1], [first, second]], sample[:, [0, 1], [second, first]]
    return bool((ttest_rel(ahead, behind, alternative="greater").pvalue <= ALPHA).all())


def outcomes(values: Array, chance: Array, truth: Array, queries: int, seeds: Sequence[int]) -> Array:
    """Draw a sample for each seed and judge it: the fields of `Row` from `genuine` on."""
    edges = np.cumsum(chance)
    worst = (truth.max(axis=1, keepdims=True) - truth).max(axis=0)
    regret = dict(zip(NAMES, worst, strict=True))
    lines = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        sample = values[np.searchsorted(edges / edges[-1], rng.random(queries))]
        verdict = Verdict.from_values(
            sample[:, 0],
            sample[:, 1],
            models=NAMES,
            alpha=ALPHA,
            draws=DRAWS,
            seed=seed,
            metric_names=("linear", "exponential"),
        )
        lines.append((
            verdict.kind == "genuine",
            verdict.kind == "agree",
            each_winner_beats_the_other(sample, [NAMES.index(winner) for winner in verdict.winners.values()]),
            verdict.winners_differ_probability >= 1 - ALPHA,
            verdict.price_lower <= worst.min() + 1e-9,
            verdict.safe_regret_upper >= regret[verdict.safe_choice] - 1e-9,
            regret[verdict.winners["linear"]],
            regret[verdict.winners["exponential"]],
            regret[verdict.safe_choice],
        ))  # fmt: skip
    return np.array(lines, dtype=float)


_population: Array


def _start(population: int, seed: int) -> None:
    global _population
    _population = simulate(population, seed)


def _judge(task: tuple[int, int, tuple[int, ...]]) -> Array:
    place, queries, seeds = task
    truth = SCENARIOS[place].truth
    return outcomes(_population, tilt(_population, truth), truth, queries, seeds)


def calibrate(
    repetitions: int, queries: Sequence[int], seed: int, population: int = 60_000, workers: int = 2
) -> list[Row]:
    """Judge `repetitions` samples of every scenario at every number of queries.

    Results depend on the seed, not on the number of workers.
    """
    cells = [(place, n) for place in range(len(SCENARIOS)) for n in queries]
    sources = np.random.SeedSequence(seed).spawn(len(cells))
    tasks = [
        (place, n, tuple(int(word) for word in source.generate_state(repetitions)))
        for (place, n), source in zip(cells, sources, strict=True)
    ]
    rows = []
    for (place, n), lines in zip(cells, _map(tasks, population, seed, workers), strict=True):
        rows.append(Row(SCENARIOS[place], n, repetitions, *lines.mean(axis=0).tolist()))
    return rows


def _map(tasks: list[tuple[int, int, tuple[int, ...]]], population: int, seed: int, workers: int) -> Iterator[Array]:
    if workers == 1:
        _start(population, seed)
        yield from map(_judge, tasks)
        return
    # Fresh processes read this before they load BLAS; two threads each would only get in each other's way.
    os.environ["OMP_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=_start, initargs=(population, seed)) as pool:
        yield from pool.map(_judge, tasks)


def table(rows: Sequence[Row]) -> str:
    """Write the rows as a Markdown table."""
    head = (
        "scenario", "a common best exists", "queries", "rate of `genuine`", "s.e.", "target", "kept", "rate of `agree`",
        "naive: two t-tests", "naive: P(winners differ) ≥ .95", "price bound covers", "safe bound covers",
        "regret: linear winner", "exponential winner", "safe choice",
    )  # fmt: skip
    lines = [head, ("---",) * len(head)]
    for row in rows:
        sign = "≤" if row.scenario.has_common_best else "≈"
        lines.append((
            row.scenario.name,
            "yes" if row.scenario.has_common_best else "no",
            f"{row.queries}",
            f"{row.genuine:.3f}",
            f"{row.error:.3f}",
            "–" if row.target is None else f"{sign} {row.target:.2f}",
            {None: "–", True: "yes", False: "**no**"}[row.kept],
            f"{row.agree:.3f}",
            f"{row.t_tests:.3f}",
            f"{row.winners_differ:.3f}",
            f"{row.price_covered:.3f}",
            f"{row.safe_covered:.3f}",
            f"{row.linear_regret:.4f}",
            f"{row.exponential_regret:.4f}",
            f"{row.safe_regret:.4f}",
        ))  # fmt: skip
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def report(rows: Sequence[Row], seed: int) -> str:
    """Write the whole page: what was done, the table, the worst of each column."""
    nulls = [row for row in rows if row.scenario.has_common_best]
    worst = max(nulls, key=lambda row: row.genuine)
    unclear = max(rows, key=lambda row: 0.0 if row.scenario.has_clear_best else row.agree)
    summary = [
        f"- Highest rate of false `genuine`: {worst.genuine:.3f} (s.e. {worst.error:.3f}), "
        f"{worst.scenario.name}, {worst.queries} queries.",
        f"- Highest rate of false `agree`: {0.0 if unclear.scenario.has_clear_best else unclear.agree:.3f}.",
        f"- Highest rate at which the naive rules find a disagreement where a common best model exists: "
        f"{max(row.t_tests for row in nulls):.3f} by two t-tests, "
        f"{max(row.winners_differ for row in nulls):.3f} by P(winners differ).",
        f"- Lowest coverage of the price's lower bound: {min(row.price_covered for row in rows):.3f}; "
        f"of the safe choice's upper bound: {min(row.safe_covered for row in rows):.3f}.",
    ]
    return "\n".join([
        "# Calibration of the verdict",
        "",
        f"Written by `benchmarks/calibration.py`: {rows[0].repetitions} samples a row, {MODELS} models, α = {ALPHA}, "
        f"{DRAWS} draws a verdict (a tenth of the default), seed {seed}.",
        "The rate of `genuine` is an error rate where a common best model exists (target: at most α, plus two standard "
        "errors of the simulation) and power where none does (target: at most .05 below, same allowance).",
        "The *naive* columns are the rates at which two other rules say that the metrics disagree: two paired t-tests "
        f"between the two winners, each ahead under its own metric (one-sided, level {ALPHA}), and a probability of "
        f"{1 - ALPHA} or more that no model is best under both (`winners_differ_probability`).",
        "A bound *covers* where the true price is not below its lower bound, or the true worst-metric regret of the "
        "safe choice not above its upper bound (both should reach .95). The last three columns are the mean true "
        "worst-metric regret of choosing by the linear definition, by the exponential one, and by the verdict.",
        "",
        table(rows),
        "",
        *summary,
        "",
    ])  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="How often is the verdict right, in populations of known truth?")
    parser.add_argument("--repetitions", type=int, default=2000, help="samples per scenario and number of queries")
    parser.add_argument("--queries", type=int, nargs="+", default=[1000, 3000], help="queries per sample")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="also write the page to this file")
    options = parser.parse_args(arguments)
    started = time.perf_counter()
    rows = calibrate(options.repetitions, options.queries, options.seed)
    page = report(rows, options.seed)
    print(page)
    print(f"{time.perf_counter() - started:.0f} s")
    if options.output:
        options.output.write_text(page, encoding="utf-8")
    return 1 if any(row.kept is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
