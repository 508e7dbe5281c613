"""Measure error rates, coverage and power on samples of real queries, whose true means are known.

    python research/calibration/calibration_real.py --values values.npz --output research/calibration/CALIBRATION.md

The values per query of production and six candidates on 8,000 test queries are the population, which
`research/studies/release.py` writes.
Samples are drawn with replacement, so their queries are independent, and an exact hypothesis is reached by tilting: the
probabilities are the nearest ones to equal ones under which the means differ as stated. With clusters, whole clusters
are drawn. The rates of each cell are stored in a JSON file next to the page, so an interrupted calibration continues.

The samples of a truth, design and number of queries are distributed over its pairs of models. The page shows the mean
and the spread over pairs, because the Monte Carlo error of a rate describes one pair only.
"""

from __future__ import annotations

import argparse
import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import combinations, product
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from populations import ALPHA, DRAWS, Array, Store, draw_rows, draw_seeds, find_probabilities, format_table
from populations import print_section as write_section

import gainwise as gw

SIZES = (50, 100, 200, 500, 1_000, 2_000)
LARGE_SIZES = (*SIZES, 4_000, 8_000)
DESIGNS = {"queries": SIZES, "clusters": LARGE_SIZES, "weights": SIZES}
"""Numbers of queries by design. Those of clusters are larger, too, because small samples have few directors."""
METRIC_PAIRS = (("ndcg_linear@10", "mrr"), ("map", "mrr"))
MARGIN = 0.005
GAINS = (0.002, 0.005, 0.01, 0.02)
MODELS = (0, 1, 3, 6, 7, 9, 12)
"""The models that are compared in pairs, in the order of the file. The first one is production."""

SCENARIO_MODELS = (1, 4, 7, 10)
"""The models of the scenarios of the verdict."""

PILOTS = (200, 500, 1_000)
START, END = "## Real queries", "<!-- end of real queries -->"


class Drawn(NamedTuple):
    """A sample: values (queries, metrics, models), and the clusters or weights of its queries."""

    values: Array
    clusters: NDArray[np.int64] | None
    weights: Array | None


@dataclass(frozen=True, eq=False)
class Queries:
    """The values of all models on all queries, shape (queries, metrics, models)."""

    values: Array
    metrics: tuple[str, ...]
    models: tuple[str, ...]
    clusters: NDArray[np.int64]
    weights: Array

    @cached_property
    def rows_of_clusters(self) -> list[NDArray[np.int64]]:
        """The queries of each cluster."""
        order = np.argsort(self.clusters, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(self.clusters[order])) + 1)

    def select(self, metrics: Sequence[str], models: Sequence[int]) -> Queries:
        """Return some metrics and models."""
        rows = [self.metrics.index(metric) for metric in metrics]
        names = tuple(self.models[model] for model in models)
        return Queries(self.values[:, rows][:, :, list(models)], tuple(metrics), names, self.clusters, self.weights)

    def tilt(self, truth: Array, design: str) -> Array:
        """Return probabilities of queries, or of clusters, for which the means differ as in `truth` (metrics, models).

        Queries with weights are tilted such that the weighted means differ as in `truth`.
        """
        differences = self.values[:, :, 1:] - self.values[:, :, :1] - (truth[:, 1:] - truth[:, :1])
        constraints = differences.reshape(len(self.values), -1)
        if design == "weights":
            constraints = constraints * (self.weights / self.weights.mean())[:, None]
        if design == "clusters":
            constraints = np.stack([constraints[rows].sum(axis=0) for rows in self.rows_of_clusters])
        p = find_probabilities(constraints, 1e-12)
        if np.abs(p @ constraints).max() > 1e-8:
            raise ArithmeticError("Tilting did not converge. These queries cannot have these true means.")
        return p

    def compute_means(self, design: str) -> Array:
        """Return the true means of samples that are not tilted."""
        weights = self.weights if design == "weights" else None
        return np.asarray(np.average(self.values, axis=0, weights=weights))

    def draw(self, design: str, probabilities: Array | None, size: int, rng: np.random.Generator) -> Drawn:
        """Draw about `size` queries with replacement."""
        units = len(self.rows_of_clusters) if design == "clusters" else len(self.values)
        number = size if design != "clusters" else max(2, round(size * units / len(self.values)))
        drawn = rng.integers(units, size=number) if probabilities is None else draw_rows(rng, probabilities, number)
        if design != "clusters":
            return Drawn(self.values[drawn], None, self.weights[drawn] if design == "weights" else None)
        parts = [self.rows_of_clusters[cluster] for cluster in drawn]
        sizes = [len(part) for part in parts]
        return Drawn(self.values[np.concatenate(parts)], np.repeat(np.arange(number), sizes), None)

    def compare(self, drawn: Drawn, seed: int) -> gw.Comparison:
        """Compare the models on a sample."""
        return gw.Comparison(
            {metric: drawn.values[:, row] for row, metric in enumerate(self.metrics)},
            self.models,
            clusters=drawn.clusters,
            weights=drawn.weights,
            ranges=dict.fromkeys(self.metrics, (0.0, 1.0)),
            margin=MARGIN,
            draws=DRAWS,
            alpha=ALPHA,
            seed=seed % 2**31,
        )


