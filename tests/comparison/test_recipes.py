"""Recipes with several repeats: errors and variances compared with NumPy and SciPy, verdicts, attributions, runs."""

import itertools
import json
import math

import numpy as np
import pytest
from scipy import stats
from tests.comparison.populations import NAMES, corrected, panel_of, runs_of
from tests.comparison.tables import verdict_of

import gainwise as gw
from gainwise.comparison.bounds import DifferenceBounds, PairErrors
from gainwise.comparison.estimates import estimate, estimate_variance_components


def as_runs(values):
    return [value if value.ndim == 2 else value[:, None] for value in values]


def covariance_written_out(values, weights=None):
    """Return Q + S by loops over models, with NumPy's covariances. Metrics are concatenated."""
    n = len(values["x"][0])
    w = np.full(n, 1 / n) if weights is None else weights / weights.sum()
    columns = np.stack([repeats.mean(axis=1) for name in NAMES for repeats in as_runs(values[name])], axis=1)
    centred = (columns - w @ columns) * w[:, None]
    centred /= np.sqrt(1 - w)[:, None]
    total = centred.T @ centred
    models = len(values["x"])
    for k in range(models):
        means = np.stack([w @ as_runs(values[name])[k] for name in NAMES])
        count = means.shape[1]
        if count > 1:
            at = [k, models + k]
            total[np.ix_(at, at)] += np.cov(means) / count
    return total


@pytest.mark.parametrize("weighted", [False, True])
def test_errors_are_those_of_queries_and_runs(weighted):
    values = runs_of()
    weights = np.random.default_rng(5).random(200) + 0.5 if weighted else None
    estimated = estimate(panel_of(values, weights=weights))
    covariance = covariance_written_out(values, weights)
    for row in (0, 1):
        for k, j in itertools.permutations(range(4), 2):
            a, b = 4 * row + k, 4 * row + j
            expected = np.sqrt(covariance[a, a] + covariance[b, b] - 2 * covariance[a, b])
            assert estimated.error[row, k, j] == pytest.approx(expected, rel=1e-9)
        np.testing.assert_allclose(estimated.mean_error[row], np.sqrt(np.diag(covariance))[4 * row : 4 * row + 4])


def test_copies_of_a_recipe_have_the_same_bounds():
    values = runs_of(2, counts=(3, 5, 3))
    for table in values.values():
        table.append(table[1][:, [1, 0, 2, 4, 3]])
    for bounds in verdict_of(*values.values(), draws=500).regrets_lower.values():
        assert bounds["model 2"] == bounds["model 4"]


def test_without_run_variance_everything_is_as_with_fixed_models():
    """Five equal repeats of each model: the same numbers to the last digit, except for texts and the flag."""
    fixed = runs_of(4, counts=(0, 0, 0), leads=[[0.03, 0, 0.01], [0, 0.03, 0.01]])
    repeated = {}
    for name in NAMES:  # Parts that are added without rounding errors.
        fixed[name] = [np.round(v * 1024) / 1024 for v in fixed[name]]
        repeated[name] = [np.repeat(v[:, None], 5, axis=1) for v in fixed[name]]
    one = verdict_of(*(np.stack(fixed[name], axis=1) for name in NAMES), draws=500).to_dict()
    other = verdict_of(*(repeated[name] for name in NAMES), draws=500).to_dict()
    assert {flag["code"] for flag in other["flags"]} >= {"identical repeats"}
    assert other["variance"]["ndcg_exp@10"]["repeat"] == other["variance"]["ndcg_exp@10"]["query_repeat"] == 0
    for name in one:
        if name not in ("flags", "text", "repeats", "variance"):
            assert one[name] == other[name], name


def test_degrees_of_freedom_are_welch_s_where_queries_do_not_vary():
    """If all variance is between repeats, the result is SciPy's two-sample test of their means."""
    rng = np.random.default_rng(0)
    values = {name: [np.tile(rng.normal(size=count), (50, 1)) for count in (5, 7)] for name in NAMES}
    for row, name in enumerate(NAMES):
        first, second = (value[0] for value in values[name])
        expected = stats.ttest_ind(first, second, equal_var=False).df
        freedom = DifferenceBounds.from_estimate(estimate(panel_of(values))).freedom[row, 0, 1]
        assert freedom == pytest.approx(expected, rel=1e-6)

    def test_errors_of_more_queries_are_those_of_copies_of_queries(self):
        """Copies have the same variance of repeats. Their covariance over queries has n - 1 instead of 3n - 1."""
        values, more = runs_of(0, counts=(5, 6)), 599 / 199
        copies = {name: [np.tile(table, (3, 1)) for table in tables] for name, tables in values.items()}
        errors, expected = (PairErrors.from_estimate(estimate(panel_of(each)), 0, 1) for each in (values, copies))
        scaled = errors.scale(more)
        np.testing.assert_allclose(scaled.error, expected.error)
        assert scaled.correlation == pytest.approx(expected.correlation) != pytest.approx(errors.correlation)


