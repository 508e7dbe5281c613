"""One ranking under every convention."""

from __future__ import annotations

from itertools import pairwise
from math import log2

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

import gainsay as gs
from gainsay.evaluation.explanation import judgments_of
from gainsay.evaluation.printed import distinct_numbers

LABELS = [0, 3, 1, 0, 2, 0]
SCORES = [2.0, 1.0, 1.0, 1.0, 0.5, 0.1]


def test_every_library_has_a_row():
    table = gs.explain(LABELS, SCORES)
    assert set(table.index) == {
        "gainsay", "lightgbm", "xgboost", "catboost", "sklearn", "trec_eval", "torchmetrics", "ranx"
    }  # fmt: skip


def test_the_row_of_scikit_learn_is_its_number():
    assert gs.explain(LABELS, SCORES, k=3).loc["sklearn", "ndcg_linear@3"] == pytest.approx(
        ndcg_score([LABELS], [SCORES], k=3), rel=1e-12
    )


def test_libraries_differ_on_ties():
    table = gs.explain(LABELS, SCORES, k=2)["ndcg_linear@2"]
    ideal = 3 + 2 / log2(3)
    assert table["lightgbm"] == pytest.approx(3 / log2(3) / ideal, rel=1e-12)  # order of the file: label 3 first
    assert table["catboost"] == 0.0  # lowest label first
    assert table["gainsay"] == pytest.approx((3 + 1 + 0) / 3 / log2(3) / ideal, rel=1e-12)


def test_says_which_definition_a_library_calls_ndcg():
    called = gs.explain(LABELS, SCORES)["calls NDCG"]
    assert called["lightgbm"] == called["xgboost"] == "ndcg_exp"
    assert called["sklearn"] == called["trec_eval"] == called["catboost"] == "ndcg_linear"


def test_the_slip_of_lightgbm_and_xgboost_is_named_where_it_matters():
    with_slip = gs.explain([1, 0, 0, 0], [4, 3, 2, 1], group=[2, 2], weight=[1.0, 0.5])["note"]
    assert "forgets the weight" in with_slip["lightgbm"]
    assert "forgets the weight" in with_slip["xgboost"]
    without = gs.explain([1, 0, 0, 0], [4, 3, 2, 1], group=[2, 2])["note"]
    assert without["lightgbm"] == ""


def test_negative_labels_leave_out_the_exponential_gain():
    table = gs.explain([1, -1], [2, 1], negative_labels="allow")
    assert not [column for column in table if column.startswith("ndcg_exp")]


@pytest.mark.parametrize("k", [0, -1, 1.5])
def test_a_bad_cutoff_is_refused(k):
    with pytest.raises(ValueError, match="k must be a whole number of at least 1"):
        gs.explain(LABELS, SCORES, k=k)


def test_numbers_do_not_depend_on_the_container():
    assert np.array_equal(
        gs.explain(LABELS, SCORES)["mrr@10"], gs.explain(np.array(LABELS), np.array(SCORES, dtype=np.float32))["mrr@10"]
    )


class TestDistinctNumbers:
    def numbers(self, labels=LABELS, scores=SCORES, k=10, **options):
        return distinct_numbers(judgments_of(labels, **options), scores, k)

    def test_each_name_gives_its_number(self):
        for number in self.numbers(k=3):
            for name in number.names:
                (value,) = gs.evaluate(name, gs.Judgments(LABELS, group=[6]), SCORES).mean.values()
                assert value == pytest.approx(number.value, abs=1e-9)

    def test_numbers_under_a_heading_are_distinct_and_every_library_is_at_the_number_it_prints(self):
        found = self.numbers(k=2)
        table = gs.explain(LABELS, SCORES, k=2)
        for heading in {number.heading for number in found}:
            values = sorted(number.value for number in found if number.heading == heading)
            assert all(after - before > 1e-9 for before, after in pairwise(values))
        ndcg = {number.value: number.printed_by for number in found if number.heading == "NDCG@2"}
        for library, called in (("lightgbm", "LightGBM"), ("catboost", "CatBoost"), ("sklearn", "scikit-learn")):
            (value,) = [value for value, programs in ndcg.items() if called in programs]
            assert value == pytest.approx(table.loc[library, "NDCG@2"], abs=1e-9)

    def test_the_two_definitions_of_the_readme(self):
        labels = [5, 0, 0, 0, 0, 3, 3, 3, 3, 3]
        discount = [1 / log2(rank + 1) for rank in range(1, 11)]
        for gain, printed in ((lambda label: 2**label - 1, "LightGBM"), (lambda label: label, "scikit-learn")):
            ideal = sum(gain(label) * d for label, d in zip(sorted(labels, reverse=True), discount, strict=True))
            value = sum(gain(label) * d for label, d in zip(labels, discount, strict=True)) / ideal
            (number,) = [it for it in self.numbers(labels, range(10, 0, -1)) if printed in it.printed_by[:3]][:1]
            assert number.value == pytest.approx(value, abs=1e-12)

    def test_binary_labels_have_one_number_for_both_gains(self):
        found = self.numbers([0, 1, 1], [3, 2, 1])
        (both,) = [number for number in found if number.names == ("ndcg_exp@10", "ndcg_linear@10")]
        assert len(both.printed_by) == 7
        assert not any(" " in program for program in both.printed_by)

    def test_a_library_that_refuses_the_labels_prints_nothing(self):
        for labels, prints in (([0, 1, 1], True), ([0, 1, 2], False)):
            of_map = [number for number in self.numbers(labels, [3, 2, 1]) if number.heading == "MAP@10"]
            assert any("XGBoost" in number.printed_by for number in of_map) == prints

    def test_negative_labels_leave_out_the_exponential_gain(self):
        found = self.numbers([1, -1], [2, 1], negative_labels="allow")
        assert not [name for number in found for name in number.names if name.startswith("ndcg_exp")]