def read_queries(path: Path) -> Queries:
    """Read the values that the study of the release stored."""
    if not path.is_file():
        raise SystemExit(f"--values: {path} does not exist. Write it with research/studies/release.py --cache DIR.")
    with np.load(path) as file:
        return Queries(
            file["values"],
            tuple(file["metrics"].tolist()),
            tuple(file["models"].tolist()),
            np.unique(file["clusters"], return_inverse=True)[1],
            file["weights"],
        )


def covers_truth(comparison: gw.Comparison, metrics: Sequence[str], truth: Array) -> bool:
    """Return whether the intervals of all pairs contain the true differences (metrics, models) under all metrics."""
    place = {model: column for column, model in enumerate(comparison.models)}
    first, second = ([place[model] for model in comparison.pairs[name]] for name in ("model_x", "model_y"))
    for row, metric in zip(truth, metrics, strict=True):
        difference = row[first] - row[second]
        lower, upper = (comparison.pairs[f"{side} {metric}"].to_numpy() for side in ("lower", "upper"))
        if not ((lower - 1e-12 <= difference) & (difference <= upper + 1e-12)).all():
            return False
    return True


@dataclass(frozen=True)
class PairCell:
    """One pair of models with the same true difference under two metrics. The first model is the baseline."""

    first: int
    second: int
    difference: float
    design: str
    size: int

    @property
    def key(self) -> str:
        """A unique name."""
        return " | ".join(["pair", *map(str, asdict(self).values())])

    @property
    def condition(self) -> tuple[object, ...]:
        """What the cells of other pairs of models have in common with this one."""
        return "pair", self.difference, self.design, self.size

    def judge(self, seeds: Sequence[int], population: Queries) -> dict[str, float]:
        """Return the coverage of the intervals of the pair, and the rates of decisions."""
        pair = population.select(METRIC_PAIRS[0], (self.first, self.second))
        truth = np.array([[0.0, self.difference]] * 2)
        p = pair.tilt(truth, self.design)
        lines = []
        for seed in seeds:
            comparison = pair.compare(pair.draw(self.design, p, self.size, np.random.default_rng(seed)), seed)
            if not comparison.pairs["differing"].iloc[0]:
                lines.append([True, False, False, False])
                continue
            covered = covers_truth(comparison, pair.metrics, truth)
            (gain,) = comparison.against(pair.models[0]).decisions.values()
            (no_loss,) = comparison.against(pair.models[0], require="no_loss").decisions.values()
            lines.append([covered, gain == "ship", no_loss == "ship", gain == "do not ship"])
        names = ("covered", "ships with a gain", "ships without a loss", "does not ship")
        return dict(zip(names, np.mean(lines, axis=0).tolist(), strict=True))


