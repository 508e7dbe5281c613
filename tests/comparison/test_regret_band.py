"""The simultaneous band of all regrets of a family."""

from __future__ import annotations

import math

import numpy as np
import pytest

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
        surely = np.maximum(0, (estimated.difference - quantile * estimated.error).max(axis=2))
        largest = []
        for m, k, j in np.argwhere(estimated.error > 0).tolist():
            slack = surely[m, j] / estimated.error[m, k, j] if surely[m, j] > 0 and surely[m, k] > 0 else 0
            largest.append(noise.compute_t(m, k, j) - slack)
        expected = np.sort(np.max(largest, axis=0))[math.ceil(0.955 * 2001) - 1]
        assert 0 < (surely > 0).sum() < surely.size
        assert compute_regret_band(estimated, noise, 0.05).critical == pytest.approx(expected, rel=1e-12)

    def test_bounds_by_hand(self):
        rng = np.random.default_rng(3)
        values = rng.normal(size=(2, 3, 400)) + np.array([0, 0.3, 1.0])[None, :, None]
        estimated, noise = noise_of(values)
        band = compute_regret_band(estimated, noise, 0.1)
        q = band.critical
        for m in range(2):
            for k in range(3):
                reach = [estimated.difference[m, k, j] - q * estimated.error[m, k, j] for j in range(3)]
                assert band.lower[m, k] == pytest.approx(max(0, *reach))
            assert band.upper[m, 0] == pytest.approx(estimated.difference[m, 0, 2] + q * estimated.error[m, 0, 2])
