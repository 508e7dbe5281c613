"""What is missing stays missing in ranking data, whatever holds it."""

import numpy as np
import pandas as pd
import pytest

import gainsay as gs
from gainsay.data import RankingData


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_masked_features_are_missing(dtype):
    values = np.ma.array(np.array([[1, 2], [3, 4]], dtype=dtype), mask=[[False, True], [False, False]])
    found = RankingData(values, [1, 0], group=[2]).features
    np.testing.assert_array_equal(found, [[1, np.nan], [3, 4]])
    assert found.dtype == (np.float32 if dtype is np.float32 else np.float64)
    assert values.data[0, 1] == 2


@pytest.mark.parametrize(
    "ids", [["a", None], [1.5, float("nan")], pd.Series(["a", pd.NA]), np.ma.array([1, 2], mask=[False, True])]
)
def test_ids_of_queries_that_are_missing_are_refused(ids):
    with pytest.raises(ValueError, match="query_ids has no id at 1"):
        RankingData([[1.0], [2.0]], [1, 0], group=[1, 1], query_ids=ids)


@pytest.mark.parametrize("value", [np.timedelta64(23, "h"), np.datetime64("2020-01-01")])
def test_times_are_no_numbers(value):
    """Of objects NumPy makes the number without the unit, so that a day would be less than 23 hours."""
    values = np.array([np.timedelta64(1, "D"), value], dtype=object)
    with pytest.raises(TypeError, match=r"scores must be numbers, got .* in row 0"):
        gs.evaluate("mrr", gs.Judgments([1, 0], group=[2]), values)
