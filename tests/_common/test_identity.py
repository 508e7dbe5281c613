"""Different query ids are different queries, and equal ids are one query, in every container."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gainwise as gw

BEYOND = 2**53 + 1
"""The first integer that is no float64."""


def ids_of(qid):
    return gw.Judgments([0] * len(qid), qid=qid).query_ids.tolist()


@pytest.mark.parametrize(
    "qid",
    [
        [-1, 2**63, 2**63 + 1],
        [1, 1.5, 2**53, BEYOND],
        [1, "1"],
        [b"a", "a"],
        [2**64, 2**64 + 1],
        [Decimal(BEYOND), Decimal(2**53)],
        [Fraction(1, 3), 1 / 3],
    ],
    ids=str,
)
def test_lists_and_tuples(qid):
    assert ids_of(qid) == ids_of(tuple(qid)) == qid


@pytest.mark.parametrize(
    ("qid", "expected"),
    [
        (polars.Series([2**65, 2**65 + 1], dtype=polars.Int128), [2**65, 2**65 + 1]),
        (polars.Series(["a", "b", "a"], dtype=polars.Categorical), ["a", "b"]),
        (polars.Series(["a", "b", "a"], dtype=polars.Enum(["b", "a"])), ["a", "b"]),
        (pyarrow.array(["a", "b", "a"]).dictionary_encode(), ["a", "b"]),
        (pd.Series([9, 9, 4], dtype="Int64"), [9, 4]),
        ([1, 1.0, True], [1]),
        ([BEYOND, 0.5, BEYOND], [BEYOND, 0.5]),
        (np.array([2.0**53 - 1, 5]), [2**53 - 1, 5]),
        (np.float32([2**24 - 1, 5]), [2**24 - 1, 5]),
    ],
)
def test_other_containers(qid, expected):
    assert ids_of(qid) == expected


SPECIAL = [2**53, BEYOND, float(2**53), 2**63, 2**63 + 1, -1, 1, 1.0, True, "1", "a", b"a"]
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=3)
NUMBER = st.integers() | st.floats(allow_nan=False) | st.decimals(allow_nan=False) | st.fractions()


@given(st.lists(st.sampled_from(SPECIAL) | NUMBER | TEXT, min_size=1, max_size=20))
def test_as_python_distinguishes_them(qid):
    assert ids_of(qid) == list(dict.fromkeys(qid))
