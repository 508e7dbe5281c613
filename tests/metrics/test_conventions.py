"""The options that each library's convention sets, and the numbers that they make."""

from __future__ import annotations

from math import log2

import pytest

import gainsay as gs
from gainsay.metrics.conventions import ABOVE_HALF, CONVENTIONS

HALF = repr(ABOVE_HALF)

EXPECTED = {
    "lightgbm": {
        "ndcg@5": "ndcg_exp(ties=order,empty=1,weights=float32_mean)@5",
        "map@5": f"map(ties=order,empty=1,weights=float32_mean,min_label={HALF})@5",
    },
    "xgboost": {
        "ndcg@5": "ndcg_exp(ties=order,empty=1,scores=float32,weights=float32)@5",
        "map@5": "map(ties=order,empty=1,scores=float32,weights=float32)@5",
        "precision@5": "precision(ties=order,scores=float32,weights=float32,denominator=min_k_n)@5",
    },
    "catboost": {
        "ndcg@5": "ndcg_linear(ties=worst,empty=1)@5",
        "dcg@5": "dcg_linear(ties=worst)@5",
        "map@5": f"map(ties=worst,weights=ignore,min_label={HALF})@5",
        "precision@5": f"precision(ties=worst,weights=ignore,min_label={HALF},denominator=min_k_n)@5",
        "recall@5": f"recall(ties=worst,empty=1,weights=ignore,min_label={HALF})@5",
        "mrr": f"mrr(ties=worst,min_label={HALF})",
        "err(max_label=4)": "err(ties=worst,max_label=4)",
    },
    "sklearn": {"ndcg@5": "ndcg_linear@5", "dcg": "dcg_linear"},
    "trec_eval": {
        "ndcg@5": "ndcg_linear(ties=order)@5",
        "map@5": "map(ties=order,denominator=R)@5",
        "precision@5": "precision(ties=order)@5",
        "mrr": "mrr(ties=order)",
        "recall@5": "recall(ties=order)@5",
        "hit@5": "hit(ties=order)@5",
        "rbp": "rbp(ties=order,p=0.9,gain=graded)",
    },
    "torchmetrics": {
        "ndcg@5": "ndcg_linear(scores=float32)@5",
        "map@5": "map(ties=order,scores=float32,denominator=hits)@5",
    },
    "ranx": {
        "ndcg_linear@5": "ndcg_linear(ties=order)@5",
        "ndcg_exp@5": "ndcg_exp(ties=order)@5",
        "map": "map(ties=order,denominator=R)",
    },
}


@pytest.mark.parametrize(
    ("library", "text", "expected"),
    [(library, text, name) for library, names in EXPECTED.items() for text, name in names.items()],
)
def test_options(library, text, expected):
    assert str(*gs.parse_metrics(text, convention=library)) == expected


def test_every_convention_is_tested():
    assert set(EXPECTED) == set(CONVENTIONS)


def test_options_in_the_name_win():
    found = gs.parse_metrics("map(ties=best,min_label=2)@5", convention="lightgbm")
    assert found == (gs.AP(ties="best", min_label=2, empty=1, weights="float32_mean", k=5),)


def test_gain_in_the_name_wins():
    assert str(*gs.parse_metrics("ndcg_linear(empty=0)", convention="xgboost")).startswith(
        "ndcg_linear(ties=order,scores"
    )


@pytest.mark.parametrize("name", ["ndcg", "ndcg_linear", "map", "precision"])
def test_xgboost_cuts_at_32_where_no_cutoff_is_given(name):
    assert [metric.k for metric in gs.parse_metrics(name, f"{name}@40", convention="xgboost")] == [32, 40]


def test_metrics_already_made_are_left_alone():
    assert gs.parse_metrics(gs.AP(), convention="lightgbm") == (gs.AP(),)


def test_bare_ndcg_stays_refused_where_the_library_has_two():
    with pytest.raises(ValueError, match="'ndcg' does not say which NDCG"):
        gs.parse_metrics("ndcg", convention="ranx")


@pytest.mark.parametrize(("name", "meant"), [("lgbm", "lightgbm"), ("XGBoost", "xgboost"), ("scikit-learn", "sklearn")])
def test_did_you_mean_this_library(name, meant):
    with pytest.raises(ValueError, match=f"convention must be one of .*got '{name}'; did you mean '{meant}'"):
        gs.parse_metrics("mrr", convention=name)


def test_label_of_one_half_is_not_relevant_above_half():
    judgments = gs.Judgments([0.5, 0.6], group=[2])
    assert gs.evaluate(gs.parse_metrics("mrr", convention="lightgbm"), judgments, [2, 1]).per_query[0, 0] == 1 / 2


class TestOneRankingUnderEachConvention:
    """Two tied documents with labels 0 and 2, listed best first, then one with label 1."""

    judgments = gs.Judgments([2, 0, 1], group=[3])
    scores = (5, 5, 4)
    ideal = 2 + 1 / log2(3)
    ideal_exp = 3 + 1 / log2(3)

    @pytest.mark.parametrize(
        ("library", "expected"),
        [
            ("lightgbm", (3 + 1 / 2) / ideal_exp),
            ("xgboost", (3 + 1 / 2) / ideal_exp),
            ("catboost", (2 / log2(3) + 1 / 2) / ideal),
            ("sklearn", (1 + 1 / log2(3) + 1 / 2) / ideal),
            ("trec_eval", (2 + 1 / 2) / ideal),
            ("torchmetrics", (1 + 1 / log2(3) + 1 / 2) / ideal),
        ],
    )
    def test_ndcg(self, library, expected):
        metrics = gs.parse_metrics("ndcg", convention=library)
        assert gs.evaluate(metrics, self.judgments, self.scores).per_query[0, 0] == pytest.approx(
            expected, rel=1e-15, abs=0
        )

    @pytest.mark.parametrize(
        ("library", "expected"),
        [
            ("lightgbm", 1 / 1),
            ("catboost", 0),
            ("trec_eval", 1 / 2),
            ("torchmetrics", 1 / 1),
            ("ranx", 1 / 2),
        ],
    )
    def test_map_at_1(self, library, expected):
        metrics = gs.parse_metrics("map@1", convention=library)
        assert gs.evaluate(metrics, self.judgments, self.scores).per_query[0, 0] == expected
