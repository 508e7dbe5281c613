"""Precision, recall and hit."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest
from tests.metrics.one_query import value

import gainsay as gs

NEVER = float("-inf")


class TestPrecision:
    @pytest.mark.parametrize(
        ("denominator", "k", "expected"),
        [
            ("k", 2, 1 / 2),
            ("min_k_n", 2, 1 / 2),
            ("k", 10, 2 / 10),
            ("min_k_n", 10, 2 / 3),
            ("k", None, 2 / 3),
            ("min_k_n", None, 2 / 3),
        ],
    )
    def test_denominators(self, denominator, k, expected):
        assert value(gs.Precision(denominator=denominator, k=k), [0, 1, 1]) == expected

    @pytest.mark.parametrize(("denominator", "expected"), [("k", 1 / 10), ("min_k_n", 1 / 3)])
    def test_documents_that_were_not_retrieved_are_judged_all_the_same(self, denominator, expected):
        assert value(gs.Precision(denominator=denominator, k=10), [0, 1, 1], [2, 1, NEVER]) == expected

    def test_unknown_denominator(self):
        with pytest.raises(ValueError, match="denominator must be one of 'k', 'min_k_n', got 'n'"):
            gs.Precision(denominator="n")


class TestRecall:
    @pytest.mark.parametrize(("k", "expected"), [(1, 0), (2, 1 / 3), (4, 2 / 3), (9, 1), (None, 1)])
    def test_cutoffs(self, k, expected):
        assert value(gs.Recall(k=k), [0, 1, 0, 1, 1]) == expected

    def test_documents_that_were_not_retrieved(self):
        assert value("recall", [1, 1, 1], [1, NEVER, NEVER]) == 1 / 3


class TestHit:
    @pytest.mark.parametrize(("k", "expected"), [(1, 0), (2, 1), (None, 1)])
    def test_cutoffs(self, k, expected):
        assert value(gs.Hit(k=k), [0, 1, 0]) == expected

    @pytest.mark.parametrize(
        ("s", "t", "r", "k"), [(0, 300, 7, 20), (5, 300, 1, 40), (2, 1000, 500, 5), (0, 300_000, 1, 1), (0, 9, 5, 5)]
    )
    def test_long_run_of_ties(self, s, t, r, k):
        labels = [0] * s + [1] * r + [0] * (t - r)
        scores = [*range(s + 1, 1, -1), *[1] * t]
        m = k - s
        expected = 1 - Fraction(comb(t - r, m), comb(t, m))
        assert value(gs.Hit(k=k), labels, scores) == pytest.approx(float(expected), rel=1e-12, abs=0)

    def test_is_certain_where_the_run_has_too_few_irrelevant_documents(self):
        assert value("hit@3", [1, 1, 0, 0], [0, 0, 0, 0]) == pytest.approx(1, rel=1e-15, abs=0)

    def test_documents_that_were_not_retrieved(self):
        assert value("hit", [0, 1], [1, NEVER]) == 0.0
