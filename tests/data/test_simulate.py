"""Simulated data have the documented shape and depend on the seed only."""

import numpy as np
import pytest

from gainwise.data import simulate


@pytest.fixture(scope="module")
def data():
    return simulate(1000, seed=1)


@pytest.fixture(scope="module")
def correlation(data):
    """A function that returns the correlation of features with the grade, among documents of some grades."""

    def correlation(features, grades=range(5), sign=1):
        rows = np.isin(data.labels, grades)
        columns = (sign * data.features.T)[:, rows]
        return np.array([np.corrcoef(columns[feature], data.labels[rows])[0, 1] for feature in features])

    return correlation


def test_labels_and_queries(data):
    shares = np.bincount(data.labels.astype(int)) / data.labels.size
    np.testing.assert_allclose(shares, [0.52, 0.32, 0.13, 0.02, 0.01], atol=0.01)
    assert data.group.mean() == pytest.approx(120, rel=0.05)
    assert np.median(data.group) == pytest.approx(106, rel=0.05)
    assert 1 <= data.group.min() < 40
    assert 300 < data.group.max() <= 1500
    top = np.maximum.reduceat(data.labels, np.cumsum(data.group) - data.group)
    assert (np.bincount(top.astype(int), minlength=5)[2:] > 100).all()
    assert data.contiguous() is data
    assert data.query_ids[[0, 999]].tolist() == ["q0", "q999"]
    assert data.features.dtype == np.float32


@pytest.mark.parametrize(
    ("first", "seen", "unseen", "bound"), [(1, (0, 1), (3, 4), 0.05), (2, (2, 4), (0, 1), 0.01)], ids=["low", "high"]
)
def test_some_features_separate_only_low_or_only_high_grades(correlation, first, seen, unseen, bound):
    features = range(first, 30, 6)
    strongest = int(np.argmax(correlation(features, seen)))
    assert correlation(features, seen)[strongest] > 0.05
    assert abs(correlation(features, unseen)[strongest]) < bound


def test_noise_and_interactions(data, correlation):
    assert np.abs(correlation(range(4, 30, 6))).max() < 0.01
    assert np.abs(correlation(range(5, 30, 6))).max() < 0.02
    assert correlation(range(5, 30, 6), sign=np.sign(data.features[:, 4])).max() > 0.05
    noise = simulate(300, seed=2, signal=0, features=3)
    assert all(abs(np.corrcoef(column, noise.labels)[0, 1]) < 0.02 for column in noise.features.T)


@pytest.mark.parametrize("features", [1, 4, 5, 6, 31])
def test_fewer_queries_are_the_first_ones_of_more(features):
    few = simulate(20, seed=5, features=features)
    first = simulate(40, seed=5, features=features).take_queries(np.arange(20))
    for name in ("features", "labels", "group"):
        np.testing.assert_array_equal(getattr(few, name), getattr(first, name))
    np.testing.assert_array_equal(few.labels, simulate(20, 5, features=9).labels)
