"""Split a click log by time, stop training on revenue, and compare revenue, clicks and grades."""

import lightgbm as lgb
import numpy as np

import gainwise as gw
from gainwise.data import simulate
from gainwise.lightgbm import early_stopping, feval

# Replace with gainwise.data.from_frame(log, label=…, query=…, columns=["revenue", "clicked"], keys=["day"]).
data, rng = simulate(800, seed=1, mean_length=20), np.random.default_rng(1)
clicked = rng.random(len(data.labels)) < 0.05 + 0.1 * data.labels
columns = {"clicked": clicked, "revenue": clicked * rng.lognormal(3, 0.6, len(data.labels)).round(2)}
days = {"day": np.arange(800) // 8}
data = gw.RankingData(data.features, data.labels, qid=data.qid, columns=columns, keys=days)
train, valid, test = data.split_queries(by="day", at=[50, 70])

train_set = lgb.Dataset(train.features, train.labels, group=train.group)
valid_set = lgb.Dataset(valid.features, valid.labels, group=valid.group, reference=train_set)
metrics = ["ndcg_linear@10", "cg(column=revenue,name=revenue)@10", "mrr(column=clicked)"]
log = feval(metrics, columns={valid_set: valid.columns})
stop = early_stopping("revenue@10", rounds=10, verbose=False)
params = {"objective": "lambdarank", "metric": "None", "verbose": -1}
model = lgb.train(params, train_set, 50, valid_sets=[valid_set], feval=log, callbacks=[stop])

models = {"first feature": test.features[:, 0], "model": model}
comparison = gw.compare(models, test.judgments(), metrics, features=test.features)
print(comparison.leaderboard[["ndcg_linear@10", "revenue@10", "mrr(column=clicked)"]])
