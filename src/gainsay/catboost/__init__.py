"""A metric that CatBoost evaluates in every round and uses for early stopping.

>>> from gainsay.catboost import eval_metric

``CatBoostRanker(eval_metric=eval_metric("ndcg_exp@10", train, valid), early_stopping_rounds=50)`` stops on the metric
that you name. `train` and `valid` are the Pools of the training.
"""

from __future__ import annotations

try:
    import catboost  # noqa: F401
except ImportError as error:  # pragma: no cover - needs an environment without CatBoost
    raise ImportError("gainsay.catboost needs CatBoost: pip install 'gainsay-ltr[catboost]'") from error

from .evaluate import eval_metric

__all__ = ["eval_metric"]