class TestVerdict:
    def test_json_of_a_single_query_has_no_infinite_parts(self):
        values = runs_of(1, queries=1)
        told = verdict_of(values["x"], values["y"], draws=200).to_dict()
        assert json.loads(json.dumps(told, allow_nan=False))["variance"]["ndcg_exp@10"]["query"] is None

    @pytest.mark.parametrize(
        ("counts", "few", "times"),
        [
            ((3, 5), ("model 1",), "3 to 5 times each"),
            ((4, 3), ("model 1", "model 2"), "3 or 4 times each"),
            ((5, 0), (), "5 times."),
        ],
    )
    def test_few_runs_are_flagged(self, counts, few, times):
        values = runs_of(1, counts=counts)
        verdict = verdict_of(values["x"], values["y"], draws=200)
        assert f", trained {times}" in verdict.about
        found = {flag.code: flag for flag in verdict.flags}
        assert ("few repeats" in found) == bool(few)
        if few:
            assert found["few repeats"].models == few

    def test_runs_that_are_the_same_are_flagged(self):
        values = runs_of(1, counts=(5, 5))
        for name in NAMES:
            values[name][1][:, 4] = values[name][1][:, 0]
        (flag,) = [f for f in verdict_of(values["x"], values["y"], draws=200).flags if f.code == "identical repeats"]
        assert flag.models == ("model 2",)


def test_fewer_than_five_repeats_leave_the_verdict_open_and_have_single_bounds():
    """A clear winner: the bounds of four repeats have three degrees of freedom and equal parts of the level."""
    values = runs_of(0, counts=(4, 6), repeat=0.001, leads=[[0.3, 0], [0.3, 0]])
    verdict = verdict_of(values["x"], values["y"], draws=500)
    assert (verdict.kind, verdict.p_value, len(verdict.common_best)) == ("unresolved", 1.0, 2)
    assert "model 1 has 4 repeats. Statements about several models require 5." in verdict.text
    estimated = estimate(panel_of(values))
    critical = stats.t.isf(0.05 / 4, 3)
    upper = 0.0
    for row in (0, 1):
        skewness = corrected(critical, estimated.skewness[row, 0, 1])
        upper = max(upper, estimated.difference[row, 0, 1] + skewness * estimated.error[row, 0, 1])
    assert verdict.safe_regret_upper == pytest.approx(upper, abs=1e-12)
    enough = runs_of(0, counts=(5, 6), repeat=0.001, leads=[[0.3, 0], [0.3, 0]])
    assert verdict_of(enough["x"], enough["y"], draws=500).kind == "agree"


class TestVarianceParts:
    @pytest.mark.parametrize("fixed", [(), (0,)])
    def test_parts_are_those_of_an_analysis_of_variance(self, fixed):
        """Balanced and unweighted: the textbook mean squares of the two-way layout. A fixed model adds nothing."""
        values = runs_of(3, queries=120, counts=(4, 6, *fixed), repeat=0.05)
        panel = panel_of(values)
        found = estimate_variance_components(panel, estimate(panel).repeats)
        for name in NAMES:
            repeat, rest = [], []
            for x in values[name][:2]:
                left = x - x.mean(axis=1, keepdims=True) - x.mean(axis=0) + x.mean()
                rest.append((left**2).sum() / ((len(x) - 1) * (x.shape[1] - 1)))
                repeat.append((len(x) * x.mean(axis=0).var(ddof=1) - rest[-1]) / len(x))
            difference = values[name][1].mean(axis=1) - values[name][0].mean(axis=1)
            query = difference.var(ddof=1) - rest[0] / 4 - rest[1] / 6
            assert found[name].repeat == pytest.approx(math.sqrt(np.mean(repeat)))
            assert found[name].query_repeat == pytest.approx(math.sqrt(np.mean(rest)))
            assert found[name].query == pytest.approx(math.sqrt(query))

    def test_weights_and_clusters_enter(self):
        """Doubled queries in clusters have the same error."""
        values = runs_of(3, queries=80, counts=(4, 4))
        doubled = {name: [np.repeat(v, 2, axis=0) for v in values[name]] for name in NAMES}
        plain = panel_of(values)
        told = panel_of(doubled, clusters=np.repeat(np.arange(80), 2))
        one, other = (estimate_variance_components(panel, estimate(panel).repeats)["x"] for panel in (plain, told))
        assert other.repeat == pytest.approx(one.repeat)
        assert other.error_of_difference(160, 4) == pytest.approx(one.error_of_difference(80, 4))

    def test_a_recipe_beside_a_fixed_model_has_parts_too(self):
        panel = panel_of(runs_of(3, counts=(0, 6), queries=3000))
        found = estimate_variance_components(panel, estimate(panel).repeats)["x"]
        # The effects of queries, and of queries and repeats, are not separate for a fixed model.
        assert found.query == pytest.approx(math.sqrt(2 * 0.01 + 0.0125), rel=0.1)


