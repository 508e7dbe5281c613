"""LightGBM's and XGBoost's own evaluation of scores that they already hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from panel import CUTOFFS

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from numpy.typing import NDArray
    from shapes import Data


def lightgbm_builtin(data: Data, scores: NDArray[Any], metric: str, threads: int) -> Callable[[], list[float]]:
    """Return a call of LightGBM's own evaluation of these scores."""
    import lightgbm as lgb

    params = {"objective": "lambdarank", "metric": metric, "eval_at": CUTOFFS, "verbose": -1, "num_threads": threads}
    small = lgb.Dataset(np.zeros((2, 1)), [0, 1], group=[2], params={"verbose": -1})
    booster = lgb.Booster(params, small)
    features = np.zeros((len(data.labels), 1))
    valid = lgb.Dataset(features, data.labels, group=data.sizes, reference=small, init_score=scores)
    booster.add_valid(valid, "valid")
    return lambda: [value for _, _, value, _ in booster.eval_valid()]


def xgboost_builtin(data: Data, scores: NDArray[Any], metrics: list[str], threads: int) -> Callable[[], list[float]]:
    """Return a call of XGBoost's own evaluation of these scores; the first one caches the predictions."""
    import xgboost as xgb

    matrix = xgb.DMatrix(np.zeros((len(data.labels), 1)), label=data.labels, base_margin=scores, nthread=threads)
    matrix.set_group(data.sizes)
    booster = xgb.Booster({"objective": "rank:ndcg", "eval_metric": metrics, "nthread": threads}, cache=[matrix])
    return lambda: [float(field.rpartition(":")[2]) for field in booster.eval(matrix).split("\t")[1:]]
