"""A model of XGBoost that does not know its categories predicts from no frame that has some, of whatever library."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xgboost as xgb

import gainsay as gs

LETTERS = "abcdefgh"
QUERIES, LENGTH = 40, 15
BEFORE_3_1 = tuple(map(int, xgb.__version__.split(".")[:2])) < (3, 1)
pytestmark = pytest.mark.skipif(BEFORE_3_1, reason="XGBoost before 3.1 takes codes as they are")

SHOP = np.random.default_rng(5).choice(list(LETTERS), QUERIES * LENGTH)
LABELS = np.isin(SHOP, list("aceg")) * 2


def in_pandas(order: str) -> pd.DataFrame:
    return pd.DataFrame({"shop": pd.Categorical(SHOP, categories=list(order))})


def in_polars(order: str) -> pl.DataFrame:
    return pl.DataFrame({"shop": pl.Series(SHOP.tolist(), dtype=pl.Enum(list(order)))})


def in_arrow(order: str) -> pa.Table:
    codes = pa.array([order.index(shop) for shop in SHOP], type=pa.int32())
    return pa.table({"shop": pa.DictionaryArray.from_arrays(codes, pa.array(list(order)))})


@pytest.fixture(scope="module")
def booster():
    qid = np.repeat(np.arange(QUERIES), LENGTH)
    matrix = xgb.DMatrix(in_pandas(LETTERS), label=LABELS, qid=qid, enable_categorical=True)
    return xgb.train({"objective": "rank:ndcg", "seed": 1, "nthread": 1}, matrix, 8)


@pytest.mark.parametrize("frame", [in_pandas, in_polars, in_arrow])
@pytest.mark.parametrize("order", [LETTERS, LETTERS[::-1]])
def test_a_slice_has_forgotten_them(booster, frame, order):
    judgments = gs.Judgments(LABELS, group=[LENGTH] * QUERIES)
    options = {"metrics": ["ndcg_exp@10"], "features": frame(order), "draws": 200}
    scores = booster.predict(xgb.DMatrix(in_pandas(LETTERS), enable_categorical=True))
    found = gs.compare({"whole": booster, "scores": scores}, judgments, **options).leaderboard["ndcg_exp@10"]
    assert found["whole"] == found["scores"] == pytest.approx(1)
    with pytest.raises(ValueError, match=r"model 'cut': it splits by category, .* slices of models"):
        gs.compare({"cut": booster[:8], "scores": scores}, judgments, **options)
