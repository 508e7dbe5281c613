"""One band for all regrets of a family."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gainsay.comparison.bounds import regret_band
from gainsay.comparison.estimates import estimate
from gainsay.comparison.inputs import Panel
from gainsay.comparison.resampling import draw_noise


def noise_of(values, draws=2000, clusters=None):
    metrics, models, _ = values.shape
    names = tuple("abcdefghij"[:models])
    estimated = estimate(Panel(tuple(map(str, range(metrics))), names, values, None, clusters=clusters))
    return estimated, draw_noise(estimated, draws, 0)


class TestBand:
    def test_models_far_behind_do_not_widen_it(self):
        rng = np.random.default_rng(2)
        values = rng.normal(size=(2, 8, 500))
        values[:, :2] += 5
        few = regret_band(*noise_of(values[:, :2]), 0.05).critical
        many = regret_band(*noise_of(values), 0.05)
        assert many.critical < regret_band(*noise_of(values - values.mean(axis=2, keepdims=True)), 0.05).critical
        assert many.critical > few  # those far behind have an error too, towards the best
        assert many.may_be_best.sum(axis=1).tolist() == [2, 2]

    def test_critical_value_by_hand(self):
        """The slack of a rival is what it surely loses; a pair with one that may be best has none, either way."""
        values = np.random.default_rng(2).normal(size=(2, 4, 500)) + np.array([0.3, 0.3, 0.1, 0.0])[:, None]
        estimated, noise = noise_of(values)
        quantile = np.sort(noise.peaks.max(axis=(0, 1)))[math.ceil(0.995 * 2001) - 1]
        surely = np.maximum(0, (estimated.difference - quantile * estimated.error).max(axis=2))
        largest = []
        for m, k, j in np.argwhere(estimated.error > 0).tolist():
            slack = surely[m, j] / estimated.error[m, k, j] if surely[m, j] > 0 and surely[m, k] > 0 else 0
            largest.append(noise.lead(m, k, j) - slack)
        expected = np.sort(np.max(largest, axis=0))[math.ceil(0.955 * 2001) - 1]
        assert 0 < (surely > 0).sum() < surely.size
        assert regret_band(estimated, noise, 0.05).critical == pytest.approx(expected, rel=1e-12)

    def test_bounds_by_hand(self):
        rng = np.random.default_rng(3)
        values = rng.normal(size=(2, 3, 400)) + np.array([0, 0.3, 1.0])[None, :, None]
        estimated, noise = noise_of(values)
        band = regret_band(estimated, noise, 0.1)
        q = band.critical
        for m in range(2):
            for k in range(3):
                reach = [estimated.difference[m, k, j] - q * estimated.error[m, k, j] for j in range(3)]
                assert band.lower[m, k] == pytest.approx(max(0, *reach))
            assert band.upper[m, 0] == pytest.approx(estimated.difference[m, 0, 2] + q * estimated.error[m, 0, 2])

    @pytest.mark.parametrize(("queries", "clusters"), [(20, None), (200, np.arange(200) // 10)])
    def test_few_queries_or_clusters_rule_out_nobody_and_bound_nothing(self, queries, clusters):
        values = np.random.default_rng(4).normal(size=(1, 2, queries))
        values[:, 1] += 10
        band = regret_band(*noise_of(values, clusters=clusters), 0.05)
        assert band.may_be_best.all()
        assert np.isinf(band.upper).all()

    def test_covers(self):
        """Three models, the last 0.1 standard deviations behind, two metrics; the band holds in 95 % of samples."""
        rng, held, times = np.random.default_rng(5), 0, 300
        truth = np.array([0.0, 0.0, -0.1])
        for _ in range(times):
            shared = rng.normal(size=(1, 3, 400))
            values = shared + 0.5 * rng.normal(size=(2, 3, 400)) + truth[:, None]
            band = regret_band(*noise_of(values, 500), 0.05)
            held += bool(((band.lower <= -truth + 1e-12) & (-truth - 1e-12 <= band.upper)).all())
        assert held / times > 0.95 - 2.5 * math.sqrt(0.05 * 0.95 / times)
