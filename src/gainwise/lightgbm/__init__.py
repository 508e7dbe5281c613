"""Ranking metrics during training with LightGBM, and early stopping on the metric that you name.

>>> from gainwise.lightgbm import early_stopping, feval
>>> log = feval(["ndcg_linear@10", "ndcg_exp@10", "map@10", "mrr"])
>>> stop = early_stopping("ndcg_exp@10", rounds=50)

Pass both to `lightgbm.train` or `lightgbm.cv`, with ``params["metric"] = "None"`` to disable the built-in metrics.
`Curves` shows metrics during training.
"""

from __future__ import annotations

try:
    import lightgbm  # noqa: F401
except ImportError as error:  # pragma: no cover - needs an environment without LightGBM
    raise ImportError("gainwise.lightgbm requires LightGBM. Run: pip install lightgbm") from error

from .callbacks import Curves, early_stopping
from .feval import eval_metric, feval

__all__ = ["Curves", "early_stopping", "eval_metric", "feval"]
