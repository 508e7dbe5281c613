"""The best models along a gain path, and the bases at which two models swap."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gainwise.comparison.gain_path import find_crossings, find_leaders


class TestCrossings:
    AT = np.geomspace(1, 4, 9)

    def test_a_lead_between_two_bases_is_found(self):
        at = np.array([1.0, 2.0, 3.0, 4.0])
        mean = np.stack([-np.log(at), np.log(at) - 2 * math.log(1.2), 0 * at - math.log(1.2) + 0.02], axis=1)
        assert find_leaders("abc", at, mean)["model"].tolist() == ["a", "c", "b"]

    def test_interval_is_where_the_band_holds_zero(self):
        lead = np.log(self.AT / 2)
        difference = np.zeros((9, 2, 2))
        difference[:, 0, 1], difference[:, 1, 0] = lead, -lead
        error = np.full((9, 2, 2), 0.1)
        (found,) = find_crossings("ab", self.AT, difference, error, np.zeros(9), 2.0).itertuples()
        assert (found.first, found.second) == ("a", "b")
        assert (found.base, found.lower, found.upper) == pytest.approx(
            (2, 2 / math.exp(0.2), 2 * math.exp(0.2)), rel=0.01
        )
