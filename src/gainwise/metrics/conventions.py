"""Conventions of libraries: the options that reproduce their numbers.

They are tested against LightGBM 4.7, XGBoost 3.2, CatBoost 1.2, scikit-learn 1.9, trec_eval 10, ranx, Ignite 0.5,
Recommenders 1.2 and LensKit 2025.8, and on untied scores against KerasRS 0.4 and NDCG, MAP and MRR of torchmetrics 1.9.
A convention reproduces definitions, not defects: LightGBM and XGBoost ignore the weight of a query without relevant
documents in a weighted ndcg, but here it counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .binary import BinaryMetric

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .base import Metric
    from .dcg import Discount

ABOVE_HALF = float(np.nextafter(0.5, 1.0))
"""The lowest label above 0.5, for libraries in which documents with label > 0.5 are relevant."""

XGBOOST_CUTOFF = 32
"""The cutoff of XGBoost for metrics without one."""


@dataclass(frozen=True)
class Convention:
    """Options of all metrics, and options by the first name of a class, which take precedence.

    `gain` and `discount` are those of a plain ndcg. `title` is the name of the library in one word. `prints` contains
    its names of metrics by their names here, with {k}
    as the cutoff. Each of them is tested against the library. With `binary_only`, its binary metrics require labels 0
    and 1. With `requires_cutoff`, the library does not evaluate all ranks by default.
    """

    common: Mapping[str, Any]
    by_name: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    gain: str | None = None
    discount: Discount = "log2"
    min_label: float = 1.0
    note: str = ""
    binary_only: bool = False
    title: str = ""
    prints: Mapping[str, str] = field(default_factory=dict)
    requires_cutoff: bool = False

    def options(self, metric: type[Metric]) -> dict[str, Any]:
        """Return the options of a metric that the convention determines."""
        relevance = {"min_label": self.min_label} if issubclass(metric, BinaryMetric) else {}
        options = {**self.common, **relevance, **self.by_name.get(next(iter(metric.names), ""), {})}
        return {option: value for option, value in options.items() if option == "k" or option in metric.option_names()}


DEFECT = "the library ignores the weight of queries without relevant documents in a weighted ndcg"

CONVENTIONS: Mapping[str, Convention] = {
    "lightgbm": Convention(
        {"ties": "order", "empty": 1, "weights": "float32_mean"},
        gain="exponential",
        min_label=ABOVE_HALF,
        note=DEFECT,
        title="LightGBM",
        requires_cutoff=True,
        prints={"ndcg_exp@{k}": "ndcg@{k}", "map@{k}": "map@{k}"},
    ),
    "xgboost": Convention(
        {"ties": "order", "scores": "float32", "weights": "float32"},
        {
            "ndcg": {"empty": 1, "k": XGBOOST_CUTOFF},
            "map": {"empty": 1, "k": XGBOOST_CUTOFF},
            "precision": {"denominator": "min_k_n", "k": XGBOOST_CUTOFF},
        },
        gain="exponential",
        note=DEFECT,
        binary_only=True,
        title="XGBoost",
        prints={
            "ndcg_exp@{k}": "ndcg@{k}",
            "ndcg_linear@{k}": "ndcg@{k}, ndcg_exp_gain=False",
            "map@{k}": "map@{k}",
            "precision@{k}": "pre@{k}",
            "ndcg_exp(empty=0)@{k}": "ndcg@{k}-",
            "map(empty=0)@{k}": "map@{k}-",
        },
    ),
    "catboost": Convention(
        {"ties": "worst"},
        {
            "ndcg": {"empty": 1},
            "map": {"weights": "ignore"},
            "precision": {"weights": "ignore", "denominator": "min_k_n"},
            "recall": {"weights": "ignore", "empty": 1},
        },
        gain="linear",
        min_label=ABOVE_HALF,
        title="CatBoost",
        prints={
            "ndcg_linear@{k}": "NDCG:top={k}",
            "ndcg_exp@{k}": "NDCG:top={k};type=Exp",
            "dcg_linear@{k}": "DCG:top={k}",
            "dcg_exp@{k}": "DCG:top={k};type=Exp",
            "map@{k}": "MAP:top={k}",
            "mrr@{k}": "MRR:top={k}",
            "precision@{k}": "PrecisionAt:top={k}",
            "recall@{k}": "RecallAt:top={k}",
        },
    ),
    "sklearn": Convention(
        {},
        gain="linear",
        note="the library rejects queries with one document",
        title="scikit-learn",
        prints={"ndcg_linear@{k}": "ndcg_score(k={k})", "dcg_linear@{k}": "dcg_score(k={k})"},
    ),
    "trec_eval": Convention(
        {"ties": "order"},
        {"map": {"denominator": "R"}, "rbp": {"p": 0.9, "gain": "graded"}},
        gain="linear",
        note="ties are ordered by descending document id, as in evaluate_run",
        title="trec_eval",
        prints={
            "ndcg_linear@{k}": "ndcg_cut_{k}",
            "map@{k}": "map_cut_{k}",
            "mrr": "recip_rank",
            "precision@{k}": "P_{k}",
            "recall@{k}": "recall_{k}",
            "hit@{k}": "success_{k}",
            "rprec": "Rprec",
        },
    ),
    "torchmetrics": Convention(
        {"ties": "order", "scores": "float32"},
        {"ndcg": {"ties": "average"}, "map": {"denominator": "hits"}},
        gain="linear",
        note="in all metrics but NDCG, the library treats documents with score 0 or less as irrelevant",
        title="torchmetrics",
        prints={
            "ndcg_linear@{k}": "RetrievalNormalizedDCG(top_k={k})",
            "map@{k}": "RetrievalMAP(top_k={k})",
            "mrr@{k}": "RetrievalMRR(top_k={k})",
        },
    ),
    "ranx": Convention(
        {"ties": "order"},
        {"map": {"denominator": "R"}},
        note="the library sorts without a stable order, so the order of ties is arbitrary",
        title="ranx",
        prints={
            "ndcg_linear@{k}": "ndcg@{k}",
            "ndcg_exp@{k}": "ndcg_burges@{k}",
            "map@{k}": "map@{k}",
            "mrr@{k}": "mrr@{k}",
            "precision@{k}": "precision@{k}",
            "recall@{k}": "recall@{k}",
            "hit@{k}": "hit_rate@{k}",
            "rprec": "r-precision",
        },
    ),
    "ignite": Convention(
        {"ties": "order", "empty": "skip", "scores": "float32"},
        gain="exponential",
        binary_only=True,
        title="Ignite",
        requires_cutoff=True,
        prints={
            "ndcg_exp@{k}": "NDCG(top_k=[{k}])",
            "ndcg_linear@{k}": "NDCG(top_k=[{k}], gain_function='linear_rank')",
            "hit@{k}": "HitRate(top_k={k})",
        },
    ),
    "keras_rs": Convention(
        {"ties": "order", "scores": "float32"},
        {"map": {"denominator": "R"}, "precision": {"denominator": "min_k_n"}},
        gain="exponential",
        note="the library shuffles tied documents, and gives queries without relevant documents the mean weight",
        title="KerasRS",
        prints={
            "ndcg_exp@{k}": "NDCG(k={k})",
            "dcg_exp@{k}": "DCG(k={k})",
            "map@{k}": "MeanAveragePrecision(k={k})",
            "mrr@{k}": "MeanReciprocalRank(k={k})",
            "precision@{k}": "PrecisionAtK(k={k})",
            "recall@{k}": "RecallAtK(k={k})",
        },
    ),
    "recommenders": Convention(
        {"ties": "order", "empty": "skip"},
        gain="binary",
        note="users without relevant items are not part of the truth",
        title="Recommenders",
        requires_cutoff=True,
        prints={
            "ndcg(gain=binary)@{k}": "ndcg_at_k(k={k})",
            "ndcg_linear@{k}": "ndcg_at_k(k={k}, score_type='raw')",
            "ndcg_exp@{k}": "ndcg_at_k(k={k}, score_type='exp')",
            "map@{k}": "map_at_k(k={k})",
            "map(denominator=R)@{k}": "map(k={k})",
            "precision@{k}": "precision_at_k(k={k})",
            "recall@{k}": "recall_at_k(k={k})",
        },
    ),
    "lenskit": Convention(
        {"ties": "order", "empty": "skip"},
        {"precision": {"denominator": "min_k_n", "empty": 0}},
        gain="binary",
        discount="jk",
        note="the test data contain relevant items only",
        title="LensKit",
        prints={
            "ndcg(gain=binary,discount=jk)@{k}": "NDCG(n={k})",
            "ndcg_jk@{k}": "NDCG(n={k}, gain='rating')",
            "map@{k}": "AveragePrecision(n={k})",
            "mrr@{k}": "RecipRank(n={k})",
            "precision@{k}": "Precision(n={k})",
            "hit@{k}": "Hit(n={k})",
        },
    ),
}
