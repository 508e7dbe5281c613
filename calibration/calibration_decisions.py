"""How often is a decision false? Ship against a baseline, and segments, in populations of known truth.

    python calibration/calibration_decisions.py --output calibration/CALIBRATION.md

The page that `calibration.py` writes gets a section at its end. Populations are those of that script: NDCG@10 by query
of eight models, tilted to the truth of a scenario, and recipes of several runs. A *false ship* is one of any candidate
that in truth loses more than the margin under some metric, or gains under none. In segments a *false* `genuine` or
`agree` is one in any segment, a false lead one of a model that is in truth not ahead, under any metric, in any segment.

Finalists are chosen as an experiment does: every recipe is trained once, the best three on valid by each metric go on,
and only these are trained anew, several times. The full design trains every recipe as often, on the same queries.

The rates of every cell are kept in a JSON file beside the page, and an interrupted calibration goes on from there.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from calibration import MODELS, NAMES, Array, simulate, tilt
from calibration_cells import ALPHA, DRAWS, METRICS, RecipeCell, Store, found, judged, put_section, read_panel, seeds_of

from gainsay.comparison.baseline import compare_with_baseline
from gainsay.comparison.inference import Sample
from gainsay.comparison.segments import compute_segments
from gainsay.comparison.verdict import Verdict

margin = 0.004
SHARES = (0.5, 0.3, 0.15, 0.05)
START, END = "## Decisions and segments", "<!-- end of decisions and segments -->"


def truths(models: int) -> dict[str, Array]:
    """Return the true means, shape (2, models), by scenario; the first model is the baseline."""
    lead = np.zeros(models)
    lead[1:] = 0.012
    none = np.zeros(models)
    return {
        "all equal": np.array([none, none]),
        "all gain .012 on linear, and lose the margin on exponential": np.array([lead, -margin * (lead > 0)]),
        "all lose half the margin on both": np.array([-margin / 2 * (lead > 0)] * 2),
        "all gain .012 on both": np.array([lead, lead]),
        "all lose .012 on exponential": np.array([none, -lead]),
    }


@dataclass(frozen=True)
class ShipCell:
    """Seven fixed candidates against a baseline."""

    scenario: str
    queries: int
    margin: float

    @property
    def key(self) -> str:
        """A name that no other cell has."""
        return " | ".join(["ship", *map(str, asdict(self).values())])

    def judge(self, seeds: Sequence[int]) -> dict[str, float]:
        """Decide on a sample for each seed."""
        truth = truths(MODELS)[self.scenario]
        edges, lines = np.cumsum(tilt(_population, truth)), []
        for seed in seeds:
            rows = _population[np.searchsorted(edges / edges[-1], np.random.default_rng(seed).random(self.queries))]
            panel = read_panel(dict(zip(METRICS, np.moveaxis(rows, 1, 0), strict=True)), NAMES)
            lines.append(decided(Sample(panel, ALPHA, DRAWS, seed), NAMES, truth, self.margin))
        return dict(zip(RATES, np.mean(lines, axis=0).tolist(), strict=True))


@dataclass(frozen=True)
class ShipRecipes(RecipeCell):
    """Recipes against a baseline, which is a recipe too or one fixed model."""

    margin: float = margin

    @property
    def key(self) -> str:
        """A name that no other cell has."""
        return " | ".join(["ship recipes", *map(str, asdict(self).values())])

    @property
    def truth(self) -> Array:
        """True means, shape (2, models)."""
        return truths(self.models)[self.scenario]

    def judge(self, seeds: Sequence[int]) -> dict[str, float]:
        """Decide on a sample for each seed, by its runs and by the first run of each alone."""
        names, lines = [f"model {k + 1}" for k in range(self.models)], []
        for seed in seeds:
            values = self.sample(np.random.default_rng(seed))
            rows = [[one[row] if one.shape[2] > 1 else one[row, :, 0] for one in values] for row in (0, 1)]
            of_runs = Sample(read_panel(dict(zip(METRICS, rows, strict=True)), names), ALPHA, DRAWS, seed)
            first = {it: np.stack([one[row, :, 0] for one in values], axis=1) for row, it in enumerate(METRICS)}
            alone = Sample(read_panel(first, names), ALPHA, DRAWS, seed)
            lines.append((
                *decided(of_runs, names, self.truth, self.margin), decided(alone, names, self.truth, self.margin)[0]
            ))  # fmt: skip
        return dict(zip((*RATES, "one run: false ship"), np.mean(lines, axis=0).tolist(), strict=True))


@dataclass(frozen=True)
class FinalistsCell(RecipeCell):
    """Eight recipes of which finalists are chosen on valid; beside them the full design, on the same test queries."""

    valid: int = 1000
    keep: int = 3

    @property
    def key(self) -> str:
        """A name that no other cell has."""
        return " | ".join(["finalists", *map(str, asdict(self).values())])

    @property
    def truth(self) -> Array:
        """True means, shape (2, models)."""
        return FINALIST_TRUTHS[self.scenario]

    def screened(self, rng: np.random.Generator) -> list[int]:
        """Train every recipe once, and return the best on valid by each of the metrics."""
        once = replace(self, queries=self.valid, runs=1).sample(rng)
        means = np.array([values.mean(axis=(1, 2)) for values in once]).T
        return sorted({k for row in means for k in np.argsort(-row, kind="stable")[: self.keep].tolist()})

    def judge(self, seeds: Sequence[int]) -> dict[str, float]:
        """Judge the finalists and the full design of a sample for each seed."""
        lines = []
        for seed in seeds:
            rng = np.random.default_rng(seed)
            through = self.screened(rng)
            values = self.sample(rng)
            found = []
            for chosen in (through, list(range(self.models))):
                verdict, _ = judged(*([values[k][row] for k in chosen] for row in (0, 1)), seed=seed)
                regret = self.truth.max(axis=1, keepdims=True) - self.truth
                own = self.truth[:, chosen].max(axis=1, keepdims=True) - self.truth[:, chosen]
                false = bool(verdict.kind == "genuine" and (own.max(axis=0) == 0).any())
                safe = chosen[verdict.models.index(verdict.safe_choice)]
                found += [verdict.kind == "genuine", false, regret[:, safe].max()]
            lines.append([*found, len(through)])
        return dict(zip(FINALIST_RATES, np.mean(lines, axis=0).tolist(), strict=True))


FINALIST_TRUTHS = {
    "different bests ±.01, others far behind": np.array(
        [[0.01, 0.0] + [-0.06] * 6, [0.0, 0.01] + [-0.06] * 6]
    ),
    "different bests ±.01, others level with the second": np.array([[0.01] + [0.0] * 7, [0.0, 0.01] + [0.0] * 6]),
    "different bests ±.01, others on a ladder": np.array(
        [[0.01, 0.0, *np.linspace(0.0, -0.02, 6)], [0.0, 0.01, *np.linspace(0.0, -0.02, 6)]]
    ),
    "a third ties both winners, others level": np.array(
        [[0.01, 0.0, 0.01] + [0.0] * 5, [0.0, 0.01, 0.01] + [0.0] * 5]
    ),
    "linear's best ahead by .03, all tied on exponential": np.array([[0.03] + [0.0] * 7, [0.0] * 8]),
}  # fmt: skip
FINALIST_RATES = ("genuine", "false", "safe regret", "full genuine", "full false", "full safe regret", "finalists")


@dataclass(frozen=True)
class SegmentCell:
    """Four segments of unequal size, alike in truth."""

    scenario: str
    queries: int

    @property
    def key(self) -> str:
        """A name that no other cell has."""
        return " | ".join(["segments", *map(str, asdict(self).values())])

    def judge(self, seeds: Sequence[int]) -> dict[str, float]:
        """Judge the segments of a sample for each seed."""
        truth = SEGMENT_TRUTHS[self.scenario]
        edges, lines = np.cumsum(tilt(_population, truth)), []
        ahead = truth[:, None, :] - truth[:, :, None] > 1e-12
        clear = all(np.sum(row == row.max()) == 1 for row in truth) and truth[0].argmax() == truth[1].argmax()
        for seed in seeds:
            rng = np.random.default_rng(seed)
            rows = _population[np.searchsorted(edges / edges[-1], rng.random(self.queries))]
            sample = Sample(
                read_panel(dict(zip(METRICS, np.moveaxis(rows, 1, 0), strict=True)), NAMES), ALPHA, DRAWS, seed
            )
            labels = {"segment": rng.choice(np.array(["a", "b", "c", "d"], dtype=object), self.queries, p=SHARES)}
            parts = compute_segments(sample, labels, METRICS, 0.0, Verdict.from_sample(sample, METRICS, 0.0))
            kinds = [part.verdict.kind for part in parts.parts if part.verdict is not None]
            lines.append((
                "genuine" in kinds,
                "agree" in kinds and not clear,
                any((part.leads & ~ahead).any() for part in parts.parts),
                bool(parts.contrasts),
            ))  # fmt: skip
        names = ("false genuine", "false agree", "false lead", "false contrast")
        return dict(zip(names, np.mean(lines, axis=0).tolist(), strict=True))


SEGMENT_TRUTHS = {
    "all equal": np.zeros((2, MODELS)),
    "linear's best ahead by .012, all tied on exponential": np.array([[0.012] + [0.0] * 7, [0.0] * 8]),
    "two tie at the top": np.array([[0.012, 0.012] + [0.0] * 6] * 2),
    "same best, ahead by .012": np.array([[0.012] + [0.0] * 7] * 2),
}
RATES = ("false ship", "false do not ship", "ships", "does not ship")


def decided(sample: Sample, names: Sequence[str], truth: Array, margin: float) -> tuple[float, ...]:
    """Return whether some candidate is shipped that must not be, whether some is refused wrongly, and both shares."""
    decisions = compare_with_baseline(sample, METRICS, names[0], margin, plan=False).decisions
    lead = truth[:, 1:] - truth[:, :1]
    fine = (lead >= -margin + 1e-12).all(axis=0) & (lead > 1e-12).any(axis=0)
    beyond = (lead < -margin - 1e-12).any(axis=0)
    ships = np.array([decisions[name] == "ship" for name in names[1:]])
    refuses = np.array([decisions[name] == "do not ship" for name in names[1:]])
    return float((ships & ~fine).any()), float((refuses & ~beyond).any()), float(ships.mean()), float(refuses.mean())


def ship_cells() -> list[ShipCell]:
    """Return the cells of fixed models."""
    cells = [ShipCell(scenario, n, margin) for scenario in truths(MODELS) for n in (200, 1000, 3000)]
    return [*cells, *(ShipCell("all equal", n, 0.0) for n in (200, 1000, 3000))]


def recipe_cells() -> list[ShipRecipes]:
    """Return the cells of recipes: the nulls, with 3, 5 and 10 runs; a fixed baseline among them."""
    nulls = list(truths(3))[:2]
    return [
        ShipRecipes(scenario, models, 1000, runs, "resampled queries", kind)
        for scenario in nulls
        for models in (2, 4)
        for runs in (3, 5, 10)
        for kind in ("", "a fixed baseline", "skewed runs")
    ]


def finalist_cells() -> list[FinalistsCell]:
    """Return the cells of finalists."""
    return [
        FinalistsCell(scenario, MODELS, 1000, runs, "resampled queries", valid=valid)
        for scenario in FINALIST_TRUTHS
        for runs, valid in ((5, 1000), (5, 300), (10, 1000))
    ]


def segment_cells() -> list[SegmentCell]:
    """Return the cells of segments."""
    return [SegmentCell(scenario, n) for scenario in SEGMENT_TRUTHS for n in (1000, 3000)]


Cell = ShipCell | ShipRecipes | FinalistsCell | SegmentCell
_population: Array


def _start(population: int, seed: int) -> None:
    global _population
    _population = simulate(population, seed)


def _judge(cell: Cell, seeds: Sequence[int]) -> dict[str, float]:
    return cell.judge(seeds)


def judge_all(cells: Sequence[Cell], store: Store, repetitions: int, workers: int, population: int = 60_000) -> None:
    """Judge the cells that the store does not have, and put them there."""
    tasks = {
        cell: seeds_of(cell.key, store.seed, repetitions) for cell in cells if not store.has(cell.key, repetitions)
    }
    if workers == 1:
        _start(population, store.seed)
        for cell, seeds in tasks.items():
            store.put(cell.key, repetitions, cell.judge(seeds))
        return
    os.environ["OMP_NUM_THREADS"] = "1"
    arguments = (population, store.seed)
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=_start, initargs=arguments) as pool:
        waiting = {pool.submit(_judge, cell, seeds): cell for cell, seeds in tasks.items()}
        for done in as_completed(waiting):
            store.put(waiting[done].key, repetitions, done.result())


def table(head: Sequence[str], cells: Sequence[Any], columns: Sequence[str], names: Sequence[str], store: Store) -> str:
    """Write cells as a Markdown table: some of their fields, then rates with their standard errors."""
    lines = [head, ["---"] * len(head)]
    for cell, rates in found(store, cells):
        n = rates["repetitions"]
        shown = [_rate(rates, name) for name in names]
        lines.append([*(str(getattr(cell, column)) for column in columns), str(n), *shown])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def finalist_table(store: Store) -> str:
    """Write the cells of finalists as a Markdown table."""
    head = ["scenario", "runs", "queries of valid", "samples", "finalists", "`genuine`", "full design: `genuine`",
            "false `genuine`", "full design: false", "regret of the safe choice", "full design: regret"]  # fmt: skip
    lines = [head, ["---"] * len(head)]
    for cell, rates in found(store, finalist_cells()):
        shown = [_rate(rates, name) for name in ("genuine", "full genuine", "false", "full false")]
        size = [cell.scenario, str(cell.runs), str(cell.valid), str(rates["repetitions"]), f"{rates['finalists']:.1f}"]
        lines.append([*size, *shown, f"{rates['safe regret']:.4f}", f"{rates['full safe regret']:.4f}"])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _rate(rates: dict[str, float], name: str) -> str:
    """Write a rate with its standard error."""
    rate, n = rates[name], rates["repetitions"]
    return f"{rate:.3f} ± {np.sqrt(rate * (1 - rate) / n):.3f}"


def report(store: Store) -> str:
    """Write the section."""
    errors = {
        "false *ship*": [rates["false ship"] for _, rates in found(store, [*ship_cells(), *recipe_cells()])],
        "false *do not ship*": [
            rates["false do not ship"] for _, rates in found(store, [*ship_cells(), *recipe_cells()])
        ],
        "false `genuine`, `agree` or lead in any segment": [
            rates[name]
            for _, rates in found(store, segment_cells())
            for name in ("false genuine", "false agree", "false lead")
        ],
    }
    return "\n".join([
        START,
        "",
        f"Written by `calibration/calibration_decisions.py`, α = {ALPHA}, {DRAWS} draws (in segments as many as their "
        f"level takes), seed {store.seed}. What is called false is an error rate, which should be at most α: a false "
        "*ship* is one of any candidate that loses more than the margin under some metric or gains under none, a false "
        "*do not ship* one of any candidate that is within the margin. The last columns are the shares of candidates "
        "that are shipped and refused, power where that is right. Segments hold 50, 30, 15 and 5 % of the queries, all "
        "alike in truth; an error is one in any of them, and a contrast between any two is one.",
        "",
        "Seven fixed candidates against a baseline:",
        "",
        table(
            ["scenario", "queries", "margin", "samples", *RATES],
            ship_cells(),
            ("scenario", "queries", "margin"),
            RATES,
            store,
        ),
        "",
        "Recipes on 1,000 queries, trained on resampled queries, and what deciding by one run of each would have done:",
        "",
        table(
            ["scenario", "recipes", "runs", "kind", "samples", *RATES, "one run: false ship"],
            recipe_cells(),
            ("scenario", "models", "runs", "kind"),
            (*RATES, "one run: false ship"),
            store,
        ),
        "",
        "Eight recipes of which finalists were chosen on so many queries of valid (the best three by each metric of "
        "one training each), and those trained anew, judged on 1,000 queries; beside it the full design, in which all "
        "are trained as often. It is a claim about the finalists, false where one is best by both metrics among "
        "them; where the best of all was left behind on valid it may be true of them and of no others. The regret is "
        "what the safe choice truly loses against the best of all recipes, mean over samples.",
        "",
        finalist_table(store),
        "",
        "Segments, eight models:",
        "",
        table(
            ["scenario", "queries", "samples", "false `genuine`", "false `agree`", "false lead", "false contrast"],
            segment_cells(),
            ("scenario", "queries"),
            ("false genuine", "false agree", "false lead", "false contrast"),
            store,
        ),
        "",
        *(f"- Highest rate of {name}: {max(rates):.3f}." for name, rates in errors.items() if rates),
        END,
    ])  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="How often are decisions and segments wrong, where the truth is known?"
    )
    parser.add_argument("--repetitions", type=int, default=2000, help="samples of each cell of decisions")
    parser.add_argument("--segments", type=int, default=500, help="samples of each cell of segments, which take longer")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--output", type=Path, help="the page at whose end the section goes")
    parser.add_argument("--finalists", type=int, default=1000, help="samples of each cell of finalists")
    parser.add_argument("--only", choices=["decisions", "finalists", "segments"], help="leave all else as it was found")
    options = parser.parse_args(arguments)
    started = time.perf_counter()
    store = Store(options.output and options.output.with_name("CALIBRATION_DECISIONS.json"), options.seed)
    kinds: dict[str, tuple[Sequence[Cell], int]] = {
        "decisions": ([*ship_cells(), *recipe_cells()], options.repetitions),
        "finalists": (finalist_cells(), options.finalists),
        "segments": (segment_cells(), options.segments),
    }
    for kind, (cells, repetitions) in kinds.items():
        if options.only in (None, kind):
            judge_all(cells, store, repetitions, options.workers)
    section = report(store)
    print(section)
    print(f"{time.perf_counter() - started:.0f} s")
    if options.output:
        put_section(options.output, section, START, END)
    return 0


if __name__ == "__main__":
    main()
