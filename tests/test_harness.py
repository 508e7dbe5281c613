"""Models on one set of judgments: leaderboard, winners, pairs in conflict, and where scores may come from."""

from __future__ import annotations

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.linear_model import LinearRegression

import gainsay as gs
from gainsay.data import simulate, write_run

METRICS = ["ndcg_linear@5", "ndcg_exp@5", "map"]


@pytest.fixture(scope="module")
def data():
    return simulate(60, seed=2, mean_length=20)


@pytest.fixture(scope="module")
def scores(data):
    rng = np.random.default_rng(1)
    fair, excellent = np.minimum(data.labels, 2), np.maximum(data.labels - 2, 0)
    noise = rng.normal(size=(4, len(data.labels)))
    return {"fair": fair + noise[0], "excellent": 2 * excellent + noise[1], "both": data.labels + noise[2],
            "none": noise[3]}  # fmt: skip


@pytest.fixture(scope="module")
def comparison(data, scores):
    return gs.compare(scores, data.judgments(), METRICS)


def means(data, scores):
    return {model: gs.evaluate(METRICS, data.judgments(), values).mean for model, values in scores.items()}


class TestLeaderboard:
    def test_means_are_those_of_evaluate(self, comparison, data, scores):
        for model, expected in means(data, scores).items():
            found = comparison.leaderboard.loc[model, METRICS].to_dict()
            assert found == pytest.approx(expected, rel=1e-12, abs=0)

    def test_ranks_are_those_of_the_means(self, comparison):
        for metric in METRICS:
            expected = comparison.leaderboard[metric].rank(ascending=False, method="min").astype(int)
            assert comparison.leaderboard[f"{metric} rank"].tolist() == expected.tolist()


class TestWeightsOfMetrics:
    """A metric may ignore query weights, or read them in 32 bits, as the library does whose convention it follows."""

    @pytest.fixture
    def judgments(self, data):
        weight = np.random.default_rng(0).uniform(0, 2, len(data.query_ids))
        return gs.Judgments(data.labels, qid=data.qid, weight=weight)

    @pytest.mark.parametrize("option", ["ignore", "float32", "float32_mean"])
    def test_shared_by_all_metrics(self, judgments, scores, option):
        metrics = [f"ndcg_linear(weights={option})@5", f"ndcg_exp(weights={option})@5"]
        found = gs.compare(scores, judgments, metrics)
        expected = {model: gs.evaluate(metrics, judgments, values).mean for model, values in scores.items()}
        for model, mean in expected.items():
            assert found.leaderboard.loc[model, metrics].to_dict() == pytest.approx(mean, rel=1e-12, abs=0)
        differences = found.attribution("fair", "excellent").difference
        for metric in metrics:
            difference = expected["fair"][metric] - expected["excellent"][metric]
            assert differences[metric] == pytest.approx(difference, rel=1e-12, abs=1e-15)

    def test_ignored_by_some_where_there_are_none(self, data, scores):
        found = gs.compare(scores, data.judgments(), ["map", "map(weights=ignore)"]).leaderboard
        assert found["map"].tolist() == found["map(weights=ignore)"].tolist()


def test_of_models_that_tie_the_first_in_natural_order_wins_everywhere(data, scores):
    found = gs.compare({"m10": scores["both"], "m2": scores["both"].copy()}, data.judgments(), METRICS)
    assert set(found.winners.values()) == set(found.verdict.winners.values()) == {"m2"}
    assert found.leaderboard.index[0] == "m2"


def test_a_name_of_thousands_of_digits(data, scores):
    found = gs.compare({"9" * 5000: scores["both"], "b": scores["fair"]}, data.judgments(), METRICS)
    assert found.verdict.models == ("9" * 5000, "b")


def test_default_metrics_are_both_definitions_and_three_witnesses(data, scores):
    found = gs.compare(scores, data.judgments())
    assert found.metrics == ("ndcg_linear@10", "ndcg_exp@10", "ndcg_jk@10", "map", "mrr")
    assert found.primary == ("ndcg_linear@10", "ndcg_exp@10")


def test_any_two_metrics_may_be_primary(data, scores):
    found = gs.compare(scores, data.judgments(), METRICS, primary=["map", "ndcg_exp@5"])
    assert found.verdict.metrics == ("map", "ndcg_exp@5")


def test_one_metric_has_a_leaderboard_but_no_verdict(data, scores):
    found = gs.compare(scores, data.judgments(), "mrr")
    assert list(found.winners) == ["mrr"]


class TestScoresFromAnywhere:
    def test_a_frame_with_a_column_per_model(self, comparison, data, scores):
        found = gs.compare(pd.DataFrame(scores), data.judgments(), METRICS)
        pd.testing.assert_frame_equal(found.leaderboard, comparison.leaderboard)

    def test_files(self, comparison, data, scores, tmp_path):
        np.save(tmp_path / "fair.npy", scores["fair"])
        pd.DataFrame({"score": scores["both"]}).to_parquet(tmp_path / "both.parquet")
        models = {**scores, "fair": tmp_path / "fair.npy", "both": str(tmp_path / "both.parquet")}
        pd.testing.assert_frame_equal(gs.compare(models, data.judgments(), METRICS).leaderboard, comparison.leaderboard)

    def test_models_that_predict(self, data):
        booster = lgb.train(
            {"objective": "lambdarank", "verbose": -1, "num_threads": 1},
            lgb.Dataset(data.features, data.labels, group=data.group),
            3,
        )
        matrix = xgb.DMatrix(data.features, label=data.labels, qid=data.qid)
        other = xgb.train({"objective": "rank:ndcg", "nthread": 1}, matrix, 3)
        linear = LinearRegression().fit(data.features, data.labels)
        found = gs.compare(
            {"lightgbm": booster, "xgboost": other, "linear": linear}, data.judgments(), METRICS, features=data.features
        )
        expected = {
            "lightgbm": booster.predict(data.features),
            "xgboost": other.predict(matrix),
            "linear": linear.predict(data.features),
        }
        pd.testing.assert_frame_equal(found.leaderboard, gs.compare(expected, data.judgments(), METRICS).leaderboard)


class TestRuns:
    QRELS = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"x": 1, "y": -1}, "q3": {"z": 1}}
    RUNS = {
        "first": {"q1": {"a": 3.0, "new": 2.0}, "q2": {"y": 1.0, "x": 0.5}},
        "second": {"q1": {"c": 1.0, "a": 0.5}, "q2": {"x": 1.0}, "q9": {"a": 1.0}},
    }

    def test_means_are_those_of_evaluate_run(self):
        found = gs.compare_runs(self.RUNS, self.QRELS, METRICS).leaderboard
        for name, run in self.RUNS.items():
            expected = gs.evaluate_run(METRICS, run, self.QRELS, missing="zero").mean
            assert found.loc[name, METRICS].to_dict() == pytest.approx(expected, rel=1e-12, abs=0)

    def test_files(self, tmp_path):
        for name, run in self.RUNS.items():
            write_run(run, tmp_path / name)
        lines = [f"{q} 0 {d} {label}" for q, docs in self.QRELS.items() for d, label in docs.items()]
        (tmp_path / "qrels").write_text("\n".join(lines) + "\n")
        found = gs.compare_runs({name: tmp_path / name for name in self.RUNS}, tmp_path / "qrels", METRICS)
        expected = gs.compare_runs(self.RUNS, self.QRELS, METRICS)
        pd.testing.assert_frame_equal(found.leaderboard, expected.leaderboard)
