"""Labels by rank, runs of ties, and sums that do not depend on what is next to a row."""

from __future__ import annotations

import numpy as np
import pytest

from gainsay.ranking.layout import Layout
from gainsay.ranking.rows import blank_code, ideal_rows, rank_block, sums_at


def block_of(codes, levels=4):
    """A block of queries given by the codes of their documents."""
    sizes = np.array([len(row) for row in codes])
    (block,) = Layout(sizes, np.concatenate(codes).astype(np.int8), levels).blocks
    return block


def parts(codes, scores, ties="average", levels=4, depth=None):
    """Ranked rows, those with open ties by themselves."""
    scores = np.concatenate(scores).astype(np.float64)
    retrieved = bool((scores != -np.inf).all())
    return rank_block(block_of(codes, levels), scores, ties, levels, depth, all_retrieved=retrieved)


def rank(*arguments):
    (rows,) = parts(*arguments)
    return rows


def test_runs_are_ties_of_different_labels_only():
    rows = parts([[0, 1], [1, 0], [2, 2]], [[1, 1], [1, 0], [1, 1]])[-1]
    assert rows.tie_groups is not None
    tied = [int(rows.queries[start // rows.width]) for start in rows.tie_groups.starts]
    assert tied == [0]
    assert rank([[0, 1], [1, 0]], [[1, 2], [1, 0]]).tie_groups is None


@pytest.mark.parametrize(("depth", "tied"), [(1, [2]), (2, [1, 2]), (3, [0, 1, 2]), (None, [0, 1, 2])])
def test_only_ties_that_reach_the_first_ranks_stay_open(depth, tied):
    codes = [[0, 1, 2, 3]] * 4
    scores = [[4, 3, 2, 2], [3, 2, 2, 1], [2, 2, 1, 0], [4, 3, 2, 1]]
    found = parts(codes, scores, "average", 4, depth)
    open_, settled = [rows for rows in found if rows.tie_groups], [rows for rows in found if not rows.tie_groups]
    assert sorted(query for rows in found for query in rows.queries.tolist()) == [0, 1, 2, 3]
    assert all(rows.width == 4 for rows in open_)
    assert all(rows.width == (depth or 4) for rows in settled)
    reached = {int(rows.queries[start // rows.width]) for rows in open_ for start in rows.tie_groups.starts}
    assert sorted(reached) == tied


@pytest.mark.parametrize("ties", ["order", "worst", "best", "average"])
def test_blanks_after_the_documents_of_a_row(ties):
    blank = blank_code(4)
    rows = rank([[1], [3, 0]], [[1], [1, 2]], ties)
    assert rows.codes.tolist() == [[1, blank], [0, 3]]
    rows = rank([[3, 1, 2]], [[-np.inf, 1, -np.inf]], ties)
    assert rows.codes.tolist() == [[1, blank, blank]]
    assert rows.sizes.tolist() == [3]


@pytest.mark.parametrize("levels", [1, 2, 3, 255, 256, 65535, 65536])
@pytest.mark.parametrize("ties", ["order", "worst", "best", "average"])
def test_highest_code_survives_ranking(levels, ties):
    (block,) = Layout(np.array([2]), np.array([0, levels - 1]), levels).blocks
    (rows,) = rank_block(block, np.array([2.0, 1.0]), ties, levels, all_retrieved=True)
    assert rows.codes.tolist() == [[0, levels - 1]]
    assert blank_code(levels) >= levels


@pytest.mark.parametrize("levels", [1, 2, 4, 255, 256])
def test_at_least_finds_neither_lower_codes_nor_blanks(levels):
    all_codes = np.arange(levels)
    (block,) = Layout(np.array([levels, 1]), np.append(all_codes, 0), levels).blocks[-1:]
    (rows,) = rank_block(block, np.append(-all_codes, 0).astype(float), "order", levels, all_retrieved=True)
    row = rows.queries.tolist().index(0)
    for code in range(levels + 1):
        expected = [own >= code for own in all_codes] + [False] * (rows.width - levels)
        assert rows.at_least(code, levels)[row].tolist() == expected


def test_ideal_rows():
    blank = blank_code(4)
    assert ideal_rows(block_of([[0, 3, 1, 3]]), 4).codes.tolist() == [[3, 3, 1, 0]]
    by = np.array([3, 0, 2, 1])  # code 0 is worth most, then 2, then 3, then 1
    assert ideal_rows(block_of([[0, 1, 2, 3]]), 4, by).codes.tolist() == [[0, 2, 3, 1]]
    assert ideal_rows(block_of([[1], [0, 2, 3]]), 4, by).codes.tolist() == [[1, blank, blank], [0, 2, 3]]


class TestSums:
    def test_at_cutoffs(self):
        values = np.array([[1.0, 2.0, 4.0, 8.0], [16.0, 32.0, 64.0, 128.0]])
        assert sums_at(values, [1, 3, None, 9]).tolist() == [[1, 7, 15, 15], [16, 112, 240, 240]]

    @pytest.mark.parametrize("width", [1, 2, 7, 8, 9, 100, 127, 128, 129, 500, 16384, 16385, 20000])
    @pytest.mark.parametrize("more", [0, 1, 7, 200, 30000])
    def test_appended_zeros_and_other_rows_change_no_bit(self, width, more):
        values = np.random.default_rng(width).normal(size=(20, width))
        padded = np.hstack((values[7:10], np.zeros((3, more))))
        cutoffs = [None, 1, 5, 150]
        assert np.array_equal(sums_at(values, cutoffs)[7:10], sums_at(padded, cutoffs))
