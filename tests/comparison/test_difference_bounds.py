"""Bounds of differences, the detectable difference and the band of regrets, compared with closed forms and loops."""

import math

import numpy as np
import pytest
from scipy import optimize, stats
from tests.comparison.populations import corrected, freedom_of, panel_of, runs_of, to_t
from tests.comparison.tables import comparison_of, pairs_table, verdict_of

from gainwise import Comparison
from gainwise._common.text import as_text
from gainwise.comparison.bounds import (
    DifferenceBounds,
    add_skewness,
    bound_share,
    combine_freedom,
    find_pair_freedom,
    remove_skewness,
)
from gainwise.comparison.estimates import estimate, find_freedom
from gainwise.comparison.inference import (
    bound_regrets_from_above,
    compute_regret_band,
    draw_errors,
    estimate_detectable_difference,
)
from gainwise.comparison.panel import Panel

LINEAR, EXPONENTIAL = "ndcg_linear@10", "ndcg_exp@10"
RANGES = {LINEAR: (-1.0, 0.0), EXPONENTIAL: (-1.0, 0.0)}


def bounds_of(difference, width=1.0, **options):
    """Return the bounds of the second model minus the first under one metric."""
    values = np.stack([np.zeros(len(difference)), difference], axis=1)
    estimated = estimate(panel_of({"x": values}, **options), np.array([width]))
    return DifferenceBounds.from_estimate(estimated).select(0, 1)


class TestCheckValues:
    @pytest.mark.parametrize(
        ("count", "size", "share"), [(0, 300, 0.012221), (1, 1000, 0.005559), (10, 3000, 0.006122), (7, 7, 1.0)]
    )
    def test_of_shares(self, count, size, share):
        found = float(bound_share(count, size, 0.025))
        assert found == pytest.approx(share, abs=5e-7)
        if count < size:  # At this share, so few units have a probability of 2.5 %.
            assert stats.binom.cdf(count, size, found) == pytest.approx(0.025)

    @pytest.mark.parametrize(
        ("shares", "freedom"),
        [
            (np.full(50, 0.02), 49.0),
            (np.array([0.5, 0.2, 0.1, 0.1, 0.1]), 1.557125),
            (1 / np.arange(1, 101) / (1 / np.arange(1, 101)).sum(), 2.561244),
        ],
    )
    def test_of_degrees_of_freedom(self, shares, freedom):
        assert find_freedom(shares) == pytest.approx(freedom, abs=5e-7)
        assert find_freedom(shares) == pytest.approx(freedom_of(shares), rel=1e-9)

    def test_of_the_effective_size_of_heavy_weights(self):
        """Few heavy queries decide how variable the variance is. Kish's size would be near 400."""
        weights = np.random.default_rng(0).lognormal(0, 1.5, 3000)
        assert find_freedom(weights / weights.sum()) < 60 < 300 < weights.sum() ** 2 / (weights**2).sum()

    def test_of_welch_and_satterthwaite(self):
        parts = (np.array(4.0), np.array([3.0, 2.0]), 999.0, np.array([5, 3]))
        assert combine_freedom(*parts) == pytest.approx(18.98727, abs=5e-6)
        assert find_pair_freedom(*parts) == 2
        assert find_pair_freedom(*parts[:3], np.array([0, 6])) == combine_freedom(*parts[:3], np.array([0, 6]))

    def test_of_skewness(self):
        assert float(remove_skewness(2.5, 0.2)) == pytest.approx(2.156604, abs=5e-7)
        for t in (0.3, 1.0, 4.0):
            assert float(add_skewness(remove_skewness(t, 0.3), 0.3)) == pytest.approx(t)
            assert float(remove_skewness(t, -0.3)) == float(remove_skewness(t, 0.0)) == t
        assert float(remove_skewness(-1.0, 0.3)) == -1.0
        assert float(remove_skewness(-np.inf, 0.3)) == -np.inf

    def test_of_one_rare_loss(self):
        """999 differences of .0005 and one of −1: the modal difference is .0005."""
        bounds = bounds_of(np.r_[np.full(999, 0.0005), -1.0])
        assert (bounds.modal[0], bounds.below[0], bounds.above[0]) == (pytest.approx(0.0005), 1, 0)
        assert bounds.bound_singly(0.025)[0] == pytest.approx(-0.005062, abs=5e-7)


