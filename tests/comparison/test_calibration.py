"""The calibrations: populations with the stated means, exact truth by tilting, stored rates, and scripts that run."""

import importlib
import importlib.util
import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).parents[2] / "research" / "calibration" / "calibration.py"


@pytest.fixture(scope="module")
def calibration():
    sys.path.insert(0, str(SOURCE.parent))  # The script imports modules of its folder.
    spec = importlib.util.spec_from_file_location("calibration_benchmark", SOURCE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses use sys.modules.
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(SOURCE.parent))


@pytest.fixture(scope="module")
def population(calibration):
    return calibration.simulate(20_000, seed=1)


def test_tilted_means_are_the_truth(calibration, population):
    for scenario in calibration.SCENARIOS:
        chance = calibration.tilt(population, scenario.truth)
        assert chance.sum() == pytest.approx(1)
        assert chance.min() > 0
        mean = np.tensordot(chance, population, axes=1)
        np.testing.assert_allclose(mean - mean[:, :1], scenario.truth - scenario.truth[:, :1], atol=1e-8)


def test_the_table_of_claims_has_the_stored_rates(calibration):
    claims = importlib.import_module("claims")
    assert (SOURCE.parent / "CLAIMS.md").read_text(encoding="utf-8") == claims.build_table()
    row = {"target": 0.05, "direction": "at most", "after": {"events": 240, "samples": 4000}}
    assert [claims.is_within(row), claims.is_within(row | {"direction": "at least"})] == [False, True]


def test_all_scripts_of_the_calibration_run(calibration, tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("# Before\n", encoding="utf-8")
    small = ["--repetitions", "1", "--population", "3000", "--output", str(page)]
    monkeypatch.setattr(sys, "argv", ["calibration_gains.py", *small])
    runpy.run_path(str(SOURCE.with_name("calibration_gains.py")), run_name="__main__")
    assert page.read_text(encoding="utf-8").startswith("# Before")
    assert "## Gain path" in page.read_text(encoding="utf-8")
    for other in ("calibration_decisions", "calibration_trainings", "claims_kinds"):
        importlib.import_module(other)


def test_interrupted_claims_continue_with_the_same_samples(calibration, tmp_path, monkeypatch):
    claims = importlib.import_module("claims")
    target = {"below .3": claims.at_most(0.3)}
    study = claims.Study("1", "uniform numbers", lambda rng: {"below .3": bool(rng.random() < 0.3)}, target)
    results = []
    for path, sizes in ((tmp_path / "once.json", [120]), (tmp_path / "twice.json", [70, 120])):
        for size in sizes:
            small = ["--samples", str(size), "--workers", "1", "--output", str(path)]
            monkeypatch.setattr(sys, "argv", ["claims.py", *small])
            claims.run_studies(None, "uniform", [study])
        results.append(json.loads(path.read_text(encoding="utf-8")))
    assert results[0] == results[1]
    assert results[0][0]["after"]["samples"] == 120
    assert claims.is_within(results[0][0])


@pytest.mark.nightly
@pytest.mark.parametrize(
    "name", ["claims_bounds", "claims_gate", "claims_guards", "claims_inference", "claims_evidence"]
)
def test_all_trials_of_the_claims_run(calibration, name):
    for study in importlib.import_module(name).STUDIES:
        counts = study.draw([0])
        assert {claim for claim, _ in counts} <= set(study.targets), study.setting


def test_differences_have_their_exact_moments(calibration):
    differences = importlib.import_module("differences")
    rng = np.random.default_rng(0)
    for population in (differences.Lognormal(0.01), differences.Lognormal(-0.02, 0.1, 1.0, 5.0)):
        sample = population.draw(rng, 2_000_000)
        deviation, _ = population.compute_moments()
        assert abs(sample.mean() - population.mean) < 5 * deviation / len(sample) ** 0.5
        assert sample.std() == pytest.approx(deviation, rel=0.02)
    sample, weights = differences.draw_weighted(rng, 2_000_000, 0.5, -0.01)
    assert np.average(sample, weights=weights) == pytest.approx(-0.01, abs=2e-4)
    sample, _ = differences.draw_clustered(rng, 100_000, 64, 1.5, -0.01)
    assert sample.mean() == pytest.approx(-0.01, abs=2e-3)


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
