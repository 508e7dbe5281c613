"""Decide a release on 16,279 real movie queries: features, 12 candidates, early stopping, selection, and the gate.

    python research/studies/release.py --data PATH --cache DIR [--sample]

PATH is the folder of the Movie Search Ranking Dataset as adapted by Elastic (`movies-judgments.tsv.gz`,
`movies-corpus.jsonl.gz`). The features, the trained values, the report and `values.npz`, the population of the
calibration on real queries, are stored in DIR. `pip install --group studies` installs BM25.
"""

from __future__ import annotations

import argparse
import hashlib
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from movies import (
    FEATURES,
    Movies,
    compute_features,
    describe_queries,
    read_movies,
    remove_near_copies,
    split_data,
)
from numpy.typing import NDArray
from records import RESULTS, write_record
from release_training import BASELINE, CANDIDATES, METRICS, PRODUCTION, STEP, Values, train_all
from training import estimate_mean

import gainwise as gw

Floats = NDArray[np.float64]
MARGIN = 0.005
SIZES = (100, 200, 500, 1_000, 2_000, 4_000, 8_000)
"""Numbers of test queries at which the release is decided: the first ones in the random order of the test set."""


def study_release(movies: Movies, data: dict[str, gw.RankingData], values: Values, seed: int) -> dict[str, Any]:
    """Return all results of the release."""
    names = [candidate.name for candidate in CANDIDATES[: len(values.test)]]
    chosen = select(values, 0)
    queries = describe_queries(movies, data["test"].query_ids)
    new, old = values.test[chosen][0], values.production[0]
    directors = queries["cluster"].to_numpy(dtype=str)
    sizes = [size for size in SIZES if size < new.shape[1]] + [new.shape[1]]
    return {
        "queries": {name: len(part.query_ids) for name, part in data.items()},
        "features": list(FEATURES),
        "production_features": list(BASELINE.features),
        "candidates": names,
        "seeds": values.test.shape[1],
        "margin": MARGIN,
        "check": list_findings(data),
        "chance": gw.evaluate(METRICS, data["test"].judgments(), np.zeros(len(data["test"].labels))).mean,
        "test_means": dict(zip(names, values.test.mean(axis=-1)[:, :, 0].tolist(), strict=True)),
        "production_means": dict(zip(METRICS, old.mean(axis=-1).tolist(), strict=True)),
        "validation_means": dict(zip(names, values.validation[:, :, 0].tolist(), strict=True)),
        "stopping": study_stopping(values),
        "selection": study_selection(values, names),
        "selected": {"candidate": names[chosen[0]], "seed": 1 + chosen[1], "rounds": int(values.rounds[chosen][0])},
        "differences": describe_differences(new, old, directors),
        "directors": len(np.unique(directors)),
        "decisions": [decide(new[:, :size], old[:, :size], seed) for size in sizes],
        "decision_with_clusters": decide(new, old, seed, clusters=directors),
        "segments": study_segments(new, old, queries),
        "among_candidates": compare_candidates(values, names, seed),
        "values_sha256": hashlib.sha256(np.ascontiguousarray(values.test).tobytes()).hexdigest(),
    }


def list_findings(data: dict[str, gw.RankingData]) -> list[dict[str, str]]:
    """Return the findings of `check`."""
    return [{"code": found.code, "severity": found.severity, "text": found.text} for found in gw.check(data).findings]


def identify_number(data: dict[str, gw.RankingData], rounds: int, threads: int) -> dict[str, str]:
    """Return the line that LightGBM prints for the production model on the validation set, and its explanation."""
    import lightgbm as lgb

    columns = [FEATURES.index(name) for name in BASELINE.features]
    train, valid = (
        lgb.Dataset(data[name].features[:, columns], data[name].labels, group=data[name].group)
        for name in ("train", "validation")
    )
    params = {
        **BASELINE.options,
        "metric": "ndcg",
        "eval_at": [10],
        "num_threads": threads,
        "deterministic": True,
        "verbose": -1,
    }
    record: dict[str, Any] = {}
    booster = lgb.train(
        params, train, rounds, valid_sets=[valid.set_reference(train)], callbacks=[lgb.record_evaluation(record)]
    )
    line = f"valid_0's ndcg@10: {record['valid_0']['ndcg@10'][-1]:.6f}"
    scores = booster.predict(data["validation"].features[:, columns], num_threads=threads)
    return {"line": line, "text": str(gw.identify(line, data["validation"].judgments(), scores))}


