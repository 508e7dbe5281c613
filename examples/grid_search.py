"""Search hyperparameters with scikit-learn. GroupKFold keeps each query in one fold."""

import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold

from gainwise.data import simulate
from gainwise.sklearn import GroupedLGBMRanker, scorer

sklearn.set_config(enable_metadata_routing=True)
data = simulate(200, seed=2, mean_length=40)  # replace with your features, labels and query ids

search = GridSearchCV(
    GroupedLGBMRanker(n_estimators=40, n_jobs=1, verbose=-1),
    {"num_leaves": [7, 31], "label_gain": ["0,1,2,3,4", "0,1,3,7,15"]},
    scoring=scorer(["ndcg_linear@10", "ndcg_exp@10"]),
    refit="ndcg_exp@10",
    cv=GroupKFold(3).set_split_request(groups="qid"),
)
search.fit(data.features, data.labels, qid=data.qid)
print("best parameters:", search.best_params_)
for metric in ("ndcg_linear@10", "ndcg_exp@10"):
    print(metric, search.cv_results_[f"mean_test_{metric}"].round(4))
