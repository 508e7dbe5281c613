"""R-precision."""

from __future__ import annotations

import pytest
from tests.metrics.one_query import value

NEVER = float("-inf")


@pytest.mark.parametrize(
    ("metric", "labels", "expected"),
    [
        ("rprec", [0, 1, 1, 0, 2], 2 / 3),
        ("rprec", [1, 1, 1], 1),
        ("rprec", [0, 0, 1, 1], 0),
        ("rprec", [0, 0], 0),
        ("rprec(empty=1)", [0, 0], 1),
        ("rprec(min_label=2)", [0, 1, 1, 0, 2], 0),
        ("rprec@2", [0, 1, 1, 0, 2], 1 / 3),
        ("rprec@9", [0, 1, 1, 0, 2], 2 / 3),
    ],
)
def test_by_hand(metric, labels, expected):
    assert value(metric, labels) == expected


def test_it_is_precision_and_recall_at_r(grouped):
    data = grouped(3, every_nth_empty=None)
    for labels, scores in data.queries():
        relevant = int((labels >= 1).sum())
        if relevant:
            precision, recall = (value(f"{name}@{relevant}", labels, scores) for name in ("precision", "recall"))
            assert value("rprec", labels, scores) == pytest.approx(precision, rel=1e-14, abs=1e-16)
            assert precision == pytest.approx(recall, rel=1e-14, abs=1e-16)


def test_documents_that_were_not_retrieved_count_for_r():
    assert value("rprec", [0, 1, 1, 1], [2, 1, NEVER, NEVER]) == 1 / 3
