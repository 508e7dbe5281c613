"""Measure how often release decisions and verdicts by segment are wrong, in simulated populations with known means.

    python research/calibration/calibration_decisions.py --output research/calibration/CALIBRATION.md

The script adds a section to the page that `calibration.py` writes, and uses the same populations. A *false ship* is a
decision to ship a candidate that in truth loses more than the margin under some metric, or gains under none. In
segments, a `genuine`, an `agree` or a lead is false if it is wrong in any segment, under any metric.

Finalists are chosen as in an experiment: every recipe is trained once, and the best three on the validation set by each
metric are trained again with several repeats. The full design trains every recipe with as many repeats.

The rates of each cell are stored in a JSON file next to the page, so an interrupted calibration continues.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from populations import (
    ALPHA,
    DRAWS,
    MODELS,
    NAMES,
    Array,
    Cell,
    Store,
    compare,
    draw_rows,
    format_rate,
    format_table,
    judge_cells,
    print_section,
    tilt,
)
from repeats_and_clusters import (
    KINDS,
    RecipeCell,
    select_first_repeats,
    select_repeats,
)

MARGIN = 0.004
SHARES = (0.5, 0.3, 0.15, 0.05)
START, END = "## Decisions and segments", "<!-- end of decisions and segments -->"
RATES = ("false ship", "false do not ship", "ships", "does not ship")
SEGMENT_RATES = ("false genuine", "false agree", "false lead", "false contrast")


def build_scenarios(models: int) -> dict[str, Array]:
    """Return the true means, shape (2, models), by scenario. The first model is the baseline."""
    candidates = np.ones(models)
    candidates[0] = 0.0
    return {
        "all equal": np.zeros((2, models)),
        "all gain .012 on linear, and lose the margin on exponential": np.array([
            0.012 * candidates, -MARGIN * candidates
        ]),
        "all lose half the margin on both": np.array([-MARGIN / 2 * candidates] * 2),
        "all gain .012 on both": np.array([0.012 * candidates] * 2),
        "all lose .012 on exponential": np.array([0.0 * candidates, -0.012 * candidates]),
    }  # fmt: skip


def decide(values: Sequence[Any], names: Sequence[str], seed: int, truth: Array, margin: float) -> tuple[float, ...]:
    """Return whether any decision to ship, and not to ship, is false, and the shares of both decisions."""
    decisions = compare(values, seed).against(names[0], margin).decisions
    difference = truth[:, 1:] - truth[:, :1]
    is_better = (difference >= -margin + 1e-12).all(axis=0) & (difference > 1e-12).any(axis=0)
    is_worse = (difference < -margin - 1e-12).any(axis=0)
    ships = np.array([decisions[name] == "ship" for name in names[1:]])
    rejects = np.array([decisions[name] == "do not ship" for name in names[1:]])
    false_ship, false_reject = (ships & ~is_better).any(), (rejects & ~is_worse).any()
    return float(false_ship), float(false_reject), float(ships.mean()), float(rejects.mean())


@dataclass(frozen=True)
class ShipCell:
    """Seven fixed candidates and a baseline."""

    scenario: str
    queries: int
    margin: float

    @property
    def key(self) -> str:
        """A unique name."""
        return " | ".join(["ship", *map(str, asdict(self).values())])

    def judge(self, seeds: Sequence[int], population: Array) -> dict[str, float]:
        """Return the rates of decisions."""
        truth = build_scenarios(MODELS)[self.scenario]
        probabilities = tilt(population, truth)
        lines = []
        for seed in seeds:
            rows = population[draw_rows(np.random.default_rng(seed), probabilities, self.queries)]
            lines.append(decide(np.moveaxis(rows, 1, 0), NAMES, seed, truth, self.margin))
        return dict(zip(RATES, np.mean(lines, axis=0).tolist(), strict=True))


@dataclass(frozen=True)
class ShipRecipes(RecipeCell):
    """Recipes, and a baseline that is a recipe or a fixed model."""

    margin: float = MARGIN

    @property
    def key(self) -> str:
        """A unique name."""
        return " | ".join(["ship recipes", *map(str, asdict(self).values())])

    @property
    def truth(self) -> Array:
        """True means, shape (2, models)."""
        return build_scenarios(self.models)[self.scenario]

    def judge(self, seeds: Sequence[int], population: Array) -> dict[str, float]:
        """Return the rates of decisions, and of false decisions based on the first repeats only."""
        names, lines = [f"model {k + 1}" for k in range(self.models)], []
        for seed in seeds:
            values = self.sample(np.random.default_rng(seed))
            first_only = decide(select_first_repeats(values), names, seed, self.truth, self.margin)
            lines.append((*decide(select_repeats(values), names, seed, self.truth, self.margin), first_only[0]))
        return dict(zip((*RATES, "one run: false ship"), np.mean(lines, axis=0).tolist(), strict=True))


@dataclass(frozen=True)
class FinalistsCell(RecipeCell):
    """Finalists among eight recipes, compared with the full design on the same test queries."""

    validation: int = 1000
    finalists: int = 3

    @property
    def key(self) -> str:
        """A unique name."""
        return " | ".join(["finalists", *map(str, asdict(self).values())])

    @property
    def truth(self) -> Array:
        """True means, shape (2, models)."""
        return FINALIST_SCENARIOS[self.scenario]

    def select_finalists(self, rng: np.random.Generator) -> list[int]:
        """Train every recipe once, and return the best on the validation set by each metric."""
        values = replace(self, queries=self.validation, repeats=1).sample(rng)
        means = np.array([recipe.mean(axis=(1, 2)) for recipe in values]).T
        return sorted({k for row in means for k in np.argsort(-row, kind="stable")[: self.finalists].tolist()})

    def judge(self, seeds: Sequence[int], population: Array) -> dict[str, float]:
        """Return the rates of the finalists and of the full design."""
        lines = []
        for seed in seeds:
            rng = np.random.default_rng(seed)
            finalists = self.select_finalists(rng)
            values = self.sample(rng)
            line: list[float] = []
            for recipes in (finalists, list(range(self.models))):
                verdict = compare([[values[k][row] for k in recipes] for row in (0, 1)], seed).verdict
                regret = self.truth.max(axis=1, keepdims=True) - self.truth
                regret_among = self.truth[:, recipes].max(axis=1, keepdims=True) - self.truth[:, recipes]
                is_false = bool(verdict.kind == "genuine" and (regret_among.max(axis=0) == 0).any())
                safe = recipes[verdict.models.index(verdict.safe_choice)]
                line += [verdict.kind == "genuine", is_false, regret[:, safe].max()]
            lines.append([*line, len(finalists)])
        return dict(zip(FINALIST_RATES, np.mean(lines, axis=0).tolist(), strict=True))


FINALIST_SCENARIOS = {
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
    """Four segments of different size with the same true means."""

    scenario: str
    queries: int

    @property
    def key(self) -> str:
        """A unique name."""
        return " | ".join(["segments", *map(str, asdict(self).values())])

    def judge(self, seeds: Sequence[int], population: Array) -> dict[str, float]:
        """Return the rates of false results in any segment."""
        truth = SEGMENT_SCENARIOS[self.scenario]
        probabilities = tilt(population, truth)
        is_better = truth[:, None, :] - truth[:, :, None] > 1e-12
        has_clear_best = all(np.sum(row == row.max()) == 1 for row in truth) and truth[0].argmax() == truth[1].argmax()
        lines = []
        for seed in seeds:
            rng = np.random.default_rng(seed)
            rows = population[draw_rows(rng, probabilities, self.queries)]
            labels = rng.choice(["a", "b", "c", "d"], self.queries, p=SHARES)
            segments = compare(np.moveaxis(rows, 1, 0), seed, segments=labels).segments
            kinds = [part.verdict.kind for part in segments.parts if part.verdict is not None]
            lines.append((
                "genuine" in kinds,
                "agree" in kinds and not has_clear_best,
                any((part.is_better & ~is_better).any() for part in segments.parts),
                bool(segments.contrasts),
            ))  # fmt: skip
        return dict(zip(SEGMENT_RATES, np.mean(lines, axis=0).tolist(), strict=True))


SEGMENT_SCENARIOS = {
    "all equal": np.zeros((2, MODELS)),
    "linear's best ahead by .012, all tied on exponential": np.array([[0.012] + [0.0] * 7, [0.0] * 8]),
    "two tie at the top": np.array([[0.012, 0.012] + [0.0] * 6] * 2),
    "same best, ahead by .012": np.array([[0.012] + [0.0] * 7] * 2),
}


def build_ship_cells() -> list[ShipCell]:
    """Return the cells of fixed models."""
    cells = [ShipCell(scenario, n, MARGIN) for scenario in build_scenarios(MODELS) for n in (200, 1000, 3000)]
    return [*cells, *(ShipCell("all equal", n, 0.0) for n in (200, 1000, 3000))]


def build_recipe_cells() -> list[ShipRecipes]:
    """Return the cells of two recipes: the two null scenarios, with 3, 5 and 10 repeats."""
    return [
        ShipRecipes(scenario, 2, 1000, repeats, "resampled queries", kind)
        for scenario in list(build_scenarios(3))[:2]
        for repeats in (3, 5, 10)
        for kind in ("", "a fixed baseline", "skewed runs")
    ]


def build_finalist_cells() -> list[FinalistsCell]:
    """Return the cells of finalists."""
    return [
        FinalistsCell(scenario, MODELS, 1000, repeats, "resampled queries", validation=validation)
        for scenario in FINALIST_SCENARIOS
        for repeats, validation in ((5, 1000), (5, 300))
    ]


def build_segment_cells() -> list[SegmentCell]:
    """Return the cells of segments."""
    return [SegmentCell(scenario, n) for scenario in SEGMENT_SCENARIOS for n in (1000, 3000)]


def format_cells(
    heads: Sequence[str], cells: Sequence[Any], columns: Sequence[str], names: Sequence[str], store: Store
) -> str:
    """Return a table with some fields of the cells, and rates with their standard errors."""
    lines = []
    for cell, rates in store.select(cells):
        fields = (getattr(cell, column) for column in columns)
        titles = (KINDS.get(field, field) if isinstance(field, str) else field for field in fields)
        lines.append((*titles, rates["repetitions"], *(format_rate(rates, name) for name in names)))
    return format_table(heads, lines)


def format_finalist_table(store: Store) -> str:
    """Return the table of finalists."""
    heads = ("scenario", "repeats", "validation queries", "samples", "finalists", "`genuine`", "full: `genuine`",
             "false `genuine`", "full: false `genuine`", "regret of the safe choice", "full: regret")  # fmt: skip
    lines = []
    for cell, rates in store.select(build_finalist_cells()):
        size = (cell.scenario, cell.repeats, cell.validation, rates["repetitions"], f"{rates['finalists']:.1f}")
        kinds = [format_rate(rates, name) for name in ("genuine", "full genuine", "false", "full false")]
        lines.append((*size, *kinds, f"{rates['safe regret']:.4f}", f"{rates['full safe regret']:.4f}"))
    return format_table(heads, lines)


def build_section(store: Store) -> str:
    """Return the section: methods, tables and largest error rates."""
    decisions = store.select([*build_ship_cells(), *build_recipe_cells()])
    segments = store.select(build_segment_cells())
    errors = {
        "false *ship*": [rates["false ship"] for _, rates in decisions],
        "false *do not ship*": [rates["false do not ship"] for _, rates in decisions],
        "false `genuine`, `agree` or lead in any segment": [
            rates[name] for _, rates in segments for name in ("false genuine", "false agree", "false lead")
        ],
    }
    return "\n".join([
        START,
        "",
        "`research/calibration/calibration_decisions.py` writes "
        f"this section: α = {ALPHA}, {DRAWS} draws (in segments as many "
        f"as their level requires), seed {store.seed}. Each rate of false results should be at most α. *Ship* is false "
        "if any shipped candidate loses more than the margin under some metric or gains under none. *Do not ship* is "
        "false if any rejected candidate is within the margin. The last columns are the shares of candidates with each "
        "decision. They are the power if the decision is right. Segments contain 50, 30, 15 and 5 % of the queries and "
        "have the same true means. A result is false if it is wrong in any segment, and every contrast is false.",
        *filter(None, [store.note]),
        "",
        "Seven fixed candidates and a baseline:",
        "",
        format_cells(
            ("scenario", "queries", "margin", "samples", *RATES),
            build_ship_cells(),
            ("scenario", "queries", "margin"),
            RATES,
            store,
        ),
        "",
        "Recipes on 1,000 queries, trained on resampled queries. The last column is the rate for decisions based on "
        "one repeat per recipe:",
        "",
        format_cells(
            ("scenario", "recipes", "repeats", "kind", "samples", *RATES, "first repeat only: false ship"),
            build_recipe_cells(),
            ("scenario", "models", "repeats", "kind"),
            (*RATES, "one run: false ship"),
            store,
        ),
        "",
        "Finalists among eight recipes. Each recipe is trained once, and the best three on the validation set by each "
        "metric are trained again and compared on 1,000 queries. The *full* design trains all recipes with as many "
        "repeats. A `genuine` is a claim about the finalists: it is false if one of them is best by both metrics among "
        "the finalists, even if a better recipe was excluded by the validation set. The regret is the mean true worst "
        "case of the safe choice among all recipes.",
        "",
        format_finalist_table(store),
        "",
        "Segments, eight models:",
        "",
        format_cells(
            ("scenario", "queries", "samples", "false `genuine`", "false `agree`", "false lead", "false contrast"),
            build_segment_cells(),
            ("scenario", "queries"),
            SEGMENT_RATES,
            store,
        ),
        "",
        *(f"- Highest rate of {name}: {max(rates):.3f}." for name, rates in errors.items() if rates),
        END,
    ])  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measure how often release decisions and segments are wrong.")
    parser.add_argument("--repetitions", type=int, default=2000, help="samples per cell of decisions")
    parser.add_argument("--segments", type=int, default=500, help="samples per cell of segments, which take longer")
    parser.add_argument("--finalists", type=int, default=1000, help="samples per cell of finalists")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--output", type=Path, help="also write the section to this page")
    parser.add_argument("--only", choices=["decisions", "finalists", "segments"], help="simulate only these cells")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    store = Store(options.output and options.output.with_name("CALIBRATION_DECISIONS.json"), options.seed)
    kinds: dict[str, tuple[Sequence[Cell], int]] = {
        "decisions": ([*build_ship_cells(), *build_recipe_cells()], options.repetitions),
        "finalists": (build_finalist_cells(), options.finalists),
        "segments": (build_segment_cells(), options.segments),
    }
    for kind, (cells, repetitions) in kinds.items():
        if options.only in (None, kind):
            judge_cells(cells, store, repetitions, options.workers)
    print_section(build_section(store), options.output, START, END)
    print(f"{time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    main()
