"""The study of trained models: the cost of the wrong stop, training on the evaluated gain, and recipe or seed."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from inputs import Dataset
from labels import describe_labels
from numpy.typing import NDArray
from recipes import RECIPES, STEP, Recipe, make_trainers
from reversals import BASE, OTHER, describe_choices
from scipy.stats import t as student

import gainwise as gw

Floats = NDArray[np.float64]
STOPS = (BASE, OTHER)
METRICS = (BASE, OTHER, "ndcg_jk@10", "ndcg_linear@5", "map", "mrr")


def study_training(
    dataset: Dataset,
    *,
    seeds: int,
    rounds: int,
    libraries: list[str],
    jobs: int,
    threads: int,
    seed: int,
    cache: Path | None = None,
) -> dict[str, Any]:
    """Train every recipe with every seed on every fold, and return all results.

    With `cache`, a later call with the same settings continues after the last fold and library that is complete.
    """
    recipes = [recipe for recipe in RECIPES if recipe.library in libraries]
    tasks = [(fold, library) for fold in range(dataset.folds) for library in libraries]
    work = partial(train_cached, cache, dataset, seeds, rounds, threads)
    if jobs > 1:
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            outcomes = list(pool.map(work, *zip(*tasks, strict=True)))
    else:
        outcomes = [work(*task) for task in tasks]
    trained = {key: value for outcome in outcomes for key, value in outcome.items()}
    test, validation, stops = collect(trained, recipes, dataset.folds, seeds)
    models = [f"{recipe.name}, seed {repeat}" for recipe in recipes for repeat in range(seeds)]
    systems = np.repeat(np.arange(len(recipes)), seeds)
    by_repeat = {name: np.moveaxis(test[:, :, 0, i], 2, 0).reshape(-1, len(systems)) for i, name in enumerate(METRICS)}
    return {
        "recipes": [recipe.name for recipe in recipes],
        "seeds": seeds,
        "rounds": rounds,
        "folds": dataset.folds,
        "models": len(trained),
        "queries": test.shape[-1],
        "labels": describe_parts(dataset),
        "means": {name: table.mean(axis=0).reshape(len(recipes), seeds).tolist() for name, table in by_repeat.items()},
        "stopping": study_stopping(test, stops, recipes),
        "training_gain": study_training_gain(test, recipes),
        "selection": study_selection(validation),
        "choices": describe_choices(gw.Comparison(by_repeat, models, seed=seed), systems),
    }


def describe_parts(dataset: Dataset) -> dict[str, Any]:
    """Return the distribution of labels and the bounds for the test queries."""
    tests = dataset.parts[2:] if dataset.is_split else dataset.parts
    data = gw.RankingData.concatenate([part.contiguous() for part in tests])
    return describe_labels(data.judgments("zero"), np.maximum(data.labels, 0))


def train_cached(
    cache: Path | None, dataset: Dataset, seeds: int, rounds: int, threads: int, fold: int, library: str
) -> dict[Any, Any]:
    """Read the outcome of a fold and library, or train and store it."""
    if cache is None:
        return train_fold(dataset, seeds, rounds, threads, fold, library)
    path = cache / f"{dataset.name}-{seeds}-{rounds}-{fold}-{library}.pickle"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(train_fold(dataset, seeds, rounds, threads, fold, library)))
    outcome: dict[Any, Any] = pickle.loads(path.read_bytes())
    return outcome


def train_fold(dataset: Dataset, seeds: int, rounds: int, threads: int, fold: int, library: str) -> dict[Any, Any]:
    """Train all recipes of a library on a fold, and return validation means, stops and test values."""
    train, validation, test = dataset.make_fold(fold)
    parts = [validation.features, test.features]
    evaluators = [
        gw.Evaluator(STOPS, validation.judgments("zero"), n_jobs=threads),
        gw.Evaluator(METRICS, test.judgments("zero"), n_jobs=threads),
    ]
    trainer = make_trainers(train, {library}, threads)[library]
    results = {}
    for recipe in (recipe for recipe in RECIPES if recipe.library == library):
        for repeat in range(seeds):
            best, values, rounds_of_best = np.full(len(STOPS), -np.inf), [np.zeros(0)] * len(STOPS), [0] * len(STOPS)
            stages = trainer.stage_scores(recipe, 1 + repeat, rounds, parts)
            for stage, (validation_scores, test_scores) in enumerate(stages):
                means = evaluators[0](validation_scores).mean
                improved = [i for i, metric in enumerate(STOPS) if means[metric] > best[i]]
                if improved:
                    per_query = evaluators[1](test_scores).per_query.T.copy()
                for i in improved:
                    best[i], values[i], rounds_of_best[i] = means[STOPS[i]], per_query, (stage + 1) * STEP
            results[recipe, repeat, fold] = best, np.stack(values), rounds_of_best
    return results


def collect(
    trained: dict[Any, Any], recipes: list[Recipe], folds: int, seeds: int
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Return test values (recipes, seeds, stops, metrics, queries), and by fold the validation means and stops."""
    keys = [[[(recipe, repeat, fold) for fold in range(folds)] for repeat in range(seeds)] for recipe in recipes]
    test = np.stack([[np.concatenate([trained[key][1] for key in row], axis=-1) for row in rows] for rows in keys])
    validation = np.array([[[trained[key][0] for key in row] for row in rows] for rows in keys])
    stops = np.array([[[trained[key][2] for key in row] for row in rows] for rows in keys])
    return test, validation, stops


