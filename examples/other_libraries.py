"""Reproduce the NDCG that another library prints, and see why they differ."""

import lightgbm as lgb
import numpy as np
from sklearn.metrics import ndcg_score

import gainsay as gs

rng = np.random.default_rng(5)
sizes = np.full(50, 20)
labels = rng.choice(5, 1000, p=[0.5, 0.3, 0.1, 0.06, 0.04])
scores = np.round(labels * 0.3 + rng.normal(size=1000), 1)  # rounded: many ties
judgments = gs.Judgments(labels, group=sizes)


def ours(name: str, convention: str) -> float:
    """Return a metric under a library's convention."""
    (value,) = gs.evaluate(gs.parse_metrics(name, convention=convention), judgments, scores).mean.values()
    return value


sklearn = ndcg_score(labels.reshape(50, 20), scores.reshape(50, 20), k=10)
print(f"scikit-learn  ndcg_score       {sklearn:.12f}   ours {ours('ndcg_linear@10', 'sklearn'):.12f}")

small = lgb.Dataset(np.zeros((2, 1)), [0, 1], group=[2], params={"verbose": -1})
booster = lgb.Booster({"objective": "lambdarank", "metric": "ndcg", "eval_at": [10], "verbose": -1}, small)
booster.add_valid(lgb.Dataset(np.zeros((1000, 1)), labels, group=sizes, reference=small, init_score=scores), "valid")
(result,) = booster.eval_valid()
print(f"LightGBM      metric='ndcg'    {result[2]:.12f}   ours {ours('ndcg_exp@10', 'lightgbm'):.12f}")

print("\nThe first of these queries under every convention:\n")
print(gs.explain(labels[:20], scores[:20])[["calls NDCG", "ndcg_linear@10", "ndcg_exp@10", "ties", "empty"]].round(4))
