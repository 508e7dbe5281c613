"""Samples of populations whose truth is known: errors are as rare as promised, and the methods are not idle."""

from __future__ import annotations

import numpy as np
import pytest
from tests.comparison.populations import NAMES, panel_of, runs_of
from tests.comparison.tables import comparison_of, leaderboard_table, pairs_table

from gainsay import Verdict
from gainsay.comparison.baseline import compare_with_baseline
from gainsay.comparison.data import read_panel
from gainsay.comparison.estimates import estimate, estimate_variance_components
from gainsay.comparison.inference import estimate_detectable_difference
from gainsay.comparison.resampling import Sample, critical_value, draw_errors
from gainsay.comparison.simulation import estimate_covariances

pytestmark = pytest.mark.slow


def highest(rate, samples, deviations=2.5):
    """The largest share of samples that a rate explains."""
    return rate + deviations * np.sqrt(rate * (1 - rate) / samples)


def correlated(rng, leads, queries, shared=0.6, own=0.4):
    """Two metrics of models whose true means are the rows of `leads`."""
    common = shared * rng.normal(size=(queries, len(leads[0])))
    return {name: common + own * rng.normal(size=common.shape) + row for name, row in zip("xy", leads, strict=True)}


def false_ship(seed):
    """Both candidates lead by much under x, and trail by exactly what is tolerated under y."""
    values = correlated(np.random.default_rng(seed), [[0, 0.5, 0.5], [0, -0.05, -0.05]], 200, 0.2, 0.2)
    sample = comparison_of(values, draws=300, alpha=0.1).sample
    decisions = compare_with_baseline(sample, ("x", "y"), "model 1", 0.05, plan=False).decisions
    return "ship" in decisions.values()


def false_conflict(seed):
    """Far apart under x, equal under y."""
    values = correlated(np.random.default_rng(seed), [[1, 0], [0, 0]], 200, 1.0, 1.0)
    return pairs_table(values, draws=200).p_value[0] <= 0.1


def false_genuine(seed):
    """The first leads under x, all tie under y."""
    values = correlated(np.random.default_rng(seed), [[0.5, 0, 0], [0, 0, 0]], 200)
    return Verdict.from_values(*values.values(), alpha=0.1, draws=300).kind == "genuine"


def regrets_missed(seed):
    """Regrets of all models under one metric, true ones 0, 0, 0.05, and 0.15."""
    truth, rng = np.array([0.05, 0.05, 0.0, -0.1]), np.random.default_rng(seed)
    values = rng.normal(0, 0.4, (300, 1)) + rng.normal(0, 0.3, (300, 4)) + truth
    table = leaderboard_table({"x": values}, draws=300, alpha=0.1, seed=seed).sort_values("model")
    regret = truth.max() - truth
    return not ((table.regret_lower <= regret + 1e-12) & (regret <= table.regret_upper + 1e-12)).all()


def differences_missed_where_queries_are_skipped(seed):
    truth, rng = [[0.0, 0.1, 0.2], [0.1, 0.1, 0.0]], np.random.default_rng(seed)
    values = correlated(rng, truth, 400, 0.7, 0.5)
    values["y"][rng.random(400) < 0.4] = np.nan
    table, (first, second) = pairs_table(values, draws=300, alpha=0.1), np.triu_indices(3, 1)
    lead = [np.array(row)[first] - np.array(row)[second] for row in truth]
    held = [
        table[f"lower {name}"].le(row) & table[f"upper {name}"].ge(row) for name, row in zip("xy", lead, strict=True)
    ]
    return not np.all(held)


def means_of_recipes_missed(seed):
    values = runs_of(seed, queries=150, counts=(5, 6, 7), repeat=0.05, base=0.0)
    estimated = estimate(panel_of(values))
    half = critical_value(draw_errors(estimated, 300, seed).deviations(0), 0.9) * estimated.mean_error[0]
    return (np.abs(estimated.mean[0]) > half).any()


def price_or_safe_regret_missed(seed):
    """Each of two models leads by 0.1 under its own metric: that is the price, and a choice of either loses that."""
    values = correlated(np.random.default_rng(seed), [[0.1, 0, -0.1], [0, 0.1, -0.1]], 400)
    verdict = Verdict.from_values(*values.values(), alpha=0.1, draws=300)
    regret = {"model 1": 0.1, "model 2": 0.1, "model 3": 0.2}[verdict.safe_choice]
    return verdict.price_lower > 0.1 or verdict.safe_regret_upper < regret


def power_missed(seed):
    """What leads by five standard errors is found, with whom it agrees or not: an error here is to find nothing."""
    wide = [[0.25, 0], [0, 0.25]] if seed % 2 else [[0.25, 0], [0.25, 0]]
    values = correlated(np.random.default_rng(seed), wide, 400)
    return Verdict.from_values(*values.values(), draws=300).kind != ("genuine" if seed % 2 else "agree")


