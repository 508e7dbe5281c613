"""The cost of one evaluation against the built-in metrics of LightGBM and XGBoost, on the same scores.

    python benchmarks/evaluation.py [--documents 1000000] [--repeats 15] [--threads 2]

The built-in metrics are timed without the predictions that they are given: LightGBM evaluates scores that it already
holds, XGBoost those that it has cached. Scores are all different, those of a real training after some rounds, full of
ties, or all the same; all is timed after a short rest, and right after LightGBM's own evaluation of the same scores, as
it comes in a training whose built-in metrics stay on.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from builtin import lightgbm_builtin, xgboost_builtin
from panel import CUTOFFS, NDCGS, PANEL, PATHS, ours, with_ties
from shapes import make_data, with_rounds
from timing import interleaved, machine, milliseconds, ratio, right_after

import gainsay as gs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LIMIT = 25.0
"""Seconds that a table may take, either way; where it takes more there are fewer rounds."""

SINGLE = ["ndcg_linear@10", "ndcg_exp@10", "ndcg_jk@10", "ndcg_exp", "map", "map@10", "mrr", "precision@10",
          "recall@10", "hit@10", "rbp", "err(max_label=4)@10"]  # fmt: skip


def measure(documents: int, repeats: int, threads: int) -> list[str]:
    """Return the lines of the report."""
    data = with_rounds(make_data(documents), threads)
    judgments = gs.Judgments(data.labels, group=data.sizes)
    lines = [f"{len(data.labels):,} documents in {len(data.sizes):,} queries, {threads} threads; medians of {repeats} "
             "interleaved runs; ratios to LightGBM's `ndcg` at 1, 3, 5, 10", ""]  # fmt: skip
    mine: dict[str, Sequence[str | gs.Metric]] = {
        "panel of ten": PANEL,
        "panel, ties=order": with_ties(PANEL, "order"),
        "both NDCGs": NDCGS,
        "both NDCGs, ties=order": with_ties(NDCGS, "order"),
        **{name: [name] for name in SINGLE},
    }
    for kind, scores in data.scores.items():
        contestants: dict[Any, Callable[[], object]] = {
            "LightGBM ndcg": lightgbm_builtin(data, scores, "ndcg", threads),
            "LightGBM ndcg, map": lightgbm_builtin(data, scores, "ndcg,map", threads),
            "XGBoost ndcg": xgboost_builtin(data, scores, [f"ndcg@{k}" for k in CUTOFFS], threads),
            **{(name, path): ours(metrics, judgments, scores, threads, path)
               for name, metrics in mine.items() for path in PATHS},
        }  # fmt: skip
        seconds = interleaved(contestants, repeats, budget=LIMIT)
        after = right_after(contestants["LightGBM ndcg"], contestants, repeats, budget=LIMIT)
        builtin, busy = seconds["LightGBM ndcg"], after["LightGBM ndcg"]
        lines += [f"| scores: {kind} | path | ms | ratio | ms, right after | ratio |", "|---|---|---:|---:|---:|---:|"]
        for key, taken in seconds.items():
            name, path = key if isinstance(key, tuple) else (key, "")
            lines.append(f"| {name} | {path} | {milliseconds(taken):.1f} | {ratio(taken, builtin):.2f} "
                         f"| {milliseconds(after[key]):.1f} | {ratio(after[key], busy):.2f} |")  # fmt: skip
        lines.append("")
    return lines


def held_per_document(documents: int) -> float:
    """Return the bytes that judgments and a bound panel hold per document, the caller's arrays not counted."""
    import tracemalloc

    data = make_data(documents)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    evaluator = gs.Evaluator(PANEL, gs.Judgments(data.labels, group=data.sizes))
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return held / evaluator.judgments.documents


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    print(f"{machine()}\n")
    print("\n".join(measure(arguments.documents, arguments.repeats, arguments.threads)))
    print(f"Held per document: {held_per_document(arguments.documents):.1f} bytes")


if __name__ == "__main__":
    main()
