"""Time one evaluation, compared with other packages on the same scores.

    python research/benchmarks/other_packages.py [--documents 1000000] [--repeats 5] [--threads 2] [--budget 20]

Each package computes the metrics it supports among both NDCGs, MAP and reciprocal rank, for untied scores and for the
scores of a training after five rounds, which have many ties. Its values are first compared with gainwise's under the
convention of the package. A package with other values is not timed, for example because its order of ties is arbitrary.
The conversion from arrays to the input of the package is timed separately. Missing packages are listed at the end.
"""

from __future__ import annotations

import argparse
import gc
import os
import time
from dataclasses import replace
from importlib.util import find_spec
from math import log2
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from datasets import Data, add_training_scores, make_data
from evaluators import (
    CUTOFFS,
    TEN_METRICS,
    build_evaluation,
    build_lightgbm_evaluation,
    build_xgboost_evaluation,
)
from timing import compute_milliseconds, compute_ratio, describe_machine, time_interleaved

import gainwise as gw

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Scores = NDArray[Any]
    Evaluation = Callable[[], Sequence[float]]

KINDS = {"untied": "Untied scores", "round 5": "Scores after 5 rounds of a training"}
"""Title by kind of scores."""


class Package(NamedTuple):
    """A package, and its evaluation.

    Attributes
    ----------
    name : str
        The name in the table.
    package : str
        The name of the package for pip, or "".
    module : str
        The name of the module for Python, or "".
    metrics : tuple of str
        The metrics it computes, in its order.
    convention : str or None
        The convention of gainwise that reproduces its values.
    max_difference : float
        Relative difference that its arithmetic explains: 64-bit sums, 32-bit sums, printed digits.
    convert : callable
        Function of data, scores and threads. It converts them and returns the evaluation, which returns the means.
    gainwise_metrics : tuple of str, optional
        Metrics to time gainwise with, if they are not the same.
    """

    name: str
    package: str
    module: str
    metrics: tuple[str, ...]
    convention: str | None
    max_difference: float
    convert: Callable[[Data, Scores, int], Evaluation]
    gainwise_metrics: tuple[str, ...] = ()


def convert_to_lists(data: Data, scores: Scores, threads: int) -> Evaluation:
    """Return a plain Python loop that sorts each query and computes one NDCG."""
    labels, score_list, sizes = data.labels.tolist(), scores.tolist(), data.sizes.tolist()

    def dcg(ranked_labels: list[int]) -> float:
        return sum((2**label - 1) / log2(rank + 2) for rank, label in enumerate(ranked_labels[:10]))

    def evaluate() -> list[float]:
        total, start = 0.0, 0
        for size in sizes:
            query_labels = labels[start : start + size]
            ranking = sorted(range(size), key=score_list[start : start + size].__getitem__, reverse=True)
            ideal = dcg(sorted(query_labels, reverse=True))
            total += dcg([query_labels[row] for row in ranking[:10]]) / ideal if ideal > 0 else 0.0
            start += size
        return [total / len(sizes)]

    return evaluate


def convert_to_gains(data: Data, scores: Scores, threads: int) -> Evaluation:
    """Return a loop that sorts each query and computes one NDCG with NumPy."""
    ends = np.cumsum(data.sizes)
    discount = 1 / np.log2(np.arange(2, 12))
    gains = 2.0**data.labels - 1

    def ndcg(gain: Scores, query_scores: Scores) -> float:
        k = min(10, len(gain))
        ideal = np.sort(gain)[::-1][:k] @ discount[:k]
        return float(gain[np.argsort(-query_scores)[:k]] @ discount[:k] / ideal) if ideal > 0 else 0.0

    def evaluate() -> list[float]:
        queries = zip(ends, data.sizes, strict=True)
        return [float(np.mean([ndcg(gains[end - n : end], scores[end - n : end]) for end, n in queries]))]

    return evaluate


def convert_to_matrix(ignore_ties: bool) -> Callable[[Data, Scores, int], Evaluation]:
    """Return a conversion for scikit-learn's ndcg_score: one matrix with a row per query."""

    def convert(data: Data, scores: Scores, threads: int) -> Evaluation:
        from sklearn.metrics import ndcg_score

        is_document = np.arange(data.sizes.max()) < data.sizes[:, None]
        labels, padded = np.zeros(is_document.shape), np.full(is_document.shape, scores.min() - 1)
        labels[is_document], padded[is_document] = data.labels, scores
        return lambda: [ndcg_score(labels, padded, k=10, ignore_ties=ignore_ties)]

    return convert


