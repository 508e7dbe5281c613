"""Comparisons with a baseline: bounds by plain draws and closed forms, the rule, planned looks, sizes by simulation."""

import json

import numpy as np
import pytest
from scipy import stats
from scipy.stats import beta, multivariate_normal, norm, skew
from scipy.stats import t as student
from tests.comparison.populations import corrected, freedom_of, to_t

import gainwise as gw
from gainwise import Comparison
from gainwise.comparison.baseline import apply_rule
from gainwise.comparison.guards import OneSided, compute_boundaries, compute_spending

pytestmark = pytest.mark.slow

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


class TestBounds:
    @pytest.mark.parametrize("weighted", [False, True])
    def test_are_those_of_plain_normal_draws(self, weighted):
        """Lower bounds are marginal, those of a gain and upper ones max-T. Intervals are those of all pairs."""
        values = panel_of(queries=300)
        weights = np.random.default_rng(5).integers(1, 4, 300).astype(float) if weighted else np.ones(300)
        result = compared(values, weights=weights, draws=50_000).against("production")
        share, frame, freedom = weights / weights.sum(), result.frame(), freedom_of(weights / weights.sum())
        x = np.stack([table[:, place] - table[:, 0] for place in (1, 2) for table in values.values()])
        mean = x @ share
        influence = (x - mean[:, None]) * share / np.sqrt(1 - share)
        covariance = influence @ influence.T
        error = np.sqrt(np.diag(covariance))
        draws = np.random.default_rng(1).multivariate_normal(np.zeros(4), covariance, 400_000) / error
        between = (draws * error)[:, 2:] - (draws * error)[:, :2]
        largest = np.abs(np.hstack([draws, between / between.std(axis=0)])).max(axis=1)
        q = to_t(np.quantile(largest, 0.95), freedom)
        skewness = (influence**3).sum(axis=1) / (influence**2).sum(axis=1) ** 1.5
        if not weighted:
            assert skewness == pytest.approx(skew(x, axis=1) / np.sqrt(300))
        k = student.isf(0.025 / 2, freedom)  # two candidates
        reach = np.vectorize(corrected)

        for place, candidate in enumerate(result.candidates):
            own = slice(2 * place, 2 * place + 2)
            c = to_t(np.quantile(draws[:, own].max(axis=1), 1 - 0.025 / 2), freedom)
            mine, size, skewed = mean[own], error[own], skewness[own]
            at_least, at_most, gain = (
                list(numbers.values()) for numbers in (candidate.at_least, candidate.at_most, candidate.gain_at_least)
            )
            assert at_least == pytest.approx(mine - reach(k, -skewed) * size, abs=1e-9)
            assert at_most == pytest.approx(mine + reach(c, skewed) * size, abs=0.02 * size[0])
            assert gain == pytest.approx(mine - reach(c, -skewed) * size, abs=0.02 * size[0])
            row = frame.loc[candidate.candidate]
            for metric, difference, width, side in zip((FIRST, SECOND), mine, size, skewed, strict=True):
                assert row[f"difference {metric}"] == pytest.approx(difference, abs=1e-12)
                assert row[f"lower {metric}"] == pytest.approx(
                    difference - corrected(q, -side) * width, abs=0.05 * width
                )
                assert row[f"upper {metric}"] == pytest.approx(
                    difference + corrected(q, side) * width, abs=0.05 * width
                )

    @pytest.mark.parametrize("kind", ["queries", "weights", "clusters"])
    def test_of_fewer_than_30_differing_queries_bound_the_share_of_worse_ones(self, kind):
        """Six queries are worse by up to 0.3, and several others are better. The range of the metric is 0 to 1."""
        base, n = np.random.default_rng(0).uniform(0.3, 0.6, 600), 600
        new = base.copy()
        new[:6] -= np.linspace(0.1, 0.3, 6)
        new[6:20] += 0.2
        weights = np.where(np.arange(n) < 300, 1.0, 2.0) if kind == "weights" else np.ones(n)
        clusters = np.arange(n) // 3 if kind == "clusters" else None  # the first two have a worse query
        options = {"weights": weights, "clusters": clusters}
        worse, units = (2, 200) if kind == "clusters" else (6, n)
        largest = (3 / n) if kind == "clusters" else weights.max() / weights.sum()
        expected = -units * largest * beta.ppf(0.975, worse + 1, units - worse)
        for ranges, require, decision in (
            ({FIRST: (0, 1)}, "no_loss", "ship"),
            ({FIRST: (0, 1)}, "gain", "undecided"),
            ({}, "no_loss", "undecided"),
        ):
            values = {FIRST: np.stack([base, new], axis=1)}
            result = Comparison(values, ["a", "b"], ranges=ranges, **options).against("a", 0.1, require=require)
            assert result.decisions == {"b": decision}
            assert result.candidates[0].at_least[FIRST] == (pytest.approx(expected) if ranges else -np.inf)


