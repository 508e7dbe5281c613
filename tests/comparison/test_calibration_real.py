"""The calibration on real queries: exact truth by tilting, samples of queries and clusters, and its script."""

from __future__ import annotations

import importlib
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "research" / "calibration" / "calibration_real.py"
MODELS = 13


@pytest.fixture(scope="module")
def real():
    sys.path.insert(0, str(SCRIPT.parent))
    yield importlib.import_module("calibration_real")
    sys.path.remove(str(SCRIPT.parent))


@pytest.fixture(scope="module")
def queries(real):
    rng = np.random.default_rng(0)
    values = np.clip(rng.normal(0.6, 0.2, (400, 1, 1)) + rng.normal(0, 0.1, (400, 3, MODELS)), 0, 1)
    names = tuple(f"model {number}" for number in range(MODELS))
    clusters = np.sort(rng.integers(60, size=400))
    return real.Queries(values, ("ndcg_linear@10", "map", "mrr"), names, clusters, rng.lognormal(size=400))


def test_tilting_of_the_example(real):
    """The exponent is that of the design of this calibration."""
    differences = np.array([-0.3, -0.1, 0, 0, 0.1, 0.4])
    p = real.find_probabilities((differences + 0.02)[:, None], 1e-13)
    assert p @ differences == pytest.approx(-0.02)
    slopes = np.diff(np.log(p[[0, 1, 4, 5]])) / np.diff(differences[[0, 1, 4, 5]])  # p ∝ exp(λ · difference)
    np.testing.assert_allclose(slopes, -0.852981, atol=5e-7)


@pytest.mark.parametrize("design", ["queries", "clusters", "weights"])
def test_samples_have_the_true_means(queries, design):
    chosen = queries.select(("ndcg_linear@10", "mrr"), (0, 1, 2))
    truth = np.array([[0, 0.01, -0.02], [0, -0.01, 0.03]])
    p = chosen.tilt(truth, design)
    rng, sums, total = np.random.default_rng(1), np.zeros((2, 3)), 0.0
    for _ in range(200):
        drawn = chosen.draw(design, p, 2_000, rng)
        weights = np.ones(len(drawn.values)) if drawn.weights is None else drawn.weights
        sums += np.tensordot(weights, drawn.values, axes=1)
        total += weights.sum()
    means = sums / total
    np.testing.assert_allclose(means - means[:, :1], truth, atol=0.002)


def test_clusters_are_drawn_as_a_whole(queries):
    drawn = queries.draw("clusters", None, 100, np.random.default_rng(0))
    assert len(np.unique(drawn.clusters)) == round(100 * 60 / 400)
    assert set(np.bincount(drawn.clusters)) <= set(np.bincount(queries.clusters))


def test_intervals_of_a_known_pair_cover(real, queries):
    """The interval of one fixed pair covers in about 95 % of samples: 100 samples, limits of four standard errors."""
    rates = real.PairCell(0, 1, -real.MARGIN, "queries", 500).judge(range(100), queries)
    assert 0.86 <= rates["covered"] <= 1
    assert rates["ships without a loss"] <= 0.09


@pytest.mark.nightly
def test_the_script_runs_and_continues(queries, tmp_path, monkeypatch, capsys):
    arrays = {"values": queries.values, "metrics": np.array(queries.metrics), "models": np.array(queries.models)}
    np.savez(tmp_path / "values.npz", **arrays, clusters=queries.clusters, weights=queries.weights)
    page = tmp_path / "page.md"
    options = ["--values", str(tmp_path / "values.npz"), "--samples", "1", "--sizes", "500", "--output", str(page)]
    monkeypatch.setattr(sys, "argv", [SCRIPT.name, *options])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    text, rates = page.read_text("utf-8"), page.with_name("CALIBRATION_REAL.json").read_text("utf-8")
    assert text.startswith("## Real queries")
    runpy.run_path(str(SCRIPT), run_name="__main__")
    assert (page.read_text("utf-8"), page.with_name("CALIBRATION_REAL.json").read_text("utf-8")) == (text, rates)


def test_a_missing_file_is_named(real, tmp_path):
    with pytest.raises(SystemExit, match=r"--values: .*missing.npz does not exist"):
        real.read_queries(tmp_path / "missing.npz")
