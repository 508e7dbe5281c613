"""Define a metric, stop LightGBM on it, and compare models with it."""

import lightgbm as lgb
import numpy as np

import gainwise as gw
from gainwise.data import simulate
from gainwise.lightgbm import early_stopping, feval


def missed(labels, scores):
    """Return the number of grades between the best document and the first one."""
    return labels.max() - labels[scores.argmax()]


missed_grades = gw.metric("missed_grades", missed, higher_is_better=False)
train, valid, test = simulate(300, seed=1, mean_length=30).split_queries(0.5, 0.2, 0.3, seed=1)
train_set = lgb.Dataset(train.features, train.labels, group=train.group)
booster = lgb.train(
    {"objective": "lambdarank", "metric": "None", "verbose": -1},
    train_set,
    num_boost_round=60,
    valid_sets=[train_set.create_valid(valid.features, valid.labels, group=valid.group)],
    feval=feval([missed_grades, "ndcg_exp@10"]),
    callbacks=[early_stopping(missed_grades, rounds=10)],
)
random = np.random.default_rng(0).normal(size=len(test.labels))
models = {"model": booster.predict(test.features), "random": random}
metrics = [missed_grades, "ndcg_exp@10"]
print(gw.compare(models, test.judgments(), metrics).leaderboard[["missed_grades", "ndcg_exp@10"]])
