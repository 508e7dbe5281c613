"""A booster cut after some rounds predicts what the whole one predicted then, categories included."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb

from gainsay.xgboost import EvaluateRanking, early_stopping
from gainsay.xgboost.cutting import first_rounds

LETTERS = "abcdefgh"
BEFORE_3_1 = tuple(map(int, xgb.__version__.split(".")[:2])) < (3, 1)


def shops(order: str, queries: int = 40) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Documents of shops, some of which are good; the categories stand in the given order."""
    rng = np.random.default_rng(5)
    shop = rng.choice(list(LETTERS), queries * 15)
    frame = pd.DataFrame({"shop": pd.Categorical(shop, categories=list(order)), "noise": rng.normal(size=len(shop))})
    return frame, np.isin(shop, list("aceg")).astype(float) * 2, np.repeat(np.arange(queries), 15)


@pytest.fixture(params=["gbtree", "dart"])
def booster(request):
    features, labels, qid = shops(LETTERS)
    matrix = xgb.DMatrix(features, label=labels, qid=qid, enable_categorical=True)
    return xgb.train({"objective": "rank:ndcg", "seed": 1, "booster": request.param}, matrix, 20)


@pytest.mark.parametrize("order", [LETTERS, LETTERS[::-1]])
def test_categories_in_any_order(booster, order):
    matrix = xgb.DMatrix(shops(order)[0], enable_categorical=True)
    expected = booster.predict(matrix, iteration_range=(0, 12))
    cut = first_rounds(booster, 12)
    assert np.array_equal(cut.predict(matrix), expected)
    saved = xgb.Booster(model_file=bytearray(cut.save_raw("ubj")))
    assert np.array_equal(saved.predict(matrix), expected)


@pytest.mark.skipif(BEFORE_3_1, reason="XGBoost before 3.1 does not know which categories its codes stand for")
def test_what_is_saved_by_early_stopping_knows_its_categories():
    features, labels, qid = shops(LETTERS)
    train = xgb.DMatrix(features, label=labels, qid=qid, enable_categorical=True)
    kept = xgb.train(
        {"objective": "rank:ndcg", "seed": 1, "disable_default_eval_metric": True},
        train,
        30,
        callbacks=[
            EvaluateRanking({"train": train}, ["mrr"]),
            early_stopping("mrr", dataset="train", rounds=2, save_best=True),
        ],
        verbose_eval=False,
    )
    other = xgb.DMatrix(shops(LETTERS[::-1])[0], enable_categorical=True)
    assert np.array_equal(kept.predict(other), kept.predict(train))
