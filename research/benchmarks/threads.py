"""Measure how many documents a second, a fourth, … thread needs to be faster.

    python research/benchmarks/threads.py [--documents 30000 … 10000000] [--repeats 15] [--threads 1 2 4]

An evaluation usually requires a minimum number of documents per thread (`DOCUMENTS_PER_THREAD` in NumPy,
`COMPILED_PER_THREAD` in the compiled core), and uses fewer threads if they are faster. This script ignores both rules,
so the figures show whether the minimum is right. They are minima, because other processes delay the start of a thread.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from datasets import make_shape
from evaluators import IMPLEMENTATIONS, TEN_METRICS, build_evaluation, ignore_minimum_documents
from sizes import count_calls, repeat_calls
from timing import describe_machine, time_interleaved

import gainwise as gw
from gainwise.evaluation import groups

if TYPE_CHECKING:
    from collections.abc import Mapping

MIN_DOCUMENTS = {"NumPy": groups.DOCUMENTS_PER_THREAD, "compiled": groups.COMPILED_PER_THREAD}


def fit_serial_share(seconds: Mapping[int, float]) -> float:
    """Return the share s of the work that is not parallel, from seconds by number of threads, including 1.

    It is the least-squares fit of time(n) / time(1) = s + (1 - s) / n (Amdahl).
    """
    terms = [(value / seconds[1] - 1 / n, 1 - 1 / n) for n, value in seconds.items() if n > 1]
    return min(max(sum(a * b for a, b in terms) / sum(b * b for _, b in terms), 0.0), 1.0)


def build_table(ties: str, documents: list[int], threads: list[int], repeats: int) -> list[str]:
    """Return the lines of the table for tied or untied scores."""
    heads = [f"{ties}: documents", "implementation", f"{threads[0]} thread", *(f"{n} threads" for n in threads[1:]),
             "serial share", "16 cores", "64 cores"]  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|---:|---|" + "---:|" * (len(heads) - 2)]
    for size in documents:
        data = make_shape("MSLR-like", size, ties)
        calls = count_calls(size)
        judgments = gw.Judgments(data.labels, group=data.sizes)
        evaluations = {
            (implementation, n): repeat_calls(
                build_evaluation(TEN_METRICS, judgments, data.scores[ties], n, implementation), calls
            )
            for implementation in IMPLEMENTATIONS
            for n in threads
        }
        seconds = time_interleaved(evaluations, repeats, budget=30.0)
        for implementation in IMPLEMENTATIONS:
            by_threads = {n: min(seconds[implementation, n]) for n in threads}
            single = 1e3 * by_threads[threads[0]] / calls
            usual = max(n for n in threads if n <= max(1, size // MIN_DOCUMENTS[implementation]))
            ratios = [by_threads[n] / by_threads[threads[0]] for n in threads[1:]]
            cells = [f"{single:.2f} ms", *(f"{ratio:.2f}" for ratio in ratios)]
            cells[threads.index(usual)] = f"**{cells[threads.index(usual)]}**"
            if len(threads) > 1 and threads[0] == 1:
                share = fit_serial_share(by_threads)
                cells += [f"{share:.2f}", *(f"{single * (share + (1 - share) / cores):.2f} ms" for cores in (16, 64))]
            lines.append(f"| {size:,} | {implementation} | {' | '.join(cells)} |")
    return [*lines, ""]


def main() -> None:
    """Print the report."""
    cpus = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--documents", type=int, nargs="+", default=[30_000, 100_000, 200_000, 300_000, 600_000, 1_000_000, 10_000_000]
    )
    parser.add_argument("--threads", type=int, nargs="+", default=[n for n in (1, 2, 4, 8, 16) if n <= cpus])
    parser.add_argument("--repeats", type=int, default=15)
    arguments = parser.parse_args()
    minimums = ", ".join(f"{MIN_DOCUMENTS[it]:,} documents per thread ({it})" for it in IMPLEMENTATIONS)
    print(f"{describe_machine()}\n")
    print(f"Ten metrics, MSLR-like queries, time relative to one thread, minima of {arguments.repeats} interleaved "
          f"runs. Bold: the number of threads of a usual evaluation, with at least {minimums}. The times on 16 and 64 "
          "cores are extrapolated with the serial share. They assume a core for each thread, with the clock rate and "
          "the memory bandwidth of this machine.\n")  # fmt: skip
    with ignore_minimum_documents():
        for ties in ("untied", "tied"):
            lines = build_table(ties, arguments.documents, arguments.threads, arguments.repeats)
            print("\n".join(lines), flush=True)


if __name__ == "__main__":
    main()
