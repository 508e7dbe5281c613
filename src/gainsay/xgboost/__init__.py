"""Metrics while XGBoost trains, and early stopping on the one that you name.

>>> from gainsay.xgboost import EvaluateRanking, custom_metric, early_stopping
>>> log = custom_metric(["ndcg_linear@10", "ndcg_exp@10"])

`custom_metric` goes to `xgboost.train` and `xgboost.cv`; XGBoost keeps six digits of its values, and `full_precision`
puts back the others. `EvaluateRanking` is a callback that evaluates data sets of its own, and serves `XGBRanker` too.
`Curves` shows metrics while it trains, and `checkpoint` has model and curves at hand where training ends with an error.

In distributed training (`xgboost.dask.train` with `custom_metric`) every worker logs the means over the queries of all
workers, where XGBoost itself would average the workers' means.
"""

from __future__ import annotations

try:
    import xgboost  # noqa: F401
except ImportError as error:  # pragma: no cover - needs an environment without XGBoost
    raise ImportError("gainsay.xgboost needs XGBoost: pip install 'gainsay-ltr[xgboost]'") from error

from .checkpoint import checkpoint
from .curves import Curves
from .evaluate import EvaluateRanking
from .metric import custom_metric, full_precision
from .stopping import early_stopping

__all__ = ["Curves", "EvaluateRanking", "checkpoint", "custom_metric", "early_stopping", "full_precision"]
