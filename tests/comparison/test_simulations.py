"""Samples of populations with known means: error rates meet their levels, and the methods have power."""

import numpy as np
import pytest
from tests.comparison.populations import NAMES, panel_of, runs_of
from tests.comparison.tables import pairs_table, verdict_of

from gainwise.comparison.estimates import estimate, estimate_variance_components
from gainwise.comparison.inference import Sample, critical_value, draw_errors
from gainwise.comparison.power import estimate_covariances

pytestmark = pytest.mark.slow


def highest(rate, samples, deviations=2.5):
    """Return the largest share of samples that is compatible with a rate."""
    return rate + deviations * np.sqrt(rate * (1 - rate) / samples)


def correlated(rng, leads, queries, shared=0.6, own=0.4):
    """Values of two metrics, with the rows of `leads` as true means."""
    common = shared * rng.normal(size=(queries, len(leads[0])))
    return {name: common + own * rng.normal(size=common.shape) + row for name, row in zip("xy", leads, strict=True)}


def false_conflict(seed):
    """Different means under x, equal means under y."""
    values = correlated(np.random.default_rng(seed), [[1, 0], [0, 0]], 200, 1.0, 1.0)
    return pairs_table(values, draws=200).p_value[0] <= 0.1


def false_genuine(seed):
    """The first model is best under x, and all are tied under y."""
    values = correlated(np.random.default_rng(seed), [[0.5, 0, 0], [0, 0, 0]], 200)
    return verdict_of(*values.values(), alpha=0.1, draws=300).kind == "genuine"


def price_or_safe_regret_missed(seed):
    """Each of two models is 0.1 better under its metric. This is the price, and the loss of either choice."""
    values = correlated(np.random.default_rng(seed), [[0.1, 0, -0.1], [0, 0.1, -0.1]], 400)
    verdict = verdict_of(*values.values(), alpha=0.1, draws=300)
    regret = {"model 1": 0.1, "model 2": 0.1, "model 3": 0.2}[verdict.safe_choice]
    return verdict.price_lower > 0.1 or verdict.safe_regret_upper < regret


def power_missed(seed):
    """A difference of five standard errors is detected. No detection is an error here."""
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
    """At most one in ten at that level, and about one in ten if the method is exact."""
    samples = 200
    assert least <= np.mean([error(seed) for seed in range(samples)]) <= highest(0.1, samples)


@pytest.mark.parametrize("counts", [(3, 3, 3), (0, 4, 4)])
def test_another_run_is_no_disagreement(counts):
    """The first model is best under x, and all are tied under y. Verdicts on means would find a disagreement."""
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
    """Standard deviations have errors of a few hundredths. A plan has those of the difference of two recipes."""
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
