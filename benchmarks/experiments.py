"""Whole experiments: eight candidates against the same trainings by hand, and the peak memory of three.

    python benchmarks/experiments.py [--documents 100000] [--rounds 50] [--repeats 2] [--jobs 2]
                                     [--memory 0.5] [--memory-rounds 3]

By hand means in one process, one training after the other: `lightgbm.train` and `xgboost.train` on all CPUs with both
NDCGs logged on valid in every round by the adapters, then scores and values on test at the last round. An experiment
does more (models, curves, scores and values of every round that may be chosen go to disk) and bins data once.

Memory is the peak of a process of its own, at a fraction of the shape of MSLR-WEB30K (2.1 + 0.7 + 0.7 million documents
with 136 features of 32 bits), over the size of the data; that of the imports alone is subtracted too. What LightGBM
samples to find bins takes as much memory for any number of documents from 200,000 on, so that small fractions look bad.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

import lightgbm as lgb
import numpy as np
import xgboost as xgb
from memory import peak
from shapes import make_data
from timing import interleaved, machine, ratio

import gainsay as gs
from gainsay._kernel.config import cpus
from gainsay.experiment import Candidate, Experiment
from gainsay.lightgbm import feval
from gainsay.xgboost import EvaluateRanking

if TYPE_CHECKING:
    from collections.abc import Sequence

METRICS = ["ndcg_linear@10", "ndcg_exp@10"]
FEATURES = 136
DOCUMENTS = (2_100_000, 700_000, 700_000)
STAGES = ("nothing", "data", "experiment")


def parts(documents: Sequence[int], features: int = FEATURES) -> list[gs.RankingData]:
    """Return data sets whose features tell something of the labels."""
    made = []
    for seed, size in enumerate(documents):
        data = make_data(size, seed)
        matrix = np.random.default_rng(seed).standard_normal(size=(len(data.labels), features), dtype=np.float32)
        for column in range(10):
            matrix[:, column] += 0.4 * data.labels
        made.append(gs.RankingData(matrix, data.labels, group=data.sizes))
    return made


def candidates(count: int, threads: int = 1) -> list[Candidate]:
    """Return candidates, three in four of LightGBM."""
    made = []
    for number in range(count):
        gain = "linear" if number % 2 else "exponential"
        if number % 4 == 2:
            made.append(Candidate(f"xgb {number}", "xgboost", {"max_depth": 5 + number % 3}, gain, threads=threads))
        else:
            made.append(Candidate(f"lgb {number}", "lightgbm", {"num_leaves": 24 + number}, gain, threads=threads))
    return made


def by_hand(chosen: Sequence[Candidate], data: Sequence[gs.RankingData], rounds: int) -> None:
    """Train and evaluate one candidate after the other, each on all CPUs."""
    train, valid, test = data
    judgments = test.judgments()
    for candidate in chosen:
        if candidate.library == "lightgbm":
            table = [0, 1, 2, 3, 4] if candidate.training_gain == "linear" else [0, 1, 3, 7, 15]
            params = {"objective": "lambdarank", "label_gain": table, "metric": "None", "verbosity": -1, "seed": 0,
                      "num_threads": cpus(), "deterministic": True, "force_row_wise": True,
                      **candidate.params}  # fmt: skip
            first = lgb.Dataset(train.features, train.labels, group=train.group)
            second = lgb.Dataset(valid.features, valid.labels, group=valid.group, reference=first)
            booster = lgb.train(params, first, rounds, valid_sets=[second], feval=feval(METRICS))
            scores = booster.predict(test.features)
        else:
            params = {"objective": "rank:ndcg", "ndcg_exp_gain": candidate.training_gain == "exponential", "seed": 0,
                      "disable_default_eval_metric": True, "nthread": cpus(), **candidate.params}  # fmt: skip
            matrix = xgb.QuantileDMatrix(train.features, label=train.labels, qid=train.qid)
            log = EvaluateRanking({"valid": (valid.features, valid.labels, valid.qid)}, METRICS)
            booster = xgb.train(params, matrix, rounds, callbacks=[log], verbose_eval=False)
            scores = booster.predict(xgb.DMatrix(test.features))
        gs.evaluate(METRICS, judgments, scores)


def by_gainsay(
    chosen: Sequence[Candidate], data: Sequence[gs.RankingData], rounds: int, jobs: int | None, directory: str
) -> None:
    """Run the experiment."""
    Experiment(chosen, *data, METRICS, directory, num_boost_round=rounds, draws=1000).run(progress=False, jobs=jobs)


def stage(name: str, fraction: float, rounds: int, jobs: int) -> None:
    """Do the work up to a stage; this is what the processes that are measured do."""
    if name == "nothing":
        return
    data = parts([int(fraction * size) for size in DOCUMENTS])
    if name == "experiment":
        with tempfile.TemporaryDirectory() as folder:
            by_gainsay(candidates(3), data, rounds, jobs, folder)


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000, help="of the training data; a third each for others")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--memory", type=float, default=0.5, help="fraction of MSLR-WEB30K")
    parser.add_argument("--memory-rounds", type=int, default=3)
    parser.add_argument("--stage", nargs=4, metavar=("STAGE", "FRACTION", "ROUNDS", "JOBS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.stage:
        name, fraction, rounds, jobs = arguments.stage
        stage(name, float(fraction), int(rounds), int(jobs))
        return
    print(f"{machine()}\n")
    if arguments.repeats:
        compared(arguments)
    if arguments.memory:
        memory(arguments.memory, arguments.memory_rounds, arguments.jobs or 2)


def compared(arguments: argparse.Namespace) -> None:
    """Print how long eight candidates take."""
    third = arguments.documents // 3
    data = parts([arguments.documents, third, third])
    folders = (tempfile.mkdtemp(prefix=f"experiment-{number}-") for number in range(1000))
    chosen = candidates(8)
    found = interleaved(
        {
            "by hand, all CPUs": lambda: by_hand(chosen, data, arguments.rounds),
            "experiment": lambda: by_gainsay(chosen, data, arguments.rounds, arguments.jobs, next(folders)),
            "experiment, jobs=1": lambda: by_gainsay(chosen, data, arguments.rounds, 1, next(folders)),
        },
        arguments.repeats,
    )
    print(f"Eight candidates, {arguments.documents:,} + {third:,} + {third:,} documents × {FEATURES}, "
          f"{arguments.rounds} rounds, {cpus()} CPUs\n")  # fmt: skip
    print("| | seconds | ÷ by hand |\n|---|---:|---:|")
    for name, seconds in found.items():
        print(f"| {name} | {np.median(seconds):.1f} | {ratio(seconds, found['by hand, all CPUs']):.2f} |")


def memory(fraction: float, rounds: int, jobs: int) -> None:
    """Print the peak memory of three candidates."""
    try:
        nothing, data, experiment = (
            peak(name, str(fraction), str(rounds), str(jobs), script=__file__) for name in STAGES
        )
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error}\n{error.stderr}")
    sizes = [len(make_data(int(fraction * documents), seed).labels) for seed, documents in enumerate(DOCUMENTS)]
    size = sum(sizes) * FEATURES * 4
    print(f"\nThree candidates, jobs={jobs}, {fraction:g} of MSLR-WEB30K, {size / 2**20:,.0f} MiB of features; "
          f"imports {nothing / 2**20:,.0f} MiB\n")  # fmt: skip
    print("| | peak | ÷ features | without imports, ÷ features |\n|---|---:|---:|---:|")
    for name, found in (("data alone", data), ("experiment", experiment)):
        print(f"| {name} | {found / 2**20:,.0f} MiB | {found / size:.2f} | {(found - nothing) / size:.2f} |")


if __name__ == "__main__":
    main()
