"""The order of rows against np.lexsort, on floats chosen to defeat an order that looks at most bits only."""

from __future__ import annotations

import itertools

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from gainsay.ranking.order import LARGEST_PAYLOAD, NOT_RETRIEVED, Payload, descending_keys, rank_rows

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


def assert_ranked(scores, codes, bits, by_place=False):
    """Compare `rank_rows` with np.lexsort; a code is -1 where a row has no document."""
    found, runs = rank_rows(descending_keys(scores), Payload.of(codes, bits, by_place=by_place))
    blank = (1 << bits) - 1
    expected_runs = []
    for row in range(len(scores)):
        present = np.flatnonzero(codes[row] >= 0)
        order = present[np.lexsort((present if by_place else codes[row, present], -scores[row, present]))]
        expected = codes[row, order].tolist() + [blank] * (codes.shape[1] - len(order))
        assert found[row].tolist() == expected
        start = 0
        for _, equals in itertools.groupby(order, key=lambda at, row=row: scores[row, at] + 0.0):
            tied = [codes[row, at] for at in equals]
            if len(set(tied)) > 1:
                expected_runs.append((row * codes.shape[1] + start, len(tied)))
            start += len(tied)
    if not by_place:
        assert list(zip(runs.starts.tolist(), runs.lengths.tolist(), strict=True)) == expected_runs


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


@settings(max_examples=400)
@given(rows_of_scores(), st.booleans())
def test_any_floats_and_codes(data, by_place):
    assert_ranked(*data, by_place)


@pytest.mark.parametrize("by_place", [False, True])
@pytest.mark.parametrize("bits", CODE_BITS)
def test_all_adversarial_floats_side_by_side(bits, by_place):
    rng = np.random.default_rng(bits)
    scores = np.array([rng.permutation(ADVERSARIAL) for _ in range(20)])
    codes = rng.integers(0, 2**bits - 1, scores.shape)
    assert_ranked(scores, codes, bits, by_place)


@pytest.mark.parametrize("bits", CODE_BITS)
def test_neighbours_whose_codes_pull_the_other_way(bits):
    scores = np.array([neighbours(1.0, 3)])
    codes = np.array([[2, 0, 1, 0]])
    assert_ranked(scores, codes, bits)


@pytest.mark.parametrize("bits", CODE_BITS)
def test_hidden_difference_beside_a_tie_in_another_row(bits):
    scores = np.array([[1.0, np.nextafter(1.0, 2), 1.0], [5.0, 5.0, 3.0], [3.0, 2.0, 1.0]])
    codes = np.array([[0, 2, 1], [1, 0, 2], [0, 1, 2]])
    assert_ranked(scores, codes, bits)


def test_zeros_of_both_signs_are_one_score():
    assert_ranked(np.array([[0.0, -0.0, 0.0, -0.0]]), np.array([[3, 2, 1, 0]]), 3)


def test_float32_scores():
    rng = np.random.default_rng(1)
    scores = rng.choice(np.float32([0, -0.0, 1, 1.0000001, -1, 1e-45, -1e-45, np.inf, -np.inf, 3e38]), (30, 20))
    assert_ranked(scores, rng.integers(0, 6, scores.shape), 3)


def test_keys_ascend_where_scores_descend():
    descending = np.unique(np.array(ADVERSARIAL))[::-1]
    assert (np.diff(descending_keys(descending).astype(object)) > 0).all()


def test_equal_scores_have_equal_keys():
    assert len(np.unique(descending_keys(np.array([0.0, -0.0])))) == 1


def test_key_of_a_document_that_was_not_retrieved_is_the_last():
    keys = descending_keys(np.array([-INF, np.finfo(np.float64).min]))
    assert keys[0] == NOT_RETRIEVED > keys[1]


def test_no_run_where_equal_scores_have_equal_codes():
    _, runs = rank_rows(descending_keys(np.array([[1.0, 1.0, 0.0]])), Payload.of(np.array([[2, 2, 1]]), 2))
    assert len(runs) == 0


def test_scores_are_left_as_they_are():
    scores = np.array([[1.0, 3.0, 2.0]])
    rank_rows(descending_keys(scores), Payload.of(np.array([[0, 1, 2]]), 2))
    assert scores.tolist() == [[1.0, 3.0, 2.0]]


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


def test_more_bits_than_a_key_can_spare():
    with pytest.raises(ValueError, match="too many documents and labels to rank: 4 documents, codes of 49 bits"):
        Payload.of(np.zeros((1, 4), dtype=np.int64), LARGEST_PAYLOAD - 2)
