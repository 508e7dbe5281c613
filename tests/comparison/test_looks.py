"""Planned looks: published values and another integration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from gainwise.comparison.guards import compute_boundaries, compute_spending


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
