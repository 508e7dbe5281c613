"""Categories of XGBoost models: a cut booster has them, and a slice without them does not predict from a frame."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xgboost as xgb

import gainwise as gw
from gainwise.xgboost import EvaluateRanking, early_stopping
from gainwise.xgboost.callbacks import cut_booster

LETTERS = "abcdefgh"
QUERIES, LENGTH = 40, 15
SHOP = np.random.default_rng(5).choice(list(LETTERS), QUERIES * LENGTH)
NOISE = np.random.default_rng(6).normal(size=len(SHOP))
LABELS = np.isin(SHOP, list("aceg")) * 2
PARAMS = {"objective": "rank:ndcg", "seed": 1, "nthread": 1, "disable_default_eval_metric": True}
VERSION = tuple(map(int, xgb.__version__.split(".")[:2]))
since_3_1 = pytest.mark.skipif(VERSION < (3, 1), reason="older versions take codes as they are")


def in_pandas(order=LETTERS):
    return pd.DataFrame({"shop": pd.Categorical(SHOP, categories=list(order)), "noise": NOISE})


def in_polars(order):
    return pl.DataFrame({"shop": pl.Series(SHOP.tolist(), dtype=pl.Enum(list(order))), "noise": NOISE})


def in_arrow(order):
    codes = pa.array([order.index(shop) for shop in SHOP], type=pa.int32())
    return pa.table({"shop": pa.DictionaryArray.from_arrays(codes, pa.array(list(order))), "noise": NOISE})


def matrix(order=LETTERS):
    qid = np.repeat(np.arange(QUERIES), LENGTH)
    return xgb.DMatrix(in_pandas(order), label=LABELS, qid=qid, enable_categorical=True, nthread=1)


@pytest.mark.parametrize("order", [LETTERS, LETTERS[::-1]])
@pytest.mark.parametrize("kind", ["gbtree", "dart"])
def test_a_cut_booster_predicts_what_the_whole_one_did(kind, order):
    booster = xgb.train({**PARAMS, "booster": kind}, matrix(), 20)
    expected = booster.predict(matrix(order), iteration_range=(0, 12))
    cut = cut_booster(booster, 12)
    saved = xgb.Booster(model_file=bytearray(cut.save_raw("ubj")))
    for model in (cut, saved):
        assert np.array_equal(model.predict(matrix(order)), expected)


@since_3_1
def test_early_stopping_keeps_them():
    callbacks = [EvaluateRanking({"t": matrix()}, ["mrr"]), early_stopping("mrr", 2, save_best=True, verbose=False)]
    kept = xgb.train(PARAMS, matrix(), 30, callbacks=callbacks, verbose_eval=False)
    assert np.array_equal(kept.predict(matrix(LETTERS[::-1])), kept.predict(matrix()))


@since_3_1
@pytest.mark.parametrize("frame", [in_pandas, in_polars, in_arrow])
@pytest.mark.parametrize("order", [LETTERS, LETTERS[::-1]])
def test_a_slice_has_them_since_3_4_or_is_rejected(frame, order):
    booster, judgments = xgb.train(PARAMS, matrix(), 8), gw.Judgments(LABELS, group=[LENGTH] * QUERIES)
    options = {"metrics": ["ndcg_exp@10"], "features": frame(order), "draws": 200}
    scores = booster.predict(matrix())
    values = gw.compare({"whole": booster, "scores": scores}, judgments, **options).leaderboard["ndcg_exp@10"]
    assert values["whole"] == values["scores"] == pytest.approx(1)
    cut = {"cut": booster[:8], "scores": scores}
    if VERSION >= (3, 4):
        assert set(gw.compare(cut, judgments, **options).leaderboard["ndcg_exp@10"]) == {values["scores"]}
    else:
        with pytest.raises(ValueError, match="model 'cut'"):
            gw.compare(cut, judgments, **options)
