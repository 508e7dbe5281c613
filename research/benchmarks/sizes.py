"""Time ten metrics per document, from 10,000 to 30 million documents, in short, usual and very long queries.

    python research/benchmarks/sizes.py [--documents 10000 … 30000000] [--repeats 5] [--threads 1 2]

If the time is proportional to the number of documents, the time per document is constant.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from datasets import SHAPES, make_shape
from evaluators import TEN_METRICS, build_evaluation
from timing import compute_milliseconds, compute_ratio, describe_machine, format_target, time_interleaved

import gainwise as gw

if TYPE_CHECKING:
    from collections.abc import Callable

REFERENCE, LARGEST = 1_000_000, 30_000_000
MAX_GROWTH = 1.3
"""Largest acceptable ratio of the times per document of the largest dataset and the reference."""

MIN_DOCUMENTS = 300_000
"""Documents per timing. Small datasets are evaluated several times."""

Case = tuple[int, str, int]
"""Documents, ties, threads."""


def count_calls(documents: int) -> int:
    """Return the number of evaluations per timing."""
    return max(1, MIN_DOCUMENTS // documents)


def repeat_calls(function: Callable[[], object], calls: int) -> Callable[[], None]:
    """Return a function that calls another one several times."""

    def call_repeatedly() -> None:
        for _ in range(calls):
            function()

    return call_repeatedly


def measure(shape: str, documents: list[int], threads: list[int], repeats: int) -> dict[Case, list[float]]:
    """Return the seconds per document in each round."""
    evaluations: dict[Case, Callable[[], object]] = {}
    for n in documents:
        for ties in ("untied", "tied"):
            data = make_shape(shape, n, ties)
            judgments = gw.Judgments(data.labels, group=data.sizes)
            for jobs in threads:
                evaluation = build_evaluation(TEN_METRICS, judgments, data.scores[ties], jobs)
                evaluations[n, ties, jobs] = repeat_calls(evaluation, count_calls(n))
    seconds = time_interleaved(evaluations, repeats)
    return {case: [it / (case[0] * count_calls(case[0])) for it in values] for case, values in seconds.items()}


def build_report(shape: str, seconds: dict[Case, list[float]], documents: list[int], threads: list[int]) -> list[str]:
    """Return the table of one shape, and the growth from the reference to the largest dataset."""
    columns = [(ties, jobs) for ties in ("untied", "tied") for jobs in threads]
    heads = [f"{ties}, {jobs} thread{'s' * (jobs > 1)}" for ties, jobs in columns]
    lines = [f"### {shape}: {SHAPES[shape]}", "", f"| documents | {' | '.join(heads)} |",
             f"|---:|{'---:|' * len(columns)}"]  # fmt: skip
    for n in documents:
        cells = [f"{1e6 * compute_milliseconds(seconds[n, ties, jobs]):.1f} ns" for ties, jobs in columns]
        lines.append(f"| {n:,} | {' | '.join(cells)} |")
    lines.append("")
    if {REFERENCE, LARGEST} <= set(documents):
        for (ties, jobs), head in zip(columns, heads, strict=True):
            growth = compute_ratio(seconds[LARGEST, ties, jobs], seconds[REFERENCE, ties, jobs])
            lines.append(f"- 30 M to 1 M documents, {head}: {format_target(growth, MAX_GROWTH)}")
        lines.append("")
    return lines


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--documents", type=int, nargs="+", default=[10_000, 100_000, 1_000_000, 10_000_000, 30_000_000]
    )
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    print(f"{describe_machine()}\n")
    print(f"Time per document of {', '.join(TEN_METRICS)}. Medians of {arguments.repeats} interleaved runs.\n")
    for shape in arguments.shapes:
        seconds = measure(shape, arguments.documents, arguments.threads, arguments.repeats)
        print("\n".join(build_report(shape, seconds, arguments.documents, arguments.threads)), flush=True)


if __name__ == "__main__":
    main()
