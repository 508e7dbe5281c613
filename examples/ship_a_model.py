"""Train candidates, select one on the validation set, confirm it on the test set, and load the model."""

import gainwise as gw
from gainwise.data import simulate

# Replace with gw.RankingData(features, labels, qid=query_ids) for each part.
train, valid, test = simulate(500, seed=7, mean_length=40).split_queries(0.4, 0.2, 0.4, seed=7)

candidates = gw.grid("lgb", "lightgbm", {"num_leaves": [7, 31]}, training_gain=["linear", "exponential"])
candidates += gw.grid("xgb", "xgboost", {"max_depth": 4}, training_gain=["linear", "exponential"])
experiment = gw.Experiment(candidates, train, valid, test, num_boost_round=50, directory="runs/ship")

result = experiment.run(progress=False)
print(result.leaderboard[["ndcg_linear@10", "ndcg_exp@10"]].round(4), end="\n\n")
print(result.verdict.text, end="\n\n")
print("selected on the validation set:", result.selected)

model = result.load_model()  # exactly the compared model
print("first scores:", result.predict(test.features)[:3].round(4), type(model).__name__)
