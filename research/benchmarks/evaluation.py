"""Time one evaluation, compared with the built-in metrics of LightGBM and XGBoost on the same scores.

    python research/benchmarks/evaluation.py [--documents 1000000] [--repeats 15] [--threads 2]

The built-in metrics are timed without prediction: LightGBM and XGBoost evaluate stored scores. The scores are all
different, those of a real training after some rounds, full of ties, or all equal. Each evaluation is timed twice: after
a short pause, and directly after LightGBM's evaluation of the same scores, as in a training with built-in metrics.
There, LightGBM's idle threads keep their cores busy for some milliseconds, so two threads take as long as one. With
``OMP_WAIT_POLICY=PASSIVE``, they do not.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from datasets import add_training_scores, make_data
from evaluators import (
    IMPLEMENTATIONS,
    NDCGS,
    TEN_METRICS,
    build_evaluation,
    build_lightgbm_evaluation,
    build_xgboost_evaluation,
    set_ties,
)
from timing import compute_milliseconds, compute_ratio, describe_machine, time_interleaved

import gainwise as gw

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BUDGET = 25.0
"""Seconds for each half of a table. If it takes longer, there are fewer rounds."""

SINGLE_METRICS = ["ndcg_linear@10", "ndcg_exp@10", "ndcg_jk@10", "ndcg_exp", "map", "map@10", "mrr", "precision@10",
                  "recall@10", "hit@10", "rbp", "err(max_label=4)@10"]  # fmt: skip


def measure(documents: int, repeats: int, threads: int) -> list[str]:
    """Return the lines of the report."""
    data = add_training_scores(make_data(documents), threads)
    judgments = gw.Judgments(data.labels, group=data.sizes)
    lines = [f"{len(data.labels):,} documents in {len(data.sizes):,} queries, {threads} threads. Medians of {repeats} "
             "interleaved runs. Ratios to LightGBM's `ndcg` at 1, 3, 5 and 10.", ""]  # fmt: skip
    metrics_by_row: dict[str, Sequence[str | gw.Metric]] = {
        "ten metrics": TEN_METRICS,
        "ten metrics, ties=order": set_ties(TEN_METRICS, "order"),
        "both NDCGs": NDCGS,
        "both NDCGs, ties=order": set_ties(NDCGS, "order"),
        **{name: [name] for name in SINGLE_METRICS},
    }
    for kind, scores in data.scores.items():
        evaluations: dict[Any, Callable[[], object]] = {
            "LightGBM ndcg": build_lightgbm_evaluation(data, scores, "ndcg", threads),
            "LightGBM ndcg, map": build_lightgbm_evaluation(data, scores, "ndcg,map", threads),
            "XGBoost ndcg": build_xgboost_evaluation(data, scores, threads),
            **{(name, implementation): build_evaluation(metrics, judgments, scores, threads, implementation)
               for name, metrics in metrics_by_row.items() for implementation in IMPLEMENTATIONS},
        }  # fmt: skip
        builtin = evaluations["LightGBM ndcg"]
        paused = time_interleaved(evaluations, repeats, BUDGET)
        busy = time_interleaved(evaluations, repeats, BUDGET, preceding=builtin)
        lines += [f"| scores: {kind} | implementation | ms | ratio | ms, directly after LightGBM | ratio |",
                  "|---|---|---:|---:|---:|---:|"]  # fmt: skip
        for key in evaluations:
            cells = [*(key if isinstance(key, tuple) else (key, ""))]
            for seconds in (paused, busy):
                cells += [f"{compute_milliseconds(seconds[key]):.1f}",
                          f"{compute_ratio(seconds[key], seconds['LightGBM ndcg']):.2f}"]  # fmt: skip
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return lines


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    print(f"{describe_machine()}\n")
    print("\n".join(measure(arguments.documents, arguments.repeats, arguments.threads)))


if __name__ == "__main__":
    main()
