"""Sentences do not claim too much, and state numbers in their safe direction."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import gainwise as gw
from gainwise._common.text import as_text
from gainwise.evaluation.explain import distinct_numbers

X, Y = "ndcg_linear@10", "ndcg_exp@10"


def values_of(first, second, queries=400, **options):
    """Return values with exactly these means."""
    rng = np.random.default_rng(0)
    tables = []
    for means in (first, second):
        noise = 0.01 * rng.normal(size=(queries, len(means)))
        tables.append(np.asarray(means) + noise - noise.mean(axis=0))
    names = [f"m{place}" for place in range(len(first))]
    return gw.Comparison(dict(zip((X, Y), tables, strict=True)), names, draws=1000, **options)


WITHOUT_OBJECT = re.compile(
    r"\bproven\b|\b(by|than|as|not) chance\b|\bdoes not matter\b|\bcannot matter\b|\bnegligible\b", re.I
)
"""Words that state more than a test shows, or leave out of what."""


def texts_of(path):
    """Yield the strings of a module that people read: all but docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    documented = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documented:
            yield node.value


def test_no_sentence_claims_more_than_a_test_shows():
    assert WITHOUT_OBJECT.search("This is not proven.")
    root = Path(gw.__file__).parent
    modules = [path for name in ("comparison", "report", "experiment", "cli") for path in (root / name).rglob("*.py")]
    assert len(modules) > 40
    found = {path.name: text for path in modules for text in texts_of(path) if WITHOUT_OBJECT.search(text)}
    assert found == {}


def test_bounds_in_the_advice_are_rounded_to_the_safe_side():
    found = values_of([0.6, 0.5, 0.59], [0.5, 0.6, 0.59])
    text = found.to_markdown().replace("\u00a0", " ")
    most, least = (float(re.search(rf"at {word} (0\.\d+)", text)[1]) for word in ("worst", "least"))
    assert 0 <= most - found.verdict.safe_regret_upper < 0.001
    assert 0 <= found.verdict.price_lower - least < 0.001


@pytest.mark.parametrize("unit", [0.1, 100.0])
def test_each_of_two_unlike_metrics_has_its_own_bound(unit):
    values = np.random.default_rng(0).random((200, 3))
    verdict = gw.Comparison({"ndcg": values, "revenue": unit * values}, ["a", "b", "c"], draws=200).verdict
    share = r"(?: \(.*? %\))?"
    stated = re.search(rf"up to (\S+){share} behind by ndcg and (\S+){share} by revenue \(95 %\)", verdict.text)
    for metric, bound in zip(verdict.metrics, stated.groups(), strict=True):
        assert float(bound) == pytest.approx(verdict.regrets_upper[metric][verdict.safe_choice], abs=0.001)
        assert float(bound) >= verdict.regrets_upper[metric][verdict.safe_choice]


def test_a_model_that_is_not_behind_by_one_of_two_unlike_metrics_has_one_bound():
    """Model a outperforms the others by revenue, whose mean has no share, and may be behind b by NDCG."""
    rng = np.random.default_rng(0)
    ndcg, revenue = rng.normal(0, 0.05, (400, 3)), rng.normal([-3.0, -9.0, -9.0], 1, (400, 3))
    ndcg += [0.5, 0.5, 0.2] - ndcg.mean(axis=0)
    for metrics in ({"ndcg": ndcg, "revenue": revenue}, {"revenue": revenue, "ndcg": ndcg}):
        verdict = gw.Comparison(metrics, ["a", "b", "c"], draws=200).verdict
        assert verdict.regrets_upper["revenue"]["a"] == 0 < verdict.regrets_upper["ndcg"]["a"]
        bound = r"0\.0\d+ \(\d\.\d %\) behind the best by ndcg and not behind by revenue \(95 %\)\."
        assert re.search(f"Safest of 3: a, at worst {bound}", verdict.text)


