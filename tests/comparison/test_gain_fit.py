"""Fits of the gain to simulated preferences with a known gain."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import gainwise as gw
from gainwise.comparison.gain_fit import read_preferences

pytestmark = pytest.mark.slow

DISCOUNT = 1 / np.log2(np.arange(2, 12))


def gain_of(base, labels):
    return labels.astype(float) if base == 1 else (base**labels - 1.0) / (base - 1)


def ndcg(base, ranked, judged):
    """Return NDCG@10 of rows of labels."""
    depth = min(10, ranked.shape[1])
    best = -np.sort(-judged, axis=1)[:, :10]
    ideal = gain_of(base, best) @ DISCOUNT[: best.shape[1]]
    return (gain_of(base, ranked[:, :depth]) @ DISCOUNT[:depth]) / np.where(ideal > 0, ideal, 1)


def planted(base, count, seed=0, slope=15.0, documents=10):
    """Return two orders of the same documents, with preferences for a given base."""
    rng = np.random.default_rng(seed)
    first = rng.choice(5, size=(count, documents), p=[0.4, 0.3, 0.15, 0.1, 0.05])
    second = rng.permuted(first, axis=1)
    gap = ndcg(base, first, first) - ndcg(base, second, first)
    preferred = np.where(rng.random(count) < 1 / (1 + np.exp(-slope * gap)), "a", "b")
    return first, second, preferred


def table(first, second, preferred, **more):
    return {"a": first, "b": second, "preferred": preferred, **more}


class TestEstimates:
    def test_is_the_most_likely_triple_of_base_slope_and_side_effect(self):
        """Maximize the likelihood with SciPy from several starts."""
        first, second, preferred = planted(1.6, 500, seed=3)
        sign, side = np.where(preferred == "a", 1, -1), np.resize([1, 1, -1], 500)

        def surprise(parameters, base=None):
            base, slope, effect = parameters if base is None else (base, *parameters)
            gap = ndcg(base, first, first) - ndcg(base, second, first)
            return np.logaddexp(0, -sign * (slope * gap + effect * side)).sum()

        starts = ([0.8, 5, 0], [2, 15, 0.3], [3, 20, -0.3])
        bounds = [(0.25, 4), (0, 100), (-5, 5)]
        best = min((minimize(surprise, start, bounds=bounds) for start in starts), key=lambda it: it.fun)
        fit = gw.fit_gain(table(first, second, preferred), side=np.where(side > 0, "a", "b"))
        assert fit.base == pytest.approx(best.x[0], abs=2e-3)
        assert (fit.slope, fit.side_effect) == pytest.approx(best.x[1:], rel=2e-3)
        assert surprise((fit.base, fit.slope, fit.side_effect)) == pytest.approx(best.fun, abs=1e-4)
        for base, slope, likelihood, _ in fit.frame().iloc[::6].itertuples(index=False):
            least = minimize(surprise, [slope, 0], args=(base,), bounds=bounds[1:]).fun
            assert likelihood == pytest.approx(-least, abs=1e-4)
        for edge in (fit.lower, fit.upper):
            least = minimize(surprise, fit.slope * np.array([1, 0]), args=(edge,), bounds=bounds[1:]).fun
            assert least - best.fun == pytest.approx(3.841459 / 2, abs=1e-3)

    def test_preferences_against_the_labels_have_slope_0(self):
        first, second, _ = planted(1.5, 200, seed=6)
        preferred = np.random.default_rng(16).choice(["a", "b"], 200)
        profile = gw.fit_gain(table(first, second, preferred), side=np.zeros(200)).frame()
        idle = profile["slope"] == 0
        assert 0 < idle.sum() < len(profile)
        np.testing.assert_allclose(profile["log_likelihood"][idle], -200 * math.log(2), rtol=1e-12)
        assert (profile["log_likelihood"][~idle] > -200 * math.log(2)).all()

    def test_clusters_of_equal_preferences_give_the_interval_of_one_of_each(self):
        """Copies contain no information, so log b has the same sandwich variance, except for the factor C/(C - 1)."""
        first, second, preferred = planted(1.5, 400, seed=9)
        alone = gw.fit_gain(table(first, second, preferred), clusters=np.arange(400))
        copied = [np.repeat(part, 5, axis=0) for part in (first, second, preferred)]
        fit = gw.fit_gain(table(*copied), clusters=np.repeat(np.arange(400), 5))
        assert (fit.lower, fit.upper) == pytest.approx((alone.lower, alone.upper), rel=1e-4)
        assert fit.fit_p_value == pytest.approx(alone.fit_p_value, rel=1e-3)
        assert fit.clusters == 400
        assert "From 2000 preferences in 400 clusters" in fit.text.replace(",", "")
        assert gw.fit_gain(table(*copied)).upper < fit.upper

    def test_a_free_table_is_found_if_no_base_fits(self):
        rng, gains = np.random.default_rng(5), np.array([0, 0.02, 0.6, 0.65, 1.0])
        first = rng.choice(5, size=(3000, 10), p=[0.4, 0.2, 0.15, 0.15, 0.1])
        second = rng.permuted(first, axis=1)
        ideal = gains[-np.sort(-first, axis=1)] @ DISCOUNT
        gap = (gains[first] - gains[second]) @ DISCOUNT / np.where(ideal > 0, ideal, 1)
        preferred = np.where(rng.random(3000) < 1 / (1 + np.exp(-15 * gap)), "a", "b")
        fit = gw.fit_gain(table(first, second, preferred))
        assert fit.fit_p_value < 1e-6
        assert (fit.verdict, fit.has_base) == ("neither", False)
        assert list(fit.table.values()) == pytest.approx(gains, abs=0.1)
        assert fit.gains([0, 4]) == [0, 1]
        with pytest.raises(ValueError, match="labels must be grades"):
            fit.gains([7])
        assert "no gain base fits" in fit.text
        comparison = gw.compare({"A": first[:9].ravel()}, gw.Judgments(first[:9].ravel(), group=[10] * 9))
        assert "no gain base fits" in comparison.gains([1, 4], fit=fit).text
        outside = gw.fit_gain(table(*planted(1.5, 800)))
        assert "which is outside these bases" in comparison.gains([3, 4], fit=outside).text

    def test_ties_count_half_for_either_side(self):
        first, second, preferred = planted(1.5, 300, seed=4)
        preferred = preferred.astype(object)
        preferred[:60] = "tie"
        fit = gw.fit_gain(table(first, second, preferred))
        doubled = [np.concatenate([part, part]) for part in (first, second)]
        twice = np.concatenate([preferred, preferred])
        twice[:60], twice[300:360] = "a", "b"
        other = gw.fit_gain(table(*doubled, twice))
        assert (fit.base, fit.slope) == (pytest.approx(other.base, abs=1e-4), pytest.approx(other.slope, rel=1e-4))
        assert fit.ties == 60
        assert "60 ties" in fit.text

    @pytest.mark.parametrize("scale", [1e-14, 1e14])
    def test_the_slope_absorbs_the_unit_of_dcg(self, scale):
        """An absolute tolerance would treat tiny differences as rounding."""
        preferences = table(*planted(1.5, 300, seed=8))
        one, scaled = (
            gw.fit_gain(preferences, metric=gw.DCG(gain="linear", discount=unit * DISCOUNT, k=10))
            for unit in (1.0, scale)
        )
        expected = (one.base, one.upper, one.slope, one.silent)
        assert (scaled.base, scaled.upper, scaled.slope * scale, scaled.silent) == pytest.approx(expected, rel=1e-6)


class TestInputs:
    def test_tables_and_scores_are_the_same_preferences(self):
        first, _, preferred = planted(1.5, 200, seed=6)
        scores = np.random.default_rng(6).permuted(np.tile(np.arange(10), (200, 1)), axis=1)
        second = np.take_along_axis(first, np.argsort(-scores, axis=1), axis=1)
        expected = gw.fit_gain(table(first, second, preferred))
        frame = pd.DataFrame(table(list(map(list, first)), list(map(list, second)), preferred))
        judgments = gw.Judgments(first.ravel(), group=[10] * 200)
        scored = (judgments, np.tile(np.arange(10, 0, -1), 200), scores.ravel(), preferred)
        for preferences in (frame, scored):
            fit = gw.fit_gain(preferences)
            assert (fit.base, fit.slope) == (pytest.approx(expected.base), pytest.approx(expected.slope))

    def test_lists_that_show_other_documents_need_the_labels_of_all(self):
        rng = np.random.default_rng(7)
        judged = rng.choice(4, size=(300, 12), p=[0.5, 0.3, 0.15, 0.05])
        order = rng.permuted(np.tile(np.arange(12), (300, 1)), axis=1)
        first = np.take_along_axis(judged, order[:, :5], axis=1)
        second = np.take_along_axis(judged, order[:, 7:], axis=1)
        gap = ndcg(2, first, judged) - ndcg(2, second, judged)
        preferred = np.where(rng.random(300) < 1 / (1 + np.exp(-8 * gap)), "a", "b")
        preferences = read_preferences(table(first, second, preferred, labels=judged), gw.NDCG(gain="linear", k=10))
        for base in (1.0, 2.0, 3.0):
            expected = ndcg(base, first, judged) - ndcg(base, second, judged)
            np.testing.assert_allclose(preferences.compute_at_base(base), expected, rtol=1e-12, atol=1e-15)

    def test_a_custom_discount_need_not_go_beyond_the_cutoff(self):
        preferences = table(*planted(1.5, 300, seed=10))
        expected = gw.fit_gain(preferences, metric="ndcg_linear(discount=reciprocal)@3")
        metric = gw.NDCG(gain="linear", k=3, discount=lambda ranks: 1 / ranks, name="ndcg_own")
        fit = gw.fit_gain(preferences, metric=metric)
        assert (fit.base, fit.metric) == (pytest.approx(expected.base, rel=1e-9), "ndcg_own@3 with gain_base=b")
        listed = gw.fit_gain(preferences, metric=gw.NDCG(gain="linear", k=3, discount=[1, 1 / 2, 1 / 3]))
        assert listed.base == pytest.approx(expected.base, rel=1e-9)

    def test_dcg_needs_no_labels_of_all_documents(self):
        first, second, preferred = planted(1.5, 40, seed=11)
        preferences = read_preferences(table(first[:, :4], second[:, 4:], preferred), gw.DCG(gain="linear", k=3))
        expected = (gain_of(1.5, first[:, :3]) - gain_of(1.5, second[:, 4:7])) @ DISCOUNT[:3]
        np.testing.assert_allclose(preferences.compute_at_base(1.5), expected, rtol=1e-12, atol=1e-15)

    @pytest.mark.parametrize(("scale", "base"), [(0.3, 1.0), (0.3, 3.5), (20, 1.04)])
    def test_labels_of_any_size_have_the_gains_of_the_metric(self, scale, base):
        first, second, preferred = planted(1.5, 60)
        preferences = read_preferences(table(scale * first, scale * second, preferred), gw.NDCG(gain="linear", k=4))
        metric, by_rank = gw.NDCG(gain="power", gain_base=base, k=4), np.tile(np.arange(10, 0, -1), 60)
        judged = [gw.Judgments(scale * shown.ravel(), group=[10] * 60) for shown in (first, second)]
        a, b = (gw.evaluate(metric, judgments, by_rank).per_query[:, 0] for judgments in judged)
        np.testing.assert_allclose(preferences.compute_at_base(base), a - b, atol=1e-12)


class TestResult:
    def test_an_uncertain_and_a_certain_verdict(self):
        assert gw.fit_gain(table(*planted(1.4, 60, seed=1))).verdict == "cannot tell"
        fit = gw.fit_gain(table(*planted(1.5, 4000, seed=15)))
        assert fit.verdict == "neither"
        assert all(f"{number:.2f}" in fit.text for number in (fit.base, fit.lower, fit.upper))
        assert fit.gains([0, 1, 2]) == pytest.approx([0, 1, fit.base + 1])
        for labels in ([-1], [0, math.nan], [math.inf]):
            with pytest.raises(ValueError, match="labels must be"):
                fit.gains(labels)

    def test_an_interval_without_bounds(self):
        fit = gw.fit_gain(table(*planted(3.5, 150, seed=2)))
        assert math.isinf(fit.upper)
        assert "or more" in fit.text
        assert "inf" not in fit.text
        assert json.loads(json.dumps(fit.to_dict(), allow_nan=False))["upper"] is None
        assert gw.fit_gain(table(*planted(0.3, 150, seed=2))).lower == 0
        wider = gw.fit_gain(table(*planted(6.0, 4000, seed=3)), bases=(1, 16))
        assert wider.lower < 6 < wider.upper < 16
