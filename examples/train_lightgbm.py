"""Add gainwise to a LightGBM script: log four metrics in every round, and stop on one of them.

Remove lgb.early_stopping from your script, because it stops on any metric.
"""

import lightgbm as lgb

from gainwise.data import simulate
from gainwise.lightgbm import early_stopping, feval

train, valid = simulate(300, seed=1, mean_length=60).split_queries(0.7, 0.3, seed=1)  # replace with your data
train_set = lgb.Dataset(train.features, train.labels, group=train.group)
valid_set = lgb.Dataset(valid.features, valid.labels, group=valid.group, reference=train_set)

curves: dict[str, dict[str, list[float]]] = {}
booster = lgb.train(
    {"objective": "lambdarank", "metric": "None", "learning_rate": 0.1, "verbose": -1},
    train_set,
    num_boost_round=100,
    valid_sets=[valid_set],
    feval=feval(["ndcg_linear@10", "ndcg_exp@10", "map@10", "mrr"]),
    callbacks=[lgb.record_evaluation(curves), early_stopping("ndcg_linear@10", rounds=20)],
)

for name, curve in curves["valid_0"].items():
    print(f"{name:15} is best in round {curve.index(max(curve)) + 1:3} ({max(curve):.4f})")
booster.save_model("ranker.txt")  # ends at the best round of ndcg_linear@10
