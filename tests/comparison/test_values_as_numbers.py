"""Per-query values, weights and runs from every kind of array: read as the number that each is, or refused by name."""

import numpy as np
import pandas as pd
import pytest

from gainsay import Comparison

RNG = np.random.default_rng(0)
VALUES = RNG.random((40, 2))
OTHER = RNG.random((40, 2))


def test_a_query_masked_for_every_model_is_skipped():
    masked = np.ma.array(VALUES, mask=np.arange(40)[:, None] == [5, 5])
    comparison = Comparison({"a": masked, "b": OTHER}, ["A", "B"], draws=200)
    assert comparison.metric_queries == {"a": 39, "b": 40}
    assert comparison.leaderboard.loc["A", "a"] == pytest.approx(np.delete(VALUES[:, 0], 5).mean())
    assert np.isnan(comparison.frame()["a"].xs(5, level="query")).all()


@pytest.mark.parametrize(
    "turned",
    [
        lambda values: pd.DataFrame(values).astype("Float64"),
        lambda values: values.astype(">f8"),
        lambda values: np.asfortranarray(values)[::1],
        lambda values: values.tolist(),
    ],
)
def test_numbers_of_every_kind_are_the_same_numbers(turned):
    plain, other = (Comparison({"a": it(VALUES), "b": OTHER}, ["A", "B"], draws=200) for it in (np.array, turned))
    pd.testing.assert_frame_equal(plain.leaderboard, other.leaderboard)
    pd.testing.assert_frame_equal(plain.frame(), other.frame())


def test_weights_of_a_series_stand_by_their_queries_in_every_table():
    weights = RNG.random(40) + 0.1
    plain, labelled = (
        Comparison({"a": VALUES, "b": OTHER}, ["A", "B"], weights=given, draws=200)
        for given in (weights, pd.Series(weights, index=range(39, -1, -1)))
    )
    for of in (lambda it: it.largest_differences("A", "B"), lambda it: it.frame(), lambda it: it.leaderboard):
        pd.testing.assert_frame_equal(of(labelled), of(plain))
    listed = Comparison({"a": VALUES, "b": OTHER}, ["A", "B"], weights=weights.tolist(), draws=200)
    pd.testing.assert_frame_equal(listed.largest_differences("A", "B"), plain.largest_differences("A", "B"))
