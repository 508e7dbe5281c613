"""What the sample is able to show, against the formula written out: (c + z) · e over the models in question."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from tests.comparison.populations import to_t

from gainsay.comparison.data import read_panel
from gainsay.comparison.estimates import estimate
from gainsay.comparison.inference import estimate_detectable_difference
from gainsay.comparison.resampling import draw_errors

NAMES = ("x", "y")


def sample(seed=0, queries=200, spreads=(0.1, 0.2, 0.4, 0.8)):
    """Models of ever wider scatter, so that each choice of models in question has a largest error of its own."""
    rng = np.random.default_rng(seed)
    return {name: rng.normal(0, spreads, (queries, len(spreads))) for name in NAMES}


def written_out(values, noise, question, alpha, differing=30):
    """The same by loops over models, from the draws alone."""
    errors, criticals = [0.0], []
    for k in question:
        peaks = np.zeros(noise.shape[2])
        for row, name in enumerate(NAMES):
            for j in range(values[name].shape[1]):
                difference = values[name][:, j] - values[name][:, k]
                error = difference.std(ddof=1) / math.sqrt(len(difference))
                if error == 0:
                    continue
                peaks = np.maximum(peaks, to_t((noise[row, j] - noise[row, k]) / error, len(difference) - 1))
                if j in question and np.count_nonzero(difference) >= differing:
                    errors.append(error)
        place = math.ceil((1 - alpha + alpha / 10) * (len(peaks) + 1)) - 1
        criticals.append(np.sort(peaks)[place])
    return (max(criticals) + stats.norm.ppf(0.8)) * max(errors) if max(errors) else math.inf


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
@pytest.mark.parametrize(
    ("kept", "winner", "question"),
    [
        ([0, 1], [0, 1], [0, 1]),
        ([0, 1], [0, 2], [0, 1, 2]),
        ([], [1, 2], [1, 2]),
        ([1], [1, 1], [0, 1, 2, 3]),
        ([], [0, 0], [0, 1, 2, 3]),
        ([0, 1, 2, 3], [0, 0], [0, 1, 2, 3]),
    ],
)
def test_the_kept_and_the_winners_are_in_question_or_all_where_that_is_one(kept, winner, question, alpha):
    values = sample()
    estimated = estimate(read_panel(values))
    noise = draw_errors(estimated, 1500, seed=3)
    found = estimate_detectable_difference(estimated, noise, alpha, np.isin(np.arange(4), kept), np.array(winner))
    assert found == pytest.approx(written_out(values, noise.values, question, alpha), rel=1e-7)


@pytest.mark.parametrize(("differing", "counts"), [(29, False), (30, True)])
def test_pairs_that_differ_on_fewer_than_thirty_queries_do_not_speak(differing, counts):
    """The pair's scatter is the widest of all, so that the lead shows whether it counts."""
    values = sample(spreads=(0.1, 0.1, 0.1))
    values["y"][:, 2] = values["y"][:, 1]
    values["y"][:differing, 2] += np.linspace(5, 9, differing)
    estimated = estimate(read_panel(values))
    noise = draw_errors(estimated, 500, seed=0)
    found = estimate_detectable_difference(estimated, noise, 0.05, np.array([False, True, True]), np.array([1, 2]))
    assert found == pytest.approx(written_out(values, noise.values, [1, 2], 0.05), rel=1e-7)
    widest = (values["y"][:, 2] - values["y"][:, 1]).std(ddof=1) / math.sqrt(200)
    assert (found > 2 * widest) == counts


def test_nothing_is_detectable_where_nothing_varies():
    values = {name: np.zeros((50, 3)) for name in NAMES}
    estimated = estimate(read_panel(values))
    noise = draw_errors(estimated, 200, seed=0)
    assert estimate_detectable_difference(estimated, noise, 0.05, np.ones(3, dtype=bool), np.array([0, 0])) == math.inf


@pytest.mark.parametrize("lead", [0.0, 0.1, 1e5])
def test_a_difference_that_only_rounding_makes_vary_has_no_error(lead):
    """x + 0.1 - x is not always 0.1 in binary; what varies by less than a millionth does have an error."""
    first = np.random.default_rng(2).random(400)
    rounded = estimate(read_panel({"x": np.stack([first, first + lead], axis=1)}))
    np.testing.assert_array_equal(rounded.error, 0.0)
    shaken = first + lead + 1e-7 * np.tile([-1, 1], 200)
    varied = estimate(read_panel({"x": np.stack([first, shaken], axis=1)}))
    expected = (shaken - first).std(ddof=1) / math.sqrt(400)
    assert varied.error[0, 0, 1] == pytest.approx(expected, rel=1e-3)
