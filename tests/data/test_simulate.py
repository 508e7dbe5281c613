"""The shape of simulated data, and that it depends on nothing but its seed."""

from __future__ import annotations

import numpy as np
import pytest

from gainsay.data import simulate


@pytest.fixture(scope="module")
def data():
    return simulate(1000, seed=1)


@pytest.fixture(scope="module")
def top(data):
    """The highest grade of each query."""
    return np.maximum.reduceat(data.labels, np.cumsum(data.group) - data.group)


def correlation(data, feature, low, high):
    """Correlation of a feature with the grade among documents of two neighbouring grades."""
    chosen = np.isin(data.labels, (low, high))
    return np.corrcoef(data.features[chosen, feature], data.labels[chosen])[0, 1]


def test_shares_of_the_grades(data):
    shares = np.bincount(data.labels.astype(int)) / data.labels.size
    np.testing.assert_allclose(shares, [0.52, 0.32, 0.13, 0.02, 0.01], atol=0.01)


def test_query_lengths(data):
    assert data.group.mean() == pytest.approx(120, rel=0.05)
    assert np.median(data.group) == pytest.approx(106, rel=0.05)
    assert 1 <= data.group.min() < 40
    assert 300 < data.group.max() <= 1500


def test_queries_differ_in_their_highest_grade(top):
    assert (np.bincount(top.astype(int), minlength=5)[2:] > 100).all()


def test_long_and_short_queries_are_capped():
    assert simulate(50, seed=0, mean_length=5000).group.max() == 1500
    assert simulate(50, seed=0, mean_length=1).group.min() == 1


def test_fair_features_see_low_grades_only(data):
    strongest = max(range(1, 30, 6), key=lambda feature: correlation(data, feature, 0, 1))
    assert correlation(data, strongest, 0, 1) > 0.05
    assert abs(correlation(data, strongest, 3, 4)) < 0.05


def test_excellent_features_see_high_grades_only(data):
    strongest = max(range(2, 30, 6), key=lambda feature: correlation(data, feature, 2, 4))
    assert correlation(data, strongest, 2, 4) > 0.05
    assert abs(correlation(data, strongest, 0, 1)) < 0.01


def test_shifted_features_have_an_offset_by_query(data):
    means = np.add.reduceat(data.features.astype(float), np.cumsum(data.group) - data.group) / data.group[:, None]
    assert means[:, 3].std() > 0.8
    assert means[:, 0].std() < 0.3


def test_noise_says_nothing(data):
    assert all(abs(np.corrcoef(data.features[:, feature], data.labels)[0, 1]) < 0.01 for feature in range(4, 30, 6))


def test_interactions_say_something_only_with_their_key(data):
    plain = [abs(np.corrcoef(data.features[:, feature], data.labels)[0, 1]) for feature in range(5, 30, 6)]
    sign = np.sign(data.features[:, 4])
    keyed = [np.corrcoef(sign * data.features[:, feature], data.labels)[0, 1] for feature in range(5, 30, 6)]
    assert max(plain) < 0.02
    assert max(keyed) > 0.05


def test_without_signal_all_is_noise():
    data = simulate(300, seed=2, signal=0, features=3)
    assert all(abs(np.corrcoef(column, data.labels)[0, 1]) < 0.02 for column in data.features.T)


@pytest.mark.parametrize("features", [1, 4, 5, 6, 31])
def test_fewer_queries_are_the_first_ones_of_more(features):
    few = simulate(20, seed=5, features=features)
    first = simulate(40, seed=5, features=features).take_queries(np.arange(20))
    np.testing.assert_array_equal(few.features, first.features)
    np.testing.assert_array_equal(few.labels, first.labels)
    np.testing.assert_array_equal(few.group, first.group)


def test_labels_do_not_depend_on_the_features():
    np.testing.assert_array_equal(simulate(20, 5, features=3).labels, simulate(20, 5, features=9).labels)


def test_seeds_differ():
    assert simulate(3, seed=0).labels.size != simulate(3, seed=1).labels.size


def test_rows_are_contiguous_and_named(data):
    assert data.contiguous() is data
    assert data.query_ids[[0, 999]].tolist() == ["q0", "q999"]
    assert data.features.dtype == np.float32


@pytest.mark.parametrize(
    "arguments", [{"queries": 0}, {"features": 0}, {"mean_length": 0.5}, {"signal": -1}, {"signal": float("nan")}]
)
def test_arguments_out_of_range(arguments):
    (name,) = arguments
    with pytest.raises(ValueError, match=f"{name} must be at least"):
        simulate(**{"queries": 5, "seed": 0} | arguments)
