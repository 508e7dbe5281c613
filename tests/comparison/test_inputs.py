"""Values, weights and names of models that cannot be read are refused by name."""

from __future__ import annotations

import numpy as np
import pytest

from gainsay.comparison.inputs import check_family, check_level, check_rope, check_seed, model_names, read_panel

GOOD = np.arange(6.0).reshape(3, 2)


class TestValues:
    def test_no_metric(self):
        with pytest.raises(ValueError, match="values holds no metric: at least one array"):
            read_panel({})

    def test_the_array_is_named_by_its_metric_or_as_the_caller_says(self):
        bad = np.where(GOOD == 3, np.inf, GOOD)
        at = "holds 1 value.s. that are not finite, the first inf at query 1 of model 'b'"
        with pytest.raises(ValueError, match=rf"^values\['second'\] {at}"):
            read_panel({"first": GOOD, "second": bad}, models=["a", "b"])
        with pytest.raises(ValueError, match=f"^exponential {at}"):
            read_panel({"first": GOOD, "second": bad}, models=["a", "b"], labels={"second": "exponential"})

    def test_shapes_that_differ(self):
        with pytest.raises(ValueError, match=r"^values\['b'\] has shape \(2, 2\), but values\['a'\] has \(3, 2\)"):
            read_panel({"a": GOOD, "b": GOOD[:2]})

    def test_models_stand_in_natural_order_with_their_own_values(self):
        panel = read_panel({"x": GOOD}, models=["m10", "m9"])
        assert panel.models == ("m9", "m10")
        np.testing.assert_array_equal(panel.values, [[GOOD[:, 1], GOOD[:, 0]]])

    def test_selected_metrics_keep_their_values_in_the_order_asked_for(self):
        panel = read_panel({"x": GOOD, "y": GOOD + 10, "z": GOOD + 20}).select(["z", "x"])
        assert panel.metrics == ("z", "x")
        np.testing.assert_array_equal(panel.values, [GOOD.T + 20, GOOD.T])


class TestWeights:
    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            ([1, 2], r"weights must be one number per query, shape \(3,\): got shape \(2,\)"),
            ([1, 1, -2], r"weights must be finite and 0 or more: weights\[2\] is -2"),
            ([1, np.inf, 1], r"weights must be finite and 0 or more: weights\[1\] is inf"),
            ([0, 0, 0], "weights are all zero: at least one query must count"),
        ],
    )
    def test_refused(self, weights, message):
        with pytest.raises(ValueError, match=message):
            read_panel({"x": GOOD}, weights=weights)

    @pytest.mark.parametrize("scale", [1e-300, 1.0, 1e308])
    def test_only_ratios_count_and_queries_of_weight_zero_are_absent(self, scale):
        panel = read_panel({"x": GOOD}, weights=np.array([0.25, 0.0, 0.75]) * scale)
        assert panel.queries == 2
        np.testing.assert_allclose(panel.weights, [0.25, 0.75], rtol=1e-12)
        np.testing.assert_array_equal(panel.values, [GOOD[[0, 2]].T])


class TestNames:
    def test_numbers_where_none_are_given(self):
        assert model_names(None, 3) == ("model 1", "model 2", "model 3")

    @pytest.mark.parametrize(
        ("models", "error", "message"),
        [
            ("ab", TypeError, "models must be a sequence of names, not one string: got 'ab'"),
            (["a", 2], TypeError, r"models\[1\] must be a string, got 2 of type int"),
            (["a"], ValueError, "models has 1 names, but the values have 2 columns"),
            (["a", "a"], ValueError, "models holds 'a' twice, at 0 and 1"),
        ],
    )
    def test_refused(self, models, error, message):
        with pytest.raises(error, match=message):
            model_names(models, 2)


class TestSettings:
    @pytest.mark.parametrize("alpha", [0, 0.5, -0.1, 1, float("nan")])
    def test_levels_lie_between_0_and_a_half(self, alpha):
        with pytest.raises(ValueError, match=r"alpha must lie between 0 and 0\.5, both excluded: got"):
            check_level(alpha)

    @pytest.mark.parametrize("rope", [-1e-9, float("inf"), float("nan")])
    def test_a_rope_is_a_finite_difference(self, rope):
        with pytest.raises(ValueError, match="rope must be a finite difference of means, 0 or more: got"):
            check_rope(rope)

    @pytest.mark.parametrize(
        ("name", "pair", "error"),
        [("seed", (1.5, 1000), ValueError), ("draws", (1, "1000"), TypeError), ("seed", (True, 1000), TypeError)],
    )
    def test_seed_and_draws_are_whole_numbers(self, name, pair, error):
        with pytest.raises(error, match=f"^{name} must be a whole number of at least [01], got"):
            check_seed(*pair, 0.05)
        assert check_seed(1.0, 1000.0, 0.05) == (1, 1000)

    @pytest.mark.parametrize(("alpha", "least"), [(0.05, 200), (0.01, 1000), (0.1, 100), (0.4, 100), (0.003, 3334)])
    def test_at_least_ten_draws_lie_beyond_the_quantile(self, alpha, least):
        assert check_seed(0, least, alpha) == (0, least)
        with pytest.raises(
            ValueError, match=f"draws must be at least {least} where alpha is {alpha:g}: got {least - 1}"
        ):
            check_seed(0, least - 1, alpha)

    def test_seeds_are_0_or_more(self):
        with pytest.raises(ValueError, match="seed must be a whole number of at least 0, got -1"):
            check_seed(-1, 1000, 0.05)

    def test_the_first_two_metrics_are_set_against_each_other_by_default(self):
        assert check_family(None, ["x", "y", "z"]) == ("x", "y")
        assert check_family(["z", "x"], ["x", "y", "z"]) == ("z", "x")

    @pytest.mark.parametrize(
        ("primary", "message"),
        [
            (["x"], r"primary must name two different metrics: got \('x',\)"),
            (["x", "x"], r"primary must name two different metrics: got \('x', 'x'\)"),
            (["x", "w"], "primary names 'w', which is not among the metrics: x, y"),
        ],
    )
    def test_families_of_other_sizes(self, primary, message):
        with pytest.raises(ValueError, match=message):
            check_family(primary, ["x", "y"])
