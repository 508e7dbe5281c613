"""Time evaluations as in training, for queries of usual length and for short queries.

    python research/benchmarks/rounds.py [--documents 1000000] [--repeats 15] [--threads 2]

A model is trained, and its scores after 1, 5, 20 and 100 rounds are evaluated. After the first rounds, few scores are
distinct. Each evaluation is timed twice: after a short pause, and directly after LightGBM's evaluation of the same
scores. LightGBM's OpenMP threads then remain active for some milliseconds, unless OMP_WAIT_POLICY is `passive`.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from datasets import Data, add_training_scores, make_data, make_short
from evaluators import IMPLEMENTATIONS, NDCGS, TEN_METRICS, build_evaluation, build_lightgbm_evaluation
from timing import compute_milliseconds, compute_ratio, describe_machine, time_interleaved

import gainwise as gw

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

METRICS = {"both NDCGs": NDCGS, "ten metrics": TEN_METRICS}


def build_evaluations(
    data: Data, scores: NDArray[Any], builtin: Callable[[], object], threads: int
) -> dict[Any, Callable[[], object]]:
    """Return LightGBM's evaluation, and gainwise's by metrics and implementation.

    The evaluators are new: they have not yet measured which number of threads is the fastest.
    """
    judgments = {implementation: gw.Judgments(data.labels, group=data.sizes) for implementation in IMPLEMENTATIONS}
    return {"LightGBM": builtin} | {
        (name, implementation): build_evaluation(metrics, judgments[implementation], scores, threads, implementation)
        for name, metrics in METRICS.items()
        for implementation in IMPLEMENTATIONS
    }


def build_table(data: Data, repeats: int, threads: int) -> list[str]:
    """Return the lines of the table for one dataset."""
    heads = " | ".join(f"{name}{when}" for when in ("", ", directly after LightGBM") for name in METRICS)
    lines = [f"Ratios to LightGBM, {' / '.join(IMPLEMENTATIONS)}, at most {threads} threads", "",
             f"| scores | distinct | LightGBM ndcg, ms | {heads} |", "|---|---:|---:|---:|---:|---:|---:|"]  # fmt: skip
    for kind, scores in data.scores.items():
        builtin = build_lightgbm_evaluation(data, scores, "ndcg", threads)
        paused = time_interleaved(build_evaluations(data, scores, builtin, threads), repeats)
        busy = time_interleaved(build_evaluations(data, scores, builtin, threads), repeats, preceding=builtin)
        cells = [kind, f"{len(np.unique(scores)):,}", f"{compute_milliseconds(paused['LightGBM']):.1f}"]
        for seconds in (paused, busy):
            for name in METRICS:
                ratios = [compute_ratio(seconds[name, it], seconds["LightGBM"]) for it in IMPLEMENTATIONS]
                cells.append(" / ".join(f"{ratio:.2f}" for ratio in ratios))
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    policy = os.environ.get("OMP_WAIT_POLICY", "not set")
    print(f"{describe_machine()}; OMP_WAIT_POLICY {policy}\n")
    print(f"Medians of {arguments.repeats} interleaved runs. Ratios to LightGBM's `ndcg` at 1, 3, 5 and 10 on the same "
          "scores, after a pause and directly after LightGBM's evaluation. The ten metrics are both NDCGs at these "
          "cutoffs, MAP and MRR.")  # fmt: skip
    for make in (make_data, make_short):
        data = add_training_scores(make(arguments.documents), arguments.threads)
        print(f"\n### {len(data.labels):,} documents in {len(data.sizes):,} queries\n")
        print("\n".join(build_table(data, arguments.repeats, arguments.threads)), flush=True)


if __name__ == "__main__":
    main()
