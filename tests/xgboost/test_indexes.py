"""`EvaluateRanking` matches X, as everything else, with the labels by the index of pandas."""

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb

import gainsay as gs
from gainsay.data import simulate
from gainsay.xgboost import EvaluateRanking

DATA = simulate(30, seed=3, mean_length=10)
ROWS = pd.Index([f"row {row}" for row in range(len(DATA.labels))])
X, Y, QID = pd.DataFrame(DATA.features, ROWS).add_prefix("f"), pd.Series(DATA.labels, ROWS), pd.Series(DATA.qid, ROWS)
ANYHOW = np.random.default_rng(0).permutation(len(ROWS))


@pytest.mark.parametrize("features", [X, X.iloc[ANYHOW]], ids=["as the labels", "anyhow"])
def test_rows_in_any_order_have_the_same_values(features):
    callback = EvaluateRanking({"rows": (features, Y, QID.iloc[::-1])}, ["ndcg_exp@5"])
    ranker = xgb.XGBRanker(n_estimators=2, n_jobs=1, callbacks=[callback]).fit(X, Y, qid=QID, verbose=False)
    expected = gs.evaluate("ndcg_exp@5", gs.Judgments(DATA.labels, qid=DATA.qid), ranker.predict(X)).mean
    assert ranker.evals_result()["rows"]["ndcg_exp@5"][-1] == pytest.approx(expected["ndcg_exp@5"], abs=1e-14)


def test_features_of_other_rows_are_refused():
    with pytest.raises(ValueError, match="data set 'rows': X cannot be matched with the labels"):
        EvaluateRanking({"rows": (X.reset_index(drop=True), Y, QID)}, "mrr")