class TestSupport:
    @pytest.mark.parametrize(("share", "modal"), [(0.9, 0.0), (0.91, 0.25)])
    def test_the_modal_difference_has_more_than_nine_tenths(self, share, modal):
        difference = np.where(np.arange(1000) < 1000 * share, 0.25, np.random.default_rng(0).normal(size=1000))
        bounds = bounds_of(np.random.default_rng(1).permutation(difference), width=9.0)
        assert bounds.modal[0] == modal
        assert (bounds.below[0], bounds.above[0]) == ((difference < modal).sum(), (difference > modal).sum())

    @pytest.mark.parametrize(("differing", "rare"), [(29, True), (30, False)])
    def test_fewer_than_30_units_are_rare(self, differing, rare):
        difference = np.zeros(400)
        difference[:differing] = np.random.default_rng(0).normal(0.1, 0.1, differing)
        bounds = bounds_of(difference)
        assert bounds.is_rare[0] == rare
        if rare:
            below = int((difference < 0).sum())
            expected = -stats.beta.ppf(0.975, below + 1, 400 - below)
        else:
            error, skewness = difference.std(ddof=1) / 20, stats.skew(difference) / 20
            expected = difference.mean() - corrected(stats.t.isf(0.025, 399), -skewness) * error
        assert bounds.bound_singly(0.025)[0] == pytest.approx(expected, rel=1e-9)

    def test_units_are_clusters_and_weights_enlarge_the_share(self):
        difference, clusters = np.zeros(600), np.arange(600) // 5
        difference[[0, 1, 7]] = -0.5
        bounds = bounds_of(difference, clusters=clusters)
        assert (bounds.below[0], bounds.units, bounds.largest) == (2, 120, 1.0)
        weights = np.where(np.arange(600) < 300, 1.0, 2.0)
        weighted = bounds_of(difference, weights=weights).bound_singly(0.025)[0]
        assert weighted == pytest.approx(-600 * 2 / 900 * stats.beta.ppf(0.975, 4, 597))

    def test_without_a_range_or_with_repeats_rare_differences_have_no_bound(self):
        difference = np.r_[np.zeros(399), -0.5]
        assert bounds_of(difference, width=np.inf).bound_singly(0.025)[0] == -np.inf
        values = runs_of(0, counts=(5, 5))["x"]
        values[1] = values[0].copy()
        bounds = DifferenceBounds.from_estimate(estimate(panel_of({"x": values}), np.ones(1))).select(0, 1)
        assert bounds.bound_singly(0.025)[0] == -np.inf


class TestFamilies:
    def test_rare_pairs_have_a_tenth_of_the_level(self):
        """Three models on two metrics: twelve bounds. Two models differ on four queries only."""
        rng = np.random.default_rng(0)
        a = rng.uniform(-0.7, -0.3, (500, 3))
        a[:, 1] = a[:, 0]
        a[:4, 1] -= 0.2
        table = pairs_table({LINEAR: a, EXPONENTIAL: a}, list("ABC"), ranges=RANGES).set_index(["model_x", "model_y"])
        level = 0.1 * 0.05 / 12
        assert table.loc[("A", "B"), f"lower {LINEAR}"] == pytest.approx(-stats.beta.ppf(1 - level, 1, 500))
        assert table.loc[("A", "B"), f"upper {LINEAR}"] == pytest.approx(stats.beta.ppf(1 - level, 5, 496))
        # The others are nearly equal and independent of the rare one: the larger of two |t|, at 9/10 of the level.
        difference = a[:, 0] - a[:, 2]
        half = table.loc[("A", "C"), f"upper {LINEAR}"] - difference.mean()
        critical = stats.t.isf((1 - np.sqrt(1 - 0.9 * 0.05)) / 2, 499)
        expected = corrected(critical, stats.skew(difference) / np.sqrt(500))
        assert half / difference.std(ddof=1) * np.sqrt(500) == pytest.approx(expected, rel=0.02)

    def test_if_all_pairs_are_rare_they_have_the_level(self):
        values = np.repeat(np.random.default_rng(0).uniform(-1, 0, (300, 1)), 2, axis=1)
        verdict = verdict_of(values, values, ranges=RANGES)
        assert verdict.safe_regret_upper == pytest.approx(1 - 0.0125 ** (1 / 300))  # .0145
        gate = comparison_of({LINEAR: values}, ["A", "B"], ranges={LINEAR: (-1, 0)}).against(
            "A", 0.02, require="no_loss"
        )
        assert min(gate.candidates[0].at_least.values()) == pytest.approx(-0.012221, abs=5e-7)