class TestRule:
    """Ship: no loss beyond the margin, and a gain if required. Do not ship: a loss beyond the margin is proven."""

    @pytest.mark.parametrize(
        ("at_least", "at_most", "best", "margins", "gain", "no_loss"),
        [
            ((0.001, 0.002), (0.01, 0.01), -0.001, (0, 0), "ship", None),  # All improve, so the required gain exists.
            ((-0.001, 0.002), (0.01, 0.01), 0.001, (0, 0), "undecided", None),
            ((-0.001, 0.002), (0.01, 0.01), 0.001, (0.002, 0.002), "ship", "ship"),
            ((-0.001, 0.002), (0.01, 0.01), -0.001, (0.002, 0.002), "undecided", "ship"),
            ((-0.002, 0.002), (0.01, 0.01), 0.001, (0.002, 0.002), "undecided", "undecided"),
            ((-0.02, 0.002), (-0.003, 0.01), 0.001, (0.002, 0.002), "do not ship", "do not ship"),
            ((-0.01, -0.01), (-0.001, 0.01), -0.01, (0, 0), "do not ship", None),
            ((-np.inf, 0.002), (np.inf, 0.01), -np.inf, (0.002, 0.002), "undecided", "undecided"),
            ((-0.9, 0.002), (0.9, 0.01), 0.001, (1, 0.002), "ship", "ship"),  # each within its own margin
            ((-0.002, -0.9), (0.01, 0.9), 0.001, (1, 0.002), "undecided", "undecided"),
            ((0.001, -3), (0.01, -2), 0.001, (0.002, 1), "do not ship", "do not ship"),
            ((-0.001, 0.002), (0.01, 0.01), 0.0, (0.002, 0.002), "undecided", "ship"),
            ((-0.02, 0.002), (-0.002, 0.01), 0.001, (0.002, 0.002), "undecided", "undecided"),
        ],
    )
    def test_by_hand(self, at_least, at_most, best, margins, gain, no_loss):
        bounds, margins = OneSided(*map(np.array, (at_least, at_most, [-1, best]))), np.array(margins)
        assert apply_rule([bounds], margins, needs_gain=True) == gain
        assert no_loss is None or apply_rule([bounds], margins, needs_gain=False) == no_loss
        if no_loss is not None:  # A segment must not lose, and need not gain.
            segment = bounds._replace(gain=np.empty(0))
            whole = OneSided(np.zeros(2), np.ones(2), np.array([0.1]))
            assert apply_rule([whole, segment], margins, needs_gain=True) == no_loss

    @pytest.mark.parametrize(
        ("queries", "change", "decision"),
        [
            (20_000, lambda rng, base: base + rng.normal(-0.0001, 0.07, len(base)), "ship"),
            (368, lambda rng, base: base, "ship"),
            (367, lambda rng, base: base, "undecided"),
            (20_000, lambda rng, base: base - 0.3 * (np.arange(len(base)) < 25), "ship"),
            (20_000, lambda rng, base: base - 0.02 + rng.normal(0, 0.07, len(base)), "do not ship"),
        ],
        ids=["no difference", "identical", "identical, one query less", "25 worse", "worse"],
    )
    def test_no_loss(self, queries, change, decision):
        rng = np.random.default_rng(0)
        base = rng.uniform(0.3, 0.6, queries)
        values = {metric: np.stack([base, change(rng, base)], axis=1) for metric in (FIRST, SECOND)}
        found = Comparison(values, ["a", "b"], ranges=dict.fromkeys(values, (0, 1))).against(
            "a", 0.01, require="no_loss"
        )
        assert found.decisions == {"b": decision}
        if decision == "undecided":
            assert found.candidates[0].queries_needed == (368, 368)
        assert ("more than the margin of 0.01." in found.sentence("b")) == (decision == "do not ship")

    def test_a_loss_within_the_margin_is_named(self):
        values = panel_of(queries=3000, lead=((0, -0.01, 0.02), (0, 0.01, 0.02)))
        result = compared(values).against("production", 0.03, require="no_loss")
        assert [one.shown_losses for one in result.candidates] == [(FIRST,), ()]
        assert (result.decisions["B"], result.candidates[0].excessive_losses) == ("ship", ())
        assert f"loss within the margin is shown under {FIRST}" in result.sentence("B")

    def test_a_loss_reads_the_other_way_round(self):
        values = panel_of(queries=200)
        lost = gw.metric("lost_against", lambda labels, scores: 0.0, higher_is_better=False)
        turned = {"lost_against": 1 - values[FIRST], SECOND: values[SECOND]}
        losses = compared(turned, metrics={"lost_against": lost}, draws=1000).against("production", 0.001).frame()
        gains = compared(values, draws=1000).against("production", 0.001).frame()
        assert losses["decision"].equals(gains["decision"])
        for name, opposite in (("difference", "difference"), ("lower", "upper")):
            assert losses[f"{name} lost_against"].to_numpy() == pytest.approx(-gains[f"{opposite} {FIRST}"], abs=1e-12)
        for name in ("at least", "at most"):  # as improvements
            assert losses[f"{name} lost_against"].to_numpy() == pytest.approx(gains[f"{name} {FIRST}"], abs=1e-12)
        assert losses["better lost_against"].tolist() == gains[f"better {FIRST}"].tolist()

    def test_on_fewer_than_30_differing_queries_nothing_is_decided(self):
        base = np.random.default_rng(0).uniform(0.2, 0.4, (500, 1))
        for differing, decision in ((29, "undecided"), (30, "ship")):
            values = {metric: base + np.zeros((500, 2)) for metric in (FIRST, SECOND)}
            for table in values.values():
                table[:differing, 1] += np.random.default_rng(1).uniform(0.3, 0.31, differing)
            found = Comparison(values, ["a", "b"], ranges={}).against("a")
            assert found.decisions == {"b": decision}
            assert ("Fewer than 30" in found.text) is (differing == 29)
            assert "No loss is accepted." in found.text
        assert found.candidates[0].differing == {FIRST: 30, SECOND: 30}


