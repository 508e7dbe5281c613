"""Evaluations as functions without arguments: gainwise's, and those built into LightGBM and XGBoost."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

import gainwise as gw
from gainwise.evaluation import groups
from gainwise.ranking import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from datasets import Data
    from numpy.typing import NDArray

CUTOFFS = (1, 3, 5, 10)
NDCGS = [f"{name}@{k}" for name in ("ndcg_linear", "ndcg_exp") for k in CUTOFFS]
TEN_METRICS = [*NDCGS, "map", "mrr"]
IMPLEMENTATIONS = ("NumPy",) if compiled.core() is None else ("NumPy", "compiled")
"""The implementations that this installation has."""


def build_evaluation(
    metrics: Sequence[str | gw.Metric],
    judgments: gw.Judgments,
    scores: NDArray[Any],
    threads: int,
    implementation: str = IMPLEMENTATIONS[-1],
) -> Callable[[], dict[str, float]]:
    """Return gainwise's evaluation of these scores, prepared as in training."""
    evaluator = gw.Evaluator(metrics, judgments, n_jobs=threads)
    return select_implementation(implementation, lambda: evaluator.mean(scores))


def select_implementation(implementation: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that uses NumPy only, or the compiled core."""

    def call_without_core(*arguments: Any) -> Any:
        core, compiled.core = compiled.core, lambda: None
        try:
            return function(*arguments)
        finally:
            compiled.core = core

    return call_without_core if implementation == "NumPy" else function


@contextmanager
def ignore_minimum_documents() -> Iterator[None]:
    """Use as many threads as `n_jobs` allows, even for few documents."""
    limits = groups.DOCUMENTS_PER_THREAD, groups.COMPILED_PER_THREAD
    groups.DOCUMENTS_PER_THREAD = groups.COMPILED_PER_THREAD = 1
    try:
        yield
    finally:
        groups.DOCUMENTS_PER_THREAD, groups.COMPILED_PER_THREAD = limits


def set_ties(metrics: list[str], ties: str) -> list[gw.Metric]:
    """Return metrics with this policy for ties."""
    return [replace(metric, ties=ties) for metric in gw.parse_metrics(metrics)]


def build_lightgbm_evaluation(data: Data, scores: NDArray[Any], metric: str, threads: int) -> Callable[[], list[float]]:
    """Return LightGBM's built-in evaluation of these scores. It does not predict."""
    import lightgbm as lgb

    params = {"objective": "lambdarank", "metric": metric, "eval_at": CUTOFFS, "verbose": -1, "num_threads": threads}
    small = lgb.Dataset(np.zeros((2, 1)), [0, 1], group=[2], params={"verbose": -1})
    booster = lgb.Booster(params, small)
    features = np.zeros((len(data.labels), 1))
    valid = lgb.Dataset(features, data.labels, group=data.sizes, reference=small, init_score=scores)
    booster.add_valid(valid, "valid")
    return lambda: [value for _, _, value, _ in booster.eval_valid()]


def build_xgboost_evaluation(data: Data, scores: NDArray[Any], threads: int) -> Callable[[], list[float]]:
    """Return XGBoost's built-in evaluation of these scores. The first call caches the predictions."""
    import xgboost as xgb

    matrix = xgb.DMatrix(np.zeros((len(data.labels), 1)), label=data.labels, base_margin=scores, nthread=threads)
    matrix.set_group(data.sizes)
    params = {"objective": "rank:ndcg", "eval_metric": [f"ndcg@{k}" for k in CUTOFFS], "nthread": threads}
    booster = xgb.Booster(params, cache=[matrix])
    return lambda: [float(field.rpartition(":")[2]) for field in booster.eval(matrix).split("\t")[1:]]