def select(values: Values, stop: int) -> tuple[int, int]:
    """Return the candidate and the seed of the model with the best validation mean under the metric that stops."""
    means = values.validation[:, :, stop]
    candidate, repeat = np.unravel_index(means.argmax(), means.shape)
    return int(candidate), int(repeat)


def study_stopping(values: Values) -> dict[str, Any]:
    """Return the difference of each metric on the test set if another metric stops, and the rounds."""
    report: dict[str, Any] = {}
    for i, metric in enumerate(METRICS):
        rounds = values.rounds[:, :, i]
        report[metric] = {
            "median_round": float(np.median(rounds)),
            "last_round": float((rounds == rounds.max()).mean()),
        }
        for j, other in enumerate(METRICS):
            if i != j:
                loss = values.test[:, :, i, i] - values.test[:, :, j, i]
                report[metric][f"loss_if_{other}_stops"] = estimate_mean(loss.mean(axis=0))
    return report


def study_selection(values: Values, names: list[str]) -> dict[str, Any]:
    """Return what each metric selects on the validation set, and how often another seed selects another candidate."""
    by_seed = values.validation.argmax(axis=0)
    pairs = [(i, j) for i in range(len(by_seed)) for j in range(i)]
    selected = {metric: select(values, stop) for stop, metric in enumerate(METRICS)}
    return {
        "by_metric": {metric: [names[candidate], 1 + repeat] for metric, (candidate, repeat) in selected.items()},
        "test_means_by_metric": {
            metric: values.test[selected[metric]][stop].mean(axis=-1).tolist() for stop, metric in enumerate(METRICS)
        },
        "another_candidate_by_another_seed": float(np.mean([by_seed[i, 0] != by_seed[j, 0] for i, j in pairs])),
        "another_candidate_by_map": float((by_seed[:, 0] != by_seed[:, 1]).mean()),
        "another_candidate_by_mrr": float((by_seed[:, 0] != by_seed[:, 2]).mean()),
    }


def describe_difference(differences: Floats, directors: NDArray[np.str_]) -> dict[str, float]:
    """Return mean, spread and standard errors of differences per query, and the share that differs.

    One standard error treats queries as independent, the other one clusters of directors.
    """
    deviation, n = float(differences.std(ddof=1)), len(differences)
    codes = np.unique(directors, return_inverse=True)[1]
    sums = np.bincount(codes, weights=differences - differences.mean())
    clusters = len(sums)
    return {
        "mean": float(differences.mean()),
        "standard_deviation": deviation,
        "standard_error": deviation / n**0.5,
        "clustered_error": float(np.sqrt((sums**2).sum() * clusters / max(clusters - 1, 1))) / n,
        "differing": float((differences != 0).mean()),
    }


def describe_differences(new: Floats, old: Floats, directors: NDArray[np.str_]) -> dict[str, dict[str, float]]:
    """Return the differences under each metric."""
    return {metric: describe_difference(n - o, directors) for metric, n, o in zip(METRICS, new, old, strict=True)}


def compare(new: Floats, old: Floats, seed: int, **options: Any) -> gw.Comparison:
    """Compare the selected model with production. The values have the shape (metrics, queries)."""
    tables = {metric: np.stack([o, n], axis=1) for metric, o, n in zip(METRICS, old, new, strict=True)}
    ranges = dict.fromkeys(METRICS, (0.0, 1.0))
    primary = ("ndcg_linear@10", "mrr")
    return gw.Comparison(
        tables, [PRODUCTION, "new"], primary=primary, ranges=ranges, margin=MARGIN, seed=seed, **options
    )


def decide(new: Floats, old: Floats, seed: int, **options: Any) -> dict[str, Any]:
    """Return the decision of the gate on some queries."""
    result = compare(new, old, seed, **options).against(PRODUCTION)
    return {
        "queries": new.shape[1],
        "decision": result.decisions["new"],
        "text": result.text,
        "means": dict(zip(METRICS, (new - old).mean(axis=1).tolist(), strict=True)),
    }