def test_shares_are_those_of_the_weight():
    values, weights = panel_of(), np.random.default_rng(5).integers(1, 4, 800).astype(float)
    difference = values[SECOND][:, 2] - values[SECOND][:, 0]
    row = compared(values, draws=1000, weights=weights).against("production").frame().loc["C"]
    classes = {"better": difference > 1e-9, "worse": difference < -1e-9, "same": difference == 0}
    for name, mask in classes.items():
        assert row[f"{name} {SECOND}"] == pytest.approx(1000 * np.average(mask, weights=weights))


class TestNeeded:
    def sample(self, mean, margin, require="gain"):
        """One metric, normal differences with the standard deviation 0.1 on 1,000 queries."""
        difference = np.random.default_rng(7).normal(size=1000)
        difference = 0.1 * (difference - difference.mean()) / difference.std(ddof=1) + mean
        values = {FIRST: np.stack([np.full(1000, 0.5), 0.5 + difference], axis=1)}
        return Comparison(values, ["a", "b"], ranges={}).against("a", margin, require=require)

    @pytest.mark.parametrize(
        ("mean", "margin", "require", "distance"),
        [(0.004, 0.0, "gain", 0.004), (0.004, 0.002, "gain", 0.004), (0.001, 0.004, "no_loss", 0.005)],
    )
    def test_both_ends_are_those_of_the_formula(self, mean, margin, require, distance):
        """A gain is harder to prove than a loss below the margin. The upper end uses 0.84 standard errors less."""
        (one,) = self.sample(mean, margin, require).candidates
        z, less = norm.ppf(0.975) + norm.ppf(0.8), norm.ppf(0.8) * 0.1 / np.sqrt(1000)
        assert one.decision == "undecided"
        assert one.queries_needed.median == pytest.approx((z * 0.1 / distance) ** 2, rel=0.03)
        assert one.queries_needed.upper == pytest.approx((z * 0.1 / (distance - less)) ** 2, rel=0.03)

    @pytest.mark.parametrize(("mean", "promised"), [(0.002, (True, False)), (-0.001, (False, False))])
    def test_nothing_is_promised_for_a_gain_that_may_be_none(self, mean, promised):
        found = self.sample(mean, 0.002)
        size = found.candidates[0].queries_needed
        assert (size.median is not None, size.upper is not None) == promised
        assert ("does not promise" in found.text) is not any(promised)
        assert "Every further test on new queries can err again" in found.text

    @pytest.mark.parametrize(("errors", "is_explained"), [(2.1, True), (1.9, False)])
    def test_a_gain_of_each_metric_alone_is_distinguished_from_one_of_both_together(self, errors, is_explained):
        """One metric alone requires 1.96 standard errors, the larger of two independent ones 2.24."""
        differences = np.random.default_rng(7).normal(size=(2, 1000))
        differences -= differences.mean(axis=1, keepdims=True)
        differences = np.linalg.qr(differences.T)[0].T  # Uncorrelated, with this standard error:
        moved = 0.5 + differences + errors / np.sqrt(999 * 1000)
        values = {m: np.stack([np.full(1000, 0.5), row], axis=1) for m, row in zip((FIRST, SECOND), moved, strict=True)}
        result = Comparison(values, ["a", "b"], ranges={}).against("a", 0.01)
        assert result.decisions == {"b": "undecided"}
        assert [bound > 0 for bound in result.candidates[0].at_least.values()] == [is_explained] * 2
        end = " by bounds that are valid for all metrics together" if is_explained else ""
        assert f"but no gain is shown{end}. " in result.text

    @pytest.mark.parametrize(("queries", "clusters"), [(1, None), (40, np.zeros(40))])
    def test_a_single_query_or_cluster_decides_nothing(self, queries, clusters):
        result = compared(panel_of(queries=queries), clusters=clusters).against("production")
        assert {(one.decision, one.queries_needed) for one in result.candidates} == {("undecided", None)}
        assert "does not raise the error rate" in result.text
        assert "can err again" not in result.text


