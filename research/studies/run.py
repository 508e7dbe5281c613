"""Study whether the choice of NDCG matters on a dataset, and write the results as JSON.

    python research/studies/run.py --data PATH [--sample] [--output research/studies/results/NAME.json]

PATH is a LETOR file (`label qid:Q index:value …`, plain or gzip), a directory of such files, a directory of LightGBM's
files with `.query` files, the directory of Cranfield with degrees of relevance (`cran.all.1400.gz`, `cran.qry`,
`cranqrel`), or a directory of TREC runs: a folder of runs next to its `qrels.FOLDER-….txt`.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from inputs import find_runs, read_dataset, take_sample
from labels import describe_published
from records import RESULTS, write_record
from systems import study_runs
from training import study_training

LIBRARIES = ("lightgbm", "xgboost", "catboost")


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="file or directory")
    parser.add_argument("--name", help="name of the dataset in the results (default: the name of the path)")
    parser.add_argument("--output", type=Path, help="JSON file (default: research/studies/results/NAME.json)")
    parser.add_argument("--sample", action="store_true", help="two seeds, 50 rounds, 200 queries per file, no CatBoost")
    parser.add_argument("--seeds", type=int, default=5, help="repeats of each recipe (default: 5)")
    parser.add_argument("--rounds", type=int, default=100, help="boosting rounds (default: 100)")
    parser.add_argument("--libraries", nargs="+", choices=LIBRARIES, default=list(LIBRARIES))
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    parser.add_argument("--threads", type=int, default=1, help="threads of each process (default: 1)")
    parser.add_argument("--cache", type=Path, help="directory for finished trainings, to resume an interrupted run")
    parser.add_argument("--memory", type=float, default=16, help="limit in GiB (default: 16)")
    parser.add_argument("--seed", type=int, default=1, help="seed of splits and resampling (default: 1)")
    arguments = parser.parse_args()
    if arguments.seeds < 2:
        parser.error("--seeds must be at least 2.")
    start = time.perf_counter()
    runs = find_runs(arguments.data)
    results = (
        {name: study_runs(folder, qrels, arguments.seed) for name, folder, qrels in runs} if runs else train(arguments)
    )
    name = arguments.name or arguments.data.resolve().name.partition(".")[0]
    output = arguments.output or RESULTS / f"{name}.json"
    content = {
        "sample": arguments.sample,
        "seed": arguments.seed,
        "published_labels": describe_published(arguments.seed),
        "kind": "runs" if runs else "training",
        "results": results,
    }
    write_record(output, name, ("numpy", "scipy", "pandas", *LIBRARIES), content)
    print(f"{output}: {time.perf_counter() - start:.0f} s")


def train(arguments: argparse.Namespace) -> dict[str, Any]:
    """Run the study of trained models."""
    dataset = read_dataset(arguments.data, arguments.memory, arguments.seed)
    libraries = list(arguments.libraries)
    if arguments.sample:
        dataset = take_sample(dataset, 200)
        arguments.seeds, arguments.rounds = 2, 50
        libraries = [library for library in libraries if library != "catboost"] or libraries
    study = study_training(
        dataset,
        seeds=arguments.seeds,
        rounds=arguments.rounds,
        libraries=libraries,
        jobs=arguments.jobs,
        threads=arguments.threads,
        seed=arguments.seed,
        cache=arguments.cache,
    )
    return {**study, "counts": dict(dataset.counts)} if dataset.counts else study


if __name__ == "__main__":
    main()
