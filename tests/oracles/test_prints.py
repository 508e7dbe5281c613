"""`Convention.prints` contains the names that the libraries print."""

from __future__ import annotations

import re

import numpy as np
import pytest

import gainwise as gw
from gainwise.metrics.conventions import CONVENTIONS

K = 5
SIZES = [7, 4, 9]
RNG = np.random.default_rng(3)
LABELS = np.concatenate([[4, *RNG.choice(4, size - 1)] for size in SIZES])  # All queries have a relevant document.
SCORES = RNG.permutation(len(LABELS)) / 32.0  # no ties, even in 32 bits


def of_lightgbm(names):
    lgb = pytest.importorskip("lightgbm")
    quiet = {"verbose": -1, "num_threads": 1}
    data = lgb.Dataset(np.zeros((len(LABELS), 1)), LABELS, group=SIZES, init_score=SCORES, params=quiet)
    options = {"objective": "lambdarank", "metric": [name.partition("@")[0] for name in names], "eval_at": [K], **quiet}
    found = {name: value for _, name, value, _ in lgb.Booster(options, data).eval_train()}
    return [found[name] for name in names]


def of_xgboost(names):
    xgb = pytest.importorskip("xgboost")
    values = []
    for name in names:
        data = xgb.DMatrix(np.zeros((len(LABELS), 1)), LABELS if name.startswith("ndcg") else LABELS > 0, nthread=1)
        data.set_group(SIZES)
        data.set_base_margin(SCORES.astype(np.float32))
        metric, *more = name.split(", ")
        if more and xgb.__version__ < "3":
            pytest.skip("the built-in ndcg of XGBoost 2 does not know ndcg_exp_gain")
        options = dict(option.split("=") for option in more)
        booster = xgb.Booster({"objective": "rank:ndcg", "eval_metric": [metric], "nthread": 1, **options}, [data])
        values.append(float(re.search(r"data-[^:]+:(\S+)", booster.eval_set([(data, "data")]))[1]))
    return values


def of_catboost(names):
    utils = pytest.importorskip("catboost.utils")
    query = np.repeat(np.arange(len(SIZES)), SIZES)
    return [utils.eval_metric(LABELS, SCORES, name, group_id=query)[0] for name in names]


def of_sklearn(names):
    ranking = pytest.importorskip("sklearn.metrics")
    cuts = np.cumsum(SIZES)[:-1]
    queries = list(zip(np.split(LABELS, cuts), np.split(SCORES, cuts), strict=True))
    return [
        np.mean([getattr(ranking, name.partition("(")[0])([labels], [scores], k=K) for labels, scores in queries])
        for name in names
    ]


def of_trec_eval(names):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    ends = np.cumsum(SIZES)
    rows = {f"q{at}": range(end - size, end) for at, (size, end) in enumerate(zip(SIZES, ends, strict=True))}
    qrels, run = (
        {query: {f"d{row:02}": column[row] for row in own} for query, own in rows.items()}
        for column in (LABELS.tolist(), SCORES.tolist())
    )
    values = pytrec_eval.RelevanceEvaluator(qrels, {re.sub(r"_(\d+)$", r".\1", name) for name in names}).evaluate(run)
    return [np.mean([found[name] for found in values.values()]) for name in names]


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost", "sklearn", "trec_eval"])
def test_the_library_prints_that_number_by_that_name(library):
    prints = {ours.format(k=K): theirs.format(k=K) for ours, theirs in CONVENTIONS[library].prints.items()}
    expected = globals()[f"of_{library}"](tuple(prints.values()))
    metrics = gw.parse_metrics(list(prints), convention=library)
    found = list(gw.evaluate(metrics, gw.Judgments(LABELS, group=SIZES), SCORES).mean.values())
    assert found == pytest.approx(expected, rel=1e-9)
