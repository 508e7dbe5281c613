"""Time ranking only, compared with NumPy's sort of the same rows and with one pass over the scores.

    python research/benchmarks/ranking.py [--documents 1000000] [--repeats 15]

Ranking sorts the labels of all documents by score and finds ties. The sort only orders the padded rows of scores,
without labels. One pass is the sum of the scores.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import numpy as np
from datasets import SHAPES, make_shape
from evaluators import TEN_METRICS, build_evaluation
from timing import compute_milliseconds, compute_ratio, describe_machine, time_interleaved

import gainwise as gw
from gainwise.ranking.rows import rank_block

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


def build_ranking(judgments: gw.Judgments, scores: NDArray[Any]) -> Callable[[], None]:
    """Return a function that ranks all blocks of queries."""
    levels, blocks = len(judgments.levels), judgments.layout.blocks

    def rank() -> None:
        for block in blocks:
            rank_block(block, scores, "average", levels)

    return rank


def build_sort(judgments: gw.Judgments, scores: NDArray[Any]) -> Callable[[], None]:
    """Return a function that sorts a copy of each block's padded rows of scores."""
    rows = [block.gather(scores) for block in judgments.layout.blocks]

    def sort() -> None:
        for block in rows:
            np.sort(block, axis=1)

    return sort


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=15)
    arguments = parser.parse_args()
    n = arguments.documents
    print(f"{describe_machine()}\n")
    print(f"{n:,} documents, one thread. Medians of {arguments.repeats} interleaved runs. Ratios to the sort.\n")
    print("| queries | scores | one pass | sort | ranking | ratio | ten metrics | ratio |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for shape in SHAPES:
        for ties in ("untied", "tied"):
            data = make_shape(shape, n, ties)
            scores = data.scores[ties]
            judgments = gw.Judgments(data.labels, group=data.sizes)
            functions = {
                "one pass": scores.sum,
                "sort": build_sort(judgments, scores),
                "ranking": build_ranking(judgments, scores),
                "ten metrics": build_evaluation(TEN_METRICS, judgments, scores, 1),
            }
            seconds = time_interleaved(functions, arguments.repeats)
            cells = [f"{1e6 * compute_milliseconds(values) / n:.1f} ns" for values in seconds.values()]
            cells.insert(3, f"{compute_ratio(seconds['ranking'], seconds['sort']):.2f}")
            cells.append(f"{compute_ratio(seconds['ten metrics'], seconds['sort']):.2f}")
            print(f"| {shape} | {ties} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
