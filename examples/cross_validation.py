"""Cross-validation that keeps queries whole, in both libraries.

LightGBM keeps queries together only for ranking objectives; `folds=` makes sure of it. XGBoost does so by itself.
"""

import lightgbm as lgb
import xgboost as xgb
from sklearn.model_selection import GroupKFold

from gainsay import lightgbm as gs_lightgbm
from gainsay import xgboost as gs_xgboost
from gainsay.data import simulate

METRICS = ["ndcg_linear@10", "ndcg_exp@10", "map"]
data = simulate(150, seed=3, mean_length=40)

folds = list(GroupKFold(4).split(data.features, groups=data.qid))
history = lgb.cv(
    {"objective": "lambdarank", "metric": "None", "verbose": -1},
    lgb.Dataset(data.features, data.labels, group=data.group),
    num_boost_round=40,
    folds=folds,
    feval=gs_lightgbm.feval(METRICS),
    callbacks=[gs_lightgbm.early_stopping("ndcg_linear@10", rounds=10)],
)
curve = history["valid ndcg_linear@10-mean"]
print(f"LightGBM: ndcg_linear@10 = {curve[-1]:.4f} in round {len(curve)}")

frame = xgb.cv(
    {"objective": "rank:ndcg", "disable_default_eval_metric": True},
    xgb.DMatrix(data.features, label=data.labels, qid=data.qid),
    num_boost_round=40,
    nfold=4,
    custom_metric=gs_xgboost.custom_metric(METRICS),
    callbacks=[gs_xgboost.early_stopping("ndcg_linear@10", rounds=10, dataset="test")],
)
means = frame["test-ndcg_linear@10-mean"]
print(f"XGBoost:  ndcg_linear@10 = {means.max():.4f} in round {means.argmax() + 1}")
