"""The calibration benchmark: its populations have the truth they claim, and a small run comes out as it should."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).parents[2] / "benchmarks" / "calibration.py"


@pytest.fixture(scope="module")
def calibration():
    spec = importlib.util.spec_from_file_location("calibration_benchmark", SOURCE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def population(calibration):
    return calibration.simulate(20_000, seed=1)


def test_values_are_ndcg(population):
    assert population.min() >= 0
    assert population.max() == pytest.approx(1)


def test_models_are_correlated_and_often_tie(population):
    assert np.corrcoef(population[:, 0].T).min() > 0.5
    same = (population == population[:, :, :1]).all(axis=(1, 2)).mean()
    assert 0.3 <= same <= 0.6


def test_tilted_means_are_the_truth(calibration, population):
    for scenario in calibration.SCENARIOS:
        chance = calibration.tilt(population, scenario.truth)
        assert chance.sum() == pytest.approx(1)
        assert chance.min() > 0
        mean = np.tensordot(chance, population, axes=1)
        np.testing.assert_allclose(mean - mean[:, :1], scenario.truth - scenario.truth[:, :1], atol=1e-8)


def test_truth_of_each_scenario_is_as_named(calibration):
    common = [scenario.has_common_best for scenario in calibration.SCENARIOS]
    assert common == [True] * 5 + [False] * 4
    clear = [scenario.name for scenario in calibration.SCENARIOS if scenario.has_clear_best]
    assert clear == ["same best, ahead by .012"]
    assert calibration.SCENARIOS[-1].regret.min() == pytest.approx(0.0015)


@pytest.fixture(scope="module")
def rows(calibration):
    found = calibration.calibrate(40, [3000], seed=2, population=20_000, workers=1)
    return {row.scenario.name: row for row in found}


def test_false_alarms_are_rare(rows):
    for row in rows.values():
        if row.scenario.has_common_best:
            assert row.genuine <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 40), row.scenario.name


def test_clear_truth_is_found(rows):
    assert rows["different bests, ±.012"].genuine >= 0.9
    assert rows["same best, ahead by .012"].agree >= 0.9
    assert rows["ladder of 8, ±.012"].genuine >= 0.5


def test_bounds_cover(rows):
    for row in rows.values():
        assert row.price_covered >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 40), row.scenario.name
        assert row.safe_covered >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 40), row.scenario.name


def test_safe_choice_loses_least_where_a_compromise_exists(rows):
    row = rows["compromise .0015 behind both"]
    assert row.safe_regret < min(row.linear_regret, row.exponential_regret) / 2


def test_t_tests_need_both_winners_ahead_under_their_own_metric(calibration):
    ahead, noise = np.linspace(0.01, 0.03, 200), np.linspace(-0.1, 0.1, 200)
    sample = np.zeros((200, 2, 3))
    sample[:, 0, 0] = sample[:, 1, 2] = ahead
    assert calibration.each_winner_beats_the_other(sample, [0, 2])
    assert not calibration.each_winner_beats_the_other(sample, [0, 0])
    assert not calibration.each_winner_beats_the_other(sample, [2, 0])
    sample[:, 1, 2] = noise
    assert not calibration.each_winner_beats_the_other(sample, [0, 2])
    sample[:, 1, 2] = 0
    assert not calibration.each_winner_beats_the_other(sample, [0, 2])


def test_naive_rules_find_disagreement_where_a_third_model_ties_both_winners(rows):
    crowded = rows["a third ties both winners, crowded"]
    assert min(crowded.t_tests, crowded.winners_differ) > 0.25
    assert rows["same best, ahead by .012"].t_tests == rows["same best, ahead by .012"].winners_differ == 0


def test_report_has_a_line_per_row(calibration, rows):
    page = calibration.report(list(rows.values()), seed=2)
    lines = [line for line in page.splitlines() if line.startswith("|")]
    assert len(lines) == 2 + len(calibration.SCENARIOS)
    assert len({line.count("|") for line in lines}) == 1


def test_command_writes_the_page(calibration, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(calibration, "calibrate", lambda repetitions, queries, seed: [
        calibration.Row(calibration.SCENARIOS[0], queries[0], repetitions, 0.2, 0, 0, 0, 1, 1, 0, 0, 0)
    ])  # fmt: skip
    target = tmp_path / "page.md"
    assert calibration.main(["--repetitions", "100", "--queries", "1000", "--output", str(target)]) == 1
    assert "**no**" in target.read_text(encoding="utf-8")
    assert "all equal" in capsys.readouterr().out
