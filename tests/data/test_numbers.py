"""Numbers parsed many at a time are bit for bit those of `float`."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gainsay.data._numbers import padded, parse_indices, parse_numbers


def spans(tokens):
    buffer = padded(" ".join(tokens).encode())
    lengths = np.array([len(token.encode()) for token in tokens], dtype=np.int64)
    ends = np.cumsum(lengths + 1) - 1 + 64
    return buffer, ends - lengths, ends


decimal = st.from_regex(r"[+-]?([0-9]{0,17}\.[0-9]{1,17}|[0-9]{1,19}\.?)([eE][+-]?[0-9]{1,3})?", fullmatch=True)


@settings(max_examples=300, deadline=None)
@given(st.lists(decimal | st.floats().map(repr), min_size=1, max_size=8))
def test_numbers_equal_float(tokens):
    values = parse_numbers(*spans(tokens))
    expected = np.array([float(token) for token in tokens])
    # nan compares by place: its bits carry no meaning
    np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(np.signbit(values[values == 0]), np.signbit(expected[expected == 0]))


@settings(max_examples=300, deadline=None)
@given(st.text("0123456789+-.eE_naifx", min_size=1, max_size=20))
def test_a_token_is_accepted_exactly_where_float_accepts_it(token):
    try:
        expected = None if "_" in token else float(token)
    except ValueError:
        expected = None
    values = parse_numbers(*spans(["1", token]))
    assert (values is None) == (expected is None)


@pytest.mark.parametrize("token", ["", "-", ".", "-.", "1..2", "1.2.3", "--1", "1-", "0x10", "1_0", "1e", "é1", "१"])
def test_what_is_no_number_is_refused(token):
    assert parse_numbers(*spans(["1", token, "2"])) is None


@pytest.mark.parametrize(
    "token", ["1e-400", "9007199254740993", "0.1000000000000000055511151231257827", "-0.0", "1e22"]
)
def test_hard_cases_of_rounding(token):
    assert parse_numbers(*spans([token]))[0].hex() == float(token).hex()


def test_indices():
    assert parse_indices(*spans(["1", "007", "999999999", "0"])).tolist() == [1, 7, 999_999_999, 0]


@pytest.mark.parametrize("token", ["", "-1", "+1", "1.0", "1000000000", "a", "1 "])
def test_what_is_no_index_is_refused(token):
    assert parse_indices(*spans(["1", token])) is None
