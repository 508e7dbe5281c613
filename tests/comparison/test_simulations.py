"""Samples of populations whose truth is known: errors are as rare as promised, and the methods are not idle."""

from __future__ import annotations

import numpy as np
import pytest
from tests.comparison.populations import NAMES, panel_of, runs_of
from tests.comparison.tables import pairs_table, verdict_of

from gainsay.comparison.estimates import estimate, estimate_variance_components
from gainsay.comparison.inference import Sample, critical_value, draw_errors
from gainsay.comparison.power import estimate_covariances

pytestmark = pytest.mark.slow


def highest(rate, samples, deviations=2.5):
    """The largest share of samples that a rate explains."""
    return rate + deviations * np.sqrt(rate * (1 - rate) / samples)


def correlated(rng, leads, queries, shared=0.6, own=0.4):
    """Two metrics of models whose true means are the rows of `leads`."""
    common = shared * rng.normal(size=(queries, len(leads[0])))
    return {name: common + own * rng.normal(size=common.shape) + row for name, row in zip("xy", leads, strict=True)}


def false_conflict(seed):
    """Far apart under x, equal under y."""
    values = correlated(np.random.default_rng(seed), [[1, 0], [0, 0]], 200, 1.0, 1.0)
    return pairs_table(values, draws=200).p_value[0] <= 0.1


def false_genuine(seed):
    """The first leads under x, all tie under y."""
    values = correlated(np.random.default_rng(seed), [[0.5, 0, 0], [0, 0, 0]], 200)
    return verdict_of(*values.values(), alpha=0.1, draws=300).kind == "genuine"


def price_or_safe_regret_missed(seed):
    """Each of two models leads by 0.1 under its own metric: that is the price, and a choice of either loses that."""
    values = correlated(np.random.default_rng(seed), [[0.1, 0, -0.1], [0, 0.1, -0.1]], 400)
    verdict = verdict_of(*values.values(), alpha=0.1, draws=300)
    regret = {"model 1": 0.1, "model 2": 0.1, "model 3": 0.2}[verdict.safe_choice]
    return verdict.price_lower > 0.1 or verdict.safe_regret_upper < regret


def power_missed(seed):
    """What leads by five standard errors is found, with whom it agrees or not: an error here is to find nothing."""
    wide = [[0.25, 0], [0, 0.25]] if seed % 2 else [[0.25, 0], [0.25, 0]]
    values = correlated(np.random.default_rng(seed), wide, 400)
    return verdict_of(*values.values(), draws=300).kind != ("genuine" if seed % 2 else "agree")


def means_of_recipes_missed(seed):
    values = runs_of(seed, queries=150, counts=(5, 6, 7), repeat=0.05, base=0.0)
    estimated = estimate(panel_of(values))
    half = critical_value(draw_errors(estimated, 300, seed).compute_deviations(0), 0.9) * estimated.mean_error[0]
    return (np.abs(estimated.mean[0]) > half).any()


@pytest.mark.parametrize(
    ("error", "least"),
    [
        (false_conflict, 0.05),
        (false_genuine, 0.03),
        (price_or_safe_regret_missed, 0.0),
        (power_missed, 0.0),
        (means_of_recipes_missed, 0.04),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_errors_are_as_rare_as_promised(error, least):
    """At most one in ten where that is the level, and about that often where nothing is on the safe side."""
    samples = 200
    assert least <= np.mean([error(seed) for seed in range(samples)]) <= highest(0.1, samples)


@pytest.mark.parametrize("counts", [(3, 3, 3), (0, 4, 4)])
def test_another_run_is_no_disagreement(counts):
    """The first leads by far under x; under y all tie: the first is a common best. Means for models would say no."""
    genuine, samples = np.zeros(2), 60
    for seed in range(samples):
        values = runs_of(seed, 400, counts, query_repeat=0.05, leads=[[0.5, 0, 0], [0, 0, 0]])
        means = [np.stack([v.reshape(400, -1).mean(axis=1) for v in values[name]], axis=1) for name in NAMES]
        for place, tables in enumerate((values.values(), means)):
            genuine[place] += verdict_of(*tables, draws=300, seed=seed).kind == "genuine"
    assert genuine[0] / samples <= highest(0.05, samples)
    assert genuine[1] / samples > 0.15


@pytest.mark.parametrize("of_a_plan", [False, True])
def test_variance_parts_are_found_on_average(of_a_plan):
    """Each standard deviation within a few hundredths; a plan has those of the difference of two recipes."""
    found, samples = [], 60
    for seed in range(samples):
        panel = panel_of(runs_of(seed, queries=150, counts=(5, 5, 5), repeat=0.03 / np.sqrt(1.09)))
        if of_a_plan:
            found.append(estimate_covariances(Sample(panel, 0.05, 200, 0).joint(NAMES)).find_deviations(0, 0, 1))
        else:
            found.append(vars(estimate_variance_components(panel, estimate(panel).repeats)["x"]))
    truth = {"query": np.sqrt(2) * 0.1, "repeat": 0.03, "query_repeat": np.hypot(0.1, 0.05)}
    for name, size in truth.items():
        scale = np.sqrt(2) if of_a_plan and name != "query" else 1
        assert np.sqrt(np.mean([one[name] ** 2 for one in found])) == pytest.approx(scale * size, rel=0.09), name
