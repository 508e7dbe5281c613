"""The cost of one evaluation against other packages, on the same scores.

    python benchmarks/peers.py [--documents 1000000] [--repeats 5] [--threads 2] [--budget 20]

Each package computes what it can of both NDCGs, MAP and reciprocal rank, of scores that are all different and of those
of a training after five rounds, which are full of ties. Its values are first compared with ours under its convention:
what does not compute the same, as where ties have no order that can be relied on, is not timed. Bringing flat arrays
into the form that it takes is timed apart. What is not installed is left out, and said.
"""

from __future__ import annotations

import argparse
import gc
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from opponents import OPPONENTS, Opponent
from panel import PANEL, ours
from shapes import Data, make_data, with_rounds
from timing import interleaved, machine, milliseconds, ratio

import gainsay as gs

if TYPE_CHECKING:
    from collections.abc import Sequence


KINDS = {"untied": "Scores all different", "round 5": "Scores after 5 rounds of a training"}


def positive(data: Data) -> Data:
    """Return the data with scores above 0, as torchmetrics takes others for irrelevant documents in MAP."""
    return data._replace(scores={kind: values - values.min() + 1 for kind, values in data.scores.items()})


FEW = positive(make_data(1_000))


def difference(found: Sequence[float], expected: Sequence[float]) -> float:
    """Return the largest relative difference."""
    return float(np.max(np.abs(np.array(found) / np.array(expected) - 1)))


def contest(opponent: Opponent, data: Data, kind: str, judgments: gs.Judgments, arguments: Any) -> str:
    """Return a row of the table."""
    scores = data.scores[kind]
    opponent.convert(FEW, FEW.scores["untied"], arguments.threads)  # imports, and what is compiled at the first use
    start = time.perf_counter()
    theirs = opponent.convert(data, scores, arguments.threads)
    converting = time.perf_counter() - start
    same = gs.parse_metrics(opponent.metrics, convention=opponent.convention)
    expected = list(gs.evaluate(same, judgments, scores).mean.values())
    found = theirs()
    apart = difference(found, expected)
    if not apart <= opponent.precision:
        return f"| {opponent.name} | not timed: other values | | | {apart:.0e} | |"
    mine = ours(opponent.against or same, judgments, scores, arguments.threads)
    seconds = interleaved({"theirs": theirs, "ours": mine}, arguments.repeats, arguments.budget)
    their_ms, our_ms = milliseconds(seconds["theirs"]), milliseconds(seconds["ours"])
    return (f"| {opponent.name} | {their_ms:.1f} | {our_ms:.1f} | {ratio(seconds['ours'], seconds['theirs']):.3f} "
            f"| {apart:.0e} | {1e3 * converting:.0f} |")  # fmt: skip


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--budget", type=float, default=20, help="seconds for a package, two rounds at the least")
    arguments = parser.parse_args()
    data = positive(with_rounds(make_data(arguments.documents), arguments.threads))
    judgments = gs.Judgments(data.labels, group=data.sizes)
    present = [opponent for opponent in OPPONENTS if not opponent.module or find_spec(opponent.module)]
    absent = dict.fromkeys(opponent.package for opponent in OPPONENTS if opponent not in present)
    print(f"{machine(*dict.fromkeys(opponent.package for opponent in present if opponent.package))}\n")
    print(f"{len(data.labels):,} documents in {len(data.sizes):,} queries, {arguments.threads} threads, medians of "
          f"{arguments.repeats} interleaved runs or fewer; *apart*: the largest relative difference of a value from "
          "ours")  # fmt: skip
    for kind, title in KINDS.items():
        print(f"\n### {title}\n\n| against | theirs, ms | ours, ms | ratio | apart | their conversion, ms |")
        print("|---|---:|---:|---:|---:|---:|")
        for opponent in present:
            print(contest(opponent, data, kind, judgments, arguments), flush=True)
            gc.collect()
    bind = interleaved({"bind": lambda: gs.Evaluator(PANEL, gs.Judgments(data.labels, group=data.sizes))}, 3)["bind"]
    print(f"\nOur conversion (binding labels, groups, gains and ideals to the panel): {milliseconds(bind):.0f} ms")
    print(f"\nNot installed, left out: {', '.join(absent) or 'none'}")


if __name__ == "__main__":
    main()
