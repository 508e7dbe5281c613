"""Against a baseline: bounds by plain normal draws, the rule by hand, what it would take by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from statsmodels.stats.proportion import multinomial_proportions_confint
from tests.comparison.populations import to_t

import gainsay as gs
from gainsay import Comparison
from gainsay.comparison.baseline import apply_rule, compute_goodman_bounds

FIRST, SECOND = "ndcg_linear@10", "ndcg_exp@10"


def panel_of(seed=0, queries=800, lead=((0.0, 0.02, 0.005), (0.0, 0.015, 0.01))):
    """Two metrics of a baseline and two candidates that differ on two thirds of the queries."""
    rng = np.random.default_rng(seed)
    base = rng.uniform(0.3, 0.6, (queries, 1))
    shared = rng.normal(size=(queries, 3))
    alike = rng.random(queries) < 1 / 3
    tables = []
    for row in lead:
        own = 0.06 * shared + 0.04 * rng.normal(size=(queries, 3)) + 1.5 * np.array(row)
        own[alike] = 0
        tables.append(base + own)
    return dict(zip((FIRST, SECOND), tables, strict=True))


def compared(values, **options):
    return Comparison(values, ["production", "B", "C"], ranges={}, **options)


def brute_bounds(values, alpha, weights=None, candidates=(1, 2)):
    """Max-T bounds of candidate - baseline from draws of a multivariate normal, by nothing but NumPy."""
    columns = np.concatenate([table[:, list(candidates)] - table[:, [0]] for table in values.values()], axis=1)
    weights = np.full(len(columns), 1 / len(columns)) if weights is None else weights / weights.sum()
    mean = weights @ columns
    centred = (columns - mean) * weights[:, None]
    covariance = centred.T @ centred * len(columns) / (len(columns) - 1)
    error = np.sqrt(np.diag(covariance))
    draws = np.random.default_rng(99).multivariate_normal(np.zeros(len(mean)), covariance, 400_000)
    critical = np.quantile(np.abs(draws / error).max(axis=1), 1 - alpha)
    return mean, mean - critical * error, mean + critical * error


class TestBounds:
    @pytest.mark.parametrize("alpha", [0.05, 0.2])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_are_those_of_plain_normal_draws_over_all_candidates_and_both_metrics(self, alpha, weighted):
        values = panel_of()
        weights = np.random.default_rng(5).integers(1, 4, 800).astype(float) if weighted else None
        found = compared(values, alpha=alpha, draws=100_000, weights=weights).against("production").frame()
        mean, lower, upper = brute_bounds(values, alpha, weights)
        cells = [(metric, candidate) for metric in (FIRST, SECOND) for candidate in ("B", "C")]
        for at, (metric, candidate) in enumerate(cells):
            width = upper[at] - lower[at]
            assert found.loc[candidate, f"difference {metric}"] == pytest.approx(mean[at], abs=1e-12)
            assert found.loc[candidate, f"lower {metric}"] == pytest.approx(lower[at], abs=0.01 * width)
            assert found.loc[candidate, f"upper {metric}"] == pytest.approx(upper[at], abs=0.01 * width)

    def test_end_where_a_metric_ends(self):
        values = {FIRST: np.array([[0.0, 1.0]] * 28 + [[1.0, 0.0]] * 4)}
        free = Comparison(values, ["a", "b"], ranges={}, alpha=0.01).against("a").candidates[0]
        held = Comparison(values, ["a", "b"], ranges={FIRST: (0, 1)}, alpha=0.01).against("a").candidates[0]
        assert free.upper[FIRST] > 1 == held.upper[FIRST]
        assert free.lower == held.lower


class TestRule:
    """ship: both lower bounds above -margin and one above 0; do not ship: some upper bound below -margin."""

    @pytest.mark.parametrize(
        ("lower", "upper", "margin", "decision"),
        [
            ((0.001, 0.001), (0.01, 0.01), 0.0, "ship"),
            ((0.001, -0.001), (0.01, 0.01), 0.002, "ship"),
            ((0.001, -0.002), (0.01, 0.01), 0.002, "undecided"),
            ((-0.001, -0.001), (0.01, 0.01), 0.002, "undecided"),
            ((0.0, 0.0), (0.01, 0.01), 0.002, "undecided"),
            ((0.001, -0.02), (0.01, -0.003), 0.002, "do not ship"),
            ((0.001, -0.02), (0.01, -0.002), 0.002, "undecided"),
            ((-0.01, -0.01), (-0.001, 0.0), 0.0, "do not ship"),
            ((0.001, -np.inf), (0.01, np.inf), 0.002, "undecided"),
        ],
    )
    def test_by_hand(self, lower, upper, margin, decision):
        assert apply_rule(np.array(lower), np.array(upper), margin) == decision

    def test_decisions_are_those_of_the_bounds_in_the_frame(self):
        for seed in range(6):
            found = compared(panel_of(seed, 300), draws=1000).against("production", margin=0.004)
            frame = found.frame()
            lower, upper = frame[[f"lower {FIRST}", f"lower {SECOND}"]], frame[[f"upper {FIRST}", f"upper {SECOND}"]]
            ship = (lower > -0.004).all(axis=1) & (lower > 0).any(axis=1)
            expected = np.where(ship, "ship", np.where((upper < -0.004).any(axis=1), "do not ship", "undecided"))
            assert frame["decision"].tolist() == expected.tolist()
            assert list(found.decisions.values()) == expected.tolist()

    def test_a_worse_candidate_is_not_shipped_and_the_way_back_is(self):
        worse = compared(panel_of(lead=((0, -0.03, -0.03), (0, -0.03, 0.03))))
        assert worse.against("production").decisions == {"B": "do not ship", "C": "do not ship"}
        assert worse.against("B").decisions["production"] == "ship"

    def test_a_loss_reads_the_other_way_round(self):
        values = panel_of()
        found = compared(values, draws=1000).against("production", 0.001)
        turned = {"lost_against": 1 - values[FIRST], SECOND: values[SECOND]}
        lost = gs.metric("lost_against", lambda labels, scores: 0.0, higher_is_better=False)
        losses = compared(turned, metrics={"lost_against": lost}, draws=1000).against("production", 0.001)
        assert losses.decisions == found.decisions
        for candidate in ("B", "C"):
            one, other = losses.frame().loc[candidate], found.frame().loc[candidate]
            assert one["difference lost_against"] == pytest.approx(-other[f"difference {FIRST}"], abs=1e-12)
            assert one["lower lost_against"] == pytest.approx(-other[f"upper {FIRST}"], abs=1e-12)
            assert one["better lost_against"] == other[f"better {FIRST}"]

    def test_on_fewer_than_30_differing_queries_nothing_is_decided(self):
        base = np.random.default_rng(0).uniform(0.2, 0.4, (500, 1))
        for differing, decision in ((29, "undecided"), (30, "ship")):
            values = {metric: base + np.zeros((500, 2)) for metric in (FIRST, SECOND)}
            for table in values.values():
                table[:differing, 1] += np.random.default_rng(1).uniform(0.3, 0.31, differing)
            found = Comparison(values, ["a", "b"], ranges={}).against("a")
            assert found.decisions == {"b": decision}
            assert ("fewer than 30" in found.text) is (differing == 29)
        assert found.candidates[0].differing == {FIRST: 30, SECOND: 30}

    def test_a_copy_of_the_baseline_stays_undecided_for_ever(self):
        values = {metric: np.repeat(np.random.default_rng(0).random((400, 1)), 2, axis=1) for metric in (FIRST, SECOND)}
        (one,) = Comparison(values, ["a", "b"]).against("a", 0.1).candidates
        assert (one.decision, one.queries_needed) == ("undecided", None)
        assert one.shares[FIRST]["same"].value == 1


class TestShares:
    @pytest.mark.parametrize("counts", [(312, 250, 438), (0, 3, 997), (40, 0, 0)])
    def test_goodman_is_that_of_statsmodels(self, counts):
        size = sum(counts)
        lower, upper = compute_goodman_bounds(np.array(counts) / size, size, 0.05)
        expected = multinomial_proportions_confint(counts, alpha=0.05, method="goodman")
        np.testing.assert_allclose(np.stack([lower, upper], axis=1), np.clip(expected, 0, 1), atol=1e-12)

    @pytest.mark.parametrize("weighted", [False, True])
    def test_are_shares_of_queries_or_of_their_weight(self, weighted):
        values = panel_of()
        weights = np.random.default_rng(5).integers(1, 4, 800).astype(float) if weighted else np.ones(800)
        difference = values[SECOND][:, 2] - values[SECOND][:, 0]
        row = compared(values, draws=1000, weights=weights).against("production").frame().loc["C"]
        classes = [difference > 1e-9, difference < -1e-9, difference == 0]
        expected = np.array([np.average(own, weights=weights) for own in classes])
        lower, upper = compute_goodman_bounds(expected, weights.sum() ** 2 / (weights**2).sum(), 0.05)
        for place, name in enumerate(["better", "worse", "same"]):
            assert row[f"{name} {SECOND}"] == pytest.approx(1000 * expected[place])
            if name == "better":
                assert row[f"{name} lower {SECOND}"] == pytest.approx(1000 * lower[place])
                assert row[f"{name} upper {SECOND}"] == pytest.approx(1000 * upper[place])


class TestNeeded:
    def test_queries_decide_as_often_as_said_in_new_samples(self):
        """One candidate, one metric, normal differences: the formula of a one-sided test, then samples of that size."""
        rng = np.random.default_rng(7)
        difference = rng.normal(size=1000)
        difference = 0.1 * (difference - difference.mean()) / difference.std(ddof=1) + 0.004
        values = {FIRST: np.stack([np.full(1000, 0.5), 0.5 + difference], axis=1)}
        (one,) = Comparison(values, ["a", "b"], ranges={}, draws=40_000).against("a").candidates
        expected = ((norm.ppf(0.975) + norm.ppf(0.8)) * 0.1 / 0.004) ** 2
        assert one.decision == "undecided"
        assert one.queries_needed == pytest.approx(expected, rel=0.05)
        means = rng.normal(0.004, 0.1 / np.sqrt(one.queries_needed), 20_000)
        assert (means > norm.ppf(0.975) * 0.1 / np.sqrt(one.queries_needed)).mean() == pytest.approx(0.8, abs=0.02)

    @pytest.mark.parametrize(("queries", "clusters"), [(1, None), (40, np.zeros(40))])
    def test_nothing_is_known_from_a_single_query_or_cluster(self, queries, clusters):
        found = compared(panel_of(queries=queries), clusters=clusters).against("production")
        assert {(one.decision, one.queries_needed) for one in found.candidates} == {("undecided", None)}

    def test_no_number_of_queries_decides_about_a_loss_within_the_margin(self):
        rng = np.random.default_rng(2)
        noise = rng.normal(0, 0.1, 400)
        noise += -0.001 - noise.mean()
        values = {FIRST: np.stack([np.full(400, 0.5), 0.5 + noise], axis=1)}
        found = Comparison(values, ["a", "b"], ranges={}).against("a", margin=0.002)
        assert found.candidates[0].queries_needed is None
        assert "no number" in found.text


class TestRecipes:
    """Several repeats of each candidate, a fixed baseline: the decisions are about the recipes."""

    def sample(self, seed=0, queries=400, repeats=5, spread=0.006):
        rng = np.random.default_rng(seed)
        base = rng.uniform(0.3, 0.6, (queries, 1))
        recorded, values = {}, {metric: [base[:, 0]] for metric in (FIRST, SECOND)}
        for place, name in enumerate("BC"):
            by_run = spread * rng.permutation(np.linspace(-1.2, 1.2, repeats))
            recorded[name] = {}
            for metric in (FIRST, SECOND):
                table = base + 0.01 * (place + 1) + by_run + rng.normal(0, 0.08, (queries, repeats))
                recorded[name][metric] = table
                values[metric].append(table.mean(axis=1))
        return {metric: np.stack(columns, axis=1) for metric, columns in values.items()}, recorded

    def test_bounds_are_those_of_a_plain_studentised_bootstrap(self):
        values, recorded = self.sample()
        found = compared(values, repeats=recorded, draws=60_000).against("production")
        rng, n, repeats, draws = np.random.default_rng(3), 400, 5, 200_000
        columns = np.concatenate([values[metric][:, 1:] - values[metric][:, [0]] for metric in (FIRST, SECOND)], axis=1)
        q = np.cov(columns.T) / n
        s = np.zeros((4, 4))
        for place, name in enumerate("BC"):
            means = np.stack([recorded[name][metric].mean(axis=0) for metric in (FIRST, SECOND)])
            s[np.ix_([place, 2 + place], [place, 2 + place])] = np.cov(means) / repeats
        g = rng.multivariate_normal(np.zeros(4), q + s, draws)
        chi, error = rng.chisquare(repeats - 1, (draws, 4)) / (repeats - 1), np.sqrt(np.diag(q + s))
        shown = np.abs(to_t(g / error, n - 1)) * error / np.sqrt(np.diag(q) + chi * np.diag(s))
        critical = np.quantile(shown.max(axis=1), 0.95)
        half = critical * np.sqrt(np.diag(q + s))
        frame = found.frame()
        for at, (metric, name) in enumerate((metric, name) for metric in (FIRST, SECOND) for name in "BC"):
            row = frame.loc[name]
            assert row[f"difference {metric}"] == pytest.approx(columns[:, at].mean())
            assert row[f"upper {metric}"] - row[f"difference {metric}"] == pytest.approx(half[at], rel=0.02)
        assert found.repeats == {"production": 0, "B": 5, "C": 5}

    def test_what_runs_leave_open_more_queries_do_not_decide(self):
        values, recorded = self.sample(seed=3, repeats=3, spread=0.02)
        one = compared(values, repeats=recorded).against("production").candidates[0]
        assert one.decision == "undecided"
        assert one.queries_needed is None
        assert one.repeats_needed > 3

    def test_runs_needed_decide_as_often_as_said(self):
        """New recipes of that many repeats, of the measured differences and variances, each decided from scratch."""
        rng = np.random.default_rng(3)

        def drawn(by_run, lead):
            base, by_query = rng.uniform(0.3, 0.6, 400), rng.normal(0, 0.05, 400)
            recorded, values = {}, {}
            for row, metric in enumerate((FIRST, SECOND)):
                recorded[metric] = (base + by_query)[:, None] + lead[row] + by_run[row] + rng.normal(0, 0.01, (400, 1))
                values[metric] = np.stack([base, recorded[metric].mean(axis=1)], axis=1)
            return Comparison(values, ["production", "B"], ranges={}, repeats={"B": recorded}, draws=2000)

        spread = 0.02 * np.array([[-1, 1, -0.5, 0.5], [-1, 1, -0.4, 0.6]])
        (one,) = drawn(spread, [0.02, 0.02]).against("production").candidates
        assert one.decision == "undecided"
        lead, decided, samples = list(one.difference.values()), 0, 150
        for _ in range(samples):
            by_run = rng.multivariate_normal([0, 0], np.cov(spread), one.repeats_needed).T
            decided += drawn(by_run, lead).against("production").decisions["B"] != "undecided"
        assert decided / samples == pytest.approx(0.8, abs=0.1)
        assert one.queries_needed is None or one.queries_needed > 400

    def test_copies_in_clusters_count_once(self):
        values = panel_of(queries=200)
        copied = {metric: np.repeat(table, 3, axis=0) for metric, table in values.items()}
        alone = compared(values).against("production")
        told = compared(copied, clusters=np.repeat(np.arange(200), 3)).against("production")
        for name in ("B", "C"):
            one, other = told.frame().loc[name], alone.frame().loc[name]
            half = [row[f"upper {FIRST}"] - row[f"difference {FIRST}"] for row in (one, other)]
            assert half[0] / half[1] == pytest.approx(np.sqrt(200 / 199))  # the factor of the jackknife
            assert one[f"better upper {FIRST}"] == pytest.approx(other[f"better upper {FIRST}"])
        assert "600 queries in 200 clusters" in told.text
