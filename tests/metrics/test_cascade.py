"""Rank-biased precision and expected reciprocal rank."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np
import pytest
from tests.metrics.one_query import value

import gainsay as gs
from gainsay.metrics import cascade


class TestRBP:
    @pytest.mark.parametrize("p", [0.1, 0.5, 0.8, 0.95])
    def test_binary(self, p):
        assert value(gs.RBP(p=p), [0, 2, 0, 1]) == pytest.approx((1 - p) * (p + p**3), rel=1e-14, abs=0)

    def test_cutoff(self):
        assert value(gs.RBP(p=0.5, k=3), [0, 2, 0, 1]) == 0.5 * 0.5

    def test_graded_divides_by_the_highest_label_of_the_query(self):
        expected = (1 - 0.8) * (2 / 4 + 0.8**2 * 4 / 4)
        assert value(gs.RBP(gain="graded"), [2, 0, 4]) == pytest.approx(expected, rel=1e-14, abs=0)

    def test_graded_counts_labels_below_the_lowest_relevant_one(self):
        assert value(gs.RBP(gain="graded", min_label=4), [2, 0, 4]) == value(gs.RBP(gain="graded"), [2, 0, 4])

    def test_graded_highest_label_may_not_be_retrieved(self):
        found = value(gs.RBP(gain="graded", p=0.5), [1, 4], [1, float("-inf")])
        assert found == 0.5 * 1 / 4

    def test_graded_counts_negative_labels_as_0(self):
        assert value(gs.RBP(gain="graded", p=0.5), [-1, 2], negative_labels="allow") == 0.5 * 0.5

    def test_ties(self):
        assert value(gs.RBP(p=0.5), [0, 1], [1, 1]) == 0.5 * (1 / 2 + 1 / 2 * 0.5)

    def test_a_list_of_relevant_documents_tends_to_one(self):
        assert value(gs.RBP(p=0.5), [1] * 60) == pytest.approx(1 - 0.5**60, rel=1e-15, abs=0)

    @pytest.mark.parametrize("p", [0, 1])
    def test_p_strictly_between_0_and_1(self, p):
        with pytest.raises(ValueError, match=f"p must lie strictly between 0 and 1, got {p}"):
            gs.RBP(p=p)

    @pytest.mark.parametrize("p", [-0.1, 1.1, math.nan])
    def test_p_outside(self, p):
        with pytest.raises(ValueError, match="p must lie between 0 and 1"):
            gs.RBP(p=p)

    def test_unknown_gain(self):
        with pytest.raises(ValueError, match="gain must be one of 'binary', 'graded', got 'linear'"):
            gs.RBP(gain="linear")


def exact_err(runs, max_label, k):
    """ERR of runs of tied labels in exact fractions, by the elementary symmetric polynomials of 1 - stop."""
    total, reaches, rank = Fraction(0), Fraction(1), 0
    for run in runs:
        goes_on = [1 - Fraction(2**label - 1, 2**max_label) for label in run]
        sums = [Fraction(1)] + [Fraction(0)] * len(run)
        for count, factor in enumerate(goes_on, start=1):
            for j in range(count, 0, -1):
                sums[j] += factor * sums[j - 1]
        past = [reaches * sums[j] / math.comb(len(run), j) for j in range(len(run) + 1)]
        for j in range(1, len(run) + 1):
            rank += 1
            if k is None or rank <= k:
                total += (past[j - 1] - past[j]) / rank
        reaches = past[-1]
    return float(total)


class TestERR:
    def test_by_hand(self):
        stops = [3 / 8, 7 / 8]
        expected = stops[0] + (1 - stops[0]) * stops[1] / 2
        assert value(gs.ERR(max_label=3), [2, 3]) == pytest.approx(expected, rel=1e-15, abs=0)

    def test_cutoff(self):
        assert value(gs.ERR(max_label=3, k=1), [2, 3]) == 3 / 8

    def test_scale_is_not_guessed_from_the_labels(self):
        assert value(gs.ERR(max_label=4), [3]) == 7 / 16

    @pytest.mark.parametrize("k", [1, 5, 40, None])
    @pytest.mark.parametrize(("max_label", "labels"), [(4, (0, 1, 4)), (30, (0, 1, 2)), (30, (0, 29, 30))])
    def test_long_runs_of_ties(self, k, max_label, labels):
        rng = np.random.default_rng(max_label)
        runs = [rng.choice(labels, length).tolist() for length in (3, 60, 1, 25)]
        scores = [-at for at, run in enumerate(runs) for _ in run]
        found = value(gs.ERR(max_label=max_label, k=k), [label for run in runs for label in run], scores)
        assert found == pytest.approx(exact_err(runs, max_label, k), rel=1e-12, abs=0)

    @pytest.mark.parametrize("max_label", [50, 100, 1023])
    def test_low_grades_of_a_long_scale_keep_their_digits(self, max_label):
        expected = exact_err([[1], [0], [2]], max_label, None)
        assert value(gs.ERR(max_label=max_label), [1, 0, 2]) == pytest.approx(expected, rel=1e-14, abs=0)

    def test_low_grades_of_a_long_scale_keep_their_digits_in_ties(self):
        expected = exact_err([[1, 0, 2]], 100, None)
        assert value(gs.ERR(max_label=100), [1, 0, 2], [0, 0, 0]) == pytest.approx(expected, rel=1e-14, abs=0)

    @pytest.mark.parametrize(("labels", "shown"), [([0, 5], "5"), ([0, 4.5], "4.5")])
    def test_label_above_the_scale(self, labels, shown):
        with pytest.raises(
            ValueError, match=rf"err\(max_label=4\) has grades from 0 to 4, but there is a label {shown}"
        ):
            value(gs.ERR(max_label=4), labels)

    def test_negative_label(self):
        with pytest.raises(ValueError, match="there is a label -1"):
            value(gs.ERR(max_label=4), [-1, 2], negative_labels="allow")

    @pytest.mark.parametrize("max_label", [-1, 1024, math.nan])
    def test_scale_outside(self, max_label):
        with pytest.raises(ValueError, match="max_label must lie between 0 and 1023"):
            gs.ERR(max_label=max_label)

    def test_scale_has_no_default(self):
        with pytest.raises(TypeError, match="max_label"):
            gs.ERR()

    def test_run_too_long_to_average(self):
        labels = [0, 1] * 5000
        with pytest.raises(ValueError, match=r"10000 documents of one query have the same score; .* Give a cutoff"):
            value(gs.ERR(max_label=1), labels, [0] * 10_000)

    def test_run_too_long_to_average_beyond_the_cutoff(self, monkeypatch):
        monkeypatch.setattr(cascade, "MOST_PLACES", 2)
        found = value(gs.ERR(max_label=1, k=2), [1, 1, 1, 0, 1, 0, 1], [4, 3, 2, 2, 1, 1, 1])
        assert found == 1 / 2 + 1 / 2 * 1 / 2 / 2

    @pytest.mark.parametrize("k", [1, 3, 10])
    @pytest.mark.parametrize("lengths", [[1, 1], [3, 1, 2], [500, 300, 150, 40, 10], [1, 999_999], [520_000, 480_000]])
    def test_ties_of_any_length_against_a_recursion_over_places_in_exact_arithmetic(self, lengths, k):
        """The state is how many documents of each grade are left; every reachable one is visited."""

        @functools.cache
        def expected(left, rank):
            total = sum(left)
            if rank > k or not total:
                return Fraction(0)
            found = Fraction(0)
            for grade, count in enumerate(left):
                if count:
                    stop = Fraction(2**grade - 1, 2**4)
                    rest = (*left[:grade], count - 1, *left[grade + 1 :])
                    found += Fraction(count, total) * (stop / rank + (1 - stop) * expected(rest, rank + 1))
            return found

        labels = np.repeat(np.arange(len(lengths)), lengths)
        found = value(gs.ERR(max_label=4, k=k), labels, np.zeros(len(labels)))
        assert found == pytest.approx(float(expected(tuple(lengths), 1)), rel=4e-15, abs=0)

    @pytest.mark.parametrize("grades", [2, 5, 1000])
    @pytest.mark.parametrize("most", [1, 7, 64, 200])
    def test_groups_give_what_documents_one_by_one_give(self, grades, most):
        rng = np.random.default_rng(grades)
        run = np.repeat(np.arange(6), [200, 2, 37, 1, 150, 64])
        grade = rng.integers(0, grades, len(run))[np.lexsort((rng.random(len(run)), run))]
        stop = (2.0 ** (4 * np.sort(grade + run * grades) % (4 * grades) / grades) - 1) / 16
        expected = cascade.one_by_one(stop, run, most)
        np.testing.assert_allclose(cascade.by_groups(stop, run, most), expected, rtol=1e-13, atol=0)

    def test_run_too_long_to_average_has_a_value_in_the_worst_case(self):
        labels = [0, 1] * 5000
        found = value(gs.ERR(max_label=1, ties="worst"), labels, [0] * 10_000)
        expected = sum(0.5**i / (5000 + i) for i in range(1, 60))
        assert found == pytest.approx(expected, rel=1e-12, abs=0)

    @pytest.mark.parametrize("score", [0.0, float("-inf")], ids=["alike", "not retrieved"])
    def test_long_run_whose_order_does_not_matter(self, score):
        rest = [0] * 10_000 if score == 0 else [0, 1] * 5000
        found = value(gs.ERR(max_label=1), [0, 1, *rest], [2, 2, *[score] * 10_000])
        assert found == pytest.approx((1 / 2 + 1 / 2 / 2) / 2, rel=1e-15, abs=0)
