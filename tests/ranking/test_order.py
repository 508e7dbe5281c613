"""The order of rows against np.lexsort, on floats chosen to defeat an order that looks at most bits only."""

from __future__ import annotations

import itertools

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from gainsay.ranking.order import NARROW, rank_rows
from gainsay.ranking.packing import Payload

TINY = 5e-324
INF = np.inf


def neighbours(value, steps):
    """Floats that follow one another bit by bit."""
    found = [value]
    for _ in range(steps):
        found.append(np.nextafter(found[-1], INF))
    return found


ADVERSARIAL = [
    *(0.0, -0.0, TINY, -TINY, 2 * TINY, 2.2250738585072014e-308, -2.2250738585072014e-308),
    *(INF, -INF, np.finfo(np.float64).max, np.finfo(np.float64).min),
    *neighbours(1.0, 5),
    *neighbours(-1.0, 5),
    *neighbours(2.0**-1030, 3),
    *neighbours(np.nextafter(2.0, 0), 2),
    *neighbours(1e300, 3),
    *(np.nextafter(INF, 0), np.nextafter(-INF, 0)),
]

CODE_BITS = [2, 8, 16, 33, 45]


def expected_row(scores, codes, bits, by_place):
    """Codes in ranked order and the runs, as (start, length), of one row by np.lexsort; -inf stands for no document."""
    present = np.flatnonzero((codes >= 0) & (scores > -INF))
    order = present[np.lexsort((present if by_place else codes[present], -scores[present]))]
    runs, start = [], 0
    for _, equals in itertools.groupby(order, key=lambda at: scores[at] + 0.0):
        tied = [codes[at] for at in equals]
        if len(set(tied)) > 1:
            runs.append((start, len(tied)))
        start += len(tied)
    return codes[order].tolist() + [(1 << bits) - 1] * (len(codes) - len(order)), runs


def assert_ranked(scores, codes, bits, by_place=False, depth=None):
    """Compare `rank_rows` with np.lexsort; a code is -1 where a row has no document."""
    kept = scores.copy()
    found = rank_rows(scores, Payload.of(codes, bits, by_place=by_place), depth, find_ties=not by_place)
    assert np.array_equal(scores, kept)
    rows, width = codes.shape
    limit = width if depth is None else min(depth, width)
    assert found.codes.shape == (rows, limit)
    expected = [expected_row(scores[row], codes[row], bits, by_place) for row in range(rows)]
    assert found.codes.tolist() == [ranked[:limit] for ranked, _ in expected]
    if by_place:
        assert len(found.tied) == len(found.tie_groups) == 0
        return
    tied = found.tied.tolist()
    for row, codes_of_row in zip(tied, found.tied_codes.tolist(), strict=False):
        ranked, own = expected[row]
        reach = max([limit, *(start + length for start, length in own if start < limit)])
        assert codes_of_row[:reach] == ranked[:reach]
    runs = [(row, start, length) for row, (_, own) in enumerate(expected) for start, length in own if start < limit]
    starts = found.tie_groups.starts.tolist()
    places = [(tied[start // width], start % width) for start in starts]
    assert [(*place, length) for place, length in zip(places, found.tie_groups.lengths.tolist(), strict=True)] == runs


@st.composite
def rows_of_scores(draw, pool=ADVERSARIAL):
    """Rows of adversarial scores with codes, some of them equal, and padding on the right."""
    width = draw(st.integers(1, 12))
    rows = draw(st.integers(1, 4))
    bits = draw(st.sampled_from(CODE_BITS))
    distinct = draw(st.integers(1, 2**bits - 1))
    choose = st.sampled_from(pool) if draw(st.booleans()) else st.floats(allow_nan=False)
    scores = [draw(st.lists(choose, min_size=width, max_size=width)) for _ in range(rows)]
    codes = [draw(st.lists(st.integers(0, distinct - 1), min_size=width, max_size=width)) for _ in range(rows)]
    lengths = [draw(st.integers(1, width)) for _ in range(rows)]
    padded = np.where(np.arange(width) < np.array(lengths)[:, None], codes, -1)
    return np.array(scores), padded, bits


@settings(max_examples=80)
@given(rows_of_scores(), st.booleans(), st.none() | st.integers(1, 14))
def test_any_floats_and_codes(data, by_place, depth):
    assert_ranked(*data, by_place, depth)


@st.composite
def rows_of_ties(draw):
    """Rows with few distinct scores: whole numbers, neighbours, or -inf, in widths that are sorted in either way."""
    width = draw(st.sampled_from([2, 5, 30, NARROW, NARROW + 1, 2 * NARROW + 3]))
    rows = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    distinct = draw(st.integers(1, 2 * width))
    pool = rng.permutation(np.concatenate([neighbours(1.0, distinct // 2), np.arange(distinct - distinct // 2)]))
    if draw(st.booleans()):
        pool[0] = -INF
    if draw(st.booleans()):
        pool = pool.astype(np.float32)
    share = draw(st.sampled_from([0.0, 0.5, 0.98]))
    scores = np.where(rng.random((rows, width)) < share, pool[-1], rng.choice(pool, (rows, width)))
    codes = rng.integers(0, draw(st.integers(1, 5)), (rows, width))
    codes[np.arange(width) >= rng.integers(1, width + 1, rows)[:, None]] = -1
    return scores.astype(pool.dtype), codes, draw(st.sampled_from([3, 9, 20]))


@settings(max_examples=80)
@given(rows_of_ties(), st.booleans(), st.sampled_from([None, 1, 2, 10, 29, NARROW, NARROW + 1]))
def test_runs_that_cross_the_last_rank(data, by_place, depth):
    assert_ranked(*data, by_place, depth)


@pytest.mark.parametrize("by_place", [False, True])
@pytest.mark.parametrize("width", [6, NARROW + 6])
def test_a_hidden_difference_behind_the_last_rank(width, by_place):
    """The better documents have the higher codes, and agree with the others but for the bits that are cut."""
    scores = np.full((1, width), 1.0)
    scores[0, -2:] = np.nextafter(1.0, 2)
    codes = np.zeros((1, width), dtype=np.int64)
    codes[0, -2:] = [1, 2]
    assert_ranked(scores, codes, 2, by_place, depth=2)


@pytest.mark.parametrize("bits", CODE_BITS)
def test_adversarial_floats_of_both_widths(bits):
    rng = np.random.default_rng(bits)
    for by_place in (False, True):
        scores = np.array([rng.permutation(ADVERSARIAL) for _ in range(20)])
        assert_ranked(scores, rng.integers(0, 2**bits - 1, scores.shape), bits, by_place)
    narrow = np.float32([0, -0.0, 1, 1.0000001, -1, 1e-45, -1e-45, np.inf, -np.inf, 3e38])
    scores = rng.choice(narrow, (30, 20))
    assert_ranked(scores, rng.integers(0, 2**bits - 1, scores.shape), bits)


@pytest.mark.parametrize("by_place", [False, True])
@pytest.mark.parametrize("cut", [1, 10, 40])
def test_long_rows_that_differ_in_the_last_bits_only(cut, by_place):
    """Runs with and without true ties side by side, in rows longer than any single instruction's reach."""
    rng = np.random.default_rng(cut)
    scores = (np.float64(1.0).view(np.int64) + rng.integers(0, 2**cut, (3, 700))).view(np.float64)
    scores[1] = np.repeat(scores[1, ::7], 7)
    codes = rng.integers(0, 5, scores.shape)
    codes[2, 400:] = -1
    assert_ranked(scores, codes, 3, by_place)
