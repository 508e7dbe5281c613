"""Metrics while LightGBM trains, and early stopping on the one that you name.

>>> from gainsay.lightgbm import early_stopping, feval
>>> log = feval(["ndcg_linear@10", "ndcg_exp@10", "map@10", "mrr"])
>>> stop = early_stopping("ndcg_exp@10", rounds=50)

Both go to `lightgbm.train` or `lightgbm.cv`, with `params["metric"] = "None"` where the built-in metrics are unwanted.
`Curves` shows both while it trains, and `checkpoint` has model and curves at hand where training ends with an error.
"""

from __future__ import annotations

try:
    import lightgbm  # noqa: F401
except ImportError as error:  # pragma: no cover - needs an environment without LightGBM
    raise ImportError("gainsay.lightgbm needs LightGBM: pip install 'gainsay-ltr[lightgbm]'") from error

from .checkpoint import checkpoint
from .curves import Curves
from .evaluate import eval_metric, feval
from .stopping import early_stopping

__all__ = ["Curves", "checkpoint", "early_stopping", "eval_metric", "feval"]
