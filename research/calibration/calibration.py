"""Measure how often the verdict is right, on samples of simulated populations with known means.

    python research/calibration/calibration.py --output research/calibration/CALIBRATION.md

The verdict is compared with two naive rules for a disagreement of the metrics: two t-tests between the two winners, and
a large probability that the winners differ. Neither rule considers that a third model may be best under both metrics.

`populations.py` describes the populations of fixed models, `repeats_and_clusters.py` those of recipes with several
repeats and of queries in clusters. The default settings take two hours with two processes. The rates of each cell are
stored in a JSON file next to the page, so an interrupted calibration continues.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from populations import (
    ALPHA,
    DRAWS,
    MODELS,
    NAMES,
    SCENARIOS,
    Array,
    Scenario,
    Store,
    compare,
    draw_rows,
    format_rate,
    format_table,
    judge_cells,
    print_section,
    simulate,  # noqa: F401 - for the tests
    tilt,
)
from repeats_and_clusters import CLUSTER_CELLS, KINDS, build_recipe_cells
from scipy.stats import ttest_rel

START, END = "# Calibration of the verdict", "<!-- end of the verdict -->"
SCENARIOS_BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}


@dataclass(frozen=True)
class Row:
    """The rates of one scenario at one number of queries, and the mean true regrets of three rules of selection.

    `t_tests` and `winners_differ` are the rates of the two naive rules.
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
        """The target rate of `genuine`, if there is one."""
        return self.scenario.targets.get(self.queries)

    @property
    def meets_target(self) -> bool | None:
        """Whether the rate of `genuine` meets its target, if there is one."""
        if self.target is None:
            return None
        if self.scenario.has_common_best:
            return self.genuine <= self.target + 2 * self.error
        return self.genuine >= self.target - 0.05 - 2 * self.error


def compare_winners(sample: Array, winners: Sequence[int]) -> bool:
    """Return whether each winner is better under its metric, by one-sided paired t-tests at level `ALPHA`.

    This usual method compares only these two models. `sample` has shape (queries, 2, models).
    """
    first, second = winners
    if first == second:
        return False
    better, worse = sample[:, [0, 1], [first, second]], sample[:, [0, 1], [second, first]]
    return bool((ttest_rel(better, worse, alternative="greater").pvalue <= ALPHA).all())


RATES = tuple(Row.__dataclass_fields__)[3:]


def estimate_winners_differ(sample: Array, seed: int) -> float:
    """Return the probability that no model is best under both metrics, if means have normal errors."""
    rows = sample.reshape(len(sample), -1)
    rng = np.random.default_rng(seed)
    means = rng.multivariate_normal(rows.mean(axis=0), np.cov(rows.T) / len(rows), DRAWS)
    best = means.reshape(DRAWS, 2, -1).argmax(axis=2)
    return float(np.mean(best[:, 0] != best[:, 1]))


@dataclass(frozen=True)
class FixedCell:
    """Fixed models in one scenario, with this number of independent queries."""

    scenario: str
    queries: int

    @property
    def key(self) -> str:
        """A unique name."""
        return f"fixed | {self.scenario} | {self.queries}"

    def judge(self, seeds: Sequence[int], population: Array) -> dict[str, float]:
        """Return the fields of `Row` from `genuine` on."""
        scenario = SCENARIOS_BY_NAME[self.scenario]
        probabilities = tilt(population, scenario.truth)
        regret = dict(zip(NAMES, scenario.regret, strict=True))
        lines = []
        for seed in seeds:
            sample = population[draw_rows(np.random.default_rng(seed), probabilities, self.queries)]
            verdict = compare(np.moveaxis(sample, 1, 0), seed).verdict
            lines.append((
                verdict.kind == "genuine",
                verdict.kind == "agree",
                compare_winners(sample, [NAMES.index(winner) for winner in verdict.winners.values()]),
                estimate_winners_differ(sample, seed) >= 1 - ALPHA,
                verdict.price_lower <= scenario.regret.min() + 1e-9,
                verdict.safe_regret_upper >= regret[verdict.safe_choice] - 1e-9,
                regret[verdict.winners["linear"]],
                regret[verdict.winners["exponential"]],
                regret[verdict.safe_choice],
            ))  # fmt: skip
        return dict(zip(RATES, np.mean(np.array(lines, dtype=float), axis=0).tolist(), strict=True))


def build_fixed_cells(queries: Sequence[int]) -> list[FixedCell]:
    """Return all scenarios of fixed models."""
    return [FixedCell(scenario.name, n) for scenario in SCENARIOS for n in queries]


def build_rows(store: Store, queries: Sequence[int]) -> list[Row]:
    """Return the complete scenarios of fixed models."""
    cells = store.select(build_fixed_cells(queries))
    return [Row(SCENARIOS_BY_NAME[cell.scenario], cell.queries, **rates) for cell, rates in cells]


