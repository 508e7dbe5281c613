"""One-sided p-values and intervals by direction, against SciPy's paired t-test."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from tests.comparison.tables import leaderboard_table

from gainsay.comparison.estimates import estimate
from gainsay.comparison.inputs import read_panel
from gainsay.comparison.paired import pair_p_values


@pytest.fixture(scope="module")
def values():
    rng = np.random.default_rng(0)
    return {name: rng.normal([0.0, 0.05, 0.1], 0.3, (80, 3)) for name in ("x", "y")}


def test_small_where_the_second_of_a_pair_is_ahead(values):
    found = pair_p_values(estimate(read_panel(values))).one_sided
    for row, of_metric in enumerate(values.values()):
        for k in range(3):
            for j in range(3):
                if j != k:
                    expected = stats.ttest_rel(of_metric[:, j], of_metric[:, k], alternative="greater").pvalue
                    assert found[row, k, j] == pytest.approx(expected, rel=1e-9)


def test_intervals_reach_as_far_below_the_mean_as_above(values):
    table = leaderboard_table(values)
    assert (table["lower"] < table["mean"]).all()
    np.testing.assert_allclose(table["mean"] - table["lower"], table["upper"] - table["mean"], rtol=1e-9)
