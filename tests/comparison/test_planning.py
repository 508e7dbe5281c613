"""Plans, compared with formulas and with verdicts on new samples."""

import numpy as np
import pytest
from scipy.stats import norm
from tests.comparison.tables import verdict_of

import gainwise as gw
from gainwise import Comparison
from gainwise.comparison.power import Request, _Pilot, _Planner, build_covariances

pytestmark = pytest.mark.slow

FIRST, SECOND = METRICS = ("ndcg_linear@10", "ndcg_exp@10")
BOOTSTRAP = {"query": 0.010, "repeat": 0.0035, "query_repeat": 0.095}
"""Standard deviations measured with LightGBM, each repeat on another bootstrap sample of the training queries."""

MIX = np.linalg.cholesky([[1, 0.9], [0.9, 1]]).T


def heavy(rng, *shape):
    """Heavy-tailed effects with variance 1 and correlation .9 on two metrics, in the last axis."""
    return rng.standard_t(5, (*shape, 2)) / np.sqrt(5 / 3) @ MIX


def recipes_sample(rng, truth, queries, repeats, query, repeat, query_repeat):
    """Values (queries, metrics, recipes, repeats) of recipes whose true means are `truth`, (metrics, recipes)."""
    recipes = truth.shape[1]
    by_query = np.moveaxis(query / np.sqrt(2) * heavy(rng, queries, recipes), 2, 1)[..., None]
    by_run = np.moveaxis(repeat * rng.standard_normal((recipes, repeats, 2)) @ MIX, 2, 0)
    by_both = np.moveaxis(query_repeat * heavy(rng, queries, recipes, repeats), 3, 1)
    return truth[None, :, :, None] + by_query + by_run + by_both


class TestPlansOfFixedModels:
    def test_a_pair_by_the_formula(self):
        for power in (0.5, 0.8, 0.95):
            found = gw.plan(0.01, power, "pair", query=0.12)
            expected = ((norm.ppf(0.975) + norm.ppf(power)) * 0.12 / 0.01) ** 2
            assert found.queries == pytest.approx(expected, rel=0.06)
            assert (found.repeats, found.options[0].chance) == (None, pytest.approx(power, abs=0.02))

    @pytest.mark.parametrize(
        ("difference", "require", "differing"), [(0.01, "gain", 1.0), (0.004, "no_loss", 1.0), (0.01, "gain", 0.03)]
    )
    def test_shipping_by_bivariate_normal_samples(self, difference, require, differing):
        options = {"query": 0.12, "margin": 0.004, "correlation": 0.6, "require": require, "differing": differing}
        found = gw.plan(difference, 0.8, "ship", **options)
        assert found.queries == found.queries_upper
        rng = np.random.default_rng(5)
        z = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 200_000)
        error = 0.12 / np.sqrt(found.queries)
        shipped = (difference + error * (z - norm.ppf(0.975)) > -0.004).all(axis=1)
        if require == "gain":
            critical = np.quantile(z.max(axis=1), 0.975)
            shipped &= (difference + error * (z - critical) > 0).any(axis=1)
        shipped &= rng.binomial(found.queries, differing, 200_000) >= 30
        assert shipped.mean() == pytest.approx(0.8, abs=0.015)
        assert ("differ on only" in found.text) is (differing < 1)

    @pytest.mark.parametrize(
        ("models", "expected"),
        [
            (2, "model 2 by 0.0100 under the first metric and worse by as much under the second (2 models)."),
            (3, "all others by 0.0100 under the first metric, model 2 by as much under the second (3 models)."),
        ],
    )
    def test_a_plan_states_differences_that_are_possible(self, models, expected):
        """No model can be better than all others under one metric if another model is equal to them."""
        text = gw.plan(0.01, claim="genuine", query=0.05, models=models).text
        assert f"no model is best under both metrics, if model 1 is better than {expected}" in text

    def test_equal_models_ship_without_loss(self):
        found = gw.plan(0.0, claim="ship", query=0.1, margin=0.01, require="no_loss")
        assert found.queries == pytest.approx(((norm.ppf(0.975) + norm.ppf(0.8)) * 10) ** 2, rel=0.15)

    def test_an_unprovable_difference_and_a_small_level(self):
        plan = gw.plan(1e-6, claim="pair", query=0.1)
        assert plan.queries is None
        assert plan.text
        small = gw.plan(0.01, claim="genuine", query=0.05, alpha=0.004)
        expected = ((norm.ppf(0.996) + norm.ppf(0.8)) * 0.05 / 0.01) ** 2
        assert expected < small.queries < 2 * expected

    def test_more_candidates_require_more_queries(self):
        two, more = (gw.plan(0.01, claim="ship", query=0.12, models=models).queries for models in (2, 5))
        assert more > 1.1 * two


