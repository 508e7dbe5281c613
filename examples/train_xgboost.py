"""Add gainwise to an XGBoost script: log four metrics in every round, and stop on one of them."""

import xgboost as xgb

from gainwise.data import simulate
from gainwise.xgboost import EvaluateRanking, early_stopping

train, valid = simulate(300, seed=1, mean_length=60).split_queries(0.7, 0.3, seed=1)  # replace with your data
dtrain = xgb.DMatrix(train.features, label=train.labels, qid=train.qid)
dvalid = xgb.DMatrix(valid.features, label=valid.labels, qid=valid.qid)

curves: dict[str, dict[str, list[float]]] = {}
booster = xgb.train(
    {"objective": "rank:ndcg", "ndcg_exp_gain": False, "disable_default_eval_metric": True, "eta": 0.1},
    dtrain,
    num_boost_round=100,
    evals_result=curves,
    verbose_eval=20,
    callbacks=[
        EvaluateRanking({"valid": dvalid}, ["ndcg_linear@10", "ndcg_exp@10", "map@10", "mrr"]),
        early_stopping("mrr", dataset="valid", rounds=20, save_best=True),
    ],
)

for name, curve in curves["valid"].items():
    print(f"{name:15} is best in round {curve.index(max(curve)) + 1:3} ({max(curve):.4f})")
booster.save_model("ranker.ubj")  # ends at the best round of mrr