class TestCompare:
    """Recipes of scores, compared with separate evaluations of every repeat."""

    @pytest.fixture
    def judgments(self):
        return gw.Judgments(np.random.default_rng(0).integers(0, 4, 1500), group=[25] * 60)

    @pytest.fixture
    def scores(self, judgments):
        rng = np.random.default_rng(1)
        return {name: [judgments.labels + rng.normal(0, 2, 1500) for _ in range(n)] for name, n in (("A", 4), ("B", 3))}

    @pytest.fixture
    def comparison(self, judgments, scores):
        models = scores | {"base": scores["A"][0] + scores["B"][0]}
        return gw.compare(models, judgments, ["ndcg_linear@10", "ndcg_exp@10", "map"], draws=300, vary="seed")

    def test_values_are_means_over_runs(self, comparison, judgments, scores):
        for name, repeats in scores.items():
            own = [gw.evaluate(["ndcg_exp@10"], judgments, repeat).per_query[:, 0] for repeat in repeats]
            column = comparison.models.index(name)
            np.testing.assert_allclose(comparison.values["ndcg_exp@10"][:, column], np.mean(own, axis=0), atol=1e-15)
            np.testing.assert_array_equal(comparison.repeats[name]["ndcg_exp@10"], np.transpose(own))
        assert comparison.verdict.repeats == {"A": 4, "B": 3, "base": 0}
        assert "base is fixed" in comparison.verdict.about
        assert set(comparison.variance) == {"ndcg_linear@10", "ndcg_exp@10", "map"}

    def test_attribution_is_the_mean_over_repeats(self, comparison, judgments, scores):
        found = comparison.attribution("A", "base")
        alone = []
        for repeat in scores["A"]:
            models = {"A": repeat, "base": scores["A"][0] + scores["B"][0]}
            pair = gw.compare(models, judgments, ["ndcg_linear@10", "ndcg_exp@10"], draws=300)
            alone.append(pair.attribution("A", "base"))
        for metric in ("ndcg_linear@10", "ndcg_exp@10"):
            differences = [one.difference[metric] for one in alone]
            assert found.difference[metric] == pytest.approx(np.mean(differences))
            cells = np.stack([one.grades_by_ranks.loc[metric].to_numpy() for one in alone])
            np.testing.assert_allclose(found.grades_by_ranks.loc[metric], cells.mean(axis=0), atol=1e-15)

    def test_queries_are_those_of_means_over_repeats(self, comparison):
        table = comparison.queries("A", "B", most=3)
        place = {query: row for row, query in enumerate(range(60))}
        for row in table.to_dict("records"):
            at = place[row["query"]]
            repeats = [comparison.repeats[name]["ndcg_exp@10"][at] for name in "AB"]
            assert row["difference ndcg_exp@10"] == pytest.approx(repeats[0].mean() - repeats[1].mean())

    def test_runs_of_trec(self):
        rng = np.random.default_rng(0)
        qrels = {f"q{q}": {f"d{d}": int(rng.integers(0, 3)) for d in range(8)} for q in range(40)}
        repeats = [{q: {d: rng.random() for d in of} for q, of in qrels.items()} for _ in range(7)]
        comparison = gw.compare_runs(
            {"A": repeats[:3], "B": repeats[3:6], "C": repeats[6]}, qrels, ["ndcg_exp@5", "map"]
        )
        assert comparison.verdict.repeats == {"A": 3, "B": 3, "C": 0}
        alone = [gw.evaluate_run(["map"], repeat, qrels).mean["map"] for repeat in repeats[:3]]
        assert comparison.leaderboard.loc["A", "map"] == pytest.approx(np.mean(alone))
        assert set(comparison.unjudged.retrieved) == {"A", "B", "C"}
