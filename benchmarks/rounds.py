"""Evaluation as training meets it: scores full of ties, and LightGBM's threads still busy on the other cores.

    python benchmarks/rounds.py [--documents 1000000] [--repeats 15] [--threads 2]

A model is trained, and its scores after 1, 5, 20 and 100 rounds are evaluated: the first rounds know few distinct
scores. Every evaluation is timed twice: after a short rest, and right after LightGBM's own evaluation of the same
scores, whose OpenMP threads go on waiting busily for some milliseconds (unless OMP_WAIT_POLICY=passive says otherwise).
The last table says how the time shrinks with threads, the share of it that no thread shares (Amdahl), and what that
share lets 16 and 64 cores do.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from builtin import lightgbm_builtin
from panel import NDCGS, PANEL, ours
from shapes import Data, make_data, make_short, with_rounds
from timing import interleaved, machine, milliseconds, ratio, right_after

import gainsay as gs
from gainsay.evaluation import plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

MINE = {"pair": NDCGS, "panel": PANEL}


def contestants(
    data: Data, values: NDArray[Any], builtin: Callable[[], object], threads: int
) -> dict[str, Callable[[], object]]:
    """Return LightGBM's evaluation and ours, which has not yet found out how many threads are quickest."""
    judgments = gs.Judgments(data.labels, group=data.sizes)
    return {"LightGBM": builtin, **{name: ours(metrics, judgments, values, threads) for name, metrics in MINE.items()}}


def table(data: Data, repeats: int, threads: int) -> list[str]:
    """Return the lines of the table of evaluations against LightGBM's own."""
    lines = ["| scores | distinct | LightGBM ndcg, ms | pair | panel | pair, right after | panel, right after |",
             "|---|---:|---:|---:|---:|---:|---:|"]  # fmt: skip
    for kind, values in data.scores.items():
        builtin = lightgbm_builtin(data, values, "ndcg", threads)
        rested = interleaved(contestants(data, values, builtin, threads), repeats)
        at_once = right_after(builtin, contestants(data, values, builtin, threads), repeats)
        cells = [f"{ratio(found[name], found['LightGBM']):.2f}" for found in (rested, at_once) for name in MINE]
        distinct = f"{len(np.unique(values)):,}"
        lines.append(f"| {kind} | {distinct} | {milliseconds(rested['LightGBM']):.1f} | {' | '.join(cells)} |")
    return lines


def scaling(data: Data, values: NDArray[Any], repeats: int) -> list[str]:
    """Return the lines on threads: times, the serial share that fits them, and what it means for more cores."""
    judgments = gs.Judgments(data.labels, group=data.sizes)
    cpus = len(os.sched_getaffinity(0))
    threads = [n for n in (1, 2, 4, 8, 16, 32, 64) if n <= cpus]
    always, plan.DOCUMENTS_PER_THREAD = plan.Pace.threads, 1
    plan.Pace.threads = lambda self, most: most  # type: ignore[method-assign]  # not what is quickest
    found = {}
    for n in threads:
        fresh = gs.Judgments(judgments.labels, group=judgments.sizes)
        found[str(n)] = ours(PANEL, fresh, values, n)
    seconds = interleaved(found, repeats)
    plan.Pace.threads = always  # type: ignore[method-assign]
    one = milliseconds(seconds["1"])
    cells = " | ".join(f"{milliseconds(seconds[str(n)]):.1f}" for n in threads)
    lines = ["| threads | " + " | ".join(map(str, threads)) + " |", "|---|" + "---:|" * len(threads),
             f"| panel, ms | {cells} |", ""]  # fmt: skip
    if len(threads) == 1:
        return [*lines, "One CPU: nothing to fit."]
    # time(n) / time(1) = s + (1 - s) / n, by least squares over the measured numbers of threads
    n = np.array(threads[1:], dtype=np.float64)
    shrunk = np.array([ratio(seconds[str(count)], seconds["1"]) for count in threads[1:]])
    share = float(np.clip(np.sum((shrunk - 1 / n) * (1 - 1 / n)) / np.sum((1 - 1 / n) ** 2), 0, 1))
    more = ", ".join(f"{one * (share + (1 - share) / cores):.1f} ms on {cores}" for cores in (16, 64))
    return [*lines, f"Serial share {share:.2f}: extrapolated, at best {more} cores."]


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    policy = os.environ.get("OMP_WAIT_POLICY", "not set")
    print(f"{machine()}; OMP_WAIT_POLICY {policy}\n")
    print(f"Up to {arguments.threads} threads; medians of {arguments.repeats} interleaved runs; ratios to LightGBM's "
          "`ndcg` at 1, 3, 5, 10 on the same scores, after a rest and right after LightGBM's own evaluation. Pair: "
          "both NDCGs at these cutoffs; panel: and map, mrr.")  # fmt: skip
    for make in (make_data, make_short):
        data = with_rounds(make(arguments.documents), arguments.threads)
        print(f"\n### {len(data.labels):,} documents in {len(data.sizes):,} queries\n")
        print("\n".join(table(data, arguments.repeats, arguments.threads)))
        print()
        print("\n".join(scaling(data, data.scores["round 100"], arguments.repeats)), flush=True)


if __name__ == "__main__":
    main()