def build_dictionaries(data: Data, scores: Scores) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return qrels and run as dictionaries for TREC packages.

    trec_eval ranks equal 32-bit scores by descending document id, so the ids decrease from row to row.
    """
    qrels, run, start = {}, {}, 0
    for query, n in enumerate(data.sizes.tolist()):
        names = [f"d{number:09}" for number in range(n, 0, -1)]
        qrels[f"q{query}"] = dict(zip(names, data.labels[start : start + n].tolist(), strict=True))
        run[f"q{query}"] = dict(zip(names, scores[start : start + n].tolist(), strict=True))
        start += n
    return qrels, run


def convert_for_pytrec_eval(data: Data, scores: Scores, threads: int) -> Evaluation:
    """Return pytrec_eval's evaluation, including the mean of its values by query."""
    import pytrec_eval

    qrels, run = build_dictionaries(data, scores)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "map", "recip_rank"})
    names = ("ndcg_cut_10", "map", "recip_rank")

    def evaluate() -> list[float]:
        by_query = evaluator.evaluate(run).values()
        return [sum(values[name] for values in by_query) / len(by_query) for name in names]

    return evaluate


def convert_for_ir_measures(data: Data, scores: Scores, threads: int) -> Evaluation:
    """Return the evaluation of ir_measures, which uses pytrec_eval for these measures."""
    import ir_measures

    measures = [ir_measures.nDCG @ 10, ir_measures.AP, ir_measures.RR]
    qrels, run = build_dictionaries(data, scores)
    evaluator = ir_measures.evaluator(measures, qrels)

    def evaluate() -> list[float]:
        means = evaluator.calc_aggregate(run)
        return [means[measure] for measure in measures]

    return evaluate


def convert_for_ranx(data: Data, scores: Scores, threads: int) -> Evaluation:
    """Return ranx's evaluation."""
    os.environ.setdefault("NUMBA_NUM_THREADS", str(threads))
    import ranx

    qrels, run = build_dictionaries(data, scores)
    ranx_qrels, ranx_run = ranx.Qrels(qrels), ranx.Run(run)
    measures = ["ndcg@10", "ndcg_burges@10", "map", "mrr"]

    def evaluate() -> list[float]:
        means = ranx.evaluate(ranx_qrels, ranx_run, measures)
        return [float(means[measure]) for measure in measures]

    return evaluate


def convert_for_torchmetrics(data: Data, scores: Scores, threads: int) -> Evaluation:
    """Return the evaluation of torchmetrics on the CPU."""
    import torch
    from torchmetrics.retrieval import RetrievalMAP, RetrievalMRR, RetrievalNormalizedDCG

    torch.set_num_threads(threads)
    predictions = torch.from_numpy(scores.astype(np.float32))
    labels = torch.from_numpy(data.labels.astype(np.int64))
    query = torch.from_numpy(np.repeat(np.arange(len(data.sizes)), data.sizes))
    relevant = labels >= 1

    def evaluate() -> list[float]:
        return [
            float(RetrievalNormalizedDCG(top_k=10)(predictions, labels, indexes=query)),
            float(RetrievalMAP()(predictions, relevant, indexes=query)),
            float(RetrievalMRR()(predictions, relevant, indexes=query)),
        ]

    return evaluate


def convert_for_catboost(data: Data, scores: Scores, threads: int) -> Evaluation:
    """Return the evaluation of catboost.utils, which converts arrays in every call."""
    from catboost.utils import eval_metric

    query = np.repeat(np.arange(len(data.sizes)), data.sizes)
    labels = data.labels.astype(np.float64)
    metrics = ["NDCG:top=10;type=Base", "NDCG:top=10;type=Exp"]
    return lambda: [eval_metric(labels, scores, name, group_id=query, thread_count=threads)[0] for name in metrics]


def convert_for_lightgbm(metric: str) -> Callable[[Data, Scores, int], Evaluation]:
    """Return a conversion for LightGBM's built-in metric."""
    return lambda data, scores, threads: build_lightgbm_evaluation(data, scores, metric, threads)


