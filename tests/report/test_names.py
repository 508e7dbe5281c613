"""A model has the same short name everywhere in a report, in any order of the models."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gainwise._common.text import short_names


@given(st.lists(st.text(st.sampled_from("ab12.-e, …#="), max_size=40), unique=True, max_size=6), st.randoms())
def test_any_names_in_any_order(names, random):
    found = short_names(names)
    shuffled = random.sample(names, len(names))
    assert short_names(shuffled) == found
    assert list(short_names(shuffled)) == shuffled
    assert len(set(found.values())) == len(names)
    assert all(len(short) <= 34 for short in found.values())


@pytest.mark.parametrize(
    ("names", "most"),
    [
        (["lightgbm with rate -0.5", "lightgbm with rate -0.25"], 12),  # "…0.5" was the one, a sign short
        (["threshold of n=1,000", "threshold of n=1,500"], 12),  # "…000"
        (["regularised by a=.05", "regularised by a=.07"], 12),
        (["learning rate \u22120.3", "learning rate \u22120.4"], 10),
        (["x" * 30 + "12345678", "y" * 30 + "12345679"], 12),
    ],
)
def test_no_number_is_broken(names, most):
    numbers = re.compile(r"[-\u2212]?\.?\d[\d.,]*(?:e-?\d+)?")
    for name, short in short_names(names, most).items():
        assert set(numbers.findall(short.partition(" #")[0])) <= set(numbers.findall(name)), short