def study_segments(new: Floats, old: Floats, queries: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the differences in segments of the queries."""
    rows = []
    for column in ("length", "item"):
        for segment in sorted(queries[column].unique()):
            inside = (queries[column] == segment).to_numpy()
            directors = queries["cluster"].to_numpy(dtype=str)[inside]
            differences = describe_differences(new[:, inside], old[:, inside], directors)
            result = compare(new[:, inside], old[:, inside], 0).against(PRODUCTION)
            rows.append(
                {
                    "segment": str(segment),
                    "queries": int(inside.sum()),
                    "decision": result.decisions["new"],
                    "differences": differences,
                }
            )
    return rows


def compare_candidates(values: Values, names: list[str], seed: int) -> dict[str, Any]:
    """Return the verdict on the candidates, each with all its seeds."""
    tables = {
        metric: [np.ascontiguousarray(repeats[:, 0, i].T) for repeats in values.test]
        for i, metric in enumerate(METRICS)
    }
    ranges = dict.fromkeys(METRICS, (0.0, 1.0))
    comparison = gw.Comparison(
        tables, names, primary=("ndcg_linear@10", "mrr"), ranges=ranges, margin=MARGIN, seed=seed, vary="seed"
    )
    verdict = comparison.verdict
    return {
        "kind": verdict.kind,
        "text": verdict.text,
        "may_be_best": {metric: list(models) for metric, models in verdict.best_sets.items()},
        "safe_choice": verdict.safe_choice,
        "safe_regret_upper": verdict.safe_regret_upper,
        "winners": verdict.winners,
    }


def write_population(values: Values, names: list[str], queries: pd.DataFrame, path: Path) -> None:
    """Write the values of production and of the first seed of each candidate, stopped by NDCG@10."""
    tables = np.stack([values.production[0], *values.test[:, 0, 0]])
    np.savez_compressed(
        path,
        values=np.moveaxis(tables, 0, 2).swapaxes(0, 1),
        metrics=np.array(METRICS),
        models=np.array([PRODUCTION, *names]),
        clusters=queries["cluster"].to_numpy(dtype=str),
        weights=queries["weight"].to_numpy(dtype=float),
    )


def write_report(values: Values, queries: pd.DataFrame, seed: int, path: Path) -> None:
    """Write the report about the selected model and production."""
    segments = {name: queries[name].to_numpy(dtype=str) for name in ("length", "item")}
    new, old = values.test[select(values, 0)][0], values.production[0]
    compare(new, old, seed, segments=segments, baseline=PRODUCTION).to_html(path)


def load_features(movies: Movies, cache: Path) -> NDArray[np.float32]:
    """Read the features, or compute and store them."""
    path = cache / "features.npy"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        np.save(path, compute_features(movies))
    features: NDArray[np.float32] = np.load(path)
    return features


def take_sample(data: dict[str, gw.RankingData], queries: int) -> dict[str, gw.RankingData]:
    """Take the first queries of each part."""
    return {name: part.take_queries(np.arange(min(queries, len(part.query_ids)))) for name, part in data.items()}


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the dataset")
    parser.add_argument("--cache", type=Path, required=True, help="folder for features and values, outside the project")
    parser.add_argument("--sample", action="store_true", help="three candidates, 40 rounds, 800 queries per part")
    parser.add_argument("--rounds", type=int, default=120, help="boosting rounds (default: 120)")
    parser.add_argument("--seeds", type=int, default=5, help="repeats of each candidate (default: 5)")
    parser.add_argument("--threads", type=int, default=1, help="threads of a training (default: 1)")
    parser.add_argument("--seed", type=int, default=1, help="seed of splits and resampling (default: 1)")
    parser.add_argument("--output", type=Path, default=RESULTS / "release.json")
    arguments = parser.parse_args()
    start = time.perf_counter()
    movies = read_movies(arguments.data)
    whole = split_data(movies, load_features(movies, arguments.cache), arguments.seed)
    data = remove_near_copies(whole)
    candidates, folder = len(CANDIDATES), arguments.cache
    if arguments.sample:
        folder /= "sample"
        data, candidates, arguments.rounds = take_sample(data, 800), 3, 40
    values = train_all(data, arguments.seeds, arguments.rounds, arguments.threads, folder / "trainings", candidates)
    names = [candidate.name for candidate in CANDIDATES[:candidates]]
    queries = describe_queries(movies, data["test"].query_ids)
    write_population(values, names, queries, folder / "values.npz")
    write_report(values, queries, arguments.seed, folder / "report.html")
    content = {
        "seed": arguments.seed,
        "rounds": arguments.rounds,
        "step": STEP,
        "threads": arguments.threads,
        "results": {
            "data": movies.counts,
            "random_split": {
                "queries": {name: len(part.query_ids) for name, part in whole.items()},
                "check": [found for found in list_findings(whole) if found["code"] == "leak"],
            },
            **study_release(movies, data, values, arguments.seed),
            "identify": identify_number(data, 100, arguments.threads),
        },
    }
    packages = ("numpy", "scipy", "pandas", "lightgbm", "xgboost", "bm25s")
    write_record(arguments.output, "msrd", packages, content)
    print(f"{arguments.output}: {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
