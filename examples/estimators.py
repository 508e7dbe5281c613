"""The scikit-learn estimators of both libraries, evaluated and stopped on the same metric."""

import lightgbm as lgb
import xgboost as xgb

import gainsay as gs
from gainsay import lightgbm as gs_lightgbm
from gainsay import xgboost as gs_xgboost
from gainsay.data import simulate

METRICS = ["ndcg_linear@10", "ndcg_exp@10", "mrr"]
train, valid, test = simulate(300, seed=2, mean_length=60).split_queries(0.5, 0.25, 0.25, seed=2)

first = lgb.LGBMRanker(n_estimators=50, metric="None", verbose=-1)
first.fit(
    train.features,
    train.labels,
    group=train.group,
    eval_X=valid.features,
    eval_y=valid.labels,
    eval_group=[valid.group],
    eval_metric=gs_lightgbm.eval_metric(METRICS),
    callbacks=[gs_lightgbm.early_stopping("ndcg_exp@10", rounds=10)],
)

second = xgb.XGBRanker(
    n_estimators=50,
    callbacks=[
        gs_xgboost.EvaluateRanking({"valid": (valid.features, valid.labels, valid.qid)}, METRICS),
        gs_xgboost.early_stopping("ndcg_exp@10", rounds=10),
    ],
)
second.fit(train.features, train.labels, qid=train.qid)

for ranker in (first, second):
    result = gs.evaluate(METRICS, test.judgments(), ranker.predict(test.features))
    print(type(ranker).__name__, {name: round(value, 4) for name, value in result.mean.items()})
