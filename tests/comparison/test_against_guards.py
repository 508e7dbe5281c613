"""Gate with margins by metric, guards and segments: bounds by plain formulas, error rates, power and looks."""

import json
import re

import numpy as np
import pytest
from scipy import stats
from scipy.stats import multivariate_normal, norm
from tests.comparison.populations import one_sided

import gainwise as gw
from gainwise import Comparison
from gainwise.comparison.bounds import bound_mean, compute_digests, order_queries
from gainwise.comparison.guards import compute_boundaries, compute_spending

pytestmark = pytest.mark.slow

LINEAR, EXPONENTIAL, REVENUE, CLICKS, MAP = METRICS = ("ndcg_linear@10", "ndcg_exp@10", "revenue", "clicks", "map")
LEADING = (LINEAR, EXPONENTIAL)


def correlated(rng, queries, count, correlation=0.5, spread=0.1):
    """Return normal differences, shape (queries, count), with mean 0."""
    shared, own = rng.normal(size=(queries, 1)), rng.normal(size=(queries, count))
    return spread * (np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own)


def compared(differences, segments=None, scale=(1, 1, 40, 1, 1), mean=0.5, **options):
    """Compare a baseline of constant values and a candidate with these differences, in units of the metrics."""
    values = {
        metric: unit * np.stack([np.full(len(row), mean), mean + row], axis=1)
        for metric, unit, row in zip(METRICS, scale, differences.T, strict=False)
    }
    kinds = None if segments is None else {"device": segments}
    return Comparison(values, ["old", "new"], segments=kinds, **{"ranges": {}, "draws": 200} | options)


def order_block(start, stop):
    """Return the places of queries from one look to the next in the order of their hashes."""
    return [start + place for place in order_queries(compute_digests(range(start, stop)))]


class TestMargins:
    def test_shares_are_those_of_the_mean_of_the_baseline(self):
        differences = correlated(np.random.default_rng(0), 300, 3)
        found = compared(differences).against("old", {LINEAR: 0.01, REVENUE: "2.5 %"})
        assert found.margins == {LINEAR: 0.01, REVENUE: pytest.approx(0.025 * 40 * 0.5)}
        assert (found.shares, found.gain, found.guards) == ({REVENUE: "2.5 %"}, (LINEAR,), (REVENUE,))
        both = compared(differences).against("old", "1%")
        assert both.margins == dict.fromkeys(LEADING, pytest.approx(0.005))
        changes = found.changes().set_index("metric")
        assert changes.loc[REVENUE, "margin"] == pytest.approx(0.5)
        assert "0.5 (revenue, 2.5 % of the mean of old)" in found.text

    def test_scores_in_another_unit_have_the_same_decisions(self):
        """A margin that is a share makes the decision independent of the unit."""
        rng, decided = np.random.default_rng(1), set()
        for _ in range(15):
            differences = correlated(rng, 100, 3) + rng.normal(0, 0.03, 3)
            decisions = {
                compared(differences, scale=(1, 1, unit))
                .against("old", dict.fromkeys(METRICS[:3], "5%"))
                .decisions["new"]
                for unit in (0.001, 1, 1000)
            }
            assert len(decisions) == 1
            decided |= decisions
        assert decided == {"ship", "do not ship", "undecided"}

    def test_lower_values_of_a_loss_are_better(self):
        lost = gw.metric("lost_guard", lambda labels, scores: 0.0, higher_is_better=False)
        difference = correlated(np.random.default_rng(2), 400, 1)[:, 0] + 0.02
        table = np.stack([np.full(400, 0.5), 0.5 + difference], axis=1)
        losses = Comparison({LINEAR: table, "lost_guard": 1 - table}, ["old", "new"], metrics={"lost_guard": lost})
        gains = Comparison({LINEAR: table, "gained": table}, ["old", "new"])
        first = losses.against("old", {LINEAR: 0.01, "lost_guard": "1%"}).candidates[0]
        second = gains.against("old", {LINEAR: 0.01, "gained": "1%"}).candidates[0]
        assert first.decision == second.decision == "ship"
        assert first.at_least["lost_guard"] == pytest.approx(second.at_least["gained"])
        assert first.difference["lost_guard"] == pytest.approx(-second.difference["gained"])

    def test_one_margin_is_that_of_both_primary_metrics(self):
        comparison = compared(correlated(np.random.default_rng(3), 300, 3) + 0.01)
        single = comparison.against("old", 0.02).to_dict()
        assert single == comparison.against("old", {LINEAR: 0.02, EXPONENTIAL: 0.02}).to_dict()


