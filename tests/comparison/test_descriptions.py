"""Shares of draws against their meaning."""

from __future__ import annotations

import numpy as np
import pytest

from gainsay import Verdict


def sample(seed, queries=200, models=5):
    rng = np.random.default_rng(seed)
    a = rng.random((queries, 1)) + rng.normal(0, 0.2, (queries, models)) + np.linspace(0, 0.1, models)
    return {"a": a, "b": 0.5 * a + rng.normal(0, 0.2, (queries, models))}


def test_best_probabilities_match_a_bootstrap_of_queries():
    values = sample(2)
    about = Verdict.from_values(*values.values(), draws=20_000, metric_names=tuple(values))
    rng = np.random.default_rng(0)
    best = {metric: np.zeros(5) for metric in values}
    differ = 0
    for _ in range(4000):
        rows = rng.integers(200, size=200)
        winners = {metric: v[rows].mean(axis=0).argmax() for metric, v in values.items()}
        for metric, winner in winners.items():
            best[metric][winner] += 1 / 4000
        differ += winners["a"] != winners["b"]
    for metric in values:
        np.testing.assert_allclose(list(about.best_probability[metric].values()), best[metric], atol=0.03)
    assert about.winners_differ_probability == pytest.approx(differ / 4000, abs=0.03)
