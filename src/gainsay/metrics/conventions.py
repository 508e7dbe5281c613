"""What each library means by a metric: the options that reproduce the number it prints.

Verified numerically against LightGBM 4.7, XGBoost 3.2, CatBoost 1.2, scikit-learn 1.9, trec_eval 10 and ranx, and on
untied scores against NDCG, MAP and MRR of torchmetrics 1.9. A convention reproduces definitions, not slips: LightGBM
and XGBoost forget the weight of a query without relevant documents in a weighted ndcg; here it counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .base import choice
from .relevance import BinaryMetric

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .base import Metric

ABOVE_HALF = float(np.nextafter(0.5, 1.0))
"""The lowest label above 0.5, for libraries that call a document relevant where its label > 0.5."""

XGBOOST_CUTOFF = 32
"""Where XGBoost cuts a metric that says no cutoff."""


@dataclass(frozen=True)
class Convention:
    """Options by metric: those of all metrics, then those of a class (by its first name), which win.

    `called` is what the library calls itself, and `prints` what it calls the metrics that it has, by their names here,
    where {k} is a cutoff; tests hold each of them against the library itself. `binary_only`: its metrics of relevant
    and not relevant refuse labels other than 0 and 1.
    """

    common: Mapping[str, Any]
    by_name: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    gain: str | None = None
    min_label: float = 1.0
    note: str = ""
    binary_only: bool = False
    called: str = ""
    prints: Mapping[str, str] = field(default_factory=dict)

    def options(self, metric: type[Metric]) -> dict[str, Any]:
        """Return the options that the library's convention sets for a metric, of those that it has."""
        relevance = {"min_label": self.min_label} if issubclass(metric, BinaryMetric) else {}
        said = {**self.common, **relevance, **self.by_name.get(next(iter(metric.names), ""), {})}
        return {option: value for option, value in said.items() if option == "k" or option in metric.option_names()}


SLIP = "the library itself forgets the weight of queries without relevant documents in a weighted ndcg"

CONVENTIONS: Mapping[str, Convention] = {
    "lightgbm": Convention(
        {"ties": "order", "empty": 1, "weights": "float32_mean"},
        gain="exponential",
        min_label=ABOVE_HALF,
        note=SLIP,
        called="LightGBM",
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
        note=SLIP,
        binary_only=True,
        called="XGBoost",
        prints={
            "ndcg_exp@{k}": "ndcg@{k}",
            "ndcg_linear@{k}": "ndcg@{k}, ndcg_exp_gain=False",
            "map@{k}": "map@{k}",
            "precision@{k}": "pre@{k}",
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
        called="CatBoost",
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
        note="the library itself refuses a query with one document",
        called="scikit-learn",
        prints={"ndcg_linear@{k}": "ndcg_score(k={k})", "dcg_linear@{k}": "dcg_score(k={k})"},
    ),
    "trec_eval": Convention(
        {"ties": "order"},
        {"map": {"denominator": "R"}, "rbp": {"p": 0.9, "gain": "graded"}},
        gain="linear",
        note="ties go by document id, descending: evaluate_run knows the ids",
        called="trec_eval",
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
        note="the library itself takes documents of score 0 or less for irrelevant in all but NDCG",
        called="torchmetrics",
        prints={
            "ndcg_linear@{k}": "RetrievalNormalizedDCG(top_k={k})",
            "map@{k}": "RetrievalMAP(top_k={k})",
            "mrr@{k}": "RetrievalMRR(top_k={k})",
        },
    ),
    "ranx": Convention(
        {"ties": "order"},
        {"map": {"denominator": "R"}},
        note="the library itself sorts unstably: ties fall anyhow",
        called="ranx",
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
}


def convention_named(name: str) -> Convention:
    """Return the convention of a library, or raise `ValueError` with the nearest name."""
    choice("convention", name, list(CONVENTIONS))
    return CONVENTIONS[name]
