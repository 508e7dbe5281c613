"""One LightGBM recipe, trained 16 times: how often is it said to be better than itself?

    python calibration/real_runs.py --output calibration/CALIBRATION.md

The page that `calibration.py` writes gets a section at its end. A replication is a data set of its own: training
queries and 5,000 test queries of one simulated world. The recipe is trained on it 16 times with other seeds (bagging),
and 16 times with other seeds on bootstrap samples of the whole training queries. Of these 16 runs five are drawn and
called recipe A, five others recipe B, and five of those that are left recipe C, many times over. All are the same
recipe, so every `genuine`, every `agree` and every pair that is told apart is false.

Draws from the same 16 runs overlap, so within a replication they say little that is new: standard errors come from the
spread of the rates over replications. The rates of every replication are kept in a JSON file beside the page, and an
interrupted run goes on from there.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
from calibration_cells import ALPHA, METRICS, Array, Store, judged, kinds, put_section

import gainsay as gs
from gainsay.experiment.plan import resample

RUNS, EACH = 16, 5
TRAIN, TEST = 300, (1000, 5000)
ROUNDS = 60
PARAMETERS = {
    "objective": "lambdarank", "num_leaves": 15, "learning_rate": 0.1, "bagging_fraction": 0.7, "bagging_freq": 1,
    "feature_fraction": 0.8, "min_data_in_leaf": 20, "num_threads": 1, "verbose": -1,
}  # fmt: skip
VARY = {"seed": "seeds", "queries": "resampled queries"}
RULES = ("recipes", "one run each", "averaged runs")
CLAIMS = ("genuine", "agree", "pair")
START, END = "## The same recipe under several names", "<!-- end of the same recipe -->"


def trained(train: gs.RankingData, vary: str, seed: int) -> lgb.Booster:
    """Train the recipe once."""
    data = resample(train, seed) if vary == "queries" else train
    return lgb.train({**PARAMETERS, "seed": seed}, lgb.Dataset(data.features, data.labels, group=data.group), ROUNDS)


def values_of(world: int, vary: str) -> Array:
    """Return both NDCG@10 of all runs on the test queries of a replication, shape (2, queries, runs)."""
    data = gs.data.simulate(TRAIN + max(TEST), seed=world, mean_length=20)
    train, test = data.take_queries(np.arange(TRAIN)), data.take_queries(np.arange(TRAIN, TRAIN + max(TEST)))
    evaluator = gs.Evaluator(["ndcg_linear@10", "ndcg_exp@10"], test.judgments(), n_jobs=1)
    found = [
        evaluator(trained(train, vary, 1 + world * RUNS + run).predict(test.features, num_threads=1)).per_query.T
        for run in range(RUNS)
    ]
    return np.stack(found, axis=2)


def rates(values: Array, recipes: int, draws: int, seed: int) -> dict[str, float]:
    """Call disjoint fives of runs recipes, so many times, and return how often each rule claims what."""
    rng, lines = np.random.default_rng(seed), []
    for draw in range(draws):
        places = rng.permutation(RUNS)[: recipes * EACH].reshape(recipes, EACH)
        given = {
            "recipes": [[metric[:, five] for five in places] for metric in values],
            "one run each": values[:, :, places[:, 0]],
            "averaged runs": [np.stack([metric[:, five].mean(axis=1) for five in places], axis=1) for metric in values],
        }
        line: list[bool] = []
        for rule in RULES:
            verdict, p_values = judged(*given[rule], seed=draw)
            line += [*kinds(verdict), bool(p_values[1, 0, 1] <= ALPHA)]
        lines.append(line)
    names = [f"{rule}: {claim}" for rule in RULES for claim in CLAIMS]
    return dict(zip(names, np.mean(lines, axis=0).tolist(), strict=True))


def deviations(values: Array) -> dict[str, float]:
    """Return the standard deviations of the parts of the second metric, from all runs as two recipes of eight."""
    halves = [[metric[:, :8], metric[:, 8:]] for metric in values]
    parts = judged(*halves, seed=0)[0].variance[METRICS[1]]
    return {"query": parts.query, "run": parts.repeat, "query_run": parts.query_repeat}


def key(vary: str, queries: int, recipes: int, world: int) -> str:
    """Return a name that no other cell has."""
    return f"real runs | {vary} | {queries} | {recipes} | {world}"


def judge_all(store: Store, worlds: int, draws: int) -> None:
    """Judge the replications that the store does not have, and put them there."""
    for world in range(worlds):
        for vary in VARY:
            open_cells = [
                (queries, recipes)
                for queries in TEST
                for recipes in (2, 3)
                if not store.has(key(vary, queries, recipes, world), draws)
            ]
            if not open_cells:
                continue
            values = values_of(world, vary)
            for queries, recipes in open_cells:
                seen = values[:, :queries]
                found = rates(seen, recipes, draws, seed=world) | deviations(seen)
                store.put(key(vary, queries, recipes, world), draws, found)


def replications(store: Store, vary: str, queries: int, recipes: int) -> list[dict[str, Any]]:
    """Return the rates of the replications that are done."""
    start = key(vary, queries, recipes, 0)[:-1]
    return [rates for name, rates in store.cells.items() if name.startswith(start)]


def table(store: Store) -> Iterator[str]:
    """Yield a Markdown table: the mean over replications of every rate, and its standard error."""
    claims = {"genuine": "`genuine`", "agree": "`agree`", "pair": "A and B differ"}
    heads = [f"{claims[claim]}, {rule}" for claim in CLAIMS for rule in RULES]
    yield f"| what varies | recipes | queries | replications | {' | '.join(heads)} |"
    yield f"|{' --- |' * (4 + len(heads))}"
    for vary, words in VARY.items():
        for recipes in (2, 3):
            for queries in TEST:
                cells = replications(store, vary, queries, recipes)
                names = [f"{rule}: {claim}" for claim in CLAIMS for rule in RULES]
                if cells:
                    columns = [_rate([cell[name] for cell in cells]) for name in names]
                    yield f"| {words} | {recipes} | {queries} | {len(cells)} | {' | '.join(columns)} |"


def _rate(found: list[float]) -> str:
    error = np.std(found, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.nan
    return f"{np.mean(found):.3f} ± {error:.3f}"


def _typical(deviations: list[float]) -> float:
    return float(np.sqrt(np.mean(np.square(deviations))))


def page(store: Store) -> Iterator[str]:
    """Yield the lines of the section."""
    draws = max(cell["repetitions"] for cell in store.cells.values())
    yield START
    yield ""
    yield (
        f"Written by `calibration/real_runs.py`: one LightGBM recipe (lambdarank, 15 leaves, {ROUNDS} rounds, bagging, "
        f"{TRAIN} simulated training queries), trained {RUNS} times in each replication, which has data of its own. "
        f"{draws} times {EACH} of these runs are called recipe A, {EACH} others B, and, where there are "
        "three, the last C. They are one recipe, so **every claim is false**: `genuine`, `agree`, and that A and B "
        f"differ (p ≤ {ALPHA}, exponential NDCG@10). Beside the verdict on recipes stand those on fixed models: the "
        f"first run of each, and its {EACH} runs averaged. They are right about these models, not about the "
        f"recipe. Draws from the same {RUNS} runs overlap, so standard errors come from the spread over replications, "
        "and are rough."
    )
    yield ""
    yield from table(store)
    yield ""
    for vary, words in VARY.items():
        cells = replications(store, vary, max(TEST), 2)
        if cells:
            query, run, both = (_typical([cell[part] for cell in cells]) for part in ("query", "run", "query_run"))
            yield (
                f"- Standard deviations of exponential NDCG@10, {words}: by query {query:.3f}, by run {run:.4f}, by "
                f"both together {both:.3f}."
            )
    yield END


def main() -> None:
    """Read the command line and write the section."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=24, help="data sets, each with trainings of its own")
    parser.add_argument("--draws", type=int, default=50, help="pseudo-comparisons of each")
    parser.add_argument("--output", type=Path, help="the page whose section is replaced; printed without it")
    options = parser.parse_args()
    started = time.perf_counter()
    store = Store(options.output and options.output.with_name("CALIBRATION_RUNS.json"), 0)
    judge_all(store, options.replications, options.draws)
    section = "\n".join(page(store))
    print(section)
    print(f"{time.perf_counter() - started:.0f} s")
    if options.output:
        put_section(options.output, section, START, END)


if __name__ == "__main__":
    main()
