"""Dictionaries, JSON and defaults of a comparison."""

from __future__ import annotations

import inspect
import json

import numpy as np
import pytest

import gainwise as gw

METRICS = ["ndcg_linear@5", "ndcg_exp@5"]
JUDGMENTS = gw.Judgments(np.random.default_rng(0).integers(0, 4, 600), group=[6] * 100)
MODELS = {name: np.random.default_rng(at).random(600) for at, name in enumerate("abc")}


def test_dictionary_of_two_metrics_has_pairs_and_a_verdict_and_that_of_one_has_neither():
    found = gw.compare(MODELS, JUDGMENTS, METRICS)
    content = found.to_dict()
    general = ["models", "metrics", "queries", "metric_queries", "iterations", "leaderboard", "winners", "chance"]
    assert list(content) == [*general, "unjudged", "notes", "missing", "pairs", "verdict"]
    assert (content["models"], content["metrics"]) == (["a", "b", "c"], METRICS)
    assert (content["queries"], content["winners"]) == (100, found.winners)
    assert content["verdict"] == found.verdict.to_dict()
    assert [(pair["model_x"], pair["model_y"]) for pair in content["pairs"]] == [("a", "b"), ("a", "c"), ("b", "c")]
    expected = gw.evaluate(METRICS[:1], JUDGMENTS, MODELS["b"]).mean[METRICS[0]]
    assert content["leaderboard"]["b"][METRICS[0]] == pytest.approx(expected, rel=1e-12)
    assert list(gw.compare(MODELS, JUDGMENTS, "mrr").to_dict()) == [*general, "unjudged", "notes", "missing"]


def test_defaults_are_those_of_the_verdict():
    expected = {"alpha": 0.05, "margin": 0.0, "draws": 10_000, "seed": 0}
    for called in (gw.compare, gw.compare_runs, gw.Comparison):
        parameters = inspect.signature(called).parameters
        assert all(parameters[name].default == value for name, value in expected.items() if name in parameters)
    assert gw.Comparison({"x": np.zeros((40, 2)), "y": np.zeros((40, 2))}, ["a", "b"]).verdict.draws == 10_000


def test_json_reads_back_as_what_was_written(tmp_path):
    found = gw.compare(MODELS, JUDGMENTS, METRICS)
    content = json.loads(found.to_json(tmp_path / "report.json", queries=3))
    assert json.loads((tmp_path / "report.json").read_text()) == content
    assert content["verdict"]["text"] == found.verdict.text
    assert len(content["contradictions"]["queries"]) == 3
    shown = len(json.loads(found.to_json())["contradictions"]["queries"])
    assert shown == min(50, content["contradictions"]["count"])


def test_options_reach_the_comparison_of_runs():
    rng = np.random.default_rng(0)
    qrels = {f"q{at}": {"a": 2, "b": 0, "c": 1} for at in range(40)}
    repeats = {
        name: {query: dict(zip("abc", rng.random(3), strict=True)) for query in qrels} for name in ("one", "two")
    }
    options = {"alpha": 0.2, "margin": 0.125, "draws": 321, "seed": 9}
    found = gw.compare_runs(repeats, qrels, ["ndcg_linear@2", "mrr", "map"], primary=["mrr", "map"], **options).verdict
    assert found.metrics == ("mrr", "map")
    assert {name: getattr(found, name) for name in options} == options


def test_bounds_that_are_infinite_are_none_in_the_dictionary():
    values = {metric: np.random.default_rng(seed).random((6, 2)) for seed, metric in enumerate("xy")}
    found = gw.Comparison(values, ["a", "b"], segments=["one"] + ["rest"] * 5, draws=2000).to_dict()
    single = gw.Comparison({metric: table[:1] for metric, table in values.items()}, ["a", "b"]).to_dict()
    for content in (found, single):
        json.dumps(content, allow_nan=False)
    assert found["segments"]["segments"][0]["leaderboard"][0]["upper"] is None
    assert single["leaderboard"]["a"]["x upper"] is single["pairs"][0]["lower x"] is None