@pytest.mark.parametrize(
    ("error", "least"),
    [
        (false_ship, 0.03),
        (false_conflict, 0.05),
        (false_genuine, 0.03),
        (price_or_safe_regret_missed, 0.0),
        (power_missed, 0.0),
        (regrets_missed, 0.0),
        (differences_missed_where_queries_are_skipped, 0.02),
        (means_of_recipes_missed, 0.04),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_errors_are_as_rare_as_promised(error, least):
    """At most one in ten where that is the level, and about that often where nothing is on the safe side."""
    samples = 200
    assert least <= np.mean([error(seed) for seed in range(samples)]) <= highest(0.1, samples)


def test_over_all_segments_of_equal_models_false_alarms_are_rare():
    alarms, samples = np.zeros(2), 30
    for seed in range(samples):
        values = correlated(np.random.default_rng(seed), [[0, 0, 0], [0, 0, 0]], 400)
        found = comparison_of(values, alpha=0.2, segments=np.arange(400) % 4, draws=1000).segments
        alarms += [
            any(part.verdict.kind == "genuine" for part in found.parts),
            any(part.is_better.any() for part in found.parts),
        ]
    assert (alarms / samples <= highest(0.2, samples)).all()
    assert alarms[1] / samples >= 0.05  # the largest of many leads, where all tie, does err now and then


@pytest.mark.parametrize("counts", [(3, 3, 3), (0, 4, 4)])
def test_another_run_is_no_disagreement(counts):
    """The first leads by far under x; under y all tie: the first is a common best. Means for models would say no."""
    genuine, samples = np.zeros(2), 60
    for seed in range(samples):
        values = runs_of(seed, 400, counts, query_repeat=0.05, leads=[[0.5, 0, 0], [0, 0, 0]])
        means = [np.stack([v.reshape(400, -1).mean(axis=1) for v in values[name]], axis=1) for name in NAMES]
        for place, tables in enumerate((values.values(), means)):
            genuine[place] += Verdict.from_values(*tables, draws=300, seed=seed).kind == "genuine"
    assert genuine[0] / samples <= highest(0.05, samples)
    assert genuine[1] / samples > 0.15


@pytest.mark.parametrize("counts", [(5, 5), (0, 0)])
def test_a_lead_of_the_detectable_size_is_detected_four_times_in_five(counts):
    """With one rival no inequality is slack, so little is on the safe side but what recipes count twice."""
    shown, found, samples = [], 0, 200
    for seed in range(20):
        values = runs_of(seed, 400, counts, repeat=0.03, query_repeat=0.02)
        fixed = {name: np.stack(one, axis=-1) for name, one in values.items()} if counts == (0, 0) else None
        estimated = estimate(read_panel(fixed) if fixed else panel_of(values))
        noise = draw_errors(estimated, 1000, seed)
        shown.append(estimate_detectable_difference(estimated, noise, 0.05, np.ones(2, dtype=bool), np.array([0, 0])))
    for seed in range(samples):
        values = runs_of(100 + seed, 400, counts, repeat=0.03, query_repeat=0.02, leads=[[0, np.mean(shown)], [0, 0]])
        tables = [np.stack(one, axis=1) if counts == (0, 0) else one for one in values.values()]
        found += "model 1" not in Verdict.from_values(*tables, draws=400, seed=seed).common_best
    assert 0.80 - 2 * np.sqrt(0.16 / samples) <= found / samples <= 0.97


def test_weighted_error_is_the_spread_of_the_weighted_mean():
    """Over many samples of (value, weight), where heavy queries vary more, the mean scatters by what is said."""
    rng, shape = np.random.default_rng(3), (2000, 400)
    difference = rng.normal(0.1, 1, shape)
    weights = rng.gamma(0.5, size=shape) * (1 + np.abs(difference))
    means = (weights * difference).sum(axis=1) / weights.sum(axis=1)
    errors = [
        estimate(read_panel({"a": np.stack([0 * d, d], axis=1)}, weights=w)).error[0, 0, 1]
        for d, w in zip(difference[:150], weights[:150], strict=True)
    ]
    assert np.mean(errors) == pytest.approx(means.std(), rel=0.06)


@pytest.mark.parametrize("of_a_plan", [False, True])
def test_variance_parts_are_found_on_average(of_a_plan):
    """Each standard deviation within a few hundredths; a plan has those of the difference of two recipes."""
    found, samples = [], 60
    for seed in range(samples):
        panel = panel_of(runs_of(seed, queries=150, counts=(5, 5, 5), repeat=0.03 / np.sqrt(1.09)))
        if of_a_plan:
            found.append(estimate_covariances(Sample(panel, 0.05, 200, 0).joint(NAMES)).deviations(0, 0, 1))
        else:
            found.append(estimate_variance_components(panel, estimate(panel).repeats)["x"].to_dict())
    truth = {"query": np.sqrt(2) * 0.1, "repeat": 0.03, "query_repeat": np.hypot(0.1, 0.05)}
    for name, size in truth.items():
        scale = np.sqrt(2) if of_a_plan and name != "query" else 1
        assert np.sqrt(np.mean([one[name] ** 2 for one in found])) == pytest.approx(scale * size, rel=0.09), name