def build_scenarios() -> dict[str, Array]:
    """Return the true means of four models under two metrics, shape (2, 4), by scenario."""
    best = np.array([0.01, 0, 0, 0])
    return {
        "two tie at the top under both": np.array([[0.01, 0.01, 0, 0]] * 2),
        "one is best under the first, all tie under the second": np.array([best, np.zeros(4)]),
        "a third ties both winners": np.array([[0.01, 0, 0.01, 0], [0, 0.01, 0.01, 0]]),
        "the winners differ by the margin": np.array([[MARGIN, 0, -0.02, -0.02], [0, MARGIN, -0.02, -0.02]]),
        "the winners differ by .01": np.array([[0.01, 0, -0.02, -0.02], [0, 0.01, -0.02, -0.02]]),
        "one is best under both by .01": np.array([best, best]),
    }


@dataclass(frozen=True)
class VerdictCell:
    """Four models under two metrics, tilted to a scenario or, without one, as measured."""

    scenario: str
    metrics: tuple[str, str]
    design: str
    size: int

    @property
    def key(self) -> str:
        """A unique name."""
        return " | ".join(["verdict", *map(str, asdict(self).values())])

    @property
    def condition(self) -> tuple[object, ...]:
        """No other cell has the same condition."""
        return ("verdict", *asdict(self).values())

    def judge(self, seeds: Sequence[int], population: Queries) -> dict[str, float]:
        """Return the rates of the kinds, and the coverage of the bounds."""
        chosen = population.select(self.metrics, SCENARIO_MODELS)
        if self.scenario == "as measured":
            p, truth = None, chosen.compute_means(self.design)
        else:
            truth = build_scenarios()[self.scenario]
            p = chosen.tilt(truth, self.design)
        regret = dict(zip(chosen.models, (truth.max(axis=1, keepdims=True) - truth).max(axis=0), strict=True))
        lines = []
        for seed in seeds:
            comparison = chosen.compare(chosen.draw(self.design, p, self.size, np.random.default_rng(seed)), seed)
            verdict = comparison.verdict
            kinds = [verdict.kind == kind for kind in ("genuine", "agree", "immaterial")]
            bound_covers = regret[verdict.safe_choice] <= verdict.safe_regret_upper + 1e-12
            lines.append([*kinds, bound_covers, covers_truth(comparison, self.metrics, truth)])
        names = ("genuine", "agree", "immaterial", "safe bound covers", "intervals of all pairs cover")
        return dict(zip(names, np.mean(lines, axis=0).tolist(), strict=True))


@dataclass(frozen=True)
class PlanCell:
    """Pilots of production and one candidate that gains .01, and the numbers of queries that they recommend."""

    candidate: int
    size: int
    needed: int

    @property
    def key(self) -> str:
        """A unique name."""
        return " | ".join(["plan", str(self.candidate), str(self.size)])

    @property
    def condition(self) -> tuple[object, ...]:
        """What the cells of other candidates have in common with this one."""
        return "plan", self.size

    def judge(self, seeds: Sequence[int], population: Queries) -> dict[str, float]:
        """Return how often the planned number of queries is sufficient, with the stated confidence of 50 and 80 %."""
        pair = population.select(METRIC_PAIRS[0], (0, self.candidate))
        p = pair.tilt(np.array([[0.0, 0.01]] * 2), "queries")
        lines = []
        for seed in seeds:
            comparison = pair.compare(pair.draw("queries", p, self.size, np.random.default_rng(seed)), seed)
            plan = comparison.plan(0.01, claim="ship")
            lines.append([(number or np.inf) >= self.needed for number in (plan.queries, plan.queries_upper)])
        return dict(zip(("queries", "queries_upper"), np.mean(lines, axis=0).tolist(), strict=True))


Cell = PairCell | VerdictCell | PlanCell


def list_pair_cells() -> Iterator[PairCell]:
    """Yield the nulls of the gate for all pairs, and its power for all candidates against production."""
    for first, second in combinations(MODELS, 2):
        for difference, size in product((-MARGIN, 0.0), SIZES):
            yield PairCell(first, second, difference, "queries", size)
    for candidate in MODELS[1:]:
        for design in ("clusters", "weights"):
            for difference, size in product((-MARGIN, 0.0), DESIGNS[design]):
                yield PairCell(0, candidate, difference, design, size)
        for gain, size in product(GAINS, LARGE_SIZES):
            yield PairCell(0, candidate, gain, "queries", size)


