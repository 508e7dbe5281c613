"""Planned looks and bounds at any time: published values, another integration, and simulations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, multivariate_normal, norm

from gainsay.comparison.looks import (
    ErrorLevel,
    bound_share,
    compute_anytime_level,
    compute_boundaries,
    compute_spending,
    find_earlier_looks,
    find_look,
)
from gainsay.comparison.one_sided import DifferenceErrors, compute_binormal, find_support_floor


class TestBoundaries:
    @pytest.mark.parametrize(
        "expected", [(2.963, 1.969), (3.710, 2.511, 1.993), (4.333, 2.963, 2.359, 2.014)], ids=["2", "3", "4"]
    )
    def test_of_equal_looks_are_the_published_ones(self, expected):
        times = np.arange(1, len(expected) + 1) / len(expected)
        np.testing.assert_allclose(compute_boundaries(times, 0.025), expected, atol=6e-4)

    @pytest.mark.parametrize(
        ("times", "level"), [((0.25, 0.5, 1), 0.025), ((0.1, 0.9, 0.95, 1), 0.05), ((0.3, 0.7), 0.005), ((0.5,), 0.1)]
    )
    def test_spend_their_share_by_another_integration(self, times, level):
        """Genz' integration of the joint normal distribution: P(no look crosses) = 1 - α*(t)."""
        times = np.array(times)
        correlation = np.sqrt(np.minimum.outer(times, times) / np.maximum.outer(times, times))
        c = compute_boundaries(times, level)
        for k in range(1, len(times) + 1):
            inside = multivariate_normal(np.zeros(k), correlation[:k, :k]).cdf(c[:k])
            assert 1 - inside == pytest.approx(compute_spending(times[k - 1], level), abs=2e-5)

    def test_are_crossed_as_often_as_planned(self):
        times, rng = np.array([0.2, 0.4, 0.7, 1.0]), np.random.default_rng(0)
        steps = rng.normal(size=(400_000, 4)) * np.sqrt(np.diff(times, prepend=0))
        crossed = (steps.cumsum(axis=1) / np.sqrt(times) >= compute_boundaries(times, 0.025)).any(axis=1)
        assert crossed.mean() == pytest.approx(0.025, abs=0.0008)

    def test_at_any_time_are_crossed_more_rarely(self):
        """Fifty looks between 100 and 20,000 queries, by sums of normal values."""
        queries, rng = np.unique(np.geomspace(100, 20_000, 50).astype(int)), np.random.default_rng(1)
        steps = rng.normal(size=(20_000, len(queries))) * np.sqrt(np.diff(queries, prepend=0))
        k = [-norm.ppf(compute_anytime_level(0.025, int(n), 1000)) for n in queries]
        crossed = (steps.cumsum(axis=1) / np.sqrt(queries) >= k).any(axis=1).mean()
        assert 0.005 < crossed < 0.025


@pytest.mark.parametrize(("queries", "place"), [(4500, 0), (7000, 0), (7100, 1), (12_000, 1), (19_000, 2), (10**6, 2)])
def test_a_look_is_the_nearest_by_ratio(queries, place):
    assert find_look((5000, 10_000, 20_000), queries) == place
    assert find_earlier_looks((5000, 10_000, 20_000), queries, None) == (5000, 10_000, 20_000)[:place]


def test_the_same_look_can_be_repeated_with_its_record():
    assert find_earlier_looks((5000, 10_000), 10_000, (5000, 10_000)) == (5000,)


class TestCriticalValues:
    @pytest.mark.parametrize("correlation", [-1, -0.5, 0, 0.9, 1])
    def test_binormal_probabilities(self, correlation):
        first, second = np.random.default_rng(0).normal(0, 1.5, (2, 8))
        first[:3], second[3:5] = (0, np.inf, second[2]), (-np.inf, 0)
        normal = multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], allow_singular=True)
        expected = [normal.cdf(np.clip(point, -50, 50)) for point in zip(first, second, strict=True)]
        np.testing.assert_allclose(compute_binormal(first, second, correlation), expected, atol=1e-6)

    @pytest.mark.parametrize(("correlation", "saved"), [(0.6, 1.16), (0.9, 1.10), (0.97, 1.06)])
    def test_two_one_sided_tests_need_fewer_queries_than_a_two_sided_max_t(self, correlation, saved):
        """Published ratios: both need 80 % power, one by marginal tests, one by the two-sided max-T."""
        errors = DifferenceErrors(np.ones(2), correlation, np.ones((2, 1)), 1e9, np.zeros(2))
        z = np.random.default_rng(2).multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], 400_000)
        both = -np.quantile(z.min(axis=1), 0.2)  # both differences exceed k with probability .8
        k, two_sided = errors.compute_critical([0], 0.025), np.quantile(np.abs(z).max(axis=1), 0.95)
        assert ((two_sided + both) / (k + both)) ** 2 == pytest.approx(saved, abs=0.015)

    @pytest.mark.parametrize(("count", "size"), [(0, 400), (7, 100), (100, 100)])
    def test_bounds_of_shares(self, count, size):
        exact = 1.0 if count == size else beta.ppf(0.975, count + 1, size - count)
        assert bound_share(count, size, ErrorLevel(0.025, 0.025)) == pytest.approx(exact)
        if count < size:
            share = bound_share(count, size, ErrorLevel(0.025, 0.01, 0.01))
            likelihoods = np.exp(
                count * np.log(grid := np.linspace(1e-9, 1 - 1e-9, 400_001)) + (size - count) * np.log1p(-grid)
            )
            ratio = likelihoods.mean() / (share**count * (1 - share) ** (size - count))
            assert ratio == pytest.approx(1 / 0.025, rel=1e-3)
            assert share > exact

    @pytest.mark.parametrize(("power", "expected"), [(0.8, 34.5), (0.9, 37.2)])
    def test_thirty_differing_queries(self, power, expected):
        assert find_support_floor(0.001, power) * 0.001 == pytest.approx(expected, abs=0.05)
