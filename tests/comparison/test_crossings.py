"""Who leads from where to where, and where two change places."""

from __future__ import annotations

import math

import numpy as np
import pytest

from gainsay.comparison.crossings import crossings, leads


class TestCrossings:
    AT = np.geomspace(1, 4, 9)

    def test_leads_change_where_means_are_equal(self):
        mean = np.stack([2 - np.log(self.AT), 1 + np.log(self.AT), 1.45 + 0 * self.AT], axis=1)
        found = leads(self.AT, mean)
        assert [lead.model for lead in found] == [0, 1]
        assert found[0].stop == found[1].start == pytest.approx(math.exp(0.5), abs=1e-4)
        mean[:, 2] = 1.55
        assert [lead.model for lead in leads(self.AT, mean)] == [0, 2, 1]

    def test_a_lead_between_two_bases_is_found(self):
        at = np.array([1.0, 2.0, 3.0, 4.0])
        mean = np.stack([-np.log(at), np.log(at) - 2 * math.log(1.2), 0 * at - math.log(1.2) + 0.02], axis=1)
        assert [lead.model for lead in leads(at, mean)] == [0, 2, 1]

    def test_interval_is_where_the_band_holds_zero(self):
        lead = np.log(self.AT / 2)
        difference = np.zeros((9, 2, 2))
        difference[:, 0, 1], difference[:, 1, 0] = lead, -lead
        error = np.full((9, 2, 2), 0.1)
        (found,) = crossings(self.AT, difference, error, np.zeros(9), 2.0)
        assert (found.first, found.second) == (0, 1)
        assert (found.base, found.lower, found.upper) == pytest.approx(
            (2, 2 / math.exp(0.2), 2 * math.exp(0.2)), rel=0.01
        )