def list_verdict_cells() -> Iterator[VerdictCell]:
    """Yield all scenarios for both pairs of metrics and all designs."""
    names = ("as measured", *build_scenarios())
    for metrics, scenario, design in product(METRIC_PAIRS, names, DESIGNS):
        yield from (VerdictCell(scenario, metrics, design, size) for size in DESIGNS[design])


def list_plan_cells(store: Store) -> Iterator[PlanCell]:
    """Yield the pilots of each candidate whose power reaches 80 % within the sizes."""
    for candidate in MODELS[1:]:
        cells = [PairCell(0, candidate, 0.01, "queries", size) for size in LARGE_SIZES]
        power = [store.cells.get(cell.key, {}).get("ships with a gain", 0.0) for cell in cells]
        if max(power) >= 0.8:
            needed = np.exp(np.interp(0.8, np.maximum.accumulate(power), np.log(LARGE_SIZES)))
            yield from (PlanCell(candidate, size, round(float(needed))) for size in PILOTS)


_queries: Queries


def _initialize(path: Path) -> None:
    global _queries
    _queries = read_queries(path)


def _judge(cell: Cell, seeds: Sequence[int]) -> dict[str, float]:
    return cell.judge(seeds, _queries)


def judge_cells(cells: Sequence[Cell], store: Store, samples: int, workers: int, path: Path) -> None:
    """Judge the cells that are not complete, and add them to the store."""
    numbers = Counter(cell.condition for cell in cells)
    repetitions = {cell: math.ceil(samples / numbers[cell.condition]) for cell in cells}
    tasks = [cell for cell in cells if not store.is_complete(cell.key, repetitions[cell])]
    os.environ["OMP_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=_initialize, initargs=(path,)) as pool:
        seeds = {cell: draw_seeds(cell.key, store.seed, repetitions[cell]) for cell in tasks}
        futures = {pool.submit(_judge, cell, seeds[cell]): cell for cell in tasks}
        for done, future in enumerate(as_completed(futures), start=1):
            cell = futures[future]
            store.add(cell.key, repetitions[cell], future.result())
            if done % 50 == 0:
                print(f"{done:,} of {len(tasks):,} cells", flush=True)


def summarize(store: Store, cells: Sequence[Cell], name: str) -> tuple[float, float, float, int]:
    """Return the mean, lowest and highest rate of some cells, and the number of samples of all of them."""
    rates = [store.cells[cell.key] for cell in cells if cell.key in store.cells]
    values = [rate[name] for rate in rates]
    samples = sum(rate["repetitions"] for rate in rates)
    return float(np.mean(values)), min(values), max(values), samples


def format_spread(store: Store, cells: Sequence[Cell], name: str) -> str:
    """Return a mean rate with its range over pairs of models."""
    mean, low, high, _ = summarize(store, cells, name)
    return f"{mean:.3f} ({low:.3f} to {high:.3f})"


PAIR_CLAIMS = (
    ("covered", -MARGIN, "interval of the pair covers, target ≥ .95"),
    ("ships without a loss", -MARGIN, f"ships at a loss of {MARGIN:g}, target ≤ .025"),
    ("ships with a gain", 0.0, "ships with a gain at no difference, target ≤ .025"),
)
"""Rate, true difference and column of the table of pairs."""


def format_pairs(store: Store, cells: Sequence[PairCell]) -> str:
    """Return the table of nulls of all pairs."""
    rows = []
    for design, size in ((design, size) for design, sizes in DESIGNS.items() for size in sizes):
        same = [cell for cell in cells if (cell.design, cell.size) == (design, size)]
        by_claim = [[cell for cell in same if cell.difference == difference] for _, difference, _ in PAIR_CLAIMS]
        if not all(any(cell.key in store.cells for cell in claim) for claim in by_claim):
            continue
        spreads = [format_spread(store, claim, name) for claim, (name, _, _) in zip(by_claim, PAIR_CLAIMS, strict=True)]
        rows.append((design, f"{size:,}", f"{summarize(store, by_claim[0], 'covered')[3]:,}", *spreads))
    return format_table(("sampled", "queries", "samples", *(title for *_, title in PAIR_CLAIMS)), rows)


def format_verdicts(store: Store, cells: Sequence[VerdictCell]) -> str:
    """Return the table of scenarios, with the range over numbers of queries."""
    names = ("genuine", "agree", "immaterial", "safe bound covers", "intervals of all pairs cover")
    rows = []
    for metrics, design, scenario in product(METRIC_PAIRS, DESIGNS, ("as measured", *build_scenarios())):
        same = [c for c in cells if (c.metrics, c.design, c.scenario) == (metrics, design, scenario)]
        if any(cell.key in store.cells for cell in same):
            rates = [format_spread(store, same, name) for name in names]
            samples = f"{summarize(store, same, names[0])[3]:,}"
            rows.append((" and ".join(metrics), design, scenario, samples, *rates))
    return format_table(("metrics", "sampled", "truth", "samples", *names), rows)


def format_power(store: Store, cells: Sequence[PairCell]) -> str:
    """Return the table of correct decisions to ship."""
    rows = []
    for size in LARGE_SIZES:
        by_gain = [[c for c in cells if (c.size, c.difference, c.design) == (size, gain, "queries")] for gain in GAINS]
        if all(any(cell.key in store.cells for cell in group) for group in by_gain):
            rows.append((f"{size:,}", *(format_spread(store, group, "ships with a gain") for group in by_gain)))
    return format_table(("queries", *(f"gain of {gain:g}" for gain in GAINS)), rows)


def build_section(store: Store) -> str:
    """Return the section of the page."""
    pairs, verdicts, plans = list(list_pair_cells()), list(list_verdict_cells()), list(list_plan_cells(store))
    planned = [
        (f"{size:,}", *(format_spread(store, same, name) for name in ("queries", "queries_upper")))
        for size in PILOTS
        if (same := [cell for cell in plans if cell.size == size and cell.key in store.cells])
    ]
    metrics = " and ".join(METRIC_PAIRS[0])
    return "\n".join([
        START,
        "",
        "`research/calibration/calibration_real.py` writes this section: samples of 8,000 queries of the Movie Search "
        f"Ranking Dataset, drawn with replacement and tilted to an exact truth, α = {ALPHA}, margin {MARGIN:g}, "
        f"{DRAWS} draws, seed {store.seed}. Parentheses are the range over pairs of models. With clusters, whole "
        "directors are drawn. Weights are the votes of the movie.",
        "",
        f"Pairs of models with the same true difference under {metrics}:",
        "",
        format_pairs(store, pairs),
        "",
        f"Share of samples in which the gate ships a candidate with a true gain under {metrics}:",
        "",
        format_power(store, pairs),
        "",
        "Four models under two metrics. Parentheses are the range over numbers of queries:",
        "",
        format_verdicts(store, verdicts),
        "",
        "Share of pilots whose planned number of queries is sufficient for a gain of .01 (nominal .5 and .8):",
        "",
        format_table(("queries of the pilot", "`queries`", "`queries_upper`"), planned),
        END,
    ])  # fmt: skip


def main() -> None:
    """Judge all cells, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--values", type=Path, required=True, help="file that the study of the release wrote")
    parser.add_argument(
        "--samples", type=int, default=2_000, help="samples per truth, design and size (default: 2,000)"
    )
    parser.add_argument("--sizes", type=int, nargs="+", help="only these numbers of queries")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="page to add the section to. The rates are in a file next to it")
    options = parser.parse_args()
    store = Store(options.output and options.output.with_name("CALIBRATION_REAL.json"), options.seed)
    cells: list[Cell] = [*list_pair_cells(), *list_verdict_cells()]
    chosen = [cell for cell in cells if not options.sizes or cell.size in options.sizes]
    judge_cells(chosen, store, options.samples, options.workers, options.values)
    judge_cells(list(list_plan_cells(store)), store, options.samples, options.workers, options.values)
    write_section(build_section(store), options.output, START, END)


if __name__ == "__main__":
    main()
