"""The cost of one evaluation against the built-in metrics of LightGBM and XGBoost, on the same scores.

    python benchmarks/evaluation.py [--documents 1000000] [--repeats 15] [--threads 2]

The built-in metrics are timed without the predictions that they are given: LightGBM evaluates scores that it already
holds, XGBoost those that it has cached. Scores are all different, those of a real training after some rounds, full of
ties, or all the same; all is timed after a short rest, and right after LightGBM's own evaluation of the same scores, as
it comes in a training whose built-in metrics stay on.
"""

from __future__ import annotations

import argparse

from builtin import lightgbm_builtin, xgboost_builtin
from panel import CUTOFFS, NDCGS, PANEL, ours, with_ties
from shapes import make_data, with_rounds
from timing import interleaved, machine, milliseconds, ratio, right_after

import gainsay as gs

SINGLE = ["ndcg_linear@10", "ndcg_exp@10", "ndcg_jk@10", "ndcg_exp", "map", "map@10", "mrr", "precision@10",
          "recall@10", "hit@10", "rbp", "err(max_label=4)@10"]  # fmt: skip


def measure(documents: int, repeats: int, threads: int) -> list[str]:
    """Return the lines of the report."""
    data = with_rounds(make_data(documents), threads)
    judgments = gs.Judgments(data.labels, group=data.sizes)
    lines = [f"{len(data.labels):,} documents in {len(data.sizes):,} queries, {threads} threads; medians of {repeats} "
             "interleaved runs; ratios to LightGBM's `ndcg` at 1, 3, 5, 10", ""]  # fmt: skip
    for kind, scores in data.scores.items():
        contestants = {
            "LightGBM ndcg": lightgbm_builtin(data, scores, "ndcg", threads),
            "LightGBM ndcg, map": lightgbm_builtin(data, scores, "ndcg,map", threads),
            "XGBoost ndcg": xgboost_builtin(data, scores, [f"ndcg@{k}" for k in CUTOFFS], threads),
            "panel of ten": ours(PANEL, judgments, scores, threads),
            "panel, ties=order": ours(with_ties(PANEL, "order"), judgments, scores, threads),
            "both NDCGs": ours(NDCGS, judgments, scores, threads),
            "both NDCGs, ties=order": ours(with_ties(NDCGS, "order"), judgments, scores, threads),
            **{name: ours([name], judgments, scores, threads) for name in SINGLE},
        }
        seconds = interleaved(contestants, repeats)
        after = right_after(contestants["LightGBM ndcg"], contestants, repeats)
        builtin, busy = seconds["LightGBM ndcg"], after["LightGBM ndcg"]
        lines += [f"| scores: {kind} | ms | ratio | ms, right after | ratio |", "|---|---:|---:|---:|---:|"]
        lines += [f"| {name} | {milliseconds(s):.1f} | {ratio(s, builtin):.2f} "
                  f"| {milliseconds(after[name]):.1f} | {ratio(after[name], busy):.2f} |"
                  for name, s in seconds.items()]  # fmt: skip
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
