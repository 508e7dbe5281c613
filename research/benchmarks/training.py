"""Time LightGBM training with gainwise's metrics, with the built-in ndcg, and without a metric.

    python research/benchmarks/training.py [--documents 1000000] [--threads 2] [--settings 20,31,100 136,31,100 …]

Training and validation set have the given number of documents each. All trainings grow the same trees. They run in
turn: each grows one tree and evaluates it, so changes of the machine's speed affect all of them.

A setting is a number of features, of leaves and of rounds. 31 leaves and 100 rounds are LightGBM's default. MSLR-WEB30K
has 136 features, and LightGBM's own experiments on it use 255 leaves (docs/Experiments.rst). With 20 features the trees
grow fast, so the metric takes a larger share. In the first rounds most documents are tied, and the mean over all orders
of tied documents takes longer to compute.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

import lightgbm as lgb
from datasets import make_data, make_features
from evaluators import CUTOFFS, IMPLEMENTATIONS, NDCGS, TEN_METRICS, select_implementation
from timing import describe_machine

from gainwise.lightgbm import feval

if TYPE_CHECKING:
    from collections.abc import Mapping


def make_datasets(documents: int, columns: int) -> tuple[lgb.Dataset, lgb.Dataset]:
    """Return a training and a validation set."""
    train = None
    for seed in (1, 2):
        data = make_data(documents, seed)
        features = make_features(data.labels, columns, seed)
        dataset = lgb.Dataset(features, data.labels, group=data.sizes, reference=train, free_raw_data=False)
        train = dataset if train is None else train
    return train.construct(), dataset.construct()


def create_booster(train: lgb.Dataset, valid: lgb.Dataset, threads: int, leaves: int, metric: str) -> lgb.Booster:
    """Return a booster without trees."""
    params = {
        "objective": "lambdarank",
        "metric": metric,
        "eval_at": CUTOFFS,
        "verbose": -1,
        "seed": 1,
        "num_threads": threads,
        "num_leaves": leaves,
    }
    return lgb.Booster(params, train).add_valid(valid, "valid")


def time_trainings(trainings: Mapping[str, tuple[lgb.Booster, Any]], rounds: int) -> dict[str, float]:
    """Return the seconds of each training. The order is reversed in every other round."""
    seconds = dict.fromkeys(trainings, 0.0)
    for number in range(rounds):
        for name, (booster, evaluate) in list(trainings.items())[:: 1 if number % 2 else -1]:
            start = time.perf_counter()
            booster.update()
            booster.eval_valid(evaluate)
            seconds[name] += time.perf_counter() - start
    return seconds


def parse_setting(text: str) -> tuple[int, ...]:
    """Return the numbers of features, leaves and rounds."""
    features, leaves, rounds = map(int, text.split(","))
    return features, leaves, rounds


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=2)
    default_settings = [(20, 31, 100), (136, 31, 100), (136, 255, 25)]
    parser.add_argument("--settings", type=parse_setting, nargs="+", default=default_settings)
    arguments = parser.parse_args()
    print(describe_machine())
    for columns, leaves, rounds in arguments.settings:
        train, valid = make_datasets(arguments.documents, columns)
        evaluations = {
            "built-in ndcg": None,
            **{
                f"{name}, {implementation}": select_implementation(implementation, feval(metrics))
                for name, metrics in (("ten metrics", TEN_METRICS), ("both NDCGs", NDCGS))
                for implementation in IMPLEMENTATIONS
            },
            "a feval that returns a constant": lambda scores, data: ("constant", 0.0, True),
            "no metric": None,
        }
        trainings = {}
        for name, evaluate in evaluations.items():
            metric = "ndcg" if name == "built-in ndcg" else "None"
            trainings[name] = (create_booster(train, valid, arguments.threads, leaves, metric), evaluate)
        seconds = time_trainings(trainings, rounds)
        print(f"\n{columns} features, {valid.num_data():,} validation documents, {rounds} rounds of {leaves} leaves, "
              f"{arguments.threads} threads\n")  # fmt: skip
        print("| training with | ms | ratio |\n|---|---:|---:|")
        for name, total in seconds.items():
            print(f"| {name} | {1e3 * total:.0f} | {total / seconds['built-in ndcg']:.3f} |", flush=True)


if __name__ == "__main__":
    main()
