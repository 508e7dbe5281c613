"""Whom to compare with: how each package takes the data, what it computes, and which of our metrics that is."""

from __future__ import annotations

import os
from dataclasses import replace
from math import log2
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from builtin import lightgbm_builtin, xgboost_builtin
from panel import CUTOFFS, PANEL

import gainsay as gs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from shapes import Data

    Scores = NDArray[Any]
    Evaluation = Callable[[], Sequence[float]]

EXPONENTIAL = tuple(f"ndcg_exp@{k}" for k in CUTOFFS)
THREE = ("ndcg_linear@10", "map", "mrr")
THREE_IN_32_BITS = tuple(str(replace(metric, scores="float32")) for metric in gs.parse_metrics(THREE))
"""As pytrec_eval rounds scores, of which two in a million documents are then equal."""


class Opponent(NamedTuple):
    """A package and what it computes.

    Attributes
    ----------
    name : str
        What stands in the table.
    package : str
        What pip calls it; empty for what needs none.
    module : str
        What Python calls it.
    metrics : tuple of str
        Our names of what it computes, in its order.
    convention : str or None
        The convention of ours that reproduces it.
    precision : float
        Relative difference that its arithmetic explains: 64-bit sums, 32-bit sums, printed digits.
    convert : callable
        From data, scores and threads to a call that evaluates and returns the means; what it does before it returns is
        the conversion.
    against : tuple of str, optional
        What of ours to time instead of the same metrics.
    """

    name: str
    package: str
    module: str
    metrics: tuple[str, ...]
    convention: str | None
    precision: float
    convert: Callable[[Data, Scores, int], Evaluation]
    against: tuple[str, ...] = ()


def python_loop(data: Data, scores: Scores, threads: int) -> Evaluation:
    """Return a loop that sorts each query and computes one NDCG, in Python alone."""
    labels, by, sizes = data.labels.tolist(), scores.tolist(), data.sizes.tolist()

    def dcg(ranked: list[int]) -> float:
        return sum((2**label - 1) / log2(rank + 2) for rank, label in enumerate(ranked[:10]))

    def evaluate() -> list[float]:
        total, start = 0.0, 0
        for size in sizes:
            of_query = labels[start : start + size]
            ranked = sorted(range(size), key=by[start : start + size].__getitem__, reverse=True)
            ideal = dcg(sorted(of_query, reverse=True))
            total += dcg([of_query[at] for at in ranked[:10]]) / ideal if ideal > 0 else 0.0
            start += size
        return [total / len(sizes)]

    return evaluate


def numpy_loop(data: Data, scores: Scores, threads: int) -> Evaluation:
    """Return a loop over queries that sorts each and computes one NDCG with NumPy."""
    ends = np.cumsum(data.sizes)
    discount = 1 / np.log2(np.arange(2, 12))
    gains = 2.0**data.labels - 1

    def ndcg(gain: Scores, by: Scores) -> float:
        k = min(10, len(gain))
        ideal = np.sort(gain)[::-1][:k] @ discount[:k]
        return float(gain[np.argsort(-by)[:k]] @ discount[:k] / ideal) if ideal > 0 else 0.0

    def evaluate() -> list[float]:
        queries = zip(ends, data.sizes, strict=True)
        return [float(np.mean([ndcg(gains[end - n : end], scores[end - n : end]) for end, n in queries]))]

    return evaluate


def sklearn_ndcg(ignore_ties: bool) -> Callable[[Data, Scores, int], Evaluation]:
    """Return scikit-learn's ndcg_score of queries padded to one matrix."""

    def convert(data: Data, scores: Scores, threads: int) -> Evaluation:
        from sklearn.metrics import ndcg_score

        place = np.arange(data.sizes.max()) < data.sizes[:, None]
        labels, by = np.zeros(place.shape), np.full(place.shape, scores.min() - 1)
        labels[place], by[place] = data.labels, scores
        return lambda: [ndcg_score(labels, by, k=10, ignore_ties=ignore_ties)]

    return convert


def dictionaries(data: Data, scores: Scores) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return qrels and run as the dictionaries that TREC-style packages take.

    trec_eval puts the greater name first where scores are equal in 32 bits, so names fall from row to row.
    """
    qrels, run, start = {}, {}, 0
    for query, n in enumerate(data.sizes.tolist()):
        names = [f"d{at:09}" for at in range(n, 0, -1)]
        qrels[f"q{query}"] = dict(zip(names, data.labels[start : start + n].tolist(), strict=True))
        run[f"q{query}"] = dict(zip(names, scores[start : start + n].tolist(), strict=True))
        start += n
    return qrels, run


def pytrec(data: Data, scores: Scores, threads: int) -> Evaluation:
    """Return pytrec_eval's evaluation; it gives values by query, whose mean is part of the task."""
    import pytrec_eval

    qrels, run = dictionaries(data, scores)
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "map", "recip_rank"})
    names = ("ndcg_cut_10", "map", "recip_rank")

    def evaluate() -> list[float]:
        found = evaluator.evaluate(run).values()
        return [sum(values[name] for values in found) / len(found) for name in names]

    return evaluate


def ir_measures_evaluator(data: Data, scores: Scores, threads: int) -> Evaluation:
    """Return the evaluation of ir_measures, which hands these measures to pytrec_eval."""
    import ir_measures

    measures = [ir_measures.nDCG @ 10, ir_measures.AP, ir_measures.RR]
    qrels, run = dictionaries(data, scores)
    evaluator = ir_measures.evaluator(measures, qrels)

    def evaluate() -> list[float]:
        found = evaluator.calc_aggregate(run)
        return [found[measure] for measure in measures]

    return evaluate


