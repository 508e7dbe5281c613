"""The detectable difference, compared with its formula: (h(c) + z √(1 + c²/2ν)) · e over the relevant pairs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from tests.comparison.populations import corrected, panel_of, to_t

from gainwise.comparison.estimates import estimate
from gainwise.comparison.inference import draw_errors, estimate_detectable_difference

NAMES = ("x", "y")


def sample(seed=0, queries=200, spreads=(0.1, 0.2, 0.4, 0.8)):
    """Models with increasing variance, so each subset of models has another largest error."""
    rng = np.random.default_rng(seed)
    return {name: rng.normal(0, spreads, (queries, len(spreads))) for name in NAMES}


def written_out(values, noise, question, alpha, differing=30):
    """Return the same by loops over models, from the draws only."""
    pairs, criticals = [], []
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
                    pairs.append((error, stats.skew(difference) / math.sqrt(len(difference)), len(difference) - 1))
        place = math.ceil((1 - alpha + alpha / 10) * (len(peaks) + 1)) - 1
        criticals.append(np.sort(peaks)[place])
    c = max(criticals)
    gain = stats.norm.ppf(0.8)
    return max(
        (
            error * (corrected(c, -skewness) + gain * math.sqrt(1 + c**2 / (2 * freedom)))
            for error, skewness, freedom in pairs
        ),
        default=math.inf,
    )


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
    estimated = estimate(panel_of(values))
    noise = draw_errors(estimated, 1500, seed=3)
    found = estimate_detectable_difference(noise, alpha, np.isin(np.arange(4), kept), np.array(winner))
    assert found == pytest.approx(written_out(values, noise.values, question, alpha), rel=1e-7)
