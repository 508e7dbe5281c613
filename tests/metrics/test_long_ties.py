"""Expectations over ties of thousands of documents, in exact fractions."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from tests.metrics.one_query import value

import gainwise as gw


def tied(before, t, r):
    """Labels and scores: ranked labels, then t tied documents, r of them relevant."""
    return [*before, *[1] * r, *[0] * (t - r)], [*range(len(before) + 1, 1, -1), *[1] * t]


def expected_ap(before, t, r, k, denominator):
    """Compute the expectation from the number h of relevant documents among the m tied ranks within the cutoff."""
    hits = sum(before)
    start = sum((Fraction(sum(before[: i + 1]), i + 1) for i, relevant in enumerate(before) if relevant), Fraction(0))
    s, m = len(before), min(t, k - len(before))
    inverse = sum(Fraction(1, s + i) for i in range(1, m + 1))
    total = Fraction(0)
    for h in range(max(0, m - t + r), min(r, m) + 1):
        others = Fraction(h - 1, max(m - 1, 1)) * (m - (s + 1) * inverse)
        mean = start + Fraction(h, m) * ((hits + 1) * inverse + others)
        divisor = {"min_R_k": min(hits + r, k), "R": hits + r}[denominator]
        total += Fraction(comb(r, h) * comb(t - r, m - h), comb(t, m)) * mean / divisor
    return float(total)


@pytest.mark.parametrize("denominator", ["min_R_k", "R"])
@pytest.mark.parametrize(
    ("s", "t", "r", "k"), [(0, 200, 30, 150), (10, 500, 1, 100), (7, 1000, 400, 20), (0, 2000, 700, 1)]
)
def test_average_precision(s, t, r, k, denominator):
    before = [int(i % 3 == 0) for i in range(s)]
    found = value(gw.AP(denominator=denominator, k=k), *tied(before, t, r))
    assert found == pytest.approx(expected_ap(before, t, r, k, denominator), rel=1e-12, abs=0)


class TestERR:
    @pytest.mark.parametrize("k", [1, 3, 10])
    @pytest.mark.parametrize("lengths", [[1, 1], [3, 1, 2], [500, 300, 150, 40, 10], [52_000, 48_000]])
    def test_against_a_recursion_over_places(self, lengths, k):
        """The state is the number of documents left of each grade."""

        @functools.cache
        def expected(left, rank):
            if rank > k or not sum(left):
                return Fraction(0)
            total = Fraction(0)
            for grade, count in enumerate(left):
                if count:
                    stop = Fraction(2**grade - 1, 2**4)
                    rest = (*left[:grade], count - 1, *left[grade + 1 :])
                    total += Fraction(count, sum(left)) * (stop / rank + (1 - stop) * expected(rest, rank + 1))
            return total

        labels = np.repeat(np.arange(len(lengths)), lengths)
        found = value(gw.ERR(max_label=4, k=k), labels, np.zeros(len(labels)))
        assert found == pytest.approx(float(expected(tuple(lengths), 1)), rel=4e-15, abs=0)

    def test_a_run_too_long_to_average_has_a_worst_case(self):
        found = value("err(max_label=1,ties=worst)", [0, 1] * 5000, [0] * 10_000)
        assert found == pytest.approx(sum(0.5**i / (5000 + i) for i in range(1, 60)), rel=1e-12, abs=0)

    @pytest.mark.parametrize(("score", "rest"), [(0.0, [0, 0]), (-math.inf, [0, 1])], ids=["equal", "not retrieved"])
    def test_a_long_run_whose_order_does_not_matter(self, score, rest):
        found = value("err(max_label=1)", [0, 1, *rest * 5000], [2, 2, *[score] * 10_000])
        assert found == pytest.approx((1 / 2 + 1 / 2 / 2) / 2, rel=1e-15, abs=0)
