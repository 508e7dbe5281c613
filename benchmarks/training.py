"""Whole LightGBM trainings: with our panel, with the built-in ndcg, and with no metric at all.

    python benchmarks/training.py [--documents 1000000] [--rounds 100] [--repeats 3] [--threads 2]
                                  [--features 20 136] [--leaves 31]

Training and validation data have the given number of documents each. All contestants grow the same trees. 136 features
are what MSLR-WEB30K has; with 20 the trees grow fast, so that the metric weighs more. 100 rounds and 31 leaves are
LightGBM's default; in the first rounds most documents are tied, which costs more to average than to leave in order.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import lightgbm as lgb
import numpy as np
from panel import CUTOFFS, NDCGS, PANEL
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


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--features", type=int, nargs="+", default=[20, 136])
    parser.add_argument("--leaves", type=int, default=31)
    arguments = parser.parse_args()
    print(machine())
    for width in arguments.features:
        train, valid = datasets(arguments.documents, width)
        trees = {"num_leaves": arguments.leaves, "num_threads": arguments.threads}
        common = (train, valid, arguments.rounds, trees)
        contestants = {
            "built-in ndcg": training(*common, "ndcg"),
            "our panel of ten": training(*common, "None", feval(PANEL)),
            "our two NDCGs": training(*common, "None", feval(NDCGS)),
            "a feval that does nothing": training(*common, "None", lambda scores, data: ("nothing", 0.0, True)),
            "no metric": training(*common, "None"),
        }
        seconds = interleaved(contestants, arguments.repeats)
        builtin = seconds["built-in ndcg"]
        print(f"\n{width} features, {valid.num_data():,} validation documents, {arguments.rounds} rounds of "
              f"{arguments.leaves} leaves, {arguments.threads} threads; medians of {arguments.repeats} interleaved "
              "trainings\n")  # fmt: skip
        print("| training with | ms | ratio |\n|---|---:|---:|")
        for name, taken in seconds.items():
            print(f"| {name} | {milliseconds(taken):.0f} | {ratio(taken, builtin):.3f} |", flush=True)


if __name__ == "__main__":
    main()
