"""Whole LightGBM trainings: with our panel, with the built-in ndcg, and with no metric at all.

    python benchmarks/training.py [--documents 1000000] [--threads 2] [--settings 20,31,100 136,31,100 …]

Training and validation data have the given number of documents each. All contestants grow the same trees, in step: each
grows a tree and evaluates it, then the next one does, and so on for every round, so that a change of the machine's
speed meets all of them alike (trainings one after the other differed by 20 % on a virtual machine). Ours evaluate by
either path. A setting is a number of features, of leaves and of rounds. 31 leaves and 100 rounds are LightGBM's
default; 136 features are what MSLR-WEB30K has, and 255 leaves what LightGBM's own experiments grow on it (its
docs/Experiments.rst). With 20 features the trees grow fast, so that the metric weighs more. In the first rounds most
documents are tied, which costs more to average than to leave in order.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

import lightgbm as lgb
import numpy as np
from panel import CUTOFFS, NDCGS, PANEL, PATHS, by_path
from shapes import make_data
from timing import machine

from gainsay.lightgbm import feval

if TYPE_CHECKING:
    from collections.abc import Mapping


def datasets(documents: int, width: int) -> tuple[lgb.Dataset, lgb.Dataset]:
    """Return training and validation data whose features tell something of the labels."""
    made = []
    for seed in (1, 2):
        data = make_data(documents, seed)
        rng = np.random.default_rng(seed)
        features = rng.standard_normal(size=(len(data.labels), width), dtype=np.float32)
        features[:, :10] += 0.4 * data.labels[:, None]
        reference = made[0] if made else None
        made.append(lgb.Dataset(features, data.labels, group=data.sizes, reference=reference, free_raw_data=False))
    return made[0].construct(), made[1].construct()


def booster(train: lgb.Dataset, valid: lgb.Dataset, threads: int, leaves: int, metric: str) -> lgb.Booster:
    """Return a training that has not begun."""
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


def in_step(contestants: Mapping[str, tuple[lgb.Booster, Any]], rounds: int) -> dict[str, float]:
    """Return the seconds that each took for all rounds; the first of them goes first in every other round."""
    seconds = dict.fromkeys(contestants, 0.0)
    for turn in range(rounds):
        for name, (model, evaluate) in list(contestants.items())[:: 1 if turn % 2 else -1]:
            start = time.perf_counter()
            model.update()
            model.eval_valid(evaluate)
            seconds[name] += time.perf_counter() - start
    return seconds


def setting(text: str) -> tuple[int, ...]:
    """Return the numbers of features, leaves and rounds."""
    features, leaves, rounds = map(int, text.split(","))
    return features, leaves, rounds


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--settings", type=setting, nargs="+", default=[(20, 31, 100), (136, 31, 100), (136, 255, 25)])
    arguments = parser.parse_args()
    print(machine())
    for width, leaves, rounds in arguments.settings:
        train, valid = datasets(arguments.documents, width)
        evaluations = {
            "built-in ndcg": None,
            **{
                f"our {name}, {path}": by_path(path, feval(metrics))
                for name, metrics in (("panel of ten", PANEL), ("two NDCGs", NDCGS))
                for path in PATHS
            },
            "a feval that does nothing": lambda scores, data: ("nothing", 0.0, True),
            "no metric": None,
        }
        contestants = {
            name: (
                booster(train, valid, arguments.threads, leaves, "ndcg" if name == "built-in ndcg" else "None"),
                evaluate,
            )
            for name, evaluate in evaluations.items()
        }
        seconds = in_step(contestants, rounds)
        print(f"\n{width} features, {valid.num_data():,} validation documents, {rounds} rounds of {leaves} leaves, "
              f"{arguments.threads} threads; round by round in turn\n")  # fmt: skip
        print("| training with | ms | ratio |\n|---|---:|---:|")
        for name, taken in seconds.items():
            print(f"| {name} | {1e3 * taken:.0f} | {taken / seconds['built-in ndcg']:.3f} |", flush=True)


if __name__ == "__main__":
    main()
