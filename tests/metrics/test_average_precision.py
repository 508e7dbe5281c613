"""Average precision: denominators, relevance, and long runs of ties in exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from tests.metrics.one_query import value

import gainsay as gs
from gainsay.metrics.average_precision import HarmonicNumbers

LABELS = [0, 1, 1, 0, 1, 1]


@pytest.mark.parametrize(
    ("denominator", "k", "expected"),
    [
        ("min_R_k", None, (1 / 2 + 2 / 3 + 3 / 5 + 4 / 6) / 4),
        ("R", None, (1 / 2 + 2 / 3 + 3 / 5 + 4 / 6) / 4),
        ("hits", None, (1 / 2 + 2 / 3 + 3 / 5 + 4 / 6) / 4),
        ("min_R_k", 3, (1 / 2 + 2 / 3) / 3),
        ("R", 3, (1 / 2 + 2 / 3) / 4),
        ("hits", 3, (1 / 2 + 2 / 3) / 2),
        ("min_R_k", 1, 0),
        ("hits", 1, 0),
        ("min_R_k", 99, (1 / 2 + 2 / 3 + 3 / 5 + 4 / 6) / 4),
    ],
)
def test_denominators(denominator, k, expected):
    assert value(gs.AP(denominator=denominator, k=k), LABELS) == pytest.approx(expected, rel=1e-15, abs=0)


@pytest.mark.parametrize(("denominator", "expected"), [("min_R_k", 1 / 2 / 2), ("R", 1 / 2 / 2), ("hits", 1 / 2 / 1)])
def test_documents_that_were_not_retrieved_count_for_r_but_not_for_hits(denominator, expected):
    found = value(gs.AP(denominator=denominator), [0, 1, 1], [2, 1, float("-inf")])
    assert found == expected


@pytest.mark.parametrize(("min_label", "expected"), [(1, 1.0), (2, 1 / 2), (0.5, 1.0), (0, 1.0)])
def test_lowest_relevant_label(min_label, expected):
    assert value(gs.AP(min_label=min_label), [1, 2, 0], [3, 2, 1]) == expected


def test_no_label_is_high_enough():
    assert value(gs.AP(min_label=9), [1, 2, 0]) == 0.0


def long_run(s, t, r):
    """Labels and scores: s documents with distinct scores, each third relevant, then t tied ones, r relevant."""
    before = [int(i % 3 == 0) for i in range(s)]
    scores = [*range(s + 1, 1, -1), *[1] * t]
    return before + [1] * r + [0] * (t - r), scores, before


def precisions(before):
    """The sum of precisions at relevant ranks, and the number of these."""
    hits, total = 0, Fraction(0)
    for rank, relevant in enumerate(before, start=1):
        hits += relevant
        total += Fraction(hits, rank) * relevant
    return total, hits


def expected_given(h, m, s, earlier):
    """The expected sum of precisions on m places behind rank s, h of them relevant, chosen evenly."""
    return sum(
        Fraction(h, m) * (earlier + 1 + Fraction((i - 1) * (h - 1), max(m - 1, 1))) / (s + i) for i in range(1, m + 1)
    )


CASES = [(0, 200, 30, 150), (10, 500, 1, 100), (5, 300, 299, 200), (7, 1000, 400, 20), (3, 150, 60, None)]


@pytest.mark.parametrize(("s", "t", "r", "k"), CASES)
@pytest.mark.parametrize("denominator", ["min_R_k", "R"])
def test_long_run_of_ties(s, t, r, k, denominator):
    labels, scores, before = long_run(s, t, r)
    total, hits = precisions(before)
    places = min(t, (s + t if k is None else k) - s)
    for i in range(1, places + 1):
        total += Fraction(r, t) * (hits + 1 + Fraction((i - 1) * (r - 1), t - 1)) / (s + i)
    relevant = hits + r
    divisor = relevant if denominator == "R" or k is None else min(relevant, k)
    found = value(gs.AP(denominator=denominator, k=k), labels, scores)
    assert found == pytest.approx(float(total / divisor), rel=1e-12, abs=0)


@pytest.mark.parametrize(("s", "t", "r", "k"), CASES)
def test_long_run_of_ties_divided_by_hits(s, t, r, k):
    labels, scores, before = long_run(s, t, r)
    total, hits = precisions(before)
    m = min(t, (s + t if k is None else k) - s)
    expected = sum(
        Fraction(comb(r, h) * comb(t - r, m - h), comb(t, m))
        * (total + expected_given(h, m, s, hits))
        / max(hits + h, 1)
        for h in range(max(0, m - t + r), min(r, m) + 1)
    )
    assert value(gs.AP(denominator="hits", k=k), labels, scores) == pytest.approx(float(expected), rel=1e-12, abs=0)


def test_unknown_denominator():
    with pytest.raises(ValueError, match="got 'min_r_k'; did you mean 'min_R_k'"):
        gs.AP(denominator="min_r_k")


@pytest.mark.parametrize("min_label", ["1", None, True])
def test_lowest_label_must_be_a_number(min_label):
    with pytest.raises(TypeError, match="min_label must be a number"):
        gs.AP(min_label=min_label)


def test_lowest_label_must_not_be_nan():
    with pytest.raises(ValueError, match="min_label must not be NaN, got nan"):
        gs.AP(min_label=float("nan"))


def by_place(labels, scores, k):
    """AP of one query, the expectation of every place of every run worked out and added up exactly."""
    terms, before, hits = [], 0, 0
    for score in np.unique(scores)[::-1]:
        tied = labels[scores == score]
        t, r = len(tied), int((tied >= 1).sum())
        for i in range(1, t + 1):
            if before + i <= k and r:
                slope = Fraction(r - 1, t - 1) if t > 1 else Fraction(0)
                terms.append(Fraction(r, t) * (hits + 1 + (i - 1) * slope) / (before + i))
        before, hits = before + t, hits + r
    return math.fsum(map(float, terms)) / min(hits, k)


@pytest.mark.parametrize("k", [1, 10, 100, 3000])
@pytest.mark.parametrize("levels", [1, 3, 40, 1000])
@pytest.mark.parametrize("share", [0.001, 0.3, 0.9])
def test_long_runs_place_by_place(levels, share, k):
    rng = np.random.default_rng(levels)
    labels, scores = (rng.random(3000) < share).astype(int), rng.integers(0, levels, 3000)
    labels[0] = 1
    assert value(gs.AP(k=k), labels, scores) == pytest.approx(by_place(labels, scores, k), rel=1e-13, abs=1e-15)


def test_relevant_documents_in_a_run_at_the_very_end():
    labels, scores = np.zeros(100_000, dtype=int), np.arange(100_000)[::-1].copy()
    labels[[-1, -3]] = 1
    scores[-4:] = -1
    expected = sum(Fraction(1, 2) * (1 + Fraction(i - 1, 3)) / (99_996 + i) for i in range(1, 5)) / 2
    assert value("map", labels, scores) == pytest.approx(float(expected), rel=0, abs=1e-16)


def test_harmonic_numbers_keep_their_digits():
    harmonic = HarmonicNumbers.up_to(20_000)
    for s, e in [(0, 1), (0, 20_000), (1, 2), (19_998, 20_000), (10_000, 10_003), (7, 19_999), (5, 5)]:
        expected = sum((Fraction(1, n) for n in range(s + 1, e + 1)), Fraction(0))
        found = harmonic.between(np.array([s]), np.array([e]))[0]
        assert found == pytest.approx(float(expected), rel=4e-16, abs=0)
