"""The calibration benchmark: its populations have the truth they claim, and a small run comes out as it should."""

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
    assert common == [True] * 6 + [False] * 4
    clear = [scenario.name for scenario in calibration.SCENARIOS if scenario.has_clear_best]
    assert clear == ["same best, ahead by .012"]
    assert calibration.SCENARIOS[-1].regret.min() == pytest.approx(0.0015)


@pytest.fixture(scope="module")
def rows(calibration):
    store = calibration.Store(None, 2)
    calibration.judge_all(calibration.fixed_cells([3000]), store, 40, population=20_000, workers=1)
    return {row.scenario.name: row for row in calibration.rows_of(store, [3000])}


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
    page = calibration.report(list(rows.values()), calibration.Store(None, 2))
    lines = [line for line in page.splitlines() if line.startswith("|")]
    assert len(lines) == 2 + len(calibration.SCENARIOS)
    assert len({line.count("|") for line in lines}) == 1


def test_command_writes_the_page_and_goes_on_where_it_stopped(calibration, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(calibration, "SCENARIOS", calibration.SCENARIOS[:1])
    rates = dict.fromkeys(calibration.RATES, 0.0) | {"genuine": 0.2, "price_covered": 1.0, "safe_covered": 1.0}
    judged = []
    monkeypatch.setattr(calibration, "_start", lambda population, seed: None)
    monkeypatch.setattr(calibration, "_judge", lambda cell, seeds: judged.append((cell.key, seeds)) or rates)
    target = tmp_path / "page.md"
    options = ["--queries", "1000", "--output", str(target), "--workers", "1", "--only", "fixed", "--repetitions"]
    assert calibration.main([*options, "100"]) == 1
    assert "**no**" in target.read_text(encoding="utf-8")
    assert "all equal" in capsys.readouterr().out
    assert [(key, len(seeds)) for key, seeds in judged] == [("fixed | all equal | 1000", 100)]
    calibration.main([*options, "50"])
    assert len(judged) == 1  # so many are there already
    calibration.main([*options, "101"])
    assert judged[1][1][:100] == judged[0][1]
    calibration.main([*options, "50", "--seed", "1"])
    assert len(judged) == 3  # another seed's are others


class TestRecipes:
    """Populations of recipes and of clusters."""

    @pytest.fixture
    def cells(self, calibration):
        return sys.modules["calibration_cells"]

    @pytest.mark.parametrize("kind", ["", "skewed runs", "opposite skews", "unequal runs", "a fixed baseline"])
    def test_effects_have_mean_0_and_the_sizes_that_they_should(self, cells, kind):
        """The mean over runs of the lead of recipe 3 over recipe 4, whose truth is 0, and how it varies."""
        cell = cells.RecipeCell("linear's best ahead, exponential tied", 5, 60, 4, "resampled queries", kind)
        runs = [values.shape[2] for values in cell.sample(np.random.default_rng(0))]
        assert runs == {"unequal runs": [3, 5, 10, 3, 5], "a fixed baseline": [1, 4, 4, 4, 4]}.get(kind, [4] * 5)
        found = []
        for seed in range(1000):
            values = cell.sample(np.random.default_rng(seed))
            found.append([(values[2][row].mean() - values[3][row].mean()) for row in (0, 1)])
        parts = cells.PARTS["resampled queries"]
        by_runs = 1 / runs[2] + 1 / runs[3]
        variance = parts["run"] ** 2 * by_runs + (parts["query"] ** 2 + parts["query_run"] ** 2 * by_runs) / 60
        np.testing.assert_allclose(np.mean(found, axis=0), 0, atol=4 * np.sqrt(variance / 1000))
        np.testing.assert_allclose(np.var(found, axis=0), variance, rtol=0.18)
        assert np.corrcoef(np.transpose(found))[0, 1] == pytest.approx(cells.CORRELATION, abs=0.03)

    def test_every_cell_has_a_key_of_its_own(self, calibration, cells):
        every = [*cells.recipe_cells(), *cells.CLUSTERS, *calibration.fixed_cells([1000, 3000])]
        assert len({cell.key for cell in every}) == len(every)

    def test_clusters_have_three_to_seven_queries_of_which_a_share_are_copies(self, cells):
        rows = np.arange(20_000.0)[:, None]
        found, clusters = cells.clustered(np.random.default_rng(0), rows, 0.3)
        sizes = np.bincount(clusters)
        assert set(sizes[:-1]) == {3, 4, 5, 6, 7}
        first = np.searchsorted(clusters, clusters)
        followers = first != np.arange(20_000)
        copied = found[:, 0] != rows[:, 0]
        assert not copied[~followers].any()
        assert copied[followers].mean() == pytest.approx(0.3, abs=0.015)
        np.testing.assert_array_equal(found[copied, 0], rows[first[copied], 0])

    def test_a_page_has_a_line_per_cell(self, calibration, cells, rows):
        store = calibration.Store(None, 2)
        some = [cells.CLUSTERS[1], *cells.recipe_cells()[:1]]
        calibration.judge_all(some, store, 4, population=3_000, workers=1)
        page = calibration.report(list(rows.values()), store)
        assert sum(line.startswith("| linear's best ahead") for line in page.splitlines()) == 3
        for heading in ("## Queries in clusters", "## Recipes of several runs"):
            lines = [line for line in page.partition(heading)[2].splitlines()[1:8] if line.startswith("|")]
            assert len({line.count("|") for line in lines}) == 1
            assert len(lines) == 3
        assert "Highest rate of false `genuine` of recipes and clusters" in page


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