class TestPlansOfRecipes:
    def test_numbers_of_repeats_that_are_not_sufficient_are_one_list(self):
        text = gw.plan(0.01, claim="pair", query=0.01, repeat=0.006, query_repeat=0.1).text
        assert "3 or 5 repeats of each configuration are not sufficient and 10 repeats of" in text

    def test_queries_do_not_replace_repeats(self):
        plan = gw.plan(0.01, claim="ship", repeats=[3, 8], **BOOTSTRAP)
        assert plan.frame()["queries"].isna().tolist() == [True, False]
        assert (plan.repeats, plan.queries) == (8, plan.options[1].queries)
        assert "3 repeats" in plan.text

    @pytest.mark.parametrize(("queries", "repeats", "published"), [(1000, 5, 0.72), (200, 10, 0.37)])
    def test_power_is_that_of_a_published_simulation_and_of_verdicts(self, queries, repeats, published):
        truth, rng, samples = np.array([[0.01, 0], [0, 0.01]]), np.random.default_rng(repeats), 125
        components = build_covariances(**BOOTSTRAP, correlation=0.9, models=2)
        request = Request("genuine", 0.01, 0.8, "gain", 0.05, 0.0, 0)
        pilot = _Pilot(1.0, 1.0, np.zeros(2), ((1.0, 1.0), (1.0, 1.0)))
        power = _Planner(request, components, (0, 1), pilot).compute_chance(queries, repeats)
        assert power == pytest.approx(published, abs=0.07)
        genuine = 0
        for seed in range(samples):
            x = recipes_sample(rng, truth, queries, repeats, **BOOTSTRAP)
            tables = [[x[:, row, k] for k in (0, 1)] for row in (0, 1)]
            genuine += verdict_of(*tables, draws=500, seed=seed).kind == "genuine"
        assert genuine / samples == pytest.approx(power, abs=0.12)

    def test_of_a_sample_count_queries_and_repeats(self):
        x = recipes_sample(np.random.default_rng(1), np.zeros((2, 2)), 500, 6, **BOOTSTRAP)
        values = {metric: x[:, row] for row, metric in enumerate(METRICS)}
        plan = Comparison(values, ["A", "B"]).plan(0.02, claim="pair", repeats=5)
        assert plan.frame().index.tolist() == [5]
        assert plan.present[:2] == (500, 6)
        assert "500 queries and 6 repeats" in plan.text


def pilot(seed=0, queries=800, models=3, spread=0.1):
    rng = np.random.default_rng(seed)
    shared = rng.uniform(0.3, 0.6, (queries, 1))
    effects = spread / np.sqrt(2) * heavy(rng, queries, models)
    return dict(zip(METRICS, np.moveaxis(shared[..., None] + effects, 2, 0), strict=True))


class TestPlansFromAComparison:
    def test_deviations_are_those_of_the_sample(self):
        values = pilot()
        found = Comparison(values, list("ABC")).plan(difference=0.02, claim="pair", models=["C", "A"])
        expected = (values[SECOND][:, 0] - values[SECOND][:, 2]).std(ddof=1)
        assert found.deviations[SECOND] == {"query": pytest.approx(expected), "repeat": 0.0, "query_repeat": 0.0}
        queries, repeats, chance = found.present
        assert (queries, repeats) == (800, None)
        t = 0.02 * np.sqrt(800) / max(by["query"] for by in found.deviations.values())
        assert chance == pytest.approx(norm.cdf(t - norm.ppf(0.975)), abs=0.03)

    def test_the_range_is_that_of_bootstrap_samples(self):
        """Without rare differences, the number is proportional to the variance. With them, 30 must differ."""
        values, rng = pilot(queries=300), np.random.default_rng(1)
        plan = Comparison(values, list("ABC")).plan(0.01, claim="ship", models=["A", "B"])
        d = values[FIRST][:, 1] - values[FIRST][:, 0]
        ratios = [d[rng.integers(300, size=300)].var() / d.var() for _ in range(4000)]
        assert plan.queries_upper / plan.queries == pytest.approx(
            np.quantile(ratios, 0.8) / np.median(ratios), abs=0.04
        )
        assert f"{plan.queries:,} to {plan.queries_upper:,} queries" in plan.text
        for table in values.values():
            table[15:] = table[15:, :1]
        rare = Comparison(values, list("ABC")).plan(1.0, claim="ship", models=["A", "B"])
        assert rare.differing == 0.05
        assert rare.queries == pytest.approx(34.5 / 0.05, rel=0.08)
        shares = rng.binomial(300, 0.05, 4000) / 300
        assert rare.queries_upper == pytest.approx(34.5 / np.quantile(shares, 0.2), rel=0.08)

    def test_one_metric_will_do_for_a_pair(self):
        """It is the pair whose differences vary most."""
        values = pilot()[FIRST] * [1, 3, 1]
        found = Comparison({FIRST: values}, list("ABC")).plan(0.02, claim="pair")
        spreads = {pair: (values[:, pair[0]] - values[:, pair[1]]).std() for pair in ((0, 1), (0, 2), (1, 2))}
        assert found.models == tuple("ABC"[place] for place in max(spreads, key=spreads.get))
        assert found.queries > 100