def test_a_candidate_that_ships_has_a_clause_for_each_metric():
    rng = np.random.default_rng(0)
    old, noise = rng.uniform(0.3, 0.6, 2000), rng.normal(0, 0.05, 2000)
    tables = {"map": np.stack([old, old + 0.03 + noise], axis=1), "mrr": np.stack([old, old - noise], axis=1)}
    text = gw.Comparison(tables, ["old", "new"], draws=200).against("old", margin=0.01).text
    gain, loss = r"map rises by at least 0\.02\d", r"mrr falls by at most 0\.00\d"
    assert re.match(rf"Ship new instead of old: {gain} and {loss}, within the margin of 0\.01\. ", text)


@pytest.mark.parametrize(("size", "percentages"), [(0.01, 2), (0.9, 1)])
def test_a_percentage_before_the_confidence_is_a_small_share(size, percentages):
    """A bound of half the best mean or more has no share, which would look like the confidence, "(95 %)"."""
    rng = np.random.default_rng(0)
    old = rng.uniform(0.3, 0.6, 40)
    table = np.stack([old, old + rng.choice([-1, 1], 40) * size], axis=1)
    verdict = gw.Comparison({"ndcg_linear@10": table, "ndcg_exp@10": table}, ["A", "B"], margin=0.001).verdict
    share = verdict.safe_regret_upper / max(verdict.means["ndcg_linear@10"].values())
    assert (share < 0.5) == (percentages == 2)
    headline = verdict.text.partition(" behind (95 %)")[0]
    assert "may be up to" in headline
    assert headline.count("%") + 1 == percentages


def test_distinct_numbers_decrease():
    judgments = gw.Judgments([5, 0, 0, 0, 0, 3, 3, 3, 3, 3], group=[10])
    by_heading: dict[str, list[float]] = {}
    for number in distinct_numbers(judgments, range(10, 0, -1)):
        by_heading.setdefault(number.heading, []).append(number.value)
    assert max(map(len, by_heading.values())) > 2
    for values in by_heading.values():
        assert values == sorted(values, reverse=True)


def test_equal_models_without_a_range_need_no_number_of_queries():
    """The models do not differ on any query. Without a range, a single query could be a large loss."""
    equal = [SAMPLE[0], SAMPLE[0]]
    for ranges, is_needed in (({}, False), ({"x": (0, 1)}, True)):
        result = compared(*equal, metrics="x", ranges=ranges).against("m0", 0.01, require="no_loss")
        (candidate,) = result.candidates
        assert (candidate.queries_needed is not None) == is_needed
        assert ("To ship with 80 % probability" in result.text) == is_needed


def compared(*columns, metrics="xy", **options):
    values = np.stack(columns, axis=1)
    models = [f"m{number}" for number in range(len(columns))]
    return gw.Comparison(dict.fromkeys(metrics, values), models, **{"draws": 200, **options})


SAMPLE = np.random.default_rng(3).uniform(0.3, 0.6, (4, 40))


def test_repeats_that_no_number_of_queries_replaces():
    """The error of the mean of 3 repeats is 0.4 for any number of queries."""
    result = gw.plan(0.01, query=0.1, repeat=0.5, repeats=[3])
    assert result.options[0].queries is None


def test_one_model_and_equal_models_have_no_change_along_the_gain():
    judgments, scores = gw.Judgments([2, 1, 0, 1] * 40, group=[4] * 40), np.random.default_rng(0).random(160)
    alone, same = (gw.compare(dict.fromkeys(names, scores), judgments).gains() for names in ("A", "AB"))
    assert alone.text.endswith("A is the only model.")
    assert (same.regret == 0).all()
    assert set(same.best_sets.values()) == {("A", "B")}


def test_attribution_names_close_labels_exactly_and_counts_queries_left_out():
    labels = 1e6 + 0.01 * np.tile(np.arange(40), 10)
    judgments = gw.Judgments(np.concatenate([np.zeros(100), labels]), group=[20] * 25)
    models = {name: np.random.default_rng(ord(name)).random(500) for name in "AB"}
    attribution = gw.compare(models, judgments, ["ndcg_linear(empty=skip)@5", "ndcg_linear@10"]).attribution("A", "B")
    assert "over 20 queries (5 more without a value" in attribution.text
    assert "1000000.04 to 1000000.07" in attribution.grades_by_ranks.index.get_level_values("grade")


