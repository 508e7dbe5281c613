"""Expectations over ties of thousands of documents, in exact fractions."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from tests.metrics.one_query import value

import gainsay as gs
from gainsay.metrics import cascade


def tied(before, t, r):
    """Labels and scores: ranked labels, then t tied documents, r of them relevant."""
    return [*before, *[1] * r, *[0] * (t - r)], [*range(len(before) + 1, 1, -1), *[1] * t]


def expected_ap(before, t, r, k, denominator):
    """The expectation by the number h of relevant documents among the m tied places within the cutoff."""
    hits = sum(before)
    start = sum((Fraction(sum(before[: i + 1]), i + 1) for i, relevant in enumerate(before) if relevant), Fraction(0))
    s, m = len(before), min(t, k - len(before))
    inverse = sum(Fraction(1, s + i) for i in range(1, m + 1))
    total = Fraction(0)
    for h in range(max(0, m - t + r), min(r, m) + 1):
        others = Fraction(h - 1, max(m - 1, 1)) * (m - (s + 1) * inverse)
        mean = start + Fraction(h, m) * ((hits + 1) * inverse + others)
        divisor = {"min_R_k": min(hits + r, k), "R": hits + r, "hits": max(hits + h, 1)}[denominator]
        total += Fraction(comb(r, h) * comb(t - r, m - h), comb(t, m)) * mean / divisor
    return float(total)


@pytest.mark.parametrize("denominator", ["min_R_k", "R", "hits"])
@pytest.mark.parametrize(
    ("s", "t", "r", "k"),
    [
        (0, 200, 30, 150),
        (10, 500, 1, 100),
        (5, 300, 299, 200),
        (7, 1000, 400, 20),
        (3, 150, 60, 153),
        (0, 2000, 700, 1),
    ],
)
def test_average_precision(s, t, r, k, denominator):
    before = [int(i % 3 == 0) for i in range(s)]
    found = value(gs.AP(denominator=denominator, k=k), *tied(before, t, r))
    assert found == pytest.approx(expected_ap(before, t, r, k, denominator), rel=1e-12, abs=0)


def by_place(labels, scores, k):
    """The expectation of every place of every run in exact fractions, added up exactly."""
    terms, before, hits = [], 0, 0
    for score in np.unique(scores)[::-1]:
        tied = labels[scores == score]
        t, r = len(tied), int(tied.sum())
        for i in range(1, t + 1):
            if before + i <= k and r:
                terms.append(Fraction(r, t) * (hits + 1 + Fraction((i - 1) * (r - 1), max(t - 1, 1))) / (before + i))
        before, hits = before + t, hits + r
    return math.fsum(map(float, terms)) / min(hits, k)


@pytest.mark.parametrize("k", [1, 10, 100, 3000])
@pytest.mark.parametrize("levels", [1, 3, 40, 1000])
@pytest.mark.parametrize("share", [0.001, 0.3, 0.9])
def test_average_precision_place_by_place(levels, share, k):
    rng = np.random.default_rng(levels)
    labels, scores = (rng.random(3000) < share).astype(int), rng.integers(0, levels, 3000)
    labels[0] = 1
    assert value(gs.AP(k=k), labels, scores) == pytest.approx(by_place(labels, scores, k), rel=1e-13, abs=1e-15)


def test_graded_average_precision():
    """Three documents come before 100 of each grade 0, 1, 2. The expectation is the sum over the two thresholds."""
    labels, scores = [2, 0, 1, *[0, 1, 2] * 100], [3, 2, 1, *[0] * 300]
    total, ideal = Fraction(0), 0
    for above, r in ([1, 0, 1], 200), ([1, 0, 0], 100):
        total += sum(Fraction(sum(above[:n]), n) * above[n - 1] for n in (1, 2, 3))
        for i in range(1, 301):
            total += Fraction(r, 300) * (sum(above) + 1 + Fraction((i - 1) * (r - 1), 299)) / (3 + i)
        ideal += sum(above) + r
    assert value("gap", labels, scores) == pytest.approx(float(total / ideal), rel=1e-13, abs=0)


@pytest.mark.parametrize("k", [600, 1999])
def test_average_precision_per_hit_of_two_thousand(k):
    found = value(gs.AP(denominator="hits", k=k), *tied([], 2000, 700))
    assert found == pytest.approx(expected_ap([], 2000, 700, k, "hits"), rel=1e-9)


def test_average_precision_of_ties_at_the_end_of_a_hundred_thousand():
    labels, scores = np.zeros(100_000, dtype=int), np.arange(100_000)[::-1].copy()
    labels[[-1, -3]] = 1
    scores[-4:] = -1
    expected = sum(Fraction(1, 2) * (1 + Fraction(i - 1, 3)) / (99_996 + i) for i in range(1, 5)) / 2
    assert value("map", labels, scores) == pytest.approx(float(expected), rel=0, abs=1e-16)


@pytest.mark.parametrize(
    ("s", "t", "r", "k"),
    [(0, 300, 7, 320), (5, 300, 1, 40), (2, 1000, 500, 5), (0, 300_000, 1, 1), (9, 200, 199, 11), (0, 9, 5, 5)],
)
def test_first_relevant_document(s, t, r, k):
    labels, scores = tied([0] * s, t, r)
    m = min(k - s, t)
    expected = sum(Fraction(comb(t - i, r - 1), comb(t, r)) / (s + i) for i in range(1, min(t - r + 1, m) + 1))
    assert value(gs.RR(k=k), labels, scores) == pytest.approx(float(expected), rel=1e-12, abs=0)
    expected = 1 - Fraction(comb(t - r, m), comb(t, m))
    assert value(gs.Hit(k=k), labels, scores) == pytest.approx(float(expected), rel=1e-12, abs=0)


class TestERR:
    @pytest.mark.parametrize("k", [1, 3, 10])
    @pytest.mark.parametrize("lengths", [[1, 1], [3, 1, 2], [500, 300, 150, 40, 10], [1, 99_999], [52_000, 48_000]])
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
        found = value(gs.ERR(max_label=4, k=k), labels, np.zeros(len(labels)))
        assert found == pytest.approx(float(expected(tuple(lengths), 1)), rel=4e-15, abs=0)

    @pytest.mark.parametrize("grades", [2, 5, 1000])
    @pytest.mark.parametrize("most", [1, 64, 200])
    def test_both_ways_to_average_give_the_same(self, grades, most):
        rng = np.random.default_rng(grades)
        run = np.repeat(np.arange(6), [200, 2, 37, 1, 150, 64])
        grade = rng.integers(0, grades, len(run))
        stop = (2.0 ** (4 * np.sort(grade + run * grades) % (4 * grades) / grades) - 1) / 16
        expected = cascade.one_by_one(stop, run, most)
        np.testing.assert_allclose(cascade.by_groups(stop, run, most), expected, rtol=1e-13, atol=0)

    def test_a_run_too_long_to_average_beyond_the_cutoff(self, monkeypatch):
        monkeypatch.setattr(cascade, "MAX_PLACES", 2)
        found = value(gs.ERR(max_label=1, k=2), [1, 1, 1, 0, 1, 0, 1], [4, 3, 2, 2, 1, 1, 1])
        assert found == 1 / 2 + 1 / 2 * 1 / 2 / 2

    def test_a_run_too_long_to_average_has_a_worst_case(self):
        found = value("err(max_label=1,ties=worst)", [0, 1] * 5000, [0] * 10_000)
        assert found == pytest.approx(sum(0.5**i / (5000 + i) for i in range(1, 60)), rel=1e-12, abs=0)

    @pytest.mark.parametrize(("score", "rest"), [(0.0, [0, 0]), (-math.inf, [0, 1])], ids=["equal", "not retrieved"])
    def test_a_long_run_whose_order_does_not_matter(self, score, rest):
        found = value("err(max_label=1)", [0, 1, *rest * 5000], [2, 2, *[score] * 10_000])
        assert found == pytest.approx((1 / 2 + 1 / 2 / 2) / 2, rel=1e-15, abs=0)
