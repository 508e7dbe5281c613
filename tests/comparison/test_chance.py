"""The value of random order: exact, in every output, and a flag for models that are not better."""

import functools
import itertools
import operator

import numpy as np
import pytest
from tests.oracles.definitions import average_precision, reciprocal_rank

import gainwise as gw
from gainwise.data import simulate, simulate_rankers

METRICS = ["ndcg_linear@10", "ndcg_exp@10", "map", "mrr"]


FIRST = gw.metric("first_label_is_high", lambda labels, scores: float(labels[np.argmax(scores)] > 1))


@pytest.fixture(scope="module")
def comparison():
    data = simulate(200, seed=4, mean_length=12)
    models = simulate_rankers(data, seed=4)
    models["negated"], models["constant"] = -models["fair"], np.zeros(len(data.labels))
    models["random"] = np.random.default_rng(0).normal(size=len(data.labels))
    return gw.compare(models, data.judgments(), METRICS)


def average_over_orders(labels, metric):
    orders = [[labels[place] for place in order] for order in itertools.permutations(range(len(labels)))]
    return sum(metric(order, order, None) for order in orders) / len(orders)


def test_is_the_mean_over_all_orders():
    queries = [[2, 0, 1, 0, 0], [0, 0, 3], [1, 1, 0, 2]]
    labels, sizes = functools.reduce(operator.iadd, queries, []), list(map(len, queries))
    judgments = gw.Judgments(labels, group=sizes, weight=[1, 2, 5])
    scores = {"A": range(12, 0, -1), "B": np.arange(12) % 5}
    chance = gw.compare(scores, judgments, ["map", "mrr(ties=order)", "ndcg_linear@3"]).chance
    for name, definition in (("map", average_precision), ("mrr(ties=order)", reciprocal_rank)):
        expected = np.average([average_over_orders(query, definition) for query in queries], weights=[1, 2, 5])
        assert chance[name] == pytest.approx({"A": expected, "B": expected}, rel=1e-12)
    evaluation = gw.evaluate(["map", "mrr(ties=order)"], judgments, scores["A"])
    assert evaluation.chance == pytest.approx({name: chance[name]["A"] for name in evaluation.mean})
    constant = gw.evaluate("ndcg_linear@3", judgments, np.zeros(12)).mean["ndcg_linear@3"]
    assert chance["ndcg_linear@3"]["A"] == pytest.approx(constant)


@pytest.mark.parametrize("unjudged", ["irrelevant", "drop"])
def test_runs_keep_the_documents_that_they_retrieved(unjudged):
    generator = np.random.default_rng(1)
    qrels = {f"q{query}": {f"d{place}": int(generator.integers(0, 3)) for place in range(8)} for query in range(40)}
    runs = {
        name: {
            query: {f"d{place}": float(generator.random()) for place in generator.choice(12, size, replace=False)}
            for query in qrels
        }
        for name, size in (("short", 3), ("long", 8))
    }
    compared = gw.compare_runs(runs, qrels, ["ndcg_linear@5", "mrr"], unjudged=unjudged)
    for name, run in runs.items():
        tied = {query: dict.fromkeys(documents, 1.0) for query, documents in run.items()}
        expected = gw.evaluate_run(["ndcg_linear@5", "mrr"], tied, qrels, unjudged=unjudged, missing="zero")
        assert {metric: compared.chance[metric][name] for metric in compared.chance} == pytest.approx(expected.mean)
        assert gw.evaluate_run("mrr", run, qrels, unjudged=unjudged).chance == pytest.approx(
            {"mrr": gw.evaluate_run("mrr", tied, qrels, unjudged=unjudged).mean["mrr"]}
        )
    assert compared.chance["mrr"]["short"] != compared.chance["mrr"]["long"]
    assert "random order" in compared.to_markdown()
    assert " to " in next(line for line in compared.to_markdown().split("\n") if "| random order |" in line)


def test_flags(comparison):
    flags = {flag.code: flag for flag in comparison.verdict.flags if "chance" in flag.code}
    assert flags["below chance"].models == ("negated",)
    assert flags["chance level"].models == ("constant", "random")
    assert "negated or shuffled?" in str(flags["below chance"])
    alone = gw.compare({"A": comparison.rankings.scores["negated"]}, comparison.rankings.judgments, "map")
    assert [flag.code for flag in alone._chance_flags] == ["below chance"]
    assert "A is below random order under map" in alone.to_markdown()


def test_useful_models_few_queries_and_equal_labels_have_no_flag():
    data = simulate(200, seed=4, mean_length=12)
    assert gw.compare(simulate_rankers(data, seed=4), data.judgments())._chance_flags == ()
    few = data.take_queries(range(29))
    poor = {name: -scores for name, scores in simulate_rankers(few, seed=1).items()}
    assert gw.compare(poor, few.judgments())._chance_flags == ()
    equal = gw.compare(poor, gw.Judgments(np.ones(len(few.labels)), group=few.group))
    assert (equal.chance["map"]["fair"], equal._chance_flags) == (1.0, ())


def test_metrics_without_a_chance_level():
    data = simulate(40, seed=1, mean_length=8)
    judgments = data.judgments()
    models = {"A": data.features[:, 0], "B": data.features[:, 1]}
    assert list(gw.compare(models, judgments, [FIRST, "map"]).chance) == ["map"]
    only = gw.evaluate(FIRST, judgments, models["A"])
    assert (only.chance, only.text) == ({}, str(only))
    found = gw.evaluate("map@3", judgments, models["A"], convention="torchmetrics")  # never averaged over ties
    assert (found.chance, found.text) == ({}, str(found))
    assert gw.compare(models, judgments, found.metrics).chance == {}
    values = np.random.default_rng(0).random((40, 2))
    assert gw.Comparison({"map": values, "mrr": values}, ["A", "B"]).chance == {}
