"""Ranking metrics as immutable values: a formula over ranked rows, and a name that says everything."""

from .average_precision import AP
from .base import Metric
from .cascade import ERR, RBP
from .conventions import CONVENTIONS
from .dcg import CG, DCG, NDCG
from .function import FunctionMetric, metric
from .graded_average_precision import GAP
from .judged import Judged
from .names import MetricLike, parse_metrics
from .precision import Hit, Precision, Recall
from .r_precision import RPrecision
from .reciprocal_rank import RR
from .safe import plain_name, safe_name

__all__ = [
    "AP",
    "CG",
    "CONVENTIONS",
    "DCG",
    "ERR",
    "GAP",
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
