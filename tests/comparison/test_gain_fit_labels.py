"""Labels of preferences: of any size, fractional, and what is none."""

import numpy as np
import pytest

import gainsay as gs
from gainsay.comparison.preferences import read_preferences
from gainsay.metrics import NDCG

RNG = np.random.default_rng(0)
GRADES = RNG.choice(4, size=(60, 6), p=[0.4, 0.3, 0.2, 0.1])
OTHER = RNG.permuted(GRADES, axis=1)
PREFERRED = np.where(RNG.random(60) < 0.5, "a", "b")


def table(scale=1.0):
    return {"a": scale * GRADES, "b": scale * OTHER, "preferred": PREFERRED}


@pytest.mark.parametrize("scale", [0.3, 1.0, 300.0, 1e6])
@pytest.mark.parametrize("base", [1.0, 1.04, 2.0, 3.5])
def test_differences_are_those_of_the_metric_itself(scale, base):
    given = read_preferences(table(scale), NDCG(gain="linear", k=4))
    by_rank = np.tile(np.arange(6, 0, -1), 60)
    a, b = (
        gs.evaluate(NDCG(gain="power", gain_base=base, k=4), gs.Judgments(shown.ravel(), group=[6] * 60), by_rank)
        for shown in (scale * GRADES, scale * OTHER)
    )
    np.testing.assert_allclose(given.differences(base), (a.per_query - b.per_query)[:, 0], atol=1e-12)


@pytest.mark.parametrize("labels", [[-1], [0, float("nan")], [float("inf")]])
def test_what_is_no_label_has_no_gain(labels):
    rankings = {"a": [[2, 0], [1, 1], [2, 1]] * 20, "b": [[1, 1], [2, 0], [1, 2]] * 20}
    fit = gs.fit_gain(rankings | {"labels": [[2, 1, 1, 0]] * 60, "preferred": ["b", "a", "a", "a", "b", "a"] * 10})
    with pytest.raises(ValueError, match="labels must be finite and not negative, got"):
        fit.gains(labels)