class TestLooks:
    def look(self, queries, **options):
        """A candidate that is 0.012 better. Each look contains the first queries."""
        rng = np.random.default_rng(4)
        noise = 0.1 * rng.normal(size=4000)
        values = {FIRST: np.stack([np.full(4000, 0.5), 0.512 + noise], axis=1)[:queries]}
        return Comparison(values, ["a", "b"], ranges={}, draws=300).against("a", **options)

    def test_levels_and_records(self, tmp_path):
        looks = (1000, 2000, 4000)
        first = self.look(1000, looks=looks)
        assert -norm.ppf(first.level) == pytest.approx(compute_boundaries([0.25, 0.5, 1], 0.025)[0])
        assert "next look is planned at 2,000" in first.text
        assert first.candidates[0].queries_needed is None
        path = tmp_path / "gate.json"
        path.write_text(json.dumps({"against": first.to_dict()}))
        last = self.look(4000, earlier=path)  # the second look was skipped
        assert (last.looks, last.earlier) == (looks, (1000,))
        assert -norm.ppf(last.level) == pytest.approx(compute_boundaries([0.25, 1], 0.025)[-1])
        assumed = self.look(4000, looks=looks)
        assert assumed.earlier == (1000, 2000)
        assert last.level > assumed.level
        assert self.look(2100, earlier=first.to_dict()).level == pytest.approx(
            norm.sf(compute_boundaries([0.25, 0.525], 0.025)[-1])
        )

    def test_a_look_after_a_decision_names_the_first_one(self):
        rule = {"margin": 0.01, "require": "no_loss"}
        first = self.look(1000, looks=(1000, 2000, 4000), **rule)
        assert first.decisions == {"b": "ship"}
        again = self.look(1000, earlier=first.to_dict(), **rule)
        assert (again.decisions, again.earlier_decisions, again.text) == (first.decisions, {}, first.text)
        record = first.to_dict()
        for queries in (2000, 4000):
            later = self.look(queries, earlier=record, **rule)
            assert later.earlier_decisions == {"b": "ship"}
            assert "An earlier look has decided: ship b. The first decision counts." in later.sentence("b")
            record = later.to_dict()


