"""Per-query values, weights and runs from every kind of array: read as the number that each is, or refused by name."""

import numpy as np
import pandas as pd
import pytest

from gainsay import Comparison, Judgments, Verdict, compare

RNG = np.random.default_rng(0)
VALUES = RNG.random((40, 2))
OTHER = RNG.random((40, 2))
MASK = np.arange(80).reshape(40, 2) == 6


def refused(**changed):
    given = {"first": VALUES, "second": OTHER, "draws": 200} | changed
    with pytest.raises((TypeError, ValueError)) as caught:
        Verdict.from_values(**given)
    return str(caught.value)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (VALUES.astype(str), r"first[:, 0] must be numbers, got an array of <U32"),
        (VALUES.astype(object).astype(str).astype(object), "first[:, 0] must be numbers, got the text"),
        (VALUES + 1j, "first[:, 0] must be numbers, got an array of complex128"),
        ((9 * VALUES).astype("datetime64[s]"), "first[:, 0] must be numbers, got an array of datetime64[s]"),
        ((9 * VALUES).astype("timedelta64[s]"), "first[:, 0] must be numbers, got an array of timedelta64[s]"),
        (np.full((40, 2), 2**53 + 1), "first[:, 0] must lie between -2**53 and 2**53"),
        (np.ma.array(VALUES, mask=MASK), "first is NaN at query 3 of model 'model 1'"),
    ],
)
def test_what_is_no_number_is_refused(values, told):
    assert told in refused(first=values)


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        (["1"] * 40, "weights must be numbers, got an array of <U1"),
        (np.ones(40) + 1j, "weights must be numbers, got an array of complex128"),
        (np.ma.array(np.ones(40), mask=np.arange(40) == 7), "weights[7] is nan"),
    ],
)
def test_weights_that_are_no_numbers_are_refused(weights, told):
    assert told in refused(weights=weights)


@pytest.mark.parametrize(("name", "value"), [("alpha", "0.05"), ("rope", True), ("rope", "0.01")])
def test_settings_that_are_no_numbers_are_refused(name, value):
    assert f"{name} must be a number, got {value!r}" in refused(**{name: value})


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


def test_masked_and_textual_runs_are_refused():
    runs = np.repeat(VALUES[:, :, None], 3, axis=2)
    masked = np.ma.array(runs, mask=np.zeros(runs.shape, dtype=bool))
    masked[3, 0, 1] = np.ma.masked
    others = np.repeat(OTHER[:, :, None], 3, axis=2)
    assert "first is NaN at query 3" in refused(first=masked, second=others)
    assert "must be numbers, got an array of <U32" in refused(first=runs.astype(str), second=others)


def test_frames_in_different_orders_are_refused():
    first, second = (pd.DataFrame(values, columns=["A", "B"]) for values in (VALUES, OTHER))
    told = refused(first=first, second=second[["B", "A"]])
    assert told.startswith("second has its columns in another order than first: 'B' at place 0")
    told = refused(first=first, second=second[::-1])
    assert told.startswith("second has its rows in another order than first: 39 at place 0")
    told = refused(first=first, weights=pd.Series(np.arange(40.0), index=range(39, -1, -1)))
    assert told.startswith("weights has its rows in another order than first")
    with pytest.raises(ValueError, match=r"values\['b'\] has its columns in another order than models"):
        Comparison({"a": VALUES, "b": second[["B", "A"]]}, ["A", "B"])
    assert Verdict.from_values(first, second, draws=200) == Verdict.from_values(VALUES, OTHER, draws=200)


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


@pytest.mark.parametrize("name", ["models", "metric_names", "higher_is_better"])
def test_sets_have_no_order(name):
    given = {"models": {"A", "B"}, "metric_names": {"a", "b"}, "higher_is_better": {True, False}}[name]
    assert f"{name} is a set, which has no order" in refused(**{name: given})


@pytest.mark.parametrize("name", ["metrics", "primary"])
def test_sets_of_metrics_have_no_order(name):
    judgments = Judgments([1, 0, 1], group=[3])
    given = {"metrics": ["map", "mrr"]} | {name: {"map", "mrr"}}
    with pytest.raises(TypeError, match=f"{name} is a set, which has no order"):
        compare({"A": [1, 2, 3], "B": [3, 2, 1]}, judgments, **given)
    compared = Comparison({"a": VALUES, "b": OTHER}, dict.fromkeys("AB"), draws=200)  # ordered, unlike a set
    assert compared.models == ("A", "B")
