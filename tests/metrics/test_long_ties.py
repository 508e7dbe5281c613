"""ERR of ties of thousands of documents, in exact fractions. The other metrics: tests/differential."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np
import pytest
from tests.metrics.one_query import value

import gainwise as gw


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