def format_fixed_table(rows: Sequence[Row]) -> str:
    """Return the table of fixed models."""
    heads = (
        "scenario", "a common best model exists", "queries", "samples", "rate of `genuine`", "s.e.", "target", "met",
        "rate of `agree`", "naive: two t-tests", "naive: P(winners differ) ≥ .95", "price bound covers",
        "safe bound covers", "regret: linear winner", "exponential winner", "safe choice",
    )  # fmt: skip
    lines = []
    for row in rows:
        sign = "≤" if row.scenario.has_common_best else "≈"
        lines.append((
            row.scenario.name,
            "yes" if row.scenario.has_common_best else "no",
            row.queries,
            row.repetitions,
            f"{row.genuine:.3f}",
            f"{row.error:.3f}",
            "–" if row.target is None else f"{sign} {row.target:.2f}",
            {None: "–", True: "yes", False: "**no**"}[row.meets_target],
            f"{row.agree:.3f}",
            f"{row.t_tests:.3f}",
            f"{row.winners_differ:.3f}",
            f"{row.price_covered:.3f}",
            f"{row.safe_covered:.3f}",
            f"{row.linear_regret:.4f}",
            f"{row.exponential_regret:.4f}",
            f"{row.safe_regret:.4f}",
        ))  # fmt: skip
    return format_table(heads, lines)


BOUND_HEADS = ("price covers", "safe covers", "upper regrets cover", "worst lower regret covers", "p ≤ .05 of a pair")
BOUND_RATES = ("price", "safe", "upper", "lower", "pair")


def format_cluster_table(store: Store) -> str:
    """Return the table of queries in clusters."""
    heads = ("scenario", "copies", "samples", "rate of `genuine`", "`agree`", "`genuine` without `clusters`",
             "`agree` without `clusters`", *BOUND_HEADS)  # fmt: skip
    lines = []
    for cell, rates in store.select(CLUSTER_CELLS):
        kinds = [format_rate(rates, name) for name in ("genuine", "agree", "untold genuine", "untold agree")]
        bounds = [f"{rates[name]:.3f}" for name in BOUND_RATES]
        lines.append((cell.scenario, f"{cell.copies:.0%}", rates["repetitions"], *kinds, *bounds))
    return format_table(heads, lines)


def format_recipe_table(store: Store) -> str:
    """Return the table of recipes."""
    heads = ("scenario", "recipes", "queries", "repeats", "difference of repeats", "samples", "rate of `genuine`",
             "`agree`", "`genuine`, first repeat only", "`agree`, first repeat only", *BOUND_HEADS)  # fmt: skip
    names = ("genuine", "agree", "one genuine", "one agree")
    cells = build_recipe_cells()
    cells.sort(key=lambda cell: (cell.kind, cell.scenario, cell.vary, cell.models, cell.queries, cell.repeats))
    lines = []
    for cell, rates in store.select(cells):
        vary = ", ".join(filter(None, [cell.vary, KINDS.get(cell.kind, cell.kind)]))
        size = (cell.scenario, cell.models, cell.queries, cell.repeats or "3, 5, 10", vary, rates["repetitions"])
        bounds = [f"{rates[name]:.3f}" for name in BOUND_RATES]
        lines.append((*size, *(format_rate(rates, name) for name in names), *bounds))
    return format_table(heads, lines)


FIXED_VERDICTS = (
    ("one", "Verdict on the first repeat of each recipe"),
    ("untold", "Verdict without `clusters`"),
)
BOUNDS = (
    ("price", "price"),
    ("safe", "safe choice"),
    ("upper", "upper bounds of all regrets"),
    ("lower", "lower bound of a regret"),
)


def summarize_recipes_and_clusters(store: Store) -> list[str]:
    """Return the largest error rates and the lowest coverage."""
    cells = store.select([*build_recipe_cells(), *CLUSTER_CELLS])
    with_best = [it for it in cells if not it[0].scenario.startswith("different bests")]
    without_clear_best = [it for it in cells if not it[0].scenario.startswith("same best")]
    lines = []
    for kind, population in (("genuine", with_best), ("agree", without_clear_best)):
        cell, rates = max(population, key=lambda it: it[1][kind])
        lines.append(f"- Highest rate of false `{kind}` of recipes and clusters: {format_rate(rates, kind)} "
                     f"(`{cell.key}`).")  # fmt: skip
        for prefix, title in FIXED_VERDICTS:
            name = f"{prefix} {kind}"
            simulated = [it for it in population if name in it[1]]
            if simulated:
                cell, rates = max(simulated, key=lambda it: it[1][name])
                lines.append(f"  {title}: {format_rate(rates, name)} (`{cell.key}`).")
    for name, title in BOUNDS:
        cell, rates = min(cells, key=lambda it: it[1][name])
        lines.append(f"- Lowest coverage of the {title}: {rates[name]:.3f} of {rates['repetitions']} (`{cell.key}`).")
    return lines


