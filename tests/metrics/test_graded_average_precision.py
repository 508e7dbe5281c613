"""Graded average precision: examples worked out by hand, AP as its special case, and thresholds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.metrics.one_query import value

import gainsay as gs

NEVER = float("-inf")


HALVES = gs.GAP(thresholds=(0.5, 0.5))


class TestByHand:
    """With g_1 = g_2 = 1/2 a document of grade 1 counts 1/2, one of grade 2 counts 1, two together the lower."""

    def test_grades_1_2_0_1(self):
        sums = [1 / 2, (1 / 2 + 1) / 2, 0, (1 / 2 + 1 / 2 + 1 / 2) / 4]
        assert value(HALVES, [1, 2, 0, 1]) == sum(sums) / (1 / 2 + 1 + 1 / 2) == 0.8125

    def test_as_the_expectation_over_users(self):
        """One user calls ranks 1, 2 and 4 relevant, one rank 2 only: sums of precisions 11/4 and 1/2, R 3 and 1."""
        assert value(HALVES, [1, 2, 0, 1]) == (0.5 * 11 / 4 + 0.5 * 1 / 2) / (0.5 * 3 + 0.5 * 1)

    def test_unlikely_thresholds(self):
        """g_1 = 1/5, g_2 = 4/5."""
        expected = (0.2 * 11 / 4 + 0.8 * 1 / 2) / (0.2 * 3 + 0.8 * 1)
        assert value("gap(thresholds=0.2/0.8)", [1, 2, 0, 1]) == pytest.approx(expected, rel=1e-15, abs=0)

    def test_cutoff(self):
        """Of the two users' relevant documents 2 and 1 fit into two ranks; in all there are 3 and 1."""
        assert value("gap@2", [1, 2, 0, 1]) == (1 + (1 + 2) / 2) / (2 + 1)
        assert value("gap(denominator=R)@2", [1, 2, 0, 1]) == (1 + (1 + 2) / 2) / (3 + 1)

    def test_not_retrieved(self):
        assert value("gap", [1, 2, 0, 1], [3, 2, 1, NEVER]) == (1 + (1 + 2) / 2) / (1 + 2 + 1)

    def test_tie(self):
        """The orders 2 1 and 1 2 have 3/3 and 2.5/3."""
        assert value("gap", [2, 1], [0, 0]) == pytest.approx((3 / 3 + 2.5 / 3) / 2, rel=1e-15, abs=0)
        assert value("gap(ties=worst)", [2, 1], [0, 0]) == 2.5 / 3
        assert value("gap(ties=best)", [2, 1], [0, 0]) == 1

    def test_tie_below_others(self):
        """Above them grade 1: behind it 2 0 gives 1 + (1 + 2)/2, and 0 2 gives 1 + (1 + 2)/3."""
        expected = (1 + 3 / 2 + 1 + 3 / 3) / 2 / (1 + 2)
        assert value("gap", [1, 2, 0], [1, 0, 0]) == pytest.approx(expected, rel=1e-15, abs=0)


@pytest.mark.parametrize("k", [None, 1, 3, 10])
@pytest.mark.parametrize("ties", ["average", "order", "worst", "best"])
@pytest.mark.parametrize("denominator", ["min_R_k", "R"])
def test_binary_labels_make_it_average_precision(grouped, k, ties, denominator):
    data = grouped(5, grades=2, longest=60, not_retrieved=True)
    options = {"k": k, "ties": ties, "denominator": denominator}
    metrics = [gs.AP(**options), gs.GAP(**options), gs.GAP(thresholds=(3, 1), **options)]
    found = gs.evaluate(metrics, data.judgments, data.scores).per_query
    np.testing.assert_allclose(found[:, 1:], found[:, [0, 0]], rtol=1e-14, atol=0)


@pytest.mark.parametrize("grade", [1, 2, 4])
def test_one_threshold_makes_it_average_precision(grouped, grade):
    data = grouped(6)
    metrics = [gs.AP(min_label=grade), gs.GAP(thresholds=[0.0] * (grade - 1) + [1.0])]
    found = gs.evaluate(metrics, data.judgments, data.scores).per_query
    np.testing.assert_allclose(found[:, 1], found[:, 0], rtol=1e-14, atol=0)


def test_a_long_run_of_ties():
    """The 300 documents below 3 others are 100 of each grade 0, 1, 2; by thresholds, in exact fractions."""
    labels, scores = [2, 0, 1, *[0, 1, 2] * 100], [3, 2, 1, *[0] * 300]
    total, ideal = Fraction(0), 0
    for above, r in ([1, 0, 1], 200), ([1, 0, 0], 100):
        total += sum(Fraction(sum(above[:n]), n) * above[n - 1] for n in (1, 2, 3))
        for i in range(1, 301):
            total += Fraction(r, 300) * (sum(above) + 1 + Fraction((i - 1) * (r - 1), 299)) / (3 + i)
        ideal += sum(above) + r
    assert value("gap", labels, scores) == pytest.approx(float(total / ideal), rel=1e-13, abs=0)


class TestThresholds:
    def test_only_ratios_matter(self):
        for labels in ([1, 2, 0, 1], [0, 2, 2, 1, 1]):
            assert value("gap(thresholds=1/1)", labels) == value(HALVES, labels) == value("gap", labels)

    def test_labels_above_the_last_grade_count_as_it(self):
        assert value(HALVES, [0, 4, 1, 2]) == value(HALVES, [0, 2, 1, 2]) != value("gap", [0, 4, 1, 2])

    def test_fractions_count_as_the_grade_below(self):
        assert value("gap", [0.5, 2.9, 1.5]) == value("gap", [0, 2, 1])

    def test_negative_labels_that_are_allowed_are_not_relevant(self):
        assert value("gap", [-2, 2, 1], negative_labels="allow") == value("gap", [0, 2, 1])

    def test_a_query_that_reaches_no_threshold_is_empty(self):
        judgments = gs.Judgments([1, 0, 3, 0], group=[2, 2])
        found = gs.evaluate("gap(thresholds=0/1,empty=skip)", judgments, [2, 1, 2, 1]).per_query[:, 0]
        np.testing.assert_array_equal(found, [np.nan, 1])

    def test_weights(self):
        judgments = gs.Judgments([1, 0, 0, 1], group=[2, 2], weight=[3, 1])
        assert gs.evaluate("gap", judgments, [2, 1, 2, 1]).mean == {"gap": (3 * 1 + 1 * 1 / 2) / 4}

    @pytest.mark.parametrize("given", ["0.2/0.8", (0.2, 0.8), [0.2, 0.8], np.array([0.2, 0.8])])
    def test_forms(self, given):
        assert gs.GAP(thresholds=given) == gs.GAP(thresholds=(0.2, 0.8))
        assert str(gs.GAP(thresholds=given, k=3)) == "gap(thresholds=0.2/0.8)@3"

    @pytest.mark.parametrize(
        "bad", ["", "equals", "0.2//1", (), (0, 0), (-0.5, 1.5), (np.nan, 1), (np.inf,), None, [[1, 2]]]
    )
    def test_what_they_must_not_be(self, bad):
        with pytest.raises(ValueError, match="thresholds must be 'equal' or the probabilities of grades 1, 2, "):
            gs.GAP(thresholds=bad)

    def test_unknown_denominator(self):
        with pytest.raises(ValueError, match="denominator must be one of 'min_R_k', 'R', got 'hits'"):
            gs.GAP(denominator="hits")
