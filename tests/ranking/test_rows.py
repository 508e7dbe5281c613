"""Blocks of queries, and the order of their rows.

Every document is in exactly one cell, next to the documents of its own query. Rows are compared with np.lexsort, on
floats that differ only in their last bits.
"""

import itertools

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given, settings

from gainwise.ranking.rows import BLOCK_CELLS, SPARE_CELLS, Block, Layout, rank_block

TINY = 5e-324
INF = np.inf


def neighbours(value, steps):
    """Return adjacent floats."""
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

CODE_BITS = [2, 8, 16, 31]


def expected_row(scores, codes, bits, ties):
    """Return ranked codes and groups (start, length) of a row by np.lexsort. Scores of -inf are padding."""
    present = np.flatnonzero((codes >= 0) & (scores > -INF))
    second = {"order": present, "best": -codes[present]}.get(ties, codes[present])
    order = present[np.lexsort((second, -scores[present]))]
    groups, start = [], 0
    for _, equals in itertools.groupby(order, key=lambda at: scores[at] + 0.0):
        tied = [codes[at] for at in equals]
        if ties == "average" and len(set(tied)) > 1:
            groups.append((start, len(tied)))
        start += len(tied)
    return codes[order].tolist() + [(1 << bits) - 1] * (len(codes) - len(order)), groups


def assert_ranked(scores, codes, bits, ties="average", depth=None):
    """Compare `rank_block` with np.lexsort. Codes of padding are -1."""
    rows, width = codes.shape
    flat = scores.ravel().copy()
    block = Block(np.arange(rows), np.arange(rows) * width, np.full(rows, width), codes)
    parts = rank_block(block, flat, ties, (1 << bits) - 1, depth)
    np.testing.assert_array_equal(flat, scores.ravel())
    limit = width if depth is None else min(depth, width)
    assert sorted(np.concatenate([part.queries for part in parts]).tolist()) == list(range(rows))
    for part in parts:
        groups = part.tie_groups
        has_groups = [] if groups is None else groups.row.tolist()
        assert groups is None or set(has_groups) == set(range(len(part.queries)))
        for number, row in enumerate(part.queries.tolist()):
            ranked, expected = expected_row(scores[row], codes[row], bits, ties)
            assert part.codes[number].tolist() == ranked[: limit if groups is None else width]
            own = [at for at, owner in enumerate(has_groups) if owner == number]
            assert [(groups.before[at], groups.lengths[at]) for at in own] == [
                (start, length) for start, length in expected if start < limit
            ]


@st.composite
def rows_of_scores(draw, pool=ADVERSARIAL):
    """Rows of difficult scores with codes, some of them equal, and padding at the end."""
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


TIES = ["average", "order", "worst", "best"]


@settings(max_examples=80)
@given(rows_of_scores(), st.sampled_from(TIES), st.none() | st.integers(1, 14))
def test_any_floats_and_codes(data, ties, depth):
    assert_ranked(*data, ties, depth)


@st.composite
def rows_of_ties(draw):
    """Rows with few distinct scores: whole numbers, neighbours, or -inf, in widths that are sorted in either way."""
    width = draw(st.sampled_from([2, 5, 30, 300]))
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
@given(rows_of_ties(), st.sampled_from(TIES), st.sampled_from([None, 1, 2, 10, 29]))
def test_groups_that_cross_the_last_rank(data, ties, depth):
    assert_ranked(*data, ties, depth)


@pytest.mark.parametrize("bits", CODE_BITS)
def test_adversarial_floats_of_both_widths(bits):
    rng = np.random.default_rng(bits)
    for ties in TIES:
        scores = np.array([rng.permutation(ADVERSARIAL) for _ in range(20)])
        assert_ranked(scores, rng.integers(0, 2**bits - 1, scores.shape), bits, ties)
    narrow = np.float32([0, -0.0, 1, 1.0000001, -1, 1e-45, -1e-45, np.inf, -np.inf, 3e38])
    scores = rng.choice(narrow, (30, 20))
    assert_ranked(scores, rng.integers(0, 2**bits - 1, scores.shape), bits)


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("cut", [1, 10, 40])
def test_long_rows_that_differ_in_the_last_bits_only(cut, ties):
    """Adjacent groups with and without exact ties, in rows longer than a vector register."""
    rng = np.random.default_rng(cut)
    scores = (np.float64(1.0).view(np.int64) + rng.integers(0, 2**cut, (3, 700))).view(np.float64)
    scores[1] = np.repeat(scores[1, ::7], 7)
    codes = rng.integers(0, 5, scores.shape)
    codes[2, 400:] = -1
    assert_ranked(scores, codes, 3, ties)


SIZES_OF_QUERIES = st.lists(st.integers(0, 300), min_size=1, max_size=60).filter(any)


def make(sizes):
    """Return a layout, and distinct codes of the documents."""
    sizes = np.array(sizes, dtype=np.int64)
    codes = np.arange(sizes.sum()) % 5
    return Layout(sizes, codes.astype(np.int8), 5), codes


@given(SIZES_OF_QUERIES)
def test_each_query_with_documents_is_one_row_with_its_values_only(sizes):
    layout, codes = make(sizes)
    queries = np.concatenate([block.queries for block in layout.blocks])
    assert sorted(queries.tolist()) == [query for query, size in enumerate(sizes) if size > 0]
    starts = np.cumsum(sizes) - sizes
    values = np.arange(sum(sizes)) * 1.5
    for block in layout.blocks:
        cells = block.gather(values)
        for row, query in enumerate(block.queries):
            own = slice(starts[query], starts[query] + sizes[query])
            assert block.codes[row].tolist() == codes[own].tolist() + [-1] * (block.width - sizes[query])
            assert cells[row, : sizes[query]].tolist() == values[own].tolist()
        cells[:] = -1
    assert values.tolist() == (np.arange(sum(sizes)) * 1.5).tolist()


@given(st.lists(st.integers(1, 3 * BLOCK_CELLS), min_size=1, max_size=8))
@example([1, 1, 1, 2401, 4697])
def test_blocks_stay_small_unless_one_query_is_large(sizes):
    layout, _ = make(sizes)
    for block in layout.blocks:
        cells = len(block.queries) * int(block.sizes.max())
        padding = cells - block.sizes.sum()
        assert len(block.queries) == 1 or (cells <= BLOCK_CELLS and padding <= SPARE_CELLS)
        assert block.codes.size - cells <= 7 * len(block.queries)  # rows are widened to a multiple of eight


def test_queries_of_one_size_are_in_the_order_of_the_data():
    sizes = np.arange(4000) % 2 + 100
    layout, _ = make(sizes)
    assert len(layout.blocks) > 2
    queries = np.concatenate([block.queries for block in layout.blocks])
    for size in (100, 101):
        assert queries[sizes[queries] == size].tolist() == np.flatnonzero(sizes == size).tolist()
