"""Every document is in exactly one cell, next to the documents of its own query."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
from hypothesis import example, given

from gainsay.ranking.layout import BLOCK_CELLS, SPARE_CELLS, Layout

sizes_of_queries = st.lists(st.integers(0, 300), min_size=1, max_size=60).filter(any)


def make(sizes):
    """Return a layout, and distinct codes of the documents."""
    sizes = np.array(sizes, dtype=np.int64)
    codes = np.arange(sizes.sum()) % 5
    return Layout(sizes, codes.astype(np.int8), 5), codes


@given(sizes_of_queries)
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
