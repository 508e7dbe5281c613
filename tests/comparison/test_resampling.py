"""Means, their covariance and the draws, against NumPy, SciPy and loops written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.comparison.populations import to_t

from gainsay.comparison.data import read_panel
from gainsay.comparison.estimates import estimate, sum_powers
from gainsay.comparison.resampling import critical_value, draw_errors, map_to_t


def panel_of(seed, queries=60, models=4, weights=None):
    rng = np.random.default_rng(seed)
    first = np.round(rng.random((queries, models)), 1)
    second = np.round(0.5 * first + 0.5 * rng.random((queries, models)), 1)
    return read_panel({"a": first, "b": second}, weights=weights), np.hstack([first, second])


@pytest.mark.parametrize(("queries", "models"), [(60, 4), (5, 6)])
def test_root_squares_to_covariance_of_the_means(queries, models):
    panel, x = panel_of(0, queries, models)
    root = estimate(panel).root
    np.testing.assert_allclose(root.T @ root, np.cov(x.T) / len(x), atol=1e-15)


def test_weighted_mean_and_covariance_follow_the_formula():
    weights = np.random.default_rng(2).random(60) * 7
    panel, x = panel_of(2, weights=weights)
    mean = sum(w * row for w, row in zip(weights, x, strict=True)) / sum(weights)
    covariance = np.zeros((8, 8))
    for w, row in zip(weights, x, strict=True):
        covariance += w**2 * np.outer(row - mean, row - mean)
    covariance *= 60 / 59 / sum(weights) ** 2
    estimated = estimate(panel)
    np.testing.assert_allclose(estimated.mean.ravel(), mean)
    np.testing.assert_allclose(estimated.root.T @ estimated.root, covariance, atol=1e-15)


def test_queries_of_weight_zero_are_absent():
    rng = np.random.default_rng(6)
    x, weights = rng.random((50, 3)), rng.random(50)
    weights[::3] = 0
    keep = weights > 0
    whole = estimate(read_panel({"a": x}, weights=weights))
    part = estimate(read_panel({"a": x[keep]}, weights=weights[keep]))
    np.testing.assert_array_equal(whole.root, part.root)
    assert whole.queries == keep.sum()


@pytest.mark.parametrize("scale", [1e-9, 1e-6, 1e-3])
def test_nearly_equal_models_keep_a_correct_error(scale):
    """Forming the covariance matrix first would lose these differences to cancellation."""
    rng = np.random.default_rng(8)
    base = rng.random(500)
    difference = scale * rng.normal(size=500)
    estimated = estimate(read_panel({"a": np.stack([base, base + difference], axis=1)}))
    assert estimated.error[0, 0, 1] == pytest.approx(difference.std(ddof=1) / np.sqrt(500), rel=1e-5)


@pytest.mark.parametrize("queries", [5, 64, 997, 1003])
def test_equal_columns_are_equal_to_the_last_digit_in_everything(queries):
    rng = np.random.default_rng(queries)
    x = rng.random((queries, 9))
    x[:, 8] = x[:, 3]
    estimated = estimate(read_panel({"a": x}, weights=rng.random(queries)))
    assert estimated.mean[0, 8] == estimated.mean[0, 3]
    np.testing.assert_array_equal(estimated.error[0, 8], estimated.error[0, 3])
    np.testing.assert_array_equal(
        draw_errors(estimated, 777, 0).values[0, 8], draw_errors(estimated, 777, 0).values[0, 3]
    )


def test_draws_have_the_covariance_of_the_means():
    estimated = estimate(panel_of(12)[0])
    draws = draw_errors(estimated, 40_000, 1).values.reshape(8, -1)
    covariance = estimated.root.T @ estimated.root
    spread = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    assert np.abs((np.cov(draws) - covariance) / spread).max() < 5 / np.sqrt(40_000)


def test_chunks_do_not_change_the_draws():
    estimated = estimate(panel_of(13)[0])
    one, other = draw_errors(estimated, 1000, 5, chunk=1000), draw_errors(estimated, 1000, 5, chunk=7)
    np.testing.assert_allclose(one.values, other.values, atol=1e-15)


def test_peaks_are_the_largest_studentised_leads():
    estimated = estimate(panel_of(14)[0])
    noise = draw_errors(estimated, 50, 2)
    for metric in (0, 1):
        for k in range(4):
            leads = [
                to_t((noise.values[metric, j] - noise.values[metric, k]) / estimated.error[metric, k, j], 59)
                for j in range(4)
                if j != k
            ]
            np.testing.assert_allclose(noise.max_t[metric, k], np.maximum(0, np.max(leads, axis=0)), rtol=1e-5)


def test_support_counts_differing_queries_and_discounts_uneven_weights():
    x = np.zeros((10, 2))
    x[:4, 1] = 1
    assert estimate(read_panel({"a": x})).support[0, 0, 1] == 4
    weights = np.r_[100.0, 1, 1, 1, np.ones(6)]
    assert estimate(read_panel({"a": x}, weights=weights)).support[0, 0, 1] == pytest.approx(103**2 / 10_003)


@given(st.integers(0, 10_000), st.integers(99, 400), st.sampled_from([0.9, 0.95, 0.955, 0.995, 0.5]))
@settings(deadline=None)
def test_critical_value_and_p_value_decide_alike(seed, count, level):
    rng = np.random.default_rng(seed)
    draws = np.round(rng.normal(size=count), 1)
    critical = critical_value(draws, level)
    for statistic in np.round(rng.normal(size=20), 1):
        p = (1 + np.count_nonzero(draws >= statistic)) / (count + 1)
        if level * (count + 1) <= count:
            assert (statistic > critical) == (p <= 1 - level + 1e-12)


@pytest.mark.parametrize("freedom", [29, 59, 999])
def test_the_map_has_the_quantiles_of_student(freedom):
    z = np.linspace(-5, 5, 201)
    np.testing.assert_allclose(map_to_t(z.copy(), freedom), to_t(z, freedom), rtol=2e-3)


@pytest.mark.parametrize("power", [2, 3])
@pytest.mark.parametrize("scale", [1e-7, 1e-3, 1.0])
def test_sums_of_powers_are_those_of_differences_even_of_similar_rows(power, scale):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(2, 300))[[0, 0, 1, 1, 1]] + scale * rng.normal(size=(5, 300))
    expected = ((rows[None] - rows[:, None]) ** power).sum(axis=2)
    np.testing.assert_allclose(sum_powers(rows, power), expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())


def test_many_models_have_the_errors_of_few_and_draws_with_their_covariance():
    rng = np.random.default_rng(4)
    x = rng.random((50, 1)) + 0.1 * rng.normal(size=(50, 250))
    many = estimate(read_panel({"a": x, "b": x[:, ::-1] ** 2}))
    few = estimate(read_panel({"a": x[:, :4], "b": x[:, :-5:-1] ** 2}))
    np.testing.assert_allclose(many.error[:, :4, :4], few.error, rtol=1e-12)
    np.testing.assert_allclose(many.root.T @ many.root, np.cov(np.hstack([x, x[:, ::-1] ** 2]).T) / 50, atol=1e-16)
    shuffled = estimate(read_panel({"a": x[::-1], "b": x[::-1, ::-1] ** 2}))
    np.testing.assert_allclose(shuffled.root, many.root, atol=1e-15)


def test_shifted_quantiles_are_those_of_all_draws():
    estimated = estimate(panel_of(15, models=5)[0])
    noise, rng = draw_errors(estimated, 500, 3), np.random.default_rng(5)
    shift = np.minimum(0.0, rng.normal(-1, 2, (2, 5, 5)))
    largest = np.zeros((5, 500))
    for row, k, j in np.argwhere(estimated.error > 0).tolist():
        largest[k] = np.maximum(largest[k], noise.compute_t(row, k, j) + shift[row, k, j])
    for models in ([0], [3], range(5)):
        expected = critical_value(largest[list(models)].max(axis=0), 0.9)
        found = noise.find_shifted_quantile([0, 1], models, shift[:, list(models)], 0.9)
        assert found == pytest.approx(expected, rel=1e-12)