def estimate_mean(values: Floats) -> dict[str, float]:
    """Return the mean over seeds and queries with its 95 % half-width. `values` has shape (seeds, queries).

    Seeds and queries are crossed random effects. The degrees of freedom are those of Satterthwaite.
    """
    seeds, queries = values.shape
    mean = float(values.mean())
    by_seed, by_query = values.mean(axis=1), values.mean(axis=0)
    residuals = values - by_seed[:, None] - by_query + mean
    squares = np.array([
        queries * by_seed.var(ddof=1),
        seeds * by_query.var(ddof=1),
        -((residuals**2).sum()) / ((seeds - 1) * (queries - 1)),
    ])  # fmt: skip
    freedom = np.array([seeds - 1, queries - 1, (seeds - 1) * (queries - 1)])
    total = max(squares.sum(), squares[:2].max())
    if total <= 0:
        return {"mean": mean, "half_width": 0.0}
    degrees = max(total**2 / (squares**2 / freedom).sum(), seeds - 1)
    return {"mean": mean, "half_width": float(student.ppf(0.975, degrees) * np.sqrt(total / (seeds * queries)))}


def study_stopping(test: Floats, stops: NDArray[np.int64], recipes: list[Recipe]) -> dict[str, Any]:
    """Return the loss under each metric by stopping on the other one."""
    report: dict[str, Any] = {"same_round": float((stops[..., 0] == stops[..., 1]).mean())}
    for i, metric in enumerate(STOPS):
        loss = test[:, :, i, i] - test[:, :, 1 - i, i]
        by_recipe = [estimate_mean(values) for values in loss]
        report[metric] = {
            **estimate_mean(loss.mean(axis=0)),
            "by_recipe": {recipe.name: row for recipe, row in zip(recipes, by_recipe, strict=True)},
            "recipes_beyond_noise": sum(abs(row["mean"]) > row["half_width"] > 0 for row in by_recipe),
        }
    return report


def study_training_gain(test: Floats, recipes: list[Recipe]) -> dict[str, Any]:
    """Return the difference of training on exponential instead of linear gain, under each metric."""
    place = {recipe: i for i, recipe in enumerate(recipes)}
    pairs = [
        (place[recipe], place[Recipe(recipe.library, recipe.size, "exponential")])
        for recipe in recipes
        if recipe.gain == "linear"
    ]
    report = {}
    for i, metric in enumerate(STOPS):  # Each model stops on the metric that evaluates it.
        differences = np.stack([test[second, :, i, i] - test[first, :, i, i] for first, second in pairs])
        by_pair = [estimate_mean(values) for values in differences]
        names = [f"{recipes[first].library}, {recipes[first].size}" for first, _ in pairs]
        report[metric] = {
            **estimate_mean(differences.mean(axis=0)),
            "by_setting": dict(zip(names, by_pair, strict=True)),
        }
    return report


def study_selection(validation: Floats) -> dict[str, Any]:
    """Return how often another recipe is selected on the validation set, by the other metric or by another seed."""
    chosen = validation.argmax(axis=0)  # seeds, folds, stops
    by_seed = [(chosen[i, :, 0] != chosen[j, :, 0]).mean() for i in range(len(chosen)) for j in range(i)]
    return {
        "another_by_the_other_gain": float((chosen[..., 0] != chosen[..., 1]).mean()),
        "another_by_another_seed": float(np.mean(by_seed)) if by_seed else None,
        "decisions": int(chosen[..., 0].size),
    }
