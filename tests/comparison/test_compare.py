"""Models on one set of judgments: default metrics, means, ties of models, and sources of scores."""

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb

import gainwise as gw
from gainwise.data import simulate

METRICS = ["ndcg_linear@5", "ndcg_exp@5", "map"]
DATA = simulate(60, seed=2, mean_length=20)
RNG = np.random.default_rng(1)
SCORES = {name: DATA.labels + RNG.normal(size=len(DATA.labels)) * noise for name, noise in (("a", 1), ("b", 2))}


def compare(models=SCORES, metrics=METRICS, **options):
    return gw.compare(models, DATA.judgments(), metrics, **options)


def test_default_metrics():
    comparison = compare(metrics=None)
    assert comparison.metrics == ("ndcg_linear@10", "ndcg_exp@10", "map", "mrr")
    assert comparison.primary == ("ndcg_linear@10", "ndcg_exp@10")


@pytest.mark.parametrize("option", ["query", "ignore", "float32", "float32_mean"])
def test_means_are_those_of_evaluate(option):
    """A metric may ignore query weights, or read them in 32 bits."""
    judgments = gw.Judgments(DATA.labels, qid=DATA.qid, weight=RNG.uniform(0, 2, len(DATA.query_ids)))
    metrics = [str(*gw.parse_metrics(f"{name}(weights={option})@5")) for name in ("ndcg_linear", "ndcg_exp")]
    comparison = gw.compare(SCORES, judgments, metrics)
    means = {model: gw.evaluate(metrics, judgments, scores).mean for model, scores in SCORES.items()}
    for model, expected in means.items():
        assert comparison.leaderboard.loc[model, metrics].to_dict() == pytest.approx(expected, rel=1e-12, abs=0)
    differences = comparison.attribution("a", "b").difference
    for metric in metrics:
        assert differences[metric] == pytest.approx(means["a"][metric] - means["b"][metric], rel=1e-12, abs=1e-15)


def test_the_first_name_in_natural_order_wins_a_tie():
    comparison = compare({"m10": SCORES["a"], "m2": SCORES["a"].copy()})
    assert set(comparison.winners.values()) == set(comparison.verdict.winners.values()) == {"m2"}
    assert comparison.leaderboard.index[0] == "m2"
    assert compare({"9" * 5000: SCORES["a"], "b": SCORES["b"]}).verdict.models == ("9" * 5000, "b")


def test_files_and_frames_of_scores(tmp_path):
    np.save(tmp_path / "a.npy", SCORES["a"])
    pd.DataFrame({"score": SCORES["b"]}).to_parquet(tmp_path / "b.parquet")
    for models in (pd.DataFrame(SCORES), {"a": tmp_path / "a.npy", "b": str(tmp_path / "b.parquet")}):
        pd.testing.assert_frame_equal(compare(models).leaderboard, compare().leaderboard)


def test_models_that_predict():
    data = lgb.Dataset(DATA.features, DATA.labels, group=DATA.group)
    booster = lgb.train({"objective": "lambdarank", "verbose": -1, "num_threads": 1}, data, 3)
    matrix = xgb.DMatrix(DATA.features, label=DATA.labels, qid=DATA.qid)
    other = xgb.train({"objective": "rank:ndcg", "nthread": 1}, matrix, 3)
    comparison = compare({"lightgbm": booster, "xgboost": other}, features=DATA.features)
    scores = {"lightgbm": booster.predict(DATA.features), "xgboost": other.predict(matrix)}
    pd.testing.assert_frame_equal(comparison.leaderboard, compare(scores).leaderboard)


def test_means_of_runs_are_those_of_evaluate_run():
    qrels = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"x": 1, "y": -1}, "q3": {"z": 1}}
    runs = {
        "first": {"q1": {"a": 3.0, "new": 2.0}, "q2": {"y": 1.0, "x": 0.5}},
        "second": {"q1": {"c": 1.0, "a": 0.5}, "q2": {"x": 1.0}, "q9": {"a": 1.0}},
    }
    leaderboard = gw.compare_runs(runs, qrels, METRICS).leaderboard
    for name, run in runs.items():
        expected = gw.evaluate_run(METRICS, run, qrels, missing="zero").mean
        assert leaderboard.loc[name, METRICS].to_dict() == pytest.approx(expected, rel=1e-12, abs=0)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_tables_have_one_column_per_model_or_segment(kind):
    library = pytest.importorskip(kind)
    create = library.table if kind == "pyarrow" else library.DataFrame
    table = create({"good": [3.0, 1.0, 2.0, 0.5, 0.1], "poor": [0.0, 1.0, 0.5, 2.0, 1.0]})
    judgments = gw.Judgments([2, 0, 1, 0, 1], group=[3, 2])
    comparison = gw.compare(table, judgments, ["mrr", "map"], segments=create({"device": ["phone", "tablet"]}))
    assert comparison.leaderboard["mrr"].to_dict() == {"good": (1 + 1 / 2) / 2, "poor": 1 / 2}
    assert comparison.segments["phone"].queries == comparison.segments["tablet"].queries == 1
