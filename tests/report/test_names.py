"""One model has one short name throughout a report, whatever the order in which models come."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gainsay._common.shown import Names, short_names


@given(st.lists(st.text(st.sampled_from("ab12.-e, …#="), max_size=40), unique=True, max_size=6), st.randoms())
def test_any_names_in_any_order(names, random):
    found = short_names(names)
    shuffled = random.sample(names, len(names))
    assert short_names(shuffled) == found
    assert list(short_names(shuffled)) == shuffled
    assert len(set(found.values())) == len(names)
    assert all(len(short) <= 28 for short in found.values())


@pytest.mark.parametrize(
    ("names", "most"),
    [
        (["lightgbm with rate -0.5", "lightgbm with rate -0.25"], 12),  # "…0.5" was the one, a sign short
        (["threshold of n=1,000", "threshold of n=1,500"], 12),  # "…000"
        (["regularised by a=.05", "regularised by a=.07"], 12),
        (["learning rate 1e-3", "learning rate 1e-4"], 10),
        (["learning rate \u22120.3", "learning rate \u22120.4"], 10),
        (["x" * 30 + "12345678", "y" * 30 + "12345679"], 12),
    ],
)
def test_no_number_is_broken(names, most):
    numbers = re.compile(r"[-\u2212]?\.?\d[\d.,]*(?:e-?\d+)?")
    for name, short in short_names(names, most).items():
        assert set(numbers.findall(short.partition(" #")[0])) <= set(numbers.findall(name)), short


GRID = [
    f"lgb num_leaves={leaves} learning_rate={rate} gain={gain}"
    for leaves in (7, 31)
    for rate in (0.05, 0.1)
    for gain in ("linear", "exponential")
]


class TestGrids:
    def test_only_what_differs_has_a_column(self):
        names = Names.of(GRID)
        assert names.heads == (("leaves", "num_leaves"), ("rate", "learning_rate"), ("gain", "gain"))
        assert names.alike == "all lgb"
        assert names.cells[GRID[0]] == ("7", "0.05", "lin")
        assert names.short[GRID[3]] == "7 · 0.1 · exp"
        assert names.said[GRID[3]] == "7 leaves, rate 0.1, exponential gain"

    @given(st.lists(st.sampled_from([*GRID, "base", "lgb num_leaves=7 @3"]), unique=True, min_size=1), st.randoms())
    def test_the_order_changes_nothing_and_no_two_are_alike(self, names, random):
        found, again = Names.of(names), Names.of(random.sample(names, len(names)))
        assert again.cells == {name: found.cells[name] for name in again.cells}
        assert (again.heads, again.alike) == (found.heads, found.alike)
        for mapping in (found.cells, found.short):
            assert len(set(mapping.values())) == len(names)
