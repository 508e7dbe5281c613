"""The calibration benchmark: its populations have the truth they claim, and a small run comes out as it should."""

from __future__ import annotations

import importlib.util
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).parents[2] / "benchmarks" / "calibration.py"


@pytest.fixture(scope="module")
def calibration():
    sys.path.insert(0, str(SOURCE.parent))  # as where it is run: it imports what lies beside it
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


@pytest.fixture(scope="module")
def rows(calibration):
    store = calibration.Store(None, 2)
    calibration.judge_all(calibration.fixed_cells([3000]), store, 40, population=20_000, workers=1)
    return {row.scenario.name: row for row in calibration.rows_of(store, [3000])}


def test_verdicts_are_as_often_right_as_they_state(rows):
    allowed = 3 * np.sqrt(0.05 * 0.95 / 40)
    for name, row in rows.items():
        assert not row.scenario.has_common_best or row.genuine <= 0.05 + allowed, name
        assert min(row.price_covered, row.safe_covered) >= 0.95 - allowed, name
    assert rows["different bests, ±.012"].genuine >= 0.9
    assert rows["same best, ahead by .012"].agree >= 0.9
    assert rows["ladder of 8, ±.012"].genuine >= 0.5
    compromise = rows["compromise .0015 behind both"]
    assert compromise.safe_regret < min(compromise.linear_regret, compromise.exponential_regret) / 2


@pytest.mark.slow
def test_all_scripts_of_the_calibration_run(calibration, tmp_path, monkeypatch):
    page = tmp_path / "page.md"
    page.write_text("# Before\n", encoding="utf-8")
    small = ["--repetitions", "1", "--fits", "1", "--population", "3000", "--output", str(page)]
    monkeypatch.setattr(sys, "argv", ["calibration_gains.py", *small])
    runpy.run_path(str(SOURCE.with_name("calibration_gains.py")), run_name="__main__")
    assert page.read_text(encoding="utf-8").startswith("# Before")
    assert "## The path of gains" in page.read_text(encoding="utf-8")
    for other in ("calibration_decisions", "real_runs", "skewed_runs"):
        importlib.import_module(other)