def build_page(rows: Sequence[Row], store: Store) -> str:
    """Return the page: methods, tables and extreme rates."""
    with_best = [row for row in rows if row.scenario.has_common_best]
    worst = max(with_best, key=lambda row: row.genuine)
    false_agree = max(0.0 if row.scenario.has_clear_best else row.agree for row in rows)
    return "\n".join([
        START,
        "",
        f"`research/calibration/calibration.py` writes this section: {MODELS} models, α = {ALPHA}, "
        f"{DRAWS} draws per verdict (a tenth of the default), seed {store.seed}.",
        "The rate of `genuine` is an error rate if a common best model exists (target: at most α, plus two standard "
        "errors of the simulation). Otherwise it is the power (target: at most .05 below, minus two standard errors).",
        "The *naive* columns are the rates of two other rules for a disagreement. One requires that each winner is "
        f"better under its own metric by a one-sided paired t-test at level {ALPHA}. The other requires a probability "
        f"of {1 - ALPHA} or more that no model is best under both.",
        "A lower bound *covers* if the true price is at least the bound. The upper bound covers if the true worst case "
        "of the safe choice is at most the bound. Both rates should be at least .95. The last three columns are mean "
        "true worst cases: of the best model by the linear metric, by the exponential one, and of the safe choice.",
        *filter(None, [store.note]),
        "",
        format_fixed_table(rows),
        "",
        f"- Highest rate of false `genuine`: {worst.genuine:.3f} (s.e. {worst.error:.3f}), "
        f"{worst.scenario.name}, {worst.queries} queries.",
        f"- Highest rate of false `agree`: {false_agree:.3f}.",
        "- Highest rate at which the naive rules find a disagreement although a common best model exists: "
        f"{max(row.t_tests for row in with_best):.3f} by two t-tests, "
        f"{max(row.winners_differ for row in with_best):.3f} by P(winners differ).",
        f"- Lowest coverage of the price's lower bound: {min(row.price_covered for row in rows):.3f}; "
        f"of the safe choice's upper bound: {min(row.safe_covered for row in rows):.3f}.",
        "",
        *build_further_sections(store),
        END,
    ])  # fmt: skip


def build_further_sections(store: Store) -> list[str]:
    """Return the sections about clusters and recipes, if any of their cells is complete."""
    page = []
    if store.select(CLUSTER_CELLS):
        page += [
            "## Queries in clusters",
            "",
            "The same population in clusters of 3 to 7 queries, 3,000 queries in total. Each query after the first of "
            "its cluster is a copy of the first one with the given probability. The verdict uses `clusters`. The next "
            "two columns show the verdict without `clusters`. Rates have standard errors. The last column is the rate "
            "of p ≤ .05 in the paired test of the last two models under the exponential metric, an error if they are "
            "tied.",
            "",
            format_cluster_table(store),
            "",
        ]
    if store.select(build_recipe_cells()):
        page += [
            "## Recipes with several repeats",
            "",
            "A recipe is a training configuration. Its truth is its mean over queries and repeats. The effects of "
            "queries, and of queries and repeats, have heavy tails (t, 5 degrees of freedom). The effects of repeats "
            "are normal or exponential. With skewed repeats, a repeat is rarely much worse. With opposite skews, a "
            "repeat of every second recipe is rarely much better. The standard deviations are those of repeats with "
            "other seeds (.025 of queries, .0015 of repeats, .075 of both) or with other samples of the training "
            "queries (.010, .0035, .095). Opposite skews are the only population here in which two recipes with few "
            "repeats miss the level. A section below compares corrections. The columns *first repeat only* show the "
            "verdict on one training per recipe, as fixed models.",
            "",
            format_recipe_table(store),
            "",
        ]
    return [*page, *summarize_recipes_and_clusters(store), ""] if page else []


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measure how often the verdict is right.")
    parser.add_argument("--repetitions", type=int, default=2000, help="samples per cell")
    parser.add_argument("--queries", type=int, nargs="+", default=[1000, 3000], help="queries per sample")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, help="also write the section to this page")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--only", choices=["fixed", "clusters", "recipes"], help="simulate only these cells")
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    store = Store(options.output and options.output.with_suffix(".json"), options.seed)
    cells_by_kind = {
        "fixed": build_fixed_cells(options.queries),
        "clusters": CLUSTER_CELLS,
        "recipes": build_recipe_cells(),
    }
    for kind, cells in cells_by_kind.items():
        if options.only in (None, kind):
            judge_cells(cells, store, options.repetitions, options.workers)
    rows = build_rows(store, options.queries)
    if rows:
        print_section(build_page(rows, store), options.output, START, END)
    print(f"{time.perf_counter() - start:.0f} s")
    return 1 if any(row.meets_target is False for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