def test_a_single_metric_names_clusters_and_what_to_add():
    """More queries alone do not show which configuration is better, if its repeats differ."""
    rng = np.random.default_rng(0)
    values = rng.uniform(size=(200, 1)) + rng.normal(0, 0.1, (200, 2))
    chart = gw.Comparison({"mrr": values}, ["A", "B"], clusters=np.arange(200) // 2).content.chart
    assert chart.question.endswith("2 models, 200 queries in 100 clusters.")
    assert as_text(chart.advice).endswith("Add queries, not models.")
    repeats = [column[:, None] + rng.normal(0, 0.02, 5) for column in values.T]
    advice = gw.Comparison({"mrr": repeats}, ["A", "B"]).content.chart.advice
    assert as_text(advice).endswith("Add queries and repeats, not configurations.")


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([0.6, 0.5], [0.6, 0.5], f"m0 has the highest mean {X} (0.6000) and the highest mean {Y} (0.6000)."),
        ([0.6, 0.5], [0.5, 0.6], f"m0 has the highest mean {X} (0.6000) and m1 has the highest mean {Y} (0.6000)."),
        ([0.6], [0.5], f"m0 has the mean {X} (0.6000) and the mean {Y} (0.5000)."),
    ],
)
def test_a_verdict_names_a_winner_under_both_metrics_once(first, second, expected):
    assert expected in values_of(first, second).verdict.text


@pytest.mark.parametrize(("metrics", "either"), [((X, Y), ""), (("map", "mrr"), " by either metric")])
def test_the_size_that_queries_can_show_is_for_both_of_two_unlike_metrics(metrics, either):
    """It is the larger one of both metrics. Here it is that of the second, whose values are 100 times as large."""
    first = np.random.default_rng(0).random((200, 3))
    values = dict(zip(metrics, (first, 100 * np.random.default_rng(1).random((200, 3))), strict=True))
    verdict = gw.Comparison(values, ["a", "b", "c"], draws=200).verdict
    (size,) = re.findall(rf"200 queries can show differences of about ([\d.]+) or more{either}\.", verdict.text)
    assert float(size) == pytest.approx(verdict.detectable, abs=0.001)


@pytest.mark.parametrize(("margin", "rest"), [(0.0, ""), (0.05, r" \(margin 0\.05\)")])
def test_a_possible_loss_names_its_metric_if_metrics_are_unlike(margin, rest):
    """Metrics of one margin may have different units, so a number without a metric would be ambiguous."""
    rng = np.random.default_rng(0)
    better = 0.5 + np.stack([np.zeros(300), rng.normal(0.1, 0.1, 300)], axis=1)
    open_ = 20 + np.stack([np.zeros(300), rng.normal(0, 3, 300)], axis=1)
    found = gw.Comparison({"map": better, "revenue": open_}, ["old", "new"], margin=margin, draws=500, baseline="old")
    assert re.match(rf"Undecided: new may lose up to \d\.\d+ revenue{rest}\.", str(found))


def test_models_with_few_repeats_have_their_names_of_the_page():
    """The headline and the sentence after it name models by the parts that differ."""
    rng = np.random.default_rng(0)
    tables = [0.5 + 0.1 * rng.normal(size=(60, 3)) for _ in range(2)]
    names = ["lgb leaves=3 rate=0.1", "lgb leaves=63 rate=0.1"]
    found = gw.Comparison({X: tables, Y: tables}, names, draws=200, selected=names[0])
    headline, advice, _ = str(found).split("\n")
    assert headline == (
        "No choice yet: leaves=3 and leaves=63 have 3 repeats. Statements about several models require 5."
    )
    assert "lgb" not in advice
