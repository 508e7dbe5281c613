"""The calibration: its populations have the stated means, its table has the stored rates, and its scripts run."""

from __future__ import annotations

import importlib.util
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
    assert "## Gain path" in page.read_text(encoding="utf-8")
    for other in ("calibration_decisions", "calibration_trainings", "claims_gate", "claims_inference"):
        importlib.import_module(other)
