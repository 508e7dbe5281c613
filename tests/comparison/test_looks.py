"""Planned looks and bounds at any time: published values, another integration, and simulations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta, multivariate_normal, norm

from gainwise.comparison.one_sided import (
    ErrorLevel,
    bound_share,
    compute_anytime_level,
    compute_boundaries,
    compute_spending,
)


@pytest.mark.parametrize(
    "expected", [(2.963, 1.969), (3.710, 2.511, 1.993), (4.333, 2.963, 2.359, 2.014)], ids=["2", "3", "4"]
)
def test_boundaries_of_equal_looks_are_the_published_ones(expected):
    times = np.arange(1, len(expected) + 1) / len(expected)
    np.testing.assert_allclose(compute_boundaries(times, 0.025), expected, atol=6e-4)


@pytest.mark.parametrize(
    ("times", "level"), [((0.25, 0.5, 1), 0.025), ((0.1, 0.9, 0.95, 1), 0.05), ((0.3, 0.7), 0.005)]
)
def test_boundaries_spend_their_share_by_another_integration(times, level):
    """Integrate the joint normal distribution with Genz' method: P(no look crosses) = 1 - α*(t)."""
    times = np.array(times)
    correlation = np.sqrt(np.minimum.outer(times, times) / np.maximum.outer(times, times))
    c = compute_boundaries(times, level)
    for k in range(1, len(times) + 1):
        inside = multivariate_normal(np.zeros(k), correlation[:k, :k]).cdf(c[:k])
        assert 1 - inside == pytest.approx(compute_spending(times[k - 1], level), abs=2e-5)


def test_boundaries_at_any_time_are_crossed_more_rarely():
    """Simulate fifty looks between 100 and 20,000 queries."""
    queries, rng = np.unique(np.geomspace(100, 20_000, 50).astype(int)), np.random.default_rng(1)
    steps = rng.normal(size=(20_000, len(queries))) * np.sqrt(np.diff(queries, prepend=0))
    k = [-norm.ppf(compute_anytime_level(0.025, int(n), 1000)) for n in queries]
    crossed = (steps.cumsum(axis=1) / np.sqrt(queries) >= k).any(axis=1).mean()
    assert 0.005 < crossed < 0.025


@pytest.mark.parametrize(("count", "size"), [(0, 400), (7, 100)])
def test_bounds_of_shares(count, size):
    exact = bound_share(count, size, ErrorLevel(0.025, 0.025))
    assert exact == pytest.approx(beta.ppf(0.975, count + 1, size - count))
    share, grid = bound_share(count, size, ErrorLevel(0.025, 0.01, 0.01)), np.linspace(1e-9, 1 - 1e-9, 400_001)
    mixture = (grid**count * (1 - grid) ** (size - count)).mean()
    assert mixture / (share**count * (1 - share) ** (size - count)) == pytest.approx(1 / 0.025, rel=1e-3)
    assert share > exact