class TestBounds:
    @pytest.mark.parametrize("count", [3, 5])
    def test_are_those_of_t_tests_with_their_levels(self, count):
        """No loss: γ without correction. Do not ship: γ over metrics and parts. Gain: γ over the family of the gain."""
        rng = np.random.default_rng(count)
        differences, kinds = correlated(rng, 600, count), rng.choice(["a", "b", "c"], 600)
        margins = dict.fromkeys(METRICS[:count], 0.05)
        comparison = compared(differences, kinds, scale=[1] * 5)
        found = comparison.against("old", margins, gain=list(METRICS[:count]), segments="device")
        (candidate,) = found.candidates
        for change in candidate.changes:
            mask = np.full(600, True) if not change.segment else kinds == change.segment.removeprefix("device is ")
            d = differences[mask, METRICS.index(change.metric)]
            assert change.queries == len(d)
            assert one_sided(d - change.at_least) == pytest.approx(0.025, rel=1e-6)
            assert one_sided(d - change.at_most, "less") == pytest.approx(0.025 / (4 * count), rel=1e-6)
        for metric, lower in candidate.gain_at_least.items():
            d = differences[:, METRICS.index(metric)]
            assert one_sided(d - lower) == pytest.approx(0.025 / count, rel=1e-6)

    def test_by_betting(self):
        rng = np.random.default_rng(4)
        differences, kinds = correlated(rng, 400, 3).clip(-0.4, 0.4), rng.choice(["a", "b"], 400)
        comparison = compared(differences, kinds, scale=[1] * 3, ranges=dict.fromkeys(METRICS[:3], (0, 1)))
        margins = dict.fromkeys(METRICS[:3], 0.05)
        found = comparison.against("old", margins, segments="device", bounds="betting")
        order = order_queries(compute_digests(range(400)))
        for change in found.candidates[0].changes:
            row = METRICS.index(change.metric)
            inside = [place for place in order if change.segment in ("", f"device is {kinds[place]}")]
            d, n = differences[inside, row], len(inside)
            assert change.at_least == pytest.approx(bound_mean(d, 1.0, 0.025, n), abs=1e-9)
            assert change.at_most == pytest.approx(-bound_mean(-d, 1.0, 0.025 / 9, n), abs=1e-9)
        for metric, lower in found.candidates[0].gain_at_least.items():
            d = differences[order, METRICS.index(metric)]
            assert lower == pytest.approx(bound_mean(d, 1.0, 0.0125, 400), abs=1e-9)


class TestErrors:
    """False ships at the margins, and power, in normal samples. The calibration has more of them."""

    @pytest.mark.parametrize("correlation", [pytest.param(0.0, marks=pytest.mark.nightly), 0.95])
    @pytest.mark.parametrize("worst", ["guard", "segment", pytest.param("gain", marks=pytest.mark.nightly)])
    def test_a_candidate_at_its_margin_ships_at_most_at_the_level(self, correlation, worst):
        wrong, samples, margins = 0, 100, dict.fromkeys(METRICS[:3], 0.03)
        for seed in range(samples):
            rng = np.random.default_rng(seed)
            kinds = np.arange(300) % 3
            mean = np.full((300, 3), 0.05)
            if worst == "guard":
                mean[:, 2] = -0.03
            elif worst == "segment":
                mean[kinds == 2, 0] = -0.03
            else:
                mean[:, :2] = 0.0
                mean[:, 2] = 0.3  # The guard improves, which is not a gain.
            differences = correlated(rng, 300, 3, correlation) + mean
            found = compared(differences, kinds, scale=[1] * 3).against("old", margins, segments="device")
            wrong += found.decisions["new"] == "ship"
        assert wrong <= stats.binom.ppf(0.999, samples, 0.025)

    def test_guards_far_from_their_margins_cost_no_power(self):
        shipped, samples = np.zeros(2), 50
        for seed in range(samples):
            rng = np.random.default_rng(seed)
            differences = correlated(rng, 300, 5) + 2.8 * 0.1 / np.sqrt(300)
            comparison = compared(differences, np.arange(300) % 3, scale=[1] * 5)
            margins = dict.fromkeys(LEADING, 0.1)
            guarded = margins | dict.fromkeys(METRICS[2:], 0.2)
            shipped += [
                comparison.against("old", margins).decisions["new"] == "ship",
                comparison.against("old", guarded, segments="device").decisions["new"] == "ship",
            ]
        assert 0.7 < shipped[0] / samples < 0.97
        assert abs(shipped[1] - shipped[0]) <= 1


