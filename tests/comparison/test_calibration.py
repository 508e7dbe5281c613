"""The calibration benchmark: its populations have the truth they claim, and a small repeat comes out as it should."""

from __future__ import annotations

import importlib.util
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).parents[2] / "calibration" / "calibration.py"


@pytest.fixture(scope="module")
def calibration():
    sys.path.insert(0, str(SOURCE.parent))  # as where it is repeat: it imports what lies beside it
    spec = importlib.util.spec_from_file_location("calibration_benchmark", SOURCE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
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


def test_t_tests_need_both_winners_ahead_under_their_own_metric(calibration):
    sample = np.zeros((200, 2, 3))
    sample[:, 0, 0] = sample[:, 1, 2] = np.linspace(0.01, 0.03, 200)
    found = [calibration.each_winner_beats_the_other(sample, pair) for pair in ([0, 2], [0, 0], [2, 0])]
    assert list(map(bool, found)) == [True, False, False]
    for second in (np.linspace(-0.1, 0.1, 200), 0):
        sample[:, 1, 2] = second
        assert not calibration.each_winner_beats_the_other(sample, [0, 2])


def test_the_command_writes_the_page_and_goes_on_where_it_stopped(calibration, tmp_path, monkeypatch):
    monkeypatch.setattr(calibration, "SCENARIOS", calibration.SCENARIOS[:1])
    rates = dict.fromkeys(calibration.RATES, 0.0) | {"genuine": 0.2, "price_covered": 1.0, "safe_covered": 1.0}
    judged, target = [], tmp_path / "page.md"
    monkeypatch.setattr(calibration, "_start", lambda population, seed: None)
    monkeypatch.setattr(calibration, "_judge", lambda cell, seeds: judged.append(seeds) or rates)
    options = ["--queries", "1000", "--output", str(target), "--workers", "1", "--only", "fixed", "--repetitions"]
    assert calibration.main([*options, "100"]) == 1
    assert "**no**" in target.read_text(encoding="utf-8")
    calibration.main([*options, "50"])  # so many are there already
    calibration.main([*options, "101"])
    assert len(judged[0]) == 100
    assert judged[1][:100] == judged[0]
    calibration.main([*options, "50", "--seed", "1"])  # another seed's are others
    assert len(judged) == 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["", "skewed runs", "opposite skews", "unequal runs", "a fixed baseline"])
def test_effects_of_runs_have_mean_0_and_the_sizes_that_they_should(calibration, kind):
    """The mean over repeats of the lead of recipe 3 over recipe 4, whose truth is 0, and how it varies."""
    cells = sys.modules["calibration_cells"]
    cell = cells.RecipeCell("linear's best ahead, exponential tied", 5, 60, 4, "resampled queries", kind)
    samples = [cell.sample(np.random.default_rng(seed)) for seed in range(500)]
    repeats = [values.shape[2] for values in samples[0]]
    assert repeats == {"unequal runs": [3, 5, 10, 3, 5], "a fixed baseline": [1, 4, 4, 4, 4]}.get(kind, [4] * 5)
    found = np.array([[(values[2][row].mean() - values[3][row].mean()) for row in (0, 1)] for values in samples])
    parts, by_runs = cells.PARTS["resampled queries"], 1 / repeats[2] + 1 / repeats[3]
    variance = parts["run"] ** 2 * by_runs + (parts["query"] ** 2 + parts["query_run"] ** 2 * by_runs) / 60
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=4 * np.sqrt(variance / 500))
    np.testing.assert_allclose(found.var(axis=0), variance, rtol=0.25)
    assert np.corrcoef(found.T)[0, 1] == pytest.approx(cells.CORRELATION, abs=0.05)


def test_clusters_have_three_to_seven_queries_of_which_a_share_are_copies(calibration):
    rows = np.arange(20_000.0)[:, None]
    found, clusters = sys.modules["calibration_cells"].clustered(np.random.default_rng(0), rows, 0.3)
    assert set(np.bincount(clusters)[:-1]) == {3, 4, 5, 6, 7}
    first = np.searchsorted(clusters, clusters)
    followers, copied = first != np.arange(20_000), found[:, 0] != rows[:, 0]
    assert not copied[~followers].any()
    assert copied[followers].mean() == pytest.approx(0.3, abs=0.015)
    np.testing.assert_array_equal(found[copied, 0], rows[first[copied], 0])


def test_the_table_of_claims_has_the_stored_rates(calibration):
    claims = importlib.import_module("claims")
    assert (SOURCE.parent / "CLAIMS.md").read_text(encoding="utf-8") == claims.build_table()
    row = {"target": 0.05, "after": {"rate": 0.06, "se": 0.004}}
    assert [claims.is_within(row), claims.is_within(row | {"direction": "at least"})] == [False, True]


@pytest.mark.slow
def test_all_scripts_of_the_calibration_run(calibration, tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("# Before\n", encoding="utf-8")
    small = ["--repetitions", "1", "--fits", "1", "--population", "3000", "--output", str(page)]
    monkeypatch.setattr(sys, "argv", ["calibration_gains.py", *small])
    runpy.run_path(str(SOURCE.with_name("calibration_gains.py")), run_name="__main__")
    assert page.read_text(encoding="utf-8").startswith("# Before")
    assert "## The path of gains" in page.read_text(encoding="utf-8")
    for other in ("calibration_decisions", "gate_claims", "real_runs", "skewed_runs"):
        importlib.import_module(other)
