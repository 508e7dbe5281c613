"""Both NDCG definitions, MAP, MRR and their kin while LightGBM and XGBoost train.

`gainsay.lightgbm` and `gainsay.xgboost` hold the training adapters, `gainsay.data` readers and a generator.
"""

from __future__ import annotations

from .evaluation import Evaluation, Evaluator, evaluate
from .explanation import explain
from .judgments import Judgments
from .metrics import AP, CG, DCG, ERR, NDCG, RBP, RR, Hit, Metric, Precision, Recall, parse_metrics
from .run_evaluation import evaluate_run

__version__ = "0.1.0"

__all__ = [
    "AP",
    "CG",
    "DCG",
    "ERR",
    "NDCG",
    "RBP",
    "RR",
    "Evaluation",
    "Evaluator",
    "Hit",
    "Judgments",
    "Metric",
    "Precision",
    "Recall",
    "evaluate",
    "evaluate_run",
    "explain",
    "parse_metrics",
]
