"""One ranking under every convention."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

import gainsay as gs

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