class TestRecipes:
    """Candidates with several repeats and a fixed baseline. The decisions are about recipes."""

    def sample(self, seed=0, queries=400, repeats=5, spread=0.006):
        rng = np.random.default_rng(seed)
        base = rng.uniform(0.3, 0.6, (queries, 1))
        values = {metric: [base[:, 0]] for metric in (FIRST, SECOND)}
        for place in (0, 1):
            by_run = spread * rng.permutation(np.linspace(-1.2, 1.2, repeats))
            for metric in (FIRST, SECOND):
                values[metric].append(base + 0.01 * (place + 1) + by_run + rng.normal(0, 0.08, (queries, repeats)))
        return values

    def test_bounds_are_those_of_a_plain_studentised_bootstrap(self):
        values = self.sample()
        found = compared(values, draws=60_000).against("production")
        rng, n, repeats, draws = np.random.default_rng(3), 400, 5, 200_000
        own = [(table.mean(axis=1) - base) for base, *tables in values.values() for table in tables]
        columns = np.stack(own, axis=1)
        q = np.cov(columns.T) / n
        s = np.zeros((4, 4))
        for place in (0, 1):
            means = np.stack([tables[1 + place].mean(axis=0) for tables in values.values()])
            s[np.ix_([place, 2 + place], [place, 2 + place])] = np.cov(means) / repeats
        g = rng.multivariate_normal(np.zeros(4), q + s, draws)
        chi, error = rng.chisquare(repeats - 1, (draws, 4)) / (repeats - 1), np.sqrt(np.diag(q + s))
        shown = np.abs(to_t(g / error, n - 1)) * error / np.sqrt(np.diag(q) + chi * np.diag(s))
        for b, c in ((0, 1), (2, 3)):  # the two candidates under each metric
            of_queries, of_repeats = q[b, b] + q[c, c] - 2 * q[b, c], s[b, b] + s[c, c]
            drawn = chi[:, b] * s[b, b] + chi[:, c] * s[c, c]
            z = (g[:, c] - g[:, b]) / np.sqrt(of_queries + of_repeats)
            t = to_t(z, n - 1) * np.sqrt((of_queries + of_repeats) / (of_queries + drawn))
            shown = np.column_stack([shown, np.abs(t)])
        critical = np.quantile(shown.max(axis=1), 0.95)
        half = critical * np.sqrt(np.diag(q + s))
        frame = found.frame()
        for at, (metric, name) in enumerate((metric, name) for metric in (FIRST, SECOND) for name in "BC"):
            row = frame.loc[name]
            assert row[f"difference {metric}"] == pytest.approx(columns[:, at].mean())
            side = stats.skew(columns[:, at]) / np.sqrt(n) * (q[at, at] / (q + s)[at, at]) ** 1.5
            expected = corrected(critical, side) * half[at] / critical
            assert row[f"upper {metric}"] - row[f"difference {metric}"] == pytest.approx(expected, rel=0.02)
        assert found.repeats == {"production": 0, "B": 5, "C": 5}

    @pytest.mark.parametrize("repeats", [3, 5])
    def test_marginal_bounds_have_the_degrees_of_freedom_of_welch_or_of_few_repeats(self, repeats):
        values = self.sample(repeats=repeats)
        found = compared(values, draws=300).against("production")
        for place, one in enumerate(found.candidates):
            expected = []
            for base, *tables in values.values():
                d, n = tables[place].mean(axis=1) - base, len(base)
                of_queries, of_repeats = d.var(ddof=1) / n, tables[place].mean(axis=0).var(ddof=1) / repeats
                error = np.sqrt(of_queries + of_repeats)
                welch = error**4 / (of_queries**2 / (n - 1) + of_repeats**2 / (repeats - 1))
                side = stats.skew(d) / np.sqrt(n) * (of_queries / error**2) ** 1.5
                critical = student.isf(0.0125, welch if repeats >= 5 else 2)
                expected.append(d.mean() - corrected(critical, -side) * error)
            assert list(one.at_least.values()) == pytest.approx(expected, rel=1e-9)

    def test_more_queries_do_not_replace_repeats(self):
        values = self.sample(seed=3, repeats=3, spread=0.02)
        one = compared(values).against("production").candidates[0]
        assert (one.decision, one.queries_needed) == ("undecided", (None, None))


@pytest.mark.parametrize(
    "expected", [(2.963, 1.969), (3.710, 2.511, 1.993), (4.333, 2.963, 2.359, 2.014)], ids=["2", "3", "4"]
)
def test_boundaries_of_equal_looks_are_the_published_ones(expected):
    times = np.arange(1, len(expected) + 1) / len(expected)
    np.testing.assert_allclose(compute_boundaries(times, 0.025), expected, atol=6e-4)


@pytest.mark.parametrize(
    ("times", "level"), [((0.25, 0.5, 1), 0.025), ((0.1, 0.9, 0.95, 1), 0.05), ((0.3, 0.7), 0.005)]
)
def test_boundaries_spend_their_share_by_another_integration(times, level):
    """Integrate the joint normal distribution with Genz' method: P(no look crosses) = 1 - α*(t)."""
    times = np.array(times)
    correlation = np.sqrt(np.minimum.outer(times, times) / np.maximum.outer(times, times))
    c = compute_boundaries(times, level)
    for k in range(1, len(times) + 1):
        inside = multivariate_normal(np.zeros(k), correlation[:k, :k]).cdf(c[:k])
        assert 1 - inside == pytest.approx(compute_spending(times[k - 1], level), abs=2e-5)
