"""Values, weights and names of models that cannot be read are refused by name."""

from __future__ import annotations

import numpy as np
import pytest

from gainsay.comparison.inputs import read_panel

GOOD = np.arange(6.0).reshape(3, 2)


class TestValues:
    def test_models_stand_in_natural_order_with_their_own_values(self):
        panel = read_panel({"x": GOOD}, models=["m10", "m9"])
        assert panel.models == ("m9", "m10")
        np.testing.assert_array_equal(panel.values, [[GOOD[:, 1], GOOD[:, 0]]])

    def test_selected_metrics_keep_their_values_in_the_order_asked_for(self):
        panel = read_panel({"x": GOOD, "y": GOOD + 10, "z": GOOD + 20}).select(["z", "x"])
        assert panel.metrics == ("z", "x")
        np.testing.assert_array_equal(panel.values, [GOOD.T + 20, GOOD.T])


class TestWeights:
    @pytest.mark.parametrize("scale", [1e-300, 1.0, 1e308])
    def test_only_ratios_count_and_queries_of_weight_zero_are_absent(self, scale):
        panel = read_panel({"x": GOOD}, weights=np.array([0.25, 0.0, 0.75]) * scale)
        assert panel.queries == 2
        np.testing.assert_allclose(panel.weights, [0.25, 0.75], rtol=1e-12)
        np.testing.assert_array_equal(panel.values, [GOOD[[0, 2]].T])
