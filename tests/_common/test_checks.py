"""One rule for whole and one for real numbers: what Python, NumPy, tables and tuners make of a number is one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gainsay._common.checks import check_real, check_whole

NO_NUMBERS = [True, np.bool_(True), "3", None, [3], np.array([3]), 3j]


@pytest.mark.parametrize("value", [3, 3.0, np.int8(3), np.uint64(3), np.float32(3), np.float64(3)])
def test_numbers(value):
    for check, kind in ((check_whole, int), (check_real, float)):
        found = check("n", value)
        assert found == 3
        assert type(found) is kind


@pytest.mark.parametrize("value", NO_NUMBERS)
def test_what_is_no_number(value):
    with pytest.raises(TypeError, match="n must be a whole number of rounds, at least 1, got"):
        check_whole("n", value, unit="rounds")
    with pytest.raises(TypeError, match="n must be a number, got"):
        check_real("n", value)


@pytest.mark.parametrize("value", [0, 2.5, math.nan, math.inf, -math.inf])
def test_what_is_not_whole(value):
    with pytest.raises(ValueError, match="n must be a whole number of at least 1, got"):
        check_whole("n", value)


@pytest.mark.parametrize(
    ("bounds", "value", "message"),
    [
        ((0.0, 1.0), 1.5, "n must lie between 0 and 1, got 1.5"),
        ((0.0, 1.0), math.nan, "n must lie between 0 and 1, got nan"),
        ((0.0,), -1, "n must be at least 0, got -1"),
        ((), math.nan, "n must not be NaN, got nan"),
    ],
)
def test_bounds(bounds, value, message):
    with pytest.raises(ValueError, match=message):
        check_real("n", value, *bounds)


def test_bounds_are_allowed():
    assert [check_real("n", value, 0, 1) for value in (0, 1)] == [0, 1]
    assert check_real("n", -math.inf) == -math.inf
