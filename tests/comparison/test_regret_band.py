"""The simultaneous band of all regrets of a family."""

from __future__ import annotations

import math

import numpy as np
from tests.comparison.populations import corrected

from gainwise.comparison.estimates import estimate
from gainwise.comparison.inference import compute_regret_band, draw_errors
from gainwise.comparison.panel import Panel


def noise_of(values, draws=2000, clusters=None):
    metrics, models, _ = values.shape
    names = tuple("abcdefghij"[:models])
    estimated = estimate(Panel(tuple(map(str, range(metrics))), names, values, None, clusters=clusters))
    return estimated, draw_errors(estimated, draws, 0)


class TestBand:
    def test_critical_value_by_hand(self):
        """The slack of a rival is its certain loss. A pair with a model that may be best has no slack."""
        values = np.random.default_rng(2).normal(size=(2, 4, 500)) + np.array([0.3, 0.3, 0.1, 0.0])[:, None]
        estimated, noise = noise_of(values)
        quantile = np.sort(noise.max_t.max(axis=(0, 1)))[math.ceil(0.995 * 2001) - 1]
        reach = np.vectorize(corrected)
        surely = np.maximum(
            0, (estimated.difference - reach(quantile, -estimated.skewness) * estimated.error).max(axis=2)
        )
        largest = []
        for m, k, j in np.argwhere(estimated.error > 0).tolist():
            slack = surely[m, j] / estimated.error[m, k, j] if surely[m, j] > 0 and surely[m, k] > 0 else 0
            largest.append(noise.compute_t(m, k, j) - slack)
        expected = np.sort(np.max(largest, axis=0))[math.ceil(0.955 * 2001) - 1]
        assert 0 < (surely > 0).sum() < surely.size
        band = compute_regret_band(estimated, noise, 0.05)
        lower = estimated.difference - reach(expected, -estimated.skewness) * estimated.error
        np.testing.assert_allclose(band.lower, np.maximum(0, lower.max(axis=2)), rtol=1e-9)
        upper = estimated.difference + reach(expected, estimated.skewness) * estimated.error
        possible = np.broadcast_to((surely == 0)[:, None, :], upper.shape)
        largest = upper.max(axis=2, initial=0.0, where=possible)
        np.testing.assert_allclose(band.upper, np.maximum(largest, estimated.difference.max(axis=2)), rtol=1e-9)
