"""Ranking metrics during training with XGBoost, and early stopping on the metric that you name.

>>> from gainwise.xgboost import EvaluateRanking, custom_metric, early_stopping
>>> log = custom_metric(["ndcg_linear@10", "ndcg_exp@10"])

Pass `custom_metric` to `xgboost.train` or `xgboost.cv`. XGBoost rounds its values to six digits, and `full_precision`
restores them. `EvaluateRanking` is a callback that evaluates the datasets you pass to it, and works in `XGBRanker`,
too. `Curves` shows metrics during training.

In distributed training (`xgboost.dask.train` with `custom_metric`), every worker logs the means over the queries of all
workers. XGBoost itself would average the means of the workers.
"""

from __future__ import annotations

try:
    import xgboost  # noqa: F401
except ImportError as error:  # pragma: no cover - needs an environment without XGBoost
    raise ImportError("gainwise.xgboost requires XGBoost. Run: pip install xgboost") from error

from .callbacks import Curves, early_stopping
from .evaluate import EvaluateRanking, custom_metric, full_precision

__all__ = ["Curves", "EvaluateRanking", "custom_metric", "early_stopping", "full_precision"]
