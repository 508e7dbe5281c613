"""Means, their covariance and the draws, compared with NumPy, SciPy and loops."""

import numpy as np
import pytest
from tests.comparison.populations import panel_of, to_t

from gainwise.comparison.estimates import estimate
from gainwise.comparison.inference import map_to_t


def draw_panel(seed, queries=60, models=4, weights=None):
    rng = np.random.default_rng(seed)
    first = np.round(rng.random((queries, models)), 1)
    second = np.round(0.5 * first + 0.5 * rng.random((queries, models)), 1)
    return panel_of({"a": first, "b": second}, weights=weights), np.hstack([first, second])


def test_weighted_mean_and_covariance_follow_the_formula():
    weights = np.random.default_rng(2).random(60) * 7
    panel, x = draw_panel(2, weights=weights)
    mean = sum(w * row for w, row in zip(weights, x, strict=True)) / sum(weights)
    covariance = np.zeros((8, 8))
    for w, row in zip(weights, x, strict=True):
        share = w / sum(weights)
        covariance += share**2 / (1 - share) * np.outer(row - mean, row - mean)
    estimated = estimate(panel)
    np.testing.assert_allclose(estimated.mean.ravel(), mean)
    np.testing.assert_allclose(estimated.root.T @ estimated.root, covariance, atol=1e-15)


@pytest.mark.parametrize("scale", [1e-9, 1e-6, 1e-3])
def test_nearly_equal_models_keep_a_correct_error(scale):
    """With a covariance matrix of all means, these differences would be lost by cancellation."""
    rng = np.random.default_rng(8)
    base = rng.random(500)
    difference = scale * rng.normal(size=500)
    estimated = estimate(panel_of({"a": np.stack([base, base + difference], axis=1)}))
    assert estimated.error[0, 0, 1] == pytest.approx(difference.std(ddof=1) / np.sqrt(500), rel=1e-5)


@pytest.mark.parametrize("freedom", [29, 59, 999])
def test_the_map_has_the_quantiles_of_student(freedom):
    z = np.linspace(-5, 5, 201)
    np.testing.assert_allclose(map_to_t(z.copy(), freedom), to_t(z, freedom), rtol=2e-3)


def test_many_models_have_the_errors_of_few_and_draws_with_their_covariance():
    rng = np.random.default_rng(4)
    x = rng.random((50, 1)) + 0.1 * rng.normal(size=(50, 250))
    many = estimate(panel_of({"a": x, "b": x[:, ::-1] ** 2}))
    few = estimate(panel_of({"a": x[:, :4], "b": x[:, :-5:-1] ** 2}))
    np.testing.assert_allclose(many.error[:, :4, :4], few.error, rtol=1e-12)
    np.testing.assert_allclose(many.root.T @ many.root, np.cov(np.hstack([x, x[:, ::-1] ** 2]).T) / 50, atol=1e-16)
    shuffled = estimate(panel_of({"a": x[::-1], "b": x[::-1, ::-1] ** 2}))
    np.testing.assert_allclose(shuffled.root, many.root, atol=1e-15)


@pytest.mark.parametrize("spread", [0.0, 1e-14, 6e-13])
@pytest.mark.parametrize("models", [4, 60, 150])
def test_wins_of_any_number_of_models_are_those_of_a_loop(models, spread):
    rng = np.random.default_rng(models)
    values = np.round(rng.random((70, models)), 1) + spread * rng.normal(size=(70, models))
    estimated = estimate(panel_of({"a": values, "b": rng.random((70, models))}))
    for j in range(models):
        wins = (values[:, [j]] > values + estimated.tolerance[0]).sum(axis=0)
        np.testing.assert_array_equal(estimated.wins[0, :, j], wins)


def test_estimates_without_pairs_have_the_same_means():
    rng = np.random.default_rng(3)
    values = rng.random((80, 5))
    values[:, 4] = values[:, 1] + 4e-13  # less than rounding errors
    panel = panel_of({"a": values, "b": values[:, ::-1] ** 2})
    means, full = estimate(panel, pairs=False), estimate(panel)
    assert means.error.size == 0
    for name in ("mean", "mean_error", "difference", "root", "duplicate_of"):
        np.testing.assert_array_equal(getattr(means, name), getattr(full, name))
    assert full.duplicate_of.tolist() == [[0, 1, 2, 3, 1], [0, 1, 2, 0, 4]]
