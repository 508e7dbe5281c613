"""Whole LightGBM trainings: with our panel, with the built-in ndcg, and with no metric at all.

    python benchmarks/training.py [--documents 1000000] [--repeats 3] [--threads 2]
                                  [--settings 20,31,100 136,31,100 …]

Training and validation data have the given number of documents each. All contestants grow the same trees; ours evaluate
by either path. A setting is a number of features, of leaves and of rounds. 31 leaves and 100 rounds are LightGBM's
default; 136 features are what MSLR-WEB30K has, and 255 leaves what LightGBM's own experiments grow on it (its
docs/Experiments.rst). With 20 features the trees grow fast, so that the metric weighs more. In the first rounds most
documents are tied, which costs more to average than to leave in order.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import lightgbm as lgb
import numpy as np
from panel import CUTOFFS, NDCGS, PANEL, PATHS, by_path
from shapes import make_data
from timing import interleaved, machine, milliseconds, ratio

from gainsay.lightgbm import feval

if TYPE_CHECKING:
    from collections.abc import Callable


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


def training(
    train: lgb.Dataset, valid: lgb.Dataset, rounds: int, common: dict[str, Any], metric: str, evaluate: Any = None
) -> Callable[[], object]:
    """Return a training."""
    params = {
        "objective": "lambdarank",
        "metric": metric,
        "eval_at": CUTOFFS,
        "verbose": -1,
        "seed": 1,
        **common,
    }
    return lambda: lgb.train(params, train, rounds, valid_sets=[valid], feval=evaluate)


def setting(text: str) -> tuple[int, ...]:
    """Return the numbers of features, leaves and rounds."""
    features, leaves, rounds = map(int, text.split(","))
    return features, leaves, rounds


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--settings", type=setting, nargs="+", default=[(20, 31, 100), (136, 31, 100), (136, 255, 25)])
    arguments = parser.parse_args()
    print(machine())
    for width, leaves, rounds in arguments.settings:
        train, valid = datasets(arguments.documents, width)
        common = (train, valid, rounds, {"num_leaves": leaves, "num_threads": arguments.threads})
        contestants = {
            "built-in ndcg": training(*common, "ndcg"),
            **{
                f"our {name}, {path}": training(*common, "None", by_path(path, feval(metrics)))
                for name, metrics in (("panel of ten", PANEL), ("two NDCGs", NDCGS))
                for path in PATHS
            },
            "a feval that does nothing": training(*common, "None", lambda scores, data: ("nothing", 0.0, True)),
            "no metric": training(*common, "None"),
        }
        seconds = interleaved(contestants, arguments.repeats)
        builtin = seconds["built-in ndcg"]
        print(f"\n{width} features, {valid.num_data():,} validation documents, {rounds} rounds of {leaves} leaves, "
              f"{arguments.threads} threads; medians of {arguments.repeats} interleaved "
              "trainings\n")  # fmt: skip
        print("| training with | ms | ratio |\n|---|---:|---:|")
        for name, taken in seconds.items():
            print(f"| {name} | {milliseconds(taken):.0f} | {ratio(taken, builtin):.3f} |", flush=True)


if __name__ == "__main__":
    main()
