"""The headline and the advice of every kind of verdict, on samples whose means are plain arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

import gainsay as gs
from gainsay._common.shown import Names
from gainsay.comparison.headline import advice, finding, headline, labels_of, rounded
from gainsay.comparison.standing import chart_of
from gainsay.drawing.text import as_text

NAMES = ("ndcg_linear@10", "ndcg_exp@10")


def verdict_of(first, second, queries=400, spread=0.01, rope=0.0, names=NAMES, models=None):
    """Values around these means, whose sample means they are exactly."""
    rng = np.random.default_rng(0)
    tables = []
    for means in (first, second):
        noise = spread * rng.normal(size=(queries, len(means)))
        tables.append(np.asarray(means) + noise - noise.mean(axis=0))
    models = models or [f"m{place}" for place in range(len(first))]
    return gs.Verdict.from_values(*tables, models=models, rope=rope, metric_names=names, draws=1000)


def said(verdict, base=""):
    names = {model: model for model in verdict.models}
    return as_text(headline(verdict, names, base)), as_text(advice(verdict, names)).replace("\u00a0", " ")


def test_genuine():
    verdict = verdict_of([0.6, 0.5, 0.59], [0.5, 0.6, 0.59])
    head, do = said(verdict)
    assert head == "Yes: m0 is best by linear gain, m1 by exponential."
    most, least = verdict.safe_regret_upper, verdict.price_lower
    told = do.split("at most ")[1].split()[0], do.split("at least ")[1].split()[0]
    assert 0 <= float(told[0]) - most < 0.001
    assert 0 <= least - float(told[1]) < 0.001
    assert do.startswith("\u2605 Choose m2 if both matter: at most ")
    assert f"The disagreement is proven (p = {verdict.p_value:.2g}" in do


def test_agreement_says_who_and_by_how_much():
    head, do = said(verdict_of([0.6, 0.5, 0.4], [0.6, 0.55, 0.3]))
    assert head == "No: m0 is the best of 3 under both."
    assert do == "\u2605 Choose m0: ahead of the next by 0.100 and 0.050, proven under both metrics (95 %)."


@pytest.mark.parametrize(
    ("first", "second", "base", "expected"),
    [
        ([0.5, 0.6], [0.5, 0.6], "m0", "Yes: m1 is better than m0 under both."),
        ([0.6, 0.5], [0.6, 0.5], "m0", "No: m0 is better than m1 under both."),
        ([0.5, 0.6], [0.5, 0.6], "", "No: m1 is better than m0 under both."),
        ([0.5, 0.6], [0.6, 0.5], "m0", "It depends: m1 is better by linear gain, m0 by exponential."),
        ([0.5, 0.6], [0.5, 0.5001], "m0", "Not proven: m1 is better by linear gain, exponential leaves it open."),
        ([0.5, 0.5001], [0.5, 0.5001], "m0", "Not proven: neither is shown to be better."),
    ],
)
def test_of_two_models_it_answers_whether_to_replace_one_by_the_other(first, second, base, expected):
    verdict = verdict_of(first, second)
    assert said(verdict, base)[0] == expected


def test_two_models_are_asked_about_in_the_order_given():
    chart = chart_of(verdict_of([0.5, 0.6], [0.5, 0.6]), Names.of(["m0", "m1"]), ("m1", "m0"))
    assert as_text(chart.question) == "Replace m1 by m0? By ndcg_linear@10 and ndcg_exp@10 on 400 queries"
    assert as_text(chart.headline) == "No: m1 is better than m0 under both."


def test_unresolved_counts_who_may_be_best():
    verdict = verdict_of([0.5, 0.5004, 0.3], [0.5004, 0.5, 0.3])
    head, do = said(verdict)
    assert head == "Not proven: 2 of 3 models may still be best under both."
    assert do.startswith("\u2605 Take m0: 0.0004 behind under the metric that likes it less, in truth at most 0.00")
    assert do.endswith("More queries decide it, not more models.")


def test_negligible_differences():
    head, do = said(verdict_of([0.5, 0.5004], [0.5004, 0.5], rope=0.02))
    assert head == "It does not matter: whichever metric you choose by, you lose next to nothing."
    assert do.endswith("no more than the 0.0200 that you called negligible.")


@pytest.mark.parametrize(
    ("rope", "expected"),
    [(0.05, "That is more than the 0.0500 that you called"), (0.2, "It is small, though: no more than the 0.2000")],
)
def test_a_proven_disagreement_beside_what_is_negligible(rope, expected):
    assert expected in said(verdict_of([0.6, 0.5], [0.5, 0.6], rope=rope))[1]


def test_few_queries_decide_nothing():
    head, do = said(verdict_of([0.6, 0.5], [0.6, 0.5], queries=12))
    assert head.startswith("Not proven")
    assert do == "Too few queries to decide: 12, and below 30 nothing is proven. Best in this sample: m0."


def test_one_model_has_nothing_to_disagree_about():
    assert said(verdict_of([0.5], [0.5])) == ("One model: there is nothing to disagree about.", "")


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


@pytest.mark.parametrize(
    ("first", "second", "base", "expected"),
    [
        ([0.5, 0.6], [0.6, 0.5], "m0", "m1 is better by linear gain, m0 by exponential: proven (p = 0.006)"),
        ([0.5, 0.6], [0.6, 0.5], "", "m1 is best by linear gain, m0 by exponential: proven (p = 0.006)"),
        ([0.5, 0.6], [0.5, 0.6], "", "m1 is better than m0 under both: both proven (95 %)"),
        ([0.5, 0.5001], [0.5, 0.5001], "m0", "Not proven: neither is shown to be better"),
    ],
)
def test_titles_say_how_sure_it_is_in_place_of_yes_and_no(first, second, base, expected):
    """The smallest p-value of a thousand draws is .005 + 1/1001."""
    assert finding(verdict_of(first, second), {"m0": "m0", "m1": "m1"}, base) == expected
