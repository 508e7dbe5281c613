"""Dictionaries, JSON documents, tables and attributes of the same result agree."""

import json
import math

import numpy as np
import pytest

import gainwise as gw
from gainwise.comparison.estimates import VarianceComponents

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


QUERIES = 120
RNG = np.random.default_rng(4)
LABELS = RNG.choice(5, QUERIES * 10, p=[0.5, 0.2, 0.15, 0.1, 0.05])
JUDGED = gw.Judgments(LABELS, group=[10] * QUERIES)
SCORES = {name: power * LABELS + RNG.normal(0, 2, len(LABELS)) for name, power in [("a", 0.2), ("b", 1.5), ("c", 1.4)]}
KINDS = np.repeat(["head", "tail"], QUERIES // 2)
HEAD = np.repeat(KINDS == "head", 10)


class Missed(gw.NDCG):
    """NDCG, declared as a loss."""

    higher_is_better = False
    names = {"missed_ndcg_of_documents": {}}


@pytest.fixture(scope="module")
def comparison():
    scores = SCORES | {"b": np.where(HEAD, SCORES["b"], SCORES["a"]), "c": np.where(HEAD, SCORES["a"], SCORES["c"])}
    return gw.compare(scores, JUDGED, ["ndcg_linear@5", "ndcg_exp@5"], segments=KINDS, draws=1000)


def test_gain_path(comparison):
    path = comparison.gains([1, 2, 4])
    document = path.to_dict()
    assert [(row["base"], tuple(row["models"])) for row in document["best_sets"]] == list(path.best_sets.items())
    assert document["best_ranges"] == path.best_ranges.to_dict("records")
    assert list(path.best_ranges.columns) == ["model", "from", "to"]
    assert document["path"][0]["mean"] == path.frame()["mean"].iloc[0]
    assert {row["model"] for row in document["best_ranges"]} == {
        name for names in path.best_sets.values() for name in names
    }


def test_one_model_that_leads_at_all_gains_is_always_best():
    scores = {"good": LABELS + RNG.normal(0, 0.1, len(LABELS)), "poor": RNG.normal(0, 1, len(LABELS))}
    path = gw.compare(scores, JUDGED, ["ndcg_linear@5", "ndcg_exp@5"], draws=1000).gains([1, 2, 4])
    assert (path.verdict.kind, path.verdict.always_best) == ("agree", ("good",))


def test_pairs_that_a_loss_reverses_are_those_that_the_metric_does_not():
    plain = gw.compare(SCORES, JUDGED, ["ndcg_linear@5", "ndcg_exp@5"], draws=200)
    losses = gw.compare(SCORES, JUDGED, [Missed(gain="linear", k=5), "ndcg_exp@5"], draws=200)
    pairs = [each.sensitivity().table.set_index("choice")["reversed_pairs"] for each in (plain, losses)]
    assert (pairs[0][["map", "mrr"]] + pairs[1][["map", "mrr"]] == 3).all()
    assert pairs[0]["exponential gain"] + pairs[1]["ndcg_exp@5"] == 3
    worst = plain.leaderboard["ndcg_linear@5"].idxmin()
    assert losses.winners[losses.metrics[0]] == worst != plain.winners["ndcg_linear@5"]
    assert "lowest" in losses.verdict.text
    assert "lowest" not in plain.verdict.text


def test_error_of_the_difference_of_two_recipes_has_three_parts():
    assert VarianceComponents(0.0, 0.3, 0.0).error_of_difference(10, 4) == pytest.approx(math.sqrt(2 * 0.09 / 4))
    assert VarianceComponents(0.3, 0.0, 0.0).error_of_difference(10, 4) == pytest.approx(math.sqrt(0.09 / 10))
    assert VarianceComponents(0.0, 0.0, 0.3).error_of_difference(10, 4) == pytest.approx(math.sqrt(2 * 0.09 / 4 / 10))


def test_results_are_displayed_as_their_sentences():
    result = gw.compare(SCORES, JUDGED, METRICS)
    for part in (result.verdict, result.against("a", 0.1)):
        assert repr(part) == str(part) == part.text.replace("\u00a0", " ")
    assert repr(result.settings).startswith("Settings(alpha=0.05, margin=0.0, ")
