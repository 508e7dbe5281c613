"""Reciprocal rank, and its expectation over long runs of ties in exact fractions."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest
from tests.metrics.one_query import value

import gainsay as gs


@pytest.mark.parametrize(
    ("labels", "k", "expected"),
    [
        ([1, 0, 0], None, 1),
        ([0, 0, 1], None, 1 / 3),
        ([0, 0, 1], 2, 0),
        ([0, 0, 1], 3, 1 / 3),
        ([0, 1, 1], None, 1 / 2),
        ([0, 0, 0], None, 0),
    ],
)
def test_first_relevant_document(labels, k, expected):
    assert value(gs.RR(k=k), labels) == expected


def test_lowest_relevant_label():
    assert value(gs.RR(min_label=2), [1, 1, 2]) == 1 / 3


@pytest.mark.parametrize(
    ("s", "t", "r", "k"),
    [(0, 300, 7, None), (5, 300, 1, 40), (2, 1000, 500, None), (0, 300_000, 1, 1), (9, 200, 199, 9)],
)
def test_long_run_of_ties(s, t, r, k):
    labels = [0] * s + [1] * r + [0] * (t - r)
    scores = [*range(s + 1, 1, -1), *[1] * t]
    last = t - r + 1 if k is None else min(t - r + 1, k - s)
    expected = sum(Fraction(comb(t - i, r - 1), comb(t, r)) / (s + i) for i in range(1, last + 1))
    assert value(gs.RR(k=k), labels, scores) == pytest.approx(float(expected), rel=1e-12, abs=0)
