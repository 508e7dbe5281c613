"""Ranking metrics as immutable values: a formula over ranked rows, and a name that says everything."""

from .average_precision import AP
from .base import Metric
from .cascade import ERR, RBP
from .conventions import CONVENTIONS
from .dcg import CG, DCG, NDCG
from .judged import Judged
from .names import MetricLike, parse_metrics
from .precision import Hit, Precision, Recall
from .reciprocal_rank import RR

__all__ = [
    "AP",
    "CG",
    "CONVENTIONS",
    "DCG",
    "ERR",
    "NDCG",
    "RBP",
    "RR",
    "Hit",
    "Judged",
    "Metric",
    "MetricLike",
    "Precision",
    "Recall",
    "parse_metrics",
]
