"""Find out why another library prints another NDCG, and reproduce its number."""

import numpy as np
from sklearn.metrics import ndcg_score

import gainwise as gw

rng = np.random.default_rng(5)
labels = rng.choice(5, (50, 20), p=[0.5, 0.3, 0.1, 0.06, 0.04])
scores = np.round(0.3 * labels + rng.normal(size=(50, 20)), 1)  # rounded scores have many ties
judgments = gw.Judgments(labels.ravel(), group=[20] * 50)

print("scikit-learn prints", ndcg_score(labels, scores, k=10))
for library in ("sklearn", "lightgbm", "xgboost", "catboost", "trec_eval"):
    (metric,) = gw.parse_metrics("ndcg@10", convention=library)
    (value,) = gw.evaluate([metric], judgments, scores.ravel()).mean.values()
    print(f"{library:12} {value:.4f}  {metric}")

print("\nThe first query by the convention of each library:\n")
table = gw.explain(labels[0], scores[0])
print(table[["calls NDCG", "ndcg_linear@10", "ndcg_exp@10", "ties", "empty"]].round(4))
