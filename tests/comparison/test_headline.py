"""The headline and the advice of every kind of verdict, on samples whose means are plain arithmetic."""

from __future__ import annotations

import re

import numpy as np
import pytest

import gainsay as gs
from gainsay.comparison.headline import advice, headline, is_one_number, labels_of, rounded
from gainsay.drawing.text import as_text

NAMES = ("ndcg_linear@10", "ndcg_exp@10")


def verdict_of(first, second, queries=400, spread=0.01, margin=0.0, names=NAMES, models=None):
    """Values around these means, whose sample means they are exactly."""
    rng = np.random.default_rng(0)
    tables = []
    for means in (first, second):
        noise = spread * rng.normal(size=(queries, len(means)))
        tables.append(np.asarray(means) + noise - noise.mean(axis=0))
    models = models or [f"m{place}" for place in range(len(first))]
    return gs.Verdict.from_values(*tables, models=models, margin=margin, metric_names=names, draws=1000)


def shown(verdict):
    names = {model: model for model in verdict.models}
    return as_text(headline(verdict, names)), as_text(advice(verdict, names)).replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("first", "second", "margin", "kind", "named", "starred"),
    [
        ([0.6, 0.5, 0.59], [0.5, 0.6, 0.59], 0, "genuine", ["m0", "m1"], "m2"),
        ([0.6, 0.5, 0.4], [0.6, 0.55, 0.3], 0, "agree", ["m0"], "m0"),
        ([0.5, 0.6], [0.5, 0.6], 0, "agree", ["m1", "m0"], "m1"),
        ([0.5, 0.6], [0.6, 0.5], 0, "genuine", ["m1", "m0"], "m0"),
        ([0.5, 0.6], [0.5, 0.5001], 0, "unresolved", ["m1"], "m1"),
        ([0.5, 0.5001], [0.5, 0.5001], 0, "unresolved", [], "m1"),
        ([0.5, 0.5004, 0.3], [0.5004, 0.5, 0.3], 0, "unresolved", [], "m0"),
        ([0.5, 0.5004], [0.5004, 0.5], 0.02, "immaterial", [], "m0"),
    ],
)
def test_the_headline_names_whom_the_verdict_proves_and_the_star_is_on_the_safe_choice(
    first, second, margin, kind, named, starred
):
    verdict = verdict_of(first, second, margin=margin)
    head, do = shown(verdict)
    assert verdict.kind == kind
    assert re.findall(r"\bm\d\b", head) == named
    assert verdict.safe_choice == starred
    assert do.startswith("★")
    assert re.search(r"\bm\d\b", do)[0] == starred
    assert ("proven" in do) == (kind == "agree")
    assert ("not chance" in do) == (kind == "genuine")


def test_numbers_of_a_disagreement():
    verdict = verdict_of([0.6, 0.5, 0.59], [0.5, 0.6, 0.59])
    do = shown(verdict)[1]
    most, least = (float(re.search(rf"{text} ([\d.]+)\b", do)[1].rstrip(".")) for text in ("at worst", "at least"))
    assert 0 <= most - verdict.safe_regret_upper < 0.001
    assert 0 <= verdict.price_lower - least < 0.001
    assert f"p = {verdict.p_value:.2g}" in do


def test_numbers_of_agreement_are_the_distances_of_the_next_model():
    do = shown(verdict_of([0.6, 0.5, 0.4], [0.6, 0.55, 0.3]))[1]
    assert "0.100 (linear gain)" in do
    assert "0.050 (exponential gain)" in do


def test_an_open_verdict_counts_who_may_be_best():
    verdict = verdict_of([0.5, 0.5004, 0.3], [0.5004, 0.5, 0.3])
    assert f"{len(verdict.common_best)} of 3 may be best" in shown(verdict)[0]


@pytest.mark.parametrize(("margin", "expected"), [(0.05, "exceeds"), (0.2, "within")])
def test_a_proven_disagreement_is_compared_with_the_margin(margin, expected):
    assert f"{expected} your margin of {margin:.4f}" in shown(verdict_of([0.6, 0.5], [0.5, 0.6], margin=margin))[1]


def test_few_queries_decide_nothing():
    head, do = shown(verdict_of([0.6, 0.5], [0.6, 0.5], queries=12))
    assert head.startswith("Too close to call")
    assert do.startswith("Too few queries to decide: 12.")
    assert "best" not in do.lower()


def test_one_model_has_nothing_to_disagree_about():
    assert shown(verdict_of([0.5], [0.5]))[1] == ""


def test_equal_metrics_are_one_number():
    values = np.random.default_rng(0).random((100, 3))
    assert is_one_number(gs.Verdict.from_values(values, values, draws=1000))
    assert not is_one_number(gs.Verdict.from_values(values, values**2, draws=1000))


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        (("ndcg_exp@10", "ndcg_linear@10"), ("exponential gain", "linear gain")),
        (("dcg_linear", "dcg_exp"), ("linear gain", "exponential gain")),
        (("ndcg_linear@5", "ndcg_exp@10"), ("ndcg_linear@5", "ndcg_exp@10")),
        (("ndcg_linear@10", "ndcg_jk@10"), ("ndcg_linear@10", "ndcg_jk@10")),
        (("map",), ("map",)),
    ],
)
def test_metrics_go_by_their_gain_only_where_nothing_else_tells_them_apart(metrics, expected):
    assert tuple(label.long for label in labels_of(metrics)) == expected


@pytest.mark.parametrize("value", [0.0241, 0.0005, 0.12345, 3e-5, 0.9999, 0.001])
def test_bounds_are_rounded_to_the_side_on_which_they_stay_bounds(value):
    assert float(rounded(value, up=False)) <= value <= float(rounded(value, up=True))
