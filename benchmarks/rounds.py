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
from panel import NDCGS, PANEL, PATHS, ours, threads_as_asked
from shapes import Data, make_data, make_short, with_rounds
from timing import EXTRAPOLATED, interleaved, machine, milliseconds, on_cores, ratio, right_after, serial_share

import gainsay as gs

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

MINE = {"pair": NDCGS, "panel": PANEL}


def contestants(
    data: Data, values: NDArray[Any], builtin: Callable[[], object], counts: list[int]
) -> dict[Any, Callable[[], object]]:
    """Return LightGBM's evaluation, and ours by what is evaluated, path and threads at most.

    Ours have not yet found out how many threads are quickest.
    """
    found: dict[Any, Callable[[], object]] = {"LightGBM": builtin}
    for path in PATHS:
        for threads in counts:
            judgments = gs.Judgments(data.labels, group=data.sizes)
            for name, metrics in MINE.items():
                found[name, path, threads] = ours(metrics, judgments, values, threads, path)
    return found


def tables(data: Data, repeats: int, threads: int) -> list[str]:
    """Return the lines of the tables of evaluations against LightGBM's own, and of the paths against each other."""
    counts = sorted({1, threads})
    head = " | ".join(f"{name}{when}" for when in ("", ", right after") for name in MINE)
    lines = [f"Ratios to LightGBM, {' / '.join(PATHS)}, at most {threads} threads", "",
             f"| scores | distinct | LightGBM ndcg, ms | {head} |", "|---|---:|---:|---:|---:|---:|---:|"]  # fmt: skip
    columns = [
        f"{name}, {n} thread{'s' * (n > 1)}{when}" for when in ("", ", right after") for n in counts for name in MINE
    ]
    against = ["", "Compiled against NumPy", "", f"| scores | {' | '.join(columns)} |",
               "|---|" + "---:|" * len(columns)]  # fmt: skip
    for kind, values in data.scores.items():
        builtin = lightgbm_builtin(data, values, "ndcg", threads)
        rested = interleaved(contestants(data, values, builtin, counts), repeats)
        at_once = right_after(builtin, contestants(data, values, builtin, counts), repeats)
        cells = [
            " / ".join(f"{ratio(found[name, path, threads], found['LightGBM']):.2f}" for path in PATHS)
            for found in (rested, at_once)
            for name in MINE
        ]
        distinct = f"{len(np.unique(values)):,}"
        lines.append(f"| {kind} | {distinct} | {milliseconds(rested['LightGBM']):.1f} | {' | '.join(cells)} |")
        shares = [f"{ratio(found[name, PATHS[-1], n], found[name, PATHS[0], n]):.2f}"
                  for found in (rested, at_once) for n in counts for name in MINE]  # fmt: skip
        against.append(f"| {kind} | {' | '.join(shares)} |")
    return [*lines, *(against if len(PATHS) > 1 else [])]


def scaling(data: Data, values: NDArray[Any], repeats: int) -> list[str]:
    """Return the lines on threads: times, the serial share that fits them, and what it means for more cores."""
    cpus = len(os.sched_getaffinity(0))
    threads = [n for n in (1, 2, 4, 8, 16, 32, 64) if n <= cpus]
    judgments = {n: gs.Judgments(data.labels, group=data.sizes) for n in threads}
    with threads_as_asked():
        work = {(path, n): ours(PANEL, judgments[n], values, n, path) for path in PATHS for n in threads}
        seconds = interleaved(work, repeats)
    lines = [f"| panel, ms: threads | {' | '.join(map(str, threads))} | serial share | 16 cores | 64 cores |",
             "|---|" + "---:|" * (len(threads) + 3)]  # fmt: skip
    for path in PATHS:
        taken = {n: seconds[path, n] for n in threads}
        cells = [f"{milliseconds(taken[n]):.2f}" for n in threads]
        if len(threads) > 1:
            share = serial_share(taken)
            cells += [f"{share:.2f}", *(f"{on_cores(milliseconds(taken[1]), share, n):.2f}" for n in (16, 64))]
        lines.append(f"| {path} | {' | '.join(cells)} |")
    return [*lines, "", f"16 and 64 cores are extrapolated: {EXTRAPOLATED}."]


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    policy = os.environ.get("OMP_WAIT_POLICY", "not set")
    print(f"{machine()}; OMP_WAIT_POLICY {policy}\n")
    print(f"Medians of {arguments.repeats} interleaved runs; ratios to LightGBM's `ndcg` at 1, 3, 5, 10 on the same "
          "scores, after a rest and right after LightGBM's own evaluation. Pair: both NDCGs at these cutoffs; panel: "
          "and map, mrr.")  # fmt: skip
    for make in (make_data, make_short):
        data = with_rounds(make(arguments.documents), arguments.threads)
        print(f"\n### {len(data.labels):,} documents in {len(data.sizes):,} queries\n")
        print("\n".join(tables(data, arguments.repeats, arguments.threads)))
        print()
        print("\n".join(scaling(data, data.scores["round 100"], arguments.repeats)), flush=True)


if __name__ == "__main__":
    main()
