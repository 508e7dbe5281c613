"""Time per document of the panel of ten, from 10,000 to 30 million documents, in short, middling and very long queries.

    python benchmarks/sizes.py [--documents 10000 … 30000000] [--repeats 5] [--threads 1 2]

All sizes of a shape take turns. What grows with the number of documents only should cost each document the same.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from panel import PANEL, ours
from shapes import SHAPES, make_shape
from timing import against_target, interleaved, machine, milliseconds, ratio

import gainsay as gs

if TYPE_CHECKING:
    from collections.abc import Callable

REFERENCE, LARGEST = 1_000_000, 30_000_000
LIMIT = 1.3
"""What a document of the largest set may cost, compared with one of the reference."""

ENOUGH = 300_000
"""Documents that one timing has at the least: small sets are evaluated several times in a row."""

Case = tuple[int, str, int]
"""Documents, ties, threads."""


def calls(documents: int) -> int:
    """Return how many evaluations one timing of so many documents holds."""
    return max(1, ENOUGH // documents)


def repeated(work: Callable[[], object], times: int) -> Callable[[], None]:
    """Return a call that does the work several times."""

    def all_of_them() -> None:
        for _ in range(times):
            work()

    return all_of_them


def per_document(shape: str, sizes: list[int], threads: list[int], repeats: int) -> dict[Case, list[float]]:
    """Return the seconds per document in each round."""
    contestants = {}
    for n in sizes:
        for ties in ("untied", "tied"):
            data = make_shape(shape, n, ties)
            judgments = gs.Judgments(data.labels, group=data.sizes)
            for jobs in threads:
                work = ours(PANEL, judgments, data.scores[ties], jobs)
                contestants[f"{n} {ties} {jobs}"] = repeated(work, calls(n))
    seconds = interleaved(contestants, repeats)
    cases = [(n, ties, jobs) for n in sizes for ties in ("untied", "tied") for jobs in threads]
    return {
        case: [taken / (case[0] * calls(case[0])) for taken in found]
        for case, found in zip(cases, seconds.values(), strict=True)
    }


def report(shape: str, found: dict[Case, list[float]], sizes: list[int], threads: list[int]) -> list[str]:
    """Return a table of a shape, and what the largest set costs against the reference."""
    columns = [(ties, jobs) for ties in ("untied", "tied") for jobs in threads]
    head = [f"{ties}, {jobs} thread{'s' * (jobs > 1)}" for ties, jobs in columns]
    lines = [f"### {shape}: {SHAPES[shape]}", "", f"| documents | {' | '.join(head)} |",
             f"|---:|{'---:|' * len(columns)}"]  # fmt: skip
    for n in sizes:
        figures = [f"{1e6 * milliseconds(found[n, ties, jobs]):.1f} ns" for ties, jobs in columns]
        lines.append(f"| {n:,} | {' | '.join(figures)} |")
    lines.append("")
    if {REFERENCE, LARGEST} <= set(sizes):
        for (ties, jobs), name in zip(columns, head, strict=True):
            grown = ratio(found[LARGEST, ties, jobs], found[REFERENCE, ties, jobs])
            lines.append(f"- 30 M against 1 M, {name}: {against_target(grown, LIMIT)}")
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
    print(f"{machine()}\n")
    print(f"Time per document of {', '.join(PANEL)}; medians of {arguments.repeats} interleaved runs.\n")
    for shape in arguments.shapes:
        found = per_document(shape, arguments.documents, arguments.threads, arguments.repeats)
        print("\n".join(report(shape, found, arguments.documents, arguments.threads)), flush=True)


if __name__ == "__main__":
    main()