class TestConsistency:
    @pytest.mark.parametrize("seed", range(12))
    def test_the_gate_ships_what_the_verdict_states(self, seed):
        """The verdict has simultaneous bounds, so the gate with its single bounds never contradicts it."""
        rng = np.random.default_rng(seed)
        first = rng.normal([0.0, rng.choice([-0.02, 0.0, 0.006, 0.015, 0.03])], 0.1, (400, 2))
        second = first if seed % 3 == 0 else first + rng.normal(0, 0.05, (400, 2))
        for margin in (0.005, 0.012, 0.02):
            comparison = Comparison({"x": first, "y": second}, ["A", "B"], ranges={}, margin=margin, seed=seed)
            verdict = comparison.verdict
            safe, other = verdict.safe_choice, "B" if verdict.safe_choice == "A" else "A"
            gate = comparison.against(other, require="no_loss")
            assert -min(gate.candidates[0].at_least.values()) <= verdict.safe_regret_upper + 1e-12
            if verdict.safe_regret_upper < margin:
                assert gate.decisions == {safe: "ship"}
            if verdict.kind == "agree":
                assert comparison.against(other, 0.0).decisions == {safe: "ship"}

    @pytest.mark.parametrize("seed", range(40))
    def test_with_two_models_a_single_possible_one_is_an_agreement(self, seed):
        rng = np.random.default_rng(seed)
        first = rng.normal([0.0, rng.uniform(0, 0.015)], 0.1, (300, 2))
        verdict = verdict_of(first, first + rng.normal(0, 0.03, (300, 2)), draws=2000, seed=seed)
        single = set(verdict.best_sets.values()) in ({("model 1",)}, {("model 2",)})
        assert single == (verdict.kind == "agree")


class TestEffectiveSize:
    def test_one_weight_of_more_than_half_decides_nothing_and_is_named(self):
        rng = np.random.default_rng(0)
        values = rng.normal([0.0, 1.0], 0.01, (400, 2))
        weights = np.r_[1.0, np.full(399, 0.9 / 399)]
        comparison = Comparison({LINEAR: values, EXPONENTIAL: values}, ["A", "B"], ranges={}, weights=weights)
        assert comparison.verdict.kind == "unresolved"
        assert comparison.against("A").decisions == {"B": "undecided"}
        assert round(freedom_of(weights / weights.sum())) == 1
        for text in (comparison.verdict.text, comparison.against("A").text):
            assert "1 query carries more than half of the weight" in text
            assert "which leaves 1 degree of freedom" in text

    def test_one_cluster_decides_nothing(self):
        values = np.random.default_rng(0).normal([0.0, 1.0], 0.01, (400, 2))
        comparison = Comparison({LINEAR: values, EXPONENTIAL: values}, ["A", "B"], ranges={}, clusters=np.zeros(400))
        assert comparison.verdict.kind == "unresolved"
        assert comparison.against("A").decisions == {"B": "undecided"}
        assert "The sample has 1 cluster" in comparison.against("A").text


NAMES = ("x", "y")


def sample(seed=0, queries=200, spreads=(0.1, 0.2, 0.4, 0.8)):
    """Models with increasing variance, so each subset of models has another largest error."""
    rng = np.random.default_rng(seed)
    return {name: rng.normal(0, spreads, (queries, len(spreads))) for name in NAMES}


def written_out(values, noise, question, alpha, differing=30):
    """Return the same by loops over models, from the draws only."""
    pairs, criticals = [], []
    for k in question:
        peaks = np.zeros(noise.shape[2])
        for row, name in enumerate(NAMES):
            for j in range(values[name].shape[1]):
                difference = values[name][:, j] - values[name][:, k]
                error = difference.std(ddof=1) / math.sqrt(len(difference))
                if error == 0:
                    continue
                peaks = np.maximum(peaks, to_t((noise[row, j] - noise[row, k]) / error, len(difference) - 1))
                if j in question and np.count_nonzero(difference) >= differing:
                    pairs.append((error, stats.skew(difference) / math.sqrt(len(difference)), len(difference) - 1))
        place = math.ceil((1 - alpha + alpha / 10) * (len(peaks) + 1)) - 1
        criticals.append(np.sort(peaks)[place])
    c = max(criticals)
    gain = stats.norm.ppf(0.8)
    return max(
        (
            error * (corrected(c, -skewness) + gain * math.sqrt(1 + c**2 / (2 * freedom)))
            for error, skewness, freedom in pairs
        ),
        default=math.inf,
    )


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
@pytest.mark.parametrize(
    ("kept", "winner", "question"),
    [
        ([0, 1], [0, 1], [0, 1]),
        ([0, 1], [0, 2], [0, 1, 2]),
        ([], [1, 2], [1, 2]),
        ([1], [1, 1], [0, 1, 2, 3]),
        ([], [0, 0], [0, 1, 2, 3]),
        ([0, 1, 2, 3], [0, 0], [0, 1, 2, 3]),
    ],
)
def test_the_kept_and_the_winners_are_in_question_or_all_where_that_is_one(kept, winner, question, alpha):
    values = sample()
    estimated = estimate(panel_of(values))
    noise = draw_errors(estimated, 1500, seed=3)
    found = estimate_detectable_difference(noise, alpha, np.isin(np.arange(4), kept), np.array(winner))
    assert found == pytest.approx(written_out(values, noise.values, question, alpha), rel=1e-7)


