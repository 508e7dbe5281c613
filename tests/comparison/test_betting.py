"""Bounds by betting: published check values, a plain loop, error rates under rare losses, and repeated tests."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import gainwise as gw
from gainwise import Comparison
from gainwise.comparison.baseline import describe_replacement
from gainwise.comparison.bounds import (
    bound_mean,
    compute_bets,
    compute_digests,
    compute_log_capital,
    find_p_value,
    order_queries,
)
from gainwise.data import simulate

LINEAR, EXPONENTIAL = "ndcg_linear@10", "ndcg_exp@10"
UNIFORM = ((7919 * np.arange(1000)) % 1000 + 0.5) / 1000
NAMES = {"old": "old", "new": "new"}
SAMPLES = {
    "zeros": np.zeros(300),
    "even": 0.4 * UNIFORM - 0.18,
    "rare losses": np.where(np.arange(1000) % 100 == 99, -1.0, 0.02),
}


def capital_of(differences, level, size, mean):
    """Return the capital after every bet by a plain loop, with a range of 1."""
    capital, mu_sum, squares, variance, history = 1.0, 0.5, 0.25, 0.25, []
    for t, difference in enumerate(differences, 1):
        x = (difference + 1) / 2
        bet = math.sqrt(2 * math.log(1 / level) / (size * variance))
        capital *= 1 + min(bet, 0.9 / mean) * (x - mean)
        mu_sum += x
        squares += (x - mu_sum / (t + 1)) ** 2
        variance = squares / (t + 1)
        history.append(capital)
    return np.array(history)


class TestCheckValues:
    @pytest.mark.parametrize(
        ("name", "level", "expected"),
        [
            ("zeros", 0.025, -0.014063),
            ("zeros", 0.025 / 58, -0.028730),
            ("even", 0.025, 0.010276),
            ("even", 0.025 / 58, 0.005625),
            ("rare losses", 0.025, -0.006839),
            ("rare losses", 0.025 / 58, -0.012593),
        ],
    )
    def test_of_bounds(self, name, level, expected):
        differences = SAMPLES[name]
        assert bound_mean(differences, 1.0, level, len(differences)) == pytest.approx(expected, abs=5e-7)

    def test_of_bets_and_capital(self):
        values = (SAMPLES["even"] + 1) / 2
        bets = compute_bets(values, 0.025, 1000)
        assert bets[:3] == pytest.approx([0.171788, 0.241969, 0.291437], abs=5e-7)
        assert compute_log_capital(values, bets, 0.5)[-1] == pytest.approx(10.138419, abs=1e-6)


@pytest.mark.parametrize("width", [1.0, 0.25])
def test_the_bound_is_where_a_plain_loop_reaches_the_inverse_of_the_level(width):
    differences = width * np.random.default_rng(0).uniform(-0.6, 0.9, 80)
    lower = bound_mean(differences, width, 0.1, 100)
    mean = (lower / width + 1) / 2
    assert capital_of(differences / width, 0.1, 100, mean).max() == pytest.approx(10, rel=1e-6)
    assert find_p_value(differences, width, 0.1, 100) == pytest.approx(
        1 / capital_of(differences / width, 0.1, 100, 0.5).max(), rel=1e-9
    )


def test_without_evidence_the_bound_is_the_range():
    assert bound_mean(np.array([-1.0, -1.0]), 1.0, 0.025, 2) == -1.0
    assert find_p_value(np.array([-1.0, -1.0]), 1.0, 0.025, 2) == 1.0


class TestOrder:
    def test_is_that_of_hashes_and_not_of_the_input(self):
        ids = [f"q{number}" for number in range(50)]
        digests = compute_digests(ids)
        turned = compute_digests(ids[::-1])
        assert [digests[place] for place in order_queries(digests)] == sorted(digests)
        assert [turned[place] for place in order_queries(turned)] == sorted(digests)

    def test_keeps_the_queries_of_earlier_looks_first(self):
        first, more = compute_digests(range(20)), compute_digests(range(60))
        earlier = [first[place] for place in order_queries(first)]
        ordered = [more[place] for place in order_queries(more, "".join(earlier))]
        assert ordered == earlier + sorted(set(more) - set(earlier))


def compared(difference, **options):
    """Compare two models under two metrics, which differ by `difference`."""
    values = np.stack([np.zeros(len(difference)), difference], axis=1)
    ranges = {LINEAR: (-1.0, 0.2), EXPONENTIAL: (-1.0, 0.2)}
    options = {"ranges": ranges, "draws": 300, "bounds": "betting"} | options
    return Comparison({LINEAR: values, EXPONENTIAL: values}, ["A", "B"], **options)


class TestGate:
    def test_has_the_bounds_of_its_levels(self):
        difference = np.random.default_rng(0).normal(0.01, 0.05, 800).clip(-1, 0.2)
        found = compared(difference).against("A", 0.01, require="no_loss")
        order = order_queries(compute_digests(range(800)))
        candidate = found.candidates[0]
        assert found.level == 0.025
        assert candidate.at_least[LINEAR] == bound_mean(difference[order], 1.2, 0.025, 800)
        assert candidate.at_most[LINEAR] == -bound_mean(-difference[order], 1.2, 0.0125, 800)
        gain = compared(difference).against("A", 0.01).candidates[0].gain_at_least
        assert gain[LINEAR] == bound_mean(difference[order], 1.2, 0.0125, 800)
        assert "any number of queries" in found.text

    def test_ships_a_rare_loss_at_most_at_its_level(self):
        """A loss of 1 on one query in 1,000 is exactly the margin. A third of the samples does not contain it."""
        wrong, samples = {"asymptotic": 0, "betting": 0}, 100
        for seed in range(samples):
            rng = np.random.default_rng(seed)
            difference = np.where(rng.random(1000) < 0.001, -1.0, 0.001 * rng.normal(size=1000))
            for bounds in wrong:
                decision = compared(difference, bounds=bounds).against("A", 0.001, require="no_loss").decisions["B"]
                wrong[bounds] += decision == "ship"
        assert wrong["betting"] <= stats.binom.ppf(0.999, samples, 0.025)
        assert wrong["asymptotic"] > 25

    def test_repeated_tests_continue_the_same_bets(self, tmp_path):
        difference = np.random.default_rng(1).normal(0.004, 0.05, 2000).clip(-1, 0.2)
        record, path, order = None, tmp_path / "gate.json", []
        for queries in (500, 1200, 2000):
            found = compared(difference[:queries]).against("A", 0.01, looks=(500, 1200, 2000), earlier=record)
            new = order_queries(compute_digests(range(queries)))
            order += [place for place in new if place not in set(order)]
            ordered = difference[order]
            assert found.candidates[0].at_least[LINEAR] == bound_mean(ordered, 1.2, 0.025, 2000)
            assert (found.level, found.size) == (0.025, 2000)
            assert "need no correction for looks" in found.text
            path.write_text(json.dumps(found.to_dict()))
            record = path
        unplanned = compared(difference[:500]).against("A", 0.01)
        later = compared(difference[:900]).against("A", 0.01, earlier=unplanned.to_dict())
        assert (unplanned.size, later.size) == (500, 500)


class TestVerdict:
    @pytest.mark.parametrize("lead", [0.0, 0.01, 0.03])
    def test_has_the_bounds_of_all_ordered_pairs(self, lead):
        difference = np.random.default_rng(0).normal(lead, 0.05, 800).clip(-1, 0.2)
        verdict = compared(difference).verdict
        ordered = difference[order_queries(compute_digests(range(800)))]
        ahead = ordered if verdict.winners[LINEAR] == "B" else -ordered
        lower, upper = bound_mean(ahead, 1.2, 0.0125, 800), -bound_mean(-ahead, 1.2, 0.0125, 800)
        behind = next(model for model in "AB" if model != verdict.winners[LINEAR])
        assert verdict.kind == ("agree" if lower > 0 else "unresolved")
        assert verdict.regrets_lower[LINEAR][behind] == max(0.0, lower)
        assert verdict.regrets_upper[EXPONENTIAL][behind] == pytest.approx(upper + max(0.0, -lower))
        assert verdict.safe_regret_upper == max(0.0, -lower)
        assert len(verdict.best_sets[LINEAR]) == (1 if lower > 0 else 2)
        assert "betting" in verdict.text

    def test_disagreements_and_the_price(self):
        rng = np.random.default_rng(0)
        lead = rng.normal(0.05, 0.05, (1000, 1)).clip(-0.4, 0.4)
        first, second = np.hstack([0.5 + lead / 2, 0.5 - lead / 2]), np.hstack([0.5 - lead / 2, 0.5 + lead / 2])
        ranges = {LINEAR: (0, 1), EXPONENTIAL: (0, 1)}
        options = {"ranges": ranges, "draws": 300, "bounds": "betting"}
        verdict = Comparison({LINEAR: first, EXPONENTIAL: second}, ["A", "B"], margin=0.01, **options).verdict
        ordered = lead[order_queries(compute_digests(range(1000))), 0]
        expected = bound_mean(ordered, 1.0, 0.0125, 1000)
        assert (verdict.kind, verdict.common_best, verdict.material) == ("genuine", (), expected > 0.01)
        assert verdict.price_lower == pytest.approx(expected)
        assert verdict.p_value == pytest.approx(4 * find_p_value(ordered, 1.0, 0.0125, 1000))
        assert verdict.p_value <= 0.05

    def test_a_worse_model_with_rare_losses_is_not_named_the_best(self):
        wrong = {"asymptotic": 0, "betting": 0}
        for seed in range(60):
            rng = np.random.default_rng(seed)
            difference = np.where(rng.random(1000) < 0.001, -1.0, 0.0005 + 0.0002 * rng.normal(size=1000))
            for bounds in wrong:
                verdict = compared(difference, bounds=bounds).verdict
                wrong[bounds] += verdict.kind == "agree" and verdict.winners[LINEAR] == "B"
        assert wrong["betting"] <= 3
        assert wrong["asymptotic"] > 10


def test_compare_passes_the_bounds_on():
    """Each function that compares returns the verdict and the decision of the values by query."""
    data = simulate(120, seed=2, mean_length=8)
    noise = np.random.default_rng(3).normal(size=(2, len(data.labels)))
    models = {"A": data.labels + 2 * noise[0], "B": data.labels + noise[1]}
    judgments = gw.Judgments(data.labels, qid=data.qid)
    table = pd.DataFrame({"query_id": data.qid, "label": data.labels, **models})
    by_query = gw.compare(models, judgments).frame()
    values = {metric: by_query[metric].unstack() for metric in (LINEAR, EXPONENTIAL)}  # noqa: PD010 - One column has no pivot table.
    expected = Comparison(values, list(models), ranges=dict.fromkeys(values, (0, 1)), bounds="betting")
    for found in (
        gw.compare(models, judgments, bounds="betting"),
        gw.compare_table(table, list(models), bounds="betting", query="query_id"),
    ):
        assert found.verdict.bounds == "betting"
        for metric, upper in expected.verdict.regrets_upper.items():
            assert found.verdict.regrets_upper[metric] == pytest.approx(upper)
        (one,), (other,) = (each.against("A", 0.01).candidates for each in (found, expected))
        assert (one.decision, one.at_least) == (other.decision, pytest.approx(other.at_least))
    with pytest.raises(ValueError, match="bounds"):
        gw.compare(models, judgments, bounds="bets")


@pytest.mark.parametrize("looks", [None, (200, 400)])
def test_bounds_of_queries_that_change_are_not_left_without_a_remark(looks):
    """The candidate gains on the first queries and loses on the later ones, so bounds of both times remain."""
    generator = np.random.default_rng(3)
    old = generator.beta(3, 2, 400)
    new = np.clip(old + np.repeat([0.05, -0.08], 200) + generator.normal(0, 0.1, 400), 0, 1)
    values = {LINEAR: np.stack([old, new], axis=1)}

    def decide(queries, earlier=None):
        part = {name: table[:queries] for name, table in values.items()}
        comparison = Comparison(part, ["old", "new"], ranges={LINEAR: (0, 1)}, margin=0.02)
        return comparison.against("old", bounds="betting", looks=looks, earlier=earlier)

    first = decide(200)
    second = decide(400, first.to_dict())
    candidate = second.candidates[0]
    assert candidate.at_least[LINEAR] > candidate.at_most[LINEAR]
    remark = f"The bounds under {LINEAR} exclude each other."
    for find in (lambda result: result.text, lambda result: describe_replacement(result, NAMES)[2]):
        assert (remark in find(first), remark in find(second)) == (False, True)
