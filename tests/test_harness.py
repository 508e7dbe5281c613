"""Models on one set of judgments: leaderboard, winners, pairs in conflict, and where scores may come from."""

from __future__ import annotations

import itertools

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from sklearn.linear_model import LinearRegression

import gainsay as gs
from gainsay.comparison.comparison import Comparison
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

    def test_best_under_the_first_metric_comes_first(self, comparison):
        assert comparison.leaderboard["ndcg_linear@5 rank"].tolist() == [1, 2, 3, 4]

    def test_means_lie_in_their_intervals(self, comparison):
        board = comparison.leaderboard
        for metric in METRICS:
            assert (board[f"{metric} lower"] <= board[metric]).all()
            assert (board[metric] <= board[f"{metric} upper"]).all()

    def test_query_weights_count(self, data, scores):
        weight = np.random.default_rng(0).uniform(0, 2, len(data.query_ids))
        judgments = gs.Judgments(data.labels, qid=data.qid, weight=weight)
        found = gs.compare(scores, judgments, METRICS).leaderboard
        for model, values in scores.items():
            expected = gs.evaluate(METRICS, judgments, values).mean
            assert found.loc[model, METRICS].to_dict() == pytest.approx(expected, rel=1e-12, abs=0)


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

    def test_ignored_by_some_is_refused(self, judgments, scores):
        with pytest.raises(ValueError, match=r"map\(weights=ignore\) ignores the weights .* ndcg_exp@5 does not"):
            gs.compare(scores, judgments, ["ndcg_exp@5", "map(weights=ignore)"])

    def test_ignored_by_one_that_is_asked_for_later_is_refused(self, judgments, scores):
        found = gs.compare(scores, judgments, ["ndcg_linear@5", "ndcg_exp@5"])
        other = "ndcg_linear(weights=ignore)@5"
        with pytest.raises(ValueError, match=r"weights=ignore\)@5 ignores the weights .* ndcg_linear@5 does not"):
            found.attribution("fair", "both", other)
        with pytest.raises(ValueError, match=r"weights=ignore\)@5 ignores the weights .* ndcg_linear@5 does not"):
            found.gains(metric=other)

    def test_ignored_by_some_does_not_matter_without_weights(self, data, scores):
        found = gs.compare(scores, data.judgments(), ["map", "map(weights=ignore)"]).leaderboard
        assert found["map"].tolist() == found["map(weights=ignore)"].tolist()


def test_winners_have_the_highest_mean(comparison, data, scores):
    table = means(data, scores)
    for metric, winner in comparison.winners.items():
        assert table[winner][metric] == max(row[metric] for row in table.values())


def test_of_models_that_tie_the_first_in_natural_order_wins_everywhere(data, scores):
    found = gs.compare({"m10": scores["both"], "m2": scores["both"].copy()}, data.judgments(), METRICS)
    assert set(found.winners.values()) == set(found.verdict.winners.values()) == {"m2"}
    assert found.leaderboard.index[0] == "m2"


def test_a_name_of_thousands_of_digits(data, scores):
    found = gs.compare({"9" * 5000: scores["both"], "b": scores["fair"]}, data.judgments(), METRICS)
    assert found.verdict.models == ("9" * 5000, "b")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rope": -1}, "rope must be a finite difference"),
        ({"alpha": 3}, "alpha must lie between 0 and 0.5"),
        ({"draws": 1}, "draws must be at least"),
        ({"seed": -3}, "seed must be a whole number of at least 0"),
    ],
)
@pytest.mark.parametrize("metrics", [METRICS, "mrr"])
def test_settings_are_checked_at_once(data, scores, options, message, metrics):
    with pytest.raises(ValueError, match=message):
        gs.compare(scores, data.judgments(), metrics, **options)


@pytest.mark.parametrize("name", ["", " "])
def test_a_blank_name(data, scores, name):
    with pytest.raises(ValueError, match="the name of a model is blank"):
        gs.compare({name: scores["both"], "b": scores["fair"]}, data.judgments())


def test_two_columns_of_one_name(data, scores):
    frame = pd.DataFrame({"a": scores["both"], "b": scores["fair"]}).set_axis(["a", "a"], axis=1)
    with pytest.raises(ValueError, match="models has two columns named 'a'"):
        gs.compare(frame, data.judgments())


def test_what_is_neither_scores_nor_a_model(data):
    with pytest.raises(TypeError, match=r"model 'a': it is neither scores nor a path nor a model .* but object"):
        gs.compare({"a": object()}, data.judgments())


def test_conflicts_are_the_pairs_whose_order_differs(data):
    rng = np.random.default_rng(5)
    models = {f"m{at}": rng.normal(size=len(data.labels)) for at in range(8)}
    table = means(data, models)
    expected = {
        frozenset(pair)
        for pair in itertools.combinations(models, 2)
        if np.prod([table[pair[0]][metric] - table[pair[1]][metric] for metric in METRICS[:2]]) < 0
    }
    found = gs.compare(models, data.judgments(), METRICS).conflicts
    assert {frozenset(pair) for pair in zip(found["model_x"], found["model_y"], strict=True)} == expected
    assert expected


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
    with pytest.raises(ValueError, match="a disagreement needs two metrics, and there is one: mrr"):
        _ = found.verdict


def test_no_query_left():
    with pytest.raises(ValueError, match=r"mrr\(empty=skip\) has a value on no query: it skips all"):
        gs.compare({"a": [1, 2]}, gs.Judgments([0, 0], group=[2]), ["mrr(empty=skip)"])


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


@pytest.mark.parametrize(
    ("models", "error", "message"),
    [
        ({}, ValueError, r"^models is empty: give at least one, as {'name': scores}$"),
        ({"a": [1.0, 2.0]}, ValueError, "model 'a' has 2 scores, but there are 3 documents"),
        ({"a": [1.0, 2.0, float("nan")]}, ValueError, r"model 'a': scores holds 1 NaN among 3.*query 1"),
        ({"a": "no/such/file.npy"}, OSError, "model 'a'"),
        ({"a": LinearRegression()}, ValueError, "model 'a': it is a model, .* pass features="),
        ({"a": ["x", "y", "z"]}, ValueError, "model 'a, run 1': x: cannot tell the format from the suffix"),
        ({"a": [1.0, "y", 3.0]}, TypeError, "model 'a'"),
        ({1: [1.0, 2.0, 3.0]}, TypeError, "names of models must be strings, got 1"),
        ([1.0, 2.0, 3.0], TypeError, "models must be a mapping"),
    ],
)
def test_bad_models(models, error, message):
    with pytest.raises(error, match=message):
        gs.compare(models, gs.Judgments([1, 0, 1], group=[2, 1]), METRICS)


@pytest.mark.parametrize(
    ("primary", "message"),
    [
        (["map"], "primary must name two different metrics: got"),
        (["map", "mrr"], "primary names 'mrr', which is not among"),
    ],
)
def test_bad_primary(data, scores, primary, message):
    with pytest.raises(ValueError, match=message):
        gs.compare(scores, data.judgments(), METRICS, primary=primary)


def test_from_values_alone():
    found = Comparison({"m1": np.array([[1.0, 0.0], [0.5, 0.5]]), "m2": np.array([[0.0, 1.0], [0.5, 0.5]])}, ["a", "b"])
    assert found.winners == {"m1": "a", "m2": "b"}
    assert len(found.conflicts) == 1


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

    def test_the_run_is_named_in_errors(self):
        with pytest.raises(ValueError, match="run 'first' has 1 NaN, the first for document 'a' of query 'q1'"):
            gs.compare_runs({"first": {"q1": {"a": float("nan")}}}, self.QRELS)
