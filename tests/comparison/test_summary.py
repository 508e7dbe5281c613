"""What a comparison says of itself, and the defaults that it shares with the verdict."""

from __future__ import annotations

import inspect
import json

import numpy as np
import pytest

import gainsay as gs
from gainsay.comparison import Verdict
from gainsay.harness import Comparison


@pytest.fixture(scope="module")
def judgments():
    rng = np.random.default_rng(0)
    return gs.Judgments(rng.integers(0, 4, 600), group=[6] * 100)


@pytest.fixture(scope="module")
def models(judgments):
    rng = np.random.default_rng(1)
    return {name: rng.random(judgments.documents) for name in ("a", "b", "c")}


def test_repr_counts_models_and_queries_and_names_metrics(judgments, models):
    found = gs.compare(models, judgments, ["ndcg_linear@5", "ndcg_exp@5", "mrr"])
    assert repr(found) == f"Comparison(3 models, {found.query_count} queries, metrics ndcg_linear@5, ndcg_exp@5, mrr)"


def test_as_a_dict_two_metrics_have_pairs_and_a_verdict(judgments, models):
    found = gs.compare(models, judgments, ["ndcg_linear@5", "ndcg_exp@5"])
    content = found.to_dict()
    assert list(content) == [
        "models",
        "metrics",
        "queries",
        "metric_queries",
        "iterations",
        "leaderboard",
        "winners",
        "holes",
        "notes",
        "pairs",
        "verdict",
    ]
    assert content["models"] == sorted(models)
    assert content["metrics"] == ["ndcg_linear@5", "ndcg_exp@5"]
    assert content["queries"] == found.query_count
    assert content["winners"] == found.winners
    assert content["verdict"] == found.verdict.to_dict()
    assert {(pair["model_x"], pair["model_y"]) for pair in content["pairs"]} == {("a", "b"), ("a", "c"), ("b", "c")}
    expected = gs.evaluate(["ndcg_linear@5"], judgments, models["b"]).mean["ndcg_linear@5"]
    assert content["leaderboard"]["b"]["ndcg_linear@5"] == pytest.approx(expected, rel=1e-12)


def test_as_a_dict_one_metric_has_neither(judgments, models):
    found = gs.compare(models, judgments, "mrr").to_dict()
    expected = ["models", "metrics", "queries", "metric_queries", "iterations", "leaderboard", "winners"]
    assert list(found) == [*expected, "holes", "notes"]


def test_defaults_are_those_of_the_verdict():
    expected = {"alpha": 0.05, "rope": 0.0, "draws": 10_000, "seed": 0}
    for called in (gs.compare, gs.compare_runs, Comparison, Verdict.from_values):
        parameters = inspect.signature(called).parameters
        assert {name: parameters[name].default for name in expected if name in parameters} == {
            name: value for name, value in expected.items() if name in parameters
        }
    assert Comparison({"x": np.zeros((40, 2)), "y": np.zeros((40, 2))}, ["a", "b"]).verdict.draws == 10_000


def test_json_reads_back_as_what_was_written(judgments, models, tmp_path):
    found = gs.compare(models, judgments, ["ndcg_linear@5", "ndcg_exp@5"])
    text = found.to_json(tmp_path / "report.json", queries=3)
    assert json.loads((tmp_path / "report.json").read_text()) == json.loads(text)
    assert json.loads(text)["verdict"]["text"] == found.verdict.text
    assert len(json.loads(text)["contradictions"]["queries"]) == 3
    assert len(json.loads(found.to_json())["contradictions"]["queries"]) == min(
        50, json.loads(text)["contradictions"]["count"]
    )


def test_options_reach_the_comparison_of_runs():
    rng = np.random.default_rng(0)
    qrels = {f"q{at}": {"a": 2, "b": 0, "c": 1} for at in range(40)}
    runs = {name: {query: dict(zip("abc", rng.random(3), strict=True)) for query in qrels} for name in ("one", "two")}
    options = {"primary": ["mrr", "ndcg_exp@2"], "alpha": 0.2, "rope": 0.125, "draws": 321, "seed": 9}
    found = gs.compare_runs(runs, qrels, ["ndcg_linear@2", "ndcg_exp@2", "mrr"], **options).verdict
    assert (found.metrics, found.alpha, found.rope, found.draws, found.seed) == (
        ("mrr", "ndcg_exp@2"),
        0.2,
        0.125,
        321,
        9,
    )


def test_bounds_that_are_infinite_are_none_in_the_dict():
    values = {metric: np.random.default_rng(seed).random((6, 2)) for seed, metric in enumerate("xy")}
    found = Comparison(values, ["a", "b"], segments=["one"] + ["rest"] * 5, draws=2000).to_dict()
    single = Comparison({metric: table[:1] for metric, table in values.items()}, ["a", "b"]).to_dict()
    for content in (found, single):
        json.dumps(content, allow_nan=False)
    assert found["segments"]["segments"][0]["leaderboard"][0]["upper"] is None
    assert single["leaderboard"]["a"]["x upper"] is single["pairs"][0]["lower x"] is None
