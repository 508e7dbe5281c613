"""Ranking metrics as immutable values with a canonical name."""

from .base import FunctionMetric, Metric, metric
from .binary import AP, RR, Hit, Judged, Precision, Recall, RPrecision
from .cascade import ERR, RBP
from .conventions import CONVENTIONS
from .dcg import DCG, NDCG
from .names import MetricLike, parse_metrics, plain_name, safe_name

__all__ = [
    "AP",
    "CONVENTIONS",
    "DCG",
    "ERR",
    "NDCG",
    "RBP",
    "RR",
    "FunctionMetric",
    "Hit",
    "Judged",
    "Metric",
    "MetricLike",
    "Precision",
    "RPrecision",
    "Recall",
    "metric",
    "parse_metrics",
    "plain_name",
    "safe_name",
]