def noise_of(values, draws=2000, clusters=None):
    metrics, models, _ = values.shape
    names = tuple("abcdefghij"[:models])
    estimated = estimate(Panel(tuple(map(str, range(metrics))), names, values, None, clusters=clusters))
    return estimated, draw_errors(estimated, draws, 0)


def test_critical_value_of_a_band_by_hand():
    """The slack of a rival is its certain loss. A pair with a model that may be best has no slack."""
    values = np.random.default_rng(2).normal(size=(2, 4, 500)) + np.array([0.3, 0.3, 0.1, 0.0])[:, None]
    estimated, noise = noise_of(values)
    quantile = np.sort(noise.max_t.max(axis=(0, 1)))[math.ceil(0.995 * 2001) - 1]
    reach = np.vectorize(corrected)
    surely = np.maximum(0, (estimated.difference - reach(quantile, -estimated.skewness) * estimated.error).max(axis=2))
    largest = []
    for m, k, j in np.argwhere(estimated.error > 0).tolist():
        slack = surely[m, j] / estimated.error[m, k, j] if surely[m, j] > 0 and surely[m, k] > 0 else 0
        largest.append(noise.compute_t(m, k, j) - slack)
    expected = np.sort(np.max(largest, axis=0))[math.ceil(0.955 * 2001) - 1]
    assert 0 < (surely > 0).sum() < surely.size
    lowest, highest = compute_regret_band(estimated, noise, 0.05)
    lower = estimated.difference - reach(expected, -estimated.skewness) * estimated.error
    np.testing.assert_allclose(lowest, np.maximum(0, lower.max(axis=2)), rtol=1e-9)
    upper = estimated.difference + reach(expected, estimated.skewness) * estimated.error
    possible = np.broadcast_to((surely == 0)[:, None, :], upper.shape)
    largest = upper.max(axis=2, initial=0.0, where=possible)
    np.testing.assert_allclose(highest, np.maximum(largest, estimated.difference.max(axis=2)), rtol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_bounds_of_regrets_follow_from_the_bounds_of_pairs(seed):
    """A linear program finds the largest regret that all bounds of pairs allow together."""
    rng = np.random.default_rng(seed)
    mean, width = rng.normal(size=5), rng.exponential(size=(5, 5))
    lower = mean - mean[:, None] - width  # Of the column minus the row.
    np.fill_diagonal(lower, 0.0)
    found, direct = bound_regrets_from_above(lower), np.maximum(0.0, -lower.min(axis=0))
    # A row per pair: -(mean of the column - mean of the row) <= -lower.
    rows, columns = np.nonzero(~np.eye(5, dtype=bool))
    contrasts = np.eye(5)[rows] - np.eye(5)[columns]
    limits = -lower[rows, columns]
    for k in range(5):
        programs = [
            optimize.linprog(np.eye(5)[k] - np.eye(5)[j], contrasts, limits, bounds=(None, None)) for j in range(5)
        ]
        largest = max(-program.fun for program in programs)
        assert largest - 1e-9 <= found[k] <= direct[k]
    assert (found < direct - 0.01).any()


@pytest.mark.parametrize("bounds", ["asymptotic", "betting"])
@pytest.mark.parametrize("metrics", [(LINEAR, EXPONENTIAL), (LINEAR,)])
@pytest.mark.parametrize("margin", [0.0, 0.08])
def test_the_choice_is_not_a_worse_model_if_the_good_ones_differ_on_few_queries(bounds, metrics, margin):
    rng = np.random.default_rng(0)
    good, loss = rng.beta(4, 2, size=300), rng.normal(0.04, 0.1, size=300)
    twin = good + np.where(np.arange(300) < 20, 0.05 * (-1.0) ** np.arange(300), 0.0)
    tables = dict.fromkeys(metrics, np.clip(np.stack([good, twin, good - loss], axis=1), 0, 1))
    options = {"bounds": bounds, "margin": margin, "ranges": dict.fromkeys(metrics, (0.0, 1.0)), "draws": 2000}
    headline = as_text(Comparison(tables, ["good", "twin", "bad"], **options).content.chart.headline)
    assert "good" in headline
    assert "bad" not in headline
