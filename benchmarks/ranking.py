"""Ranking alone, against two limits: NumPy's sort of the same rows by value, and one pass over the scores.

    python benchmarks/ranking.py [--documents 1000000] [--repeats 15]

Ranking means the labels of all documents in the order of their scores, ties recognised. The sort by value only brings
the padded rows of scores into order, without any label; one pass is a sum of the scores.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import numpy as np
from panel import PANEL, ours
from shapes import SHAPES, make_shape
from timing import interleaved, machine, milliseconds, ratio

import gainsay as gs
from gainsay.ranking.rows import rank_block

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


def ranking(judgments: gs.Judgments, scores: NDArray[Any]) -> Callable[[], None]:
    """Return a call that ranks all blocks of queries."""
    levels, blocks = len(judgments.levels), judgments.layout.blocks

    def rank() -> None:
        for block in blocks:
            rank_block(block, scores, "average", levels)

    return rank


def sorting(judgments: gs.Judgments, scores: NDArray[Any]) -> Callable[[], None]:
    """Return a call that sorts a fresh copy of each block's padded rows of scores."""
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
    print(f"{machine()}\n")
    print(f"{n:,} documents, one thread; medians of {arguments.repeats} interleaved runs; ratios to the sort\n")
    print("| queries | scores | one pass | sort by value | ranking | ratio | whole panel | ratio |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    for shape in SHAPES:
        for ties in ("untied", "tied"):
            data = make_shape(shape, n, ties)
            scores = data.scores[ties]
            judgments = gs.Judgments(data.labels, group=data.sizes)
            contestants = {
                "one pass": scores.sum,
                "sort": sorting(judgments, scores),
                "ranking": ranking(judgments, scores),
                "panel": ours(PANEL, judgments, scores, 1),
            }
            seconds = interleaved(contestants, arguments.repeats)
            cells = [f"{1e6 * milliseconds(taken) / n:.1f} ns" for taken in seconds.values()]
            cells.insert(3, f"{ratio(seconds['ranking'], seconds['sort']):.2f}")
            cells.append(f"{ratio(seconds['panel'], seconds['sort']):.2f}")
            print(f"| {shape} | {ties} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
