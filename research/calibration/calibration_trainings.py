"""Measure how often a LightGBM recipe appears to be better than itself.

    python research/calibration/calibration_trainings.py --output research/calibration/CALIBRATION.md

The script adds a section to the page that `calibration.py` writes. A replication is a simulated dataset with training
queries and 5,000 test queries. The recipe is trained on it 16 times with other seeds (bagging), and 16 times with other
seeds on bootstrap samples of the training queries. Disjoint groups of five trainings are drawn repeatedly, as repeats
of recipes A, B and C. All of them are the same recipe, so every `genuine`, every `agree` and every significant
difference is false.

Draws from the same 16 trainings overlap, so standard errors are computed from the rates of the replications. These
rates are stored in a JSON file next to the page, so an interrupted calibration continues.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
from populations import ALPHA, METRICS, Array, Store, compare, format_table, print_section
from repeats_and_clusters import check_kind, rejects_pair

import gainwise as gw
from gainwise.experiment.plan import resample

TRAININGS, REPEATS = 16, 5
TRAIN, TEST = 300, (1000, 5000)
ROUNDS = 60
PARAMETERS = {
    "objective": "lambdarank", "num_leaves": 15, "learning_rate": 0.1, "bagging_fraction": 0.7, "bagging_freq": 1,
    "feature_fraction": 0.8, "min_data_in_leaf": 20, "num_threads": 1, "verbose": -1,
}  # fmt: skip
VARY = {"seed": "seeds", "queries": "resampled queries"}
RULES = {"recipes": "recipes", "one run each": "first repeats", "averaged runs": "means of repeats"}
CLAIMS = {"genuine": "`genuine`", "agree": "`agree`", "pair": "A and B differ"}
"""Title by the name of the stored rates."""
START, END = "## One recipe with several names", "<!-- end of one recipe with several names -->"


def train_recipe(train: gw.RankingData, vary: str, seed: int) -> lgb.Booster:
    """Train the recipe once."""
    data = resample(train, seed) if vary == "queries" else train
    return lgb.train({**PARAMETERS, "seed": seed}, lgb.Dataset(data.features, data.labels, group=data.group), ROUNDS)


def train_all(replication: int, vary: str) -> Array:
    """Return both NDCG@10 of all trainings on the test queries of a replication, shape (2, queries, trainings)."""
    data = gw.data.simulate(TRAIN + max(TEST), seed=replication, mean_length=20)
    train, test = data.take_queries(np.arange(TRAIN)), data.take_queries(np.arange(TRAIN, TRAIN + max(TEST)))
    evaluator = gw.Evaluator(["ndcg_linear@10", "ndcg_exp@10"], test.judgments(), n_jobs=1)
    values = []
    for number in range(TRAININGS):
        booster = train_recipe(train, vary, 1 + replication * TRAININGS + number)
        values.append(evaluator(booster.predict(test.features, num_threads=1)).per_query.T)
    return np.stack(values, axis=2)


def measure_claims(values: Array, recipes: int, draws: int, seed: int) -> dict[str, float]:
    """Draw disjoint groups of trainings as recipes, and return the rate of each claim by each rule."""
    rng, lines = np.random.default_rng(seed), []
    for draw in range(draws):
        places = rng.permutation(TRAININGS)[: recipes * REPEATS].reshape(recipes, REPEATS)
        values_by_rule = {
            "recipes": [[metric[:, group] for group in places] for metric in values],
            "one run each": values[:, :, places[:, 0]],
            "averaged runs": [
                np.stack([metric[:, group].mean(axis=1) for group in places], axis=1) for metric in values
            ],
        }
        line: list[bool] = []
        for rule in RULES:
            comparison = compare(values_by_rule[rule], draw)
            line += [*check_kind(comparison.verdict), rejects_pair(comparison, 0)]
        lines.append(line)
    names = [f"{rule}: {claim}" for rule in RULES for claim in CLAIMS]
    return dict(zip(names, np.mean(lines, axis=0).tolist(), strict=True))


def estimate_deviations(values: Array) -> dict[str, float]:
    """Return the standard deviations of the effects on the second metric, from two recipes with eight repeats."""
    halves = [[metric[:, :8], metric[:, 8:]] for metric in values]
    parts = compare(halves, 0).variance[METRICS[1]]
    return {"query": parts.query, "run": parts.repeat, "query_run": parts.query_repeat}


def format_key(vary: str, queries: int, recipes: int, replication: int) -> str:
    """Return a unique name."""
    return f"real runs | {vary} | {queries} | {recipes} | {replication}"


def judge_replications(store: Store, replications: int, draws: int) -> None:
    """Judge the replications that are not complete, and add them to the store."""
    for replication in range(replications):
        for vary in VARY:
            sizes = [
                (queries, recipes)
                for queries in TEST
                for recipes in (2, 3)
                if not store.is_complete(format_key(vary, queries, recipes, replication), draws)
            ]
            if not sizes:
                continue
            values = train_all(replication, vary)
            for queries, recipes in sizes:
                subset = values[:, :queries]
                rates = measure_claims(subset, recipes, draws, seed=replication) | estimate_deviations(subset)
                store.add(format_key(vary, queries, recipes, replication), draws, rates)


def select_replications(store: Store, vary: str, queries: int, recipes: int) -> list[dict[str, Any]]:
    """Return the rates of the complete replications."""
    prefix = format_key(vary, queries, recipes, 0)[:-1]
    return [rates for name, rates in store.cells.items() if name.startswith(prefix)]


def build_table(store: Store) -> str:
    """Return the table with the mean rate over replications and its standard error."""
    heads = [f"{claim}, {rule}" for claim in CLAIMS.values() for rule in RULES.values()]
    names = [f"{rule}: {claim}" for claim in CLAIMS for rule in RULES]
    lines = []
    for vary, title in VARY.items():
        for recipes in (2, 3):
            for queries in TEST:
                cells = select_replications(store, vary, queries, recipes)
                if cells:
                    rates = [_format_mean([cell[name] for cell in cells]) for name in names]
                    lines.append((title, recipes, queries, len(cells), *rates))
    return format_table(("difference of repeats", "recipes", "queries", "replications", *heads), lines)


def _format_mean(rates: list[float]) -> str:
    error = np.std(rates, ddof=1) / np.sqrt(len(rates)) if len(rates) > 1 else np.nan
    return f"{np.mean(rates):.3f} ± {error:.3f}"


def build_section(store: Store) -> Iterator[str]:
    """Yield the lines of the section."""
    draws = max(cell["repetitions"] for cell in store.cells.values())
    yield START
    yield ""
    yield (
        "`research/calibration/calibration_trainings.py` writes "
        "this section. It trains one LightGBM recipe (lambdarank, 15 "
        f"leaves, {ROUNDS} rounds, bagging, {TRAIN} simulated training queries) {TRAININGS} times in each replication, "
        f"with separate data. {draws} times, {REPEATS} of these trainings are called recipe A, {REPEATS} others recipe "
        "B, and possibly the last ones recipe C. All are the same recipe, so **every claim is false**: `genuine`, "
        f"`agree`, and that A and B differ (p ≤ {ALPHA}, exponential NDCG@10). The columns *first repeats* and *means "
        "of repeats* show verdicts on fixed models. They may be right about these models, but not about the recipe. "
        f"Draws from the same {TRAININGS} trainings overlap, so the standard errors of the replications are rough."
    )
    yield ""
    yield build_table(store)
    yield ""
    for vary, title in VARY.items():
        cells = select_replications(store, vary, max(TEST), 2)
        if cells:
            query, repeat, both = (
                np.sqrt(np.mean([cell[part] ** 2 for cell in cells])) for part in ("query", "run", "query_run")
            )
            yield (
                f"- Standard deviations of exponential NDCG@10, {title}: {query:.3f} of queries, {repeat:.4f} of "
                f"repeats, {both:.3f} of queries and repeats."
            )
    yield END


def main() -> None:
    """Write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=24, help="datasets")
    parser.add_argument("--draws", type=int, default=50, help="comparisons per dataset")
    parser.add_argument("--output", type=Path, help="also write the section to this page")
    options = parser.parse_args()
    start = time.perf_counter()
    store = Store(options.output and options.output.with_name("CALIBRATION_RUNS.json"), 0)
    judge_replications(store, options.replications, options.draws)
    print_section("\n".join(build_section(store)), options.output, START, END)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