NDCGS = tuple(f"ndcg_exp@{k}" for k in CUTOFFS)
MAPS = tuple(f"map@{k}" for k in CUTOFFS)
TWO = ("ndcg_linear@10", "ndcg_exp@10")
THREE = ("ndcg_linear@10", "map", "mrr")
FOUR = ("ndcg_linear@10", "ndcg_exp@10", "map", "mrr")
THREE_IN_32_BITS = tuple(str(replace(metric, scores="float32")) for metric in gw.parse_metrics(THREE))
"""pytrec_eval rounds scores to 32 bits, which ties two in a million documents."""
PACKAGES = (
    Package("Python loop, one NDCG", "", "", ("ndcg_exp@10",), None, 1e-12, convert_to_lists),
    Package("NumPy loop, one NDCG", "", "", ("ndcg_exp@10",), None, 1e-12, convert_to_gains),
    Package("LightGBM, ndcg at four cutoffs", "lightgbm", "lightgbm", NDCGS, "lightgbm", 1e-9,
            convert_for_lightgbm("ndcg")),
    Package("LightGBM, ndcg and map at four cutoffs", "lightgbm", "lightgbm", NDCGS + MAPS, "lightgbm", 1e-9,
            convert_for_lightgbm("ndcg,map")),
    Package("LightGBM, ndcg and map, compared with ten metrics", "lightgbm", "lightgbm", NDCGS + MAPS, "lightgbm", 1e-9,
            convert_for_lightgbm("ndcg,map"), tuple(TEN_METRICS)),
    Package("XGBoost, ndcg at four cutoffs", "xgboost", "xgboost", NDCGS, "xgboost", 1e-5, build_xgboost_evaluation),
    Package("XGBoost, ndcg at four cutoffs, compared with ten metrics", "xgboost", "xgboost", NDCGS, "xgboost", 1e-5,
            build_xgboost_evaluation, tuple(TEN_METRICS)),
    Package("CatBoost eval_metric, two NDCGs", "catboost", "catboost", TWO, "catboost", 1e-9, convert_for_catboost),
    Package("scikit-learn, one NDCG, ties ignored", "scikit-learn", "sklearn", ("ndcg_linear@10",), "sklearn", 1e-9,
            convert_to_matrix(ignore_ties=True)),
    Package("scikit-learn, one NDCG, ties averaged", "scikit-learn", "sklearn", ("ndcg_linear@10",), "sklearn", 1e-9,
            convert_to_matrix(ignore_ties=False)),
    Package("pytrec_eval, three measures", "pytrec_eval-terrier", "pytrec_eval", THREE_IN_32_BITS, "trec_eval", 1e-9,
            convert_for_pytrec_eval),
    Package("ir_measures, three measures", "ir_measures", "ir_measures", THREE_IN_32_BITS, "trec_eval", 1e-9,
            convert_for_ir_measures),
    Package("ranx, four measures", "ranx", "ranx", FOUR, "ranx", 1e-9, convert_for_ranx),
    Package("torchmetrics, three measures", "torchmetrics", "torchmetrics", THREE, "torchmetrics", 1e-5,
            convert_for_torchmetrics),
)  # fmt: skip


def make_scores_positive(data: Data) -> Data:
    """Return the data with scores above 0. torchmetrics ignores documents with other scores in MAP."""
    return data._replace(scores={kind: values - values.min() + 1 for kind, values in data.scores.items()})


def format_row(package: Package, data: Data, kind: str, judgments: gw.Judgments, arguments: argparse.Namespace) -> str:
    """Time a package and return its row of the table."""
    scores = data.scores[kind]
    small = make_scores_positive(make_data(1_000))
    package.convert(small, small.scores["untied"], arguments.threads)  # imports and compiles on first use
    start = time.perf_counter()
    evaluate = package.convert(data, scores, arguments.threads)
    conversion = time.perf_counter() - start
    metrics = gw.parse_metrics(package.metrics, convention=package.convention)
    expected = np.array(list(gw.evaluate(metrics, judgments, scores).mean.values()))
    difference = np.max(np.abs(np.array(evaluate()) / expected - 1))
    if not difference <= package.max_difference:
        return f"| {package.name} | not timed: other values | | | {difference:.0e} | |"
    gainwise = build_evaluation(package.gainwise_metrics or metrics, judgments, scores, arguments.threads)
    seconds = time_interleaved({"package": evaluate, "gainwise": gainwise}, arguments.repeats, arguments.budget)
    return (f"| {package.name} | {compute_milliseconds(seconds['package']):.1f} "
            f"| {compute_milliseconds(seconds['gainwise']):.1f} "
            f"| {compute_ratio(seconds['gainwise'], seconds['package']):.3f} "
            f"| {difference:.0e} | {1e3 * conversion:.0f} |")  # fmt: skip


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--budget", type=float, default=20, help="seconds per package, but at least two rounds")
    arguments = parser.parse_args()
    data = make_scores_positive(add_training_scores(make_data(arguments.documents), arguments.threads))
    judgments = gw.Judgments(data.labels, group=data.sizes)
    installed = [package for package in PACKAGES if not package.module or find_spec(package.module)]
    missing = dict.fromkeys(package.package for package in PACKAGES if package not in installed)
    print(f"{describe_machine(*dict.fromkeys(package.package for package in installed if package.package))}\n")
    print(f"{len(data.labels):,} documents in {len(data.sizes):,} queries, {arguments.threads} threads. Medians of "
          f"{arguments.repeats} interleaved runs or fewer. *Difference* is the largest relative difference of the "
          "values.")  # fmt: skip
    for kind, title in KINDS.items():
        print(f"\n### {title}\n\n| package | package, ms | gainwise, ms | ratio | difference | conversion, ms |")
        print("|---|---:|---:|---:|---:|---:|")
        for package in installed:
            print(format_row(package, data, kind, judgments, arguments), flush=True)
            gc.collect()
    create = {"evaluator": lambda: gw.Evaluator(TEN_METRICS, gw.Judgments(data.labels, group=data.sizes))}
    conversion = compute_milliseconds(time_interleaved(create, 3)["evaluator"])
    print(f"\ngainwise's conversion (`Judgments` and `Evaluator` for ten metrics): {conversion:.0f} ms")
    print(f"\nNot installed: {', '.join(missing) or 'none'}")


if __name__ == "__main__":
    main()
