"""The options of each convention, and their effect on values."""

from math import log2

import pytest
from tests.metrics.one_query import value

import gainwise as gw
from gainwise.metrics.conventions import ABOVE_HALF

EXPECTED = {  # The tests of tests/differential compare the values under other options with those of the libraries.
    "lightgbm": {"map@5": f"map(ties=order,empty=1,weights=float32_mean,min_label={ABOVE_HALF!r})@5"},
    "xgboost": {"precision@5": "precision(ties=order,scores=float32,weights=float32,denominator=min_k_n)@5"},
    "catboost": {"ndcg@5": "ndcg_linear(ties=worst,empty=1)@5"},
    "trec_eval": {"rbp": "rbp(ties=order,p=0.9,gain=graded)"},
    "torchmetrics": {
        "ndcg@5": "ndcg_linear(scores=float32)@5",
        "map@5": "map(ties=order,scores=float32,denominator=hits)@5",
    },
    "ranx": {
        "ndcg_linear@5": "ndcg_linear(ties=order)@5",
        "ndcg_exp@5": "ndcg_exp(ties=order)@5",
        "map": "map(ties=order,denominator=R)",
    },
    "ignite": {"ndcg@5": "ndcg_exp(ties=order,empty=skip,scores=float32)@5"},
    "keras_rs": {
        "ndcg@5": "ndcg_exp(ties=order,scores=float32)@5",
        "precision@5": "precision(ties=order,scores=float32,denominator=min_k_n)@5",
        "map@5": "map(ties=order,scores=float32,denominator=R)@5",
    },
    "recommenders": {
        "ndcg@5": "ndcg(ties=order,empty=skip,gain=binary)@5",
        "ndcg_exp@5": "ndcg_exp(ties=order,empty=skip)@5",
    },
    "lenskit": {
        "ndcg@5": "ndcg(ties=order,empty=skip,gain=binary,discount=jk)@5",
        "ndcg_linear@5": "ndcg_linear(ties=order,empty=skip)@5",
        "precision@5": "precision(ties=order,denominator=min_k_n)@5",
    },
}


@pytest.mark.parametrize(
    ("library", "text", "expected"),
    [(library, text, name) for library, names in EXPECTED.items() for text, name in names.items()],
)
def test_options(library, text, expected):
    assert str(*gw.parse_metrics(text, convention=library)) == expected


def test_options_and_gains_in_the_name_override_the_convention():
    metrics = gw.parse_metrics("map(ties=best,min_label=2)@5", convention="lightgbm")
    assert metrics == (gw.AP(ties="best", min_label=2, empty=1, weights="float32_mean", k=5),)
    (metric,) = gw.parse_metrics("ndcg_linear(empty=0)", convention="xgboost")
    assert str(metric).startswith("ndcg_linear(ties=order,scores")
    assert gw.parse_metrics(gw.AP(), convention="lightgbm") == (gw.AP(),)


@pytest.mark.parametrize("name", ["ndcg", "ndcg_linear", "map", "precision"])
def test_xgboost_cuts_at_32_without_a_cutoff(name):
    assert [metric.k for metric in gw.parse_metrics(name, f"{name}@40", convention="xgboost")] == [32, 40]


IDEAL, IDEAL_EXP = 2 + 1 / log2(3), 3 + 1 / log2(3)


@pytest.mark.parametrize(
    ("library", "name", "expected"),
    [
        ("lightgbm", "ndcg", (3 + 1 / 2) / IDEAL_EXP),
        ("xgboost", "ndcg", (3 + 1 / 2) / IDEAL_EXP),
        ("catboost", "ndcg", (2 / log2(3) + 1 / 2) / IDEAL),
        ("sklearn", "ndcg", (1 + 1 / log2(3) + 1 / 2) / IDEAL),
        ("trec_eval", "ndcg", (2 + 1 / 2) / IDEAL),
        ("torchmetrics", "ndcg", (1 + 1 / log2(3) + 1 / 2) / IDEAL),
        ("lightgbm", "map@1", 1 / 1),
        ("catboost", "map@1", 0),
        ("trec_eval", "map@1", 1 / 2),
        ("torchmetrics", "map@1", 1 / 1),
        ("ranx", "map@1", 1 / 2),
    ],
)
def test_one_ranking_under_each_convention(library, name, expected):
    """Two tied documents with labels 0 and 2, listed best first, then one with label 1."""
    (metric,) = gw.parse_metrics(name, convention=library)
    assert value(metric, [2, 0, 1], [5, 5, 4]) == pytest.approx(expected, rel=1e-15, abs=0)
