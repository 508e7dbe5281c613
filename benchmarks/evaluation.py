"""The cost of one evaluation against the built-in metrics of LightGBM and XGBoost, on the same scores.

    python benchmarks/evaluation.py [--documents 1000000] [--repeats 15] [--threads 2]

The built-in metrics are timed without the predictions that they are given: LightGBM evaluates scores that it already
holds, XGBoost those that it has cached.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NamedTuple

import lightgbm as lgb
import numpy as np
import xgboost as xgb
from timing import interleaved, machine, milliseconds, ratio

import gainsay as gs

if TYPE_CHECKING:
    from collections.abc import Callable

CUTOFFS = (1, 3, 5, 10)
NDCGS = [f"{name}@{k}" for name in ("ndcg_linear", "ndcg_exp") for k in CUTOFFS]
PANEL = [*NDCGS, "map", "mrr"]
SINGLE = ["ndcg_linear@10", "ndcg_exp@10", "ndcg_jk@10", "ndcg_exp", "map", "map@10", "mrr", "precision@10",
          "recall@10", "hit@10", "rbp", "err(max_label=4)@10"]  # fmt: skip


class Data(NamedTuple):
    """Ragged queries, and scores that are all different or full of ties."""

    labels: np.ndarray[Any, Any]
    sizes: np.ndarray[Any, Any]
    scores: dict[str, np.ndarray[Any, Any]]


def make_data(documents: int, seed: int = 0) -> Data:
    """Draw queries with the lengths and grades of a web-search set."""
    rng = np.random.default_rng(seed)
    sizes = np.maximum(1, rng.lognormal(np.log(90), 0.5, documents // 100).astype(np.int64))
    n = int(sizes.sum())
    untied = rng.normal(size=n)
    scores = {"untied": untied, "tied": np.round(untied, 1), "constant": np.zeros(n)}
    return Data(rng.choice(5, n, p=[0.52, 0.32, 0.13, 0.02, 0.01]), sizes, scores)


def lightgbm_builtin(data: Data, scores: np.ndarray[Any, Any], metric: str, threads: int) -> Callable[[], object]:
    """Return a call of LightGBM's own evaluation of these scores."""
    params = {"objective": "lambdarank", "metric": metric, "eval_at": CUTOFFS, "verbose": -1, "num_threads": threads}
    small = lgb.Dataset(np.zeros((2, 1)), [0, 1], group=[2])
    booster = lgb.Booster(params, small)
    valid = lgb.Dataset(
        np.zeros((len(data.labels), 1)), data.labels, group=data.sizes, reference=small, init_score=scores
    )
    booster.add_valid(valid, "valid")
    return booster.eval_valid


def xgboost_builtin(data: Data, scores: np.ndarray[Any, Any], metrics: list[str], threads: int) -> Callable[[], object]:
    """Return a call of XGBoost's own evaluation of these scores."""
    matrix = xgb.DMatrix(np.zeros((len(data.labels), 1)), label=data.labels, base_margin=scores, nthread=threads)
    matrix.set_group(data.sizes)
    booster = xgb.Booster({"objective": "rank:ndcg", "eval_metric": metrics, "nthread": threads}, cache=[matrix])
    return lambda: booster.eval(matrix)


def ours(
    metrics: list[str], judgments: gs.Judgments, scores: np.ndarray[Any, Any], threads: int
) -> Callable[[], object]:
    """Return a call of our evaluation, bound as it is in training."""
    evaluator = gs.Evaluator(metrics, judgments, n_jobs=threads)
    return lambda: evaluator(scores).mean


def with_ties(metrics: list[str], ties: str) -> list[gs.Metric]:
    """Return metrics under a policy for ties."""
    from dataclasses import replace

    return [replace(metric, ties=ties) for metric in gs.parse_metrics(metrics)]


def measure(documents: int, repeats: int, threads: int) -> list[str]:
    """Return the lines of the report."""
    data = make_data(documents)
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
        builtin = seconds["LightGBM ndcg"]
        lines += [f"| {kind} scores | ms | ratio |", "|---|---:|---:|"]
        lines += [f"| {name} | {milliseconds(s):.1f} | {ratio(s, builtin):.2f} |" for name, s in seconds.items()]
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
