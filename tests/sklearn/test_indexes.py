"""Rows of pandas are matched by their index wherever scores, features and labels meet, never half by it."""

import numpy as np
import pandas as pd
import pytest

from gainsay.data import simulate
from gainsay.sklearn import GroupedLGBMRanker, scorer

DATA = simulate(30, seed=3, mean_length=10)
ROWS = pd.Index([f"row {row}" for row in range(len(DATA.labels))])
X, Y, QID = pd.DataFrame(DATA.features, ROWS).add_prefix("f"), pd.Series(DATA.labels, ROWS), pd.Series(DATA.qid, ROWS)
ANYHOW = np.random.default_rng(0).permutation(len(ROWS))


class First:
    """A model that scores by the first feature."""

    def predict(self, features):
        return np.asarray(features)[:, 0]


@pytest.mark.parametrize("labels", [Y, Y.iloc[ANYHOW]])
@pytest.mark.parametrize("queries", ["keyword", "column"])
def test_a_scorer_matches_features_with_the_labels(labels, queries):
    expected = scorer("ndcg_exp@5")(First(), DATA.features, DATA.labels, qid=DATA.qid)
    if queries == "keyword":
        found = scorer("ndcg_exp@5")(First(), X.iloc[ANYHOW[::-1]], labels, qid=QID)
    else:
        found = scorer("ndcg_exp@5")(First(), X.assign(qid=QID).iloc[ANYHOW[::-1]], labels)
    assert found == pytest.approx(expected, abs=1e-14)


def test_a_scorer_refuses_features_of_other_rows():
    with pytest.raises(ValueError, match="X cannot be matched with the labels"):
        scorer("mrr")(First(), X.reset_index(drop=True), Y, qid=DATA.qid)


@pytest.mark.parametrize("rows", [np.arange(len(ROWS)), ANYHOW], ids=["by query", "scattered"])
def test_init_scores_are_matched_with_the_labels(rows):
    start = pd.Series(np.random.default_rng(1).normal(size=len(ROWS)) * 3, ROWS)
    ranker = GroupedLGBMRanker(n_estimators=5, n_jobs=1, verbose=-1)
    by_place = ranker.fit(
        X.iloc[rows].to_numpy(), DATA.labels[rows], qid=DATA.qid[rows], init_score=start.iloc[rows].to_numpy()
    ).predict(DATA.features)
    by_index = ranker.fit(X.iloc[rows], Y.iloc[rows], qid=QID, init_score=start.iloc[::-1]).predict(X)
    np.testing.assert_array_equal(by_index, by_place)


def test_categorical_features_by_place_are_refused_where_a_column_is_left_out():
    """Place 1 of a frame whose column 0 is qid would be place 1 of the others: another feature."""
    frame = X.assign(f1=DATA.qid % 3)
    frame.insert(0, "qid", QID)
    ranker = GroupedLGBMRanker(n_estimators=2, n_jobs=1, verbose=-1)
    with pytest.raises(ValueError, match=r"categorical_feature=\[2\] counts columns of X, of which 'qid' is left out"):
        ranker.fit(frame, Y, categorical_feature=[2])
    by_name = ranker.fit(frame, Y, categorical_feature=["f1"]).predict(frame)
    by_place = ranker.fit(frame.drop(columns="qid"), Y, qid=QID, categorical_feature=[1]).predict(frame)
    np.testing.assert_array_equal(by_name, by_place)
