"""Time experiments, compared with the same trainings in plain code, and measure their peak memory.

    python research/benchmarks/experiments.py [--documents 100000] [--rounds 50] [--repeats 2] [--jobs 2]
                                     [--memory 0.5] [--memory-rounds 3]

Plain code trains one model after the other in one process, with `lightgbm.train` and `xgboost.train` on all CPUs. It
logs both NDCGs of the validation set in every round, and evaluates the last round on the test set. An experiment also
stores models, curves, scores and the values of every round that may be chosen, and bins equal data once.

Memory is the peak of a separate process, relative to the size of the data, with and without the memory of the imports.
The data are a fraction of MSLR-WEB30K (2.1 + 0.7 + 0.7 million documents with 136 features of 32 bits). LightGBM's
samples for binning have a constant size from 200,000 documents, so the ratio is higher for small fractions.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from statistics import median
from typing import TYPE_CHECKING

import lightgbm as lgb
import xgboost as xgb
from datasets import make_data, make_features
from memory import measure_peak
from timing import compute_ratio, describe_machine, time_interleaved

import gainwise as gw
from gainwise._kernel.config import cpus
from gainwise.experiment import Candidate, Experiment
from gainwise.lightgbm import feval
from gainwise.xgboost import EvaluateRanking

if TYPE_CHECKING:
    from collections.abc import Sequence

METRICS = ["ndcg_linear@10", "ndcg_exp@10"]
FEATURES = 136
DOCUMENTS = (2_100_000, 700_000, 700_000)
STAGES = ("imports", "data", "experiment")


def make_datasets(documents: Sequence[int]) -> list[gw.RankingData]:
    """Return one dataset per number of documents."""
    datasets = []
    for seed, size in enumerate(documents):
        data = make_data(size, seed)
        features = make_features(data.labels, FEATURES, seed)
        datasets.append(gw.RankingData(features, data.labels, group=data.sizes))
    return datasets


def build_candidates(count: int) -> list[Candidate]:
    """Return candidates, three in four of them LightGBM models."""
    candidates = []
    for number in range(count):
        gain = "linear" if number % 2 else "exponential"
        if number % 4 == 2:
            candidate = Candidate(f"xgb {number}", "xgboost", {"max_depth": 5 + number % 3}, gain, threads=1)
        else:
            candidate = Candidate(f"lgb {number}", "lightgbm", {"num_leaves": 24 + number}, gain, threads=1)
        candidates.append(candidate)
    return candidates


def run_plain_code(candidates: Sequence[Candidate], data: Sequence[gw.RankingData], rounds: int) -> None:
    """Train and evaluate one candidate after the other, each on all CPUs."""
    train, valid, test = data
    judgments = test.judgments()
    for candidate in candidates:
        if candidate.library == "lightgbm":
            gains = [0, 1, 2, 3, 4] if candidate.training_gain == "linear" else [0, 1, 3, 7, 15]
            params = {"objective": "lambdarank", "label_gain": gains, "metric": "None", "verbosity": -1, "seed": 0,
                      "num_threads": cpus(), "deterministic": True, "force_row_wise": True,
                      **candidate.params}  # fmt: skip
            train_set = lgb.Dataset(train.features, train.labels, group=train.group)
            valid_set = lgb.Dataset(valid.features, valid.labels, group=valid.group, reference=train_set)
            booster = lgb.train(params, train_set, rounds, valid_sets=[valid_set], feval=feval(METRICS))
            scores = booster.predict(test.features)
        else:
            params = {"objective": "rank:ndcg", "ndcg_exp_gain": candidate.training_gain == "exponential", "seed": 0,
                      "disable_default_eval_metric": True, "nthread": cpus(), **candidate.params}  # fmt: skip
            matrix = xgb.QuantileDMatrix(train.features, label=train.labels, qid=train.qid)
            log = EvaluateRanking({"valid": (valid.features, valid.labels, valid.qid)}, METRICS)
            booster = xgb.train(params, matrix, rounds, callbacks=[log], verbose_eval=False)
            scores = booster.predict(xgb.DMatrix(test.features))
        gw.evaluate(METRICS, judgments, scores)


def run_experiment(
    candidates: Sequence[Candidate], data: Sequence[gw.RankingData], rounds: int, jobs: int | None, directory: str
) -> None:
    """Run the experiment."""
    experiment = Experiment(candidates, *data, METRICS, directory, num_boost_round=rounds, draws=1000)
    experiment.run(progress=False, jobs=jobs)


def run_stages(last: str, fraction: float, rounds: int, jobs: int) -> None:
    """Do the work up to a stage. Each measured process calls this function."""
    if last == "imports":
        return
    data = make_datasets([int(fraction * size) for size in DOCUMENTS])
    if last == "experiment":
        with tempfile.TemporaryDirectory() as directory:
            run_experiment(build_candidates(3), data, rounds, jobs, directory)


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000, help="size of the training set")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--memory", type=float, default=0.5, help="fraction of MSLR-WEB30K")
    parser.add_argument("--memory-rounds", type=int, default=3)
    parser.add_argument("--stage", nargs=4, metavar=("STAGE", "FRACTION", "ROUNDS", "JOBS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.stage:
        last, fraction, rounds, jobs = arguments.stage
        run_stages(last, float(fraction), int(rounds), int(jobs))
        return
    print(f"{describe_machine()}\n")
    if arguments.repeats:
        print_times(arguments)
    if arguments.memory:
        print_memory(arguments.memory, arguments.memory_rounds, arguments.jobs or 2)


def print_times(arguments: argparse.Namespace) -> None:
    """Print the time of eight candidates."""
    third = arguments.documents // 3
    data = make_datasets([arguments.documents, third, third])
    directories = (tempfile.mkdtemp(prefix=f"experiment-{number}-") for number in range(1000))
    candidates = build_candidates(8)
    seconds = time_interleaved(
        {
            "plain code, all CPUs": lambda: run_plain_code(candidates, data, arguments.rounds),
            "experiment": lambda: run_experiment(candidates, data, arguments.rounds, arguments.jobs, next(directories)),
            "experiment, jobs=1": lambda: run_experiment(candidates, data, arguments.rounds, 1, next(directories)),
        },
        arguments.repeats,
    )
    print(f"Eight candidates, {arguments.documents:,} + {third:,} + {third:,} documents × {FEATURES}, "
          f"{arguments.rounds} rounds, {cpus()} CPUs\n")  # fmt: skip
    print("| | seconds | ratio |\n|---|---:|---:|")
    for name, values in seconds.items():
        print(f"| {name} | {median(values):.1f} | {compute_ratio(values, seconds['plain code, all CPUs']):.2f} |")


def print_memory(fraction: float, rounds: int, jobs: int) -> None:
    """Print the peak memory of three candidates."""
    try:
        imports, data, experiment = (
            measure_peak(name, str(fraction), str(rounds), str(jobs), script=__file__) for name in STAGES
        )
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error}\n{error.stderr}")
    sizes = [len(make_data(int(fraction * documents), seed).labels) for seed, documents in enumerate(DOCUMENTS)]
    size = sum(sizes) * FEATURES * 4
    print(f"\nThree candidates, jobs={jobs}, {fraction:g} of MSLR-WEB30K, {size / 2**20:,.0f} MiB of features; "
          f"imports {imports / 2**20:,.0f} MiB\n")  # fmt: skip
    print("| | peak | ratio to features | without imports |\n|---|---:|---:|---:|")
    for name, peak in (("data only", data), ("experiment", experiment)):
        print(f"| {name} | {peak / 2**20:,.0f} MiB | {peak / size:.2f} | {(peak - imports) / size:.2f} |")


if __name__ == "__main__":
    main()
