"""Train with XGBoost, log both NDCGs, MAP and MRR with full precision, and stop on the one that you name."""

import xgboost as xgb

from gainsay.data import simulate
from gainsay.xgboost import EvaluateRanking, early_stopping

train, valid = simulate(300, seed=1, mean_length=60).split_queries(0.7, 0.3, seed=1)
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
        early_stopping("mrr", dataset="valid", rounds=20),
    ],
)

print(f"mrr is best in round {booster.best_iteration + 1} ({booster.best_score:.4f})")
for name, curve in curves["valid"].items():
    print(f"{name:15} is best in round {curve.index(max(curve)) + 1:3} ({max(curve):.4f})")