def ranx_evaluate(data: Data, scores: Scores, threads: int) -> Evaluation:
    """Return ranx's evaluation."""
    os.environ.setdefault("NUMBA_NUM_THREADS", str(threads))
    import ranx

    qrels, run = dictionaries(data, scores)
    theirs, their_run = ranx.Qrels(qrels), ranx.Run(run)
    measures = ["ndcg@10", "ndcg_burges@10", "map", "mrr"]

    def evaluate() -> list[float]:
        found = ranx.evaluate(theirs, their_run, measures)
        return [float(found[measure]) for measure in measures]

    return evaluate


def torchmetrics_retrieval(data: Data, scores: Scores, threads: int) -> Evaluation:
    """Return the evaluation of torchmetrics, on the CPU."""
    import torch
    from torchmetrics.retrieval import RetrievalMAP, RetrievalMRR, RetrievalNormalizedDCG

    torch.set_num_threads(threads)
    by, labels = torch.from_numpy(scores.astype(np.float32)), torch.from_numpy(data.labels.astype(np.int64))
    query = torch.from_numpy(np.repeat(np.arange(len(data.sizes)), data.sizes))
    relevant = labels >= 1

    def evaluate() -> list[float]:
        return [
            float(RetrievalNormalizedDCG(top_k=10)(by, labels, indexes=query)),
            float(RetrievalMAP()(by, relevant, indexes=query)),
            float(RetrievalMRR()(by, relevant, indexes=query)),
        ]

    return evaluate


def catboost_eval_metric(data: Data, scores: Scores, threads: int) -> Evaluation:
    """Return the evaluation of catboost.utils, which takes flat arrays and converts them in every call."""
    from catboost.utils import eval_metric

    query = np.repeat(np.arange(len(data.sizes)), data.sizes)
    labels = data.labels.astype(np.float64)
    metrics = ["NDCG:top=10;type=Base", "NDCG:top=10;type=Exp"]
    return lambda: [eval_metric(labels, scores, name, group_id=query, thread_count=threads)[0] for name in metrics]


def _lightgbm(metric: str) -> Callable[[Data, Scores, int], Evaluation]:
    return lambda data, scores, threads: lightgbm_builtin(data, scores, metric, threads)


def _xgboost(data: Data, scores: Scores, threads: int) -> Evaluation:
    return xgboost_builtin(data, scores, [f"ndcg@{k}" for k in CUTOFFS], threads)


MAPS = tuple(f"map@{k}" for k in CUTOFFS)
FOUR = ("ndcg_linear@10", "ndcg_exp@10", "map", "mrr")
CATBOOST = ("ndcg_linear@10", "ndcg_exp@10")
OPPONENTS = (
    Opponent("naive Python loop, one NDCG", "", "", ("ndcg_exp@10",), None, 1e-12, python_loop),
    Opponent("naive NumPy loop, one NDCG", "", "", ("ndcg_exp@10",), None, 1e-12, numpy_loop),
    Opponent("LightGBM, ndcg at four cutoffs", "lightgbm", "lightgbm", EXPONENTIAL, "lightgbm", 1e-9,
             _lightgbm("ndcg")),
    Opponent("LightGBM, ndcg and map at four cutoffs", "lightgbm", "lightgbm", EXPONENTIAL + MAPS, "lightgbm", 1e-9,
             _lightgbm("ndcg,map")),
    Opponent("LightGBM, ndcg and map, against our panel of ten", "lightgbm", "lightgbm", EXPONENTIAL + MAPS,
             "lightgbm", 1e-9, _lightgbm("ndcg,map"), tuple(PANEL)),
    Opponent("XGBoost, ndcg at four cutoffs", "xgboost", "xgboost", EXPONENTIAL, "xgboost", 1e-5, _xgboost),
    Opponent("XGBoost, ndcg at four cutoffs, against our panel of ten", "xgboost", "xgboost", EXPONENTIAL, "xgboost",
             1e-5, _xgboost, tuple(PANEL)),
    Opponent("CatBoost eval_metric, two NDCGs", "catboost", "catboost", CATBOOST, "catboost", 1e-9,
             catboost_eval_metric),
    Opponent("scikit-learn, one NDCG, ties ignored", "scikit-learn", "sklearn", ("ndcg_linear@10",), "sklearn", 1e-9,
             sklearn_ndcg(ignore_ties=True)),
    Opponent("scikit-learn, one NDCG, ties averaged", "scikit-learn", "sklearn", ("ndcg_linear@10",), "sklearn", 1e-9,
             sklearn_ndcg(ignore_ties=False)),
    Opponent("pytrec_eval, three measures", "pytrec_eval-terrier", "pytrec_eval", THREE_IN_32_BITS, "trec_eval", 1e-9,
             pytrec),
    Opponent("ir_measures, three measures", "ir_measures", "ir_measures", THREE_IN_32_BITS, "trec_eval", 1e-9,
             ir_measures_evaluator),
    Opponent("ranx, four measures", "ranx", "ranx", FOUR, "ranx", 1e-9, ranx_evaluate),
    Opponent("torchmetrics, three measures", "torchmetrics", "torchmetrics", THREE, "torchmetrics", 1e-5,
             torchmetrics_retrieval),
)  # fmt: skip