class TestSegments:
    def test_fewer_than_30_queries_are_undecided_with_the_least_size(self):
        """If still no query gets worse, 183 queries exclude a loss of 0.02 at a level of 2.5 %."""
        rng = np.random.default_rng(5)
        differences = np.abs(correlated(rng, 1000, 2)) + 0.05
        kinds = np.where(np.arange(1000) < 29, "tail", "head")
        differences[kinds == "tail"] = 0
        ranges = dict.fromkeys(LEADING, (0, 1))
        comparison = compared(differences, kinds, mean=0.2, ranges=ranges)
        found = comparison.against("old", 0.02, segments="device")
        change = found.changes().query("segment == 'device is tail' and metric == @LINEAR").iloc[0]
        assert (found.decisions, change["least"], change["queries"]) == ({"new": "undecided"}, 183, 29)
        assert "where device is tail has no bound. It has 29 queries, and needs 183 or more." in found.text
        assert comparison.against("old", 0.02).decisions == {"new": "ship"}
        for queries, decision in ((182, "undecided"), (183, "ship")):
            larger = np.where(np.arange(1000) < queries, "tail", "head")
            moved = np.where((larger == "tail")[:, None], 0, differences + 0.05)
            found = compared(moved, larger, mean=0.2, ranges=ranges).against("old", 0.02, segments="device")
            assert found.decisions == {"new": decision}

    def test_a_segment_without_values_is_undecided(self):
        differences = correlated(np.random.default_rng(6), 200, 2) + 0.1
        values = {
            metric: np.stack([np.full(200, 0.5), 0.5 + row], axis=1)
            for metric, row in zip(LEADING, differences.T, strict=True)
        }
        values[EXPONENTIAL][:20] = np.nan
        kinds = ["empty"] * 20 + ["full"] * 180
        found = Comparison(values, ["old", "new"], segments=kinds, draws=200).against("old", 0.05, segments="segment")
        assert found.decisions == {"new": "undecided"}
        assert "It has 0 queries, and needs 30 or more." in found.sentence("new")
        json.dumps(found.to_dict(), allow_nan=False)

    def test_weights_and_clusters_are_those_of_the_segment(self):
        """The bounds in a segment are those of a comparison of its queries."""
        rng = np.random.default_rng(7)
        differences, kinds = correlated(rng, 900, 2), rng.choice(["a", "b"], 900)
        options = {"weights": rng.uniform(1, 2, 900), "clusters": np.arange(900) // 3}
        found = compared(differences, kinds, **options).against("old", 0.05, segments="device")
        inside = kinds == "b"
        own = {name: values[inside] for name, values in options.items()}
        alone = compared(differences[inside], **own).against("old", 0.05).candidates[0]
        changes = found.changes().query("segment == 'device is b'").set_index("metric")
        assert changes["at_least"].to_dict() == pytest.approx(alone.at_least)

    @pytest.mark.parametrize(
        ("options", "reason"),
        [
            ({"clusters": np.arange(500) // 8}, "The segment has 13 clusters, and a decision requires 30."),
            ({"weights": np.where(np.arange(500) < 2, 100, 1)}, "2 queries carry more than half of the weight"),
        ],
        ids=["clusters", "weights"],
    )
    def test_too_few_clusters_and_unequal_weights_of_a_segment_are_the_reason(self, options, reason):
        """All 100 queries of the segment differ."""
        differences = correlated(np.random.default_rng(17), 500, 2) + 0.05
        comparison = compared(differences, np.where(np.arange(500) < 100, "a", "b"), **options)
        found = comparison.against("old", 0.05, segments="device")
        change = next(change for change in found.candidates[0].changes if change.segment == "device is a")
        assert (change.queries, change.least, found.decisions["new"]) == (100, None, "undecided")
        assert change.shortage.startswith(reason)
        if "clusters" in options:
            assert f"where device is a has no bound. {reason}" in found.sentence("new")
        assert "of its queries differ" not in found.sentence("new")

    def test_a_loss_in_one_segment_is_stated(self):
        differences = correlated(np.random.default_rng(8), 900, 2) + 0.03
        kinds = np.where(np.arange(900) < 300, "phone", "desktop")
        differences[:300] -= 0.15
        comparison = compared(differences, kinds)
        found = comparison.against("old", 0.05, segments="device")
        assert found.decisions == {"new": "do not ship"}
        assert "(linear, device is phone)" in found.sentence("new")


class TestLooks:
    def test_boundaries_of_a_segment_spend_the_common_error(self):
        """A segment grows at another rate: its statistics have correlations √(nᵢ/nⱼ), the error is spent by time."""
        times, sizes = np.array([0.25, 0.5, 1]), np.array([0.1, 0.7, 1])
        correlation = np.sqrt(np.minimum.outer(sizes, sizes) / np.maximum.outer(sizes, sizes))
        c = compute_boundaries(times, 0.025, sizes)
        for k in range(1, 4):
            inside = multivariate_normal(np.zeros(k), correlation[:k, :k]).cdf(c[:k])
            assert 1 - inside == pytest.approx(compute_spending(times[k - 1], 0.025), abs=2e-5)

    def test_each_of_three_gains_and_each_part_spends_its_own_share(self):
        """At the second look, a share of the level has the boundary of its own spending."""
        differences, kinds = correlated(np.random.default_rng(15), 600, 3), np.arange(600) % 2
        comparison = compared(differences, kinds, scale=[1] * 3)
        margins = dict.fromkeys(METRICS[:3], 0.05)
        found = comparison.against("old", margins, gain=METRICS[:3], segments="device", looks=(300, 600, 1200))
        (candidate,) = found.candidates

        def level_of(tests):
            return norm.sf(compute_boundaries([0.25, 0.5], 0.025 / tests)[-1])

        for row, metric in enumerate(METRICS[:3]):
            d = differences[:, row]
            assert one_sided(d - candidate.at_least[metric]) == pytest.approx(level_of(1), rel=1e-6)
            assert one_sided(d - candidate.gain_at_least[metric]) == pytest.approx(level_of(3), rel=1e-6)
            assert one_sided(d - candidate.at_most[metric], "less") == pytest.approx(level_of(9), rel=1e-6)

    @pytest.mark.parametrize("kind", ["asymptotic", "betting"])
    def test_segments_keep_their_sizes_and_margins_that_are_shares(self, kind):
        """The first 20 queries, and those from the 700th on, belong to segment b."""
        rng = np.random.default_rng(9)
        differences, numbers = correlated(rng, 2000, 3).clip(-0.4, 0.4), np.arange(2000)
        inside, record = (numbers < 20) | (numbers >= 700), None
        options = {"looks": (500, 1000, 2000), "segments": "device", "bounds": kind}
        for look, queries in enumerate(options["looks"]):
            part = compared(
                differences[:queries],
                np.where(inside, "b", "a")[:queries],
                ranges={LINEAR: (0, 1), REVENUE: (0, 40)},
                mean=0.5 - look / 100,
            )
            found = part.against("old", {LINEAR: 0.02, REVENUE: "2%"}, earlier=record, **options)
            record = json.loads(json.dumps(found.to_dict()))
        with pytest.raises(ValueError, match=r"shares must be .*'2%'.* as in the earlier look, got .*'3%'"):
            part.against("old", {LINEAR: 0.02, REVENUE: "3%"}, earlier=record, **options)
        assert found.margins[REVENUE] == pytest.approx(0.02 * 40 * 0.5)
        assert [segment["sizes"] for segment in found.segments] == [(480, 680, 680), (20, 320, 1320)]
        assert [test["queries"] for test in found.history] == [500, 1000]
        change = found.changes().query("segment == 'device is b' and metric == @LINEAR").iloc[0]
        if kind == "asymptotic":
            level = norm.sf(compute_boundaries([0.25, 0.5, 1], 0.025, [20 / 1320, 320 / 1320, 1])[-1])
            assert one_sided(differences[inside, 0] - change["at_least"]) == pytest.approx(level, rel=1e-6)
        else:  # The bets on earlier queries stay the same, and are tuned to the share of the first look.
            assert found.segments[1]["size"] == 2000 * 20 // 500
            order = [place for block in ((0, 500), (500, 1000), (1000, 2000)) for place in order_block(*block)]
            d = differences[[place for place in order if inside[place]], 0]
            assert change["at_least"] == pytest.approx(bound_mean(d, 1.0, 0.025, 80), abs=1e-9)

    def test_from_the_third_test_without_a_plan_their_number_is_stated(self):
        differences, record, texts = correlated(np.random.default_rng(10), 900, 2), None, []
        for queries in (300, 300, 900):
            found = compared(differences[:queries]).against("old", 0.02, earlier=record)
            texts.append(found.text)
            record = found.to_dict()
        assert [("times without a plan" in text) for text in texts] == [False, False, True]
        assert "have decided 3 times" in texts[2]
        assert "up to 7.5 %" in texts[2]
        assert (len(found.history), found.earlier_decisions) == (2, {})


def test_queries_that_a_guard_needs():
    """The gain is certain, and one guard is open: its number is that of a one-sided t-test."""
    rng = np.random.default_rng(11)
    differences = correlated(rng, 1000, 3, 0.0)
    differences = 0.1 * (differences - differences.mean(axis=0)) / differences.std(axis=0, ddof=1)
    differences += [0.05, 0.05, -0.001]
    found = compared(differences, scale=[1] * 3).against("old", {LINEAR: 0.01, EXPONENTIAL: 0.01, REVENUE: 0.005})
    (candidate,) = found.candidates
    z = norm.ppf(0.975) + norm.ppf(0.8)
    assert candidate.decision == "undecided"
    assert candidate.queries_needed.median == pytest.approx((z * 0.1 / 0.004) ** 2, rel=0.03)


def test_equal_metrics_with_different_margins_are_both_stated():
    """The candidate may lose 0.03, which only the first of two equal metrics tolerates."""
    difference = correlated(np.random.default_rng(13), 900, 1)
    differences = np.repeat(difference - difference.mean() - 0.02, 2, axis=1)
    found = compared(differences).against("old", {LINEAR: 0.1, EXPONENTIAL: 0.005}, require="no_loss")
    assert (found.decisions["new"], found.candidates[0].worst.metric) == ("do not ship", EXPONENTIAL)
    assert "(exponential, margin 0.005)" in found.sentence("new")
    tolerant = compared(differences).against("old", {LINEAR: 0.1, EXPONENTIAL: 0.02}, require="no_loss")
    assert tolerant.decisions == {"new": "undecided"}
    assert "NDCG@10 (margin 0.02)" in tolerant.sentence("new")


@pytest.mark.parametrize("guards", [3, 5])
def test_a_shipped_candidate_states_its_bounds_and_those_of_up_to_three_guards(guards):
    """Two equal metrics are one. The bounds are those of t-tests, rounded so that they remain valid."""
    differences = correlated(np.random.default_rng(17), 900, 2 + guards)
    differences[:, 0] += 0.03
    differences[:, 1] = differences[:, 0]
    columns = dict(zip((*LEADING, *(f"guard {number}" for number in range(guards))), differences.T, strict=True))
    values = {name: np.stack([np.zeros(900), column], axis=1) for name, column in columns.items()}
    margins = dict.fromkeys(columns, 0.05) | {f"guard {number}": (6 + number) / 100 for number in range(guards)}
    found = Comparison(values, ["old", "new"], ranges={}, draws=200).against("old", margins)
    assert found.text.startswith("Ship new instead of old: NDCG@10 rises by at least ")
    assert all(f"{margin:g} ({name})" in found.describe_margins() for name, margin in margins.items())
    bounds = re.findall(r"at least (\S+) and at most \S+ under (linear|guard \d)", found.text.replace("−", "-"))
    assert [name for _, name in bounds] == ["linear", *list(columns)[2:]]
    losses = re.findall(r"(guard \d) at most (\S+) worse", found.sentence("new"))
    assert len(losses) == (guards if guards == 3 else 0)
    assert (f"{guards} guards within their margins" in found.sentence("new")) == (guards > 3)
    for bound, name in [*bounds, *((f"-{loss}", name) for name, loss in losses)]:
        assert 0.01 < one_sided(columns.get(name, differences[:, 0]) - float(bound)) <= 0.025


def test_reports_show_guards_and_segments_in_units_of_the_margins(tmp_path):
    differences = correlated(np.random.default_rng(14), 900, 3) + 0.02
    comparison = compared(differences, np.arange(900) % 2)
    margins = {LINEAR: 0.02, REVENUE: "4%"}
    found = comparison.against("old", margins, gain=list(margins), segments="device")
    content = comparison._report_content(found)
    (row,) = (row for row in content.chart.rows if row.model == "new")
    (candidate,) = found.candidates
    for mark, (metric, margin) in zip(row.marks, found.margins.items(), strict=True):
        assert mark.value == pytest.approx(candidate.difference[metric] / margin)
        assert mark.lower == pytest.approx(candidate.lower[metric] / margin)
    assert "in units of the margins 0.02 (ndcg_linear@10) and 0.8 (revenue)" in content.chart.caption
    page = comparison.to_html(tmp_path / "report.html", baseline=found).read_text("utf-8")
    assert "revenue where device is 1" in page
    with pytest.raises(ValueError, match="from another comparison"):
        compared(differences + 0.01, np.arange(900) % 2).to_markdown(baseline=found)
